//! What an object refers to, kind by kind.

use std::collections::BTreeMap;
use std::sync::Arc;

use pawl_meta::object::{Meta, Object, at};
use serde_json::Value;

use crate::templates::{PROVISIONER, SNAPSHOTTER, Template};
use crate::{Path, Target, Used, User, pods};

/// One reference.
#[derive(Debug)]
pub struct Reference<'a> {
    pub used: Used,
    pub namespace: &'a str,
    pub name: &'a str,
    pub at: &'a Path<'a>,
    /// Whether what is named must stay.
    pub protects: bool,
}

/// Tells every reference that an object holds itself.
pub fn references(user: User, object: &Object, tell: &mut dyn FnMut(&Reference<'_>)) {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let root = Path::Root;
    let at = root.field("spec");
    let found = &mut Found { namespace: object.namespace(), protects: true, tell };
    match user {
        User::Pod => pods::references(spec, &at, Some(object.name()), found),
        User::Deployment | User::DaemonSet => template(spec, &at, found),
        User::StatefulSet => {
            template(spec, &at, found);
            for (i, claim) in items(spec, "volumeClaimTemplates") {
                if let Some(spec) = claim.get("spec") {
                    let item = at.field("volumeClaimTemplates");
                    let item = item.item(i);
                    found.text(Used::StorageClass, spec, &item.field("spec"), "storageClassName");
                }
            }
        }
        User::CronJob => {
            if let Some(job) = spec.pointer("/jobTemplate/spec") {
                template(job, &at.field("jobTemplate").field("spec"), found);
            }
        }
        User::Volume => volume(object, spec, &at, found),
        User::Claim => found.text(Used::StorageClass, spec, &at, "storageClassName"),
        User::SnapshotContent => annotated(object, DELETE_SNAPSHOT, found),
        User::Ingress => {
            found.protects = false;
            for (i, tls) in items(spec, "tls") {
                found.text(Used::Secret, tls, &at.field("tls").item(i), "secretName");
            }
        }
        User::ServiceAccount => {
            found.protects = false;
            for list in ["secrets", "imagePullSecrets"] {
                let Some(Value::Array(secrets)) = object.get(list) else { continue };
                for (i, secret) in secrets.iter().enumerate() {
                    found.text(Used::Secret, secret, &root.field(list).item(i), "name");
                }
            }
        }
        User::StorageClass | User::SnapshotClass => {}
    }
}

/// The annotations that name the Secret with which a volume is deleted.
const DELETE_VOLUME: [&str; 2] = [
    "volume.kubernetes.io/provisioner-deletion-secret-name",
    "volume.kubernetes.io/provisioner-deletion-secret-namespace",
];
/// The same of a snapshot.
const DELETE_SNAPSHOT: [&str; 2] =
    ["snapshot.storage.kubernetes.io/deletion-secret-name", "snapshot.storage.kubernetes.io/deletion-secret-namespace"];
/// The Secrets that a CSI driver needs as long as its volume is there.
const SECRETS_OF_CSI: [&str; 5] = [
    "controllerPublishSecretRef",
    "nodeStageSecretRef",
    "nodePublishSecretRef",
    "controllerExpandSecretRef",
    "nodeExpandSecretRef",
];
/// Volumes of other drivers name one; it is shown, not protected.
const OTHER_DRIVERS: [&str; 7] = ["cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"];

fn template(spec: &Value, at: &Path<'_>, found: &mut Found<'_>) {
    if let Some(pod) = spec.pointer("/template/spec") {
        pods::references(pod, &at.field("template").field("spec"), None, found);
    }
}

fn volume(object: &Object, spec: &Value, at: &Path<'_>, found: &mut Found<'_>) {
    found.text(Used::StorageClass, spec, at, "storageClassName");
    if let Some(csi) = spec.get("csi") {
        for field in SECRETS_OF_CSI {
            if let Some(secret) = csi.get(field) {
                found.elsewhere(secret, &at.field("csi").field(field), ("namespace", "name"));
            }
        }
        annotated(object, DELETE_VOLUME, found);
        return;
    }
    found.protects = false;
    for driver in OTHER_DRIVERS {
        if let Some(secret) = spec.get(driver).and_then(|source| source.get("secretRef")) {
            found.elsewhere(secret, &at.field(driver).field("secretRef"), ("namespace", "name"));
        }
    }
    if let Some(source) = spec.get("azureFile") {
        found.elsewhere(source, &at.field("azureFile"), ("secretNamespace", "secretName"));
    }
}

fn annotated(object: &Object, [name, namespace]: [&str; 2], found: &mut Found<'_>) {
    if let (Some(named), Some(namespace)) = (object.annotation(name), object.annotation(namespace)) {
        let root = Path::Root;
        let metadata = root.field("metadata");
        let annotations = metadata.field("annotations");
        found.in_namespace(Used::Secret, namespace, named, &Path::Key(&annotations, name));
    }
}

/// The items of a list, where it is one.
pub fn items<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = (usize, &'v Value)> {
    value.get(field).and_then(Value::as_array).into_iter().flatten().enumerate()
}

/// Who is told of what is found.
pub struct Found<'t> {
    /// The namespace of the object that is looked at.
    namespace: &'t str,
    protects: bool,
    tell: &'t mut dyn FnMut(&Reference<'_>),
}

