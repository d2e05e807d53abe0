//! The annotation in which client-side apply remembers its intent.
//!
//! When the manager `kubectl` applies, what its last client-side apply set and nobody changed since is not a conflict:
//! it was kubectl's. And the annotation is kept in step, so that client-side apply can take over again.

use serde_json::Value;

use pawl_meta::object::{Meta, Object};

use crate::check::misfits;
use crate::collect::object_fields;
use crate::compare::compare;
use crate::conflict::Conflicts;
use crate::typed::{Typed, Writer};
use crate::value::write_json;

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The manager that takes part in this.
pub(crate) const KUBECTL: &str = "kubectl";
/// What all annotations of an object may take together.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// Drops the conflicts that client-side apply explains.
pub(crate) fn excuse(typed: &Typed<'_>, writer: &Writer<'_>, live: &Object, conflicts: &mut Conflicts) {
    if let Some(allowed) = unchanged_since(typed, writer, live) {
        conflicts.0.retain(|conflict| !allowed.contains(&conflict.path));
    }
}

/// The fields of the last client-side apply that still have the values it gave them.
fn unchanged_since(typed: &Typed<'_>, writer: &Writer<'_>, live: &Object) -> Option<Vec<String>> {
    let annotation = live.annotation(ANNOTATION)?;
    let Ok(Value::Object(applied)) = serde_json::from_str(annotation) else { return None };
    if applied.get("apiVersion").and_then(Value::as_str) != Some(writer.api_version)
        || misfits(typed.at(), &applied).is_some()
    {
        return None;
    }
    let comparison = compare(typed.at(), Some(&applied), live).ok()?;
    let mut fields = object_fields(typed.at(), &applied);
    fields.subtract(&comparison.modified);
    fields.subtract(&comparison.added);
    fields.subtract(&comparison.removed);
    Some(fields.paths())
}

/// Writes the intent into the annotation, where there is one.
pub(crate) fn keep_in_step(object: &mut Object, mut intent: Object) {
    if object.annotation(ANNOTATION).is_none_or(str::is_empty) {
        return;
    }
    if let Some(Value::Object(annotations)) = intent.get_mut("metadata").and_then(|m| m.get_mut("annotations")) {
        annotations.remove(ANNOTATION);
    }
    let mut text = String::new();
    write_json(&mut text, &Value::Object(intent));
    text.push('\n');
    if let Some(Value::Object(annotations)) = object.get_mut("metadata").and_then(|m| m.get_mut("annotations")) {
        annotations.insert(ANNOTATION.to_owned(), Value::String(text));
        let size: usize = annotations.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
        if size > MAX_ANNOTATIONS {
            annotations.remove(ANNOTATION);
        }
    }
}
