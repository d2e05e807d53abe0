//! Between objects and the store: the transform that values pass, the one writer, and the feed of the caches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use pawl_kv::{Change, Expect, Kv, Outcome, RangeRequest, Revision, WatchMessage, Write};
use pawl_meta::{Cause, Details, Status};
use tokio::sync::watch;

use crate::entry::{Entry, Readable, State};
use crate::table::{ROOT, Stored, Table};

/// What values go through on their way to and from the store: encryption at rest. The key is bound to the value.
pub trait Transform: Send + Sync + 'static {
    fn seal(&self, key: &str, plain: Bytes) -> Result<Bytes, String>;
    /// The error says why the value cannot be read.
    fn unseal(&self, key: &str, stored: Bytes) -> Result<Bytes, String>;
}

/// Values are stored as they are.
pub struct Identity;

impl Transform for Identity {
    fn seal(&self, _key: &str, plain: Bytes) -> Result<Bytes, String> {
        Ok(plain)
    }

    fn unseal(&self, _key: &str, stored: Bytes) -> Result<Bytes, String> {
        Ok(stored)
    }
}

/// The store, and how far the caches have followed it.
pub struct Storage {
    kv: Arc<dyn Kv>,
    transform: Box<dyn Transform>,
    applied: AtomicU64,
    progress: watch::Sender<Revision>,
}

/// How a conditional write ended.
pub enum Written {
    Applied(Revision),
    /// Somebody was faster; this is what is there now.
    Conflict(Option<Arc<Entry>>),
}

impl Storage {
    pub fn new(kv: Arc<dyn Kv>, transform: Box<dyn Transform>) -> Self {
        Self { kv, transform, applied: AtomicU64::new(0), progress: watch::Sender::new(0) }
    }

    pub fn kv(&self) -> &Arc<dyn Kv> {
        &self.kv
    }

    /// The revision up to which the caches hold everything.
    pub fn applied(&self) -> Revision {
        self.applied.load(Ordering::Acquire)
    }

    /// Waits until a read of the caches shows everything acknowledged before the call; returns that revision.
    pub async fn catch_up(&self) -> Result<Revision, Status> {
        let revision = self.kv.revision().await.map_err(|e| store_error(&e))?;
        self.wait_for(revision).await?;
        Ok(self.applied())
    }

    /// Waits until the caches have reached a revision.
    pub async fn wait_for(&self, revision: Revision) -> Result<(), Status> {
        if self.applied() >= revision {
            return Ok(());
        }
        let mut progress = self.progress.subscribe();
        let reached = progress.wait_for(|applied| *applied >= revision);
        match tokio::time::timeout(Duration::from_secs(3), reached).await {
            Ok(Ok(_)) => Ok(()),
            _ => Err(too_large(revision, self.applied())),
        }
    }

    /// Writes under a condition, and waits until the caches show it.
    pub async fn write(
        &self,
        stored: &Stored,
        key: &str,
        expect: Expect,
        value: Option<Put>,
    ) -> Result<Written, Status> {
        let full_key = stored.full_key(key);
        let change = match value {
            None => Change::Delete,
            Some(Put { value, ttl }) => {
                Change::Put { value: self.transform.seal(&full_key, value).map_err(Status::internal)?, ttl }
            }
        };
        let write = Write { key: Bytes::from(full_key), expect, change };
        match self.kv.write(write).await.map_err(|e| store_error(&e))? {
            Outcome::Applied { revision } => {
                self.wait_for(revision).await?;
                Ok(Written::Applied(revision))
            }
            Outcome::Conflict { current } => Ok(Written::Conflict(current.map(|kv| {
                let revision = kv.mod_revision;
                Arc::new(self.entry(stored, key, revision, kv.value))
            }))),
        }
    }

    /// Makes a cache entry of a stored value.
    pub fn entry(&self, stored: &Stored, key: &str, revision: Revision, value: Bytes) -> Entry {
        let opened = self.transform.unseal(&stored.full_key(key), value);
        let state = match opened.and_then(|plain| Readable::cut(plain, &stored.select)) {
            Ok(readable) => State::Readable(readable),
            Err(why) => State::Unreadable(why),
        };
        Entry { key: key.into(), revision, state }
    }

