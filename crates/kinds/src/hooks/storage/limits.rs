//! What volumes, claims, classes and attachments have in common: finalizers, access modes, amounts and sizes.

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath};
use serde_json::{Value, json};

use crate::hooks::quantities;

/// Access modes are known, and ReadWriteOncePod stands alone. Used for volumes and claims.
pub fn access_modes(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    known_access_modes(object, &path.child("accessModes"), errors);
}

pub(super) fn known_access_modes(object: &Object, at: &FieldPath, errors: &mut Errors) {
    let known = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
    let modes = read::texts(object, "accessModes");
    for mode in &modes {
        if !known.contains(mode) {
            errors.not_supported(at, *mode, &known);
        }
    }
    let shared = modes.iter().any(|mode| known.contains(mode) && *mode != "ReadWriteOncePod");
    if shared && modes.contains(&"ReadWriteOncePod") {
        errors.forbidden(at, "may not use ReadWriteOncePod with other access modes");
    }
}

pub(super) fn add_finalizer(object: &mut Object, name: &str) {
    let Some(metadata) = read::map_mut(object, "metadata") else { return };
    let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
    if finalizers.is_null() {
        *finalizers = json!([]);
    }
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|finalizer| finalizer == name)
    {
        finalizers.push(json!(name));
    }
}

/// An amount is not negative. It is shown as a whole number.
pub(super) fn valid_quantity(value: &Value, at: &FieldPath, errors: &mut Errors) {
    let amount = quantities::amount(value).billionths;
    if amount < 0 {
        let whole = i64::try_from(amount / 1_000_000_000).unwrap_or(i64::MIN);
        errors.invalid(at, whole, "must be a valid resource quantity");
    }
}

pub(super) fn text_size(texts: &Object) -> usize {
    texts.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum()
}
