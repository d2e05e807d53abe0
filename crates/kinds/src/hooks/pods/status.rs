//! What a pod's status may tell: written by the kubelet through /status.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::IpAddr;

use pawl_meta::object::Object;
use serde_json::Value;

use pawl_meta::read;
use pawl_rules::formats;
use pawl_rules::{Check, Errors, FieldPath};

/// What a write of the status leaves alone or takes over from before.
pub fn pod_status_kept(new: &mut Object, old: &Object) {
    let owners = read::map(old, "metadata").and_then(|meta| meta.get("ownerReferences")).cloned();
    if let Some(meta) = read::map_mut(new, "metadata") {
        match owners {
            Some(owners) => meta.insert("ownerReferences".to_string(), owners),
            None => meta.remove("ownerReferences"),
        };
    }
    let before = read::within(old, "status");
    let Some(after) = read::map_mut(new, "status") else { return };
    for field in ["qosClass", "observedGeneration"] {
        if let Some(value) = before.get(field) {
            read::default_to(after, field, value.clone());
        }
    }
    keep_observed_generations(after, before);
}

/// A condition that does not tell which generation it is about keeps the old one's, type by type in order.
fn keep_observed_generations(after: &mut Object, before: &Object) {
    let mut held: HashMap<&str, VecDeque<i64>> = HashMap::new();
    for (_, condition) in read::objects(before, "conditions") {
        let of_kind = held.entry(read::text(condition, "type")).or_default();
        of_kind.push_back(read::number(condition, "observedGeneration"));
    }
    let Some(Value::Array(conditions)) = after.get_mut("conditions") else { return };
    for condition in conditions.iter_mut().filter_map(Value::as_object_mut) {
        let of_kind = held.get_mut(read::text(condition, "type"));
        let Some(generation) = of_kind.and_then(VecDeque::pop_front) else { continue };
        if generation != 0 {
            read::default_to(condition, "observedGeneration", generation);
        }
    }
}

/// Conditions that are not the system's have qualified names.
pub fn pod_status_conditions(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(status) = read::map(object, "status") else { return };
    for (index, condition) in read::objects(status, "conditions") {
        let at = path.child("status").child("conditions").index(index);
        let generation = read::number(condition, "observedGeneration");
        if generation < 0 {
            errors.invalid(&at.child("observedGeneration"), generation, "must be a non-negative integer");
        }
        let kind = read::text(condition, "type");
        if matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            continue;
        }
        for detail in formats::qualified_name(kind) {
            errors.invalid(&at.child("Type"), kind, detail);
        }
    }
}

/// Changes of the status that cannot happen.
pub fn pod_status_changes(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let (after, before) = (read::within(new, "status"), read::within(old, "status"));
    let spec = read::within(old, "spec");
    let at = path.child("status");
    nominated_node(after, before, spec, &at.child("nominatedNodeName"), errors);
    let generation = read::number(after, "observedGeneration");
    if generation < 0 {
        errors.invalid(&at.child("observedGeneration"), generation, "must be a non-negative integer");
    }
    if read::text(after, "qosClass") != read::text(before, "qosClass") {
        errors.invalid(&at.child("qosClass"), read::text(after, "qosClass"), "field is immutable");
    }
    for (field, list) in [("containerStatuses", "containers"), ("initContainerStatuses", "initContainers")] {
        if !all_may_restart(spec) {
            no_resurrection(after, before, field, |name, code| may_restart(spec, list, name, code), &at, errors);
        }
    }
    no_resurrection(after, before, "ephemeralContainerStatuses", |_, _| false, &at, errors);
    claim_statuses(after, spec, &at.child("resourceClaimStatuses"), errors);
    addresses(after, before, "podIPs", &at, errors);
    if let Some((_, first)) = read::objects(after, "hostIPs").next()
        && read::text(after, "hostIP") != read::text(first, "ip")
    {
        let place = at.child("hostIPs").index(0).child("ip");
        errors.invalid(&place, read::text(first, "ip"), "must be equal to `hostIP`");
    }
    addresses(after, before, "hostIPs", &at, errors);
}

fn nominated_node(after: &Object, before: &Object, spec: &Object, at: &FieldPath, errors: &mut Errors) {
    let name = read::text(after, "nominatedNodeName");
    if name.is_empty() || name == read::text(before, "nominatedNodeName") {
        return;
    }
    for detail in formats::dns1123_subdomain(name) {
        errors.invalid(at, name, detail);
    }
    if !read::text(spec, "nodeName").is_empty() {
        errors.forbidden(at, "may not be set on pods that are already bound to a node");
    }
}

