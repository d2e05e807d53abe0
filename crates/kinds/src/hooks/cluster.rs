//! What rules cannot say about the kinds of the cluster itself: namespaces, nodes, leases, events, priority classes,
//! quotas, limit ranges and flow control.

use serde_json::{Map, Value, json};

use super::read;
use crate::formats;
use crate::rules::{Check, Errors, FieldPath};

/// The label that lets selectors find a namespace by its name.
pub fn namespace_name_label(object: &mut Map<String, Value>) {
    let Some(metadata) = read::map_mut(object, "metadata") else { return };
    let name = read::text(metadata, "name").to_string();
    if name.is_empty() {
        return;
    }
    if let Some(labels) = read::map_mut(metadata, "labels") {
        labels.insert("kubernetes.io/metadata.name".to_string(), Value::String(name));
    }
}

/// A new namespace is held by the finalizer that empties it.
pub fn namespace_finalizer(object: &mut Map<String, Value>) {
    let Some(spec) = read::map_mut(object, "spec") else { return };
    let finalizers = spec.entry("finalizers").or_insert_with(|| json!([]));
    if finalizers.is_null() {
        *finalizers = json!([]);
    }
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|name| name == "kubernetes")
    {
        finalizers.push(json!("kubernetes"));
    }
}

/// The names of `spec.finalizers`; errors name the list.
pub fn namespace_finalizers(_cx: &Check<'_>, object: &Map<String, Value>, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("spec").child("finalizers");
    for name in read::map(object, "spec").map(|spec| read::texts(spec, "finalizers")).unwrap_or_default() {
        finalizer_name(name, &at, errors);
    }
}

/// The names of `spec.finalizers` written through /finalize; errors name the item.
pub fn namespace_finalizers_each(_cx: &Check<'_>, object: &Map<String, Value>, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("spec").child("finalizers");
    let names = read::map(object, "spec").map(|spec| read::texts(spec, "finalizers")).unwrap_or_default();
    for (index, name) in names.into_iter().enumerate() {
        finalizer_name(name, &at.index(index), errors);
    }
}

fn finalizer_name(name: &str, at: &FieldPath, errors: &mut Errors) {
    for detail in formats::qualified_name(name) {
        errors.invalid(at, name, detail);
    }
    if !name.contains('/') && !matches!(name, "kubernetes" | "orphan" | "foregroundDeletion") {
        errors.invalid(at, name, "name is neither a standard finalizer name nor is it fully qualified");
    }
}

/// The phase tells whether the namespace is being deleted, nothing else.
pub fn namespace_phase(_cx: &Check<'_>, object: &Map<String, Value>, path: &FieldPath, errors: &mut Errors) {
    let deleted = read::map(object, "metadata").is_some_and(|metadata| read::present(metadata, "deletionTimestamp"));
    let phase = read::map(object, "status").map(|status| read::text(status, "phase")).unwrap_or_default();
    let at = path.child("status").child("Phase");
    if !deleted && phase != "Active" {
        errors.invalid(&at, phase, "may only be 'Active' if `deletionTimestamp` is empty");
    }
    if deleted && phase != "Terminating" {
        errors.invalid(&at, phase, "may only be 'Terminating' if `deletionTimestamp` is not empty");
    }
}
