//! The status of a definition: its conditions, and how they are set.

use pawl_meta::object::Object;
use serde_json::{Value, json};

use crate::definition::Names;
use crate::fields;

/// Something that holds of a definition, or does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub kind: &'static str,
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    pub reason: &'static str,
    pub message: String,
}

impl Condition {
    pub const NAMES_ACCEPTED: &'static str = "NamesAccepted";
    pub const ESTABLISHED: &'static str = "Established";
    pub const TERMINATING: &'static str = "Terminating";
    pub const NON_STRUCTURAL: &'static str = "NonStructuralSchema";
    pub const API_APPROVED: &'static str = "KubernetesAPIApprovalPolicyConformant";
    pub const STORAGE_MIGRATING: &'static str = "StorageMigrating";
    /// Not upstream's: stored objects are refused by the schema. There only while some are.
    pub const INVALID_AT_REST: &'static str = "ObjectsInvalidAtRest";

    pub(crate) fn new(
        kind: &'static str,
        status: &'static str,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self { kind, status, reason, message: message.into() }
    }

    /// Whether a status says the same, whenever it came to be so.
    fn is_in(&self, status: &Object) -> bool {
        find(status, self.kind).is_some_and(|present| {
            fields::text(present, "status") == self.status
                && fields::text(present, "reason") == self.reason
                && fields::text(present, "message") == self.message
        })
    }
}

/// The condition of a kind.
pub fn find<'s>(status: &'s Object, kind: &str) -> Option<&'s Object> {
    fields::each(status, "conditions").find(|condition| fields::text(condition, "type") == kind)
}

/// Whether a condition is there and true.
pub fn is_true(status: &Object, kind: &str) -> bool {
    find(status, kind).is_some_and(|condition| fields::text(condition, "status") == "True")
}

/// Puts a condition in place of the one of its kind, or behind the others. The time changes only with the status. Answers
/// whether anything changed.
pub fn set(status: &mut Object, condition: &Condition, now: &str) -> bool {
    if condition.is_in(status) {
        return false;
    }
    let fresh = json!({
        "type": condition.kind,
        "status": condition.status,
        "lastTransitionTime": now,
        "reason": condition.reason,
        "message": condition.message,
    });
    let Value::Object(fresh) = fresh else { return false };
    let conditions = conditions_mut(status);
    let of_kind = |present: &&mut Value| present.get("type").and_then(Value::as_str) == Some(condition.kind);
    match conditions.iter_mut().find(of_kind).and_then(Value::as_object_mut) {
        None => conditions.push(Value::Object(fresh)),
        Some(present) => {
            let since =
                present.get("lastTransitionTime").filter(|_| fields::text(present, "status") == condition.status);
            let since = since.filter(|time| !time.is_null()).cloned();
            present.extend(fresh);
            if let Some(since) = since {
                present.insert("lastTransitionTime".to_owned(), since);
            }
        }
    }
    true
}

/// Notes the generation that a condition is about. Answers whether that is news.
pub(crate) fn observe(status: &mut Object, kind: &str, generation: i64) -> bool {
    let of_kind = |present: &&mut Value| present.get("type").and_then(Value::as_str) == Some(kind);
    let condition = conditions_mut(status).iter_mut().find(of_kind).and_then(Value::as_object_mut);
    condition.is_some_and(|condition| {
        condition.insert("observedGeneration".to_owned(), json!(generation)) != Some(json!(generation))
    })
}

/// Takes a condition away. Answers whether it was there.
pub fn remove(status: &mut Object, kind: &str) -> bool {
    let there = find(status, kind).is_some();
    if there {
        conditions_mut(status).retain(|condition| condition.get("type").and_then(Value::as_str) != Some(kind));
    }
    there
}

fn conditions_mut(status: &mut Object) -> &mut Vec<Value> {
    let slot = status.entry("conditions").or_insert_with(|| json!([]));
    if !slot.is_array() {
        *slot = json!([]);
    }
    match slot {
        Value::Array(conditions) => conditions,
        #[expect(clippy::unreachable, reason = "made a list three lines above")]
        _ => unreachable!("conditions were just made a list"),
    }
}

/// Names as a status carries them.
pub(crate) fn names(names: &Names) -> Value {
    let mut value = json!({"plural": names.plural, "kind": names.kind});
    let Some(map) = value.as_object_mut() else { return value };
    for (field, text) in [("singular", &names.singular), ("listKind", &names.list_kind)] {
        if !text.is_empty() {
            map.insert(field.to_owned(), json!(text));
        }
    }
    for (field, list) in [("shortNames", &names.short), ("categories", &names.categories)] {
        if !list.is_empty() {
            map.insert(field.to_owned(), json!(list));
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_condition_is_that_of_its_status() {
        let mut status = Object::new();
        let at = |status: &Object| find(status, "Established").map(|c| fields::string(c, "lastTransitionTime"));
        let condition = |status, message: &str| Condition::new("Established", status, "R", message);
        assert!(set(&mut status, &condition("False", "a"), "t1"));
        assert!(!set(&mut status, &condition("False", "a"), "t2"), "nothing changed");
        assert!(set(&mut status, &condition("False", "b"), "t2"));
        assert_eq!(at(&status).as_deref(), Some("t1"), "the same status for other reasons");
        assert!(set(&mut status, &condition("True", "b"), "t3"));
        assert_eq!(at(&status).as_deref(), Some("t3"));
        assert!(remove(&mut status, "Established"));
        assert!(!remove(&mut status, "Established"));
    }

    #[test]
    fn null_conditions_are_none() {
        let mut status = json!({"conditions": null}).as_object().cloned().unwrap_or_default();
        assert!(set(&mut status, &Condition::new("Established", "True", "R", "m"), "t"));
        assert_eq!(fields::list(&status, "conditions").len(), 1);
    }
}
