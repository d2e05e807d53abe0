//! The committer: one thread that gives every write its revision and makes it durable.
//!
//! Owns the order of all writes. It takes whatever waits, checks each write against the index with the writes before it
//! in the same batch on top, appends one batch, syncs once, and only then makes them visible and answers. While it syncs
//! the next writes gather, so batches grow with the load and a lone writer never waits for company.
//!
//! When a batch fails, its writes are answered with what is known of them, all others are refused, and the committer tries
//! to get the log going again until it succeeds.

use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::channel::oneshot;
use parking_lot::{Condvar, Mutex};
use pawl_kv::{Change, Error, Event, Expect, Guard, KeyValue, Outcome, Result, Revision, Write};
use tokio::sync::watch;

use crate::Shared;
use crate::clock::milliseconds;
use crate::format::BatchBuilder;
use crate::log::{AppendError, Log, LogRoom};
use crate::state::{Refusal, StoreState, StoredValue};

/// What can be asked of the committer.
pub enum Request {
    Write { write: Write, reply: oneshot::Sender<Result<Outcome>> },
    Compact { revision: Revision, reply: oneshot::Sender<Result<()>> },
}

/// The requests that wait.
#[derive(Default)]
pub struct Queue {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

#[derive(Default)]
struct Waiting {
    requests: Vec<Request>,
    closed: bool,
}

impl Queue {
    /// Adds a request; gives it back when nobody will answer it any more.
    pub fn push(&self, request: Request) -> Result<()> {
        let mut waiting = self.waiting.lock();
        if waiting.closed {
            return Err(Error::Closed);
        }
        waiting.requests.push(request);
        // Only the first one finds the committer asleep.
        if waiting.requests.len() == 1 {
            self.arrived.notify_one();
        }
        Ok(())
    }

    pub fn close(&self) {
        self.waiting.lock().closed = true;
        self.arrived.notify_one();
    }

    /// Everything that waits, once something does or the time is up. `None` after the last request of a closed queue.
    fn take(&self, patience: Option<Duration>) -> Option<Vec<Request>> {
        let mut waiting = self.waiting.lock();
        if waiting.requests.is_empty() && !waiting.closed {
            match patience {
                Some(patience) => {
                    self.arrived.wait_for(&mut waiting, patience);
                }
                None => self.arrived.wait(&mut waiting),
            }
        }
        (!waiting.closed || !waiting.requests.is_empty()).then(|| mem::take(&mut waiting.requests))
    }
}

/// A write that has its revision and waits for the sync.
struct Pending {
    event: Event,
    entry: Option<StoredValue>,
    /// Nobody asked for an expiry.
    reply: Option<oneshot::Sender<Result<Outcome>>>,
}

/// The writes of one batch and what the keys they touch hold after them.
#[derive(Default)]
struct Batch {
    pending: Vec<Pending>,
    /// By key, the place in `pending` of its last write.
    touched: HashMap<Bytes, usize>,
    /// Conflicts with writes of this batch: true only once it is durable.
    refused: Vec<(oneshot::Sender<Result<Outcome>>, Option<KeyValue>)>,
}

pub struct Committer {
    shared: Arc<Shared>,
    log: Log,
    /// Tells watchers that there is something new. Dropped with the committer, which is how they learn of the end.
    visible: watch::Sender<Revision>,
    deadlines: BTreeMap<(u64, Revision), Bytes>,
    /// When keys may be expired again.
    next_expiry: Instant,
    trouble: Option<Trouble>,
    /// Whether puts are refused. Then nothing but time tells that they need not be any more.
    is_scarce: bool,
    builder: BatchBuilder,
}

/// The log does not work. Nothing is written until it does again.
struct Trouble {
    since: Instant,
    next_try: Instant,
    pause: Duration,
}

impl Trouble {
    const LEAST: Duration = Duration::from_millis(20);
    const MOST: Duration = Duration::from_secs(2);

    fn begin() -> Self {
        let now = Instant::now();
        Self { since: now, next_try: now + Self::LEAST, pause: Self::LEAST }
    }

