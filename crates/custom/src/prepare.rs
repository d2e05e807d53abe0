//! What a write of a definition fills in and takes away before it is judged.

use pawl_meta::object::Object;
use serde_json::{Value, json};

use crate::fields;

/// Features that decide which fields of a definition are kept.
#[derive(Clone, Copy, Debug)]
pub struct Gates {
    /// CRDValidationRatcheting: rules may say `optionalOldSelf`.
    pub ratcheting: bool,
    /// CRDObservedGenerationTracking: the status may say which generation it is about.
    pub observed_generation: bool,
}

impl Default for Gates {
    fn default() -> Self {
        Self { ratcheting: true, observed_generation: true }
    }
}

/// What is not said and follows from the rest.
pub fn set_defaults(object: &mut Object) {
    let stored = storage_version(object);
    let spec = fields::within_mut(object, "spec");
    let names = fields::within_mut(spec, "names");
    let kind = fields::string(names, "kind");
    if fields::text(names, "singular").is_empty() && !kind.is_empty() {
        names.insert("singular".to_owned(), json!(kind.to_lowercase()));
    }
    if fields::text(names, "listKind").is_empty() && !kind.is_empty() {
        names.insert("listKind".to_owned(), json!(format!("{kind}List")));
    }
    let conversion = spec.entry("conversion").or_insert_with(|| json!({"strategy": "None"}));
    if conversion.is_null() {
        *conversion = json!({"strategy": "None"});
    }
    let service = ["webhook", "clientConfig", "service"].iter().try_fold(conversion, |at, field| at.get_mut(field));
    if let Some(service) = service.and_then(Value::as_object_mut)
        && service.get("port").is_none_or(Value::is_null)
    {
        service.insert("port".to_owned(), json!(443));
    }
    if let Some(stored) = stored
        && fields::list(fields::within(object, "status"), "storedVersions").is_empty()
    {
        fields::within_mut(object, "status").insert("storedVersions".to_owned(), json!([stored]));
    }
}

/// A new definition has no status but the version that will be stored.
pub fn create(object: &mut Object, gates: Gates) {
    let stored = storage_version(object).map_or(Value::Null, |version| json!([version]));
    let fresh = json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored});
    object.insert("status".to_owned(), fresh);
    drop_gated(object, None, gates);
}

/// The status stays, but that a version is stored from now on is noted before the first object is.
pub fn update(object: &mut Object, old: &Object, gates: Gates) {
    match old.get("status") {
        Some(status) => object.insert("status".to_owned(), status.clone()),
        None => object.remove("status"),
    };
    if let Some(version) = storage_version(object) {
        let status = fields::within_mut(object, "status");
        if !fields::texts(status, "storedVersions").contains(&version.as_str()) {
            let mut stored = fields::strings(status, "storedVersions");
            stored.push(version);
            status.insert("storedVersions".to_owned(), json!(stored));
        }
    }
    drop_gated(object, Some(old), gates);
}

/// A write of the status leaves the spec alone. The metadata may change with it, as upstream's does: finalizers go this way.
pub fn update_status(object: &mut Object, old: &Object) {
    match old.get("spec") {
        Some(spec) => object.insert("spec".to_owned(), spec.clone()),
        None => object.remove("spec"),
    };
}

fn storage_version(object: &Object) -> Option<String> {
    let mut versions = fields::each(fields::within(object, "spec"), "versions");
    versions.find(|version| fields::truth(version, "storage")).map(|version| fields::string(version, "name"))
}

/// What a gate that is off does not take. What the old object has is kept.
fn drop_gated(object: &mut Object, old: Option<&Object>, gates: Gates) {
    let used = |field: &str, within: &str| {
        old.and_then(|old| old.get(within)).is_some_and(|part| any(part, &mut |map| map.contains_key(field)))
    };
    if !gates.ratcheting && !used("optionalOldSelf", "spec") {
        let versions = fields::within_mut(object, "spec").get_mut("versions").and_then(Value::as_array_mut);
        for version in versions.into_iter().flatten() {
            if let Some(schema) = version.get_mut("schema").and_then(|schema| schema.get_mut("openAPIV3Schema")) {
                drop_optional_old_self(schema);
            }
        }
    }
    if !gates.observed_generation && !used("observedGeneration", "status") {
        let status = fields::within_mut(object, "status");
        status.remove("observedGeneration");
        for condition in status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(condition) = condition.as_object_mut() {
                condition.remove("observedGeneration");
            }
        }
    }
}

/// Whether an object somewhere in a value is such.
fn any(value: &Value, is: &mut dyn FnMut(&Object) -> bool) -> bool {
    match value {
        Value::Object(map) => is(map) || map.values().any(|value| any(value, is)),
        Value::Array(items) => items.iter().any(|item| any(item, is)),
        _ => false,
    }
}

/// Only where rules may stand: below alternatives there are none.
fn drop_optional_old_self(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    for rule in schema.get_mut("x-kubernetes-validations").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(rule) = rule.as_object_mut() {
            rule.remove("optionalOldSelf");
        }
    }
    for (_, property) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        drop_optional_old_self(property);
    }
    if let Some(values) = schema.get_mut("additionalProperties") {
        drop_optional_old_self(values);
    }
    match schema.get_mut("items") {
        Some(Value::Array(items)) => items.iter_mut().for_each(drop_optional_old_self),
        Some(item) => drop_optional_old_self(item),
        None => {}
    }
}
