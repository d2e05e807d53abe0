//! Opening: from the files that a process left behind to the state it had acknowledged.
//!
//! Owns the judgement between two things that look alike. A batch that does not hold may be the one write that was under
//! way when the process ended: nobody was told that it happened, and it is dropped. Or it was acknowledged and has been
//! damaged since: then nothing is opened, because to go on would be to lose it silently. The evidence, each enough:
//! a later segment says that the batch belongs to the log; the mark says that it was acknowledged; a later batch stands
//! behind it, and a batch only ever begins when all before it are durable.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use pawl_kv::{Result, Revision};

use crate::disk::{Disk, DiskFile};
use crate::format::{BatchHeader, BatchKind, Mark, Operations, SegmentHeader, compaction};
use crate::log::{MARK, Tail};
use crate::segment::{Found, Segment, SegmentReader, corrupt, newer, segment_name, segment_number, unreadable};
use crate::snapshot::{self, UNFINISHED, snapshot_name, snapshot_revision};
use crate::state::{StoreState, StoredValue};

/// What was found.
pub struct Recovered {
    pub state: StoreState,
    pub segments: VecDeque<Segment>,
    pub tail: Tail,
    /// The revision of the newest snapshot; 0 without one.
    pub snapshot: Revision,
}

/// Opens what is there. What an interrupted process left behind is settled: removed, or made durable.
pub fn recover(disk: &dyn Disk, window_bytes: usize) -> Result<Recovered> {
    let (recovered, files) = replay(disk, window_bytes, true)?;
    remove_leftovers(disk, &files)?;
    Ok(recovered)
}

/// The same without changing anything.
pub fn look(disk: &dyn Disk) -> Result<Recovered> {
    Ok(replay(disk, 0, false)?.0)
}

fn replay(disk: &dyn Disk, window_bytes: usize, settles: bool) -> Result<(Recovered, Files)> {
    let files = Files::sort(disk)?;
    let mark = read_mark(disk, &files)?;
    let mut state = StoreState::empty(window_bytes);
    if let Some(revision) = files.snapshot {
        let header = snapshot::read(disk, revision, |key, entry| {
            state.apply(key, Some(entry));
        })?;
        state.revision = header.revision;
        state.compacted = header.compacted;
    }
    let snapshot = files.snapshot.unwrap_or(0);
    let (segments, tail) = Replay { disk, mark, snapshot, state: &mut state, settles }.run(&files.segments)?;
    if let Some(mark) = mark
        && mark.revision > state.revision
    {
        let name = segment_name(mark.segment);
        return Err(corrupt(
            &name,
            mark.end,
            &format!("writes up to revision {} were acknowledged, but only {} is here", mark.revision, state.revision),
        ));
    }
    Ok((Recovered { state, segments, tail, snapshot }, files))
}

/// The files of the directory by what they are for.
struct Files {
    segments: Vec<u64>,
    snapshot: Option<Revision>,
    has_mark: bool,
    /// What an interrupted compaction left behind.
    leftovers: Vec<String>,
}

impl Files {
    fn sort(disk: &dyn Disk) -> Result<Self> {
        let names = disk.list().map_err(|error| unreadable("the data directory", &error))?;
        let mut segments: Vec<u64> = names.iter().filter_map(|name| segment_number(name)).collect();
        segments.sort_unstable();
        let snapshots: Vec<Revision> = names.iter().filter_map(|name| snapshot_revision(name)).collect();
        let snapshot = snapshots.iter().copied().max();
        let mut leftovers: Vec<String> = names.iter().filter(|name| name.ends_with(UNFINISHED)).cloned().collect();
        leftovers.extend(snapshots.into_iter().filter(|older| Some(*older) != snapshot).map(snapshot_name));
        // Segments are removed from the oldest on. Should a crash bring one back, it stands apart from the others.
        let connected =
            segments.windows(2).rposition(|pair| !matches!(pair, [a, b] if a + 1 == *b)).map_or(0, |gap| gap + 1);
        leftovers.extend(segments.drain(..connected).map(segment_name));
        let has_mark = names.iter().any(|name| name == MARK);
        Ok(Self { segments, snapshot, has_mark, leftovers })
    }
}

