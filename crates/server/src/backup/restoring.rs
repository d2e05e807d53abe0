//! `pawl snapshot restore`: a new store from a snapshot, on a time line of its own.

use std::path::Path;

use pawl_kv::Revision;
use pawl_snapshot::{Head, Totals};

use super::target::NewStore;
use super::{Progress, each_of_file};

/// How far above the snapshot a restored store begins. Clients may have seen revisions that came after the snapshot; at
/// twenty thousand writes a second these are the revisions of a year and a half.
pub const MARGIN: Revision = 1_000_000_000_000;

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
            let revision = head.revision.saturating_add(MARGIN);
            store.finish(revision, |_| Ok(()))?;
            Ok(Restored { head, totals, revision })
        }
        Err(why) => {
            store.give_up();
            Err(why)
        }
    }
}
