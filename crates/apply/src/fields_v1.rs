//! FieldsV1: how a set of fields is written in managedFields, as JSON values and as text.
//!
//! Each field is a key with the fields below it; `.` marks a field that is a member although others are below it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use crate::path::{Element, KeyError};
use crate::set::FieldSet;

/// FieldsV1 deeper than this is no set of fields of any object.
const MAX_DEPTH: usize = 400;

impl FieldSet<'_> {
    /// The set as a FieldsV1 value.
    pub fn to_fields_v1(&self) -> Value {
        Value::Object(self.to_map(false))
    }

    fn to_map(&self, with_self: bool) -> Map<String, Value> {
        let dot = with_self.then(|| (".".to_owned(), Value::Object(Map::new())));
        let fields = self.nodes().iter().map(|node| {
            let dotted = node.member && !node.children.is_empty();
            (node.element.encode(), Value::Object(node.children.to_map(dotted)))
        });
        dot.into_iter().chain(fields).collect()
    }

    /// The set as FieldsV1 text.
    pub fn to_fields_v1_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl<'a> FieldSet<'a> {
    /// Reads a FieldsV1 value.
    pub fn from_fields_v1(fields: &'a Value) -> Result<Self, String> {
        Ok(read(fields, 0)?.0)
    }

    /// Reads FieldsV1 text.
    pub fn from_fields_v1_text(text: &'a str) -> Result<Self, String> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        deserializer.disable_recursion_limit();
        let (set, _) = Level(0).deserialize(&mut deserializer).map_err(|error| error.to_string())?;
        deserializer.end().map_err(|error| error.to_string())?;
        Ok(set)
    }

    fn put_decoded(&mut self, key: Cow<'a, str>, below: (Self, bool)) -> Result<(), String> {
        match Element::decode(key) {
            Ok(element) => {
                self.put(element, below.1, below.0);
                Ok(())
            }
            Err(KeyError::Unknown) => Ok(()),
            Err(KeyError::Malformed(text)) => Err(format!("parsing key as path element: {text}")),
        }
    }
}

/// The fields below a key, and whether the key itself is a member.
fn read(fields: &Value, depth: usize) -> Result<(FieldSet<'_>, bool), String> {
    let mut set = FieldSet::new();
    let mut member = false;
    match fields {
        Value::Null => {}
        Value::Object(map) if depth < MAX_DEPTH => {
            set = FieldSet::with_capacity(map.len());
            for (key, below) in map {
                if key == "." {
                    member = true;
                } else {
                    set.put_decoded(Cow::Borrowed(key), read(below, depth + 1)?)?;
                }
            }
        }
        Value::Object(_) => return Err("exceeded max depth".to_owned()),
        other => return Err(format!("expect {{ or n, but found {}", pawl_meta::go::json_kind(other))),
    }
    member |= set.is_empty();
    Ok((set, member))
}

struct Level(usize);

impl<'de> DeserializeSeed<'de> for Level {
    type Value = (FieldSet<'de>, bool);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        if self.0 >= MAX_DEPTH {
            return Err(de::Error::custom("exceeded max depth"));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level {
    type Value = (FieldSet<'de>, bool);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FieldsV1")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok((FieldSet::new(), true))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut set = FieldSet::new();
        let mut member = false;
        while let Some(Key(key)) = map.next_key_seed(KeySeed)? {
            if key == "." {
                member = true;
                map.next_value::<IgnoredAny>()?;
            } else {
                let below = map.next_value_seed(Level(self.0 + 1))?;
                set.put_decoded(key, below).map_err(de::Error::custom)?;
            }
        }
        member |= set.is_empty();
        Ok((set, member))
    }
}

struct Key<'de>(Cow<'de, str>);

/// Borrows a key from the text where it is written without escapes.
struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Key<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeySeed {
    type Value = Key<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key of FieldsV1")
    }

    fn visit_borrowed_str<E: de::Error>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(Key(Cow::Borrowed(key)))
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Key(Cow::Owned(key.to_owned())))
    }
}

impl Serialize for FieldSet<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Fields { set: self, with_self: false }.serialize(serializer)
    }
}

struct Fields<'s, 'a> {
    set: &'s FieldSet<'a>,
    with_self: bool,
}

impl Serialize for Fields<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.set.nodes().len() + usize::from(self.with_self)))?;
        if self.with_self {
            map.serialize_entry(".", &Map::new())?;
        }
        for node in self.set.nodes() {
            let with_self = node.member && !node.children.is_empty();
            map.serialize_entry(&node.element.encode(), &Fields { set: &node.children, with_self })?;
        }
        map.end()
    }
}
