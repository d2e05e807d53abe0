//! The author's schema as OpenAPI publishes it.
//!
//! OpenAPI 3 has all of a structural schema. OpenAPI 2 has neither alternatives nor nulls, and kubectl believes it to the
//! letter: what could be something else there is left open. Schemas that are not structural are not published.

use pawl_meta::FieldPath;
use pawl_meta::go;
use pawl_meta::object::Object;
use pawl_structural::{Props, structural_errors};
use serde_json::{Value, json};

use crate::builtin::{self, CONFIG_MAP, LIST_META, OBJECT_META, STATUS};
use crate::definition::{Definition, Version};
use crate::fields;

const CONVENTIONS: &str = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

/// Which OpenAPI is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    V2,
    V3,
}

/// The definitions of a version's objects and of their lists, each with its name.
pub fn definitions(definition: &Definition, version: &Version, dialect: Dialect) -> [(String, Value); 2] {
    let name = model_name(definition, version, &definition.names.kind);
    let list_name = model_name(definition, version, &definition.names.list_kind);
    let mut object = object(definition, version, dialect);
    let mut list = list(definition, &name, dialect);
    for (made, kind) in [(&mut object, &definition.names.kind), (&mut list, &definition.names.list_kind)] {
        let kind = json!([{"group": definition.group, "version": version.name, "kind": kind}]);
        made.insert("x-kubernetes-group-version-kind".to_owned(), kind);
        if !version.selectable.is_empty() {
            let path = |path: &String| json!({"fieldPath": path.strip_prefix('.').unwrap_or(path)});
            let paths: Vec<Value> = version.selectable.iter().map(path).collect();
            made.insert("x-kubernetes-selectable-fields".to_owned(), json!(paths));
        }
    }
    [(name, Value::Object(object)), (list_name, Value::Object(list))]
}

/// `com.example.v1.Widget`
fn model_name(definition: &Definition, version: &Version, kind: &str) -> String {
    let mut parts: Vec<&str> = definition.group.rsplit('.').collect();
    parts.extend([version.name.as_str(), kind]);
    parts.join(".")
}

fn object(definition: &Definition, version: &Version, dialect: Dialect) -> Object {
    let open = || Object::from_iter([("type".to_owned(), json!("object"))]);
    let Some(Value::Object(schema)) = version.schema.as_ref().map(|schema| schema.value()) else { return open() };
    let props = Props::parse(&Value::Object(schema.clone()));
    let structural = structural_errors(&props, &FieldPath::root()).is_ok_and(|errors| errors.is_empty());
    if !structural || props.has_invalid_types() {
        return open();
    }
    let preserves = definition.preserve_unknown || fields::truth(&schema, PRESERVE);
    if dialect == Dialect::V2 && preserves {
        // To kubectl properties would mean that there are no others.
        return open();
    }
    let mut made = level(&schema, dialect);
    let properties = fields::within_mut(&mut made, "properties");
    for name in ["apiVersion", "kind"] {
        properties.insert(name.to_owned(), described("string", builtin::description(STATUS, name)));
    }
    properties.insert("metadata".to_owned(), metadata(dialect));
    made
}

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";

fn list(definition: &Definition, item: &str, dialect: Dialect) -> Object {
    let words = |name| described("string", builtin::description(STATUS, name));
    let about = builtin::description(STATUS, "metadata");
    let made = json!({
        "description": format!("{} is a list of {}", definition.names.list_kind, definition.names.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": words("apiVersion"),
            "kind": words("kind"),
            "metadata": reference(LIST_META, about, dialect),
            "items": {
                "description": format!("List of {}. More info: {CONVENTIONS}", definition.names.plural),
                "type": "array",
                "items": {"$ref": dialect.place(item)},
            },
        },
    });
    match made {
        Value::Object(made) => made,
        _ => Object::new(),
    }
}

impl Dialect {
    fn place(self, name: &str) -> String {
        match self {
            Self::V2 => format!("#/definitions/{name}"),
            Self::V3 => format!("#/components/schemas/{name}"),
        }
    }
}

fn described(kind: &str, text: &str) -> Value {
    json!({"type": kind, "description": text})
}

fn metadata(dialect: Dialect) -> Value {
    let about = builtin::description(CONFIG_MAP, "metadata");
    reference(OBJECT_META, about, dialect)
}

/// In OpenAPI 3 nothing stands beside a reference.
fn reference(name: &str, about: &str, dialect: Dialect) -> Value {
    let place = dialect.place(name);
    match dialect {
        Dialect::V2 => json!({"$ref": place, "description": about}),
        Dialect::V3 => json!({"allOf": [{"$ref": place}], "description": about}),
    }
}

/// A level of a structural schema.
fn level(schema: &Object, dialect: Dialect) -> Object {
    let mut made = keywords(schema);
    if fields::truth(schema, "x-kubernetes-int-or-string") {
        say_int_or_string(&mut made);
    }
    let below = |value: &Value| match value {
        Value::Object(schema) => Value::Object(level(schema, dialect)),
        other => other.clone(),
    };
    if let Some(items) = schema.get("items") {
        made.insert("items".to_owned(), below(items));
    }
    if let Some(properties) = fields::map(schema, "properties").filter(|properties| !properties.is_empty()) {
        let properties: Object = properties.iter().map(|(name, schema)| (name.clone(), below(schema))).collect();
        made.insert("properties".to_owned(), Value::Object(properties));
    }
    if let Some(additional) = schema.get("additionalProperties").filter(|additional| !additional.is_null()) {
        made.insert("additionalProperties".to_owned(), below(additional));
    }
    if dialect == Dialect::V2 {
        reduce(schema, &mut made);
    }
    if fields::truth(schema, "x-kubernetes-embedded-resource")
        && !(dialect == Dialect::V2 && fields::truth(schema, PRESERVE))
    {
        embed(&mut made, dialect);
    }
    made
}

