//! An object without some of its fields.

use serde_json::{Map, Value};

use crate::path::Element;
use crate::set::FieldSet;
use crate::typed::{At, Form};

/// Removes fields from an object, each with everything below it.
pub(crate) fn remove(at: At<'_>, object: &mut Map<String, Value>, fields: &FieldSet<'_>) {
    if let Form::Map(form) = at.form(&Value::Null) {
        remove_entries(form, object, fields);
    }
}

fn remove_entries(form: crate::typed::MapForm<'_>, map: &mut Map<String, Value>, fields: &FieldSet<'_>) {
    map.retain(|name, value| match fields.field(name) {
        Some(node) if node.member => false,
        Some(node) => {
            remove_below(form.entry_or_deduced(name).at, value, &node.children);
            true
        }
        None => true,
    });
}

/// Removes what is below a value. What ends up empty becomes null: nothing says that it was meant to be empty.
fn remove_below(at: At<'_>, value: &mut Value, fields: &FieldSet<'_>) {
    let emptied = match (at.form(value), &mut *value) {
        (Form::Scalar(_), _) => false,
        (Form::Map(form), Value::Object(map)) if !form.atomic => {
            remove_entries(form, map, fields);
            map.is_empty()
        }
        (Form::List(form), Value::Array(items)) if !form.is_atomic() => {
            items.retain_mut(|item| {
                let node = match form.element(item) {
                    Ok(element) => fields.node(&element).map(|node| (node.member, &node.children)),
                    Err(_) => None,
                };
                match node {
                    Some((true, _)) => false,
                    Some((false, children)) => {
                        remove_below(form.items, item, children);
                        true
                    }
                    None => true,
                }
            });
            items.is_empty()
        }
        _ => true,
    };
    if emptied {
        *value = Value::Null;
    }
}

/// Makes every named field above a member a member itself: a struct's field that is mentioned is there.
pub(crate) fn name_parents(at: Option<At<'_>>, set: &mut FieldSet<'_>) {
    let form = at.map(|at| at.declared_form().unwrap_or_else(|| at.form(&Value::Null)));
    for node in set.nodes_mut().filter(|node| !node.children.is_empty()) {
        let below = match (&node.element, form) {
            (Element::Field(name), Some(Form::Map(form))) => {
                let entry = form.entry_or_deduced(name);
                node.member |= entry.field.is_some();
                Some(entry.at)
            }
            (Element::Key(_), Some(Form::List(form))) => Some(form.items),
            _ => None,
        };
        name_parents(below, &mut node.children);
    }
}
