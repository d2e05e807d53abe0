//! A load on a store, and a ledger of everything that anybody was told, to hold against what is there afterwards.

#![allow(dead_code, reason = "every test binary has its own copy and uses a part of it")]

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use fastrand::Rng;
use futures::StreamExt;
use pawl_kv::conformance::Effort;
use pawl_kv::{Change, Error, Event, Expect, KeyValue, Kv, Outcome, RangeRequest, Revision, WatchMessage, Write};
use pawl_kv_embedded::Store;

/// Prints how to run a failed case again.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed with PAWL_SEED={}", self.0);
        }
    }
}

/// Runs so many cases, or as many as a longer run wants, each with decisions and a number of its own.
pub async fn cases(short: usize, mut case: impl AsyncFnMut(Rng, usize)) {
    let effort = Effort::from_environment();
    let mut done = 0;
    while effort.wants(done, short) {
        let seed = Seed(effort.seed.wrapping_add(done as u64));
        case(Rng::with_seed(seed.0), done).await;
        done += 1;
    }
}

/// What was done to a key: the value, or a deletion.
type Deed = (Bytes, Option<Bytes>);

#[derive(Clone, Default)]
pub struct Ledger(Arc<Mutex<Entries>>);

#[derive(Default)]
struct Entries {
    /// Every write that is known to have happened: acknowledged, seen by a watch, or found after a crash.
    happened: BTreeMap<Revision, Deed>,
    /// Writes that may have happened, with the revision that they expected, and how many tried the same.
    open: HashMap<(Deed, Option<Revision>), usize>,
    lives: u64,
}

