//! What rules cannot say about events: the old form, in which little is demanded, and the new one, which has a time, a
//! reporter and an action. An event has the shape that core gives it, whatever way it came.

use pawl_meta::object::Object;
use pawl_meta::{go, read};
use pawl_rules::{Check, Errors, FieldPath, formats};
use serde_json::Value;

use super::dumped;
use super::report::each;

/// An event that came through core.
pub fn event_core(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    event(object, "reportingComponent", path, errors);
}

/// The same demands on an event that came through events.k8s.io, where the reporter's field has another name.
pub fn event_strict_legacy(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    event(object, "reportingController", path, errors);
}

fn event(object: &Object, reporter: &str, path: &FieldPath, errors: &mut Errors) {
    let namespace = read::map(object, "metadata").map(|metadata| read::text(metadata, "namespace")).unwrap_or_default();
    let about = read::map(object, "involvedObject").map(|about| read::text(about, "namespace")).unwrap_or_default();
    let timed = read::present(object, "eventTime");
    let fits = match (timed, about.is_empty()) {
        (false, true) => matches!(namespace, "" | "default"),
        (false, false) => namespace == about,
        (true, true) => matches!(namespace, "default" | "kube-system"),
        (true, false) => true,
    };
    if !fits {
        let at = path.child("involvedObject").child("namespace");
        errors.invalid(&at, about, "does not match event.namespace");
    }
    if timed {
        new_event(object, reporter, path, errors);
    }
    each(formats::dns1123_subdomain(namespace), &path.child("namespace"), namespace, errors);
}

fn new_event(object: &Object, reporter: &str, path: &FieldPath, errors: &mut Errors) {
    let controller = read::text(object, "reportingComponent");
    let at = path.child(reporter);
    if controller.is_empty() {
        errors.required(&at, "");
    }
    each(formats::qualified_name(controller), &at, controller, errors);
    for field in ["reportingInstance", "action", "reason"] {
        let text = read::text(object, field);
        if text.is_empty() {
            errors.required(&path.child(field), "");
        }
        if text.len() > 128 {
            errors.invalid(&path.child(field), "", "can have at most 128 characters");
        }
    }
    if read::text(object, "message").len() > 1024 {
        errors.invalid(&path.child("message"), "", "can have at most 1024 characters");
    }
}

/// A new event through events.k8s.io has the new fields and none of the old ones.
pub fn event_strict(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    series(object, path, errors);
    if !read::present(object, "eventTime") {
        errors.required(&path.child("eventTime"), "");
    }
    let kind = read::text(object, "type");
    if !matches!(kind, "Normal" | "Warning") {
        errors.invalid(&path.child("type"), "", format!("has invalid value: {kind}"));
    }
    for field in ["firstTimestamp", "lastTimestamp"] {
        if read::present(object, field) {
            errors.invalid(&path.child(field), "", "needs to be unset");
        }
    }
    if read::number(object, "count") != 0 {
        errors.invalid(&path.child("count"), "", "needs to be unset");
    }
    let source = read::map(object, "source");
    if source
        .is_some_and(|source| !read::text(source, "component").is_empty() || !read::text(source, "host").is_empty())
    {
        errors.invalid(&path.child("source"), "", "needs to be unset");
    }
}

fn series(object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(series) = read::map(object, "series") else { return };
    let at = path.child("series");
    if read::number(series, "count") < 2 {
        errors.invalid(&at.child("count"), "", "should be at least 2");
    }
    if !read::present(series, "lastObservedTime") {
        errors.required(&at.child("lastObservedTime"), "");
    }
}

/// What happened does not change; that it happened again may be told.
pub fn event_strict_update(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    if !read::same(new, old, "series") {
        series(new, path, errors);
    }
    let fields = [
        "involvedObject",
        "reason",
        "message",
        "source",
        "firstTimestamp",
        "lastTimestamp",
        "count",
        "reason",
        "type",
        "eventTime",
        "action",
        "related",
        "reportingController",
        "reportingInstance",
    ];
    for field in fields {
        let held = if field == "reportingController" { "reportingComponent" } else { field };
        if !read::same(new, old, held) {
            errors.invalid_shown(&path.child(field), shown(new, held), "field is immutable");
        }
    }
}

/// How a changed field is shown: references and sources as upstream has them inside, what is not there as Go has it.
fn shown(event: &Object, field: &str) -> String {
    let empty = Object::new();
    match (field, event.get(field)) {
        ("source", source) => dumped("core.v1.EventSource", source.and_then(Value::as_object).unwrap_or(&empty)),
        ("involvedObject", object) => {
            dumped("core.v1.ObjectReference", object.and_then(Value::as_object).unwrap_or(&empty))
        }
        (_, Some(Value::Object(object))) => dumped("core.v1.ObjectReference", object),
        (_, Some(value)) => go::print(value),
        ("count", None) => "0".to_owned(),
        ("firstTimestamp" | "lastTimestamp" | "eventTime" | "related", None) => "null".to_owned(),
        (_, None) => "\"\"".to_owned(),
    }
}
