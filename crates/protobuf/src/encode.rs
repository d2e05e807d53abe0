//! From an object to a message, as Go's generated code writes it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use pawl_meta::duration;
use pawl_schema::{Scalar, TypeRef};
use serde_json::{Map, Value};

use crate::place::Place;
use crate::table::{Content, FieldSlot, Many, MessageId, Shape, Slot};
use crate::time::Moment;
use crate::wire::{FIXED64, VARINT, put_bytes, put_int, put_key, put_message, put_varint};
use crate::{Codec, Error};

impl Codec<'_> {
    /// Appends the message of an object of a type. Its apiVersion and kind are the envelope's, and what the type
    /// does not have is left out.
    pub fn encode(&self, of: TypeRef<'_>, object: &Map<String, Value>, out: &mut Vec<u8>) -> Result<(), Error> {
        let message = self.marshalable(of)?;
        self.write_slots(&message.slots, Some(object), out, &Place::ROOT.inside()?)
    }

    /// Writes a message; an object that is absent is one whose fields are all zero.
    fn write_slots(
        &self,
        slots: &[Slot<'_>],
        object: Option<&Map<String, Value>>,
        out: &mut Vec<u8>,
        place: &Place<'_>,
    ) -> Result<(), Error> {
        for slot in slots {
            match &slot.content {
                Content::Field(entry) => {
                    let value = object.and_then(|object| object.get(&*entry.field.name)).filter(|v| !v.is_null());
                    self.write_field(slot.number, entry, value, out, &place.name(&entry.field.name))?;
                }
                Content::Embedded(inner) => {
                    put_message(slot.number, out, |out| self.write_slots(inner, object, out, place))?;
                }
            }
        }
        Ok(())
    }

    fn write_field(
        &self,
        number: u32,
        entry: &FieldSlot<'_>,
        value: Option<&Value>,
        out: &mut Vec<u8>,
        place: &Place<'_>,
    ) -> Result<(), Error> {
        let shape = entry.shape;
        match (entry.many, value) {
            (Many::One, None) if entry.field.pointer || shape.has_nil() => Ok(()),
            (Many::One, value) => self.write(number, shape, value, out, place),
            (Many::List | Many::Map, None) => Ok(()),
            (Many::List, Some(Value::Array(items))) => {
                for (at, item) in items.iter().enumerate() {
                    self.write(number, shape, set(item), out, &place.index(at))?;
                }
                Ok(())
            }
            (Many::Map, Some(Value::Object(entries))) => {
                // Whether a map keeps its keys in order is up to a feature of serde_json that any crate can turn on.
                if entries.keys().is_sorted() {
                    for (key, value) in entries {
                        self.write_entry(number, shape, key, value, out, place)?;
                    }
                } else {
                    let mut sorted: Vec<_> = entries.iter().collect();
                    sorted.sort_by_key(|(key, _)| *key);
                    for (key, value) in sorted {
                        self.write_entry(number, shape, key, value, out, place)?;
                    }
                }
                Ok(())
            }
            (Many::List, Some(_)) => Err(place.value("a list is expected")),
            (Many::Map, Some(_)) => Err(place.value("a map is expected")),
        }
    }

    fn write_entry(
        &self,
        number: u32,
        shape: Shape,
        key: &str,
        value: &Value,
        out: &mut Vec<u8>,
        place: &Place<'_>,
    ) -> Result<(), Error> {
        put_message(number, out, |out| {
            put_bytes(1, key.as_bytes(), out);
            match set(value) {
                None if shape == Shape::Scalar(Scalar::Bytes) => Ok(()),
                value => self.write(2, shape, value, out, &place.name(key)),
            }
        })
    }

    /// Writes one value; one that is absent is zero.
    fn write(
        &self,
        number: u32,
        shape: Shape,
        value: Option<&Value>,
        out: &mut Vec<u8>,
        place: &Place<'_>,
    ) -> Result<(), Error> {
        match shape {
            Shape::Scalar(scalar) => write_scalar(number, scalar, value, out, place),
            Shape::Message(id) => {
                let object = match value {
                    None => None,
                    Some(Value::Object(object)) => Some(object),
                    Some(_) => return Err(place.value("an object is expected")),
                };
                put_message(number, out, |out| self.write_object(id, object, out, place))
            }
            Shape::Strings => put_message(number, out, |out| match value {
                None => Ok(()),
                Some(Value::Array(items)) => write_strings(1, items, out, place),
                Some(_) => Err(place.value("a list is expected")),
            }),
            Shape::Raw => put_message(number, out, |out| match value {
                None => Ok(()),
                Some(value) => put_message(1, out, |out| {
                    serde_json::to_writer(&mut *out, value).map_err(|error| place.value(error.to_string()))
                }),
            }),
            Shape::SchemaOrBool(id) => put_message(number, out, |out| match value {
                None | Some(Value::Bool(_)) => write_scalar(1, Scalar::Bool, value, out, place),
                Some(Value::Object(schema)) => {
                    put_int(1, 1, out);
                    put_message(2, out, |out| self.write_object(id, Some(schema), out, place))
                }
                Some(_) => Err(place.value("boolean or JSON schema expected")),
            }),
            Shape::SchemaOrSchemas(id) | Shape::SchemaOrStrings(id) => put_message(number, out, |out| match value {
                None => Ok(()),
                Some(Value::Object(schema)) => {
                    put_message(1, out, |out| self.write_object(id, Some(schema), out, place))
                }
                Some(Value::Array(items)) if shape == Shape::SchemaOrStrings(id) => write_strings(2, items, out, place),
                Some(Value::Array(items)) => {
                    for (at, item) in items.iter().enumerate() {
                        self.write(2, Shape::Message(id), set(item), out, &place.index(at))?;
                    }
                    Ok(())
                }
                Some(_) => Err(place.value("JSON schema or list expected")),
            }),
        }
    }

    fn write_object(
        &self,
        id: MessageId,
        object: Option<&Map<String, Value>>,
        out: &mut Vec<u8>,
        place: &Place<'_>,
    ) -> Result<(), Error> {
        self.write_slots(&self.table.get(id).slots, object, out, &place.inside()?)
    }
}

