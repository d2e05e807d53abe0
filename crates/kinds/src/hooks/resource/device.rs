//! One device of a slice: what it is, what it takes, and where it can be used.

use std::collections::HashSet;

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Errors, FieldPath, formats};
use serde_json::{Value, json};

use super::capacities;
use super::names::{Set, attribute_name};
use crate::hooks::report::each;

pub(super) fn slice_device(device: &Object, selects: bool, at: &FieldPath, errors: &mut Errors) {
    let name = read::text(device, "name");
    each(formats::dns1123_label(name), &at.child("name"), name, errors);
    let attributes = read::within(device, "attributes");
    let capacity = read::within(device, "capacity");
    let total = attributes.len() + capacity.len();
    if total > 32 {
        errors.invalid(at, total, "the total number of attributes and capacities must not exceed 32");
    }
    for (name, attribute) in attributes {
        attribute_name(name, &at.child("attributes"), errors);
        if let Some(attribute) = attribute.as_object() {
            device_attribute(attribute, &at.child("attributes").key(name), errors);
        }
    }
    let shared = read::truth(device, "allowMultipleAllocations");
    for (name, capacity) in capacity {
        attribute_name(name, &at.child("capacity"), errors);
        let at = at.child("capacity").key(name).child("requestPolicy");
        match capacity.as_object().and_then(|capacity| read::map(capacity, "requestPolicy")) {
            Some(_) if !shared => errors.forbidden(&at, "allowMultipleAllocations must be true"),
            Some(policy) => capacities::request_policy(capacity.get("value"), policy, &at, errors),
            None => {}
        }
    }
    device_taints(device, at, errors);
    device_counters(device, at, errors);
    device_nodes(device, selects, at, errors);
    binding_conditions(device, at, errors);
}

fn device_attribute(attribute: &Object, at: &FieldPath, errors: &mut Errors) {
    for (field, many) in [("string", "strings"), ("version", "versions")] {
        let single = read::present(attribute, field).then(|| (at.child(field), read::text(attribute, field)));
        let items = read::texts(attribute, many).into_iter().enumerate();
        let several = items.map(|(index, text)| (at.child(many).index(index), text));
        for (at, text) in single.into_iter().chain(several) {
            if field == "version" && !is_semantic_version(text) {
                errors.invalid(&at, text, "must be a string compatible with semver.org spec 2.0.0");
            }
            if text.len() > 64 {
                errors.too_long(&at, Value::Null, 64);
            }
        }
    }
    for field in ["bools", "ints", "strings", "versions"] {
        if read::present(attribute, field) && read::list(attribute, field).is_empty() {
            errors.invalid(&at.child(field), json!([]), "must not be empty if specified");
        }
    }
    let fields = ["bool", "int", "string", "version", "bools", "ints", "strings", "versions"];
    match fields.iter().filter(|field| read::present(attribute, field)).count() {
        0 => errors.invalid(at, "", "exactly one value must be specified"),
        1 => {}
        _ => errors.invalid(at, Value::Object(attribute.clone()), "exactly one value must be specified"),
    }
}

fn is_semantic_version(text: &str) -> bool {
    let (rest, build) = text.split_once('+').map_or((text, None), |(rest, build)| (rest, Some(build)));
    let (core, pre) = rest.split_once('-').map_or((rest, None), |(core, pre)| (core, Some(pre)));
    let number = |part: &str| part == "0" || (!part.starts_with('0') && is_digits(part));
    let word = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    core.split('.').count() == 3
        && core.split('.').all(number)
        && pre.is_none_or(|pre| pre.split('.').all(|part| word(part) && (!is_digits(part) || number(part))))
        && build.is_none_or(|build| build.split('.').all(word))
}

fn is_digits(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
}

fn device_taints(device: &Object, at: &FieldPath, errors: &mut Errors) {
    let at = at.child("taints");
    let count = read::list(device, "taints").len();
    if count > 16 {
        errors.too_many(&at, count, 16);
        return;
    }
    for (index, taint) in read::objects(device, "taints") {
        let at = at.index(index);
        let (key, value, effect) = (read::text(taint, "key"), read::text(taint, "value"), read::text(taint, "effect"));
        each(formats::qualified_name(key), &at.child("key"), key, errors);
        each(formats::label_value(value), &at.child("value"), value, errors);
        match effect {
            "NoSchedule" | "NoExecute" | "None" => {}
            "" => errors.required(&at.child("effect"), ""),
            _ => errors.not_supported(&at.child("effect"), effect, &["NoExecute", "NoSchedule", "None"]),
        }
    }
}

