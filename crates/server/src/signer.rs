//! The server's own authority as a signer of requests: what it certifies, certificates look as upstream's controller makes them.
//!
//! Owns how a certificate is laid out: the crate that makes the server's own certificates knows one value for each attribute of a name,
//! and users are in many groups. What is signed, and whether, has been decided before (`pawl_controllers::Order`): of the request itself
//! only its key is taken, and its signature looked at.

use std::sync::Arc;
use std::time::Duration;

use pawl_controllers::{Order, OtherName, Signer, Unsigned};
use rcgen::{
    KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, PKCS_RSA_SHA256, PKCS_RSA_SHA384,
    PKCS_RSA_SHA512, SigningKey,
};
use time::OffsetDateTime;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::error::X509Error;
use x509_parser::extensions::ParsedExtension;
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;
use yasna::models::{GeneralizedTime, ObjectIdentifier, UTCTime};
use yasna::{DERWriter, DERWriterSeq, Tag};

use crate::certificates::{self, Authority};

const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);
const SHORTEST: Duration = Duration::from_secs(10 * 60);
/// Clocks may be slow.
const BACKDATED: Duration = Duration::from_secs(5 * 60);
/// What lives no longer than this lives all of it from now on.
const SHORT: Duration = Duration::from_secs(8 * 60 * 60);

const KEY_USAGE: &[u64] = &[2, 5, 29, 15];
const EXTENDED_KEY_USAGE: &[u64] = &[2, 5, 29, 37];
const BASIC_CONSTRAINTS: &[u64] = &[2, 5, 29, 19];
const AUTHORITY_KEY: &[u64] = &[2, 5, 29, 35];
const ALTERNATIVE_NAMES: &[u64] = &[2, 5, 29, 17];

/// The bits of a key's usage, by the API's words.
const BITS: [(&str, usize); 10] = [
    ("signing", 0),
    ("digital signature", 0),
    ("content commitment", 1),
    ("key encipherment", 2),
    ("data encipherment", 3),
    ("key agreement", 4),
    ("cert sign", 5),
    ("crl sign", 6),
    ("encipher only", 7),
    ("decipher only", 8),
];

/// The purposes of a certificate, by the API's words and in the order in which they are written.
const PURPOSES: [(&str, &[u64]); 13] = [
    ("any", &[2, 5, 29, 37, 0]),
    ("server auth", &[1, 3, 6, 1, 5, 5, 7, 3, 1]),
    ("client auth", &[1, 3, 6, 1, 5, 5, 7, 3, 2]),
    ("code signing", &[1, 3, 6, 1, 5, 5, 7, 3, 3]),
    ("email protection", &[1, 3, 6, 1, 5, 5, 7, 3, 4]),
    ("s/mime", &[1, 3, 6, 1, 5, 5, 7, 3, 4]),
    ("ipsec end system", &[1, 3, 6, 1, 5, 5, 7, 3, 5]),
    ("ipsec tunnel", &[1, 3, 6, 1, 5, 5, 7, 3, 6]),
    ("ipsec user", &[1, 3, 6, 1, 5, 5, 7, 3, 7]),
    ("timestamping", &[1, 3, 6, 1, 5, 5, 7, 3, 8]),
    ("ocsp signing", &[1, 3, 6, 1, 5, 5, 7, 3, 9]),
    ("microsoft sgc", &[1, 3, 6, 1, 4, 1, 311, 10, 3, 3]),
    ("netscape sgc", &[2, 16, 840, 1, 113_730, 4, 1]),
];

/// A certificate that signs, and its key.
pub struct OwnSigner {
    key: KeyPair,
    /// What the signature is made by, and whether that has a parameter.
    algorithm: (&'static [u64], bool),
    /// Its name, in DER.
    name: Vec<u8>,
    key_id: Option<Vec<u8>>,
    not_after: i64,
}

impl std::fmt::Debug for OwnSigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OwnSigner")
    }
}

