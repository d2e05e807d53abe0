//! What each signer of Kubernetes certifies. The words of refusals are upstream's.

use std::collections::BTreeSet;

use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;
use x509_parser::x509::X509Name;

const NODES: &str = "system:nodes";
const NODE: &str = "system:node:";
const SIGNATURE: &str = "digital signature";
const ENCIPHERMENT: &str = "key encipherment";

/// What one signer looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Any user but those that admission keeps out, as a client of the API.
    Client,
    /// A node, as a client of the API.
    NodeClient,
    /// A node, as a server.
    NodeServer,
    /// Anything.
    Anything,
}

/// The rule of a signer; none where another than this server signs.
pub fn of_signer(name: &str) -> Option<Rule> {
    Some(match name {
        "kubernetes.io/kube-apiserver-client" => Rule::Client,
        "kubernetes.io/kube-apiserver-client-kubelet" => Rule::NodeClient,
        "kubernetes.io/kubelet-serving" => Rule::NodeServer,
        "kubernetes.io/legacy-unknown" => Rule::Anything,
        _ => return None,
    })
}

/// The request in a text of PEM, in DER: it is the first block there.
pub fn first_request(pem: &[u8]) -> Option<Vec<u8>> {
    let block = Pem::iter_from_buffer(pem).next()?.ok().filter(|block| block.label == "CERTIFICATE REQUEST")?;
    X509CertificationRequest::from_der(&block.contents).ok()?;
    Some(block.contents)
}

impl Rule {
    /// Whether a request is one that this signer certifies. The error is for who asked.
    pub fn check(self, request: &[u8], usages: &[&str]) -> Result<(), String> {
        let (_, request) = X509CertificationRequest::from_der(request).map_err(|error| error.to_string())?;
        match self {
            Self::Client => check_client_usages(usages),
            Self::NodeClient => check_node_client(&request, usages).map_err(str::to_owned),
            Self::NodeServer => check_node_server(&request, usages).map_err(str::to_owned),
            Self::Anything => Ok(()),
        }
    }
}

fn check_client_usages(usages: &[&str]) -> Result<(), String> {
    if let Some(other) = usages.iter().find(|usage| ![SIGNATURE, ENCIPHERMENT, "client auth"].contains(*usage)) {
        return Err(format!("invalid usage for client certificate: {other}"));
    }
    match usages.contains(&"client auth") {
        true => Ok(()),
        false => Err("missing required usage for client certificate: client auth".to_owned()),
    }
}

