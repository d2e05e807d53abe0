//! What a claim on devices, or a template of one, asks for.

use std::collections::BTreeSet;

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath, formats};
use serde_json::Value;

use super::names::{attribute_name, unique_names};
use crate::hooks::dumped;
use crate::hooks::report::each;

/// The requests of a claim: not too many, each with a name of its own. What each asks for is checked by its type.
pub fn device_requests(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("requests");
    let count = read::list(object, "requests").len();
    if count > 32 {
        errors.too_many(&at, count, 32);
    }
    unique_names(object, "requests", "name", &at, errors);
}

/// A request asks for exactly something, or for the first of several things.
pub fn device_request_kind(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let alternatives = read::list(object, "firstAvailable").len();
    let text = "exactly one of `exactly` or `firstAvailable` is required";
    match (read::present(object, "exactly"), alternatives) {
        (false, 0) => errors.required(path, text),
        (true, 1..) => errors.invalid(path, Value::Null, format!("{text}, but multiple fields are set")),
        (false, 9..) => errors.too_many(&path.child("firstAvailable"), alternatives, 8),
        _ => unique_names(object, "firstAvailable", "name", &path.child("firstAvailable"), errors),
    }
}

/// How many devices are meant: a number, or all of them.
pub fn device_allocation_mode(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let count = read::number(object, "count");
    match read::text(object, "allocationMode") {
        "All" if count != 0 => {
            errors.invalid(&path.child("count"), count, "must not be specified when allocationMode is 'All'");
        }
        "ExactCount" if count <= 0 => errors.invalid(&path.child("count"), count, "must be greater than zero"),
        "All" | "ExactCount" => {}
        mode => errors.not_supported(&path.child("allocationMode"), mode, &["All", "ExactCount"]),
    }
}

/// Requests are named as `request` or `request/alternative`, and exist.
pub fn device_request_references(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let names = request_names(cx.root);
    let at = path.child("requests");
    let references = read::texts(object, "requests");
    if references.len() > 32 {
        errors.too_many(&at, references.len(), 32);
        return;
    }
    for (index, reference) in references.iter().enumerate() {
        request_reference(reference, &names, &at.index(index), errors);
    }
    for (index, reference) in references.iter().enumerate() {
        if references.iter().take(index).any(|earlier| earlier == reference) {
            errors.duplicate(&at.index(index), *reference);
        }
    }
}

pub(super) fn request_reference(reference: &str, names: &BTreeSet<String>, at: &FieldPath, errors: &mut Errors) {
    let detail =
        "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
    if reference.split('/').count() > 2 {
        errors.invalid(at, reference, detail);
        return;
    }
    for part in reference.split('/') {
        each(formats::dns1123_label(part), at, part, errors);
    }
    if !names.contains(reference) {
        errors.invalid(at, reference, detail);
    }
}

/// The names by which requests can be meant, in a claim or in a template of one.
pub(super) fn request_names(root: &Object) -> BTreeSet<String> {
    let devices = read::deep(root, &["spec", "devices"]).or_else(|| read::deep(root, &["spec", "spec", "devices"]));
    let mut names = BTreeSet::new();
    for (_, request) in devices.into_iter().flat_map(|devices| read::objects(devices, "requests")) {
        let name = read::text(request, "name");
        names.insert(name.to_string());
        for (_, alternative) in read::objects(request, "firstAvailable") {
            names.insert(format!("{name}/{}", read::text(alternative, "name")));
        }
    }
    names
}

/// A constraint is about one attribute: the same everywhere, or different everywhere.
pub fn device_constraint_attribute(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    for field in ["matchAttribute", "distinctAttribute"] {
        if read::present(object, field) {
            let name = read::text(object, field);
            attribute_name(name, &path.child(field), errors);
            if !name.contains('/') {
                let detail = "a fully qualified name must be a domain and a name separated by a slash";
                errors.invalid(&path.child(field), name, detail);
            }
            return;
        }
    }
    let detail = r#"exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set"#;
    errors.required(path, detail);
}

/// The parameters for a driver are an object, and not too large.
pub fn opaque_parameters(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    raw_object(object.get("parameters"), &path.child("parameters"), errors);
}

pub(super) fn raw_object(value: Option<&Value>, at: &FieldPath, errors: &mut Errors) {
    match value {
        None | Some(Value::Null) => errors.required(at, ""),
        Some(value) if value.to_string().len() > 10 * 1024 => errors.too_long(at, Value::Null, 10 * 1024),
        Some(Value::Object(_)) => {}
        Some(_) => errors.invalid(at, "<value omitted>", "must be a valid JSON object"),
    }
}

/// What a claim or a template of one asks for does not change.
pub fn claim_devices_update(cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    if !read::same(new, old, "spec") {
        let type_name = format!("resource.v1.{}Spec", cx.kind);
        let shown = dumped(&type_name, read::within(new, "spec"));
        errors.invalid_shown(&path.child("spec"), shown, "field is immutable");
    }
}
