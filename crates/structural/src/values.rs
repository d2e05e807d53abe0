//! Values against the keywords of a schema.
//!
//! Owns the order in which things are found wrong and the words for it. The counts that are returned say how many checks
//! went well: of several schemas none of which fits, the one that came nearest explains why.

use pawl_meta::object::Object;
use pawl_meta::{ErrorKind, go};
use serde_json::Value;

use crate::equality;
use crate::node::{Composed, Node, Others, TextRules, Types};
use crate::numbers;
use crate::place::{PathStep, Place};
use crate::problem::{Holds, Problem, Report, Sink, build, invalid, overall};
use crate::view::View;

/// Checks the value at a place, and lets pass what is wrong with a value that did not change.
pub(crate) fn check<S: Sink>(place: &Place<'_, '_>, sink: &mut S) -> usize {
    let before = sink.len();
    let count = keywords(place, sink, true);
    if sink.explains() && sink.len() > before && place.old().is_some() && place.is_unchanged() {
        sink.ratchet(before, place);
    }
    count
}

/// Whether all that changed at and below a place is right, given that everything was right before.
pub(crate) fn check_changes(place: &Place<'_, '_>, sink: &mut Holds) {
    let node = place.node();
    let Some(old) = place.old() else {
        check(place, sink);
        return;
    };
    if place.is_unchanged() {
        return;
    }
    let new = place.value();
    match (new.object(), old.object(), new.array(), old.array(), node.map_keys()) {
        (Some(new), Some(_), ..) if !node.is_atomic_map => changed_members(place, new, sink),
        (.., Some(new), Some(_), Some(_)) => changed_items(place, new, sink),
        _ => {
            check(place, sink);
            return;
        }
    }
    if !sink.is_done() {
        keywords(place, sink, false);
    }
}

fn changed_members<'v>(place: &Place<'_, 'v>, new: &'v Object, sink: &mut Holds) {
    let node = place.node();
    for (name, value) in new {
        if sink.is_done() {
            return;
        }
        match (node.property(name), &node.additional) {
            (Some(property), _) => check_changes(&place.below(PathStep::Field(name), property, value), sink),
            (None, Others::Schema(schema)) => check_changes(&place.below(PathStep::Key(name), schema, value), sink),
            _ => {}
        }
    }
}

fn changed_items<'v>(place: &Place<'_, 'v>, new: &'v [Value], sink: &mut Holds) {
    let Some(item) = &place.node().item else { return };
    for (index, value) in new.iter().enumerate() {
        if sink.is_done() {
            return;
        }
        check_changes(&place.below(PathStep::Index(index), item, value), sink);
    }
}

/// `is_deep`: what the value holds is checked too.
fn keywords<S: Sink>(place: &Place<'_, '_>, sink: &mut S, is_deep: bool) -> usize {
    let (node, value) = (place.node(), place.value());
    if value.is_null() {
        let fits = check_type(place, sink);
        check_allowed(place, sink);
        return usize::from(fits);
    }
    // One for having been here, one each for the checks that always apply: composition and enumeration.
    let mut count = 4;
    if !node.types.is_empty() || node.format.is_some() {
        count += 1 + usize::from(check_type(place, sink));
    }
    if let Some(composed) = &node.composed {
        count += check_composed(place, composed, sink);
    }
    match value {
        View::Value(Value::String(text)) => count += check_string(place, text, sink),
        View::Value(Value::Number(number)) => {
            if let Some(rules) = &node.number {
                numbers::check(place, rules, number, sink);
            }
            count += 2;
        }
        View::Value(Value::Array(items)) => count += 2 + check_items(place, items, sink, is_deep),
        _ => {}
    }
    check_allowed(place, sink);
    if let Some(members) = value.object() {
        count += 1 + check_members(place, members, sink, is_deep);
    }
    count
}

fn check_string<S: Sink>(place: &Place<'_, '_>, text: &str, sink: &mut S) -> usize {
    let node = place.node();
    if let Some(rules) = &node.text {
        check_text(place, rules, text, sink);
    }
    let Some(format) = node.format.as_ref().filter(|format| format.is_of_strings()) else { return 1 };
    if !format.fits(text) {
        sink.fail(|| wrong_type("format", place, format.name(), text));
    }
    2
}

