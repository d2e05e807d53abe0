//! The bytes on disk, as `docs/storage-format.md` defines them: pure encoding and decoding, no files.
//!
//! Every decoder takes bytes that may be anything and answers `None` for what was not written by the encoder beside it;
//! none panics, none allocates more than it was given.

use bytes::{BufMut, Bytes, BytesMut};
use pawl_kv::{Event, KeyValue, Revision};
use xxhash_rust::xxh3::xxh3_64_with_seed;

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

/// What the payload of a batch means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchKind {
    /// Operations, each with a revision of its own.
    Writes,
    /// One revision: the history up to it is forgotten.
    Compaction,
}

/// The head of a batch: everything that one sync made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    pub kind: BatchKind,
    /// The length of the payload that follows, a multiple of eight.
    pub length: u32,
    /// The revision of the first operation; for a batch without operations, of the next one to come.
    pub first_revision: Revision,
    pub count: u32,
    /// Milliseconds since the Unix epoch.
    pub time: u64,
    payload_checksum: u64,
}

impl BatchHeader {
    pub const SIZE: usize = 48;
    const MAGIC: u32 = u32::from_le_bytes(*b"BTCH");

    /// Reads the header of a batch at `offset` of a segment with this salt.
    pub fn decode(bytes: &[u8], salt: u64, offset: u64) -> Option<Self> {
        let header = bytes.get(..Self::SIZE)?;
        let mut read = Reader(header);
        if read.u32()? != Self::MAGIC {
            return None;
        }
        let length = read.u32()?;
        let first_revision = read.u64()?;
        let count = read.u32()?;
        let kind = match read.u32()? {
            0 => BatchKind::Writes,
            1 => BatchKind::Compaction,
            _ => return None,
        };
        let decoded = Self { kind, length, first_revision, count, time: read.u64()?, payload_checksum: read.u64()? };
        read.seal(header, salt.wrapping_add(offset))?;
        Some(decoded)
    }

    /// The first revision after this batch.
    pub fn next_revision(&self) -> Revision {
        self.first_revision.saturating_add(u64::from(self.count))
    }

    /// How many bytes the batch takes in its segment.
    pub fn size(&self) -> u64 {
        Self::SIZE as u64 + u64::from(self.length)
    }

    /// Whether these are the payload bytes that were written under this header.
    pub fn matches(&self, payload: &[u8], salt: u64, offset: u64) -> bool {
        payload.len() as u64 == u64::from(self.length)
            && xxh3_64_with_seed(payload, salt.wrapping_add(offset)) == self.payload_checksum
    }
}

/// Collects the operations of one batch. The buffer is kept between batches.
#[derive(Debug, Default)]
pub struct BatchBuilder {
    /// Room for the header, then the payload: one write without copying.
    buffer: Vec<u8>,
    count: u32,
}

impl BatchBuilder {
    /// A buffer beyond this size is given back after a batch.
    const KEEP: usize = 1 << 20;

    /// How long the payload is so far.
    pub fn len(&self) -> usize {
        self.buffer.len().saturating_sub(BatchHeader::SIZE)
    }

    pub fn clear(&mut self) {
        self.buffer.clear();
        self.buffer.shrink_to(Self::KEEP);
        self.buffer.resize(BatchHeader::SIZE, 0);
        self.count = 0;
    }

    /// Adds what `event` says, and the deadline of a value with a time to live.
    pub fn push(&mut self, event: &Event, create_revision: Revision, deadline: Option<u64>) {
        let value = event.value.as_deref().unwrap_or_default();
        let previous = event.previous.as_ref();
        let delta = Delta::between(value, previous.map(|previous| &*previous.value).unwrap_or_default());
        let out = &mut self.buffer;
        out.put_u32_le(u32::from(event.value.is_some()));
        out.put_u32_le(event.key.len() as u32);
        out.put_u32_le(value.len() as u32);
        out.put_u32_le(delta.prefix as u32);
        out.put_u32_le(delta.suffix as u32);
        out.put_u32_le(delta.middle.len() as u32);
        out.put_u64_le(create_revision);
        out.put_u64_le(deadline.unwrap_or(0));
        out.put_u64_le(previous.map_or(0, |previous| previous.mod_revision));
        out.put_slice(&event.key);
        out.put_slice(value);
        out.put_slice(delta.middle);
        self.count += 1;
    }

