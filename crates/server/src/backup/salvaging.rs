//! `pawl snapshot salvage`: what can still be read of a damaged store, as a snapshot or as a new store.

use std::collections::BTreeSet;
use std::path::Path;

use bytes::Bytes;
use pawl_kv::Revision;
use pawl_kv_embedded::{Frozen, Lost, Salvaged};
use pawl_snapshot::Head;

use super::judging::{Judge, ValueVerdict};
use super::restoring::beginning;
use super::target::{NewFile, NewStore};
use super::{Progress, Source, each_of_file, milliseconds, now, record, saving};

/// What came of it.
#[derive(Debug)]
pub struct Salvage {
    /// The newest revision that is known of.
    pub revision: Revision,
    pub records: u64,
    /// What is gone.
    pub lost: Vec<Lost>,
    /// Keys that were taken from places that fail their checksums, and can be read.
    pub unproven: Vec<String>,
    /// The revision of the new store, where one was made.
    pub restored: Option<Revision>,
}

/// Saves what can be read into a new file, or a new data directory: a path that ends with `/` or is a directory. The source
/// is not touched.
pub async fn salvage(directory: &Path, to: &Path, unproven: bool, progress: Progress<'_>) -> Result<Salvage, String> {
    let Source::Store(store) = Source::at(directory)? else {
        return Err(format!("{} is no directory of a store", directory.display()));
    };
    let is_directory = to.is_dir() || to.as_os_str().as_encoded_bytes().ends_with(b"/");
    let failed = |why: pawl_kv::Error| format!("{}: {why}", store.display());
    let salvaged = Frozen::open(&store).map_err(failed)?.salvage(unproven).map_err(failed)?;
    let revision = salvaged.picture.revision;
    let refused = refused(&salvaged).await?;
    let kept = || salvaged.picture.items().map(record).filter(|record| !refused.contains(&record.key));
    let records = kept().count() as u64;
    let restored = if is_directory {
        let mut target = NewStore::create(to)?;
        for record in kept() {
            target.push(&record)?;
        }
        let begins = beginning(revision, now());
        target.finish(begins, |_| Ok(()))?;
        Some(begins)
    } else {
        let mut target = NewFile::create(to)?;
        let head = Head { revision, time: milliseconds(), ..Head::default() };
        saving::write(&mut target, &head, kept(), progress)?;
        target.sync()?;
        each_of_file(target.unfinished(), progress, |_, _| Ok(()))?;
        target.finish()?;
        None
    };
    let unproven = salvaged.unproven.iter().filter(|key| !refused.contains(*key));
    let unproven = unproven.map(|key| String::from_utf8_lossy(key).into_owned()).collect();
    Ok(Salvage { revision, records, lost: salvaged.lost, unproven, restored })
}

/// The keys of places that do not hold whose values are no objects: nobody wants those.
async fn refused(salvaged: &Salvaged) -> Result<BTreeSet<Bytes>, String> {
    let judge = Judge::new(None).await?;
    let mut refused = BTreeSet::new();
    for item in salvaged.picture.items().filter(|item| salvaged.unproven.contains(&item.key)) {
        let record = record(item);
        if matches!(judge.judge(&record).await, ValueVerdict::Unreadable(_)) {
            refused.insert(record.key);
        }
    }
    Ok(refused)
}