    fn wait_longer(&mut self) {
        self.pause = (self.pause * 2).min(Self::MOST);
        self.next_try = Instant::now() + self.pause;
    }
}

impl Committer {
    /// A batch is closed at this size, so that one sync never takes long.
    const BATCH_BYTES: usize = 4 << 20;
    const BATCH_WRITES: usize = 4096;
    /// So many keys are expired at once, and then none for a moment: when a great many run out together, whoever writes
    /// and reads meanwhile comes first.
    const EXPIRE: usize = 512;
    const EXPIRE_PAUSE: Duration = Duration::from_millis(50);
    /// How long writers wait for a segment that cannot be made, before they are told.
    const PATIENCE: Duration = Duration::from_millis(500);

    pub fn new(shared: Arc<Shared>, log: Log, visible: watch::Sender<Revision>) -> Self {
        let mut builder = BatchBuilder::default();
        builder.clear();
        let deadlines = {
            let state = shared.state.read();
            let expiring = state.index.iter().filter_map(|(key, entry)| Some((entry, entry.deadline?, key.clone())));
            expiring.map(|(entry, deadline, key)| ((deadline, entry.mod_revision), key)).collect()
        };
        Self { shared, log, visible, deadlines, next_expiry: Instant::now(), trouble: None, is_scarce: false, builder }
    }

    /// Serves the queue until it is closed.
    pub fn run(mut self) {
        let queue = Arc::clone(&self.shared.queue);
        while let Some(requests) = queue.take(self.patience()) {
            let mut writes = Vec::with_capacity(requests.len());
            let mut compactions = Vec::new();
            for request in requests {
                match request {
                    Request::Write { write, reply } => writes.push((write, Some(reply))),
                    Request::Compact { revision, reply } => compactions.push((revision, reply)),
                }
            }
            self.mend();
            if self.is_scarce {
                self.room();
            }
            writes.extend(self.expired().into_iter().map(|write| (write, None)));
            let mut writes = writes.into_iter().peekable();
            while writes.peek().is_some() {
                let batch = self.plan(&mut writes);
                self.commit(batch);
            }
            for (revision, reply) in compactions {
                let _ = reply.send(self.compact(revision));
            }
            self.shared.release_stale();
        }
        self.log.close();
    }

    /// How long to sleep at most: until the next key expires, or the log is tried again.
    fn patience(&self) -> Option<Duration> {
        if let Some(trouble) = &self.trouble {
            return Some(trouble.next_try.saturating_duration_since(Instant::now()));
        }
        if self.is_scarce {
            return Some(Trouble::LEAST);
        }
        let ((deadline, _), _) = self.deadlines.first_key_value()?;
        let due = Duration::from_millis(deadline.saturating_sub(self.shared.clock.now()).max(1));
        Some(due.max(self.next_expiry.saturating_duration_since(Instant::now())))
    }

    /// Tries to get the log going again, when it is time to.
    fn mend(&mut self) {
        let Some(trouble) = self.trouble.as_mut().filter(|trouble| trouble.next_try <= Instant::now()) else { return };
        let next_revision = self.shared.state.read().revision + 1;
        match self.log.mend(next_revision, self.shared.clock.now()) {
            Ok(()) => {
                tracing::info!(after = ?trouble.since.elapsed(), "the store accepts writes again");
                self.trouble = None;
                self.shared.state.write().refusal = None;
            }
            Err(reason) => {
                trouble.wait_longer();
                self.shared.state.write().refusal = Some(Refusal::All(reason));
            }
        }
    }

    /// Deletions of the keys whose time has passed.
    fn expired(&mut self) -> Vec<Write> {
        if self.deadlines.is_empty() || self.trouble.is_some() || Instant::now() < self.next_expiry {
            return Vec::new();
        }
        let due = self.deadlines.range(..(self.shared.clock.now(), Revision::MAX)).take(Self::EXPIRE);
        let due: Vec<Write> = due
            .map(|((_, revision), key)| Write::new(key.clone(), Expect::Revision(*revision), Change::Delete))
            .collect();
        if !due.is_empty() {
            self.next_expiry = Instant::now() + Self::EXPIRE_PAUSE;
        }
        due
    }

    /// How large the next batch may be. Says to everybody when the room that is left is for deletions only.
    fn room(&mut self) -> usize {
        let (most, scarce) = match self.log.room() {
            LogRoom::Enough => (u64::MAX, None),
            LogRoom::Little(most) => (most, None),
            LogRoom::ForDeletions(most, why) => (most, Some(Refusal::Puts(why))),
        };
        self.is_scarce = scarce.is_some();
        if self.trouble.is_none() && self.shared.state.read().refusal != scarce {
            self.shared.state.write().refusal = scarce;
        }
        usize::try_from(most).unwrap_or(usize::MAX).clamp(1, Self::BATCH_BYTES)
    }

