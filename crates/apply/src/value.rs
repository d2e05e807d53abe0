//! Equality, order and text of values, as the owners of fields see them.
//!
//! Numbers are numbers: `1` and `1.0` are the same key. The order is total, so that sets can be sorted.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::{Number, Value};

use pawl_meta::go;

/// Whether two values are the same.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Number(a), Value::Number(b)) => order_numbers(a, b) == Ordering::Equal,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Null, Value::Null) => true,
        _ => false,
    }
}

/// Numbers before strings before booleans before lists before maps before null.
pub(crate) fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => order_numbers(a, b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            for (a, b) in a.iter().zip(b) {
                match order(a, b) {
                    Ordering::Equal => {}
                    unequal => return unequal,
                }
            }
            a.len().cmp(&b.len())
        }
        (Value::Object(a), Value::Object(b)) => {
            for ((key_a, a), (key_b, b)) in a.iter().zip(b) {
                match key_a.cmp(key_b).then_with(|| order(a, b)) {
                    Ordering::Equal => {}
                    unequal => return unequal,
                }
            }
            a.len().cmp(&b.len())
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn order_numbers(a: &Number, b: &Number) -> Ordering {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => match (a.as_u64(), b.as_u64()) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => {
                let (a, b) = (a.as_f64().unwrap_or_default(), b.as_f64().unwrap_or_default());
                a.partial_cmp(&b).unwrap_or(Ordering::Equal)
            }
        },
    }
}

/// A value inside a path as messages print it: `"a"`, `80`, `null`.
pub(crate) fn text(value: &Value) -> Cow<'static, str> {
    match value {
        Value::Null => Cow::Borrowed("null"),
        Value::Bool(true) => Cow::Borrowed("true"),
        Value::Bool(false) => Cow::Borrowed("false"),
        Value::Number(_) => Cow::Owned(go::print(value)),
        Value::String(text) => Cow::Owned(go::quote(text)),
        Value::Array(items) => Cow::Owned(format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(","))),
        Value::Object(map) => Cow::Owned(map.iter().map(|(key, value)| format!("{key}={}", text(value))).collect()),
    }
}

/// A value as Go's `%#v` writes what `encoding/json` made of it: `map[string]interface {}{"a":1}`.
pub(crate) fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Array(items) => {
            format!("[]interface {{}}{{{}}}", items.iter().map(go_syntax).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let entries: Vec<String> =
                map.iter().map(|(key, value)| format!("{}:{}", go::quote(key), go_syntax(value))).collect();
            format!("map[string]interface {{}}{{{}}}", entries.join(", "))
        }
        scalar => go::print(scalar),
    }
}

/// What Go's `%T` says of a value that `encoding/json` made.
pub(crate) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// JSON as Go writes it: `<`, `>` and `&` are escaped.
pub(crate) fn write_json(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => write_string(out, text, true),
        Value::Number(_) => out.push_str(&go::print(value)),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_json(out, item);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (i, (name, value)) in map.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_string(out, name, true);
                out.push(':');
                write_json(out, value);
            }
            out.push('}');
        }
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Null => out.push_str("null"),
    }
}

/// A JSON string, with or without the characters escaped that HTML would mind.
pub(crate) fn write_string(out: &mut String, text: &str, html: bool) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' if html => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_compare_as_numbers() {
        assert!(same(&json!(1), &json!(1.0)));
        assert!(!same(&json!(1), &json!("1")));
        assert_eq!(order(&json!(2), &json!(10.5)), Ordering::Less);
        assert_eq!(order(&json!(u64::MAX), &json!(u64::MAX - 1)), Ordering::Greater);
        assert_eq!(order(&json!("a"), &json!(1)), Ordering::Greater);
    }

    #[test]
    fn go_prints_what_it_decoded() {
        assert_eq!(
            go_syntax(&json!({"a": [1, "x", null]})),
            r#"map[string]interface {}{"a":[]interface {}{1, "x", interface {}(nil)}}"#
        );
        assert_eq!(text(&json!("a\"b")), r#""a\"b""#);
    }
}
