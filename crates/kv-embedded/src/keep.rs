//! What must stay although it is old: the history that watchers still have to read, and states that are read in pages.
//!
//! Owns the answer to "how far back is history needed" and a few states of the past. Both are bounded: history by the
//! size that the log may have (compaction decides), states by their number, by time and by what was written since.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pawl_kv::Revision;

use crate::state::Index;

/// The first revision that a watcher has not looked at. History is needed from there on.
pub struct Pin(Arc<AtomicU64>);

impl Pin {
    pub fn advance(&self, next: Revision) {
        self.0.store(next, Ordering::Release);
    }
}

/// All pins.
#[derive(Default)]
pub struct Pins(Mutex<Vec<Weak<AtomicU64>>>);

impl Pins {
    /// Needs history from `next` on, while the pin lives.
    pub fn pin(&self, next: Revision) -> Pin {
        let pin = Arc::new(AtomicU64::new(next));
        let mut pins = self.0.lock();
        // Thousands come and go between two compactions.
        if pins.len() == pins.capacity() {
            pins.retain(|pin| pin.strong_count() > 0);
        }
        pins.push(Arc::downgrade(&pin));
        Pin(pin)
    }

    /// The first revision that somebody still has to read.
    pub fn least(&self) -> Option<Revision> {
        let mut pins = self.0.lock();
        pins.retain(|pin| pin.strong_count() > 0);
        pins.iter().filter_map(|pin| Some(pin.upgrade()?.load(Ordering::Acquire))).min()
    }
}

/// States that are read page by page.
#[derive(Default)]
pub struct Kept(Mutex<Vec<KeptState>>);

/// One of them.
struct KeptState {
    revision: Revision,
    /// Not kept any longer where too much was written since; the history that leads back to it still is.
    index: Option<Index>,
    /// How much had been written to the store when it was kept.
    written: u64,
    used: Instant,
}

impl Kept {
    const MOST: usize = 4;
    /// Who asks for no page in this time has gone away.
    const UNUSED: Duration = Duration::from_secs(10);
    /// A state holds on to what it shares with the present one; that much may have been replaced there.
    const WRITTEN: u64 = 256 << 20;

    /// Keeps a state, in place of the one that was not used for the longest time.
    pub fn keep(&self, revision: Revision, index: Index, written: u64) {
        let mut states = self.0.lock();
        if let Some(state) = states.iter_mut().find(|state| state.revision == revision) {
            if state.index.is_none() {
                *state = KeptState { revision, index: Some(index), written, used: Instant::now() };
            }
            return;
        }
        if states.len() >= Self::MOST {
            let oldest = states.iter().enumerate().min_by_key(|(_, state)| state.used).map(|(place, _)| place);
            oldest.map(|place| states.swap_remove(place));
        }
        states.push(KeptState { revision, index: Some(index), written, used: Instant::now() });
    }

    /// A state that is kept.
    pub fn find(&self, revision: Revision) -> Option<Index> {
        let mut states = self.0.lock();
        let state = states.iter_mut().find(|state| state.revision == revision)?;
        state.used = Instant::now();
        state.index.clone()
    }

    /// Takes out what is not to be kept any longer. To drop it may take a while.
    pub fn stale(&self, written: u64) -> Vec<Option<Index>> {
        let mut states = self.0.lock();
        let much = |state: &&mut KeptState| written.saturating_sub(state.written) > Self::WRITTEN;
        let mut stale: Vec<Option<Index>> = states.iter_mut().filter(much).map(|state| state.index.take()).collect();
        let unused = |state: &mut KeptState| state.used.elapsed() > Self::UNUSED;
        stale.extend(states.extract_if(.., unused).map(|state| state.index));
        stale
    }

    /// The oldest revision that is kept. History is needed from the one after it on.
    pub fn least(&self) -> Option<Revision> {
        self.0.lock().iter().map(|state| state.revision).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_stays_for_who_reads_pages_although_the_state_does_not() {
        let kept = Kept::default();
        kept.keep(7, Index::new(), 0);
        assert!(kept.stale(Kept::WRITTEN).is_empty() && kept.find(7).is_some());
        let dropped = kept.stale(Kept::WRITTEN + 1);
        assert_eq!((dropped.len(), kept.find(7), kept.least()), (1, None, Some(7)));
        // Whoever puts the state together again keeps it for the next page.
        kept.keep(7, Index::new(), Kept::WRITTEN + 1);
        assert!(kept.find(7).is_some());
    }
}