fn device_counters(device: &Object, at: &FieldPath, errors: &mut Errors) {
    let at = at.child("consumesCounters");
    let set = Set { field: "consumesCounters", key: "counterSet", limit: 2 };
    set.check(device, &at, errors, |consumption, at, errors| counters(consumption, "counterSet", at, errors));
}

/// A named set of counters.
pub(super) fn counters(object: &Object, name: &str, at: &FieldPath, errors: &mut Errors) {
    let set = read::text(object, name);
    if set.is_empty() {
        errors.required(&at.child(name), "");
    } else {
        each(formats::dns1123_label(set), &at.child(name), set, errors);
    }
    let at = at.child("counters");
    match read::map(object, "counters").filter(|counters| !counters.is_empty()) {
        None => errors.required(&at, ""),
        Some(counters) if counters.len() > 32 => errors.too_many(&at, counters.len(), 32),
        Some(counters) => {
            for key in counters.keys() {
                each(formats::dns1123_label(key), &at, key, errors);
            }
        }
    }
}

fn device_nodes(device: &Object, selects: bool, at: &FieldPath, errors: &mut Errors) {
    let fields = [("nodeName", "`nodeName`"), ("nodeSelector", "`nodeSelector`"), ("allNodes", "`allNodes`")];
    let present: Vec<&str> =
        fields.iter().filter(|(field, _)| read::present(device, field)).map(|(_, shown)| *shown).collect();
    if !selects {
        if !present.is_empty() {
            let detail = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
            errors.invalid(at, Value::Null, detail);
        }
        return;
    }
    let name = read::text(device, "nodeName");
    if read::present(device, "nodeName") && name.is_empty() {
        errors.invalid(&at.child("nodeName"), "", "must not be empty");
    } else if !name.is_empty() {
        each(formats::dns1123_subdomain(name), &at.child("nodeName"), name, errors);
    }
    if matches!(device.get("allNodes"), Some(Value::Bool(false))) {
        errors.invalid(&at.child("allNodes"), false, "must be either unset or set to true");
    }
    let text = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
    let set = |field| device.get(field).is_some_and(|value| *value != json!("") && *value != json!(false));
    match present.len() {
        0 => errors.required(at, text),
        1 if !fields.iter().any(|(field, _)| set(*field)) => errors.required(at, text),
        1 => {}
        _ => errors.invalid(at, format!("{{{}}}", present.join(", ")), text),
    }
}

fn binding_conditions(device: &Object, at: &FieldPath, errors: &mut Errors) {
    let (conditions, failures) = ("bindingConditions", "bindingFailureConditions");
    for field in [conditions, failures] {
        let names = read::texts(device, field);
        if names.len() > 4 {
            errors.too_many(&at.child(field), names.len(), 4);
            continue;
        }
        for (index, name) in names.into_iter().enumerate() {
            each(formats::qualified_name(name), &at.child(field).index(index), name, errors);
        }
    }
    let (good, bad) = (read::texts(device, conditions), read::texts(device, failures));
    let held: HashSet<&str> = good.iter().copied().collect();
    for (field, names) in [(conditions, &good), (failures, &bad)] {
        let mut seen = HashSet::new();
        for (index, name) in names.iter().enumerate() {
            let at = at.child(field).index(index);
            if !seen.insert(name) {
                errors.duplicate(&at, *name);
            }
            if field == failures && held.contains(name) {
                let detail = "bindingFailureConditions must not overlap with bindingConditions";
                errors.invalid(&at, *name, detail);
            }
        }
    }
    let missing = |field: &str| device.get(field).cloned().unwrap_or(Value::Null);
    if good.is_empty() && !bad.is_empty() {
        let detail = "bindingConditions are required to use bindingFailureConditions";
        errors.invalid(&at.child(conditions), missing(conditions), detail);
    }
    if bad.is_empty() && !good.is_empty() {
        let detail = "bindingFailureConditions are required to use bindingConditions";
        errors.invalid(&at.child(failures), missing(failures), detail);
    }
}
