//! What each signer of Kubernetes certifies. The words of refusals are upstream's.

use std::collections::BTreeSet;

use super::request::{OtherName, SigningRequest};

const NODES: &str = "system:nodes";
const NODE: &str = "system:node:";
const SIGNATURE: &str = "digital signature";
const ENCIPHERMENT: &str = "key encipherment";
const MAIL: &str = "Email subjectAltNames are not allowed";
const LOCATION: &str = "URI subjectAltNames are not allowed";

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

impl Rule {
    /// Whether a request is one that this signer certifies. The error is for who asked.
    pub fn check(self, request: &SigningRequest, usages: &[&str]) -> Result<(), String> {
        match self {
            Self::Client => check_client_usages(usages),
            Self::NodeClient => check_node_client(request, usages).map_err(str::to_owned),
            Self::NodeServer => check_node_server(request, usages).map_err(str::to_owned),
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

fn check_node_client(request: &SigningRequest, usages: &[&str]) -> Result<(), &'static str> {
    check_group(request)?;
    let has = |is_of: fn(&OtherName) -> bool| request.names.iter().any(is_of);
    if has(is_host) {
        return Err("DNS subjectAltNames are not allowed");
    }
    if has(is_mail) {
        return Err(MAIL);
    }
    if has(is_address) {
        return Err("IP subjectAltNames are not allowed");
    }
    if has(is_location) {
        return Err(LOCATION);
    }
    check_node_name(request)?;
    match is_for(usages, "client auth") {
        true => Ok(()),
        false => Err("usages did not match [client auth digital signature key encipherment]"),
    }
}

fn check_node_server(request: &SigningRequest, usages: &[&str]) -> Result<(), &'static str> {
    check_group(request)?;
    let has = |is_of: fn(&OtherName) -> bool| request.names.iter().any(is_of);
    if !has(is_host) && !has(is_address) {
        return Err("DNS or IP subjectAltName is required");
    }
    if has(is_mail) {
        return Err(MAIL);
    }
    if has(is_location) {
        return Err(LOCATION);
    }
    if !is_for(usages, "server auth") {
        return Err("usages did not match [digital signature key encipherment server auth]");
    }
    check_node_name(request)
}

fn is_host(name: &OtherName) -> bool {
    matches!(name, OtherName::Host(_))
}

fn is_mail(name: &OtherName) -> bool {
    matches!(name, OtherName::Mail(_))
}

fn is_address(name: &OtherName) -> bool {
    matches!(name, OtherName::Address(_))
}

fn is_location(name: &OtherName) -> bool {
    matches!(name, OtherName::Location(_))
}

/// Exactly the group of nodes.
fn check_group(request: &SigningRequest) -> Result<(), &'static str> {
    match request.groups().eq([NODES]) {
        true => Ok(()),
        false => Err("subject organization is not system:nodes"),
    }
}

fn check_node_name(request: &SigningRequest) -> Result<(), &'static str> {
    match request.user().is_some_and(|name| name.starts_with(NODE)) {
        true => Ok(()),
        false => Err("subject common name does not begin with system:node:"),
    }
}

/// Exactly what such a certificate is for: keys that are not of RSA encipher none.
fn is_for(usages: &[&str], purpose: &str) -> bool {
    let usages: BTreeSet<&str> = usages.iter().copied().collect();
    usages == BTreeSet::from([SIGNATURE, purpose]) || usages == BTreeSet::from([SIGNATURE, ENCIPHERMENT, purpose])
}

#[cfg(test)]
mod tests {
    use rcgen::SanType;

    use super::*;
    use crate::signing::request::tests::request;

    fn check(rule: Rule, request: &str, usages: &[&str], refusal: Option<&str>) {
        let request = SigningRequest::read(request.as_bytes()).unwrap();
        assert_eq!(rule.check(&request, usages).err().as_deref(), refusal, "{rule:?} {usages:?}");
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
}
