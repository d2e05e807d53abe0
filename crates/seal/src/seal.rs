//! What sealed a value, as it can be told from the value's first bytes and from the keys in use.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::secret::Fingerprint;

/// Every sealed value begins with this; nothing plain does.
pub(crate) const SEALED: &[u8] = b"k8s:enc:";

/// A key that seals values. Values that one key sealed share one of these.
#[derive(Clone, PartialEq, Eq)]
pub struct Seal {
    provider: &'static str,
    prefix: Arc<str>,
    key: Arc<str>,
    key_id: Option<Arc<str>>,
    print: Fingerprint,
}

impl Seal {
    pub(crate) fn local(provider: &'static str, prefix: Arc<str>, key: &str, secret: &[u8]) -> Self {
        let print = Fingerprint::of(&[prefix.as_bytes(), secret]);
        Self { provider, prefix, key: key.into(), key_id: None, print }
    }

    pub(crate) fn kms(prefix: Arc<str>, name: Arc<str>, key_id: &str, kind: i32) -> Self {
        let print = Fingerprint::of(&[prefix.as_bytes(), key_id.as_bytes(), &kind.to_be_bytes()]);
        Self { provider: "kms", prefix, key: name, key_id: Some(key_id.into()), print }
    }

    /// Values that are not sealed.
    pub fn none() -> &'static Arc<Self> {
        static NONE: OnceLock<Arc<Seal>> = OnceLock::new();
        NONE.get_or_init(|| {
            let print = Fingerprint::of(&[]);
            Arc::new(Self { provider: "identity", prefix: "".into(), key: "".into(), key_id: None, print })
        })
    }

    /// `aesgcm`, `aescbc`, `secretbox`, `kms`; `identity` for what is not sealed.
    pub fn provider(&self) -> &'static str {
        self.provider
    }

    /// What stands before the ciphertext: `k8s:enc:aesgcm:v1:key1:`; empty for what is not sealed.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The name of the key; of the provider, for a key service.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Which of its keys a key service says it used.
    pub fn key_id(&self) -> Option<&str> {
        self.key_id.as_deref()
    }

    pub(crate) fn print(&self) -> Fingerprint {
        self.print
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seal({:?})", self.prefix)
    }
}

/// The provider and the name of the key that a value names in its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'v> {
    pub provider: &'v str,
    pub key: &'v str,
}

impl<'v> Header<'v> {
    /// `None` for what is not sealed, and for what does not say by what.
    pub fn of(value: &'v [u8]) -> Option<Self> {
        /// Longer names are no names.
        const LONGEST: usize = 1024;
        let rest = value.strip_prefix(SEALED)?;
        let mut parts = rest.get(..LONGEST).unwrap_or(rest).splitn(4, |byte| *byte == b':');
        let provider = std::str::from_utf8(parts.next()?).ok()?;
        let _version = parts.next()?;
        let key = std::str::from_utf8(parts.next()?).ok()?;
        parts.next()?;
        Some(Self { provider, key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_says_what_sealed_it() {
        let header = |text: &'static str| Header::of(text.as_bytes()).map(|h| (h.provider, h.key));
        assert_eq!(header("k8s:enc:aesgcm:v1:key1:abc"), Some(("aesgcm", "key1")));
        assert_eq!(header("k8s:enc:kms:v2:vault:\n:::"), Some(("kms", "vault")));
        assert_eq!(header("k8s:enc:secretbox:v1:box:"), Some(("secretbox", "box")));
        for text in ["", "{}", "k8s:enc:", "k8s:enc:aesgcm", "k8s:enc:aesgcm:v1:key1", "k8s\0..."] {
            assert_eq!(header(text), None, "{text}");
        }
    }
}
