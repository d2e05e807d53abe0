//! Schemas in places that hold a schema or something else: there a decoder guided by types lets everything pass.
//!
//! Below `items`, `additionalProperties`, `additionalItems` and `dependencies` a schema is brought into the form that it has
//! elsewhere. Fields that nobody knows go without a word, as upstream's do; a value of a wrong type is an error.

use pawl_meta::object::Object;
use pawl_schema::{DecodeError, TypeRef, decode_value};
use serde_json::Value;

use crate::builtin;

/// Brings all schemas of a decoded definition into form. The error is what Go's decoder says.
pub fn conform(object: &mut Object) -> Result<(), String> {
    let Some(level) = builtin::schema_level() else { return Ok(()) };
    let unions = Unions { level };
    let versions = object.get_mut("spec").and_then(|spec| spec.get_mut("versions")).and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        if let Some(schema) = version.get_mut("schema").and_then(|schema| schema.get_mut("openAPIV3Schema")) {
            unions.level(schema, "spec.versions.schema.openAPIV3Schema")?;
        }
    }
    Ok(())
}

struct Unions {
    level: TypeRef<'static>,
}

impl Unions {
    fn level(&self, schema: &mut Value, path: &str) -> Result<(), String> {
        let Some(level) = schema.as_object_mut() else { return Ok(()) };
        // Items that are no schema are there to upstream and hold nothing. Of that one sees what is said of maps.
        let is_map_list = level.get("x-kubernetes-list-type").is_some_and(|kind| kind == "map");
        let mut dropped = Vec::new();
        for (keyword, value) in level.iter_mut() {
            let path = || format!("{path}.{keyword}");
            match (keyword.as_str(), value) {
                ("items" | "additionalProperties" | "additionalItems", value @ Value::Object(_)) => {
                    self.schema(value, &path())?;
                }
                ("items", Value::Array(items)) => {
                    for item in items {
                        self.schema(item, &path())?;
                    }
                }
                ("additionalProperties" | "additionalItems", Value::Bool(_)) => {}
                ("items" | "additionalProperties" | "additionalItems", Value::Null) => dropped.push(keyword.clone()),
                ("items", value) if is_map_list => *value = Value::Null,
                ("items", _) => dropped.push(keyword.clone()),
                ("additionalProperties" | "additionalItems", _) => {
                    return Err("boolean or JSON schema expected".to_owned());
                }
                ("dependencies", Value::Object(named)) => {
                    for (_, value) in named.iter_mut().filter(|(_, value)| value.is_object()) {
                        self.schema(value, &path())?;
                    }
                }
                ("properties" | "patternProperties" | "definitions", Value::Object(named)) => {
                    for (_, value) in named.iter_mut() {
                        self.level(value, &path())?;
                    }
                }
                ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                    for schema in schemas {
                        self.level(schema, &path())?;
                    }
                }
                ("not", value) => self.level(value, &path())?,
                _ => {}
            }
        }
        for keyword in dropped {
            level.remove(&keyword);
        }
        Ok(())
    }

    /// A schema that was not decoded as one.
    fn schema(&self, value: &mut Value, path: &str) -> Result<(), String> {
        let decoded = decode_value(self.level, value.take()).map_err(|error| match error {
            DecodeError::Type(text) | DecodeError::Syntax(text) => below(path, &text),
            error @ DecodeError::TooLarge(..) => error.to_string(),
        })?;
        *value = Value::Object(decoded.object);
        self.level(value, path)
    }
}

/// The text of an error about a part, as the whole would have it: Go names the struct that holds the part.
fn below(path: &str, text: &str) -> String {
    if let Some((before, of)) = text.split_once("Go value of type ") {
        return format!("{before}Go struct field JSONSchemaProps.{path} of type {of}");
    }
    let Some((before, rest)) = text.split_once("Go struct field ") else { return text.to_owned() };
    match rest.split_once('.') {
        Some((_, rest)) => format!("{before}Go struct field JSONSchemaProps.{path}.{rest}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: Value, expected: Result<Value, &str>) {
        let mut object = json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}});
        let object = object.as_object_mut().expect("an object");
        let said = conform(object);
        let schema = object["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
        assert_eq!(said.map(|()| schema), expected.map_err(str::to_owned));
    }

    #[test]
    fn unknown_fields_of_items_go_silently() {
        check(
            json!({"properties": {"l": {"items": {"type": "object", "bogus": 1, "nullable": false,
                "additionalProperties": {"type": "string", "bogus": 2}}}}}),
            Ok(json!({"properties": {"l": {"items": {"type": "object", "additionalProperties": {"type": "string"}}}}})),
        );
        check(json!({"items": 5, "additionalProperties": false}), Ok(json!({"additionalProperties": false})));
        let map = |items: Value| json!({"x-kubernetes-list-type": "map", "items": items});
        check(map(json!(5)), Ok(map(json!(null))));
        check(map(json!(null)), Ok(json!({"x-kubernetes-list-type": "map"})));
    }

    #[test]
    fn wrong_types_are_told_as_go_tells_them() {
        let place = "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties.items.type";
        let text = format!("json: cannot unmarshal number into Go struct field {place} of type string");
        check(json!({"properties": {"l": {"items": {"type": 5}}}}), Err(&text));
        let place = "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.items.x-kubernetes-validations.rule";
        let text = format!("json: cannot unmarshal bool into Go struct field {place} of type string");
        check(json!({"items": {"x-kubernetes-validations": [{"rule": true}]}}), Err(&text));
        let place = "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.items";
        let text = format!("json: cannot unmarshal number into Go struct field {place} of type v1.JSONSchemaProps");
        check(json!({"items": [1]}), Err(&text));
        check(json!({"additionalProperties": "x"}), Err("boolean or JSON schema expected"));
    }
}
