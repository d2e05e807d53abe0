//! What a container says about the pod around it: mounts of its volumes, where variables come from, ports of the host.

use std::collections::BTreeSet;

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath, Names, formats};
use serde_json::{Map, Value};

use super::enclosing_spec;
use super::volumes::{has_backstep, relative_path};
use crate::hooks::quantities;

/// The volumes that a container can mount, and whether each is a claim. A StatefulSet adds those of its claim templates.
/// A volume that has something wrong does not count.
/// What is found for the first container holds for all: volumes are looked at before them.
fn known_volumes<'a>(cx: &Check<'a>, container: &FieldPath, errors: &Errors) -> Option<&'a Names> {
    cx.names_in("core.v1.PodSpec", || find_volumes(cx, container, errors))
}

fn find_volumes(cx: &Check<'_>, container: &FieldPath, errors: &Errors) -> Names {
    let mut known = Names::new();
    let container = container.to_string();
    let volumes = container.rsplit_once('.').map_or_else(String::new, |(spec, _)| format!("{spec}.volumes["));
    let wrong: BTreeSet<usize> =
        errors.iter().filter_map(|error| error.field.strip_prefix(&volumes)?.split_once(']')?.0.parse().ok()).collect();
    if let Some(spec) = enclosing_spec(cx) {
        for (_, volume) in read::objects(spec, "volumes").filter(|(index, _)| !wrong.contains(index)) {
            let claim = read::present(volume, "persistentVolumeClaim") || read::present(volume, "ephemeral");
            known.insert(read::text(volume, "name").to_owned(), claim);
        }
    }
    if let Some(set) = cx.enclosing("apps.v1.StatefulSetSpec") {
        for (_, template) in read::objects(set, "volumeClaimTemplates") {
            let name = read::map(template, "metadata").map_or("", |meta| read::text(meta, "name"));
            known.insert(name.to_owned(), true);
        }
    }
    known.remove("");
    known
}

/// Mounts name volumes of the pod, each at a place of its own.
pub fn container_volume_mounts(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let known = known_volumes(cx, path, errors);
    let at = path.child("volumeMounts");
    let (device_names, device_places): (BTreeSet<&str>, BTreeSet<&str>) = read::objects(object, "volumeDevices")
        .map(|(_, device)| (read::text(device, "name"), read::text(device, "devicePath")))
        .unzip();
    let privileged = read::map(object, "securityContext").is_some_and(|context| read::truth(context, "privileged"));
    let mut places = BTreeSet::new();
    for (index, mount) in read::objects(object, "volumeMounts") {
        let item = at.index(index);
        let (name, place) = (read::text(mount, "name"), read::text(mount, "mountPath"));
        if name.is_empty() {
            errors.required(&item.child("name"), "");
        }
        if !known.is_some_and(|known| known.contains_key(name)) {
            errors.not_found(&item.child("name"), name);
        }
        if place.is_empty() {
            errors.required(&item.child("mountPath"), "");
        }
        if !places.insert(place) {
            errors.invalid(&item.child("mountPath"), place, "must be unique");
        }
        if device_names.contains(name) {
            errors.invalid(&item.child("name"), name, "must not already exist in volumeDevices");
        }
        if device_places.contains(place) {
            errors.invalid(&item.child("mountPath"), place, "must not already exist as a path in volumeDevices");
        }
        sub_paths(mount, &item, &at, errors);
        propagation(mount, privileged, &at.child("mountPropagation"), errors);
        recursive_read_only(mount, &at.child("recursiveReadOnly"), errors);
    }
}

/// The paths of what is wrong with a sub path carry no index.
fn sub_paths(mount: &Object, item: &FieldPath, at: &FieldPath, errors: &mut Errors) {
    let (fixed, expanded) = (read::text(mount, "subPath"), read::text(mount, "subPathExpr"));
    if !fixed.is_empty() {
        relative_path(fixed, &at.child("subPath"), errors);
    }
    if !expanded.is_empty() {
        if !fixed.is_empty() {
            errors.invalid(&item.child("subPathExpr"), expanded, "subPathExpr and subPath are mutually exclusive");
        }
        relative_path(expanded, &at.child("subPathExpr"), errors);
    }
}

fn propagation(mount: &Object, privileged: bool, at: &FieldPath, errors: &mut Errors) {
    let Some(mode) = mount.get("mountPropagation").and_then(Value::as_str) else { return };
    if !matches!(mode, "Bidirectional" | "HostToContainer" | "None") {
        errors.not_supported(at, mode, &["Bidirectional", "HostToContainer", "None"]);
    }
    if mode == "Bidirectional" && !privileged {
        errors.forbidden(at, "Bidirectional mount propagation is available only to privileged containers");
    }
}

