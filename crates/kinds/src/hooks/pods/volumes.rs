//! What a volume says about other volumes, and the paths that files in it may have.

use std::collections::BTreeSet;

use pawl_meta::object::Object;
use serde_json::Map;

use pawl_meta::read;
use pawl_rules::formats;
use pawl_rules::{Check, Errors, FieldPath};

/// Whether a part of a path leads upward.
pub(crate) fn has_backstep(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

/// A path that stays below where it starts.
pub(crate) fn relative_path(path: &str, at: &FieldPath, errors: &mut Errors) {
    if path.starts_with('/') {
        errors.invalid(at, path, "must be a relative path");
    }
    if has_backstep(path) {
        errors.invalid(at, path, "must not contain '..'");
    }
}

/// A relative path whose first part is not kept for the system.
fn local_path(path: &str, at: &FieldPath, errors: &mut Errors) {
    relative_path(path, at, errors);
    if path.starts_with("..") && !path.starts_with("../") {
        errors.invalid(at, path, "must not start with '..'");
    }
}

/// Names that follow from a volume's name: the claim of an ephemeral volume, the initiator of an iSCSI volume.
pub fn volume_derived_names(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let name = read::text(object, "name");
    if let Some(iscsi) = read::map(object, "iscsi")
        && read::present(iscsi, "initiatorName")
        && name.len() + 1 + read::text(iscsi, "targetPortal").len() > 64
    {
        let detail = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
        errors.invalid(&path.child("name"), name, detail);
    }
    let pod = pod_name(cx);
    if read::present(object, "ephemeral") && !pod.is_empty() && !name.is_empty() {
        let claim = format!("{pod}-{name}");
        for detail in formats::dns1123_subdomain(&claim) {
            errors.invalid(&path.child("name"), name, format!("PVC name {claim:?}: {detail}"));
        }
    }
}

/// The name of the pod being checked; empty for a template, whose pods have names of their own.
fn pod_name<'a>(cx: &'a Check<'_>) -> &'a str {
    let pod = Some(cx.root).filter(|_| cx.kind == "Pod");
    pod.and_then(|root| read::map(root, "metadata")).map_or("", |meta| read::text(meta, "name"))
}

/// A volume does not name a claim that another volume of the pod will create.
pub fn pod_claims_of_volumes(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let pod = pod_name(cx);
    if pod.is_empty() {
        return;
    }
    let created: BTreeSet<String> = read::objects(object, "volumes")
        .filter(|(_, volume)| read::present(volume, "ephemeral"))
        .map(|(_, volume)| format!("{pod}-{}", read::text(volume, "name")))
        .collect();
    for (index, volume) in read::objects(object, "volumes") {
        let Some(claim) = read::map(volume, "persistentVolumeClaim") else { continue };
        let name = read::text(claim, "claimName");
        if created.contains(name) {
            let at = path.child("volumes").index(index).child("persistentVolumeClaim").child("claimName");
            errors.invalid(&at, name, "must not reference a PVC that gets created for an ephemeral volume");
        }
    }
}

/// A source of a projected volume is of one kind.
pub fn projection_count(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let kinds = ["secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"];
    if kinds.iter().filter(|kind| read::present(object, kind)).count() > 1 {
        errors.forbidden(path, "may not specify more than 1 volume type per source");
    }
}

/// No two files of a projected volume have the same path. The paths of what is wrong stop at the volume.
pub fn projected_paths(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let mut taken = BTreeSet::new();
    for (_, source) in read::objects(object, "sources") {
        for kind in ["secret", "configMap", "downwardAPI"] {
            let Some(projection) = read::map(source, kind) else { continue };
            for (_, item) in read::objects(projection, "items") {
                let file = read::text(item, "path");
                if !file.is_empty() && !taken.insert(file) {
                    let shown = if kind == "downwardAPI" { file } else { read::text(projection, "name") };
                    errors.invalid(path, shown, "conflicting duplicate paths");
                }
            }
        }
        if let Some(token) = read::map(source, "serviceAccountToken") {
            match read::text(token, "path") {
                "" => errors.required(&path.child("path"), ""),
                file => local_path(file, &path.child("path"), errors),
            }
        }
    }
}

/// A pod without a service account cannot mount its token.
pub fn pod_token_volumes(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(spec) = read::map(object, "spec") else { return };
    if !read::text(spec, "serviceAccountName").is_empty() {
        return;
    }
    let at = path.child("spec").child("volumes");
    for (index, volume) in read::objects(spec, "volumes") {
        let Some(projected) = read::map(volume, "projected") else { continue };
        for (source_index, source) in read::objects(projected, "sources") {
            if read::present(source, "serviceAccountToken") {
                let place = at.index(index).child("projected").child("sources").index(source_index);
                let detail = "must not be specified when serviceAccountName is not set";
                errors.forbidden(&place.child("serviceAccountToken"), detail);
            }
        }
    }
}

/// Options of a FlexVolume do not use the prefixes of the system.
pub fn flex_options(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    for key in read::map(object, "options").into_iter().flat_map(Map::keys) {
        let prefix = key.split_once('/').map_or(key.as_str(), |(prefix, _)| prefix);
        let dotted = format!(".{}", prefix.to_lowercase());
        if dotted.ends_with(".kubernetes.io") || dotted.ends_with(".k8s.io") {
            let detail = "kubernetes.io and k8s.io namespaces are reserved";
            errors.invalid(&path.child("options").key(key), key.as_str(), detail);
        }
    }
}

/// A Quobyte registry is a list of hosts with ports.
pub fn quobyte_registry(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let registry = read::text(object, "registry");
    if registry.is_empty() {
        return;
    }
    if read::text(object, "tenant").len() >= 65 {
        let detail = "must be a UUID and may not exceed a length of 64 characters";
        errors.required(&path.child("tenant"), detail);
        return;
    }
    for _ in registry.split(',').filter(|pair| !is_host_and_port(pair)) {
        let detail = "must be a host:port pair or multiple pairs separated by commas";
        errors.invalid(&path.child("registry"), registry, detail);
    }
}

fn is_host_and_port(pair: &str) -> bool {
    let Some((host, port)) = pair.rsplit_once(':') else { return false };
    if port.contains(']') {
        return false;
    }
    match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').is_some_and(|inner| !inner.contains(['[', ']'])),
        None => !host.contains([':', '[', ']']),
    }
}
