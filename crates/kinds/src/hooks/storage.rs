//! What rules cannot say about volumes, claims, classes, attachments and the CSI kinds.

use std::collections::BTreeSet;

use pawl_meta::object::{Meta as _, Object};
use serde_json::{Value, json};

use super::report::each;
use super::{quantities, read};
use crate::formats;
use crate::rules::{Check, Errors, FieldPath};

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

/// A claim stays until nothing uses it.
pub fn claim_protection(object: &mut Object) {
    add_finalizer(object, "kubernetes.io/pvc-protection");
}

fn add_finalizer(object: &mut Object, name: &str) {
    let Some(metadata) = read::map_mut(object, "metadata") else { return };
    let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
    if finalizers.is_null() {
        *finalizers = json!([]);
    }
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|finalizer| finalizer == name)
    {
        finalizers.push(json!(name));
    }
}

/// Access modes are known, and ReadWriteOncePod stands alone. Used for volumes and claims.
pub fn access_modes(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    known_access_modes(object, &path.child("accessModes"), errors);
}

fn known_access_modes(object: &Object, at: &FieldPath, errors: &mut Errors) {
    let known = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
    let modes = read::texts(object, "accessModes");
    for mode in &modes {
        if !known.contains(mode) {
            errors.not_supported(at, *mode, &known);
        }
    }
    let shared = modes.iter().any(|mode| known.contains(mode) && *mode != "ReadWriteOncePod");
    if shared && modes.contains(&"ReadWriteOncePod") {
        errors.forbidden(at, "may not use ReadWriteOncePod with other access modes");
    }
}