/// A null among items or map values is the zero value of their type, as in Go.
fn set(value: &Value) -> Option<&Value> {
    (!value.is_null()).then_some(value)
}

fn write_strings(number: u32, items: &[Value], out: &mut Vec<u8>, place: &Place<'_>) -> Result<(), Error> {
    for (at, item) in items.iter().enumerate() {
        write_scalar(number, Scalar::String, set(item), out, &place.index(at))?;
    }
    Ok(())
}

fn write_scalar(
    number: u32,
    scalar: Scalar,
    value: Option<&Value>,
    out: &mut Vec<u8>,
    place: &Place<'_>,
) -> Result<(), Error> {
    match scalar {
        Scalar::String => put_bytes(number, string(value, place)?.as_bytes(), out),
        Scalar::Bytes => {
            let bytes = BASE64.decode(string(value, place)?).map_err(|error| place.value(error.to_string()))?;
            put_bytes(number, &bytes, out);
        }
        Scalar::Bool => match value {
            None => put_int(number, 0, out),
            Some(Value::Bool(flag)) => put_int(number, i64::from(*flag), out),
            Some(_) => return Err(place.value("a boolean is expected")),
        },
        Scalar::Int32 | Scalar::Int64 => put_int(number, integer(value, place)?, out),
        Scalar::Uint32 | Scalar::Uint64 => {
            let unsigned = value.map_or(Some(0), Value::as_u64).ok_or_else(|| place.value("a number is expected"))?;
            put_key(number, VARINT, out);
            put_varint(unsigned, out);
        }
        Scalar::Float64 => {
            let float = value.map_or(Some(0.0), Value::as_f64).ok_or_else(|| place.value("a number is expected"))?;
            put_key(number, FIXED64, out);
            out.extend_from_slice(&float.to_le_bytes());
        }
        Scalar::Time | Scalar::MicroTime => {
            let text = string(value, place)?;
            let moment = match text {
                "" => None,
                text => Some(Moment::parse(text).ok_or_else(|| place.value("a time is expected"))?),
            };
            return put_message(number, out, |out| {
                if let Some(moment) = moment.filter(|moment| !moment.is_zero()) {
                    put_int(1, moment.seconds, out);
                    put_int(2, if scalar == Scalar::MicroTime { moment.nanos.into() } else { 0 }, out);
                }
                Ok(())
            });
        }
        Scalar::Duration => {
            let nanos = match value {
                None => 0,
                value => duration::parse(string(value, place)?).ok_or_else(|| place.value("a duration is expected"))?,
            };
            return put_message(number, out, |out| {
                put_int(1, nanos, out);
                Ok(())
            });
        }
        Scalar::Quantity => {
            let quantity = match value {
                None => "0",
                value => string(value, place)?,
            };
            return put_message(number, out, |out| {
                put_bytes(1, quantity.as_bytes(), out);
                Ok(())
            });
        }
        Scalar::IntOrString => {
            let (kind, int, text) = match value {
                Some(Value::String(text)) => (1, 0, text.as_str()),
                value => (0, integer(value, place)?, ""),
            };
            return put_message(number, out, |out| {
                put_int(1, kind, out);
                put_int(2, int, out);
                put_bytes(3, text.as_bytes(), out);
                Ok(())
            });
        }
    }
    Ok(())
}

fn string<'v>(value: Option<&'v Value>, place: &Place<'_>) -> Result<&'v str, Error> {
    value.map_or(Some(""), Value::as_str).ok_or_else(|| place.value("a string is expected"))
}

fn integer(value: Option<&Value>, place: &Place<'_>) -> Result<i64, Error> {
    value.map_or(Some(0), Value::as_i64).ok_or_else(|| place.value("a number is expected"))
}

#[cfg(test)]
mod tests;
