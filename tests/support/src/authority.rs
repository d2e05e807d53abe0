//! Authorities that sign certificates for tests.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256, date_time_ymd,
};

/// An authority of the kind that envtest makes: ECDSA P-256, keys as PKCS#8.
pub struct Authority {
    /// As PEM.
    pub certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

/// What a certificate says.
pub struct Request<'a> {
    pub user: &'a str,
    pub groups: &'a [&'a str],
    /// The names of a server.
    pub names: &'a [&'a str],
    pub usage: ExtendedKeyUsagePurpose,
    /// The years at whose beginnings it begins and ceases to hold.
    pub years: (i32, i32),
}

impl Default for Request<'_> {
    fn default() -> Self {
        let usage = ExtendedKeyUsagePurpose::ClientAuth;
        Self { user: "", groups: &[], names: &[], usage, years: (2000, 4000) }
    }
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let (params, key) = (authority(name), key());
        let certificate = params.self_signed(&key).unwrap().pem();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// An authority that this one vouches for.
    pub fn subordinate(&self, name: &str) -> Self {
        let (params, key) = (authority(name), key());
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// A certificate and its key, as PEM.
    pub fn sign(&self, request: &Request<'_>) -> (String, String) {
        let key = key();
        let names: Vec<String> = request.names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, request.user);
        for group in request.groups {
            params.distinguished_name.push(DnType::OrganizationName, *group);
        }
        params.extended_key_usages = vec![request.usage.clone()];
        params.not_before = date_time_ymd(request.years.0, 1, 1);
        params.not_after = date_time_ymd(request.years.1, 1, 1);
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        let key = key.serialize_pem();
        assert!(key.starts_with("-----BEGIN PRIVATE KEY-----"), "PKCS#8");
        (certificate, key)
    }
}

fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params
}

fn key() -> KeyPair {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap()
}
