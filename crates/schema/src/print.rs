//! Objects as text inside messages: fields in the order of their declaration, as Go writes structs.

use std::fmt::Write;

use serde_json::Value;

use crate::{TypeKind, TypeRef};

impl TypeRef<'_> {
    /// A value of this type as JSON, in the order of the type's fields.
    pub fn print(self, value: &Value) -> String {
        let mut out = String::new();
        write(Some(self), value, &mut out);
        out
    }

    /// A patched object as JSON: what the patch left alone in the order of declaration, what it went through sorted.
    pub fn print_patched(self, patched: &Value, before: &Value) -> String {
        let mut out = String::new();
        write_patched(Some(self), patched, Some(before), &mut out);
        out
    }
}

fn write_patched(of: Option<TypeRef<'_>>, value: &Value, before: Option<&Value>, out: &mut String) {
    if before == Some(value) {
        return write(of, value, out);
    }
    match value {
        Value::Object(map) => {
            let entries = map.iter().map(|(key, value)| (key.as_str(), value));
            members(out, entries, |out, key, value| {
                write_patched(below(of, key), value, before.and_then(|b| b.get(key)), out);
            });
        }
        Value::Array(items) => {
            let item = item(of);
            elements(out, items, |out, i, value| {
                write_patched(item, value, before.and_then(|b| b.get(i)), out);
            });
        }
        scalar => write_scalar(scalar, out),
    }
}

fn write(of: Option<TypeRef<'_>>, value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => match of.and_then(TypeRef::object) {
            Some(object) => {
                let declared = object.fields().filter_map(|f| Some((&*f.get().name, map.get(&*f.name)?)));
                let others = map.iter().filter(|(key, _)| object.field(key).is_none());
                let entries = declared.chain(others.map(|(key, value)| (key.as_str(), value)));
                members(out, entries, |out, key, value| write(below(of, key), value, out));
            }
            None => {
                let entries = map.iter().map(|(key, value)| (key.as_str(), value));
                members(out, entries, |out, key, value| write(below(of, key), value, out));
            }
        },
        Value::Array(items) => {
            let item = item(of);
            elements(out, items, |out, _, value| write(item, value, out));
        }
        scalar => write_scalar(scalar, out),
    }
}

fn below<'s>(of: Option<TypeRef<'s>>, key: &str) -> Option<TypeRef<'s>> {
    match of?.kind() {
        TypeKind::Object(object) => object.field(key).map(|field| field.of()),
        TypeKind::Map(value) => Some(value),
        _ => None,
    }
}

fn item(of: Option<TypeRef<'_>>) -> Option<TypeRef<'_>> {
    match of?.kind() {
        TypeKind::List(item) => Some(item),
        _ => None,
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
