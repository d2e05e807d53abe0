//! What a pod and its parts get when nothing was said, where one field's value follows from another's.

use pawl_meta::object::Object;
use pawl_meta::read;
use serde_json::{Value, json};

use super::resources;
use crate::hooks::quantities;

/// An image that may move is pulled each time: `latest`, or no tag and no digest.
pub fn container_image_pull_policy(object: &mut Object) {
    let policy = pull_policy(read::text(object, "image"));
    read::default_to(object, "imagePullPolicy", policy);
}

/// The same for an image that is mounted.
pub fn image_volume_pull_policy(object: &mut Object) {
    let policy = pull_policy(read::text(object, "reference"));
    read::default_to(object, "pullPolicy", policy);
}

fn pull_policy(image: &str) -> &'static str {
    if image_tag(image) == Some("latest") { "Always" } else { "IfNotPresent" }
}

/// The tag of an image, `latest` when it names neither tag nor digest; nothing for a text that is no image.
fn image_tag(image: &str) -> Option<&str> {
    let (name, digest) = match image.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (image, None),
    };
    let base = name.rfind('/').map_or(0, |at| at + 1);
    let (path, tag) = match name.rfind(':').filter(|at| *at >= base) {
        Some(at) => (name.get(..at)?, name.get(at + 1..)),
        None => (name, None),
    };
    if !is_repository(path) || !tag.is_none_or(is_tag) {
        return None;
    }
    match (tag, digest) {
        (Some(tag), _) => Some(tag),
        (None, Some(_)) => Some(""),
        (None, None) => Some("latest"),
    }
}

fn is_tag(tag: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    tag.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && tag.len() <= 128
        && tag.bytes().all(inner)
}

/// A repository is a path of lower-case components, the first of which may be a host.
fn is_repository(path: &str) -> bool {
    let is_host = |part: &str| {
        part.contains('.')
            || part.contains(':')
            || part == "localhost"
            || part.bytes().any(|byte| byte.is_ascii_uppercase())
    };
    let rest = match path.split_once('/') {
        Some((host, rest)) if is_host(host) => rest,
        _ => path,
    };
    let hexadecimal = path.len() == 64 && path.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    !hexadecimal && rest.split('/').all(is_component)
}

fn is_component(part: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    edge(part.bytes().next())
        && edge(part.bytes().last())
        && part
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-'))
}

/// A volume that names no source is an empty directory.
pub fn volume_source(object: &mut Object) {
    if object.iter().all(|(field, value)| field == "name" || value.is_null()) {
        object.insert("emptyDir".to_string(), json!({}));
    }
}

/// `serviceAccount` is the older name of `serviceAccountName` and always tells the same.
pub fn pod_service_account(object: &mut Object) {
    let name = match read::text(object, "serviceAccountName") {
        "" => read::text(object, "serviceAccount").to_string(),
        name => name.to_string(),
    };
    for field in ["serviceAccountName", "serviceAccount"] {
        if name.is_empty() {
            object.remove(field);
        } else {
            object.insert(field.to_string(), Value::String(name.clone()));
        }
    }
}

/// Requests and limits are kept in thousandths.
pub fn resources_rounded(object: &mut Object) {
    for field in ["limits", "requests"] {
        if let Some(Value::Object(list)) = object.get_mut(field) {
            quantities::round_up(list);
        }
    }
}

/// So is the overhead.
pub fn pod_overhead_rounded(object: &mut Object) {
    if let Some(Value::Object(list)) = object.get_mut("overhead") {
        quantities::round_up(list);
    }
}

/// In a pod, and only there, a container that limits a resource requests as much unless it says otherwise.
pub fn pod_requests_from_limits(object: &mut Object) {
    each_container(object, |container| {
        let Some(Value::Object(resources)) = container.get_mut("resources") else { return };
        let Some(limits) = read::map(resources, "limits").cloned() else { return };
        if limits.is_empty() {
            return;
        }
        let Some(requests) = read::map_mut(resources, "requests") else { return };
        for (name, quantity) in limits {
            requests.entry(name).or_insert(quantity);
        }
    });
}

