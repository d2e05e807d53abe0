//! Strategic merge patch: a merge patch that knows by which key the items of a list are told apart.
//!
//! Directives stand in the patch beside fields: `$patch` (`replace`, `delete`), `$retainKeys`,
//! `$setElementOrder/<list>` and `$deleteFromPrimitiveList/<list>`. This does not check that the result fits the
//! schema.

mod lists;

use std::collections::HashSet;

use serde_json::{Map, Value};

use pawl_meta::go;

use crate::error::PatchError;
use crate::merge_patch::drop_nulls;
use crate::typed::{At, Form, MapForm, Typed};
use crate::value::go_type;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const ELEMENT_ORDER: &str = "$setElementOrder";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";

/// The document with the patch merged into it.
pub fn apply(typed: &Typed<'_>, doc: Value, patch: Value) -> Result<Value, PatchError> {
    let patch = match patch {
        Value::Object(patch) => patch,
        Value::Null => Map::new(),
        other => {
            return Err(PatchError::Malformed(format!(
                "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                go::json_kind(&other)
            )));
        }
    };
    let doc = match doc {
        Value::Object(doc) => doc,
        _ => Map::new(),
    };
    Ok(Value::Object(merge_maps(typed.at(), doc, patch)?))
}

fn merge_maps(
    at: At<'_>,
    mut doc: Map<String, Value>,
    mut patch: Map<String, Value>,
) -> Result<Map<String, Value>, PatchError> {
    if let Some(directive) = patch.remove(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => Ok(patch),
            Some("delete") => Ok(Map::new()),
            _ => {
                let shown = go::print_map(&directive);
                patch.insert(DIRECTIVE.to_owned(), directive);
                Err(unknown_directive(&shown, patch))
            }
        };
    }
    let form = match at.form(&Value::Null) {
        Form::Map(form) => form,
        _ => return Err(PatchError::Failed("merging an object in json but data type is not struct".to_owned())),
    };
    retain_keys(&mut doc, &mut patch)?;
    order_elements(form, &mut doc, &mut patch)?;
    for (name, value) in patch {
        match name.strip_prefix(DELETE_FROM_LIST) {
            Some(_) => delete_from_list(form, &mut doc, &name, value)?,
            None => merge_entry(form, &mut doc, name, value)?,
        }
    }
    Ok(doc)
}

fn merge_entry(form: MapForm<'_>, doc: &mut Map<String, Value>, name: String, patch: Value) -> Result<(), PatchError> {
    if patch.is_null() {
        doc.remove(&name);
        return Ok(());
    }
    let at = form.entry_or_deduced(&name).at;
    let replaces = at.patch().is_some_and(|patch| patch.replace);
    let merged = match (doc.get_mut(&name).map(Value::take), patch) {
        (Some(Value::Object(_)), Value::Object(patch)) if replaces => Some(Value::Object(patch)),
        (Some(Value::Object(doc)), Value::Object(patch)) => Some(Value::Object(merge_maps(at, doc, patch)?)),
        (Some(Value::Array(doc)), Value::Array(patch)) => Some(Value::Array(lists::merge(at, doc, patch)?)),
        (Some(doc), patch) if go_type(&doc) == go_type(&patch) => Some(patch),
        (_, mut patch) => {
            drop_nulls(&mut patch);
            without_directives(patch)
        }
    };
    match merged {
        Some(merged) => doc.insert(name, merged),
        None => doc.remove(&name),
    };
    Ok(())
}

fn delete_from_list(
    form: MapForm<'_>,
    doc: &mut Map<String, Value>,
    name: &str,
    patch: Value,
) -> Result<(), PatchError> {
    let list = directive_target(name, DELETE_FROM_LIST)
        .ok_or_else(|| PatchError::Malformed("invalid patch format of primitive list".to_owned()))?;
    match (doc.get_mut(list), patch) {
        (_, Value::Null) => {
            doc.remove(list);
        }
        (Some(Value::Array(items)), Value::Array(gone)) => {
            *items = lists::delete(form.entry_or_deduced(list).at, std::mem::take(items), gone)?;
        }
        _ => {}
    }
    Ok(())
}

/// Keeps only the keys that the patch says to retain.
fn retain_keys(doc: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), PatchError> {
    let Some(retained) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let malformed = || PatchError::Malformed("invalid patch format of retainKeys".to_owned());
    let retained = retained.as_array().ok_or_else(malformed)?;
    let retained: HashSet<&str> = retained.iter().filter_map(Value::as_str).collect();
    let is_retained = |name: &str| retained.contains(name);
    let sets = |(name, value): &(&String, &Value)| {
        !value.is_null() && !name.starts_with(DELETE_FROM_LIST) && !name.starts_with(ELEMENT_ORDER)
    };
    if !patch.iter().filter(sets).all(|(name, _)| is_retained(name)) {
        return Err(malformed());
    }
    doc.retain(|name, _| is_retained(name));
    Ok(())
}

/// Merges the lists whose order the patch gives, and puts them in that order.
fn order_elements(
    form: MapForm<'_>,
    doc: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
) -> Result<(), PatchError> {
    let directives: Vec<String> = patch.keys().filter(|name| name.starts_with(ELEMENT_ORDER)).cloned().collect();
    for directive in directives {
        let order = match patch.remove(&directive) {
            Some(Value::Array(order)) => order,
            other => return Err(not_a_list(&other.unwrap_or_default())),
        };
        let list = directive_target(&directive, ELEMENT_ORDER).ok_or_else(lists::malformed_order)?;
        let items = |map: &Map<String, Value>| match map.get(list) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items.clone())),
            Some(other) => Err(not_a_list(other)),
        };
        let (old, new) = (items(doc)?, items(patch)?);
        let at = form.entry_or_deduced(list).at;
        if let Some(merged) = lists::merge_in_order(at, old, new, &order)? {
            doc.insert(list.to_owned(), Value::Array(merged));
            patch.remove(list);
        }
    }
    Ok(())
}

/// The list that a directive is about: `$setElementOrder/<list>`.
fn directive_target<'n>(name: &'n str, directive: &str) -> Option<&'n str> {
    name.strip_prefix(directive)?.strip_prefix('/')
}

fn unknown_directive(directive: &str, map: Map<String, Value>) -> PatchError {
    PatchError::Failed(format!("unknown patch type: {directive} in map: {}", go::print_map(&Value::Object(map))))
}

fn not_a_list(value: &Value) -> PatchError {
    PatchError::Failed(format!("expected a []interface {{}}, but received a {}", go_type(value)))
}

/// What is left of a new value without its directives; `None` when it is one itself.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.contains_key(DIRECTIVE) => None,
        Value::Object(map) => Some(Value::Object(
            map.into_iter().filter_map(|(name, value)| Some((name, without_directives(value)?))).collect(),
        )),
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(without_directives).collect())),
        scalar => Some(scalar),
    }
}
