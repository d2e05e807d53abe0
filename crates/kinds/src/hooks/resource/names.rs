//! The names of drivers, pools and attributes, and lists whose items are told apart by name.

use std::collections::BTreeSet;

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Errors, FieldPath, formats};
use serde_json::Value;

use crate::hooks::report::each;

/// A list that is short enough, each of its items with a key of its own.
pub(super) struct Set {
    pub field: &'static str,
    pub key: &'static str,
    pub limit: usize,
}

impl Set {
    /// Looks at the list and at each of its items; at the number alone where there are too many.
    pub(super) fn check(
        &self,
        object: &Object,
        at: &FieldPath,
        errors: &mut Errors,
        each: impl Fn(&Object, &FieldPath, &mut Errors),
    ) {
        let count = read::list(object, self.field).len();
        if count > self.limit {
            errors.too_many(at, count, self.limit);
            return;
        }
        for (index, item) in read::objects(object, self.field) {
            each(item, &at.index(index), errors);
        }
        unique_names(object, self.field, self.key, at, errors);
    }
}

pub(super) fn unique_names(object: &Object, field: &str, key: &str, at: &FieldPath, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for (index, item) in read::objects(object, field) {
        let name = read::text(item, key);
        if !seen.insert(name) {
            errors.duplicate(&at.index(index), name);
        }
    }
}

pub(super) fn attribute_name(name: &str, at: &FieldPath, errors: &mut Errors) {
    match name.split('/').collect::<Vec<_>>().as_slice() {
        [id] => identifier(id, at, errors),
        [domain, id] => {
            if domain.is_empty() {
                errors.invalid(at, "", "the domain must not be empty");
            } else {
                driver_name(domain, at, errors);
            }
            if id.is_empty() {
                errors.invalid(at, "", "the name must not be empty");
            } else {
                identifier(id, at, errors);
            }
        }
        _ => {}
    }
}

fn identifier(id: &str, at: &FieldPath, errors: &mut Errors) {
    if id.len() > 32 {
        errors.too_long(at, Value::Null, 32);
    }
    each(formats::c_identifier(id), at, id, errors);
}

pub(super) fn driver_name(name: &str, at: &FieldPath, errors: &mut Errors) {
    if name.is_empty() {
        errors.required(at, "");
        return;
    }
    if name.len() > 63 {
        errors.too_long(at, Value::Null, 63);
    }
    each(formats::dns1123_subdomain(&name.to_lowercase()), at, name, errors);
}

pub(super) fn pool_name(name: &str, at: &FieldPath, errors: &mut Errors) {
    if name.is_empty() {
        errors.required(at, "");
        return;
    }
    if name.len() > 253 {
        errors.too_long(at, Value::Null, 253);
    }
    for part in name.split('/') {
        each(formats::dns1123_subdomain(part), at, part, errors);
    }
}
