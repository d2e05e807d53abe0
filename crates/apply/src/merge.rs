//! An intent laid over an object: what the intent mentions is taken from it, everything else stays.
//!
//! Nothing is removed here, and managedFields are left out: they are computed anew.

use serde_json::{Map, Value};

use crate::path::Element;
use crate::typed::{At, Form, ListForm, MapForm};
use crate::value::same;

/// The object with the intent laid over it.
pub(crate) fn merge(at: At<'_>, live: &Map<String, Value>, intent: &Map<String, Value>) -> Map<String, Value> {
    let Form::Map(form) = at.form(&Value::Null) else { return intent.clone() };
    let mut out = Map::new();
    for (name, live) in live {
        let value = match (name.as_str(), intent.get(name), live) {
            ("metadata", Some(Value::Object(intent)), Value::Object(live)) => merge_metadata(form, live, Some(intent)),
            ("metadata", None | Some(Value::Null), Value::Object(live)) => merge_metadata(form, live, None),
            (_, Some(intent), _) => merge_values(form.entry_or_deduced(name).at, live, intent),
            (_, None, _) => live.clone(),
        };
        out.insert(name.clone(), value);
    }
    add_missing(&mut out, live, intent);
    out
}

/// Whether laying the intent over the object would change nothing. May miss it where lists differ in length.
pub(crate) fn agrees(at: At<'_>, live: &Map<String, Value>, intent: &Map<String, Value>) -> bool {
    match at.form(&Value::Null) {
        Form::Map(form) => maps_agree(form, live, intent),
        _ => false,
    }
}

fn maps_agree(form: MapForm<'_>, live: &Map<String, Value>, intent: &Map<String, Value>) -> bool {
    intent.iter().all(|(name, intent)| match live.get(name) {
        None => false,
        Some(live) => match (live, intent) {
            (Value::Object(_) | Value::Array(_), _) => values_agree(form.entry_or_deduced(name).at, live, intent),
            _ => same(live, intent),
        },
    })
}

fn values_agree(at: At<'_>, live: &Value, intent: &Value) -> bool {
    match (at.form(live), live, intent) {
        (Form::Map(form), Value::Object(live), Value::Object(intent)) if !form.atomic => maps_agree(form, live, intent),
        (Form::List(form), Value::Array(live), Value::Array(intent)) if !form.is_atomic() => {
            live.len() == intent.len()
                && live
                    .iter()
                    .zip(intent)
                    .all(|(live, intent)| form.same_name(live, intent) && values_agree(form.items, live, intent))
        }
        _ => same(live, intent),
    }
}

fn merge_metadata(form: MapForm<'_>, live: &Map<String, Value>, intent: Option<&Map<String, Value>>) -> Value {
    let at = form.entry_or_deduced("metadata").at;
    let Form::Map(form) = at.form(&Value::Null) else { return Value::Object(live.clone()) };
    let mut out = Map::new();
    for (name, live) in live.iter().filter(|(name, _)| *name != "managedFields") {
        let value = match intent.and_then(|intent| intent.get(name)) {
            Some(intent) => merge_values(form.entry_or_deduced(name).at, live, intent),
            None => live.clone(),
        };
        out.insert(name.clone(), value);
    }
    if let Some(intent) = intent {
        add_missing(&mut out, live, intent);
    }
    Value::Object(out)
}

fn add_missing(out: &mut Map<String, Value>, live: &Map<String, Value>, intent: &Map<String, Value>) {
    for (name, value) in intent {
        if !live.contains_key(name) {
            out.insert(name.clone(), value.clone());
        }
    }
}

