//! From a message to an object.
//!
//! The table says what a number means; the schema says what an object in its one form has. What the table does not have is
//! skipped and noted with its place.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use pawl_meta::duration;
use pawl_meta::quantity::Quantity;
use pawl_schema::{Scalar, TypeRef, built};
use serde_json::{Map, Number, Value};

use crate::place::Place;
use crate::table::{Content, FieldSlot, Many, Message, MessageId, Shape, Slot, find};
use crate::time::Moment;
use crate::wire::{Payload, Reader};
use crate::{Codec, Error, MAGIC, MAX_BYTES, open};

/// Like the JSON decoder, stop counting findings here.
const MAX_UNKNOWN: usize = 100;
/// And so many bytes of what is told: keys of a map may be as long as the message.
const MAX_TOLD: usize = 64 * 1024;
/// Two bytes can stand for a struct of a dozen fields: what is built of a message may take so many times its size, or this
/// much. No real message comes near it, and a hostile one cannot fill the memory.
const MOST_TIMES: usize = 48;
const MOST_OF_SMALL: usize = 16 << 20;

/// A decoded object and what was odd about its message.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// Without apiVersion and kind, which the envelope has.
    pub object: Map<String, Value>,
    /// Fields that the type does not have: `spec: unknown protobuf field 42`. At most a hundred of them.
    pub unknown: Vec<String>,
}

impl Codec<'_> {
    /// Decodes a message, taken out of its envelope, as an object of a type.
    pub fn decode(&self, of: TypeRef<'_>, raw: &[u8]) -> Result<Decoded, Error> {
        if raw.len() > MAX_BYTES {
            return Err(Error::TooLarge);
        }
        let message = self.marshalable(of)?;
        let left = raw.len().saturating_mul(MOST_TIMES).max(MOST_OF_SMALL);
        let mut walk = Walk { codec: self, unknown: Vec::new(), told: 0, left };
        let mut object = Map::new();
        walk.message(message, raw, &mut object, &Place::ROOT)?;
        Ok(Decoded { object, unknown: walk.unknown })
    }

    pub(crate) fn marshalable(&self, of: TypeRef<'_>) -> Result<&Message<'_>, Error> {
        let message = self.table.message(of).filter(|message| message.is_on_the_wire());
        message.ok_or_else(|| Error::NotMarshalable(of.node().go.to_string()))
    }
}

struct Walk<'c, 's> {
    codec: &'c Codec<'s>,
    unknown: Vec<String>,
    /// Bytes of what is unknown.
    told: usize,
    /// How many bytes may still be built.
    left: usize,
}

impl Walk<'_, '_> {
    /// Reads a message into an object, which may have something of it already: a message may come in parts.
    fn message(
        &mut self,
        message: &Message<'_>,
        bytes: &[u8],
        into: &mut Map<String, Value>,
        place: &Place<'_>,
    ) -> Result<(), Error> {
        let place = place.inside()?;
        self.slots(&message.slots, bytes, into, &place)?;
        let before = into.len();
        message.object.complete(into);
        self.spend(into.len().saturating_sub(before) + 1)?;
        // The nodes of the map itself.
        self.build(built::map(into.len().min(1)))
    }

