//! What commands do with everything that is stored at once: save it, restore it, look into it, prove it, bring it elsewhere.
//!
//! Owns files and directories of snapshots, and the words for what is wrong with them. What is written comes to its name
//! only when it is whole and on the disk; what is read is not touched.

mod inspecting;
mod judging;
mod migrating;
mod restoring;
mod salvaging;
mod saving;
mod target;
mod verifying;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pawl_kv_embedded::{Frozen, Item, Picture};
use pawl_snapshot::{Decoder, Fault, Head, Record};

pub use inspecting::{Inspection, inspect, shown_time, shown_uid};
pub use migrating::{Migrated, migrate, restore_into};
pub use restoring::{Restored, restore};
pub use salvaging::{Salvage, salvage};
pub use saving::{Saved, save};
pub use verifying::{Verified, verify};

/// Told how much is done, and of how much where that is known.
pub type Progress<'p> = &'p mut dyn FnMut(u64, Option<u64>);

/// The directory of the store below a data directory.
const STORE: &str = "store";
/// Where a store is made that is not whole yet.
pub(crate) const UNFINISHED: &str = "store.restoring";

/// What is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file that `save` made.
    Snapshot(PathBuf),
    /// The directory of a store that no server has open.
    Store(PathBuf),
}

impl Source {
    /// What stands at a path: a snapshot, a data directory, or the store in one.
    pub fn at(path: &Path) -> Result<Self, String> {
        let found = std::fs::metadata(path).map_err(|why| format!("{}: {why}", path.display()))?;
        if !found.is_dir() {
            return Ok(Self::Snapshot(path.to_owned()));
        }
        let below = path.join(STORE);
        Ok(Self::Store(if below.is_dir() { below } else { path.to_owned() }))
    }
}

/// A snapshot that is being read, with the size of its file.
fn open_file(path: &Path) -> Result<(Decoder<BufReader<File>>, u64), String> {
    let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let file = File::open(path).map_err(|why| failed(&why))?;
    let size = file.metadata().map_err(|why| failed(&why))?.len();
    let decoder = Decoder::open(BufReader::with_capacity(1 << 20, file)).map_err(|why| failed(&why))?;
    Ok((decoder, size))
}

/// Hands over every record of a snapshot, which must be whole. What is wrong with it ends that, also at its very end.
fn each_of_file(
    path: &Path,
    progress: Progress<'_>,
    mut take: impl FnMut(&Head, Record) -> Result<(), String>,
) -> Result<(Head, pawl_snapshot::Totals), String> {
    let (mut decoder, size) = open_file(path)?;
    let head = decoder.head().clone();
    loop {
        let block = decoder.next_block().map_err(|why: Fault| format!("{}: {why}", path.display()))?;
        let Some(records) = block else { return Ok((head, decoder.totals())) };
        for record in records {
            take(&head, record)?;
        }
        progress(decoder.offset(), Some(size));
    }
}

/// What a store holds that nobody has open.
fn picture(directory: &Path) -> Result<Picture, String> {
    let failed = |why: pawl_kv::Error| format!("{}: {why}", directory.display());
    Frozen::open(directory).map_err(failed)?.picture().map_err(failed)
}

fn record(item: Item) -> Record {
    let Item { key, value, create_revision, mod_revision, time_left } = item;
    Record { key, value, create_revision, mod_revision, time_left }
}

/// Since the Unix epoch, by the clock of this machine.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The same, as snapshots note it.
fn milliseconds() -> u64 {
    u64::try_from(now().as_millis()).unwrap_or(u64::MAX)
}
