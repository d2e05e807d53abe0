//! What Go writes for a field that nobody set.

use serde_json::{Map, Value};

use crate::{Field, NodeId, NodeKind, Object, Presence, Scalar, Schema};

impl Schema {
    /// Adds what is always on the wire to an object in which it is missing.
    pub fn complete(&self, object: &Object, map: &mut Map<String, Value>) {
        for field in &object.fields {
            if self.is_written_when_absent(field) && !map.contains_key(&*field.name) {
                let value = if field.pointer { Value::Null } else { self.zero(field.node) };
                map.insert(field.name.to_string(), value);
            }
        }
    }

    /// Whether a field that nobody set is on the wire all the same.
    fn is_written_when_absent(&self, field: &Field) -> bool {
        match field.presence {
            Presence::Always => true,
            Presence::OmitZero => false,
            // `omitempty` does nothing for Go's structs, and some scalars are structs there.
            Presence::OmitEmpty => !field.pointer && self.is_struct(field.node),
        }
    }

    fn is_struct(&self, id: NodeId) -> bool {
        match self.node(id).kind {
            NodeKind::Object(_) => true,
            NodeKind::Scalar(scalar) => matches!(
                scalar,
                Scalar::Quantity | Scalar::IntOrString | Scalar::Time | Scalar::MicroTime | Scalar::Duration
            ),
            // `RawExtension` and `JSON`.
            NodeKind::Any => true,
            _ => false,
        }
    }

    pub(crate) fn zero(&self, id: NodeId) -> Value {
        match &self.node(id).kind {
            NodeKind::Object(object) => {
                let mut map = Map::new();
                self.complete(object, &mut map);
                Value::Object(map)
            }
            NodeKind::Map(_) | NodeKind::List(_) | NodeKind::Any => Value::Null,
            NodeKind::Scalar(scalar) => match scalar {
                Scalar::String => Value::from(""),
                Scalar::Bool => Value::from(false),
                Scalar::Quantity => Value::from("0"),
                Scalar::Duration => Value::from("0s"),
                Scalar::Bytes | Scalar::Time | Scalar::MicroTime => Value::Null,
                Scalar::Int32
                | Scalar::Int64
                | Scalar::Uint32
                | Scalar::Uint64
                | Scalar::Float64
                | Scalar::IntOrString => Value::from(0),
            },
        }
    }

    /// Whether a value that was given is left out on the wire.
    pub fn is_omitted(&self, field: &Field, value: &Value) -> bool {
        if field.keep_empty && (field.null_is_empty || !value.is_null()) {
            return false;
        }
        match field.presence {
            Presence::Always => false,
            _ if value.is_null() => !self.node(field.node).nullable && !self.node(field.node).lenient,
            _ if field.pointer => false,
            Presence::OmitEmpty => match value {
                Value::Bool(b) => !b,
                Value::String(s) => s.is_empty() && !self.is_struct(field.node),
                Value::Number(n) => n.as_f64() == Some(0.0) && !self.is_struct(field.node),
                Value::Array(items) => items.is_empty(),
                Value::Object(map) => map.is_empty() && matches!(self.node(field.node).kind, NodeKind::Map(_)),
                Value::Null => true,
            },
            Presence::OmitZero => *value == self.zero(field.node),
        }
    }
}
