//! What upstream says of a value that does not fit its type where it converts instead of decoding: in the result of a
//! strategic merge patch.

use serde_json::Value;

use crate::{NodeId, NodeKind, Scalar, Schema};

impl Schema {
    /// Why a value is not one of the type at `id`; `None` where it is, or where decoding says it better.
    pub fn conversion_error(&self, id: NodeId, value: &Value) -> Option<String> {
        let node = self.node(id);
        match (&node.kind, value) {
            (_, Value::Null) | (NodeKind::Any, _) => None,
            (NodeKind::Object(object), Value::Object(map)) => object
                .fields
                .iter()
                .filter_map(|field| Some((field.node, map.get(&*field.name)?)))
                .find_map(|(node, value)| self.conversion_error(node, value)),
            (NodeKind::Object(_), other) => Some(format!("cannot restore struct from: {}", go_kind(other))),
            (NodeKind::List(item), Value::Array(items)) => {
                items.iter().find_map(|value| self.conversion_error(*item, value))
            }
            (NodeKind::List(_), other) => Some(format!("cannot restore slice from {}", go_kind(other))),
            (NodeKind::Map(item), Value::Object(map)) => {
                map.values().find_map(|value| self.conversion_error(*item, value))
            }
            (NodeKind::Map(_), other) => Some(format!("cannot restore map from {}", go_kind(other))),
            (NodeKind::Scalar(scalar), value) => scalar_error(*scalar, &node.go, value),
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
