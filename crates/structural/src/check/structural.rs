//! The rules that make a schema structural: every field has one type, said once, on the way to it.

use pawl_cel::library::regex;
use pawl_meta::{Errors, FieldError, FieldPath};

use crate::problem::WHOLE;
use crate::props::{Additional, Items, Props};

/// What keeps a schema from being structural, sorted by its text; `Err` where it cannot even be read as one.
pub fn structural_errors(schema: &Props, path: &FieldPath) -> Result<Errors, String> {
    readable(schema)?;
    let mut errors = Errors::new();
    invariants(schema, Level::Root, path, &mut errors);
    completeness(schema, Some(schema), path, path, &mut errors);
    let mut list: Vec<(String, FieldError)> = errors.into_iter().map(|error| (error.to_string(), error)).collect();
    list.sort_by(|a, b| a.0.cmp(&b.0));
    let mut sorted = Errors::new();
    list.into_iter().for_each(|(_, error)| sorted.push(error));
    Ok(sorted)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

fn readable(schema: &Props) -> Result<(), String> {
    let foreign = &schema.foreign;
    let unsupported = [
        (!foreign.id.is_empty(), "id"),
        (!foreign.schema.is_empty(), "schema"),
        (foreign.reference.as_ref().is_some_and(|reference| !reference.is_empty()), "$ref"),
        (!foreign.pattern_properties.is_empty(), "patternProperties"),
        (!foreign.dependencies.is_empty(), "dependencies"),
        (foreign.additional_items.is_some(), "additionalItems"),
        (!foreign.definitions.is_empty(), "definitions"),
    ];
    if let Some((_, name)) = unsupported.iter().find(|(is_given, _)| *is_given) {
        return Err(format!("OpenAPIV3Schema '{name}' is not supported"));
    }
    let composed = schema.not.as_deref().into_iter().chain(&schema.all_of).chain(&schema.any_of).chain(&schema.one_of);
    for nested in composed {
        readable(nested)?;
    }
    if schema.preserve_unknown == Some(false) {
        return Err("internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined".to_owned());
    }
    match &schema.items {
        Some(Items::Many(many)) if !many.is_empty() => {
            return Err("OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned());
        }
        Some(Items::One(item)) => readable(item)?,
        _ => {}
    }
    schema.properties.values().chain(schema.additional_schema()).try_for_each(readable)
}

fn invariants(schema: &Props, level: Level, path: &FieldPath, errors: &mut Errors) {
    if &*schema.kind == "array" && schema.item().is_none() {
        errors.required(&path.child("items"), "must be specified");
    }
    if let Some(item) = schema.item() {
        invariants(item, Level::Item, &path.child("items"), errors);
    }
    for (name, property) in &schema.properties {
        invariants(property, Level::Field, &path.child("properties").key(name), errors);
    }
    if schema.additional.is_some() && level == Level::Root {
        errors.forbidden(&path.child("additionalProperties"), "must not be used at the root");
    }
    if let Some(values) = schema.additional_schema() {
        invariants(values, Level::Field, &path.child("additionalProperties"), errors);
    }
    extensions(schema, path, errors);
    composition(schema, is_int_or_string(&schema.any_of), is_wrapped_int_or_string(schema), path, errors);
    types(schema, level, path, errors);
    metadata(schema, level, path, errors);
}

fn extensions(schema: &Props, path: &FieldPath, errors: &mut Errors) {
    let detail = "must be false if x-kubernetes-int-or-string is true";
    if schema.int_or_string && schema.is_preserving() {
        errors.invalid(&path.child("x-kubernetes-preserve-unknown-fields"), true, detail);
    }
    if schema.int_or_string && schema.embedded {
        errors.invalid(&path.child("x-kubernetes-embedded-resource"), true, detail);
    }
}

fn types(schema: &Props, level: Level, path: &FieldPath, errors: &mut Errors) {
    let (kind, at) = (&*schema.kind, path.child("type"));
    if schema.embedded && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        if kind.is_empty() { errors.required(&at, detail) } else { errors.invalid(&at, kind, detail) }
    } else if kind.is_empty() && !schema.int_or_string && !schema.is_preserving() {
        let what = match level {
            Level::Root => "at the root",
            Level::Item => "for specified array items",
            Level::Field => "for specified object fields",
        };
        errors.required(&at, format!("must not be empty {what}"));
    }
    if schema.embedded && schema.additional.is_some() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.forbidden(&path.child("additionalProperties"), detail);
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.invalid(&at, kind, "must be object at the root");
    }
}

fn metadata(schema: &Props, level: Level, path: &FieldPath, errors: &mut Errors) {
    let is_resource = level == Level::Root || schema.embedded;
    for name in ["kind", "apiVersion"] {
        if let Some(property) =
            schema.properties.get(name).filter(|property| is_resource && &*property.kind != "string")
        {
            let at = path.child("properties").key(name).child("type");
            errors.invalid(&at, &*property.kind, "must be string");
        }
    }
    if let Some(metadata) = schema.properties.get("metadata") {
        let at = path.child("properties").key("metadata");
        if is_resource && &*metadata.kind != "object" {
            errors.invalid(&at.child("type"), &*metadata.kind, "must be object");
        }
        if level == Level::Root && !names_only(metadata) {
            let detail =
                "must not specify anything other than name and generateName, but metadata is implicitly specified";
            errors.forbidden(&at, detail);
        }
    }
    if schema.embedded && !schema.is_preserving() && schema.properties.is_empty() {
        let detail =
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        errors.required(&path.child("properties"), detail);
    }
}