    /// Makes this the batch that moves the compacted revision.
    pub fn set_compaction(&mut self, revision: Revision) {
        self.clear();
        self.buffer.put_u64_le(revision);
    }

    /// Ends the payload; from here on the size of the batch is known.
    pub fn pad(&mut self) -> u64 {
        self.buffer.resize(self.buffer.len().next_multiple_of(8), 0);
        self.buffer.len() as u64
    }

    /// The finished bytes, to be written at `offset` of a segment with this salt.
    pub fn finish(&mut self, first_revision: Revision, time: u64, salt: u64, offset: u64) -> &[u8] {
        self.pad();
        let seed = salt.wrapping_add(offset);
        let payload = self.buffer.get(BatchHeader::SIZE..).unwrap_or_default();
        let mut header = Vec::with_capacity(BatchHeader::SIZE);
        header.put_u32_le(BatchHeader::MAGIC);
        header.put_u32_le(payload.len() as u32);
        header.put_u64_le(first_revision);
        header.put_u32_le(self.count);
        header.put_u32_le(u32::from(self.count == 0));
        header.put_u64_le(time);
        header.put_u64_le(xxh3_64_with_seed(payload, seed));
        seal(&mut header, seed);
        if let Some(room) = self.buffer.get_mut(..BatchHeader::SIZE) {
            room.copy_from_slice(&header);
        }
        &self.buffer
    }
}

/// A value told by what differs from another one: most updates change a small part of an object.
struct Delta<'a> {
    prefix: usize,
    suffix: usize,
    middle: &'a [u8],
}

impl<'a> Delta<'a> {
    fn between(base: &[u8], target: &'a [u8]) -> Self {
        let prefix = common(base, target, |bytes, at, n| bytes.get(at..at + n), |bytes, at| bytes.get(at).copied());
        let base = base.get(prefix..).unwrap_or_default();
        let rest = target.get(prefix..).unwrap_or_default();
        let suffix = common(
            base,
            rest,
            |bytes, at, n| bytes.get(bytes.len().checked_sub(at + n)?..bytes.len() - at),
            |bytes, at| bytes.get(bytes.len().checked_sub(at + 1)?).copied(),
        );
        Self { prefix, suffix, middle: rest.get(..rest.len() - suffix).unwrap_or_default() }
    }

    fn resolve(&self, base: &[u8]) -> Option<Bytes> {
        let head = base.get(..self.prefix)?;
        let tail = base.get(base.len().checked_sub(self.suffix)?..)?;
        let mut out = BytesMut::with_capacity(head.len() + self.middle.len() + tail.len());
        out.put_slice(head);
        out.put_slice(self.middle);
        out.put_slice(tail);
        Some(out.freeze())
    }
}

/// How many bytes two strings share, counted from the end that `chunk` and `byte` count from.
fn common<'b>(
    a: &'b [u8],
    b: &'b [u8],
    chunk: impl Fn(&'b [u8], usize, usize) -> Option<&'b [u8]>,
    byte: impl Fn(&'b [u8], usize) -> Option<u8>,
) -> usize {
    const STEP: usize = 32;
    let mut shared = 0;
    while let (Some(left), Some(right)) = (chunk(a, shared, STEP), chunk(b, shared, STEP))
        && left == right
    {
        shared += STEP;
    }
    while let (Some(left), Some(right)) = (byte(a, shared), byte(b, shared))
        && left == right
    {
        shared += 1;
    }
    shared
}

/// One write as it stands in a batch.
pub struct Operation<'a> {
    pub key: &'a [u8],
    /// `None` for a deletion.
    pub value: Option<&'a [u8]>,
    pub create_revision: Revision,
    pub deadline: Option<u64>,
    previous: Option<(Revision, Delta<'a>)>,
}

impl Operation<'_> {
    /// The event that told of this write; `None` when the bytes contradict themselves.
    pub fn event(&self, revision: Revision) -> Option<Event> {
        let key = Bytes::copy_from_slice(self.key);
        let previous = match &self.previous {
            Some((mod_revision, delta)) => Some(KeyValue {
                key: key.clone(),
                value: delta.resolve(self.value.unwrap_or_default())?,
                create_revision: self.create_revision,
                mod_revision: *mod_revision,
            }),
            None => None,
        };
        Some(Event { revision, key, value: self.value.map(Bytes::copy_from_slice), previous })
    }
}

