//! What the fields of a pod spec demand of each other, beyond containers, volumes, placement and security.

use std::collections::BTreeSet;

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath, formats};
use serde_json::Value;

use super::all_containers;
use super::annotations::MIRROR;

/// Claims of the pod have names of their own; a mirror pod has none.
pub fn pod_resource_claims(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let root = Some(cx.root).filter(|_| cx.kind == "Pod");
    let annotations = root.and_then(|root| read::deep(root, &["metadata", "annotations"]));
    let mirror = annotations.is_some_and(|annotations| annotations.contains_key(MIRROR));
    let mut names = BTreeSet::new();
    for (index, claim) in read::objects(object, "resourceClaims") {
        if mirror {
            errors.forbidden(&FieldPath::root(), "static pods do not support resource claims");
            continue;
        }
        let name = read::text(claim, "name");
        if !name.is_empty() && !names.insert(name) {
            errors.duplicate(&path.child("resourceClaims").index(index).child("name"), name);
        }
    }
}

/// With host networking the port of the host is the container's; a template may leave it open, a pod may not.
pub fn pod_host_network_ports(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    if !read::truth(object, "hostNetwork") {
        return;
    }
    let is_pod = cx.kind == "Pod";
    for (index, container) in read::objects(object, "containers") {
        for (port_index, port) in read::objects(container, "ports") {
            let (host, own) = (read::number(port, "hostPort"), read::number(port, "containerPort"));
            if (is_pod || host != 0) && host != own {
                let at = path.child("containers").index(index).child("ports").index(port_index).child("hostPort");
                errors.invalid(&at, host, "must match `containerPort` when `hostNetwork` is true");
            }
        }
    }
}

/// How a pod resolves names.
pub fn pod_dns_config(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("dnsConfig");
    let config = read::map(object, "dnsConfig");
    if read::text(object, "dnsPolicy") == "None" {
        let Some(config) = config else {
            errors.required(&at, "must provide `dnsConfig` when `dnsPolicy` is None");
            return;
        };
        if read::list(config, "nameservers").is_empty() {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            errors.required(&at.child("nameservers"), detail);
            return;
        }
    }
    let Some(config) = config else { return };
    name_servers(config, &at.child("nameservers"), errors);
    searches(config, &at.child("searches"), errors);
    for (index, option) in read::objects(config, "options") {
        if read::text(option, "name").is_empty() {
            errors.required(&at.child("options").index(index), "must not be empty");
        }
    }
}

fn name_servers(config: &Object, at: &FieldPath, errors: &mut Errors) {
    let servers = read::texts(config, "nameservers");
    if servers.len() > 3 {
        errors.invalid(at, list_value(config, "nameservers"), "must not have more than 3 nameservers");
    }
    for (index, server) in servers.iter().enumerate() {
        for detail in formats::ip(server) {
            errors.invalid(&at.index(index), *server, detail);
        }
    }
}

fn searches(config: &Object, at: &FieldPath, errors: &mut Errors) {
    let searches = read::texts(config, "searches");
    if searches.len() > 32 {
        errors.invalid(at, list_value(config, "searches"), "must not have more than 32 search paths");
    }
    if searches.join(" ").len() > 2048 {
        let detail = "must not have more than 2048 characters (including spaces) in the search list";
        errors.invalid(at, list_value(config, "searches"), detail);
    }
    for (index, search) in searches.iter().enumerate().filter(|(_, search)| **search != ".") {
        let search = search.strip_suffix('.').unwrap_or(search);
        for detail in search_domain(search) {
            errors.invalid(&at.index(index), search, detail);
        }
    }
}

fn list_value(config: &Object, field: &str) -> Value {
    config.get(field).cloned().unwrap_or_default()
}

/// A domain to search in: a DNS subdomain whose labels may contain underscores and begin with one.
fn search_domain(text: &str) -> Vec<String> {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    let label = |label: &str| {
        let label = label.strip_prefix('_').unwrap_or(label);
        edge(label.bytes().next()) && edge(label.bytes().last()) && label.bytes().all(inner)
    };
    let mut found = Vec::new();
    if text.len() > 253 {
        found.push("must be no more than 253 characters".to_string());
    }
    if !text.split('.').all(label) {
        let sentence = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character";
        let part = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
        found.push(formats::pattern_text(sentence, &format!(r"{part}(\.{part})*"), &["example.com"]));
    }
    found
}

/// Gates that hold a pod back have qualified names, each once. The paths end at the item.
pub fn pod_scheduling_gates(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for (index, gate) in read::objects(object, "schedulingGates") {
        let at = path.child("schedulingGates").index(index);
        let name = read::text(gate, "name");
        for detail in formats::qualified_name(name) {
            errors.invalid(&at, name, detail);
        }
        if !seen.insert(name) {
            errors.duplicate(&at, name);
        }
    }
}

/// Variables that come from files take them from empty directories of the pod.
pub fn pod_env_file_volumes(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    for (container, place) in all_containers(object, path) {
        for (index, variable) in read::objects(container, "env") {
            let Some(file) = read::deep(variable, &["valueFrom", "fileKeyRef"]) else { continue };
            let name = read::text(file, "volumeName");
            let at = place.child("env").index(index).child("valueFrom").child("fileKeyRef").child("volumeName");
            let mut volumes = read::objects(object, "volumes");
            match volumes.find(|(_, volume)| read::text(volume, "name") == name) {
                None => errors.not_found(&at, name),
                Some((_, volume)) if !read::present(volume, "emptyDir") => {
                    errors.invalid(&at, name, "referenced volume must be of type emptyDir");
                }
                Some(_) => {}
            }
        }
    }
}