impl OwnSigner {
    /// The server's CA, where it can sign. One that should and cannot is told of.
    pub fn of(ca: &Authority) -> Option<Arc<dyn Signer>> {
        match Self::new(&ca.certificate_pem, ca.key_pem.as_deref()?) {
            Ok(signer) => Some(Arc::new(signer)),
            Err(why) => {
                tracing::warn!(why, "the server's CA signs no requests");
                None
            }
        }
    }

    /// The error says why these cannot sign.
    fn new(certificate: &str, key: &str) -> Result<Self, String> {
        let key = KeyPair::from_pem(key).map_err(|error| error.to_string())?;
        let algorithm = algorithm(&key).ok_or("its key is of a kind that does not sign here")?;
        let block = Pem::iter_from_buffer(certificate.as_bytes()).next().ok_or("it holds no certificate")?;
        let block = block.map_err(|error| error.to_string())?;
        let certificate = block.parse_x509().map_err(|error| error.to_string())?;
        let key_id = certificate.iter_extensions().find_map(|extension| match extension.parsed_extension() {
            ParsedExtension::SubjectKeyIdentifier(id) => Some(id.0.to_vec()),
            _ => None,
        });
        Ok(Self {
            key,
            algorithm,
            name: certificate.subject().as_raw().to_vec(),
            key_id,
            not_after: certificate.validity().not_after.timestamp(),
        })
    }

    fn certify_at(&self, order: &Order, now: i64) -> Result<Vec<u8>, Unsigned> {
        let wrong = |error: &dyn ToString| Unsigned::Request(error.to_string());
        let (_, request) = X509CertificationRequest::from_der(&order.request.der).map_err(|error| wrong(&error))?;
        request.verify_signature().map_err(|error| match error {
            X509Error::SignatureVerificationError => wrong(&"the request is not signed by its own key"),
            _ => wrong(&"the request has a key or a signature of a kind that is not known here"),
        })?;
        let (from, until) = self.validity(order.seconds, now).map_err(Unsigned::Authority)?;
        let mut serial = [0; 16];
        getrandom::fill(&mut serial).map_err(|error| Unsigned::Authority(error.to_string()))?;
        let content = yasna::construct_der(|writer| {
            writer.write_sequence(|fields| {
                fields.next().write_tagged(Tag::context(0), |version| version.write_u8(2));
                fields.next().write_bigint_bytes(&serial, true);
                self.write_algorithm(fields.next());
                fields.next().write_der(&self.name);
                fields.next().write_sequence(|validity| {
                    write_time(validity.next(), from);
                    write_time(validity.next(), until);
                });
                fields.next().write_sequence(|subject| write_subject(subject, order));
                fields.next().write_der(request.certification_request_info.subject_pki.raw);
                fields.next().write_tagged(Tag::context(3), |extensions| {
                    extensions.write_sequence(|extensions| self.write_extensions(extensions, order));
                });
            });
        });
        let signature = self.key.sign(&content).map_err(|error| Unsigned::Authority(error.to_string()))?;
        Ok(yasna::construct_der(|writer| {
            writer.write_sequence(|fields| {
                fields.next().write_der(&content);
                self.write_algorithm(fields.next());
                fields.next().write_bitvec_bytes(&signature, signature.len() * 8);
            });
        }))
    }

    /// From when and until when, in seconds: what was asked for within bounds, and no longer than the authority itself.
    fn validity(&self, seconds: Option<i64>, now: i64) -> Result<(i64, i64), String> {
        if now >= self.not_after {
            return Err("the authority has expired".to_owned());
        }
        let asked = seconds.map_or(LONGEST, |seconds| Duration::from_secs(seconds.try_into().unwrap_or(0)));
        let life = asked.clamp(SHORTEST, LONGEST);
        let until = now + signed(if life < SHORT { life } else { life - BACKDATED });
        Ok((now - signed(BACKDATED), until.min(self.not_after)))
    }