    fn slots(
        &mut self,
        slots: &[Slot<'_>],
        bytes: &[u8],
        into: &mut Map<String, Value>,
        place: &Place<'_>,
    ) -> Result<(), Error> {
        let mut reader = Reader::new(bytes);
        while let Some((number, payload)) = reader.field()? {
            match find(slots, number) {
                Some(Content::Field(entry)) => self.field(entry, payload, into, place)?,
                Some(Content::Embedded(inner)) => match payload {
                    Payload::Bytes(bytes) => self.slots(inner, bytes, into, place)?,
                    other => return Err(place.wrong_wire_type(other.wire_type())),
                },
                None => self.unknown(number, place),
            }
        }
        Ok(())
    }

    fn field(
        &mut self,
        entry: &FieldSlot<'_>,
        payload: Payload<'_>,
        into: &mut Map<String, Value>,
        place: &Place<'_>,
    ) -> Result<(), Error> {
        let codec = self.codec;
        let name = &*entry.field.name;
        let place = place.name(name);
        match entry.many {
            Many::One => {
                let value = match (entry.shape, payload) {
                    (Shape::Message(id), Payload::Bytes(bytes)) => {
                        let mut object = match into.get_mut(name) {
                            Some(Value::Object(earlier)) => std::mem::take(earlier),
                            _ => Map::new(),
                        };
                        self.message(codec.table.get(id), bytes, &mut object, &place)?;
                        Value::Object(object)
                    }
                    (shape, payload) => self.value(shape, payload, &place)?,
                };
                if entry.field.is_omitted(&value) {
                    into.remove(name);
                } else if let Some(slot) = into.get_mut(name) {
                    *slot = value;
                } else {
                    self.spend(1)?;
                    into.insert(name.to_owned(), value);
                }
            }
            Many::List => {
                if let Some(Value::Array(items)) = into.get_mut(name) {
                    return self.items(entry.shape, payload, items, &place);
                }
                let mut items = Vec::new();
                self.items(entry.shape, payload, &mut items, &place)?;
                if !items.is_empty() {
                    self.spend(1)?;
                    into.insert(name.to_owned(), Value::Array(items));
                }
            }
            Many::Map => {
                let Payload::Bytes(bytes) = payload else {
                    return Err(place.wrong_wire_type(payload.wire_type()));
                };
                let (key, value) = self.entry(entry.shape, bytes, &place)?;
                self.spend(1)?;
                match into.get_mut(name) {
                    Some(Value::Object(entries)) => {
                        entries.insert(key, value);
                    }
                    _ => {
                        let entries = Map::from_iter([(key, value)]);
                        into.insert(name.to_owned(), Value::Object(entries));
                    }
                }
            }
        }
        Ok(())
    }

    fn items(
        &mut self,
        shape: Shape,
        payload: Payload<'_>,
        items: &mut Vec<Value>,
        place: &Place<'_>,
    ) -> Result<(), Error> {
        match payload {
            // What is not a varint here is packed.
            Payload::Bytes(packed) if shape.wire_type() == crate::wire::VARINT => {
                let mut reader = Reader::new(packed);
                while let Some(number) = reader.packed()? {
                    self.spend(1)?;
                    let value = self.value(shape, Payload::Varint(number), &place.index(items.len()))?;
                    items.push(value);
                }
            }
            payload => {
                self.spend(1)?;
                let value = self.value(shape, payload, &place.index(items.len()))?;
                items.push(value);
            }
        }
        Ok(())
    }

    /// An entry of a map. Either part may be left out when it is empty.
    fn entry(&mut self, shape: Shape, bytes: &[u8], place: &Place<'_>) -> Result<(String, Value), Error> {
        let mut key = "";
        let mut payload = shape.zero();
        let mut reader = Reader::new(bytes);
        while let Some((number, part)) = reader.field()? {
            match (number, part) {
                (1, Payload::Bytes(bytes)) => key = text(bytes, place)?,
                (1, other) => return Err(place.wrong_wire_type(other.wire_type())),
                (2, part) => payload = part,
                _ => self.unknown(number, place),
            }
        }
        let value = self.value(shape, payload, &place.name(key))?;
        Ok((key.to_owned(), value))
    }

    /// One value. Null is what Go has nil or a zero time for.
    fn value(&mut self, shape: Shape, payload: Payload<'_>, place: &Place<'_>) -> Result<Value, Error> {
        let bytes = match (shape, payload) {
            (Shape::Scalar(scalar), Payload::Varint(number)) => {
                return varint(scalar, number).ok_or_else(|| place.wrong_wire_type(payload.wire_type()));
            }
            (Shape::Scalar(Scalar::Float64), Payload::Fixed64(bits)) => {
                return float(f64::from_bits(bits)).ok_or_else(|| place.value("the number is not finite"));
            }
            (shape, Payload::Bytes(bytes)) if shape.wire_type() == crate::wire::BYTES => bytes,
            (_, other) => return Err(place.wrong_wire_type(other.wire_type())),
        };
        match shape {
            Shape::Scalar(scalar) => self.scalar(scalar, bytes, place),
            Shape::Message(id) => self.object(id, bytes, place),
            Shape::Strings => self.strings(bytes, place),
            Shape::Raw => self.raw(bytes, place),
            Shape::SchemaOrBool(id) => self.schema_or_bool(id, bytes, place),
            Shape::SchemaOrSchemas(id) => self.schema_or_list(id, Shape::Message(id), bytes, place),
            Shape::SchemaOrStrings(id) => self.schema_or_list(id, Shape::Scalar(Scalar::String), bytes, place),
        }
    }

    fn object(&mut self, id: MessageId, bytes: &[u8], place: &Place<'_>) -> Result<Value, Error> {
        let codec = self.codec;
        let mut object = Map::new();
        self.message(codec.table.get(id), bytes, &mut object, place)?;
        Ok(Value::Object(object))
    }

    /// Scalars of Go that are strings, bytes or messages of their own.
    fn scalar(&mut self, scalar: Scalar, bytes: &[u8], place: &Place<'_>) -> Result<Value, Error> {
        match scalar {
            Scalar::String => text(bytes, place).map(Value::from),
            Scalar::Bytes => Ok(Value::from(BASE64.encode(bytes))),
            Scalar::Time | Scalar::MicroTime => self.time(scalar, bytes, place),
            Scalar::Quantity => {
                let mut quantity = Value::from("0");
                self.parts(bytes, place, |number, part| match (number, part) {
                    (1, Payload::Bytes(bytes)) => {
                        let kept = Quantity::kept(text(bytes, place)?).map_err(|reason| place.value(reason))?;
                        quantity = Value::from(kept);
                        Ok(Part::Read)
                    }
                    (1, _) => Ok(Part::Wrong),
                    _ => Ok(Part::Unknown),
                })?;
                Ok(quantity)
            }
            Scalar::IntOrString => {
                let (mut kind, mut number, mut string) = (0, 0, String::new());
                self.parts(bytes, place, |at, part| {
                    match (at, part) {
                        (1, Payload::Varint(v)) => kind = v,
                        (2, Payload::Varint(v)) => number = v as i32,
                        (3, Payload::Bytes(bytes)) => string = text(bytes, place)?.to_owned(),
                        (1..=3, _) => return Ok(Part::Wrong),
                        _ => return Ok(Part::Unknown),
                    }
                    Ok(Part::Read)
                })?;
                match kind {
                    0 => Ok(Value::from(number)),
                    1 => Ok(Value::from(string)),
                    _ => Err(place.value("impossible IntOrString.Type")),
                }
            }
            Scalar::Duration => {
                let mut nanos = 0;
                self.parts(bytes, place, |at, part| match (at, part) {
                    (1, Payload::Varint(v)) => {
                        nanos = v as i64;
                        Ok(Part::Read)
                    }
                    (1, _) => Ok(Part::Wrong),
                    _ => Ok(Part::Unknown),
                })?;
                Ok(Value::from(duration::format(nanos)))
            }
            Scalar::Bool | Scalar::Int32 | Scalar::Int64 | Scalar::Uint32 | Scalar::Uint64 | Scalar::Float64 => {
                Err(place.wrong_wire_type(crate::wire::BYTES))
            }
        }
    }

    fn time(&mut self, scalar: Scalar, bytes: &[u8], place: &Place<'_>) -> Result<Value, Error> {
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        let (mut seconds, mut nanos) = (0, 0);
        self.parts(bytes, place, |at, part| {
            match (at, part) {
                (1, Payload::Varint(v)) => seconds = v as i64,
                (2, Payload::Varint(v)) => nanos = v as i32,
                (1..=2, _) => return Ok(Part::Wrong),
                _ => return Ok(Part::Unknown),
            }
            Ok(Part::Read)
        })?;
        let micro = scalar == Scalar::MicroTime;
        let moment = Moment::from_wire(seconds, if micro { nanos } else { 0 });
        if moment.is_zero() {
            return Ok(Value::Null);
        }
        let text = if micro { moment.in_micros() } else { moment.in_seconds() };
        text.map(Value::from).ok_or_else(|| place.value("the time is out of range"))
    }

    fn strings(&mut self, bytes: &[u8], place: &Place<'_>) -> Result<Value, Error> {
        let mut items = Vec::new();
        self.parts(bytes, place, |at, part| match (at, part) {
            (1, Payload::Bytes(bytes)) => {
                items.push(Value::from(text(bytes, place)?));
                Ok(Part::Read)
            }
            (1, _) => Ok(Part::Wrong),
            _ => Ok(Part::Unknown),
        })?;
        self.spend(items.len())?;
        Ok(Value::Array(items))
    }

    fn raw(&mut self, bytes: &[u8], place: &Place<'_>) -> Result<Value, Error> {
        let mut raw: &[u8] = &[];
        let mut reader = Reader::new(bytes);
        while let Some((number, part)) = reader.field()? {
            match (number, part) {
                (1, Payload::Bytes(bytes)) => raw = bytes,
                (1, other) => return Err(place.wrong_wire_type(other.wire_type())),
                _ => self.unknown(number, place),
            }
        }
        if raw.is_empty() {
            return Ok(Value::Null);
        }
        if raw.starts_with(MAGIC) {
            return self.sealed(raw, place);
        }
        // Anything may stand there, so what it could become is reckoned from its text.
        let nested = raw.iter().filter(|byte| matches!(byte, b'{' | b'[')).count();
        self.build(nested.saturating_mul(built::map(1)))?;
        serde_json::from_slice(raw).map_err(|error| place.value(format!("the raw value is not JSON: {error}")))
    }

    /// An object that is nested with its envelope.
    fn sealed(&mut self, raw: &[u8], place: &Place<'_>) -> Result<Value, Error> {
        let codec = self.codec;
        let envelope = open(raw)?;
        let known = (codec.kinds)(envelope.api_version, envelope.kind);
        let message = known.and_then(|node| codec.table.message(node));
        let message = message.ok_or_else(|| {
            let (kind, version) = (envelope.kind, envelope.api_version);
            place.value(format!("no kind \"{kind}\" is registered for version \"{version}\""))
        })?;
        let mut object = Map::new();
        self.message(message, envelope.raw, &mut object, place)?;
        object.insert("apiVersion".to_owned(), Value::from(envelope.api_version));
        object.insert("kind".to_owned(), Value::from(envelope.kind));
        Ok(Value::Object(object))
    }

    fn schema_or_bool(&mut self, id: MessageId, bytes: &[u8], place: &Place<'_>) -> Result<Value, Error> {
        let mut value = Value::Bool(false);
        let mut reader = Reader::new(bytes);
        while let Some((number, part)) = reader.field()? {
            match (number, part) {
                (1, Payload::Varint(allows)) if value.is_boolean() => value = Value::Bool(allows != 0),
                (1, Payload::Varint(_)) => {}
                (2, Payload::Bytes(bytes)) => value = self.object(id, bytes, place)?,
                (1..=2, other) => return Err(place.wrong_wire_type(other.wire_type())),
                _ => self.unknown(number, place),
            }
        }
        Ok(value)
    }

    /// A schema in field 1 or a list in field 2; the list counts when both are there.
    fn schema_or_list(&mut self, id: MessageId, item: Shape, bytes: &[u8], place: &Place<'_>) -> Result<Value, Error> {
        let mut schema = Value::Null;
        let mut items = Vec::new();
        let mut reader = Reader::new(bytes);
        while let Some((number, part)) = reader.field()? {
            match (number, part) {
                (1, Payload::Bytes(bytes)) => schema = self.object(id, bytes, place)?,
                (1, other) => return Err(place.wrong_wire_type(other.wire_type())),
                (2, part) => self.items(item, part, &mut items, place)?,
                _ => self.unknown(number, place),
            }
        }
        Ok(if items.is_empty() { schema } else { Value::Array(items) })
    }

    /// Goes through the fields of a small message.
    fn parts<'b>(
        &mut self,
        bytes: &'b [u8],
        place: &Place<'_>,
        mut read: impl FnMut(u32, Payload<'b>) -> Result<Part, Error>,
    ) -> Result<(), Error> {
        let mut reader = Reader::new(bytes);
        while let Some((number, payload)) = reader.field()? {
            match read(number, payload)? {
                Part::Read => {}
                Part::Wrong => return Err(place.wrong_wire_type(payload.wire_type())),
                Part::Unknown => self.unknown(number, place),
            }
        }
        Ok(())
    }

    fn unknown(&mut self, number: u32, place: &Place<'_>) {
        if self.unknown.len() < MAX_UNKNOWN && self.told < MAX_TOLD {
            let separator = if place.is_root() { "" } else { ": " };
            let text = format!("{place}{separator}unknown protobuf field {number}");
            self.told += text.len();
            self.unknown.push(text);
        }
    }

    /// Counts values that are about to be made, in a list or a map.
    fn spend(&mut self, values: usize) -> Result<(), Error> {
        self.build(values.saturating_mul(built::ENTRY))
    }

    fn build(&mut self, bytes: usize) -> Result<(), Error> {
        self.left = self.left.checked_sub(bytes).ok_or(Error::TooLarge)?;
        Ok(())
    }
}

enum Part {
    Read,
    Wrong,
    Unknown,
}

fn text<'a>(bytes: &'a [u8], place: &Place<'_>) -> Result<&'a str, Error> {
    std::str::from_utf8(bytes).map_err(|_| place.value("invalid UTF-8"))
}

/// Bits that a type has no place for are dropped, as in Go.
fn varint(scalar: Scalar, number: u64) -> Option<Value> {
    Some(match scalar {
        Scalar::Bool => Value::from(number != 0),
        Scalar::Int32 => Value::from(number as i32),
        Scalar::Int64 => Value::from(number as i64),
        Scalar::Uint32 => Value::from(number as u32),
        Scalar::Uint64 => Value::from(number),
        _ => return None,
    })
}

/// A float without a fraction is written like an integer, as the JSON decoder keeps it.
fn float(float: f64) -> Option<Value> {
    let whole = float.fract() == 0.0 && float.abs() < 9e15;
    let number = if whole { Number::from(float as i64) } else { Number::from_f64(float)? };
    Some(Value::Number(number))
}

#[cfg(test)]
mod tests;
