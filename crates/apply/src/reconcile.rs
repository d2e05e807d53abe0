//! Sets that were written under another schema.
//!
//! When a map or list has become atomic, who owned parts of it owns it as a whole. The reverse needs nothing: an atomic
//! value that became many is taken as if it had always been.

use serde_json::Value;

use crate::path::Element;
use crate::set::FieldSet;
use crate::typed::{At, Form};

/// Brings a set in line with the schema.
pub(crate) fn reconcile(at: At<'_>, set: &mut FieldSet<'_>) {
    let form = at.declared_form().unwrap_or_else(|| at.form(&Value::Null));
    for node in set.nodes_mut().filter(|node| !node.children.is_empty()) {
        let below = match (&node.element, form) {
            (Element::Field(name), Form::Map(form)) => form.entry(name).map(|entry| entry.at),
            (_, Form::List(form)) => Some(form.items),
            _ => None,
        };
        let Some(below) = below else { continue };
        let atomic = match below.declared_form() {
            None | Some(Form::Scalar(_)) => continue,
            Some(Form::Map(form)) if form.is_deduced() => continue,
            Some(Form::Map(form)) => form.atomic,
            Some(Form::List(form)) => form.is_atomic(),
        };
        if atomic {
            node.member = true;
            node.children = FieldSet::new();
        } else {
            reconcile(below, &mut node.children);
        }
    }
}
