//! What rules cannot say about the kinds of dynamic resource allocation: references among requests, the union of what a
//! slice is for, and the many small limits on devices.

mod requests;
mod selectors;

use std::collections::BTreeSet;

use pawl_meta::object::{Object, at as value_at};
pub use selectors::device_selector_expression;
use serde_json::{Map, Value, json};

use super::report::each;
use super::{quantities, read};
use crate::formats;
use crate::rules::{Check, Errors, FieldPath, shown};

/// The requests of a claim: not too many, each with a name of its own. What each asks for is checked by its type.
pub fn device_requests(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("requests");
    let count = read::list(object, "requests").len();
    if count > 32 {
        errors.too_many(&at, count, 32);
    }
    unique_names(object, "requests", "name", &at, errors);
}

fn unique_names(object: &Object, field: &str, key: &str, at: &FieldPath, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for (index, item) in read::objects(object, field) {
        let name = read::text(item, key);
        if !seen.insert(name) {
            errors.duplicate(&at.index(index), name);
        }
    }
}

/// A request asks for exactly something, or for the first of several things.
pub fn device_request_kind(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let alternatives = read::list(object, "firstAvailable").len();
    let text = "exactly one of `exactly` or `firstAvailable` is required";
    match (read::present(object, "exactly"), alternatives) {
        (false, 0) => errors.required(path, text),
        (true, 1..) => errors.invalid(path, Value::Null, format!("{text}, but multiple fields are set")),
        (false, 9..) => errors.too_many(&path.child("firstAvailable"), alternatives, 8),
        _ => unique_names(object, "firstAvailable", "name", &path.child("firstAvailable"), errors),
    }
}

/// How many devices are meant: a number, or all of them.
pub fn device_allocation_mode(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let count = read::number(object, "count");
    match read::text(object, "allocationMode") {
        "All" if count != 0 => {
            errors.invalid(&path.child("count"), count, "must not be specified when allocationMode is 'All'");
        }
        "ExactCount" if count <= 0 => errors.invalid(&path.child("count"), count, "must be greater than zero"),
        "All" | "ExactCount" => {}
        mode => errors.not_supported(&path.child("allocationMode"), mode, &["All", "ExactCount"]),
    }
}

/// Requests are named as `request` or `request/alternative`, and exist.
pub fn device_request_references(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let names = request_names(cx.root);
    let at = path.child("requests");
    let references = read::texts(object, "requests");
    if references.len() > 32 {
        errors.too_many(&at, references.len(), 32);
        return;
    }
    for (index, reference) in references.iter().enumerate() {
        request_reference(reference, &names, &at.index(index), errors);
    }
    for (index, reference) in references.iter().enumerate() {
        if references.iter().take(index).any(|earlier| earlier == reference) {
            errors.duplicate(&at.index(index), *reference);
        }
    }
}

fn request_reference(reference: &str, names: &BTreeSet<String>, at: &FieldPath, errors: &mut Errors) {
    let detail =
        "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
    if reference.split('/').count() > 2 {
        errors.invalid(at, reference, detail);
        return;
    }
    for part in reference.split('/') {
        each(formats::dns1123_label(part), at, part, errors);
    }
    if !names.contains(reference) {
        errors.invalid(at, reference, detail);
    }
}

/// The names by which requests can be meant, in a claim or in a template of one.
fn request_names(root: &Object) -> BTreeSet<String> {
    let devices = read::deep(root, &["spec", "devices"]).or_else(|| read::deep(root, &["spec", "spec", "devices"]));
    let mut names = BTreeSet::new();
    for (_, request) in devices.into_iter().flat_map(|devices| read::objects(devices, "requests")) {
        let name = read::text(request, "name");
        names.insert(name.to_string());
        for (_, alternative) in read::objects(request, "firstAvailable") {
            names.insert(format!("{name}/{}", read::text(alternative, "name")));
        }
    }
    names
}

/// A constraint is about one attribute: the same everywhere, or different everywhere.
pub fn device_constraint_attribute(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    for field in ["matchAttribute", "distinctAttribute"] {
        if read::present(object, field) {
            let name = read::text(object, field);
            attribute_name(name, &path.child(field), errors);
            if !name.contains('/') {
                let detail = "a fully qualified name must be a domain and a name separated by a slash";
                errors.invalid(&path.child(field), name, detail);
            }
            return;
        }
    }
    let detail = r#"exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set"#;
    errors.required(path, detail);
}

