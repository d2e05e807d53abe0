//! Who owns what after a create, an update or a patch.

use serde_json::Value;

use pawl_meta::GroupVersion;
use pawl_meta::object::{Object, metadata_mut};

use crate::compare::{OwnershipChange, compare};
use crate::error::Error;
use crate::managed::{self, Manager, Managers, Operation};
use crate::reconcile::reconcile;
use crate::set::FieldSet;
use crate::typed::{Shape, Typed, Writer};

/// Computes the managedFields of an object that has been written, and sets them in `new`.
///
/// `old` is the stored object, `None` when it is being created. What the writer changed is the writer's and nobody
/// else's; what it left alone stays with who owns it. `reset` are fields that this write cannot change, each with
/// what is below. The managedFields in `new` are taken when they are valid (on the main resource only), `[]` and
/// `[{}]` forget all of them, and an object without any stays without. After an error `new` has none: better nothing
/// than something wrong.
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

/// Where the managers before the write are to be read from.
enum Source<'a> {
    Nothing,
    Stored { entries: &'a Value, sent_along: bool },
    Sent(Managers<'a>),
}

fn tracked(
    typed: &Typed<'_>,
    old: Option<&Object>,
    new: &Object,
    sent: Option<&Value>,
    writer: &Writer<'_>,
    reset: &FieldSet<'_>,
) -> Result<Tracked, Error> {
    let source = source(old.and_then(managed::of), sent, writer);
    if matches!(source, Source::Nothing) && old.is_some() {
        return Ok(Tracked::None);
    }
    let comparison = compare(typed.at(), old, new).map_err(Error::Compare)?.without(reset);
    let mut managers = match source {
        Source::Stored { entries, sent_along } if comparison.is_empty() && all_served(typed, writer, entries) => {
            return Ok(if sent_along { Tracked::Sent } else { Tracked::AsBefore });
        }
        Source::Stored { entries, .. } => match Managers::decode(Some(entries)) {
            Ok(managers) if !managers.is_empty() => managers,
            _ if old.is_some() => return Ok(Tracked::None),
            _ => Managers::default(),
        },
        Source::Sent(managers) => managers,
        Source::Nothing => Managers::default(),
    };
    take_fields(typed, writer, &mut managers, comparison.into_change(), (old, new), reset)?;
    Ok(Tracked::Changed(managers.encode()))
}

fn source<'a>(stored: Option<&'a Value>, sent: Option<&'a Value>, writer: &Writer<'_>) -> Source<'a> {
    let sent_along = stored.is_some() && stored == sent;
    if let Some(sent) = sent
        && !sent_along
        && writer.subresource.is_empty()
    {
        if managed::is_reset(sent) {
            return Source::Nothing;
        }
        // What a client does not understand it may send back broken or not at all: then nothing was meant by it.
        if let Ok(managers) = Managers::decode(Some(sent))
            && !managers.is_empty()
        {
            return Source::Sent(managers);
        }
    }
    match stored {
        Some(entries @ Value::Array(items)) if !items.is_empty() => Source::Stored { entries, sent_along },
        _ => Source::Nothing,
    }
}

/// Whether every version in which somebody owns something is still served.
pub(crate) fn all_served(typed: &Typed<'_>, writer: &Writer<'_>, entries: &Value) -> bool {
    let served = |entry: &Value| {
        let version = entry.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        !matches!(typed.shape(writer.api_version, version), Shape::Gone)
    };
    typed.versions.is_none() || entries.as_array().into_iter().flatten().all(served)
}

/// Gives the writer what it changed, and takes it from everybody else.
pub(crate) fn take_fields<'a>(
    typed: &Typed<'_>,
    writer: &Writer<'a>,
    managers: &mut Managers<'a>,
    change: OwnershipChange<'a>,
    objects: (Option<&Object>, &Object),
    reset: &FieldSet<'_>,
) -> Result<(), Error> {
    release(typed, writer, managers, &change, objects, reset, |_, _| {})?;
    if !change.set.is_empty() {
        let mut own = Manager::new(writer, Operation::Update, change.set);
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

/// Takes what changed from its managers; `losing` hears who loses some of the fields that were set. Forgets what is
/// owned in versions that are gone, and who owns nothing.
pub(crate) fn release<'a>(
    typed: &Typed<'_>,
    writer: &Writer<'_>,
    managers: &mut Managers<'a>,
    change: &OwnershipChange<'_>,
    objects: (Option<&Object>, &Object),
    reset: &FieldSet<'_>,
    mut losing: impl FnMut(&Manager<'a>, &FieldSet<'_>),
) -> Result<(), Error> {
    let mut take = |manager: &mut Manager<'a>, change: &OwnershipChange<'_>| {
        if manager.fields.intersects(&change.set) {
            losing(manager, &change.set);
            manager.fields.subtract(&change.set);
        }
        manager.fields.subtract(&change.removed);
    };
    let mut failed = None;
    managers.0.retain_mut(|manager| {
        match typed.shape(writer.api_version, &manager.version) {
            // What is no version at all cannot be told from a damage.
            Shape::Gone if GroupVersion::parse(&manager.version).is_none() => {
                failed = Some(Error::Convert(manager.version.to_string()));
            }
            Shape::Gone => return false,
            Shape::Same => {
                reconcile(typed.at(), &mut manager.fields);
                take(manager, change);
            }
            Shape::Other(other) => {
                reconcile(other.at(), &mut manager.fields);
                let taken = in_version(typed, &manager.version, objects).and_then(|(old, new)| {
                    let comparison = compare(other.at(), old.as_ref(), &new).map_err(Error::Compare)?;
                    take(manager, &comparison.without(reset).into_change());
                    Ok(())
                });
                failed = taken.err().or(failed.take());
            }
        }
        !manager.fields.is_empty()
    });
    failed.map_or(Ok(()), Err)
}

/// The objects in another version.
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
