//! The watch cache of one resource: its current objects, and the recent events that watchers follow.
//!
//! Objects are in a persistent map, so a snapshot is a clone. Events are in a ring, bounded by their bytes; a watcher holds
//! a cursor into it and costs nothing while nothing happens in its scope. The cache never reads the store: it is fed.
//!
//! Several events may share a revision. What is read together is whole revisions: a snapshot, the news of a watcher and the
//! start of the ring lie between two of them, never inside of one.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock, Weak};

use imbl::OrdMap;
use pawl_kv::Revision;
use tokio::sync::watch;

use crate::calls::Calls;
use crate::entry::{CacheEntry, Selection};
use crate::measuring::Tally;

/// What a ring may hold before it forgets its oldest events.
const RING_BYTES: usize = 8 << 20;
const RING_EVENTS: usize = 32 << 10;

/// How much a watcher is handed over at once: what it makes of it waits in memory for a slow client.
pub const BATCH_EVENTS: usize = 256;
pub const BATCH_BYTES: usize = 64 << 10;

/// The current objects of a resource, ordered by key.
pub type Objects = OrdMap<Arc<str>, Arc<CacheEntry>>;

/// Something that happened to an object.
#[derive(Debug)]
pub struct Event {
    pub revision: Revision,
    /// The object now; for a deletion the last object, at the revision of the deletion.
    pub entry: Arc<CacheEntry>,
    pub previous: Option<Arc<CacheEntry>>,
    pub deleted: bool,
    /// Whether both sides of it can be read.
    pub whole: bool,
}

impl Event {
    pub fn new(revision: Revision, entry: Arc<CacheEntry>, previous: Option<Arc<CacheEntry>>, deleted: bool) -> Self {
        let whole =
            entry.readable().is_some() && previous.as_ref().is_none_or(|previous| previous.readable().is_some());
        Self { revision, entry, previous, deleted, whole }
    }
}

/// Objects that could be read and cannot any more, or the other way round, without having been written: keys changed.
#[derive(Debug)]
struct Turn {
    /// What is read at this revision or later shows them as they are now.
    revision: Revision,
    /// By their keys. What was written since is not held for this.
    entries: Vec<(Arc<str>, Weak<CacheEntry>)>,
}

/// How many turns are remembered, and how many objects in them, the last turn's always; who comes from before them cannot know
/// whether they concern it.
const TURNS: usize = 64;
const TURNED: usize = 32 << 10;

/// A write on its way into the cache: `None` is a deletion.
pub struct Incoming<'k> {
    pub revision: Revision,
    pub key: &'k str,
    pub entry: Option<Arc<CacheEntry>>,
}

#[derive(Debug)]
pub struct Cache {
    inner: RwLock<Inner>,
    scopes: RwLock<HashMap<Box<str>, watch::Sender<Calls>>>,
    /// How many turns there were.
    turns: AtomicU64,
    tally: Tally,
}

#[derive(Debug)]
struct Inner {
    objects: Objects,
    /// Those among them that cannot be read, or whose key service does not answer.
    closed: Objects,
    /// The newest turns.
    turns: VecDeque<Turn>,
    /// Everything that was written up to this revision is in `objects`, and nothing that was written later.
    newest: Revision,
    ring: VecDeque<Arc<Event>>,
    ring_bytes: usize,
    /// How many events were ever put into the ring.
    pushed: u64,
    /// Every event after this revision is in the ring.
    ring_start: Revision,
    /// Until the cache has been told what was there before it began: what was deleted that it never saw, and when.
    unseen: Option<HashMap<Arc<str>, Revision>>,
}

/// The part of a resource that a reader looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    #[default]
    All,
    Namespace(String),
    Object {
        namespace: String,
        name: String,
    },
}

impl Scope {
    pub fn includes(&self, entry: &CacheEntry) -> bool {
        self.includes_key(&entry.key)
    }

