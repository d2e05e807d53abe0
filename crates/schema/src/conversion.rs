//! What upstream says of a value that does not fit its type where it converts instead of decoding: in the result of a
//! strategic merge patch.

use serde_json::Value;

use crate::{Scalar, TypeKind, TypeRef};

impl TypeRef<'_> {
    /// Why a value is not one of this type; `None` where it is, or where decoding says it better.
    pub fn conversion_error(self, value: &Value) -> Option<String> {
        match (self.kind(), value) {
            (_, Value::Null) | (TypeKind::Any, _) => None,
            (TypeKind::Object(object), Value::Object(map)) => object
                .fields()
                .filter_map(|field| Some((field.of(), map.get(&*field.name)?)))
                .find_map(|(of, value)| of.conversion_error(value)),
            (TypeKind::Object(_), other) => Some(format!("cannot restore struct from: {}", go_kind(other))),
            (TypeKind::List(item), Value::Array(items)) => items.iter().find_map(|value| item.conversion_error(value)),
            (TypeKind::List(_), other) => Some(format!("cannot restore slice from {}", go_kind(other))),
            (TypeKind::Map(inner), Value::Object(map)) => map.values().find_map(|value| inner.conversion_error(value)),
            (TypeKind::Map(_), other) => Some(format!("cannot restore map from {}", go_kind(other))),
            (TypeKind::Scalar(scalar), value) => scalar_error(scalar, &self.node().go, value),
        }
    }
}

fn scalar_error(scalar: Scalar, go: &str, value: &Value) -> Option<String> {
    let kind = match scalar {
        Scalar::String => "string",
        Scalar::Bool => "bool",
        Scalar::Int32 => "int32",
        Scalar::Int64 => "int64",
        Scalar::Uint32 => "uint32",
        Scalar::Uint64 => "uint64",
        Scalar::Float64 => "float64",
        Scalar::Bytes => {
            let fits = matches!(value, Value::String(_) | Value::Array(_));
            return (!fits).then(|| format!("cannot restore slice from {}", go_kind(value)));
        }
        Scalar::Time | Scalar::MicroTime | Scalar::Duration | Scalar::Quantity | Scalar::IntOrString => return None,
    };
    match (scalar, value) {
        (Scalar::String, Value::String(_)) | (Scalar::Bool, Value::Bool(_)) | (Scalar::Float64, Value::Number(_)) => {
            None
        }
        (Scalar::String, Value::Number(number)) if !number.is_f64() => Some(format!("cannot convert int64 to {go}")),
        (Scalar::String | Scalar::Bool, _) => Some(format!("unrecognized type: {kind}")),
        (_, Value::Number(number)) => {
            let is_whole = number.as_f64().is_none_or(|number| number.fract() == 0.0);
            (!is_whole).then(|| format!("cannot convert float64 to {go}"))
        }
        _ => Some(format!("unrecognized type: {kind}")),
    }
}

/// What Go calls the kind of a value.
fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}
