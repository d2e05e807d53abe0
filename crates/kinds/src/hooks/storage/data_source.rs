//! What a claim's volume is filled from: two fields, the older of which can say less.

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath, formats};
use serde_json::{Value, json};

use crate::hooks::report::each;

/// The two fields for a claim's source are well formed and agree.
pub fn claim_data_sources(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let (source, reference) = (read::map(object, "dataSource"), read::map(object, "dataSourceRef"));
    if let Some(source) = source {
        data_source(source, &path.child("dataSource"), errors);
    }
    if let Some(reference) = reference {
        let at = path.child("dataSourceRef");
        data_source(reference, &at, errors);
        let namespace = read::text(reference, "namespace");
        if !namespace.is_empty() {
            each(formats::dns1123_label(namespace), &at.child("namespace"), namespace, errors);
        }
    }
    let (Some(source), Some(reference)) = (source, reference) else { return };
    // The bad value is a path, and has no fields to show.
    if !read::text(reference, "namespace").is_empty() {
        errors.invalid(path, json!({}), "may not be specified when dataSourceRef.namespace is specified");
    } else if ["apiGroup", "kind", "name"].iter().any(|field| source.get(*field) != reference.get(*field)) {
        errors.invalid(path, json!({}), "must match dataSourceRef");
    }
}

fn data_source(source: &Object, at: &FieldPath, errors: &mut Errors) {
    for field in ["name", "kind"] {
        if read::text(source, field).is_empty() {
            errors.required(&at.child(field), "");
        }
    }
    let (group, kind) = (read::text(source, "apiGroup"), read::text(source, "kind"));
    if group.is_empty() && kind != "PersistentVolumeClaim" {
        errors.invalid(at, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
    }
    if !group.is_empty() {
        each(formats::dns1123_subdomain(group), &at.child("apiGroup"), group, errors);
    }
}

/// The older field for a claim's source holds claims and snapshots only, and each field fills the other.
pub fn claim_data_source_fields(object: &mut Object) {
    let Some(spec) = read::map_mut(object, "spec") else { return };
    drop_foreign_reference(spec, None);
    if !read::present(spec, "dataSourceRef") {
        drop_odd_source(spec);
    }
    fill_sources(spec);
}

/// The same on update; a source that was there stays as it is.
pub fn claim_data_source_update(new: &mut Object, old: &Object) {
    let before = read::map(old, "spec");
    let Some(spec) = read::map_mut(new, "spec") else { return };
    drop_foreign_reference(spec, before);
    let had =
        before.is_some_and(|before| read::present(before, "dataSource") || read::present(before, "dataSourceRef"));
    if !had && !read::present(spec, "dataSourceRef") {
        drop_odd_source(spec);
    }
    fill_sources(spec);
}

/// A source in another namespace needs a feature that is off.
fn drop_foreign_reference(spec: &mut Object, old: Option<&Object>) {
    let foreign =
        read::map(spec, "dataSourceRef").is_some_and(|reference| !read::text(reference, "namespace").is_empty());
    if foreign && !old.is_some_and(|old| read::present(old, "dataSourceRef")) {
        spec.remove("dataSourceRef");
    }
}

fn drop_odd_source(spec: &mut Object) {
    let usual = read::map(spec, "dataSource").is_some_and(|source| {
        matches!(
            (read::text(source, "apiGroup"), read::text(source, "kind")),
            ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
        )
    });
    if !usual {
        spec.remove("dataSource");
    }
}

fn fill_sources(spec: &mut Object) {
    let copied = |source: &Object| {
        let fields = ["apiGroup", "kind", "name"];
        let copy = fields.iter().filter_map(|field| source.get(*field).map(|value| (field.to_string(), value.clone())));
        Value::Object(copy.collect())
    };
    let source = read::map(spec, "dataSource").map(copied);
    let reference = read::map(spec, "dataSourceRef");
    let local = reference.is_some_and(|reference| read::text(reference, "namespace").is_empty());
    match (source, reference.map(copied)) {
        (Some(source), None) => spec.insert("dataSourceRef".to_string(), source),
        (None, Some(reference)) if local => spec.insert("dataSource".to_string(), reference),
        _ => None,
    };
}
