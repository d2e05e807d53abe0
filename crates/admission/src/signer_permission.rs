//! A certificate is approved only by who may approve for its signer; it is issued, and its conditions are set, only by who
//! may sign for its signer.

use std::sync::Arc;

use pawl_auth::{Attributes as Asked, Authorizer};
use pawl_meta::object::{Object, at};
use pawl_meta::{GroupResource, Status, go, read};
use serde_json::Value;

use crate::{AdmissionVerdict, Attributes, Operation, Plugin};

/// The API group of certificate signing requests.
pub const GROUP: &str = "certificates.k8s.io";
pub const REQUESTS: &str = "certificatesigningrequests";

/// Guards one step on the way to a certificate.
pub struct SignerPermission {
    step: SignerCheck,
    authorizer: Arc<dyn Authorizer>,
}

struct SignerCheck {
    plugin: &'static str,
    subresource: &'static str,
    verb: &'static str,
    /// Whether a change from the one to the other takes the step.
    is_taken: fn(Option<&Object>, Option<&Object>) -> bool,
}

impl SignerPermission {
    /// The plugin `CertificateApproval`.
    pub fn to_approve(authorizer: Arc<dyn Authorizer>) -> Self {
        let step = SignerCheck {
            plugin: "CertificateApproval",
            subresource: "approval",
            verb: "approve",
            is_taken: |_, _| true,
        };
        Self { step, authorizer }
    }

    /// The plugin `CertificateSigning`.
    pub fn to_sign(authorizer: Arc<dyn Authorizer>) -> Self {
        let is_taken = |old: Option<&Object>, new: Option<&Object>| old.map(signed) != new.map(signed);
        let step = SignerCheck { plugin: "CertificateSigning", subresource: "status", verb: "sign", is_taken };
        Self { step, authorizer }
    }

    fn check(&self, attributes: &Attributes<'_>, object: Option<&Object>) -> Result<(), Status> {
        let SignerCheck { subresource, verb, is_taken, .. } = self.step;
        if attributes.operation != Operation::Update
            || !attributes.is_of(GROUP, REQUESTS, subresource)
            || !is_taken(attributes.old, object)
        {
            return Ok(());
        }
        // The request as it was counts: the signer must not be exchanged on the way.
        let signer = attributes.old.map(|old| read::deep_text(old, "spec", "signerName")).unwrap_or_default();
        if self.is_allowed(attributes, signer) {
            return Ok(());
        }
        let why = format!("user not permitted to {verb} requests with signerName {}", go::quote(signer));
        Err(attributes.forbidden(object, why))
    }

    /// Whether the user may take the step for a signer: by its name, or for all signers of its domain.
    fn is_allowed(&self, attributes: &Attributes<'_>, signer: &str) -> bool {
        let domain = signer.split('/').next().unwrap_or_default();
        [signer, &format!("{domain}/*")].into_iter().any(|name| {
            let asked = Asked { name, ..Asked::resource(attributes.user, self.step.verb, GROUP, "signers") };
            self.authorizer.authorize(&asked).is_allowed()
        })
    }
}

impl Plugin for SignerPermission {
    fn name(&self) -> &'static str {
        self.step.plugin
    }

    fn looks_at_others(&self, resource: &GroupResource) -> bool {
        resource.group == GROUP
    }

    fn validate<'a>(&'a self, attributes: &'a Attributes<'a>, object: Option<&'a Object>) -> AdmissionVerdict<'a> {
        Box::pin(async move { self.check(attributes, object) })
    }
}

/// What only a signer may change: the certificate and the conditions.
fn signed(request: &Object) -> (&str, &[Value]) {
    let conditions = at(request, "status.conditions").and_then(Value::as_array);
    (read::deep_text(request, "status", "certificate"), conditions.map(Vec::as_slice).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fake::{Allowed, Request, Stored};

    type Pairs<'a> = &'a [(&'static str, &'static str)];

    fn check(plugin: SignerPermission, subresource: &'static str, old: Value, new: Value, allowed: bool) {
        let request = Request { subresource, ..Request::update(GROUP, REQUESTS, old) };
        let refused = format!(
            "certificatesigningrequests.certificates.k8s.io \"n\" is forbidden: user not permitted to {} requests with \
             signerName \"example.com/a\"",
            plugin.step.verb
        );
        let expect = if allowed { Ok(()) } else { Err(refused) };
        assert_eq!(request.validate(&plugin, new, &Stored::default()), expect);
    }

    #[test]
    fn approval_needs_the_signer_or_its_domain() {
        let check = |permitted: Pairs<'_>, subresource: &'static str, allowed: bool| {
            let plugin = SignerPermission::to_approve(Arc::new(Allowed(permitted.to_vec())));
            let of = |signer: &str| json!({"spec": {"signerName": signer}});
            check(plugin, subresource, of("example.com/a"), of("example.com/b"), allowed);
        };
        check(&[("approve", "example.com/a")], "approval", true);
        check(&[("approve", "example.com/*")], "approval", true);
        check(&[("approve", "example.com/b"), ("approve", "*")], "approval", false);
        check(&[("sign", "example.com/a")], "approval", false);
        check(&[], "status", true);
        check(&[], "", true);
    }

    #[test]
    fn signing_needs_the_signer_or_its_domain() {
        let check = |permitted: Pairs<'_>, status: Value, allowed: bool| {
            let plugin = SignerPermission::to_sign(Arc::new(Allowed(permitted.to_vec())));
            let of = |status: Value| json!({"spec": {"signerName": "example.com/a"}, "status": status});
            check(plugin, "status", of(json!({"certificate": "Yw=="})), of(status), allowed);
        };
        let other = || json!({"certificate": "ZA=="});
        check(&[("sign", "example.com/a")], other(), true);
        check(&[("sign", "example.com/*")], other(), true);
        check(&[("approve", "example.com/a")], other(), false);
        check(&[], json!({"certificate": "Yw==", "conditions": []}), true);
        check(&[], json!({"certificate": "Yw==", "conditions": [{"type": "Failed"}]}), false);
        check(&[], json!({}), false);
    }
}
