//! What rules cannot say about service accounts, the RBAC kinds and the access reviews.

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath, formats};
use serde_json::{Value, json};

use super::report::each;

const RBAC: &str = "rbac.authorization.k8s.io";

/// References to secrets keep their name only.
pub fn service_account_secret_names(object: &mut Object) {
    let Some(secrets) = object.get_mut("secrets").and_then(Value::as_array_mut) else { return };
    for secret in secrets.iter_mut().filter_map(Value::as_object_mut) {
        secret.retain(|field, _| field == "name");
    }
}

/// The same on update.
pub fn service_account_keep_secret_names(new: &mut Object, _old: &Object) {
    service_account_secret_names(new);
}

/// A rule of a cluster role: resources or URLs, not both.
pub fn policy_rule_cluster(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    policy_rule(object, false, path, errors);
}

/// A rule of a role: resources only.
pub fn policy_rule_namespaced(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    policy_rule(object, true, path, errors);
}

fn policy_rule(object: &Object, namespaced: bool, path: &FieldPath, errors: &mut Errors) {
    let empty = |field: &str| read::list(object, field).is_empty();
    if empty("nonResourceURLs") {
        if empty("apiGroups") {
            errors.required(&path.child("apiGroups"), "resource rules must supply at least one api group");
        }
        if empty("resources") {
            errors.required(&path.child("resources"), "resource rules must supply at least one resource");
        }
        return;
    }
    let at = path.child("nonResourceURLs");
    let urls = json!(read::list(object, "nonResourceURLs"));
    if namespaced {
        errors.invalid(&at, urls.clone(), "namespaced rules cannot apply to non-resource URLs");
    }
    if !empty("apiGroups") || !empty("resources") || !empty("resourceNames") {
        errors.invalid(&at, urls, "rules cannot apply to both regular resources and non-resource URLs");
    }
}

/// A role that is made of others names them by labels.
pub fn aggregation_selectors(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(rule) = read::map(object, "aggregationRule") else { return };
    let at = path.child("aggregationRule").child("clusterRoleSelectors");
    if read::list(rule, "clusterRoleSelectors").is_empty() {
        errors.required(&at, "at least one clusterRoleSelector required if aggregationRule is non-nil");
    }
    for (index, selector) in read::objects(rule, "clusterRoleSelectors") {
        let before = errors.len();
        label_selector(selector, &at.index(index), errors);
        if errors.len() > before {
            errors.invalid(&at.index(index), Value::Null, "invalid label selector.");
        }
    }
}

/// A selector of labels, in the order in which its parts are looked at.
pub fn label_selector(selector: &Object, at: &FieldPath, errors: &mut Errors) {
    for (key, value) in read::map(selector, "matchLabels").into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        each(formats::qualified_name(key), &at.child("matchLabels"), key, errors);
        each(formats::label_value(value), &at.child("matchLabels"), value, errors);
    }
    for (index, requirement) in read::objects(selector, "matchExpressions") {
        label_requirement(requirement, false, &at.child("matchExpressions").index(index), errors);
    }
}

fn label_requirement(requirement: &Object, any_operator: bool, at: &FieldPath, errors: &mut Errors) {
    requirement_values(requirement, any_operator, at, errors);
    let key = read::text(requirement, "key");
    each(formats::qualified_name(key), &at.child("key"), key, errors);
    for (index, value) in read::texts(requirement, "values").into_iter().enumerate() {
        each(formats::label_value(value), &at.child("values").index(index), value, errors);
    }
}

fn requirement_values(requirement: &Object, any_operator: bool, at: &FieldPath, errors: &mut Errors) {
    let none = read::list(requirement, "values").is_empty();
    let operator = read::text(requirement, "operator");
    match operator {
        "In" | "NotIn" if none => {
            errors.required(&at.child("values"), "must be specified when `operator` is 'In' or 'NotIn'");
        }
        "Exists" | "DoesNotExist" if !none => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.forbidden(&at.child("values"), detail);
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ if any_operator => {}
        _ => errors.invalid(&at.child("operator"), operator, "not a valid selector operator"),
    }
}

/// What a subject must be by its kind.
pub fn subject_by_kind(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let (name, group) = (read::text(object, "name"), read::text(object, "apiGroup"));
    match read::text(object, "kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                each(formats::dns1123_subdomain(name), &path.child("name"), name, errors);
            }
            if !group.is_empty() {
                errors.not_supported(&path.child("apiGroup"), group, &[""]);
            }
        }
        "User" | "Group" => {
            if group != RBAC {
                errors.not_supported(&path.child("apiGroup"), group, &[RBAC]);
            }
        }
        kind => errors.not_supported(&path.child("kind"), kind, &["ServiceAccount", "User", "Group"]),
    }
}

