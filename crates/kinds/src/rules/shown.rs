//! Values as messages show them: the JSON that Go would write, fields in the order of their declaration.

use pawl_meta::go;
use pawl_schema::{NodeId, NodeKind};
use serde_json::{Map, Value};

use crate::types;

/// A bad value of a type.
pub(super) fn value(node: NodeId, value: &Value) -> String {
    match value {
        Value::Object(_) | Value::Array(_) => {
            let mut out = String::new();
            write(Some(node), value, &mut out);
            out
        }
        _ => go::print(value),
    }
}

/// A whole object as a bad value.
pub(super) fn object(node: Option<NodeId>, fields: &Map<String, Value>) -> String {
    let mut out = String::new();
    write_fields(node, fields, &mut out);
    out
}

fn write(node: Option<NodeId>, value: &Value, out: &mut String) {
    let schema = types::schema();
    match value {
        Value::Object(fields) => write_fields(node, fields, out),
        Value::Array(items) => {
            let item = node.and_then(|node| match schema.node(node).kind {
                NodeKind::List(item) => Some(item),
                _ => None,
            });
            out.push('[');
            for (index, value) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, value, out);
            }
            out.push(']');
        }
        scalar => write_scalar(scalar, out),
    }
}

fn write_fields(node: Option<NodeId>, fields: &Map<String, Value>, out: &mut String) {
    let schema = types::schema();
    let mut first = true;
    let mut entry = |name: &str, node: Option<NodeId>, value: &Value, out: &mut String| {
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        write_scalar(&Value::from(name), out);
        out.push(':');
        write(node, value, out);
    };
    out.push('{');
    match node.map(|node| &schema.node(node).kind) {
        Some(NodeKind::Object(object)) => {
            for field in &object.fields {
                if let Some(value) = fields.get(&*field.name) {
                    entry(&field.name, Some(field.node), value, out);
                }
            }
        }
        Some(NodeKind::Map(inner)) => fields.iter().for_each(|(key, value)| entry(key, Some(*inner), value, out)),
        _ => fields.iter().for_each(|(key, value)| entry(key, None, value, out)),
    }
    out.push('}');
}

/// Go escapes what could be markup.
fn write_scalar(value: &Value, out: &mut String) {
    for c in value.to_string().chars() {
        match c {
            '<' | '>' | '&' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
}