    /// Whether the object with this key below the resource's prefix is in the scope.
    pub fn includes_key(&self, key: &str) -> bool {
        let parts = || key.split_once('/').unwrap_or(("", key));
        match self {
            Self::All => true,
            Self::Namespace(namespace) => parts().0 == namespace,
            Self::Object { namespace, name } => parts() == (namespace, name),
        }
    }

    /// The objects of the scope in their order, from a key on.
    pub fn select<'o>(&self, objects: &'o Objects, from: Bound<Arc<str>>) -> impl Iterator<Item = &'o Arc<CacheEntry>> {
        let (prefix, single) = (self.prefix(), matches!(self, Self::Object { .. }));
        objects
            .range::<_, Arc<str>>((from, Bound::Unbounded))
            .map(|(_, entry)| entry)
            .take_while(move |entry| if single { *entry.key == *prefix } else { entry.key.starts_with(&*prefix) })
    }

    /// How upstream names scopes.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::All => "cluster",
            Self::Namespace(_) => "namespace",
            Self::Object { .. } => "resource",
        }
    }

    /// The prefix that the keys of the scope have.
    pub fn prefix(&self) -> String {
        match self {
            Self::All => String::new(),
            Self::Namespace(namespace) => format!("{namespace}/"),
            Self::Object { namespace, name } if namespace.is_empty() => name.clone(),
            Self::Object { namespace, name } => format!("{namespace}/{name}"),
        }
    }
}

/// What somebody looks at.
pub struct View<'v> {
    pub scope: &'v Scope,
    pub selection: &'v Selection,
    /// The names of the resource's selectable fields.
    pub fields: &'v [String],
}

impl View<'_> {
    pub fn shows(&self, entry: &CacheEntry) -> bool {
        self.scope.includes(entry) && self.selection.matches(entry, self.fields)
    }

    fn first<'t>(&self, turns: impl Iterator<Item = &'t Turn>) -> Turned {
        let mut turned = Turned::Nothing;
        for (key, entry) in turns.flat_map(|turn| &turn.entries) {
            match entry.upgrade() {
                Some(entry) if self.shows(&entry) => return Turned::Object(entry),
                None if self.scope.includes_key(key) => turned = Turned::Unknown,
                _ => {}
            }
        }
        turned
    }
}

/// What has turned for somebody.
#[derive(Debug)]
pub enum Turned {
    Nothing,
    Object(Arc<CacheEntry>),
    /// It is too long ago to say.
    Unknown,
}

/// What a watcher finds when it looks for news.
pub enum News {
    Events(Batch),
    /// The watcher's place has fallen out of the ring.
    Lost,
}

/// Events to hand over together: as many as do not cost too much, and whole revisions.
#[derive(Debug)]
pub struct Batch {
    pub events: Vec<Arc<Event>>,
    /// Everything up to this revision has been looked at.
    pub read: Revision,
    /// Whether more is waiting already.
    pub more: bool,
    bytes: usize,
}

impl Batch {
    pub fn after(cursor: Revision) -> Self {
        Self { events: Vec::new(), read: cursor, more: false, bytes: 0 }
    }

    /// Looks at the next revision, or says that it must wait for another batch.
    pub fn takes(&mut self, revision: Revision) -> bool {
        self.more = revision > self.read && (self.events.len() >= BATCH_EVENTS || self.bytes >= BATCH_BYTES);
        if !self.more {
            self.read = revision;
        }
        !self.more
    }

    pub fn push(&mut self, event: Arc<Event>) {
        self.bytes += event.entry.weight();
        self.events.push(event);
    }
}

impl Cache {
    /// A cache that holds nothing, complete as of a revision.
    pub fn new(revision: Revision) -> Self {
        let objects = Objects::new();
        let inner = Inner {
            objects,
            closed: Objects::new(),
            turns: VecDeque::new(),
            newest: revision,
            ring: VecDeque::new(),
            ring_bytes: 0,
            pushed: 0,
            ring_start: revision,
            unseen: Some(HashMap::new()),
        };
        Self { inner: RwLock::new(inner), scopes: RwLock::default(), turns: AtomicU64::new(0), tally: Tally::default() }
    }

