//! What a client is warned of when it writes a pod or a template: old labels, volumes that no longer work, values that
//! are taken but hardly meant.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, FieldPath, formats};
use serde_json::{Map, Value};

use super::all_containers;
use super::annotations::APP_ARMOR_PREFIX;
use super::defaults::app_armor_field;
use super::path_overlaps::path_overlaps;
use crate::hooks::quantities;

/// A new pod; the object is the pod. Changes of pods are made by machines, which read no warnings.
pub fn pod_warnings(cx: &Check<'_>, object: &Object, path: &FieldPath, warnings: &mut Vec<String>) {
    if cx.old.is_some() {
        return;
    }
    let name = read::map(object, "metadata").map_or("", |meta| read::text(meta, "name"));
    name_as_host(name, "the Pod's hostname", warnings);
    warn(object, path, false, warnings);
}

/// The addresses in a pod's status.
pub fn pod_status_warnings(_cx: &Check<'_>, object: &Object, path: &FieldPath, warnings: &mut Vec<String>) {
    let Some(status) = read::map(object, "status") else { return };
    for field in ["podIPs", "hostIPs"] {
        for (index, item) in read::objects(status, field) {
            let at = path.child("status").child(field).index(index).child("ip");
            address(read::text(item, "ip"), &at, warnings);
        }
    }
}

/// The template at `spec.template` of a new or changed object. The name of its pods begins with the object's.
pub fn template_warnings(cx: &Check<'_>, object: &Object, path: &FieldPath, warnings: &mut Vec<String>) {
    changed_template(cx, object, &["spec", "template"], path, warnings);
}

/// The same, for kinds whose pods are named after it.
pub fn named_template_warnings(cx: &Check<'_>, object: &Object, path: &FieldPath, warnings: &mut Vec<String>) {
    if cx.old.is_none() {
        let name = read::map(object, "metadata").map_or("", |meta| read::text(meta, "name"));
        name_as_host(name, "Pod names and hostnames", warnings);
    }
    template_warnings(cx, object, path, warnings);
}

/// A PodTemplate holds its template at the top.
pub fn pod_template_warnings(cx: &Check<'_>, object: &Object, path: &FieldPath, warnings: &mut Vec<String>) {
    changed_template(cx, object, &["template"], path, warnings);
}

/// Warnings about the template below some fields, when the object is new or its generation has gone on.
pub(crate) fn changed_template(
    cx: &Check<'_>,
    object: &Object,
    fields: &[&str],
    path: &FieldPath,
    warnings: &mut Vec<String>,
) {
    let generation = |object: &Object| read::map(object, "metadata").map_or(0, |meta| read::number(meta, "generation"));
    let untouched = cx.old.is_some_and(|old| generation(old) == generation(object));
    if untouched {
        return;
    }
    if let Some(template) = read::deep(object, fields) {
        let at = fields.iter().fold(path.clone(), |at, field| at.child(field));
        warn(template, &at, true, warnings);
    }
}

/// A name that cannot be a host's makes its pods hard to address.
pub(crate) fn name_as_host(name: &str, used_in: &str, warnings: &mut Vec<String>) {
    let found = formats::dns1123_label(name);
    if !found.is_empty() {
        warnings.push(format!(
            "metadata.name: this is used in {used_in}, which can result in surprising behavior; a DNS label is recommended: [{}]",
            found.join(" ")
        ));
    }
}

