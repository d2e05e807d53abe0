//! What can be stored although the plugin that gives it meaning is not built: whoever writes it is warned.

use pawl_meta::object::{Meta, Object};

use crate::{Attributes, Operation};

const ADMISSION: &str = "admissionregistration.k8s.io";

const WARNINGS: &[(&str, &str, &str)] = &[
    ("", "limitranges", "LimitRange is stored but not enforced yet: admission plugin LimitRanger is not built"),
    ("", "resourcequotas", "ResourceQuota is stored but not enforced yet: admission plugin ResourceQuota is not built"),
    (
        ADMISSION,
        "mutatingwebhookconfigurations",
        "MutatingWebhookConfiguration is stored but not enforced yet: admission plugin MutatingAdmissionWebhook is not built",
    ),
    (
        ADMISSION,
        "validatingwebhookconfigurations",
        "ValidatingWebhookConfiguration is stored but not enforced yet: admission plugin ValidatingAdmissionWebhook is not built",
    ),
    (
        ADMISSION,
        "mutatingadmissionpolicies",
        "MutatingAdmissionPolicy is stored but not enforced yet: admission plugin MutatingAdmissionPolicy is not built",
    ),
    (
        ADMISSION,
        "mutatingadmissionpolicybindings",
        "MutatingAdmissionPolicyBinding is stored but not enforced yet: admission plugin MutatingAdmissionPolicy is not built",
    ),
    (
        ADMISSION,
        "validatingadmissionpolicies",
        "ValidatingAdmissionPolicy is stored but not enforced yet: admission plugin ValidatingAdmissionPolicy is not built",
    ),
    (
        ADMISSION,
        "validatingadmissionpolicybindings",
        "ValidatingAdmissionPolicyBinding is stored but not enforced yet: admission plugin ValidatingAdmissionPolicy is not built",
    ),
];

/// The labels of a namespace that would hold its pods to a level.
const POD_SECURITY: &[&str] =
    &["pod-security.kubernetes.io/enforce", "pod-security.kubernetes.io/audit", "pod-security.kubernetes.io/warn"];

/// What the writer of an object is told because nobody will hold anybody to it; nothing for what means what it says.
pub(crate) fn warnings(attributes: &Attributes<'_>, object: &Object) -> Vec<String> {
    if !attributes.subresource.is_empty() {
        return Vec::new();
    }
    let (group, resource) = (attributes.resource.group.as_str(), attributes.resource.resource.as_str());
    if (group, resource) == ("", "namespaces") {
        return POD_SECURITY.iter().filter_map(|label| level(attributes.old, object, label)).collect();
    }
    let kind = WARNINGS.iter().find(|(g, r, _)| (*g, *r) == (group, resource));
    let created = kind.filter(|_| attributes.operation == Operation::Create);
    created.map(|(_, _, text)| (*text).to_owned()).into_iter().collect()
}

/// A level that the object is given now. Everything is allowed at the level `privileged`, so that one holds.
fn level(old: Option<&Object>, new: &Object, label: &str) -> Option<String> {
    let of = |object: &Object| object.labels()?.get(label)?.as_str().map(str::to_owned);
    let given = of(new).filter(|level| level != "privileged")?;
    if old.and_then(of).as_ref() == Some(&given) {
        return None;
    }
    Some(format!("{label}={given} is stored but not enforced yet: admission plugin PodSecurity is not built"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Chain;
    use crate::fake::{Request, Stored};

    fn check(request: &Request, expect: &[&str]) {
        check_object(request, &json!({}), expect);
    }

    fn check_object(request: &Request, object: &serde_json::Value, expect: &[&str]) {
        let (result, warnings) = request.validate_chain(&Chain::default(), Some(object), &Stored::default());
        assert_eq!(result, Ok(()));
        assert_eq!(warnings, expect);
    }

    #[test]
    fn creating_what_is_not_enforced_is_warned_about() {
        for (group, resource, text) in WARNINGS {
            check(&Request::create(group, resource), &[text]);
        }
        let update = Request { operation: Operation::Update, ..Request::create("", "limitranges") };
        check(&update, &[]);
        check(&Request::create("", "configmaps"), &[]);
        check(&Request::create("example.com", "resourcequotas"), &[]);
    }

    #[test]
    fn levels_of_pod_security_are_warned_about_when_they_are_set() {
        const ENFORCE: &str = "pod-security.kubernetes.io/enforce";
        let labelled = |level: &str| json!({"metadata": {"name": "n", "labels": {ENFORCE: level, "other": "x"}}});
        let create = Request::create("", "namespaces");
        let text = "pod-security.kubernetes.io/enforce=restricted is stored but not enforced yet: \
                    admission plugin PodSecurity is not built";
        check_object(&create, &labelled("restricted"), &[text]);
        check_object(&create, &labelled("privileged"), &[]);
        check_object(&create, &json!({}), &[]);
        let update = |old| Request::update("", "namespaces", old);
        check_object(&update(labelled("baseline")), &labelled("restricted"), &[text]);
        check_object(&update(labelled("restricted")), &labelled("restricted"), &[]);
        check_object(&Request::create("", "configmaps"), &labelled("restricted"), &[]);
    }
}
