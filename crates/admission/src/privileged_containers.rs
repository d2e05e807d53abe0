//! Where the cluster does not allow privileged containers (`--allow-privileged=false`), no pod and no template of pods may
//! ask for one.

use pawl_meta::object::{Meta, Object, at};
use pawl_meta::{Errors, FieldPath, GroupKind, GroupResource, Status, read};
use serde_json::Value;

use crate::{AdmissionVerdict, Attributes, Plugin};

/// Refuses privileged containers.
pub struct NoPrivilegedContainers;

impl Plugin for NoPrivilegedContainers {
    fn name(&self) -> &'static str {
        "NoPrivilegedContainers"
    }

    fn looks_at_others(&self, _resource: &GroupResource) -> bool {
        false
    }

    fn validate<'a>(&'a self, attributes: &'a Attributes<'a>, object: Option<&'a Object>) -> AdmissionVerdict<'a> {
        Box::pin(async move {
            let concerned = matches!(attributes.subresource, "" | "ephemeralcontainers");
            let Some(object) = object.filter(|_| concerned) else { return Ok(()) };
            let Some(path) = spec_of(&attributes.resource.group, &attributes.resource.resource) else { return Ok(()) };
            let Some(spec) = at(object, path).and_then(Value::as_object) else { return Ok(()) };
            let errors = privileged(spec, path);
            if errors.is_empty() {
                return Ok(());
            }
            let kind = GroupKind { group: attributes.resource.group.clone(), kind: attributes.kind.to_owned() };
            Err(Status::invalid(&kind, object.name(), &errors))
        })
    }
}

/// Where a resource has the specification of pods.
fn spec_of(group: &str, resource: &str) -> Option<&'static str> {
    match (group, resource) {
        ("", "pods") => Some("spec"),
        ("", "podtemplates") => Some("template.spec"),
        ("", "replicationcontrollers")
        | ("apps", "deployments" | "replicasets" | "statefulsets" | "daemonsets")
        | ("batch", "jobs") => Some("spec.template.spec"),
        ("batch", "cronjobs") => Some("spec.jobTemplate.spec.template.spec"),
        _ => None,
    }
}

fn privileged(spec: &Object, path: &str) -> Errors {
    let mut errors = Errors::new();
    let mut parts = path.split('.');
    let root = FieldPath::of(parts.next().unwrap_or_default());
    let root = parts.fold(root, |at, part| at.child(part));
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for (i, container) in read::each(spec, list).enumerate() {
            let context = read::map(container, "securityContext");
            if context.is_some_and(|context| context.get("privileged") == Some(&Value::Bool(true))) {
                let at = root.child(list).index(i).child("securityContext").child("privileged");
                errors.forbidden(&at, "disallowed by cluster policy");
            }
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fake::{Request, Stored};

    fn check(request: &Request, object: Value, expect: Option<&str>) {
        let result = request.validate(&NoPrivilegedContainers, object, &Stored::default());
        assert_eq!(result.err().as_deref(), expect);
    }

    #[test]
    fn privileged_containers_are_refused_wherever_pods_are_described() {
        let spec = json!({"containers": [{"name": "a"}, {"securityContext": {"privileged": true}}]});
        let text =
            " \"x\" is invalid: spec.containers[1].securityContext.privileged: Forbidden: disallowed by cluster policy";
        let pod = |spec: &Value| json!({"metadata": {"name": "x"}, "spec": spec});
        check(&Request::create("", "pods"), pod(&spec), Some(text));
        check(&Request::update("", "pods", json!({})), pod(&spec), Some(text));
        let harmless = json!({"containers": [{"securityContext": {"privileged": false}}]});
        check(&Request::create("", "pods"), pod(&harmless), None);
        check(&Request { subresource: "status", ..Request::update("", "pods", json!({})) }, pod(&spec), None);
        check(&Request::create("example.com", "pods"), pod(&spec), None);
        let job = json!({"metadata": {"name": "x"}, "spec": {"jobTemplate": {"spec": {"template": {"spec": spec}}}}});
        let text = ".batch \"x\" is invalid: spec.jobTemplate.spec.template.spec.containers[1].securityContext.privileged: Forbidden: disallowed by cluster policy";
        check(&Request::create("batch", "cronjobs"), job, Some(text));
    }
}
