//! What rules cannot say about webhooks and admission policies. Expressions are looked at as texts; compiling them is for
//! whoever runs them.

mod expressions;

use std::collections::BTreeSet;
use std::collections::HashSet;

pub use expressions::{policy_expressions, webhook_expressions};
use pawl_meta::object::{Meta as _, Object};
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath, formats};
use serde_json::json;

use super::report::each;
use super::webhook;

/// A webhook is reached by a URL or through a service.
pub fn webhook_client(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    webhook::client(read::within(object, "clientConfig"), &path.child("clientConfig"), errors);
}

/// The versions of reviews that a webhook understands.
pub fn webhook_review_versions(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let versions = read::texts(object, "admissionReviewVersions");
    let at = path.child("admissionReviewVersions");
    if versions.is_empty() {
        errors.required(&at, "must specify one of v1, v1beta1");
    } else {
        webhook::review_versions(&versions, true, &at, errors);
    }
}

/// Conditions for a match: not too many, each with a name of its own and an expression.
pub fn match_conditions(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("matchConditions");
    let count = read::list(object, "matchConditions").len();
    if count > 64 {
        errors.too_many(&at, count, 64);
    }
    let mut names = HashSet::new();
    for (index, condition) in read::objects(object, "matchConditions") {
        let at = at.index(index);
        if read::text(condition, "expression").trim().is_empty() {
            errors.required(&at.child("expression"), "");
        }
        let name = read::text(condition, "name");
        if name.is_empty() {
            errors.required(&at.child("name"), "");
            continue;
        }
        each(formats::qualified_name(name), &at.child("name"), name, errors);
        if !names.insert(name) {
            errors.duplicate(&at.child("name"), name);
        }
    }
}

/// The resources of a rule, with their subresources; what a wildcard covers is not named beside it.
pub fn rule_resources(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("resources");
    let resources = read::texts(object, "resources");
    if resources.is_empty() {
        errors.required(&at, "");
    }
    let (mut whole, mut everywhere) = (BTreeSet::new(), BTreeSet::new());
    let mut plain_last = false;
    for (index, resource) in resources.iter().enumerate() {
        if resource.is_empty() {
            errors.required(&at.index(index), "");
            continue;
        }
        let Some((name, sub)) = resource.split_once('/') else {
            plain_last = *resource != "*";
            continue;
        };
        if whole.contains(name) {
            let detail = format!("if '{name}/*' is present, must not specify {resource}");
            errors.invalid(&at.index(index), *resource, detail);
        }
        if everywhere.contains(sub) {
            let detail = format!("if '*/{sub}' is present, must not specify {resource}");
            errors.invalid(&at.index(index), *resource, detail);
        }
        if sub == "*" {
            whole.insert(name);
        }
        if name == "*" {
            everywhere.insert(sub);
        }
    }
    if resources.len() > 1 && resources.contains(&"*/*") {
        errors.invalid(&at, json!(resources), "if '*/*' is present, must not specify other resources");
    }
    if plain_last && resources.contains(&"*") {
        let detail = "if '*' is present, must not specify other resources without subresources";
        errors.invalid(&at, json!(resources), detail);
    }
}

/// The names that a rule is about.
pub fn rule_resource_names(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let names = read::texts(object, "resourceNames");
    let mut seen = HashSet::new();
    for (index, name) in names.iter().enumerate() {
        let at = path.child("resourceNames").index(index);
        each(formats::path_segment(name), &at, name, errors);
        if !seen.insert(name) {
            errors.duplicate(&at, *name);
        }
    }
}

/// The kind of a policy's parameters.
pub fn param_kind(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let version = read::text(object, "apiVersion");
    let at = path.child("apiVersion");
    if version.is_empty() {
        errors.required(&at, "");
    } else {
        group_version(version, &at, errors);
    }
    let kind = read::text(object, "kind");
    if kind.is_empty() {
        errors.required(&path.child("kind"), "");
        return;
    }
    let found = formats::dns1035_label(&kind.to_lowercase());
    if !found.is_empty() {
        let detail = format!("may have mixed case, but should otherwise match: {}", found.join(","));
        errors.invalid(&path.child("kind"), kind, detail);
    }
}

fn group_version(text: &str, at: &FieldPath, errors: &mut Errors) {
    let (group, version) = match text.split('/').collect::<Vec<_>>().as_slice() {
        [version] => ("", *version),
        [group, version] => (*group, *version),
        _ => {
            errors.invalid(at, text, format!("unexpected GroupVersion string: {text}"));
            return;
        }
    };
    let found = formats::dns1123_subdomain(group);
    if !group.is_empty() && !found.is_empty() {
        errors.invalid(at, group, found.join(","));
    }
    if version.is_empty() {
        errors.invalid(at, text, "version must be specified");
        return;
    }
    let found = formats::dns1035_label(version);
    if !found.is_empty() {
        errors.invalid(at, version, found.join(","));
    }
}

