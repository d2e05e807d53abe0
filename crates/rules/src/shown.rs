//! Values as messages show them: the JSON that Go would write, fields in the order of their declaration.

use pawl_meta::go;
use pawl_schema::{TypeKind, TypeRef};
use serde_json::{Map, Value};

/// A bad value of a type.
pub(super) fn value(of: TypeRef<'_>, value: &Value) -> String {
    match value {
        Value::Object(_) | Value::Array(_) => {
            let mut out = String::new();
            write(Some(of), value, &mut out);
            out
        }
        _ => go::print(value),
    }
}

/// An object of a type as messages show it: fields in the order of their declaration.
pub fn object(of: Option<TypeRef<'_>>, fields: &Map<String, Value>) -> String {
    let mut out = String::new();
    write_fields(of, fields, &mut out);
    out
}

fn write(of: Option<TypeRef<'_>>, value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => write_fields(of, fields, out),
        Value::Array(items) => {
            let item = of.and_then(|of| match of.kind() {
                TypeKind::List(item) => Some(item),
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

fn write_fields(of: Option<TypeRef<'_>>, fields: &Map<String, Value>, out: &mut String) {
    let mut first = true;
    let mut entry = |name: &str, of: Option<TypeRef<'_>>, value: &Value, out: &mut String| {
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        write_scalar(&Value::from(name), out);
        out.push(':');
        write(of, value, out);
    };
    out.push('{');
    match of.map(TypeRef::kind) {
        Some(TypeKind::Object(object)) => {
            for field in object.fields() {
                if let Some(value) = fields.get(&*field.name) {
                    entry(&field.name, Some(field.of()), value, out);
                }
            }
        }
        Some(TypeKind::Map(inner)) => fields.iter().for_each(|(key, value)| entry(key, Some(inner), value, out)),
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