    /// Puts these objects in the place of all others, complete as of a revision. What happened in between is not known:
    /// whoever looks for it in the ring does not find it.
    pub fn replace(&self, objects: Objects, revision: Revision) {
        let closed = objects.iter().filter(|(_, entry)| entry.readable().is_none());
        let closed = closed.map(|(key, entry)| (Arc::clone(key), Arc::clone(entry))).collect();
        let mut inner = self.write();
        inner.objects = objects;
        inner.closed = closed;
        inner.newest = revision;
        inner.ring.clear();
        inner.ring_bytes = 0;
        inner.ring_start = revision;
        inner.unseen = None;
        self.tally.load();
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The newest revision that the cache has seen.
    pub(crate) fn newest(&self) -> Revision {
        self.read().newest
    }

    /// Adds what was there as of a revision to what was fed since the cache began. All up to that revision must have been
    /// fed by now. False when the ring no longer tells what went since.
    pub fn fill(&self, objects: &Objects, revision: Revision) -> bool {
        let mut inner = self.write();
        if inner.ring_start > revision {
            return false;
        }
        let fed: HashSet<Arc<str>> = inner
            .ring
            .iter()
            .filter(|event| event.revision > revision)
            .map(|event| Arc::clone(&event.entry.key))
            .collect();
        let unseen = inner.unseen.take().unwrap_or_default();
        let is_gone = |key: &Arc<str>| unseen.get(key).is_some_and(|gone| *gone > revision);
        for (key, entry) in objects.iter().filter(|(key, _)| !fed.contains(*key) && !is_gone(key)) {
            inner.objects.insert(Arc::clone(key), Arc::clone(entry));
            if entry.readable().is_none() {
                inner.closed.insert(Arc::clone(key), Arc::clone(entry));
            }
        }
        inner.newest = inner.newest.max(revision);
        // What was fed did not know what was there before it: who looks for it finds it in the store.
        inner.ring.clear();
        inner.ring_bytes = 0;
        inner.ring_start = inner.newest;
        true
    }

    pub fn get(&self, key: &str) -> Option<Arc<CacheEntry>> {
        self.read().objects.get(key).cloned()
    }

    pub fn objects(&self) -> Objects {
        self.read().objects.clone()
    }

    /// The objects together with the revision that they are complete as of: none of them is newer.
    pub fn snapshot(&self) -> (Objects, Revision) {
        let inner = self.read();
        (inner.objects.clone(), inner.newest)
    }

    /// The objects that cannot be read, or not at present.
    pub fn closed(&self) -> Objects {
        self.read().closed.clone()
    }

    /// The same as [`Cache::snapshot`], and what of it cannot be read.
    pub fn snapshot_with_closed(&self) -> (Objects, Objects, Revision) {
        let inner = self.read();
        (inner.objects.clone(), inner.closed.clone(), inner.newest)
    }

    pub fn len(&self) -> usize {
        self.read().objects.len()
    }

    /// How many keys begin like this.
    pub fn count_below(&self, prefix: &str) -> usize {
        let objects = self.objects();
        let from = (Bound::Included(Arc::<str>::from(prefix)), Bound::Unbounded);
        objects.range::<_, Arc<str>>(from).take_while(|(key, _)| key.starts_with(prefix)).count()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The objects as they were at a revision, as long as the ring reaches back to it.
    pub fn objects_at(&self, revision: Revision) -> Option<Objects> {
        let inner = self.read();
        if revision < inner.ring_start {
            return None;
        }
        let mut objects = inner.objects.clone();
        for event in inner.ring.iter().rev().take_while(|e| e.revision > revision) {
            match &event.previous {
                Some(previous) => objects.insert(Arc::clone(&previous.key), Arc::clone(previous)),
                None => objects.remove(&event.entry.key),
            };
        }
        Some(objects)
    }

    /// Takes in what was written, in the order of revisions; all writes of a revision come together. What was taken in
    /// before is passed over, so a feed may start again a little before the place where it was interrupted. Says whether
    /// all of it can be read, and could be before.
    pub fn apply<'k>(&self, writes: impl IntoIterator<Item = Incoming<'k>>) -> bool {
        let mut inner = self.write();
        let (mut whole, mut received) = (true, 0);
        let before = inner.pushed;
        for write in writes {
            received += 1;
            whole &= inner.apply(write);
        }
        self.tally.receive(received, inner.pushed - before);
        inner.forget();
        whole
    }

    /// Puts entries in the place of those of the same revision: keys changed, and what they open. What is known of before
    /// is forgotten; who looks on from there is told by [`Cache::turned`].
    pub fn turn(&self, entries: Vec<Arc<CacheEntry>>, revision: Revision) {
        let mut inner = self.write();
        let turned: Vec<Arc<CacheEntry>> = entries.into_iter().filter(|entry| inner.put_again(entry)).collect();
        if turned.is_empty() {
            return;
        }
        while inner.ring.front().is_some_and(|event| event.revision <= revision) {
            inner.pop();
        }
        inner.ring_start = inner.ring_start.max(revision);
        let entries = turned.iter().map(|entry| (Arc::clone(&entry.key), Arc::downgrade(entry))).collect();
        inner.turns.push_back(Turn { revision, entries });
        let mut held: usize = inner.turns.iter().map(|turn| turn.entries.len()).sum();
        while inner.turns.len() > TURNS || (inner.turns.len() > 1 && held > TURNED) {
            held -= inner.turns.pop_front().map_or(0, |oldest| oldest.entries.len());
        }
        self.turns.fetch_add(1, Ordering::Release);
        drop(inner);
        self.wake_all();
    }

    /// How many turns there were so far.
    pub fn turns(&self) -> u64 {
        self.turns.load(Ordering::Acquire)
    }

    /// The first object of a selection that turned after so many turns, as it is now.
    pub fn turned(&self, after: u64, view: &View<'_>) -> Turned {
        let inner = self.read();
        let unseen = self.turns().saturating_sub(after);
        if unseen > inner.turns.len() as u64 {
            return Turned::Unknown;
        }
        let unseen = inner.turns.iter().rev().take(usize::try_from(unseen).unwrap_or(usize::MAX));
        view.first(unseen)
    }

    /// The same, for who was told everything up to a revision.
    pub fn turned_since(&self, revision: Revision, view: &View<'_>) -> Turned {
        let inner = self.read();
        let forgotten = self.turns() > inner.turns.len() as u64;
        match inner.turns.front() {
            Some(oldest) if forgotten && revision < oldest.revision => Turned::Unknown,
            _ => view.first(inner.turns.iter().rev().take_while(|turn| turn.revision > revision)),
        }
    }

    /// Wakes the watchers in whose scope something was written. Called once the news can be read.
    pub fn wake(&self, revision: Revision, key: &str) {
        let scopes = self.scopes.read().unwrap_or_else(|e| e.into_inner());
        if scopes.is_empty() {
            return;
        }
        let namespace = key.find('/').and_then(|at| key.get(..=at));
        for scope in [Some(""), namespace, Some(key)].into_iter().flatten() {
            if let Some(sender) = scopes.get(scope) {
                sender.send_modify(|calls| calls.call(revision));
            }
        }
    }

    /// A receiver that changes when something happens in a scope.
    pub fn subscribe(&self, scope: &Scope) -> watch::Receiver<Calls> {
        let mut scopes = self.scopes.write().unwrap_or_else(|e| e.into_inner());
        // Forget scopes that nobody looks at any more, now and then.
        if scopes.len() > 64 && scopes.len().is_power_of_two() {
            scopes.retain(|_, sender| sender.receiver_count() > 0);
        }
        scopes
            .entry(scope.prefix().into_boxed_str())
            .or_insert_with(|| watch::Sender::new(Calls::default()))
            .subscribe()
    }

    /// Events of a scope after a revision.
    pub fn news(&self, scope: &Scope, after: Revision) -> News {
        let inner = self.read();
        if after < inner.ring_start {
            return News::Lost;
        }
        let start = inner.ring.partition_point(|e| e.revision <= after);
        let mut batch = Batch::after(after);
        for event in inner.ring.range(start..) {
            if !batch.takes(event.revision) {
                break;
            }
            if scope.includes(&event.entry) {
                batch.push(Arc::clone(event));
            }
        }
        News::Events(batch)
    }

    /// Whether the ring reaches back to a revision.
    pub fn covers(&self, revision: Revision) -> bool {
        revision >= self.read().ring_start
    }

    /// Tells all watchers that something may have happened that they were not called for.
    pub fn wake_all(&self) {
        for sender in self.scopes.read().unwrap_or_else(|e| e.into_inner()).values() {
            sender.send_modify(Calls::gap);
        }
    }

    // A lock is poisoned only by a panic while it is held; what it guards is always whole between two statements.
    fn read(&self) -> std::sync::RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(|e| e.into_inner())
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(|e| e.into_inner())
    }
}

