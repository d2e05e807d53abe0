//! The feed of the caches: what the store holds at the start, then what is written to it.
//!
//! Owns the place up to which the caches have everything. A fault that passes is waited out, and the feed goes on from
//! where it was; where the store no longer has what came after that, the caches are replaced as of now. It gives up only
//! where trying again cannot help.

use std::collections::HashMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use pawl_kv::{Error, Event, RangeRequest, Revision, WatchMessage};
use pawl_seal::Sealed;
use tokio::time::Instant;

use crate::cache::{Incoming, Objects};
use crate::entry::Readability;
use crate::storage::{Storage, after};
use crate::table::{ROOT, Stored, Table};
use crate::turning::TURNS;

/// How many keys are read at once. Reading as of a revision while others write has its price for each page.
const PAGE: usize = 20_000;
/// How many events the caches take in at once, while readers of the same resource wait.
const GULP: usize = 64;

/// After this many failures in a row without any progress the caches are loaded anew.
const RELOAD_AFTER: u32 = 5;
/// After this many of a kind that does not pass by itself there is no hope.
const GIVE_UP_AFTER: u32 = 12;
/// A fault that passes within this time is nobody's business.
const LASTING: Duration = Duration::from_secs(3);

/// What keeps the feed from following, while something does.
#[derive(Debug, Default)]
pub struct Trouble(Mutex<Option<(Instant, String)>>);

impl Trouble {
    /// What is the matter, if it has been for a while.
    pub fn lasting(&self) -> Option<String> {
        let trouble = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, why) = trouble.as_ref().filter(|(since, _)| since.elapsed() >= LASTING)?;
        Some(format!("for {} s, {why}", since.elapsed().as_secs()))
    }

    fn note(&self, why: &Interruption) {
        let mut trouble = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = trouble.take().map_or_else(Instant::now, |(since, _)| since);
        *trouble = Some((since, why.to_string()));
    }

    fn is_over(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Why the feed stopped.
#[derive(Debug)]
pub enum Interruption {
    Store(Error),
    Panic,
}

impl fmt::Display for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Panic => f.write_str("following the store panicked"),
        }
    }
}

impl From<Error> for Interruption {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl Interruption {
    /// Whether time alone may mend it.
    fn may_pass(&self) -> bool {
        match self {
            Self::Panic => false,
            Self::Store(error) => error.passes() || matches!(error, Error::Lagged | Error::Compacted { .. }),
        }
    }

    /// Whether the store has forgotten what the feed would go on with.
    fn is_gap(&self) -> bool {
        matches!(self, Self::Store(Error::Compacted { .. }))
    }
}

/// Failures in a row, without any progress between them.
#[derive(Default)]
struct Failures {
    at: Revision,
    count: u32,
    /// Those among them that do not pass by themselves.
    hopeless: u32,
}

impl Failures {
    fn add(&mut self, at: Revision, why: &Interruption) {
        if at > self.at {
            *self = Self { at, ..Self::default() };
        }
        self.count += 1;
        self.hopeless = if why.may_pass() { 0 } else { self.hopeless + 1 };
    }

    /// Quick at first: most faults pass in no time, and writers wait for the caches.
    fn pause(&self) -> Duration {
        Duration::from_millis(10 << self.count.min(7)).min(Duration::from_secs(1))
    }
}

impl Storage {
    /// Fills the caches of a table with what the store holds. Returns the revision of what was read.
    pub async fn load(&self, table: &Table) -> Result<Revision, Error> {
        let (found, revision) = match self.read_all(table, PAGE).await {
            // History was cut while pages were read as of its start: what is read at once needs none.
            Err(Error::Compacted { .. }) => self.read_all(table, 0).await?,
            read => read?,
        };
        let (applied, mut found) = (self.applied(), found);
        if revision < applied {
            return Err(Error::Future { requested: applied, current: revision });
        }
        for stored in table.stored() {
            let objects = found.remove(&*stored.prefix).unwrap_or_default();
            stored.cache.replace(objects, revision);
        }
        table.stored().for_each(|stored| self.usage.look_at_all(stored));
        self.show(table, revision);
        self.advance(revision);
        table.stored().for_each(|stored| stored.cache.wake_all());
        self.set_called(revision);
        Ok(revision)
    }

    /// Everything in the store as of one revision. What a cache has already stays the same object.
    async fn read_all<'t>(&self, table: &'t Table, page: usize) -> Result<(Found<'t>, Revision), Error> {
        let end = Bytes::from(format!("{}0", ROOT.trim_end_matches('/')));
        let mut start = Bytes::from_static(ROOT.as_bytes());
        let (mut revision, mut found) = (None, Found::new());
        loop {
            let request = RangeRequest { start, end: end.clone(), limit: page, revision, count: false };
            let range = self.kv().range(request).await?;
            revision = Some(range.revision);
            for item in &range.items {
                let Ok(full_key) = std::str::from_utf8(&item.key) else { continue };
                let Some((stored, key)) = table.place(full_key) else { continue };
                let entry = self.entry_of(stored, key, item);
                found.entry(&stored.prefix).or_default().insert(Arc::clone(&entry.key), entry);
            }
            match range.items.last() {
                Some(last) if range.more => start = after(&last.key),
                _ => return Ok((found, range.revision)),
            }
            // Others want to be served while a running server loads anew.
            tokio::task::yield_now().await;
        }
    }

