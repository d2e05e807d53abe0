//! Fields that no schema declares.
//!
//! The decoder leaves them out as it reads; this is for values that were not decoded: defaults, and objects stored under an
//! earlier schema.

use serde_json::{Map, Value};

use crate::node::{Node, Others};

/// What every object has, whatever its schema says.
const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Drops what is not declared from a value, and says where it was.
pub(crate) fn prune(node: &Node, value: &mut Value) -> Vec<String> {
    let mut pruner = Pruner::default();
    pruner.declared(node, value, node.is_preserving);
    pruner.dropped.sort();
    pruner.dropped
}

/// Drops what is not declared from a resource, which has metadata whatever its schema says.
pub(crate) fn prune_resource(node: &Node, members: &mut Map<String, Value>) -> Vec<String> {
    let mut pruner = Pruner::default();
    pruner.members(node, members, true, node.is_preserving);
    pruner.dropped.sort();
    pruner.dropped
}

#[derive(Default)]
struct Pruner {
    path: String,
    dropped: Vec<String>,
}

impl Pruner {
    /// `keeps`: what is not declared at this level stays.
    fn declared(&mut self, node: &Node, value: &mut Value, keeps: bool) {
        match value {
            Value::Object(members) => self.members(node, members, node.is_embedded, keeps),
            Value::Array(items) => {
                for (index, value) in items.iter_mut().enumerate() {
                    let length = self.enter(format_args!("[{index}]"));
                    match (&node.item, keeps) {
                        // Items of a list that keeps what it does not know do so too.
                        (Some(item), _) => self.declared(item, value, keeps || item.is_preserving),
                        (None, true) => {}
                        (None, false) => self.undeclared(value),
                    }
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }

    fn members(&mut self, node: &Node, members: &mut Map<String, Value>, has_meta: bool, keeps: bool) {
        members.retain(|name, value| {
            if has_meta && META.contains(&name.as_str()) {
                return true;
            }
            let below = match (node.property(name), &node.additional) {
                (Some(property), _) => Some(property),
                (None, Others::Schema(schema)) => Some(&**schema),
                (None, Others::Allowed | Others::Forbidden) => None,
                (None, Others::Unsaid) if keeps => return true,
                (None, Others::Unsaid) => {
                    self.drop(name);
                    return false;
                }
            };
            let length = self.enter_field(name);
            match below {
                Some(below) => self.declared(below, value, below.is_preserving),
                None => self.undeclared(value),
            }
            self.path.truncate(length);
            true
        });
    }

    /// Where nothing is declared, nothing that has fields keeps them.
    fn undeclared(&mut self, value: &mut Value) {
        match value {
            Value::Object(members) => {
                for name in members.keys() {
                    self.drop(name);
                }
                members.clear();
            }
            Value::Array(items) => {
                for (index, value) in items.iter_mut().enumerate() {
                    let length = self.enter(format_args!("[{index}]"));
                    self.undeclared(value);
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }

    fn drop(&mut self, name: &str) {
        let length = self.enter_field(name);
        self.dropped.push(self.path.clone());
        self.path.truncate(length);
    }

    fn enter_field(&mut self, name: &str) -> usize {
        if self.path.is_empty() { self.enter(format_args!("{name}")) } else { self.enter(format_args!(".{name}")) }
    }

    /// Goes a step down; the length to come back to.
    fn enter(&mut self, step: std::fmt::Arguments<'_>) -> usize {
        let length = self.path.len();
        self.path.push_str(&step.to_string());
        length
    }
}
