//! A claim grows only when it is bound and its storage class can grow volumes.

use pawl_meta::object::{Meta, Object, at};
use pawl_meta::quantity::Quantity;
use pawl_meta::{GroupResource, Status, read};
use serde_json::Value;

use crate::{AdmissionVerdict, Attributes, DEFAULT_STORAGE_CLASS, Objects, Operation, Plugin};

pub struct PersistentVolumeClaimResize;

impl Plugin for PersistentVolumeClaimResize {
    fn name(&self) -> &'static str {
        "PersistentVolumeClaimResize"
    }

    fn looks_at_others(&self, _resource: &GroupResource) -> bool {
        false
    }

    fn validate<'a>(&'a self, attributes: &'a Attributes<'a>, object: Option<&'a Object>) -> AdmissionVerdict<'a> {
        Box::pin(check(attributes, object))
    }
}

async fn check(attributes: &Attributes<'_>, object: Option<&Object>) -> Result<(), Status> {
    if attributes.operation != Operation::Update || !attributes.is("", "persistentvolumeclaims") {
        return Ok(());
    }
    let (Some(old), Some(new)) = (attributes.old, object) else { return Ok(()) };
    if size(new) <= size(old) {
        return Ok(());
    }
    if read::deep_text(old, "status", "phase") != "Bound" {
        return Err(attributes.forbidden(object, "Only bound persistent volume claims can be expanded"));
    }
    if !grows(new, old, attributes.objects).await {
        let why = "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must \
                   support resize";
        return Err(attributes.forbidden(object, why));
    }
    Ok(())
}

fn size(claim: &Object) -> Quantity {
    let text = at(claim, "spec.resources.requests.storage").and_then(Value::as_str).unwrap_or_default();
    Quantity::parse(text).unwrap_or_else(|_| Quantity::zero())
}

async fn grows(new: &Object, old: &Object, objects: &dyn Objects) -> bool {
    let name = class(new);
    if name.is_empty() || name != class(old) {
        return false;
    }
    let (group, resource) = DEFAULT_STORAGE_CLASS.classes;
    let class = objects.find(group, resource, "", name).await;
    class.is_some_and(|class| class.get("allowVolumeExpansion") == Some(&Value::Bool(true)))
}

fn class(claim: &Object) -> &str {
    claim
        .annotation(DEFAULT_STORAGE_CLASS.annotation)
        .unwrap_or_else(|| read::deep_text(claim, "spec", "storageClassName"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fake::{Request, Stored};

    fn claim(size: &str, class: &str, phase: &str) -> Value {
        let spec = json!({"storageClassName": class, "resources": {"requests": {"storage": size}}});
        json!({"metadata": {"name": "n"}, "spec": spec, "status": {"phase": phase}})
    }

    fn check(old: Value, new: Value, expect: Result<(), &str>) {
        let class = |name: &str, grows: bool| json!({"metadata": {"name": name}, "allowVolumeExpansion": grows});
        let stored = Stored::default().with("storage.k8s.io", "storageclasses", class("grows", true)).with(
            "storage.k8s.io",
            "storageclasses",
            class("stays", false),
        );
        let request = Request::update("", "persistentvolumeclaims", old);
        let refused = |why| format!("persistentvolumeclaims \"n\" is forbidden: {why}");
        assert_eq!(request.validate(&PersistentVolumeClaimResize, new, &stored), expect.map_err(refused));
    }

    #[test]
    fn claims_grow_when_their_class_can() {
        const UNBOUND: &str = "Only bound persistent volume claims can be expanded";
        const STAYS: &str = "only dynamically provisioned pvc can be resized and the storageclass that provisions the \
                             pvc must support resize";
        let bound = |size, class| claim(size, class, "Bound");
        check(bound("1Gi", "grows"), bound("2Gi", "grows"), Ok(()));
        check(bound("1Gi", "stays"), bound("1024Mi", "stays"), Ok(()));
        check(bound("2Gi", "stays"), bound("1Gi", "stays"), Ok(()));
        check(claim("1Gi", "grows", "Pending"), claim("2Gi", "grows", "Pending"), Err(UNBOUND));
        for (before, after) in [("stays", "stays"), ("gone", "gone"), ("", ""), ("stays", "grows")] {
            check(bound("1Gi", before), bound("2Gi", after), Err(STAYS));
        }
        let mut annotated = bound("2Gi", "grows");
        annotated["metadata"]["annotations"] = json!({DEFAULT_STORAGE_CLASS.annotation: "stays"});
        check(annotated.clone(), bound("3Gi", "grows"), Err(STAYS));
    }
}
