//! What rules cannot say about ResourceQuota and LimitRange: which resources they may name, and how their amounts relate.

use std::collections::BTreeSet;

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath, formats};
use serde_json::{Map, Value, json};

use super::cluster::quantity_of;
use super::quantities;
use super::report::each;

const QUOTA_RESOURCES: [&str; 18] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
];

const POD_RESOURCES: [&str; 7] =
    ["pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];

/// The limits of a quota.
pub fn quota_hard(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    if let Some(spec) = read::map(object, "spec") {
        quota_list(spec, "hard", &path.child("spec"), errors);
    }
}

/// What is reported of a quota.
pub fn quota_status(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(status) = read::map(object, "status") else { return };
    for field in ["hard", "used"] {
        quota_list(status, field, &path.child("status"), errors);
    }
}

fn quota_list(object: &Object, field: &str, path: &FieldPath, errors: &mut Errors) {
    for (name, value) in read::map(object, field).into_iter().flatten() {
        let at = path.child(field).key(name);
        each(quantities::resource_name(name), &at, name, errors);
        if !name.contains('/') && !is_quota_resource(name) {
            errors.invalid(&at, name.as_str(), "must be a standard resource for quota");
        }
        quantity_of(name, value, &at, errors);
    }
}

fn is_quota_resource(name: &str) -> bool {
    QUOTA_RESOURCES.contains(&name)
        || name == "services.loadbalancers"
        || name.starts_with("hugepages-")
        || name.starts_with("requests.hugepages-")
}

/// The scopes of a quota: known, fit for what is limited, not contradicting each other.
pub fn quota_scopes(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(spec) = read::map(object, "spec") else { return };
    let at = path.child("spec").child("scopes");
    let scopes = read::texts(spec, "scopes");
    for scope in &scopes {
        if !is_scope(scope) {
            errors.invalid(&at, json!(scopes), "unsupported scope");
        }
        unfit_resources(spec, scope, &at, &json!(scopes), errors);
    }
    conflicting(&scopes, &at, &json!(scopes), errors);
}

fn is_scope(scope: &str) -> bool {
    matches!(
        scope,
        "Terminating"
            | "NotTerminating"
            | "BestEffort"
            | "NotBestEffort"
            | "PriorityClass"
            | "VolumeAttributesClass"
            | "CrossNamespacePodAffinity"
    )
}

fn unfit_resources(spec: &Object, scope: &str, at: &FieldPath, shown: &Value, errors: &mut Errors) {
    let names: BTreeSet<&String> = read::map(spec, "hard").into_iter().flat_map(Map::keys).collect();
    for name in names {
        let fits = match scope {
            "BestEffort" => name == "pods",
            "VolumeAttributesClass" => matches!(name.as_str(), "persistentvolumeclaims" | "requests.storage"),
            _ if is_scope(scope) => POD_RESOURCES.contains(&name.as_str()),
            _ => true,
        };
        if is_quota_resource(name) && !fits {
            errors.invalid(at, shown.clone(), "unsupported scope applied to resource");
        }
    }
}

fn conflicting(scopes: &[&str], at: &FieldPath, shown: &Value, errors: &mut Errors) {
    for (one, other) in [("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating")] {
        if scopes.contains(&one) && scopes.contains(&other) {
            errors.invalid(at, shown.clone(), "conflicting scopes");
        }
    }
}

/// The selector of scopes: like the scopes, with an operator each.
pub fn quota_scope_selector(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(spec) = read::map(object, "spec") else { return };
    let Some(selector) = read::map(spec, "scopeSelector") else { return };
    let at = path.child("spec").child("scopeSelector").child("matchExpressions");
    let mut scopes = Vec::new();
    for (_, requirement) in read::objects(selector, "matchExpressions") {
        let scope = read::text(requirement, "scopeName");
        if !is_scope(scope) {
            errors.invalid(&at.child("scopeName"), scope, "unsupported scope");
        }
        unfit_resources(spec, scope, &at, &shown_selector(selector), errors);
        scope_operator(requirement, &at, errors);
        scopes.push(scope);
    }
    conflicting(&scopes, &at, spec.get("scopes").unwrap_or(&Value::Null), errors);
}

fn scope_operator(requirement: &Object, at: &FieldPath, errors: &mut Errors) {
    let (scope, operator) = (read::text(requirement, "scopeName"), read::text(requirement, "operator"));
    let plain = matches!(
        scope,
        "BestEffort" | "NotBestEffort" | "Terminating" | "NotTerminating" | "CrossNamespacePodAffinity"
    );
    if plain && operator != "Exists" {
        let detail = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
        errors.invalid(&at.child("operator"), operator, detail);
    }
    let values = read::list(requirement, "values");
    match operator {
        "In" | "NotIn" if values.is_empty() => {
            let detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
            errors.required(&at.child("values"), detail);
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
            errors.invalid(&at.child("values"), json!(values), detail);
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ => errors.invalid(&at.child("operator"), operator, "not a valid selector operator"),
    }
}

fn shown_selector(selector: &Object) -> Value {
    let requirements: Vec<Value> = read::objects(selector, "matchExpressions")
        .map(|(_, requirement)| {
            json!({
                "ScopeName": read::text(requirement, "scopeName"),
                "Operator": read::text(requirement, "operator"),
                "Values": requirement.get("values"),
            })
        })
        .collect();
    json!({ "MatchExpressions": requirements })
}

/// The scopes of a quota stay.
pub fn quota_scopes_update(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let scopes = |object: &Object| -> BTreeSet<String> {
        let spec = read::map(object, "spec");
        spec.into_iter().flat_map(|spec| read::texts(spec, "scopes")).map(str::to_string).collect()
    };
    if scopes(new) != scopes(old) {
        let shown = read::map(new, "spec").and_then(|spec| spec.get("scopes")).cloned().unwrap_or(Value::Null);
        errors.invalid(&path.child("spec").child("scopes"), shown, "field is immutable");
    }
}

/// For containers, a missing limit is the maximum, a missing request the limit or else the minimum.
pub fn limit_range_defaults(object: &mut Object) {
    if read::text(object, "type") != "Container" {
        return;
    }
    fill(object, "default", "max");
    fill(object, "defaultRequest", "default");
    fill(object, "defaultRequest", "min");
}

fn fill(object: &mut Object, field: &str, from: &str) {
    let Some(source) = read::map(object, from).cloned() else { return };
    if source.is_empty() {
        return;
    }
    let Some(list) = read::map_mut(object, field) else { return };
    for (name, value) in source {
        list.entry(name).or_insert(value);
    }
}

/// The type of a limit is one that is known, or has a prefix.
pub fn limit_range_type(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let kind = read::text(object, "type");
    let found = formats::qualified_name(kind);
    let known = kind.contains('/') || matches!(kind, "Pod" | "Container" | "PersistentVolumeClaim");
    if found.is_empty() && !known {
        errors.invalid(&path.child("type"), kind, "must be a standard limit type or fully qualified");
    }
    each(found, &path.child("type"), kind, errors);
}

/// One kind of limit: its resources are known, its amounts fit each other.
pub fn limit_range_item(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let kind = read::text(object, "type");
    let mut names = BTreeSet::new();
    for field in ["max", "min"] {
        limit_names(object, field, path, &mut names, errors);
    }
    for field in ["default", "defaultRequest"] {
        if kind != "Pod" {
            limit_names(object, field, path, &mut names, errors);
        } else if read::map(object, field).is_some_and(|list| !list.is_empty()) {
            errors.forbidden(&path.child(field), "may not be specified when `type` is 'Pod'");
        }
    }
    let bounded =
        ["min", "max"].iter().any(|field| read::map(object, field).is_some_and(|list| list.contains_key("storage")));
    if kind == "PersistentVolumeClaim" && !bounded {
        let detail = "either minimum or maximum storage value is required, but neither was provided";
        errors.required(&path.child("limits"), detail);
    }
    limit_names(object, "maxLimitRequestRatio", path, &mut names, errors);
    for name in names {
        limit_amounts(object, &name, kind == "Pod", path, errors);
    }
}

fn limit_names(object: &Object, field: &str, path: &FieldPath, names: &mut BTreeSet<String>, errors: &mut Errors) {
    let contained = matches!(read::text(object, "type"), "Pod" | "Container");
    for name in read::map(object, field).into_iter().flat_map(Map::keys) {
        let found = if contained { quantities::container_resource_name(name) } else { quantities::resource_name(name) };
        each(found, &path.child(field).key(name), name, errors);
        names.insert(name.clone());
    }
}

/// What one limit says about one resource.
fn limit_amounts(object: &Object, name: &str, pod: bool, path: &FieldPath, errors: &mut Errors) {
    let of = |field: &str| {
        let value = read::map(object, field).and_then(|list| list.get(name))?;
        Some((quantities::amount(value).billionths, quantities::text_of(value)))
    };
    let (min, max, ratio) = (of("min"), of("max"), of("maxLimitRequestRatio"));
    let (limit, request) = if pod { (None, None) } else { (of("default"), of("defaultRequest")) };
    let at = |field: &str| path.child(field).key(name);
    // Of each pair: the smaller, the larger, where to report, which of the two to show, and how to say it.
    let pairs = [
        (&min, &max, "min", &min, ("min value", "max value")),
        (&min, &request, "defaultRequest", &request, ("min value", "default request value")),
        (&request, &max, "defaultRequest", &request, ("default request value", "max value")),
        (&request, &limit, "defaultRequest", &request, ("default request value", "default limit value")),
        (&min, &limit, "default", &min, ("min value", "default value")),
        (&limit, &max, "default", &max, ("default value", "max value")),
    ];
    for (low, high, field, shown, (one, other)) in pairs {
        if let (Some(low), Some(high), Some(shown)) = (low, high, shown)
            && low.0 > high.0
        {
            let detail = format!("{one} {} is greater than {other} {}", low.1, high.1);
            errors.invalid(&at(field), shown.1.as_str(), detail);
        }
    }
    if let Some(ratio) = &ratio {
        limit_ratio(ratio, &min, &max, &at("maxLimitRequestRatio"), errors);
    }
    if let (Some(limit), Some(request)) = (&limit, &request)
        && limit.0 != request.0
        && !quantities::may_overcommit(name)
    {
        let detail = format!("default value {} must equal to defaultRequest value {} in {name}", limit.1, request.1);
        errors.invalid(&at("defaultRequest"), request.1.as_str(), detail);
    }
}

fn limit_ratio(
    ratio: &(i128, String),
    min: &Option<(i128, String)>,
    max: &Option<(i128, String)>,
    at: &FieldPath,
    errors: &mut Errors,
) {
    let billion = 1_000_000_000;
    if ratio.0 < billion {
        errors.invalid(at, ratio.1.as_str(), format!("ratio {} is less than 1", ratio.1));
    }
    if let (Some(min), Some(max)) = (min, max)
        && min.0 != 0
    {
        let limit = max.0 as f64 / min.0 as f64;
        if ratio.0 as f64 / billion as f64 > limit {
            errors.invalid(at, ratio.1.as_str(), format!("ratio {} is greater than max/min = {limit:.6}", ratio.1));
        }
    }
}
