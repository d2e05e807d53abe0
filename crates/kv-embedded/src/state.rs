//! What is visible: the present state, the recent events, and how far history reaches back.
//!
//! Owns the index and the window. Only the committer changes them, and only with what is durable already; everyone else
//! looks, and never for longer than it takes to clone a handle.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use imbl::OrdMap;
use pawl_kv::{Change, Error, Event, KeyValue, RangeRequest, Revision};

/// What the index holds for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredValue {
    pub value: Bytes,
    pub create_revision: Revision,
    pub mod_revision: Revision,
    /// When the key expires, in milliseconds since the Unix epoch.
    pub deadline: Option<u64>,
}

impl StoredValue {
    pub fn key_value(&self, key: &Bytes) -> KeyValue {
        KeyValue {
            key: key.clone(),
            value: self.value.clone(),
            create_revision: self.create_revision,
            mod_revision: self.mod_revision,
        }
    }
}

/// All keys in order. A clone is a snapshot and costs one reference.
pub type Index = OrdMap<Bytes, StoredValue>;

/// The keys of a request from the present state, up to the limit and one more.
pub fn select<'a>(index: &'a Index, request: &RangeRequest) -> impl Iterator<Item = (&'a Bytes, &'a StoredValue)> {
    let end = request.end.clone();
    index.range(request.start.clone()..).take_while(move |(key, _)| end.is_empty() || **key < end)
}

/// Everything that is visible at one moment.
#[derive(Debug)]
pub struct StoreState {
    pub index: Index,
    pub revision: Revision,
    /// History up to and including this revision is gone, except for the state right after it.
    pub compacted: Revision,
    pub window: Window,
    /// The bytes of all keys and values in the index.
    pub live_bytes: u64,
    /// What all events since the store was opened cost.
    pub written: u64,
    /// Why writes are refused, while they are.
    pub refusal: Option<Refusal>,
}

/// Why writes are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing can be written.
    All(String),
    /// There is little room left, and it is for deletions.
    Puts(String),
}

impl Refusal {
    /// Whether a write is refused, and why.
    pub fn of(refusal: Option<&Self>, change: &Change) -> Option<Error> {
        match (refusal?, change) {
            (Self::All(reason), _) | (Self::Puts(reason), Change::Put { .. }) => Some(Error::ReadOnly(reason.clone())),
            (Self::Puts(_), Change::Delete) => None,
        }
    }

    pub fn reason(&self) -> &str {
        match self {
            Self::All(reason) | Self::Puts(reason) => reason,
        }
    }
}

impl StoreState {
    /// The revision of a store that nothing was ever written to: no write has it.
    pub const EMPTY: Revision = 1;

    /// That store.
    pub fn empty(window_bytes: usize) -> Self {
        Self {
            index: Index::new(),
            revision: Self::EMPTY,
            compacted: 0,
            window: Window::new(window_bytes),
            live_bytes: 0,
            written: 0,
            refusal: None,
        }
    }

    /// Whether a key of a guard is newer than it allows; only those that count are looked at. The window tells that from the
    /// few events since, however many keys there are; where it does not reach back so far, each key does.
    pub fn passed_by(&self, prefix: &Bytes, through: Revision, counts: impl Fn(&Bytes) -> bool) -> bool {
        let is_newer = |key: &Bytes, entry: &StoredValue| entry.mod_revision > through && counts(key);
        if through >= self.revision {
            return false;
        }
        match self.window.since(through + 1) {
            Some(batches) => batches
                .iter()
                .flat_map(|batch| batch.iter())
                .filter(|event| event.revision > through && event.key.starts_with(prefix))
                .any(|event| self.index.get(&event.key).is_some_and(|entry| is_newer(&event.key, entry))),
            None => self
                .index
                .range(prefix.clone()..)
                .take_while(|(key, _)| key.starts_with(prefix))
                .any(|(key, entry)| is_newer(key, entry)),
        }
    }

    /// Makes one write visible; tells what it replaced.
    pub fn apply(&mut self, key: Bytes, entry: Option<StoredValue>) -> Option<StoredValue> {
        let key_length = key.len();
        let replaced = match entry {
            Some(entry) => {
                self.live_bytes += (key_length + entry.value.len()) as u64;
                self.index.insert(key, entry)
            }
            None => self.index.remove(&key),
        };
        if let Some(replaced) = &replaced {
            self.live_bytes = self.live_bytes.saturating_sub((key_length + replaced.value.len()) as u64);
        }
        replaced
    }
}

/// The newest events, as many as fit into a number of bytes, in the batches that one sync made durable.
#[derive(Debug)]
pub struct Window {
    batches: VecDeque<(Arc<[Event]>, usize)>,
    bytes: usize,
    limit: usize,
}

impl Window {
    fn new(limit: usize) -> Self {
        Self { batches: VecDeque::new(), bytes: 0, limit }
    }

    /// Adds the newest batch; tells what it costs.
    pub fn push(&mut self, events: Arc<[Event]>) -> usize {
        let bytes = events.iter().map(cost).sum();
        self.bytes += bytes;
        self.batches.push_back((events, bytes));
        // The newest batch stays whatever its size: the watchers that are up to date read it from here.
        while self.bytes > self.limit && self.batches.len() > 1 {
            if let Some((_, bytes)) = self.batches.pop_front() {
                self.bytes -= bytes;
            }
        }
        bytes
    }

    /// The batches that hold every event from `first` on, or `None` when the window does not reach back so far.
    pub fn since(&self, first: Revision) -> Option<Vec<Arc<[Event]>>> {
        let oldest = self.batches.front()?.0.first()?.revision;
        if first < oldest {
            return None;
        }
        let last = |events: &Arc<[Event]>| events.last().map_or(0, |event| event.revision);
        let skip = self.batches.partition_point(|(events, _)| last(events) < first);
        Some(self.batches.iter().skip(skip).map(|(events, _)| Arc::clone(events)).collect())
    }
}

/// How many bytes an event takes in memory.
pub fn cost(event: &Event) -> usize {
    /// Beside its key and its values.
    const OVERHEAD: usize = 160;
    let value = event.value.as_ref().map_or(0, Bytes::len);
    let previous = event.previous.as_ref().map_or(0, |previous| previous.value.len());
    OVERHEAD + event.key.len() + value + previous
}
