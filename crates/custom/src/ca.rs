//! Whether the certificates that a conversion webhook is to be trusted by can be read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pawl_meta::object::Object;
use x509_parser::certificate::X509Certificate;
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;

use crate::fields;

/// The bundle of a definition, as it is written: base64, empty when there is none.
pub(crate) fn bundle(object: &Object) -> &str {
    let conversion = fields::within(fields::within(object, "spec"), "conversion");
    fields::text(fields::within(fields::within(conversion, "webhook"), "clientConfig"), "caBundle")
}

/// What is wrong with a bundle; one certificate that can be read is enough.
pub(crate) fn problem(bundle: &str) -> Option<String> {
    if bundle.is_empty() {
        return None;
    }
    let pem = BASE64.decode(bundle).unwrap_or_default();
    let blocks: Vec<Pem> = Pem::iter_from_buffer(&pem).map_while(Result::ok).collect();
    let mut certificates = blocks.iter().filter(|block| block.label == "CERTIFICATE").peekable();
    let why = if certificates.peek().is_some() {
        if certificates.any(|block| X509Certificate::from_der(&block.contents).is_ok()) {
            return None;
        }
        "failed to parse certificate: x509: malformed certificate"
    } else if blocks.is_empty() {
        "unable to parse bytes as PEM block"
    } else {
        "no valid certificate authority data seen"
    };
    Some(format!("unable to load root certificates: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_needs_one_certificate() {
        let check = |pem: &str, expected: Option<&str>| {
            let said = problem(&BASE64.encode(pem));
            assert_eq!(said.as_deref().map(|text| text.rsplit_once("certificates: ").unwrap_or_default().1), expected);
        };
        assert_eq!(problem(""), None);
        check("no pem", Some("unable to parse bytes as PEM block"));
        check(
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            Some("failed to parse certificate: x509: malformed certificate"),
        );
        check("-----BEGIN KEY-----\nAAAA\n-----END KEY-----\n", Some("no valid certificate authority data seen"));
    }
}
