//! What can still be read of a damaged store.
//!
//! Owns the reading that goes on behind damage: blocks and batches that hold are taken, those that do not are named, with
//! the revisions and keys that are concerned as far as they can be told. Nothing that fails its checksum is taken, unless who
//! asks wants that too: a block that is damaged in one place holds many keys that are not. Nothing on the disk is changed.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use pawl_kv::{Result, Revision};

use crate::disk::{Disk, DiskFile};
use crate::format::{
    BatchHeader, BatchKind, BlockHeader, Mark, Operation, Operations, SegmentHeader, SnapshotEntry, SnapshotHeader,
};
use crate::frozen::Picture;
use crate::log::MARK;
use crate::recovery::find_batch;
use crate::segment::{newer, segment_name, segment_number, unreadable};
use crate::snapshot::{snapshot_name, snapshot_revision};
use crate::state::{StoreState, StoredValue};

/// What was found in a store.
pub struct Salvaged {
    pub picture: Picture,
    /// What is gone, in the order in which it was found.
    pub lost: Vec<Lost>,
    /// How many blocks and batches were taken.
    pub taken: u64,
    /// Keys that hold what stood in a place that fails its checksum.
    pub unproven: BTreeSet<Bytes>,
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    pub file: String,
    pub offset: u64,
    pub what: String,
    /// Keys that stood there, as far as they can be told: what they hold now may be older, or they may be gone.
    pub keys: Vec<String>,
}

/// How many keys are named at one place.
const NAMED: usize = 20;

/// Reads everything; with `unproven`, what can be made out in places that do not hold as well.
pub fn salvage(disk: &dyn Disk, unproven: bool) -> Result<Salvaged> {
    let names = disk.list().map_err(|error| unreadable("the data directory", &error))?;
    let mut segments: Vec<u64> = names.iter().filter_map(|name| segment_number(name)).collect();
    segments.sort_unstable();
    let snapshot = names.iter().filter_map(|name| snapshot_revision(name)).max();
    let mut search = Search {
        disk,
        state: StoreState::empty(0),
        lost: Vec::new(),
        taken: 0,
        gaps: Vec::new(),
        newest: 0,
        unproven: unproven.then(BTreeSet::new),
        doubted: 1,
    };
    if let Some(revision) = snapshot {
        search.snapshot(revision)?;
    }
    let base = snapshot.unwrap_or(StoreState::EMPTY);
    search.state.revision = base;
    search.log(&segments, base, snapshot.is_some())?;
    let Search { mut state, lost, taken, newest, unproven, doubted, .. } = search;
    state.revision = state.revision.max(doubted);
    let unproven = unproven.unwrap_or_default();
    Ok(Salvaged { picture: Picture::of(state.index, state.revision, newest), lost, taken, unproven })
}

struct Search<'a> {
    disk: &'a dyn Disk,
    state: StoreState,
    lost: Vec<Lost>,
    taken: u64,
    /// Ranges of keys (after, before) that the snapshot should tell of and does not: the log may.
    gaps: Vec<(Bytes, Option<Bytes>)>,
    /// The newest time in the log.
    newest: u64,
    /// The keys whose value is not proved, where such are wanted.
    unproven: Option<BTreeSet<Bytes>>,
    /// The newest revision that any of them may have.
    doubted: Revision,
}

