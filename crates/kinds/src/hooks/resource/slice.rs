//! What a driver offers: the slices in which it lists its devices.

use pawl_meta::object::{Object, at as value_at};
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath, formats};
use serde_json::{Map, Value, json};

use super::device::{counters, slice_device};
use super::names::Set;
use crate::hooks::report::each;

/// Whose devices a slice lists does not change.
pub fn slice_unchanged_fields(cx: &Check<'_>, _object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(old) = cx.old else { return };
    for field in ["spec.pool.name", "spec.driver", "spec.nodeName"] {
        let now = value_at(cx.root, field);
        if now != value_at(old, field) {
            errors.invalid(&path.child(field), now.cloned().unwrap_or(Value::Null), "field is immutable");
        }
    }
}

/// Which nodes can use a slice is said in exactly one way.
pub fn slice_node_fields(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let spec = read::within(object, "spec");
    let at = path.child("spec");
    let mut set = Vec::new();
    if read::present(spec, "nodeName") {
        let name = read::text(spec, "nodeName");
        if name.is_empty() {
            errors.invalid(&at.child("nodeName"), "", "must be either unset or set to a non-empty string");
        } else {
            set.push("`nodeName`");
            each(formats::dns1123_subdomain(name), &at.child("nodeName"), name, errors);
        }
    }
    if let Some(selector) = read::map(spec, "nodeSelector") {
        set.push("`nodeSelector`");
        let terms = read::list(selector, "nodeSelectorTerms");
        if terms.len() != 1 {
            let at = at.child("nodeSelector").child("nodeSelectorTerms");
            errors.invalid(&at, json!(terms), "must have exactly one node selector term");
        }
    }
    for (field, shown) in [("allNodes", "`allNodes`"), ("perDeviceNodeSelection", "`perDeviceNodeSelection`")] {
        match spec.get(field) {
            Some(Value::Bool(true)) => set.push(shown),
            Some(Value::Bool(false)) => errors.invalid(&at.child(field), false, "must be either unset or set to true"),
            _ => {}
        }
    }
    let text = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    match set.len() {
        0 => errors.required(&at, text),
        1 => {}
        _ => errors.invalid(&at, format!("{{{}}}", set.join(", ")), format!("{text}, but multiple fields are set")),
    }
}

/// The devices of a slice: fewer when they have taints, counters or lists.
pub fn slice_devices(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(spec) = read::map(object, "spec") else { return };
    let at = path.child("spec").child("devices");
    let advanced = read::objects(spec, "devices").any(|(_, device)| {
        !read::list(device, "taints").is_empty()
            || !read::list(device, "consumesCounters").is_empty()
            || read::map(device, "attributes").into_iter().flat_map(Map::values).filter_map(Value::as_object).any(lists)
    });
    let limit = if advanced { 64 } else { 128 };
    let each_selects = matches!(spec.get("perDeviceNodeSelection"), Some(Value::Bool(true)));
    let set = Set { field: "devices", key: "name", limit };
    set.check(spec, &at, errors, |device, at, errors| slice_device(device, each_selects, at, errors));
}

fn lists(attribute: &Object) -> bool {
    ["bools", "ints", "strings", "versions"].iter().any(|field| read::present(attribute, field))
}

/// The counters that devices of a slice share.
pub fn slice_counters(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(spec) = read::map(object, "spec") else { return };
    let at = path.child("spec").child("sharedCounters");
    let set = Set { field: "sharedCounters", key: "name", limit: 8 };
    set.check(spec, &at, errors, |shared, at, errors| counters(shared, "name", at, errors));
}

/// What one device takes of a node's own resources counts once, unless said otherwise.
pub fn device_mapping_multipliers(object: &mut Object) {
    let Some(mappings) = object.get_mut("nodeAllocatableResourceMappings").and_then(Value::as_object_mut) else {
        return;
    };
    for mapping in mappings.values_mut().filter_map(Value::as_object_mut) {
        read::default_to(mapping, "allocationMultiplier", "1");
    }
}
