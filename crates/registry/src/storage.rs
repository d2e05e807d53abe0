//! Between objects and the store: the one writer, and how far the caches are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pawl_kv::{Change, Expect, Guard, KeyValue, Kv, Outcome, Revision, Write};
use pawl_meta::{Cause, Details, Status};
use pawl_seal::{Plain, Sealed};
use tokio::sync::watch;

use crate::entry::CacheEntry;
use crate::feeding::Trouble;
use crate::history::History;
use crate::table::Stored;
use crate::turning::Turning;
use crate::usage::Usage;

/// The store, and how far the caches have followed it.
pub struct Storage {
    kv: Arc<dyn Kv>,
    applied: AtomicU64,
    /// The revision up to which all watchers have been called.
    called: AtomicU64,
    /// The newest revision of the store that somebody has waited for in vain.
    missed: AtomicU64,
    progress: watch::Sender<Revision>,
    pub(crate) trouble: Trouble,
    pub(crate) turning: Turning,
    history: History,
    pub(crate) usage: Usage,
}

/// How long a read or a write waits for the caches.
const PATIENCE: Duration = Duration::from_secs(3);

/// How a conditional write ended.
pub enum Written {
    Applied(Revision),
    /// Somebody was faster; this is what is there now.
    Conflict(Option<Arc<CacheEntry>>),
}

impl Storage {
    pub fn new(kv: Arc<dyn Kv>) -> Self {
        Self {
            kv,
            applied: AtomicU64::new(0),
            called: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            progress: watch::Sender::new(0),
            trouble: Trouble::default(),
            turning: Turning::default(),
            history: History::default(),
            usage: Usage::default(),
        }
    }

    pub fn kv(&self) -> &Arc<dyn Kv> {
        &self.kv
    }

    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    /// The revision up to which the caches hold everything.
    pub fn applied(&self) -> Revision {
        self.applied.load(Ordering::Acquire)
    }

    /// The revision up to which everyone has been called for what happened in their scope.
    pub fn called(&self) -> Revision {
        self.called.load(Ordering::Acquire)
    }

    /// Says that everyone has been called for what happened up to a revision.
    pub(crate) fn set_called(&self, revision: Revision) {
        self.called.fetch_max(revision, Ordering::AcqRel);
    }

    /// Waits until a read of the caches shows everything acknowledged before the call; returns that revision.
    pub async fn catch_up(&self) -> Result<Revision, Status> {
        let revision = self.kv.revision().await.map_err(|e| store_error(&e))?;
        self.wait_for_written(revision).await?;
        Ok(self.applied())
    }

    /// The same for who reads one resource: counted there.
    pub(crate) async fn catch_up_for(&self, stored: &Stored) -> Result<Revision, Status> {
        let revision = self.kv.revision().await.map_err(|e| store_error(&e))?;
        let count = |waited, in_vain| stored.cache.tally().wait(&stored.group_resource, waited, in_vain);
        if self.applied() >= revision {
            count(Duration::ZERO, false);
        } else {
            let began = Instant::now();
            let reached = self.wait_for_written(revision).await;
            count(began.elapsed(), reached.is_err());
            reached?;
        }
        Ok(self.applied())
    }

    /// The same where others write to the store too; where nobody does, the caches are never behind what matters.
    pub async fn catch_up_with_others(&self) -> Result<(), Status> {
        if self.kv.is_shared() { self.catch_up().await.map(drop) } else { Ok(()) }
    }

    /// Waits until the caches have reached a revision that somebody named.
    pub async fn wait_for(&self, revision: Revision) -> Result<(), Status> {
        if self.applied() >= revision {
            return Ok(());
        }
        let mut progress = self.progress.subscribe();
        let reached = progress.wait_for(|applied| *applied >= revision);
        match tokio::time::timeout(PATIENCE, reached).await {
            Ok(Ok(_)) => Ok(()),
            _ => Err(too_large(revision, self.applied(), 1)),
        }
    }

    /// The same for one that must be exactly this: nobody is told to ask again.
    pub async fn wait_for_exactly(&self, revision: Revision) -> Result<(), Status> {
        self.wait_for(revision).await.map_err(|_| too_large(revision, self.applied(), 0))
    }