fn attribute_name(name: &str, at: &FieldPath, errors: &mut Errors) {
    match name.split('/').collect::<Vec<_>>().as_slice() {
        [id] => identifier(id, at, errors),
        [domain, id] => {
            if domain.is_empty() {
                errors.invalid(at, "", "the domain must not be empty");
            } else {
                driver_name(domain, at, errors);
            }
            if id.is_empty() {
                errors.invalid(at, "", "the name must not be empty");
            } else {
                identifier(id, at, errors);
            }
        }
        _ => {}
    }
}

fn identifier(id: &str, at: &FieldPath, errors: &mut Errors) {
    if id.len() > 32 {
        errors.too_long(at, Value::Null, 32);
    }
    each(formats::c_identifier(id), at, id, errors);
}

fn driver_name(name: &str, at: &FieldPath, errors: &mut Errors) {
    if name.is_empty() {
        errors.required(at, "");
        return;
    }
    if name.len() > 63 {
        errors.too_long(at, Value::Null, 63);
    }
    each(formats::dns1123_subdomain(&name.to_lowercase()), at, name, errors);
}

fn pool_name(name: &str, at: &FieldPath, errors: &mut Errors) {
    if name.is_empty() {
        errors.required(at, "");
        return;
    }
    if name.len() > 253 {
        errors.too_long(at, Value::Null, 253);
    }
    for part in name.split('/') {
        each(formats::dns1123_subdomain(part), at, part, errors);
    }
}

/// The parameters for a driver are an object, and not too large.
pub fn opaque_parameters(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    raw_object(object.get("parameters"), &path.child("parameters"), errors);
}

fn raw_object(value: Option<&Value>, at: &FieldPath, errors: &mut Errors) {
    match value {
        None | Some(Value::Null) => errors.required(at, ""),
        Some(value) if value.to_string().len() > 10 * 1024 => errors.too_long(at, Value::Null, 10 * 1024),
        Some(Value::Object(_)) => {}
        Some(_) => errors.invalid(at, "<value omitted>", "must be a valid JSON object"),
    }
}

/// A class may stand for an extended resource.
pub fn device_class_extended_resource(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(spec) = read::map(object, "spec") else { return };
    let name = read::text(spec, "extendedResourceName");
    if read::present(spec, "extendedResourceName") && !quantities::is_extended(name) {
        let at = path.child("spec").child("extendedResourceName");
        errors.invalid(&at, name, "must be a valid extended resource name");
    }
}

/// What a claim asks for does not change.
pub fn claim_devices_update(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    if !read::same(new, old, "spec") {
        let shown = new.get("spec").cloned().unwrap_or(Value::Null);
        errors.invalid(&path.child("spec"), shown, "field is immutable");
    }
}

/// What a template asks for does not change.
pub fn claim_template_update(cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    claim_devices_update(cx, new, old, path, errors);
}

/// Who has reserved a claim: each once, and only a claim that is allocated.
pub fn claim_reserved_for(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(status) = read::map(object, "status") else { return };
    let at = path.child("status").child("reservedFor");
    let count = read::list(status, "reservedFor").len();
    if count > 256 {
        errors.too_many(&at, count, 256);
        return;
    }
    for (index, consumer) in read::objects(status, "reservedFor") {
        for field in ["resource", "name", "uid"] {
            if read::text(consumer, field).is_empty() {
                errors.required(&at.index(index).child(field), "");
            }
        }
    }
    unique_names(status, "reservedFor", "uid", &at, errors);
}

/// What drivers report about devices: allocated ones only.
pub fn claim_device_status(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(status) = read::map(object, "status") else { return };
    let id = |device: &Object| -> String {
        let place = ["driver", "pool", "device"].map(|field| read::text(device, field)).join("/");
        match read::text(device, "shareID") {
            "" => place,
            share => format!("{place}/{share}"),
        }
    };
    let results = read::deep(status, &["allocation", "devices"]);
    let allocated: BTreeSet<String> = results
        .into_iter()
        .flat_map(|devices| read::objects(devices, "results"))
        .map(|(_, device)| id(device))
        .collect();
    let mut seen = BTreeSet::new();
    for (index, device) in read::objects(status, "devices") {
        let at = path.child("status").child("devices").index(index);
        reported_device(device, &at, errors);
        let name = id(device);
        if !allocated.contains(&name) {
            errors.invalid(&at, name.as_str(), "must be an allocated device in the claim");
        }
        if !seen.insert(name.clone()) {
            errors.duplicate(&at, name);
        }
    }
}

