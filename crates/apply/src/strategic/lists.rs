//! Lists in a strategic merge patch: merged by key, or item by item where they hold scalars.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use serde_json::{Map, Value};

use pawl_meta::go;

use super::{DIRECTIVE, merge_maps, unknown_directive};
use crate::error::PatchError;
use crate::typed::{At, Form};
use crate::value::go_type;

/// What the items of a list are.
#[derive(Clone, Copy)]
enum Items<'k> {
    Scalars,
    /// Maps, told apart by this key.
    Maps(&'k str),
}

/// The list of the document with that of the patch merged into it.
pub(super) fn merge(at: At<'_>, doc: Vec<Value>, patch: Vec<Value>) -> Result<Vec<Value>, PatchError> {
    if !at.patch().is_some_and(|patch| patch.merge) {
        return Ok(patch);
    }
    match items(at, &doc, &patch)? {
        None => Ok(doc),
        Some(Items::Scalars) => {
            let mut seen = HashSet::with_capacity(doc.len() + patch.len());
            let merged = doc.iter().chain(&patch).filter(|item| seen.insert(*item)).cloned().collect();
            arrange(Items::Scalars, merged, &patch, &doc)
        }
        Some(Items::Maps(key)) => {
            let (doc, patch) = without_special(key, doc, patch)?;
            let order = patch.clone();
            let mut merged = doc.clone();
            let mut places = places(&merged, |item| item.get(key).cloned());
            for item in patch {
                merge_item(at, key, &mut merged, &mut places, item)?;
            }
            arrange(Items::Maps(key), merged, &order, &doc)
        }
    }
}

/// The list of the document without the items of another.
pub(super) fn delete(at: At<'_>, doc: Vec<Value>, gone: Vec<Value>) -> Result<Vec<Value>, PatchError> {
    match items(at, &doc, &gone)? {
        Some(Items::Scalars) => {
            let gone: HashSet<Value> = gone.into_iter().collect();
            Ok(doc.into_iter().filter(|item| !gone.contains(item)).collect())
        }
        Some(Items::Maps(_)) => merge(at, doc, gone),
        None => Ok(doc),
    }
}

/// The lists merged, in the order that the patch gives; `None` when there is neither.
pub(super) fn merge_in_order(
    at: At<'_>,
    doc: Option<Vec<Value>>,
    patch: Option<Vec<Value>>,
    order: &[Value],
) -> Result<Option<Vec<Value>>, PatchError> {
    check_order(merge_key(at), patch.as_deref().unwrap_or_default(), order)?;
    let (old, new) = (doc.clone().unwrap_or_default(), patch.clone().unwrap_or_default());
    let merged = match (doc, patch) {
        (None, None) => return Ok(None),
        (Some(doc), None) => doc,
        (None, Some(patch)) => patch.into_iter().filter_map(super::without_directives).collect(),
        (Some(doc), Some(patch)) => merge(at, doc, patch)?,
    };
    let Some(kind) = items(at, &old, &new)? else {
        return Err(PatchError::Failed("no elements in any of the given slices".to_owned()));
    };
    arrange(kind, merged, order, &old).map(Some)
}

pub(super) fn malformed_order() -> PatchError {
    PatchError::Malformed("invalid patch format of setElementOrder list".to_owned())
}

fn merge_key(at: At<'_>) -> Option<&str> {
    at.patch().and_then(|patch| patch.merge_key.as_deref())
}

/// What the items of two lists are; `None` when there are none.
fn items<'s>(at: At<'s>, a: &[Value], b: &[Value]) -> Result<Option<Items<'s>>, PatchError> {
    let Some(first) = a.iter().chain(b).next() else { return Ok(None) };
    if first.is_array() {
        return Err(PatchError::Inapplicable("lists of lists are not supported".to_owned()));
    }
    if a.iter().chain(b).any(|item| item.is_null() || go_type(item) != go_type(first)) {
        let lists = [Value::Array(a.to_vec()), Value::Array(b.to_vec())];
        return Err(PatchError::Failed(format!(
            "list element types are not identical: {}",
            go::print_map(&Value::Array(lists.to_vec()))
        )));
    }
    if !first.is_object() {
        return Ok(Some(Items::Scalars));
    }
    match merge_key(at) {
        Some(key) => Ok(Some(Items::Maps(key))),
        None => Err(PatchError::Failed("cannot merge lists without merge key for struct".to_owned())),
    }
}

