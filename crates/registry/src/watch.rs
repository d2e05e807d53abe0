//! Watches: initial objects, history from the store where the ring does not reach, then the ring, with bookmarks.
//!
//! A watcher keeps its place and nothing else: what waits for a slow client is one batch.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use pawl_kv::{Error, Revision};
use pawl_meta::Status;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::bookmarks::{self, Bookmarks};
use crate::cache::{BATCH_BYTES, BATCH_EVENTS, Event, News, Objects, Scope, Turned, View};
use crate::calls::{Calls, Unheard};
use crate::entry::{CacheEntry, Selection};
use crate::following::Position;
use crate::storage::{Storage, expired, store_error};
use crate::table::Stored;
use crate::unreadable;

/// How many objects are looked at before others get their turn.
const GLANCE: usize = 4096;
/// How often history that cannot be read at the moment is tried again, over half a minute or so.
const TRIES: u32 = 16;

/// What a client asks a watch for.
#[derive(Clone, Debug)]
pub struct WatchRequest {
    pub scope: Scope,
    pub selection: Selection,
    pub start: WatchStart,
    pub bookmarks: bool,
    /// Whether what cannot be read is told like everything else, instead of ending the watch: who reads inside of the server
    /// goes on with what there is.
    pub tolerant: bool,
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
    Added(Arc<CacheEntry>),
    Modified(Arc<CacheEntry>),
    Deleted(Arc<CacheEntry>),
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
    news: watch::Receiver<Calls>,
    /// What it was called for up to here has been told; nothing is known before it has caught up once.
    heard: Option<Calls>,
    bookmarks: Bookmarks,
    tolerant: bool,
    /// Until all that was there has been told: since when, and where to note how long it took.
    listing: Option<(Instant, prometheus::Histogram)>,
    /// What had happened up to here when the watch began.
    began: Revision,
    /// The changes of keys that it knows of.
    turns: u64,
}

/// The life of a watch.
enum WatchState {
    /// Objects that were there at the start are still to be sent, from a key on.
    Initial { objects: Objects, from: Bound<Arc<str>>, revision: Revision, bookmark: bool },
    /// Events older than the ring are read from the store, until the ring's start is reached.
    History(Past),
    /// Everything up to the cursor has been delivered; the ring has what follows.
    Live { cursor: Revision },
    /// The last item has been handed over.
    Ended,
}

/// A place in history.
struct Past {
    cursor: Revision,
    /// A watch of the store that is never read: as long as it is there, history from here on is not forgotten for its age.
    hold: Option<pawl_kv::Watch>,
    /// How often in a row it could not be read.
    failures: u32,
}

impl Past {
    fn at(cursor: Revision) -> Self {
        Self { cursor, hold: None, failures: 0 }
    }
}

impl Watcher {
    pub async fn start(storage: Arc<Storage>, stored: Arc<Stored>, request: WatchRequest) -> Result<Self, Status> {
        // Subscribed first: what is written from here on wakes the watch.
        let news = stored.cache.subscribe(&request.scope);
        let turns = stored.cache.turns();
        let view = View { scope: &request.scope, selection: &request.selection, fields: &stored.select };
        let began = storage.applied();
        let state = match request.start {
            WatchStart::Now => WatchState::Live { cursor: storage.catch_up_for(&stored).await? },
            WatchStart::Initial { at_least, bookmark } => {
                storage.wait_for(at_least).await?;
                let applied = if at_least == 0 { storage.applied() } else { storage.catch_up_for(&stored).await? };
                let (objects, closed, newest) = stored.cache.snapshot_with_closed();
                let from = Bound::Included(request.scope.prefix().into());
                let closed: Vec<Arc<CacheEntry>> = match request.tolerant {
                    true => Vec::new(),
                    false => closed.values().filter(|entry| view.shows(entry)).cloned().collect(),
                };
                unreadable::of_many(&stored, &request.scope.prefix(), &closed)?;
                WatchState::Initial { objects, from, revision: applied.max(newest), bookmark }
            }
            WatchStart::After(revision) if !matches!(stored.cache.turned_since(revision, &view), Turned::Nothing) => {
                return Err(expired(revision, began));
            }
            WatchStart::After(revision) if stored.cache.covers(revision) => WatchState::Live { cursor: revision },
            // What follows from others has no history in the store.
            WatchStart::After(revision) if stored.derived => return Err(expired(revision, began)),
            WatchStart::After(revision) => {
                let hold = match storage.kv().watch(stored.prefix.clone().into(), revision).await {
                    Ok(hold) => Some(hold),
                    Err(error) if error.passes() => None,
                    Err(error) => return Err(store_error(&error)),
                };
                WatchState::History(Past { hold, ..Past::at(revision) })
            }
        };
        Ok(Self {
            stored,
            storage,
            scope: request.scope,
            selection: request.selection,
            state,
            news,
            heard: None,
            bookmarks: Bookmarks::new(request.bookmarks),
            tolerant: request.tolerant,
            listing: None,
            began,
            turns,
        })
    }

