//! What rules cannot say about FlowSchema and PriorityLevelConfiguration: subjects by kind, wildcards, the shuffle that
//! deals requests to queues, and the objects that are what they are.

use std::collections::HashSet;

use pawl_meta::object::{Meta as _, Object};
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath, formats};
use serde_json::{Value, json};

use super::report::each;

const VERBS: [&str; 9] = ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

/// The first place is kept for the schema that exempts.
pub fn flow_schema_first(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let name = cx.root.name();
    if read::number(object, "matchingPrecedence") == 1 && name != "exempt" {
        let detail = "only the schema named 'exempt' may have matchingPrecedence 1";
        errors.invalid(&path.child("matchingPrecedence"), 1, detail);
    }
}

/// A subject has the field that its kind names, and no other.
pub fn flow_subject(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let kind = read::text(object, "kind");
    let kinds = [("ServiceAccount", "serviceAccount"), ("User", "user"), ("Group", "group")];
    let Some(&(_, own)) = kinds.iter().find(|(name, _)| *name == kind) else {
        errors.not_supported(&path.child("kind"), kind, &["Group", "ServiceAccount", "User"]);
        return;
    };
    match read::map(object, own) {
        None => errors.required(&path.child(own), format!("{own} is required when subject kind is '{kind}'")),
        Some(subject) => named_subject(subject, kind, &path.child(own), errors),
    }
    for &(other_kind, other) in kinds.iter().filter(|(name, _)| *name != kind) {
        if read::present(object, other) {
            let detail = format!("{other} is forbidden when subject kind is not '{other_kind}'");
            errors.forbidden(&path.child(other), detail);
        }
    }
}

fn named_subject(subject: &Object, kind: &str, at: &FieldPath, errors: &mut Errors) {
    let name = read::text(subject, "name");
    if name.is_empty() {
        errors.required(&at.child("name"), "");
    }
    if kind != "ServiceAccount" {
        return;
    }
    if !name.is_empty() && name != "*" {
        each(formats::dns1123_subdomain(name), &at.child("name"), name, errors);
    }
    let namespace = read::text(subject, "namespace");
    if namespace.is_empty() {
        errors.required(&at.child("namespace"), "must specify namespace for service account");
    } else {
        each(formats::dns1123_label(namespace), &at.child("namespace"), namespace, errors);
    }
}

/// The verbs of a rule: known ones, or all.
pub fn flow_verbs(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("verbs");
    let verbs = read::texts(object, "verbs");
    if verbs.is_empty() {
        errors.required(&at, "verbs must contain at least one value");
    } else if verbs.contains(&"*") {
        if verbs.len() > 1 {
            errors.invalid(&at, json!(verbs), "if '*' is present, must not specify other verbs");
        }
    } else if !verbs.iter().all(|verb| VERBS.contains(verb)) {
        errors.not_supported(&at, json!(verbs), &VERBS);
    }
}

/// The namespaces of a rule: some, or all, or none for what has none.
pub fn flow_namespaces(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("namespaces");
    let namespaces = read::texts(object, "namespaces");
    if namespaces.is_empty() && !read::truth(object, "clusterScope") {
        let detail = "resource rules that are not cluster scoped must supply at least one namespace";
        errors.required(&at, detail);
    } else if namespaces.contains(&"*") {
        if namespaces.len() > 1 {
            errors.invalid(&at, json!(namespaces), "if '*' is present, must not specify other namespaces");
        }
    } else {
        for (index, namespace) in namespaces.into_iter().enumerate() {
            for detail in formats::dns1123_label(namespace) {
                let detail = format!("each member of this list must be '*' or a DNS-1123 label; {detail}");
                errors.invalid(&at.index(index), namespace, detail);
            }
        }
    }
}

/// The URLs of a rule; a wildcard ends one.
pub fn flow_urls(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let urls = read::texts(object, "nonResourceURLs");
    if urls.contains(&"*") {
        return;
    }
    for (index, url) in urls.into_iter().enumerate() {
        let stars = url.matches('*').count();
        let detail = if url.is_empty() {
            "must not be empty"
        } else if !url.starts_with('/') {
            "must start with slash"
        } else if url.contains(' ') {
            "must not contain white-space"
        } else if url.contains("//") {
            "must not contain double slash"
        } else if stars > 1 || (stars == 1 && !url.ends_with("/*")) {
            "wildcard can only do suffix matching"
        } else {
            continue;
        };
        errors.invalid(&path.child("nonResourceURLs").index(index), url, detail);
    }
}

