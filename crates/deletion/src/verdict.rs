//! The verdict on one deletion of one object.

use pawl_meta::object::{Meta, Object, metadata_mut};
use pawl_meta::{GroupResource, Status, time};
use serde_json::{Value, json};

use crate::lien_conflict::held;
use crate::{DeleteOptions, FOREGROUND, InUse, ORPHAN, Propagation};

/// What is particular about the deletion of a kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traits {
    /// It has a grace period of its own: pods.
    pub grace: Option<Grace>,
    /// Finalizers in its spec hold it too: namespaces.
    pub spec_finalizers: bool,
    /// Its dependents stay, unless somebody says otherwise: jobs.
    pub orphans: bool,
    /// Nobody collects what it owns, so that no finalizer of a collector is put on it: events.
    pub uncollected: bool,
}

/// How a kind decides on its grace period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grace {
    Pod,
}

/// One deletion to be judged.
pub struct Deletion<'a> {
    pub resource: &'a GroupResource,
    pub kind: &'a str,
    /// The group of the kind, as errors name it.
    pub kind_group: &'a str,
    pub options: &'a DeleteOptions,
    pub traits: Traits,
    /// Who uses the object, where that keeps it.
    pub in_use: Option<&'a InUse>,
    /// Whether liens hold objects: the gate `InUseProtection`.
    pub liens_hold: bool,
    /// Seconds since the epoch.
    pub now: i64,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum DeletionVerdict {
    /// Nothing holds the object: it goes at once.
    Remove {
        /// How it looked last.
        object: Object,
        /// Whether the deletion made it look like this.
        changed: bool,
    },
    /// The deletion starts, or goes on with other terms: the object is stored like this.
    Mark(Object),
    /// It is being deleted already and this request changes nothing.
    Underway,
    /// It may not be deleted, or not like this.
    Refuse(Status),
}

/// Judges the deletion of an object.
pub fn judge(deletion: &Deletion<'_>, mut object: Object) -> DeletionVerdict {
    let refusal = deletion.options.overflow(deletion.now).or_else(|| failed_precondition(deletion, &object));
    if let Some(status) = refusal {
        return DeletionVerdict::Refuse(status);
    }
    let deleting = object.is_deleting();
    if let Some(status) = held(deletion, &object)
        && !deleting
    {
        return DeletionVerdict::Refuse(status);
    }
    let grace = grace_period(deletion, &object);
    let finalizers_changed = set_finalizers(&mut object, deletion);
    if deleting {
        return go_on(deletion, object, grace, finalizers_changed);
    }
    let waits = !object.meta_strings("finalizers").is_empty() || holds_by_spec(deletion, &object);
    let seconds = grace.unwrap_or(0);
    let stays = waits || seconds > 0;
    let marks = stays || deletion.traits.grace.is_some();
    if marks {
        mark(&mut object, deletion.now, seconds);
        if deletion.traits.spec_finalizers {
            // Upstream marks these in its own way.
            metadata_mut(&mut object).remove("deletionGracePeriodSeconds");
        }
    }
    if stays {
        DeletionVerdict::Mark(object)
    } else {
        DeletionVerdict::Remove { object, changed: marks || finalizers_changed }
    }
}

/// Whether a stored object that is being deleted has nothing left that holds it: the write that made it so removes it.
pub fn completes(object: &Object, traits: Traits) -> bool {
    let grace =
        object.metadata().and_then(|m| m.get("deletionGracePeriodSeconds")).and_then(Value::as_i64).unwrap_or(0);
    object.is_deleting()
        && grace == 0
        && object.meta_strings("finalizers").is_empty()
        && !(traits.spec_finalizers && has_spec_finalizers(object))
}

/// A deletion that has begun can only be made shorter, or be given a finalizer.
fn go_on(deletion: &Deletion<'_>, mut object: Object, grace: Option<i64>, finalizers_changed: bool) -> DeletionVerdict {
    let Deletion { options, traits, now, .. } = *deletion;
    let current = object.metadata().and_then(|m| m.get("deletionGracePeriodSeconds")).and_then(Value::as_i64);
    let shorter = match (traits.grace, options.grace_period_seconds, current, grace) {
        (Some(_), Some(_), Some(current), Some(asked)) if asked < current => Some(asked),
        _ => None,
    };
    if let Some(seconds) = shorter {
        // The clock started when the deletion did.
        let begun = time::parse(object.meta_str("deletionTimestamp")).unwrap_or(now) - current.unwrap_or(0);
        let metadata = metadata_mut(&mut object);
        metadata.insert("deletionTimestamp".to_owned(), json!(time::seconds((begun + seconds).max(0))));
        metadata.insert("deletionGracePeriodSeconds".to_owned(), json!(seconds));
    }
    let changed = shorter.is_some() || finalizers_changed;
    if completes(&object, traits) {
        return DeletionVerdict::Remove { object, changed };
    }
    if changed { DeletionVerdict::Mark(object) } else { DeletionVerdict::Underway }
}