fn recursive_read_only(mount: &Object, at: &FieldPath, errors: &mut Errors) {
    match mount.get("recursiveReadOnly").and_then(Value::as_str) {
        None | Some("Disabled") => {}
        Some("Enabled" | "IfPossible") => {
            if !read::truth(mount, "readOnly") {
                errors.forbidden(at, "may only be specified when readOnly is true");
            }
            if !matches!(read::text(mount, "mountPropagation"), "" | "None") {
                errors.forbidden(at, "may only be specified when mountPropagation is None or not specified");
            }
        }
        Some(other) => errors.not_supported(at, other, &["Disabled", "Enabled", "IfPossible"]),
    }
}

/// Devices name claims of the pod, each at a place of its own.
pub fn container_volume_devices(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let known = known_volumes(cx, path, errors);
    let (mount_names, mount_places): (BTreeSet<&str>, BTreeSet<&str>) = read::objects(object, "volumeMounts")
        .map(|(_, mount)| (read::text(mount, "name"), read::text(mount, "mountPath")))
        .unzip();
    let at = path.child("volumeDevices");
    let (mut names, mut places) = (BTreeSet::new(), BTreeSet::new());
    for (index, device) in read::objects(object, "volumeDevices") {
        let (at_name, at_path) = (at.index(index).child("name"), at.index(index).child("devicePath"));
        let (name, place) = (read::text(device, "name"), read::text(device, "devicePath"));
        if name.is_empty() {
            errors.required(&at_name, "");
        }
        if names.contains(name) {
            errors.invalid(&at_name, name, "must be unique");
        }
        match known.and_then(|known| known.get(name)) {
            Some(true) => {}
            Some(false) => {
                let detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                errors.invalid(&at_name, name, detail);
            }
            None => errors.not_found(&at_name, name),
        }
        if place.is_empty() {
            errors.required(&at_path, "");
        }
        if places.contains(place) {
            errors.invalid(&at_path, place, "must be unique");
        }
        if has_backstep(place) {
            errors.invalid(&at_path, place, "can not contain backsteps ('..')");
        } else {
            places.insert(place);
        }
        if mount_names.contains(name) {
            errors.invalid(&at_name, name, "must not already exist in volumeMounts");
        }
        if mount_places.contains(place) {
            errors.invalid(&at_path, place, "must not already exist as a path in volumeMounts");
        }
        if !name.is_empty() {
            names.insert(name);
        }
    }
}

const VARIABLE_SOURCES: [&str; 5] = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];

/// A variable that comes from elsewhere comes from one place and has no value of its own.
pub fn env_var_sources(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(source) = read::map(object, "valueFrom") else { return };
    let at = path.child("valueFrom");
    let count = VARIABLE_SOURCES.iter().filter(|field| read::present(source, field)).count();
    if count == 0 {
        let detail =
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
        errors.invalid(&at, "", detail);
    } else if !read::text(object, "value").is_empty() {
        errors.invalid(&at, "", "may not be specified when `value` is not empty");
    } else if count > 1 {
        errors.invalid(&at, "", "may not have more than one field specified at a time");
    }
}

/// Variables taken in bulk come from one place each. The paths carry no index.
pub fn container_env_from(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("envFrom");
    for (_, source) in read::objects(object, "envFrom") {
        match ["configMapRef", "secretRef"].iter().filter(|field| read::present(source, field)).count() {
            0 => errors.invalid(&at, "", "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => errors.invalid(&at, "", "may not have more than one field specified at a time"),
        }
    }
}

/// The fields of a pod that can be told to its containers by variables.
pub fn env_field_path(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let supported = [
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    ];
    field_path(object, &supported, path, errors);
}

/// The fields of a pod that can be told to its containers by files.
pub fn volume_field_path(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let supported = ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];
    field_path(object, &supported, path, errors);
}

