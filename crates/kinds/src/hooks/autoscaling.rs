//! What rules cannot say about HorizontalPodAutoscaler: versions of what it points to, sources that exclude each other.

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath};
use serde_json::Value;

use super::quantities;

const SOURCES: [(&str, &str); 5] = [
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];

/// What is wrong with the version of a reference; the core group is refused where it can only be a mistake.
fn version_finding(reference: &Object, core_allowed: bool) -> Option<String> {
    let version = read::text(reference, "apiVersion");
    match version.matches('/').count() {
        0 if !core_allowed => Some("apiVersion must specify API group".to_string()),
        0 => None,
        1 if version.starts_with('/') && !core_allowed => Some("apiVersion must specify API group".to_string()),
        1 => None,
        _ => Some(format!("unexpected GroupVersion string: {version}")),
    }
}

/// The version of what is scaled names a group, but for a ReplicationController. One that is not touched stays as it is.
pub fn scale_target_version(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let old = cx.old.and_then(|old| read::deep(old, &["spec", "scaleTargetRef"]));
    if old.is_some_and(|old| {
        ["apiVersion", "kind"].iter().all(|field| read::text(old, field) == read::text(object, field))
    }) {
        return;
    }
    let core_allowed = read::text(object, "kind") == "ReplicationController";
    if let Some(detail) = version_finding(object, core_allowed) {
        errors.invalid(&path.child("apiVersion"), read::text(object, "apiVersion"), detail);
    }
}

/// The version of an object that is measured may be of the core group. Wrong ones of before excuse all.
pub fn described_object_version(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let old = cx.old.and_then(|old| read::map(old, "spec"));
    let excused = old.is_some_and(|spec| {
        read::objects(spec, "metrics")
            .filter_map(|(_, metric)| read::deep(metric, &["object", "describedObject"]))
            .any(|reference| version_finding(reference, true).is_some())
    });
    if let Some(detail) = version_finding(object, true).filter(|_| !excused) {
        errors.invalid(&path.child("apiVersion"), read::text(object, "apiVersion"), detail);
    }
}

/// A metric has the source that its type names, and no other.
pub fn metric_sources(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let kind = read::text(object, "type");
    let mut present: Vec<(&str, &str)> =
        SOURCES.into_iter().filter(|(_, field)| read::present(object, field)).collect();
    if present.len() == 1 {
        return;
    }
    present.sort_unstable_by_key(|(_, field)| *field);
    for (_, field) in present.into_iter().filter(|(source, _)| *source != kind) {
        errors.forbidden(&path.child(field), "must populate the given metric source only");
    }
}

/// To come back from nothing there must be something to measure that is not a pod.
pub fn metrics_for_scale_to_zero(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let to_zero = object.get("minReplicas").and_then(Value::as_i64) == Some(0);
    let measured =
        read::objects(object, "metrics").any(|(_, metric)| matches!(read::text(metric, "type"), "Object" | "External"));
    if to_zero && !measured {
        let detail = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.forbidden(&path.child("metrics"), detail);
    }
}

/// The resource of a container is one that containers have.
pub fn container_metric_resource(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let name = read::text(object, "name");
    if name.is_empty() {
        return;
    }
    for detail in quantities::container_resource_name(name) {
        errors.invalid(&path.child("name"), name, detail);
    }
}
