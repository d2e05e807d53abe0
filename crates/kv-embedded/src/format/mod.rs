//! The bytes on disk, as `docs/storage-format.md` defines them: pure encoding and decoding, no files.
//!
//! Every decoder takes bytes that may be anything and answers `None` for what was not written by the encoder beside it;
//! none panics, none allocates more than it was given.

mod batch;
mod snapshot;
#[cfg(test)]
mod tests;

use bytes::BufMut;
use pawl_kv::Revision;
use xxhash_rust::xxh3::xxh3_64_with_seed;

pub use batch::{BatchBuilder, BatchHeader, BatchKind, Operations, compaction};
pub use snapshot::{BlockHeader, SnapshotEntry, SnapshotHeader};

pub const FORMAT_VERSION: u32 = 1;

/// Finds what can be read back from a byte string, front to back.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        let (taken, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*taken))
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(self.u32()?).ok()
    }

    fn u64(&mut self) -> Option<u64> {
        let (taken, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*taken))
    }

    /// Reads the last field of a header: the checksum of everything before it.
    fn seal(&mut self, header: &[u8], seed: u64) -> Option<()> {
        let covered = header.len().checked_sub(self.0.len())?;
        (self.u64()? == xxh3_64_with_seed(header.get(..covered)?, seed)).then_some(())
    }
}

fn seal(header: &mut Vec<u8>, seed: u64) {
    let checksum = xxh3_64_with_seed(header, seed);
    header.put_u64_le(checksum);
}

/// The head of a segment file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    pub number: u64,
    /// Chosen at random for every file and mixed into its checksums, so that bytes a client stored as a value can never
    /// pass for a batch.
    pub salt: u64,
    /// The revision of the first write that goes here.
    pub first_revision: Revision,
    /// Where the segment before this one ends. What follows there was never acknowledged.
    pub previous_end: u64,
    /// Milliseconds since the Unix epoch.
    pub created: u64,
}

impl SegmentHeader {
    pub const SIZE: usize = 64;
    const MAGIC: &'static [u8; 8] = b"PAWLLOG\n";

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::SIZE);
        out.put_slice(Self::MAGIC);
        out.put_u32_le(FORMAT_VERSION);
        out.put_u32_le(0);
        out.put_u64_le(self.number);
        out.put_u64_le(self.salt);
        out.put_u64_le(self.first_revision);
        out.put_u64_le(self.previous_end);
        out.put_u64_le(self.created);
        seal(&mut out, 0);
        out
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let header = bytes.get(..Self::SIZE)?;
        let mut read = Reader(header);
        if read.bytes(8)? != Self::MAGIC || read.u32()? != FORMAT_VERSION || read.u32()? != 0 {
            return None;
        }
        let decoded = Self {
            number: read.u64()?,
            salt: read.u64()?,
            first_revision: read.u64()?,
            previous_end: read.u64()?,
            created: read.u64()?,
        };
        read.seal(header, 0)?;
        Some(decoded)
    }
}

/// How far the log was acknowledged: written after every sync, itself not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub segment: u64,
    /// The end of the last acknowledged batch in that segment.
    pub end: u64,
    pub revision: Revision,
}

impl Mark {
    /// Small enough to lie in one sector, which a disk writes wholly or not at all.
    pub const SIZE: usize = 40;
    const MAGIC: &'static [u8; 8] = b"PAWLACK\n";

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::SIZE);
        out.put_slice(Self::MAGIC);
        out.put_u64_le(self.segment);
        out.put_u64_le(self.end);
        out.put_u64_le(self.revision);
        seal(&mut out, 0);
        out
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let whole = bytes.get(..Self::SIZE)?;
        let mut read = Reader(whole);
        if read.bytes(8)? != Self::MAGIC {
            return None;
        }
        let decoded = Self { segment: read.u64()?, end: read.u64()?, revision: read.u64()? };
        read.seal(whole, 0)?;
        Some(decoded)
    }
}
