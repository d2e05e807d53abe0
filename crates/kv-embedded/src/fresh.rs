//! A store made at once from what another one held: a snapshot, and a log that goes on behind it.
//!
//! Owns the making of a directory that opens as if it had always been one. Keys keep the revisions that they are given; the
//! store is at a revision of its own, up to which history is forgotten. Until [`Fresh::finish`] the directory holds no
//! store: who makes one brings it to its name afterwards.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pawl_kv::{Error, Result, Revision};

use crate::clock::{Clock, milliseconds};
use crate::disk::{Directory, Disk, Lock};
use crate::format::{BatchBuilder, Mark, SegmentHeader, SnapshotEntry};
use crate::log::{MARK, random};
use crate::segment::segment_name;
use crate::snapshot::{SnapshotWriter, UNFINISHED, snapshot_name};

/// A store that is being made.
pub struct Fresh {
    disk: Arc<dyn Disk>,
    _lock: Option<Lock>,
    writer: SnapshotWriter,
    now: u64,
    last: Vec<u8>,
    newest: Revision,
}

const NAME: &str = "making";

impl Fresh {
    /// Begins one in a directory of its own. What an earlier attempt left there goes; nobody else may be at it.
    pub fn create(directory: &Path) -> Result<Self> {
        let (disk, lock) = Directory::open(directory)?;
        let failed = |error| failed("the new directory", &error);
        for name in disk.list().map_err(failed)? {
            let is_ours = [".log", ".snap", UNFINISHED].iter().any(|end| name.ends_with(end)) || name == MARK;
            if is_ours {
                disk.remove(&name).map_err(failed)?;
            }
        }
        Self::on(disk, Some(lock))
    }

    fn on(disk: Arc<dyn Disk>, lock: Option<Lock>) -> Result<Self> {
        let writer = SnapshotWriter::create(&*disk, &format!("{NAME}{UNFINISHED}"));
        let writer = writer.map_err(|error| failed("the new snapshot", &error))?;
        Ok(Self { disk, _lock: lock, writer, now: Clock::after(None).now(), last: Vec::new(), newest: 0 })
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
        self.disk.rename(&format!("{NAME}{UNFINISHED}"), &snapshot_name(revision))?;
        self.disk.sync_names()
    }
}

fn failed(what: &str, error: &io::Error) -> Error {
    Error::Unavailable(format!("writing {what}: {error}"))
}
