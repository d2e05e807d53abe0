//! What is still to be looked at: each key once, never by two workers at a time, later and later after failures.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// The first retry comes soon, the last ones every minute.
const FIRST_DELAY: Duration = Duration::from_millis(5);
const LONGEST_DELAY: Duration = Duration::from_secs(60);

/// A queue of keys. A key that is added while a worker has it comes again afterwards.
pub struct WorkQueue<K> {
    inner: Mutex<Inner<K>>,
    news: Notify,
}

struct Inner<K> {
    ready: VecDeque<K>,
    /// What is in `ready`, or must get there when its worker is done.
    wanted: HashSet<K>,
    active: HashSet<K>,
    delayed: BTreeMap<(Instant, u64), K>,
    due: HashMap<K, (Instant, u64)>,
    failures: HashMap<K, u32>,
    added: u64,
}

/// What becomes of a key that a worker has looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconciled {
    /// Nothing more to do until it is added again.
    Done,
    /// It failed: again after a delay that doubles each time.
    Retry,
    /// Again after a while, whatever happened before.
    After(Duration),
    /// It waits for somebody: again after this long, doubled for each time before.
    Wait(Duration),
}

impl<K: Clone + Eq + Hash> Default for WorkQueue<K> {
    fn default() -> Self {
        let inner = Inner {
            ready: VecDeque::new(),
            wanted: HashSet::new(),
            active: HashSet::new(),
            delayed: BTreeMap::new(),
            due: HashMap::new(),
            failures: HashMap::new(),
            added: 0,
        };
        Self { inner: Mutex::new(inner), news: Notify::new() }
    }
}

impl<K: Clone + Eq + Hash> WorkQueue<K> {
    pub fn add(&self, key: K) {
        if self.lock().want(key) {
            self.news.notify_one();
        }
    }

    pub fn extend(&self, keys: impl IntoIterator<Item = K>) {
        let mut inner = self.lock();
        for key in keys {
            if inner.want(key) {
                self.news.notify_one();
            }
        }
    }

    /// The next key; the caller has it until [`WorkQueue::finish`].
    pub async fn next(&self) -> K {
        loop {
            let news = self.news.notified();
            let earliest = {
                let mut inner = self.lock();
                inner.ripen(Instant::now());
                if let Some(key) = inner.ready.pop_front() {
                    inner.wanted.remove(&key);
                    inner.active.insert(key.clone());
                    if !inner.ready.is_empty() {
                        self.news.notify_one();
                    }
                    return key;
                }
                inner.delayed.first_key_value().map(|((at, _), _)| *at)
            };
            match earliest {
                None => news.await,
                Some(at) => tokio::select! {
                    () = news => {}
                    () = tokio::time::sleep_until(at) => {}
                },
            }
        }
    }

    /// Gives a key back.
    pub fn finish(&self, key: K, step: Reconciled) {
        let mut inner = self.lock();
        inner.active.remove(&key);
        let delay = match step {
            Reconciled::Done => {
                inner.failures.remove(&key);
                if let Some(slot) = inner.due.remove(&key) {
                    inner.delayed.remove(&slot);
                }
                None
            }
            Reconciled::Retry => Some(inner.failed(&key, FIRST_DELAY)),
            Reconciled::Wait(first) => Some(inner.failed(&key, first)),
            Reconciled::After(delay) => {
                inner.failures.remove(&key);
                Some(delay)
            }
        };
        if inner.wanted.contains(&key) {
            inner.ready.push_back(key);
        } else if let Some(delay) = delay {
            inner.delay(key, Instant::now() + delay);
        }
        // Whoever sleeps must learn of a new key, or of an earlier time to wake.
        self.news.notify_one();
    }

    // What the lock guards is whole between two statements, also after a panic.
    fn lock(&self) -> MutexGuard<'_, Inner<K>> {
        self.inner.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl<K: Clone + Eq + Hash> Inner<K> {
    /// Puts a key in line. Returns whether a worker should come.
    fn want(&mut self, key: K) -> bool {
        if !self.wanted.insert(key.clone()) || self.active.contains(&key) {
            return false;
        }
        self.ready.push_back(key);
        true
    }

    fn failed(&mut self, key: &K, first: Duration) -> Duration {
        let failures = self.failures.entry(key.clone()).or_default();
        let delay = first.saturating_mul(1 << (*failures).min(20)).min(LONGEST_DELAY.max(first));
        *failures += 1;
        delay
    }

    /// A key that is delayed already comes at the earlier time.
    fn delay(&mut self, key: K, at: Instant) {
        match self.due.get(&key) {
            Some((due, _)) if *due <= at => return,
            Some(slot) => {
                self.delayed.remove(slot);
            }
            None => {}
        }
        self.added += 1;
        let slot = (at, self.added);
        self.due.insert(key.clone(), slot);
        self.delayed.insert(slot, key);
    }

    /// Puts in line whose time has come.
    fn ripen(&mut self, now: Instant) {
        while let Some(first) = self.delayed.first_entry()
            && first.key().0 <= now
        {
            let key = first.remove();
            self.due.remove(&key);
            self.want(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_key_waits_for_its_worker_and_comes_again() {
        let queue = WorkQueue::default();
        queue.extend(["a", "b", "a"]);
        assert_eq!(queue.next().await, "a");
        assert_eq!(queue.next().await, "b");
        queue.add("a");
        queue.finish("b", Reconciled::Done);
        assert!(tokio::time::timeout(Duration::from_secs(1), queue.next()).await.is_err(), "a is with its worker");
        queue.finish("a", Reconciled::Done);
        assert_eq!(queue.next().await, "a");
    }

    #[tokio::test(start_paused = true)]
    async fn failures_come_later_and_later() {
        let queue = WorkQueue::default();
        queue.add(1);
        let mut last = Duration::ZERO;
        for _ in 0..16 {
            let before = Instant::now();
            let key = queue.next().await;
            let waited = before.elapsed();
            assert!(waited >= last && waited <= LONGEST_DELAY + Duration::from_millis(1), "{waited:?} after {last:?}");
            last = waited;
            queue.finish(key, Reconciled::Retry);
        }
        assert!(last >= LONGEST_DELAY);
        // What is added does not wait.
        queue.add(1);
        let before = Instant::now();
        queue.finish(queue.next().await, Reconciled::Done);
        assert_eq!(before.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn the_earlier_time_counts() {
        let queue = WorkQueue::default();
        let before = Instant::now();
        queue.add(1);
        queue.finish(queue.next().await, Reconciled::After(Duration::from_secs(9)));
        queue.add(1);
        queue.finish(queue.next().await, Reconciled::After(Duration::from_secs(1)));
        queue.finish(queue.next().await, Reconciled::Done);
        assert_eq!(before.elapsed().as_secs(), 1);
    }
}
