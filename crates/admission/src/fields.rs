//! How plugins look into objects: loosely, a missing, null or mistyped field being the zero value of its type. The schema
//! has refused wrong types before a plugin runs.

use pawl_meta::object::Object;
use serde_json::{Map, Value};

/// The text of a field, empty when absent.
pub fn text<'a>(object: &'a Object, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The object in a field.
pub fn map<'a>(object: &'a Object, field: &str) -> Option<&'a Object> {
    object.get(field).and_then(Value::as_object)
}

/// The text of a field of the object in a field.
pub fn deep_text<'a>(object: &'a Object, outer: &str, inner: &str) -> &'a str {
    map(object, outer).map(|object| text(object, inner)).unwrap_or_default()
}

/// The objects of a list.
pub fn objects<'a>(object: &'a Object, field: &str) -> impl Iterator<Item = &'a Object> {
    object.get(field).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

/// Whether a field is present: what a pointer that is not nil tells.
pub fn present(object: &Object, field: &str) -> bool {
    object.get(field).is_some_and(|value| !value.is_null())
}

/// The object in a field, to be written to; made when it is not there.
pub fn map_mut<'a>(object: &'a mut Object, field: &str) -> Option<&'a mut Object> {
    slot(object, field, || Value::Object(Map::new())).as_object_mut()
}

/// The list in a field, to be written to; made when it is not there.
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
