//! Structs as upstream's messages dump them: every field in the order of its declaration, under the name that it has in Go, empty
//! ones too.

use pawl_meta::object::Object;
use pawl_schema::{FieldRef, Scalar, TypeKind, TypeRef};
use serde_json::Value;

/// An object of a type.
pub(crate) fn dumped(type_name: &str, fields: &Object) -> String {
    let mut out = String::new();
    write(crate::types::schema().named(type_name), &Value::Object(fields.clone()), &mut out);
    out
}

fn write(of: Option<TypeRef<'_>>, value: &Value, out: &mut String) {
    match (of.map(TypeRef::kind), value) {
        (Some(TypeKind::Object(object)), Value::Object(fields)) => {
            out.push('{');
            let mut first = true;
            for field in object.fields() {
                let given = fields.get(&*field.name);
                // Metadata is embedded, with the names that it has on the wire and nothing that is empty.
                if &*field.name == "metadata" {
                    let shown = given.map(|given| field.of().print(given)).unwrap_or_default();
                    let inner = shown.strip_prefix('{').and_then(|shown| shown.strip_suffix('}')).unwrap_or_default();
                    separate(&mut first, !inner.is_empty(), out);
                    out.push_str(inner);
                    continue;
                }
                separate(&mut first, true, out);
                out.push_str(&format!("\"{}\":", go_name(&field.name)));
                match given {
                    Some(given) => write(Some(field.of()), given, out),
                    None => write_nothing(field, out),
                }
            }
            out.push('}');
        }
        (Some(TypeKind::List(item)), Value::Array(items)) => {
            out.push('[');
            for (index, value) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(Some(item), value, out);
            }
            out.push(']');
        }
        (_, other) => out.push_str(&pawl_meta::go::json(other)),
    }
}

fn separate(first: &mut bool, is_there: bool, out: &mut String) {
    if is_there && !std::mem::take(first) {
        out.push(',');
    }
}

/// What Go has where nothing is said.
fn write_nothing(field: FieldRef<'_>, out: &mut String) {
    let nothing = match field.of().kind() {
        _ if field.pointer => "null",
        TypeKind::Object(_) => return write(Some(field.of()), &Value::Object(Object::new()), out),
        TypeKind::Scalar(Scalar::String) => "\"\"",
        TypeKind::Scalar(Scalar::Bool) => "false",
        TypeKind::Scalar(Scalar::Quantity) => "\"0\"",
        TypeKind::Scalar(
            Scalar::Int32 | Scalar::Int64 | Scalar::Uint32 | Scalar::Uint64 | Scalar::Float64 | Scalar::IntOrString,
        ) => "0",
        _ => "null",
    };
    out.push_str(nothing);
}

/// `apiVersion` is `APIVersion`.
fn go_name(name: &str) -> String {
    match name {
        "uid" => "UID".to_owned(),
        "apiVersion" => "APIVersion".to_owned(),
        "apiGroup" => "APIGroup".to_owned(),
        name => {
            let mut letters = name.chars();
            letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_stand_in_their_order_and_empty_ones_too() {
        let dump = |type_name, object: Value| dumped(type_name, object.as_object().unwrap());
        assert_eq!(
            dump("core.v1.Taint", json!({"effect": "NoSchedule", "key": "k"})),
            r#"{"Key":"k","Value":"","Effect":"NoSchedule","TimeAdded":null}"#
        );
        assert_eq!(
            dump("storage.v1.VolumeAttachmentSpec", json!({"nodeName": "n"})),
            r#"{"Attacher":"","Source":{"PersistentVolumeName":null,"InlineVolumeSpec":null},"NodeName":"n"}"#
        );
        assert_eq!(
            dump("resource.v1.ResourceClaimTemplateSpec", json!({"metadata": {"labels": {"a": "b"}}})),
            r#"{"labels":{"a":"b"},"Spec":{"Devices":{"Requests":null,"Constraints":null,"Config":null}}}"#
        );
    }
}
