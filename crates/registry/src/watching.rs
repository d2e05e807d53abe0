//! Watches: initial objects, history from the store where the ring does not reach, then the ring, with bookmarks.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use pawl_kv::{Revision, WatchMessage};
use pawl_meta::Status;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::cache::{Event, News, Scope};
use crate::entry::{Entry, Selection};
use crate::storage::{Storage, expired, store_error};
use crate::table::Stored;

/// How many events are handed over at once.
const BATCH: usize = 256;
/// Upstream's rhythm is about a minute.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);

/// What a client asks a watch for.
#[derive(Clone, Debug)]
pub struct WatchRequest {
    pub scope: Scope,
    pub selection: Selection,
    pub start: WatchStart,
    pub bookmarks: bool,
}

/// Where a watch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchStart {
    /// With an ADDED event for each object that is there; `bookmark` marks their end.
    Initial { at_least: Revision, bookmark: bool },
    /// With what happens from now on.
    Now,
    /// With what happened after a revision.
    After(Revision),
}

/// What a watcher is told.
#[derive(Debug)]
pub enum WatchItem {
    Added(Arc<Entry>),
    Modified(Arc<Entry>),
    Deleted(Arc<Entry>),
    Bookmark {
        revision: Revision,
        initial_events_end: bool,
    },
    /// The watch ends with this.
    Error(Box<Status>),
}

/// A running watch. Dropping it ends it.
pub struct Watcher {
    stored: Arc<Stored>,
    storage: Arc<Storage>,
    scope: Scope,
    selection: Selection,
    state: WatchState,
    news: watch::Receiver<Revision>,
    next_bookmark: Option<Instant>,
}

/// The life of a watch.
enum WatchState {
    /// Objects that were there at the start are still to be sent.
    Initial { entries: std::vec::IntoIter<Arc<Entry>>, revision: Revision, bookmark: bool },
    /// Events older than the ring are read from the store, until the ring's start is reached.
    History { watch: pawl_kv::Watch, cursor: Revision },
    /// Everything up to the cursor has been delivered; the ring has what follows.
    Live { cursor: Revision },
    /// The last item has been handed over.
    Ended,
}

impl Watcher {
    pub async fn start(storage: Arc<Storage>, stored: Arc<Stored>, request: WatchRequest) -> Result<Self, Status> {
        // Subscribed first: what is written from here on wakes the watch.
        let news = stored.cache.subscribe(&request.scope);
        let state = match request.start {
            WatchStart::Now => WatchState::Live { cursor: storage.catch_up().await? },
            WatchStart::Initial { at_least, bookmark } => {
                storage.wait_for(at_least).await?;
                // The revision is read before the objects: an event in between is told twice, never left out.
                let revision = if at_least == 0 { storage.applied() } else { storage.catch_up().await? };
                let entries: Vec<_> = stored
                    .cache
                    .objects_at(revision)
                    .unwrap_or_else(|| stored.cache.objects())
                    .iter()
                    .filter(|(_, e)| request.scope.includes(e) && request.selection.matches(e, &stored.select))
                    .map(|(_, e)| Arc::clone(e))
                    .collect();
                WatchState::Initial { entries: entries.into_iter(), revision, bookmark }
            }
            WatchStart::After(revision) => {
                if stored.cache.covers(revision) {
                    WatchState::Live { cursor: revision }
                } else {
                    let watch = storage.kv().watch(stored.prefix.clone().into(), revision).await;
                    match watch {
                        Ok(watch) => WatchState::History { watch, cursor: revision },
                        Err(pawl_kv::Error::Compacted { requested, compacted }) => {
                            return Err(expired(requested, compacted));
                        }
                        Err(error) => return Err(store_error(&error)),
                    }
                }
            }
        };
        Ok(Self {
            stored,
            storage,
            scope: request.scope,
            selection: request.selection,
            state,
            news,
            next_bookmark: request.bookmarks.then(|| Instant::now() + BOOKMARK_EVERY),
        })
    }

    /// The next items; empty once the watch has ended.
    pub async fn next(&mut self) -> Vec<WatchItem> {
        loop {
            let items = match &mut self.state {
                WatchState::Ended => return Vec::new(),
                WatchState::Initial { .. } => self.initial(),
                WatchState::History { .. } => self.history().await,
                WatchState::Live { cursor } => {
                    let cursor = *cursor;
                    self.live(cursor).await
                }
            };
            if !items.is_empty() {
                return items;
            }
        }
    }

    fn initial(&mut self) -> Vec<WatchItem> {
        let WatchState::Initial { entries, revision, bookmark } = &mut self.state else { return Vec::new() };
        let mut items: Vec<_> = entries.by_ref().take(BATCH).map(WatchItem::Added).collect();
        if items.len() < BATCH {
            if *bookmark {
                items.push(WatchItem::Bookmark { revision: *revision, initial_events_end: true });
            }
            self.state = WatchState::Live { cursor: *revision };
        }
        items
    }

