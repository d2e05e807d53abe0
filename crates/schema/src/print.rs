//! Objects as text inside messages: fields in the order of their declaration, as Go writes structs.

use std::fmt::Write;

use serde_json::Value;

use crate::{NodeId, NodeKind, Schema};

impl Schema {
    /// A value of the type at a node as JSON, in the order of the type's fields.
    pub fn print(&self, id: NodeId, value: &Value) -> String {
        let mut out = String::new();
        self.write(Some(id), value, &mut out);
        out
    }

    /// A patched object as JSON: what the patch left alone in the order of declaration, what it went through sorted.
    pub fn print_patched(&self, id: NodeId, patched: &Value, before: &Value) -> String {
        let mut out = String::new();
        self.write_patched(Some(id), patched, Some(before), &mut out);
        out
    }

    fn write_patched(&self, id: Option<NodeId>, value: &Value, before: Option<&Value>, out: &mut String) {
        if before == Some(value) {
            return self.write(id, value, out);
        }
        match value {
            Value::Object(map) => {
                let entries = map.iter().map(|(key, value)| (key.as_str(), value));
                members(out, entries, |out, key, value| {
                    self.write_patched(self.below(id, key), value, before.and_then(|b| b.get(key)), out);
                });
            }
            Value::Array(items) => {
                let item = self.item(id);
                elements(out, items, |out, i, value| {
                    self.write_patched(item, value, before.and_then(|b| b.get(i)), out);
                });
            }
            scalar => write_scalar(scalar, out),
        }
    }

    fn write(&self, id: Option<NodeId>, value: &Value, out: &mut String) {
        match value {
            Value::Object(map) => match id.and_then(|id| self.object(id)) {
                Some(object) => {
                    let declared = object.fields.iter().filter_map(|f| Some((&*f.name, map.get(&*f.name)?)));
                    let others = map.iter().filter(|(key, _)| object.field(key).is_none());
                    let entries = declared.chain(others.map(|(key, value)| (key.as_str(), value)));
                    members(out, entries, |out, key, value| self.write(self.below(id, key), value, out));
                }
                None => {
                    let entries = map.iter().map(|(key, value)| (key.as_str(), value));
                    members(out, entries, |out, key, value| self.write(self.below(id, key), value, out));
                }
            },
            Value::Array(items) => {
                let item = self.item(id);
                elements(out, items, |out, _, value| self.write(item, value, out));
            }
            scalar => write_scalar(scalar, out),
        }
    }

    fn below(&self, id: Option<NodeId>, key: &str) -> Option<NodeId> {
        match &self.node(id?).kind {
            NodeKind::Object(object) => object.field(key).map(|f| f.node),
            NodeKind::Map(value) => Some(*value),
            _ => None,
        }
    }

    fn item(&self, id: Option<NodeId>) -> Option<NodeId> {
        match &self.node(id?).kind {
            NodeKind::List(item) => Some(*item),
            _ => None,
        }
    }
}

fn members<'v>(
    out: &mut String,
    entries: impl Iterator<Item = (&'v str, &'v Value)>,
    mut write: impl FnMut(&mut String, &'v str, &'v Value),
) {
    out.push('{');
    for (i, (key, value)) in entries.enumerate() {
        if i > 0 {
            out.push(',');
        }
        write_scalar(&Value::from(key), out);
        out.push(':');
        write(out, key, value);
    }
    out.push('}');
}

fn elements(out: &mut String, items: &[Value], mut write: impl FnMut(&mut String, usize, &Value)) {
    out.push('[');
    for (i, value) in items.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        write(out, i, value);
    }
    out.push(']');
}

fn write_scalar(value: &Value, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{value}");
}
