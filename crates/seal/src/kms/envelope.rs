//! The message around a value that a data key sealed: the ciphertext, and what the service needs to give the data key back.

use std::collections::BTreeMap;

use bytes::Buf;
use pawl_meta::{Errors, names};
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, encode_key, encode_varint, skip_field};
use sha2::{Digest, Sha256};

const DATA: u32 = 1;
const KEY_ID: u32 = 2;
const SOURCE: u32 = 3;
const ANNOTATIONS: u32 = 4;
const KIND: u32 = 5;

const LONGEST_KEY_ID: usize = 1024;
const LONGEST_SOURCE: usize = 1024;
const LARGEST_ANNOTATIONS: usize = 32 * 1024;

/// The data key itself was encrypted.
pub(crate) const KEY: i32 = 0;
/// A seed was encrypted; every value has a key of its own, derived from it.
pub(crate) const SEED: i32 = 1;

/// Names a data key: equal envelopes but for their ciphertext have the same.
pub(crate) type Id = [u8; 32];

/// A parsed message; it borrows from the stored value.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Envelope<'v> {
    pub data: &'v [u8],
    pub key_id: &'v str,
    /// The encrypted data key or seed.
    pub source: &'v [u8],
    pub annotations: BTreeMap<&'v str, &'v [u8]>,
    pub kind: i32,
}

impl<'v> Envelope<'v> {
    pub fn parse(mut rest: &'v [u8]) -> Result<Self, String> {
        let mut envelope = Self::default();
        while !rest.is_empty() {
            let (tag, wire) = key(&mut rest)?;
            match (tag, wire) {
                (DATA, WireType::LengthDelimited) => envelope.data = bytes(&mut rest)?,
                (KEY_ID, WireType::LengthDelimited) => envelope.key_id = text(&mut rest)?,
                (SOURCE, WireType::LengthDelimited) => envelope.source = bytes(&mut rest)?,
                (ANNOTATIONS, WireType::LengthDelimited) => {
                    let (name, value) = annotation(bytes(&mut rest)?)?;
                    envelope.annotations.insert(name, value);
                }
                #[expect(clippy::cast_possible_truncation, reason = "an enum is the lower half of its varint")]
                (KIND, WireType::Varint) => envelope.kind = varint(&mut rest)? as i32,
                _ => skip(wire, tag, &mut rest)?,
            }
        }
        envelope.validate()?;
        Ok(envelope)
    }

    /// What upstream asks of a message, in its words.
    fn validate(&self) -> Result<(), String> {
        if self.data.is_empty() {
            return Err("encrypted data is empty".to_owned());
        }
        self.validate_source()
    }

    /// The same without a value: what a service gave for a new data key.
    pub fn validate_source(&self) -> Result<(), String> {
        if self.kind != KEY && self.kind != SEED {
            return Err(format!("unknown encryptedDEKSourceType: {}", self.kind));
        }
        let source = "failed to validate encrypted DEK source: encrypted DEK source is";
        match self.source.len() {
            0 => return Err(format!("{source} empty")),
            1..=LONGEST_SOURCE => {}
            len => return Err(format!("{source} {len} bytes, which exceeds the max size of {LONGEST_SOURCE}")),
        }
        validate_key_id(self.key_id).map_err(|(_, why)| format!("failed to validate key id: {why}"))?;
        self.validate_annotations().map_err(|why| format!("failed to validate annotations: {why}"))
    }

    fn validate_annotations(&self) -> Result<(), String> {
        let mut errors = Errors::new();
        let path = &"annotations";
        for name in self.annotations.keys() {
            if name.is_empty() {
                errors.required(path, "");
            }
            for (bad, why) in names::fully_qualified_domain(name).into_iter().filter(|_| !name.is_empty()) {
                errors.invalid(path, bad, why);
            }
        }
        if !errors.is_empty() {
            return Err(errors.message());
        }
        match self.annotations.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() {
            0..=LARGEST_ANNOTATIONS => Ok(()),
            size => {
                Err(format!("total size of annotations is {size}, which exceeds the max size of {LARGEST_ANNOTATIONS}"))
            }
        }
    }