    async fn history(&mut self) -> Vec<WatchItem> {
        let WatchState::History { watch, cursor } = &mut self.state else { return Vec::new() };
        if self.stored.cache.covers(*cursor) {
            self.state = WatchState::Live { cursor: *cursor };
            return Vec::new();
        }
        let message = watch.next().await;
        let mut items = Vec::new();
        match message {
            Some(Ok(WatchMessage::Progress(revision))) => *cursor = revision.max(*cursor),
            Some(Ok(WatchMessage::Events(events))) => {
                for event in events {
                    *cursor = event.revision;
                    let Some(key) =
                        std::str::from_utf8(&event.key).ok().and_then(|k| k.strip_prefix(&self.stored.prefix))
                    else {
                        continue;
                    };
                    let entry = |revision, value| Arc::new(self.storage.entry(&self.stored, key, revision, value));
                    let previous = event.previous.map(|p| entry(p.mod_revision, p.value));
                    let told = match (event.value, previous) {
                        (Some(value), previous) => {
                            let entry = entry(event.revision, value);
                            Event { revision: event.revision, entry, previous, deleted: false }
                        }
                        (None, Some(previous)) => {
                            let entry = Arc::new(previous.at(event.revision));
                            Event { revision: event.revision, entry, previous: Some(previous), deleted: true }
                        }
                        (None, None) => continue,
                    };
                    items.extend(select(&self.scope, &self.selection, &self.stored.select, &told));
                }
            }
            Some(Err(pawl_kv::Error::Compacted { requested, compacted })) => {
                return self.end(expired(requested, compacted));
            }
            Some(Err(error)) => return self.end(store_error(&error)),
            None => self.state = WatchState::Ended,
        }
        items
    }

    async fn live(&mut self, cursor: Revision) -> Vec<WatchItem> {
        self.news.mark_unchanged();
        // Read before the ring: nothing up to it can be missing from what the ring shows.
        let applied = self.storage.applied();
        let (news, read) = self.stored.cache.news(&self.scope, cursor, BATCH);
        let events = match news {
            News::Lost => return self.end(expired(cursor, self.storage.applied())),
            News::Events(events) => events,
        };
        let caught_up = events.len() < BATCH;
        let cursor = if caught_up { read.max(applied) } else { read };
        self.state = WatchState::Live { cursor };
        let items: Vec<_> =
            events.iter().filter_map(|e| select(&self.scope, &self.selection, &self.stored.select, e)).collect();
        if !items.is_empty() || !caught_up {
            return items;
        }
        match self.next_bookmark {
            None => {
                // An error means that the cache is gone: the server stops.
                if self.news.changed().await.is_err() {
                    self.state = WatchState::Ended;
                }
            }
            Some(at) => tokio::select! {
                changed = self.news.changed() => if changed.is_err() {
                    self.state = WatchState::Ended;
                },
                () = tokio::time::sleep_until(at) => {
                    self.next_bookmark = Some(Instant::now() + BOOKMARK_EVERY);
                    return self.bookmark(cursor);
                }
            },
        }
        Vec::new()
    }

    /// A bookmark may only name what the ring has been read up to.
    fn bookmark(&mut self, cursor: Revision) -> Vec<WatchItem> {
        let applied = self.storage.applied();
        let (news, _) = self.stored.cache.news(&self.scope, cursor, 1);
        match news {
            News::Events(events) if events.is_empty() => {
                self.state = WatchState::Live { cursor: applied.max(cursor) };
                vec![WatchItem::Bookmark { revision: applied.max(cursor), initial_events_end: false }]
            }
            _ => Vec::new(),
        }
    }

    fn end(&mut self, status: Status) -> Vec<WatchItem> {
        self.state = WatchState::Ended;
        vec![WatchItem::Error(Box::new(status))]
    }
}

/// How an event looks through a selection: an object that starts to match is added, one that stops is deleted.
fn select(scope: &Scope, selection: &Selection, fields: &[String], event: &Event) -> Option<WatchItem> {
    if !scope.includes(&event.entry) {
        return None;
    }
    let before = event.previous.as_ref().filter(|p| selection.matches(p, fields));
    let matches = !event.deleted && selection.matches(&event.entry, fields);
    match (before, matches) {
        (None, false) => None,
        (None, true) => Some(WatchItem::Added(Arc::clone(&event.entry))),
        (Some(_), true) => Some(WatchItem::Modified(Arc::clone(&event.entry))),
        // The last state that matched, at the revision at which it stopped to.
        (Some(previous), false) => Some(WatchItem::Deleted(match event.deleted {
            true => Arc::clone(&event.entry),
            false => Arc::new(previous.at(event.revision)),
        })),
    }
}
