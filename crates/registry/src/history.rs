//! The past of resources, read out of the store for watchers and pages whose place is older than the ring.
//!
//! Owns how many read at once, and the chapters that were read last: watchers that are at about the same place read one
//! chapter together, and each event of it is built once, when the first of them wants it. Nobody keeps a chapter while a
//! slow client takes its time, so what all of this costs in memory does not depend on how many watch.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use futures::StreamExt;
use pawl_kv::{Error, Revision, WatchMessage};
use pawl_seal::Sealed;
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};

use crate::cache::{Batch, Event, Scope};
use crate::storage::Storage;
use crate::table::Stored;

/// How many chapters and pages are read from the store's history at once; the others wait their turn.
const READERS: usize = 8;
/// What chapters on the shelf may hold together.
const SHELF_BYTES: usize = 32 << 20;
/// History that is there is read in far less; who would wait forever must not keep others from reading.
const PATIENCE: Duration = Duration::from_secs(10);

pub struct History {
    readers: Semaphore,
    shelf: Mutex<VecDeque<Arc<Chapter>>>,
    /// What is being read right now.
    readings: Mutex<Vec<Weak<Reading>>>,
}

/// A chapter that is being read: whoever wants it meanwhile waits for it.
struct Reading {
    stored: Arc<Stored>,
    after: Revision,
    chapter: OnceCell<Arc<Chapter>>,
}

/// Everything that happened to a resource between two revisions.
pub struct Chapter {
    stored: Arc<Stored>,
    after: Revision,
    through: Revision,
    events: Vec<Past>,
    bytes: usize,
}

/// An event as the store remembers it, and as watchers are told it once one of them has asked.
struct Past {
    stored: pawl_kv::Event,
    told: OnceLock<Option<Arc<Event>>>,
}

impl Default for History {
    fn default() -> Self {
        Self { readers: Semaphore::new(READERS), shelf: Mutex::default(), readings: Mutex::default() }
    }
}

impl History {
    /// Waits for a turn to read what is no longer in memory.
    pub async fn turn(&self) -> Result<SemaphorePermit<'_>, Error> {
        self.readers.acquire().await.map_err(|_| Error::Unavailable("history is closed".to_owned()))
    }

    fn find(&self, stored: &Arc<Stored>, after: Revision) -> Option<Arc<Chapter>> {
        let shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let found = shelf.iter().find(|c| Arc::ptr_eq(&c.stored, stored) && c.after <= after && after < c.through);
        found.cloned()
    }

    /// Takes part in reading a chapter.
    fn join(&self, stored: &Arc<Stored>, after: Revision) -> Arc<Reading> {
        let mut readings = self.readings.lock().unwrap_or_else(PoisonError::into_inner);
        readings.retain(|reading| reading.strong_count() > 0);
        let mut present = readings.iter().filter_map(Weak::upgrade);
        match present.find(|reading| reading.after == after && Arc::ptr_eq(&reading.stored, stored)) {
            Some(reading) => reading,
            None => {
                let reading = Reading { stored: Arc::clone(stored), after, chapter: OnceCell::new() };
                let reading = Arc::new(reading);
                readings.push(Arc::downgrade(&reading));
                reading
            }
        }
    }

    /// What was read may look otherwise by now: keys changed.
    pub fn forget(&self) {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.readings.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn keep(&self, chapter: Arc<Chapter>) {
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = chapter.bytes + shelf.iter().map(|chapter| chapter.bytes).sum::<usize>();
        while bytes > SHELF_BYTES
            && let Some(oldest) = shelf.pop_front()
        {
            bytes -= oldest.bytes;
        }
        shelf.push_back(chapter);
    }
}

impl Storage {
    /// What happened to a resource right after a revision; the next chapter begins where this one ends.
    pub async fn chapter(&self, stored: &Arc<Stored>, after: Revision) -> Result<Arc<Chapter>, Error> {
        let history = self.history();
        if let Some(chapter) = history.find(stored, after) {
            return Ok(chapter);
        }
        let reading = history.join(stored, after);
        reading.chapter.get_or_try_init(|| self.read_chapter(stored, after)).await.cloned()
    }

    async fn read_chapter(&self, stored: &Arc<Stored>, after: Revision) -> Result<Arc<Chapter>, Error> {
        let _turn = self.history().turn().await?;
        let read = async {
            let mut watch = self.kv().watch(stored.prefix.clone().into(), after).await?;
            watch.next().await.unwrap_or_else(|| Err(Error::Unavailable("the watch ended".to_owned())))
        };
        let waited = tokio::time::timeout(PATIENCE, read).await;
        let message =
            waited.unwrap_or_else(|_| Err(Error::Unavailable("reading history takes too long".to_owned())))?;
        let chapter = Arc::new(Chapter::new(Arc::clone(stored), after, message));
        self.history().keep(Arc::clone(&chapter));
        Ok(chapter)
    }
}

impl Chapter {
    fn new(stored: Arc<Stored>, after: Revision, message: WatchMessage) -> Self {
        let (events, through) = match message {
            WatchMessage::Progress(revision) => (Vec::new(), revision),
            WatchMessage::Events(events) => {
                let last = events.last().map_or(after, |event| event.revision);
                (events, last)
            }
        };
        let events: Vec<Past> = events.into_iter().map(|stored| Past { stored, told: OnceLock::new() }).collect();
        let bytes = events.iter().map(Past::weight).sum();
        Self { stored, after, through: through.max(after), events, bytes }
    }

    /// The events of a scope after a revision.
    pub fn news(&self, scope: &Scope, after: Revision) -> Batch {
        let mut batch = Batch::after(after);
        let start = self.events.partition_point(|past| past.stored.revision <= after);
        for past in self.events.iter().skip(start) {
            if !batch.takes(past.stored.revision) {
                return batch;
            }
            if let Some(event) = past.told(&self.stored, scope) {
                batch.push(event);
            }
        }
        batch.read = self.through.max(after);
        batch
    }
}

impl Past {
    /// What it costs in memory, roughly: the values, and what is built from them.
    fn weight(&self) -> usize {
        let previous = self.stored.previous.as_ref().map_or(0, |previous| previous.value.len());
        600 + self.stored.value.as_ref().map_or(0, |value| value.len()) + previous
    }

    /// The event, if it is in a scope: what nobody wants is never built.
    fn told(&self, stored: &Stored, scope: &Scope) -> Option<Arc<Event>> {
        let key = std::str::from_utf8(&self.stored.key).ok()?.strip_prefix(&stored.prefix)?;
        if !scope.includes_key(key) {
            return None;
        }
        self.told.get_or_init(|| self.build(stored, key).map(Arc::new)).clone()
    }

    fn build(&self, stored: &Stored, key: &str) -> Option<Event> {
        let pawl_kv::Event { revision, value, previous, .. } = &self.stored;
        let entry = |revision, value| Arc::new(stored.open(key, revision, Sealed::stored(value)));
        let previous = previous.as_ref().map(|previous| entry(previous.mod_revision, previous.value.clone()));
        let (now, deleted) = match (value, &previous) {
            (Some(value), _) => (entry(*revision, value.clone()), false),
            (None, Some(previous)) => (Arc::new(previous.at(*revision)), true),
            (None, None) => return None,
        };
        Some(Event::new(*revision, now, previous, deleted))
    }
}
