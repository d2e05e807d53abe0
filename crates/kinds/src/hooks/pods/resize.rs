//! Changing the resources of a running pod through /resize.

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath, equal};
use serde_json::Value;

use super::annotations::MIRROR;
use super::changes::keep_metadata;
use super::resources;

/// Everything but resources and resize policies stays as it was. Containers that do not match one by one are left for
/// the check to refuse.
pub fn pod_keep_but_resources(new: &mut Object, old: &Object) {
    let before = read::within(old, "spec");
    let after = read::map(new, "spec").cloned().unwrap_or_default();
    let lists = ["containers", "initContainers"];
    if lists.iter().any(|field| read::list(&after, field).len() != read::list(before, field).len()) {
        return;
    }
    let mut spec = before.clone();
    for field in lists {
        if !read::list(&after, field).is_empty() {
            spec.insert(field.to_string(), Value::Array(resized(&after, before, field)));
        }
    }
    match after.get("resources") {
        Some(own) => spec.insert("resources".to_string(), own.clone()),
        None => spec.remove("resources"),
    };
    new.insert("spec".to_string(), Value::Object(spec));
    match old.get("status") {
        Some(status) => new.insert("status".to_string(), status.clone()),
        None => new.remove("status"),
    };
    keep_metadata(new, old);
}

fn resized(after: &Object, before: &Object, field: &str) -> Vec<Value> {
    let (after, before) = (read::list(after, field), read::list(before, field));
    let renamed = after.iter().zip(before).any(|(new, old)| new.get("name") != old.get("name"));
    if renamed {
        return after.to_vec();
    }
    let merge = |(new, old): (&Value, &Value)| {
        let mut merged = old.as_object().cloned().unwrap_or_default();
        for field in ["resources", "resizePolicy"] {
            match new.get(field) {
                Some(value) => merged.insert(field.to_string(), value.clone()),
                None => merged.remove(field),
            };
        }
        Value::Object(merged)
    };
    after.iter().zip(before).map(merge).collect()
}

/// Only cpu and memory change, nothing is taken away, and the class of service stays.
pub fn pod_resize(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let (after, before) = (read::within(new, "spec"), read::within(old, "spec"));
    if let Some(refusal) = never_resized(old, before) {
        errors.clear();
        errors.forbidden(&FieldPath::root(), refusal);
        return;
    }
    let at = path.child("spec");
    let status = read::within(old, "status");
    let class = match read::text(status, "qosClass") {
        "" => resources::quality_of_service(before),
        class => class,
    };
    if class != resources::quality_of_service(after) {
        errors.invalid(&at, class, "Pod QOS Class may not change as a result of resizing");
    }
    let running = read::objects(status, "containerStatuses")
        .find(|(_, container)| read::map(container, "state").is_some_and(|state| read::present(state, "running")));
    if running.is_some_and(|(_, container)| !read::present(container, "resources")) {
        errors.forbidden(&at, "Pod running on node without support for resize");
    }
    pod_level(after, before, &at, errors);
    if !read::list(status, "nodeAllocatableResourceClaimStatuses").is_empty() {
        errors.forbidden(&at, "pods with node allocatable resource claims cannot be resized");
    }
    if !same_containers(after, before, &at, errors) {
        return;
    }
    for field in ["initContainers", "containers"] {
        nothing_removed(after, before, field, &at, errors);
    }
    only_cpu_and_memory(after, before, &at, errors);
}

fn never_resized(old: &Object, before: &Object) -> Option<&'static str> {
    if read::annotations(old).contains_key(MIRROR) {
        return Some("static pods cannot be resized");
    }
    let windows = read::map(before, "os").is_some_and(|os| read::text(os, "name") == "windows");
    windows.then_some("windows pods cannot be resized")
}

fn pod_level(after: &Object, before: &Object, at: &FieldPath, errors: &mut Errors) {
    let Some(old) = read::map(before, "resources") else { return };
    let place = at.child("resources");
    if !read::present(after, "resources") {
        errors.forbidden(&place, "pod-level resources cannot be removed");
        return;
    }
    let new = read::within(after, "resources");
    for field in ["requests", "limits"] {
        if removed(new, old, field) {
            errors.forbidden(&place.child(field), format!("pod-level resource {field} cannot be removed"));
        }
    }
    if !equal(Some(&masked(new, old)), Some(&Value::Object(old.clone()))) {
        errors.forbidden(at, "only cpu and memory resources are mutable at pod-level");
    }
}

