//! Writing a snapshot: records in the order of their keys become blocks, and the trailer ends it. No files, no waiting:
//! whoever uses it sends the bytes where they belong.

use std::hash::{BuildHasher, RandomState};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::format::{self, Kind, Part};
use crate::{Head, Record, Totals};

/// A record that does not come after the one before it, or is too large for the format.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key {0:?} does not come after the one before it, or is too large")]
pub struct Unordered(String);

/// A snapshot that is being written.
pub struct Encoder {
    salt: u64,
    /// Where the next block begins.
    offset: u64,
    hash: Sha256,
    totals: Totals,
    block: Vec<u8>,
    count: u32,
    last: Option<Bytes>,
}

impl Encoder {
    /// A block is closed when it has this size.
    const BLOCK: usize = 256 << 10;
    /// A key and its value together. The embedded store takes no more either.
    const MOST: usize = 1 << 30;

    /// Begins a snapshot; the first bytes of it.
    pub fn begin(head: &Head) -> (Self, Bytes) {
        // A number that nobody can guess: bytes that somebody stored as a value never pass for a block.
        let salt = RandomState::new().hash_one(head.revision);
        let header = format::header(head, salt);
        let mut hash = Sha256::new();
        hash.update(&header);
        let offset = header.len() as u64;
        let this = Self { salt, offset, hash, totals: Totals::default(), block: Vec::new(), count: 0, last: None };
        (this, Bytes::from(header))
    }

    /// Adds a record; a block that is full with it is what comes next in the file.
    pub fn push(&mut self, record: &Record) -> Result<Option<Bytes>, Unordered> {
        let size = record.key.len().saturating_add(record.value.len());
        if self.last.as_ref().is_some_and(|last| *last >= record.key) || size > Self::MOST {
            return Err(Unordered(String::from_utf8_lossy(&record.key).into_owned()));
        }
        format::put_record(&mut self.block, record);
        self.count += 1;
        self.totals.records += 1;
        self.totals.bytes += size as u64;
        self.last = Some(record.key.clone());
        Ok((self.block.len() >= Self::BLOCK).then(|| self.close_block()))
    }

    /// The end of the file: the last block and the trailer.
    pub fn finish(mut self) -> (Bytes, Totals) {
        let mut end = if self.count > 0 { self.close_block().to_vec() } else { Vec::new() };
        let hash: [u8; format::HASH] = self.hash.clone().finalize().into();
        let payload = format::trailer(&self.totals, &hash);
        end.extend(self.part(Kind::Trailer, &payload, 0));
        (Bytes::from(end), self.totals)
    }

    /// The end of a file that nobody must take for a snapshot, and why.
    pub fn give_up(mut self, why: &str) -> Bytes {
        Bytes::from(self.part(Kind::GivenUp, why.as_bytes(), 0))
    }

    fn close_block(&mut self) -> Bytes {
        let block = std::mem::take(&mut self.block);
        let count = std::mem::take(&mut self.count);
        self.totals.blocks += 1;
        Bytes::from(self.part(Kind::Block, &block, count))
    }

    fn part(&mut self, kind: Kind, payload: &[u8], count: u32) -> Vec<u8> {
        let seed = self.salt.wrapping_add(self.offset);
        let mut part = Part::of(kind, payload, count, seed).encode(seed);
        part.extend_from_slice(payload);
        self.hash.update(&part);
        self.offset += part.len() as u64;
        part
    }
}