fn field_path(object: &Object, supported: &[&str], path: &FieldPath, errors: &mut Errors) {
    let field = read::text(object, "fieldPath");
    let at = path.child("fieldPath");
    let version = read::text(object, "apiVersion");
    if version != "v1" {
        errors.invalid(&at, field, format!("error converting fieldPath: unsupported pod version: {version}"));
        return;
    }
    if let Some((base, key)) = subscript(field) {
        let found = match base {
            "metadata.annotations" => formats::qualified_name(&key.to_lowercase()),
            "metadata.labels" => formats::qualified_name(key),
            _ => {
                let detail = format!("error converting fieldPath: field label does not support subscript: {field}");
                errors.invalid(&at, field, detail);
                return;
            }
        };
        let shown = if base == "metadata.annotations" { key.to_lowercase() } else { key.to_string() };
        for detail in found {
            errors.invalid(path, shown.as_str(), detail);
        }
        return;
    }
    let field = if field == "spec.host" { "spec.nodeName" } else { field };
    if !is_pod_field(field) {
        errors.invalid(&at, field, format!("error converting fieldPath: field label not supported: {field}"));
    } else if !supported.contains(&field) {
        errors.not_supported(&at, field, supported);
    }
}

/// The two parts of `metadata.labels['key']`.
fn subscript(field: &str) -> Option<(&str, &str)> {
    let (base, key) = field.strip_suffix("']")?.split_once("['")?;
    (!base.is_empty()).then_some((base, key))
}

fn is_pod_field(field: &str) -> bool {
    matches!(
        field,
        "metadata.annotations"
            | "metadata.labels"
            | "metadata.name"
            | "metadata.namespace"
            | "metadata.uid"
            | "spec.nodeName"
            | "spec.restartPolicy"
            | "spec.serviceAccountName"
            | "spec.schedulerName"
            | "status.phase"
            | "status.hostIP"
            | "status.hostIPs"
            | "status.podIP"
            | "status.podIPs"
    )
}

const BYTE_DIVISORS: [&str; 13] = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/// The unit in which a resource is told must suit it. What is shown is the resource.
pub fn resource_divisor(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(divisor) = object.get("divisor").filter(|value| !value.is_null()) else { return };
    let amount = quantities::amount(divisor);
    if amount.billionths == 0 {
        return;
    }
    let shown = quantities::show(amount);
    let resource = read::text(object, "resource");
    let kind = match resource {
        "limits.cpu" | "requests.cpu" => "cpu",
        "limits.memory" | "requests.memory" => "memory",
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => "local ephemeral storage",
        _ if resource.starts_with("limits.hugepages-") || resource.starts_with("requests.hugepages-") => "hugepages",
        _ => return,
    };
    let at = path.child("divisor");
    if kind == "cpu" {
        if !matches!(shown.as_str(), "1" | "1m") {
            errors.invalid(&at, resource, "only divisor's values 1m and 1 are supported with the cpu resource");
        }
    } else if !BYTE_DIVISORS.contains(&shown.as_str()) {
        let list = BYTE_DIVISORS.join(", ");
        errors.invalid(&at, resource, format!("only divisor's values {list} are supported with the {kind} resource"));
    }
}

/// A pause before or after a container is no longer than the pod has to end.
pub fn sleep_within_grace(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let grace = enclosing_spec(cx).and_then(|spec| spec.get("terminationGracePeriodSeconds")).and_then(Value::as_i64);
    let seconds = read::number(object, "seconds");
    if let Some(grace) = grace
        && (seconds < 0 || seconds > grace)
    {
        let detail = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        errors.invalid(path, seconds, detail);
    }
}

