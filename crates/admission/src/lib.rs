//! Admission: what may still change an object on its way in, and what may still refuse it.
//!
//! Owns the chain and the plugins. A plugin sees one request with its old and new object; mutating ones run first, in the
//! order of the chain, then validating ones. It reads other objects through [`Objects`], asks who may do what through
//! [`pawl_auth::Authorizer`], and writes nothing itself.

mod chain;
#[cfg(test)]
mod fake;
mod not_enforced;

mod certificate_subject_restriction;
mod default_class;
mod default_toleration_seconds;
mod namespace_lifecycle;
mod no_escalation;
mod persistent_volume_claim_resize;
mod priority;
mod privileged_containers;
mod runtime_class;
mod service_account;
mod signer_permission;
mod storage_object_in_use_protection;
mod taint_nodes_by_condition;

use std::fmt::Display;
use std::sync::Arc;

use futures::future::BoxFuture;
use pawl_auth::User;
use pawl_meta::object::{Meta, Object};
use pawl_meta::{GroupResource, Status};

pub use certificate_subject_restriction::CertificateSubjectRestriction;
pub use chain::{Dependencies, chain};
pub use default_class::{DEFAULT_INGRESS_CLASS, DEFAULT_STORAGE_CLASS, DefaultClass};
pub use default_toleration_seconds::DefaultTolerationSeconds;
pub use namespace_lifecycle::{NamespaceLifecycle, is_immortal};
pub use no_escalation::NoEscalation;
pub use persistent_volume_claim_resize::PersistentVolumeClaimResize;
pub use priority::Priority;
pub use privileged_containers::NoPrivilegedContainers;
pub use runtime_class::RuntimeClass;
pub use service_account::ServiceAccount;
pub use signer_permission::SignerPermission;
pub use storage_object_in_use_protection::StorageObjectInUseProtection;
pub use taint_nodes_by_condition::TaintNodesByCondition;

/// What is being done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Create,
    Update,
    Delete,
}

/// The request that is to be admitted.
pub struct Attributes<'a> {
    pub operation: Operation,
    pub resource: &'a GroupResource,
    /// The version of the resource in which the request speaks of it.
    pub version: &'a str,
    pub kind: &'a str,
    pub subresource: &'a str,
    pub namespace: &'a str,
    /// Empty while a name is still to be generated.
    pub name: &'a str,
    pub user: &'a User,
    pub dry_run: bool,
    /// The object before the request; of one that is deleted often its metadata only.
    pub old: Option<&'a Object>,
    /// What else there is.
    pub objects: &'a dyn Objects,
    /// Where remarks go.
    pub remarks: &'a dyn Remarks,
}

/// What is said beside the answer. Remarks on an attempt to write that came too late are dropped with it.
pub trait Remarks: Sync {
    /// Tells the client something.
    fn warn(&self, text: String);
    /// Tells the audit log something.
    fn note(&self, key: &'static str, text: &str);
}

impl Attributes<'_> {
    /// Whether the request is about a resource itself, not about one of its subresources.
    pub(crate) fn is(&self, group: &str, resource: &str) -> bool {
        self.is_of(group, resource, "")
    }

    /// Whether the request is about a subresource; the resource itself where that is empty.
    pub(crate) fn is_of(&self, group: &str, resource: &str, subresource: &str) -> bool {
        self.resource.group == group && self.resource.resource == resource && self.subresource == subresource
    }

    /// A refusal. An object that has no name yet is called by the beginning of its name.
    pub(crate) fn forbidden(&self, object: Option<&Object>, why: impl Display) -> Status {
        let own = |field| object.map(|o| o.meta_str(field)).unwrap_or_default();
        let names = [self.name, own("name"), own("generateName")];
        let name = names.into_iter().find(|name| !name.is_empty()).unwrap_or("Unknown");
        Status::forbidden(self.resource, name, why)
    }
}

/// What plugins may know of other objects.
pub trait Objects: Send + Sync {
    /// The newest object that the caches have.
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Object>;
    /// Whether that object is being deleted.
    fn is_deleting(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<bool> {
        self.get(group, resource, namespace, name).map(|object| object.is_deleting())
    }
    /// Reads past the caches, for what must not be missed.
    fn get_fresh<'a>(
        &'a self,
        group: &'a str,
        resource: &'a str,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Option<Object>>;
    /// Every object of a resource in a namespace; all namespaces where it is empty.
    fn list(&self, group: &str, resource: &str, namespace: &str) -> Vec<Object>;
}

impl dyn Objects + '_ {
    /// One object; read past the caches only when they do not have it.
    pub(crate) async fn find(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Object> {
        match self.get(group, resource, namespace, name) {
            Some(object) => Some(object),
            None => self.get_fresh(group, resource, namespace, name).await,
        }
    }
}

/// What a plugin will have said: nothing, or why the request is refused.
pub type AdmissionVerdict<'a> = BoxFuture<'a, Result<(), Status>>;

/// One plugin of the chain.
pub trait Plugin: Send + Sync {
    fn name(&self) -> &'static str;

    /// Whether what it says of a new object depends on other objects, or on rights, and these must not be a moment old. The
    /// namespace is no such object: it is looked after when an object is written.
    fn looks_at_others(&self, _resource: &GroupResource) -> bool {
        true
    }

    /// May change the new object. Not called for deletions.
    fn mutate<'a>(&'a self, _attributes: &'a Attributes<'a>, _object: &'a mut Object) -> AdmissionVerdict<'a> {
        Box::pin(async { Ok(()) })
    }

    /// May refuse. The object is the new one, `None` for a deletion.
    fn validate<'a>(&'a self, _attributes: &'a Attributes<'a>, _object: Option<&'a Object>) -> AdmissionVerdict<'a> {
        Box::pin(async { Ok(()) })
    }
}

/// The plugins that are on, in upstream's order.
#[derive(Clone, Default)]
pub struct Chain {
    plugins: Vec<Arc<dyn Plugin>>,
}

impl Chain {
    pub fn new(plugins: Vec<Arc<dyn Plugin>>) -> Self {
        Self { plugins }
    }

    /// The same chain with one more plugin behind the others.
    pub fn with(mut self, plugin: Arc<dyn Plugin>) -> Self {
        self.plugins.push(plugin);
        self
    }

    /// Whether a plugin looks at more than a new object of a resource and its namespace.
    pub fn looks_at_others(&self, resource: &GroupResource) -> bool {
        self.plugins.iter().any(|plugin| plugin.looks_at_others(resource))
    }

    /// The names of the plugins, in the order in which they run.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.plugins.iter().map(|plugin| plugin.name())
    }

    pub async fn mutate(&self, attributes: &Attributes<'_>, object: &mut Object) -> Result<(), Status> {
        for plugin in &self.plugins {
            plugin.mutate(attributes, object).await?;
        }
        Ok(())
    }

    /// What passes and will not be enforced is told to the client.
    pub async fn validate(&self, attributes: &Attributes<'_>, object: Option<&Object>) -> Result<(), Status> {
        for plugin in &self.plugins {
            plugin.validate(attributes, object).await?;
        }
        for text in object.map(|object| not_enforced::warnings(attributes, object)).unwrap_or_default() {
            attributes.remarks.warn(text);
        }
        Ok(())
    }
}
