//! Server-side apply: an intent becomes part of an object, and its author the owner of what it says.

use std::borrow::Cow;

use serde_json::Value;

use pawl_meta::GroupVersion;
use pawl_meta::object::{Meta, Object, metadata_mut};

use crate::check::misfits;
use crate::collect::object_fields;
use crate::compare::compare;
use crate::conflict::Conflicts;
use crate::error::Error;
use crate::last_applied;
use crate::managed::{self, Manager, Managers, Operation, same_apart_from_managers, strip};
use crate::merge::{agrees, merge};
use crate::prune::{Claims, prune};
use crate::reconcile::reconcile;
use crate::set::FieldSet;
use crate::typed::{Shape, Typed, Writer};
use crate::update::{all_served, release, take_fields};

/// What an object had before managedFields were kept is owned by this manager.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// The outcome of an apply.
#[derive(Debug)]
pub struct Applied {
    /// The object with the intent in it and its managedFields set, before defaults and admission.
    pub object: Object,
    /// Whether it differs from the live object, managedFields included.
    pub changed: bool,
}

/// Applies an intent to the live object, or makes an object of it where there is none.
///
/// The intent has the kind and version of the request already. Fields that the applier owned, does not mention any more
/// and nobody else owns are removed. Fields of others that would change are conflicts, unless `force` takes them over.
/// `reset` are fields that this request cannot change, each with what is below.
pub fn apply(
    typed: &Typed<'_>,
    live: Option<&Object>,
    intent: Object,
    writer: &Writer<'_>,
    force: bool,
    reset: &FieldSet<'_>,
) -> Result<Applied, Error> {
    let mut managers = Managers::decode(live.and_then(managed::of)).map_err(Error::Managers)?;
    if matches!(managed::of(&intent), Some(Value::Array(_))) {
        return Err(Error::ManagedFieldsSet);
    }
    if let Some(text) = misfits(typed.at(), &intent) {
        return Err(Error::Schema { subject: subject(&intent), text });
    }
    let mut fields = object_fields(typed.at(), &intent);
    fields.subtract_recursively(reset);
    strip(&mut fields);
    let Some(live) = live else {
        let mut object = intent.clone();
        let mut own = Manager::new(writer, Operation::Apply, fields);
        own.time = Some(writer.time.into());
        set_managers(&mut object, managers, own);
        return Ok(Applied { object, changed: true });
    };
    if managers.is_empty() {
        let first = Writer { manager: BEFORE_FIRST_APPLY, ..*writer };
        let change = compare(typed.at(), None, live).map_err(Error::Compare)?.without(reset).into_change();
        take_fields(typed, &first, &mut managers, change, (None, live), reset)?;
    }

    let mut own = Manager::new(writer, Operation::Apply, FieldSet::new());
    let mut last = managers.0.iter().position(|manager| manager.is(&own)).map(|at| managers.0.swap_remove(at));
    if let Some(last) = &mut last {
        match typed.shape(writer.api_version, &last.version) {
            Shape::Same => reconcile(typed.at(), &mut last.fields),
            Shape::Other(other) => reconcile(other.at(), &mut last.fields),
            Shape::Gone => {}
        }
    }
    own.time = last.as_ref().and_then(|last| last.time.clone());
    if let Some(last) = &last
        && writer.manager != last_applied::KUBECTL
        && nothing_new(typed, writer, live, &intent, last, &fields)
    {
        return Ok(Applied { object: live.clone(), changed: false });
    }
    let mut object = merge(typed.at(), live, &intent);
    if let Some(last) = &last {
        object = prune(typed, writer, object, &Claims { others: &managers, own: &fields, last })?;
    }
    let mut conflicts = Conflicts::default();
    {
        let change = compare(typed.at(), Some(live), &object).map_err(Error::Compare)?.without(reset).into_change();
        managers.0.sort_by(|a, b| a.order(b));
        let losing = |manager: &Manager<'_>, set: &FieldSet<'_>| {
            conflicts.add(manager, &manager.fields.intersection(set));
        };
        release(typed, writer, &mut managers, &change, (Some(live), &object), reset, losing)?;
    }
    if !force && !conflicts.0.is_empty() {
        if writer.manager == last_applied::KUBECTL {
            last_applied::excuse(typed, writer, live, &mut conflicts);
        }
        if !conflicts.0.is_empty() {
            return Err(Error::Conflicts(conflicts));
        }
    }
    if !same_apart_from_managers(live, &object) {
        own.time = Some(Cow::Borrowed(writer.time));
    }
    own.fields = fields;
    set_managers(&mut object, managers, own);
    if writer.manager == last_applied::KUBECTL {
        last_applied::keep_in_step(&mut object, intent);
    }
    let changed = managed::of(live) != managed::of(&object) || !same_apart_from_managers(live, &object);
    Ok(Applied { object, changed })
}

/// Whether an applier only says again what it said before and what still is.
fn nothing_new(
    typed: &Typed<'_>,
    writer: &Writer<'_>,
    live: &Object,
    intent: &Object,
    last: &Manager<'_>,
    fields: &FieldSet<'_>,
) -> bool {
    last.version == writer.api_version
        && *fields == last.fields
        && agrees(typed.at(), live, intent)
        && managed::of(live).is_some_and(|entries| all_served(typed, writer, entries))
}

fn set_managers<'a>(object: &mut Object, mut managers: Managers<'a>, own: Manager<'a>) {
    managers.0.push(own);
    managers.drop_idle();
    if let Some(entries) = managers.encode() {
        metadata_mut(object).insert("managedFields".to_owned(), entries);
    }
}

/// How upstream names an object in these messages: `ns/name; apps/v1, Kind=Deployment`.
pub fn subject(intent: &Object) -> String {
    let text = |field: &str| intent.get(field).and_then(Value::as_str).unwrap_or_default();
    let version = GroupVersion::parse(text("apiVersion")).unwrap_or_default();
    let (namespace, name, kind) = (intent.namespace(), intent.name(), text("kind"));
    format!("{namespace}/{name}; {}/{}, Kind={kind}", version.group, version.version)
}
