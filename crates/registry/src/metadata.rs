//! What every object's metadata must look like, on creation and on change, whatever its kind.

use pawl_kinds::Resource;
use pawl_meta::object::{Meta, Object};
use pawl_meta::{Errors, FieldPath, names};
use serde_json::Value;

/// All annotations together may be this large.
const ANNOTATIONS_MAX: usize = 256 * 1024;

/// Checks the metadata of a new object.
pub fn validate_create(resource: &Resource, object: &Object, errors: &mut Errors) {
    let path = FieldPath::of("metadata");
    let generate = object.meta_str("generateName");
    if !generate.is_empty() {
        for wrong in resource.facts.name.check(generate, true) {
            errors.invalid(&path.child("generateName"), generate, wrong);
        }
    }
    let name = object.name();
    if name.is_empty() {
        errors.required(&path.child("name"), "name or generateName is required");
    } else {
        for wrong in resource.facts.name.check(name, false) {
            errors.invalid(&path.child("name"), name, wrong);
        }
    }
    let namespace = object.namespace();
    if resource.facts.namespaced {
        if namespace.is_empty() {
            errors.required(&path.child("namespace"), "");
        } else {
            for wrong in names::dns1123_label(namespace) {
                errors.invalid(&path.child("namespace"), namespace, wrong);
            }
        }
    } else if !namespace.is_empty() {
        errors.forbidden(&path.child("namespace"), "not allowed on this type");
    }
    validate_common(object, errors);
}

/// Checks the metadata of a changed object against what it was.
pub fn validate_update(new: &Object, old: &Object, errors: &mut Errors) {
    let path = FieldPath::of("metadata");
    validate_common(new, errors);
    if old.is_deleting() {
        let before = old.meta_strings("finalizers");
        let added: Vec<String> = new
            .meta_strings("finalizers")
            .into_iter()
            .filter(|f| !before.contains(f))
            .map(pawl_meta::go::quote)
            .collect();
        if !added.is_empty() {
            errors.forbidden(
                &path.child("finalizers"),
                format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                    added.join(", ")
                ),
            );
        }
    }
    for field in ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let value = |o: &Object| o.metadata().and_then(|m| m.get(field)).cloned().unwrap_or(Value::Null);
        let (now, before) = (value(new), value(old));
        if now != before {
            errors.invalid(&path.child(field), shown(now), "field is immutable");
        }
    }
    if new.generation() < old.generation() {
        errors.invalid(&path.child("generation"), new.generation(), "must not be decremented");
    }
}

fn shown(value: Value) -> Value {
    if value.is_null() { Value::from("") } else { value }
}

fn validate_common(object: &Object, errors: &mut Errors) {
    let path = FieldPath::of("metadata");
    if object.generation() < 0 {
        errors.invalid(&path.child("generation"), object.generation(), "must be greater than or equal to 0");
    }
    if let Some(labels) = object.labels() {
        let at = path.child("labels");
        for (key, value) in labels {
            for wrong in names::qualified_name(key) {
                errors.invalid(&at, key.as_str(), wrong);
            }
            for wrong in names::label_value(value.as_str().unwrap_or_default()) {
                errors.invalid(&at, value.clone(), wrong);
            }
        }
    }
    annotations(object, errors);
    owners(object, errors);
    finalizers(object, errors);
}

fn annotations(object: &Object, errors: &mut Errors) {
    let path = FieldPath::of("metadata").child("annotations");
    let annotations = object.metadata().and_then(|m| m.get("annotations")).and_then(Value::as_object);
    let Some(annotations) = annotations else { return };
    let mut size = 0;
    for (key, value) in annotations {
        // Keys are compared without case: upstream lowers them first.
        for wrong in names::qualified_name(&key.to_lowercase()) {
            errors.invalid(&path, key.as_str(), wrong);
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > ANNOTATIONS_MAX {
        errors.too_long(&path, "", ANNOTATIONS_MAX);
    }
}

fn owners(object: &Object, errors: &mut Errors) {
    let path = FieldPath::of("metadata").child("ownerReferences");
    let owners = object.metadata().and_then(|m| m.get("ownerReferences")).and_then(Value::as_array);
    let mut controller: Option<String> = None;
    for (i, owner) in owners.into_iter().flatten().enumerate() {
        let at = path.index(i);
        let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
        let api_version = text("apiVersion");
        match pawl_meta::GroupVersion::parse(api_version) {
            Some(gv) if gv.version.is_empty() => {
                errors.invalid(&at.child("apiVersion"), api_version, "version must not be empty");
            }
            Some(gv) if gv.group.is_empty() && text("kind") == "Event" => {
                errors.invalid(&at, "", "/v1, Kind=Event is disallowed from being an owner");
            }
            Some(_) => {}
            None => errors.invalid(
                &at.child("apiVersion"),
                api_version,
                format!("unexpected GroupVersion string: {api_version}"),
            ),
        }
        for (field, what) in
            [("kind", "must not be empty"), ("name", "must not be empty"), ("uid", "must not be empty")]
        {
            if text(field).is_empty() {
                errors.invalid(&at.child(field), "", what);
            }
        }
        if owner.get("controller").and_then(Value::as_bool) == Some(true) {
            let name = text("name").to_owned();
            if let Some(other) = &controller {
                errors.invalid(
                    &path,
                    Value::Array(owners.into_iter().flatten().cloned().collect()),
                    format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {other} and {name}"
                    ),
                );
            } else {
                controller = Some(name);
            }
        }
    }
}

fn finalizers(object: &Object, errors: &mut Errors) {
    let path = FieldPath::of("metadata").child("finalizers");
    let finalizers = object.meta_strings("finalizers");
    for (i, finalizer) in finalizers.iter().enumerate() {
        let at = path.index(i);
        let wrong = names::qualified_name(finalizer);
        for wrong in &wrong {
            errors.invalid(&at, *finalizer, wrong.clone());
        }
        let standard = matches!(*finalizer, pawl_deletion::ORPHAN | pawl_deletion::FOREGROUND | "kubernetes");
        if wrong.is_empty() && !finalizer.contains('/') && !standard {
            errors.invalid(&at, *finalizer, "name is neither a standard finalizer name nor is it fully qualified");
        }
    }
    if finalizers.contains(&pawl_deletion::ORPHAN) && finalizers.contains(&pawl_deletion::FOREGROUND) {
        let list = finalizers.iter().map(|f| Value::from(*f)).collect::<Vec<_>>();
        errors.invalid(&path, Value::Array(list), "finalizer orphan and foregroundDeletion cannot be both set");
    }
}
