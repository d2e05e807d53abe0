//! The conditions of a terminating namespace: upstream's types, reasons and messages.

use std::collections::BTreeMap;

use pawl_registry::Served;
use serde_json::{Value, json};

use super::content::{Content, Remaining};

/// A condition as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    kind: &'static str,
    /// Whether something is wrong or left.
    holds: bool,
    reason: &'static str,
    message: String,
}

/// How many objects a message names before it only counts.
const NAMED: usize = 10;

/// The conditions that say what remains of the content, and what failed.
pub fn of(content: &Content, errors: &[String]) -> Vec<Condition> {
    let fine = |kind, reason, message: &str| Condition { kind, holds: false, reason, message: message.to_owned() };
    let found = |kind, reason, message| Condition { kind, holds: true, reason, message };
    let failures = failures(content, errors);
    let remaining = remaining(content);
    let finalizers = finalizers(content);
    vec![
        if content.unknown.is_empty() {
            fine("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered")
        } else {
            let names: Vec<&str> = content.unknown.iter().map(String::as_str).collect();
            let message = format!(
                "Discovery failed for some groups, {} failing: customresourcedefinitions that cannot be read: {}",
                names.len(),
                named(&names)
            );
            found("NamespaceDeletionDiscoveryFailure", "DiscoveryFailed", message)
        },
        fine(
            "NamespaceDeletionGroupVersionParsingFailure",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        if failures.is_empty() {
            fine(
                "NamespaceDeletionContentFailure",
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            )
        } else {
            let count = failures.len();
            let message = format!("Failed to delete all resource types, {count} remaining: {}", failures.join(", "));
            found("NamespaceDeletionContentFailure", "ContentDeletionFailed", message)
        },
        if remaining.is_empty() {
            fine("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed")
        } else {
            let message = format!("Some resources are remaining: {}", remaining.join(", "));
            found("NamespaceContentRemaining", "SomeResourcesRemain", message)
        },
        if finalizers.is_empty() {
            fine("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished")
        } else {
            let message = format!("Some content in the namespace has finalizers remaining: {}", finalizers.join(", "));
            found("NamespaceFinalizersRemaining", "SomeFinalizersRemain", message)
        },
    ]
}

/// Brings the conditions of an object up to date; the time of one changes only with its status.
pub fn merge(conditions: &mut Vec<Value>, wanted: &[Condition], now: &str) {
    for condition in wanted {
        let status = if condition.holds { "True" } else { "False" };
        let at = conditions.iter_mut().find(|c| c.get("type").and_then(Value::as_str) == Some(condition.kind));
        let Some(Value::Object(there)) = at else {
            conditions.push(json!({
                "type": condition.kind, "status": status, "lastTransitionTime": now,
                "reason": condition.reason, "message": condition.message,
            }));
            continue;
        };
        if there.get("status").and_then(Value::as_str) != Some(status) {
            there.insert("lastTransitionTime".to_owned(), json!(now));
        }
        there.insert("status".to_owned(), json!(status));
        there.insert("reason".to_owned(), json!(condition.reason));
        there.insert("message".to_owned(), json!(condition.message));
    }
}

/// What failed, what liens hold and what cannot be read, a text for each resource.
fn failures(content: &Content, errors: &[String]) -> Vec<String> {
    let mut held: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for object in content.objects.iter().filter(|object| object.is_held()) {
        held.entry(object.served.resource.group_resource().to_string()).or_default().push(&object.name);
    }
    let mut unreadable: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for object in &content.unreadable {
        unreadable.entry(object.served.resource.group_resource().to_string()).or_default().push(&object.name);
    }
    let mut texts: Vec<String> = errors.to_vec();
    texts.extend(held.iter().map(|(resource, names)| format!("{resource} held by liens: {}", named(names))));
    let awaited = |object: &Remaining| {
        let who = object.awaits.as_ref()?;
        let resource = object.served.resource.group_resource();
        Some(format!("{resource} {:?} used by {} {:?}, which is going", object.name, who.user.kind(), who.key))
    };
    texts.extend(content.objects.iter().filter_map(awaited));
    texts
        .extend(unreadable.iter().map(|(resource, names)| format!("{resource} that cannot be read: {}", named(names))));
    texts.sort();
    texts.dedup();
    texts
}

fn named(names: &[&str]) -> String {
    let mut shown: Vec<String> = names.iter().take(NAMED).map(|name| format!("{name:?}")).collect();
    if names.len() > NAMED {
        shown.push(format!("{} more", names.len() - NAMED));
    }
    shown.join(", ")
}

fn remaining(content: &Content) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let places =
        content.objects.iter().map(|object| &object.served).chain(content.unreadable.iter().map(|u| &u.served));
    for served in places {
        *counts.entry(resource(served)).or_default() += 1;
    }
    let mut texts: Vec<String> =
        counts.iter().map(|(resource, count)| format!("{resource} has {count} resource instances")).collect();
    texts.sort();
    texts
}

