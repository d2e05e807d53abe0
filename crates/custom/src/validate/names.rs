//! What names may look like.

use pawl_meta::object::Object;
use pawl_meta::{Errors, FieldPath, names};

use crate::fields;

/// The group: a domain of at least two labels.
pub fn group(group: &str, at: &FieldPath, errors: &mut Errors) {
    let wrong = names::dns1123_subdomain(group);
    if group.is_empty() {
        errors.required(at, "");
    } else if !wrong.is_empty() {
        errors.invalid(at, group, wrong.join(","));
    } else if !group.contains('.') {
        errors.invalid(at, group, "should be a domain with at least one dot");
    }
}

/// A spec must say all of its names; the status may not know them yet.
pub fn required(names: &Object, at: &FieldPath, errors: &mut Errors) {
    for field in ["plural", "singular", "kind", "listKind"] {
        if fields::text(names, field).is_empty() {
            errors.required(&at.child(field), "");
        }
    }
}

pub fn form(names: &Object, at: &FieldPath, errors: &mut Errors) {
    for field in ["plural", "singular"] {
        label(fields::text(names, field), &at.child(field), errors);
    }
    let (kind, list_kind) = (fields::text(names, "kind"), fields::text(names, "listKind"));
    for (field, text) in [("kind", kind), ("listKind", list_kind)] {
        let wrong = names::dns1035_label(&text.to_lowercase());
        if !text.is_empty() && !wrong.is_empty() {
            let detail = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
            errors.invalid(&at.child(field), text, detail);
        }
    }
    each(names, "shortNames", at, errors);
    if !kind.is_empty() && kind == list_kind {
        errors.invalid(&at.child("listKind"), list_kind, "kind and listKind may not be the same");
    }
    each(names, "categories", at, errors);
}

/// A label, where there is one.
pub fn label(text: &str, at: &FieldPath, errors: &mut Errors) {
    if !text.is_empty() {
        required_label(text, at, errors);
    }
}

pub fn required_label(text: &str, at: &FieldPath, errors: &mut Errors) {
    let wrong = names::dns1035_label(text);
    if !wrong.is_empty() {
        errors.invalid(at, text, wrong.join(","));
    }
}

fn each(names: &Object, field: &str, at: &FieldPath, errors: &mut Errors) {
    for (index, name) in fields::texts(names, field).into_iter().enumerate() {
        required_label(name, &at.child(field).index(index), errors);
    }
}