impl Found<'_> {
    /// A name in a field, of something in the same namespace.
    pub fn text(&mut self, used: Used, value: &Value, at: &Path<'_>, field: &str) {
        if let Some(name) = value.get(field).and_then(Value::as_str) {
            self.named(used, name, &at.field(field));
        }
    }

    pub fn named(&mut self, used: Used, name: &str, at: &Path<'_>) {
        self.in_namespace(used, self.namespace, name, at);
    }

    /// A Secret that is named with its namespace.
    fn elsewhere(&mut self, value: &Value, at: &Path<'_>, (namespace, name): (&str, &str)) {
        let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
        if !text(namespace).is_empty() {
            self.in_namespace(Used::Secret, text(namespace), text(name), &at.field(name));
        }
    }

    fn in_namespace(&mut self, used: Used, namespace: &str, name: &str, at: &Path<'_>) {
        if !name.is_empty() {
            (self.tell)(&Reference { used, namespace, name, at, protects: self.protects });
        }
    }
}

/// What the index keeps of an object: each target once, and what decides about the templates of classes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Whether a reference protects its target stands beside it.
    pub targets: Box<[(Target, bool)]>,
    pub(crate) storage: Storage,
}

/// What storage is made of, as far as it decides about templates.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Storage {
    #[default]
    Nothing,
    Volume {
        class: Box<str>,
        claim: Option<ClaimRef>,
        /// The Secret of its deletion is noted in the volume itself.
        annotated: bool,
    },
    Claim {
        uid: Box<str>,
        volume: Box<str>,
        annotations: BTreeMap<Box<str>, Box<str>>,
    },
    Content {
        class: Box<str>,
        snapshot: (Box<str>, Box<str>),
    },
    /// Of volumes or of snapshots.
    Class(Option<Template>),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ClaimRef {
    pub namespace: Box<str>,
    pub name: Box<str>,
    pub uid: Box<str>,
}

impl Uses {
    pub fn of(user: User, object: &Object) -> Arc<Self> {
        let mut targets: Vec<(Target, bool)> = Vec::new();
        references(user, object, &mut |reference| {
            let Reference { used, namespace, name, protects, .. } = *reference;
            targets.push((Target::new(used, namespace, name), protects));
        });
        targets.sort_unstable();
        // What protects comes last of its target, and counts.
        targets.reverse();
        targets.dedup_by(|next, kept| next.0 == kept.0);
        targets.reverse();
        Arc::new(Self { targets: targets.into(), storage: Storage::of(user, object) })
    }
}

