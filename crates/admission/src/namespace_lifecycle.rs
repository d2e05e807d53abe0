//! Nothing is created in a namespace that does not exist or is going away, and the system's namespaces stay.

use pawl_meta::object::{Meta, Object};
use pawl_meta::{Cause, GroupResource, Status};

use crate::{AdmissionVerdict, Attributes, Operation, Plugin};

const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Whether a namespace stays whatever is asked.
pub fn is_immortal(namespace: &str) -> bool {
    IMMORTAL.contains(&namespace)
}

pub struct NamespaceLifecycle;

impl Plugin for NamespaceLifecycle {
    fn name(&self) -> &'static str {
        "NamespaceLifecycle"
    }

    fn looks_at_others(&self, _resource: &GroupResource) -> bool {
        false
    }

    fn mutate<'a>(&'a self, attributes: &'a Attributes<'a>, object: &'a mut Object) -> AdmissionVerdict<'a> {
        Box::pin(check_create(attributes, object))
    }

    fn validate<'a>(&'a self, attributes: &'a Attributes<'a>, _object: Option<&'a Object>) -> AdmissionVerdict<'a> {
        Box::pin(async move { check_delete(attributes) })
    }
}

fn check_delete(attributes: &Attributes<'_>) -> Result<(), Status> {
    if attributes.operation == Operation::Delete && attributes.is("", "namespaces") && is_immortal(attributes.name) {
        return Err(Status::forbidden(attributes.resource, attributes.name, "this namespace may not be deleted"));
    }
    Ok(())
}

/// Subresources are created in a namespace as well: an eviction, a binding, a token.
async fn check_create(attributes: &Attributes<'_>, object: &Object) -> Result<(), Status> {
    let (group, resource) = (attributes.resource.group.as_str(), attributes.resource.resource.as_str());
    // A review says something about a namespace, it does not live in it.
    let is_exempt =
        matches!((group, resource), ("", "namespaces") | ("authorization.k8s.io", "localsubjectaccessreviews"));
    if attributes.operation != Operation::Create || attributes.namespace.is_empty() || is_exempt {
        return Ok(());
    }
    let name = attributes.namespace;
    let cached = attributes.objects.is_deleting("", "namespaces", "", name);
    let is_deleting = match cached {
        Some(is_deleting) => is_deleting,
        None => match attributes.objects.get_fresh("", "namespaces", "", name).await {
            Some(namespace) => namespace.is_deleting(),
            None => return Err(Status::not_found(&GroupResource::new("", "namespaces"), name)),
        },
    };
    if is_deleting {
        let why = format!("unable to create new content in namespace {name} because it is being terminated");
        let mut status = attributes.forbidden(Some(object), why);
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::Chain;
    use crate::fake::{Request, Stored};

    fn check(request: Request, object: Value, expect: Result<(), &str>) {
        let stored = Stored::default()
            .with("", "namespaces", json!({"metadata": {"name": "ns"}}))
            .with("", "namespaces", json!({"metadata": {"name": "going", "deletionTimestamp": "2024-01-01T00:00:00Z"}}))
            .with_fresh("", "namespaces", json!({"metadata": {"name": "late"}}));
        let result = request.mutate(&NamespaceLifecycle, object.clone(), &stored);
        assert_eq!(result, expect.map(|()| object).map_err(str::to_owned));
    }

    #[test]
    fn nothing_new_in_a_namespace_that_is_not_there_to_stay() {
        let create = |namespace| Request { namespace, ..Request::create("", "pods") };
        let going = "is forbidden: unable to create new content in namespace going because it is being terminated";
        check(create("ns"), json!({}), Ok(()));
        check(create("late"), json!({}), Ok(()));
        check(create("gone"), json!({}), Err("namespaces \"gone\" not found"));
        check(create("going"), json!({}), Err(&format!("pods \"n\" {going}")));
        let generated = json!({"metadata": {"generateName": "g-"}});
        check(Request { name: "", ..create("going") }, generated, Err(&format!("pods \"g-\" {going}")));
        check(Request { name: "", ..create("going") }, json!({}), Err(&format!("pods \"Unknown\" {going}")));
        let evict = Request { subresource: "eviction", ..create("going") };
        check(evict, json!({}), Err(&format!("pods \"n\" {going}")));
        check(Request { operation: Operation::Update, ..create("going") }, json!({}), Ok(()));
        check(Request { namespace: "", ..Request::create("", "nodes") }, json!({}), Ok(()));
        let review = Request::create("authorization.k8s.io", "localsubjectaccessreviews");
        check(Request { namespace: "gone", ..review }, json!({}), Ok(()));
        check(Request { namespace: "", ..Request::create("", "namespaces") }, json!({}), Ok(()));
    }

    #[test]
    fn system_namespaces_stay() {
        let chain = Chain::new(vec![Arc::new(NamespaceLifecycle)]);
        let delete = |resource: &str, name| {
            let request = Request { operation: Operation::Delete, name, ..Request::create("", resource) };
            request.validate_chain(&chain, None, &Stored::default()).0
        };
        for name in IMMORTAL {
            let refused = format!("namespaces \"{name}\" is forbidden: this namespace may not be deleted");
            assert_eq!(delete("namespaces", name), Err(refused));
        }
        assert_eq!(delete("namespaces", "ns"), Ok(()));
        assert_eq!(delete("pods", "default"), Ok(()));
    }
}
