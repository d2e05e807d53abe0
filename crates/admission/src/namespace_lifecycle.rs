//! Nothing is created in a namespace that does not exist or is going away, and the system's namespaces stay.

use futures::future::BoxFuture;
use pawl_meta::object::{Meta, Object};
use pawl_meta::{Cause, GroupResource, Status};

use crate::{Attributes, Objects, Operation, Plugin};

const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

pub struct NamespaceLifecycle;

impl Plugin for NamespaceLifecycle {
    fn name(&self) -> &'static str {
        "NamespaceLifecycle"
    }

    fn mutate<'a>(
        &'a self,
        attributes: &'a Attributes<'a>,
        _object: &'a mut Object,
        objects: &'a dyn Objects,
    ) -> BoxFuture<'a, Result<(), Status>> {
        Box::pin(check(attributes, objects))
    }

    fn validate<'a>(
        &'a self,
        attributes: &'a Attributes<'a>,
        _object: Option<&'a Object>,
        objects: &'a dyn Objects,
    ) -> BoxFuture<'a, Result<(), Status>> {
        Box::pin(async move {
            // What creates or changes an object has been checked before it was changed.
            if attributes.operation == Operation::Delete { check(attributes, objects).await } else { Ok(()) }
        })
    }
}

async fn check(attributes: &Attributes<'_>, objects: &dyn Objects) -> Result<(), Status> {
    let is_namespace = attributes.resource.group.is_empty() && attributes.resource.resource == "namespaces";
    if is_namespace {
        if attributes.operation == Operation::Delete && IMMORTAL.contains(&attributes.name) {
            let why = "this namespace may not be deleted";
            return Err(Status::forbidden(attributes.resource, attributes.name, why));
        }
        return Ok(());
    }
    if attributes.operation != Operation::Create
        || attributes.namespace.is_empty()
        || !attributes.subresource.is_empty()
    {
        return Ok(());
    }
    // A review says something about a namespace, it does not live in it.
    if attributes.resource.resource == "localsubjectaccessreviews" {
        return Ok(());
    }
    let name = attributes.namespace;
    let cached = objects.get("", "namespaces", "", name);
    let namespace = match cached {
        Some(namespace) => namespace,
        None => objects
            .get_fresh("", "namespaces", "", name)
            .await
            .ok_or_else(|| Status::not_found(&GroupResource::new("", "namespaces"), name))?,
    };
    if namespace.is_deleting() {
        let why = format!("unable to create new content in namespace {name} because it is being terminated");
        let mut status = Status::forbidden(attributes.resource, attributes.name, why);
        if let Some(details) = &mut status.details {
            details.causes.push(Cause {
                reason: "NamespaceTerminating".to_owned(),
                message: format!("namespace {name} is being terminated"),
                field: "metadata.namespace".to_owned(),
            });
        }
        return Err(status);
    }
    Ok(())
}
