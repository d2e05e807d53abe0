//! Keys that lie in the configuration: AES-GCM, AES-CBC and secretbox, in upstream's formats.
//!
//! Everything here is synchronous and allocates only the result.

use aes::cipher::array::Array;
use aes::cipher::consts::{U12, U16};
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, InnerIvInit, KeyInit};
use aes::{Aes128, Aes192, Aes256};
use aes_gcm::AesGcm;
use aes_gcm::aead::AeadInOut;
use aes_gcm::aead::inout::InOutBuf;
use crypto_secretbox::aead::AeadInPlace;
use crypto_secretbox::aead::generic_array::GenericArray;
use crypto_secretbox::{KeyInit as _, XSalsa20Poly1305};

use crate::opened::{Failure, SealError};

const BLOCK: usize = 16;
const TAG: usize = 16;
const GCM_NONCE: usize = 12;
const BOX_NONCE: usize = 24;

const TOO_SHORT: &str = "the stored data was shorter than the required size";
const NOT_AUTHENTIC: &str = "cipher: message authentication failed";
const BOX_NOT_AUTHENTIC: &str = "output array was not large enough for encryption";
const NOT_WHOLE_BLOCKS: &str = "the stored data is not a multiple of the block size";
const NOT_PADDED: &str = "invalid PKCS7 data (empty or not padded)";
const BAD_PADDING: &str = "invalid padding on input";

/// A key made ready for use. The ciphers wipe what they made of it when they are dropped.
pub(crate) enum Cipher {
    Gcm(Gcm),
    Cbc(Cbc),
    Secretbox(Box<XSalsa20Poly1305>),
}

pub(crate) enum Gcm {
    Aes128(Box<AesGcm<Aes128, U12>>),
    Aes192(Box<AesGcm<Aes192, U12>>),
    Aes256(Box<AesGcm<Aes256, U12>>),
}

pub(crate) enum Cbc {
    Aes128(Box<Aes128>),
    Aes192(Box<Aes192>),
    Aes256(Box<Aes256>),
}

impl Cipher {
    /// `None` for a key of a length that the cipher does not take.
    pub fn gcm(key: &[u8]) -> Option<Self> {
        Gcm::new(key).map(Self::Gcm)
    }

    pub fn cbc(key: &[u8]) -> Option<Self> {
        Some(Self::Cbc(match key.len() {
            16 => Cbc::Aes128(Box::new(Aes128::new_from_slice(key).ok()?)),
            24 => Cbc::Aes192(Box::new(Aes192::new_from_slice(key).ok()?)),
            _ => Cbc::Aes256(Box::new(Aes256::new_from_slice(key).ok()?)),
        }))
    }

    pub fn secretbox(key: &[u8]) -> Option<Self> {
        Some(Self::Secretbox(Box::new(XSalsa20Poly1305::new_from_slice(key).ok()?)))
    }

    /// Opens what stands behind the prefix. `place` is the full storage key.
    pub fn open(&self, place: &str, data: &[u8]) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Gcm(gcm) => gcm.open(place, data),
            Self::Cbc(cbc) => cbc.open(data),
            Self::Secretbox(cipher) => open_box(cipher, data),
        }
    }

    /// How many bytes sealing adds at most.
    pub fn overhead(&self) -> usize {
        match self {
            Self::Gcm(_) => Gcm::OVERHEAD,
            Self::Cbc(_) => BLOCK + BLOCK,
            Self::Secretbox(_) => BOX_NONCE + TAG,
        }
    }

    /// Appends the sealed value to `out`.
    pub fn seal(&self, place: &str, plain: &[u8], out: &mut Vec<u8>) -> Result<(), SealError> {
        match self {
            Self::Gcm(gcm) => gcm.seal(place, plain, out),
            Self::Cbc(cbc) => cbc.seal(plain, out),
            Self::Secretbox(cipher) => seal_box(cipher, plain, out),
        }
    }
}

impl Gcm {
    pub const OVERHEAD: usize = GCM_NONCE + TAG;

    pub fn new(key: &[u8]) -> Option<Self> {
        Some(match key.len() {
            16 => Self::Aes128(Box::new(AesGcm::new_from_slice(key).ok()?)),
            24 => Self::Aes192(Box::new(AesGcm::new_from_slice(key).ok()?)),
            _ => Self::Aes256(Box::new(AesGcm::new_from_slice(key).ok()?)),
        })
    }

    /// Nonce, ciphertext, tag; the storage key is authenticated with it.
    pub fn open(&self, place: &str, data: &[u8]) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Aes128(aead) => open_gcm(&**aead, place, data),
            Self::Aes192(aead) => open_gcm(&**aead, place, data),
            Self::Aes256(aead) => open_gcm(&**aead, place, data),
        }
    }

    pub fn seal(&self, place: &str, plain: &[u8], out: &mut Vec<u8>) -> Result<(), SealError> {
        match self {
            Self::Aes128(aead) => seal_gcm(&**aead, place, plain, out),
            Self::Aes192(aead) => seal_gcm(&**aead, place, plain, out),
            Self::Aes256(aead) => seal_gcm(&**aead, place, plain, out),
        }
    }
}

