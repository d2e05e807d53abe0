//! How upstream prints the versions of a definition inside a message: its own types, in the order of their fields.

use pawl_meta::go;
use pawl_meta::object::Object;
use pawl_structural::Props;
use serde_json::Value;

use super::joined::{Joined, Part};
use crate::fields;

const NULL: &str = "null";

/// All versions, without what they share.
pub fn versions(joined: &Joined<'_>) -> String {
    let versions = joined.versions.iter().enumerate().map(|(index, version)| one_version(joined, index, version));
    match joined.spec.get("versions") {
        Some(Value::Array(_)) => format!("[{}]", versions.collect::<Vec<_>>().join(",")),
        _ => NULL.to_owned(),
    }
}

fn one_version(joined: &Joined<'_>, index: usize, version: &Object) -> String {
    let own = |part| joined.own(version, part);
    let schema = own(Part::Schema).map(|_| {
        let schema = joined.own_schema(index).map_or_else(|| NULL.to_owned(), Props::shown);
        object(&[("OpenAPIV3Schema", schema)])
    });
    object(&[
        ("Name", text(version, "name")),
        ("Served", fields::truth(version, "served").to_string()),
        ("Storage", fields::truth(version, "storage").to_string()),
        ("Deprecated", fields::truth(version, "deprecated").to_string()),
        ("DeprecationWarning", optional(version, "deprecationWarning")),
        ("Schema", schema.unwrap_or_else(|| NULL.to_owned())),
        (
            "Subresources",
            own(Part::Subresources).and_then(Value::as_object).map_or_else(|| NULL.to_owned(), subresources),
        ),
        ("AdditionalPrinterColumns", list(own(Part::Columns), column)),
        ("SelectableFields", list(own(Part::Selectable), |field| object(&[("JSONPath", text(field, "jsonPath"))]))),
    ])
}

fn subresources(subresources: &Object) -> String {
    let scale = fields::map(subresources, "scale").map(|scale| {
        object(&[
            ("SpecReplicasPath", text(scale, "specReplicasPath")),
            ("StatusReplicasPath", text(scale, "statusReplicasPath")),
            ("LabelSelectorPath", optional(scale, "labelSelectorPath")),
        ])
    });
    let status = if fields::map(subresources, "status").is_some() { "{}" } else { NULL };
    object(&[("Status", status.to_owned()), ("Scale", scale.unwrap_or_else(|| NULL.to_owned()))])
}

fn column(column: &Object) -> String {
    object(&[
        ("Name", text(column, "name")),
        ("Type", text(column, "type")),
        ("Format", text(column, "format")),
        ("Description", text(column, "description")),
        ("Priority", column.get("priority").and_then(Value::as_i64).unwrap_or_default().to_string()),
        ("JSONPath", text(column, "jsonPath")),
    ])
}

fn object(members: &[(&str, String)]) -> String {
    let members: Vec<String> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

fn list(value: Option<&Value>, print: fn(&Object) -> String) -> String {
    let items = value.and_then(Value::as_array);
    items.map_or_else(
        || NULL.to_owned(),
        |items| format!("[{}]", items.iter().filter_map(Value::as_object).map(print).collect::<Vec<_>>().join(",")),
    )
}

fn text(object: &Object, field: &str) -> String {
    go::json(&Value::from(fields::text(object, field)))
}

fn optional(object: &Object, field: &str) -> String {
    object.get(field).map_or_else(|| NULL.to_owned(), go::json)
}
