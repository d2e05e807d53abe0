//! Objects as the cache keeps them: the stored bytes, cut where an answer differs from them.
//!
//! Every value is stored as `{"kind":K,"apiVersion":V,"metadata":{…},…}`. The head changes with the version that was asked
//! for and the resourceVersion is not part of the value, so an answer is three pieces: a head, the resourceVersion, and the
//! stored bytes from the inside of `metadata` on. Nothing is parsed or copied to answer a read.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use pawl_kv::Revision;
use pawl_meta::object::Object;
use pawl_meta::selector::{FieldSelector, LabelSelector};
use pawl_seal::{Plain, Seal};
use pawl_usage::{User, Uses};
use serde::Deserialize;
use serde_json::Value;

use crate::rendering::{Notes, View};
use crate::texts::Texts;
use crate::unreadable::{Closed, Unreadable};
use crate::wire::unpack;

/// An object in the cache.
#[derive(Debug)]
pub struct CacheEntry {
    /// `namespace/name`, or the name of a cluster-scoped object.
    pub key: Arc<str>,
    /// The revision that wrote it: its resourceVersion.
    pub revision: Revision,
    pub state: Readability,
}

/// Whether the stored value could be read.
#[derive(Debug)]
pub enum Readability {
    Readable(Readable),
    /// The value cannot be decrypted or decoded.
    Unreadable(Box<Unreadable>),
    /// Who has its key does not answer: nothing is known of it.
    Away(Box<Closed>),
}

/// The bytes of an object and the few facts that selectors need.
#[derive(Debug)]
pub struct Readable {
    value: Bytes,
    /// Where the inside of `metadata` starts, and where it ends.
    meta_start: u32,
    meta_end: u32,
    /// Keys and values in turn.
    labels: Texts,
    /// The values of the selectable fields, in the order of the resource's facts.
    fields: Texts,
    /// What is known beyond the bytes.
    pub(crate) notes: Notes,
    /// The key that sealed it; none where it is stored as it is.
    seal: Option<Arc<Seal>>,
    /// What it uses of others, where its kind does.
    uses: Option<Arc<Uses>>,
    /// The stored bytes are in another layout than ours: another server wrote them.
    foreign: bool,
}

impl CacheEntry {
    pub fn namespace(&self) -> &str {
        self.key.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    pub fn name(&self) -> &str {
        self.key.split_once('/').map_or(&*self.key, |(_, name)| name)
    }

    /// The same object at another revision: what a deletion shows.
    pub fn at(&self, revision: Revision) -> CacheEntry {
        let state = match &self.state {
            Readability::Readable(r) => Readability::Readable(Readable {
                value: r.value.clone(),
                meta_start: r.meta_start,
                meta_end: r.meta_end,
                labels: r.labels.clone(),
                fields: r.fields.clone(),
                notes: Notes::default(),
                seal: r.seal.clone(),
                uses: r.uses.clone(),
                foreign: r.foreign,
            }),
            Readability::Unreadable(unreadable) => Readability::Unreadable(unreadable.clone()),
            Readability::Away(closed) => Readability::Away(closed.clone()),
        };
        CacheEntry { key: Arc::clone(&self.key), revision, state }
    }

    pub fn readable(&self) -> Option<&Readable> {
        match &self.state {
            Readability::Readable(readable) => Some(readable),
            Readability::Unreadable(_) | Readability::Away(_) => None,
        }
    }

    pub fn unreadable(&self) -> Option<&Unreadable> {
        match &self.state {
            Readability::Unreadable(unreadable) => Some(unreadable),
            Readability::Readable(_) | Readability::Away(_) => None,
        }
    }

    /// What it costs in memory, roughly.
    pub fn weight(&self) -> usize {
        200 + self.readable().map_or(0, |r| r.value.len())
    }
}

impl Readable {
    /// Cuts a stored value. A value in another layout, or in protobuf (written by another server), is brought into ours
    /// first. With a kind, it must be of that kind.
    pub fn cut(value: Plain, kind: Option<&str>, select: &[String]) -> Result<Self, String> {
        Self::cut_user(value, kind, select, None)
    }