    fn write_algorithm(&self, writer: DERWriter<'_>) {
        let (oid, has_parameter) = self.algorithm;
        writer.write_sequence(|fields| {
            fields.next().write_oid(&ObjectIdentifier::from_slice(oid));
            if has_parameter {
                fields.next().write_null();
            }
        });
    }

    fn write_extensions(&self, extensions: &mut DERWriterSeq<'_>, Order { request, usages, .. }: &Order) {
        let is_asked = |word: &str| usages.iter().any(|usage| usage == word);
        let mut bits = [false; 9];
        for (_, bit) in BITS.iter().filter(|(word, _)| is_asked(word)) {
            if let Some(bit) = bits.get_mut(*bit) {
                *bit = true;
            }
        }
        if let Some(last) = bits.iter().rposition(|bit| *bit) {
            write_extension(extensions.next(), KEY_USAGE, true, |writer| write_bits(writer, &bits, last + 1));
        }
        let mut purposes: Vec<&[u64]> =
            PURPOSES.iter().filter(|(word, _)| is_asked(word)).map(|(_, purpose)| *purpose).collect();
        purposes.dedup();
        if !purposes.is_empty() {
            write_extension(extensions.next(), EXTENDED_KEY_USAGE, false, |writer| {
                writer.write_sequence(|list| {
                    for purpose in purposes {
                        list.next().write_oid(&ObjectIdentifier::from_slice(purpose));
                    }
                });
            });
        }
        // It is no authority itself.
        write_extension(extensions.next(), BASIC_CONSTRAINTS, true, |writer| writer.write_sequence(|_| {}));
        if let Some(id) = &self.key_id {
            write_extension(extensions.next(), AUTHORITY_KEY, false, |writer| {
                writer.write_sequence(|fields| {
                    fields.next().write_tagged_implicit(Tag::context(0), |field| field.write_bytes(id));
                });
            });
        }
        if !request.names.is_empty() {
            write_extension(extensions.next(), ALTERNATIVE_NAMES, request.subject.is_empty(), |writer| {
                writer.write_sequence(|list| {
                    for name in &request.names {
                        let (tag, bytes) = match name {
                            OtherName::Mail(mail) => (1, mail.as_bytes()),
                            OtherName::Host(host) => (2, host.as_bytes()),
                            OtherName::Location(location) => (6, location.as_bytes()),
                            OtherName::Address(address) => (7, address.as_slice()),
                        };
                        list.next().write_tagged_implicit(Tag::context(tag), |field| field.write_bytes(bytes));
                    }
                });
            });
        }
    }
}

impl Signer for OwnSigner {
    fn certify(&self, order: &Order) -> Result<String, Unsigned> {
        let der = self.certify_at(order, OffsetDateTime::now_utc().unix_timestamp())?;
        Ok(certificates::pem("CERTIFICATE", &der))
    }
}

fn signed(duration: Duration) -> i64 {
    duration.as_secs().try_into().unwrap_or(i64::MAX)
}

