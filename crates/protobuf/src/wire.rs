//! The wire format of protobuf: keys, varints and payloads. It knows nothing of types.

use crate::Error;

/// What follows a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Payload<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32(u32),
}

impl Payload<'_> {
    pub(crate) fn wire_type(&self) -> u8 {
        match self {
            Self::Varint(_) => VARINT,
            Self::Fixed64(_) => FIXED64,
            Self::Bytes(_) => BYTES,
            Self::Fixed32(_) => FIXED32,
        }
    }
}

pub(crate) const VARINT: u8 = 0;
pub(crate) const FIXED64: u8 = 1;
pub(crate) const BYTES: u8 = 2;
const START_GROUP: u8 = 3;
const END_GROUP: u8 = 4;
pub(crate) const FIXED32: u8 = 5;

/// Reads the fields of one message.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next field: its number and what it holds.
    #[inline]
    pub(crate) fn field(&mut self) -> Result<Option<(u32, Payload<'a>)>, Error> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let number = match u32::try_from(key >> 3) {
            Ok(number @ 1..0x2000_0000) => number,
            _ => return Err(Error::IllegalTag { number: key >> 3, wire: key & 7 }),
        };
        let payload = match (key & 7) as u8 {
            VARINT => Payload::Varint(self.varint()?),
            FIXED64 => Payload::Fixed64(u64::from_le_bytes(self.array()?)),
            BYTES => {
                let length = usize::try_from(self.varint()?).map_err(|_| Error::Truncated)?;
                Payload::Bytes(self.take(length)?)
            }
            START_GROUP | END_GROUP => return Err(Error::Group(number)),
            FIXED32 => Payload::Fixed32(u32::from_le_bytes(self.array()?)),
            _ => return Err(Error::IllegalWireType(key & 7)),
        };
        Ok(Some((number, payload)))
    }

    /// The next of a packed list of varints.
    pub(crate) fn packed(&mut self) -> Result<Option<u64>, Error> {
        if self.rest.is_empty() { Ok(None) } else { self.varint().map(Some) }
    }

    /// Like Go's decoder it takes ten bytes at most and drops the bits that a `u64` has no place for.
    #[inline]
    fn varint(&mut self) -> Result<u64, Error> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or(Error::Truncated)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Error::Overflow)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Error::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(Error::Truncated)?;
        self.rest = rest;
        Ok(*taken)
    }
}

#[inline]
pub(crate) fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[inline]
pub(crate) fn put_key(number: u32, wire_type: u8, out: &mut Vec<u8>) {
    put_varint(u64::from(number) << 3 | u64::from(wire_type), out);
}

#[inline]
pub(crate) fn put_bytes(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    put_key(number, BYTES, out);
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Negative numbers take ten bytes, as everywhere in protobuf where they are not zigzag.
#[inline]
pub(crate) fn put_int(number: u32, value: i64, out: &mut Vec<u8>) {
    put_key(number, VARINT, out);
    put_varint(value as u64, out);
}

/// Writes a message whose length is known only when it is written: one byte is kept for it, and the message moves on in
/// the rare case that it needs more.
#[inline]
pub(crate) fn put_message<E>(
    number: u32,
    out: &mut Vec<u8>,
    body: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    put_key(number, BYTES, out);
    out.push(0);
    let start = out.len();
    body(out)?;
    let end = out.len();
    let length = end - start;
    if length < 0x80 {
        if let Some(byte) = out.get_mut(start - 1) {
            *byte = length as u8;
        }
        return Ok(());
    }
    // The length goes behind the message first, which makes the room that it takes in front.
    put_varint(length as u64, out);
    let width = out.len() - end;
    let mut prefix = [0u8; 10];
    for (to, from) in prefix.iter_mut().zip(out.iter().skip(end)) {
        *to = *from;
    }
    out.truncate(end + width - 1);
    out.copy_within(start..end, start - 1 + width);
    for (to, from) in out.iter_mut().skip(start - 1).zip(prefix.iter().take(width)) {
        *to = *from;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_get_their_length_in_front() {
        for length in [0usize, 1, 127, 128, 129, 16_383, 16_384, 70_000] {
            let mut out = vec![9, 9];
            let body: Vec<u8> = (0..length).map(|i| i as u8).collect();
            put_message(3, &mut out, |out| {
                out.extend_from_slice(&body);
                Ok::<(), Error>(())
            })
            .unwrap();
            let mut expected = vec![9, 9];
            put_bytes(3, &body, &mut expected);
            assert_eq!(out, expected, "{length}");
        }
    }

    #[test]
    fn fields_are_read_as_go_reads_them() {
        let read = |bytes: &[u8]| Reader::new(bytes).field().map(|f| f.map(|(n, p)| (n, p.wire_type())));
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&[0x08, 0x01]), Ok(Some((1, VARINT))));
        assert_eq!(read(&[0x08]), Err(Error::Truncated));
        assert_eq!(read(&[0x0a, 0x05, 0x01]), Err(Error::Truncated));
        assert_eq!(read(&[0x00, 0x01]), Err(Error::IllegalTag { number: 0, wire: 0 }));
        assert_eq!(read(&[0x0b]), Err(Error::Group(1)));
        assert_eq!(read(&[0x0e]), Err(Error::IllegalWireType(6)));
        assert_eq!(read(&[0xff; 12]), Err(Error::Overflow));
        let mut out = Vec::new();
        put_int(1, -1, &mut out);
        assert_eq!(out.len(), 11);
        assert_eq!(Reader::new(&out).field(), Ok(Some((1, Payload::Varint(u64::MAX)))));
    }
}
