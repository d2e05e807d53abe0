//! Lists whose items are told apart: no two alike in a set, no two with the same keys in a map.

use std::collections::HashMap;

use pawl_meta::{ErrorKind, FieldError};
use serde_json::{Map, Value};

use crate::node::{List, Others};
use crate::place::{PathStep, Place};
use crate::problem::{as_go_json, shown};

/// A list that holds something twice.
pub(crate) struct Found {
    pub error: FieldError,
    pub rule: String,
    /// What is wrong with a list by its keys stays wrong when nothing changed.
    pub is_about_keys: bool,
    pub is_unchanged: bool,
}

/// Looks through all lists at and below a place; with `only_changes`, where something is not what it was.
pub(crate) fn check(place: &Place<'_, '_>, only_changes: bool, found: &mut dyn FnMut(Found)) {
    let node = place.node();
    if !node.below.typed_lists || (only_changes && place.is_unchanged()) {
        return;
    }
    if let Some(items) = place.value().array() {
        check_items(place, items, only_changes, found);
    }
    let Some(members) = place.value().object() else { return };
    if let Others::Schema(schema) = &node.additional {
        for (name, value) in members {
            check(&place.below(PathStep::Key(name), schema, value), only_changes, found);
        }
    }
    for (name, value) in members {
        if let Some(property) = node.property(name) {
            check(&place.below(PathStep::Field(name), property, value), only_changes, found);
        }
    }
}

fn check_items<'v>(place: &Place<'_, 'v>, items: &'v [Value], only_changes: bool, found: &mut dyn FnMut(Found)) {
    let node = place.node();
    match &node.list {
        List::Atomic => {}
        List::Set => {
            for index in repeated(items) {
                found(duplicate(place, index, items.get(index).map(shown), false));
            }
        }
        List::Map(keys) => check_keys(place, items, keys, found),
    }
    let Some(item) = &node.item else { return };
    for (index, value) in items.iter().enumerate() {
        check(&place.below(PathStep::Index(index), item, value), only_changes, found);
    }
}

fn check_keys(place: &Place<'_, '_>, items: &[Value], keys: &[Box<str>], found: &mut dyn FnMut(Found)) {
    let odd = items.iter().enumerate().find(|(_, item)| !item.is_object() && !item.is_null());
    if let Some((index, item)) = odd {
        let error = FieldError {
            kind: ErrorKind::Invalid,
            field: format!("{}[{index}]", place.path()),
            bad_value: Some(shown(item)),
            detail: "must be an object for an array of list-type map".to_owned(),
        };
        found(finding(place, error, false));
        return;
    }
    let key_of = |item: &Value| -> Value {
        let given = keys.iter().filter_map(|key| Some((key.to_string(), item.get(&**key)?.clone())));
        Value::Object(given.collect::<Map<_, _>>())
    };
    let all: Vec<Value> = if items.len() > 1 { items.iter().map(key_of).collect() } else { Vec::new() };
    for index in repeated(&all) {
        found(duplicate(place, index, all.get(index).map(as_go_json), true));
    }
}

/// Where a value comes for the second time; a third time is not told.
fn repeated(values: &[Value]) -> Vec<usize> {
    if values.len() < 2 {
        return Vec::new();
    }
    let mut times: HashMap<String, usize> = HashMap::with_capacity(values.len());
    let mut second = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let seen = times.entry(value.to_string()).or_default();
        *seen += 1;
        if *seen == 2 {
            second.push(index);
        }
    }
    second
}

fn duplicate(place: &Place<'_, '_>, index: usize, bad_value: Option<String>, is_about_keys: bool) -> Found {
    let field = format!("{}[{index}]", place.path());
    let error = FieldError { kind: ErrorKind::Duplicate, field, bad_value, detail: String::new() };
    finding(place, error, is_about_keys)
}

fn finding(place: &Place<'_, '_>, error: FieldError, is_about_keys: bool) -> Found {
    let rule = format!("{}.x-kubernetes-list-type", place.schema_path());
    Found { error, rule, is_about_keys, is_unchanged: place.is_unchanged() }
}