    /// The same, with a place to note how long it takes to tell what was there.
    pub(crate) fn measured(self, listing: Option<prometheus::Histogram>) -> Self {
        Self { listing: listing.map(|histogram| (Instant::now(), histogram)), ..self }
    }

    /// What it tells first: all that was there when it began.
    pub(crate) fn initial_objects(&self) -> Objects {
        match &self.state {
            WatchState::Initial { objects, .. } => objects.clone(),
            _ => Objects::new(),
        }
    }

    /// How far it has told what happened; `None` while it tells what was there, or reads on from the store.
    pub(crate) fn position(&self) -> Option<Position> {
        match self.state {
            WatchState::Live { cursor } => Some(Position { revision: cursor, turns: self.turns }),
            _ => None,
        }
    }

    /// The next items; empty once the watch has ended.
    pub async fn next(&mut self) -> Vec<WatchItem> {
        loop {
            if self.stored.cache.turns() != self.turns
                && let Some(status) = self.turned()
            {
                return self.end(status);
            }
            let items = match &mut self.state {
                WatchState::Ended => return Vec::new(),
                WatchState::Initial { .. } => self.initial().await,
                WatchState::History(_) => self.history().await,
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

    async fn initial(&mut self) -> Vec<WatchItem> {
        let WatchState::Initial { objects, from, revision, bookmark } = &mut self.state else { return Vec::new() };
        let (mut items, mut bytes, mut last) = (Vec::new(), 0, None);
        let mut rest = self.scope.select(objects, from.clone());
        for entry in rest.by_ref().take(GLANCE) {
            last = Some(&entry.key);
            if self.selection.matches(entry, &self.stored.select) {
                bytes += entry.weight();
                items.push(WatchItem::Added(Arc::clone(entry)));
            }
            if items.len() >= BATCH_EVENTS || bytes >= BATCH_BYTES {
                break;
            }
        }
        let follows = rest.next().is_some();
        drop(rest);
        if let (Some(last), true) = (last.cloned(), follows) {
            *from = Bound::Excluded(last);
            if items.is_empty() {
                tokio::task::yield_now().await;
            }
            return items;
        }
        let (cursor, bookmark) = (*revision, *bookmark);
        if bookmark {
            items.push(WatchItem::Bookmark { revision: cursor, initial_events_end: true });
        }
        if let Some((began, histogram)) = self.listing.take() {
            histogram.observe(began.elapsed().as_secs_f64());
        }
        self.state = WatchState::Live { cursor };
        items
    }

    async fn history(&mut self) -> Vec<WatchItem> {
        let WatchState::History(past) = &mut self.state else { return Vec::new() };
        let cursor = past.cursor;
        if self.stored.cache.covers(cursor) {
            self.state = WatchState::Live { cursor };
            return Vec::new();
        }
        // Who is far behind has much to read: first everyone gets a little.
        tokio::task::yield_now().await;
        let read = async {
            if past.hold.is_none() {
                past.hold = Some(self.storage.kv().watch(self.stored.prefix.clone().into(), cursor).await?);
            }
            self.storage.chapter(&self.stored, cursor).await
        };
        match read.await {
            Ok(chapter) => {
                past.failures = 0;
                let batch = chapter.news(&self.scope, cursor);
                past.cursor = batch.read;
                self.told(&batch.events, cursor)
            }
            // History is gone, or cannot be read and never will be.
            Err(Error::Compacted { compacted, .. }) => self.end(expired(cursor, compacted)),
            Err(Error::Corrupt(why)) => {
                tracing::error!(why, "history cannot be read");
                self.end(expired(cursor, self.storage.applied()))
            }
            Err(error) if past.failures < TRIES && (error.passes() || error == Error::Lagged) => {
                tracing::debug!(%error, "history cannot be read at the moment");
                past.failures += 1;
                // One that lagged holds nothing any more: whether it can go on is told when it begins again.
                past.hold = None;
                tokio::time::sleep(Duration::from_millis(10 << past.failures.min(8))).await;
                Vec::new()
            }
            Err(error) => self.end(store_error(&error)),
        }
    }

    /// What events look like to this watcher. The first that cannot be told ends the watch.
    fn told(&mut self, events: &[Arc<Event>], cursor: Revision) -> Vec<WatchItem> {
        let mut items = Vec::with_capacity(events.len());
        for event in events {
            if !event.whole
                && !self.tolerant
                && let Some(status) = self.untellable(event, cursor)
            {
                items.extend(self.end(status));
                return items;
            }
            items.extend(select(&self.scope, &self.selection, &self.stored.select, event));
        }
        items
    }

    fn view(&self) -> View<'_> {
        View { scope: &self.scope, selection: &self.selection, fields: &self.stored.select }
    }

    /// How a watch ends with an event that cannot be read on both sides: with what happened, for who saw it happen; who comes
    /// from before it has to list again.
    fn untellable(&self, event: &Event, cursor: Revision) -> Option<Status> {
        let view = self.view();
        if !view.shows(&event.entry) && !event.previous.as_ref().is_some_and(|previous| view.shows(previous)) {
            return None;
        }
        let is_told = event.revision > self.began && event.entry.readable().is_none();
        Some(match is_told {
            true => unreadable::of_watched(&self.stored, &event.entry, event.deleted),
            false => expired(cursor, event.revision),
        })
    }

    /// How a watch ends when keys changed and with them what can be read of what it looks at.
    fn turned(&mut self) -> Option<Status> {
        let turns = self.stored.cache.turns();
        let status = match self.stored.cache.turned(self.turns, &self.view()) {
            Turned::Nothing => None,
            Turned::Object(entry) if entry.readable().is_none() => {
                Some(unreadable::of_watched(&self.stored, &entry, false))
            }
            Turned::Object(_) | Turned::Unknown => Some(expired(self.began, self.storage.applied())),
        };
        self.turns = turns;
        status.filter(|_| !matches!(self.state, WatchState::Ended))
    }

    /// The place from which on there may be something to tell, and the calls that say so.
    fn place(&mut self, cursor: Revision) -> (Revision, Calls) {
        // In this order: whoever has been called up to a revision finds it among the calls.
        let called = self.storage.called();
        let calls = *self.news.borrow_and_update();
        let place = match calls.since(self.heard.as_ref()) {
            Unheard::Nothing => cursor.max(called),
            Unheard::Since(first) => cursor.max(first.saturating_sub(1)),
            Unheard::Unknown => cursor,
        };
        (place, calls)
    }

    async fn live(&mut self, cursor: Revision) -> Vec<WatchItem> {
        let (cursor, calls) = self.place(cursor);
        // Read before the ring: nothing up to it can be missing from what the ring shows.
        let applied = self.storage.applied();
        let batch = match self.stored.cache.news(&self.scope, cursor) {
            News::Events(batch) => batch,
            News::Lost if self.stored.derived => return self.end(expired(cursor, applied)),
            // The client is slow: the store remembers longer than the ring.
            News::Lost => {
                self.state = WatchState::History(Past::at(cursor));
                return Vec::new();
            }
        };
        let cursor = if batch.more { batch.read } else { batch.read.max(applied) };
        self.state = WatchState::Live { cursor };
        if !batch.more {
            self.heard = Some(calls);
        }
        let items = self.told(&batch.events, cursor);
        if !items.is_empty() || batch.more {
            return items;
        }
        tokio::select! {
            biased;
            // An error means that the cache is gone: the server stops.
            changed = self.news.changed() => if changed.is_err() {
                self.state = WatchState::Ended;
            },
            () = self.bookmarks.due() => return self.bookmark(cursor),
        }
        Vec::new()
    }

    fn bookmark(&mut self, cursor: Revision) -> Vec<WatchItem> {
        let called = self.storage.called();
        let Some(revision) = bookmarks::place(cursor, called, &self.news.borrow(), self.heard.as_ref()) else {
            return Vec::new();
        };
        self.state = WatchState::Live { cursor: revision };
        vec![WatchItem::Bookmark { revision, initial_events_end: false }]
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
