//! What rules cannot say about volumes.

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath};
use serde_json::{Value, json};

use super::limits::{add_finalizer, valid_quantity};
use crate::hooks::quantities;

/// Where a volume can come from: the fields of its source.
const VOLUME_SOURCES: [&str; 22] = [
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "hostPath",
    "glusterfs",
    "nfs",
    "rbd",
    "iscsi",
    "cinder",
    "cephfs",
    "fc",
    "flocker",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

/// A volume stays until nothing uses it.
pub fn volume_protection(object: &mut Object) {
    add_finalizer(object, "kubernetes.io/pv-protection");
}

/// A volume's capacity is an amount of storage, nothing else.
pub fn volume_capacity(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("capacity");
    let capacity = read::map(object, "capacity");
    if !capacity.is_some_and(|capacity| capacity.contains_key("storage") && capacity.len() == 1) {
        errors.not_supported(&at, object.get("capacity").cloned().unwrap_or(Value::Null), &["storage"]);
    }
    for (name, value) in capacity.into_iter().flatten() {
        valid_quantity(value, &at.key(name), errors);
        if quantities::amount(value).billionths <= 0 {
            errors.invalid(&at.key(name), quantities::text_of(value), "must be greater than zero");
        }
    }
}

/// A local volume that counts is on some node.
pub fn volume_local_affinity(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let refused = path.child("local").to_string();
    let counts = read::present(object, "local") && errors.iter().all(|error| error.field != refused);
    if counts && !read::present(object, "nodeAffinity") {
        errors.required(&path.child("nodeAffinity"), "Local volume requires node affinity");
    }
}

/// The root of a host is not to be wiped.
pub fn volume_recycle_root(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(host) = read::map(object, "hostPath") else { return };
    let host = read::text(host, "path");
    let root = host.starts_with('/') && host.split('/').all(|part| part.is_empty() || part == ".");
    if root && read::text(object, "persistentVolumeReclaimPolicy") == "Recycle" {
        let detail = "may not be 'recycle' for a hostPath mount of '/'";
        errors.forbidden(&path.child("persistentVolumeReclaimPolicy"), detail);
    }
}

/// The annotation for mount options needs a volume that can have them.
pub fn volume_mount_options(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let mountable = [
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "glusterfs",
        "nfs",
        "rbd",
        "quobyte",
        "iscsi",
        "cinder",
        "cephfs",
        "azureFile",
        "vsphereVolume",
        "azureDisk",
        "photonPersistentDisk",
    ];
    let key = "volume.beta.kubernetes.io/mount-options";
    let asked = read::annotations(object).contains_key(key);
    let can = read::map(object, "spec").is_some_and(|spec| mountable.iter().any(|field| read::present(spec, field)));
    if asked && !can {
        let at = path.child("metadata").child("annotations").child(key);
        errors.forbidden(&at, "may not specify mount options for this volume type");
    }
}

/// Where a volume comes from does not change; only the secret for expanding may be added.
pub fn volume_source_update(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let (Some(new), Some(old)) = (read::map(new, "spec"), read::map(old, "spec")) else { return };
    let field = "controllerExpandSecretRef";
    let added = |spec: &Object| read::map(spec, "csi").is_some_and(|csi| read::present(csi, field));
    let mut now = new.clone();
    if added(new)
        && !added(old)
        && read::present(old, "csi")
        && let Some(csi) = read::map_mut(&mut now, "csi")
    {
        csi.remove(field);
    }
    if VOLUME_SOURCES.iter().any(|source| !read::same(&now, old, source)) {
        let at = path.child("spec").child("persistentvolumesource");
        errors.forbidden(&at, "spec.persistentvolumesource is immutable after creation\n");
    }
}

/// A change of phase says when.
pub fn volume_phase_transition(new: &mut Object, old: &Object) {
    let before = read::within(old, "status");
    let Some(status) = read::map_mut(new, "status") else { return };
    let field = "lastPhaseTransitionTime";
    if read::same(status, before, "phase") {
        if !read::present(status, field)
            && let Some(time) = before.get(field)
        {
            status.insert(field.to_string(), time.clone());
        }
    } else if !read::present(status, field) || read::same(status, before, field) {
        status.insert(field.to_string(), json!("@now"));
    }
}
