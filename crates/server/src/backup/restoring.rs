//! `pawl snapshot restore`: a new store from a snapshot, on a time line of its own.

use std::path::Path;
use std::time::Duration;

use pawl_kv::Revision;
use pawl_snapshot::{Head, Totals};

use super::target::NewStore;
use super::{Progress, each_of_file, now};

/// How far above the snapshot a store begins on a machine whose clock is behind everything.
const MARGIN: Revision = 1_000_000_000_000;

/// Where a store goes on that was made of an older state: at the number of microseconds since 1970. Every store began at such
/// a number or at 1, and none gives out a million revisions a second: so this is above whatever any of them has given out,
/// also above those that were restored from the same state before. A clock that cannot be right is not asked.
pub fn beginning(revision: Revision, now: Duration) -> Revision {
    let microseconds = u64::try_from(now.as_micros()).unwrap_or_default();
    if microseconds > revision { microseconds } else { revision.saturating_add(MARGIN) }
}

/// A store that was restored.
#[derive(Debug)]
pub struct Restored {
    pub head: Head,
    pub totals: Totals,
    /// The revision at which the store is now.
    pub revision: Revision,
}

/// Makes the store of a data directory that has none. Nothing is left of one that fails.
pub fn restore(file: &Path, data_dir: &Path, progress: Progress<'_>) -> Result<Restored, String> {
    let mut store = NewStore::create(data_dir)?;
    match each_of_file(file, progress, |_, record| store.push(&record)) {
        Ok((head, totals)) => {
            let revision = beginning(head.revision, now());
            store.finish(revision, |_| Ok(()))?;
            Ok(Restored { head, totals, revision })
        }
        Err(why) => {
            store.give_up();
            Err(why)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_restored_store_gives_out_what_another_did() {
        let at = |seconds: u64| Duration::from_secs(1_790_000_000 + seconds);
        // The same snapshot again and again, and one of what was restored meanwhile, with writes as fast as they come.
        let first = beginning(192, at(0));
        let reached = first + 100 * 20_000;
        let again = beginning(192, at(100));
        let of_that = beginning(reached, at(101));
        assert!(192 < first && reached < again && again < of_that, "{first} {reached} {again} {of_that}");
        assert!(beginning(192, at(102)) > of_that + 20_000);
        // Clients take them for numbers that are whole in a double.
        assert!(of_that < 1 << 53);
        // Without a clock it is above the snapshot all the same.
        assert_eq!(beginning(192, Duration::ZERO), 192 + MARGIN);
    }
}