/// Whether a schema of metadata speaks of nothing but names.
fn names_only(metadata: &Props) -> bool {
    let are_names = metadata.properties.keys().all(|name| matches!(&**name, "name" | "generateName"));
    let rest = Props { properties: Default::default(), default: None, ..metadata.clone() };
    are_names && rest.says_only_a_type()
}

fn is_int_or_string(any_of: &[Props]) -> bool {
    let is = |schema: &Props, kind: &str| &*schema.kind == kind && schema.says_only_a_type();
    matches!(any_of, [first, second] if is(first, "integer") && is(second, "string"))
}

fn is_wrapped_int_or_string(schema: &Props) -> bool {
    schema.all_of.first().is_some_and(|first| is_int_or_string(&first.any_of))
}

fn composition(schema: &Props, skip_any: bool, skip_any_of_first: bool, path: &FieldPath, errors: &mut Errors) {
    if !skip_any {
        for (index, nested) in schema.any_of.iter().enumerate() {
            composed(nested, false, &path.child("anyOf").index(index), errors);
        }
    }
    for (index, nested) in schema.all_of.iter().enumerate() {
        composed(nested, skip_any_of_first && index == 0, &path.child("allOf").index(index), errors);
    }
    for (index, nested) in schema.one_of.iter().enumerate() {
        composed(nested, false, &path.child("oneOf").index(index), errors);
    }
    if let Some(not) = &schema.not {
        composed(not, false, &path.child("not"), errors);
    }
    if !schema.pattern.is_empty()
        && let Err(why) = regex::check(&schema.pattern)
    {
        let detail = format!("must be a valid regular expression, but isn't: {why}");
        errors.invalid(&path.child("pattern"), &*schema.pattern, detail);
    }
}

/// A schema that stands on the value of another may only limit it.
fn composed(schema: &Props, skip_any: bool, path: &FieldPath, errors: &mut Errors) {
    composition(schema, skip_any, false, path, errors);
    if let Some(item) = schema.item() {
        composed(item, false, &path.child("items"), errors);
    }
    for (name, property) in &schema.properties {
        composed(property, false, &path.child("properties").key(name), errors);
    }
    // `additionalProperties: false` says nothing here.
    let says_others = matches!(schema.additional, Some(Additional::Schema(_) | Additional::Allowed(true)));
    let forbidden = [
        (!schema.kind.is_empty(), "type", "empty"),
        (says_others, "additionalProperties", "undefined"),
        (schema.default.is_some(), "default", "undefined"),
        (!schema.title.is_empty(), "title", "empty"),
        (!schema.description.is_empty(), "description", "empty"),
        (schema.nullable, "nullable", "false"),
        (schema.is_preserving(), "x-kubernetes-preserve-unknown-fields", "false"),
        (schema.embedded, "x-kubernetes-embedded-resource", "false"),
        (schema.int_or_string, "x-kubernetes-int-or-string", "false"),
        (!schema.list_map_keys.is_empty(), "x-kubernetes-list-map-keys", "empty"),
        (schema.list_type.is_some(), "x-kubernetes-list-type", "undefined"),
        (schema.map_type.is_some(), "x-kubernetes-map-type", "undefined"),
        (!schema.rules.is_empty(), "x-kubernetes-validations", "empty"),
    ];
    for (_, name, expected) in forbidden.iter().filter(|(is_given, ..)| *is_given) {
        errors.forbidden(&path.child(name), format!("must be {expected} to be structural"));
    }
    if schema.properties.contains_key("metadata") {
        let at = path.child("properties").key("metadata");
        errors.forbidden(&at, "must not be specified in a nested context");
    }
}

/// What a composed schema speaks of must be declared where it stands.
fn completeness(says: &Props, declared: Option<&Props>, at: &FieldPath, from: &FieldPath, errors: &mut Errors) {
    let Some(declared) = declared else {
        errors.required(at, format!("because it is defined in {}", printed(from)));
        return;
    };
    if let Some(not) = &says.not {
        complete(not, Some(declared), at, &from.child("not"), errors);
    }
    for (name, list) in [("allOf", &says.all_of), ("anyOf", &says.any_of), ("oneOf", &says.one_of)] {
        for (index, nested) in list.iter().enumerate() {
            complete(nested, Some(declared), at, &from.child(name).index(index), errors);
        }
    }
}

fn complete(says: &Props, declared: Option<&Props>, at: &FieldPath, from: &FieldPath, errors: &mut Errors) {
    completeness(says, declared, at, from, errors);
    let Some(declared) = declared else { return };
    if let Some(item) = says.item() {
        complete(item, declared.item(), &at.child("items"), &from.child("items"), errors);
    }
    for (name, property) in &says.properties {
        let (at, from) = (at.child("properties").key(name), from.child("properties").key(name));
        complete(property, declared.properties.get(name), &at, &from, errors);
    }
}

fn printed(path: &FieldPath) -> String {
    let printed = path.to_string();
    if printed.is_empty() { WHOLE.to_owned() } else { printed }
}
