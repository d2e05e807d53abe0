//! Snapshots: the whole present state in one file, so that the log before it can go.
//!
//! Owns writing one (a temporary name, then a rename once it is durable) and reading one back. A snapshot that carries
//! its final name was whole once: anything wrong with it is damage.

use bytes::Bytes;
use pawl_kv::{Result, Revision};
use std::io;
use std::sync::Arc;

use crate::disk::{Disk, DiskFile};
use crate::format::{BlockHeader, SnapshotEntry, SnapshotHeader};
use crate::log::random;
use crate::segment::{corrupt, newer, unreadable};
use crate::state::{Index, StoredValue};

/// The end of the names of files that are not finished.
pub const UNFINISHED: &str = ".tmp";

pub fn snapshot_name(revision: Revision) -> String {
    format!("{revision:020}.snap")
}

pub fn snapshot_revision(name: &str) -> Option<Revision> {
    let digits = name.strip_suffix(".snap")?;
    (digits.len() == 20).then(|| digits.parse().ok())?
}

/// How many bytes a snapshot takes, at most.
pub fn size(entries: usize, live_bytes: u64) -> u64 {
    const ENTRY: u64 = 40;
    live_bytes.saturating_add(ENTRY.saturating_mul(entries as u64)).saturating_mul(1001) / 1000 + 4096
}

/// Writes the state at `revision`, durably; tells how many bytes that took. Nothing is left of one that fails.
pub fn write(disk: &dyn Disk, index: &Index, revision: Revision, compacted: Revision) -> io::Result<u64> {
    let name = snapshot_name(revision);
    let unfinished = format!("{name}{UNFINISHED}");
    let written = write_unfinished(disk, &unfinished, index, revision, compacted).and_then(|bytes| {
        disk.rename(&unfinished, &name)?;
        disk.sync_names()?;
        Ok(bytes)
    });
    if written.is_err() {
        // It would take the space that the log needs.
        let _ = disk.remove(&unfinished);
    }
    written
}

fn write_unfinished(
    disk: &dyn Disk,
    unfinished: &str,
    index: &Index,
    revision: Revision,
    compacted: Revision,
) -> io::Result<u64> {
    let mut writer = SnapshotWriter::create(disk, unfinished)?;
    for (key, entry) in index {
        writer.push(&SnapshotEntry {
            key,
            value: &entry.value,
            create_revision: entry.create_revision,
            mod_revision: entry.mod_revision,
            deadline: entry.deadline,
        })?;
    }
    writer.finish(revision, compacted)
}

/// A snapshot that is being written: entries in the order of keys, then the header, which knows how many they were.
pub struct SnapshotWriter {
    file: Arc<dyn DiskFile>,
    salt: u64,
    end: u64,
    synced: u64,
    block: Vec<u8>,
    count: u32,
    entries: u64,
}

impl SnapshotWriter {
    const BLOCK: usize = 256 << 10;
    /// Syncing in steps keeps the disk's queue short for the committer.
    const STEP: u64 = 4 << 20;

    pub fn create(disk: &dyn Disk, name: &str) -> io::Result<Self> {
        let (file, end) = (disk.create(name)?, SnapshotHeader::SIZE as u64);
        Ok(Self { file, salt: random(), end, synced: 0, block: Vec::new(), count: 0, entries: 0 })
    }

