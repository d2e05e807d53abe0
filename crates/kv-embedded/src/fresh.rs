//! A store made at once from what another one held: a snapshot, and a log that goes on behind it.
//!
//! Owns the making of a directory that opens as if it had always been one. Keys keep the revisions that they are given; the
//! store is at a revision of its own, up to which history is forgotten. Until [`Fresh::finish`] the directory holds no
//! store: who makes one brings it to its name afterwards. What was interrupted can be gone on with, by who knows where it
//! came from.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pawl_kv::{Error, Result, Revision};

use crate::clock::{Clock, milliseconds};
use crate::disk::{Directory, Disk, Lock};
use crate::format::{BatchBuilder, Mark, Origin, SegmentHeader, SnapshotEntry};
use crate::frozen::Item;
use crate::log::{MARK, random};
use crate::segment::segment_name;
use crate::snapshot::{SnapshotWriter, UNFINISHED, snapshot_name, snapshot_revision};

/// A store that is being made.
pub struct Fresh {
    disk: Arc<dyn Disk>,
    _lock: Lock,
    writer: SnapshotWriter,
    now: u64,
    last: Vec<u8>,
    newest: Revision,
}

/// The snapshot, for as long as it is no store.
const MAKING: &str = "making.tmp";
/// Where it comes from, if it can be gone on with.
const ORIGIN: &str = "origin.tmp";

impl Fresh {
    /// Begins one in a directory of its own. What an earlier attempt left there goes; nobody else may be at it.
    pub fn create(directory: &Path) -> Result<Self> {
        let (disk, lock) = Directory::open(directory)?;
        Self::begin(disk, lock).map_err(|error| failed("the new directory", &error))
    }

    /// The state of an origin that an earlier attempt was made of, if one was.
    pub fn begun(directory: &Path, origin: &[u8]) -> Result<Option<Revision>> {
        if !directory.is_dir() {
            return Ok(None);
        }
        let (disk, _lock) = Directory::open(directory)?;
        let begun = begun(&*disk, Origin::name(origin)).map_err(|error| failed("the new directory", &error))?;
        Ok(begun.map(|begun| begun.revision))
    }

    /// Goes on with what an earlier attempt made of the same state of the same origin, and hands over the keys that it has
    /// brought; begins where there was none.
    pub fn resume(directory: &Path, origin: &[u8], revision: Revision, take: impl FnMut(Item)) -> Result<Self> {
        let (disk, lock) = Directory::open(directory)?;
        let fresh = Self::resume_on(disk, lock, Origin::name(origin), revision, take);
        fresh.map_err(|error| failed("the new directory", &error))
    }

    fn begin(disk: Arc<dyn Disk>, lock: Lock) -> io::Result<Self> {
        for name in disk.list()? {
            let is_ours = [".log", ".snap", UNFINISHED].iter().any(|end| name.ends_with(end)) || name == MARK;
            if is_ours {
                disk.remove(&name)?;
            }
        }
        let writer = SnapshotWriter::create(&*disk, MAKING)?;
        Ok(Self { disk, _lock: lock, writer, now: Clock::after(None).now(), last: Vec::new(), newest: 0 })
    }

    fn resume_on(
        disk: Arc<dyn Disk>,
        lock: Lock,
        name: u64,
        revision: Revision,
        mut take: impl FnMut(Item),
    ) -> io::Result<Self> {
        let Some(begun) = begun(&*disk, name)?.filter(|begun| begun.revision == revision) else {
            let fresh = Self::begin(disk, lock)?;
            let origin = Origin { salt: fresh.writer.salt(), now: fresh.now, name, revision };
            let file = fresh.disk.create(ORIGIN)?;
            file.write_at(&origin.encode(), 0)?;
            file.sync()?;
            fresh.disk.sync_names()?;
            return Ok(fresh);
        };
        let (now, mut last, mut newest) = (begun.now, Vec::new(), 0);
        let writer = SnapshotWriter::resume(&*disk, MAKING, begun.salt, |entry| {
            entry.key.clone_into(&mut last);
            newest = entry.mod_revision.max(newest);
            take(Item {
                key: Bytes::copy_from_slice(entry.key),
                value: Bytes::copy_from_slice(entry.value),
                create_revision: entry.create_revision,
                mod_revision: entry.mod_revision,
                time_left: entry.deadline.map(|deadline| Duration::from_millis(deadline.saturating_sub(now).max(1))),
            });
        })?;
        Ok(Self { disk, _lock: lock, writer, now, last, newest })
    }

