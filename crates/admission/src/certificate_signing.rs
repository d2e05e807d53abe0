//! A certificate is issued, and its conditions are set, only by who may sign for its signer.

use std::sync::Arc;

use futures::future::BoxFuture;
use pawl_meta::object::{Object, at};
use pawl_meta::{Status, go};
use serde_json::Value;

use crate::{Attributes, Authorizes, Objects, Operation, Plugin, fields, signer};

pub struct CertificateSigning {
    authorizes: Arc<dyn Authorizes>,
}

impl CertificateSigning {
    pub fn new(authorizes: Arc<dyn Authorizes>) -> Self {
        Self { authorizes }
    }

    fn check(&self, attributes: &Attributes<'_>, object: Option<&Object>) -> Result<(), Status> {
        if attributes.operation != Operation::Update || !attributes.is_of(signer::GROUP, signer::REQUESTS, "status") {
            return Ok(());
        }
        let (Some(old), Some(new)) = (attributes.old, object) else { return Ok(()) };
        if signed(old) == signed(new) {
            return Ok(());
        }
        let name = fields::deep_text(old, "spec", "signerName");
        if signer::is_allowed(self.authorizes.as_ref(), attributes, "sign", name) {
            return Ok(());
        }
        let why = format!("user not permitted to sign requests with signerName {}", go::quote(name));
        Err(attributes.forbidden(object, why))
    }
}

impl Plugin for CertificateSigning {
    fn name(&self) -> &'static str {
        "CertificateSigning"
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

/// What only a signer may change: the certificate and the conditions.
fn signed(request: &Object) -> (&str, &[Value]) {
    let conditions = at(request, "status.conditions").and_then(Value::as_array);
    (fields::deep_text(request, "status", "certificate"), conditions.map(Vec::as_slice).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fake::{Allowed, Request, Stored};

    const REFUSED: &str = "certificatesigningrequests.certificates.k8s.io \"n\" is forbidden: user not permitted to sign \
                           requests with signerName \"example.com/a\"";

    fn check(allowed: &[(&'static str, &'static str)], status: Value, expect: Result<(), &str>) {
        let plugin = CertificateSigning::new(Arc::new(Allowed(allowed.to_vec())));
        let old = json!({"spec": {"signerName": "example.com/a"}, "status": {"certificate": "Yw=="}});
        let new = json!({"spec": {"signerName": "example.com/a"}, "status": status});
        let request = Request { subresource: "status", ..Request::update(signer::GROUP, signer::REQUESTS, old) };
        assert_eq!(request.validate(&plugin, new, &Stored::default()), expect.map_err(str::to_owned));
    }

    #[test]
    fn signing_needs_the_signer_or_its_domain() {
        let other = || json!({"certificate": "ZA=="});
        check(&[("sign", "example.com/a")], other(), Ok(()));
        check(&[("sign", "example.com/*")], other(), Ok(()));
        check(&[("approve", "example.com/a")], other(), Err(REFUSED));
        check(&[], json!({"certificate": "Yw==", "conditions": []}), Ok(()));
        check(&[], json!({"certificate": "Yw==", "conditions": [{"type": "Failed"}]}), Err(REFUSED));
        check(&[], json!({}), Err(REFUSED));
    }
}
