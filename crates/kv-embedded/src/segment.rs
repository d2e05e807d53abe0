//! Segments of the log: their names, what is known of each in memory, and reading them back.
//!
//! Owns the walk over batches and the way from a revision to a place in a file. It decides nothing about damage: a batch
//! that does not hold is reported with its place, and the caller knows whether that batch had been acknowledged. Files
//! stay open: history can be read when the process has no descriptor left, and to its end when it is being forgotten.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use pawl_kv::{Error, Result, Revision};

use crate::disk::{Disk, DiskFile};
use crate::format::{BatchHeader, BatchKind, FORMAT_VERSION, Operation, Operations, SegmentHeader};

pub fn segment_name(number: u64) -> String {
    format!("{number:016}.log")
}

pub fn segment_number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".log")?;
    (digits.len() == 16).then(|| digits.parse().ok())?
}

/// Damage at a place in a file.
pub fn corrupt(name: &str, offset: u64, what: &str) -> Error {
    Error::Corrupt(format!("{name} at byte {offset}: {what}"))
}

/// A file of a format that was not known when this was written.
pub fn newer(name: &str, found: u32) -> Error {
    Error::Newer { file: name.to_owned(), found, known: FORMAT_VERSION }
}

pub fn unreadable(name: &str, error: &io::Error) -> Error {
    Error::Unavailable(format!("reading {name}: {error}"))
}

/// What is known of a segment: only batches that are acknowledged.
#[derive(Clone)]
pub struct Segment {
    pub number: u64,
    pub salt: u64,
    pub first_revision: Revision,
    /// The revision that follows the last one in here.
    pub next_revision: Revision,
    /// Where the last batch ends.
    pub end: u64,
    /// When the last batch was written, in milliseconds since the Unix epoch.
    pub newest: u64,
    /// Open, unless there are too many segments for that.
    file: Option<Arc<dyn DiskFile>>,
    /// Batches at some distance from each other: first revision and offset.
    waypoints: Vec<(Revision, u64)>,
}

impl Segment {
    /// How far apart waypoints are: finding a revision reads this much in vain at most, beside one batch.
    const STRIDE: u64 = 64 << 10;

    pub fn new(header: &SegmentHeader, file: Option<Arc<dyn DiskFile>>) -> Self {
        Self {
            number: header.number,
            salt: header.salt,
            first_revision: header.first_revision,
            next_revision: header.first_revision,
            end: SegmentHeader::SIZE as u64,
            newest: header.created,
            file,
            waypoints: Vec::new(),
        }
    }

    /// Takes note of a batch that stands at the present end.
    pub fn extend(&mut self, first_revision: Revision, next_revision: Revision, size: u64, time: u64) {
        if self.waypoints.last().is_none_or(|(_, offset)| self.end - offset >= Self::STRIDE) {
            self.waypoints.push((first_revision, self.end));
        }
        self.next_revision = next_revision;
        self.end += size;
        self.newest = self.newest.max(time);
    }

    /// The block that holds `revision`, which lies in here.
    fn block(&self, revision: Revision) -> Block {
        let after = self.waypoints.partition_point(|(first, _)| *first <= revision);
        let waypoint = after.checked_sub(1).and_then(|before| self.waypoints.get(before));
        let start = waypoint.map_or(SegmentHeader::SIZE as u64, |(_, offset)| *offset);
        let (next_revision, end) = self.waypoints.get(after).copied().unwrap_or((self.next_revision, self.end));
        Block { segment: self.number, salt: self.salt, start, end, next_revision, file: self.file.clone() }
    }

    /// All of it as one block.
    fn whole(&self) -> Block {
        Block {
            segment: self.number,
            salt: self.salt,
            start: SegmentHeader::SIZE as u64,
            end: self.end,
            next_revision: self.next_revision,
            file: self.file.clone(),
        }
    }
}

/// A run of acknowledged batches in a segment: what is read at a time.
pub struct Block {
    pub segment: u64,
    salt: u64,
    pub start: u64,
    pub end: u64,
    /// The revision that follows the last one in here.
    pub next_revision: Revision,
    file: Option<Arc<dyn DiskFile>>,
}

impl Block {
    /// Hands over every operation in here with its revision. `None` says that one makes no sense.
    pub fn read(&self, disk: &dyn Disk, mut take: impl FnMut(Revision, &Operation<'_>) -> Option<()>) -> Result<()> {
        let name = segment_name(self.segment);
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => disk.open(&name).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => Error::Lagged,
                _ => unreadable(&name, &error),
            })?,
        };
        let mut reader = SegmentReader::new(file, self.salt, self.start, self.end);
        loop {
            match reader.next_batch().map_err(|error| unreadable(&name, &error))? {
                Found::End => return Ok(()),
                Found::Bad { offset } => return Err(corrupt(&name, offset, "an acknowledged batch does not hold")),
                Found::Batch { header, .. } if header.kind == BatchKind::Compaction => {}
                Found::Batch { header, payload, offset } => {
                    for (revision, operation) in (header.first_revision..).zip(Operations::new(&header, payload)) {
                        let taken = operation.ok().and_then(|operation| take(revision, &operation));
                        taken.ok_or_else(|| corrupt(&name, offset, "a batch that makes no sense"))?;
                    }
                }
            }
        }
    }
}