/// How a container takes a change of its resources. The paths of wrong values carry no index.
pub fn container_resize_policy(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let never = enclosing_spec(cx).is_some_and(|spec| read::text(spec, "restartPolicy") == "Never");
    let at = path.child("resizePolicy");
    let mut seen = BTreeSet::new();
    for (index, policy) in read::objects(object, "resizePolicy") {
        let (resource, restart) = (read::text(policy, "resourceName"), read::text(policy, "restartPolicy"));
        if !seen.insert(resource) {
            errors.duplicate(&at.index(index), resource);
        }
        match resource {
            "cpu" | "memory" => {}
            "" => errors.required(&at, ""),
            _ => errors.not_supported(&at, resource, &["cpu", "memory"]),
        }
        match restart {
            "NotRequired" | "RestartContainer" => {}
            "" => errors.required(&at, ""),
            _ => errors.not_supported(&at, restart, &["NotRequired", "RestartContainer"]),
        }
        if never && restart != "NotRequired" {
            errors.invalid(&at, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
        }
    }
}

/// An init container that ends is not restarted to take new resources, unless the old object already said so.
pub fn init_container_resize_policy(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    if read::text(object, "restartPolicy") == "Always" || old_restarts_init_container(cx) {
        return;
    }
    for (index, policy) in read::objects(object, "resizePolicy") {
        if read::text(policy, "restartPolicy") == "RestartContainer" {
            let at = path.child("resizePolicy").index(index).child("restartPolicy");
            let detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
            errors.invalid(&at, "RestartContainer", detail);
        }
    }
}

fn old_restarts_init_container(cx: &Check<'_>) -> bool {
    let Some(old) = cx.old else { return false };
    let specs: [&[&str]; 3] =
        [&["spec"], &["spec", "template", "spec"], &["spec", "jobTemplate", "spec", "template", "spec"]];
    specs.iter().filter_map(|fields| read::deep(old, fields)).any(|spec| {
        read::objects(spec, "initContainers").any(|(_, container)| {
            read::text(container, "restartPolicy") != "Always"
                && read::objects(container, "resizePolicy")
                    .any(|(_, policy)| read::text(policy, "restartPolicy") == "RestartContainer")
        })
    })
}

/// Ports of the host are taken once among the containers that run together.
pub fn pod_host_ports(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("containers");
    let mut taken = BTreeSet::new();
    for (index, container) in read::objects(object, "containers") {
        host_ports(container, &mut taken, &at.index(index), errors);
    }
}

fn host_ports(container: &Object, taken: &mut BTreeSet<String>, at: &FieldPath, errors: &mut Errors) {
    for (index, port) in read::objects(container, "ports") {
        let number = read::number(port, "hostPort");
        if number == 0 {
            continue;
        }
        let key = format!("{}/{}/{number}", read::text(port, "protocol"), read::text(port, "hostIP"));
        if !taken.insert(key.clone()) {
            errors.duplicate(&at.child("ports").index(index).child("hostPort"), key);
        }
    }
}

/// Init containers have names of their own, and each its own ports, for they run one by one.
pub fn pod_init_containers(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("initContainers");
    let mut names: BTreeSet<&str> =
        read::objects(object, "containers").map(|(_, item)| read::text(item, "name")).collect();
    for (index, container) in read::objects(object, "initContainers") {
        let name = read::text(container, "name");
        if names.contains(name) {
            errors.duplicate(&at.index(index).child("name"), name);
        } else if !name.is_empty() {
            names.insert(name);
        }
        // Upstream numbers the only container it looks at 0.
        host_ports(container, &mut BTreeSet::new(), &at.index(0), errors);
    }
}

const EPHEMERAL_FIELDS: [&str; 17] = [
    "name",
    "image",
    "command",
    "args",
    "workingDir",
    "envFrom",
    "env",
    "volumeMounts",
    "volumeDevices",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "imagePullPolicy",
    "securityContext",
    "stdin",
    "stdinOnce",
    "tty",
    "targetContainerName",
];

/// Ephemeral containers are guests: a name of their own, a target that exists, nothing that the pod would rely on.
pub fn pod_ephemeral_containers(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let others: BTreeSet<&str> = ["containers", "initContainers"]
        .iter()
        .flat_map(|field| read::objects(object, field))
        .map(|(_, container)| read::text(container, "name"))
        .collect();
    let mut names = others.clone();
    let at = path.child("ephemeralContainers");
    for (index, container) in read::objects(object, "ephemeralContainers") {
        let item = at.index(index);
        let name = read::text(container, "name");
        if !names.insert(name) {
            errors.duplicate(&item.child("name"), name);
        }
        let target = read::text(container, "targetContainerName");
        if !target.is_empty() && !others.contains(target) {
            errors.not_found(&item.child("targetContainerName"), target);
        }
        only_ephemeral_fields(container, &item, errors);
    }
}

fn only_ephemeral_fields(container: &Object, at: &FieldPath, errors: &mut Errors) {
    let refusal = "cannot be set for an Ephemeral Container";
    for (field, value) in container {
        let empty = value.is_null()
            || value.as_array().is_some_and(Vec::is_empty)
            || (field == "resources" && value.as_object().is_some_and(Map::is_empty));
        let allowed = EPHEMERAL_FIELDS.contains(&field.as_str());
        if !allowed && !empty {
            errors.forbidden(&at.child(field), refusal);
        }
    }
    for (index, mount) in read::objects(container, "volumeMounts") {
        for field in ["subPath", "subPathExpr"] {
            if !read::text(mount, field).is_empty() {
                errors.forbidden(&at.child("volumeMounts").index(index).child(field), refusal);
            }
        }
    }
}
