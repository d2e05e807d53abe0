//! What is around a message: the magic prefix and `runtime.Unknown`, and the frames of a watch stream.

use std::convert::Infallible;

use crate::wire::{Payload, Reader, put_bytes, put_key, put_message, put_varint};
use crate::{Error, MAX_BYTES, wire};

pub const CONTENT_TYPE: &str = "application/vnd.kubernetes.protobuf";
pub const MAGIC: &[u8] = b"k8s\0";

/// A message with the name of its type. An absent part is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Envelope<'a> {
    pub api_version: &'a str,
    pub kind: &'a str,
    /// The message itself.
    pub raw: &'a [u8],
    pub content_encoding: &'a str,
    pub content_type: &'a str,
}

/// Opens an envelope.
pub fn open(bytes: &[u8]) -> Result<Envelope<'_>, Error> {
    if bytes.is_empty() {
        return Err(Error::EmptyData);
    }
    let body = bytes.strip_prefix(MAGIC).ok_or(Error::NoPrefix)?;
    if body.is_empty() {
        return Err(Error::EmptyBody);
    }
    if body.len() > MAX_BYTES {
        return Err(Error::TooLarge);
    }
    let mut envelope = Envelope::default();
    let mut reader = Reader::new(body);
    while let Some((number, payload)) = reader.field()? {
        match number {
            1 => type_meta(block(payload, "typeMeta")?, &mut envelope)?,
            2 => envelope.raw = block(payload, "raw")?,
            3 => envelope.content_encoding = text(payload, "contentEncoding")?,
            4 => envelope.content_type = text(payload, "contentType")?,
            _ => {}
        }
    }
    Ok(envelope)
}

fn type_meta<'a>(bytes: &'a [u8], envelope: &mut Envelope<'a>) -> Result<(), Error> {
    let mut reader = Reader::new(bytes);
    while let Some((number, payload)) = reader.field()? {
        match number {
            1 => envelope.api_version = text(payload, "apiVersion")?,
            2 => envelope.kind = text(payload, "kind")?,
            _ => {}
        }
    }
    Ok(())
}

fn block<'a>(payload: Payload<'a>, field: &str) -> Result<&'a [u8], Error> {
    match payload {
        Payload::Bytes(bytes) => Ok(bytes),
        other => Err(Error::WrongWireType { field: field.to_owned(), wire: other.wire_type() }),
    }
}

fn text<'a>(payload: Payload<'a>, field: &str) -> Result<&'a str, Error> {
    std::str::from_utf8(block(payload, field)?)
        .map_err(|_| Error::Value { field: field.to_owned(), reason: "invalid UTF-8".to_owned() })
}

/// Puts a message into its envelope.
pub fn seal(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len() + api_version.len() + kind.len() + 32);
    begin_seal(api_version, kind, raw.len(), &mut out);
    out.extend_from_slice(raw);
    out.extend_from_slice(SEAL_END);
    out
}

/// What stands behind a message in its envelope.
pub const SEAL_END: &[u8] = b"\x1a\x00\x22\x00";

/// Writes what stands before a message of so many bytes in its envelope, for one that is written piece by piece.
pub fn begin_seal(api_version: &str, kind: &str, length: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(MAGIC);
    let Ok(()) = put_message::<Infallible>(1, out, |out| {
        put_bytes(1, api_version.as_bytes(), out);
        put_bytes(2, kind.as_bytes(), out);
        Ok(())
    });
    put_key(2, wire::BYTES, out);
    put_varint(length as u64, out);
}

/// Appends one frame of a watch stream: the length in four bytes, then a `WatchEvent` that holds a sealed object.
///
/// The event itself has no envelope: upstream's stream serializer writes it bare, and its reader expects it so.
pub fn frame(event: &str, sealed: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    let length = field_len(event.len()) + field_len(field_len(sealed.len()));
    let prefix = u32::try_from(length).map_err(|_| Error::TooLarge)?;
    out.reserve(length + 4);
    out.extend_from_slice(&prefix.to_be_bytes());
    put_bytes(1, event.as_bytes(), out);
    put_key(2, wire::BYTES, out);
    put_varint(field_len(sealed.len()) as u64, out);
    put_bytes(1, sealed, out);
    Ok(())
}

/// The size of a field with a number below 16 that holds `length` bytes.
pub fn field_len(length: usize) -> usize {
    let bits = usize::BITS - (length | 1).leading_zeros();
    1 + bits.div_ceil(7) as usize + length
}

/// Appends an encoded message as a field: a list is its metadata (field 1) and its items (field 2), which may have been
/// encoded before.
pub fn append_message(number: u32, message: &[u8], out: &mut Vec<u8>) {
    put_bytes(number, message, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn envelopes_open_as_they_were_sealed() {
        let sealed = seal("v1", "ConfigMap", b"\x0a\x00");
        assert_eq!(sealed, b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x02\x0a\x00\x1a\x00\x22\x00");
        let envelope = open(&sealed).unwrap();
        assert_eq!((envelope.api_version, envelope.kind, envelope.raw), ("v1", "ConfigMap", &b"\x0a\x00"[..]));
        assert_eq!((envelope.content_encoding, envelope.content_type), ("", ""));
    }

    #[test]
    fn what_is_no_envelope_is_refused_in_upstreams_words() {
        let words = |bytes: &[u8]| open(bytes).unwrap_err().to_string();
        assert_eq!(words(b""), "empty data");
        assert_eq!(
            words(b"{}"),
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        );
        assert_eq!(words(b"k8s\0"), "empty body");
        assert_eq!(words(b"k8s\0\x0a\x09"), "unexpected EOF");
        assert_eq!(words(b"k8s\0\x08\x01"), "proto: wrong wireType = 0 for field typeMeta");
    }

    #[test]
    fn frames_hold_a_bare_event() {
        for size in [0usize, 10, 123, 124, 125, 126, 127, 128, 16_380, 16_384] {
            let sealed = vec![7u8; size];
            let mut out = Vec::new();
            frame("ADDED", &sealed, &mut out).unwrap();
            let (prefix, event) = out.split_at(4);
            assert_eq!(u32::from_be_bytes(prefix.try_into().unwrap()) as usize, event.len(), "{size}");
            let mut reader = Reader::new(event);
            assert_eq!(reader.field(), Ok(Some((1, Payload::Bytes(b"ADDED")))));
            let Ok(Some((2, Payload::Bytes(object)))) = reader.field() else { panic!("no object") };
            assert_eq!(reader.field(), Ok(None));
            assert_eq!(Reader::new(object).field(), Ok(Some((1, Payload::Bytes(&sealed)))));
        }
    }
}