    /// Goes on with one that was left unfinished, behind the last block that holds; hands over what is there.
    pub fn resume(
        disk: &dyn Disk,
        name: &str,
        salt: u64,
        mut take: impl FnMut(&SnapshotEntry<'_>),
    ) -> io::Result<Self> {
        let (file, mut end) = (disk.open(name)?, SnapshotHeader::SIZE as u64);
        let (mut buffer, mut entries) = (Vec::new(), 0);
        while let Some(block) = next_block(&*file, salt, end, &mut buffer)? {
            let mut rest = buffer.as_slice();
            let held: Option<Vec<SnapshotEntry<'_>>> =
                (0..block.count).map(|_| SnapshotEntry::decode(&mut rest)).collect();
            let Some(held) = held else { break };
            held.iter().for_each(&mut take);
            entries += u64::from(block.count);
            end += BlockHeader::SIZE as u64 + u64::from(block.length);
        }
        file.truncate(end)?;
        Ok(Self { file, salt, end, synced: 0, block: Vec::new(), count: 0, entries })
    }

    pub fn salt(&self) -> u64 {
        self.salt
    }

    pub fn push(&mut self, entry: &SnapshotEntry<'_>) -> io::Result<()> {
        entry.encode(&mut self.block);
        self.count += 1;
        if self.block.len() >= Self::BLOCK { self.close_block() } else { Ok(()) }
    }

    /// Makes it durable; tells how many bytes it has.
    pub fn finish(&mut self, revision: Revision, compacted: Revision) -> io::Result<u64> {
        if self.count > 0 {
            self.close_block()?;
        }
        let header = SnapshotHeader { salt: self.salt, revision, compacted, entries: self.entries };
        self.file.write_at(&header.encode(), 0)?;
        self.file.sync()?;
        Ok(self.end)
    }

    fn close_block(&mut self) -> io::Result<()> {
        let Self { salt, end, .. } = *self;
        self.file.write_at(&BlockHeader::of(&self.block, self.count, salt, end).encode(salt, end), end)?;
        self.file.write_at(&self.block, end + BlockHeader::SIZE as u64)?;
        self.end += (BlockHeader::SIZE + self.block.len()) as u64;
        self.entries += u64::from(self.count);
        self.block.clear();
        self.count = 0;
        if self.end - self.synced >= Self::STEP {
            self.file.sync()?;
            self.synced = self.end;
        }
        Ok(())
    }
}

/// Reads the payload of the block at an offset; `None` where there is none that holds.
fn next_block(file: &dyn DiskFile, salt: u64, offset: u64, payload: &mut Vec<u8>) -> io::Result<Option<BlockHeader>> {
    let mut head = [0; BlockHeader::SIZE];
    file.read_at(&mut head, offset)?;
    let Some(block) = BlockHeader::decode(&head, salt, offset) else { return Ok(None) };
    payload.resize(block.length as usize, 0);
    let read = file.read_at(payload, offset + BlockHeader::SIZE as u64)?;
    Ok((read == payload.len() && block.matches(payload, salt, offset)).then_some(block))
}

/// Reads a snapshot back, handing over its keys in order.
pub fn read(disk: &dyn Disk, revision: Revision, mut take: impl FnMut(Bytes, StoredValue)) -> Result<SnapshotHeader> {
    let name = snapshot_name(revision);
    let io = |error: io::Error| unreadable(&name, &error);
    let file = disk.open(&name).map_err(io)?;
    let mut buffer = vec![0; SnapshotHeader::SIZE];
    file.read_at(&mut buffer, 0).map_err(io)?;
    if let Some(version) = SnapshotHeader::newer_version(&buffer) {
        return Err(newer(&name, version));
    }
    let header = SnapshotHeader::decode(&buffer).filter(|header| header.revision == revision);
    let header = header.ok_or_else(|| corrupt(&name, 0, "the header of the snapshot does not hold"))?;
    let size = file.size().map_err(io)?;
    let mut offset = SnapshotHeader::SIZE as u64;
    let mut left = header.entries;
    while offset < size {
        let block = next_block(&*file, header.salt, offset, &mut buffer).map_err(io)?;
        let block = block.ok_or_else(|| corrupt(&name, offset, "a block of the snapshot does not hold"))?;
        let mut rest = buffer.as_slice();
        for _ in 0..block.count {
            let entry = SnapshotEntry::decode(&mut rest);
            let entry = entry.ok_or_else(|| corrupt(&name, offset, "a block that makes no sense"))?;
            take(
                Bytes::copy_from_slice(entry.key),
                StoredValue {
                    value: Bytes::copy_from_slice(entry.value),
                    create_revision: entry.create_revision,
                    mod_revision: entry.mod_revision,
                    deadline: entry.deadline,
                },
            );
        }
        left = left.wrapping_sub(u64::from(block.count));
        offset += BlockHeader::SIZE as u64 + u64::from(block.length);
    }
    if left != 0 || offset != size {
        return Err(corrupt(&name, offset, "the snapshot ends too early"));
    }
    Ok(header)
}
