//! Who gets how much of the server at once: shares for requests, room for bodies, and connections.
//!
//! One rule for all of them: nobody takes more than is left. One user has at most half, two have a third each, and whoever
//! comes next always finds something. Who may do everything, as the server's own parts and those who mend it, has shares
//! of its own. Long-running requests take none.
//!
//! This is the seam for upstream's flow schemas: they will choose the pool of a request and what counts as one user.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pawl_auth::{User, names};
use pawl_meta::Status;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::api::Limits;
use crate::request::RequestInfo;

/// Maps of who holds how much; a request looks at one of them.
const SHARDS: usize = 16;

/// Something that there is only so much of.
pub(crate) struct Pool {
    free: AtomicUsize,
    shards: [Mutex<HashMap<u64, usize>>; SHARDS],
    hasher: RandomState,
}

/// What somebody holds of a pool, until it is dropped.
pub struct Held {
    pool: Arc<Pool>,
    /// Whose share it is of, where that is counted.
    who: Option<u64>,
    amount: usize,
    /// What the connection holds of anything, for pools that are shared by connection too.
    connection: Option<Arc<AtomicUsize>>,
}

impl Pool {
    pub fn new(size: usize) -> Arc<Self> {
        Arc::new(Self {
            free: AtomicUsize::new(size),
            shards: std::array::from_fn(|_| Mutex::default()),
            hasher: RandomState::new(),
        })
    }

    /// Takes a share for somebody, if they do not hold more than is left then.
    pub fn take(
        self: &Arc<Self>,
        who: &(impl Hash + ?Sized),
        amount: usize,
        connection: Option<&Arc<AtomicUsize>>,
    ) -> Option<Held> {
        let who = self.hasher.hash_one(who);
        let free = self.free.load(Ordering::Relaxed);
        if connection.is_some_and(|held| held.load(Ordering::Relaxed) + amount > free) {
            return None;
        }
        let mut held = Held { pool: Arc::clone(self), who: Some(who), amount: 0, connection: connection.cloned() };
        held.grow(amount).then_some(held)
    }

    /// Takes without a share: for those whom the rule does not bind.
    pub fn take_any(self: &Arc<Self>, amount: usize) -> Option<Held> {
        let less = |free: usize| free.checked_sub(amount);
        self.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).ok()?;
        Some(Held { pool: Arc::clone(self), who: None, amount, connection: None })
    }

    #[expect(clippy::cast_possible_truncation, reason = "any bits of the hash will do")]
    fn shard(&self, who: u64) -> MutexGuard<'_, HashMap<u64, usize>> {
        let [first, ..] = &self.shards;
        self.shards.get(who as usize % SHARDS).unwrap_or(first).lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// Takes more, if that is not more than is left. Says whether it was.
    pub fn grow(&mut self, amount: usize) -> bool {
        let Some(who) = self.who else { return false };
        let mut shard = self.pool.shard(who);
        let held = shard.get(&who).copied().unwrap_or_default();
        let less = |free: usize| free.checked_sub(amount).filter(|_| held + amount <= free);
        if self.pool.free.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_err() {
            return false;
        }
        shard.insert(who, held + amount);
        self.amount += amount;
        if let Some(connection) = &self.connection {
            connection.fetch_add(amount, Ordering::Relaxed);
        }
        true
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.amount == 0 {
            return;
        }
        if let Some(who) = self.who {
            let mut shard = self.pool.shard(who);
            match shard.get_mut(&who) {
                Some(held) if *held > self.amount => *held -= self.amount,
                _ => {
                    shard.remove(&who);
                }
            }
        }
        self.pool.free.fetch_add(self.amount, Ordering::Relaxed);
        if let Some(connection) = &self.connection {
            connection.fetch_sub(self.amount, Ordering::Relaxed);
        }
    }
}

/// What requests share.
pub(crate) struct Shares {
    reading: Arc<Pool>,
    mutating: Arc<Pool>,
    /// For those who may do everything, apart from everybody else.
    reserve: Arc<Pool>,
    /// Bytes of bodies that are being received or worked on.
    bodies: Arc<Pool>,
    /// Bytes of answers that are made as a whole and not yet sent.
    answers: Arc<Pool>,
    /// Requests whose work is large, in work or waiting for it.
    heavy: Arc<Pool>,
    /// How many of these are worked on at a time.
    working: Arc<Semaphore>,
}

