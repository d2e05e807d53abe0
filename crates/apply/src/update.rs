//! Who owns what after a create, an update or a patch.

use serde_json::Value;

use pawl_meta::object::{Object, metadata_mut};

use crate::compare::{Comparison, compare};
use crate::error::Error;
use crate::managed::{self, Manager, Managers, Operation};
use crate::reconcile::reconcile;
use crate::set::FieldSet;
use crate::typed::{Shape, Typed, Writer};

/// Computes the managedFields of an object that has been written, and sets them in `new`.
///
/// `old` is the stored object, `None` when it is being created. What the writer changed is the writer's and nobody else's;
/// what it left alone stays with who owns it. `reset` are fields that this write cannot change, each with what is below.
/// The managedFields in `new` are taken when they are valid (on the main resource only), `[]` and `[{}]` forget all of
/// them, and an object without any stays without. After an error `new` has none: better nothing than something wrong.
pub fn track_update(
    typed: &Typed<'_>,
    old: Option<&Object>,
    new: &mut Object,
    writer: &Writer<'_>,
    reset: &FieldSet<'_>,
) -> Result<(), Error> {
    let sent = match new.get_mut("metadata") {
        Some(Value::Object(metadata)) => metadata.remove("managedFields"),
        _ => None,
    };
    let entries = match tracked(typed, old, new, sent.as_ref(), writer, reset)? {
        Tracked::None => None,
        Tracked::Sent => sent,
        Tracked::AsBefore => old.and_then(managed::of).cloned(),
        Tracked::Changed(entries) => entries,
    };
    if let Some(entries) = entries {
        metadata_mut(new).insert("managedFields".to_owned(), entries);
    }
    Ok(())
}

/// What becomes of managedFields.
enum Tracked {
    None,
    /// Those that were sent are the stored ones, and still right.
    Sent,
    /// Those of the stored object are still right.
    AsBefore,
    Changed(Option<Value>),
}

/// Where the managers before the write were read from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Nothing,
    Stored { sent_along: bool },
    Sent,
}

fn tracked(
    typed: &Typed<'_>,
    old: Option<&Object>,
    new: &Object,
    sent: Option<&Value>,
    writer: &Writer<'_>,
    reset: &FieldSet<'_>,
) -> Result<Tracked, Error> {
    let (mut managers, source) = managers_before(old.and_then(managed::of), sent, writer);
    if managers.is_empty() && old.is_some() {
        return Ok(Tracked::None);
    }
    let comparison = compare(typed.at(), old, new).map_err(Error::Compare)?.without(reset);
    if comparison.is_empty() && served(typed, writer, &managers) {
        return Ok(match source {
            Source::Nothing => Tracked::None,
            Source::Stored { sent_along: true } => Tracked::Sent,
            Source::Stored { sent_along: false } => Tracked::AsBefore,
            Source::Sent => Tracked::Changed(managers.encode()),
        });
    }
    take_fields(typed, writer, &mut managers, &comparison, (old, new), reset)?;
    Ok(Tracked::Changed(managers.encode()))
}

fn managers_before<'a>(
    stored: Option<&'a Value>,
    sent: Option<&'a Value>,
    writer: &Writer<'_>,
) -> (Managers<'a>, Source) {
    let sent_along = stored.is_some() && stored == sent;
    if let Some(sent) = sent
        && !sent_along
        && writer.subresource.is_empty()
    {
        if managed::is_reset(sent) {
            return (Managers::default(), Source::Nothing);
        }
        // What a client does not understand it may send back broken or not at all: then nothing was meant by it.
        if let Ok(managers) = Managers::decode(Some(sent))
            && !managers.is_empty()
        {
            return (managers, Source::Sent);
        }
    }
    match Managers::decode(stored) {
        Ok(managers) if !managers.is_empty() => (managers, Source::Stored { sent_along }),
        _ => (Managers::default(), Source::Nothing),
    }
}

fn served(typed: &Typed<'_>, writer: &Writer<'_>, managers: &Managers<'_>) -> bool {
    managers.0.iter().all(|manager| !matches!(typed.shape(writer.api_version, &manager.version), Shape::Gone))
}

/// Gives the writer what it changed, and takes it from everybody else.
pub(crate) fn take_fields<'a>(
    typed: &Typed<'_>,
    writer: &Writer<'a>,
    managers: &mut Managers<'a>,
    comparison: &Comparison<'a>,
    objects: (Option<&Object>, &Object),
    reset: &FieldSet<'_>,
) -> Result<(), Error> {
    release(typed, writer, managers, comparison, objects, reset, |_, _| {})?;
    let fields = comparison.set();
    if !fields.is_empty() {
        let mut own = Manager::new(writer, Operation::Update, fields);
        own.time = Some(writer.time.into());
        match managers.0.iter_mut().find(|other| other.is(&own)) {
            Some(other) => {
                other.fields.extend(own.fields);
                other.time = own.time;
            }
            None => managers.0.push(own),
        }
    }
    managers.cap_updaters();
    Ok(())
}

/// Takes what changed from its managers; `lost` hears what somebody loses by it. Forgets what is owned in versions that
/// are gone, and who owns nothing.
pub(crate) fn release<'a>(
    typed: &Typed<'_>,
    writer: &Writer<'_>,
    managers: &mut Managers<'a>,
    comparison: &Comparison<'_>,
    (old, new): (Option<&Object>, &Object),
    reset: &FieldSet<'_>,
    mut lost: impl FnMut(&Manager<'a>, &FieldSet<'_>),
) -> Result<(), Error> {
    let set = comparison.set();
    let mut take = |manager: &mut Manager<'a>, set: &FieldSet<'_>, removed: &FieldSet<'_>| {
        if manager.fields.intersects(set) {
            lost(manager, &manager.fields.intersection(set));
            manager.fields.subtract(set);
        }
        manager.fields.subtract(removed);
    };
    let mut failed = None;
    managers.0.retain_mut(|manager| {
        match typed.shape(writer.api_version, &manager.version) {
            Shape::Gone => return false,
            Shape::Same => {
                reconcile(typed.at(), &mut manager.fields);
                take(manager, &set, &comparison.removed);
            }
            Shape::Other(other) => {
                reconcile(other.at(), &mut manager.fields);
                let version = manager.version.to_string();
                match in_version(typed, &version, (old, new)) {
                    Ok((old, new)) => match compare(other.at(), old.as_ref(), &new) {
                        Ok(comparison) => {
                            let comparison = comparison.without(reset);
                            take(manager, &comparison.set(), &comparison.removed);
                        }
                        Err(text) => failed = Some(Error::Compare(text)),
                    },
                    Err(error) => failed = Some(error),
                }
            }
        }
        !manager.fields.is_empty()
    });
    failed.map_or(Ok(()), Err)
}

fn in_version(
    typed: &Typed<'_>,
    version: &str,
    (old, new): (Option<&Object>, &Object),
) -> Result<(Option<Object>, Object), Error> {
    let convert = |object: &Object| {
        let converted = typed.versions.and_then(|versions| versions.convert(object, version));
        converted.ok_or_else(|| Error::Convert(version.to_owned()))
    };
    Ok((old.map(convert).transpose()?, convert(new)?))
}
