//! The Swagger document as gnostic's protobuf messages (`openapi.v2.Document`), which Go clients ask for.
//!
//! Only what our document contains is written. Extensions, defaults and enums are YAML text there; JSON is YAML.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::definition::Definition;
use crate::info::SecurityScheme;
use crate::openapi_v2::{Document, OperationObject, ParameterItem, ParameterObject, PathItem, Response};

/// The whole document.
pub(crate) fn document(document: &Document) -> Vec<u8> {
    let mut to = Message::default();
    to.text(1, document.swagger);
    to.message(2, |to| {
        to.text(1, document.info.title);
        to.text(2, document.info.version);
    });
    to.message(8, |to| {
        for (path, item) in &document.paths {
            to.named(2, path, |to| path_item(to, item));
        }
    });
    to.message(9, |to| {
        for (name, definition) in &document.definitions {
            to.named(1, name, |to| schema(to, definition));
        }
    });
    to.message(10, |to| {
        for (name, shared) in &document.parameters {
            to.named(1, name, |to| parameter(to, shared));
        }
    });
    for requirement in &document.security {
        to.message(12, |to| requirement.keys().for_each(|name| to.named(1, name, |_| {})));
    }
    to.message(13, |to| {
        for (name, scheme) in &document.security_definitions {
            to.named(1, name, |to| security_scheme(to, scheme));
        }
    });
    to.bytes
}

fn path_item(to: &mut Message, item: &PathItem) {
    for (method, described) in &item.operations {
        let field = match *method {
            "get" => 2,
            "put" => 3,
            "post" => 4,
            "delete" => 5,
            "options" => 6,
            "head" => 7,
            _ => 8,
        };
        to.message(field, |to| operation(to, described));
    }
    for parameter in &item.parameters {
        to.message(9, |to| parameter_item(to, parameter));
    }
}

fn operation(to: &mut Message, operation: &OperationObject) {
    to.texts(1, &operation.tags);
    to.text(5, operation.operation_id);
    to.texts(6, operation.produces);
    to.texts(7, operation.consumes);
    for parameter in &operation.parameters {
        to.message(8, |to| parameter_item(to, parameter));
    }
    to.message(9, |to| {
        for (code, answer) in operation.responses.iter() {
            to.named(1, &code.to_string(), |to| to.message(1, |to| response(to, &answer)));
        }
    });
    to.texts(10, &operation.schemes);
    to.extensions(13, &operation.extensions);
}

fn response(to: &mut Message, response: &Response) {
    to.text(1, response.description);
    if let Some(described) = response.schema {
        to.message(2, |to| to.message(1, |to| schema(to, described)));
    }
}

fn parameter_item(to: &mut Message, item: &ParameterItem) {
    match item {
        ParameterItem::Reference { reference } => to.message(2, |to| to.text(1, reference)),
        ParameterItem::Body { place, name, required, schema: described } => to.message(1, |to| {
            to.message(1, |to| {
                to.text(2, name);
                to.text(3, place);
                to.flag(4, *required == Some(true));
                to.message(5, |to| schema(to, described));
            });
        }),
    }
}

/// A `Parameter` that is no body. The messages for path and query differ in their numbers.
fn parameter(to: &mut Message, parameter: &ParameterObject) {
    let (variant, kind, unique_items) = if parameter.place == "path" { (4, 5, 19) } else { (3, 6, 20) };
    to.message(2, |to| {
        to.message(variant, |to| {
            to.flag(1, parameter.required == Some(true));
            to.text(2, parameter.place);
            to.text(3, parameter.description.unwrap_or_default());
            to.text(4, parameter.name);
            to.text(kind, parameter.kind);
            to.flag(unique_items, parameter.unique_items);
        });
    });
}

fn schema(to: &mut Message, definition: &Definition) {
    if let Some(written) = &definition.written {
        return written_schema(to, written);
    }
    to.text(1, definition.reference.as_deref().unwrap_or_default());
    to.text(2, definition.format.unwrap_or_default());
    to.text(4, definition.description.unwrap_or_default());
    to.texts(19, &definition.required);
    for allowed in definition.allowed {
        to.message(20, |to| to.text(2, &yaml(&Value::from(&**allowed))));
    }
    if let Some(values) = &definition.additional_properties {
        to.message(21, |to| to.message(1, |to| schema(to, values)));
    }
    if let Some(kind) = definition.kind {
        to.message(22, |to| to.text(1, kind));
    }
    if let Some(items) = &definition.items {
        to.message(23, |to| to.message(1, |to| schema(to, items)));
    }
    if !definition.properties.is_empty() {
        to.message(25, |to| {
            for (name, property) in &definition.properties {
                to.named(1, name, |to| schema(to, property));
            }
        });
    }
    to.extensions(31, &definition.extensions);
}

