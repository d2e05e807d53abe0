//! What a pod, or the template of one, refers to.

use serde_json::Value;

use crate::Path;
use crate::Used::{Claim, ConfigMap, PriorityClass, ResourceClaim, Secret, ServiceAccount, StorageClass};
use crate::references::{Found, items};

/// The names that a volume holds, by the field of its source and what is below that.
const SECRETS_OF_VOLUMES: [(&str, &str, &str); 9] = [
    ("secret", "", "secretName"),
    ("azureFile", "", "secretName"),
    ("cephfs", "secretRef", "name"),
    ("cinder", "secretRef", "name"),
    ("flexVolume", "secretRef", "name"),
    ("iscsi", "secretRef", "name"),
    ("rbd", "secretRef", "name"),
    ("scaleIO", "secretRef", "name"),
    ("storageos", "secretRef", "name"),
];

/// Tells what a pod's spec refers to; a template has no name, and the claims that are made for its pods are not known yet.
pub fn references(spec: &Value, at: &Path<'_>, name: Option<&str>, found: &mut Found<'_>) {
    found.text(ServiceAccount, spec, at, "serviceAccountName");
    found.text(PriorityClass, spec, at, "priorityClassName");
    for (i, secret) in items(spec, "imagePullSecrets") {
        found.text(Secret, secret, &at.field("imagePullSecrets").item(i), "name");
    }
    for (i, claim) in items(spec, "resourceClaims") {
        found.text(ResourceClaim, claim, &at.field("resourceClaims").item(i), "resourceClaimName");
    }
    for (i, volume) in items(spec, "volumes") {
        volume_references(volume, &at.field("volumes").item(i), name, found);
    }
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for (i, container) in items(spec, list) {
            container_references(container, &at.field(list).item(i), found);
        }
    }
}

fn volume_references(volume: &Value, at: &Path<'_>, pod: Option<&str>, found: &mut Found<'_>) {
    let Some(sources) = volume.as_object() else { return };
    for (source, value) in sources {
        let at = at.field(source);
        match source.as_str() {
            "configMap" => found.text(ConfigMap, value, &at, "name"),
            "persistentVolumeClaim" => found.text(Claim, value, &at, "claimName"),
            "csi" => {
                if let Some(secret) = value.get("nodePublishSecretRef") {
                    found.text(Secret, secret, &at.field("nodePublishSecretRef"), "name");
                }
            }
            "projected" => {
                for (i, source) in items(value, "sources") {
                    let sources = at.field("sources");
                    let at = &sources.item(i);
                    for (field, used) in [("secret", Secret), ("configMap", ConfigMap)] {
                        if let Some(source) = source.get(field) {
                            found.text(used, source, &at.field(field), "name");
                        }
                    }
                }
            }
            "ephemeral" => {
                if let Some(pod) = pod {
                    let volume = volume.get("name").and_then(Value::as_str).unwrap_or_default();
                    found.named(Claim, &format!("{pod}-{volume}"), &at);
                }
                if let Some(spec) = value.pointer("/volumeClaimTemplate/spec") {
                    let template = at.field("volumeClaimTemplate");
                    found.text(StorageClass, spec, &template.field("spec"), "storageClassName");
                }
            }
            _ => {
                let known = SECRETS_OF_VOLUMES.iter().find(|(name, ..)| name == source);
                match known {
                    Some((_, "", field)) => found.text(Secret, value, &at, field),
                    Some((_, below, field)) => {
                        if let Some(value) = value.get(*below) {
                            found.text(Secret, value, &at.field(below), field);
                        }
                    }
                    None => {}
                }
            }
        }
    }
}

fn container_references(container: &Value, at: &Path<'_>, found: &mut Found<'_>) {
    for (i, variable) in items(container, "env") {
        let Some(from) = variable.get("valueFrom") else { continue };
        let env = at.field("env");
        let at = &env.item(i);
        let at = &at.field("valueFrom");
        for (field, used) in [("secretKeyRef", Secret), ("configMapKeyRef", ConfigMap)] {
            if let Some(source) = from.get(field) {
                found.text(used, source, &at.field(field), "name");
            }
        }
    }
    for (i, source) in items(container, "envFrom") {
        let from = at.field("envFrom");
        let at = &from.item(i);
        for (field, used) in [("secretRef", Secret), ("configMapRef", ConfigMap)] {
            if let Some(source) = source.get(field) {
                found.text(used, source, &at.field(field), "name");
            }
        }
    }
}
