//! Volumes, claims and volume attributes classes get the finalizer that keeps them while they are in use.

use pawl_meta::object::{Meta, Object, metadata_mut};
use pawl_meta::{GroupResource, read};
use serde_json::json;

use crate::{AdmissionVerdict, Attributes, Operation, Plugin};

const FINALIZERS: [(&str, &str, &str); 3] = [
    ("", "persistentvolumes", "kubernetes.io/pv-protection"),
    ("", "persistentvolumeclaims", "kubernetes.io/pvc-protection"),
    ("storage.k8s.io", "volumeattributesclasses", "kubernetes.io/vac-protection"),
];

pub struct StorageObjectInUseProtection;

impl Plugin for StorageObjectInUseProtection {
    fn name(&self) -> &'static str {
        "StorageObjectInUseProtection"
    }

    fn looks_at_others(&self, _resource: &GroupResource) -> bool {
        false
    }

    fn mutate<'a>(&'a self, attributes: &'a Attributes<'a>, object: &'a mut Object) -> AdmissionVerdict<'a> {
        Box::pin(async move {
            let row = FINALIZERS.iter().find(|(group, resource, _)| attributes.is(group, resource));
            if let (Operation::Create, Some((_, _, finalizer))) = (attributes.operation, row) {
                protect(object, finalizer);
            }
            Ok(())
        })
    }
}

fn protect(object: &mut Object, finalizer: &str) {
    if object.meta_strings("finalizers").contains(&finalizer) {
        return;
    }
    if let Some(finalizers) = read::list_mut(metadata_mut(object), "finalizers") {
        finalizers.push(json!(finalizer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{Request, Stored};

    fn check(request: &Request, given: &[&str], expect: &[&str]) {
        let object = json!({"metadata": {"finalizers": given}});
        let result = request.mutate(&StorageObjectInUseProtection, object, &Stored::default());
        assert_eq!(result, Ok(json!({"metadata": {"finalizers": expect}})));
    }

    #[test]
    fn what_is_used_gets_its_finalizer_once() {
        for (group, resource, finalizer) in FINALIZERS {
            let create = Request::create(group, resource);
            check(&create, &[], &[finalizer]);
            check(&create, &["a/b"], &["a/b", finalizer]);
            check(&create, &[finalizer, "a/b"], &[finalizer, "a/b"]);
            check(&Request::update(group, resource, json!({})), &[], &[]);
        }
        check(&Request::create("", "configmaps"), &[], &[]);
        let bare = Request::create("", "persistentvolumes");
        let result = bare.mutate(&StorageObjectInUseProtection, json!({}), &Stored::default());
        assert_eq!(result, Ok(json!({"metadata": {"finalizers": ["kubernetes.io/pv-protection"]}})));
    }
}
