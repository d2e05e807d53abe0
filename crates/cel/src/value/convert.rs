//! Conversions between types.

use super::time::{self, Timestamp};
use super::{Text, Val, number};
use crate::error::EvalError;

const INT_OVERFLOW: &str = "integer overflow";
const UINT_OVERFLOW: &str = "unsigned integer overflow";
const TIMESTAMP_OVERFLOW: &str = "timestamp overflow";

type Converted<'a> = Result<Val<'a>, EvalError>;

fn refuse<'a>(value: &Val<'_>, to: &'static str) -> Converted<'a> {
    Err(EvalError::conversion(value.type_name(), to))
}

fn or_overflow<'a>(value: Option<Val<'a>>, message: &'static str) -> Converted<'a> {
    value.ok_or(EvalError::new(message))
}

/// `int(value)`
pub fn int<'a>(value: &Val<'a>) -> Converted<'a> {
    match value {
        Val::Int(_) => Ok(value.clone()),
        Val::Uint(u) => or_overflow(i64::try_from(*u).ok().map(Val::Int), INT_OVERFLOW),
        Val::Double(d) => or_overflow(number::to_int(*d).map(Val::Int), INT_OVERFLOW),
        Val::String(text) => {
            go_digits(text).and_then(|t| t.parse().ok()).map(Val::Int).map_or_else(|| refuse(value, "int"), Ok)
        }
        Val::Timestamp(moment) => Ok(Val::Int(moment.seconds)),
        Val::Duration(nanos) => Ok(Val::Int(*nanos)),
        _ => refuse(value, "int"),
    }
}

/// `uint(value)`
pub fn uint<'a>(value: &Val<'a>) -> Converted<'a> {
    match value {
        Val::Uint(_) => Ok(value.clone()),
        Val::Int(i) => or_overflow(u64::try_from(*i).ok().map(Val::Uint), UINT_OVERFLOW),
        Val::Double(d) => or_overflow(number::to_uint(*d).map(Val::Uint), UINT_OVERFLOW),
        Val::String(text) => {
            let digits = Some(&**text).filter(|t| t.bytes().all(|b| b.is_ascii_digit()));
            digits.and_then(|t| t.parse().ok()).map(Val::Uint).map_or_else(|| refuse(value, "uint"), Ok)
        }
        _ => refuse(value, "uint"),
    }
}

/// `double(value)`
pub fn double<'a>(value: &Val<'a>) -> Converted<'a> {
    match value {
        Val::Double(_) => Ok(value.clone()),
        Val::Int(i) => Ok(Val::Double(*i as f64)),
        Val::Uint(u) => Ok(Val::Double(*u as f64)),
        Val::String(text) => go_float(text).map(Val::Double).map_or_else(|| refuse(value, "double"), Ok),
        _ => refuse(value, "double"),
    }
}

/// `string(value)`
pub fn string<'a>(value: &Val<'a>) -> Converted<'a> {
    Ok(Val::String(match value {
        Val::String(_) => return Ok(value.clone()),
        Val::Bool(b) => Text::Borrowed(if *b { "true" } else { "false" }),
        Val::Int(_) | Val::Uint(_) | Val::Double(_) | Val::Duration(_) | Val::Timestamp(_) => value.to_string().into(),
        Val::Type(name) => name.clone(),
        Val::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned().into(),
            Err(_) => return Err(EvalError::new("invalid UTF-8 in bytes, cannot convert to string")),
        },
        Val::Opaque(opaque) => match opaque.text() {
            Some(text) => text.into(),
            None => return refuse(value, "string"),
        },
        _ => return refuse(value, "string"),
    }))
}

/// `bytes(value)`
pub fn bytes<'a>(value: &Val<'a>) -> Converted<'a> {
    match value {
        Val::Bytes(_) => Ok(value.clone()),
        Val::String(text) => Ok(Val::Bytes(text.as_bytes().into())),
        _ => refuse(value, "bytes"),
    }
}

/// `bool(value)`
pub fn boolean<'a>(value: &Val<'a>) -> Converted<'a> {
    match value {
        Val::Bool(_) => Ok(value.clone()),
        Val::String(text) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Val::Bool(false)),
            _ => refuse(value, "bool"),
        },
        _ => refuse(value, "bool"),
    }
}

/// `duration(value)`
pub fn duration<'a>(value: &Val<'a>) -> Converted<'a> {
    match value {
        Val::Duration(_) => Ok(value.clone()),
        Val::Int(nanos) => Ok(Val::Duration(*nanos)),
        Val::String(text) => {
            time::parse_duration(text).map(Val::Duration).map_or_else(|| refuse(value, "google.protobuf.Duration"), Ok)
        }
        _ => refuse(value, "google.protobuf.Duration"),
    }
}

/// `timestamp(value)`
pub fn timestamp<'a>(value: &Val<'a>) -> Converted<'a> {
    match value {
        Val::Timestamp(_) => Ok(value.clone()),
        Val::Int(seconds) => or_overflow(Timestamp::new(*seconds, 0).map(Val::Timestamp), TIMESTAMP_OVERFLOW),
        Val::String(text) => {
            Timestamp::parse(text).map(Val::Timestamp).map_or_else(|| refuse(value, "google.protobuf.Timestamp"), Ok)
        }
        _ => refuse(value, "google.protobuf.Timestamp"),
    }
}

/// Decimal digits with at most one sign, which is all that Go reads.
fn go_digits(text: &str) -> Option<&str> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then_some(text)
}

/// A double as Go reads it; out of range is no double.
pub fn go_float(text: &str) -> Option<f64> {
    let body = text.strip_prefix(['+', '-']).unwrap_or(text);
    let word = body.to_ascii_lowercase();
    if matches!(word.as_str(), "inf" | "infinity" | "nan") {
        return text.parse().ok();
    }
    let shaped = body.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    text.parse::<f64>().ok().filter(|value| shaped && value.is_finite())
}
