//! What a version says beside its schema: columns, subresources, selectable fields, that it is deprecated.

use pawl_meta::object::Object;
use pawl_meta::{Errors, FieldPath, go};
use pawl_structural::{Props, field_path};
use serde_json::Value;

use crate::fields;

/// A version may have this many selectable fields.
const SELECTABLE_MAX: usize = 8;
const COLUMN_TYPES: &str = "boolean,date,integer,number,string";
const COLUMN_FORMATS: &str = "byte,date,date-time,double,float,int32,int64,password";

pub fn columns(columns: Option<&Value>, at: &FieldPath, errors: &mut Errors) {
    for (index, column) in columns.and_then(Value::as_array).into_iter().flatten().enumerate() {
        if let Some(column) = column.as_object() {
            one_column(column, &at.child("additionalPrinterColumns").index(index), errors);
        }
    }
}

fn one_column(column: &Object, at: &FieldPath, errors: &mut Errors) {
    let one_of = |list: &str| format!("must be one of {list}");
    let within = |list: &str, text: &str| list.split(',').any(|known| known == text);
    if fields::text(column, "name").is_empty() {
        errors.required(&at.child("name"), "");
    }
    match fields::text(column, "type") {
        "" => errors.required(&at.child("type"), one_of(COLUMN_TYPES)),
        known if within(COLUMN_TYPES, known) => {}
        other => errors.invalid(&at.child("type"), other, one_of(COLUMN_TYPES)),
    }
    let format = fields::text(column, "format");
    if !format.is_empty() && !within(COLUMN_FORMATS, format) {
        errors.invalid(&at.child("format"), format, one_of(COLUMN_FORMATS));
    }
    match fields::text(column, "jsonPath") {
        "" => errors.required(&at.child("JSONPath"), ""),
        path => {
            simple_path(path, &at.child("JSONPath"), errors);
        }
    }
}

pub fn subresources(subresources: Option<&Value>, at: &FieldPath, errors: &mut Errors) {
    let Some(scale) = subresources.and_then(|sub| sub.get("scale")).and_then(Value::as_object) else { return };
    let at = at.child("subresources");
    for (field, root) in [("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")] {
        let at = at.child(&format!("scale.{field}"));
        match fields::text(scale, field) {
            "" => errors.required(&at, ""),
            path if simple_path(path, &at, errors) && !is_below(path, root) => {
                errors.invalid(&at, path, format!("should be a json path under {root}"));
            }
            _ => {}
        }
    }
    let path = fields::text(scale, "labelSelectorPath");
    let at = at.child("scale.labelSelectorPath");
    if !path.is_empty() && simple_path(path, &at, errors) && !is_below(path, ".spec") && !is_below(path, ".status") {
        errors.invalid(&at, path, "should be a json path under either .spec or .status");
    }
}

fn is_below(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.starts_with('.'))
}

fn simple_path(path: &str, at: &FieldPath, errors: &mut Errors) -> bool {
    let simple = path.starts_with('.');
    if !simple {
        errors.invalid(at, path, "must be a simple json path starting with .");
    }
    simple
}

/// The paths of selectable fields.
pub fn selectable(fields: Option<&Value>) -> Vec<&str> {
    let fields = fields.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    fields.iter().map(|field| field.get("jsonPath").and_then(Value::as_str).unwrap_or_default()).collect()
}

/// Selectable fields must be there, be scalars, and be few; `any_number` for those who had more before there was a limit.
pub fn selectable_fields(paths: &[&str], schema: &Props, any_number: bool, at: &FieldPath, errors: &mut Errors) {
    let mut seen: Vec<String> = Vec::new();
    for (index, path) in paths.iter().enumerate() {
        let at = at.index(index).child("jsonPath");
        if path.is_empty() {
            errors.required(&at, "");
            continue;
        }
        let (printed, found) = match field_path(schema, path, false) {
            Ok(found) => found,
            Err(why) => {
                errors.invalid(&at, *path, format!("is an invalid path: {why}"));
                continue;
            }
        };
        if printed.split(['.', '[']).next() == Some("metadata") {
            errors.invalid(&at, *path, "must not point to fields in metadata");
        }
        if !matches!(&*found.kind, "string" | "boolean" | "integer") {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
            errors.invalid(&at, *path, detail);
        }
        if seen.contains(&printed) {
            errors.duplicate(&at, *path);
        } else {
            seen.push(printed);
        }
    }
    if seen.len() > SELECTABLE_MAX && !any_number {
        errors.too_many(at, seen.len(), SELECTABLE_MAX);
    }
}

/// Whether there are more selectable fields than may be.
pub fn is_crowded(paths: &[&str]) -> bool {
    paths.len() > SELECTABLE_MAX
}

/// A warning is for deprecated versions only, and must be fit for a header.
pub fn deprecation(version: &Object, at: &FieldPath, errors: &mut Errors) {
    let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) else { return };
    let at = at.child("deprecationWarning");
    // It is a pointer to upstream, and shown as JSON.
    let shown = || go::json(&Value::from(warning));
    if !fields::truth(version, "deprecated") {
        errors.invalid_shown(&at, shown(), "can only be set for deprecated versions");
        return;
    }
    if warning.len() > 256 {
        errors.invalid_shown(&at, shown(), "must be <= 256 characters long");
    }
    if warning.is_empty() {
        errors.invalid_shown(&at, shown(), "must not be an empty string");
    }
    if let Some((index, _)) = warning.char_indices().find(|(_, c)| !is_printable(*c)) {
        let detail = "must only contain printable UTF-8 characters; non-printable character found at index";
        errors.invalid_shown(&at, shown(), format!("{detail} {index}"));
    }
}

/// What Go prints: letters, marks, numbers, punctuation, symbols and the blank.
fn is_printable(c: char) -> bool {
    let invisible = matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    let private = matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..);
    c == ' ' || !(c.is_control() || c.is_whitespace() || invisible || private)
}