fn merge_values(at: At<'_>, live: &Value, intent: &Value) -> Value {
    // A null intends nothing for the entries of a map or list, and is a value anywhere else.
    let form = at.form(if intent.is_null() { live } else { intent });
    match (form, live, intent) {
        (Form::Map(form), Value::Object(live), intent) if !form.atomic && !live.is_empty() => match intent {
            Value::Object(intent) => Value::Object(merge_maps(form, live, intent)),
            Value::Null => Value::Object(live.clone()),
            other => other.clone(),
        },
        (Form::List(form), Value::Array(live), intent) if !form.is_atomic() && !live.is_empty() => match intent {
            Value::Array(intent) => Value::Array(merge_lists(form, live, intent)),
            Value::Null => Value::Array(live.clone()),
            other => other.clone(),
        },
        _ => intent.clone(),
    }
}

fn merge_maps(form: MapForm<'_>, live: &Map<String, Value>, intent: &Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    for (name, live) in live {
        let value = match intent.get(name) {
            Some(intent) => merge_values(form.entry_or_deduced(name).at, live, intent),
            None => live.clone(),
        };
        out.insert(name.clone(), value);
    }
    add_missing(&mut out, live, intent);
    out
}

/// Where an item of a list went.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counterpart {
    None,
    At(usize),
    /// More than one item has the name: none of them is the counterpart.
    Many,
}

/// Items of the intent in its order, those only the object has near their neighbours.
///
/// Both orders are walked side by side. Items of the object that the intent does not mention come out where they stand;
/// items of both come out in the order of the intent.
fn merge_lists(form: ListForm<'_>, live: &[Value], intent: &[Value]) -> Vec<Value> {
    let (of_live, of_intent) = counterparts(form, live, intent);
    let mut shared = of_intent.iter().enumerate().filter(|(_, c)| **c != Counterpart::None).map(|(i, _)| i);
    let mut next_shared = shared.next();
    let mut merged = vec![false; intent.len()];
    let mut out = Vec::with_capacity(live.len().max(intent.len()));
    let take = |i: usize, merged: &mut [bool]| {
        if let (Some(done), Some(item)) = (merged.get_mut(i), intent.get(i)) {
            *done = true;
            let live = match of_intent.get(i) {
                Some(Counterpart::At(at)) => live.get(*at),
                _ => None,
            };
            match live {
                Some(live) => merge_values(form.items, live, item),
                None => item.clone(),
            }
        } else {
            Value::Null
        }
    };
    let (mut l, mut r) = (0, 0);
    while l < live.len() || r < intent.len() {
        let here = of_live.get(l).copied();
        if let Some(Some(at)) = here
            && r < intent.len()
        {
            if at == r {
                out.push(take(r, &mut merged));
                (l, r) = (l + 1, r + 1);
                next_shared = shared.next();
                continue;
            }
            if next_shared.is_some_and(|next| next != at) {
                // Shared, but its turn comes later or has been.
                l += 1;
                continue;
            }
        }
        match here {
            Some(None) => {
                out.extend(live.get(l).cloned());
                l += 1;
                continue;
            }
            Some(Some(at)) if merged.get(at).copied().unwrap_or(true) => l += 1,
            _ => {}
        }
        if r < intent.len() {
            out.push(take(r, &mut merged));
            if next_shared == Some(r) {
                next_shared = shared.next();
            }
            r += 1;
        }
    }
    out
}

/// For each item of the object, the item of the intent with its name; for each item of the intent, that of the object.
fn counterparts(form: ListForm<'_>, live: &[Value], intent: &[Value]) -> (Vec<Option<usize>>, Vec<Counterpart>) {
    let mut names: Vec<(Element<'_>, usize)> =
        intent.iter().enumerate().filter_map(|(i, item)| Some((form.element(item).ok()?, i))).collect();
    names.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut of_intent = vec![Counterpart::None; intent.len()];
    let of_live = live
        .iter()
        .enumerate()
        .map(|(l, item)| {
            let element = form.element(item).ok()?;
            let at = names.binary_search_by(|(name, _)| name.cmp(&element)).ok()?;
            let (_, i) = names.get(at)?;
            let slot = of_intent.get_mut(*i)?;
            *slot = if *slot == Counterpart::None { Counterpart::At(l) } else { Counterpart::Many };
            Some(*i)
        })
        .collect();
    (of_live, of_intent)
}
