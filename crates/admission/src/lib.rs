//! Admission: what may still change an object on its way in, and what may still refuse it.
//!
//! Owns the chain and the plugins. A plugin sees one request with its old and new object; mutating ones run first, in the
//! order of the chain, then validating ones. It reads other objects through [`Objects`] and writes nothing itself.

mod namespace_lifecycle;

use std::sync::Arc;

use futures::future::BoxFuture;
use pawl_meta::object::Object;
use pawl_meta::{GroupResource, Status};

pub use namespace_lifecycle::NamespaceLifecycle;

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
    pub kind: &'a str,
    pub subresource: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
    pub user: &'a str,
    pub groups: &'a [String],
    pub dry_run: bool,
    pub old: Option<&'a Object>,
}

/// What plugins may know of other objects.
pub trait Objects: Send + Sync {
    /// The newest object that the caches have.
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Object>;
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

/// One plugin of the chain.
pub trait Plugin: Send + Sync {
    fn name(&self) -> &'static str;

    /// May change the new object. Not called for deletions.
    fn mutate<'a>(
        &'a self,
        _attributes: &'a Attributes<'a>,
        _object: &'a mut Object,
        _objects: &'a dyn Objects,
    ) -> BoxFuture<'a, Result<(), Status>> {
        Box::pin(async { Ok(()) })
    }

    /// May refuse. The object is the new one, `None` for a deletion.
    fn validate<'a>(
        &'a self,
        _attributes: &'a Attributes<'a>,
        _object: Option<&'a Object>,
        _objects: &'a dyn Objects,
    ) -> BoxFuture<'a, Result<(), Status>> {
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

    pub async fn mutate(
        &self,
        attributes: &Attributes<'_>,
        object: &mut Object,
        objects: &dyn Objects,
    ) -> Result<(), Status> {
        for plugin in &self.plugins {
            plugin.mutate(attributes, object, objects).await?;
        }
        Ok(())
    }

    pub async fn validate(
        &self,
        attributes: &Attributes<'_>,
        object: Option<&Object>,
        objects: &dyn Objects,
    ) -> Result<(), Status> {
        for plugin in &self.plugins {
            plugin.validate(attributes, object, objects).await?;
        }
        Ok(())
    }
}
