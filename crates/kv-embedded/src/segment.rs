//! Segments of the log: their names, what is known of each in memory, and reading them back.
//!
//! Owns the walk over batches and the way from a revision to a place in a file. It decides nothing about damage: a batch
//! that does not hold is reported with its place, and the caller knows whether that batch had been acknowledged.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use pawl_kv::{Error, Event, Result, Revision};

use crate::disk::{Disk, DiskFile};
use crate::format::{BatchHeader, BatchKind, Operations, SegmentHeader};

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

pub fn unreadable(name: &str, error: &io::Error) -> Error {
    Error::Unavailable(format!("reading {name}: {error}"))
}

/// What is known of a segment: only batches that are acknowledged.
#[derive(Clone, Debug)]
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
    /// Batches at some distance from each other: first revision and offset.
    waypoints: Vec<(Revision, u64)>,
}

impl Segment {
    /// How far apart waypoints are: finding a revision reads this much in vain at most, beside one batch.
    const STRIDE: u64 = 64 << 10;

    pub fn new(header: &SegmentHeader) -> Self {
        Self {
            number: header.number,
            salt: header.salt,
            first_revision: header.first_revision,
            next_revision: header.first_revision,
            end: SegmentHeader::SIZE as u64,
            newest: header.created,
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

    /// A place at or before the batch that holds `revision`.
    fn place(&self, revision: Revision) -> u64 {
        let after = self.waypoints.partition_point(|(first, _)| *first <= revision);
        let waypoint = after.checked_sub(1).and_then(|before| self.waypoints.get(before));
        waypoint.map_or(SegmentHeader::SIZE as u64, |(_, offset)| *offset)
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

/// Events read back from the log.
pub struct Chapter {
    pub events: Vec<Event>,
    /// Everything up to this revision has been read.
    pub through: Revision,
}

/// The segments there are, oldest first.
#[derive(Debug, Default)]
pub struct Segments(pub Mutex<VecDeque<Segment>>);

impl Segments {
    /// Reads events from `first` on, some `budget` bytes of log at a time, but not past `last`.
    pub fn read(&self, disk: &dyn Disk, first: Revision, last: Revision, budget: u64) -> Result<Chapter> {
        let Some((number, salt, start, end, through)) = self.locate(first) else {
            return Err(Error::Lagged);
        };
        let name = segment_name(number);
        let file = disk.open(&name).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::Lagged,
            _ => unreadable(&name, &error),
        })?;
        let mut reader = SegmentReader::new(file, salt, start, end);
        let mut chapter = Chapter { events: Vec::new(), through: through.min(last) };
        loop {
            match reader.next_batch().map_err(|error| unreadable(&name, &error))? {
                Found::End => return Ok(chapter),
                Found::Bad { offset } => return Err(corrupt(&name, offset, "an acknowledged batch does not hold")),
                Found::Batch { header, payload, offset } => {
                    let mut revision = header.first_revision;
                    if revision > last {
                        return Ok(chapter);
                    }
                    if header.kind == BatchKind::Writes && header.next_revision() > first {
                        for operation in Operations::new(&header, payload) {
                            let event = operation.ok().and_then(|operation| operation.event(revision));
                            let Some(event) = event else {
                                return Err(corrupt(&name, offset, "a batch that makes no sense"));
                            };
                            if (first..=last).contains(&revision) {
                                chapter.events.push(event);
                            }
                            revision += 1;
                        }
                    }
                    if offset - start > budget && header.next_revision() > first {
                        chapter.through = (header.next_revision() - 1).min(last);
                        return Ok(chapter);
                    }
                }
            }
        }
    }

    /// The segment that holds `revision`: number, salt, where to begin and to end, and its last revision.
    fn locate(&self, revision: Revision) -> Option<(u64, u64, u64, u64, Revision)> {
        let segments = self.0.lock();
        let index = segments.partition_point(|segment| segment.next_revision <= revision);
        let segment = segments.get(index).filter(|segment| segment.first_revision <= revision)?;
        Some((segment.number, segment.salt, segment.place(revision), segment.end, segment.next_revision - 1))
    }
}