fn warn(object: &Object, path: &FieldPath, template: bool, warnings: &mut Vec<String>) {
    let spec = read::within(object, "spec");
    let annotations = read::annotations(object);
    let at = path.child("spec");
    node_labels(spec, &at, warnings);
    old_annotations(annotations, path, warnings);
    old_volumes(spec, &at, warnings);
    path_overlaps(spec, warnings);
    repeated(spec, "hostAliases", "ip", &at, warnings);
    repeated(spec, "imagePullSecrets", "name", &at, warnings);
    for (index, secret) in read::objects(spec, "imagePullSecrets") {
        if read::text(secret, "name").is_empty() {
            warnings
                .push(format!("{}: invalid empty name \"\"", at.child("imagePullSecrets").index(index).child("name")));
        }
    }
    let overhead = at.child("overhead");
    for name in ["memory", "ephemeral-storage"] {
        fraction(read::map(spec, "overhead"), name, &overhead, warnings);
    }
    profiles_in_annotations(spec, annotations, path, template, warnings);
    ports(spec, &at, warnings);
    port_names(spec, &at, warnings);
    if read::number(spec, "terminationGracePeriodSeconds") < 0 {
        let detail = "must be >= 0; negative values are invalid and will be treated as 1";
        warnings.push(format!("{}: {detail}", at.child("terminationGracePeriodSeconds")));
    }
    selectorless_terms(spec, &at, warnings);
    if let Some(config) = read::map(spec, "dnsConfig") {
        for (index, server) in read::texts(config, "nameservers").into_iter().enumerate() {
            address(server, &at.child("dnsConfig").child("nameservers").index(index), warnings);
        }
    }
    for (index, alias) in read::objects(spec, "hostAliases") {
        address(read::text(alias, "ip"), &at.child("hostAliases").index(index).child("ip"), warnings);
    }
}

/// What to say of a label of nodes that has another name now.
pub(crate) fn deprecated_label(key: &str) -> Option<&'static str> {
    match key {
        "beta.kubernetes.io/arch" => Some("deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
        "beta.kubernetes.io/os" => Some("deprecated since v1.14; use \"kubernetes.io/os\" instead"),
        "failure-domain.beta.kubernetes.io/region" => {
            Some("deprecated since v1.17; use \"topology.kubernetes.io/region\" instead")
        }
        "failure-domain.beta.kubernetes.io/zone" => {
            Some("deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead")
        }
        "beta.kubernetes.io/instance-type" => {
            Some("deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead")
        }
        "app.kubernetes.io/created-by" => Some("deprecated since v1.9"),
        "scheduler.alpha.kubernetes.io/preferAvoidPods" => {
            Some("deprecated since v1.22; use Taints and Tolerations instead")
        }
        "node-role.kubernetes.io/master" => Some("use \"node-role.kubernetes.io/control-plane\" instead"),
        _ => None,
    }
}

fn node_labels(spec: &Object, at: &FieldPath, warnings: &mut Vec<String>) {
    for key in read::map(spec, "nodeSelector").into_iter().flat_map(Map::keys) {
        if let Some(text) = deprecated_label(key) {
            warnings.push(format!("{}: {text}", at.child("nodeSelector").key(key)));
        }
    }
    if let Some(affinity) = read::deep(spec, &["affinity", "nodeAffinity"]) {
        let place = at.child("affinity").child("nodeAffinity");
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        if let Some(selector) = read::map(affinity, required) {
            for (index, term) in read::objects(selector, "nodeSelectorTerms") {
                selector_term(term, false, &place.child(required).child("nodeSelectorTerms").index(index), warnings);
            }
        }
        let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
        for (index, weighted) in read::objects(affinity, preferred) {
            if let Some(term) = read::map(weighted, "preference") {
                selector_term(term, true, &place.child(preferred).index(index).child("preference"), warnings);
            }
        }
    }
    for (index, constraint) in read::objects(spec, "topologySpreadConstraints") {
        let place = at.child("topologySpreadConstraints").index(index);
        let key = read::text(constraint, "topologyKey");
        if let Some(text) = deprecated_label(key) {
            warnings.push(format!("{}: {key} is {text}", place.child("topologyKey")));
        }
        no_selector(constraint, &place, warnings);
    }
}

pub(crate) fn selector_term(term: &Object, values_too: bool, at: &FieldPath, warnings: &mut Vec<String>) {
    for (index, expression) in read::objects(term, "matchExpressions") {
        let place = at.child("matchExpressions").index(index);
        let key = read::text(expression, "key");
        if let Some(text) = deprecated_label(key) {
            warnings.push(format!("{}: {key} is {text}", place.child("key")));
        }
        for (value_index, value) in read::texts(expression, "values").into_iter().enumerate().filter(|_| values_too) {
            for text in formats::label_value(value) {
                warnings.push(format!("{}: {value} is invalid, {text}", place.child("values").index(value_index)));
            }
        }
    }
}

