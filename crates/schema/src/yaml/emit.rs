//! Writing YAML the way Go's library does: keys sorted, lists not indented, as few quotes as possible.

use std::fmt::Write;

use serde_json::Value;

use super::scalar::is_special;

/// A value as a YAML document.
pub fn emit(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => mapping(&mut out, map, 0, false),
        Value::Array(items) if !items.is_empty() => sequence(&mut out, items, 0, false),
        scalar => {
            inline(&mut out, scalar, 0);
            out.push('\n');
        }
    }
    out
}

/// `continued`: the first line goes on after a dash that is already written.
fn mapping(out: &mut String, map: &serde_json::Map<String, Value>, indent: usize, continued: bool) {
    for (i, (key, value)) in map.iter().enumerate() {
        if i > 0 || !continued {
            pad(out, indent);
        }
        string(out, key, indent, true);
        out.push(':');
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                out.push('\n');
                mapping(out, inner, indent + 2, false);
            }
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                sequence(out, items, indent, false);
            }
            scalar => {
                out.push(' ');
                inline(out, scalar, indent);
                out.push('\n');
            }
        }
    }
}

fn sequence(out: &mut String, items: &[Value], indent: usize, continued: bool) {
    for (i, item) in items.iter().enumerate() {
        if i > 0 || !continued {
            pad(out, indent);
        }
        out.push_str("- ");
        match item {
            Value::Object(map) if !map.is_empty() => mapping(out, map, indent + 2, true),
            Value::Array(inner) if !inner.is_empty() => sequence(out, inner, indent + 2, true),
            scalar => {
                inline(out, scalar, indent);
                out.push('\n');
            }
        }
    }
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

fn inline(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Number(n) => {
            let _ = write!(out, "{n}");
        }
        Value::String(text) => string(out, text, indent, false),
        Value::Array(_) => out.push_str("[]"),
        Value::Object(_) => out.push_str("{}"),
    }
}

fn string(out: &mut String, text: &str, indent: usize, key: bool) {
    let printable = |c: char| !c.is_control() && c != '\u{feff}' && c != '\u{2028}' && c != '\u{2029}' && c != '\u{85}';
    if text.contains('\n')
        && !key
        && text.chars().all(|c| c == '\n' || c == '\t' || printable(c))
        && block_is_safe(text)
    {
        return block(out, text, indent);
    }
    if text.is_empty() || is_special(text) || !text.chars().all(printable) {
        double_quoted(out, text);
    } else if needs_quotes(text) {
        let _ = write!(out, "'{}'", text.replace('\'', "''"));
    } else {
        out.push_str(text);
    }
}

/// A block whose first line starts with white space would need an indentation mark.
fn block_is_safe(text: &str) -> bool {
    !text.starts_with([' ', '\n', '\t']) && !text.lines().any(|line| line.ends_with(' '))
}

fn block(out: &mut String, text: &str, indent: usize) {
    let trailing = text.len() - text.trim_end_matches('\n').len();
    out.push_str(match trailing {
        0 => "|-",
        1 => "|",
        _ => "|+",
    });
    let body = text.strip_suffix('\n').unwrap_or(text);
    for line in body.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            pad(out, indent + 2);
            out.push_str(line);
        }
    }
}

/// Whether a plain scalar would be read as something else.
fn needs_quotes(text: &str) -> bool {
    let first = text.chars().next().unwrap_or(' ');
    let second = text.chars().nth(1);
    let indicator = match first {
        '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' | '=' => true,
        '-' | '?' | ':' => second.is_none_or(char::is_whitespace),
        _ => false,
    };
    indicator
        || text == "<<"
        || text.starts_with("---")
        || text.starts_with("...")
        || text.starts_with(char::is_whitespace)
        || text.ends_with(char::is_whitespace)
        || text.ends_with(':')
        || text.contains(": ")
        || text.contains(" #")
        || text.contains('\t')
}

fn double_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            c if c.is_control() && (c as u32) < 0x100 => {
                let _ = write!(out, "\\x{:02X}", c as u32);
            }
            '\u{feff}' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04X}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
