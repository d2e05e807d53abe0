//! Defaults, and nulls that are no values.
//!
//! A null where null is no value counts as absent: it takes the default, and where there is none it goes. Items of lists stay
//! where they are.

use serde_json::{Map, Value};

use crate::node::Node;

/// Fills in a value and all below it. Doing it twice changes nothing.
pub(crate) fn fill(node: &Node, value: &mut Value) {
    match value {
        Value::Object(members) => fill_members(node, members),
        Value::Array(items) => {
            let Some(item) = &node.item else { return };
            for value in items {
                if value.is_null()
                    && !item.nullable
                    && let Some(default) = &item.default
                {
                    *value = default.clone();
                }
                fill(item, value);
            }
        }
        _ => {}
    }
}

pub(crate) fn fill_members(node: &Node, members: &mut Map<String, Value>) {
    let is_no_value = |name: &str, value: &Value| {
        value.is_null() && node.field(name).is_some_and(|field| !field.nullable && field.default.is_none())
    };
    if members.iter().any(|(name, value)| is_no_value(name, value)) {
        members.retain(|name, value| !is_no_value(name, value));
    }
    if node.below.defaults {
        for (name, property) in &node.properties {
            let Some(default) = &property.default else { continue };
            let is_missing = members.get(&**name).is_none_or(|value| value.is_null() && !property.nullable);
            if is_missing {
                members.insert(name.to_string(), default.clone());
            }
        }
    }
    for (name, value) in members {
        let Some(field) = node.field(name) else { continue };
        if value.is_null()
            && !field.nullable
            && let Some(default) = &field.default
        {
            *value = default.clone();
        }
        fill(field, value);
    }
}