/// With host networking a container's port is the host's.
pub fn pod_host_network_defaults(object: &mut Object) {
    if !read::map(object, "spec").is_some_and(|spec| read::truth(spec, "hostNetwork")) {
        return;
    }
    each_container(object, |container| {
        let Some(Value::Array(ports)) = container.get_mut("ports") else { return };
        for port in ports.iter_mut().filter_map(Value::as_object_mut) {
            let number = read::number(port, "containerPort");
            if number != 0 {
                read::default_to(port, "hostPort", number);
            }
        }
    });
}

fn each_container(pod: &mut Object, mut change: impl FnMut(&mut Object)) {
    let Some(Value::Object(spec)) = pod.get_mut("spec") else { return };
    for field in ["containers", "initContainers"] {
        if let Some(Value::Array(items)) = spec.get_mut(field) {
            items.iter_mut().filter_map(Value::as_object_mut).for_each(&mut change);
        }
    }
}

/// Resources of the whole pod: limits of huge pages follow from the containers', requests from the containers' requests
/// and else from the pod's limits.
pub fn pod_level_defaults(object: &mut Object) {
    let Some(spec) = read::map(object, "spec") else { return };
    let Some(own) = read::map(spec, "resources") else { return };
    let mut limits = read::map(own, "limits").cloned().unwrap_or_default();
    let mut requests = read::map(own, "requests").cloned().unwrap_or_default();
    if limits.is_empty() && requests.is_empty() {
        return;
    }
    for (name, amount) in resources::aggregate(spec, "limits") {
        if quantities::is_huge_pages(&name) && !requests.contains_key(&name) {
            limits.entry(name).or_insert_with(|| Value::String(quantities::show(amount)));
        }
    }
    if !limits.is_empty() {
        for (name, amount) in resources::aggregate(spec, "requests") {
            if resources::is_pod_level(&name) && quantities::may_overcommit(&name) {
                requests.entry(name).or_insert_with(|| Value::String(quantities::show(amount)));
            }
        }
        for (name, quantity) in &limits {
            if resources::is_pod_level(name) {
                requests.entry(name.clone()).or_insert_with(|| quantity.clone());
            }
        }
    }
    let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
    let Some(Value::Object(own)) = spec.get_mut("resources") else { return };
    for (field, list) in [("limits", limits), ("requests", requests)] {
        if !list.is_empty() {
            own.insert(field.to_string(), Value::Object(list));
        }
    }
}

/// No pod has less than no time to end. Templates may say so: their pods get one second.
pub fn pod_grace_not_negative(object: &mut Object) {
    if let Some(Value::Object(spec)) = object.get_mut("spec")
        && read::number(spec, "terminationGracePeriodSeconds") < 0
    {
        spec.insert("terminationGracePeriodSeconds".to_string(), Value::from(1));
    }
}

/// `podIP` is the first of `podIPs`; when they differ, the single one counts.
pub fn pod_status_ips(object: &mut Object) {
    let Some(Value::Object(status)) = object.get_mut("status") else { return };
    let first = read::objects(status, "podIPs").next().map(|(_, item)| read::text(item, "ip").to_string());
    match (read::text(status, "podIP").to_string(), first) {
        (single, Some(first)) if single.is_empty() && !first.is_empty() => {
            status.insert("podIP".to_string(), Value::String(first));
        }
        (single, first) if !single.is_empty() && first.as_deref() != Some(single.as_str()) => {
            status.insert("podIPs".to_string(), json!([{ "ip": single }]));
        }
        _ => {}
    }
}

