//! `/binding`: a pod gets its node.

use pawl_meta::object::{Meta, Object, metadata_mut};
use pawl_meta::{Errors, GroupResource, Status};
use serde_json::{Value, json};

use crate::rewrite::set_true;
use crate::update::{Place, check_uid, precondition_failed};
use crate::{Context, Registry, Served, wire};

impl Registry {
    /// Assigns a pod to the node that a Binding names. A uid and a resourceVersion in it are conditions.
    pub async fn bind(&self, cx: &Context, pods: &Served, namespace: &str, mut binding: Object) -> Result<(), Status> {
        let mut errors = Errors::new();
        wire::validate("core.v1.Binding", "Binding", &binding, &mut errors);
        if !errors.is_empty() {
            return Err(Status::plain_error(errors.message()));
        }
        let name = binding.name().to_owned();
        self.admit_below(cx, pods, ("binding", "Binding"), (namespace, &name), &mut binding).await?;
        let node = binding.get("target").and_then(|target| target.get("name")).cloned().unwrap_or(Value::Null);
        self.rewrite(cx, pods, namespace, &name, &mut |pod| {
            check_uid((cx, pods, namespace), &binding, pod)?;
            check_version((cx, pods, namespace), &binding, pod)?;
            assign(pod, &binding, &node)
        })
        .await
        .map(drop)
    }
}

fn assign(pod: &mut Object, binding: &Object, node: &Value) -> Result<(), Status> {
    let name = pod.name().to_owned();
    let refuse = |why: String| Err(Status::conflict(&GroupResource::new("", "pods/binding"), &name, why));
    if pod.is_deleting() {
        return refuse(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    let spec = pod.get("spec").and_then(Value::as_object);
    let assigned = spec.and_then(|spec| spec.get("nodeName")).and_then(Value::as_str).unwrap_or_default();
    if !assigned.is_empty() {
        return refuse(format!("pod {name} is already assigned to node {assigned:?}"));
    }
    if spec.and_then(|spec| spec.get("schedulingGates")).and_then(Value::as_array).is_some_and(|g| !g.is_empty()) {
        return refuse(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    if let Some(Value::Object(spec)) = pod.get_mut("spec") {
        spec.insert("nodeName".to_owned(), node.clone());
    }
    if let Some(Value::Object(status)) = pod.get_mut("status") {
        status.remove("nominatedNodeName");
    }
    for field in ["annotations", "labels"] {
        let given = binding.metadata().and_then(|metadata| metadata.get(field)).and_then(Value::as_object);
        let Some(given) = given.filter(|given| !given.is_empty()) else { continue };
        let own = metadata_mut(pod).entry(field).or_insert_with(|| json!({}));
        if let Value::Object(own) = own {
            own.extend(given.clone());
        }
    }
    set_true(pod, "PodScheduled", "", "");
    Ok(())
}

fn check_version(place: Place<'_>, binding: &Object, pod: &Object) -> Result<(), Status> {
    let (wanted, found) = (binding.resource_version(), pod.resource_version());
    if wanted.is_empty() || wanted == found {
        return Ok(());
    }
    let why = format!("ResourceVersion in precondition: {wanted}, ResourceVersion in object meta: {found}");
    Err(precondition_failed(place, pod.name(), &why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pod: Value, expect: Result<&str, &str>) {
        let mut pod = pod.as_object().unwrap().clone();
        let binding = json!({"metadata": {"name": "p", "annotations": {"a": "1"}}});
        let result = assign(&mut pod, binding.as_object().unwrap(), &json!("n"));
        let found = match &result {
            Ok(()) => Ok(pod["spec"]["nodeName"].as_str().unwrap()),
            Err(status) => Err(status.message.as_str()),
        };
        assert_eq!(found, expect);
    }

    #[test]
    fn only_a_pod_that_waits_for_a_node_gets_one() {
        let pod = |spec: Value| json!({"metadata": {"name": "p"}, "spec": spec, "status": {}});
        check(pod(json!({})), Ok("n"));
        let at = "Operation cannot be fulfilled on pods/binding \"p\":";
        check(pod(json!({"nodeName": "m"})), Err(&format!("{at} pod p is already assigned to node \"m\"")));
        let gated = pod(json!({"schedulingGates": [{"name": "g"}]}));
        check(gated, Err(&format!("{at} pod p has non-empty .spec.schedulingGates")));
        let going = json!({"metadata": {"name": "p", "deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {}});
        check(going, Err(&format!("{at} pod p is being deleted, cannot be assigned to a host")));
    }
}