impl Storage {
    fn of(user: User, object: &Object) -> Self {
        let text = |path: &str| Box::from(at(object, path).and_then(Value::as_str).unwrap_or_default());
        match user {
            User::Volume if at(object, "spec.csi").is_some() => Self::Volume {
                class: text("spec.storageClassName"),
                claim: at(object, "spec.claimRef").map(|_| ClaimRef {
                    namespace: text("spec.claimRef.namespace"),
                    name: text("spec.claimRef.name"),
                    uid: text("spec.claimRef.uid"),
                }),
                annotated: DELETE_VOLUME.iter().all(|key| object.annotation(key).is_some()),
            },
            User::Claim => {
                let annotations = at(object, "metadata.annotations").and_then(Value::as_object).into_iter().flatten();
                let annotations =
                    annotations.filter_map(|(key, value)| Some((key.as_str().into(), value.as_str()?.into())));
                Self::Claim {
                    uid: object.uid().into(),
                    volume: text("spec.volumeName"),
                    annotations: annotations.collect(),
                }
            }
            User::SnapshotContent => Self::Content {
                class: text("spec.volumeSnapshotClassName"),
                snapshot: (text("spec.volumeSnapshotRef.namespace"), text("spec.volumeSnapshotRef.name")),
            },
            User::StorageClass => Self::Class(Template::of(object, &PROVISIONER)),
            User::SnapshotClass => Self::Class(Template::of(object, &SNAPSHOTTER)),
            _ => Self::Nothing,
        }
    }
}

/// Whether a user is on its way out by itself, so that what it uses is soon free: it is being deleted, or it is a volume
/// that its driver deletes with its claim, and the claim is going or gone.
pub fn is_going(user: User, object: &Object, claim: Option<&Object>) -> bool {
    let text = |path: &str| at(object, path).and_then(Value::as_str).unwrap_or_default();
    let is_let_go = || text("status.phase") == "Released" || claim.is_some_and(Meta::is_deleting);
    object.is_deleting()
        || user == User::Volume && text("spec.persistentVolumeReclaimPolicy") == "Delete" && is_let_go()
}

