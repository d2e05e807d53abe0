//! When a field counts as unchanged.

use serde_json::Value;

/// Whether two values are the same to Go's semantic equality: nothing is the same as an empty list or map, at any depth.
pub fn equal(one: Option<&Value>, other: Option<&Value>) -> bool {
    match (one.filter(|value| !is_empty(value)), other.filter(|value| !is_empty(value))) {
        (None, None) => true,
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            one.keys().chain(other.keys()).all(|key| equal(one.get(key), other.get(key)))
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(Some(one), Some(other)))
        }
        (one, other) => one == other,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}
