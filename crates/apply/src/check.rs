//! Whether a value fits its type, in the words of upstream's typed values.
//!
//! Only intents are checked: what is stored has been decoded against its schema and is taken as it is.

use serde_json::{Map, Value};

use pawl_meta::go;

use crate::path::Element;
use crate::typed::{At, Form, ListForm, MapForm, ScalarForm};
use crate::value::{go_syntax, go_type};

/// Everything in an object that does not fit, as one text; `None` when all does.
pub(crate) fn misfits(at: At<'_>, object: &Map<String, Value>) -> Option<String> {
    let mut found = Vec::new();
    if let Form::Map(form) = at.form(&Value::Null) {
        check_map(form, object, &mut found);
    }
    match found.as_slice() {
        [] => None,
        [one] => Some(one.to_string()),
        many => {
            let lines: Vec<String> = many.iter().map(|misfit| format!("  {misfit}")).collect();
            Some(format!("errors:\n{}", lines.join("\n")))
        }
    }
}

struct Misfit {
    path: String,
    text: String,
}

impl std::fmt::Display for Misfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.text)
    }
}

fn misfit(text: impl Into<String>) -> Misfit {
    Misfit { path: String::new(), text: text.into() }
}

fn check(at: At<'_>, value: &Value, found: &mut Vec<Misfit>) {
    if value.is_null() {
        return;
    }
    match at.form(value) {
        Form::Scalar(form) => found.extend(check_scalar(form, value).map(misfit)),
        Form::List(form) => match value {
            Value::Array(items) => check_list(form, items, found),
            other => found.push(misfit(format!("expected list, got &{{{}}}", go::print_map(other)))),
        },
        Form::Map(form) => match value {
            Value::Object(map) => check_map(form, map, found),
            other => found.push(misfit(format!("expected map, got &{{{}}}", go::print_map(other)))),
        },
    }
}

fn check_scalar(form: ScalarForm, value: &Value) -> Option<String> {
    let pointer = || format!("&{{{}}}", go::print_map(value));
    match (form, value) {
        (ScalarForm::Numeric, Value::Number(_))
        | (ScalarForm::String, Value::String(_))
        | (ScalarForm::Boolean, Value::Bool(_))
        | (ScalarForm::Untyped, Value::Number(_) | Value::String(_) | Value::Bool(_)) => None,
        (ScalarForm::Numeric, _) => Some(format!("expected numeric (int or float), got {}", go_type(value))),
        (ScalarForm::String, _) => {
            Some(format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_syntax(value)))
        }
        (ScalarForm::Boolean, _) => Some(format!("expected boolean, got {}", pointer())),
        (ScalarForm::Untyped, _) => Some(format!("expected any scalar, got {}", pointer())),
    }
}

fn check_list(form: ListForm<'_>, items: &[Value], found: &mut Vec<Misfit>) {
    for (i, item) in items.iter().enumerate() {
        if form.is_atomic() {
            below(found, || format!("[{i}]"), |found| check(form.items, item, found));
            continue;
        }
        match form.element(item) {
            Ok(element) => below(found, || element.to_string(), |found| check(form.items, item, found)),
            Err(text) => {
                found.push(misfit(format!("element {i}: {text}")));
                return;
            }
        }
    }
    if !form.is_atomic() {
        found.extend(repetitions(form, items).map(|element| misfit(format!("duplicate entries for key {element}"))));
    }
}

/// The names that items repeat.
fn repetitions<'a>(form: ListForm<'a>, items: &'a [Value]) -> impl Iterator<Item = Element<'a>> {
    // Few items are compared with each other; many are sorted by name first.
    let repeated: Vec<&Value> = if items.len() <= 16 {
        let earlier = |i: usize| items.iter().take(i);
        let repeats = |(i, item): &(usize, &'a Value)| earlier(*i).any(|other| form.same_name(other, item));
        items.iter().enumerate().filter(repeats).map(|(_, item)| item).collect()
    } else {
        let mut named: Vec<(Element<'a>, &Value)> =
            items.iter().filter_map(|item| Some((form.element(item).ok()?, item))).collect();
        named.sort_by(|(a, _), (b, _)| a.cmp(b));
        let twice = |pair: &[(Element<'a>, &'a Value)]| match pair {
            [(a, _), (b, item)] if a == b => Some(*item),
            _ => None,
        };
        named.windows(2).filter_map(twice).collect()
    };
    repeated.into_iter().filter_map(move |item| form.element(item).ok())
}

fn check_map(form: MapForm<'_>, map: &Map<String, Value>, found: &mut Vec<Misfit>) {
    for (name, value) in map {
        match form.entry(name) {
            Some(entry) => below(found, || format!(".{name}"), |found| check(entry.at, value, found)),
            None => {
                found.push(Misfit { path: format!(".{name}"), text: "field not declared in schema".to_owned() });
                return;
            }
        }
    }
}

/// Puts a step in front of the paths of what is found below it.
fn below(found: &mut Vec<Misfit>, step: impl Fn() -> String, check: impl FnOnce(&mut Vec<Misfit>)) {
    let before = found.len();
    check(found);
    for misfit in found.iter_mut().skip(before) {
        misfit.path.insert_str(0, &step());
    }
}
