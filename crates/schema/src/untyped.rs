//! JSON that has no type yet: read as it stands, as far as its memory allows.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::{built, go_json};

/// Reads any document. What is wrong with it is said as Go says it.
pub fn read_json(text: &[u8]) -> Result<Value, String> {
    match read(text, false) {
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(go_json::syntax_error(text)),
        Err(TooLarge) => Err(format!("the document of {} bytes becomes too large in memory", text.len())),
    }
}

/// Reads a document that is plainly JSON, as YAML too would read it. `None` for everything that YAML has a say in: keys
/// that are given twice, numbers that are no integers, and whatever is not JSON.
pub(crate) fn read_plain(text: &str) -> Result<Option<Value>, TooLarge> {
    if text.starts_with('{') { read(text.as_bytes(), true) } else { Ok(None) }
}

fn read(text: &[u8], plain: bool) -> Result<Option<Value>, TooLarge> {
    let left = Cell::new(Some(built::allowed(text.len())));
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    match (Reader { left: &left, plain }).deserialize(&mut deserializer) {
        Ok(value) => Ok(deserializer.end().ok().map(|()| value)),
        Err(_) if left.get().is_none() => Err(TooLarge),
        Err(_) => Ok(None),
    }
}

/// The document would become too large in memory.
#[derive(Debug, PartialEq)]
pub(crate) struct TooLarge;

/// Reads, and counts down what may still be built.
#[derive(Clone, Copy)]
struct Reader<'c> {
    left: &'c Cell<Option<usize>>,
    plain: bool,
}

impl Reader<'_> {
    fn build<E: Error>(self, bytes: usize) -> Result<(), E> {
        let left = self.left.get().and_then(|left| left.checked_sub(bytes));
        self.left.set(left);
        left.map(|_| ()).ok_or_else(|| E::custom("too large"))
    }
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        if self.plain { Err(E::custom("a number with a fraction")) } else { Ok(Value::from(value)) }
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.build(built::text(value.len()))?;
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            if list.len() == list.capacity() {
                self.build(built::list(list.len().max(4)))?;
            }
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(self)?;
            self.build(built::map(map.len() + 1) - built::map(map.len()) + built::text(key.len()))?;
            if map.insert(key, value).is_some() && self.plain {
                return Err(A::Error::custom("a key is given twice"));
            }
        }
        Ok(Value::Object(map))
    }
}
