//! The server's own certificates: a CA, a serving certificate, an administrator's client certificate and kubeconfig.
//! Made once, kept in the certificate directory, used again on every start; made anew by the same CA when the server is
//! to be reached at other names, or before they expire. What others put there is used and never touched.

use std::fs;
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    SanType,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, DnsName, PrivateKeyDer};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{ALL_VERSIONS, ServerConfig, SupportedProtocolVersion};
use x509_parser::extensions::GeneralName;
use x509_parser::pem::Pem;

use crate::client_certificates::AnyCertificate;
use crate::{Error, Settings};

const YEARS: i64 = 10;
/// A certificate with less than this part of its life left is made anew.
const RENEW_AT: i64 = 10;

/// What the server needs to speak TLS, and where the administrator's kubeconfig is.
pub struct Identity {
    pub tls: Arc<ServerConfig>,
    pub kubeconfig: PathBuf,
    /// Who signs client certificates, as PEM.
    pub client_roots: String,
    /// What clients verify the server by, as PEM.
    pub serving_roots: String,
    pub ca: Authority,
}

/// What the files hold that may be read again while the server runs.
pub struct Renewed {
    pub tls: Arc<ServerConfig>,
    /// Who signs client certificates, as PEM.
    pub client_roots: String,
}

/// Reads the certificates, making those that are missing.
pub fn prepare(settings: &Settings) -> Result<Identity, Error> {
    fs::create_dir_all(&settings.cert_dir).map_err(Error::file(&settings.cert_dir))?;
    let ca = Authority::load_or_make(&settings.data_dir.join("pki"))?;
    let (certificate, _) = serving(settings, &ca)?;
    let Renewed { tls, client_roots } = with_authority(settings, &ca)?;
    let trusted = if settings.tls.is_some() { certificate.clone() } else { ca.certificate_pem.clone() };
    let kubeconfig = admin(settings, &ca, &trusted)?;
    Ok(Identity { tls, kubeconfig, client_roots, serving_roots: trusted, ca })
}

/// What the files hold now. A server that runs goes on with what it has when its CA is taken away: it makes no other.
pub fn read(settings: &Settings) -> Result<Renewed, Error> {
    with_authority(settings, &Authority::load(&settings.data_dir.join("pki"))?)
}

fn with_authority(settings: &Settings, ca: &Authority) -> Result<Renewed, Error> {
    let (certificate, key) = serving(settings, ca)?;
    let client_roots = client_roots(settings, ca)?;
    let versions: &[&SupportedProtocolVersion] = if settings.only_tls13 { &[&TLS13] } else { ALL_VERSIONS };
    let mut tls = tls_config((&certificate, &key), &client_roots, versions)?;
    tls.alpn_protocols = match settings.http2 {
        true => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
        false => vec![b"http/1.1".to_vec()],
    };
    Ok(Renewed { tls: Arc::new(tls), client_roots })
}

/// Who signs client certificates: the server itself, and whom the flag names.
fn client_roots(settings: &Settings, ca: &Authority) -> Result<String, Error> {
    let mut roots = ca.certificate_pem.clone();
    if let Some(path) = &settings.client_ca {
        roots.push('\n');
        roots.push_str(&given_roots(path)?);
    }
    Ok(roots)
}

fn given_roots(path: &Path) -> Result<String, Error> {
    let given = fs::read_to_string(path).map_err(Error::file(path))?;
    // A file that is empty or half written must not count as one that withdraws everybody.
    if CertificateDer::pem_slice_iter(given.as_bytes()).next().is_none() {
        return Err(Error::Certificate(format!("{} holds no certificate", path.display())));
    }
    Ok(given)
}

/// The files that the TLS configuration is made from and that others may change.
pub fn files(settings: &Settings) -> Vec<PathBuf> {
    let (certificate, key) = serving_files(settings);
    [Some(certificate), Some(key), settings.client_ca.clone()].into_iter().flatten().collect()
}

fn serving_files(settings: &Settings) -> (PathBuf, PathBuf) {
    match &settings.tls {
        Some((certificate, key)) => (certificate.clone(), key.clone()),
        None => (settings.cert_dir.join("apiserver.crt"), settings.cert_dir.join("apiserver.key")),
    }
}