/// A volume's capacity is an amount of storage, nothing else.
pub fn volume_capacity(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("capacity");
    let capacity = read::map(object, "capacity");
    if !capacity.is_some_and(|capacity| capacity.contains_key("storage") && capacity.len() == 1) {
        errors.not_supported(&at, object.get("capacity").cloned().unwrap_or(Value::Null), &["storage"]);
    }
    for (name, value) in capacity.into_iter().flatten() {
        let amount = quantities::amount(value).billionths;
        if amount < 0 {
            let whole = i64::try_from(amount / 1_000_000_000).unwrap_or(i64::MIN);
            errors.invalid(&at.key(name), whole, "must be a valid resource quantity");
        }
        if amount <= 0 {
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

/// The name of a volume and its portal fit into an initiator's name.
pub fn iscsi_portal_length(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let name = cx.root.name();
    let portal = read::text(object, "targetPortal");
    if read::present(object, "initiatorName") && name.len() + 1 + portal.len() > 64 {
        let detail = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
        errors.invalid(&path.child("targetportal"), portal, detail);
    }
}

/// The name of a target.
pub fn iscsi_iqn(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let name = read::text(object, "iqn");
    if !name.is_empty() && !is_iscsi_name(name) {
        errors.invalid(&path.child("iqn"), name, "must be valid format");
    }
}

/// The name of an initiator.
pub fn iscsi_initiator(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let name = read::text(object, "initiatorName");
    if read::present(object, "initiatorName") && !is_iscsi_name(name) {
        errors.invalid(&path.child("initiatorname"), name, "must be valid format");
    }
}

/// `iqn.yyyy-mm.domain[:any]`, `eui.` and 16 hexadecimal digits, or `naa.` and 32 of them.
fn is_iscsi_name(name: &str) -> bool {
    let hex = |text: &str, width: usize| text.len() == width && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some(rest) = name.strip_prefix("iqn.") {
        let (date, rest) = rest.split_at_checked(7).unwrap_or(("", ""));
        let dated =
            date.bytes().enumerate().all(|(at, byte)| if at == 4 { byte == b'-' } else { byte.is_ascii_digit() });
        let domain = rest.strip_prefix('.').unwrap_or_default().split(':').next().unwrap_or_default();
        let labels = !domain.is_empty()
            && domain
                .split('.')
                .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'));
        return date.len() == 7 && dated && labels && !name.chars().any(char::is_whitespace);
    }
    if let Some(rest) = name.strip_prefix("eui.") {
        return hex(rest, 16);
    }
    name.strip_prefix("naa.").is_some_and(|rest| hex(rest, 32))
}

/// A claim asks for some storage. The path is that of the resources, as it always was.
pub fn claim_request(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("resources").key("storage");
    match read::deep(object, &["resources", "requests"]).and_then(|requests| requests.get("storage")) {
        None => errors.required(&at, ""),
        Some(value) if quantities::amount(value).billionths <= 0 => {
            errors.invalid(&at, quantities::text_of(value), "must be greater than zero");
        }
        Some(_) => {}
    }
}

/// The two fields for a claim's source are well formed and agree.
pub fn claim_data_sources(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let (source, reference) = (read::map(object, "dataSource"), read::map(object, "dataSourceRef"));
    if let Some(source) = source {
        data_source(source, &path.child("dataSource"), errors);
    }
    if let Some(reference) = reference {
        let at = path.child("dataSourceRef");
        data_source(reference, &at, errors);
        let namespace = read::text(reference, "namespace");
        if !namespace.is_empty() {
            each(formats::dns1123_label(namespace), &at.child("namespace"), namespace, errors);
        }
    }
    let (Some(source), Some(reference)) = (source, reference) else { return };
    // The bad value is a path, and has no fields to show.
    if !read::text(reference, "namespace").is_empty() {
        errors.invalid(path, json!({}), "may not be specified when dataSourceRef.namespace is specified");
    } else if ["apiGroup", "kind", "name"].iter().any(|field| source.get(*field) != reference.get(*field)) {
        errors.invalid(path, json!({}), "must match dataSourceRef");
    }
}

fn data_source(source: &Object, at: &FieldPath, errors: &mut Errors) {
    for field in ["name", "kind"] {
        if read::text(source, field).is_empty() {
            errors.required(&at.child(field), "");
        }
    }
    let (group, kind) = (read::text(source, "apiGroup"), read::text(source, "kind"));
    if group.is_empty() && kind != "PersistentVolumeClaim" {
        errors.invalid(at, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
    }
    if !group.is_empty() {
        each(formats::dns1123_subdomain(group), &at.child("apiGroup"), group, errors);
    }
}

/// The older field for a claim's source holds claims and snapshots only, and each field fills the other.
pub fn claim_data_source_fields(object: &mut Object) {
    let Some(spec) = read::map_mut(object, "spec") else { return };
    drop_foreign_reference(spec, None);
    if !read::present(spec, "dataSourceRef") {
        drop_odd_source(spec);
    }
    fill_sources(spec);
}

/// The same on update; a source that was there stays as it is.
pub fn claim_data_source_update(new: &mut Object, old: &Object) {
    let before = read::map(old, "spec");
    let Some(spec) = read::map_mut(new, "spec") else { return };
    drop_foreign_reference(spec, before);
    let had =
        before.is_some_and(|before| read::present(before, "dataSource") || read::present(before, "dataSourceRef"));
    if !had && !read::present(spec, "dataSourceRef") {
        drop_odd_source(spec);
    }
    fill_sources(spec);
}

/// A source in another namespace needs a feature that is off.
fn drop_foreign_reference(spec: &mut Object, old: Option<&Object>) {
    let foreign =
        read::map(spec, "dataSourceRef").is_some_and(|reference| !read::text(reference, "namespace").is_empty());
    if foreign && !old.is_some_and(|old| read::present(old, "dataSourceRef")) {
        spec.remove("dataSourceRef");
    }
}

fn drop_odd_source(spec: &mut Object) {
    let usual = read::map(spec, "dataSource").is_some_and(|source| {
        matches!(
            (read::text(source, "apiGroup"), read::text(source, "kind")),
            ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
        )
    });
    if !usual {
        spec.remove("dataSource");
    }
}

fn fill_sources(spec: &mut Object) {
    let copied = |source: &Object| {
        let fields = ["apiGroup", "kind", "name"];
        let copy = fields.iter().filter_map(|field| source.get(*field).map(|value| (field.to_string(), value.clone())));
        Value::Object(copy.collect())
    };
    let source = read::map(spec, "dataSource").map(copied);
    let reference = read::map(spec, "dataSourceRef");
    let local = reference.is_some_and(|reference| read::text(reference, "namespace").is_empty());
    match (source, reference.map(copied)) {
        (Some(source), None) => spec.insert("dataSourceRef".to_string(), source),
        (None, Some(reference)) if local => spec.insert("dataSource".to_string(), reference),
        _ => None,
    };
}

/// A claim's spec stays, but for the volume bound to it, growth while bound, and the class where none was.
pub fn claim_spec_update(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let (spec, before) = (read::within(new, "spec"), read::within(old, "spec"));
    let key = "volume.beta.kubernetes.io/storage-class";
    let annotation = |object: &Object| read::annotations(object).get(key).and_then(Value::as_str).map(str::to_string);
    let (class_now, class_before) = (annotation(new), annotation(old));
    let named = spec.get("storageClassName").and_then(Value::as_str);
    let unnamed_before = !read::present(before, "storageClassName");
    let moved = class_before.is_some()
        && unnamed_before
        && named == class_before.as_deref()
        && (class_now.is_none() || class_now == class_before);
    if !moved && class_now.clone().unwrap_or_default() != class_before.clone().unwrap_or_default() {
        let at = path.child("metadata").child("annotations").child(key);
        errors.invalid(&at, class_now.unwrap_or_default(), "field is immutable");
    }
    let bound = read::map(new, "status").is_some_and(|status| read::text(status, "phase") == "Bound");
    let class_added =
        unnamed_before && named.is_some() && class_before.is_none_or(|class| named == Some(class.as_str()));
    if spec_without(spec, bound, before, class_added || moved) != spec_without(before, bound, before, false) {
        let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n";
        errors.forbidden(&path.child("spec"), detail);
    }
    claim_size_update(spec, before, read::within(old, "status"), &path.child("spec"), errors);
    if !read::same(spec, before, "volumeMode") {
        let mode = spec.get("volumeMode").cloned().unwrap_or(Value::Null);
        errors.invalid(&path.child("volumeMode"), mode, "field is immutable");
    }
    claim_class_update(spec, before, read::within(old, "status"), &path.child("spec"), errors);
}

/// The part of a spec that must stay: what may change is made equal to what it was.
fn spec_without(spec: &Object, bound: bool, before: &Object, class_added: bool) -> Value {
    let mut left = spec.clone();
    if read::text(before, "volumeName").is_empty() {
        left.remove("volumeName");
    }
    if class_added {
        left.remove("storageClassName");
    }
    if bound {
        left.remove("volumeAttributesClassName");
        if let Some(requests) = left.get_mut("resources").and_then(|resources| resources.get_mut("requests"))
            && let Some(requests) = requests.as_object_mut()
        {
            requests.remove("storage");
        }
    }
    Value::Object(left)
}

/// Less than before is allowed down to what there is.
fn claim_size_update(spec: &Object, before: &Object, status: &Object, at: &FieldPath, errors: &mut Errors) {
    let asked = |spec: &Object| {
        let requests = read::deep(spec, &["resources", "requests"]);
        requests.and_then(|requests| requests.get("storage")).map_or(0, |value| quantities::amount(value).billionths)
    };
    let there = read::map(status, "capacity").and_then(|capacity| capacity.get("storage"));
    let there = there.map_or(0, |value| quantities::amount(value).billionths);
    if asked(spec) < asked(before) && asked(spec) <= there {
        let at = at.child("resources").child("requests").child("storage");
        errors.forbidden(&at, "field can not be less than status.capacity");
    }
}

/// A class of attributes that is in force cannot be taken away.
fn claim_class_update(spec: &Object, before: &Object, status: &Object, at: &FieldPath, errors: &mut Errors) {
    let field = "volumeAttributesClassName";
    if spec.get(field) == before.get(field) || !read::present(status, "currentVolumeAttributesClassName") {
        return;
    }
    let suffix = "is forbidden when status.currentVolumeAttributesClassName is not nil";
    if !read::present(spec, field) {
        errors.forbidden(&at.child(field), format!("update to nil {suffix}"));
    } else if read::text(spec, field).is_empty() {
        errors.forbidden(&at.child(field), format!("update to empty string {suffix}"));
    }
}

/// What a claim reports about its resources.
pub fn claim_status_resources(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(status) = read::map(object, "status") else { return };
    let at = path.child("status");
    for (name, value) in read::map(status, "capacity").into_iter().flatten() {
        valid_quantity(value, &at.child("capacity").key(name), errors);
    }
    let states = [
        "ControllerResizeInProgress",
        "ControllerResizeInfeasible",
        "NodeResizeInProgress",
        "NodeResizeInfeasible",
        "NodeResizePending",
    ];
    let statuses = at.child("allocatedResourceStatuses");
    for (name, state) in read::map(status, "allocatedResourceStatuses").into_iter().flatten() {
        claim_resource_name(name, &statuses, errors);
        if !states.contains(&state.as_str().unwrap_or_default()) {
            errors.not_supported(&statuses, name.as_str(), &states);
        }
    }
    let allocated = at.child("allocatedResources");
    for (name, value) in read::map(status, "allocatedResources").into_iter().flatten() {
        if claim_resource_name(name, &allocated, errors) {
            valid_quantity(value, &allocated.key(name), errors);
        }
    }
}

fn claim_resource_name(name: &str, at: &FieldPath, errors: &mut Errors) -> bool {
    let found = formats::qualified_name(name);
    let well_formed = found.is_empty();
    each(found, at, name, errors);
    let native = well_formed && quantities::is_native(name) && name != "storage";
    if native {
        errors.not_supported(at, name, &["storage"]);
    }
    well_formed && !native
}

fn valid_quantity(value: &Value, at: &FieldPath, errors: &mut Errors) {
    let amount = quantities::amount(value).billionths;
    if amount < 0 {
        let whole = i64::try_from(amount / 1_000_000_000).unwrap_or(i64::MIN);
        errors.invalid(at, whole, "must be a valid resource quantity");
    }
}

/// The parameters of a class: few enough, small enough, none without a name.
pub fn class_parameters(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(parameters) = read::map(object, "parameters") else { return };
    let at = path.child("parameters");
    if parameters.len() > 512 {
        errors.too_long(&at, Value::Null, 512);
        return;
    }
    if parameters.contains_key("") {
        errors.invalid(&at, "", "field can not be empty.");
    }
    if text_size(parameters) > 256 * 1024 {
        errors.too_long(&at, Value::Null, 256 * 1024);
    }
}

fn text_size(texts: &Object) -> usize {
    texts.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum()
}

/// The topologies that a class serves: values without repetition, keys without repetition, terms without repetition.
pub fn class_topologies(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let mut seen: Vec<Vec<(String, BTreeSet<String>)>> = Vec::new();
    for (index, term) in read::objects(object, "allowedTopologies") {
        let at = path.child("allowedTopologies").index(index).child("matchLabelExpressions");
        let mut keys: Vec<(String, BTreeSet<String>)> = Vec::new();
        for (place, requirement) in read::objects(term, "matchLabelExpressions") {
            let at = at.index(place);
            let key = read::text(requirement, "key");
            let values = topology_values(requirement, &at, errors);
            each(formats::qualified_name(key), &at.child("key"), key, errors);
            if keys.iter().any(|(known, _)| known == key) {
                errors.duplicate(&at.child("key"), key);
                keys.retain(|(known, _)| known != key);
            }
            keys.push((key.to_string(), values));
        }
        keys.sort();
        // Upstream compares with as many empty terms as there are terms, too.
        let empty = if keys.is_empty() { read::list(object, "allowedTopologies").len() } else { 0 };
        for _ in 0..empty + seen.iter().filter(|known| **known == keys).count() {
            errors.duplicate(&at, "");
        }
        seen.push(keys);
    }
}

fn topology_values(requirement: &Object, at: &FieldPath, errors: &mut Errors) -> BTreeSet<String> {
    let at = at.child("values");
    let values = read::texts(requirement, "values");
    if values.is_empty() {
        errors.required(&at, "");
    }
    let mut seen = BTreeSet::new();
    for (index, value) in values.into_iter().enumerate() {
        if !seen.insert(value.to_string()) {
            errors.duplicate(&at.index(index), value);
        }
    }
    seen
}

/// An attachment is of a named volume or of one written out, not of both.
pub fn attachment_source(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let source = read::within(read::within(object, "spec"), "source");
    let at = path.child("spec").child("source");
    let exactly = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (read::map(source, "inlineVolumeSpec"), read::present(source, "persistentVolumeName")) {
        (None, false) => errors.required(&at, exactly),
        (Some(_), true) => errors.forbidden(&at, exactly),
        (None, true) => {
            if read::text(source, "persistentVolumeName").is_empty() {
                errors.required(&at.child("persistentVolumeName"), "must specify non empty persistentVolumeName");
            }
        }
        (Some(spec), false) => inline_volume(spec, &at.child("inlineVolumeSpec"), errors),
    }
}

/// The fields of a volume's spec that do not say where the volume is.
const NOT_A_VOLUME: [&str; 9] = [
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
];

/// A volume written out in an attachment is a CSI volume that nobody claims.
fn inline_volume(spec: &Object, at: &FieldPath, errors: &mut Errors) {
    let context = "in the context of inline volumes";
    for field in ["claimRef", "capacity"] {
        if read::map(spec, field).is_some_and(|value| field == "claimRef" || !value.is_empty()) {
            errors.forbidden(&at.child(field), format!("may not be specified {context}"));
        }
    }
    if !read::present(spec, "csi") {
        errors.required(&at.child("csi"), format!("has to be specified {context}"));
    }
    if !spec.iter().any(|(field, value)| !value.is_null() && !NOT_A_VOLUME.contains(&field.as_str())) {
        errors.required(at, "must specify a volume type");
    }
    if read::list(spec, "accessModes").is_empty() {
        errors.required(&at.child("accessModes"), "");
    }
    known_access_modes(spec, &at.child("accessModes"), errors);
    let policy = read::text(spec, "persistentVolumeReclaimPolicy");
    if !policy.is_empty() && policy != "Retain" {
        let at = at.child("persistentVolumeReclaimPolicy");
        errors.forbidden(&at, format!("may only be Retain {context}"));
    }
    for field in ["nodeAffinity", "storageClassName"] {
        if spec.get(field).is_some_and(|value| !value.is_null() && *value != json!("")) {
            errors.forbidden(&at.child(field), format!("may not be specified {context}"));
        }
    }
    let mode = read::text(spec, "volumeMode");
    if read::present(spec, "volumeMode") && mode != "Filesystem" {
        let detail = format!("may not specify volumeMode other than Filesystem {context}");
        errors.forbidden(&at.child("volumeMode"), detail);
    }
}

/// What an attacher reports.
pub fn attachment_status(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(status) = read::map(object, "status") else { return };
    let at = path.child("status");
    if read::map(status, "attachmentMetadata").is_some_and(|texts| text_size(texts) > 256 * 1024) {
        errors.too_long(&at.child("attachmentMetadata"), Value::Null, 256 * 1024);
    }
    for field in ["attachError", "detachError"] {
        let Some(error) = read::map(status, field) else { continue };
        let at = at.child(field);
        if read::text(error, "message").len() > 1024 {
            // The limit named is that of the metadata, as upstream says it.
            errors.too_long(&at.child("message"), Value::Null, 256 * 1024);
        }
        let code = read::number(error, "errorCode");
        if code < 0 {
            errors.invalid(&at.child("errorCode"), code, "must be between 0 and 2147483647, inclusive");
        }
    }
}

/// What is attached where does not change.
pub fn attachment_spec_update(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    if read::same(new, old, "spec") {
        return;
    }
    let spec = read::within(new, "spec");
    let source = read::within(spec, "source");
    let shown = json!({
        "Attacher": read::text(spec, "attacher"),
        "Source": {
            "PersistentVolumeName": source.get("persistentVolumeName").cloned().unwrap_or(Value::Null),
            "InlineVolumeSpec": source.get("inlineVolumeSpec").cloned().unwrap_or(Value::Null),
        },
        "NodeName": read::text(spec, "nodeName"),
    });
    errors.invalid(&path.child("spec"), shown, "field is immutable");
}

/// The tokens that a driver wants: one per audience, of a sensible age.
pub fn driver_token_requests(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(spec) = read::map(object, "spec") else { return };
    let mut seen = Vec::new();
    for (index, request) in read::objects(spec, "tokenRequests") {
        let at = path.child("spec").child("tokenRequests").index(index);
        let audience = read::text(request, "audience");
        if seen.contains(&audience) {
            errors.duplicate(&at.child("audience"), audience);
            continue;
        }
        seen.push(audience);
        let seconds = read::number(request, "expirationSeconds");
        if read::present(request, "expirationSeconds") && seconds < 600 {
            let detail = "may not specify a duration less than 10 minutes";
            errors.invalid(&at.child("expirationSeconds"), seconds, detail);
        }
        if seconds > 1 << 32 {
            let detail = "may not specify a duration larger than 2^32 seconds";
            errors.invalid(&at.child("expirationSeconds"), seconds, detail);
        }
    }
}

/// The ways in which a driver's volumes live; errors name the list.
pub fn driver_lifecycle_modes(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(spec) = read::map(object, "spec") else { return };
    for mode in read::texts(spec, "volumeLifecycleModes") {
        if !matches!(mode, "Persistent" | "Ephemeral") {
            let at = path.child("spec").child("volumeLifecycleModes");
            errors.not_supported(&at, mode, &["Persistent", "Ephemeral"]);
        }
    }
}

/// The topology keys of a driver on a node; errors name the driver.
pub fn node_driver_topology_keys(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let mut seen = Vec::new();
    for key in read::texts(object, "topologyKeys") {
        if key.is_empty() {
            errors.required(path, "");
        }
        if seen.contains(&key) {
            errors.duplicate(path, key);
        }
        seen.push(key);
        each(formats::qualified_name(key), path, key, errors);
    }
}

/// A driver on a node stays as it is, but for what it can take.
pub fn node_drivers_update(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let (Some(new), Some(old)) = (read::map(new, "spec"), read::map(old, "spec")) else { return };
    for (_, before) in read::objects(old, "drivers") {
        for (_, now) in read::objects(new, "drivers") {
            if read::text(now, "name") != read::text(before, "name") {
                continue;
            }
            if !["nodeID", "topologyKeys"].iter().all(|field| read::same(now, before, field)) {
                let shown = json!({
                    "Name": read::text(now, "name"),
                    "NodeID": read::text(now, "nodeID"),
                    "TopologyKeys": now.get("topologyKeys").cloned().unwrap_or(Value::Null),
                    "Allocatable": null,
                });
                errors.invalid(&path.child("spec").child("drivers"), shown, "field is immutable");
            }
        }
    }
}