    /// The same of a kind whose objects use others.
    pub(crate) fn cut_user(
        value: Plain,
        kind: Option<&str>,
        select: &[String],
        user: Option<User>,
    ) -> Result<Self, String> {
        let value = value.into_bytes();
        match find_metadata(&value) {
            Some((meta_start, meta_end)) => {
                check_kind(&value, kind)?;
                Self::with_cuts(value, (meta_start, meta_end), select, user)
            }
            None => {
                let object = if value.starts_with(pawl_protobuf::MAGIC) {
                    unpack(&value)?
                } else {
                    serde_json::from_slice::<Object>(&value).map_err(|e| e.to_string())?
                };
                if !object.contains_key("kind") || !object.contains_key("apiVersion") {
                    return Err("the value has no kind or apiVersion".to_owned());
                }
                let encoded = encode(&object);
                check_kind(&encoded, kind)?;
                let (start, end) = find_metadata(&encoded).ok_or("the value has no metadata")?;
                Ok(Self { foreign: true, ..Self::with_cuts(encoded, (start, end), select, user)? })
            }
        }
    }

    fn with_cuts(
        value: Bytes,
        (meta_start, meta_end): (usize, usize),
        select: &[String],
        user: Option<User>,
    ) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Labels<'v> {
            #[serde(borrow, default)]
            labels: Option<Vec2<'v>>,
        }
        let metadata = value.get(meta_start - 1..=meta_end).unwrap_or_default();
        let parsed: Labels<'_> = serde_json::from_slice(metadata).map_err(|e| e.to_string())?;
        let labels = parsed.labels.map(|l| l.0).unwrap_or_default();
        let labels = labels.iter().flat_map(|(key, value)| [&**key, &**value]).collect();
        let (fields, uses) = if select.is_empty() && user.is_none() {
            (Texts::default(), None)
        } else {
            let object: Object = serde_json::from_slice(&value).map_err(|e| e.to_string())?;
            let texts: Vec<String> = select.iter().map(|path| field_text(&object, path)).collect();
            (texts.iter().map(String::as_str).collect(), user.map(|user| Uses::of(user, &object)))
        };
        let at = |place: usize| u32::try_from(place).map_err(|_| "the value is too large".to_owned());
        let (meta_start, meta_end) = (at(meta_start)?, at(meta_end)?);
        let notes = Notes::default();
        Ok(Self { value, meta_start, meta_end, labels, fields, seal: None, notes, uses, foreign: false })
    }

    pub(crate) fn sealed_by(self, seal: Option<Arc<Seal>>) -> Self {
        Self { seal, ..self }
    }

    /// What the object uses of others; nothing is known of kinds that use nothing.
    pub(crate) fn uses(&self) -> Option<&Arc<Uses>> {
        self.uses.as_ref()
    }

    /// Whether the store has it in another layout than ours.
    pub(crate) fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// The key that sealed the value.
    pub(crate) fn seal(&self) -> &Seal {
        self.seal.as_ref().unwrap_or(Seal::none())
    }

    /// Where the inside of `metadata` starts and ends.
    fn cuts(&self) -> (usize, usize) {
        (self.meta_start as usize, self.meta_end as usize)
    }

    /// The bytes after the resourceVersion: the rest of metadata and of the object.
    pub fn tail(&self) -> &[u8] {
        self.value.get(self.cuts().0..).unwrap_or_default()
    }

    /// The inside of metadata, without the resourceVersion.
    pub fn metadata(&self) -> &[u8] {
        let (start, end) = self.cuts();
        self.value.get(start..end).unwrap_or_default()
    }

    /// What one wants to know of metadata.
    pub fn read_metadata<'v, T: Deserialize<'v>>(&'v self) -> Option<T> {
        let (start, end) = self.cuts();
        serde_json::from_slice(self.value.get(start - 1..=end)?).ok()
    }

    pub fn uid(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Uid {
            uid: String,
        }
        let last = last_uid(self.metadata()).map(str::to_owned);
        last.or_else(|| self.read_metadata::<Uid>().map(|metadata| metadata.uid))
    }

    pub fn is_deleting(&self) -> bool {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Deletion {
            deletion_timestamp: Option<serde::de::IgnoredAny>,
        }
        self.read_metadata::<Deletion>().is_some_and(|metadata| metadata.deletion_timestamp.is_some())
    }

    /// The whole stored value.
    pub fn value(&self) -> &Bytes {
        &self.value
    }

    /// The value of a selectable field, by its place among the resource's.
    pub(crate) fn field(&self, at: usize) -> Option<&str> {
        self.fields.get(at)
    }

    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.value_of(key)
    }

    /// Kind, apiVersion and metadata of the object with its resourceVersion: enough for who needs no more.
    pub fn head(&self, revision: Revision) -> Object {
        let (_, end) = self.cuts();
        let mut text = Vec::with_capacity(end + 2);
        text.extend_from_slice(self.value.get(..=end).unwrap_or_default());
        text.push(b'}');
        parsed(&text, revision)
    }

    /// The object with its resourceVersion, to work with.
    pub fn object(&self, revision: Revision) -> Object {
        parsed(&self.value, revision)
    }
}