/// What a value is called: its type, and the format that its type implies.
fn type_of(value: View<'_>) -> (&'static str, &'static str) {
    let View::Value(value) = value else { return ("object", "") };
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(number) if number.as_i64().is_some() => ("integer", "int64"),
        Value::Number(_) => ("number", "float64"),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

fn check_type<S: Sink>(place: &Place<'_, '_>, sink: &mut S) -> bool {
    let (node, value) = (place.node(), place.value());
    let types = node.types;
    if value.is_null() {
        let fits = types.is_empty() || node.nullable;
        if !fits {
            sink.fail(|| wrong_type("type", place, &type_names(node), "null"));
        }
        return fits;
    }
    let fits = fits_type(types, value);
    let (name, implied_format) = type_of(value);
    if let Some(format) = &node.format {
        let is_text = matches!(value, View::Value(Value::String(_) | Value::Array(_)));
        if !is_text && !fits && implied_format != format.name() {
            sink.fail(|| wrong_type("type", place, format.name(), implied_format));
            return false;
        }
        if !(types.number || types.integer) && is_text {
            return true;
        }
    }
    if !fits {
        sink.fail(|| wrong_type("type", place, &type_names(node), name));
    }
    fits
}

fn fits_type(types: Types, value: View<'_>) -> bool {
    let View::Value(value) = value else { return types.object };
    match value {
        Value::Null => false,
        Value::Bool(_) => types.boolean,
        Value::String(_) => types.string,
        Value::Array(_) => types.array,
        Value::Object(_) => types.object,
        Value::Number(number) => {
            let is_whole = || number.as_i64().is_some() || number.as_f64().is_some_and(numbers::is_whole);
            types.number || (types.integer && is_whole())
        }
    }
}

fn type_names(node: &Node) -> String {
    match (node.types.integer && node.types.string, &*node.kind) {
        (true, _) => "integer,string".to_owned(),
        (false, kind) => kind.to_owned(),
    }
}

/// The value is not shown, only what it is.
fn wrong_type(keyword: &'static str, place: &Place<'_, '_>, expected: &str, found: &str) -> Problem {
    let name = place.name();
    let text = format!("{name} in body must be of type {expected}: {}", go::quote(found));
    build(ErrorKind::TypeInvalid, keyword, &name, Some(go::quote(found)), text.clone(), text)
}

/// Only the first thing that is wrong with a text is told.
fn check_text<S: Sink>(place: &Place<'_, '_>, rules: &TextRules, text: &str, sink: &mut S) {
    let is_longer = |most: i64| i64::try_from(text.len()).unwrap_or(i64::MAX) > most && length(text) > most;
    if let Some(max) = rules.max.filter(|max| is_longer(*max)) {
        sink.fail(|| {
            let name = place.name();
            let text = format!("{name} in body should be at most {max} chars long");
            let bytes = if max == 1 { "byte" } else { "bytes" };
            build(ErrorKind::TooLong, "maxLength", &name, None, format!("may not be more than {max} {bytes}"), text)
        });
        return;
    }
    if let Some(min) = rules.min.filter(|min| length(text) < *min) {
        sink.fail(|| {
            let name = place.name();
            invalid("minLength", &name, go::quote(text), format!("{name} in body should be at least {min} chars long"))
        });
        return;
    }
    let Some(pattern) = &rules.pattern else { return };
    let complaint = match pattern.regex() {
        Ok(regex) if regex.is_match(text) => return,
        Ok(_) => None,
        Err(error) => Some(error),
    };
    sink.fail(|| {
        let name = place.name();
        let broken = complaint.map(|error| format!(", but pattern is invalid: {error}")).unwrap_or_default();
        let said = format!("{name} in body should match '{}{broken}'", pattern.text);
        invalid("pattern", &name, go::quote(text), said)
    });
}

fn length(text: &str) -> i64 {
    i64::try_from(text.chars().count()).unwrap_or(i64::MAX)
}

fn check_allowed<S: Sink>(place: &Place<'_, '_>, sink: &mut S) {
    let (allowed, value) = (&place.node().allowed, place.value());
    // Upstream finds no null among allowed values, even where it is listed.
    let is_listed = || allowed.iter().any(|one| equality::same(None, value, one.into()));
    if allowed.is_empty() || (!value.is_null() && is_listed()) {
        return;
    }
    sink.fail(|| {
        let name = place.name();
        let named = |value: &Value| go::quote(&value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        let list: Vec<String> = allowed.iter().map(named).collect();
        let detail = format!("supported values: {}", list.join(", "));
        let text = format!("{name} in body should be one of {}", go::print_map(&Value::from(allowed.clone())));
        build(ErrorKind::NotSupported, "enum", &name, Some(value.shown()), detail, text)
    });
}

fn check_items<'v, S: Sink>(place: &Place<'_, 'v>, items: &'v [Value], sink: &mut S, is_deep: bool) -> usize {
    let node = place.node();
    let mut count = 0;
    if let Some(item) = node.item.as_deref().filter(|_| is_deep) {
        for (index, value) in items.iter().enumerate() {
            if sink.is_done() {
                return 0;
            }
            count += check(&place.below(PathStep::Index(index), item, value), sink);
        }
    }
    let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
    if let Some(min) = node.min_items.filter(|min| size < *min) {
        sink.fail(|| {
            let name = place.name();
            invalid("minItems", &name, size.to_string(), format!("{name} in body should have at least {min} items"))
        });
    }
    if let Some(max) = node.max_items.filter(|max| size > *max) {
        sink.fail(|| {
            let name = place.name();
            let text = format!("{name} in body should have at most {max} items");
            build(ErrorKind::TooMany, "maxItems", &name, Some(size.to_string()), at_most(max), text)
        });
    }
    count
}

fn at_most(max: i64) -> String {
    let items = if max == 1 { "item" } else { "items" };
    format!("must have at most {max} {items}")
}

fn check_members<'v, S: Sink>(place: &Place<'_, 'v>, members: &'v Object, sink: &mut S, is_deep: bool) -> usize {
    let node = place.node();
    let size = i64::try_from(members.len()).unwrap_or(i64::MAX);
    if let Some(min) = node.min_properties.filter(|min| size < *min) {
        sink.fail(|| {
            let name = place.name();
            let text = format!("{name} in body should have at least {min} properties");
            invalid("minProperties", &name, size.to_string(), text)
        });
    }
    if let Some(max) = node.max_properties.filter(|max| size > *max) {
        sink.fail(|| {
            let name = place.name();
            let text = format!("{name} in body should have at most {max} properties");
            build(ErrorKind::TooMany, "maxProperties", &name, Some(size.to_string()), at_most(max), text)
        });
    }
    let mut count = check_others(place, members, sink, is_deep);
    for (key, value) in members.iter().filter(|_| is_deep) {
        if sink.is_done() {
            return 0;
        }
        if let Some(property) = node.property(key) {
            count += check(&place.below(PathStep::Field(key), property, value), sink);
        }
    }
    for missing in node.required.iter().filter(|name| !members.contains_key(&***name)) {
        sink.fail(|| {
            let name = format!("{}.{missing}", place.name());
            let text = format!("{name} in body is required");
            build(ErrorKind::Required, "required", &name, None, String::new(), text)
        });
    }
    count
}

