//! Whether a value is what it was, and which old item an item of a list goes with.

use std::collections::HashMap;

use serde_json::{Number, Value};

use crate::node::Node;
use crate::view::View;

/// Equality of JSON: 1 is 1.0, and the order of fields does not count.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => equal_numbers(a, b),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        // Both are in order.
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((name, a), (other, b))| name == other && equal(a, b))
        }
        _ => a == b,
    }
}

fn equal_numbers(a: &Number, b: &Number) -> bool {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => a == b,
        _ => a == b || a.as_f64().is_some_and(|a| b.as_f64() == Some(a)),
    }
}

/// Whether a value equals its old one, where lists that have keys compare by them.
pub(crate) fn same(node: Option<&Node>, new: View<'_>, old: View<'_>) -> bool {
    // Most of what did not change stands where it stood: then nobody has to look for it.
    identical(new, old) || same_by_keys(node, new, old)
}

/// Whether a value equals its old one, with every item where it was.
pub(crate) fn identical(new: View<'_>, old: View<'_>) -> bool {
    match (new, old) {
        (View::Value(new), View::Value(old)) => equal(new, old),
        _ => match (new.object(), old.object()) {
            (Some(new), Some(old)) => {
                let same_field = |(name, new): (&String, &Value)| old.get(name).is_some_and(|old| equal(new, old));
                new.len() == old.len() && new.iter().all(same_field)
            }
            _ => false,
        },
    }
}

fn same_by_keys(node: Option<&Node>, new: View<'_>, old: View<'_>) -> bool {
    if let (Some(new), Some(old)) = (new.object(), old.object()) {
        let same_field = |(name, new): (&String, &Value)| {
            old.get(name)
                .is_some_and(|old| same_by_keys(node.and_then(|node| node.field(name)), new.into(), old.into()))
        };
        return new.len() == old.len() && new.iter().all(same_field);
    }
    if let (Some(new), Some(old)) = (new.array(), old.array()) {
        return new.len() == old.len() && same_items(node, new, old);
    }
    match (new, old) {
        (View::Value(new), View::Value(old)) => equal(new, old),
        _ => false,
    }
}

fn same_items(node: Option<&Node>, new: &[Value], old: &[Value]) -> bool {
    let item = node.and_then(|node| node.item.as_deref());
    let same_item = |new: &Value, old: &Value| same_by_keys(item, new.into(), old.into());
    let are_paired = |keys: &[Box<str>]| {
        let pairs = pair(keys, new, old);
        new.iter().zip(&pairs).all(|(new, old)| old.is_some_and(|old| same_item(new, old)))
    };
    node.and_then(Node::map_keys).is_some_and(are_paired) || new.iter().zip(old).all(|(new, old)| same_item(new, old))
}

/// For every new item the old one with the same keys. Of several with the same keys the first goes with the first.
pub(crate) fn pair<'v>(keys: &[Box<str>], new: &[Value], old: &'v [Value]) -> Vec<Option<&'v Value>> {
    if keys.is_empty() {
        return vec![None; new.len()];
    }
    // Most lists keep their items where they are, but for those behind one that came or went.
    let in_place = new.iter().zip(old).take_while(|(new, old)| have_same_keys(keys, new, old)).count();
    let (stayed, old) = old.split_at(in_place);
    let mut pairs: Vec<_> = stayed.iter().map(Some).collect();
    let mut by_key: HashMap<String, std::collections::VecDeque<&'v Value>> = HashMap::new();
    for item in old {
        if let Some(key) = key_of(keys, item) {
            by_key.entry(key).or_default().push_back(item);
        }
    }
    pairs.extend(new.iter().skip(in_place).map(|item| by_key.get_mut(&key_of(keys, item)?)?.pop_front()));
    pairs
}

fn have_same_keys(keys: &[Box<str>], new: &Value, old: &Value) -> bool {
    keys.iter().all(|key| match (new.get(&**key), old.get(&**key)) {
        (Some(Value::String(new)), Some(Value::String(old))) => new == old,
        (Some(Value::Bool(new)), Some(Value::Bool(old))) => new == old,
        (Some(Value::Number(new)), Some(Value::Number(old))) => equal_numbers(new, old),
        _ => false,
    })
}

/// The keys of an item as one text; nothing where one is missing or no scalar.
fn key_of(keys: &[Box<str>], item: &Value) -> Option<String> {
    let mut text = String::new();
    for key in keys {
        text.push('\0');
        match item.get(&**key)? {
            Value::String(value) => {
                text.push('"');
                text.push_str(value);
            }
            Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
            Value::Number(number) => match number.as_i64() {
                Some(value) => text.push_str(&value.to_string()),
                None => text.push_str(&number.as_f64()?.to_string()),
            },
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_equal_by_value() {
        assert!(equal(&json!({"a": [1, {"b": 2.0}]}), &json!({"a": [1.0, {"b": 2}]})));
        assert!(!equal(&json!([1]), &json!([1.5])));
        assert!(!equal(&json!({"a": null}), &json!({})));
    }

    #[test]
    fn items_pair_by_their_keys() {
        let keys: Vec<Box<str>> = vec!["k".into()];
        let old = [json!({"k": "a", "v": 1}), json!({"k": "b"}), json!({"k": "a", "v": 2}), json!({"v": 3})];
        let new = [json!({"k": "a"}), json!({"k": "a"}), json!({"k": "a"}), json!({"v": 3}), json!({"k": "b"})];
        let paired = pair(&keys, &new, &old);
        assert_eq!(paired, [Some(&old[0]), Some(&old[2]), None, None, Some(&old[1])]);
        let new = [json!({"k": "a"}), json!({"k": "b"}), json!({"k": "c"}), json!({"k": "a"})];
        assert_eq!(pair(&keys, &new, &old), [Some(&old[0]), Some(&old[1]), None, Some(&old[2])]);
    }
}