    /// Waits until the caches have reached a revision that the store has. In vain means that they do not follow.
    pub(crate) async fn wait_for_written(&self, revision: Revision) -> Result<(), Status> {
        let waited = self.wait_for(revision).await;
        if waited.is_err() {
            self.missed.fetch_max(revision, Ordering::AcqRel);
        }
        waited
    }

    /// Whether the caches follow the store, and since when and why not where they do not.
    pub fn following(&self) -> Result<(), String> {
        let (missed, applied) = (self.missed.load(Ordering::Acquire), self.applied());
        match self.trouble.lasting() {
            Some(trouble) => Err(format!("the caches stand at revision {applied}: {trouble}")),
            None if applied < missed => Err(format!("the caches stand at revision {applied} and not at {missed}")),
            None => Ok(()),
        }
    }

    /// Writes under a condition, and waits until the caches show it. What is written is written, also where they do not
    /// show it in time: reads wait for them by themselves.
    pub async fn write(
        &self,
        stored: &Stored,
        key: &str,
        conditions: impl Into<Conditions>,
        value: Option<Put>,
    ) -> Result<Written, Status> {
        let Conditions { expect, guards } = conditions.into();
        let full_key = stored.full_key(key);
        let change = match value {
            None => Change::Delete,
            Some(Put { value, ttl }) => Change::Put { value: stored.seal(&full_key, value)?.into_bytes(), ttl },
        };
        let write = Write { key: Bytes::from(full_key), expect, change, guards };
        match self.kv.write(write).await.map_err(|e| store_error(&e))? {
            Outcome::Applied { revision } => {
                let _ = self.wait_for_written(revision).await;
                Ok(Written::Applied(revision))
            }
            Outcome::Conflict { current } => Ok(Written::Conflict(
                current.map(|kv| Arc::new(stored.open(key, kv.mod_revision, Sealed::stored(kv.value)))),
            )),
        }
    }

    /// The cache entry of what a key held: the one that the cache has, if it is the same.
    pub fn entry_of(&self, stored: &Stored, key: &str, held: &KeyValue) -> Arc<CacheEntry> {
        let present = stored.cache.get(key).filter(|present| present.revision == held.mod_revision);
        present.unwrap_or_else(|| Arc::new(stored.open(key, held.mod_revision, Sealed::stored(held.value.clone()))))
    }

    /// Says that the caches hold everything up to a revision.
    pub(crate) fn advance(&self, revision: Revision) {
        self.applied.fetch_max(revision, Ordering::AcqRel);
        self.progress.send_if_modified(|applied| {
            let newer = revision > *applied;
            *applied = revision.max(*applied);
            newer
        });
    }
}

/// The first key behind a key.
pub fn after(key: &[u8]) -> Bytes {
    Bytes::from([key, &[0]].concat())
}

/// What must hold for a write.
pub struct Conditions {
    pub expect: Expect,
    pub guards: Vec<Guard>,
}

impl From<Expect> for Conditions {
    fn from(expect: Expect) -> Self {
        Self { expect, guards: Vec::new() }
    }
}

/// A value to store.
#[derive(Clone)]
pub struct Put {
    pub value: Plain,
    pub ttl: Option<Duration>,
}

/// What the client is told when the store cannot do something.
pub fn store_error(error: &pawl_kv::Error) -> Status {
    match error {
        pawl_kv::Error::Compacted { requested, compacted } => expired(*requested, *compacted),
        pawl_kv::Error::Future { requested, current } => too_large(*requested, *current, 0),
        // It may have been done: who asked must look, and nobody does it again.
        pawl_kv::Error::Unknown(_) => Status::timeout(format!("Timeout: {error}")),
        pawl_kv::Error::TooLarge { .. } => Status::too_large(error),
        _ => Status::unavailable(error.to_string()),
    }
}

/// A revision that has been compacted away.
pub fn expired(requested: Revision, oldest: Revision) -> Status {
    Status::gone(format!("too old resource version: {requested} ({oldest})"))
}

/// A revision that is not there yet. It is worth asking again where one at least so new would do.
fn too_large(requested: Revision, current: Revision, retry_after_seconds: u32) -> Status {
    let cause = Cause {
        reason: "ResourceVersionTooLarge".to_owned(),
        message: "Too large resource version".to_owned(),
        field: String::new(),
    };
    let message = format!("Timeout: Too large resource version: {requested}, current: {current}");
    Status::timeout(message).with_details(Details { causes: vec![cause], retry_after_seconds, ..Details::default() })
}
