//! A schema as messages show it where they show all of it: with the names and the order of upstream's own fields.

use std::collections::BTreeMap;

use pawl_meta::go;
use serde_json::Value;

use crate::problem::as_go_json;
use crate::props::{Additional, Dependency, Items, Props, RuleProps};

const NULL: &str = "null";

/// All of a schema.
pub(super) fn schema(props: &Props) -> String {
    let foreign = &props.foreign;
    let fields = [
        ("ID", text(&foreign.id)),
        ("Schema", text(&foreign.schema)),
        ("Ref", optional(foreign.reference.as_deref().map(text))),
        ("Description", text(&props.description)),
        ("Type", text(&props.kind)),
        ("Nullable", props.nullable.to_string()),
        ("Format", text(&props.format)),
        ("Title", text(&props.title)),
        ("Default", optional(props.default.as_ref().map(as_go_json))),
        ("Maximum", number(props.maximum)),
        ("ExclusiveMaximum", props.exclusive_maximum.to_string()),
        ("Minimum", number(props.minimum)),
        ("ExclusiveMinimum", props.exclusive_minimum.to_string()),
        ("MaxLength", count(props.max_length)),
        ("MinLength", count(props.min_length)),
        ("Pattern", text(&props.pattern)),
        ("MaxItems", count(props.max_items)),
        ("MinItems", count(props.min_items)),
        ("UniqueItems", props.unique_items.to_string()),
        ("MultipleOf", number(props.multiple_of)),
        ("Enum", list(&props.allowed, as_go_json)),
        ("MaxProperties", count(props.max_properties)),
        ("MinProperties", count(props.min_properties)),
        ("Required", list(&props.required, |name| text(name))),
        ("Items", optional(props.items.as_ref().map(items))),
        ("AllOf", list(&props.all_of, schema)),
        ("OneOf", list(&props.one_of, schema)),
        ("AnyOf", list(&props.any_of, schema)),
        ("Not", optional(props.not.as_deref().map(schema))),
        ("Properties", map(&props.properties, schema)),
        ("AdditionalProperties", optional(props.additional.as_ref().map(additional))),
        ("PatternProperties", map(&foreign.pattern_properties, schema)),
        ("Dependencies", map(&foreign.dependencies, dependency)),
        ("AdditionalItems", optional(foreign.additional_items.as_ref().map(additional))),
        ("Definitions", map(&foreign.definitions, schema)),
        ("ExternalDocs", optional(props.external_docs.as_ref().map(external_docs))),
        ("Example", optional(props.example.as_ref().map(as_go_json))),
        ("XPreserveUnknownFields", optional(props.preserve_unknown.map(|flag| flag.to_string()))),
        ("XEmbeddedResource", props.embedded.to_string()),
        ("XIntOrString", props.int_or_string.to_string()),
        ("XListMapKeys", list(&props.list_map_keys, |name| text(name))),
        ("XListType", optional(props.list_type.as_deref().map(text))),
        ("XMapType", optional(props.map_type.as_deref().map(text))),
        ("XValidations", list(&props.rules, rule)),
    ];
    object(&fields)
}

/// The keyword `items`.
pub(super) fn items(items: &Items) -> String {
    let (one, many) = match items {
        Items::One(one) => (schema(one), NULL.to_owned()),
        Items::Many(many) => (NULL.to_owned(), list(many, schema)),
    };
    object(&[("Schema", one), ("JSONSchemas", many)])
}

/// A rule.
pub(super) fn rule(rule: &RuleProps) -> String {
    object(&[
        ("Rule", text(&rule.rule)),
        ("Message", text(&rule.message)),
        ("MessageExpression", text(&rule.message_expression)),
        ("Reason", optional(rule.reason.as_deref().map(text))),
        ("FieldPath", text(&rule.field_path)),
        ("OptionalOldSelf", optional(rule.optional_old_self.map(|flag| flag.to_string()))),
    ])
}

fn additional(additional: &Additional) -> String {
    let (allows, below) = match additional {
        Additional::Allowed(allows) => (*allows, NULL.to_owned()),
        Additional::Schema(below) => (true, schema(below)),
    };
    object(&[("Allows", allows.to_string()), ("Schema", below)])
}

fn dependency(dependency: &Dependency) -> String {
    let (below, names) = match dependency {
        Dependency::Schema(below) => (schema(below), NULL.to_owned()),
        Dependency::Names(names) => (NULL.to_owned(), list(names, |name| text(name))),
    };
    object(&[("Schema", below), ("Property", names)])
}

fn external_docs(docs: &Value) -> String {
    let field = |name: &str| text(docs.get(name).and_then(Value::as_str).unwrap_or_default());
    object(&[("Description", field("description")), ("URL", field("url"))])
}

fn object(fields: &[(&str, String)]) -> String {
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}

fn text(text: &str) -> String {
    as_go_json(&Value::from(text))
}

fn optional(value: Option<String>) -> String {
    value.unwrap_or_else(|| NULL.to_owned())
}

fn number(value: Option<f64>) -> String {
    optional(value.map(go::print_float))
}

fn count(value: Option<i64>) -> String {
    optional(value.map(|value| value.to_string()))
}

fn list<T>(values: &[T], print: impl Fn(&T) -> String) -> String {
    if values.is_empty() {
        return NULL.to_owned();
    }
    format!("[{}]", values.iter().map(print).collect::<Vec<_>>().join(","))
}

fn map<T>(values: &BTreeMap<Box<str>, T>, print: impl Fn(&T) -> String) -> String {
    if values.is_empty() {
        return NULL.to_owned();
    }
    let entries: Vec<String> = values.iter().map(|(name, value)| format!("{}:{}", text(name), print(value))).collect();
    format!("{{{}}}", entries.join(","))
}