/// What a walk over a segment comes upon.
pub enum Found<'a> {
    /// A batch that holds, at this offset.
    Batch { header: BatchHeader, payload: &'a [u8], offset: u64 },
    /// The end that was given, reached exactly.
    End,
    /// Something at this offset that is not a whole batch.
    Bad { offset: u64 },
}

/// Walks over the batches of a segment.
pub struct SegmentReader {
    file: Arc<dyn DiskFile>,
    salt: u64,
    offset: u64,
    end: u64,
    buffer: Vec<u8>,
    buffered_at: u64,
}

impl SegmentReader {
    const CHUNK: usize = 256 << 10;

    pub fn new(file: Arc<dyn DiskFile>, salt: u64, offset: u64, end: u64) -> Self {
        Self { file, salt, offset, end, buffer: Vec::new(), buffered_at: 0 }
    }

    pub fn next_batch(&mut self) -> io::Result<Found<'_>> {
        let (offset, salt) = (self.offset, self.salt);
        if offset == self.end {
            return Ok(Found::End);
        }
        let head = self.bytes(offset, BatchHeader::SIZE)?;
        let Some(header) = BatchHeader::decode(head, salt, offset) else { return Ok(Found::Bad { offset }) };
        if header.size() > self.end.saturating_sub(offset) {
            return Ok(Found::Bad { offset });
        }
        self.offset = offset + header.size();
        let payload = self.bytes(offset + BatchHeader::SIZE as u64, header.length as usize)?;
        if header.matches(payload, salt, offset) {
            Ok(Found::Batch { header, payload, offset })
        } else {
            Ok(Found::Bad { offset })
        }
    }

    /// These bytes of the file, or as many of them as there are.
    fn bytes(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
        let buffered_end = self.buffered_at + self.buffer.len() as u64;
        if offset < self.buffered_at || offset + length as u64 > buffered_end {
            // Never past the end: what lies there is somebody's unfinished write.
            let left = usize::try_from(self.end.saturating_sub(offset)).unwrap_or(usize::MAX);
            self.buffer.resize(length.max(Self::CHUNK).min(left), 0);
            let read = self.file.read_at(&mut self.buffer, offset)?;
            self.buffer.truncate(read);
            self.buffered_at = offset;
        }
        let start = (offset - self.buffered_at) as usize;
        let available = self.buffer.get(start..).unwrap_or_default();
        Ok(available.get(..length).unwrap_or(available))
    }
}

/// The segments there are, oldest first.
#[derive(Default)]
pub struct Segments(Mutex<VecDeque<Segment>>);

impl Segments {
    /// So many files stay open.
    const OPEN: usize = 64;

    pub fn new(segments: VecDeque<Segment>) -> Self {
        let all = Self::default();
        segments.into_iter().for_each(|segment| all.push(segment));
        all
    }

    /// Adds the newest one.
    pub fn push(&self, segment: Segment) {
        let mut segments = self.0.lock();
        segments.push_back(segment);
        let closed = segments.len().checked_sub(Self::OPEN + 1).and_then(|older| segments.get_mut(older));
        if let Some(older) = closed {
            older.file = None;
        }
    }

    /// Takes note of a batch at the end of the newest one.
    pub fn extend(&self, first_revision: Revision, next_revision: Revision, size: u64, time: u64) {
        if let Some(newest) = self.0.lock().back_mut() {
            newest.extend(first_revision, next_revision, size, time);
        }
    }

    pub fn look<T>(&self, at: impl FnOnce(&VecDeque<Segment>) -> T) -> T {
        at(&self.0.lock())
    }

    /// The number of the oldest one, when it ends before this revision and is not the newest.
    pub fn oldest_before(&self, revision: Revision) -> Option<u64> {
        let segments = self.0.lock();
        let oldest = segments.front().filter(|oldest| oldest.next_revision <= revision && segments.len() > 1)?;
        Some(oldest.number)
    }

    /// Forgets the oldest one.
    pub fn drop_oldest(&self) {
        self.0.lock().pop_front();
    }

    /// Where `revision` stands in the log; `None` when it is forgotten.
    pub fn locate(&self, revision: Revision) -> Option<Block> {
        let segments = self.0.lock();
        let index = segments.partition_point(|segment| segment.next_revision <= revision);
        let segment = segments.get(index).filter(|segment| segment.first_revision <= revision)?;
        Some(segment.block(revision))
    }

    /// Everything that was acknowledged in a segment.
    pub fn acknowledged(&self, number: u64) -> Option<Block> {
        let segments = self.0.lock();
        segments.iter().rev().find(|segment| segment.number == number).map(Segment::whole)
    }
}