/// The server's own CA.
pub struct Authority {
    pub certificate_pem: String,
    /// `None` where somebody keeps it elsewhere: then nothing can be signed here.
    pub key_pem: Option<String>,
}

impl Authority {
    fn load(directory: &Path) -> Result<Self, Error> {
        let certificate = directory.join("ca.crt");
        let certificate_pem = fs::read_to_string(&certificate).map_err(Error::file(&certificate))?;
        Ok(Self { certificate_pem, key_pem: read_if_there(&directory.join("ca.key"))? })
    }

    fn load_or_make(directory: &Path) -> Result<Self, Error> {
        fs::create_dir_all(directory).map_err(Error::file(directory))?;
        let (certificate, key) = (directory.join("ca.crt"), directory.join("ca.key"));
        let pair = match (read_if_there(&certificate)?, read_if_there(&key)?) {
            (Some(certificate_pem), key_pem) => return Ok(Self { certificate_pem, key_pem }),
            // A first start that was killed got this far: what the key signs is known by the same name.
            (None, Some(key_pem)) => KeyPair::from_pem(&key_pem).map_err(failed)?,
            (None, None) => KeyPair::generate().map_err(failed)?,
        };
        let mut params = params("pawl-ca", &[])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::CrlSign];
        let made = params.self_signed(&pair).map_err(failed)?;
        let key_pem = pair.serialize_pem();
        write_private(&key, &key_pem)?;
        write(&certificate, &made.pem())?;
        Ok(Self { certificate_pem: made.pem(), key_pem: Some(key_pem) })
    }

    /// Signs a new certificate and key and keeps them in these files.
    fn issue(&self, params: &CertificateParams, (certificate, key): (&Path, &Path)) -> Result<(String, String), Error> {
        let Some(key_pem) = &self.key_pem else {
            let why =
                format!("{} is needed, and the key of the CA (ca.key) is not here to sign it", certificate.display());
            return Err(Error::Certificate(why));
        };
        let ca_key = KeyPair::from_pem(key_pem).map_err(failed)?;
        let issuer = Issuer::from_ca_cert_pem(&self.certificate_pem, ca_key).map_err(failed)?;
        let pair = KeyPair::generate().map_err(failed)?;
        let made = params.signed_by(&pair, &issuer).map_err(failed)?;
        let key_pem = sec1_pem(&pair);
        write_private(key, &key_pem)?;
        write(certificate, &made.pem())?;
        Ok((made.pem(), key_pem))
    }

    /// Whether a certificate of ours should be made anew: it is about to expire or lacks one of the names. What is not of
    /// this authority is somebody else's affair, and so is what could not be signed anyway.
    fn is_due(&self, certificate: &str, names: &[SanType]) -> bool {
        let (Some(ca), Some(found)) = (first_pem(&self.certificate_pem), first_pem(certificate)) else { return false };
        let (Ok(ca), Ok(found)) = (ca.parse_x509(), found.parse_x509()) else { return false };
        if self.key_pem.is_none() || found.issuer().as_raw() != ca.subject().as_raw() {
            return false;
        }
        let validity = found.validity();
        let (from, until) = (validity.not_before.timestamp(), validity.not_after.timestamp());
        let now = time::OffsetDateTime::now_utc().unix_timestamp();
        if until.saturating_sub(now) < until.saturating_sub(from) / RENEW_AT {
            return true;
        }
        let given = found.subject_alternative_name().ok().flatten().map(|names| &names.value.general_names);
        let has = |name: &SanType| given.is_some_and(|given| given.iter().any(|given| is_name(given, name)));
        !names.iter().all(has)
    }
}

fn read_if_there(path: &Path) -> Result<Option<String>, Error> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::file(path)(error)),
    }
}

fn first_pem(text: &str) -> Option<Pem> {
    Pem::iter_from_buffer(text.as_bytes()).next()?.ok()
}

