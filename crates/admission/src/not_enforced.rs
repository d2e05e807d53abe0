//! Objects that can be stored although the plugin that gives them meaning is not built: their creation is warned about.

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

/// What the creator of such an object is told; `None` for resources that mean what they say.
pub fn not_enforced(group: &str, resource: &str) -> Option<&'static str> {
    WARNINGS.iter().find(|(g, r, _)| *g == group && *r == resource).map(|(_, _, text)| *text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fake::{Request, Stored};
    use crate::{Chain, Operation};

    fn check(request: &Request, expect: &[&str]) {
        let (result, warnings) = request.validate_chain(&Chain::default(), Some(&json!({})), &Stored::default());
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
}