/// A container that has ended and is not restarted does not run again.
fn no_resurrection(
    after: &Object,
    before: &Object,
    field: &str,
    may_restart: impl Fn(&str, i64) -> bool,
    at: &FieldPath,
    errors: &mut Errors,
) {
    for (index, old) in read::objects(before, field) {
        let Some(ended) = read::deep(old, &["state", "terminated"]) else { continue };
        let name = read::text(old, "name");
        let alive = read::objects(after, field)
            .any(|(_, new)| read::text(new, "name") == name && read::deep(new, &["state", "terminated"]).is_none());
        if alive && !may_restart(name, read::number(ended, "exitCode")) {
            let detail = "may not be transitioned to non-terminated state";
            errors.forbidden(&at.child(field).index(index).child("state"), detail);
        }
    }
}

/// Whether some rule restarts all containers of a pod.
fn all_may_restart(spec: &Object) -> bool {
    ["containers", "initContainers"].iter().any(|list| {
        read::objects(spec, list).any(|(_, container)| {
            read::objects(container, "restartPolicyRules")
                .any(|(_, rule)| read::text(rule, "action") == "RestartAllContainers")
        })
    })
}

/// Whether a container that ended with a code is started again: by the first rule that speaks of the code, by its own
/// policy, by the pod's.
fn may_restart(spec: &Object, list: &str, name: &str, code: i64) -> bool {
    let found = read::objects(spec, list).find(|(_, container)| read::text(container, "name") == name);
    let Some((_, container)) = found else { return false };
    for (_, rule) in read::objects(container, "restartPolicyRules") {
        let Some(codes) = read::map(rule, "exitCodes") else { continue };
        let listed = read::list(codes, "values").iter().any(|value| value.as_i64() == Some(code));
        let speaks = match read::text(codes, "operator") {
            "In" => listed,
            "NotIn" => !listed,
            _ => false,
        };
        if speaks {
            return read::text(rule, "action") == "Restart";
        }
    }
    let policy = match read::text(container, "restartPolicy") {
        "" => read::text(spec, "restartPolicy"),
        own => own,
    };
    match policy {
        "Always" => true,
        "OnFailure" => code != 0,
        _ => false,
    }
}

fn claim_statuses(after: &Object, spec: &Object, at: &FieldPath, errors: &mut Errors) {
    let known: HashSet<&str> =
        read::objects(spec, "resourceClaims").map(|(_, claim)| read::text(claim, "name")).collect();
    let mut seen = HashSet::new();
    for (index, status) in read::objects(after, "resourceClaimStatuses") {
        let name = read::text(status, "name");
        let place = at.index(index);
        if !known.contains(name) {
            errors.invalid(&place.child("name"), name, "must match the name of an entry in `spec.resourceClaims`");
        }
        if !seen.insert(name) {
            errors.duplicate(&place.child("name"), name);
        }
        if let Some(claim) = status.get("resourceClaimName").and_then(Value::as_str) {
            for detail in formats::dns1123_subdomain(claim) {
                errors.invalid(&place.child("resourceClaimName"), claim, detail);
            }
        }
    }
}

/// New addresses are well formed, and there is at most one of each family.
fn addresses(after: &Object, before: &Object, field: &str, at: &FieldPath, errors: &mut Errors) {
    let of = |status: &Object| -> Vec<String> {
        read::objects(status, field).map(|(_, item)| read::text(item, "ip").to_string()).collect()
    };
    let (new, old) = (of(after), of(before));
    let place = at.child(field);
    for (index, address) in new.iter().enumerate().filter(|(_, address)| !old.contains(address)) {
        for detail in formats::ip(address) {
            errors.invalid(&place.index(index), address.as_str(), detail);
        }
    }
    if new.len() > 1 {
        let parsed: Vec<IpAddr> = new.iter().filter_map(|address| address.parse().ok()).collect();
        let dual = parsed.iter().any(IpAddr::is_ipv4) && parsed.iter().any(IpAddr::is_ipv6);
        if !dual || new.len() > 2 {
            let shown = after.get(field).cloned().unwrap_or_default();
            errors.invalid(&place, shown, "may specify no more than one IP for each IP family");
        }
    }
}
