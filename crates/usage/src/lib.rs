//! Who uses what: the references of an object to others, with the fields that hold them, and the reverse index. Pure: nothing
//! here reads, writes or decides.
//!
//! A reference either protects what it names (KEP-2639 lists which do) or is only shown. What a volume or a snapshot refers to
//! by the template of its class follows from other objects; the index brings them together.

mod index;
mod pods;
mod references;
mod templates;

use std::fmt;

use memchr::memmem;

pub use index::{Changed, Index, Who};
pub use references::{Reference, Uses, claim_of, is_going, references};

/// A kind of objects that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Used {
    Secret,
    ConfigMap,
    Claim,
    ServiceAccount,
    PriorityClass,
    StorageClass,
    ResourceClaim,
}

impl Used {
    /// The kind of a resource, where its users are known.
    pub fn of(group: &str, plural: &str) -> Option<Self> {
        Some(match (group, plural) {
            ("", "secrets") => Self::Secret,
            ("", "configmaps") => Self::ConfigMap,
            ("", "persistentvolumeclaims") => Self::Claim,
            ("", "serviceaccounts") => Self::ServiceAccount,
            ("scheduling.k8s.io", "priorityclasses") => Self::PriorityClass,
            ("storage.k8s.io", "storageclasses") => Self::StorageClass,
            ("resource.k8s.io", "resourceclaims") => Self::ResourceClaim,
            _ => return None,
        })
    }

    fn is_namespaced(self) -> bool {
        !matches!(self, Self::PriorityClass | Self::StorageClass)
    }
}

/// An object that is used, or would be if it were there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    pub used: Used,
    /// `namespace/name`, or the name of what is in no namespace.
    pub key: Box<str>,
}

impl Target {
    pub fn new(used: Used, namespace: &str, name: &str) -> Self {
        let key = if used.is_namespaced() { [namespace, "/", name].concat().into() } else { name.into() };
        Self { used, key }
    }

    pub fn namespace(&self) -> &str {
        self.key.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    pub fn name(&self) -> &str {
        self.key.split_once('/').map_or(&*self.key, |(_, name)| name)
    }
}

/// A kind of objects that use others, or that say what those refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum User {
    Pod,
    Deployment,
    StatefulSet,
    DaemonSet,
    CronJob,
    Volume,
    Claim,
    StorageClass,
    SnapshotContent,
    SnapshotClass,
    Ingress,
    ServiceAccount,
}

impl User {
    pub const ALL: [Self; 12] = [
        Self::Pod,
        Self::Deployment,
        Self::StatefulSet,
        Self::DaemonSet,
        Self::CronJob,
        Self::Volume,
        Self::Claim,
        Self::StorageClass,
        Self::SnapshotContent,
        Self::SnapshotClass,
        Self::Ingress,
        Self::ServiceAccount,
    ];

    /// The kind of a resource, where its objects matter here.
    pub fn of(group: &str, plural: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|user| user.resource() == (group, plural))
    }

    /// Group and plural.
    pub fn resource(self) -> (&'static str, &'static str) {
        match self {
            Self::Pod => ("", "pods"),
            Self::Deployment => ("apps", "deployments"),
            Self::StatefulSet => ("apps", "statefulsets"),
            Self::DaemonSet => ("apps", "daemonsets"),
            Self::CronJob => ("batch", "cronjobs"),
            Self::Volume => ("", "persistentvolumes"),
            Self::Claim => ("", "persistentvolumeclaims"),
            Self::StorageClass => ("storage.k8s.io", "storageclasses"),
            Self::SnapshotContent => ("snapshot.storage.k8s.io", "volumesnapshotcontents"),
            Self::SnapshotClass => ("snapshot.storage.k8s.io", "volumesnapshotclasses"),
            Self::Ingress => ("networking.k8s.io", "ingresses"),
            Self::ServiceAccount => ("", "serviceaccounts"),
        }
    }

    pub fn kind(self) -> &'static str {
        match self {
            Self::Pod => "Pod",
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::CronJob => "CronJob",
            Self::Volume => "PersistentVolume",
            Self::Claim => "PersistentVolumeClaim",
            Self::StorageClass => "StorageClass",
            Self::SnapshotContent => "VolumeSnapshotContent",
            Self::SnapshotClass => "VolumeSnapshotClass",
            Self::Ingress => "Ingress",
            Self::ServiceAccount => "ServiceAccount",
        }
    }

    /// Whether what protects a kind of objects may change when an object of this kind does.
    pub fn bears_on(self, used: Used) -> bool {
        let runs = matches!(self, Self::Pod | Self::Deployment | Self::StatefulSet | Self::DaemonSet | Self::CronJob);
        let stores = matches!(self, Self::Volume | Self::StorageClass | Self::SnapshotContent | Self::SnapshotClass);
        match used {
            Used::Secret => runs || stores || self == Self::Claim,
            Used::ConfigMap => runs,
            Used::Claim => self == Self::Pod,
            _ => false,
        }
    }

    pub fn is_namespaced(self) -> bool {
        !matches!(self, Self::Volume | Self::StorageClass | Self::SnapshotContent | Self::SnapshotClass)
    }
}

/// What keeps its object from being deleted while that is in use, for who asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protection {
    pub used: Used,
    /// Who wants an object protected gives it this annotation, with the value `yes` and no other.
    pub annotation: &'static str,
    pub lien: &'static str,
}