/// Reads the operations of a batch, in order. Yields an error once, at the first that makes no sense.
pub struct Operations<'a> {
    read: Reader<'a>,
    left: u32,
}

/// The payload passed its checksum and still makes no sense: it was written by something else.
#[derive(Debug)]
pub struct Malformed;

impl<'a> Operations<'a> {
    pub fn new(header: &BatchHeader, payload: &'a [u8]) -> Self {
        Self { read: Reader(payload), left: header.count }
    }

    fn operation(&mut self) -> Option<Operation<'a>> {
        let read = &mut self.read;
        let is_put = match read.u32()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let (key, value) = (read.length()?, read.length()?);
        let (prefix, suffix, middle) = (read.length()?, read.length()?, read.length()?);
        let (create_revision, deadline, previous) = (read.u64()?, read.u64()?, read.u64()?);
        let key = read.bytes(key)?;
        let value = read.bytes(value)?;
        let delta = Delta { prefix, suffix, middle: read.bytes(middle)? };
        Some(Operation {
            key,
            value: is_put.then_some(value),
            create_revision,
            deadline: (deadline != 0).then_some(deadline),
            previous: (previous != 0).then_some((previous, delta)),
        })
    }
}

impl<'a> Iterator for Operations<'a> {
    type Item = Result<Operation<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let operation = self.operation().ok_or(Malformed);
        if operation.is_err() {
            self.left = 0;
        }
        Some(operation)
    }
}

