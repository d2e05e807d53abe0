//! Keys of service-account tokens: read from PEM, named, used to sign and to verify, shown as JWK.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED, ECDSA_P384_SHA384_FIXED_SIGNING,
    EcdsaKeyPair, EcdsaSigningAlgorithm, KeyPair, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::{Value, json};
use x509_parser::certificate::X509Certificate;
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;

use super::der;

/// Why a key cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("data does not contain any valid RSA or ECDSA public keys")]
    NoPublicKey,
    #[error("data does not contain a valid RSA or ECDSA private key")]
    NoPrivateKey,
    #[error("unsupported key: it must be RSA of 2048 to 8192 bits, or ECDSA on P-256 or P-384")]
    Unsupported,
    #[error("signing failed")]
    Signing,
}

/// A key that verifies tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    /// How tokens refer to the key: the hash of its public part.
    id: String,
    material: Material,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Material {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// An uncompressed point.
    Ecdsa {
        curve: Curve,
        point: Vec<u8>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Curve {
    P256,
    P384,
}

/// A key that signs tokens, with its public part.
pub struct SigningKey {
    public: PublicKey,
    pair: Pair,
}

enum Pair {
    Rsa(Box<RsaKeyPair>),
    Ecdsa(Box<EcdsaKeyPair>),
}

const RSA_OID: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const EC_OID: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];

/// The public keys of a PEM text: of public keys, certificates, and private keys alike.
pub fn public_keys(pem: &str) -> Result<Vec<PublicKey>, KeyError> {
    let mut keys = Vec::new();
    for block in blocks(pem) {
        match block.label.as_str() {
            "PUBLIC KEY" => keys.push(PublicKey::from_spki(&block.contents)?),
            "RSA PUBLIC KEY" => keys.push(PublicKey::from_pkcs1(&block.contents)?),
            "CERTIFICATE" => {
                let (_, certificate) = X509Certificate::from_der(&block.contents).map_err(|_| KeyError::NoPublicKey)?;
                keys.push(PublicKey::from_spki(certificate.public_key().raw)?);
            }
            "PRIVATE KEY" | "RSA PRIVATE KEY" | "EC PRIVATE KEY" => keys.push(SigningKey::from_block(&block)?.public),
            _ => {}
        }
    }
    if keys.is_empty() { Err(KeyError::NoPublicKey) } else { Ok(keys) }
}

impl PublicKey {
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The JWS algorithm that goes with the key.
    pub fn algorithm(&self) -> &'static str {
        match &self.material {
            Material::Rsa { .. } => "RS256",
            Material::Ecdsa { curve, .. } => curve.algorithm(),
        }
    }

    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match &self.material {
            Material::Rsa { n, e } => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
            Material::Ecdsa { curve: Curve::P256, point } => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            Material::Ecdsa { curve: Curve::P384, point } => {
                UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, point).verify(message, signature)
            }
        }
        .is_ok()
    }

    /// The key as a JSON Web Key.
    pub fn to_jwk(&self) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let (id, algorithm) = (&self.id, self.algorithm());
        match &self.material {
            Material::Rsa { n, e } => {
                json!({"use": "sig", "kty": "RSA", "kid": id, "alg": algorithm, "n": text(n), "e": text(e)})
            }
            Material::Ecdsa { curve, point } => {
                let (x, y) = point.get(1..).unwrap_or_default().split_at(curve.size());
                let curve = curve.name();
                json!({
                    "use": "sig", "kty": "EC", "kid": id, "crv": curve, "alg": algorithm, "x": text(x), "y": text(y),
                })
            }
        }
    }

    fn new(material: Material) -> Self {
        let id = URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, &material.to_spki()));
        Self { id, material }
    }

    fn from_spki(input: &[u8]) -> Result<Self, KeyError> {
        let parse = || {
            let (info, _) = der::read(der::SEQUENCE, input)?;
            let (algorithm, info) = der::read(der::SEQUENCE, info)?;
            let (key, _) = der::read_bits(info)?;
            let (kind, parameters) = der::read(der::OID, algorithm)?;
            Some((kind, parameters, key))
        };
        let (kind, parameters, key) = parse().ok_or(KeyError::NoPublicKey)?;
        match kind {
            RSA_OID => Self::from_pkcs1(key),
            EC_OID => {
                let (curve, _) = der::read(der::OID, parameters).ok_or(KeyError::NoPublicKey)?;
                Self::from_point(Curve::from_oid(curve).ok_or(KeyError::Unsupported)?, key)
            }
            _ => Err(KeyError::Unsupported),
        }
    }

    fn from_pkcs1(input: &[u8]) -> Result<Self, KeyError> {
        let parse = || {
            let (key, _) = der::read(der::SEQUENCE, input)?;
            let (n, key) = der::read_number(key)?;
            let (e, _) = der::read_number(key)?;
            Some((n.to_vec(), e.to_vec()))
        };
        let (n, e) = parse().ok_or(KeyError::NoPublicKey)?;
        if !(256..=1024).contains(&n.len()) {
            return Err(KeyError::Unsupported);
        }
        Ok(Self::new(Material::Rsa { n, e }))
    }

    fn from_point(curve: Curve, point: &[u8]) -> Result<Self, KeyError> {
        if point.first() != Some(&4) || point.len() != 1 + 2 * curve.size() {
            return Err(KeyError::NoPublicKey);
        }
        Ok(Self::new(Material::Ecdsa { curve, point: point.to_vec() }))
    }
}

