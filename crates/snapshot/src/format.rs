//! The bytes of a snapshot, as `docs/snapshot-format.md` defines them: pure encoding and decoding of its parts.
//!
//! Every decoder takes bytes that may be anything, answers `None` for what was not written by the encoder beside it, and
//! never allocates more than it was given.

use std::time::Duration;

use bytes::{BufMut, Bytes};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::{Head, Record, Totals};

pub const VERSION: u32 = 1;
pub const MAGIC: &[u8; 8] = b"PAWLBKP\n";
/// The size of the hash over everything before the trailer.
pub const HASH: usize = 32;

/// Takes what stands at the front of bytes.
pub struct Front<'a>(pub &'a [u8]);

impl<'a> Front<'a> {
    pub fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

/// Ends a part with the checksum of everything in it.
fn seal(part: &mut Vec<u8>, seed: u64) {
    let checksum = xxh3_64_with_seed(part, seed);
    part.put_u64_le(checksum);
}

/// What a part holds before its checksum, if that agrees.
fn sealed(part: &[u8], seed: u64) -> Option<Front<'_>> {
    let (covered, checksum) = part.split_last_chunk::<8>()?;
    (u64::from_le_bytes(*checksum) == xxh3_64_with_seed(covered, seed)).then_some(Front(covered))
}

pub const HEADER: usize = 64;

pub fn header(head: &Head, salt: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER);
    out.put_slice(MAGIC);
    out.put_u32_le(VERSION);
    out.put_u32_le(0);
    out.put_u64_le(salt);
    out.put_u64_le(head.revision);
    out.put_u64_le(head.time);
    out.put_slice(&head.cluster);
    seal(&mut out, 0);
    out
}

/// What the first bytes of a file are.
pub enum Beginning {
    Known(Head, u64),
    /// Of a format that is not known here.
    Newer(u32),
    /// No snapshot.
    Other,
    /// A snapshot whose header is damaged.
    Broken,
}

pub fn read_header(bytes: &[u8]) -> Beginning {
    if !bytes.starts_with(MAGIC) {
        return Beginning::Other;
    }
    let read = || -> Option<Beginning> {
        let mut front = sealed(bytes.get(..HEADER)?, 0)?;
        front.bytes(MAGIC.len())?;
        let version = front.u32()?;
        if version > VERSION {
            return Some(Beginning::Newer(version));
        }
        if version != VERSION || front.u32()? != 0 {
            return None;
        }
        let (salt, revision, time) = (front.u64()?, front.u64()?, front.u64()?);
        Some(Beginning::Known(Head { revision, time, cluster: front.array()? }, salt))
    };
    read().unwrap_or(Beginning::Broken)
}

/// The head of what follows in a file: of blocks, and of what ends it.
pub const PART: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Block,
    Trailer,
    /// Whoever wrote the file gave up; the payload says why.
    GivenUp,
}

impl Kind {
    const ALL: [(Self, &'static [u8; 4]); 3] =
        [(Self::Block, b"BLCK"), (Self::Trailer, b"TAIL"), (Self::GivenUp, b"STOP")];

    fn mark(self) -> &'static [u8; 4] {
        match self {
            Self::Block => b"BLCK",
            Self::Trailer => b"TAIL",
            Self::GivenUp => b"STOP",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub kind: Kind,
    pub length: u32,
    /// How many records a block has.
    pub count: u32,
    checksum: u64,
}

impl Part {
    pub fn of(kind: Kind, payload: &[u8], count: u32, seed: u64) -> Self {
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        Self { kind, length, count, checksum: xxh3_64_with_seed(payload, seed) }
    }

    pub fn encode(&self, seed: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(PART);
        out.put_slice(self.kind.mark());
        out.put_u32_le(self.length);
        out.put_u32_le(self.count);
        out.put_u32_le(0);
        out.put_u64_le(self.checksum);
        seal(&mut out, seed);
        out
    }

    pub fn decode(bytes: &[u8], seed: u64) -> Option<Self> {
        let mut front = sealed(bytes, seed)?;
        let mark: [u8; 4] = front.array()?;
        let (kind, _) = Kind::ALL.into_iter().find(|(_, known)| **known == mark)?;
        let (length, count) = (front.u32()?, front.u32()?);
        (front.u32()? == 0).then_some(())?;
        Some(Self { kind, length, count, checksum: front.u64()? })
    }

    pub fn matches(&self, payload: &[u8], seed: u64) -> bool {
        payload.len() as u64 == u64::from(self.length) && xxh3_64_with_seed(payload, seed) == self.checksum
    }
}

/// The head of a record, without its key and value.
const RECORD: usize = 40;

pub fn put_record(out: &mut Vec<u8>, record: &Record) {
    let start = out.len();
    let time_left = record.time_left.map_or(0, |left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX).max(1));
    out.put_u32_le(u32::try_from(record.key.len()).unwrap_or(u32::MAX));
    out.put_u32_le(u32::try_from(record.value.len()).unwrap_or(u32::MAX));
    out.put_u64_le(record.create_revision);
    out.put_u64_le(record.mod_revision);
    out.put_u64_le(time_left);
    let numbers = xxh3_64_with_seed(out.get(start..).unwrap_or_default(), 0);
    out.put_u64_le(xxh3_64_with_seed(&record.value, xxh3_64_with_seed(&record.key, numbers)));
    out.put_slice(&record.key);
    out.put_slice(&record.value);
}

/// A record that stands at the front of bytes, and whether its own checksum agrees.
pub fn take_record(front: &mut Front<'_>) -> Option<(Record, bool)> {
    let numbers = xxh3_64_with_seed(front.0.get(..RECORD - 8)?, 0);
    let (key, value) = (front.u32()?, front.u32()?);
    let (create_revision, mod_revision, time_left, checksum) = (front.u64()?, front.u64()?, front.u64()?, front.u64()?);
    let key = front.bytes(usize::try_from(key).ok()?)?;
    let value = front.bytes(usize::try_from(value).ok()?)?;
    let holds = checksum == xxh3_64_with_seed(value, xxh3_64_with_seed(key, numbers));
    let record = Record {
        key: Bytes::copy_from_slice(key),
        value: Bytes::copy_from_slice(value),
        create_revision,
        mod_revision,
        time_left: (time_left != 0).then(|| Duration::from_millis(time_left)),
    };
    Some((record, holds))
}

/// The payload of the trailer: how much there is, and the hash of every byte before the trailer's own head.
pub fn trailer(totals: &Totals, hash: &[u8; HASH]) -> Vec<u8> {
    let mut out = Vec::with_capacity(24 + HASH);
    out.put_u64_le(totals.blocks);
    out.put_u64_le(totals.records);
    out.put_u64_le(totals.bytes);
    out.put_slice(hash);
    out
}

pub fn read_trailer(payload: &[u8]) -> Option<(Totals, [u8; HASH])> {
    let mut front = Front(payload);
    let totals = Totals { blocks: front.u64()?, records: front.u64()?, bytes: front.u64()? };
    let hash = front.array()?;
    front.0.is_empty().then_some((totals, hash))
}