/// Bytes of bodies at once, unless a single body may be larger.
const BODIES: usize = 64 << 20;
const ANSWERS: usize = 128 << 20;
const HEAVY: usize = 32;

impl Shares {
    pub fn new(limits: &Limits) -> Self {
        // As upstream: zero is no limit.
        let size = |limit: usize| if limit == 0 { usize::MAX / 4 } else { limit };
        let (reading, mutating) = (size(limits.reading), size(limits.mutating));
        let workers = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            reading: Pool::new(reading),
            mutating: Pool::new(mutating),
            reserve: Pool::new(reading.saturating_add(mutating)),
            bodies: Pool::new(BODIES.max(limits.body.saturating_mul(4))),
            answers: Pool::new(ANSWERS),
            heavy: Pool::new(HEAVY),
            working: Arc::new(Semaphore::new(workers.max(2))),
        }
    }

    /// A place for a request that is about to be worked on.
    pub fn take(&self, user: &User, info: &RequestInfo, connection: &Arc<AtomicUsize>) -> Result<Held, Status> {
        let held = if user.is_in(names::MASTERS) {
            self.reserve.take_any(1)
        } else {
            let pool = if info.is_mutating() { &self.mutating } else { &self.reading };
            pool.take(&user.name, 1, Some(connection))
        };
        held.ok_or_else(too_many)
    }

    /// Room for the bytes of a body.
    pub fn body(&self, user: &User, bytes: usize) -> Result<Held, Status> {
        self.bodies.take(&user.name, bytes, None).ok_or_else(too_many)
    }

    /// Room for the bytes of an answer.
    pub fn answer(&self, user: &User, bytes: usize) -> Result<Held, Status> {
        self.answers.take(&user.name, bytes, None).ok_or_else(too_many)
    }

    /// The turns at large work.
    pub fn turns(&self) -> Arc<Semaphore> {
        Arc::clone(&self.working)
    }

    /// Waits for a turn at large work.
    pub async fn turn(&self, user: &User) -> Result<(Option<Held>, SemaphorePermit<'_>), Status> {
        let held = match user.is_in(names::MASTERS) {
            true => None,
            false => Some(self.heavy.take(&user.name, 1, None).ok_or_else(too_many)?),
        };
        let turn = self.working.acquire().await.map_err(|_| too_many())?;
        Ok((held, turn))
    }
}

pub(crate) fn too_many() -> Status {
    Status::too_many_requests("Too many requests, please try again later.", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_more_than_is_left() {
        let pool = Pool::new(12);
        let connection = || Arc::new(AtomicUsize::new(0));
        let all =
            |who: &str| std::iter::from_fn(|| pool.take(who, 1, Some(&connection()))).take(100).collect::<Vec<_>>();
        let one = all("one");
        assert_eq!(one.len(), 6);
        let two = all("two");
        assert_eq!(two.len(), 3);
        assert_eq!(all("three").len(), 2);
        drop(one);
        assert_eq!(all("three").len(), 5);
        drop(two);
        assert_eq!(pool.free.load(Ordering::Relaxed), 12);
        assert!(pool.shards.iter().all(|shard| shard.lock().unwrap().is_empty()));
    }

    #[test]
    fn a_connection_has_a_share_whoever_speaks_on_it() {
        let pool = Pool::new(12);
        let connection = Arc::new(AtomicUsize::new(0));
        let held: Vec<_> = (0..100).map_while(|i| pool.take(&i, 1, Some(&connection))).collect();
        assert_eq!(held.len(), 6);
        assert!(pool.take(&"other", 1, Some(&Arc::default())).is_some());
        drop(held);
        assert_eq!(connection.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn room_grows_as_bytes_come() {
        let pool = Pool::new(100);
        let mut held = pool.take("one", 30, None).unwrap();
        assert!(held.grow(20));
        assert!(!held.grow(1));
        assert!(pool.take("two", 25, None).is_some());
        drop(held);
        assert_eq!(pool.free.load(Ordering::Relaxed), 100);
    }
}
