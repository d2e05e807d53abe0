//! Who signs client certificates, and whether a chain leads to one of them now.
//!
//! The TLS layer takes any certificate whose key its sender holds; only here is it decided whom it stands for. A verdict
//! is kept with the connection and stands until the authorities change or one of the certificates begins or ceases to hold.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, ExtendedKeyUsageValidator, KeyPurposeId, KeyPurposeIdIter, KeyUsage};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

use super::Outcome;

/// id-kp-clientAuth and anyExtendedKeyUsage.
const CLIENT_USAGES: [&[u8]; 2] = [&[43, 6, 1, 5, 5, 7, 3, 2], &[85, 29, 37, 0]];

/// Authorities that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    #[error("the client CA is not PEM")]
    NotPem,
    #[error("a certificate of the client CA cannot be used: {0}")]
    Unusable(String),
}

/// The authorities of a server; they may be replaced while it runs.
pub struct Authorities(RwLock<Arc<Roots>>);

struct Roots {
    /// Grows with every replacement.
    generation: u64,
    roots: Vec<Root>,
}

struct Root {
    anchor: TrustAnchor<'static>,
    validity: Validity,
}

/// The seconds in which a certificate holds, both included.
#[derive(Clone, Copy)]
struct Validity {
    from: i64,
    until: i64,
}

/// The certificates that a client showed on a connection, its own first, and what was made of them last.
#[derive(Debug, Default)]
pub struct PeerCertificates {
    chain: Vec<CertificateDer<'static>>,
    judged: Mutex<Option<Judged>>,
}

#[derive(Clone, Debug)]
struct Judged {
    generation: u64,
    /// The seconds in which it stands.
    stands: Range<i64>,
    outcome: Outcome,
}

impl PeerCertificates {
    /// `None` when there are none.
    pub fn new(chain: &[CertificateDer<'_>]) -> Option<Self> {
        let chain: Vec<_> = chain.iter().map(|der| der.clone().into_owned()).collect();
        (!chain.is_empty()).then(|| Self { chain, judged: Mutex::default() })
    }

    /// The client's own certificate.
    pub(super) fn own(&self) -> &[u8] {
        self.chain.first().map(AsRef::as_ref).unwrap_or_default()
    }
}

impl Authorities {
    pub fn from_pem(pem: &str) -> Result<Self, AuthorityError> {
        Ok(Self(RwLock::new(Arc::new(Roots { generation: 0, roots: read(pem)? }))))
    }

    /// Puts others in their place; nothing changes when these cannot be used.
    pub fn replace(&self, pem: &str) -> Result<(), AuthorityError> {
        let roots = read(pem)?;
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(Roots { generation: current.generation + 1, roots });
        Ok(())
    }

    /// What is made of the certificates at a time: the verdict of `known` on the client's own, if its chain holds.
    pub(super) fn judge(&self, peer: &PeerCertificates, now: i64, known: impl FnOnce(&[u8]) -> Outcome) -> Outcome {
        let current = Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner));
        let mut judged = peer.judged.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) =
            judged.as_ref().filter(|last| last.generation == current.generation && last.stands.contains(&now))
        {
            return last.outcome.clone();
        }
        let outcome = match current.verify(&peer.chain, now) {
            Ok(()) => known(peer.own()),
            Err(why) => Outcome::Refused(why),
        };
        let stands = now..current.next_change(&peer.chain, now);
        *judged = Some(Judged { generation: current.generation, stands, outcome: outcome.clone() });
        outcome
    }
}

impl Roots {
    fn verify(&self, chain: &[CertificateDer<'_>], now: i64) -> Result<(), String> {
        let failed = |error: webpki::Error| format!("verifying the client certificate failed: {error}");
        let (own, others) = chain.split_first().ok_or("no certificate")?;
        let own = EndEntityCert::try_from(own).map_err(failed)?;
        // An anchor knows no dates: an authority that has expired signs for nobody.
        let holds = |root: &&Root| root.validity.contains(now);
        let anchors: Vec<TrustAnchor<'_>> = self.roots.iter().filter(holds).map(|root| root.anchor.clone()).collect();
        let time = UnixTime::since_unix_epoch(Duration::from_secs(now.try_into().unwrap_or_default()));
        own.verify_for_usage(webpki::ALL_VERIFICATION_ALGS, &anchors, others, time, Clients, None, None)
            .map_err(failed)
            .map(drop)
    }

    /// The next second at which any certificate that may matter begins or ceases to hold.
    fn next_change(&self, chain: &[CertificateDer<'_>], now: i64) -> i64 {
        let shown = chain.iter().filter_map(|der| Validity::of(der));
        let all = shown.chain(self.roots.iter().map(|root| root.validity));
        let moments = all.flat_map(|validity| [validity.from, validity.until.saturating_add(1)]);
        moments.filter(|moment| *moment > now).min().unwrap_or(i64::MAX)
    }
}

impl Validity {
    fn of(der: &[u8]) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let validity = certificate.validity();
        Some(Self { from: validity.not_before.timestamp(), until: validity.not_after.timestamp() })
    }

    fn contains(self, now: i64) -> bool {
        (self.from..=self.until).contains(&now)
    }
}

/// Wants certificates that are for clients, or for anything.
struct Clients;

impl ExtendedKeyUsageValidator for Clients {
    fn validate(&self, usages: KeyPurposeIdIter<'_, '_>) -> Result<(), webpki::Error> {
        let mut present = Vec::new();
        for usage in usages {
            let usage = usage?;
            if CLIENT_USAGES.iter().any(|wanted| KeyPurposeId::new(wanted) == usage) {
                return Ok(());
            }
            present.push(usage.to_decoded_oid());
        }
        if present.is_empty() {
            return Ok(());
        }
        let context = webpki::RequiredEkuNotFoundContext { required: KeyUsage::client_auth(), present };
        Err(webpki::Error::RequiredEkuNotFoundContext(context))
    }
}

fn read(pem: &str) -> Result<Vec<Root>, AuthorityError> {
    let mut roots = Vec::new();
    for der in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let der = der.map_err(|_| AuthorityError::NotPem)?;
        let unusable = |why: &dyn std::fmt::Display| AuthorityError::Unusable(why.to_string());
        let anchor = webpki::anchor_from_trusted_cert(&der).map_err(|error| unusable(&error))?.to_owned();
        let validity = Validity::of(&der).ok_or_else(|| unusable(&"malformed"))?;
        roots.push(Root { anchor, validity });
    }
    if roots.is_empty() { Err(AuthorityError::NotPem) } else { Ok(roots) }
}

#[cfg(test)]
mod tests;
