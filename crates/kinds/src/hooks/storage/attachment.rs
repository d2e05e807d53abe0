//! What rules cannot say about attachments of volumes to nodes.

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath};
use serde_json::{Value, json};

use super::limits::{known_access_modes, text_size};
use crate::hooks::dumped;

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
    let shown = dumped("storage.v1.VolumeAttachmentSpec", read::within(new, "spec"));
    errors.invalid_shown(&path.child("spec"), shown, "field is immutable");
}