fn is_name(given: &GeneralName<'_>, name: &SanType) -> bool {
    match (given, name) {
        (GeneralName::DNSName(given), SanType::DnsName(name)) => *given == name.as_str(),
        (GeneralName::IPAddress(given), SanType::IpAddress(IpAddr::V4(name))) => **given == name.octets(),
        (GeneralName::IPAddress(given), SanType::IpAddress(IpAddr::V6(name))) => **given == name.octets(),
        _ => false,
    }
}

/// The serving certificate and key, as PEM: given, found in the certificate directory, or made.
fn serving(settings: &Settings, ca: &Authority) -> Result<(String, String), Error> {
    let (certificate, key) = serving_files(settings);
    let read = |path: &Path| fs::read_to_string(path).map_err(Error::file(path));
    if settings.tls.is_some() {
        return Ok((read(&certificate)?, read(&key)?));
    }
    let names = serving_names(settings)?;
    if certificate.exists() && key.exists() {
        let found = read(&certificate)?;
        if !ca.is_due(&found, &names) {
            return Ok((found, read(&key)?));
        }
    }
    let mut params = params("kube-apiserver", &[])?;
    params.subject_alt_names = names;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    ca.issue(&params, (&certificate, &key))
}

/// Where clients may want to reach the server.
fn serving_names(settings: &Settings) -> Result<Vec<SanType>, Error> {
    let dns = |name: &str| Ok(SanType::DnsName(name.try_into().map_err(failed)?));
    let mut names: Vec<SanType> = [
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ]
    .into_iter()
    .map(dns)
    .collect::<Result<_, Error>>()?;
    let own = [IpAddr::from([127, 0, 0, 1]), IpAddr::from(std::net::Ipv6Addr::LOCALHOST), settings.service_ip()];
    let reached = [settings.address, settings.advertise].into_iter().filter(|address| !address.is_unspecified());
    names.extend(own.into_iter().chain(reached).map(SanType::IpAddress));
    for name in &settings.names {
        names.push(match name.parse() {
            Ok(address) => SanType::IpAddress(address),
            Err(_) if DnsName::try_from(name.strip_prefix("*.").unwrap_or(name)).is_ok() => dns(name)?,
            Err(_) => {
                return Err(Error::Flag(format!("--tls-san {name:?} is neither an address nor the name of a host")));
            }
        });
    }
    let mut seen = Vec::new();
    names.retain(|name| {
        !seen.contains(name) && {
            seen.push(name.clone());
            true
        }
    });
    Ok(names)
}

/// Whether a certificate of ours has to be made anew by now.
pub fn due(settings: &Settings) -> bool {
    let Ok(ca) = Authority::load(&settings.data_dir.join("pki")) else { return false };
    let names = serving_names(settings).unwrap_or_default();
    let (certificate, _) = serving_files(settings);
    settings.tls.is_none() && fs::read_to_string(&certificate).is_ok_and(|found| ca.is_due(&found, &names))
}