impl Search<'_> {
    fn lose(&mut self, file: &str, offset: u64, what: impl Into<String>, keys: Vec<String>) {
        self.lost.push(Lost { file: file.to_owned(), offset, what: what.into(), keys });
    }

    fn snapshot(&mut self, revision: Revision) -> Result<()> {
        let name = snapshot_name(revision);
        let io = |error: io::Error| unreadable(&name, &error);
        let file = self.disk.open(&name).map_err(io)?;
        let mut head = [0; SnapshotHeader::SIZE];
        file.read_at(&mut head, 0).map_err(io)?;
        if let Some(version) = SnapshotHeader::newer_version(&head) {
            return Err(newer(&name, version));
        }
        let header = SnapshotHeader::decode(&head).filter(|header| header.revision == revision);
        if header.is_none() {
            self.lose(&name, 0, "the header of the snapshot does not hold", Vec::new());
        }
        // Without the header the salt may still stand where it was; only blocks that hold with it are taken.
        let salt = header.map_or_else(|| number_at(&head, 16), |header| header.salt);
        let size = file.size().map_err(io)?;
        let mut offset = SnapshotHeader::SIZE as u64;
        let (mut after, mut entries, mut is_gap) = (Bytes::new(), 0, false);
        while offset < size {
            let mut bytes = vec![0; BlockHeader::SIZE];
            file.read_at(&mut bytes, offset).map_err(io)?;
            let Some(block) = BlockHeader::decode(&bytes, salt, offset) else {
                let next = next_block(&*file, salt, offset + 1, size).map_err(io)?;
                let found =
                    next.map_or("nothing behind it can be read".to_owned(), |at| format!("the next is at {at}"));
                self.lose(&name, offset, format!("the head of a block does not hold; {found}"), Vec::new());
                is_gap = true;
                offset = next.unwrap_or(size);
                continue;
            };
            let mut payload = vec![0; usize::try_from(u64::from(block.length).min(size)).unwrap_or_default()];
            let read = file.read_at(&mut payload, offset + BlockHeader::SIZE as u64).map_err(io)?;
            payload.truncate(read);
            let found = entries_of(&payload, block.count);
            if read as u64 == u64::from(block.length) && block.matches(&payload, salt, offset) {
                let first = found.first().map(|(key, _)| key.clone());
                if std::mem::take(&mut is_gap) {
                    self.gaps.push((after.clone(), first));
                }
                after = found.last().map_or(after, |(key, _)| key.clone());
                entries += found.len() as u64;
                self.taken += 1;
                for (key, entry) in found {
                    self.state.apply(key, Some(entry));
                }
            } else {
                let keys = found.iter().take(NAMED).map(|(key, _)| text(key)).collect();
                self.lose(&name, offset, format!("a block of {} keys does not hold", block.count), keys);
                is_gap = true;
                for (key, entry) in found {
                    self.doubt(key, Some(entry), revision);
                }
            }
            offset += BlockHeader::SIZE as u64 + u64::from(block.length);
        }
        if is_gap {
            self.gaps.push((after, None));
        } else if header.is_some_and(|header| header.entries != entries) && self.gaps.is_empty() {
            self.lose(&name, size, "the snapshot ends too early", Vec::new());
            self.gaps.push((after, None));
        }
        Ok(())
    }

    fn log(&mut self, numbers: &[u64], base: Revision, has_snapshot: bool) -> Result<()> {
        let mark = self.mark();
        // What came before the first segment is in the snapshot, or nowhere.
        let mut expected = if has_snapshot { None } else { Some(2) };
        for (at, number) in numbers.iter().copied().enumerate() {
            let name = segment_name(number);
            let io = |error: io::Error| unreadable(&name, &error);
            let file = self.disk.open(&name).map_err(io)?;
            let mut head = [0; SegmentHeader::SIZE];
            file.read_at(&mut head, 0).map_err(io)?;
            if let Some(version) = SegmentHeader::newer_version(&head) {
                return Err(newer(&name, version));
            }
            let header = SegmentHeader::decode(&head).filter(|header| header.number == number);
            if header.is_none() && !is_unused(&*file, at + 1 == numbers.len(), mark, number).map_err(io)? {
                self.lose(&name, 0, "the header of the segment does not hold", Vec::new());
            }
            let salt = header.map_or_else(|| number_at(&head, 24), |header| header.salt);
            self.newest = self.newest.max(header.map_or(0, |header| header.created));
            let next = numbers.get(at + 1).and_then(|next| self.previous_end(*next));
            let end = next.unwrap_or(file.size().map_err(io)?);
            let acknowledged = match (next, mark) {
                (Some(end), _) => end,
                (None, Some(mark)) if mark.segment == number => mark.end,
                _ => 0,
            };
            if let Some(header) = header {
                expected = self.gap(&name, 0, expected, header.first_revision, base);
            }
            expected = self.segment(&name, &file, Walk { salt, end, acknowledged, base }, expected).map_err(io)?;
        }
        let reached = expected.map_or(base, |expected| expected.saturating_sub(1)).max(self.state.revision);
        if let Some(mark) = mark.filter(|mark| mark.revision > reached) {
            let what = format!("the writes of the revisions {} to {} are gone", reached + 1, mark.revision);
            self.lose(&segment_name(mark.segment), mark.end, what, Vec::new());
            self.state.revision = mark.revision;
        }
        Ok(())
    }

    fn mark(&mut self) -> Option<Mark> {
        let mut bytes = [0; Mark::SIZE];
        let read = self.disk.open(MARK).and_then(|file| file.read_at(&mut bytes, 0));
        let mark = Mark::decode(&bytes);
        if read.is_ok_and(|read| read > 0) && mark.is_none() {
            self.lose(MARK, 0, "the mark of acknowledgement does not hold; nothing else is lost with it", Vec::new());
        }
        mark
    }

    /// Where the segment before this one ends, as its header says.
    fn previous_end(&self, number: u64) -> Option<u64> {
        let mut head = [0; SegmentHeader::SIZE];
        self.disk.open(&segment_name(number)).and_then(|file| file.read_at(&mut head, 0)).ok()?;
        SegmentHeader::decode(&head).filter(|header| header.number == number).map(|header| header.previous_end)
    }

    /// Takes note of revisions that are missing before `next`. Those that the snapshot covers are no loss.
    fn gap(
        &mut self,
        name: &str,
        at: u64,
        expected: Option<Revision>,
        next: Revision,
        base: Revision,
    ) -> Option<Revision> {
        let from = expected.unwrap_or(base + 1).max(base + 1);
        if next > from {
            let what = format!("the writes of the revisions {from} to {} are gone", next - 1);
            self.lose(name, at, what, Vec::new());
        }
        Some(next.max(expected.unwrap_or(0)))
    }

    fn segment(
        &mut self,
        name: &str,
        file: &Arc<dyn DiskFile>,
        walk: Walk,
        mut expected: Option<Revision>,
    ) -> io::Result<Option<Revision>> {
        let mut offset = SegmentHeader::SIZE as u64;
        while offset < walk.end {
            let mut head = [0; BatchHeader::SIZE];
            file.read_at(&mut head, offset)?;
            let header = BatchHeader::decode(&head, walk.salt, offset);
            let mut payload = Vec::new();
            if let Some(header) = header {
                let left = walk.end.saturating_sub(offset).min(u64::from(header.length));
                payload.resize(usize::try_from(left).unwrap_or_default(), 0);
                let read = file.read_at(&mut payload, offset + BatchHeader::SIZE as u64)?;
                payload.truncate(read);
                if header.matches(&payload, walk.salt, offset) {
                    expected = self.gap(name, offset, expected, header.first_revision, walk.base);
                    self.batch(&header, &payload, walk.base);
                    expected = expected.max(Some(header.next_revision()));
                    offset += header.size();
                    continue;
                }
            }
            let next = find_batch(&**file, walk.salt, offset + 8, walk.end)?;
            if next.is_some() || walk.acknowledged > offset {
                let keys = header.map_or_else(Vec::new, |header| keys_of(&header, &payload));
                self.lose(name, offset, "an acknowledged batch does not hold", keys);
                if let Some(header) = header {
                    let operations = Operations::new(&header, &payload).map_while(std::result::Result::ok);
                    for (revision, operation) in (header.first_revision..).zip(operations) {
                        let key = Bytes::copy_from_slice(operation.key);
                        self.doubt(key, entry_of(&operation, revision), revision);
                    }
                }
            } else if head != [0; BatchHeader::SIZE] {
                tracing::info!(segment = name, offset, "a write that was never acknowledged is left out");
            }
            offset = next.unwrap_or(walk.end);
        }
        Ok(expected)
    }

    fn batch(&mut self, header: &BatchHeader, payload: &[u8], base: Revision) {
        self.taken += 1;
        self.newest = self.newest.max(header.time);
        if header.kind == BatchKind::Compaction {
            return;
        }
        for (revision, operation) in (header.first_revision..).zip(Operations::new(header, payload)) {
            let Ok(operation) = operation else { return };
            let is_told = |key: &[u8]| {
                let within = |(after, before): &(Bytes, Option<Bytes>)| {
                    *key > **after && before.as_ref().is_none_or(|before| *key < **before)
                };
                !self.gaps.iter().any(within)
            };
            if revision <= base && is_told(operation.key) {
                continue;
            }
            let key = Bytes::copy_from_slice(operation.key);
            if let Some(unproven) = &mut self.unproven {
                unproven.remove(&key);
            }
            self.state.apply(key, entry_of(&operation, revision));
            self.state.revision = self.state.revision.max(revision);
        }
    }

    /// Takes what stands in a place that does not hold, where that is wanted and makes sense.
    fn doubt(&mut self, key: Bytes, entry: Option<StoredValue>, newest: Revision) {
        let Some(unproven) = &mut self.unproven else { return };
        let sane = |entry: &StoredValue| {
            (1..=entry.mod_revision).contains(&entry.create_revision) && entry.mod_revision <= newest
        };
        if key.is_empty() || std::str::from_utf8(&key).is_err() || !entry.as_ref().is_none_or(sane) {
            return;
        }
        unproven.insert(key.clone());
        self.state.apply(key, entry);
        self.doubted = self.doubted.max(newest);
    }
}