impl Cbc {
    /// Vector, blocks with PKCS#7 padding; nothing is authenticated.
    fn open(&self, data: &[u8]) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Aes128(aes) => open_cbc(&**aes, data),
            Self::Aes192(aes) => open_cbc(&**aes, data),
            Self::Aes256(aes) => open_cbc(&**aes, data),
        }
    }

    fn seal(&self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), SealError> {
        match self {
            Self::Aes128(aes) => seal_cbc(&**aes, plain, out),
            Self::Aes192(aes) => seal_cbc(&**aes, plain, out),
            Self::Aes256(aes) => seal_cbc(&**aes, plain, out),
        }
    }
}

fn open_gcm<A>(aead: &A, place: &str, data: &[u8]) -> Result<Vec<u8>, Failure>
where
    A: AeadInOut<NonceSize = U12, TagSize = U16>,
{
    let (nonce, rest) = data.split_first_chunk::<GCM_NONCE>().ok_or_else(|| Failure::damaged(TOO_SHORT))?;
    let (sealed, tag) = rest.split_last_chunk::<TAG>().ok_or_else(|| Failure::damaged(NOT_AUTHENTIC))?;
    let mut plain = vec![0; sealed.len()];
    let buffer = InOutBuf::new(sealed, &mut plain).map_err(|_| Failure::damaged(NOT_AUTHENTIC))?;
    aead.decrypt_inout_detached(nonce.into(), place.as_bytes(), buffer, tag.into())
        .map_err(|_| Failure::wrong_key(NOT_AUTHENTIC))?;
    Ok(plain)
}

fn seal_gcm<A>(aead: &A, place: &str, plain: &[u8], out: &mut Vec<u8>) -> Result<(), SealError>
where
    A: AeadInOut<NonceSize = U12, TagSize = U16>,
{
    let nonce: [u8; GCM_NONCE] = random()?;
    out.extend_from_slice(&nonce);
    let at = out.len();
    out.extend_from_slice(plain);
    let buffer = out.get_mut(at..).unwrap_or_default();
    let tag = aead
        .encrypt_inout_detached((&nonce).into(), place.as_bytes(), buffer.into())
        .map_err(|_| SealError::Failed("the value is too long for AES-GCM"))?;
    out.extend_from_slice(&tag);
    Ok(())
}

fn open_cbc<C: BlockCipherDecrypt<BlockSize = U16>>(aes: &C, data: &[u8]) -> Result<Vec<u8>, Failure> {
    let (vector, sealed) = data.split_first_chunk::<BLOCK>().ok_or_else(|| Failure::damaged(TOO_SHORT))?;
    let (sealed, rest) = Array::<u8, U16>::slice_as_chunks(sealed);
    if !rest.is_empty() {
        return Err(Failure::damaged(NOT_WHOLE_BLOCKS));
    }
    let mut plain = vec![0; sealed.len() * BLOCK];
    let (blocks, _) = Array::<u8, U16>::slice_as_chunks_mut(&mut plain);
    cbc::Decryptor::inner_iv_init(aes, vector.into())
        .decrypt_blocks_b2b(sealed, blocks)
        .map_err(|_| Failure::damaged(NOT_WHOLE_BLOCKS))?;
    let padding = usize::from(*plain.last().ok_or_else(|| Failure::damaged(NOT_PADDED))?);
    if padding == 0 || padding > BLOCK {
        return Err(Failure::wrong_key(NOT_PADDED));
    }
    let size = plain.len().saturating_sub(padding);
    if plain.iter().skip(size).any(|byte| usize::from(*byte) != padding) {
        return Err(Failure::wrong_key(BAD_PADDING));
    }
    plain.truncate(size);
    Ok(plain)
}

fn seal_cbc<C: BlockCipherEncrypt<BlockSize = U16>>(aes: &C, plain: &[u8], out: &mut Vec<u8>) -> Result<(), SealError> {
    let vector: [u8; BLOCK] = random()?;
    out.extend_from_slice(&vector);
    let at = out.len();
    out.extend_from_slice(plain);
    let padding = BLOCK - plain.len() % BLOCK;
    out.extend(std::iter::repeat_n(padding as u8, padding));
    let (blocks, _) = Array::<u8, U16>::slice_as_chunks_mut(out.get_mut(at..).unwrap_or_default());
    cbc::Encryptor::inner_iv_init(aes, (&vector).into()).encrypt_blocks(blocks);
    Ok(())
}

