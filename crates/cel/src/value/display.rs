//! How values appear in error messages.

use super::{MAX_NESTING, Val, number, time};
use crate::error::EvalError;
use std::fmt::{self, Display};

impl fmt::Display for Val<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self, f, 0)
    }
}

fn show(value: &Val<'_>, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
    let below = |value: &Result<Val<'_>, EvalError>, f: &mut fmt::Formatter<'_>| match value {
        Ok(value) => show(value, f, depth + 1),
        Err(error) => error.fmt(f),
    };
    match value {
        _ if depth > MAX_NESTING => f.write_str("…"),
        Val::Null => f.write_str("null"),
        Val::Bool(value) => value.fmt(f),
        Val::Int(value) => value.fmt(f),
        Val::Uint(value) => value.fmt(f),
        Val::Double(value) => f.write_str(&number::shortest(*value)),
        Val::String(text) | Val::Type(text) => text.fmt(f),
        Val::Bytes(bytes) => f.write_str(&String::from_utf8_lossy(bytes)),
        Val::Duration(nanos) => f.write_str(&time::duration_text(*nanos)),
        Val::Timestamp(moment) => moment.fmt(f),
        Val::List(list) => {
            f.write_str("[")?;
            for (index, item) in list.iter().enumerate() {
                f.write_str(if index > 0 { ", " } else { "" })?;
                below(&item, f)?;
            }
            f.write_str("]")
        }
        Val::Map(map) => {
            f.write_str("{")?;
            for (index, (key, value)) in map.entries().into_iter().enumerate() {
                f.write_str(if index > 0 { ", " } else { "" })?;
                show(&key, f, depth + 1)?;
                f.write_str(": ")?;
                below(&value, f)?;
            }
            f.write_str("}")
        }
        Val::Optional(Some(value)) => {
            f.write_str("optional(")?;
            show(value, f, depth + 1)?;
            f.write_str(")")
        }
        Val::Optional(None) => f.write_str("optional.none()"),
        Val::Opaque(opaque) => match opaque.text() {
            Some(text) => f.write_str(&text),
            None => f.write_str(opaque.type_name()),
        },
    }
}

/// A string in double quotes as Go's `%q` writes it. The server has its own beside its other messages; the language must
/// not depend on it.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if c.is_ascii_control() => out.push_str(&format!("\\x{:02x}", c as u32)),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