/// A mark that does not hold is ignored: it only ever adds to what is known.
fn read_mark(disk: &dyn Disk, files: &Files) -> Result<Option<Mark>> {
    if !files.has_mark {
        return Ok(None);
    }
    let io = |error: io::Error| unreadable(MARK, &error);
    let mut buffer = [0; Mark::SIZE];
    let read = disk.open(MARK).map_err(io)?.read_at(&mut buffer, 0).map_err(io)?;
    let mark = Mark::decode(&buffer);
    if mark.is_none() && read > 0 {
        tracing::warn!("the mark of acknowledgement does not hold and is ignored");
    }
    Ok(mark)
}

fn remove_leftovers(disk: &dyn Disk, files: &Files) -> Result<()> {
    if files.leftovers.is_empty() {
        return Ok(());
    }
    let io = |error: io::Error| unreadable("the data directory", &error);
    // What replaces them must be there for good before they go.
    disk.sync_names().map_err(io)?;
    files.leftovers.iter().try_for_each(|name| disk.remove(name)).map_err(io)
}

/// The walk over the log that brings the state up to its end.
struct Replay<'a> {
    disk: &'a dyn Disk,
    mark: Option<Mark>,
    snapshot: Revision,
    state: &'a mut StoreState,
    /// Whether the last batch is made durable.
    settles: bool,
}

/// How a segment ended.
enum Ending {
    /// With its last whole batch.
    Whole,
    /// With this batch, which does not hold.
    Broken(u64),
}