/// The name of a variable is one that expressions can use.
pub fn cel_identifier(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let name = read::text(object, "name");
    let reserved = pawl_cel::syntax::RESERVED.contains(&name);
    if !name.trim().is_empty() && (!formats::c_identifier(name).is_empty() || reserved) {
        errors.invalid(&path.child("name"), name, "must be a valid CEL identifier");
    }
}

/// The message of a validation is one line, or not there.
pub fn validation_message(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let message = read::text(object, "message");
    if !message.is_empty() && message.trim().is_empty() {
        errors.invalid(&path.child("message"), message, "must be non-empty if specified");
    } else if message.trim().contains(['\n', '\r']) {
        errors.invalid(&path.child("message"), message, "must not contain line breaks");
    }
}

/// The annotations that a policy adds to the audit log.
pub fn audit_annotations(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("auditAnnotations");
    let annotations = read::list(object, "auditAnnotations");
    if annotations.len() > 20 {
        errors.invalid(&at, json!(annotations), "must not have more than 20 auditAnnotations");
    }
    let policy = cx.root.name();
    let mut keys = HashSet::new();
    for (index, annotation) in read::objects(object, "auditAnnotations") {
        let at = at.index(index);
        let key = read::text(annotation, "key");
        if policy.is_empty() {
            errors.invalid(&at.child("key"), key, "requires metadata.name be non-empty");
        } else {
            let full = format!("{policy}/{key}");
            each(formats::qualified_name(&full), &at.child("key"), &full, errors);
        }
        let expression = read::text(annotation, "valueExpression").trim();
        if expression.is_empty() {
            errors.required(&at.child("valueExpression"), "valueExpression is not specified");
        } else if expression.len() > 5 * 1024 {
            errors.required(&at.child("valueExpression"), "must not exceed 5120 bytes in length");
        }
        if !keys.insert(key) {
            errors.duplicate(&at.child("key"), key);
        }
    }
}

/// What a binding does with a failed validation.
pub fn validation_actions(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let actions = read::map(object, "spec").map(|spec| read::texts(spec, "validationActions")).unwrap_or_default();
    let at = path.child("spec").child("validationActions");
    let mut seen = HashSet::new();
    for (index, action) in actions.iter().enumerate() {
        if !matches!(*action, "Deny" | "Warn" | "Audit") {
            errors.not_supported(&at.index(index), *action, &["Audit", "Deny", "Warn"]);
        }
        if !seen.insert(action) {
            errors.duplicate(&at.index(index), *action);
        }
    }
    if actions.contains(&"Deny") && actions.contains(&"Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)";
        errors.invalid(&at, json!(actions), detail);
    }
    if actions.is_empty() {
        errors.required(&at, "at least one validation action is required");
    }
}

/// The types that were checked against a policy's expressions.
pub fn policy_type_checking(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(checking) = read::deep(object, &["status", "typeChecking"]) else { return };
    for (index, warning) in read::objects(checking, "expressionWarnings") {
        let at = path.child("status").child("typeChecking").child("expressionWarnings").index(index);
        if read::text(warning, "warning").is_empty() {
            errors.required(&at.child("warning"), "");
        }
        if read::text(warning, "fieldRef").trim().is_empty() {
            errors.required(&at.child("fieldRef"), "");
        }
    }
}

/// What is deleted cannot be mutated.
pub fn mutating_operations(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    if let Some(constraints) = read::map(object, "matchConstraints") {
        operations_of(constraints, &path.child("matchConstraints"), errors);
    }
}

/// The same for a binding.
pub fn mutating_binding_operations(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    if let Some(resources) = read::deep(object, &["spec", "matchResources"]) {
        operations_of(resources, &path.child("spec").child("matchResources"), errors);
    }
}

fn operations_of(matched: &Object, at: &FieldPath, errors: &mut Errors) {
    for (_, rule) in read::objects(matched, "resourceRules") {
        for operation in read::texts(rule, "operations") {
            if !matches!(operation, "*" | "CONNECT" | "CREATE" | "UPDATE") {
                let at = at.child("resourceRules").child("operations");
                errors.not_supported(&at, operation, &["*", "CONNECT", "CREATE", "UPDATE"]);
            }
        }
    }
}

/// A mutation holds the patch that its type names, and no other.
pub fn mutation_other_patch(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let (other, kind) = match read::text(object, "patchType") {
        "JSONPatch" => ("applyConfiguration", "JSONPatch"),
        "ApplyConfiguration" => ("jsonPatch", "ApplyConfiguration"),
        _ => return,
    };
    if read::present(object, other) {
        let detail = format!("must not be specified when patchType is {kind}");
        errors.invalid(&path.child(other), format!("{{{other}}}"), detail);
    }
}