    /// Adds a key. They come in their order.
    pub fn push(
        &mut self,
        key: &[u8],
        value: &[u8],
        (create_revision, mod_revision): (Revision, Revision),
        time_left: Option<Duration>,
    ) -> Result<()> {
        if (!self.last.is_empty() && *self.last >= *key) || create_revision > mod_revision {
            let key = String::from_utf8_lossy(key);
            return Err(Error::Corrupt(format!(
                "{key:?} does not come after the key before it, or has no proper revision"
            )));
        }
        self.last = key.to_owned();
        self.newest = self.newest.max(mod_revision);
        let deadline = time_left.map(|left| self.now.saturating_add(milliseconds(left)).max(1));
        let entry = SnapshotEntry { key, value, create_revision, mod_revision, deadline };
        self.writer.push(&entry).map_err(|error| failed("the new snapshot", &error))
    }

    /// Makes it a store that is at a revision, durably. History up to there is forgotten.
    pub fn finish(mut self, revision: Revision) -> Result<()> {
        if revision < self.newest.max(1) {
            return Err(Error::Corrupt(format!("a key was written at revision {}, after {revision}", self.newest)));
        }
        self.complete(revision).map_err(|error| failed("the new store", &error))
    }

    fn complete(&mut self, revision: Revision) -> io::Result<()> {
        self.writer.finish(revision, revision)?;
        let header = SegmentHeader {
            number: 1,
            salt: random(),
            first_revision: revision + 1,
            previous_end: 0,
            created: self.now,
        };
        let file = self.disk.create(&segment_name(1))?;
        file.write_at(&header.encode(), 0)?;
        // A batch that changes nothing says what time it is: nothing has grown older when the store is opened.
        let mut batch = BatchBuilder::default();
        batch.set_compaction(revision);
        let start = SegmentHeader::SIZE as u64;
        let batch = batch.finish(revision + 1, self.now, header.salt, start);
        let end = start + batch.len() as u64;
        file.write_at(batch, start)?;
        file.sync()?;
        let mark = self.disk.create(MARK)?;
        mark.write_at(&Mark { segment: 1, end, revision }.encode(), 0)?;
        mark.sync()?;
        self.disk.rename(MAKING, &snapshot_name(revision))?;
        self.disk.sync_names()
    }
}

/// What an earlier attempt left that can be gone on with. One that was whole already, and came to no name, is unfinished
/// again.
fn begun(disk: &dyn Disk, name: u64) -> io::Result<Option<Origin>> {
    let names = disk.list()?;
    if !names.iter().any(|name| name == ORIGIN) {
        return Ok(None);
    }
    let mut bytes = [0; Origin::SIZE];
    disk.open(ORIGIN)?.read_at(&mut bytes, 0)?;
    let Some(origin) = Origin::decode(&bytes).filter(|origin| origin.name == name) else { return Ok(None) };
    if let Some(whole) = names.iter().find(|name| snapshot_revision(name).is_some()) {
        disk.rename(whole, MAKING)?;
        return Ok(Some(origin));
    }
    Ok(names.iter().any(|name| name == MAKING).then_some(origin))
}

fn failed(what: &str, error: &io::Error) -> Error {
    Error::Unavailable(format!("writing {what}: {error}"))
}
