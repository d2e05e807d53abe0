//! What the controllers have done, counted.

use std::sync::atomic::{AtomicU64, Ordering};

/// What has been done since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Objects that the garbage collector deleted.
    pub collected: u64,
    /// Objects whose references to an owner it took away.
    pub orphaned: u64,
    /// Deletions that liens refused.
    pub held: u64,
    /// Events that were recorded.
    pub events: u64,
    /// Objects that went with their namespace.
    pub namespaced_deleted: u64,
    /// Of these, how many went in spite of liens.
    pub liens_ignored: u64,
    pub namespaces_finalized: u64,
    /// Finalizers that the protection controllers took away.
    pub released: u64,
    /// Objects that were made or put right: accounts, certificates, aggregated roles.
    pub furnished: u64,
    /// What failed and is tried again later.
    pub retries: u64,
}

/// The counting.
#[derive(Debug, Default)]
pub struct Tally {
    pub collected: Count,
    pub orphaned: Count,
    pub held: Count,
    pub events: Count,
    pub namespaced_deleted: Count,
    pub liens_ignored: Count,
    pub namespaces_finalized: Count,
    pub released: Count,
    pub furnished: Count,
    pub retries: Count,
}

#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Tally {
    pub fn read(&self) -> Counters {
        Counters {
            collected: self.collected.get(),
            orphaned: self.orphaned.get(),
            held: self.held.get(),
            events: self.events.get(),
            namespaced_deleted: self.namespaced_deleted.get(),
            liens_ignored: self.liens_ignored.get(),
            namespaces_finalized: self.namespaces_finalized.get(),
            released: self.released.get(),
            furnished: self.furnished.get(),
            retries: self.retries.get(),
        }
    }
}
