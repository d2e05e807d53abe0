//! Reading a snapshot: every byte is verified while it streams, and what is wrong is named.
//!
//! Owns the judgement whether a file is whole. It never answers with records of a block whose checksum does not agree, and
//! says that a file is whole only once the trailer has confirmed all of it.

use std::io::Read;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::format::{self, Beginning, Front, Kind, Part, VERSION};
use crate::{Head, Record, Totals};

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("this is no snapshot")]
    Other,
    #[error(
        "this snapshot is of format {found}, and this version knows formats up to {VERSION}: it was written by a newer one"
    )]
    Newer { found: u32 },
    #[error("the header of the snapshot is damaged")]
    Header,
    /// The file ends where something should follow: it is the beginning of a snapshot.
    #[error("the snapshot is not whole: it ends at byte {offset}, in block {block}{}", behind(.after.as_ref()))]
    Short { block: u64, offset: u64, after: Option<Bytes> },
    #[error("the head of block {block} at byte {offset} is damaged{}; what follows cannot be read", behind(.after.as_ref()))]
    BlockHead { block: u64, offset: u64, after: Option<Bytes> },
    /// The next block can still be read.
    #[error("{0}")]
    Block(Box<Damage>),
    #[error("the trailer at byte {offset} is damaged")]
    Trailer { offset: u64 },
    #[error("the trailer speaks of {told:?}, and {found:?} are here: blocks are missing or doubled")]
    Counts { told: Totals, found: Totals },
    #[error("the hash in the trailer is not that of the file")]
    Hash,
    #[error("something follows the end of the snapshot at byte {offset}")]
    Surplus { offset: u64 },
    #[error("the snapshot was given up by who wrote it: {0}")]
    GivenUp(String),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

fn behind(after: Option<&Bytes>) -> String {
    after.map(|key| format!(", behind the key {:?}", String::from_utf8_lossy(key))).unwrap_or_default()
}

/// A block that is not what was written.
#[derive(Debug, Default)]
pub struct Damage {
    pub block: u64,
    pub offset: u64,
    /// How many records the block has.
    pub records: u32,
    /// The last key before the block.
    pub after: Option<Bytes>,
    /// The keys whose records do not hold, as far as they can be told.
    pub keys: Vec<Bytes>,
    /// The records that hold by themselves.
    pub intact: Vec<Record>,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "block {} at byte {} is damaged{}", self.block, self.offset, behind(self.after.as_ref()))?;
        let keys: Vec<String> =
            self.keys.iter().take(10).map(|key| format!("{:?}", String::from_utf8_lossy(key))).collect();
        let whole = self.intact.len();
        match keys.is_empty() {
            true => write!(out, ": which of its {} records cannot be told, {whole} hold by themselves", self.records),
            false => write!(out, ": {} ({whole} of its {} records hold by themselves)", keys.join(", "), self.records),
        }
    }
}

/// A snapshot that is being read.
pub struct Decoder<R> {
    read: R,
    head: Head,
    salt: u64,
    offset: u64,
    hash: Sha256,
    found: Totals,
    last: Option<Bytes>,
    is_damaged: bool,
    /// Nothing more can be read: the trailer was, or what lies behind damage cannot be found.
    is_over: bool,
}

impl<R: Read> Decoder<R> {
    pub fn open(mut read: R) -> Result<Self, Fault> {
        let mut header = Vec::with_capacity(format::HEADER);
        (&mut read).take(format::HEADER as u64).read_to_end(&mut header)?;
        let (head, salt) = match format::read_header(&header) {
            Beginning::Known(head, salt) => (head, salt),
            Beginning::Newer(found) => return Err(Fault::Newer { found }),
            Beginning::Other => return Err(Fault::Other),
            Beginning::Broken if header.len() < format::HEADER => {
                return Err(Fault::Short { block: 0, offset: header.len() as u64, after: None });
            }
            Beginning::Broken => return Err(Fault::Header),
        };
        let mut hash = Sha256::new();
        hash.update(&header);
        let offset = header.len() as u64;
        let found = Totals::default();
        Ok(Self { read, head, salt, offset, hash, found, last: None, is_damaged: false, is_over: false })
    }

    pub fn head(&self) -> &Head {
        &self.head
    }

