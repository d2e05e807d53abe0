//! From an OpenAPI schema to a declared type.
//!
//! Works on the schema as JSON. Whether the schema is structural is for others
//! to check; what this module cannot type, expressions cannot see.

use super::MAX_REQUEST_BYTES;
use crate::decl::{DeclKind, DeclType, FieldDecl, ListKind};
use crate::syntax::RESERVED;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// The type that a schema declares, named `name` in messages; nothing if expressions cannot see it.
///
/// A resource's root has `apiVersion`, `kind`, `metadata.name` and `metadata.generateName` whatever it says.
pub fn decl_type(schema: &Value, is_resource_root: bool, name: &str) -> Option<DeclType> {
    let decl = if flag(schema, "x-kubernetes-int-or-string") {
        let max = max_length(schema).map_or(MAX_REQUEST_BYTES - 2, |length| length.saturating_mul(4));
        DeclType::scalar(DeclKind::IntOrString, 1).bounded(max)
    } else {
        match schema.get("type").and_then(Value::as_str)? {
            "array" => array(schema, name)?,
            "object" => object(schema, is_resource_root, name)?,
            "string" => string(schema),
            "boolean" => DeclType::scalar(DeclKind::Bool, 4),
            "number" => DeclType::scalar(DeclKind::Double, 1),
            "integer" => DeclType::scalar(DeclKind::Int, 1),
            _ => return None,
        }
    };
    Some(decl.or_null(flag(schema, "nullable")))
}

/// How many values of a type one request may hold, when nothing around them bounds their number.
pub fn max_cardinality(decl: &DeclType) -> u64 {
    MAX_REQUEST_BYTES / (decl.min_size + 1)
}

/// The name of a field in expressions; nothing if it cannot have one.
pub fn escape(name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let (escaped, length) = match c {
            '_' if rest.starts_with("__") => ("__underscores__", 2),
            '.' => ("__dot__", 1),
            '-' => ("__dash__", 1),
            '/' => ("__slash__", 1),
            c if c.is_ascii_alphanumeric() || c == '_' => (rest.get(..1)?, 1),
            _ => return None,
        };
        out.push_str(escaped);
        rest = rest.get(length..)?;
    }
    Some(out)
}

fn flag(schema: &Value, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn count(schema: &Value, key: &str) -> Option<u64> {
    let value = schema.get(key)?;
    value.as_u64().or_else(|| value.as_i64().map(|_| 0))
}

fn max_length(schema: &Value) -> Option<u64> {
    count(schema, "maxLength")
}

fn string(schema: &Value) -> DeclType {
    let unbounded = MAX_REQUEST_BYTES - 2;
    match schema.get("format").and_then(Value::as_str) {
        Some("byte") => DeclType::scalar(DeclKind::Bytes, 2).bounded(max_length(schema).unwrap_or(unbounded)),
        Some("duration") => DeclType::scalar(DeclKind::Duration, 3).bounded(32),
        Some("date") => DeclType::scalar(DeclKind::Date, 12).bounded(12),
        Some("date-time") => DeclType::scalar(DeclKind::DateTime, 21).bounded(32),
        _ => {
            let longest = || {
                let values = schema.get("enum").and_then(Value::as_array).filter(|values| !values.is_empty())?;
                Some(values.iter().filter_map(Value::as_str).map(|value| value.len() as u64).max().unwrap_or(0))
            };
            let max = max_length(schema).map(|length| length.saturating_mul(4)).or_else(longest).unwrap_or(unbounded);
            DeclType::scalar(DeclKind::String, 2).bounded(max)
        }
    }
}

fn array(schema: &Value, name: &str) -> Option<DeclType> {
    let items = schema.get("items")?;
    let element = decl_type(items, flag(items, "x-kubernetes-embedded-resource"), &format!("{name}.@idx"))?;
    let max = count(schema, "maxItems").unwrap_or((MAX_REQUEST_BYTES - 2) / (element.min_size + 1));
    let kind = match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => ListKind::Set,
        Some("map") => {
            let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
            let keys = keys.into_iter().flatten().filter_map(Value::as_str);
            ListKind::Keyed(keys.map(|key| escape(key).unwrap_or_else(|| key.to_owned())).collect())
        }
        _ => ListKind::Atomic,
    };
    Some(DeclType::list(element, kind, max))
}

fn object(schema: &Value, is_resource_root: bool, name: &str) -> Option<DeclType> {
    let schema = if is_resource_root { with_object_meta(schema) } else { Cow::Borrowed(schema) };
    if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
        let value = decl_type(values, flag(values, "x-kubernetes-embedded-resource"), &format!("{name}.@elem"))?;
        let max = count(&schema, "maxProperties").unwrap_or((MAX_REQUEST_BYTES - 2) / (value.min_size + 6));
        return Some(DeclType::map(value, max));
    }
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let mut fields = Vec::new();
    let mut min_size = 2;
    let none = Map::new();
    for (key, property) in schema.get("properties").and_then(Value::as_object).unwrap_or(&none) {
        let escaped = escape(key);
        let field_name = format!("{name}.{}", escaped.as_deref().unwrap_or(key));
        let embedded = flag(property, "x-kubernetes-embedded-resource");
        let Some(decl) = decl_type(property, embedded, &field_name) else { continue };
        if required.contains(&key.as_str()) && property.get("default").is_none_or(Value::is_null) {
            min_size += key.len() as u64 + decl.min_size + 4;
        }
        let key: Arc<str> = key.as_str().into();
        if RESERVED.contains(&&*key) {
            fields.push(FieldDecl { name: Some(key.clone()), key: key.clone(), decl: decl.clone(), alias: true });
        }
        fields.push(FieldDecl { name: escaped.map(Into::into), key, decl, alias: false });
    }
    let mut decl = DeclType::object(name, fields);
    decl.min_size = min_size;
    Some(decl)
}

/// The schema with the fields that every resource has.
fn with_object_meta(schema: &Value) -> Cow<'_, Value> {
    let is = |path: &str, ty: &str| schema.pointer(path).and_then(|s| s.get("type")).is_some_and(|found| found == ty);
    let complete = is("/properties/kind", "string")
        && is("/properties/apiVersion", "string")
        && is("/properties/metadata", "object")
        && is("/properties/metadata/properties/name", "string")
        && is("/properties/metadata/properties/generateName", "string");
    if complete {
        return Cow::Borrowed(schema);
    }
    let mut schema = schema.clone();
    let text = || serde_json::json!({"type": "string"});
    if let Some(object) = schema.as_object_mut() {
        let properties = object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        if let Some(properties) = properties.as_object_mut() {
            properties.insert("kind".to_owned(), text());
            properties.insert("apiVersion".to_owned(), text());
            let metadata =
                serde_json::json!({"type": "object", "properties": {"name": text(), "generateName": text()}});
            properties.insert("metadata".to_owned(), metadata);
        }
    }
    Cow::Owned(schema)
}