fn algorithm(key: &KeyPair) -> Option<(&'static [u64], bool)> {
    let kind = key.algorithm();
    let known: [(_, &'static [u64], bool); 6] = [
        (&PKCS_ECDSA_P256_SHA256, &[1, 2, 840, 10045, 4, 3, 2], false),
        (&PKCS_ECDSA_P384_SHA384, &[1, 2, 840, 10045, 4, 3, 3], false),
        (&PKCS_ED25519, &[1, 3, 101, 112], false),
        (&PKCS_RSA_SHA256, &[1, 2, 840, 113_549, 1, 1, 11], true),
        (&PKCS_RSA_SHA384, &[1, 2, 840, 113_549, 1, 1, 12], true),
        (&PKCS_RSA_SHA512, &[1, 2, 840, 113_549, 1, 1, 13], true),
    ];
    known.into_iter().find(|(known, ..)| *known == kind).map(|(_, oid, has_parameter)| (oid, has_parameter))
}

fn write_subject(subject: &mut DERWriterSeq<'_>, order: &Order) {
    for (kind, text) in &order.request.subject {
        subject.next().write_set(|one| {
            one.next().write_sequence(|attribute| {
                attribute.next().write_oid(&ObjectIdentifier::from_slice(kind));
                attribute.next().write_utf8_string(text);
            });
        });
    }
}

fn write_extension(writer: DERWriter<'_>, oid: &[u64], is_critical: bool, value: impl FnOnce(DERWriter<'_>)) {
    writer.write_sequence(|fields| {
        fields.next().write_oid(&ObjectIdentifier::from_slice(oid));
        if is_critical {
            fields.next().write_bool(true);
        }
        fields.next().write_bytes(&yasna::construct_der(value));
    });
}

/// The first so many bits, the highest of a byte first.
fn write_bits(writer: DERWriter<'_>, bits: &[bool], count: usize) {
    let bytes: Vec<u8> = bits
        .chunks(8)
        .map(|byte| byte.iter().enumerate().fold(0, |sum, (at, bit)| sum | (u8::from(*bit) << (7 - at))))
        .take(count.div_ceil(8))
        .collect();
    writer.write_bitvec_bytes(&bytes, count);
}

/// A time in the form that its year has in certificates.
fn write_time(writer: DERWriter<'_>, seconds: i64) {
    let time = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    match time.year() {
        ..2050 => writer.write_utctime(&UTCTime::from_datetime(time)),
        _ => writer.write_generalized_time(&GeneralizedTime::from_datetime(time)),
    }
}

