//! `pawl snapshot salvage`: what can still be read of a damaged store, as a snapshot or as a new store.

use std::path::Path;

use pawl_kv::Revision;
use pawl_kv_embedded::{Frozen, Lost};
use pawl_snapshot::Head;

use super::restoring::MARGIN;
use super::target::{NewFile, NewStore};
use super::{Progress, Source, each_of_file, now, record, saving};

/// What came of it.
#[derive(Debug)]
pub struct Salvage {
    /// The newest revision that is known of.
    pub revision: Revision,
    pub records: u64,
    /// What is gone.
    pub lost: Vec<Lost>,
    /// The revision of the new store, where one was made.
    pub restored: Option<Revision>,
}

/// Saves what can be read into a new file, or a new data directory: a path that ends with `/` or is a directory. The source
/// is not touched.
pub fn salvage(directory: &Path, to: &Path, progress: Progress<'_>) -> Result<Salvage, String> {
    let Source::Store(store) = Source::at(directory)? else {
        return Err(format!("{} is no directory of a store", directory.display()));
    };
    let is_directory = to.is_dir() || to.as_os_str().as_encoded_bytes().ends_with(b"/");
    let failed = |why: pawl_kv::Error| format!("{}: {why}", store.display());
    let salvaged = Frozen::open(&store).map_err(failed)?.salvage().map_err(failed)?;
    let revision = salvaged.picture.revision;
    let records = salvaged.picture.len() as u64;
    let restored = if is_directory {
        let mut target = NewStore::create(to)?;
        for item in salvaged.picture.items() {
            target.push(&record(item))?;
        }
        target.finish(revision.saturating_add(MARGIN), |_| Ok(()))?;
        Some(revision.saturating_add(MARGIN))
    } else {
        let mut target = NewFile::create(to)?;
        let head = Head { revision, time: now(), ..Head::default() };
        saving::write(&mut target, &head, salvaged.picture.items().map(record), progress)?;
        target.sync()?;
        each_of_file(target.unfinished(), progress, |_, _| Ok(()))?;
        target.finish()?;
        None
    };
    Ok(Salvage { revision, records, lost: salvaged.lost, restored })
}
