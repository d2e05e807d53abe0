//! Defaults, and nulls that are no values.
//!
//! A null where null is no value counts as absent: it takes the default, and where there is none it goes. Items of lists stay
//! where they are.

use serde_json::{Map, Value};

use crate::node::Node;

/// Fills in an object and all below it. Doing it twice changes nothing.
pub(crate) fn fill_members(node: &Node, members: &mut Map<String, Value>) {
    Fill { keeps_nulls: false }.members(node, members);
}

/// The same, but nulls that are no values stay where there is no default for them.
pub(crate) fn fill_keeping_nulls(node: &Node, members: &mut Map<String, Value>) {
    Fill { keeps_nulls: true }.members(node, members);
}

struct Fill {
    keeps_nulls: bool,
}

impl Fill {
    fn value(&self, node: &Node, value: &mut Value) {
        match value {
            Value::Object(members) => {
                // The metadata of an object are there as soon as somebody speaks of them.
                if let Some(metadata) = members.get_mut("metadata").filter(|meta| node.is_embedded && meta.is_null()) {
                    *metadata = Value::Object(Map::new());
                }
                self.members(node, members);
            }
            Value::Array(items) => {
                let Some(item) = &node.item else { return };
                for value in items {
                    if value.is_null()
                        && !item.nullable
                        && let Some(default) = &item.default
                    {
                        *value = default.clone();
                    }
                    self.value(item, value);
                }
            }
            _ => {}
        }
    }

    fn members(&self, node: &Node, members: &mut Map<String, Value>) {
        let is_no_value = |name: &str, value: &Value| {
            value.is_null() && node.field(name).is_some_and(|field| !field.nullable && field.default.is_none())
        };
        if !self.keeps_nulls && members.iter().any(|(name, value)| is_no_value(name, value)) {
            members.retain(|name, value| !is_no_value(name, value));
        }
        if node.below.defaults {
            for (name, property) in &node.properties {
                let Some(default) = &property.default else { continue };
                if !members.contains_key(&**name) {
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
            self.value(field, value);
        }
    }
}