fn finalizers(content: &Content) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for finalizer in content.objects.iter().flat_map(|object| &object.finalizers) {
        *counts.entry(finalizer).or_default() += 1;
    }
    let mut texts: Vec<String> =
        counts.iter().map(|(finalizer, count)| format!("{finalizer} in {count} resource instances")).collect();
    texts.sort();
    texts
}

/// Plural and group with a dot between them, also where the group is empty.
fn resource(served: &Served) -> String {
    format!("{}.{}", served.resource.facts.plural, served.resource.facts.group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn object(plural: &str, group: &str, liens: &[&str], finalizers: &[&str]) -> Remaining {
        let table = pawl_registry::Table::new(pawl_kinds::builtin(), 1);
        let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        Remaining {
            served: Arc::clone(table.preferred(group, plural).unwrap()),
            name: "x".to_owned(),
            uid: "u".to_owned(),
            deleting: liens.is_empty(),
            liens: own(liens),
            finalizers: own(finalizers),
            target: None,
            uses: Arc::default(),
            in_use: false,
            awaits: None,
        }
    }

    fn check(objects: Vec<Remaining>, errors: &[&str], expect: [&str; 3]) {
        let content = Content { objects, ..Content::default() };
        let errors: Vec<String> = errors.iter().map(|e| (*e).to_owned()).collect();
        let got = of(&content, &errors);
        let texts: Vec<String> = got.iter().map(|c| format!("{} {}: {}", c.holds, c.reason, c.message)).collect();
        assert_eq!(texts[2..], expect);
        assert!(!got[0].holds && !got[1].holds);
    }

    #[test]
    fn conditions_name_what_remains() {
        check(
            Vec::new(),
            &[],
            [
                "false ContentDeleted: All content successfully deleted, may be waiting on finalization",
                "false ContentRemoved: All content successfully removed",
                "false ContentHasNoFinalizers: All content-preserving finalizers finished",
            ],
        );
        check(
            vec![
                object("pods", "", &[], &["a.b/c"]),
                object("pods", "", &[], &["a.b/c"]),
                object("deployments", "apps", &[], &["a.b/d"]),
            ],
            &[],
            [
                "false ContentDeleted: All content successfully deleted, may be waiting on finalization",
                "true SomeResourcesRemain: Some resources are remaining: deployments.apps has 1 resource instances, pods. has 2 resource instances",
                "true SomeFinalizersRemain: Some content in the namespace has finalizers remaining: a.b/c in 2 resource instances, a.b/d in 1 resource instances",
            ],
        );
        check(
            vec![object("secrets", "", &["a.b/c"], &[])],
            &["no"],
            [
                "true ContentDeletionFailed: Failed to delete all resource types, 2 remaining: no, secrets held by liens: \"x\"",
                "true SomeResourcesRemain: Some resources are remaining: secrets. has 1 resource instances",
                "false ContentHasNoFinalizers: All content-preserving finalizers finished",
            ],
        );
    }

    #[test]
    fn the_time_changes_with_the_status() {
        let mut conditions = vec![json!({"type": "Other", "status": "True"})];
        let empty = of(&Content::default(), &[]);
        merge(&mut conditions, &empty, "t1");
        assert_eq!(conditions.len(), 6);
        merge(&mut conditions, &empty, "t2");
        assert_eq!(conditions[3]["lastTransitionTime"], "t1");
        merge(&mut conditions, &of(&Content::default(), &["no".to_owned()]), "t3");
        assert_eq!((&conditions[3]["lastTransitionTime"], &conditions[3]["status"]), (&json!("t3"), &json!("True")));
        assert_eq!(conditions[4]["lastTransitionTime"], "t1");
    }
}