    /// Fills the caches of a table with what the store holds. Returns the revision of what was read.
    pub async fn load(&self, table: &Table) -> Result<Revision, pawl_kv::Error> {
        const PAGE: usize = 1000;
        let end = Bytes::from(format!("{}0", ROOT.trim_end_matches('/')));
        let mut start = Bytes::from_static(ROOT.as_bytes());
        let mut revision = None;
        loop {
            let request = RangeRequest { start, end: end.clone(), limit: PAGE, revision, count: false };
            let range = self.kv.range(request).await?;
            revision = Some(range.revision);
            for item in &range.items {
                let Ok(full_key) = std::str::from_utf8(&item.key) else { continue };
                if let Some((stored, key)) = table.place(full_key) {
                    let entry = self.entry(stored, key, item.mod_revision, item.value.clone());
                    stored.cache.load(Arc::new(entry), range.revision);
                }
            }
            match range.items.last() {
                Some(last) if range.more => {
                    let mut next = last.key.to_vec();
                    next.push(0);
                    start = Bytes::from(next);
                }
                _ => {
                    for stored in table.stored() {
                        stored.cache.loaded(range.revision);
                    }
                    self.advance(range.revision);
                    return Ok(range.revision);
                }
            }
        }
    }

    /// Follows the store from a revision on and feeds the caches, until the store's watch ends.
    pub async fn follow(&self, table: impl Fn() -> Arc<Table>, after: Revision) -> Result<(), pawl_kv::Error> {
        let mut watch = self.kv.watch(Bytes::from_static(ROOT.as_bytes()), after).await?;
        while let Some(message) = watch.next().await {
            match message? {
                WatchMessage::Progress(revision) => self.advance(revision),
                WatchMessage::Events(events) => {
                    let table = table();
                    for event in &events {
                        let Ok(full_key) = std::str::from_utf8(&event.key) else { continue };
                        if let Some((stored, key)) = table.place(full_key) {
                            let entry =
                                event.value.clone().map(|v| Arc::new(self.entry(stored, key, event.revision, v)));
                            stored.cache.apply(event.revision, key, entry);
                        }
                    }
                    if let Some(last) = events.last() {
                        self.advance(last.revision);
                    }
                    for event in &events {
                        let Ok(full_key) = std::str::from_utf8(&event.key) else { continue };
                        if let Some((stored, key)) = table.place(full_key) {
                            stored.cache.wake(event.revision, key);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn advance(&self, revision: Revision) {
        self.applied.fetch_max(revision, Ordering::AcqRel);
        self.progress.send_if_modified(|applied| {
            let newer = revision > *applied;
            *applied = revision.max(*applied);
            newer
        });
    }
}

/// A value to store.
#[derive(Clone)]
pub struct Put {
    pub value: Bytes,
    pub ttl: Option<Duration>,
}

/// What the client is told when the store cannot do something.
pub fn store_error(error: &pawl_kv::Error) -> Status {
    match error {
        pawl_kv::Error::Compacted { requested, compacted } => expired(*requested, *compacted),
        pawl_kv::Error::Future { requested, current } => too_large(*requested, *current),
        pawl_kv::Error::Unknown(_) => Status::timeout(error.to_string()),
        _ => Status::unavailable(error.to_string()),
    }
}

/// A revision that has been compacted away.
pub fn expired(requested: Revision, oldest: Revision) -> Status {
    Status::gone(format!("too old resource version: {requested} ({oldest})"))
}

fn too_large(requested: Revision, current: Revision) -> Status {
    let cause = Cause {
        reason: "ResourceVersionTooLarge".to_owned(),
        message: "Too large resource version".to_owned(),
        field: String::new(),
    };
    let message = format!("Timeout: Too large resource version: {requested}, current: {current}");
    Status::timeout(message).with_details(Details { causes: vec![cause], retry_after_seconds: 1, ..Details::default() })
}