impl Replay<'_> {
    fn run(&mut self, numbers: &[u64]) -> Result<(VecDeque<Segment>, Tail)> {
        let mut segments: VecDeque<Segment> = VecDeque::new();
        let mut tail = Tail { next_segment: 1, previous_end: 0 };
        let mut next_revision = self.state.revision + 1;
        let mut opened = numbers.iter().copied().peekable();
        let mut next = match opened.next() {
            Some(number) => self.open(number, opened.peek().is_none())?,
            None => None,
        };
        if next.is_none() && self.snapshot > 0 {
            return Err(corrupt(&snapshot_name(self.snapshot), 0, "the log that belongs to this snapshot is missing"));
        }
        if let Some((header, _)) = &next {
            self.check_beginning(header)?;
        }
        while let Some((header, file)) = next {
            next = match opened.next() {
                Some(number) => self.open(number, opened.peek().is_none())?,
                None => None,
            };
            let size = file.size().map_err(|error| unreadable(&segment_name(header.number), &error))?;
            let mut segment = Segment::new(&header, Some(Arc::clone(&file)));
            match &next {
                Some((following, _)) => {
                    self.replay(&mut segment, &file, following.previous_end)?;
                    if segment.next_revision != following.first_revision {
                        return Err(corrupt(
                            &segment_name(following.number),
                            0,
                            &format!(
                                "it begins with revision {}, the segment before it ends before {}",
                                following.first_revision, segment.next_revision
                            ),
                        ));
                    }
                }
                None => {
                    let Some(last_batch) = self.replay_last(&mut segment, &file, size)? else {
                        // Made and never used. Its header may be one that a failed sync forgot: make it again.
                        tail = Tail { next_segment: header.number, previous_end: header.previous_end };
                        next_revision = header.first_revision;
                        break;
                    };
                    self.make_durable(&segment, &file, last_batch)?;
                }
            }
            tail = Tail { next_segment: segment.number + 1, previous_end: segment.end };
            next_revision = segment.next_revision;
            segments.push_back(segment);
        }
        if next_revision != self.state.revision + 1 {
            let (number, end) = segments.back().map_or((tail.next_segment, 0), |last| (last.number, last.end));
            let what = format!("the log ends before revision {}, which a snapshot holds", self.state.revision);
            return Err(corrupt(&segment_name(number), end, &what));
        }
        Ok((segments, tail))
    }

    /// Opens a segment. `None` for the last one when it was only being made: its header comes first and is synced.
    fn open(&self, number: u64, is_last: bool) -> Result<Option<(SegmentHeader, Arc<dyn DiskFile>)>> {
        let name = segment_name(number);
        let io = |error: io::Error| unreadable(&name, &error);
        let file = self.disk.open(&name).map_err(io)?;
        let mut buffer = [0; SegmentHeader::SIZE];
        file.read_at(&mut buffer, 0).map_err(io)?;
        if let Some(header) = SegmentHeader::decode(&buffer).filter(|header| header.number == number) {
            return Ok(Some((header, file)));
        }
        if let Some(version) = SegmentHeader::newer_version(&buffer) {
            return Err(newer(&name, version));
        }
        let in_use = self.mark.is_some_and(|mark| mark.segment >= number);
        if is_last && !in_use && is_zero(&*file, SegmentHeader::SIZE as u64).map_err(io)? {
            tracing::info!(segment = name, "dropped a segment that was being made when the process ended");
            return Ok(None);
        }
        Err(corrupt(&name, 0, "the header of the segment does not hold"))
    }

    fn check_beginning(&mut self, first: &SegmentHeader) -> Result<()> {
        let name = segment_name(first.number);
        if first.first_revision > self.state.revision + 1 || (self.snapshot == 0 && first.number != 1) {
            let what = format!("what lies between revision {} and this segment is missing", self.state.revision);
            return Err(corrupt(&name, 0, &what));
        }
        if first.number != 1 {
            self.state.compacted = self.state.compacted.max(first.first_revision - 1);
        }
        Ok(())
    }

    /// Replays a segment that has a successor: all of it was acknowledged.
    fn replay(&mut self, segment: &mut Segment, file: &Arc<dyn DiskFile>, end: u64) -> Result<()> {
        match self.walk(segment, file, end)?.0 {
            Ending::Whole => Ok(()),
            Ending::Broken(offset) => {
                Err(corrupt(&segment_name(segment.number), offset, "an acknowledged batch does not hold"))
            }
        }
    }

    /// Replays the last segment, whose last batch may be unfinished; tells where the last whole batch stands.
    fn replay_last(&mut self, segment: &mut Segment, file: &Arc<dyn DiskFile>, size: u64) -> Result<Option<u64>> {
        let name = segment_name(segment.number);
        let io = |error: io::Error| unreadable(&name, &error);
        let (ending, last_batch) = self.walk(segment, file, size)?;
        let acknowledged = self.mark.filter(|mark| mark.segment == segment.number).map_or(0, |mark| mark.end);
        if let Ending::Broken(offset) = ending {
            if acknowledged > offset {
                return Err(corrupt(&name, offset, "an acknowledged batch does not hold"));
            }
            let mut head = [0; BatchHeader::SIZE];
            file.read_at(&mut head, offset).map_err(io)?;
            let nothing_here = head == [0; BatchHeader::SIZE];
            if !(nothing_here && acknowledged == offset) {
                if let Some(later) = find_batch(&**file, segment.salt, offset + 8, size).map_err(io)? {
                    let what = format!("a batch does not hold, although the one at byte {later} was written after it");
                    return Err(corrupt(&name, offset, &what));
                }
                if !nothing_here {
                    tracing::info!(segment = name, offset, "dropped a write that was never acknowledged");
                }
            }
        }
        Ok(last_batch)
    }

    /// After a failed sync a kernel may show bytes that it no longer means to write. The last batch is the only one that
    /// can be in this state: unless it was acknowledged, write it once more.
    fn make_durable(&self, segment: &Segment, file: &Arc<dyn DiskFile>, offset: u64) -> Result<()> {
        if !self.settles || self.mark.is_some_and(|mark| (mark.segment, mark.end) >= (segment.number, segment.end)) {
            return Ok(());
        }
        let name = segment_name(segment.number);
        let io = |error: io::Error| unreadable(&name, &error);
        let mut batch = vec![0; (segment.end - offset) as usize];
        file.read_at(&mut batch, offset).map_err(io)?;
        file.write_at(&batch, offset).and_then(|()| file.sync()).map_err(io)
    }

    /// Applies every batch up to the first that does not hold; tells how that went and where the last batch stands.
    fn walk(&mut self, segment: &mut Segment, file: &Arc<dyn DiskFile>, end: u64) -> Result<(Ending, Option<u64>)> {
        let name = segment_name(segment.number);
        let mut reader = SegmentReader::new(Arc::clone(file), segment.salt, segment.end, end);
        let mut last_batch = None;
        loop {
            match reader.next_batch().map_err(|error| unreadable(&name, &error))? {
                Found::End => return Ok((Ending::Whole, last_batch)),
                Found::Bad { offset } => return Ok((Ending::Broken(offset), last_batch)),
                Found::Batch { header, payload, offset } => {
                    if header.first_revision != segment.next_revision {
                        let what = format!("revision {} was expected here", segment.next_revision);
                        return Err(corrupt(&name, offset, &what));
                    }
                    self.apply(&header, payload)
                        .ok_or_else(|| corrupt(&name, offset, "a batch that makes no sense"))?;
                    segment.extend(header.first_revision, header.next_revision(), header.size(), header.time);
                    last_batch = Some(offset);
                }
            }
        }
    }

    fn apply(&mut self, header: &BatchHeader, payload: &[u8]) -> Option<()> {
        if header.kind == BatchKind::Compaction {
            self.state.compacted = self.state.compacted.max(compaction(payload)?);
            return Some(());
        }
        if header.next_revision() <= self.snapshot + 1 {
            return Some(());
        }
        for (revision, operation) in (header.first_revision..).zip(Operations::new(header, payload)) {
            let operation = operation.ok()?;
            if revision <= self.snapshot {
                continue;
            }
            let entry = operation.value.map(|value| StoredValue {
                value: Bytes::copy_from_slice(value),
                create_revision: operation.create_revision,
                mod_revision: revision,
                deadline: operation.deadline,
            });
            self.state.apply(Bytes::copy_from_slice(operation.key), entry);
            self.state.revision = revision;
        }
        Some(())
    }
}

/// Whether a file holds nothing but zeros from `offset` on.
pub fn is_zero(file: &dyn DiskFile, mut offset: u64) -> io::Result<bool> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = file.read_at(&mut buffer, offset)?;
        if read == 0 {
            return Ok(true);
        }
        if buffer.iter().take(read).any(|byte| *byte != 0) {
            return Ok(false);
        }
        offset += read as u64;
    }
}

/// Looks for the header of a batch from `offset` on. The salt keeps a value that a client stored from passing for one.
pub fn find_batch(file: &dyn DiskFile, salt: u64, mut offset: u64, end: u64) -> io::Result<Option<u64>> {
    const CHUNK: usize = 256 << 10;
    let mut buffer = vec![0; CHUNK + BatchHeader::SIZE];
    while offset < end {
        let read = file.read_at(&mut buffer, offset)?;
        let bytes = buffer.get(..read).unwrap_or_default();
        for start in (0..read.min(CHUNK)).step_by(8) {
            let at = offset + start as u64;
            if bytes.get(start..).is_some_and(|bytes| BatchHeader::decode(bytes, salt, at).is_some()) {
                return Ok(Some(at));
            }
        }
        offset += CHUNK as u64;
    }
    Ok(None)
}
