//! What an object that nobody has written yet already holds.
//!
//! Go writes the structs of a new object before anyone sets them. A creator does not own what was there without them:
//! `spec` of a Deployment is never owned, `data` of a ConfigMap is.

use serde_json::Value;

use pawl_schema::{FieldRef, Presence, Scalar, TypeKind};

use crate::typed::{At, Form};

/// How a field stands in a new object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unset {
    Absent,
    Null,
    /// The zero of its type.
    Zero,
}

/// How a field of a struct stands in an object in which nobody set it.
pub(crate) fn unset(field: FieldRef<'_>, at: At<'_>) -> Unset {
    let written = match field.presence {
        Presence::Always => true,
        Presence::OmitZero => false,
        Presence::OmitEmpty => !field.pointer && is_struct(at),
    };
    match (written, field.pointer) {
        (false, _) => Unset::Absent,
        (true, true) => Unset::Null,
        (true, false) => Unset::Zero,
    }
}

/// Whether Go has a struct here, for which `omitempty` does nothing.
fn is_struct(at: At<'_>) -> bool {
    match at.kind() {
        None => true,
        Some(TypeKind::Object(_) | TypeKind::Any) => true,
        Some(TypeKind::Scalar(scalar)) => matches!(
            scalar,
            Scalar::Quantity | Scalar::IntOrString | Scalar::Time | Scalar::MicroTime | Scalar::Duration
        ),
        Some(_) => false,
    }
}

/// Whether a value is the zero of its type.
pub(crate) fn is_zero(at: At<'_>, value: &Value) -> bool {
    match at.declared_form() {
        Some(Form::Scalar(_)) => match at.kind() {
            Some(TypeKind::Scalar(kind)) => *value == scalar(kind),
            _ => value.is_null(),
        },
        Some(Form::Map(form)) if at.is_struct() => match value {
            Value::Object(map) => {
                let written = |field: FieldRef<'_>| {
                    let Some(entry) = form.entry(&field.name) else { return true };
                    match (unset(field, entry.at), map.get(&*field.name)) {
                        (Unset::Absent, found) => found.is_none(),
                        (Unset::Null, found) => found == Some(&Value::Null),
                        (Unset::Zero, Some(found)) => is_zero(entry.at, found),
                        (Unset::Zero, None) => false,
                    }
                };
                form.fields().all(written) && map.keys().all(|key| form.entry(key).is_some_and(|e| e.field.is_some()))
            }
            _ => false,
        },
        _ => value.is_null(),
    }
}

/// The zero of a scalar, as it is written.
pub(crate) fn scalar(scalar: Scalar) -> Value {
    match scalar {
        Scalar::String => Value::from(""),
        Scalar::Bool => Value::from(false),
        Scalar::Quantity => Value::from("0"),
        Scalar::Duration => Value::from("0s"),
        Scalar::Bytes | Scalar::Time | Scalar::MicroTime => Value::Null,
        Scalar::Int32 | Scalar::Int64 | Scalar::Uint32 | Scalar::Uint64 | Scalar::Float64 | Scalar::IntOrString => {
            Value::from(0)
        }
    }
}