fn no_selector(term: &Object, at: &FieldPath, warnings: &mut Vec<String>) {
    if !read::present(term, "labelSelector") {
        warnings.push(format!("{}: a null labelSelector results in matching no pod", at.child("labelSelector")));
    }
}

fn selectorless_terms(spec: &Object, at: &FieldPath, warnings: &mut Vec<String>) {
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(affinity) = read::deep(spec, &["affinity", kind]) else { continue };
        let place = at.child("affinity").child(kind);
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        for (index, term) in read::objects(affinity, required) {
            no_selector(term, &place.child(required).index(index), warnings);
        }
        let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
        for (index, weighted) in read::objects(affinity, preferred) {
            let term = read::within(weighted, "podAffinityTerm");
            no_selector(term, &place.child(preferred).index(index).child("podAffinityTerm"), warnings);
        }
    }
}

fn old_annotations(annotations: &Object, path: &FieldPath, warnings: &mut Vec<String>) {
    let old = [
        (
            "scheduler.alpha.kubernetes.io/critical-pod",
            "non-functional in v1.16+; use the \"priorityClassName\" field instead",
        ),
        ("security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
        ("security.alpha.kubernetes.io/unsafe-sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
    ];
    for (key, text) in old.into_iter().filter(|(key, _)| annotations.contains_key(*key)) {
        warnings.push(format!("{}: {text}", path.child("metadata").child("annotations").key(key)));
    }
}

fn old_volumes(spec: &Object, at: &FieldPath, warnings: &mut Vec<String>) {
    let old = [
        ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
        ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
        ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
        ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
        ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
        ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
        ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
        ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
        ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
    ];
    for (index, volume) in read::objects(spec, "volumes") {
        for (_, shown, text) in old.iter().filter(|(field, ..)| read::present(volume, field)) {
            warnings.push(format!("{}: {text}", at.child("volumes").index(index).child(shown)));
        }
    }
}

fn repeated(spec: &Object, list: &str, field: &str, at: &FieldPath, warnings: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (index, item) in read::objects(spec, list) {
        let value = read::text(item, field);
        if !seen.insert(value) {
            warnings.push(format!("{}: duplicate {field} {value:?}", at.child(list).index(index).child(field)));
        }
    }
}

fn fraction(list: Option<&Object>, name: &str, at: &FieldPath, warnings: &mut Vec<String>) {
    if let Some(quantity) = list.and_then(|list| list.get(name))
        && !quantities::is_whole(quantities::amount(quantity))
    {
        let text = quantities::text_of(quantity);
        warnings.push(format!("{}: fractional byte value {text:?} is invalid, must be an integer", at.key(name)));
    }
}

fn profiles_in_annotations(
    spec: &Object,
    annotations: &Object,
    path: &FieldPath,
    template: bool,
    warnings: &mut Vec<String>,
) {
    let at = path.child("metadata").child("annotations");
    let seccomp = "non-functional in v1.27+; use the \"seccompProfile\" field instead";
    let of = |holder: &Object, field: &str| read::deep(holder, &["securityContext", field]).cloned().map(Value::Object);
    let pod_key = "seccomp.security.alpha.kubernetes.io/pod";
    if of(spec, "seccompProfile").is_none() && annotations.contains_key(pod_key) {
        warnings.push(format!("{}: {seccomp}", at.key(pod_key)));
    }
    for (container, place) in all_containers(spec, &path.child("spec")) {
        let name = read::text(container, "name");
        let key = format!("container.seccomp.security.alpha.kubernetes.io/{name}");
        if of(container, "seccompProfile").is_none() && annotations.contains_key(&key) {
            warnings.push(format!("{}: {seccomp}", at.key(&key)));
        }
        let key = format!("{APP_ARMOR_PREFIX}{name}");
        if let Some(annotation) = annotations.get(&key).and_then(Value::as_str)
            && template
            && of(container, "appArmorProfile").is_none()
            && of(spec, "appArmorProfile").is_none_or(|profile| Some(profile) != app_armor_field(annotation))
        {
            warnings
                .push(format!("{}: deprecated since v1.30; use the \"appArmorProfile\" field instead", at.key(&key)));
        }
        for resource in ["memory", "ephemeral-storage"] {
            for list in ["limits", "requests"] {
                let place = place.child("resources").child(list);
                fraction(read::deep(container, &["resources", list]), resource, &place, warnings);
            }
        }
        hidden_variables(container, &place, warnings);
    }
}

/// A later variable of the same name that does not build on the earlier one hides it.
fn hidden_variables(container: &Object, at: &FieldPath, warnings: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (index, variable) in read::objects(container, "env") {
        let (name, value) = (read::text(variable, "name"), read::text(variable, "value"));
        if seen.insert(name) {
            continue;
        }
        let reference = format!("$({name})");
        if read::present(variable, "valueFrom") || value == reference || !value.contains(&reference) {
            let place = at.child("env").index(index);
            warnings
                .push(format!("{place}: hides previous definition of {name:?}, which may be dropped when using apply"));
        }
    }
}

/// With so many others a port is compared.
const MOST_COMPARED: usize = 50;

fn ports(spec: &Object, at: &FieldPath, warnings: &mut Vec<String>) {
    type Held<'p> = Vec<(FieldPath, &'p Object)>;
    let mut held: BTreeMap<(i64, &str), Held<'_>> = BTreeMap::new();
    for (container, place) in all_containers(spec, at) {
        for (index, port) in read::objects(container, "ports") {
            let own = place.child("ports").index(index);
            let (host_ip, host_port) = (read::text(port, "hostIP"), read::number(port, "hostPort"));
            if !host_ip.is_empty() && host_port == 0 {
                warnings.push(format!("{own}: hostIP set without hostPort: {}", shown_port(port)));
            }
            let others = held.entry((read::number(port, "containerPort"), read::text(port, "protocol"))).or_default();
            // Nobody reads more about one port.
            for (other_place, other) in others.iter().take(MOST_COMPARED) {
                let (other_ip, other_port) = (read::text(other, "hostIP"), read::number(other, "hostPort"));
                let clash = if host_ip == other_ip && host_port == other_port {
                    "duplicate"
                } else if host_port == 0 || other_port == 0 {
                    "overlapping"
                } else if host_port == other_port && host_ip.is_empty() != other_ip.is_empty() {
                    "dangerously ambiguous"
                } else {
                    continue;
                };
                warnings.push(format!("{own}: {clash} port definition with {other_place}"));
            }
            others.push((own, port));
        }
    }
}

fn shown_port(port: &Object) -> String {
    format!(
        "{{Name:{} HostPort:{} ContainerPort:{} Protocol:{} HostIP:{}}}",
        read::text(port, "name"),
        read::number(port, "hostPort"),
        read::number(port, "containerPort"),
        read::text(port, "protocol"),
        read::text(port, "hostIP")
    )
}

fn port_names(spec: &Object, at: &FieldPath, warnings: &mut Vec<String>) {
    let mut held: BTreeMap<&str, FieldPath> = BTreeMap::new();
    for (container, place) in all_containers(spec, at) {
        for (index, port) in read::objects(container, "ports") {
            let name = read::text(port, "name");
            let own = place.child("ports").index(index);
            match held.get(name) {
                Some(other) => warnings.push(format!(
                    "{own}: duplicate port name {name:?} with {other}, services and probes that select ports by name will use {other}"
                )),
                None if !name.is_empty() => {
                    held.insert(name, own);
                }
                None => {}
            }
        }
    }
}

/// An IPv6 address that is well formed, but not as one writes them.
fn address(text: &str, at: &FieldPath, warnings: &mut Vec<String>) {
    if let Ok(IpAddr::V6(address)) = text.parse::<IpAddr>()
        && address.to_string() != text
    {
        warnings.push(format!("{at}: IPv6 address {text:?} should be in RFC 5952 canonical format (\"{address}\")"));
    }
}
