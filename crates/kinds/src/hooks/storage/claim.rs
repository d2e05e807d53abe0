//! What rules cannot say about claims on volumes.

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath, formats};
use serde_json::Value;

use super::limits::{add_finalizer, valid_quantity};
use crate::hooks::quantities;
use crate::hooks::report::each;

/// A claim stays until nothing uses it.
pub fn claim_protection(object: &mut Object) {
    add_finalizer(object, "kubernetes.io/pvc-protection");
}

/// A claim asks for some storage. The path is that of the resources, as it always was.
pub fn claim_request(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("resources").key("storage");
    match read::deep(object, &["resources", "requests"]).and_then(|requests| requests.get("storage")) {
        None => errors.required(&at, ""),
        Some(value) if quantities::amount(value).billionths <= 0 => {
            errors.invalid(&at, quantities::text_of(value), "must be greater than zero");
        }
        Some(_) => {}
    }
}

/// A claim's spec stays, but for the volume bound to it, growth while bound, and the class where none was.
pub fn claim_spec_update(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let (spec, before) = (read::within(new, "spec"), read::within(old, "spec"));
    let key = "volume.beta.kubernetes.io/storage-class";
    let annotation = |object: &Object| read::annotations(object).get(key).and_then(Value::as_str).map(str::to_string);
    let (class_now, class_before) = (annotation(new), annotation(old));
    let named = spec.get("storageClassName").and_then(Value::as_str);
    let unnamed_before = !read::present(before, "storageClassName");
    let moved = class_before.is_some()
        && unnamed_before
        && named == class_before.as_deref()
        && (class_now.is_none() || class_now == class_before);
    if !moved && class_now.clone().unwrap_or_default() != class_before.clone().unwrap_or_default() {
        let at = path.child("metadata").child("annotations").child(key);
        errors.invalid(&at, class_now.unwrap_or_default(), "field is immutable");
    }
    let bound = read::map(new, "status").is_some_and(|status| read::text(status, "phase") == "Bound");
    let class_added =
        unnamed_before && named.is_some() && class_before.is_none_or(|class| named == Some(class.as_str()));
    if spec_without(spec, bound, before, class_added || moved) != spec_without(before, bound, before, false) {
        let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n";
        errors.forbidden(&path.child("spec"), detail);
    }
    claim_size_update(spec, before, read::within(old, "status"), &path.child("spec"), errors);
    if !read::same(spec, before, "volumeMode") {
        let mode = spec.get("volumeMode").cloned().unwrap_or(Value::Null);
        errors.invalid(&path.child("volumeMode"), mode, "field is immutable");
    }
    claim_class_update(spec, before, read::within(old, "status"), &path.child("spec"), errors);
}

/// The part of a spec that must stay: what may change is made equal to what it was.
fn spec_without(spec: &Object, bound: bool, before: &Object, class_added: bool) -> Value {
    let mut left = spec.clone();
    if read::text(before, "volumeName").is_empty() {
        left.remove("volumeName");
    }
    if class_added {
        left.remove("storageClassName");
    }
    if bound {
        left.remove("volumeAttributesClassName");
        if let Some(requests) = left.get_mut("resources").and_then(|resources| resources.get_mut("requests"))
            && let Some(requests) = requests.as_object_mut()
        {
            requests.remove("storage");
        }
    }
    Value::Object(left)
}

/// Less than before is allowed down to what there is.
fn claim_size_update(spec: &Object, before: &Object, status: &Object, at: &FieldPath, errors: &mut Errors) {
    let asked = |spec: &Object| {
        let requests = read::deep(spec, &["resources", "requests"]);
        requests.and_then(|requests| requests.get("storage")).map_or(0, |value| quantities::amount(value).billionths)
    };
    let there = read::map(status, "capacity").and_then(|capacity| capacity.get("storage"));
    let there = there.map_or(0, |value| quantities::amount(value).billionths);
    if asked(spec) < asked(before) && asked(spec) <= there {
        let at = at.child("resources").child("requests").child("storage");
        errors.forbidden(&at, "field can not be less than status.capacity");
    }
}

/// A class of attributes that is in force cannot be taken away.
fn claim_class_update(spec: &Object, before: &Object, status: &Object, at: &FieldPath, errors: &mut Errors) {
    let field = "volumeAttributesClassName";
    if spec.get(field) == before.get(field) || !read::present(status, "currentVolumeAttributesClassName") {
        return;
    }
    let suffix = "is forbidden when status.currentVolumeAttributesClassName is not nil";
    if !read::present(spec, field) {
        errors.forbidden(&at.child(field), format!("update to nil {suffix}"));
    } else if read::text(spec, field).is_empty() {
        errors.forbidden(&at.child(field), format!("update to empty string {suffix}"));
    }
}

/// What a claim reports about its resources.
pub fn claim_status_resources(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(status) = read::map(object, "status") else { return };
    let at = path.child("status");
    for (name, value) in read::map(status, "capacity").into_iter().flatten() {
        valid_quantity(value, &at.child("capacity").key(name), errors);
    }
    let states = [
        "ControllerResizeInProgress",
        "ControllerResizeInfeasible",
        "NodeResizeInProgress",
        "NodeResizeInfeasible",
        "NodeResizePending",
    ];
    let statuses = at.child("allocatedResourceStatuses");
    for (name, state) in read::map(status, "allocatedResourceStatuses").into_iter().flatten() {
        claim_resource_name(name, &statuses, errors);
        if !states.contains(&state.as_str().unwrap_or_default()) {
            errors.not_supported(&statuses, name.as_str(), &states);
        }
    }
    let allocated = at.child("allocatedResources");
    for (name, value) in read::map(status, "allocatedResources").into_iter().flatten() {
        if claim_resource_name(name, &allocated, errors) {
            valid_quantity(value, &allocated.key(name), errors);
        }
    }
}

fn claim_resource_name(name: &str, at: &FieldPath, errors: &mut Errors) -> bool {
    let found = formats::qualified_name(name);
    let well_formed = found.is_empty();
    each(found, at, name, errors);
    let native = well_formed && quantities::is_native(name) && name != "storage";
    if native {
        errors.not_supported(at, name, &["storage"]);
    }
    well_formed && !native
}