    /// Takes writes until the batch is full, and answers those that cannot be applied to what is durable.
    fn plan(&mut self, writes: &mut impl Iterator<Item = (Write, Option<oneshot::Sender<Result<Outcome>>>)>) -> Batch {
        let room = self.room();
        let mut batch = Batch::default();
        let time = self.shared.clock.now();
        self.builder.clear();
        let state = self.shared.state.read();
        while batch.pending.len() < Self::BATCH_WRITES
            && self.builder.len() < room
            && let Some((write, reply)) = writes.next()
        {
            if let Some(refused) = Refusal::of(state.refusal.as_ref(), &write.change) {
                answer(reply, Err(refused));
                continue;
            }
            let revision = state.revision + 1 + batch.pending.len() as u64;
            match batch.check(&state, &write, revision, time) {
                Ok((event, entry)) => {
                    let deadline = entry.as_ref().and_then(|entry| entry.deadline);
                    let create = entry.as_ref().map(|entry| entry.create_revision);
                    let create = create.or(event.previous.as_ref().map(|previous| previous.create_revision));
                    self.builder.push(&event, create.unwrap_or(revision), deadline);
                    batch.touched.insert(event.key.clone(), batch.pending.len());
                    batch.pending.push(Pending { event, entry, reply });
                }
                Err(Conflict { current, durable: true }) => answer(reply, Ok(Outcome::Conflict { current })),
                Err(Conflict { current, durable: false }) => batch.refused.extend(reply.map(|reply| (reply, current))),
            }
        }
        batch
    }

    /// Makes a batch durable, then visible, then answers.
    fn commit(&mut self, batch: Batch) {
        let (Some(first), Some(last)) = (batch.pending.first(), batch.pending.last()) else { return };
        let (first, last) = (first.event.revision, last.event.revision);
        if let Err(error) = self.append(first, last + 1) {
            for reply in batch.pending.into_iter().filter_map(|pending| pending.reply) {
                let _ = reply.send(Err(error.clone()));
            }
            for (reply, _) in batch.refused {
                let _ = reply.send(Err(Error::ReadOnly(error.to_string())));
            }
            return;
        }
        let mut replies = Vec::with_capacity(batch.pending.len());
        let mut events = Vec::with_capacity(batch.pending.len());
        {
            let mut state = self.shared.state.write();
            for Pending { event, entry, reply } in batch.pending {
                let expires = entry.as_ref().and_then(|entry| Some((entry.deadline?, entry.mod_revision)));
                let replaced = state.apply(event.key.clone(), entry);
                if let Some((deadline, revision)) = replaced.and_then(|old| Some((old.deadline?, old.mod_revision))) {
                    self.deadlines.remove(&(deadline, revision));
                }
                if let Some(expires) = expires {
                    self.deadlines.insert(expires, event.key.clone());
                }
                replies.extend(reply.map(|reply| (reply, event.revision)));
                events.push(event);
            }
            state.revision = last;
            state.written += state.window.push(events.into()) as u64;
        }
        self.visible.send_replace(last);
        for (reply, revision) in replies {
            let _ = reply.send(Ok(Outcome::Applied { revision }));
        }
        for (reply, current) in batch.refused {
            let _ = reply.send(Ok(Outcome::Conflict { current }));
        }
    }

    fn compact(&mut self, revision: Revision) -> Result<()> {
        let current = {
            let state = self.shared.state.read();
            if let Some(Refusal::All(reason)) = &state.refusal {
                return Err(Error::ReadOnly(reason.clone()));
            }
            if revision > state.revision {
                return Err(Error::Future { requested: revision, current: state.revision });
            }
            if revision <= state.compacted {
                return Ok(());
            }
            state.revision
        };
        self.builder.set_compaction(revision);
        self.append(current + 1, current + 1)?;
        let mut state = self.shared.state.write();
        state.compacted = state.compacted.max(revision);
        Ok(())
    }