fn parsed(text: &[u8], revision: Revision) -> Object {
    let mut object: Object = serde_json::from_slice(text).unwrap_or_default();
    pawl_meta::object::metadata_mut(&mut object).insert("resourceVersion".to_owned(), revision.to_string().into());
    object
}

/// Label pairs without a map around them.
struct Vec2<'v>(Vec<(Cow<'v, str>, Cow<'v, str>)>);

impl<'de: 'v, 'v> Deserialize<'de> for Vec2<'v> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> serde::de::Visitor<'de> for Pairs {
            type Value = Vec2<'de>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("labels")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry::<CowStr<'de>, CowStr<'de>>()? {
                    pairs.push((pair.0.0, pair.1.0));
                }
                Ok(Vec2(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

#[derive(Deserialize)]
struct CowStr<'v>(#[serde(borrow)] Cow<'v, str>);

/// The value of a selectable field as selectors compare it: the first that its source names and the object has.
fn field_text(object: &Object, source: &str) -> String {
    let mut values =
        source.split('|').map(|part| match (part.strip_prefix('='), pawl_meta::object::at(object, part)) {
            (Some(fixed), _) => fixed.to_owned(),
            (None, Some(Value::String(text))) => text.clone(),
            (None, Some(Value::Bool(b))) => b.to_string(),
            (None, Some(Value::Number(n))) => n.to_string(),
            _ => String::new(),
        });
    values.find(|value| !value.is_empty()).unwrap_or_default()
}

/// What a list or watch asks for.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    pub labels: LabelSelector,
    pub fields: FieldSelector,
    /// The version whose fields these are, where stored objects do not say them.
    pub(crate) view: Option<View>,
}

impl Selection {
    pub fn new(labels: LabelSelector, fields: FieldSelector) -> Self {
        Self { labels, fields, view: None }
    }

    pub fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// `select` are the names of the resource's selectable fields, in their order.
    pub fn matches(&self, entry: &CacheEntry, select: &[String]) -> bool {
        let Some(readable) = entry.readable() else {
            // What cannot be read may have any labels.
            return self.matches_name(entry);
        };
        if !self.labels.matches(|key| readable.label(key)) {
            return false;
        }
        let look = self.view.as_ref().and_then(|view| Some((&view.select, view.look(readable)?)));
        let (select, values) =
            look.as_ref().map_or((select, &readable.fields), |(select, look)| (select, &look.fields));
        self.fields.matches(|field| match field {
            "metadata.name" => Cow::Borrowed(entry.name()),
            "metadata.namespace" => Cow::Borrowed(entry.namespace()),
            _ => {
                let at = select.iter().position(|s| s == field);
                Cow::Borrowed(at.and_then(|i| values.get(i)).unwrap_or_default())
            }
        })
    }

    /// An object that cannot be read is known by its name only.
    fn matches_name(&self, entry: &CacheEntry) -> bool {
        self.fields.requirements.iter().all(|r| match r.field.as_str() {
            "metadata.name" => (entry.name() == r.value) != r.negated,
            "metadata.namespace" => (entry.namespace() == r.value) != r.negated,
            _ => true,
        })
    }
}