impl Material {
    /// The public key as X.509 has it; its hash names the key.
    fn to_spki(&self) -> Vec<u8> {
        let (kind, parameters, key) = match self {
            Self::Rsa { n, e } => {
                let numbers = [der::write_number(n), der::write_number(e)].concat();
                (RSA_OID, der::write(der::NULL, &[]), der::write(der::SEQUENCE, &numbers))
            }
            Self::Ecdsa { curve, point } => (EC_OID, der::write(der::OID, curve.oid()), point.clone()),
        };
        let algorithm = der::write(der::SEQUENCE, &[der::write(der::OID, kind), parameters].concat());
        let bits = der::write(der::BIT_STRING, &[vec![0], key].concat());
        der::write(der::SEQUENCE, &[algorithm, bits].concat())
    }
}

impl Curve {
    fn from_oid(oid: &[u8]) -> Option<Self> {
        [Self::P256, Self::P384].into_iter().find(|curve| curve.oid() == oid)
    }

    fn oid(self) -> &'static [u8] {
        match self {
            Self::P256 => &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07],
            Self::P384 => &[0x2b, 0x81, 0x04, 0x00, 0x22],
        }
    }

    /// The bytes of a coordinate.
    fn size(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::P256 => "P-256",
            Self::P384 => "P-384",
        }
    }

    fn algorithm(self) -> &'static str {
        match self {
            Self::P256 => "ES256",
            Self::P384 => "ES384",
        }
    }

    fn signing(self) -> &'static EcdsaSigningAlgorithm {
        match self {
            Self::P256 => &ECDSA_P256_SHA256_FIXED_SIGNING,
            Self::P384 => &ECDSA_P384_SHA384_FIXED_SIGNING,
        }
    }
}

impl SigningKey {
    /// The first private key of a PEM text.
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        let mut private = blocks(pem).filter(|block| block.label.ends_with("PRIVATE KEY"));
        Self::from_block(&private.next().ok_or(KeyError::NoPrivateKey)?)
    }

    /// A new P-256 key as a PKCS#8 PEM text.
    pub fn generate_pem() -> Result<String, KeyError> {
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        let text = base64::engine::general_purpose::STANDARD.encode(key.map_err(|_| KeyError::Signing)?);
        let lines: Vec<&str> = text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
        Ok(format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.join("\n")))
    }

    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Ecdsa(pair) => {
                let signature = pair.sign(&random, message).map_err(|_| KeyError::Signing)?;
                Ok(signature.as_ref().to_vec())
            }
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).map_err(|_| KeyError::Signing)?;
                Ok(signature)
            }
        }
    }

    fn from_block(block: &Pem) -> Result<Self, KeyError> {
        match block.label.as_str() {
            "RSA PRIVATE KEY" => Self::rsa(RsaKeyPair::from_der(&block.contents)),
            "EC PRIVATE KEY" => Self::from_sec1(&block.contents),
            "PRIVATE KEY" => Self::from_pkcs8(&block.contents),
            _ => Err(KeyError::NoPrivateKey),
        }
    }

    fn from_pkcs8(input: &[u8]) -> Result<Self, KeyError> {
        for curve in [Curve::P256, Curve::P384] {
            if let Ok(pair) = EcdsaKeyPair::from_pkcs8(curve.signing(), input, &SystemRandom::new()) {
                return Self::ecdsa(curve, pair);
            }
        }
        Self::rsa(RsaKeyPair::from_pkcs8(input))
    }

    /// `SEQUENCE { 1, private, [0] curve, [1] public }`, as `openssl ecparam` writes it.
    fn from_sec1(input: &[u8]) -> Result<Self, KeyError> {
        let parse = || {
            let (key, _) = der::read(der::SEQUENCE, input)?;
            let (_, key) = der::read_number(key)?;
            let (private, key) = der::read(der::OCTET_STRING, key)?;
            let (curve, key) = der::read(der::EXPLICIT_0, key)?;
            let (curve, _) = der::read(der::OID, curve)?;
            let (public, _) = der::read(der::EXPLICIT_1, key)?;
            Some((private, curve, der::read_bits(public)?.0))
        };
        let (private, curve, public) = parse().ok_or(KeyError::NoPrivateKey)?;
        let curve = Curve::from_oid(curve).ok_or(KeyError::Unsupported)?;
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_private_key_and_public_key(curve.signing(), private, public, &random);
        Self::ecdsa(curve, pair.map_err(|_| KeyError::NoPrivateKey)?)
    }

    fn ecdsa(curve: Curve, pair: EcdsaKeyPair) -> Result<Self, KeyError> {
        let public = PublicKey::from_point(curve, pair.public_key().as_ref())?;
        Ok(Self { public, pair: Pair::Ecdsa(Box::new(pair)) })
    }

    fn rsa(pair: Result<RsaKeyPair, ring::error::KeyRejected>) -> Result<Self, KeyError> {
        let pair = pair.map_err(|_| KeyError::Unsupported)?;
        let public = PublicKey::from_pkcs1(pair.public_key().as_ref())?;
        Ok(Self { public, pair: Pair::Rsa(Box::new(pair)) })
    }
}

/// The blocks of a PEM text; what is not one is skipped.
fn blocks(pem: &str) -> impl Iterator<Item = Pem> {
    Pem::iter_from_buffer(pem.as_bytes()).filter_map(Result::ok)
}

#[cfg(test)]
mod tests;
