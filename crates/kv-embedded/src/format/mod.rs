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

pub use batch::{BatchBuilder, BatchHeader, BatchKind, Operation, Operations, compaction};
pub use snapshot::{BlockHeader, Origin, SnapshotEntry, SnapshotHeader};

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

    /// The numbers that follow.
    fn u64s<const N: usize>(&mut self) -> Option<[u64; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = self.u64()?;
        }
        Some(numbers)
    }
}

/// Ends a header with the checksum of everything before.
fn seal(header: &mut Vec<u8>, seed: u64) {
    let checksum = xxh3_64_with_seed(header, seed);
    header.put_u64_le(checksum);
}

/// Reads a header of `size` bytes whose last field is the checksum of everything before it.
fn sealed<T>(bytes: &[u8], size: usize, seed: u64, read: impl FnOnce(&mut Reader<'_>) -> Option<T>) -> Option<T> {
    let header = bytes.get(..size)?;
    let mut reader = Reader(header);
    let decoded = read(&mut reader)?;
    let covered = header.len().checked_sub(reader.0.len())?;
    (reader.u64()? == xxh3_64_with_seed(header.get(..covered)?, seed)).then_some(decoded)
}

/// The size of a [`file_head`] with so many numbers.
const fn file_head_size(numbers: usize) -> usize {
    24 + 8 * numbers
}

/// The head of a file: what it is, the version of the format, then numbers.
fn file_head<const N: usize>(magic: &[u8; 8], numbers: [u64; N]) -> Vec<u8> {
    let mut out = Vec::with_capacity(file_head_size(N));
    out.put_slice(magic);
    out.put_u32_le(FORMAT_VERSION);
    out.put_u32_le(0);
    numbers.into_iter().for_each(|number| out.put_u64_le(number));
    seal(&mut out, 0);
    out
}

/// The numbers in the [`file_head`] of a file.
fn read_file_head<const N: usize>(magic: &[u8; 8], bytes: &[u8]) -> Option<[u64; N]> {
    sealed(bytes, file_head_size(N), 0, |read| {
        let known = read.bytes(8)? == magic && read.u32()? == FORMAT_VERSION && read.u32()? == 0;
        if known { read.u64s() } else { None }
    })
}

/// The version of a file that was written by something newer. Every version keeps the size of the head, its checksum and
/// the place of its version, so that this can be told from damage.
fn newer_version(magic: &[u8; 8], size: usize, bytes: &[u8]) -> Option<u32> {
    let head = bytes.get(..size)?;
    let (covered, checksum) = head.split_last_chunk::<8>()?;
    let mut read = Reader(covered);
    let is_ours = read.bytes(8)? == magic && u64::from_le_bytes(*checksum) == xxh3_64_with_seed(covered, 0);
    read.u32().filter(|version| is_ours && *version > FORMAT_VERSION)
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
    pub const SIZE: usize = file_head_size(5);
    const MAGIC: &'static [u8; 8] = b"PAWLLOG\n";

    pub fn encode(&self) -> Vec<u8> {
        let numbers = [self.number, self.salt, self.first_revision, self.previous_end, self.created];
        file_head(Self::MAGIC, numbers)
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let [number, salt, first_revision, previous_end, created] = read_file_head(Self::MAGIC, bytes)?;
        Some(Self { number, salt, first_revision, previous_end, created })
    }

    /// The version of a segment that a newer format made.
    pub fn newer_version(bytes: &[u8]) -> Option<u32> {
        newer_version(Self::MAGIC, Self::SIZE, bytes)
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
        sealed(bytes, Self::SIZE, 0, |read| {
            if read.bytes(8)? != Self::MAGIC {
                return None;
            }
            let [segment, end, revision] = read.u64s()?;
            Some(Self { segment, end, revision })
        })
    }
}