/// A new pod is pending, and its class of service is known from its resources. Gates hold it back from the scheduler.
pub fn pod_initial_status(object: &mut Object) {
    let class = resources::quality_of_service(read::within(object, "spec"));
    let gated = read::map(object, "spec").is_some_and(|spec| !read::list(spec, "schedulingGates").is_empty());
    let mut status = json!({ "phase": "Pending", "qosClass": class });
    if gated && let Some(status) = status.as_object_mut() {
        let condition = json!({
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": null,
            "lastTransitionTime": "@now",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        });
        status.insert("conditions".to_string(), json!([condition]));
    }
    object.insert("status".to_string(), status);
}

/// Label keys named by affinity terms and spread constraints become part of their selectors, with the values that the
/// pod's labels have when it is created.
pub fn pod_label_keys(object: &mut Object) {
    let labels = read::deep(object, &["metadata", "labels"]).cloned().unwrap_or_default();
    let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
    if let Some(Value::Array(constraints)) = spec.get_mut("topologySpreadConstraints") {
        constraints.iter_mut().for_each(|constraint| merge_label_keys(constraint, &labels));
    }
    let Some(Value::Object(affinity)) = spec.get_mut("affinity") else { return };
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(Value::Object(terms)) = affinity.get_mut(kind) else { continue };
        if let Some(Value::Array(required)) = terms.get_mut("requiredDuringSchedulingIgnoredDuringExecution") {
            required.iter_mut().for_each(|term| merge_label_keys(term, &labels));
        }
        if let Some(Value::Array(preferred)) = terms.get_mut("preferredDuringSchedulingIgnoredDuringExecution") {
            let inner = preferred.iter_mut().filter_map(|weighted| weighted.get_mut("podAffinityTerm"));
            inner.for_each(|term| merge_label_keys(term, &labels));
        }
    }
}

fn merge_label_keys(term: &mut Value, labels: &Object) {
    let Some(term) = term.as_object_mut() else { return };
    let mut expressions = Vec::new();
    for (field, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in read::texts(term, field) {
            if let Some(value) = labels.get(key) {
                expressions.push(json!({ "key": key, "operator": operator, "values": [value] }));
            }
        }
    }
    let Some(Value::Object(selector)) = term.get_mut("labelSelector") else { return };
    if expressions.is_empty() {
        return;
    }
    if let Value::Array(held) = selector.entry("matchExpressions").or_insert_with(|| json!([])) {
        held.append(&mut expressions);
    }
}

/// Profiles that older clients name in annotations become fields, where the pod's own profile does not say the same.
pub fn pod_app_armor_fields(object: &mut Object) {
    let annotations = read::deep(object, &["metadata", "annotations"]).cloned().unwrap_or_default();
    let Some(spec) = read::map(object, "spec") else { return };
    if read::map(spec, "os").is_some_and(|os| read::text(os, "name") == "windows") {
        return;
    }
    let of_pod = read::deep(spec, &["securityContext", "appArmorProfile"]).cloned().map(Value::Object);
    each_container(object, |container| {
        if read::deep(container, &["securityContext", "appArmorProfile"]).is_some() {
            return;
        }
        let key = format!("{}{}", super::annotations::APP_ARMOR_PREFIX, read::text(container, "name"));
        let Some(profile) = annotations.get(&key).and_then(Value::as_str).and_then(app_armor_field) else { return };
        if of_pod.as_ref() != Some(&profile)
            && let Some(context) = read::map_mut(container, "securityContext")
        {
            context.insert("appArmorProfile".to_string(), profile);
        }
    });
}

/// The field that says the same as an AppArmor annotation; nothing for one that says nothing valid.
pub(crate) fn app_armor_field(annotation: &str) -> Option<Value> {
    match annotation {
        "unconfined" => Some(json!({ "type": "Unconfined" })),
        "runtime/default" => Some(json!({ "type": "RuntimeDefault" })),
        _ => {
            let name = annotation.strip_prefix("localhost/")?;
            let well_formed = !name.is_empty() && name.trim() == name && name.len() <= 4095;
            well_formed.then(|| json!({ "type": "Localhost", "localhostProfile": name }))
        }
    }
}