/// Conditions have a type, each its own.
pub fn flow_conditions(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(status) = read::map(object, "status") else { return };
    let mut seen = HashSet::new();
    for (index, condition) in read::objects(status, "conditions") {
        let at = path.child("status").child("conditions").index(index).child("type");
        let kind = read::text(condition, "type");
        if !seen.insert(kind) {
            errors.duplicate(&at, kind);
        }
        if kind.is_empty() {
            errors.required(&at, "");
        }
    }
}

/// The level named `exempt` exempts, and no other does.
pub fn priority_level_exempt_name(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let name = read::map(object, "metadata").map(|metadata| read::text(metadata, "name")).unwrap_or_default();
    let kind = read::map(object, "spec").map(|spec| read::text(spec, "type")).unwrap_or_default();
    if (name == "exempt") != (kind == "Exempt") {
        let detail = "must be 'Exempt' if and only if `name` is 'exempt'";
        errors.invalid(&path.child("spec").child("type"), kind, detail);
    }
}

/// The two levels that every server has are what they are; of `exempt`, its shares may change.
pub fn priority_level_fixed(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let name = read::map(object, "metadata").map(|metadata| read::text(metadata, "name")).unwrap_or_default();
    let mut spec = read::map(object, "spec").cloned().unwrap_or_default();
    let detail = match name {
        "exempt" => {
            spec.remove("exempt");
            if Value::Object(spec) == json!({"type": "Exempt"}) {
                return;
            }
            "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value"
        }
        "catch-all" => {
            let fixed = json!({
                "type": "Limited",
                "limited": {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}, "lendablePercent": 0},
            });
            if Value::Object(spec) == fixed {
                return;
            }
            "spec of 'catch-all' must equal the fixed value"
        }
        _ => return,
    };
    let shown = object.get("spec").cloned().unwrap_or(Value::Null);
    errors.invalid(&path.child("spec"), shown, detail);
}

/// The two schemas that every server has are what they are.
pub fn flow_schema_fixed(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let name = read::map(object, "metadata").map(|metadata| read::text(metadata, "name")).unwrap_or_default();
    let everything = |subjects: Value| {
        json!([{
            "subjects": subjects,
            "resourceRules": [{
                "verbs": ["*"],
                "apiGroups": ["*"],
                "resources": ["*"],
                "clusterScope": true,
                "namespaces": ["*"],
            }],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        }])
    };
    let group = |name: &str| json!({"kind": "Group", "group": {"name": name}});
    let fixed = match name {
        "exempt" => json!({
            "priorityLevelConfiguration": {"name": "exempt"},
            "matchingPrecedence": 1,
            "rules": everything(json!([group("system:masters")])),
        }),
        "catch-all" => json!({
            "priorityLevelConfiguration": {"name": "catch-all"},
            "matchingPrecedence": 10000,
            "distinguisherMethod": {"type": "ByUser"},
            "rules": everything(json!([group("system:unauthenticated"), group("system:authenticated")])),
        }),
        _ => return,
    };
    let spec = object.get("spec").cloned().unwrap_or(Value::Null);
    if spec != fixed {
        errors.invalid(&path.child("spec"), spec, format!("spec of '{name}' must equal the fixed value"));
    }
}

/// A hand is dealt from the queues, and must be told by the bits of one hash.
pub fn queuing_hand_size(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let (queues, hand) = (read::number(object, "queues"), read::number(object, "handSize"));
    let at = path.child("handSize");
    if hand <= 0 {
        errors.invalid(&at, hand, "must be positive");
    } else if hand > queues {
        errors.invalid(&at, hand, format!("should not be greater than queues ({queues})"));
    } else if entropy_bits(queues, hand) > 60 {
        let detail =
            format!("required entropy bits of deckSize {queues} and handSize {hand} should not be greater than 60");
        errors.invalid(&at, hand, detail);
    }
}

/// How many bits tell apart the hands that can be dealt.
fn entropy_bits(queues: i64, hand: i64) -> i64 {
    ((queues as f64).log2() * hand as f64).ceil() as i64
}
