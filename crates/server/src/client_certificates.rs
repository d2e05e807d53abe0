//! Client certificates at the TLS layer: asked for, never required, and taken from whoever holds their key.
//!
//! Whom one stands for is decided for each request (`pawl_auth::authn::Authorities`), so that who shows a wrong one reads a
//! 401 instead of a broken connection, and an authority that is withdrawn ends what was connected before.

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, UnixTime};
use tokio_rustls::rustls::client::danger::HandshakeSignatureValid;
use tokio_rustls::rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};

/// Verifies that a client holds the key of the certificate that it shows, and nothing more.
#[derive(Debug)]
pub struct AnyCertificate {
    /// The names of the authorities, to help clients choose.
    hints: Vec<DistinguishedName>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl AnyCertificate {
    pub fn new(authorities: &str, provider: &CryptoProvider) -> Result<Self, Error> {
        let mut roots = RootCertStore::empty();
        for root in CertificateDer::pem_slice_iter(authorities.as_bytes()) {
            roots.add(root.map_err(|_| Error::General("the client CA is not PEM".to_owned()))?)?;
        }
        Ok(Self { hints: roots.subjects(), algorithms: provider.signature_verification_algorithms })
    }
}

impl ClientCertVerifier for AnyCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    /// The chain is judged later, when somebody is to be known by it.
    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