fn check_node_client(request: &X509CertificationRequest<'_>, usages: &[&str]) -> Result<(), &'static str> {
    let subject = &request.certification_request_info.subject;
    check_group(subject)?;
    let names = Names::of(request);
    for (found, refusal) in [
        (names.hosts, "DNS subjectAltNames are not allowed"),
        (names.mails, "Email subjectAltNames are not allowed"),
        (names.addresses, "IP subjectAltNames are not allowed"),
        (names.locations, "URI subjectAltNames are not allowed"),
    ] {
        if found > 0 {
            return Err(refusal);
        }
    }
    check_node_name(subject)?;
    match is_for(usages, "client auth") {
        true => Ok(()),
        false => Err("usages did not match [client auth digital signature key encipherment]"),
    }
}

fn check_node_server(request: &X509CertificationRequest<'_>, usages: &[&str]) -> Result<(), &'static str> {
    let subject = &request.certification_request_info.subject;
    check_group(subject)?;
    let names = Names::of(request);
    if names.hosts == 0 && names.addresses == 0 {
        return Err("DNS or IP subjectAltName is required");
    }
    if names.mails > 0 {
        return Err("Email subjectAltNames are not allowed");
    }
    if names.locations > 0 {
        return Err("URI subjectAltNames are not allowed");
    }
    if !is_for(usages, "server auth") {
        return Err("usages did not match [digital signature key encipherment server auth]");
    }
    check_node_name(subject)
}

/// Exactly the group of nodes.
fn check_group(subject: &X509Name<'_>) -> Result<(), &'static str> {
    let mut groups = subject.iter_organization();
    match (groups.next().and_then(|group| group.as_str().ok()), groups.next()) {
        (Some(NODES), None) => Ok(()),
        _ => Err("subject organization is not system:nodes"),
    }
}

fn check_node_name(subject: &X509Name<'_>) -> Result<(), &'static str> {
    let name = subject.iter_common_name().last().and_then(|name| name.as_str().ok());
    match name.is_some_and(|name| name.starts_with(NODE)) {
        true => Ok(()),
        false => Err("subject common name does not begin with system:node:"),
    }
}

/// Exactly what such a certificate is for: keys that are not of RSA encipher none.
fn is_for(usages: &[&str], purpose: &str) -> bool {
    let usages: BTreeSet<&str> = usages.iter().copied().collect();
    usages == BTreeSet::from([SIGNATURE, purpose]) || usages == BTreeSet::from([SIGNATURE, ENCIPHERMENT, purpose])
}

/// How many other names of each kind a request asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Names {
    hosts: usize,
    mails: usize,
    addresses: usize,
    locations: usize,
}

impl Names {
    fn of(request: &X509CertificationRequest<'_>) -> Self {
        let mut names = Self::default();
        for extension in request.requested_extensions().into_iter().flatten() {
            let ParsedExtension::SubjectAlternativeName(given) = extension else { continue };
            for name in &given.general_names {
                match name {
                    GeneralName::DNSName(_) => names.hosts += 1,
                    GeneralName::RFC822Name(_) => names.mails += 1,
                    GeneralName::IPAddress(_) => names.addresses += 1,
                    GeneralName::URI(_) => names.locations += 1,
                    _ => {}
                }
            }
        }
        names
    }
}

#[cfg(test)]
pub mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair, SanType};

    use super::*;

    /// A request of a user in a group, as PEM.
    pub fn request(name: &str, group: &str, names: &[&SanType]) -> String {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, group);
        params.distinguished_name.push(DnType::CommonName, name);
        params.subject_alt_names = names.iter().copied().cloned().collect();
        params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap()
    }

    fn check(rule: Rule, request: &str, usages: &[&str], refusal: Option<&str>) {
        let der = first_request(request.as_bytes()).unwrap();
        assert_eq!(rule.check(&der, usages).err().as_deref(), refusal, "{rule:?} {usages:?}");
    }

    #[test]
    fn clients_are_for_nothing_else() {
        let user = request("ann", "builders", &[]);
        check(Rule::Client, &user, &["client auth"], None);
        check(Rule::Client, &user, &["digital signature", "key encipherment", "client auth"], None);
        check(
            Rule::Client,
            &user,
            &["client auth", "server auth"],
            Some("invalid usage for client certificate: server auth"),
        );
        let missing = "missing required usage for client certificate: client auth";
        check(Rule::Client, &user, &["digital signature"], Some(missing));
        check(Rule::Anything, &user, &["cert sign"], None);
    }

    #[test]
    fn nodes_are_nodes() {
        const CLIENT: &[&str] = &["digital signature", "client auth"];
        const SERVER: &[&str] = &["server auth", "digital signature", "key encipherment"];
        let host = SanType::DnsName("one.example.com".try_into().unwrap());
        let mail = SanType::Rfc822Name("one@example.com".try_into().unwrap());
        let location = SanType::URI("https://example.com".try_into().unwrap());
        let address = SanType::IpAddress([192, 0, 2, 1].into());
        let node = |names: &[&SanType]| request("system:node:one", "system:nodes", names);

        check(Rule::NodeClient, &node(&[]), CLIENT, None);
        check(Rule::NodeServer, &node(&[&host]), SERVER, None);
        check(Rule::NodeServer, &node(&[&address]), &["digital signature", "server auth"], None);
        check(Rule::NodeClient, &node(&[&host]), CLIENT, Some("DNS subjectAltNames are not allowed"));
        check(Rule::NodeClient, &node(&[&mail]), CLIENT, Some("Email subjectAltNames are not allowed"));
        check(Rule::NodeClient, &node(&[&address]), CLIENT, Some("IP subjectAltNames are not allowed"));
        check(Rule::NodeClient, &node(&[&location]), CLIENT, Some("URI subjectAltNames are not allowed"));
        check(Rule::NodeServer, &node(&[]), SERVER, Some("DNS or IP subjectAltName is required"));
        check(Rule::NodeServer, &node(&[&host, &mail]), SERVER, Some("Email subjectAltNames are not allowed"));
        check(Rule::NodeServer, &node(&[&host, &location]), SERVER, Some("URI subjectAltNames are not allowed"));
        let usages = "usages did not match [client auth digital signature key encipherment]";
        check(Rule::NodeClient, &node(&[]), SERVER, Some(usages));
        let usages = "usages did not match [digital signature key encipherment server auth]";
        check(Rule::NodeServer, &node(&[&host]), CLIENT, Some(usages));
        let stranger = request("system:node:one", "builders", &[&host]);
        check(Rule::NodeServer, &stranger, SERVER, Some("subject organization is not system:nodes"));
        let user = request("ann", "system:nodes", &[&host]);
        check(Rule::NodeServer, &user, SERVER, Some("subject common name does not begin with system:node:"));
        let user = request("ann", "system:nodes", &[]);
        check(Rule::NodeClient, &user, CLIENT, Some("subject common name does not begin with system:node:"));
    }

    #[test]
    fn only_the_first_block_counts() {
        let (one, two) = (request("one", "a", &[]), request("two", "a", &[]));
        let first = first_request(one.as_bytes()).unwrap();
        assert_eq!(first_request(format!("{one}{two}").as_bytes()), Some(first));
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        assert_eq!(first_request(format!("{key}{one}").as_bytes()), None);
        assert_eq!(first_request(b""), None);
        assert_eq!(
            first_request(b"-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"),
            None
        );
    }
}
