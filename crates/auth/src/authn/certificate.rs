//! Users by client certificate: the common name is the user, organizations are groups.

use std::collections::BTreeMap;
use std::sync::Arc;

use pawl_meta::time;
use ring::digest;
use x509_parser::certificate::X509Certificate;
use x509_parser::der_parser::asn1_rs::Tag;
use x509_parser::prelude::FromDer;
use x509_parser::x509::AttributeTypeAndValue;

use super::{Authenticator, Authorities, Credential, Identity, Outcome};
use crate::{User, names};

/// The attribute of a subject that carries the user's UID.
const UID_TYPE: &str = "1.3.6.1.4.1.57683.2";

/// Knows the users of client certificates that these authorities have signed.
pub struct ClientCertificates(pub Arc<Authorities>);

impl Authenticator for ClientCertificates {
    fn authenticate(&self, credential: &Credential<'_>, _: &[String]) -> Outcome {
        match credential {
            Credential::Certificate(peer) => self.0.judge(peer, time::unix_now(), known),
            Credential::Token(_) => Outcome::NotMine,
        }
    }
}

/// Whom a certificate with a verified chain stands for.
fn known(der: &[u8]) -> Outcome {
    match user_from_certificate(der) {
        Ok(Some(user)) => Outcome::Known(Box::new(Identity { user, ..Identity::default() })),
        Ok(None) => Outcome::NotMine,
        Err(why) => Outcome::Refused(why.to_owned()),
    }
}

/// The user that a certificate names. `None` when it names nobody. The caller has verified its chain.
pub fn user_from_certificate(der: &[u8]) -> Result<Option<User>, &'static str> {
    let (_, certificate) = X509Certificate::from_der(der).map_err(|_| "malformed client certificate")?;
    let usage = certificate.extended_key_usage().map_err(|_| "malformed extended key usage")?;
    if usage.is_some_and(|usage| !usage.value.client_auth && !usage.value.any) {
        return Err("x509: certificate specifies an incompatible key usage");
    }
    let subject = certificate.subject();
    // Of several common names the last one counts.
    let Some(name) = subject.iter_common_name().filter_map(text).last().filter(|name| !name.is_empty()) else {
        return Ok(None);
    };
    let uids = subject.iter_attributes().filter(|attribute| attribute.attr_type().to_id_string() == UID_TYPE);
    let uid = match uids.collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        [one] => match text(one) {
            None => return Err("unable to parse UID into a string"),
            Some(uid) if uid.is_empty() => return Err("UID cannot be an empty string"),
            Some(uid) => uid,
        },
        _ => return Err("expected 1 UID, but found multiple"),
    };
    let fingerprint = digest::digest(&digest::SHA256, der);
    let id = fingerprint.as_ref().iter().fold("X509SHA256=".to_owned(), |id, byte| format!("{id}{byte:02x}"));
    Ok(Some(User {
        name,
        uid,
        groups: subject.iter_organization().filter_map(text).collect(),
        extra: BTreeMap::from([(names::CREDENTIAL_ID.to_owned(), vec![id])]),
    }))
}

fn text(attribute: &AttributeTypeAndValue<'_>) -> Option<String> {
    match attribute.as_str() {
        Ok(text) => Some(text.to_owned()),
        // Admission knows this form, too. What it takes for no name must be none here.
        Err(_) if attribute.attr_value().tag() == Tag::T61String => {
            String::from_utf8(attribute.as_slice().to_vec()).ok()
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};

    fn certificate(names: &[(DnType, &str)], usage: &[ExtendedKeyUsagePurpose]) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        for (kind, value) in names {
            params.distinguished_name.push(kind.clone(), *value);
        }
        params.extended_key_usages = usage.to_vec();
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    fn uid() -> DnType {
        DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2])
    }

    #[test]
    fn subjects_become_users() {
        let client = [ExtendedKeyUsagePurpose::ClientAuth];
        let names = [(DnType::CommonName, "alice"), (DnType::OrganizationName, "devs"), (uid(), "u-1")];
        let user = user_from_certificate(&certificate(&names, &client)).unwrap().unwrap();
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("alice", "u-1"));
        assert_eq!(user.groups, ["devs"]);
        let id = &user.extra[names::CREDENTIAL_ID][0];
        assert_eq!((id.len(), &id[..11]), (75, "X509SHA256="));
        assert_eq!(user_from_certificate(&certificate(&names[..1], &[])).unwrap().unwrap().uid, "");
        assert_eq!(user_from_certificate(&certificate(&names[1..], &client)), Ok(None));
    }

    #[test]
    fn a_disguised_group_is_none() {
        const UTF8: u8 = 0x0c;
        let names = [(DnType::CommonName, "alice"), (DnType::OrganizationName, "system:masters")];
        let plain = certificate(&names, &[]);
        assert_eq!(user_from_certificate(&plain).unwrap().unwrap().groups, ["system:masters"]);
        // Octets, and texts that are visible or general: admission does not take these for a name.
        for kind in [0x04, 0x1a, 0x1b] {
            let mut disguised = plain.clone();
            for at in 2..plain.len() {
                if plain[at..].starts_with(b"system:masters") && plain[at - 2] == UTF8 {
                    disguised[at - 2] = kind;
                }
            }
            assert_ne!(disguised, plain);
            let user = user_from_certificate(&disguised).unwrap().unwrap();
            assert_eq!((user.name.as_str(), user.groups.len()), ("alice", 0), "{kind:x}");
        }
    }

    #[test]
    fn certificates_for_servers_are_refused() {
        let server = [ExtendedKeyUsagePurpose::ServerAuth];
        let refused = user_from_certificate(&certificate(&[(DnType::CommonName, "alice")], &server));
        assert_eq!(refused, Err("x509: certificate specifies an incompatible key usage"));
        assert_eq!(user_from_certificate(b"junk"), Err("malformed client certificate"));
    }
}
