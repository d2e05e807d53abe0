//! A certificate is approved only by who may approve for its signer.

use std::sync::Arc;

use futures::future::BoxFuture;
use pawl_meta::object::Object;
use pawl_meta::{Status, go};

use crate::{Attributes, Authorizes, Objects, Operation, Plugin, fields, signer};

pub struct CertificateApproval {
    authorizes: Arc<dyn Authorizes>,
}

impl CertificateApproval {
    pub fn new(authorizes: Arc<dyn Authorizes>) -> Self {
        Self { authorizes }
    }

    fn check(&self, attributes: &Attributes<'_>, object: Option<&Object>) -> Result<(), Status> {
        if attributes.operation != Operation::Update || !attributes.is_of(signer::GROUP, signer::REQUESTS, "approval") {
            return Ok(());
        }
        // The request as it was counts: the signer must not be exchanged on the way.
        let name = attributes.old.map(|old| fields::deep_text(old, "spec", "signerName")).unwrap_or_default();
        if signer::is_allowed(self.authorizes.as_ref(), attributes, "approve", name) {
            return Ok(());
        }
        let why = format!("user not permitted to approve requests with signerName {}", go::quote(name));
        Err(attributes.forbidden(object, why))
    }
}

impl Plugin for CertificateApproval {
    fn name(&self) -> &'static str {
        "CertificateApproval"
    }

    fn validate<'a>(
        &'a self,
        attributes: &'a Attributes<'a>,
        object: Option<&'a Object>,
        _objects: &'a dyn Objects,
    ) -> BoxFuture<'a, Result<(), Status>> {
        Box::pin(async move { self.check(attributes, object) })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fake::{Allowed, Request, Stored};

    const REFUSED: &str = "certificatesigningrequests.certificates.k8s.io \"n\" is forbidden: user not permitted to \
                           approve requests with signerName \"example.com/a\"";

    fn check(allowed: &[(&'static str, &'static str)], subresource: &'static str, expect: Result<(), &str>) {
        let plugin = CertificateApproval::new(Arc::new(Allowed(allowed.to_vec())));
        let old = json!({"spec": {"signerName": "example.com/a"}});
        let request = Request { subresource, ..Request::update(signer::GROUP, signer::REQUESTS, old) };
        let new = json!({"spec": {"signerName": "example.com/b"}});
        assert_eq!(request.validate(&plugin, new, &Stored::default()), expect.map_err(str::to_owned));
    }

    #[test]
    fn approval_needs_the_signer_or_its_domain() {
        check(&[("approve", "example.com/a")], "approval", Ok(()));
        check(&[("approve", "example.com/*")], "approval", Ok(()));
        check(&[("approve", "example.com/b"), ("approve", "*")], "approval", Err(REFUSED));
        check(&[("sign", "example.com/a")], "approval", Err(REFUSED));
        check(&[], "status", Ok(()));
        check(&[], "", Ok(()));
    }
}