#[cfg(test)]
mod tests {
    use pawl_controllers::SigningRequest;
    use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyUsagePurpose};
    use x509_parser::certificate::X509Certificate;

    use super::*;

    /// Of Ann, who builds and keeps, with one name of each kind.
    const ANN: &str = "\
-----BEGIN CERTIFICATE REQUEST-----\n\
MIIBRzCB7gIBADAzMREwDwYDVQQKDAhidWlsZGVyczEQMA4GA1UECgwHa2VlcGVy\n\
czEMMAoGA1UEAwwDYW5uMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE6gPxHWNq\n\
3MrWvm7j8FeryZZFsxFD+HeDWsJ/KdDk4NXZqjOtUxOT2N9ZFefcKpfCO2UOf6YS\n\
AjIhnXsSG/vVT6BZMFcGCSqGSIb3DQEJDjFKMEgwRgYDVR0RBD8wPYIPb25lLmV4\n\
YW1wbGUuY29thwTAAAIBgQ9hbm5AZXhhbXBsZS5jb22GE2h0dHBzOi8vZXhhbXBs\n\
ZS5jb20wCgYIKoZIzj0EAwIDSAAwRQIhALRuTeqP6LW0MeDETwoRPhvEl3LrFpDX\n\
Ne/7K6KuTm/KAiBYZlTBe7PR8PEPi1zqd4vSTi+jKsDxHVsqYkqZ1YpEsA==\n\
-----END CERTIFICATE REQUEST-----\n\
";
    const NOW: i64 = 1_700_000_000;

    /// An authority that signs until then.
    fn authority(until: i64) -> (String, OwnSigner) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.not_before = OffsetDateTime::from_unix_timestamp(0).unwrap();
        params.not_after = OffsetDateTime::from_unix_timestamp(until).unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        let signer = OwnSigner::new(&certificate, &key.serialize_pem()).unwrap();
        (certificate, signer)
    }

    fn order(usages: &[&str], seconds: Option<i64>) -> Order {
        let request = SigningRequest::read(ANN.as_bytes()).unwrap();
        Order { request, usages: usages.iter().map(|usage| (*usage).to_owned()).collect(), seconds }
    }

    #[test]
    fn a_certificate_has_what_was_asked_for() {
        let (certificate, signer) = authority(4_000_000_000);
        let wanted = ["client auth", "digital signature", "key encipherment", "s/mime", "email protection", "any"];
        let der = signer.certify_at(&order(&wanted, Some(3600)), NOW).unwrap();
        let (rest, made) = X509Certificate::from_der(&der).unwrap();
        assert!(rest.is_empty());
        let block = Pem::iter_from_buffer(certificate.as_bytes()).next().unwrap().unwrap();
        let authority = block.parse_x509().unwrap();
        made.verify_signature(Some(authority.public_key())).unwrap();
        assert_eq!(made.issuer().as_raw(), authority.subject().as_raw());
        let groups: Vec<&str> = made.subject().iter_organization().map(|group| group.as_str().unwrap()).collect();
        assert_eq!((made.subject().to_string().as_str(), groups.len()), ("O=builders, O=keepers, CN=ann", 2));
        let usage = made.key_usage().unwrap().unwrap();
        assert!(usage.critical && usage.value.digital_signature() && usage.value.key_encipherment());
        assert!(!usage.value.key_cert_sign());
        let purposes = made.extended_key_usage().unwrap().unwrap().value;
        assert!(purposes.client_auth && purposes.email_protection && purposes.any && !purposes.server_auth);
        assert!(!made.is_ca());
        let names = &made.subject_alternative_name().unwrap().unwrap().value.general_names;
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        assert_eq!(
            names,
            [
                "DNSName(one.example.com)",
                "IPAddress(c0:00:02:01)",
                "RFC822Name(ann@example.com)",
                "URI(https://example.com)"
            ]
        );
        let again = signer.certify_at(&order(&wanted, Some(3600)), NOW).unwrap();
        assert_ne!(made.raw_serial(), X509Certificate::from_der(&again).unwrap().1.raw_serial());
    }

    #[test]
    fn a_request_must_be_signed_by_its_key() {
        let (_, signer) = authority(4_000_000_000);
        let mut order = order(&["client auth"], None);
        // The first letter of her name.
        let at = order.request.der.windows(3).position(|bytes| bytes == b"ann").unwrap();
        order.request.der[at] = b'A';
        let wrong = Unsigned::Request("the request is not signed by its own key".to_owned());
        assert_eq!(signer.certify_at(&order, NOW).unwrap_err(), wrong);
    }

    #[test]
    fn lives_are_bounded() {
        let check = |until: i64, seconds: Option<i64>, expect: i64| {
            let (_, signer) = authority(until);
            let der = signer.certify_at(&order(&["client auth"], seconds), NOW).unwrap();
            let validity = X509Certificate::from_der(&der).unwrap().1.validity().clone();
            assert_eq!(validity.not_before.timestamp(), NOW - 300);
            assert_eq!(validity.not_after.timestamp() - NOW, expect, "{until} {seconds:?}");
        };
        const YEAR: i64 = 365 * 24 * 3600;
        check(4_000_000_000, None, YEAR - 300);
        check(4_000_000_000, Some(2 * YEAR), YEAR - 300);
        check(4_000_000_000, Some(9 * 3600), 9 * 3600 - 300);
        check(4_000_000_000, Some(3600), 3600);
        check(4_000_000_000, Some(1), 600);
        check(NOW + 1000, None, 1000);
        // In the other form of times.
        let far = 2_530_000_000;
        let (_, signer) = authority(4_000_000_000);
        let der = signer.certify_at(&order(&["client auth"], None), far).unwrap();
        assert_eq!(X509Certificate::from_der(&der).unwrap().1.validity().not_before.timestamp(), far - 300);
        let (_, signer) = authority(NOW);
        let expired = Unsigned::Authority("the authority has expired".to_owned());
        assert_eq!(signer.certify_at(&order(&[], None), NOW).unwrap_err(), expired);
    }
}
