//! Nobody gets a client certificate that makes its holder a member of `system:masters`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pawl_meta::object::Object;
use pawl_meta::{GroupResource, Status, read};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::der_parser::asn1_rs::{Any, Tag};
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;

use crate::{AdmissionVerdict, Attributes, Operation, Plugin, signer_permission};

const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";
const MASTERS: &[u8] = b"system:masters";
const NOT_A_REQUEST: &str = "PEM block type must be CERTIFICATE REQUEST";

pub struct CertificateSubjectRestriction;

impl Plugin for CertificateSubjectRestriction {
    fn name(&self) -> &'static str {
        "CertificateSubjectRestriction"
    }

    fn looks_at_others(&self, _resource: &GroupResource) -> bool {
        false
    }

    fn validate<'a>(&'a self, attributes: &'a Attributes<'a>, object: Option<&'a Object>) -> AdmissionVerdict<'a> {
        Box::pin(async move { check(attributes, object) })
    }
}

fn check(attributes: &Attributes<'_>, object: Option<&Object>) -> Result<(), Status> {
    if attributes.operation != Operation::Create
        || !attributes.is(signer_permission::GROUP, signer_permission::REQUESTS)
    {
        return Ok(());
    }
    let Some(spec) = object.and_then(|object| read::map(object, "spec")) else { return Ok(()) };
    if read::text(spec, "signerName") != CLIENT_SIGNER {
        return Ok(());
    }
    match asks_for_masters(read::text(spec, "request")) {
        Ok(false) => Ok(()),
        Ok(true) => {
            let why = format!("use of {CLIENT_SIGNER} signer with system:masters group is not allowed");
            Err(attributes.forbidden(object, why))
        }
        Err(why) => Err(attributes.forbidden(object, format!("failed to parse CSR: {why}"))),
    }
}

/// Looks at every block of the request: which one is the first is for the signer to find, and signers differ in what they
/// skip.
fn asks_for_masters(request: &str) -> Result<bool, String> {
    let bytes = STANDARD.decode(request).unwrap_or_default();
    let mut blocks = Pem::iter_from_buffer(&bytes).peekable();
    if blocks.peek().is_none() {
        return Err(NOT_A_REQUEST.to_owned());
    }
    for block in blocks {
        let Some(block) = block.ok().filter(|block| block.label == "CERTIFICATE REQUEST") else {
            return Err(NOT_A_REQUEST.to_owned());
        };
        let (_, csr) = X509CertificationRequest::from_der(&block.contents).map_err(|error| error.to_string())?;
        let mut organizations = csr.certification_request_info.subject.iter_organization();
        if organizations.any(|attribute| text(attribute.attr_value()) == MASTERS) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The text of a name in whichever string type it is written; what is none names nobody.
fn text(value: &Any<'_>) -> Vec<u8> {
    let data = value.data;
    match value.tag() {
        Tag::Utf8String | Tag::PrintableString | Tag::Ia5String | Tag::NumericString | Tag::T61String => data.to_vec(),
        Tag::BmpString => {
            let units = data.chunks_exact(2).filter_map(|pair| Some(u16::from_be_bytes(pair.try_into().ok()?)));
            String::from_utf16_lossy(&units.collect::<Vec<_>>()).trim_end_matches('\0').as_bytes().to_vec()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, DnValue, KeyPair};
    use serde_json::json;

    use super::*;
    use crate::fake::{Request, Stored};

    fn pem(organization: impl Into<DnValue>) -> String {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, organization);
        params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap()
    }

    fn csr(organization: impl Into<DnValue>) -> String {
        STANDARD.encode(pem(organization))
    }

    fn check(signer_name: &str, request: &str, expect: Result<(), &str>) {
        let object = json!({"spec": {"signerName": signer_name, "request": request}});
        let result = Request::create(signer_permission::GROUP, signer_permission::REQUESTS).validate(
            &CertificateSubjectRestriction,
            object,
            &Stored::default(),
        );
        let refused = |why| format!("certificatesigningrequests.certificates.k8s.io \"n\" is forbidden: {why}");
        assert_eq!(result, expect.map_err(refused));
    }

    #[test]
    fn nobody_becomes_a_master_by_certificate() {
        const REFUSED: &str =
            "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed";
        check(CLIENT_SIGNER, &csr("developers"), Ok(()));
        check(CLIENT_SIGNER, &csr("system:masters"), Err(REFUSED));
        let utf16: Vec<u8> = "system:masters".encode_utf16().flat_map(u16::to_be_bytes).collect();
        let wide = rcgen::string::BmpString::from_utf16be(utf16).unwrap();
        check(CLIENT_SIGNER, &csr(DnValue::BmpString(wide)), Err(REFUSED));
        check("example.com/signer", &csr("system:masters"), Ok(()));
        let hidden = pem("developers").replace("END CERTIFICATE REQUEST", "END X") + &pem("system:masters");
        check(CLIENT_SIGNER, &STANDARD.encode(hidden), Err(REFUSED));
        let other = pem("developers").replace("CERTIFICATE REQUEST", "CERTIFICATE");
        for request in ["eA==", "", &STANDARD.encode(other)] {
            check(CLIENT_SIGNER, request, Err("failed to parse CSR: PEM block type must be CERTIFICATE REQUEST"));
        }
    }
}