impl Inner {
    fn apply(&mut self, write: Incoming<'_>) -> bool {
        let Incoming { revision, key, entry } = write;
        let is_there = || self.objects.get(key).is_some_and(|present| present.revision >= revision);
        if revision < self.newest || (revision == self.newest && is_there()) {
            return true;
        }
        self.newest = revision;
        let previous = match &entry {
            Some(entry) => self.objects.insert(Arc::clone(&entry.key), Arc::clone(entry)),
            None => self.objects.remove(key),
        };
        let event = match (entry, previous) {
            (Some(entry), previous) => Event::new(revision, entry, previous, false),
            (None, Some(previous)) => Event::new(revision, Arc::new(previous.at(revision)), Some(previous), true),
            (None, None) => {
                if let Some(unseen) = &mut self.unseen {
                    unseen.insert(key.into(), revision);
                }
                return true;
            }
        };
        if !event.whole {
            match event.deleted || event.entry.readable().is_some() {
                true => self.closed.remove(key),
                false => self.closed.insert(Arc::clone(&event.entry.key), Arc::clone(&event.entry)),
            };
        }
        let whole = event.whole;
        self.ring_bytes += event.entry.weight();
        self.ring.push_back(Arc::new(event));
        self.pushed += 1;
        whole
    }

    /// Puts an entry in the place of one of the same revision. Says whether that changes what can be read; an entry that is
    /// there already has changed since another server was here.
    fn put_again(&mut self, entry: &Arc<CacheEntry>) -> bool {
        let Some(present) = self.objects.get_mut(&entry.key).filter(|present| present.revision == entry.revision)
        else {
            return false;
        };
        let value = |entry: &CacheEntry| entry.readable().map(|readable| readable.value().clone());
        let same = !Arc::ptr_eq(present, entry) && present.readable().is_some() && value(present) == value(entry);
        *present = Arc::clone(entry);
        match entry.readable() {
            Some(_) => self.closed.remove(&entry.key),
            None => self.closed.insert(Arc::clone(&entry.key), Arc::clone(entry)),
        };
        !same
    }

    /// Forgets the oldest event.
    fn pop(&mut self) {
        if let Some(oldest) = self.ring.pop_front() {
            self.ring_bytes = self.ring_bytes.saturating_sub(oldest.entry.weight());
            self.ring_start = oldest.revision;
        }
    }

    /// Drops the oldest revisions that the ring has no room for.
    fn forget(&mut self) {
        while let Some(oldest) = self.ring.front() {
            let is_too_much = self.ring_bytes > RING_BYTES || self.ring.len() > RING_EVENTS;
            if !is_too_much && oldest.revision > self.ring_start {
                break;
            }
            self.pop();
        }
    }
}

#[cfg(test)]
mod tests;