fn reported_device(device: &Object, at: &FieldPath, errors: &mut Errors) {
    driver_name(read::text(device, "driver"), &at.child("driver"), errors);
    pool_name(read::text(device, "pool"), &at.child("pool"), errors);
    let name = read::text(device, "device");
    each(formats::dns1123_label(name), &at.child("device"), name, errors);
    let conditions = read::list(device, "conditions").len();
    if conditions > 8 {
        errors.too_many(&at.child("conditions"), conditions, 8);
    }
    if read::present(device, "data") {
        raw_object(device.get("data"), &at.child("data"), errors);
    }
    let Some(network) = read::map(device, "networkData") else { return };
    for (field, limit) in [("interfaceName", 256), ("hardwareAddress", 128)] {
        if read::text(network, field).len() > limit {
            errors.too_long(&at.child("networkData").child(field), Value::Null, limit);
        }
    }
}

/// Reservations need an allocation, and none comes to a claim that goes.
pub fn claim_reserved_for_update(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let (status, before) = (read::within(new, "status"), read::within(old, "status"));
    let at = path.child("status").child("reservedFor");
    let reserved = read::list(status, "reservedFor");
    if reserved.is_empty() {
        return;
    }
    let deleted = read::map(new, "metadata").is_some_and(|metadata| read::present(metadata, "deletionTimestamp"));
    if !read::present(status, "allocation") {
        errors.forbidden(&at, "may not be specified when `allocated` is not set");
    } else if deleted && reserved.iter().any(|consumer| !read::list(before, "reservedFor").contains(consumer)) {
        let detail = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
        errors.forbidden(&at, detail);
    }
}

/// An allocation comes and goes as a whole.
pub fn claim_allocation_update(cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let (status, before) = (read::within(new, "status"), read::within(old, "status"));
    let at = path.child("status").child("allocation");
    let Some(allocation) = read::map(status, "allocation") else { return };
    if read::present(before, "allocation") {
        if !read::same(status, before, "allocation") {
            errors.invalid_shown(&at, shown("resource.v1.AllocationResult", allocation), "field is immutable");
        }
        return;
    }
    let names = request_names(cx.root);
    let Some(devices) = read::map(allocation, "devices") else { return };
    for (index, result) in read::objects(devices, "results") {
        let at = at.child("devices").child("results").index(index);
        request_reference(read::text(result, "request"), &names, &at.child("request"), errors);
        driver_name(read::text(result, "driver"), &at.child("driver"), errors);
        pool_name(read::text(result, "pool"), &at.child("pool"), errors);
        let name = read::text(result, "device");
        each(formats::dns1123_label(name), &at.child("device"), name, errors);
    }
}

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
    let count = read::list(spec, "devices").len();
    let advanced = read::objects(spec, "devices").any(|(_, device)| {
        !read::list(device, "taints").is_empty()
            || !read::list(device, "consumesCounters").is_empty()
            || read::map(device, "attributes").into_iter().flat_map(Map::values).filter_map(Value::as_object).any(lists)
    });
    let limit = if advanced { 64 } else { 128 };
    if count > limit {
        errors.too_many(&at, count, limit);
        return;
    }
    let each_selects = matches!(spec.get("perDeviceNodeSelection"), Some(Value::Bool(true)));
    for (index, device) in read::objects(spec, "devices") {
        slice_device(device, each_selects, &at.index(index), errors);
    }
    unique_names(spec, "devices", "name", &at, errors);
}

fn lists(attribute: &Object) -> bool {
    ["bools", "ints", "strings", "versions"].iter().any(|field| read::present(attribute, field))
}

fn slice_device(device: &Object, selects: bool, at: &FieldPath, errors: &mut Errors) {
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
            Some(policy) => requests::request_policy(capacity.get("value"), policy, &at, errors),
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
    let count = read::list(device, "consumesCounters").len();
    if count > 2 {
        errors.too_many(&at, count, 2);
        return;
    }
    for (index, consumption) in read::objects(device, "consumesCounters") {
        counters(consumption, "counterSet", &at.index(index), errors);
    }
    unique_names(device, "consumesCounters", "counterSet", &at, errors);
}

/// A named set of counters.
fn counters(object: &Object, name: &str, at: &FieldPath, errors: &mut Errors) {
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
    for (field, names) in [(conditions, &good), (failures, &bad)] {
        for (index, name) in names.iter().enumerate() {
            let at = at.child(field).index(index);
            if names.iter().take(index).any(|earlier| earlier == name) {
                errors.duplicate(&at, *name);
            }
            if field == failures && good.contains(name) {
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

/// The counters that devices of a slice share.
pub fn slice_counters(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(spec) = read::map(object, "spec") else { return };
    let at = path.child("spec").child("sharedCounters");
    let count = read::list(spec, "sharedCounters").len();
    if count > 8 {
        errors.too_many(&at, count, 8);
        return;
    }
    for (index, set) in read::objects(spec, "sharedCounters") {
        counters(set, "name", &at.index(index), errors);
    }
    unique_names(spec, "sharedCounters", "name", &at, errors);
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
