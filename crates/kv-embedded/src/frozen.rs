//! A store that nobody has open, looked at and not touched: nothing is made, mended or removed in its directory.
//!
//! Owns the reading of what is there. It refuses a directory that a process has open, and one that holds no store.

use std::fs::{File, TryLockError};
use std::io;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pawl_kv::{Error, Result, Revision};
use rustix::fs::{Mode, OFlags};

use crate::disk::{Disk, DiskFile};
use crate::recovery;
use crate::salvage::{self, Salvaged};
use crate::segment::{segment_name, segment_number};
use crate::snapshot::snapshot_revision;
use crate::state::Index;

/// A store that stays as it is.
pub struct Frozen {
    disk: Arc<dyn Disk>,
    _locks: Vec<File>,
}

/// What a store holds.
pub struct Picture {
    pub revision: Revision,
    /// History reaches back to the revision after this one.
    pub compacted: Revision,
    /// The log, oldest first.
    pub segments: Vec<SegmentInfo>,
    /// The revision and the size of the snapshot of the store, if it has one.
    pub snapshot: Option<(Revision, u64)>,
    now: u64,
    index: Index,
}

/// A piece of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentInfo {
    pub file: String,
    pub first_revision: Revision,
    /// The revision that follows the last one.
    pub next_revision: Revision,
    pub bytes: u64,
    /// When the last of it was written, in milliseconds since the Unix epoch.
    pub newest: u64,
}

/// A key of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub key: Bytes,
    pub value: Bytes,
    pub create_revision: Revision,
    pub mod_revision: Revision,
    pub time_left: Option<Duration>,
}

impl Frozen {
    /// Finds the store in a directory, and keeps others out of it.
    pub fn open(directory: &Path) -> Result<Self> {
        let failed = |error: &io::Error| Error::Unavailable(format!("reading {}: {error}", directory.display()));
        let handle = File::open(directory).map_err(|error| failed(&error))?;
        let disk = ReadOnly(handle.try_clone().map_err(|error| failed(&error))?);
        let lock = rustix::fs::openat(&handle, "lock", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let locks: Vec<File> = [Some(handle), lock.ok().map(File::from)].into_iter().flatten().collect();
        for held in &locks {
            held.try_lock().map_err(|error| match error {
                TryLockError::WouldBlock => Error::Unavailable(format!(
                    "the data directory {} is in use by another server",
                    directory.display()
                )),
                TryLockError::Error(error) => failed(&error),
            })?;
        }
        let is_store = |name: &String| segment_number(name).is_some() || snapshot_revision(name).is_some();
        if !disk.list().map_err(|error| failed(&error))?.iter().any(is_store) {
            return Err(Error::Unavailable(format!("{} holds no store", directory.display())));
        }
        Ok(Self { disk: Arc::new(disk), _locks: locks })
    }

    /// The store on a disk that is not a directory.
    #[cfg(feature = "testing")]
    pub fn on(disk: Arc<dyn Disk>) -> Self {
        Self { disk, _locks: Vec::new() }
    }

    /// Everything in it. Whatever does not hold is an error that names it, as when the store is opened to be used.
    pub fn picture(&self) -> Result<Picture> {
        let recovered = recovery::look(&*self.disk)?;
        let segments = recovered.segments.iter().map(|segment| SegmentInfo {
            file: segment_name(segment.number),
            first_revision: segment.first_revision,
            next_revision: segment.next_revision,
            bytes: segment.end,
            newest: segment.newest,
        });
        let segments: Vec<SegmentInfo> = segments.collect();
        let snapshot = (recovered.snapshot > 0).then(|| {
            let file = self.disk.open(&crate::snapshot::snapshot_name(recovered.snapshot));
            (recovered.snapshot, file.and_then(|file| file.size()).unwrap_or_default())
        });
        let now = segments.iter().map(|segment| segment.newest).max().unwrap_or_default();
        let state = recovered.state;
        Ok(Picture {
            revision: state.revision,
            compacted: state.compacted,
            segments,
            snapshot,
            now,
            index: state.index,
        })
    }

    /// Whatever can still be read, and what cannot. With `unproven` also what can be made out in places that fail their
    /// checksums: one damaged byte leaves most of such a place as it was.
    pub fn salvage(&self, unproven: bool) -> Result<Salvaged> {
        salvage::salvage(&*self.disk, unproven)
    }
}

impl Picture {
    pub(crate) fn of(index: Index, revision: Revision, now: u64) -> Self {
        Self { revision, compacted: revision, segments: Vec::new(), snapshot: None, now, index }
    }

    pub fn len(&self) -> usize {
        self.index.len()
    }

    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// What a key holds.
    pub fn value(&self, key: &[u8]) -> Option<Bytes> {
        self.index.get(key).map(|entry| entry.value.clone())
    }

    /// All keys, in order.
    pub fn items(&self) -> impl Iterator<Item = Item> + '_ {
        self.items_after(None)
    }

    /// The keys behind one, in order.
    pub fn items_after(&self, after: Option<&Bytes>) -> impl Iterator<Item = Item> + '_ {
        let from = after.map_or(Bound::Unbounded, |key| Bound::Excluded(key.clone()));
        self.index.range((from, Bound::Unbounded)).map(|(key, entry)| Item {
            key: key.clone(),
            value: entry.value.clone(),
            create_revision: entry.create_revision,
            mod_revision: entry.mod_revision,
            time_left: entry.deadline.map(|deadline| Duration::from_millis(deadline.saturating_sub(self.now).max(1))),
        })
    }
}

/// A directory in which nothing is changed.
struct ReadOnly(File);

fn refused() -> io::Error {
    io::Error::from(io::ErrorKind::ReadOnlyFilesystem)
}

impl Disk for ReadOnly {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            names.extend(entry?.file_name().to_str().ok().map(str::to_owned));
        }
        Ok(names)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let file = rustix::fs::openat(&self.0, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Arc::new(File::from(file)))
    }

    fn create(&self, _: &str) -> io::Result<Arc<dyn DiskFile>> {
        Err(refused())
    }

    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        Err(refused())
    }

    fn remove(&self, _: &str) -> io::Result<()> {
        Err(refused())
    }

    fn sync_names(&self) -> io::Result<()> {
        Err(refused())
    }

    fn free(&self) -> io::Result<u64> {
        Ok(0)
    }

    fn check_ours(&self) -> io::Result<()> {
        Ok(())
    }
}
