//! Fields of objects whose types the decoder has seen to: what is absent is empty.

use std::sync::LazyLock;

use pawl_meta::object::Object;
use serde_json::{Value, json};

static EMPTY: LazyLock<Object> = LazyLock::new(Object::new);

/// The object in a field, or an empty one.
pub fn within<'o>(object: &'o Object, field: &str) -> &'o Object {
    map(object, field).unwrap_or(&EMPTY)
}

pub fn map<'o>(object: &'o Object, field: &str) -> Option<&'o Object> {
    object.get(field).and_then(Value::as_object)
}

pub fn text<'o>(object: &'o Object, field: &str) -> &'o str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

pub fn string(object: &Object, field: &str) -> String {
    text(object, field).to_owned()
}

pub fn optional(object: &Object, field: &str) -> Option<String> {
    object.get(field).and_then(Value::as_str).map(str::to_owned)
}

pub fn flag(object: &Object, field: &str) -> bool {
    object.get(field).and_then(Value::as_bool).unwrap_or_default()
}

pub fn list<'o>(object: &'o Object, field: &str) -> &'o [Value] {
    object.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

pub fn objects<'o>(object: &'o Object, field: &str) -> impl Iterator<Item = &'o Object> {
    list(object, field).iter().filter_map(Value::as_object)
}

pub fn texts<'o>(object: &'o Object, field: &str) -> Vec<&'o str> {
    list(object, field).iter().filter_map(Value::as_str).collect()
}

pub fn strings(object: &Object, field: &str) -> Vec<String> {
    texts(object, field).into_iter().map(str::to_owned).collect()
}

/// The object in a field to write to; made when it is not there.
pub fn within_mut<'o>(object: &'o mut Object, field: &str) -> &'o mut Object {
    let slot = object.entry(field).or_insert_with(|| json!({}));
    if !slot.is_object() {
        *slot = json!({});
    }
    match slot {
        Value::Object(map) => map,
        #[expect(clippy::unreachable, reason = "made an object three lines above")]
        _ => unreachable!("the field was just made an object"),
    }
}
