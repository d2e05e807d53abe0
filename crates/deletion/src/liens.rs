//! Liens on an object: what they may look like, and how a write changes them.

use pawl_meta::object::{Meta, Object, metadata_mut};
use pawl_meta::{Errors, FieldPath, names};
use serde_json::Value;

/// How many liens an object may have.
pub const MAX_LIENS: usize = 32;
const MAX_LEN: usize = 253;

/// Checks the liens of a new object, and against the old one where there is one.
///
/// With the gate off nothing may be added; what is there may stay or go.
pub fn validate_liens(new: &Object, old: Option<&Object>, enabled: bool, errors: &mut Errors) {
    let path = FieldPath::of("metadata").child("liens");
    let liens = new.meta_strings("liens");
    let before = old.map(|o| o.meta_strings("liens")).unwrap_or_default();
    let added: Vec<&str> = liens.iter().copied().filter(|l| !before.contains(l)).collect();
    if !enabled && !added.is_empty() {
        errors.forbidden(&path, "may not be set when the feature gate InUseProtection is off");
        return;
    }
    if !added.is_empty() && old.is_some_and(Meta::is_deleting) {
        let list: Vec<String> = added.iter().map(|l| pawl_meta::go::quote(l)).collect();
        errors.forbidden(
            &path,
            format!(
                "no new liens can be added if the object is being deleted, found new liens []string{{{}}}",
                list.join(", ")
            ),
        );
    }
    if liens.len() > MAX_LIENS && liens.len() > before.len() {
        errors.too_many(&path, liens.len(), MAX_LIENS);
        return;
    }
    for (i, lien) in liens.iter().enumerate() {
        let at = path.index(i);
        if liens.iter().take(i).any(|l| l == lien) {
            errors.duplicate(&at, *lien);
        }
        // What is stored already stays valid: only a new lien is judged.
        if before.contains(lien) {
            continue;
        }
        if lien.len() > MAX_LEN {
            errors.too_long(&at, *lien, MAX_LEN);
            continue;
        }
        if !lien.contains('/') {
            errors.invalid(&at, *lien, "must be a namespaced key (for example 'example.com/in-use')");
            continue;
        }
        for wrong in names::namespaced_key(lien) {
            errors.invalid(&at, *lien, wrong);
        }
    }
}

/// Keeps the liens of an object that a client wrote back without knowing the field. Returns whether any were kept.
///
/// An explicit empty list or null says that they should go, so the caller looks at what the client really sent.
pub fn carry_over(new: &mut Object, old: &Object, mentioned: bool) -> bool {
    if mentioned || old.meta_strings("liens").is_empty() || !new.meta_strings("liens").is_empty() {
        return false;
    }
    let kept = old.metadata().and_then(|m| m.get("liens")).cloned().unwrap_or(Value::Null);
    metadata_mut(new).insert("liens".to_owned(), kept);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(liens: Value, deleting: bool) -> Object {
        let mut o = json!({"metadata": {"name": "x", "liens": liens}});
        if deleting {
            o["metadata"]["deletionTimestamp"] = json!("2024-01-01T00:00:00Z");
        }
        o.as_object().unwrap().clone()
    }

    fn check(new: Value, old: Option<(Value, bool)>, enabled: bool, expect: &[&str]) {
        let mut errors = Errors::new();
        let old = old.map(|(liens, deleting)| object(liens, deleting));
        validate_liens(&object(new, false), old.as_ref(), enabled, &mut errors);
        let got: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(got, expect);
    }

    #[test]
    fn liens_are_namespaced_keys() {
        check(json!(["example.com/a", "b.io/c"]), None, true, &[]);
        check(json!([]), None, true, &[]);
        check(
            json!(["plain"]),
            None,
            true,
            &[
                "metadata.liens[0]: Invalid value: \"plain\": must be a namespaced key (for example 'example.com/in-use')",
            ],
        );
        check(
            json!([format!("example.com/{}", "a".repeat(253))]),
            None,
            true,
            &["metadata.liens[0]: Too long: may not be more than 253 bytes"],
        );
        check(json!([format!("example.com/{}", "a".repeat(241))]), None, true, &[]);
        check(json!(["a.b/c", "a.b/c"]), None, true, &["metadata.liens[1]: Duplicate value: \"a.b/c\""]);
        let many: Vec<String> = (0..33).map(|_| "no lien, and always the same".to_owned()).collect();
        check(json!(many), None, true, &["metadata.liens: Too many: 33: must have at most 32 items"]);
    }

    #[test]
    fn liens_cannot_be_added_while_deleting() {
        check(
            json!(["a.b/c", "a.b/d"]),
            Some((json!(["a.b/c"]), true)),
            true,
            &[
                "metadata.liens: Forbidden: no new liens can be added if the object is being deleted, found new liens []string{\"a.b/d\"}",
            ],
        );
        check(json!([]), Some((json!(["a.b/c"]), true)), true, &[]);
    }

    #[test]
    fn with_the_gate_off_liens_only_shrink() {
        check(
            json!(["a.b/c"]),
            None,
            false,
            &["metadata.liens: Forbidden: may not be set when the feature gate InUseProtection is off"],
        );
        check(json!(["a.b/c"]), Some((json!(["a.b/c", "a.b/d"]), false)), false, &[]);
    }

    #[test]
    fn a_client_that_does_not_know_liens_keeps_them() {
        let old = object(json!(["a.b/c"]), false);
        let mut new = json!({"metadata": {"name": "x"}}).as_object().unwrap().clone();
        assert!(!carry_over(&mut new.clone(), &old, true));
        assert!(carry_over(&mut new, &old, false));
        assert_eq!(new.meta_strings("liens"), ["a.b/c"]);
    }
}