/// The stored form of an object: kind, apiVersion and metadata first, no resourceVersion.
pub fn encode(object: &Object) -> Bytes {
    let mut out = Vec::with_capacity(1024);
    out.extend_from_slice(b"{\"kind\":");
    write(&mut out, object.get("kind").unwrap_or(&Value::Null));
    out.extend_from_slice(b",\"apiVersion\":");
    write(&mut out, object.get("apiVersion").unwrap_or(&Value::Null));
    out.extend_from_slice(b",\"metadata\":{");
    let mut first = true;
    if let Some(Value::Object(metadata)) = object.get("metadata") {
        for (name, value) in metadata {
            if name != "resourceVersion" {
                member(&mut out, &mut first, name, value);
            }
        }
    }
    out.push(b'}');
    first = false;
    for (name, value) in object {
        if !matches!(name.as_str(), "kind" | "apiVersion" | "metadata") {
            member(&mut out, &mut first, name, value);
        }
    }
    out.push(b'}');
    // To the byte: the value stays in memory, and an allocator that is asked to shrink may keep half as much again.
    Bytes::copy_from_slice(&out)
}

fn member(out: &mut Vec<u8>, first: &mut bool, name: &str, value: &Value) {
    if !std::mem::take(first) {
        out.push(b',');
    }
    write(out, name);
    out.push(b':');
    write(out, value);
}

fn write<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    // Writing JSON values to memory cannot fail.
    let _ = serde_json::to_writer(out, value);
}

/// A value in our layout says its kind first.
fn check_kind(value: &[u8], kind: Option<&str>) -> Result<(), String> {
    let Some(kind) = kind else { return Ok(()) };
    let says = value.get(KIND.len() + 1..).and_then(|rest| rest.strip_prefix(kind.as_bytes()));
    match says {
        Some(rest) if rest.starts_with(b"\"") => Ok(()),
        _ => {
            let end = skip_string(value, KIND.len()).unwrap_or(KIND.len());
            let other = String::from_utf8_lossy(value.get(KIND.len()..end).unwrap_or_default());
            Err(format!("the value is of kind {other}, not of kind \"{kind}\""))
        }
    }
}

/// How a value in our layout begins.
const KIND: &[u8] = b"{\"kind\":";