/// Members that are not declared by name.
fn check_others<'v, S: Sink>(place: &Place<'_, 'v>, members: &'v Object, sink: &mut S, is_deep: bool) -> usize {
    let node = place.node();
    let mut count = 0;
    let others = members.iter().filter(|(key, _)| node.property(key).is_none());
    match &node.additional {
        Others::Unsaid | Others::Allowed => {}
        Others::Schema(_) if !is_deep => {}
        Others::Forbidden => {
            for (key, _) in others {
                sink.fail(|| {
                    let name = place.name();
                    let text = format!("{name}.{key} in body is a forbidden property");
                    invalid("additionalProperties", &name, go::quote(key), text)
                });
            }
        }
        Others::Schema(schema) => {
            for (key, value) in others {
                if sink.is_done() {
                    return 0;
                }
                count += check(&place.below(PathStep::Key(key), schema, value), sink);
            }
        }
    }
    count
}

fn check_composed<S: Sink>(place: &Place<'_, '_>, composed: &Composed, sink: &mut S) -> usize {
    let mut count = 0;
    if !composed.any.is_empty() {
        count += check_any(place, &composed.any, sink);
    }
    if !composed.one.is_empty() {
        count += check_one(place, &composed.one, sink);
    }
    if !composed.all.is_empty() {
        count += check_all(place, &composed.all, sink);
    }
    if composed.not.as_ref().is_some_and(|not| holds(place, not)) {
        sink.fail(|| overall("not", format!("{} must not validate the schema (not)", go::quote(&place.name()))));
    }
    count
}

