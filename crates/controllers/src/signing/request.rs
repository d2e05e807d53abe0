//! What a signing request asks for, read once: rules look at this, and a certificate is made of this and of nothing else.
//!
//! A name that one reader takes for `system:masters` and another for nobody's would be a way in, so what is not plainly a text is no
//! request at all, and attributes that mean nothing in a certificate of Kubernetes, or more than was asked for (a uid), are left out.

use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;
use x509_parser::x509::AttributeTypeAndValue;

/// A kind of an attribute, as an object identifier.
pub type Oid = &'static [u64];

const COMMON_NAME: Oid = &[2, 5, 4, 3];
const ORGANIZATION: Oid = &[2, 5, 4, 10];
/// Beside these: serial number, country, locality, province, street, unit and postal code.
const KINDS: [Oid; 9] = [
    COMMON_NAME,
    &[2, 5, 4, 5],
    &[2, 5, 4, 6],
    &[2, 5, 4, 7],
    &[2, 5, 4, 8],
    &[2, 5, 4, 9],
    ORGANIZATION,
    &[2, 5, 4, 11],
    &[2, 5, 4, 17],
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningRequest {
    /// All of it: the key, and the signature by it.
    pub der: Vec<u8>,
    pub subject: Vec<(Oid, String)>,
    pub names: Vec<OtherName>,
}

/// Another name that a certificate is to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OtherName {
    Host(String),
    Mail(String),
    Location(String),
    /// Of four or sixteen bytes.
    Address(Vec<u8>),
}

impl SigningRequest {
    /// Reads the first block of PEM. The error is for who asked.
    pub fn read(pem: &[u8]) -> Result<Self, String> {
        let block = Pem::iter_from_buffer(pem).next().and_then(Result::ok);
        let block = block.filter(|block| block.label == "CERTIFICATE REQUEST");
        let der = block.ok_or("PEM block type must be CERTIFICATE REQUEST")?.contents;
        let (_, request) = X509CertificationRequest::from_der(&der).map_err(|error| error.to_string())?;
        let attributes = request.certification_request_info.subject.iter_attributes();
        let subject = attributes.filter_map(attribute).collect::<Result<_, _>>()?;
        let names = names(&request);
        Ok(Self { der, subject, names })
    }

    pub fn groups(&self) -> impl Iterator<Item = &str> {
        self.all(ORGANIZATION)
    }

    /// Of several the last one counts.
    pub fn user(&self) -> Option<&str> {
        self.all(COMMON_NAME).last()
    }

    fn all(&self, kind: Oid) -> impl Iterator<Item = &str> {
        self.subject.iter().filter(move |(of, _)| *of == kind).map(|(_, text)| text.as_str())
    }
}

/// An attribute of a kind that is known.
fn attribute(given: &AttributeTypeAndValue<'_>) -> Option<Result<(Oid, String), String>> {
    let is_of = |kind: &Oid| given.attr_type().iter().is_some_and(|arcs| arcs.eq(kind.iter().copied()));
    let kind = KINDS.into_iter().find(is_of)?;
    let text = given.as_str().map_err(|_| "the subject of the request is not written in a form of text that is known");
    Some(text.map(|text| (kind, text.to_owned())).map_err(str::to_owned))
}

fn names(request: &X509CertificationRequest<'_>) -> Vec<OtherName> {
    let mut names = Vec::new();
    for extension in request.requested_extensions().into_iter().flatten() {
        let ParsedExtension::SubjectAlternativeName(given) = extension else { continue };
        names.extend(given.general_names.iter().filter_map(|name| match name {
            GeneralName::DNSName(host) => Some(OtherName::Host((*host).to_owned())),
            GeneralName::RFC822Name(mail) => Some(OtherName::Mail((*mail).to_owned())),
            GeneralName::URI(location) => Some(OtherName::Location((*location).to_owned())),
            GeneralName::IPAddress(address) if matches!(address.len(), 4 | 16) => {
                Some(OtherName::Address(address.to_vec()))
            }
            _ => None,
        }));
    }
    names
}

#[cfg(test)]
pub mod tests {
    use rcgen::{CertificateParams, CustomExtension, DnType, KeyPair, SanType};

    use super::*;

    /// A request of a user in a group, as PEM.
    pub fn request(name: &str, group: &str, names: &[&SanType]) -> String {
        make(&[(DnType::OrganizationName, group), (DnType::CommonName, name)], names).pem().unwrap()
    }

    fn make(subject: &[(DnType, &str)], names: &[&SanType]) -> rcgen::CertificateSigningRequest {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        for (kind, text) in subject {
            params.distinguished_name.push(kind.clone(), *text);
        }
        params.subject_alt_names = names.iter().copied().cloned().collect();
        params.custom_extensions = vec![CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![5, 0])];
        params.serialize_request(&KeyPair::generate().unwrap()).unwrap()
    }

    fn pem(der: &[u8]) -> String {
        use base64::Engine;
        let text = base64::engine::general_purpose::STANDARD.encode(der);
        format!("-----BEGIN CERTIFICATE REQUEST-----\n{text}\n-----END CERTIFICATE REQUEST-----\n")
    }

    #[test]
    fn only_the_first_block_counts() {
        let (one, two) = (request("one", "a", &[]), request("two", "a", &[]));
        let both = SigningRequest::read(format!("{one}{two}").as_bytes()).unwrap();
        assert_eq!((both.user(), both.groups().collect()), (Some("one"), vec!["a"]));
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        for none in ["", &format!("{key}{one}"), "-----BEGIN CERTIFICATE REQUEST-----"] {
            let refusal = SigningRequest::read(none.as_bytes()).unwrap_err();
            assert_eq!(refusal, "PEM block type must be CERTIFICATE REQUEST", "{none}");
        }
        assert!(SigningRequest::read(pem(b"junk").as_bytes()).is_err());
    }

    #[test]
    fn nothing_is_taken_along_that_is_not_known() {
        let uid = DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]);
        let host = SanType::DnsName("one.example.com".try_into().unwrap());
        let made = make(&[(DnType::CommonName, "ann"), (uid, "u-1")], &[&host]);
        let read = SigningRequest::read(made.pem().unwrap().as_bytes()).unwrap();
        assert_eq!(read.subject, [(COMMON_NAME, "ann".to_owned())]);
        assert_eq!(read.names, [OtherName::Host("one.example.com".to_owned())]);
    }

    #[test]
    fn a_disguised_name_is_none() {
        const UTF8: u8 = 0x0c;
        let der =
            make(&[(DnType::OrganizationName, "system:masters"), (DnType::CommonName, "ann")], &[]).der().to_vec();
        let at = der.windows(14).position(|bytes| bytes == b"system:masters").unwrap() - 2;
        assert_eq!(der[at..at + 2], [UTF8, 14]);
        // Octets, and texts that are visible, general or of telex: readers differ in what they take these for.
        for kind in [0x04, 0x1a, 0x1b, 0x14, 0x1e] {
            let mut disguised = der.clone();
            disguised[at] = kind;
            let refusal = SigningRequest::read(pem(&disguised).as_bytes()).unwrap_err();
            assert_eq!(
                refusal, "the subject of the request is not written in a form of text that is known",
                "{kind:x}"
            );
        }
        assert_eq!(
            SigningRequest::read(pem(&der).as_bytes()).unwrap().groups().collect::<Vec<_>>(),
            ["system:masters"]
        );
    }
}