/// Where the inside of metadata starts and ends, if the value has our layout.
fn find_metadata(value: &[u8]) -> Option<(usize, usize)> {
    let mut at = skip(value, 0, KIND)?;
    at = skip_string(value, at)?;
    at = skip(value, at, b",\"apiVersion\":")?;
    at = skip_string(value, at)?;
    at = skip(value, at, b",\"metadata\":{")?;
    let start = at;
    // An object that carries its own resourceVersion, or has no name, is not ours.
    if value.get(start..)?.starts_with(b"}") {
        return None;
    }
    let mut depth = 1usize;
    while depth > 0 {
        match value.get(at)? {
            b'"' => {
                at = skip_string(value, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    Some((start, at - 1))
}

/// The uid, where metadata ends with it: in our layout nothing comes after it. Found from the end, since managedFields are long.
fn last_uid(metadata: &[u8]) -> Option<&str> {
    let rest = metadata.strip_suffix(b"\"")?;
    let (before, uid) = rest.split_at(rest.iter().rposition(|byte| *byte == b'"')? + 1);
    // A quote in a text has a backslash before it: this one begins the value of a field.
    let is_field = before == b"\"uid\":\"" || before.ends_with(b",\"uid\":\"");
    std::str::from_utf8(uid).ok().filter(|uid| is_field && !uid.contains('\\'))
}

fn skip(value: &[u8], at: usize, expected: &[u8]) -> Option<usize> {
    value.get(at..)?.starts_with(expected).then_some(at + expected.len())
}

fn skip_string(value: &[u8], at: usize) -> Option<usize> {
    let mut at = skip(value, at, b"\"")?;
    loop {
        match value.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{protobuf, type_of};
    use serde_json::json;

    fn object(value: Value) -> Object {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_uid_is_found_from_the_end_or_by_reading() {
        for (metadata, last, uid) in [
            (json!({"name": "x", "uid": "u-1"}), Some("u-1"), Some("u-1")),
            (json!({"uid": "u-1"}), Some("u-1"), Some("u-1")),
            (json!({"uid": "u-1", "unknown": "after"}), None, Some("u-1")),
            (json!({"uid": "u\"1"}), None, Some("u\"1")),
            (json!({"uid": "u\\1"}), None, Some("u\\1")),
            (json!({"name": ",\"uid\":\"u-2"}), None, None),
            (json!({"ownerReferences": [{"uid": "u-2"}], "name": "x"}), None, None),
            (json!({"zone": {"uid": "u-2"}}), None, None),
        ] {
            let bytes = encode(&object(json!({"apiVersion": "v1", "kind": "K", "metadata": metadata})));
            let readable = Readable::cut(Plain::new(bytes), None, &[]).unwrap();
            assert_eq!((last_uid(readable.metadata()), readable.uid().as_deref()), (last, uid), "{metadata}");
        }
    }

    #[test]
    fn a_value_is_cut_inside_its_metadata() {
        let o = object(json!({"data": {"a": "}\""}, "kind": "ConfigMap", "apiVersion": "v1",
            "metadata": {"name": "x", "labels": {"l": "1"}, "resourceVersion": "7"}, "type": "T"}));
        let bytes = encode(&o);
        let readable = Readable::cut(Plain::new(bytes), None, &["type".to_owned()]).unwrap();
        assert_eq!(readable.metadata(), br#""labels":{"l":"1"},"name":"x""#);
        assert!(readable.tail().ends_with(br#""type":"T"}"#));
        assert_eq!(readable.label("l"), Some("1"));
        assert_eq!(readable.fields.get(0), Some("T"));
        assert_eq!(readable.object(7), o);
        let head = readable.head(7);
        assert_eq!(head.keys().collect::<Vec<_>>(), ["apiVersion", "kind", "metadata"]);
        assert_eq!(head["metadata"], o["metadata"]);
    }

    #[test]
    fn a_value_takes_as_much_memory_as_it_is_long() {
        let filling = "x".repeat(2400);
        let bytes = encode(&object(json!({"kind": "K", "apiVersion": "v1", "metadata": {"name": filling}})));
        let length = bytes.len();
        assert_eq!(bytes.try_into_mut().unwrap().capacity(), length);
    }

    #[test]
    fn a_value_in_another_layout_is_brought_into_ours() {
        let text = br#"{ "metadata": {"name": "x"}, "kind": "ConfigMap", "apiVersion": "v1" }"#;
        let readable = Readable::cut(Plain::new(Bytes::from_static(text)), None, &[]).unwrap();
        assert_eq!(&readable.value()[..], br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"}}"#);
        assert!(Readable::cut(Plain::new(Bytes::from_static(b"nonsense")), None, &[]).is_err());
        assert!(Readable::cut(Plain::new(Bytes::from_static(b"k8s\0nonsense")), None, &[]).is_err());
        assert!(Readable::cut(Plain::new(Bytes::from_static(b"{}")), None, &[]).is_err());
    }

    #[test]
    fn a_value_of_another_kind_is_not_read() {
        let ours = br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"}}"#;
        let theirs = br#"{"metadata":{"name":"x"},"kind":"ConfigMap","apiVersion":"v1"}"#;
        for text in [&ours[..], theirs] {
            let cut = |kind| Readable::cut(Plain::new(Bytes::copy_from_slice(text)), Some(kind), &[]).err();
            assert_eq!(cut("ConfigMap"), None);
            for other in ["Config", "ConfigMapList", "Secret"] {
                let told = format!("the value is of kind \"ConfigMap\", not of kind \"{other}\"");
                assert_eq!(cut(other), Some(told));
            }
        }
    }

    #[test]
    fn a_value_that_another_server_stored_in_protobuf_is_read() {
        let object = object(json!({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "x", "namespace": "n"},
            "data": {"a": "AQI="}, "type": "Opaque"}));
        let mut raw = Vec::new();
        protobuf().encode(type_of("v1", "Secret").unwrap(), &object, &mut raw).unwrap();
        let readable =
            Readable::cut(Plain::new(pawl_protobuf::seal("v1", "Secret", &raw)), Some("Secret"), &["type".to_owned()])
                .unwrap();
        let mut read = readable.object(7);
        assert_eq!(pawl_meta::object::metadata_mut(&mut read).remove("resourceVersion"), Some(json!("7")));
        assert_eq!(read, object);
        assert_eq!(readable.field(0), Some("Opaque"));
    }
}