/// A schema as its author wrote it.
fn written_schema(to: &mut Message, schema: &Map<String, Value>) {
    let below = |to: &mut Message, value: &Value| {
        if let Value::Object(schema) = value {
            written_schema(to, schema);
        }
    };
    for (name, value) in schema {
        match (name.as_str(), value) {
            ("$ref", Value::String(text)) => to.text(1, text),
            ("format", Value::String(text)) => to.text(2, text),
            ("title", Value::String(text)) => to.text(3, text),
            ("description", Value::String(text)) => to.text(4, text),
            ("default", value) => to.message(5, |to| to.text(2, &yaml(value))),
            ("multipleOf", Value::Number(number)) => to.float(6, number.as_f64()),
            ("maximum", Value::Number(number)) => to.float(7, number.as_f64()),
            ("exclusiveMaximum", value) => to.flag(8, *value == Value::Bool(true)),
            ("minimum", Value::Number(number)) => to.float(9, number.as_f64()),
            ("exclusiveMinimum", value) => to.flag(10, *value == Value::Bool(true)),
            ("maxLength", Value::Number(number)) => to.whole(11, number.as_u64()),
            ("minLength", Value::Number(number)) => to.whole(12, number.as_u64()),
            ("pattern", Value::String(text)) => to.text(13, text),
            ("maxItems", Value::Number(number)) => to.whole(14, number.as_u64()),
            ("minItems", Value::Number(number)) => to.whole(15, number.as_u64()),
            ("uniqueItems", value) => to.flag(16, *value == Value::Bool(true)),
            ("maxProperties", Value::Number(number)) => to.whole(17, number.as_u64()),
            ("minProperties", Value::Number(number)) => to.whole(18, number.as_u64()),
            ("required", Value::Array(names)) => {
                names.iter().filter_map(Value::as_str).for_each(|name| to.element(19, name));
            }
            ("enum", Value::Array(values)) => {
                values.iter().for_each(|value| to.message(20, |to| to.text(2, &yaml(value))));
            }
            ("additionalProperties", Value::Bool(any)) => to.message(21, |to| to.flag(2, *any)),
            ("additionalProperties", value) => to.message(21, |to| to.message(1, |to| below(to, value))),
            ("type", Value::String(kind)) => to.message(22, |to| to.text(1, kind)),
            ("items", value) => to.message(23, |to| to.message(1, |to| below(to, value))),
            ("allOf", Value::Array(all)) => all.iter().for_each(|value| to.message(24, |to| below(to, value))),
            ("properties", Value::Object(properties)) => to.message(25, |to| {
                properties.iter().for_each(|(name, value)| to.named(1, name, |to| below(to, value)));
            }),
            (name, value) if name.starts_with("x-") => to.named(31, name, |to| to.text(2, &yaml(value))),
            _ => {}
        }
    }
}

fn security_scheme(to: &mut Message, scheme: &SecurityScheme) {
    to.message(2, |to| {
        to.text(1, scheme.kind);
        to.text(2, scheme.name);
        to.text(3, scheme.place);
        to.text(4, scheme.description);
    });
}

fn yaml(value: &Value) -> String {
    format!("{value}\n")
}

/// A message that is being written.
#[derive(Default)]
struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// A string; an empty one is absent.
    fn text(&mut self, field: u32, text: &str) {
        if !text.is_empty() {
            self.element(field, text);
        }
    }

    fn texts(&mut self, field: u32, texts: &[&str]) {
        texts.iter().for_each(|text| self.element(field, text));
    }

    fn element(&mut self, field: u32, text: &str) {
        self.key(field, 2);
        self.number(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn float(&mut self, field: u32, number: Option<f64>) {
        if let Some(number) = number.filter(|number| *number != 0.0) {
            self.key(field, 1);
            self.bytes.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn whole(&mut self, field: u32, number: Option<u64>) {
        if let Some(number) = number.and_then(|number| usize::try_from(number).ok()).filter(|number| *number != 0) {
            self.key(field, 0);
            self.number(number);
        }
    }

    fn flag(&mut self, field: u32, value: bool) {
        if value {
            self.key(field, 0);
            self.bytes.push(1);
        }
    }

    /// A message in a message: written behind its key, then moved by the size of its length.
    fn message(&mut self, field: u32, write: impl FnOnce(&mut Self)) {
        self.key(field, 2);
        let start = self.bytes.len();
        write(self);
        let end = self.bytes.len();
        self.number(end - start);
        let length = self.bytes.len() - end;
        if let Some(message) = self.bytes.get_mut(start..) {
            message.rotate_right(length);
        }
    }

    /// An entry of a map: a name and a message.
    fn named(&mut self, field: u32, name: &str, write: impl FnOnce(&mut Self)) {
        self.message(field, |to| {
            to.text(1, name);
            to.message(2, write);
        });
    }

    /// The members of a value as named YAML texts.
    fn extensions(&mut self, field: u32, extensions: &impl Serialize) {
        if let Ok(Value::Object(members)) = serde_json::to_value(extensions) {
            for (name, value) in &members {
                self.named(field, name, |to| to.text(2, &yaml(value)));
            }
        }
    }

    fn key(&mut self, field: u32, wire_type: usize) {
        self.number((field as usize) << 3 | wire_type);
    }

    fn number(&mut self, mut number: usize) {
        while number >= 0x80 {
            self.bytes.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }
}