/// The revision in the payload of a [`BatchKind::Compaction`].
pub fn compaction(payload: &[u8]) -> Option<Revision> {
    Reader(payload).u64()
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
    pub const SIZE: usize = 56;
    const MAGIC: &'static [u8; 8] = b"PAWLSNP\n";

    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(Self::SIZE);
        out.put_slice(Self::MAGIC);
        out.put_u32_le(FORMAT_VERSION);
        out.put_u32_le(0);
        out.put_u64_le(self.salt);
        out.put_u64_le(self.revision);
        out.put_u64_le(self.compacted);
        out.put_u64_le(self.entries);
        seal(&mut out, 0);
        out
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let header = bytes.get(..Self::SIZE)?;
        let mut read = Reader(header);
        if read.bytes(8)? != Self::MAGIC || read.u32()? != FORMAT_VERSION || read.u32()? != 0 {
            return None;
        }
        let decoded = Self { salt: read.u64()?, revision: read.u64()?, compacted: read.u64()?, entries: read.u64()? };
        read.seal(header, 0)?;
        Some(decoded)
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
        let header = bytes.get(..Self::SIZE)?;
        let mut read = Reader(header);
        let decoded = Self { length: read.u32()?, count: read.u32()?, payload_checksum: read.u64()? };
        read.seal(header, salt.wrapping_add(offset))?;
        Some(decoded)
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

#[cfg(test)]
mod tests {
    use super::*;
    use pawl_kv::conformance::Effort;
    use proptest::prelude::*;
    use proptest::test_runner::TestRunner;

    fn check<S: Strategy>(strategy: S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
        let effort = Effort::from_environment();
        let mut done = 0;
        while effort.wants(done, 4) {
            TestRunner::default().run(&strategy, &test).unwrap();
            done += 1;
        }
    }

    fn some_bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
        // Few different bytes, so that values share beginnings and ends.
        prop_oneof![prop::collection::vec(any::<u8>(), 0..most), prop::collection::vec(0_u8..2, 0..most)]
    }

    fn some_event() -> impl Strategy<Value = (Event, Option<u64>)> {
        let value = || some_bytes(200).prop_map(Bytes::from);
        let previous = prop::option::of((value(), 1_u64..9, 9_u64..99));
        (value(), prop::option::of(value()), previous, prop::option::of(1_u64..)).prop_map(
            |(key, value, previous, deadline)| {
                let previous = previous.map(|(value, create_revision, mod_revision)| KeyValue {
                    key: key.clone(),
                    value,
                    create_revision,
                    mod_revision,
                });
                (Event { revision: 0, key, value, previous }, deadline)
            },
        )
    }

    #[test]
    fn arbitrary_bytes_never_panic() {
        check((some_bytes(400), any::<u32>(), any::<u64>()), |(bytes, count, salt)| {
            let _ = SegmentHeader::decode(&bytes);
            let _ = SnapshotHeader::decode(&bytes);
            let _ = Mark::decode(&bytes);
            let _ = BlockHeader::decode(&bytes, salt, 0);
            let _ = BatchHeader::decode(&bytes, salt, 0);
            let _ = compaction(&bytes);
            let mut rest = bytes.as_slice();
            while SnapshotEntry::decode(&mut rest).is_some() {}
            // As if the checksum had held.
            let header = BatchHeader {
                kind: BatchKind::Writes,
                length: bytes.len() as u32,
                first_revision: u64::MAX,
                count,
                time: 0,
                payload_checksum: 0,
            };
            header.next_revision();
            for operation in Operations::new(&header, &bytes).flatten() {
                let _ = operation.event(7);
            }
            Ok(())
        });
    }

    #[test]
    fn a_batch_reads_back_as_it_was_written() {
        check((prop::collection::vec(some_event(), 1..20), any::<u64>(), any::<u64>()), |(events, salt, offset)| {
            let mut builder = BatchBuilder::default();
            builder.clear();
            let create = |event: &Event| event.previous.as_ref().map_or(5, |previous| previous.create_revision);
            events.iter().for_each(|(event, deadline)| builder.push(event, create(event), *deadline));
            let bytes = builder.finish(100, 7, salt, offset);
            let header = BatchHeader::decode(bytes, salt, offset).unwrap();
            let payload = &bytes[BatchHeader::SIZE..];
            prop_assert_eq!(header.size(), bytes.len() as u64);
            prop_assert!(header.matches(payload, salt, offset));
            prop_assert!(BatchHeader::decode(bytes, salt, offset.wrapping_add(8)).is_none());
            prop_assert_eq!(header.next_revision(), 100 + events.len() as u64);
            let read: Vec<_> = Operations::new(&header, payload).map(|operation| operation.unwrap()).collect();
            prop_assert_eq!(read.len(), events.len());
            for (operation, (event, deadline)) in read.iter().zip(&events) {
                prop_assert_eq!(&operation.event(0).unwrap(), event);
                prop_assert_eq!(operation.deadline, *deadline);
            }
            Ok(())
        });
    }

    #[test]
    fn headers_read_back_and_notice_any_flipped_bit() {
        let segment = SegmentHeader { number: 3, salt: 4, first_revision: 5, previous_end: 6, created: 7 };
        let snapshot = SnapshotHeader { salt: 1, revision: 2, compacted: 3, entries: 4 };
        let mark = Mark { segment: 1, end: 2, revision: 3 };
        assert_eq!(SegmentHeader::decode(&segment.encode()), Some(segment));
        assert_eq!(SnapshotHeader::decode(&snapshot.encode()), Some(snapshot));
        assert_eq!(Mark::decode(&mark.encode()), Some(mark));
        let flipped = |bytes: Vec<u8>, reads: &dyn Fn(&[u8]) -> bool| {
            for bit in 0..bytes.len() * 8 {
                let mut bytes = bytes.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(!reads(&bytes), "bit {bit}");
            }
        };
        flipped(segment.encode(), &|bytes| SegmentHeader::decode(bytes).is_some());
        flipped(snapshot.encode(), &|bytes| SnapshotHeader::decode(bytes).is_some());
        flipped(mark.encode(), &|bytes| Mark::decode(bytes).is_some());
    }
}