/// A key of P-256 as `EC PRIVATE KEY`: fabric8's Java client takes every other label for RSA.
fn sec1_pem(pair: &KeyPair) -> String {
    // The one form in which such keys are made: what is before the private key, between the two, and how long they are.
    const HEAD: usize = 36;
    const BETWEEN: [u8; 5] = [0xa1, 0x44, 0x03, 0x42, 0x00];
    const P256: [u8; 12] = [0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
    let der = pair.serialized_der();
    let (private, rest) = (der.get(HEAD..HEAD + 32), der.get(HEAD + 32..));
    let (Some(private), Some(rest)) = (private, rest.filter(|rest| rest.starts_with(&BETWEEN) && rest.len() == 70))
    else {
        return pair.serialize_pem();
    };
    pem("EC PRIVATE KEY", &[&[0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20], private, &P256, rest].concat())
}

/// A block of PEM.
pub fn pem(label: &str, der: &[u8]) -> String {
    let text = BASE64.encode(der);
    let lines: Vec<&str> = text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// The administrator's certificate and a kubeconfig that uses it.
fn admin(settings: &Settings, ca: &Authority, trusted: &str) -> Result<PathBuf, Error> {
    let directory = settings.data_dir.join("pki");
    let (certificate, key) = (directory.join("admin.crt"), directory.join("admin.key"));
    let (certificate_pem, key_pem) = match (read_if_there(&certificate)?, read_if_there(&key)?) {
        (Some(found), Some(key)) if !ca.is_due(&found, &[]) => (found, key),
        _ => {
            let mut params = params("admin", &["system:masters"])?;
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            ca.issue(&params, (&certificate, &key))?
        }
    };
    let path = settings.data_dir.join("admin.kubeconfig");
    let host = if settings.address.is_unspecified() { settings.advertise } else { settings.address };
    let url = format!("https://{}", std::net::SocketAddr::new(host, settings.port));
    let text = format!(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: pawl\n  cluster:\n    server: {url}\n    certificate-authority-data: {}\n\
         users:\n- name: admin\n  user:\n    client-certificate-data: {}\n    client-key-data: {}\n\
         contexts:\n- name: pawl\n  context:\n    cluster: pawl\n    user: admin\ncurrent-context: pawl\n",
        BASE64.encode(trusted),
        BASE64.encode(&certificate_pem),
        BASE64.encode(&key_pem),
    );
    if fs::read_to_string(&path).ok().as_deref() != Some(&text) {
        write_private(&path, &text)?;
    }
    Ok(path)
}

fn tls_config(
    (certificate, key): (&str, &str),
    client_roots: &str,
    versions: &[&'static SupportedProtocolVersion],
) -> Result<ServerConfig, Error> {
    let bad = |what: &str| Error::Certificate(format!("{what} is not PEM"));
    let chain: Vec<CertificateDer> = CertificateDer::pem_slice_iter(certificate.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|_| bad("the serving certificate"))?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|_| bad("the serving key"))?;
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let verifier = AnyCertificate::new(client_roots, &provider).map_err(failed)?;
    ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .map_err(failed)?
        .with_client_cert_verifier(Arc::new(verifier))
        .with_single_cert(chain, key)
        .map_err(failed)
}

fn params(name: &str, groups: &[&str]) -> Result<CertificateParams, Error> {
    let mut params = CertificateParams::new(Vec::<String>::new()).map_err(failed)?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    for group in groups {
        params.distinguished_name.push(DnType::OrganizationName, *group);
    }
    params.distinguished_name.push(DnType::CommonName, name);
    let now = time::OffsetDateTime::now_utc();
    params.not_before = now - time::Duration::hours(1);
    params.not_after = now + time::Duration::days(365 * YEARS);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    Ok(params)
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Certificate(error.to_string())
}

/// What was given by flags can be read, before anything is made.
pub fn check(settings: &Settings) -> Result<(), Error> {
    if let Some((certificate, key)) = &settings.tls {
        let read = |path: &Path| fs::read_to_string(path).map_err(Error::file(path));
        tls_config((&read(certificate)?, &read(key)?), "", ALL_VERSIONS)?;
    }
    if let Some(path) = &settings.client_ca {
        given_roots(path)?;
    }
    serving_names(settings)?;
    // There is a place for what is written when the server is ready.
    if let Some(path) = &settings.write_kubeconfig {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::read_dir(directory).map_err(Error::file(path))?;
    }
    Ok(())
}

/// Copies the administrator's kubeconfig to where somebody waits for it: never half there, readable by its owner only.
pub fn publish(kubeconfig: &Path, to: &Path) -> Result<(), Error> {
    let text = fs::read_to_string(kubeconfig).map_err(Error::file(kubeconfig))?;
    write_private(to, &text)
}

/// A file that everybody may read.
fn write(path: &Path, text: &str) -> Result<(), Error> {
    write_whole(path, text, 0o644)
}

/// A file that only its owner may read.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), Error> {
    write_whole(path, text, 0o600)
}

/// Writes a file that is never half there, whatever happens meanwhile.
fn write_whole(path: &Path, text: &str, mode: u32) -> Result<(), Error> {
    // Beside it, under a name that no other file's has.
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = PathBuf::from(fresh);
    // One that a crash left behind may have another mode.
    let _ = fs::remove_file(&fresh);
    let mut file =
        fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&fresh).map_err(Error::file(&fresh))?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(Error::file(&fresh))?;
    fs::rename(&fresh, path).map_err(Error::file(path))
}
