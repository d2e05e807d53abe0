//! What rules cannot say about storage classes.

use std::collections::BTreeSet;

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath, formats};
use serde_json::Value;

use super::limits::text_size;
use crate::hooks::report::each;

/// The parameters of a class: few enough, small enough, none without a name.
pub fn class_parameters(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(parameters) = read::map(object, "parameters") else { return };
    let at = path.child("parameters");
    if parameters.len() > 512 {
        errors.too_long(&at, Value::Null, 512);
        return;
    }
    if parameters.contains_key("") {
        errors.invalid(&at, "", "field can not be empty.");
    }
    if text_size(parameters) > 256 * 1024 {
        errors.too_long(&at, Value::Null, 256 * 1024);
    }
}

/// The topologies that a class serves: values without repetition, keys without repetition, terms without repetition.
pub fn class_topologies(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let mut seen: Vec<Vec<(String, BTreeSet<String>)>> = Vec::new();
    for (index, term) in read::objects(object, "allowedTopologies") {
        let at = path.child("allowedTopologies").index(index).child("matchLabelExpressions");
        let mut keys: Vec<(String, BTreeSet<String>)> = Vec::new();
        for (place, requirement) in read::objects(term, "matchLabelExpressions") {
            let at = at.index(place);
            let key = read::text(requirement, "key");
            let values = topology_values(requirement, &at, errors);
            each(formats::qualified_name(key), &at.child("key"), key, errors);
            if keys.iter().any(|(known, _)| known == key) {
                errors.duplicate(&at.child("key"), key);
                keys.retain(|(known, _)| known != key);
            }
            keys.push((key.to_string(), values));
        }
        keys.sort();
        // Upstream compares with as many empty terms as there are terms, too.
        let empty = if keys.is_empty() { read::list(object, "allowedTopologies").len() } else { 0 };
        for _ in 0..empty + seen.iter().filter(|known| **known == keys).count() {
            errors.duplicate(&at, "");
        }
        seen.push(keys);
    }
}

fn topology_values(requirement: &Object, at: &FieldPath, errors: &mut Errors) -> BTreeSet<String> {
    let at = at.child("values");
    let values = read::texts(requirement, "values");
    if values.is_empty() {
        errors.required(&at, "");
    }
    let mut seen = BTreeSet::new();
    for (index, value) in values.into_iter().enumerate() {
        if !seen.insert(value.to_string()) {
            errors.duplicate(&at.index(index), value);
        }
    }
    seen
}