fn holds(place: &Place<'_, '_>, node: &Node) -> bool {
    let mut sink = Holds::default();
    keywords(&place.composed(node), &mut sink, true);
    !sink.failed()
}

/// How much of a schema is right, where that matters.
fn count_of<S: Sink>(place: &Place<'_, '_>, node: &Node, sink: &S) -> usize {
    if !sink.counts() {
        return 0;
    }
    keywords(&place.composed(node), &mut Report::counting(), true)
}

/// What is wrong by the schema of which the most is right.
fn nearest(place: &Place<'_, '_>, nodes: &[Node]) -> (usize, Vec<Problem>) {
    let mut best: Option<(usize, Vec<Problem>)> = None;
    for node in nodes {
        let mut report = Report::counting();
        let count = keywords(&place.composed(node), &mut report, true);
        if best.as_ref().is_none_or(|(most, _)| count > *most) {
            best = Some((count, report.problems));
        }
    }
    best.unwrap_or_default()
}

fn check_any<S: Sink>(place: &Place<'_, '_>, nodes: &[Node], sink: &mut S) -> usize {
    if let Some(first) = nodes.iter().find(|node| holds(place, node)) {
        return count_of(place, first, sink);
    }
    sink.fail(|| overall("anyOf", format!("{} must validate at least one schema (anyOf)", go::quote(&place.name()))));
    explain(place, nodes, sink)
}

fn check_one<S: Sink>(place: &Place<'_, '_>, nodes: &[Node], sink: &mut S) -> usize {
    let mut fitting = nodes.iter().filter(|node| holds(place, node));
    let Some(first) = fitting.next() else {
        sink.fail(|| only_one(place, "Found none valid".to_owned()));
        return explain(place, nodes, sink);
    };
    let found = 1 + fitting.count();
    if found == 1 {
        return count_of(place, first, sink);
    }
    sink.fail(|| only_one(place, format!("Found {found} valid alternatives")));
    0
}

fn only_one(place: &Place<'_, '_>, found: String) -> Problem {
    let name = go::quote(&place.name());
    overall("oneOf", format!("{name} must validate one and only one schema (oneOf). {found}"))
}

fn explain<S: Sink>(place: &Place<'_, '_>, nodes: &[Node], sink: &mut S) -> usize {
    if !sink.explains() {
        return 0;
    }
    let (count, problems) = nearest(place, nodes);
    sink.take(problems);
    count
}

fn check_all<S: Sink>(place: &Place<'_, '_>, nodes: &[Node], sink: &mut S) -> usize {
    let mut count = 0;
    let mut fitting = 0;
    for node in nodes {
        if sink.is_done() {
            return 0;
        }
        let before = sink.len();
        count += keywords(&place.composed(node), sink, true);
        fitting += usize::from(sink.len() == before);
    }
    if fitting != nodes.len() {
        sink.fail(|| {
            let none = if fitting == 0 { ". None validated" } else { "" };
            overall("allOf", format!("{} must validate all the schemas (allOf){none}", go::quote(&place.name())))
        });
    }
    count
}
