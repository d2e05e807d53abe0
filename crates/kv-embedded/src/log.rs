//! The end of the log that is written to.
//!
//! Owns the active segment and the mark of acknowledgement. It promises that a batch begins only after everything before
//! it is durable, which is what recovery reasons from; it refuses to go on after a failure, by being dropped.

use std::io;
use std::sync::Arc;

use pawl_kv::Revision;

use crate::disk::{Disk, DiskFile};
use crate::format::{BatchBuilder, Mark, SegmentHeader};
use crate::segment::{Segment, Segments, segment_name};

/// The file of the mark.
pub const MARK: &str = "acknowledged";

/// Why a batch did not become durable.
#[derive(Debug)]
pub enum AppendError {
    /// Not a byte of it was written.
    NotBegun(String),
    /// It may turn out to be whole when the log is opened again.
    Unknown(String),
}

/// Where the log of an earlier process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    pub next_segment: u64,
    pub previous_end: u64,
}

impl Tail {
    /// Gives back the space that was reserved behind the end. Whether that survives a crash does not matter.
    fn cut(self, disk: &dyn Disk) {
        if self.next_segment > 1 {
            let cut = disk.open(&segment_name(self.next_segment - 1)).and_then(|file| file.truncate(self.previous_end));
            if let Err(error) = cut {
                tracing::debug!(%error, "an ended segment could not be cut to its size");
            }
        }
    }
}

pub struct Log {
    disk: Arc<dyn Disk>,
    segments: Arc<Segments>,
    segment_bytes: u64,
    tail: Tail,
    active: Option<Active>,
    mark: Option<Arc<dyn DiskFile>>,
}

struct Active {
    file: Arc<dyn DiskFile>,
    number: u64,
    salt: u64,
    end: u64,
}

impl Log {
    /// Continues after `tail`. No file is made before there is something to write.
    pub fn new(disk: Arc<dyn Disk>, segments: Arc<Segments>, segment_bytes: u64, tail: Tail) -> Self {
        Self { disk, segments, segment_bytes, tail, active: None, mark: None }
    }

    /// Writes a batch and makes it durable.
    pub fn append(
        &mut self,
        batch: &mut BatchBuilder,
        first_revision: Revision,
        next_revision: Revision,
        time: u64,
    ) -> Result<(), AppendError> {
        let size = batch.pad();
        let active = self
            .room_for(size, first_revision, time)
            .map_err(|error| AppendError::NotBegun(format!("making a new log segment failed: {error}")))?;
        let name = || segment_name(active.number);
        active
            .file
            .write_at(batch.finish(first_revision, time, active.salt, active.end), active.end)
            .map_err(|error| AppendError::Unknown(format!("writing to {} failed: {error}", name())))?;
        active.file.sync().map_err(|error| AppendError::Unknown(format!("syncing {} failed: {error}", name())))?;
        active.end += size;
        let mark = Mark { segment: active.number, end: active.end, revision: next_revision - 1 };
        if let Some(segment) = self.segments.0.lock().back_mut() {
            segment.extend(first_revision, next_revision, size, time);
        }
        self.acknowledge(mark);
        Ok(())
    }

    /// Ends the log in good order: from here on, recovery can tell any damage from an unfinished write.
    pub fn close(&mut self) {
        if let Some(mark) = &self.mark
            && let Err(error) = mark.sync()
        {
            tracing::warn!(%error, "the mark of acknowledgement could not be synced");
        }
    }

    /// The mark is what tells a torn tail from damage after this process has ended. It is not synced: the page cache
    /// outlives the process, and when the machine goes down a mark that is behind is still true.
    fn acknowledge(&self, mark: Mark) {
        if let Some(file) = &self.mark
            && let Err(error) = file.write_at(&mark.encode(), 0)
        {
            tracing::warn!(%error, "the mark of acknowledgement could not be written");
        }
    }

    fn room_for(&mut self, size: u64, first_revision: Revision, time: u64) -> io::Result<&mut Active> {
        let full = |active: &Active| active.end + size > self.segment_bytes && active.end > SegmentHeader::SIZE as u64;
        if let Some(ended) = self.active.take_if(|active| full(active)) {
            self.tail = Tail { next_segment: ended.number + 1, previous_end: ended.end };
        }
        match &mut self.active {
            Some(active) => Ok(active),
            none => {
                let header = SegmentHeader {
                    number: self.tail.next_segment,
                    salt: random(),
                    first_revision,
                    previous_end: self.tail.previous_end,
                    created: time,
                };
                if self.mark.is_none() {
                    self.mark = Some(open_or_create(&*self.disk, MARK)?);
                }
                let file = self.disk.create(&segment_name(header.number))?;
                let end = SegmentHeader::SIZE as u64;
                file.reserve(self.segment_bytes.max(end + size))?;
                file.write_at(&header.encode(), 0)?;
                file.sync()?;
                self.disk.sync_names()?;
                self.tail.cut(&*self.disk);
                self.segments.0.lock().push_back(Segment::new(&header));
                Ok(none.insert(Active { file, number: header.number, salt: header.salt, end }))
            }
        }
    }
}

fn open_or_create(disk: &dyn Disk, name: &str) -> io::Result<Arc<dyn DiskFile>> {
    match disk.open(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => disk.create(name),
        other => other,
    }
}

/// A number that nobody can guess, from the source that keeps the standard hash maps safe.
pub fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0_u8)
}