    /// Follows the store from a revision on and feeds the caches. Returns only when it cannot any more, with the reason.
    pub async fn follow(&self, table: impl Fn() -> Arc<Table>, from: Revision) -> Interruption {
        self.advance(from);
        let mut failures = Failures::default();
        loop {
            let why = caught(self.feed(&table)).await.unwrap_or_else(|why| why);
            self.trouble.note(&why);
            failures.add(self.applied(), &why);
            tracing::warn!(%why, revision = self.applied(), attempt = failures.count, "the caches were interrupted");
            if failures.hopeless >= GIVE_UP_AFTER || matches!(why, Interruption::Store(Error::Closed)) {
                return why;
            }
            let reload = why.is_gap() || failures.count.is_multiple_of(RELOAD_AFTER);
            if !why.is_gap() || failures.count > 1 {
                tokio::time::sleep(failures.pause()).await;
            }
            if reload {
                self.reload(&table()).await;
            }
        }
    }

    async fn reload(&self, table: &Table) {
        let loaded = caught(self.load(table)).await.and_then(|loaded| loaded.map_err(Interruption::from));
        match loaded {
            Ok(revision) => tracing::warn!(revision, "the caches were loaded anew"),
            Err(why) => {
                tracing::warn!(%why, "the caches could not be loaded anew");
                self.trouble.note(&why);
            }
        }
    }

    /// Goes on from where the caches are, until something comes in between.
    async fn feed(&self, table: &impl Fn() -> Arc<Table>) -> Interruption {
        match self.feed_until_error(table).await {
            Ok(()) => Interruption::Store(Error::Unavailable("the store's watch ended".to_owned())),
            Err(error) => Interruption::Store(error),
        }
    }

    async fn feed_until_error(&self, table: &impl Fn() -> Arc<Table>) -> Result<(), Error> {
        let mut watch = self.kv().watch(Bytes::from_static(ROOT.as_bytes()), self.applied()).await?;
        let written = self.kv().revision().await?;
        let mut behind = true;
        loop {
            if behind && self.applied() >= written {
                self.trouble.is_over();
                behind = false;
            }
            let Some(message) = watch.next().await else { return Ok(()) };
            match message? {
                WatchMessage::Progress(revision) => {
                    self.advance(revision);
                    self.set_called(revision);
                }
                WatchMessage::Events(events) => self.take_in(&table(), &events),
            }
        }
    }

    fn take_in(&self, table: &Table, events: &[Event]) {
        let (mut rest, mut whole) = (events, true);
        while !rest.is_empty() {
            let (now, later) = rest.split_at(whole_revisions(rest, GULP));
            for (stored, writes) in self.by_place(table, now) {
                let users: Vec<&str> = stored.user.iter().flat_map(|_| writes.iter().map(|write| write.key)).collect();
                whole &= stored.cache.apply(writes);
                self.usage.look(stored, users);
            }
            if self.turning.is_pending() {
                now.iter().filter(|event| event.key == TURNS).for_each(|event| self.turn(table, event.revision));
            }
            rest = later;
        }
        let Some(last) = events.last() else { return };
        if !whole {
            self.show(table, last.revision);
        }
        self.advance(last.revision);
        for event in events {
            if let Some((stored, key)) = place(table, event) {
                stored.cache.wake(event.revision, key);
            }
        }
        self.set_called(last.revision);
    }

    /// The events of each resource: a cache takes in all that happened to it at a revision, or nothing.
    fn by_place<'t>(&self, table: &'t Table, events: &'t [Event]) -> Vec<(&'t Arc<Stored>, Vec<Incoming<'t>>)> {
        let mut places: Vec<(&Arc<Stored>, Vec<Incoming<'_>>)> = Vec::new();
        for event in events {
            let Some((stored, key)) = place(table, event) else { continue };
            let entry =
                event.value.clone().map(|value| Arc::new(stored.open(key, event.revision, Sealed::stored(value))));
            if entry.as_ref().is_some_and(|entry| matches!(entry.state, Readability::Away(_))) {
                self.turning.ask();
            }
            let incoming = Incoming { revision: event.revision, key, entry };
            match places.iter_mut().find(|(known, _)| Arc::ptr_eq(known, stored)) {
                Some((_, writes)) => writes.push(incoming),
                None => places.push((stored, vec![incoming])),
            }
        }
        places
    }
}

/// The objects that were found, by the prefix of the place that they belong to.
type Found<'t> = HashMap<&'t str, Objects>;

fn place<'t>(table: &'t Table, event: &'t Event) -> Option<(&'t Arc<Stored>, &'t str)> {
    table.place(std::str::from_utf8(&event.key).ok()?)
}

/// How many events to take at once: some, and all of their last revision.
fn whole_revisions(events: &[Event], about: usize) -> usize {
    let Some(last) = events.get(about.saturating_sub(1)).map(|event| event.revision) else { return events.len() };
    about + events.iter().skip(about).take_while(|event| event.revision == last).count()
}

async fn caught<T>(work: impl Future<Output = T>) -> Result<T, Interruption> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(|_| Interruption::Panic)
}
