//! What rules cannot say about StorageVersionMigrations.

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath, formats};
use serde_json::json;

/// The resource that is migrated: all that is wrong with one of its names is one error.
pub fn migration_resource(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let named = read::within(read::within(object, "spec"), "resource");
    let at = path.child("spec").child("resource");
    let (group, resource) = (read::text(named, "group"), read::text(named, "resource"));
    if resource.is_empty() {
        errors.required(&at.child("resource"), "resource is required to be set");
    } else {
        joined(&formats::dns1035_label(resource), &at.child("resource"), resource, errors);
    }
    if !group.is_empty() {
        joined(&formats::dns1123_subdomain(group), &at.child("group"), group, errors);
    }
}

fn joined(found: &[String], at: &FieldPath, bad: &str, errors: &mut Errors) {
    if !found.is_empty() {
        errors.invalid(at, bad, found.join(","));
    }
}

/// What is to be migrated does not change.
pub fn migration_spec_update(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let shown = |object: &Object| {
        let named = read::within(read::within(object, "spec"), "resource");
        json!({"Resource": {"group": read::text(named, "group"), "resource": read::text(named, "resource")}})
    };
    let now = shown(new);
    if now != shown(old) {
        errors.invalid(&path.child("spec"), now, "field is immutable");
    }
}

/// A version is a number without leading zeros; zero is none.
pub fn migration_version(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let version = read::text(read::within(object, "status"), "resourceVersion");
    let is_number = !version.starts_with('0') && version.bytes().all(|byte| byte.is_ascii_digit());
    if !version.is_empty() && !is_number {
        let detail = format!("resource version is not well formed: {version}");
        errors.invalid(&path.child("status").child("resourceVersion"), version, detail);
    }
}

/// A migration ends once, one way or the other.
pub fn migration_status_update(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("status").child("conditions");
    let (succeeded, failed) = (is_true(new, "Succeeded"), is_true(new, "Failed"));
    let mut wrong = |detail: &str| errors.invalid_shown(&at, shown_conditions(new), detail);
    if succeeded && failed {
        wrong("Both success and failed conditions cannot be true at the same time");
    }
    if is_true(old, "Succeeded") && !succeeded {
        wrong("Success condition cannot be set to false once it is true");
    }
    if is_true(old, "Failed") && !failed {
        wrong("Failed condition cannot be set to false once it is true");
    }
}

fn is_true(object: &Object, kind: &str) -> bool {
    let mut conditions = read::objects(read::within(object, "status"), "conditions");
    let found = conditions.find(|(_, condition)| read::text(condition, "type") == kind);
    found.is_some_and(|(_, condition)| read::text(condition, "status") == "True")
}

fn shown_conditions(object: &Object) -> String {
    let conditions = read::objects(read::within(object, "status"), "conditions");
    let shown: Vec<String> = conditions.map(|(_, condition)| super::shown("meta.v1.Condition", condition)).collect();
    if shown.is_empty() { "null".to_owned() } else { format!("[{}]", shown.join(",")) }
}

#[cfg(test)]
mod tests {
    use pawl_rules::Prepare;
    use serde_json::Value;

    use super::*;
    use crate::{Findings, MetadataPass, Write};

    fn object(value: Value) -> Object {
        value.as_object().cloned().unwrap_or_default()
    }

    /// What is said of a change, or of a new object where there is no old one.
    fn said(subresource: &str, old: Option<Value>, new: Value) -> Vec<String> {
        let resources = crate::builtin();
        let kind = resources.iter().find(|r| r.facts.kind == "StorageVersionMigration").unwrap();
        let (old, mut new) = (old.map(object), object(new));
        let write = old.as_ref().map_or(Write::CREATE, |old| Write::update(subresource, old));
        kind.behaviour.prepare(write, &mut new, &Prepare::default());
        let mut found = Findings::default();
        kind.behaviour.validate(write, &new, &mut |_: MetadataPass, _: &mut Errors| {}, &mut found);
        found.errors.iter().map(ToString::to_string).collect()
    }

    fn migration(group: &str, resource: &str) -> Value {
        json!({"spec": {"resource": {"group": group, "resource": resource}}})
    }

    fn ended(kinds: &[&str]) -> Value {
        let condition = |kind: &&str| json!({"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "R"});
        let mut ended = migration("", "secrets");
        ended["status"] = json!({"conditions": kinds.iter().map(condition).collect::<Vec<_>>()});
        ended
    }

    #[test]
    fn the_resource_is_named_as_upstream_wants_it() {
        assert_eq!(said("", None, migration("", "secrets")), [""; 0]);
        assert_eq!(said("", None, migration("example.com", "ws")), [""; 0]);
        assert_eq!(
            said("", None, json!({})),
            ["spec.resource.resource: Required value: resource is required to be set"]
        );
        let wrong = said("", None, migration("Example", "a.b"));
        assert!(wrong[0].starts_with(r#"spec.resource.resource: Invalid value: "a.b": a DNS-1035 label"#), "{wrong:?}");
        assert!(wrong[1].starts_with(r#"spec.resource.group: Invalid value: "Example": a lowercase RFC 1123"#));
        assert_eq!(
            said("", Some(migration("", "secrets")), migration("apps", "deployments")),
            [r#"spec: Invalid value: {"Resource":{"group":"apps","resource":"deployments"}}: field is immutable"#]
        );
    }

    #[test]
    fn a_migration_ends_once() {
        let at = |version: &str| {
            let mut new = migration("", "secrets");
            new["status"] = json!({"resourceVersion": version});
            new
        };
        let check = |old: Value, new: Value, expect: &[&str]| {
            let said = said("status", Some(old), new);
            assert_eq!(said.len(), expect.len(), "{said:?}");
            for (said, expect) in said.iter().zip(expect) {
                assert!(said.starts_with("status.") && said.contains(expect), "{said}");
            }
        };
        check(at(""), at("12"), &[]);
        check(
            at(""),
            at("012"),
            &[r#"resourceVersion: Invalid value: "012": resource version is not well formed: 012"#],
        );
        check(at("12"), at("13"), &[r#"resourceVersion: Invalid value: "13": field is immutable"#]);
        check(at("12"), at(""), &[r#"resourceVersion: Invalid value: "": field is immutable"#]);
        check(at(""), ended(&["Succeeded"]), &[]);
        check(at(""), ended(&["Succeeded", "Failed"]), &["Both success and failed conditions"]);
        check(ended(&["Succeeded"]), at(""), &["conditions: Invalid value: null: Success condition cannot be set"]);
        check(ended(&["Failed"]), ended(&["Running"]), &["Failed condition cannot be set to false once it is true"]);
    }
}
