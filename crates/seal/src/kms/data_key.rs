//! A data key, as the service gave it back: it opens values, and a seed derives a key for each of them.

use std::sync::Arc;

use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

use super::envelope::{self, KEY};
use crate::local::{Gcm, random};
use crate::metrics::Uses;
use crate::opened::{Failure, SealError};
use crate::seal::Seal;
use crate::secret::Secret;

/// Random bytes that a key is derived with; they stand before the nonce.
const INFO: usize = 32;
const SEED_LEN: usize = 32;
const TOO_SHORT: &str = "the stored data was shorter than the required size";

pub(crate) struct DataKey {
    pub seal: Arc<Seal>,
    pub uses: Uses,
    material: Material,
}

enum Material {
    Key(Gcm),
    Seed(Secret),
}

impl DataKey {
    /// The error says why what the service gave is no data key.
    pub fn new(kind: i32, secret: Secret, seal: Arc<Seal>, uses: Uses) -> Result<Self, String> {
        let len = secret.expose().len();
        let material = match kind {
            KEY => {
                Material::Key(Gcm::new(secret.expose()).ok_or_else(|| format!("crypto/aes: invalid key size {len}"))?)
            }
            _ if len < SEED_LEN => return Err(format!("invalid seed length {len} used for key generation")),
            _ => Material::Seed(secret),
        };
        Ok(Self { seal, uses, material })
    }

    /// A fresh seed.
    pub fn seed() -> Result<Secret, getrandom::Error> {
        Secret::random(SEED_LEN)
    }

    /// The service itself opened the data key: what it does not open is damaged, or was moved.
    pub fn open(&self, place: &str, data: &[u8]) -> Result<Vec<u8>, Failure> {
        let opened = match &self.material {
            Material::Key(gcm) => gcm.open(place, data),
            Material::Seed(seed) => {
                let (info, rest) = data.split_first_chunk::<INFO>().ok_or_else(|| Failure::damaged(TOO_SHORT))?;
                derive(seed, info).ok_or_else(|| Failure::damaged(TOO_SHORT))?.open(place, rest)
            }
        };
        opened.map_err(Failure::into_damage)
    }

    /// How many bytes the ciphertext is longer than the value.
    pub fn overhead() -> usize {
        INFO + Gcm::OVERHEAD
    }

    /// Appends the field with the ciphertext. Only seeds seal: a key would have to count its nonces.
    pub fn seal(&self, place: &str, plain: &[u8], out: &mut Vec<u8>) -> Result<(), SealError> {
        let Material::Seed(seed) = &self.material else {
            return Err(SealError::Failed("a data key without a seed only opens values"));
        };
        let info: [u8; INFO] = random()?;
        let gcm = derive(seed, &info).ok_or(SealError::Failed("failed to derive write key from KDF"))?;
        envelope::begin(plain.len() + Self::overhead(), out);
        out.extend_from_slice(&info);
        gcm.seal(place, plain, out)
    }
}

fn derive(seed: &Secret, info: &[u8; INFO]) -> Option<Gcm> {
    let mut key = Zeroizing::new([0; 32]);
    Hkdf::<Sha256>::from_prk(seed.expose()).ok()?.expand(info, &mut *key).ok()?;
    Gcm::new(&*key)
}
