//! Reading fields of a JSON object without caring whether they are there.
//!
//! A field that is missing, null or of another type reads as its type's empty value.

use serde_json::Value;

/// The value at the end of a path of keys; null counts as absent.
pub(super) fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    let mut current = value;
    for key in path {
        current = current.get(*key)?;
    }
    if current.is_null() { None } else { Some(current) }
}

/// Whether there is a value at the end of the path.
pub(super) fn has(value: &Value, path: &[&str]) -> bool {
    at(value, path).is_some()
}

/// A text, or "".
pub(super) fn text<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    at(value, path).and_then(Value::as_str).unwrap_or("")
}

/// A number, or 0.
pub(super) fn number(value: &Value, path: &[&str]) -> i64 {
    at(value, path).and_then(Value::as_i64).unwrap_or(0)
}

/// A truth value, or false.
pub(super) fn flag(value: &Value, path: &[&str]) -> bool {
    at(value, path).and_then(Value::as_bool).unwrap_or(false)
}

/// The items of a list, or none.
pub(super) fn items<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    at(value, path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or(&[])
}

/// The first of the conditions of that type.
pub(super) fn condition<'a>(conditions: &'a [Value], kind: &str) -> Option<&'a Value> {
    conditions.iter().find(|condition| text(condition, &["type"]) == kind)
}

/// Whether the first condition of that type has the status True.
pub(super) fn condition_holds(conditions: &[Value], kind: &str) -> bool {
    condition(conditions, kind).is_some_and(|condition| text(condition, &["status"]) == "True")
}

/// A value as it reads in a text: texts as they are, the rest as JSON.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// At most `max` of the items, and how many were left out.
pub(super) fn shortened(items: &[String], max: usize, separator: &str) -> String {
    let head = items.iter().take(max).map(String::as_str).collect::<Vec<_>>().join(separator);
    match items.len().checked_sub(max) {
        Some(more) if more > 0 => format!("{head} + {more} more..."),
        _ => head,
    }
}