    /// What tells data keys apart; the order in which annotations were written does not.
    pub fn id(&self) -> Id {
        let mut hash = Sha256::new();
        let mut add = |part: &[u8]| {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        };
        add(&self.kind.to_be_bytes());
        add(self.source);
        add(self.key_id.as_bytes());
        for (name, value) in &self.annotations {
            add(name.as_bytes());
            add(value);
        }
        hash.finalize().into()
    }

    /// Everything behind the ciphertext, as it stands in every value that one data key seals.
    pub fn tail(&self) -> Vec<u8> {
        let mut tail = Vec::with_capacity(self.source.len() + self.key_id.len() + 16);
        put(KEY_ID, self.key_id.as_bytes(), &mut tail);
        put(SOURCE, self.source, &mut tail);
        for (name, value) in &self.annotations {
            let mut entry = Vec::with_capacity(name.len() + value.len() + 8);
            put(1, name.as_bytes(), &mut entry);
            put(2, value, &mut entry);
            put(ANNOTATIONS, &entry, &mut tail);
        }
        if self.kind != KEY {
            encode_key(KIND, WireType::Varint, &mut tail);
            encode_varint(u64::from(self.kind.unsigned_abs()), &mut tail);
        }
        tail
    }
}

/// Begins the field of a ciphertext of this length.
pub(crate) fn begin(len: usize, out: &mut Vec<u8>) {
    encode_key(DATA, WireType::LengthDelimited, out);
    encode_varint(len as u64, out);
}

/// The error comes with its name in metrics.
pub(crate) fn validate_key_id(key_id: &str) -> Result<(), (&'static str, String)> {
    match key_id.len() {
        0 => Err(("empty", "keyID is empty".to_owned())),
        1..=LONGEST_KEY_ID => Ok(()),
        len => Err(("too_long", format!("keyID is {len} bytes, which exceeds the max size of {LONGEST_KEY_ID}"))),
    }
}

fn put(tag: u32, value: &[u8], out: &mut Vec<u8>) {
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(value.len() as u64, out);
    out.extend_from_slice(value);
}

fn annotation(mut rest: &[u8]) -> Result<(&str, &[u8]), String> {
    let (mut name, mut value) = ("", &[][..]);
    while !rest.is_empty() {
        match key(&mut rest)? {
            (1, WireType::LengthDelimited) => name = text(&mut rest)?,
            (2, WireType::LengthDelimited) => value = bytes(&mut rest)?,
            (tag, wire) => skip(wire, tag, &mut rest)?,
        }
    }
    Ok((name, value))
}

const BROKEN: &str = "proto: cannot parse invalid wire-format data";

fn key(rest: &mut &[u8]) -> Result<(u32, WireType), String> {
    decode_key(rest).map_err(|_| BROKEN.to_owned())
}

fn varint(rest: &mut &[u8]) -> Result<u64, String> {
    decode_varint(rest).map_err(|_| BROKEN.to_owned())
}

fn skip(wire: WireType, tag: u32, rest: &mut &[u8]) -> Result<(), String> {
    skip_field(wire, tag, rest, DecodeContext::default()).map_err(|_| BROKEN.to_owned())
}

fn bytes<'v>(rest: &mut &'v [u8]) -> Result<&'v [u8], String> {
    let len = usize::try_from(varint(rest)?).map_err(|_| BROKEN.to_owned())?;
    let value = rest.get(..len).ok_or(BROKEN)?;
    rest.advance(len);
    Ok(value)
}

fn text<'v>(rest: &mut &'v [u8]) -> Result<&'v str, String> {
    std::str::from_utf8(bytes(rest)?).map_err(|_| "string field contains invalid UTF-8".to_owned())
}

#[cfg(test)]
mod tests;
