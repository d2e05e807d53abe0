//! The fields that an object mentions.

use serde_json::Value;

use crate::path::Element;
use crate::set::FieldSet;
use crate::typed::{At, Form, ListForm, MapForm};

/// Every leaf and every item of an object. Items without a name are left out.
pub(crate) fn object_fields<'a>(at: At<'a>, object: &'a serde_json::Map<String, Value>) -> FieldSet<'a> {
    let mut set = FieldSet::new();
    if let Form::Map(form) = at.form(&Value::Null) {
        collect_map(form, object, &mut set);
    }
    set
}

/// Fills an empty set with what is below a value; tells whether the value itself is a leaf.
fn collect<'a>(at: At<'a>, value: &'a Value, set: &mut FieldSet<'a>) -> bool {
    match (at.form(value), value) {
        (Form::Scalar(_), _) => true,
        (Form::List(form), _) if form.is_atomic() => true,
        (Form::Map(form), _) if form.atomic => true,
        (Form::List(form), Value::Array(items)) => {
            collect_list(form, items, set);
            false
        }
        (Form::Map(form), Value::Object(map)) => {
            collect_map(form, map, set);
            false
        }
        _ => false,
    }
}

fn collect_list<'a>(form: ListForm<'a>, items: &'a [Value], set: &mut FieldSet<'a>) {
    let mut named: Vec<(Element<'a>, &'a Value)> =
        items.iter().filter_map(|item| Some((form.element(item).ok()?, item))).collect();
    named.sort_by(|(a, _), (b, _)| a.cmp(b));
    *set = FieldSet::with_capacity(named.len());
    let mut named = named.into_iter().peekable();
    while let Some((element, item)) = named.next() {
        let mut repeated = false;
        while named.next_if(|(next, _)| *next == element).is_some() {
            repeated = true;
        }
        let mut children = FieldSet::new();
        // Items that repeat each other are one value together.
        if !repeated {
            collect(form.items, item, &mut children);
        }
        set.put(element, true, children);
    }
}

fn collect_map<'a>(form: MapForm<'a>, map: &'a serde_json::Map<String, Value>, set: &mut FieldSet<'a>) {
    *set = FieldSet::with_capacity(map.len());
    for (name, value) in map {
        let entry = form.entry_or_deduced(name);
        let mut children = FieldSet::new();
        let leaf = collect(entry.at, value, &mut children);
        let empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
        set.put(Element::field(name.as_str()), leaf || empty || entry.field.is_none(), children);
    }
}
