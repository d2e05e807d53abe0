//! Bookmarks: how often a watch says how far it is, and which place it may name.

use std::time::Duration;

use pawl_kv::Revision;
use tokio::time::Instant;

use crate::calls::{Calls, Unheard};

/// Upstream's rhythm is about a minute.
const EVERY: Duration = Duration::from_secs(60);

/// When the next bookmark of a watch is due; never where nobody wants any.
pub(crate) struct Bookmarks {
    next: Option<Instant>,
}

impl Bookmarks {
    pub(crate) fn new(wanted: bool) -> Self {
        Self { next: wanted.then(|| Instant::now() + EVERY) }
    }

    /// Waits until one is due.
    pub(crate) async fn due(&mut self) {
        match self.next {
            None => std::future::pending().await,
            Some(at) => tokio::time::sleep_until(at).await,
        }
        self.next = Some(Instant::now() + EVERY);
    }
}

/// The place that a bookmark names: everything up to it has been told. None while there are calls that were not heard.
/// `called` was read before `calls`: whoever has been called up to a revision finds it among the calls.
pub(crate) fn place(cursor: Revision, called: Revision, calls: &Calls, heard: Option<&Calls>) -> Option<Revision> {
    (calls.since(heard) == Unheard::Nothing).then(|| cursor.max(called))
}
