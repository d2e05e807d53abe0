//! Batches: everything that one sync made durable, as a header with checksums and a run of operations.

use bytes::{BufMut, Bytes, BytesMut};
use pawl_kv::{Event, KeyValue, Revision};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{Reader, seal, sealed};

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
        sealed(bytes, Self::SIZE, salt.wrapping_add(offset), |read| {
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
            Some(Self { kind, length, first_revision, count, time: read.u64()?, payload_checksum: read.u64()? })
        })
    }

    /// A header whose checksum nobody looks at.
    #[cfg(test)]
    pub fn unchecked(length: u32, first_revision: Revision, count: u32) -> Self {
        Self { kind: BatchKind::Writes, length, first_revision, count, time: 0, payload_checksum: 0 }
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
    /// The revision of the value that this write replaced.
    pub fn previous_revision(&self) -> Option<Revision> {
        self.previous.as_ref().map(|(revision, _)| *revision)
    }

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