    /// How far the file has been read.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// What has been read so far; all there is, once the end was reached.
    pub fn totals(&self) -> Totals {
        self.found
    }

    /// The records of the next block. `None` says that the snapshot is whole. After [`Fault::Block`] one can go on, and will
    /// not be told that it is whole.
    pub fn next_block(&mut self) -> Result<Option<Vec<Record>>, Fault> {
        if self.is_over {
            return Ok(None);
        }
        let (at, seed) = (self.offset, self.salt.wrapping_add(self.offset));
        let before = self.hash.clone();
        let head = self.bytes(format::PART as u64)?;
        let Some(part) = Part::decode(&head, seed) else {
            self.is_over = true;
            return Err(Fault::BlockHead { block: self.found.blocks, offset: at, after: self.last.clone() });
        };
        let payload = self.bytes(u64::from(part.length))?;
        let holds = part.matches(&payload, seed);
        match part.kind {
            Kind::Block if holds => self.block(&payload, part.count, at).map(Some),
            Kind::Block => Err(self.damaged(&payload, part.count, at)),
            Kind::GivenUp => {
                self.is_over = true;
                Err(Fault::GivenUp(String::from_utf8_lossy(&payload).into_owned()))
            }
            Kind::Trailer => {
                self.is_over = true;
                let told = format::read_trailer(&payload).filter(|_| holds).ok_or(Fault::Trailer { offset: at })?;
                self.end(told, before).map(|()| None)
            }
        }
    }

    fn bytes(&mut self, length: u64) -> Result<Vec<u8>, Fault> {
        // What the head promises is believed only as it comes.
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default().min(1 << 20));
        (&mut self.read).take(length).read_to_end(&mut bytes)?;
        self.hash.update(&bytes);
        self.offset += bytes.len() as u64;
        if bytes.len() as u64 == length {
            return Ok(bytes);
        }
        self.is_over = true;
        Err(Fault::Short { block: self.found.blocks, offset: self.offset, after: self.last.clone() })
    }

    /// The records of a block that holds. That they make sense and are in order was seen to when they were written.
    fn block(&mut self, payload: &[u8], count: u32, at: u64) -> Result<Vec<Record>, Fault> {
        let mut front = Front(payload);
        let mut records = Vec::new();
        let mut last = self.last.clone();
        for _ in 0..count {
            let record = format::take_record(&mut front)
                .filter(|(record, holds)| *holds && last.as_ref().is_none_or(|last| *last < record.key));
            let Some((record, _)) = record else { return Err(self.damaged(payload, count, at)) };
            last = Some(record.key.clone());
            self.found.bytes += (record.key.len() + record.value.len()) as u64;
            records.push(record);
        }
        if !front.0.is_empty() {
            return Err(self.damaged(payload, count, at));
        }
        self.last = last;
        self.found.blocks += 1;
        self.found.records += u64::from(count);
        Ok(records)
    }

    /// What can be said of a block that does not hold.
    fn damaged(&mut self, payload: &[u8], count: u32, at: u64) -> Fault {
        let mut front = Front(payload);
        let mut damage = Damage {
            block: self.found.blocks,
            offset: at,
            records: count,
            after: self.last.clone(),
            ..Damage::default()
        };
        for _ in 0..count {
            let Some((record, holds)) = format::take_record(&mut front) else { break };
            if holds {
                self.last = Some(record.key.clone());
                damage.intact.push(record);
            } else {
                damage.keys.push(record.key);
            }
        }
        self.found.blocks += 1;
        self.is_damaged = true;
        Fault::Block(Box::new(damage))
    }

    fn end(&mut self, (told, hash): (Totals, [u8; format::HASH]), before: Sha256) -> Result<(), Fault> {
        if self.is_damaged {
            // Said already.
            return Err(Fault::Hash);
        }
        if told != self.found {
            return Err(Fault::Counts { told, found: self.found });
        }
        let found: [u8; format::HASH] = before.finalize().into();
        if found != hash {
            return Err(Fault::Hash);
        }
        let mut more = [0];
        if self.read.read(&mut more)? != 0 {
            return Err(Fault::Surplus { offset: self.offset });
        }
        Ok(())
    }
}
