//! The name of a field: a path of elements, and how one element is written as a key of FieldsV1.
//!
//! Elements borrow what they can from the object, the schema or the stored managedFields they were read from: most sets
//! live for one request only.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

use crate::value;

/// One step from a value to a part of it.
#[derive(Clone, Debug)]
pub enum Element<'a> {
    /// A field of a struct or an entry of a map.
    Field(Cow<'a, str>),
    /// The item of an associative list that has these keys, sorted by name.
    Key(Vec<(Cow<'a, str>, Cow<'a, Value>)>),
    /// The item of a set.
    Value(Cow<'a, Value>),
    /// A place in a list.
    Index(i64),
}

/// Why a key of FieldsV1 is not an element.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum KeyError {
    /// Of a kind that a later version may know: skipped.
    Unknown,
    Malformed(String),
}

impl<'a> Element<'a> {
    pub fn field(name: impl Into<Cow<'a, str>>) -> Self {
        Self::Field(name.into())
    }

    /// The element of an associative list; the keys may come in any order.
    pub fn key(mut keys: Vec<(Cow<'a, str>, Cow<'a, Value>)>) -> Self {
        if keys.len() > 1 {
            keys.sort_by(|(a, _), (b, _)| a.cmp(b));
        }
        Self::Key(keys)
    }

    pub fn into_owned(self) -> Element<'static> {
        match self {
            Self::Field(name) => Element::Field(Cow::Owned(name.into_owned())),
            Self::Key(keys) => Element::Key(
                keys.into_iter()
                    .map(|(name, value)| (Cow::Owned(name.into_owned()), Cow::Owned(value.into_owned())))
                    .collect(),
            ),
            Self::Value(value) => Element::Value(Cow::Owned(value.into_owned())),
            Self::Index(index) => Element::Index(index),
        }
    }

    /// Reads a key of FieldsV1: `f:name`, `k:{"name":"a"}`, `v:"a"`, `i:0`.
    pub(crate) fn decode(key: Cow<'a, str>) -> Result<Self, KeyError> {
        let malformed = |text: String| Err(KeyError::Malformed(text));
        match key.as_bytes() {
            [] | [_] => malformed("key must be 2 characters long:".to_owned()),
            [_, separator, ..] if *separator != b':' => malformed(format!("missing colon: {key}")),
            [b'f', ..] => Ok(Self::Field(match key {
                Cow::Borrowed(key) => Cow::Borrowed(rest(key)),
                Cow::Owned(mut key) => {
                    key.drain(..2);
                    Cow::Owned(key)
                }
            })),
            [b'v', ..] => match serde_json::from_str(rest(&key)) {
                Ok(value) => Ok(Self::Value(Cow::Owned(value))),
                Err(error) => malformed(error.to_string()),
            },
            [b'k', ..] => match serde_json::from_str::<serde_json::Map<String, Value>>(rest(&key)) {
                Ok(map) => {
                    Ok(Self::key(map.into_iter().map(|(name, value)| (Cow::Owned(name), Cow::Owned(value))).collect()))
                }
                Err(error) => malformed(error.to_string()),
            },
            [b'i', ..] => match rest(&key).parse() {
                Ok(index) => Ok(Self::Index(index)),
                Err(_) => malformed(format!("strconv.Atoi: parsing \"{}\": invalid syntax", rest(&key))),
            },
            _ => Err(KeyError::Unknown),
        }
    }

    /// Writes the element as a key of FieldsV1.
    pub(crate) fn encode(&self) -> String {
        match self {
            Self::Field(name) => {
                let mut out = String::with_capacity(name.len() + 2);
                out.push_str("f:");
                out.push_str(name);
                out
            }
            Self::Key(keys) => {
                let mut out = String::with_capacity(32);
                out.push_str("k:{");
                for (i, (name, key)) in keys.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    value::write_string(&mut out, name, false);
                    out.push(':');
                    value::write_json(&mut out, key);
                }
                out.push('}');
                out
            }
            Self::Value(item) => {
                let mut out = String::with_capacity(24);
                out.push_str("v:");
                value::write_json(&mut out, item);
                out
            }
            Self::Index(index) => format!("i:{index}"),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

fn rest(key: &str) -> &str {
    key.get(2..).unwrap_or_default()
}

impl Ord for Element<'_> {
    /// Fields before keys before values before indexes.
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(a), Self::Field(b)) => a.cmp(b),
            (Self::Key(a), Self::Key(b)) => {
                for ((name_a, a), (name_b, b)) in a.iter().zip(b) {
                    match name_a.cmp(name_b).then_with(|| value::order(a, b)) {
                        Ordering::Equal => {}
                        unequal => return unequal,
                    }
                }
                a.len().cmp(&b.len())
            }
            (Self::Value(a), Self::Value(b)) => value::order(a, b),
            (Self::Index(a), Self::Index(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Element<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Element<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Element<'_> {}

impl fmt::Display for Element<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(keys) => {
                f.write_str("[")?;
                for (i, (name, key)) in keys.iter().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    write!(f, "{comma}{name}={}", value::text(key))?;
                }
                f.write_str("]")
            }
            Self::Value(item) => write!(f, "[={}]", value::text(item)),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn key(pairs: &[(&'static str, Value)]) -> Element<'static> {
        Element::key(pairs.iter().map(|(n, v)| (Cow::Borrowed(*n), Cow::Owned(v.clone()))).collect())
    }

    #[test]
    fn elements_are_written_as_upstream_writes_them() {
        let check = |element: Element<'_>, encoded: &str, shown: &str| {
            assert_eq!(element.encode(), encoded);
            assert_eq!(element.to_string(), shown);
            assert_eq!(Element::decode(Cow::Borrowed(encoded)).unwrap(), element);
        };
        check(Element::field("a.b/c:d"), "f:a.b/c:d", ".a.b/c:d");
        check(Element::field(""), "f:", ".");
        check(
            key(&[("protocol", json!("TCP")), ("port", json!(80))]),
            r#"k:{"port":80,"protocol":"TCP"}"#,
            r#"[port=80,protocol="TCP"]"#,
        );
        check(Element::Value(Cow::Owned(json!("a<b\"\n"))), "v:\"a\\u003cb\\\"\\n\"", "[=\"a<b\\\"\\n\"]");
        check(Element::Value(Cow::Owned(json!(1.5))), "v:1.5", "[=1.5]");
        check(Element::Index(3), "i:3", "[3]");
    }

    #[test]
    fn keys_that_are_none_are_told_apart() {
        let malformed = |key: &str| match Element::decode(Cow::Borrowed(key)) {
            Err(KeyError::Malformed(text)) => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(malformed("f"), "key must be 2 characters long:");
        assert_eq!(malformed("field"), "missing colon: field");
        assert!(!malformed("k:[]").is_empty());
        assert!(!malformed("v:").is_empty());
        assert!(!malformed("v:1 2").is_empty());
        assert_eq!(malformed("i:x"), "strconv.Atoi: parsing \"x\": invalid syntax");
        assert_eq!(Element::decode(Cow::Borrowed("z:x")), Err(KeyError::Unknown));
        assert_eq!(malformed("é"), "missing colon: é");
    }
}
