//! Sealing anew what another key would seal today, object by object: what is done stays done, whoever is interrupted.

use std::sync::Arc;

use futures::StreamExt;
use pawl_kv::Expect;
use pawl_meta::Status;
use pawl_seal::Plain;

use crate::entry::CacheEntry;
use crate::storage::{Put, Written, store_error};
use crate::{Registry, Served};

/// How many values are written at once.
const AT_ONCE: usize = 32;

/// How far it is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resealed {
    pub rewritten: usize,
    /// What is still sealed otherwise than it would be today.
    pub remaining: usize,
    /// What cannot be read, and so cannot be sealed anew.
    pub unreadable: usize,
}

impl Registry {
    /// Seals some values anew; no more than this many.
    pub async fn reseal(&self, most: usize) -> Result<Resealed, Status> {
        self.storage().catch_up().await?;
        let mut done = Resealed::default();
        for served in self.sealed() {
            let stored = &served.stored;
            done.unreadable += stored.cache.closed().len();
            let objects = stored.cache.objects();
            let is_stale =
                |entry: &&Arc<CacheEntry>| entry.readable().is_some_and(|readable| stored.is_stale(readable));
            let stale: Vec<Arc<CacheEntry>> = objects.values().filter(is_stale).cloned().collect();
            let now = stale.len().min(most - done.rewritten);
            done.remaining += stale.len() - now;
            let writes = stale.into_iter().take(now).map(|entry| self.reseal_one(&served, entry));
            let written: Vec<Result<(), Status>> =
                futures::stream::iter(writes.collect::<Vec<_>>()).buffer_unordered(AT_ONCE).collect().await;
            written.into_iter().collect::<Result<(), Status>>()?;
            done.rewritten += now;
        }
        Ok(done)
    }

    /// Forgets the past, in which values are as they were sealed before. Who watches from there has to list again.
    pub async fn forget_history(&self) -> Result<(), Status> {
        let revision = self.storage().catch_up().await?;
        self.storage().kv().compact(revision).await.map_err(|error| store_error(&error))
    }

    async fn reseal_one(&self, served: &Served, entry: Arc<CacheEntry>) -> Result<(), Status> {
        let Some(readable) = entry.readable() else { return Ok(()) };
        let put = Put { value: Plain::new(readable.value().clone()), ttl: self.ttl(served) };
        match self.storage().write(&served.stored, &entry.key, Expect::Revision(entry.revision), Some(put)).await? {
            // Whoever was faster has sealed it, too.
            Written::Applied(_) | Written::Conflict(_) => Ok(()),
        }
    }

    /// One version of each resource whose values pass keys.
    fn sealed(&self) -> Vec<Arc<Served>> {
        let table = self.table();
        let mut found: Vec<Arc<Served>> = Vec::new();
        for served in table.served() {
            let stored = &served.stored;
            let is_stored = stored.transform.is_some() && !stored.derived && !served.resource.facts.is_virtual;
            if is_stored && !found.iter().any(|other| Arc::ptr_eq(&other.stored, stored)) {
                found.push(Arc::clone(served));
            }
        }
        found
    }
}
