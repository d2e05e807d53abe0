//! Turns: objects that can be read, or cannot any more, without having been written, because keys changed.
//!
//! A turn has a revision of its own, so that whoever listed before it and watches after it is told: a note is written to the
//! store, and the caches turn where the feed passes it. The note holds what cannot be read, so that a server that starts with
//! other keys knows what has turned meanwhile.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use pawl_kv::{Change, Error, Expect, Outcome, Revision, Write};
use tokio::sync::Notify;

use crate::entry::CacheEntry;
use crate::storage::Storage;
use crate::table::{Stored, Table};

/// The key of the note. No resource has it.
pub(crate) const TURNS: &str = "/registry/pawl.dev/turns";

/// More objects of a resource are not named in the note: all of it counts.
const NAMED: usize = 1000;
const ALL: &str = "*";

/// The entries of one resource that turn together.
pub(crate) type Turned = (Arc<Stored>, Vec<Arc<CacheEntry>>);

/// What is about to turn.
#[derive(Default)]
pub(crate) struct Turning {
    pending: Mutex<Vec<Turned>>,
    is_pending: AtomicBool,
    /// Wakes who looks after values that are away.
    asked: Notify,
}

impl Turning {
    pub fn is_pending(&self) -> bool {
        self.is_pending.load(Ordering::Acquire)
    }

    /// Says that a value has come in for which a key service has to be asked.
    pub fn ask(&self) {
        self.asked.notify_one();
    }

    pub async fn asked(&self) {
        self.asked.notified().await;
    }

    fn prepare(&self, turned: Vec<Turned>) {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).extend(turned);
        self.is_pending.store(true, Ordering::Release);
    }

    fn take(&self) -> Vec<Turned> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_pending.store(false, Ordering::Release);
        std::mem::take(&mut *pending)
    }
}

/// What cannot be read, by the prefixes of resources.
pub(crate) type Note = BTreeMap<String, Vec<String>>;

impl Storage {
    /// Turns entries everywhere at once.
    pub(crate) async fn announce(&self, table: &Table, turned: Vec<Turned>) {
        let note = note(table, &turned);
        self.turning.prepare(turned);
        match self.write_note(&note).await {
            Ok(revision) => {
                let _ = self.wait_for_written(revision).await;
                // Where caches were loaded anew, the feed did not pass it.
                self.turn(table, revision);
            }
            Err(why) => {
                tracing::warn!(%why, "a change of keys cannot be noted in the store");
                self.turn(table, self.applied());
            }
        }
    }

    /// The caches pass a turn.
    pub(crate) fn turn(&self, table: &Table, revision: Revision) {
        let turned = self.turning.take();
        if turned.is_empty() {
            return;
        }
        self.history().forget();
        for (stored, entries) in turned {
            let keys: Vec<Arc<str>> = entries.iter().map(|entry| Arc::clone(&entry.key)).collect();
            stored.cache.turn(entries, revision);
            self.usage.look(&stored, keys.iter().map(|key| &**key));
        }
        self.show(table, revision);
    }

    /// What is to turn when the feed begins: everything that cannot be read, and what could not be when a server last looked.
    pub(crate) async fn begin_turning(&self, table: &Table) -> Result<(), Error> {
        let before = self.read_note().await?;
        let mut turned: Vec<Turned> = Vec::new();
        for stored in table.stored() {
            let closed = stored.cache.closed();
            let named = before.get(&stored.prefix);
            if closed.is_empty() && named.is_none() {
                continue;
            }
            let objects = stored.cache.objects();
            let is_named = |key: &str| named.is_some_and(|keys| keys.iter().any(|named| named == key || named == ALL));
            let concerned = |entry: &&Arc<CacheEntry>| closed.contains_key(&entry.key) || is_named(&entry.key);
            let entries: Vec<_> = match named {
                None => closed.values().cloned().collect(),
                Some(_) => objects.values().filter(concerned).cloned().collect(),
            };
            turned.push((Arc::clone(stored), entries));
        }
        if turned.is_empty() {
            return Ok(());
        }
        let note = note(table, &[]);
        self.turning.prepare(turned);
        self.write_note(&note).await.map(drop)
    }

    async fn read_note(&self) -> Result<Note, Error> {
        let held = self.kv().get(Bytes::from_static(TURNS.as_bytes())).await?;
        Ok(held.and_then(|held| serde_json::from_slice(&held.value).ok()).unwrap_or_default())
    }

    async fn write_note(&self, note: &Note) -> Result<Revision, Error> {
        let value = Bytes::from(serde_json::to_vec(note).unwrap_or_default());
        let key = Bytes::from_static(TURNS.as_bytes());
        let mut expect = Expect::Absent;
        loop {
            let change = Change::Put { value: value.clone(), ttl: None };
            match self.kv().write(Write::new(key.clone(), expect, change)).await? {
                Outcome::Applied { revision } => return Ok(revision),
                Outcome::Conflict { current } => {
                    expect = current.map_or(Expect::Absent, |current| Expect::Revision(current.mod_revision));
                }
            }
        }
    }
}

/// What will not be readable once entries have turned.
fn note(table: &Table, turned: &[Turned]) -> Note {
    let mut note = Note::new();
    for stored in table.stored() {
        let mut closed = stored.cache.closed();
        for entry in turned.iter().filter(|(of, _)| Arc::ptr_eq(of, stored)).flat_map(|(_, entries)| entries) {
            match entry.readable() {
                Some(_) => closed.remove(&entry.key),
                None => closed.insert(Arc::clone(&entry.key), Arc::clone(entry)),
            };
        }
        let keys = match closed.len() {
            0 => continue,
            1..=NAMED => closed.keys().map(|key| key.to_string()).collect(),
            _ => vec![ALL.to_owned()],
        };
        note.insert(stored.prefix.clone(), keys);
    }
    note
}
