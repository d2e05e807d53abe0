//! Buffers with keys: wiped when they are dropped, never printed.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::OnceLock;

use zeroize::Zeroizing;

/// Key material.
#[derive(Clone)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Fresh random bytes.
    pub(crate) fn random(len: usize) -> Result<Self, getrandom::Error> {
        let mut bytes = Zeroizing::new(vec![0; len]);
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    pub(crate) fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[REDACTED]")
    }
}

/// Tells keys apart without keeping them: a keyed hash whose key lives as long as the process and never leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    pub fn of(parts: &[&[u8]]) -> Self {
        static KEY: OnceLock<RandomState> = OnceLock::new();
        Self(KEY.get_or_init(RandomState::new).hash_one(parts))
    }
}
