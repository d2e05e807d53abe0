//! The end of the log that is written to.
//!
//! Owns the active segment and the mark of acknowledgement. It promises that a batch begins only after everything before
//! it is durable, which is what recovery reasons from. After a write or a sync that failed it never goes on in the same
//! segment: the next one says where this one ends, so what is left of the failed batch is nothing that ever happened.

use std::io;
use std::sync::Arc;

use pawl_kv::Revision;

use crate::disk::{Disk, DiskFile};
use crate::format::{BatchBuilder, Mark, SegmentHeader};
use crate::segment::{Segment, Segments, segment_name};
use crate::spare::{Room, Spare};

/// The file of the mark.
pub const MARK: &str = "acknowledged";

/// Why a batch did not become durable.
#[derive(Debug)]
pub enum AppendError {
    /// Not a byte of it was written.
    NotBegun(String),
    /// It may turn out to be whole when the log is opened again, unless this process goes on before.
    Unknown(String),
}

/// Where the log of an earlier process, or of an earlier segment, ended.
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

/// How much room there is for the next batch.
pub enum LogRoom {
    Enough,
    /// So many bytes.
    Little(u64),
    /// So many bytes, which are kept for deletions, and why.
    ForDeletions(u64, String),
}

pub struct Log {
    disk: Arc<dyn Disk>,
    segments: Arc<Segments>,
    spare: Arc<Spare>,
    tail: Tail,
    active: Option<Active>,
    /// The size of a batch that there was no room for.
    wanted: u64,
    mark: Option<Arc<dyn DiskFile>>,
}

struct Active {
    file: Arc<dyn DiskFile>,
    number: u64,
    salt: u64,
    end: u64,
    /// How much of the file is reserved.
    size: u64,
}

impl Log {
    /// Continues after `tail`. No file is made before there is something to write.
    pub fn new(disk: Arc<dyn Disk>, segments: Arc<Segments>, spare: Arc<Spare>, tail: Tail) -> Self {
        Self { disk, segments, spare, tail, active: None, wanted: 0, mark: None }
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
        self.wanted = size;
        let not_begun = |error: io::Error| AppendError::NotBegun(error.to_string());
        self.disk.check_ours().map_err(not_begun)?;
        let active = self.room_for(size, first_revision, time).map_err(not_begun)?;
        let name = || segment_name(active.number);
        let written = active
            .file
            .write_at(batch.finish(first_revision, time, active.salt, active.end), active.end)
            .map_err(|error| format!("writing to {} failed: {error}", name()))
            .and_then(|()| active.file.sync().map_err(|error| format!("syncing {} failed: {error}", name())));
        if let Err(reason) = written {
            self.tail = active.tail();
            self.active = None;
            return Err(AppendError::Unknown(reason));
        }
        active.end += size;
        let mark = Mark { segment: active.number, end: active.end, revision: next_revision - 1 };
        self.segments.extend(first_revision, next_revision, size, time);
        self.acknowledge(mark);
        Ok(())
    }

    /// Makes sure that there is a segment to write to, and that the one before it still holds what it should.
    pub fn mend(&mut self, first_revision: Revision, time: u64) -> Result<(), String> {
        self.disk.check_ours().map_err(|error| error.to_string())?;
        if self.active.is_none()
            && let Some(acknowledged) = self.segments.acknowledged(self.tail.next_segment - 1)
        {
            acknowledged.read(&*self.disk, |_, _| Some(())).map_err(|error| error.to_string())?;
        }
        self.room_for(self.wanted, first_revision, time).map(|_| ()).map_err(|error| error.to_string())
    }

    /// How large the next batch may be. When no segment can follow, the end of this one is kept for deletions.
    pub fn room(&self) -> LogRoom {
        let Some(active) = &self.active else { return LogRoom::Enough };
        let left = active.size.saturating_sub(active.end);
        let room = left.saturating_sub(active.size / 4);
        if room == 0 {
            // The last word before somebody is refused: whoever makes the spare may be late.
            self.spare.refill();
        }
        match self.spare.full() {
            None => LogRoom::Enough,
            Some(_) if room > 0 => LogRoom::Little(room),
            Some(why) => LogRoom::ForDeletions(left / 2, why),
        }
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

    /// The segment for a batch of this size. One that is full ends only once there is another.
    fn room_for(&mut self, size: u64, first_revision: Revision, time: u64) -> io::Result<&mut Active> {
        let fits = |active: &Active| active.end + size <= active.size || active.end == SegmentHeader::SIZE as u64;
        if !self.active.as_ref().is_some_and(fits) {
            let tail = self.active.as_ref().map_or(self.tail, Active::tail);
            let made = self.make_segment(tail, size, first_revision, time)?;
            self.tail = tail;
            self.active = Some(made);
        }
        self.active.as_mut().ok_or_else(|| io::Error::other("there is no segment"))
    }

    fn make_segment(&mut self, tail: Tail, size: u64, first_revision: Revision, time: u64) -> io::Result<Active> {
        let header = SegmentHeader {
            number: tail.next_segment,
            salt: random(),
            first_revision,
            previous_end: tail.previous_end,
            created: time,
        };
        let name = segment_name(header.number);
        let failed = |error: io::Error| io::Error::other(format!("making the log segment {name}: {error}"));
        if self.mark.is_none() {
            self.mark = Some(open_or_create(&*self.disk, MARK).map_err(failed)?);
        }
        let end = SegmentHeader::SIZE as u64;
        let Room { file, size } = self.spare.make(&name, &header.encode(), end + size).map_err(failed)?;
        tail.cut(&*self.disk);
        self.segments.push(Segment::new(&header, Some(Arc::clone(&file))));
        Ok(Active { file, number: header.number, salt: header.salt, end, size })
    }
}

impl Active {
    /// What the next segment says of this one.
    fn tail(&self) -> Tail {
        Tail { next_segment: self.number + 1, previous_end: self.end }
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
