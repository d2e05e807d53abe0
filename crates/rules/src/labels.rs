//! Labels, annotations, label selectors and conditions, wherever they stand in an object.

use std::collections::HashSet;

use pawl_meta::{ErrorKind, go};
use serde_json::{Map, Value};

use super::at::At;
use super::formats;
use super::judge::Report;

/// All annotations of an object together.
const ANNOTATIONS_MAX: usize = 256 * 1024;

pub(super) fn labels(value: &Value, at: &At<'_>, report: &mut Report<'_>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        report.text(at, key, formats::qualified_name(key));
        let text = value.as_str().unwrap_or_default();
        report.text(at, text, formats::label_value(text));
    }
}

pub(super) fn annotations(value: &Value, at: &At<'_>, report: &mut Report<'_>) {
    let mut size = 0;
    for (key, value) in value.as_object().into_iter().flatten() {
        report.text(at, key, formats::qualified_name(&key.to_lowercase()));
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > ANNOTATIONS_MAX {
        let detail = format!("may not be more than {ANNOTATIONS_MAX} bytes");
        report.add(ErrorKind::TooLong, at, String::new, detail);
    }
}

pub(super) fn selector(value: &Value, at: &At<'_>, report: &mut Report<'_>) {
    if let Some(wanted) = value.get("matchLabels") {
        labels(wanted, &at.field("matchLabels"), report);
    }
    let list = at.field("matchExpressions");
    for (index, expression) in value.get("matchExpressions").and_then(Value::as_array).into_iter().flatten().enumerate()
    {
        requirement(expression, &list.index(index), report);
    }
}

fn requirement(expression: &Value, at: &At<'_>, report: &mut Report<'_>) {
    let text = |field: &str| expression.get(field).and_then(Value::as_str).unwrap_or_default();
    let values = expression.get("values").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let here = at.field("values");
    match text("operator") {
        "In" | "NotIn" if values.is_empty() => {
            let detail = "must be specified when `operator` is 'In' or 'NotIn'";
            report.add(ErrorKind::Required, &here, String::new, detail);
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            report.add(ErrorKind::Forbidden, &here, String::new, detail);
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => report.invalid(&at.field("operator"), || go::quote(other), "not a valid selector operator"),
    }
    report.text(&at.field("key"), text("key"), formats::qualified_name(text("key")));
    for (index, value) in values.iter().enumerate() {
        let text = value.as_str().unwrap_or_default();
        report.text(&here.index(index), text, formats::label_value(text));
    }
}

/// Whether a selector has neither labels nor expressions.
pub(super) fn selects_everything(selector: &Value) -> bool {
    ["matchLabels", "matchExpressions"].iter().all(|field| match selector.get(*field) {
        Some(Value::Object(labels)) => labels.is_empty(),
        Some(Value::Array(expressions)) => expressions.is_empty(),
        _ => true,
    })
}

/// Whether a label selector takes an object with these labels.
pub(super) fn matches(selector: &Value, labels: &Map<String, Value>) -> bool {
    let wanted = selector.get("matchLabels").and_then(Value::as_object);
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    wanted.is_none_or(|wanted| contains(labels, wanted))
        && expressions.into_iter().flatten().all(|expression| {
            let text = |field: &str| expression.get(field).and_then(Value::as_str).unwrap_or_default();
            let has = labels.get(text("key"));
            let listed = || {
                let values = expression.get("values").and_then(Value::as_array);
                has.is_some_and(|has| values.is_some_and(|values| values.contains(has)))
            };
            match text("operator") {
                "In" => listed(),
                "NotIn" => !listed(),
                "Exists" => has.is_some(),
                "DoesNotExist" => has.is_none(),
                _ => false,
            }
        })
}

/// Whether all wanted labels are there.
pub(super) fn contains(labels: &Map<String, Value>, wanted: &Map<String, Value>) -> bool {
    wanted.iter().all(|(key, value)| labels.get(key) == Some(value))
}

/// The conditions of a status.
pub(super) fn conditions(list: &Value, at: &At<'_>, report: &mut Report<'_>) {
    let mut seen = HashSet::new();
    for (index, condition) in list.as_array().into_iter().flatten().enumerate() {
        let here = at.index(index);
        let kind = condition.get("type").and_then(Value::as_str).unwrap_or_default();
        if !seen.insert(kind) {
            report.add(ErrorKind::Duplicate, &here.field("type"), || go::quote(kind), "");
        }
        one_condition(condition, kind, &here, report);
    }
}

fn one_condition(condition: &Value, kind: &str, at: &At<'_>, report: &mut Report<'_>) {
    const REASON_MAX: usize = 1024;
    const MESSAGE_MAX: usize = 32 * 1024;
    let text = |field: &str| condition.get(field).and_then(Value::as_str).unwrap_or_default();
    report.text(&at.field("type"), kind, formats::qualified_name(kind));
    let status = text("status");
    if !matches!(status, "False" | "True" | "Unknown") {
        let detail = "supported values: \"False\", \"True\", \"Unknown\"";
        report.add(ErrorKind::NotSupported, &at.field("status"), || go::quote(status), detail);
    }
    let generation = condition.get("observedGeneration").and_then(Value::as_i64).unwrap_or_default();
    if generation < 0 {
        let detail = "must be greater than or equal to zero";
        report.invalid(&at.field("observedGeneration"), || generation.to_string(), detail);
    }
    if text("lastTransitionTime").is_empty() {
        report.add(ErrorKind::Required, &at.field("lastTransitionTime"), String::new, "");
    }
    let reason = text("reason");
    if reason.is_empty() {
        report.add(ErrorKind::Required, &at.field("reason"), String::new, "");
    } else {
        if !is_reason(reason) {
            let sentence = "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'";
            let examples = ["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"];
            let detail = formats::pattern_text(sentence, "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", &examples);
            report.invalid(&at.field("reason"), || go::quote(reason), detail);
        }
        too_long(reason, REASON_MAX, &at.field("reason"), report);
    }
    too_long(text("message"), MESSAGE_MAX, &at.field("message"), report);
}

fn is_reason(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic())
        && text.bytes().all(|byte| word(byte) || matches!(byte, b',' | b':'))
        && text.bytes().last().is_some_and(word)
}

fn too_long(text: &str, limit: usize, at: &At<'_>, report: &mut Report<'_>) {
    if text.len() > limit {
        report.add(ErrorKind::TooLong, at, String::new, format!("may not be more than {limit} bytes"));
    }
}
