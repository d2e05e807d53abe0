//! Following the objects of a resource from inside of the server: first all there are, then what becomes of them.
//!
//! Owns what its listener knows. A watch that ended, because it fell behind or the history it needed is gone, starts anew,
//! and the listener is told the difference: nobody who follows has to know.

mod known;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pawl_meta::Status;

use crate::cache::Scope;
use crate::entry::{CacheEntry, Selection};
use crate::watch::{WatchItem, WatchRequest, WatchStart, Watcher};
use crate::{Registry, Served};
use known::Known;
pub(crate) use known::Position;

/// How long to wait before a watch that could not be started is tried again; twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Something that became of an object.
#[derive(Clone, Debug)]
pub enum Followed {
    Seen(Arc<CacheEntry>),
    /// The object is no more; this is how it looked last.
    Gone(Arc<CacheEntry>),
}

/// Follows one resource.
pub struct Follower {
    registry: Arc<Registry>,
    served: Arc<Served>,
    watcher: Option<Watcher>,
    pause: Duration,
    known: Known,
    lag: Lag,
}

/// Whether a follower has yet to tell all that is there: before it has begun, and while it starts anew.
#[derive(Clone, Debug)]
pub struct Lag(Arc<AtomicBool>);

impl Lag {
    pub fn is_behind(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Follower {
    pub fn new(registry: Arc<Registry>, served: Arc<Served>) -> Self {
        let lag = Lag(Arc::new(AtomicBool::new(true)));
        Self { registry, served, watcher: None, pause: FIRST_PAUSE, known: Known::default(), lag }
    }

    /// For whoever must know that what was told may be out of date.
    pub fn lag(&self) -> Lag {
        self.lag.clone()
    }

    /// What happened next, never nothing.
    pub async fn next(&mut self) -> Vec<Followed> {
        loop {
            let changes = self.step().await;
            if !changes.is_empty() {
                return changes;
            }
        }
    }

    /// All that is there at the start.
    pub async fn first(&mut self) -> Vec<Followed> {
        let mut changes = self.step().await;
        while self.watcher.is_none() || self.known.is_beginning() {
            changes.extend(self.step().await);
        }
        changes
    }

    /// All that the listener knows of.
    pub fn into_known(self) -> impl Iterator<Item = Arc<CacheEntry>> {
        self.known.into_objects()
    }

    async fn step(&mut self) -> Vec<Followed> {
        let watcher = match &mut self.watcher {
            Some(watcher) => watcher,
            none => match start(&self.registry, &self.served).await {
                Ok(watcher) => {
                    self.pause = FIRST_PAUSE;
                    self.known.begin(watcher.initial_objects());
                    none.insert(watcher)
                }
                Err(status) => {
                    tracing::warn!(resource = %self.served.stored.group_resource, %status, "cannot be followed now");
                    tokio::time::sleep(self.pause).await;
                    self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                    return Vec::new();
                }
            },
        };
        let items = watcher.next().await;
        self.take(items)
    }

    fn take(&mut self, items: Vec<WatchItem>) -> Vec<Followed> {
        let mut changes = Vec::with_capacity(items.len());
        let mut ended = items.is_empty();
        for item in items {
            match item {
                WatchItem::Added(entry) | WatchItem::Modified(entry) => self.known.seen(entry, &mut changes),
                WatchItem::Deleted(entry) => self.known.gone(entry, &mut changes),
                WatchItem::Bookmark { initial_events_end: true, .. } => self.known.complete(&mut changes),
                WatchItem::Bookmark { .. } => {}
                WatchItem::Error(status) => {
                    tracing::debug!(resource = %self.served.stored.group_resource, %status, "watch starts anew");
                    ended = true;
                }
            }
        }
        match &self.watcher {
            Some(watcher) if !ended => self.known.settle(watcher.position(), &self.served.stored.cache),
            _ => self.watcher = None,
        }
        self.lag.0.store(self.watcher.is_none() || self.known.is_beginning(), Ordering::Relaxed);
        changes
    }
}

async fn start(registry: &Registry, served: &Served) -> Result<Watcher, Status> {
    let request = WatchRequest {
        scope: Scope::All,
        selection: Selection::default(),
        start: WatchStart::Initial { at_least: 0, bookmark: true },
        bookmarks: false,
        tolerant: true,
    };
    registry.watch(served, request).await
}
