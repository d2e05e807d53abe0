//! JSON merge patch, RFC 7386.

use serde_json::{Map, Value};

/// The document with the patch merged into it. A patch that is not an object replaces the document.
pub fn apply(doc: Value, patch: Value) -> Value {
    match (doc, patch) {
        (Value::Object(mut doc), Value::Object(patch)) => {
            merge(&mut doc, patch);
            Value::Object(doc)
        }
        (_, mut patch) => {
            drop_nulls(&mut patch);
            patch
        }
    }
}

fn merge(doc: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (name, mut value) in patch {
        match (doc.get_mut(&name), &mut value) {
            (_, Value::Null) => {
                doc.remove(&name);
            }
            (Some(Value::Object(doc)), Value::Object(patch)) => merge(doc, std::mem::take(patch)),
            // Upstream keeps the nulls of a list that replaces a map, and drops all others.
            (Some(slot @ Value::Object(_)), patch) => *slot = patch.take(),
            (_, patch) => {
                drop_nulls(patch);
                doc.insert(name, value);
            }
        }
    }
}

/// A null in a patch means absence, however deep it is.
pub(crate) fn drop_nulls(patch: &mut Value) {
    match patch {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn patches_merge_as_the_rfc_says() {
        let check = |doc: Value, patch: Value, expect: Value| assert_eq!(apply(doc, patch), expect);
        check(json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"}));
        check(json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"}));
        check(json!({"a": "b"}), json!({"a": null}), json!({}));
        check(json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"}));
        check(json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"}));
        check(json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]}));
        check(json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}}));
        check(json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]}));
        check(json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1}));
        check(json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}}));
        check(json!({"a": 1}), json!({"a": {"b": null, "c": [{"d": null}]}}), json!({"a": {"c": [{}]}}));
    }
}