impl Protection {
    pub const SECRETS: Self = Self {
        used: Used::Secret,
        annotation: "kubernetes.io/enable-secret-protection",
        lien: "kubernetes.io/secret-protection",
    };
    pub const CONFIG_MAPS: Self = Self {
        used: Used::ConfigMap,
        annotation: "kubernetes.io/enable-configmap-protection",
        lien: "kubernetes.io/configmap-protection",
    };

    pub fn of(used: Used) -> Option<Self> {
        [Self::SECRETS, Self::CONFIG_MAPS].into_iter().find(|protection| protection.used == used)
    }

    /// Whether an object asks for it.
    pub fn is_wanted(&self, object: &impl pawl_meta::object::Meta) -> bool {
        object.annotation(self.annotation) == Some("yes")
    }

    /// Whether metadata, as it is stored, can be such that something is to be done: a look at the text that spares reading it.
    /// Liens and annotations of every protection end alike; letters can be written in another way only with `\\u`.
    pub fn may_concern(metadata: &[u8]) -> bool {
        [b"-protection".as_slice(), b"\\u"].iter().any(|text| memmem::find(metadata, text).is_some())
    }

    /// What is to be done about the lien of an object: the whole plan of the protection controllers.
    pub fn plan(&self, object: &impl pawl_meta::object::Meta, used: bool) -> Plan {
        let held = object.meta_strings("liens").contains(&self.lien);
        match (self.is_wanted(object) && used, held) {
            // Nothing can be added any more to what is being deleted.
            (true, false) if !object.is_deleting() => Plan::Add,
            (false, true) => Plan::Remove,
            _ => Plan::Leave,
        }
    }
}

/// What becomes of the lien of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    Add,
    Remove,
    Leave,
}

/// Where in an object a field is. Put together on the way down, written only for who wants to read it.
#[derive(Clone, Copy, Debug)]
pub enum Path<'a> {
    Root,
    Field(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
    Key(&'a Path<'a>, &'a str),
}

impl<'a> Path<'a> {
    pub fn field(&'a self, name: &'a str) -> Self {
        Self::Field(self, name)
    }

    pub fn item(&'a self, index: usize) -> Self {
        Self::Item(self, index)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Path::Root, name) => f.write_str(name),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
            Self::Key(parent, key) => write!(f, "{parent}[{key}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn what_cannot_concern_anybody_is_seen_in_its_text() {
        assert!(!Protection::may_concern(br#""name":"a","labels":{"app":"x\n"}"#));
        for text in [
            r#"{"kubernetes.io\/enable-secret-protection":"yes"}"#,
            r#"{"kubernetes.io/enable-secret\u002dprotection":"yes"}"#,
        ] {
            assert!(Protection::may_concern(text.as_bytes()), "{text}");
            let annotations: Value = serde_json::from_str(text).unwrap();
            check(json!({"annotations": annotations}), true, Plan::Add);
        }
        for protection in [Protection::SECRETS, Protection::CONFIG_MAPS] {
            assert!(Protection::may_concern(protection.lien.as_bytes()), "{protection:?}");
            assert!(Protection::may_concern(protection.annotation.as_bytes()), "{protection:?}");
        }
    }

    #[test]
    fn resources_are_found_by_name() {
        for user in User::ALL {
            let (group, plural) = user.resource();
            assert_eq!(User::of(group, plural), Some(user));
        }
        assert_eq!(User::of("apps", "replicasets"), None, "out of scope, the proposal says");
        assert_eq!(User::of("batch", "jobs"), None, "out of scope, the proposal says");
        assert_eq!(Used::of("", "secrets"), Some(Used::Secret));
        assert_eq!(Used::of("apps", "secrets"), None);
    }

    fn check(metadata: Value, used: bool, expect: Plan) {
        let object = json!({"metadata": metadata});
        assert!(expect == Plan::Leave || Protection::may_concern(metadata.to_string().as_bytes()), "{object}");
        assert_eq!(Protection::SECRETS.plan(&object, used), expect, "{object}, used: {used}");
    }

    #[test]
    fn a_lien_is_there_when_it_is_wanted_and_used() {
        let yes = json!({"kubernetes.io/enable-secret-protection": "yes"});
        let lien = json!(["kubernetes.io/secret-protection"]);
        let others = json!(["example.com/other", "kubernetes.io/configmap-protection"]);
        check(json!({"annotations": yes}), true, Plan::Add);
        check(json!({"annotations": yes, "liens": others}), true, Plan::Add);
        check(json!({"annotations": yes}), false, Plan::Leave);
        check(json!({"annotations": yes, "liens": lien}), true, Plan::Leave);
        check(json!({"annotations": yes, "liens": lien}), false, Plan::Remove);
        check(json!({"liens": lien}), true, Plan::Remove);
        check(json!({"liens": others}), true, Plan::Leave);
        check(json!({"annotations": yes, "deletionTimestamp": "t"}), true, Plan::Leave);
        for other in ["true", "Yes", "YES", "", " yes", "1"] {
            check(json!({"annotations": {"kubernetes.io/enable-secret-protection": other}}), true, Plan::Leave);
        }
        check(json!({"annotations": {"kubernetes.io/enable-configmap-protection": "yes"}}), true, Plan::Leave);
    }
}
