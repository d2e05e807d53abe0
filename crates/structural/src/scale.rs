//! The fields that `/scale` shows: counts that are counts, a selector that is a text.

use pawl_meta::object::Object;
use pawl_meta::{ErrorKind, FieldError};
use serde_json::Value;

use crate::equality::equal;
use crate::problem::{Ratcheted, shown};

/// Where `/scale` finds what it shows, as the definition says it: `.spec.replicas`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScalePaths {
    pub spec_replicas: String,
    pub status_replicas: String,
    pub label_selector: Option<String>,
}

/// Which of them a write is checked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    All,
    Status,
}

/// What is wrong with the fields, and what stays wrong as it was.
pub(crate) fn check(
    paths: &ScalePaths,
    asked: Asked,
    new: &Object,
    old: Option<&Object>,
) -> (Vec<FieldError>, Vec<Ratcheted>) {
    let mut errors = Vec::new();
    let mut ratcheted = Vec::new();
    let mut check = |path: &str, judge: fn(&Object, &str) -> Option<FieldError>| {
        let Some(error) = judge(new, path) else { return };
        let before = old.and_then(|old| find(old, path).ok().flatten());
        let now = find(new, path).ok().flatten();
        let is_unchanged = match (now, before) {
            (Some(now), Some(before)) => equal(now, before),
            // What is in the way of the field did not change either.
            (None, None) => old.is_some_and(|old| judge(old, path).as_ref() == Some(&error)),
            _ => false,
        };
        if is_unchanged {
            let rule = format!("scale{path}");
            ratcheted.push(Ratcheted { path: error.field.clone(), rule, detail: error.body() });
        } else {
            errors.push(error);
        }
    };
    if asked == Asked::All {
        check(&paths.spec_replicas, count);
    }
    check(&paths.status_replicas, count);
    if let Some(path) = &paths.label_selector {
        check(path, text);
    }
    (errors, ratcheted)
}

/// The value at a path, or what is in the way.
fn find<'o>(object: &'o Object, path: &str) -> Result<Option<&'o Value>, String> {
    let mut names = path.strip_prefix('.').unwrap_or(path).split('.');
    let mut at = match names.next().map(|name| object.get(name)) {
        Some(Some(value)) => value,
        _ => return Ok(None),
    };
    let mut walked = String::new();
    let first = path.strip_prefix('.').unwrap_or(path).split('.').next().unwrap_or_default();
    walked.push_str(first);
    for name in names {
        if at.is_null() {
            return Ok(None);
        }
        let Some(members) = at.as_object() else {
            let (shown, kind) = (pawl_meta::go::print_map(at), go_type(at));
            return Err(format!(
                ".{walked}.{name} accessor error: {shown} is of the type {kind}, expected map[string]interface{{}}"
            ));
        };
        match members.get(name) {
            Some(value) => at = value,
            None => return Ok(None),
        }
        walked.push('.');
        walked.push_str(name);
    }
    Ok(Some(at))
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.as_i64().is_some() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn wrong(path: &str, bad: &Value, detail: String) -> FieldError {
    FieldError { kind: ErrorKind::Invalid, field: path.to_owned(), bad_value: Some(shown(bad)), detail }
}

fn mistyped(path: &str, value: &Value, expected: &str) -> String {
    let (shown, kind) = (pawl_meta::go::print_map(value), go_type(value));
    let path = path.strip_prefix('.').unwrap_or(path);
    format!(".{path} accessor error: {shown} is of the type {kind}, expected {expected}")
}

fn count(object: &Object, path: &str) -> Option<FieldError> {
    let value = match find(object, path) {
        Err(error) => return Some(wrong(path, &0.into(), error)),
        Ok(value) => value?,
    };
    let Some(count) = value.as_i64() else {
        return Some(wrong(path, &0.into(), mistyped(path, value, "int64")));
    };
    if count < 0 {
        return Some(wrong(path, value, "should be a non-negative integer".to_owned()));
    }
    let most = i64::from(i32::MAX);
    (count > most).then(|| wrong(path, value, format!("should be less than or equal to {most}")))
}

fn text(object: &Object, path: &str) -> Option<FieldError> {
    match find(object, path) {
        Err(error) => Some(wrong(path, &"".into(), error)),
        Ok(value) => {
            let value = value.filter(|value| !value.is_string())?;
            Some(wrong(path, &"".into(), mistyped(path, value, "string")))
        }
    }
}