/// The key of the claim that a volume belongs to.
pub fn claim_of(user: User, object: &Object) -> Option<String> {
    let text = |path: &str| at(object, path).and_then(Value::as_str);
    let claim = (text("spec.claimRef.namespace")?, text("spec.claimRef.name")?);
    (user == User::Volume).then(|| format!("{}/{}", claim.0, claim.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Every reference as a line: kind, key, path, and a star where it protects.
    fn check(user: User, object: Value, expect: &[&str]) {
        let mut lines = Vec::new();
        references(user, object.as_object().unwrap(), &mut |r| {
            let star = if r.protects { "*" } else { "" };
            let Target { key, .. } = Target::new(r.used, r.namespace, r.name);
            lines.push(format!("{:?} {key} {}{star}", r.used, r.at));
        });
        assert_eq!(lines, expect, "{object}");
    }

    #[test]
    fn a_pod_uses_what_it_names() {
        let key = |kind: &str, name: &str| json!({"name": "V", "valueFrom": {kind: {"name": name, "key": "k"}}});
        let pod = json!({"metadata": {"name": "p", "namespace": "n"}, "spec": {
            "serviceAccountName": "account", "priorityClassName": "high",
            "imagePullSecrets": [{"name": "pull"}, {}],
            "resourceClaims": [{"name": "r", "resourceClaimName": "gpu"}],
            "volumes": [
                {"name": "a", "secret": {"secretName": "s"}},
                {"name": "b", "configMap": {"name": "c"}},
                {"name": "c", "persistentVolumeClaim": {"claimName": "claim"}},
                {"name": "d", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}},
                {"name": "e", "projected": {"sources": [{"secret": {"name": "ps"}}, {"configMap": {"name": "pc"}}]}},
                {"name": "f", "emptyDir": {}},
                {"name": "g", "csi": {"nodePublishSecretRef": {"name": "inline"}}}],
            "initContainers": [{"env": [key("secretKeyRef", "i")]}],
            "containers": [{"env": [{"name": "X", "value": "y"}, key("configMapKeyRef", "e")],
                "envFrom": [{"secretRef": {"name": "es"}}, {"configMapRef": {"name": "ec"}}]}],
            "ephemeralContainers": [{"envFrom": [{"secretRef": {"name": "debug"}}]}]}});
        check(
            User::Pod,
            pod,
            &[
                "ServiceAccount n/account spec.serviceAccountName*",
                "PriorityClass high spec.priorityClassName*",
                "Secret n/pull spec.imagePullSecrets[0].name*",
                "ResourceClaim n/gpu spec.resourceClaims[0].resourceClaimName*",
                "Secret n/s spec.volumes[0].secret.secretName*",
                "ConfigMap n/c spec.volumes[1].configMap.name*",
                "Claim n/claim spec.volumes[2].persistentVolumeClaim.claimName*",
                "Claim n/p-d spec.volumes[3].ephemeral*",
                "StorageClass fast spec.volumes[3].ephemeral.volumeClaimTemplate.spec.storageClassName*",
                "Secret n/ps spec.volumes[4].projected.sources[0].secret.name*",
                "ConfigMap n/pc spec.volumes[4].projected.sources[1].configMap.name*",
                "Secret n/inline spec.volumes[6].csi.nodePublishSecretRef.name*",
                "Secret n/i spec.initContainers[0].env[0].valueFrom.secretKeyRef.name*",
                "ConfigMap n/e spec.containers[0].env[1].valueFrom.configMapKeyRef.name*",
                "Secret n/es spec.containers[0].envFrom[0].secretRef.name*",
                "ConfigMap n/ec spec.containers[0].envFrom[1].configMapRef.name*",
                "Secret n/debug spec.ephemeralContainers[0].envFrom[0].secretRef.name*",
            ],
        );
    }

    #[test]
    fn every_volume_source_with_a_secret_counts() {
        for source in ["cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"] {
            let volume = json!({"name": "v", source: {"secretRef": {"name": "s"}}});
            let pod = json!({"metadata": {"namespace": "n"}, "spec": {"volumes": [volume]}});
            check(User::Pod, pod, &[&format!("Secret n/s spec.volumes[0].{source}.secretRef.name*")]);
            let spec = json!({source: {"secretRef": {"name": "s", "namespace": "m"}}});
            check(User::Volume, json!({"spec": spec}), &[&format!("Secret m/s spec.{source}.secretRef.name")]);
        }
        let pod = json!({"metadata": {"namespace": "n"}, "spec": {"volumes": [{"azureFile": {"secretName": "s"}}]}});
        check(User::Pod, pod, &["Secret n/s spec.volumes[0].azureFile.secretName*"]);
        let azure = json!({"azureFile": {"secretName": "s", "secretNamespace": "m"}});
        check(User::Volume, json!({"spec": azure}), &["Secret m/s spec.azureFile.secretName"]);
    }

    #[test]
    fn templates_count_like_pods() {
        let pod = json!({"spec": {"volumes": [{"name": "v", "secret": {"secretName": "s"}}, {"ephemeral": {}}],
            "containers": [{"envFrom": [{"configMapRef": {"name": "c"}}]}]}});
        let expect = |at: &str| {
            [
                format!("Secret n/s {at}.spec.volumes[0].secret.secretName*"),
                format!("ConfigMap n/c {at}.spec.containers[0].envFrom[0].configMapRef.name*"),
            ]
        };
        let run = |user: User, spec: Value, at: &str| {
            let expect = expect(at);
            check(user, json!({"metadata": {"namespace": "n"}, "spec": spec}), &[&expect[0], &expect[1]]);
        };
        for user in [User::Deployment, User::StatefulSet, User::DaemonSet] {
            run(user, json!({"template": pod}), "spec.template");
        }
        run(User::CronJob, json!({"jobTemplate": {"spec": {"template": pod}}}), "spec.jobTemplate.spec.template");
        let claims = json!({"volumeClaimTemplates": [{"spec": {"storageClassName": "fast"}}]});
        let path = "StorageClass fast spec.volumeClaimTemplates[0].spec.storageClassName*";
        check(User::StatefulSet, json!({"spec": claims}), &[path]);
    }

    #[test]
    fn volumes_name_secrets_anywhere() {
        let secret = |name: &str| json!({"name": name, "namespace": "m"});
        let csi = json!({"controllerPublishSecretRef": secret("a"), "nodeStageSecretRef": secret("b"),
            "nodePublishSecretRef": secret("c"), "controllerExpandSecretRef": secret("d"),
            "nodeExpandSecretRef": secret("e")});
        let annotations = json!({"volume.kubernetes.io/provisioner-deletion-secret-name": "f",
            "volume.kubernetes.io/provisioner-deletion-secret-namespace": "k"});
        let volume = json!({"metadata": {"name": "pv", "annotations": annotations},
            "spec": {"storageClassName": "fast", "csi": csi}});
        check(
            User::Volume,
            volume,
            &[
                "StorageClass fast spec.storageClassName*",
                "Secret m/a spec.csi.controllerPublishSecretRef.name*",
                "Secret m/b spec.csi.nodeStageSecretRef.name*",
                "Secret m/c spec.csi.nodePublishSecretRef.name*",
                "Secret m/d spec.csi.controllerExpandSecretRef.name*",
                "Secret m/e spec.csi.nodeExpandSecretRef.name*",
                "Secret k/f metadata.annotations[volume.kubernetes.io/provisioner-deletion-secret-name]*",
            ],
        );
        let annotations = json!({"snapshot.storage.kubernetes.io/deletion-secret-name": "s",
            "snapshot.storage.kubernetes.io/deletion-secret-namespace": "m"});
        let content = json!({"metadata": {"annotations": annotations}});
        let path = "Secret m/s metadata.annotations[snapshot.storage.kubernetes.io/deletion-secret-name]*";
        check(User::SnapshotContent, content, &[path]);
    }

    #[test]
    fn what_is_only_shown_does_not_protect() {
        let ingress = json!({"metadata": {"namespace": "n"}, "spec": {"tls": [{}, {"secretName": "s"}]}});
        check(User::Ingress, ingress, &["Secret n/s spec.tls[1].secretName"]);
        let account =
            json!({"metadata": {"namespace": "n"}, "secrets": [{"name": "s"}], "imagePullSecrets": [{"name": "p"}]});
        check(User::ServiceAccount, account, &["Secret n/s secrets[0].name", "Secret n/p imagePullSecrets[0].name"]);
    }

    #[test]
    fn each_target_counts_once() {
        let volume = json!({"spec": {"csi": {"nodeStageSecretRef": {"name": "s", "namespace": "m"},
            "nodePublishSecretRef": {"name": "s", "namespace": "m"}}}});
        let uses = Uses::of(User::Volume, volume.as_object().unwrap());
        assert_eq!(*uses.targets, [(Target::new(Used::Secret, "m", "s"), true)]);
    }

    #[test]
    fn a_volume_that_its_driver_deletes_is_going() {
        let leaving = json!({"metadata": {"deletionTimestamp": "t"}});
        let volume = |phase: &str, policy: &str, metadata: Value| {
            let volume = json!({"metadata": metadata, "spec": {"persistentVolumeReclaimPolicy": policy},
                "status": {"phase": phase}});
            volume.as_object().unwrap().clone()
        };
        let going =
            |phase: &str, policy: &str, metadata| is_going(User::Volume, &volume(phase, policy, metadata), None);
        assert!(is_going(User::Volume, &volume("Bound", "Delete", json!({})), leaving.as_object()));
        assert!(!is_going(User::Volume, &volume("Bound", "Retain", json!({})), leaving.as_object()));
        assert!(going("Released", "Delete", json!({})));
        assert!(!going("Released", "Retain", json!({})));
        assert!(!going("Bound", "Delete", json!({})));
        assert!(going("Bound", "Retain", json!({"deletionTimestamp": "t"})));
    }
}