impl Ledger {
    /// Lets several writers and a watcher work until they are done or the store fails them.
    pub async fn work(&self, store: &Arc<Store>, rng: &mut Rng, writers: u64, writes: u64) {
        let life = {
            let mut entries = self.0.lock().unwrap();
            entries.lives += 1;
            entries.lives
        };
        let begin = store.revision().await.unwrap();
        let watch = store.watch(Bytes::new(), begin).await.unwrap();
        let observer = tokio::spawn(self.clone().observe(watch));
        let tasks: Vec<_> = (0..writers)
            .map(|writer| {
                let (ledger, store) = (self.clone(), Arc::clone(store));
                tokio::spawn(ledger.write(store, rng.fork(), format!("{life}.{writer}"), writes))
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        observer.abort();
        if let Err(failed) = observer.await
            && failed.is_panic()
        {
            std::panic::resume_unwind(failed.into_panic());
        }
    }

    /// A store that went on after a fault: what was of unknown outcome has happened by now, or never will.
    pub async fn settle(&self, store: &Store) {
        let revision = store.revision().await.unwrap();
        // History may be cut short while one looks.
        let events = loop {
            if let Ok(events) = try_history(store, store.compacted().max(1), revision).await {
                break events;
            }
        };
        self.0.lock().unwrap().take_in(&events, revision);
    }

    /// Takes note of an acknowledged write that somebody else made.
    pub fn tell(&self, revision: Revision, key: &str, value: &str) {
        let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
        self.0.lock().unwrap().note(revision, (bytes(key), Some(bytes(value))));
    }

    /// Whether a key got a value at a revision.
    pub fn knows(&self, revision: Revision, key: &Bytes, value: &Bytes) -> bool {
        let entries = self.0.lock().unwrap();
        entries.happened.get(&revision).is_some_and(|(k, v)| k == key && v.as_ref() == Some(value))
    }

    /// What there is after everything that happened.
    pub fn newest(&self) -> BTreeMap<Bytes, KeyValue> {
        self.0.lock().unwrap().state(Revision::MAX)
    }

    async fn write(self, store: Arc<Store>, mut rng: Rng, name: String, writes: u64) {
        for number in 0..writes {
            let key = Bytes::from(format!("/k/{}", rng.u32(0..6)));
            let held = store.get(key.clone()).await.unwrap();
            let expected = held.as_ref().map(|held| held.mod_revision);
            let expect = expected.map_or(Expect::Absent, Expect::Revision);
            let deletes = held.is_some() && rng.u32(0..5) == 0;
            let most = *rng.choice([10, 100, 3000].iter()).unwrap();
            let padding = rng.usize(0..most);
            let value = (!deletes).then(|| Bytes::from(format!("{name}.{number}{}", "x".repeat(padding))));
            let deed = (key.clone(), value.clone());
            *self.0.lock().unwrap().open.entry((deed.clone(), expected)).or_default() += 1;
            let change = value.map_or(Change::Delete, |value| Change::Put { value, ttl: None });
            let outcome = store.write(Write::new(key, expect, change)).await;
            let mut entries = self.0.lock().unwrap();
            match outcome {
                Ok(Outcome::Applied { revision }) => {
                    entries.close(&deed, expected);
                    entries.note(revision, deed);
                }
                // A refusal is a promise as well: this write must never turn up.
                Ok(Outcome::Conflict { .. }) => entries.close(&deed, expected),
                Err(Error::Unknown(_)) => return,
                Err(Error::ReadOnly(_)) => {
                    entries.close(&deed, expected);
                    return;
                }
                Err(other) => panic!("{other}"),
            }
        }
    }

    /// Whatever a watch shows must be there for good.
    async fn observe(self, mut watch: pawl_kv::Watch) {
        while let Some(Ok(message)) = watch.next().await {
            if let WatchMessage::Events(events) = message {
                let mut entries = self.0.lock().unwrap();
                for event in events {
                    entries.note(event.revision, (event.key, event.value));
                }
            }
        }
    }

    /// Holds the ledger against a store that was just opened.
    pub async fn verify(&self, store: &Store, rng: &mut Rng) {
        let (revision, compacted) = (store.revision().await.unwrap(), store.compacted());
        let events = history(store, compacted.max(1), revision).await;
        let past = rng.u64(compacted.max(1)..=revision);
        let expected = {
            let mut entries = self.0.lock().unwrap();
            entries.take_in(&events, revision);
            [past, revision].map(|at| (at, entries.state(at).into_values().collect::<Vec<KeyValue>>()))
        };
        for (at, expected) in expected {
            let range = store.range(RangeRequest { revision: Some(at), ..RangeRequest::default() }).await.unwrap();
            assert_eq!(range.items, expected, "at {at} of {revision}");
        }
    }
}

impl Entries {
    /// Checks what a store holds after it was opened at `revision`, and believes it.
    fn take_in(&mut self, events: &[Event], revision: Revision) {
        let newest = self.happened.last_key_value().map_or(1, |(revision, _)| *revision);
        assert!(revision >= newest, "the store is at {revision}, but {newest} was acknowledged");
        for event in events {
            let deed = (event.key.clone(), event.value.clone());
            if !self.happened.contains_key(&event.revision) {
                let previous = event.previous.as_ref().map(|previous| previous.mod_revision);
                let tried = self.open.get(&(deed.clone(), previous)).copied().unwrap_or_default();
                assert!(tried > 0, "nobody wrote {event:?}");
            }
            self.note(event.revision, deed);
        }
        // What is still open did not happen and never will: the log goes on without it.
        self.open.clear();
        assert!(self.happened.keys().copied().eq(2..=revision), "revisions are missing");
        for event in events {
            let before = self.state(event.revision - 1).remove(&event.key);
            assert_eq!(event.previous, before, "before {}", event.revision);
        }
    }

    fn note(&mut self, revision: Revision, deed: Deed) {
        let before = self.happened.insert(revision, deed.clone());
        assert!(before.is_none_or(|before| before == deed), "revision {revision} changed");
    }

    fn close(&mut self, deed: &Deed, expected: Option<Revision>) {
        if let Some(tried) = self.open.get_mut(&(deed.clone(), expected)) {
            *tried -= 1;
        }
    }

    fn state(&self, revision: Revision) -> BTreeMap<Bytes, KeyValue> {
        let mut state: BTreeMap<Bytes, KeyValue> = BTreeMap::new();
        for (at, (key, value)) in self.happened.range(..=revision) {
            match value {
                Some(value) => {
                    let create_revision = state.get(key).map_or(*at, |held| held.create_revision);
                    let (key, value) = (key.clone(), value.clone());
                    state.insert(key.clone(), KeyValue { key, value, create_revision, mod_revision: *at });
                }
                None => {
                    state.remove(key);
                }
            }
        }
        state
    }
}

/// All events of a store after a revision, which must follow each other without a gap.
pub async fn history(store: &Store, after: Revision, newest: Revision) -> Vec<Event> {
    try_history(store, after, newest).await.unwrap()
}

async fn try_history(store: &Store, after: Revision, newest: Revision) -> pawl_kv::Result<Vec<Event>> {
    let mut watch = store.watch(Bytes::new(), after).await?;
    let mut events: Vec<Event> = Vec::new();
    while events.last().map_or(after, |event| event.revision) < newest {
        match watch.next().await.unwrap()? {
            WatchMessage::Events(more) => events.extend(more),
            WatchMessage::Progress(revision) => panic!("progress to {revision} instead of events"),
        }
    }
    assert!(events.iter().map(|event| event.revision).eq(after + 1..=newest), "a gap in the history");
    Ok(events)
}

/// Waits until a store accepts writes. The cause is gone: it must.
pub async fn healthy(store: &Store) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while let Err(failure) = store.health() {
        assert!(Instant::now() < deadline, "the store does not get over it: {failure}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
