//! Reading JSON beside its declaration.

use super::time::{self, Timestamp};
use super::{List, Map, Text, Val};
use crate::decl::{DeclKind, DeclType};
use crate::error::EvalError;
use serde_json::Value;

impl<'a> Val<'a> {
    /// Reads `value` as `decl` says. Lists and objects are read when looked at.
    #[inline]
    pub fn from_json(value: &'a Value, decl: &'a DeclType) -> Result<Val<'a>, EvalError> {
        match (value, &decl.kind) {
            (Value::Null, DeclKind::Dyn) => Ok(Val::Null),
            (Value::Null, _) if decl.nullable => Ok(Val::Null),
            (Value::Null, _) => Err(EvalError::new("invalid data, got null for schema with nullable=false")),
            (Value::Number(number), DeclKind::Int) => match number.as_i64() {
                Some(value) => Ok(Val::Int(value)),
                None => Err(EvalError::new("invalid data, expected int, got float64")),
            },
            (Value::Number(number), DeclKind::Double) => number.as_f64().map(Val::Double).ok_or(EvalError::NO_OVERLOAD),
            (Value::Number(number), DeclKind::Dyn) => Ok(untyped(number)),
            (Value::Number(number), DeclKind::IntOrString) if number.is_i64() => Ok(untyped(number)),
            (Value::String(text), DeclKind::String | DeclKind::Dyn | DeclKind::IntOrString) => {
                Ok(Val::String(Text::Borrowed(text)))
            }
            (Value::String(text), _) if is_formatted(&decl.kind) => formatted(text, &decl.kind),
            (Value::Bool(value), DeclKind::Bool | DeclKind::Dyn) => Ok(Val::Bool(*value)),
            (Value::Array(values), DeclKind::List(..) | DeclKind::Dyn) => Ok(Val::List(List::Json(values, decl))),
            (Value::Object(object), DeclKind::Map(_) | DeclKind::Object(_) | DeclKind::Dyn) => {
                Ok(Val::Map(Map::Json(object, decl)))
            }
            (_, kind) => Err(EvalError::new(mismatch(value, kind))),
        }
    }
}

fn untyped(number: &serde_json::Number) -> Val<'static> {
    number.as_i64().map_or_else(|| Val::Double(number.as_f64().unwrap_or(f64::NAN)), Val::Int)
}

fn is_formatted(kind: &DeclKind) -> bool {
    matches!(kind, DeclKind::Bytes | DeclKind::Duration | DeclKind::Date | DeclKind::DateTime)
}

fn formatted<'a>(text: &str, kind: &DeclKind) -> Result<Val<'a>, EvalError> {
    let (value, name) = match kind {
        DeclKind::Bytes => (base64(text).map(|bytes| Val::Bytes(bytes.into())), "byte formatted string"),
        DeclKind::Duration => (time::parse_loose_duration(text).map(Val::Duration), "duration"),
        DeclKind::Date => (Timestamp::parse_date(text).map(Val::Timestamp), "date formatted string"),
        _ => (Timestamp::parse_loose(text).map(Val::Timestamp), "date-time formatted string"),
    };
    value.ok_or_else(|| EvalError::new(format!("Invalid {name} {text}")))
}

fn mismatch(value: &Value, kind: &DeclKind) -> String {
    let found = match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    };
    let expected = match kind {
        DeclKind::IntOrString => {
            return "invalid data, expected XIntOrString value to be either a string or integer".to_owned();
        }
        DeclKind::Object(_) | DeclKind::Map(_) => {
            return "invalid data, expected a map for the provided schema with type=object".to_owned();
        }
        DeclKind::List(..) => {
            return "invalid data, expected an array for the provided schema with type=array".to_owned();
        }
        DeclKind::Hidden => return "values of this type cannot be read".to_owned(),
        DeclKind::Double => "float",
        DeclKind::Int => "int",
        DeclKind::Bool => "bool",
        _ => "string",
    };
    format!("invalid data, expected {expected}, got {found}")
}

/// Base64 in the alphabet for URLs, which is the one that the reference reads; line breaks are skipped.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count, mut padding) = (0u32, 0u32, 0);
    for byte in text.bytes().filter(|b| !matches!(b, b'\r' | b'\n')) {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'-' => 62,
            b'_' => 63,
            b'=' => {
                padding += 1;
                continue;
            }
            _ => return None,
        };
        if padding > 0 {
            return None;
        }
        bits = bits << 6 | u32::from(digit);
        count += 1;
        if count % 4 == 0 {
            out.extend(bits.to_be_bytes().iter().skip(1));
            bits = 0;
        }
    }
    let rest = match (count % 4, padding) {
        (0, 0) => 0,
        (2, 2) => 1,
        (3, 1) => 2,
        _ => return None,
    };
    let tail = (bits << (6 * (4 - count % 4))).to_be_bytes();
    out.extend(tail.iter().skip(1).take(rest));
    Some(out)
}