/// What a key holds after an operation.
fn entry_of(operation: &Operation<'_>, revision: Revision) -> Option<StoredValue> {
    let (create_revision, deadline) = (operation.create_revision, operation.deadline);
    let value = Bytes::copy_from_slice(operation.value?);
    Some(StoredValue { value, create_revision, mod_revision: revision, deadline })
}

/// How a segment is walked over.
struct Walk {
    salt: u64,
    end: u64,
    /// What stands before this was acknowledged.
    acknowledged: u64,
    /// What the snapshot holds.
    base: Revision,
}

/// Whether this was only being made when the process ended.
fn is_unused(file: &dyn DiskFile, is_last: bool, mark: Option<Mark>, number: u64) -> io::Result<bool> {
    let in_use = mark.is_some_and(|mark| mark.segment >= number);
    Ok(is_last && !in_use && crate::recovery::is_zero(file, SegmentHeader::SIZE as u64)?)
}

/// The number at a place, whatever else is wrong there.
fn number_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk::<8>()).copied().map_or(0, u64::from_le_bytes)
}

fn text(key: &[u8]) -> String {
    String::from_utf8_lossy(key).into_owned()
}

/// The entries of a block, as far as they can be read.
fn entries_of(payload: &[u8], count: u32) -> Vec<(Bytes, StoredValue)> {
    let mut rest = payload;
    let mut entries = Vec::new();
    for _ in 0..count {
        let Some(SnapshotEntry { key, value, create_revision, mod_revision, deadline }) =
            SnapshotEntry::decode(&mut rest)
        else {
            break;
        };
        let value = Bytes::copy_from_slice(value);
        entries.push((Bytes::copy_from_slice(key), StoredValue { value, create_revision, mod_revision, deadline }));
    }
    entries
}

/// The keys in a batch that does not hold, as far as they can be told.
fn keys_of(header: &BatchHeader, payload: &[u8]) -> Vec<String> {
    let operations = Operations::new(header, payload).map_while(std::result::Result::ok);
    operations.take(NAMED).map(|operation| text(operation.key)).collect()
}

/// Looks for the head of a block from `offset` on. Blocks may begin anywhere.
fn next_block(file: &dyn DiskFile, salt: u64, mut offset: u64, end: u64) -> io::Result<Option<u64>> {
    const CHUNK: usize = 256 << 10;
    let mut buffer = vec![0; CHUNK + BlockHeader::SIZE];
    while offset < end {
        let read = file.read_at(&mut buffer, offset)?;
        let bytes = buffer.get(..read).unwrap_or_default();
        for start in 0..read.min(CHUNK) {
            let at = offset + start as u64;
            let head = bytes.get(start..start + BlockHeader::SIZE);
            if head.is_some_and(|head| BlockHeader::decode(head, salt, at).is_some()) {
                return Ok(Some(at));
            }
        }
        offset += CHUNK as u64;
    }
    Ok(None)
}

impl Salvaged {
    /// Whether everything was there.
    pub fn is_whole(&self) -> bool {
        self.lost.is_empty()
    }
}