    /// Makes what the builder holds durable. Where nothing of it was written, the same is tried for a moment; after that,
    /// and after a failed write or sync, the log is in trouble.
    fn append(&mut self, first: Revision, next: Revision) -> Result<()> {
        let begin = Instant::now();
        let mut pause = Duration::from_millis(5);
        let (reason, error) = loop {
            match self.log.append(&mut self.builder, first, next, self.shared.clock.now()) {
                Ok(()) => return Ok(()),
                Err(AppendError::Unknown(reason)) => break (reason.clone(), Error::Unknown(reason)),
                Err(AppendError::NotBegun(reason)) => {
                    if begin.elapsed() + pause > Self::PATIENCE {
                        break (reason.clone(), Error::ReadOnly(reason));
                    }
                    thread::sleep(pause);
                    pause *= 2;
                }
            }
        };
        tracing::error!(reason, "the store refuses writes until the log works again");
        self.trouble = Some(Trouble::begin());
        self.shared.state.write().refusal = Some(Refusal::All(reason));
        Err(error)
    }
}

impl Drop for Committer {
    /// However the thread ends, nobody may wait for it in vain.
    fn drop(&mut self) {
        let mut waiting = self.shared.queue.waiting.lock();
        waiting.closed = true;
        waiting.requests.clear();
    }
}

fn answer(reply: Option<oneshot::Sender<Result<Outcome>>>, outcome: Result<Outcome>) {
    if let Some(reply) = reply {
        // Whoever asked may have gone away.
        let _ = reply.send(outcome);
    }
}

/// An expectation or a guard that does not hold, and whether that is already durable.
struct Conflict {
    current: Option<KeyValue>,
    durable: bool,
}

impl Batch {
    /// Decides on one write: the event it causes and what its key holds afterwards.
    fn check(
        &self,
        state: &StoreState,
        write: &Write,
        revision: Revision,
        time: u64,
    ) -> std::result::Result<(Event, Option<StoredValue>), Conflict> {
        let (is_pending, current) = self.held(state, &write.key);
        let previous = current.map(|entry| entry.key_value(&write.key));
        let holds = match (write.expect, current, &write.change) {
            (Expect::Absent, None, Change::Put { .. }) => true,
            (Expect::Revision(expected), Some(entry), _) => entry.mod_revision == expected,
            _ => false,
        };
        if !holds {
            return Err(Conflict { current: previous, durable: !is_pending });
        }
        for guard in &write.guards {
            let (durable, passed) = match guard {
                Guard::Unwritten { prefix, through } => {
                    let passed = state.passed_by(prefix, *through, |key| !self.touched.contains_key(key));
                    (passed, passed || self.passes(prefix, *through))
                }
                Guard::Same { key, revision } => {
                    let (pending, held) = self.held(state, key);
                    (!pending, held.is_none_or(|held| held.mod_revision != *revision))
                }
            };
            if passed {
                return Err(Conflict { current: previous, durable: durable && !is_pending });
            }
        }
        let entry = match &write.change {
            Change::Put { value, ttl } => Some(StoredValue {
                // To the byte, and by this thread alone: what stays lies close together, apart from what comes and goes.
                value: Bytes::copy_from_slice(value),
                create_revision: current.map_or(revision, |entry| entry.create_revision),
                mod_revision: revision,
                deadline: ttl.map(|ttl| time.saturating_add(milliseconds(ttl)).max(1)),
            }),
            Change::Delete => None,
        };
        let value = entry.as_ref().map(|entry| entry.value.clone());
        Ok((Event { revision, key: Bytes::copy_from_slice(&write.key), value, previous }, entry))
    }

    /// What a key holds after the writes of this batch, and whether it is one of them that says so.
    fn held<'s>(&'s self, state: &'s StoreState, key: &Bytes) -> (bool, Option<&'s StoredValue>) {
        match self.touched.get(key).and_then(|place| self.pending.get(*place)) {
            Some(pending) => (true, pending.entry.as_ref()),
            None => (false, state.index.get(key)),
        }
    }

    /// Whether a write of this batch is newer than a guard allows, and there after all of them.
    fn passes(&self, prefix: &Bytes, through: Revision) -> bool {
        let last = |(key, place): (&Bytes, &usize)| Some((key.clone(), self.pending.get(*place)?));
        let mut writes = self.touched.iter().filter(|(key, _)| key.starts_with(prefix)).filter_map(last);
        writes.any(|(_, pending)| pending.entry.is_some() && pending.event.revision > through)
    }
}
