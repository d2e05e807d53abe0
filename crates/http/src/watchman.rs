//! Who closes connections on which nothing happens: one task for all of them, so that idle ones cost nothing.
//!
//! A connection must ask for something soon after it was made, is closed when it has asked for nothing for long, and when
//! somebody does not read what he asked for.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;

/// How long what may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// From a connection to its first request.
    pub first: Duration,
    /// Between requests, when none is open.
    pub idle: Duration,
    /// While an answer is not read.
    pub unread: Duration,
}

pub(crate) struct Watchman {
    /// Seconds since the start, by rounds and not by clocks.
    now: AtomicU64,
    connections: Mutex<HashMap<u64, Weak<Watched>>>,
    made: AtomicU64,
    patience: Patience,
}

/// A connection.
pub(crate) struct Watched {
    watchman: Arc<Watchman>,
    number: u64,
    asked: AtomicUsize,
    /// Requests that are not over, and answers among them that are to be read now.
    open: AtomicUsize,
    unread: AtomicUsize,
    moved: AtomicU64,
    close: Notify,
}

/// A request that is not over.
pub(crate) struct Open {
    connection: Arc<Watched>,
    unread: bool,
}

impl Watchman {
    pub fn new(patience: Patience) -> Arc<Self> {
        Arc::new(Self { now: AtomicU64::new(0), connections: Mutex::default(), made: AtomicU64::new(0), patience })
    }

    /// Goes round once a second, for ever.
    pub async fn watch(self: Arc<Self>) {
        let mut rounds = tokio::time::interval(Duration::from_secs(1));
        rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            rounds.tick().await;
            self.round();
        }
    }

    fn round(&self) {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        for connection in self.connections().values().filter_map(Weak::upgrade) {
            if connection.is_over(now, &self.patience) {
                connection.close.notify_one();
            }
        }
    }

    pub fn connection(self: &Arc<Self>) -> Arc<Watched> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let watched = Arc::new(Watched {
            watchman: Arc::clone(self),
            number,
            asked: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            unread: AtomicUsize::new(0),
            moved: AtomicU64::new(self.now.load(Ordering::Relaxed)),
            close: Notify::new(),
        });
        self.connections().insert(number, Arc::downgrade(&watched));
        watched
    }

    fn connections(&self) -> MutexGuard<'_, HashMap<u64, Weak<Watched>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watched {
    /// Waits until the connection is to be closed.
    pub async fn over(&self) {
        self.close.notified().await;
    }

    /// Whether it has asked, and has all its answers.
    pub fn is_idle(&self) -> bool {
        self.asked.load(Ordering::Relaxed) != 0 && self.open.load(Ordering::Relaxed) == 0
    }

    pub fn ask(self: &Arc<Self>) -> Open {
        self.asked.store(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        self.moved();
        Open { connection: Arc::clone(self), unread: false }
    }

    fn moved(&self) {
        self.moved.store(self.watchman.now.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    fn is_over(&self, now: u64, patience: &Patience) -> bool {
        let still = Duration::from_secs(now.saturating_sub(self.moved.load(Ordering::Relaxed)));
        if self.asked.load(Ordering::Relaxed) == 0 {
            return still > patience.first;
        }
        match (self.open.load(Ordering::Relaxed), self.unread.load(Ordering::Relaxed)) {
            (0, _) => still > patience.idle,
            (_, 0) => false,
            _ => still > patience.unread,
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.watchman.connections().remove(&self.number);
    }
}

impl Open {
    /// From now on the client has something to read.
    pub fn expect_reading(&mut self) {
        if !std::mem::replace(&mut self.unread, true) {
            self.connection.unread.fetch_add(1, Ordering::Relaxed);
        }
        self.connection.moved();
    }

    pub fn moved(&self) {
        self.connection.moved();
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.connection.moved();
        if self.unread {
            self.connection.unread.fetch_sub(1, Ordering::Relaxed);
        }
        self.connection.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watchman() -> Arc<Watchman> {
        let seconds = Duration::from_secs;
        Watchman::new(Patience { first: seconds(2), idle: seconds(9), unread: seconds(4) })
    }

    fn rounds(watchman: &Watchman, connection: &Watched, most: u64) -> Option<u64> {
        let patience = watchman.patience;
        (1..=most).find(|_| {
            watchman.round();
            connection.is_over(watchman.now.load(Ordering::Relaxed), &patience)
        })
    }

    #[test]
    fn silence_is_not_waited_for() {
        let watchman = watchman();
        assert_eq!(rounds(&watchman, &watchman.connection(), 20), Some(3));
    }

    #[test]
    fn who_has_asked_may_be_idle_for_a_while() {
        let watchman = watchman();
        let connection = watchman.connection();
        drop(connection.ask());
        assert_eq!(rounds(&watchman, &connection, 20), Some(10));
    }

    #[test]
    fn an_answer_that_moves_is_waited_for_and_one_that_does_not_is_not() {
        let watchman = watchman();
        let connection = watchman.connection();
        let mut open = connection.ask();
        assert_eq!(rounds(&watchman, &connection, 20), None);
        open.expect_reading();
        for _ in 0..5 {
            assert_eq!(rounds(&watchman, &connection, 4), None);
            open.moved();
        }
        assert_eq!(rounds(&watchman, &connection, 20), Some(5));
        drop(open);
        drop(connection);
        assert!(watchman.connections().is_empty());
    }
}
