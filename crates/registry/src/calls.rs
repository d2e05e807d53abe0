//! What wakes watchers: the last few times that something happened in a scope.
//!
//! A watcher that sleeps while nothing happens in its scope keeps a place that the ring soon forgets. When it is called, it
//! learns where the first thing is that it has not been told, and moves there without reading what lies between.

use pawl_kv::Revision;

/// How many calls are remembered.
const KEPT: usize = 8;

/// The newest calls of a scope, oldest first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Calls {
    recent: [Revision; KEPT],
    /// Grows when something may have happened that nobody was called for.
    gaps: u64,
}

/// What a watcher has been called for that it has not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unheard {
    Nothing,
    /// The first of it is at this revision.
    Since(Revision),
    /// There is too much of it to say.
    Unknown,
}

impl Calls {
    pub fn call(&mut self, revision: Revision) {
        if self.newest() != revision {
            self.recent.rotate_left(1);
            if let Some(newest) = self.recent.last_mut() {
                *newest = revision;
            }
        }
    }

    pub fn gap(&mut self) {
        self.gaps += 1;
    }

    fn newest(&self) -> Revision {
        self.recent.last().copied().unwrap_or(0)
    }

    /// What came after earlier calls.
    pub fn since(&self, heard: Option<&Self>) -> Unheard {
        let Some(heard) = heard.filter(|heard| heard.gaps == self.gaps) else { return Unheard::Unknown };
        let mut unheard = self.recent.iter().copied().filter(|call| *call > heard.newest());
        match unheard.next() {
            None => Unheard::Nothing,
            // Were all of them new, there may have been more before them.
            Some(_) if unheard.count() + 1 == KEPT => Unheard::Unknown,
            Some(first) => Unheard::Since(first),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_call_that_was_not_heard_is_known_as_long_as_there_are_few() {
        let mut calls = Calls::default();
        calls.call(3);
        let heard = calls;
        assert_eq!(calls.since(Some(&heard)), Unheard::Nothing);
        for revision in 5..12 {
            calls.call(revision);
            calls.call(revision);
            assert_eq!(calls.since(Some(&heard)), Unheard::Since(5));
        }
        calls.call(12);
        assert_eq!(calls.since(Some(&heard)), Unheard::Unknown);
        let heard = calls;
        calls.gap();
        assert_eq!(calls.since(Some(&heard)), Unheard::Unknown);
        assert_eq!(calls.since(None), Unheard::Unknown);
    }
}
