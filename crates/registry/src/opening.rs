//! From stored values to entries, and back: what is sealed is opened once, on its way into the cache, and what goes to the
//! store is sealed. Nothing else turns one kind of bytes into the other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use pawl_kv::Revision;
use pawl_meta::Status;
use pawl_seal::{Away, Opened, Opening, Plain, Seal, SealError, Sealed};

use crate::entry::{CacheEntry, Readability, Readable};
use crate::table::Stored;
use crate::unreadable::{self, Closed, Unreadable};

impl Stored {
    /// Seals a value for its place in the store. Nothing is ever stored unsealed instead.
    pub(crate) fn seal(&self, full_key: &str, plain: Plain) -> Result<Sealed, Status> {
        let Some(transform) = &self.transform else { return Ok(Sealed::stored(plain.into_bytes())) };
        transform.seal(full_key, &plain).map_err(|error| match error {
            SealError::Away(away) => unreadable::away(&away),
            SealError::Failed(why) => Status::internal(why),
        })
    }

    /// The entry of a stored value. Never waits: where a key service has to be asked first, its value is away until then.
    pub fn open(&self, key: &str, revision: Revision, value: Sealed) -> CacheEntry {
        let state = match &self.transform {
            None => self.read(value.clone(), Plain::new(value.into_bytes()), None),
            Some(transform) => match transform.open(&self.full_key(key), value.clone()) {
                Opening::Done(opened) => self.opened(value, opened),
                Opening::Asking(asking) => {
                    let message = "it has been asked for the key of this value".to_owned();
                    Readability::Away(Box::new(Closed {
                        away: Away { provider: asking.provider().into(), message },
                        value,
                    }))
                }
            },
        };
        CacheEntry { key: key.into(), revision, state }
    }

    /// The entry of a stored value, once whoever has its key has answered.
    pub async fn open_asking(&self, key: &str, revision: Revision, value: Sealed) -> CacheEntry {
        let state = match &self.transform {
            None => return self.open(key, revision, value),
            Some(transform) => {
                let opened = transform.open(&self.full_key(key), value.clone()).finish().await;
                self.opened(value, opened)
            }
        };
        CacheEntry { key: key.into(), revision, state }
    }

    /// The entry of a value that is not out of the store: how an object would look.
    pub fn entry(&self, key: &str, revision: Revision, plain: Plain) -> CacheEntry {
        let state = self.read(Sealed::stored(plain.clone().into_bytes()), plain, None);
        CacheEntry { key: key.into(), revision, state }
    }

    /// Whether a value would be sealed otherwise today, so that it is worth writing again.
    pub(crate) fn is_stale(&self, readable: &Readable) -> bool {
        self.transform.as_ref().is_some_and(|transform| transform.is_stale(readable.seal()))
    }

    /// Whether the store has other bytes of a value than would be written today, whatever they mean.
    pub(crate) fn is_outdated(&self, readable: &Readable) -> bool {
        readable.is_foreign() || self.is_stale(readable)
    }

    fn opened(&self, value: Sealed, opened: Opened) -> Readability {
        match opened {
            Opened::Plain { bytes, seal, .. } => {
                let seal = (!Arc::ptr_eq(&seal, Seal::none())).then_some(seal);
                self.read(value, bytes, seal)
            }
            Opened::Unreadable(why) => Readability::Unreadable(Box::new(Unreadable::sealed(value, why))),
            Opened::Away(away) => Readability::Away(Box::new(Closed { away, value })),
        }
    }

    /// Whatever a value does to its reader, it does to this entry alone.
    fn read(&self, value: Sealed, plain: Plain, seal: Option<Arc<Seal>>) -> Readability {
        let cut = || Readable::cut_user(plain, self.kind.as_deref(), &self.sources, self.user);
        let why = match catch_unwind(AssertUnwindSafe(cut)) {
            Ok(Ok(readable)) => return Readability::Readable(readable.sealed_by(seal)),
            Ok(Err(why)) => why,
            Err(_) => "reading the value failed".to_owned(),
        };
        Readability::Unreadable(Box::new(if seal.is_none() && value.as_slice().starts_with(b"k8s:enc:") {
            // Nothing was to be opened: this is how upstream says that it should have been.
            let message = "identity transformer tried to read encrypted data".to_owned();
            let header = pawl_seal::Header::of(value.as_slice());
            let (provider, key) =
                header.map_or((Box::default(), Box::default()), |h| (h.provider.into(), h.key.into()));
            let reason = pawl_seal::Reason::NoKey;
            Unreadable::sealed(value.clone(), pawl_seal::Unreadable { reason, message, provider, key })
        } else {
            let why = scalar_fault(value.as_slice(), seal.is_some()).unwrap_or(why);
            Unreadable::not_decodable(value, seal, why)
        }))
    }
}

/// What upstream says of a text that is no object: it takes it for a string of bytes.
fn scalar_fault(value: &[u8], sealed: bool) -> Option<String> {
    if sealed || value.starts_with(b"{") || value.starts_with(pawl_protobuf::MAGIC) {
        return None;
    }
    let known = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let whole = value.len() - value.len() % 4;
    let at = value.iter().position(|byte| !known(byte)).or((whole < value.len()).then_some(whole))?;
    Some(format!("illegal base64 data at input byte {at}"))
}
