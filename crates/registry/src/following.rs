//! Following the objects of a resource from inside of the server: first all there are, then what becomes of them.
//!
//! Owns what its listener knows. A watch that ended, because it fell behind or the history it needed is gone, starts anew,
//! and the listener is told the difference: nobody who follows has to know.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pawl_meta::Status;

use crate::cache::Scope;
use crate::entry::{Entry, Readable, Selection};
use crate::watching::{WatchItem, WatchRequest, WatchStart, Watcher};
use crate::{Registry, Served};

/// How long to wait before a watch that could not be started is tried again; twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Something that became of an object.
#[derive(Clone, Debug)]
pub enum Change {
    Seen(Arc<Entry>),
    /// The object is no more; this is how it looked last.
    Gone(Arc<Entry>),
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
    pub async fn next(&mut self) -> Vec<Change> {
        loop {
            let changes = self.step().await;
            if !changes.is_empty() {
                return changes;
            }
        }
    }

    /// All that is there at the start.
    pub async fn first(&mut self) -> Vec<Change> {
        let mut changes = self.step().await;
        while self.watcher.is_none() || self.known.told.is_some() {
            changes.extend(self.step().await);
        }
        changes
    }

    /// All that the listener knows of.
    pub fn into_known(self) -> impl Iterator<Item = Arc<Entry>> {
        self.known.objects.into_iter().map(|Keyed(entry)| entry)
    }

    async fn step(&mut self) -> Vec<Change> {
        let watcher = match &mut self.watcher {
            Some(watcher) => watcher,
            none => match start(&self.registry, &self.served).await {
                Ok(watcher) => {
                    self.pause = FIRST_PAUSE;
                    self.known.begin();
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

    fn take(&mut self, items: Vec<WatchItem>) -> Vec<Change> {
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
        if ended {
            self.watcher = None;
        }
        self.lag.0.store(self.watcher.is_none() || self.known.told.is_some(), Ordering::Relaxed);
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

/// The objects that the listener knows of, so that a watch that starts anew can tell what is gone.
#[derive(Default)]
struct Known {
    objects: HashSet<Keyed>,
    /// While a watch tells what is there: the keys told so far.
    told: Option<HashSet<Arc<str>>>,
}

/// An entry that is found by its key. Who follows a million objects has as many of these: none has its key a second time.
struct Keyed(Arc<Entry>);

impl std::borrow::Borrow<str> for Keyed {
    fn borrow(&self) -> &str {
        &self.0.key
    }
}

impl std::hash::Hash for Keyed {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.key.hash(state);
    }
}

impl PartialEq for Keyed {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}

impl Eq for Keyed {}

impl Known {
    fn begin(&mut self) {
        self.told = Some(HashSet::new());
    }

    fn seen(&mut self, entry: Arc<Entry>, changes: &mut Vec<Change>) {
        let before = self.objects.replace(Keyed(Arc::clone(&entry))).map(|Keyed(before)| before);
        if let Some(told) = &mut self.told {
            told.insert(Arc::clone(&entry.key));
            match before {
                // Nothing was written, and nothing has changed about whether it can be read.
                Some(before) if before.revision == entry.revision && is_readable(&before) == is_readable(&entry) => {
                    return;
                }
                // Another object of the same name came while nobody looked. One that cannot be read is nobody else.
                Some(before) if is_another(&before, &entry) => changes.push(Change::Gone(before)),
                _ => {}
            }
        }
        changes.push(Change::Seen(entry));
    }

    fn gone(&mut self, entry: Arc<Entry>, changes: &mut Vec<Change>) {
        self.objects.remove(&*entry.key);
        changes.push(Change::Gone(entry));
    }

    fn complete(&mut self, changes: &mut Vec<Change>) {
        let Some(told) = self.told.take() else { return };
        let missing = self.objects.extract_if(|Keyed(entry)| !told.contains(&entry.key));
        changes.extend(missing.map(|Keyed(entry)| Change::Gone(entry)));
    }
}

fn is_readable(entry: &Entry) -> bool {
    entry.readable().is_some()
}

fn is_another(before: &Entry, entry: &Entry) -> bool {
    matches!((uid(before), uid(entry)), (Some(before), Some(now)) if before != now)
}

fn uid(entry: &Entry) -> Option<String> {
    entry.readable().and_then(Readable::uid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::State;

    fn entry(key: &str, uid: &str, revision: u64) -> Arc<Entry> {
        let value = format!(r#"{{"kind":"K","apiVersion":"v1","metadata":{{"name":"{key}","uid":"{uid}"}}}}"#);
        let readable = Readable::cut(pawl_seal::Plain::new(value), None, &[]).unwrap();
        Arc::new(Entry { key: key.into(), revision, state: State::Readable(readable) })
    }

    #[test]
    fn a_watch_that_starts_anew_tells_what_it_missed() {
        let mut known = Known::default();
        let mut tell = |entries: &[(&str, &str, u64)]| {
            let mut changes = Vec::new();
            known.begin();
            for (key, uid, revision) in entries {
                known.seen(entry(key, uid, *revision), &mut changes);
            }
            known.complete(&mut changes);
            let told = changes.iter().map(|change| match change {
                Change::Seen(entry) => format!("{}@{}", entry.key, entry.revision),
                Change::Gone(entry) => format!("-{}@{}", entry.key, entry.revision),
            });
            told.collect::<Vec<_>>()
        };
        assert_eq!(tell(&[("a", "1", 1), ("b", "2", 2), ("c", "3", 3)]), ["a@1", "b@2", "c@3"]);
        assert_eq!(tell(&[("b", "4", 5), ("c", "3", 6), ("d", "5", 7)]), ["-b@2", "b@5", "c@6", "d@7", "-a@1"]);
        assert_eq!(tell(&[("b", "4", 5), ("c", "3", 6), ("d", "5", 7)]), [""; 0]);
    }
}
