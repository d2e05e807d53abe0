//! What Go writes for a field that nobody set.

use serde_json::{Map, Value};

use crate::{FieldRef, ObjectRef, Presence, Scalar, TypeKind, TypeRef};

impl ObjectRef<'_> {
    /// Adds what is always on the wire to an object in which it is missing.
    pub fn complete(self, map: &mut Map<String, Value>) {
        for field in self.fields() {
            if field.is_written_when_absent() && !map.contains_key(&*field.name) {
                let value = if field.pointer { Value::Null } else { field.of().zero() };
                map.insert(field.name.to_string(), value);
            }
        }
    }
}

impl TypeRef<'_> {
    fn is_struct(self) -> bool {
        match self.kind() {
            TypeKind::Object(_) => true,
            TypeKind::Scalar(scalar) => matches!(
                scalar,
                Scalar::Quantity | Scalar::IntOrString | Scalar::Time | Scalar::MicroTime | Scalar::Duration
            ),
            // `RawExtension` and `JSON`.
            TypeKind::Any => true,
            _ => false,
        }
    }

    pub(crate) fn zero(self) -> Value {
        match self.kind() {
            TypeKind::Object(object) => {
                let mut map = Map::new();
                object.complete(&mut map);
                Value::Object(map)
            }
            TypeKind::Map(_) | TypeKind::List(_) | TypeKind::Any => Value::Null,
            TypeKind::Scalar(scalar) => match scalar {
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
}

impl FieldRef<'_> {
    /// Whether a field that nobody set is on the wire all the same.
    fn is_written_when_absent(self) -> bool {
        match self.presence {
            Presence::Always => true,
            Presence::OmitZero => false,
            // `omitempty` does nothing for Go's structs, and some scalars are structs there.
            Presence::OmitEmpty => !self.pointer && self.of().is_struct(),
        }
    }

    /// Whether a value that was given is left out on the wire.
    pub fn is_omitted(self, value: &Value) -> bool {
        if self.keep_empty && (self.null_is_empty || !value.is_null()) {
            return false;
        }
        match self.presence {
            Presence::Always => false,
            _ if value.is_null() => !self.of().node().nullable && !self.of().node().lenient,
            _ if self.pointer => false,
            Presence::OmitEmpty => match value {
                Value::Bool(b) => !b && !self.of().is_struct(),
                Value::String(s) => s.is_empty() && !self.of().is_struct(),
                Value::Number(n) => n.as_f64() == Some(0.0) && !self.of().is_struct(),
                Value::Array(items) => items.is_empty() && !self.of().is_struct(),
                Value::Object(map) => map.is_empty() && matches!(self.of().kind(), TypeKind::Map(_)),
                Value::Null => true,
            },
            Presence::OmitZero => *value == self.of().zero(),
        }
    }
}