fn same_containers(after: &Object, before: &Object, at: &FieldPath, errors: &mut Errors) -> bool {
    let mut same = true;
    for field in ["containers", "initContainers"] {
        let place = at.child(field);
        if read::list(after, field).len() != read::list(before, field).len() {
            errors.forbidden(&place, format!("{field} may not be added or removed on resize"));
            same = false;
            continue;
        }
        for ((index, new), (_, old)) in read::objects(after, field).zip(read::objects(before, field)) {
            if read::text(new, "name") != read::text(old, "name") {
                let detail = format!("{field} may not be renamed or reordered on resize");
                errors.forbidden(&place.index(index).child("name"), detail);
                same = false;
            }
        }
    }
    same
}

fn nothing_removed(after: &Object, before: &Object, field: &str, at: &FieldPath, errors: &mut Errors) {
    for ((index, new), (_, old)) in read::objects(after, field).zip(read::objects(before, field)) {
        let (new, old) = (read::within(new, "resources"), read::within(old, "resources"));
        let place = at.child(field).index(index).child("resources");
        for list in ["requests", "limits"] {
            if removed(new, old, list) {
                errors.forbidden(&place.child(list), format!("resource {list} cannot be removed"));
            }
        }
    }
}

fn removed(new: &Object, old: &Object, field: &str) -> bool {
    let (new, old) = (read::within(new, field), read::within(old, field));
    old.keys().any(|name| !new.contains_key(name))
}

/// The new requirements with the old amounts of cpu and memory.
fn masked(new: &Object, old: &Object) -> Value {
    let mut merged = new.clone();
    for field in ["limits", "requests"] {
        let before = read::map(old, field);
        let Some(list) = read::map_mut(&mut merged, field) else { continue };
        for name in ["cpu", "memory"] {
            match before.and_then(|before| before.get(name)) {
                Some(amount) => list.insert(name.to_string(), amount.clone()),
                None => list.remove(name),
            };
        }
        if list.is_empty() {
            merged.remove(field);
        }
    }
    Value::Object(merged)
}

fn only_cpu_and_memory(after: &Object, before: &Object, at: &FieldPath, errors: &mut Errors) {
    let differs = |new: &Object, old: &Object| {
        let resources = |container: &Object| read::map(container, "resources").cloned().unwrap_or_default();
        let mut copy = new.clone();
        let mut kept = resources(new);
        kept.remove("claims");
        copy.insert("resources".to_string(), masked(&kept, &resources(old)));
        !equal(Some(&Value::Object(copy)), Some(&Value::Object(old.clone())))
    };
    for ((_, new), (_, old)) in read::objects(after, "containers").zip(read::objects(before, "containers")) {
        if differs(new, old) {
            errors.forbidden(at, "only cpu and memory resources are mutable");
        }
    }
    for ((index, new), (_, old)) in read::objects(after, "initContainers").zip(read::objects(before, "initContainers"))
    {
        let place = at.child("initContainers").index(index);
        if differs(new, old) {
            errors.forbidden(&place, "only cpu and memory resources for init or sidecar containers are mutable");
        }
        let changed = new.get("resources").unwrap_or(&Value::Null) != old.get("resources").unwrap_or(&Value::Null);
        if changed && read::text(new, "restartPolicy") != "Always" {
            for (_, policy) in read::objects(new, "resizePolicy") {
                if read::text(policy, "restartPolicy") == "RestartContainer" {
                    let detail =
                        "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
                    errors.forbidden(&place, detail);
                }
            }
        }
    }
    let rest = |spec: &Object| {
        let mut copy = spec.clone();
        for field in ["containers", "initContainers", "resources"] {
            copy.remove(field);
        }
        Value::Object(copy)
    };
    if !equal(Some(&rest(after)), Some(&rest(before))) && errors.is_empty() {
        errors.forbidden(at, "only cpu and memory resources are mutable");
    }
}