fn mark(object: &mut Object, now: i64, seconds: i64) {
    let generation = object.generation();
    let metadata = metadata_mut(object);
    metadata.insert("deletionTimestamp".to_owned(), json!(time::seconds(now.saturating_add(seconds))));
    metadata.insert("deletionGracePeriodSeconds".to_owned(), json!(seconds));
    if generation > 0 {
        metadata.insert("generation".to_owned(), json!(generation + 1));
    }
}

fn failed_precondition(deletion: &Deletion<'_>, object: &Object) -> Option<Status> {
    let Deletion { options, kind, kind_group, .. } = *deletion;
    let name = object.name();
    if deletion.traits.spec_finalizers {
        return failed_in_steps(deletion, object);
    }
    // Upstream names the kind here, not the resource.
    let refuse = |why: String| Some(Status::conflict(&GroupResource::new(kind_group, kind), name, why));
    match (&options.preconditions.uid, &options.preconditions.resource_version) {
        (Some(uid), _) if uid != object.uid() => refuse(format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
            object.uid()
        )),
        (_, Some(version)) if version != object.resource_version() => refuse(format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). The object might have been modified",
            object.resource_version()
        )),
        _ => None,
    }
}

/// The same of what is deleted in steps: upstream looks at that elsewhere, and words it otherwise.
fn failed_in_steps(deletion: &Deletion<'_>, object: &Object) -> Option<Status> {
    let wanted = &deletion.options.preconditions;
    let conditions =
        [("UID", &wanted.uid, object.uid()), ("ResourceVersion", &wanted.resource_version, object.resource_version())];
    conditions.into_iter().find_map(|(what, wanted, found)| {
        let wanted = wanted.as_ref().filter(|wanted| *wanted != found)?;
        let why = format!("Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}");
        Some(Status::conflict(deletion.resource, object.name(), why))
    })
}

/// Gives the object the finalizer of the asked-for propagation and takes the other away. Returns whether that changed it.
fn set_finalizers(object: &mut Object, deletion: &Deletion<'_>) -> bool {
    if deletion.traits.uncollected {
        return false;
    }
    let before: Vec<String> = object.meta_strings("finalizers").into_iter().map(str::to_owned).collect();
    let is_decided = before.iter().any(|f| f == ORPHAN || f == FOREGROUND);
    let default = (deletion.traits.orphans && !is_decided).then_some(Propagation::Orphan);
    let Some(asked) = deletion.options.asked().or(default) else { return false };
    let wanted = match asked {
        Propagation::Orphan => Some(ORPHAN),
        Propagation::Foreground => Some(FOREGROUND),
        Propagation::Background => None,
    };
    let mut after: Vec<String> =
        before.iter().filter(|f| (*f != ORPHAN && *f != FOREGROUND) || Some(f.as_str()) == wanted).cloned().collect();
    if let Some(wanted) = wanted
        && !after.iter().any(|f| f == wanted)
    {
        after.push(wanted.to_owned());
    }
    if after == before {
        return false;
    }
    let metadata = metadata_mut(object);
    if after.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".to_owned(), json!(after));
    }
    true
}

/// The grace period of this deletion, for kinds that have one.
fn grace_period(deletion: &Deletion<'_>, object: &Object) -> Option<i64> {
    let Grace::Pod = deletion.traits.grace?;
    let spec = object.get("spec");
    let asked = deletion.options.grace_period_seconds;
    let own = spec.and_then(|s| s.get("terminationGracePeriodSeconds")).and_then(Value::as_i64).unwrap_or(0);
    // A negative period, asked for or stored, means as short as a graceful deletion gets.
    let mut seconds = match asked.unwrap_or(own) {
        negative if negative < 0 => 1,
        // What a pod says of itself was never checked; it must not keep the pod from being deleted.
        seconds => seconds.min(time::latest().saturating_sub(deletion.now)),
    };
    let scheduled = spec.and_then(|s| s.get("nodeName")).and_then(Value::as_str).is_some_and(|n| !n.is_empty());
    let phase = object.get("status").and_then(|s| s.get("phase")).and_then(Value::as_str).unwrap_or_default();
    if !scheduled || matches!(phase, "Failed" | "Succeeded") {
        seconds = 0;
    }
    Some(seconds)
}

fn holds_by_spec(deletion: &Deletion<'_>, object: &Object) -> bool {
    deletion.traits.spec_finalizers && has_spec_finalizers(object)
}

fn has_spec_finalizers(object: &Object) -> bool {
    let list = object.get("spec").and_then(|s| s.get("finalizers")).and_then(Value::as_array);
    list.is_some_and(|l| !l.is_empty())
}

#[cfg(test)]
mod tests;