/// An alternative: a level that only adds conditions.
fn nested(schema: &Object) -> Value {
    let mut made = keywords(schema);
    let below = |value: &Value| value.as_object().map_or_else(|| value.clone(), nested);
    if let Some(items) = schema.get("items") {
        made.insert("items".to_owned(), below(items));
    }
    if let Some(properties) = fields::map(schema, "properties").filter(|properties| !properties.is_empty()) {
        let properties: Object = properties.iter().map(|(name, schema)| (name.clone(), below(schema))).collect();
        made.insert("properties".to_owned(), Value::Object(properties));
    }
    Value::Object(made)
}

/// What a level says that is not about what is below it.
fn keywords(schema: &Object) -> Object {
    let mut made = Object::new();
    for (name, value) in schema {
        let value = match (name.as_str(), value) {
            (_, Value::Null) => continue,
            ("default" | "example", value) => value.clone(),
            ("description" | "type" | "title" | "format" | "pattern", Value::String(text)) if !text.is_empty() => {
                value.clone()
            }
            ("x-kubernetes-list-type" | "x-kubernetes-map-type", Value::String(_)) => value.clone(),
            ("maximum" | "minimum" | "multipleOf", Value::Number(number)) => {
                go::json_float(number.as_f64().unwrap_or_default())
            }
            ("maxLength" | "minLength" | "maxItems" | "minItems" | "maxProperties" | "minProperties", _) => {
                value.clone()
            }
            (
                "nullable"
                | "exclusiveMaximum"
                | "exclusiveMinimum"
                | "uniqueItems"
                | PRESERVE
                | "x-kubernetes-embedded-resource"
                | "x-kubernetes-int-or-string",
                Value::Bool(true),
            ) => value.clone(),
            ("enum" | "required" | "x-kubernetes-list-map-keys" | "x-kubernetes-validations", Value::Array(items))
                if !items.is_empty() =>
            {
                value.clone()
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(items)) if !items.is_empty() => {
                json!(items.iter().filter_map(Value::as_object).map(nested).collect::<Vec<_>>())
            }
            ("not", Value::Object(not)) => nested(not),
            ("externalDocs", Value::Object(_)) => value.clone(),
            _ => continue,
        };
        made.insert(name.clone(), value);
    }
    made
}

/// Says in alternatives what the extension says, unless the author did.
fn say_int_or_string(made: &mut Object) {
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    let all = made.get("allOf").and_then(Value::as_array).cloned().unwrap_or_default();
    if made.get("anyOf") == Some(&either) || all.first().and_then(|first| first.get("anyOf")) == Some(&either) {
        return;
    }
    if made.contains_key("anyOf") {
        let both: Vec<Value> = std::iter::once(json!({"anyOf": either})).chain(all).collect();
        made.insert("allOf".to_owned(), json!(both));
    } else {
        made.insert("anyOf".to_owned(), either);
    }
}

/// Takes away what OpenAPI 2 cannot say, and what kubectl would take for more than it is.
fn reduce(schema: &Object, made: &mut Object) {
    let nullable = |schema: Option<&Value>| schema.is_some_and(|schema| schema.get("nullable") == Some(&json!(true)));
    let (null, preserves) = (fields::truth(schema, "nullable"), fields::truth(schema, PRESERVE));
    for keyword in ["allOf", "anyOf", "oneOf", "not", "default", "nullable"] {
        made.remove(keyword);
    }
    if null || preserves {
        made.remove("items");
        made.remove("properties");
    }
    let untyped = match fields::text(made, "type") {
        "array" => !made.contains_key("items"),
        "object" => preserves,
        _ => false,
    };
    if null || untyped {
        made.remove("type");
    }
    // What may be null need not be there.
    let properties = fields::map(schema, "properties").filter(|_| made.contains_key("properties"));
    let optional = |name: &Value| nullable(properties.and_then(|all| all.get(name.as_str().unwrap_or_default())));
    if let Some(required) = made.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !optional(name));
    }
    if fields::list(made, "required").is_empty() || nullable(schema.get("additionalProperties")) {
        made.remove("required");
    }
}

/// A resource in a resource: it has a kind and metadata, whatever its author says.
fn embed(made: &mut Object, dialect: Dialect) {
    let properties = fields::within_mut(made, "properties");
    let about = "apiVersion defines the versioned schema of this representation of an object. More info:";
    properties.insert("apiVersion".to_owned(), described("string", &format!("{about} {CONVENTIONS}#resources")));
    let about = "kind is a string value representing the type of this object. In CamelCase. More info:";
    properties.insert("kind".to_owned(), described("string", &format!("{about} {CONVENTIONS}#types-kinds")));
    properties.insert("metadata".to_owned(), metadata(dialect));
    let mut required = fields::list(made, "required").to_vec();
    for name in ["kind", "apiVersion"] {
        if !required.contains(&json!(name)) {
            required.push(json!(name));
        }
    }
    made.insert("required".to_owned(), json!(required));
}
