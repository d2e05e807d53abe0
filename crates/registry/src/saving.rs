//! A snapshot of everything that is stored, as it is stored: taken page by page, for who may have all of it.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use pawl_kv::Revision;
use pawl_meta::Status;
use pawl_snapshot::Saving;
use tokio::sync::OwnedSemaphorePermit;

use crate::storage::store_error;
use crate::table::ROOT;
use crate::{Objects, Registry};

/// Each holds on to a state of the past for a while.
pub(crate) const AT_ONCE: usize = 2;

/// A snapshot that is being taken. What is sealed stays sealed.
pub struct Snapshot {
    saving: Saving,
    /// The first bytes, until they have been taken.
    head: Option<Bytes>,
    _turn: OwnedSemaphorePermit,
}

impl Registry {
    /// Begins a snapshot of what is stored now.
    pub async fn snapshot(&self) -> Result<Snapshot, Status> {
        let turn = Arc::clone(&self.snapshots).try_acquire_owned();
        let turn = turn.map_err(|_| Status::too_many_requests("other snapshots are being taken", 5))?;
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let time = u64::try_from(time).unwrap_or_default();
        let saving = Saving::begin(Arc::clone(self.storage.kv()), ROOT, time, self.cluster()).await;
        let (saving, head) = saving.map_err(|error| store_error(&error))?;
        Ok(Snapshot { saving, head: Some(head), _turn: turn })
    }

    /// What names this cluster to others: the uid of the namespace `kube-system`.
    fn cluster(&self) -> [u8; 16] {
        let system = Objects::get(self, "", "namespaces", "", "kube-system").unwrap_or_default();
        let uid = system.get("metadata").and_then(|metadata| metadata.get("uid")?.as_str());
        uid.and_then(|uid| uuid::Uuid::parse_str(uid).ok()).unwrap_or_default().into_bytes()
    }
}

impl Snapshot {
    /// The revision whose state this is.
    pub fn revision(&self) -> Revision {
        self.saving.revision()
    }

    /// The bytes that come next, `None` after the last. A snapshot that fails says so at its end, and nobody takes it for one.
    pub async fn next(&mut self) -> Option<Bytes> {
        if let Some(head) = self.head.take() {
            return Some(head);
        }
        loop {
            match self.saving.next().await? {
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => return Some(bytes),
                Err((error, end)) => {
                    tracing::warn!(%error, revision = self.revision(), "a snapshot was given up");
                    return Some(end);
                }
            }
        }
    }

    /// The end of one that cannot be finished.
    pub fn give_up(self, why: &str) -> Bytes {
        self.saving.give_up(why)
    }
}