/// Nonce, tag, ciphertext.
fn open_box(cipher: &XSalsa20Poly1305, data: &[u8]) -> Result<Vec<u8>, Failure> {
    let (nonce, rest) = data.split_first_chunk::<BOX_NONCE>().ok_or_else(|| Failure::damaged(TOO_SHORT))?;
    let (tag, sealed) = rest.split_first_chunk::<TAG>().ok_or_else(|| Failure::damaged(TOO_SHORT))?;
    let mut plain = sealed.to_vec();
    cipher
        .decrypt_in_place_detached(GenericArray::from_slice(nonce), &[], &mut plain, GenericArray::from_slice(tag))
        .map_err(|_| Failure::wrong_key(BOX_NOT_AUTHENTIC))?;
    Ok(plain)
}

fn seal_box(cipher: &XSalsa20Poly1305, plain: &[u8], out: &mut Vec<u8>) -> Result<(), SealError> {
    let nonce: [u8; BOX_NONCE] = random()?;
    out.extend_from_slice(&nonce);
    let at = out.len();
    out.extend_from_slice(&[0; TAG]);
    out.extend_from_slice(plain);
    let (head, body) = out.get_mut(at..).unwrap_or_default().split_at_mut(TAG);
    let tag = cipher
        .encrypt_in_place_detached(GenericArray::from_slice(&nonce), &[], body)
        .map_err(|_| SealError::Failed("the value is too long for secretbox"))?;
    head.copy_from_slice(&tag);
    Ok(())
}

pub(crate) fn random<const N: usize>() -> Result<[u8; N], SealError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| SealError::Failed("unable to read sufficient random bytes"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opened::Reason;

    fn ciphers() -> Vec<(&'static str, Cipher)> {
        let key: Vec<u8> = (0..32).collect();
        vec![
            ("gcm 16", Cipher::gcm(&key[..16]).unwrap()),
            ("gcm 24", Cipher::gcm(&key[..24]).unwrap()),
            ("gcm 32", Cipher::gcm(&key).unwrap()),
            ("cbc 16", Cipher::cbc(&key[..16]).unwrap()),
            ("cbc 24", Cipher::cbc(&key[..24]).unwrap()),
            ("cbc 32", Cipher::cbc(&key).unwrap()),
            ("box", Cipher::secretbox(&key).unwrap()),
        ]
    }

    #[test]
    fn what_is_sealed_opens_again() {
        for (name, cipher) in ciphers() {
            for len in [0, 1, 15, 16, 17, 2400] {
                let plain = vec![7; len];
                let mut sealed = Vec::new();
                cipher.seal("/registry/a", &plain, &mut sealed).unwrap();
                assert!(sealed.len() <= len + cipher.overhead(), "{name} {len}");
                assert_eq!(cipher.open("/registry/a", &sealed).as_ref(), Ok(&plain), "{name} {len}");
            }
        }
    }

    #[test]
    fn keys_of_other_lengths_are_refused() {
        for len in [0, 1, 15, 17, 31, 33, 64] {
            let key = vec![1; len];
            assert!(Cipher::gcm(&key).is_none() && Cipher::cbc(&key).is_none() && Cipher::secretbox(&key).is_none());
        }
        assert!(Cipher::secretbox(&[1; 16]).is_none());
    }

    #[test]
    fn only_gcm_is_bound_to_its_place() {
        for (name, cipher) in ciphers() {
            let mut sealed = Vec::new();
            cipher.seal("/registry/a", b"{}", &mut sealed).unwrap();
            let moved = cipher.open("/registry/b", &sealed);
            match name.starts_with("gcm") {
                true => assert_eq!(moved, Err(Failure::wrong_key(NOT_AUTHENTIC)), "{name}"),
                false => assert_eq!(moved.unwrap(), b"{}", "{name}"),
            }
        }
    }

    #[test]
    fn what_is_cut_short_is_damaged() {
        let refused = |cipher: &Cipher, data: &[u8]| match cipher.open("/registry/a", data) {
            Err(failure) => (failure.told().0.unwrap(), failure.told().1.to_owned()),
            Ok(plain) => panic!("{plain:?}"),
        };
        for (name, cipher) in ciphers() {
            let (reason, message) = refused(&cipher, &[0; 11]);
            assert_eq!((reason, message.as_str()), (Reason::Damaged, TOO_SHORT), "{name}");
        }
        let key = [1; 32];
        let gcm = Cipher::gcm(&key).unwrap();
        assert_eq!(refused(&gcm, &[0; 27]), (Reason::Damaged, NOT_AUTHENTIC.to_owned()));
        assert_eq!(refused(&gcm, &[0; 28]), (Reason::WrongKey, NOT_AUTHENTIC.to_owned()));
        let cbc = Cipher::cbc(&key).unwrap();
        assert_eq!(refused(&cbc, &[0; 16]), (Reason::Damaged, NOT_PADDED.to_owned()));
        assert_eq!(refused(&cbc, &[0; 33]), (Reason::Damaged, NOT_WHOLE_BLOCKS.to_owned()));
    }
}