/// Which role is bound does not change.
pub fn role_ref_update(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let shown = |object: &Object| {
        let role = read::within(object, "roleRef");
        json!({
            "APIGroup": read::text(role, "apiGroup"),
            "Kind": read::text(role, "kind"),
            "Name": read::text(role, "name"),
        })
    };
    let now = shown(new);
    if now != shown(old) {
        errors.invalid(&path.child("roleRef"), now, "cannot change roleRef");
    }
}

/// A review asks about a resource or about a URL.
pub fn review_attributes(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let spec = read::within(object, "spec");
    let at = path.child("spec");
    match (read::present(spec, "resourceAttributes"), read::map(spec, "nonResourceAttributes")) {
        (true, Some(attributes)) => {
            let detail = "cannot be specified in combination with resourceAttributes";
            errors.invalid(&at.child("nonResourceAttributes"), shown_url(attributes), detail);
        }
        (false, None) => {
            let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            errors.invalid(&at.child("resourceAttributes"), Value::Null, detail);
        }
        _ => {}
    }
}

fn shown_url(attributes: &Object) -> Value {
    json!({"Path": read::text(attributes, "path"), "Verb": read::text(attributes, "verb")})
}

/// A review asks about somebody.
pub fn review_subject(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let spec = read::within(object, "spec");
    if read::text(spec, "user").is_empty() && read::list(spec, "groups").is_empty() {
        errors.invalid(&path.child("spec").child("user"), "", "at least one of user or group must be specified");
    }
}

/// Selectors are written out or raw, not both; operators may be unknown.
pub fn review_selectors(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(attributes) = read::deep(object, &["spec", "resourceAttributes"]) else { return };
    let at = path.child("spec").child("resourceAttributes");
    for field in ["fieldSelector", "labelSelector"] {
        let Some(selector) = read::map(attributes, field) else { continue };
        let at = at.child(field);
        let raw = read::text(selector, "rawSelector");
        let none = read::list(selector, "requirements").is_empty();
        if !raw.is_empty() && !none {
            errors.invalid(&at.child("rawSelector"), raw, "may not specified at the same time as requirements");
        }
        if raw.is_empty() && none {
            let detail = format!("when {at} is specified, requirements or rawSelector is required");
            errors.required(&at.child("requirements"), detail);
        }
        for (index, requirement) in read::objects(selector, "requirements") {
            let at = at.child("requirements").index(index);
            if field == "labelSelector" {
                label_requirement(requirement, true, &at, errors);
                continue;
            }
            if read::text(requirement, "key").is_empty() {
                errors.required(&at.child("key"), "must be specified");
            }
            requirement_values(requirement, true, &at, errors);
        }
    }
}

/// A review has no metadata.
pub fn review_metadata(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let mut left = read::map(object, "metadata").cloned().unwrap_or_default();
    left.remove("managedFields");
    left.retain(|_, value| !value.is_null());
    if !left.is_empty() {
        let shown = crate::hooks::shown("meta.v1.ObjectMeta", read::within(object, "metadata"));
        errors.invalid_shown(&path.child("metadata"), shown, "must be empty");
    }
}

/// A review about one namespace has that one in its metadata, nothing else, and asks about nothing beyond it.
pub fn review_local(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let metadata = read::within(object, "metadata");
    let more = metadata
        .iter()
        .any(|(field, value)| !matches!(field.as_str(), "namespace" | "managedFields") && !value.is_null());
    if more {
        let shown = crate::hooks::shown("meta.v1.ObjectMeta", metadata);
        errors.invalid_shown(&path.child("metadata"), shown, "must be empty except for namespace");
    }
    let spec = read::within(object, "spec");
    let at = path.child("spec");
    if let Some(attributes) = read::map(spec, "resourceAttributes") {
        let namespace = read::text(attributes, "namespace");
        if namespace != read::text(metadata, "namespace") {
            let at = at.child("resourceAttributes").child("namespace");
            errors.invalid(&at, namespace, "must match metadata.namespace");
        }
    }
    if let Some(attributes) = read::map(spec, "nonResourceAttributes") {
        let at = at.child("nonResourceAttributes");
        errors.invalid(&at, shown_url(attributes), "disallowed on this kind of request");
    }
}
