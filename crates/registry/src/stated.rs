//! What a body says it is, as upstream's first look at it finds out: `apiVersion` and `kind` in letters of any case, the last
//! of several. What else is in the body is skipped.

use std::fmt;

use pawl_schema::{Finding, syntax_error, yaml};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::Encoding;

/// apiVersion and kind.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Stated {
    pub api_version: String,
    pub kind: String,
}

impl Stated {
    /// Reads what a body states; the error is upstream's.
    pub(crate) fn read(encoding: Encoding, body: &[u8]) -> Result<Self, String> {
        let read = match encoding {
            Encoding::Json => serde_json::from_slice(body).map_err(|_| syntax_error(body))?,
            Encoding::Yaml | Encoding::Protobuf => {
                Look::deserialize(yaml::read(body)?.value).map_err(|error| error.to_string())?
            }
        };
        let Look(outcome) = read;
        outcome.map_err(|why| format!("couldn't get version/kind; json parse error: {why}"))
    }

    /// Whether a first look finds something else than the decoder does.
    pub(crate) fn differs(findings: &[Finding]) -> bool {
        let is_either = |path: &str| folds(path, "kind") || folds(path, "apiVersion");
        findings.iter().any(|finding| matches!(finding, Finding::Unknown { path, .. } if is_either(path)))
    }
}

/// Whether two names are the same but for the case of their letters, as Go compares them.
fn folds(name: &str, other: &str) -> bool {
    name.len() <= 2 * other.len() && name.to_lowercase() == other.to_lowercase()
}

/// The outcome of a look: the text is JSON, and may still not be what it should be.
struct Look(Result<Stated, String>);

impl<'de> Deserialize<'de> for Look {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OfBody).map(Self)
    }
}

struct OfBody;

impl OfBody {
    fn no_object(kind: &str) -> Result<Stated, String> {
        const STRUCT: &str =
            r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
        Err(format!("json: cannot unmarshal {kind} into Go value of type {STRUCT}"))
    }
}

impl<'de> Visitor<'de> for OfBody {
    type Value = Result<Stated, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut stated, mut wrong) = (Stated::default(), None);
        while let Some(name) = map.next_key::<String>()? {
            let (place, field) = match () {
                () if folds(&name, "apiVersion") => (&mut stated.api_version, "apiVersion"),
                () if folds(&name, "kind") => (&mut stated.kind, "kind"),
                () => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            match map.next_value::<Text>()? {
                Text::Is(text) => *place = text,
                Text::Null => {}
                Text::Other(kind) => {
                    let why = format!("json: cannot unmarshal {kind} into Go struct field .{field} of type string");
                    wrong.get_or_insert(why);
                }
            }
        }
        Ok(wrong.map_or(Ok(stated), Err))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Ok(Stated::default()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Self::no_object("bool"))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(Self::no_object("number"))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(Self::no_object("number"))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Self::no_object("number"))
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Self::no_object("string"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::no_object("array"))
    }
}

/// A value that should be a text.
enum Text {
    Is(String),
    Null,
    Other(&'static str),
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OfText)
    }
}

struct OfText;

impl<'de> Visitor<'de> for OfText {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E>(self, text: &str) -> Result<Text, E> {
        Ok(Text::Is(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Text, E> {
        Ok(Text::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Text, E> {
        Ok(Text::Other("bool"))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Text, E> {
        Ok(Text::Other("number"))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Text, E> {
        Ok(Text::Other("number"))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Text, E> {
        Ok(Text::Other("number"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Text, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Text::Other("array"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Text::Other("object"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_kinds_in_any_case_counts() {
        let read = |text: &str| Stated::read(Encoding::Json, text.as_bytes());
        let is =
            |api_version: &str, kind: &str| Ok(Stated { api_version: api_version.to_owned(), kind: kind.to_owned() });
        assert_eq!(read(r#"{"kind":"A","KIND":"B","a":[1e400,{"kind":"C"}]}"#), is("", "B"));
        assert_eq!(read(r#"{"Kind":"B","kind":"A","apiversion":"v2","apiVersion":null}"#), is("v2", "A"));
        assert_eq!(read("null"), is("", ""));
        let prefix = "couldn't get version/kind; json parse error: json: cannot unmarshal";
        assert_eq!(read(r#"{"kind":{}}"#), Err(format!("{prefix} object into Go struct field .kind of type string")));
        assert!(read("[]").unwrap_err().starts_with(&format!("{prefix} array into Go value of type struct")));
        assert_eq!(Stated::read(Encoding::Yaml, b"KIND: B"), is("", "B"));
    }
}