/// Does what items with a directive say, and gives the lists without them.
fn without_special(key: &str, mut doc: Vec<Value>, patch: Vec<Value>) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let mut plain = Vec::with_capacity(patch.len());
    let mut gone = HashSet::new();
    let mut replace = false;
    for item in patch {
        match item.get(DIRECTIVE) {
            None => plain.push(item),
            Some(directive) => match directive.as_str() {
                Some("delete") => {
                    gone.insert(item.get(key).ok_or_else(|| no_merge_key(&item, key))?.clone());
                }
                Some("replace") => replace = true,
                Some("merge") => {
                    return Err(PatchError::Failed("merging lists cannot yet be specified in the patch".to_owned()));
                }
                _ => {
                    let shown = go::print_map(directive);
                    return Err(unknown_directive(&shown, item.as_object().cloned().unwrap_or_default()));
                }
            },
        }
    }
    doc.retain(|item| item.get(key).is_none_or(|value| !gone.contains(value)));
    Ok(if replace { (plain, Vec::new()) } else { (doc, plain) })
}

/// Where each value stands first in a list.
fn places<K: Eq + Hash>(list: &[Value], value: impl Fn(&Value) -> Option<K>) -> HashMap<K, usize> {
    let mut places = HashMap::with_capacity(list.len());
    for (at, item) in list.iter().enumerate() {
        if let Some(value) = value(item) {
            places.entry(value).or_insert(at);
        }
    }
    places
}

fn merge_item(
    at: At<'_>,
    key: &str,
    doc: &mut Vec<Value>,
    places: &mut HashMap<Value, usize>,
    patch: Value,
) -> Result<(), PatchError> {
    let value = patch.get(key).ok_or_else(|| no_merge_key(&patch, key))?;
    let Some(slot) = places.get(value).and_then(|at| doc.get_mut(*at)) else {
        places.insert(value.clone(), doc.len());
        doc.push(patch);
        return Ok(());
    };
    let items = match at.declared_form() {
        Some(Form::List(form)) => form.items,
        _ => at,
    };
    let map = |value: Value| match value {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    *slot = Value::Object(merge_maps(items, map(slot.take()), map(patch))?);
    Ok(())
}

/// Puts the items that are in the order first in that order, and weaves those that only the document has in between,
/// where the document has them before.
fn arrange(kind: Items<'_>, merged: Vec<Value>, order: &[Value], doc: &[Value]) -> Result<Vec<Value>, PatchError> {
    if let Items::Maps(key) = kind
        && let Some(keyless) = merged.iter().chain(order).chain(doc).find(|item| item.get(key).is_none())
    {
        return Err(no_merge_key(keyless, key));
    }
    let name = |item: &Value| match kind {
        Items::Scalars => Some(item.clone()),
        Items::Maps(key) => item.get(key).cloned(),
    };
    let (in_order, in_doc) = (places(order, name), places(doc, name));
    let place = |places: &HashMap<Value, usize>, item: &Value| places.get(&name(item)?).copied();
    let mut ordered = Vec::new();
    let mut rest = Vec::new();
    for item in merged {
        match place(&in_order, &item) {
            Some(at) => ordered.push((at, place(&in_doc, &item), item)),
            None => rest.push((place(&in_doc, &item), item)),
        }
    }
    ordered.sort_by_key(|(at, _, _)| *at);
    rest.sort_by_key(|(at, _)| at.unwrap_or(usize::MAX));
    let mut out = Vec::with_capacity(ordered.len() + rest.len());
    let (mut ordered, mut rest) = (ordered.into_iter().peekable(), rest.into_iter().peekable());
    loop {
        let rest_first = match (rest.peek(), ordered.peek()) {
            (None, None) => return Ok(out),
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some((Some(rest), _)), Some((_, Some(ordered), _))) => rest < ordered,
            _ => false,
        };
        if rest_first {
            out.extend(rest.next().map(|(_, item)| item));
        } else {
            out.extend(ordered.next().map(|(_, _, item)| item));
        }
    }
}

/// The items of a patch stand in the order that the patch gives.
fn check_order(key: Option<&str>, patch: &[Value], order: &[Value]) -> Result<(), PatchError> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    if let Some(key) = key
        && let Some(keyless) = order.iter().find(|item| item.get(key).is_none())
        && patch.iter().any(|item| item.get(DIRECTIVE).is_none())
    {
        return Err(no_merge_key(keyless, key));
    }
    let mut places = order.iter();
    for item in patch.iter().filter(|item| item.get(DIRECTIVE).is_none()) {
        let found = match key {
            None => places.any(|place| place == item),
            Some(key) => {
                if item.get(key).is_none() {
                    return Err(no_merge_key(item, key));
                }
                places.any(|place| place.get(key) == item.get(key))
            }
        };
        if !found {
            let shown = |list: &[Value]| go::print_map(&Value::Array(list.to_vec()));
            return Err(PatchError::Failed(format!(
                "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                shown(patch),
                shown(order)
            )));
        }
    }
    Ok(())
}

fn no_merge_key(item: &Value, key: &str) -> PatchError {
    match item {
        Value::Object(_) => {
            PatchError::Failed(format!("map: {} does not contain declared merge key: {key}", go::print_map(item)))
        }
        other => PatchError::Failed(format!("expected a map[string]interface {{}}, but received a {}", go_type(other))),
    }
}
