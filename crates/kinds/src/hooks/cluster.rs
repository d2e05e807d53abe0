//! What rules cannot say about the kinds of the cluster itself: namespaces, nodes, leases, events, priority classes,
//! quotas, limit ranges and flow control.

use std::collections::HashSet;

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath, formats};
use serde_json::{Value, json};

use super::report::each;
use super::{dumped, quantities};

/// The label that lets selectors find a namespace by its name.
pub fn namespace_name_label(object: &mut Object) {
    let Some(metadata) = read::map_mut(object, "metadata") else { return };
    let name = read::text(metadata, "name").to_string();
    if name.is_empty() {
        return;
    }
    if let Some(labels) = read::map_mut(metadata, "labels") {
        labels.insert("kubernetes.io/metadata.name".to_string(), Value::String(name));
    }
}

/// A new namespace is held by the finalizer that empties it.
pub fn namespace_finalizer(object: &mut Object) {
    let Some(spec) = read::map_mut(object, "spec") else { return };
    let finalizers = spec.entry("finalizers").or_insert_with(|| json!([]));
    if finalizers.is_null() {
        *finalizers = json!([]);
    }
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|name| name == "kubernetes")
    {
        finalizers.push(json!("kubernetes"));
    }
}

/// The names of `spec.finalizers`; errors name the list.
pub fn namespace_finalizers(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("spec").child("finalizers");
    for name in read::map(object, "spec").map(|spec| read::texts(spec, "finalizers")).unwrap_or_default() {
        finalizer_name(name, &at, errors);
    }
}

/// The names of `spec.finalizers` written through /finalize; errors name the item.
pub fn namespace_finalizers_each(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("spec").child("finalizers");
    let names = read::map(object, "spec").map(|spec| read::texts(spec, "finalizers")).unwrap_or_default();
    for (index, name) in names.into_iter().enumerate() {
        finalizer_name(name, &at.index(index), errors);
    }
}

fn finalizer_name(name: &str, at: &FieldPath, errors: &mut Errors) {
    for detail in formats::qualified_name(name) {
        errors.invalid(at, name, detail);
    }
    if !name.contains('/') && !matches!(name, "kubernetes" | "orphan" | "foregroundDeletion") {
        errors.invalid(at, name, "name is neither a standard finalizer name nor is it fully qualified");
    }
}

/// The phase tells whether the namespace is being deleted, nothing else.
pub fn namespace_phase(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let deleted = read::map(object, "metadata").is_some_and(|metadata| read::present(metadata, "deletionTimestamp"));
    let phase = read::map(object, "status").map(|status| read::text(status, "phase")).unwrap_or_default();
    let at = path.child("status").child("Phase");
    if !deleted && phase != "Active" {
        errors.invalid(&at, phase, "may only be 'Active' if `deletionTimestamp` is empty");
    }
    if deleted && phase != "Terminating" {
        errors.invalid(&at, phase, "may only be 'Terminating' if `deletionTimestamp` is not empty");
    }
}

/// The taints of a node; the paths are those of metadata, as they always were.
pub fn node_taints(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(spec) = read::map(object, "spec") else { return };
    let mut seen = HashSet::new();
    for (index, taint) in read::objects(spec, "taints") {
        let at = path.child("metadata").child("taints").index(index);
        let (key, value, effect) = (read::text(taint, "key"), read::text(taint, "value"), read::text(taint, "effect"));
        each(formats::qualified_name(key), &at.child("key"), key, errors);
        let found = formats::label_value(value);
        if !found.is_empty() {
            errors.invalid(&at.child("value"), value, found.join(";"));
        }
        match effect {
            "NoSchedule" | "PreferNoSchedule" | "NoExecute" => {}
            "" => errors.required(&at.child("effect"), ""),
            _ => {
                let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
                errors.not_supported(&at.child("effect"), effect, &effects);
            }
        }
        if !seen.insert((effect, key)) {
            let shown = dumped("core.v1.Taint", taint);
            errors.duplicate_shown(&at, shown, "taints must be unique by key and effect pair");
        }
    }
}

/// The same once more: an update looks at taints twice.
pub fn node_taints_again(cx: &Check<'_>, new: &Object, _old: &Object, path: &FieldPath, errors: &mut Errors) {
    node_taints(cx, new, path, errors);
}

/// What a node has of resources is not negative, and whole where it is counted.
pub fn node_resources(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(status) = read::map(object, "status") else { return };
    for field in ["capacity", "allocatable"] {
        for (name, value) in read::map(status, field).into_iter().flatten() {
            quantity_of(name, value, &path.child("status").child(field).child(name), errors);
        }
    }
}

/// The same once more: an update looks at resources twice.
pub fn node_resources_again(cx: &Check<'_>, new: &Object, _old: &Object, path: &FieldPath, errors: &mut Errors) {
    node_resources(cx, new, path, errors);
    node_declared_features(cx, new, path, errors);
}

/// An amount of a resource.
pub fn quantity_of(name: &str, value: &Value, at: &FieldPath, errors: &mut Errors) {
    let amount = quantities::amount(value);
    if amount.billionths < 0 {
        errors.invalid(at, quantities::text_of(value), "must be greater than or equal to 0");
    }
    if quantities::is_integer(name) && !quantities::is_whole(amount) {
        errors.invalid(at, quantities::text_of(value), "must be an integer");
    }
}

