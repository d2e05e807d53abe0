//! The watch cache of one resource: its current objects, and the recent events that watchers follow.
//!
//! Objects are in a persistent map, so a snapshot is a clone. Events are in a ring, bounded by their bytes; a watcher holds
//! a cursor into it and costs nothing while nothing happens in its scope. The cache never reads the store: it is fed.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, RwLock};

use imbl::OrdMap;
use pawl_kv::Revision;
use tokio::sync::watch;

use crate::entry::Entry;

/// What a ring may hold before it forgets its oldest events.
const RING_BYTES: usize = 8 << 20;
const RING_EVENTS: usize = 32 << 10;

/// The current objects of a resource, ordered by key.
pub type Objects = OrdMap<Arc<str>, Arc<Entry>>;

/// Something that happened to an object.
#[derive(Debug)]
pub struct Event {
    pub revision: Revision,
    /// The object now; for a deletion the last object, at the revision of the deletion.
    pub entry: Arc<Entry>,
    pub previous: Option<Arc<Entry>>,
    pub deleted: bool,
}

#[derive(Debug)]
pub struct Cache {
    inner: RwLock<Inner>,
    scopes: RwLock<HashMap<Box<str>, watch::Sender<Revision>>>,
}

#[derive(Debug)]
struct Inner {
    objects: Objects,
    ring: VecDeque<Arc<Event>>,
    ring_bytes: usize,
    /// Every event after this revision is in the ring.
    ring_start: Revision,
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
    pub fn includes(&self, entry: &Entry) -> bool {
        match self {
            Self::All => true,
            Self::Namespace(namespace) => entry.namespace() == namespace,
            Self::Object { namespace, name } => entry.namespace() == namespace && entry.name() == name,
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

/// What a watcher finds when it looks for news.
pub enum News {
    Events(Vec<Arc<Event>>),
    /// The watcher's place has fallen out of the ring.
    Lost,
}

impl Cache {
    /// A cache that holds these objects, complete as of a revision.
    pub fn new(objects: Objects, revision: Revision) -> Self {
        let inner = Inner { objects, ring: VecDeque::new(), ring_bytes: 0, ring_start: revision };
        Self { inner: RwLock::new(inner), scopes: RwLock::default() }
    }

    /// Puts in an object that was there before anybody watched.
    pub fn load(&self, entry: Arc<Entry>, revision: Revision) {
        let mut inner = self.write();
        inner.objects.insert(Arc::clone(&entry.key), entry);
        inner.ring_start = revision;
    }

    /// Says that everything up to a revision has been put in.
    pub fn loaded(&self, revision: Revision) {
        self.write().ring_start = revision;
    }

    pub fn get(&self, key: &str) -> Option<Arc<Entry>> {
        self.read().objects.get(key).cloned()
    }

    pub fn objects(&self) -> Objects {
        self.read().objects.clone()
    }

    pub fn len(&self) -> usize {
        self.read().objects.len()
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

    /// Takes in what was written: `None` is a deletion.
    pub fn apply(&self, revision: Revision, key: &str, entry: Option<Arc<Entry>>) {
        let mut inner = self.write();
        let previous = match &entry {
            Some(entry) => inner.objects.insert(Arc::clone(&entry.key), Arc::clone(entry)),
            None => inner.objects.remove(key),
        };
        let event = match (entry, previous) {
            (Some(entry), previous) => Event { revision, entry, previous, deleted: false },
            (None, Some(previous)) => {
                Event { revision, entry: Arc::new(previous.at(revision)), previous: Some(previous), deleted: true }
            }
            (None, None) => return,
        };
        inner.ring_bytes += event.entry.weight();
        inner.ring.push_back(Arc::new(event));
        while inner.ring_bytes > RING_BYTES || inner.ring.len() > RING_EVENTS {
            let Some(oldest) = inner.ring.pop_front() else { break };
            inner.ring_bytes = inner.ring_bytes.saturating_sub(oldest.entry.weight());
            inner.ring_start = oldest.revision;
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
                sender.send_replace(revision);
            }
        }
    }

    /// A receiver that changes when something happens in a scope.
    pub fn subscribe(&self, scope: &Scope) -> watch::Receiver<Revision> {
        let mut scopes = self.scopes.write().unwrap_or_else(|e| e.into_inner());
        // Forget scopes that nobody looks at any more, now and then.
        if scopes.len() > 64 && scopes.len().is_power_of_two() {
            scopes.retain(|_, sender| sender.receiver_count() > 0);
        }
        scopes.entry(scope.prefix().into_boxed_str()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    /// Events of a scope after a revision, at most `limit`, and the revision up to which the ring was read.
    pub fn news(&self, scope: &Scope, after: Revision, limit: usize) -> (News, Revision) {
        let inner = self.read();
        if after < inner.ring_start {
            return (News::Lost, after);
        }
        let start = inner.ring.partition_point(|e| e.revision <= after);
        let mut events = Vec::new();
        let mut read = after;
        for event in inner.ring.range(start..) {
            if events.len() == limit {
                break;
            }
            read = event.revision;
            if scope.includes(&event.entry) {
                events.push(Arc::clone(event));
            }
        }
        (News::Events(events), read)
    }

    /// Whether the ring reaches back to a revision.
    pub fn covers(&self, revision: Revision) -> bool {
        revision >= self.read().ring_start
    }

    /// Tells all watchers that there is something to do, as when the server stops.
    pub fn wake_all(&self) {
        for sender in self.scopes.read().unwrap_or_else(|e| e.into_inner()).values() {
            sender.send_modify(|_| {});
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
