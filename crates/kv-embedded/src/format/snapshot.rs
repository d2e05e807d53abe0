//! Snapshots: a header, then blocks of entries, each block with checksums of its own.

use bytes::BufMut;
use pawl_kv::Revision;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{Reader, file_head, file_head_size, newer_version, read_file_head, seal, sealed};

/// The head of a snapshot file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotHeader {
    pub salt: u64,
    /// The state told here is the one right after the write of this revision.
    pub revision: Revision,
    pub compacted: Revision,
    pub entries: u64,
}

impl SnapshotHeader {
    pub const SIZE: usize = file_head_size(4);
    const MAGIC: &'static [u8; 8] = b"PAWLSNP\n";

    pub fn encode(&self) -> Vec<u8> {
        file_head(Self::MAGIC, [self.salt, self.revision, self.compacted, self.entries])
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let [salt, revision, compacted, entries] = read_file_head(Self::MAGIC, bytes)?;
        Some(Self { salt, revision, compacted, entries })
    }

    /// The version of a snapshot that a newer format made.
    pub fn newer_version(bytes: &[u8]) -> Option<u32> {
        newer_version(Self::MAGIC, Self::SIZE, bytes)
    }
}

/// What a snapshot belongs to that is being made of another store, and how to go on with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Of the snapshot, which has no header yet.
    pub salt: u64,
    /// The time that deadlines count from.
    pub now: u64,
    /// Tells one origin from another.
    pub name: u64,
    /// The state of the origin.
    pub revision: Revision,
}

impl Origin {
    pub const SIZE: usize = file_head_size(4);
    const MAGIC: &'static [u8; 8] = b"PAWLORG\n";

    /// What stands for the name of an origin.
    pub fn name(origin: &[u8]) -> u64 {
        xxh3_64_with_seed(origin, 0)
    }

    pub fn encode(&self) -> Vec<u8> {
        file_head(Self::MAGIC, [self.salt, self.now, self.name, self.revision])
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let [salt, now, name, revision] = read_file_head(Self::MAGIC, bytes)?;
        Some(Self { salt, now, name, revision })
    }
}

/// The head of a run of entries in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockHeader {
    pub length: u32,
    pub count: u32,
    payload_checksum: u64,
}

impl BlockHeader {
    pub const SIZE: usize = 24;

    pub fn of(payload: &[u8], count: u32, salt: u64, offset: u64) -> Self {
        let payload_checksum = xxh3_64_with_seed(payload, salt.wrapping_add(offset));
        Self { length: payload.len() as u32, count, payload_checksum }
    }

    pub fn encode(&self, salt: u64, offset: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::SIZE);
        out.put_u32_le(self.length);
        out.put_u32_le(self.count);
        out.put_u64_le(self.payload_checksum);
        seal(&mut out, salt.wrapping_add(offset));
        out
    }

    pub fn decode(bytes: &[u8], salt: u64, offset: u64) -> Option<Self> {
        sealed(bytes, Self::SIZE, salt.wrapping_add(offset), |read| {
            Some(Self { length: read.u32()?, count: read.u32()?, payload_checksum: read.u64()? })
        })
    }

    pub fn matches(&self, payload: &[u8], salt: u64, offset: u64) -> bool {
        xxh3_64_with_seed(payload, salt.wrapping_add(offset)) == self.payload_checksum
    }
}

/// One key of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotEntry<'a> {
    pub key: &'a [u8],
    pub value: &'a [u8],
    pub create_revision: Revision,
    pub mod_revision: Revision,
    pub deadline: Option<u64>,
}

impl<'a> SnapshotEntry<'a> {
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u32_le(self.key.len() as u32);
        out.put_u32_le(self.value.len() as u32);
        out.put_u64_le(self.create_revision);
        out.put_u64_le(self.mod_revision);
        out.put_u64_le(self.deadline.unwrap_or(0));
        out.put_slice(self.key);
        out.put_slice(self.value);
    }

    /// Takes one entry from the front of `bytes`.
    pub fn decode(bytes: &mut &'a [u8]) -> Option<Self> {
        let mut read = Reader(bytes);
        let (key, value) = (read.length()?, read.length()?);
        let (create_revision, mod_revision, deadline) = (read.u64()?, read.u64()?, read.u64()?);
        let entry = Self {
            key: read.bytes(key)?,
            value: read.bytes(value)?,
            create_revision,
            mod_revision,
            deadline: (deadline != 0).then_some(deadline),
        };
        *bytes = read.0;
        Some(entry)
    }
}