/// The features that a node declares are sorted names.
pub fn node_declared_features(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let features =
        read::map(object, "status").map(|status| read::texts(status, "declaredFeatures")).unwrap_or_default();
    let at = path.child("status").child("declaredFeatures");
    for (index, pair) in features.windows(2).enumerate() {
        let [one, next] = pair else { continue };
        if one == next {
            errors.duplicate(&at.index(index + 1), *next);
        } else if one > next {
            errors.invalid(&at.index(index + 1), *next, "list must be sorted alphabetically");
        }
    }
}

/// The ranges of a node's pods: one, or one of each family.
pub fn node_pod_ranges(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let ranges = read::map(object, "spec").map(|spec| read::texts(spec, "podCIDRs")).unwrap_or_default();
    let at = path.child("spec").child("podCIDRs");
    for (index, range) in ranges.iter().enumerate() {
        each(formats::cidr(range), &at.index(index), range, errors);
    }
    let four = ranges.iter().filter(|range| !range.contains(':')).count();
    if ranges.len() > 1 && (ranges.len() > 2 || four != 1) {
        errors.invalid(&at, json!(ranges), "may specify no more than one CIDR for each IP family");
    }
}

/// The one range of old stands first among the ranges, or for all of them when it is another.
pub fn node_pod_range(object: &mut Object) {
    let Some(spec) = read::map_mut(object, "spec") else { return };
    let first = read::texts(spec, "podCIDRs").first().map(ToString::to_string);
    match (read::text(spec, "podCIDR").to_owned(), first) {
        (one, Some(first)) if one.is_empty() => drop(spec.insert("podCIDR".to_owned(), json!(first))),
        (one, first) if !one.is_empty() && first.as_ref() != Some(&one) => {
            spec.insert("podCIDRs".to_owned(), json!([one]));
        }
        _ => {}
    }
}

/// The ranges of a node's pods are given once.
pub fn node_pod_ranges_update(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let ranges = |object: &Object| -> Vec<String> {
        let spec = read::map(object, "spec");
        spec.map(|spec| read::texts(spec, "podCIDRs").into_iter().map(str::to_string).collect()).unwrap_or_default()
    };
    let (now, before) = (ranges(new), ranges(old));
    if before.is_empty() {
        return;
    }
    let changes =
        if now.len() == before.len() { now.iter().zip(&before).filter(|(one, other)| one != other).count() } else { 1 };
    for _ in 0..changes {
        let detail = "node updates may not change podCIDR except from \"\" to valid";
        errors.forbidden(&path.child("spec").child("podCIDRs"), detail);
    }
}

/// The addresses of a node are not repeated.
pub fn node_addresses(_cx: &Check<'_>, new: &Object, _old: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(status) = read::map(new, "status") else { return };
    let mut seen = HashSet::new();
    for (index, address) in read::objects(status, "addresses") {
        let key = (read::text(address, "type"), read::text(address, "address"));
        if !seen.insert(key) {
            let shown = dumped("core.v1.NodeAddress", address);
            errors.duplicate_shown(&path.child("status").child("addresses").index(index), shown, "");
        }
    }
}

/// Coordination needs a feature that is off: its fields stay only where they were.
pub fn lease_drop_gated(new: &mut Object, old: &Object) {
    let before = read::map(old, "spec");
    let Some(spec) = new.get_mut("spec").and_then(Value::as_object_mut) else { return };
    for field in ["strategy", "preferredHolder"] {
        if !before.is_some_and(|before| read::present(before, field)) {
            spec.remove(field);
        }
    }
}

/// The value of a priority class: below a billion for users, fixed for the system's own.
pub fn priority_class_value(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let name = read::map(object, "metadata").map(|metadata| read::text(metadata, "name")).unwrap_or_default();
    let value = read::number(object, "value");
    if !name.starts_with("system-") {
        if value > 1_000_000_000 {
            let detail = "maximum allowed value of a user defined priority is 1000000000";
            errors.forbidden(&path.child("value"), detail);
        }
        return;
    }
    let reason = match name {
        "system-node-critical" if value != 2_000_001_000 => format!("value of {name} PriorityClass must be 2000001000"),
        "system-cluster-critical" if value != 2_000_000_000 => {
            format!("value of {name} PriorityClass must be 2000000000")
        }
        "system-node-critical" | "system-cluster-critical" if read::truth(object, "globalDefault") => {
            format!("globalDefault of {name} PriorityClass must be false")
        }
        "system-node-critical" | "system-cluster-critical" => return,
        _ => format!("{name} is not a known system priority class"),
    };
    let detail =
        format!("priority class names with 'system-' prefix are reserved for system use only. error: {reason}");
    errors.forbidden(&path.child("metadata").child("name"), detail);
}

/// What a runtime takes for itself, as limits of a container.
pub fn runtime_class_overhead(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(fixed) = read::deep(object, &["overhead", "podFixed"]) else { return };
    let at = path.child("overhead").child("limits");
    for (name, value) in fixed {
        let at = at.key(name);
        each(quantities::container_resource_name(name), &at, name, errors);
        quantity_of(name, value, &at, errors);
    }
}
