//! How hooks and plugins look into objects: loosely, without a panic, a missing or mistyped field being the zero value of its
//! type. The schema has refused wrong types before one of them runs.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::object::Object;

/// The text of a field, empty when absent.
pub fn text<'a>(object: &'a Object, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The number of a field, zero when absent.
pub fn number(object: &Object, field: &str) -> i64 {
    object.get(field).and_then(Value::as_i64).unwrap_or_default()
}

/// Whether a field is true.
pub fn truth(object: &Object, field: &str) -> bool {
    object.get(field).and_then(Value::as_bool).unwrap_or_default()
}

/// The items of a field, none when absent.
pub fn list<'a>(object: &'a Object, field: &str) -> &'a [Value] {
    object.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The object in a field.
pub fn map<'a>(object: &'a Object, field: &str) -> Option<&'a Object> {
    object.get(field).and_then(Value::as_object)
}

/// The object in a field, an empty one when absent.
pub fn within<'a>(object: &'a Object, field: &str) -> &'a Object {
    static EMPTY: LazyLock<Object> = LazyLock::new(Object::new);
    map(object, field).unwrap_or(&EMPTY)
}

/// The annotations of an object.
pub fn annotations(object: &Object) -> &Object {
    within(within(object, "metadata"), "annotations")
}

/// The object below a path of fields.
pub fn deep<'a>(object: &'a Object, fields: &[&str]) -> Option<&'a Object> {
    fields.iter().try_fold(object, |at, field| map(at, field))
}

/// The objects among the items of a field, with their places.
pub fn objects<'a>(object: &'a Object, field: &str) -> impl Iterator<Item = (usize, &'a Object)> {
    list(object, field).iter().enumerate().filter_map(|(at, item)| item.as_object().map(|item| (at, item)))
}

/// The objects among the items of a field.
pub fn each<'a>(object: &'a Object, field: &str) -> impl Iterator<Item = &'a Object> {
    objects(object, field).map(|(_, item)| item)
}

/// Whether a field is present and not null: what a Go pointer tells.
pub fn present(object: &Object, field: &str) -> bool {
    object.get(field).is_some_and(|value| !value.is_null())
}

/// Whether two fields hold the same, absent being the same as null, and as an empty text, list or map.
pub fn same(one: &Object, other: &Object, field: &str) -> bool {
    let of = |object: &Object| object.get(field).filter(|value| !is_zero(value)).cloned();
    of(one) == of(other)
}

/// The text of a field of the object in a field.
pub fn deep_text<'a>(object: &'a Object, outer: &str, inner: &str) -> &'a str {
    map(object, outer).map(|object| text(object, inner)).unwrap_or_default()
}

/// The object in a field, made when absent; nothing when something else stands there.
pub fn map_mut<'a>(object: &'a mut Object, field: &str) -> Option<&'a mut Object> {
    slot(object, field, || Value::Object(Map::new())).as_object_mut()
}

/// The list in a field, made when absent; nothing when something else stands there.
pub fn list_mut<'a>(object: &'a mut Object, field: &str) -> Option<&'a mut Vec<Value>> {
    slot(object, field, || Value::Array(Vec::new())).as_array_mut()
}

fn slot<'a>(object: &'a mut Object, field: &str, empty: fn() -> Value) -> &'a mut Value {
    let slot = object.entry(field).or_insert(Value::Null);
    if slot.is_null() {
        *slot = empty();
    }
    slot
}

/// Whether Go would call a value zero.
pub fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(truth) => !truth,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// Sets a field that is not set.
pub fn default_to(object: &mut Object, field: &str, value: impl Into<Value>) {
    if object.get(field).is_none_or(is_zero) {
        object.insert(field.to_string(), value.into());
    }
}

/// The items of a list of texts.
pub fn texts<'a>(object: &'a Object, field: &str) -> Vec<&'a str> {
    list(object, field).iter().filter_map(Value::as_str).collect()
}
