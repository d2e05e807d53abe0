//! Strings: parts, search, case, joining.
//!
//! Positions count code points.

use super::{format, int, list, text};
use crate::env::Library;
use crate::error::EvalError;
use crate::types::Type;
use crate::value::Val;

type Evaluated<'a> = Result<Val<'a>, EvalError>;

/// Adds the functions on strings, with `format`, `strings.quote` and `join`.
pub fn add(library: &mut Library) {
    use Type::{Int, String};
    let f = &mut library.functions;
    let strings = Type::list(String);
    f.member("charAt", "string_char_at_int", &[String, Int], String, char_at);
    f.member("indexOf", "string_index_of_string", &[String, String], Int, |args| {
        index_of(text(args, 0)?, text(args, 1)?, 0)
    });
    f.member("indexOf", "string_index_of_string_int", &[String, String, Int], Int, |args| {
        index_of(text(args, 0)?, text(args, 1)?, int(args, 2)?)
    });
    f.member("lastIndexOf", "string_last_index_of_string", &[String, String], Int, |args| {
        let (text, part) = (text(args, 0)?, text(args, 1)?);
        let length = text.chars().count() as i64;
        if part.is_empty() {
            return Ok(Val::Int(length));
        }
        if text.len() < part.len() {
            return Ok(Val::Int(-1));
        }
        last_index_of(text, part, length - 1)
    });
    f.member("lastIndexOf", "string_last_index_of_string_int", &[String, String, Int], Int, |args| {
        last_index_of(text(args, 0)?, text(args, 1)?, int(args, 2)?)
    });
    f.member("lowerAscii", "string_lower_ascii", &[String], String, |args| {
        Ok(Val::string(text(args, 0)?.to_ascii_lowercase()))
    });
    f.member("upperAscii", "string_upper_ascii", &[String], String, |args| {
        Ok(Val::string(text(args, 0)?.to_ascii_uppercase()))
    });
    f.member("replace", "string_replace_string_string", &[String, String, String], String, |args| {
        Ok(Val::string(text(args, 0)?.replace(text(args, 1)?, text(args, 2)?)))
    });
    f.member("replace", "string_replace_string_string_int", &[String, String, String, Int], String, |args| {
        let (text, old, new, count) = (text(args, 0)?, text(args, 1)?, text(args, 2)?, int(args, 3)?);
        let replaced = match usize::try_from(count) {
            Ok(count) => text.replacen(old, new, count),
            Err(_) => text.replace(old, new),
        };
        Ok(Val::string(replaced))
    });
    f.member("split", "string_split_string", &[String, String], strings.clone(), |args| {
        Ok(split(text(args, 0)?, text(args, 1)?, -1))
    });
    f.member("split", "string_split_string_int", &[String, String, Int], strings.clone(), |args| {
        Ok(split(text(args, 0)?, text(args, 1)?, int(args, 2)?))
    });
    f.member("substring", "string_substring_int", &[String, Int], String, |args| {
        let text = text(args, 0)?;
        substring(text, int(args, 1)?, text.chars().count() as i64)
    });
    f.member("substring", "string_substring_int_int", &[String, Int, Int], String, |args| {
        let (start, end) = (int(args, 1)?, int(args, 2)?);
        if start > end {
            return Err(EvalError::new(format!("invalid substring range. start: {start}, end: {end}")));
        }
        substring(text(args, 0)?, start, end)
    });
    f.member("trim", "string_trim", &[String], String, |args| Ok(Val::string(text(args, 0)?.trim().to_owned())));
    let written = f.member("format", "string_format", &[String, Type::list(Type::Dyn)], String, |args| {
        format::write(text(args, 0)?, list(args, 1)?).map(Val::string)
    });
    written.stops_at_error = true;
    f.global("strings.quote", "strings_quote", &[String], String, |args| Ok(Val::string(quote(text(args, 0)?))));
    f.member("join", "list_join", std::slice::from_ref(&strings), String, |args| join(args, ""));
    f.member("join", "list_join_string", &[strings, String], String, |args| join(args, text(args, 1)?));
}

fn out_of_range<'a>(index: i64) -> Evaluated<'a> {
    Err(EvalError::new(format!("index out of range: {index}")))
}

fn char_at<'a>(args: &[Val<'a>]) -> Evaluated<'a> {
    let (text, index) = (text(args, 0)?, int(args, 1)?);
    match usize::try_from(index).ok().map(|at| (text.chars().nth(at), at == text.chars().count())) {
        Some((Some(c), _)) => Ok(Val::string(c.to_string())),
        Some((None, true)) => Ok(Val::string("")),
        _ => out_of_range(index),
    }
}

fn index_of<'a>(text: &str, part: &str, from: i64) -> Evaluated<'a> {
    if part.is_empty() {
        return Ok(Val::Int(from));
    }
    let Ok(start) = usize::try_from(from) else { return out_of_range(from) };
    let Some((byte, _)) = text.char_indices().nth(start) else { return Ok(Val::Int(-1)) };
    let rest = text.get(byte..).unwrap_or_default();
    Ok(Val::Int(rest.find(part).map_or(-1, |at| from + rest.get(..at).unwrap_or_default().chars().count() as i64)))
}

fn last_index_of<'a>(text: &str, part: &str, from: i64) -> Evaluated<'a> {
    if part.is_empty() {
        return Ok(Val::Int(from));
    }
    if from < 0 {
        return out_of_range(from);
    }
    if from >= text.chars().count() as i64 {
        return Ok(Val::Int(-1));
    }
    // The last start at or before `from`: search what a match there would still cover.
    let end = text.char_indices().nth(from as usize).map_or(text.len(), |(byte, _)| byte) + part.len();
    let mut end = end.min(text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    let head = text.get(..end).unwrap_or(text);
    let found = head.rmatch_indices(part).map(|(at, _)| text.get(..at).unwrap_or_default().chars().count() as i64);
    Ok(Val::Int(found.into_iter().find(|at| *at <= from).unwrap_or(-1)))
}

/// Splits as Go does: an empty separator between all characters, a count as the most parts.
fn split<'a>(text: &str, separator: &str, count: i64) -> Val<'a> {
    let owned = |part: &str| Val::string(part.to_owned());
    if count == 0 {
        return Val::list(Vec::new());
    }
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    if !separator.is_empty() {
        return Val::list(text.splitn(limit, separator).map(owned).collect());
    }
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if parts.len() + 1 == limit {
            parts.push(owned(rest));
            break;
        }
        let (head, tail) = rest.split_at_checked(c.len_utf8()).unwrap_or((rest, ""));
        parts.push(owned(head));
        rest = tail;
    }
    Val::list(parts)
}

fn substring<'a>(text: &str, start: i64, end: i64) -> Evaluated<'a> {
    let length = text.chars().count() as i64;
    if start < 0 || start > length {
        return out_of_range(start);
    }
    if end < 0 || end > length {
        return out_of_range(end);
    }
    let part: String = text.chars().skip(start as usize).take((end - start) as usize).collect();
    Ok(Val::string(part))
}

fn join<'a>(args: &[Val<'_>], separator: &str) -> Evaluated<'a> {
    let mut out = String::new();
    for (index, item) in list(args, 0)?.iter().enumerate() {
        if index > 0 {
            out.push_str(separator);
        }
        match item? {
            Val::String(part) => out.push_str(&part),
            other => return Err(EvalError::new(format!("join: invalid input: {other}"))),
        }
    }
    Ok(Val::string(out))
}

fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
