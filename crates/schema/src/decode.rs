//! From bytes to an object of a type, in one pass.
//!
//! The visitor is guided by the schema: it builds the object, leaves out what the type does not have, brings scalars into
//! their one form, adds what is always on the wire, and notes unknown and duplicate fields with their places as it goes.
//! Like Go's decoder it goes on after a value of the wrong type and reports the first one.

use std::cell::RefCell;
use std::fmt;
use std::sync::LazyLock;

use pawl_meta::go;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::{FieldRef, Node, NodeKind, ObjectRef, Scalar, Type, TypeKind, TypeRef, built, go_json, literals};

/// Nesting beyond this is refused: nothing real comes near it, and the stack stays small.
const MAX_DEPTH: usize = 300;
/// Upstream stops counting field findings here.
const MAX_FINDINGS: usize = 100;
/// And so many bytes of their paths are enough: keys of a map may be as long as the document.
const MAX_PATHS: usize = 64 * 1024;
/// And so many of those that may be there already.
const MAX_LOOKED_AT: usize = 1 << 20;
/// Longer names are not mistyped fields.
const MAX_MISTYPED: usize = 64;
/// What may be built of a value that was counted when it was read.
const VALUE_ALLOWED: usize = 96 << 20;

/// A field that the decoder left out or that was given more than once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    Unknown { path: String, suggestion: Option<String> },
    Duplicate { path: String },
}

impl Finding {
    /// The words of warnings and strict errors: `unknown field "spec.x"`.
    pub fn message(&self) -> String {
        match self {
            Self::Unknown { path, .. } => format!("unknown field {}", go::quote(path)),
            Self::Duplicate { path } => format!("duplicate field {}", go::quote(path)),
        }
    }

    pub fn path(&self) -> &str {
        match self {
            Self::Unknown { path, .. } | Self::Duplicate { path } => path,
        }
    }
}

/// A decoded object and what was odd about its text.
#[derive(Debug)]
pub struct Decoded {
    pub object: Map<String, Value>,
    /// In the order of the document.
    pub findings: Vec<Finding>,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum DecodeError {
    /// Not JSON; the text is what Go says about it.
    #[error("{0}")]
    Syntax(String),
    /// A value does not fit its type; the text is what Go says about it.
    #[error("{0}")]
    Type(String),
    /// What the text stands for takes much more memory than the text.
    #[error("the document is too large once it is read: {0} bytes of text may not become more than {1}")]
    TooLarge(usize, usize),
}

/// Decodes a JSON document as an object of a type.
pub fn decode_json(of: TypeRef<'_>, text: &[u8]) -> Result<Decoded, DecodeError> {
    match decode_text(of, text, None) {
        // Numbers that no float can hold are JSON all the same: what is wrong with them depends on where they stand.
        Err(error @ DecodeError::Syntax(_)) => match literals::beyond(text) {
            Some((text, beyond)) => decode_text(of, &text, Some(beyond)),
            None => Err(error),
        },
        outcome => outcome,
    }
}

fn decode_text(of: TypeRef<'_>, text: &[u8], beyond: Option<String>) -> Result<Decoded, DecodeError> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    deserializer.disable_recursion_limit();
    let allowed = built::allowed(text.len());
    let reading = Reading { text: Some(text), beyond, notes: RefCell::new(Notes::new(allowed)) };
    let seed = Seed { of, reading: &reading, place: &Place::ROOT };
    let value = seed.deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    let notes = reading.notes.into_inner();
    match value {
        Ok(value) => finish(of, value, notes),
        Err(error) if error.is_data() && notes.too_large => Err(DecodeError::TooLarge(text.len(), allowed)),
        Err(error) if error.is_data() && notes.too_deep => Err(DecodeError::Syntax("exceeded max depth".to_owned())),
        Err(_) => Err(DecodeError::Syntax(invalid_text(text))),
    }
}

/// Runs the decoder over a value that is already parsed: an object of our own, or YAML. What the type adds to it may take as
/// much memory again as a text of its size may.
pub fn decode_value(of: TypeRef<'_>, value: Value) -> Result<Decoded, DecodeError> {
    decode_parsed(of, value, None)
}

/// Runs the decoder over what came of a text, as the result of a patch does: messages show numbers as they stand in it.
pub fn decode_value_of(of: TypeRef<'_>, value: Value, text: &[u8]) -> Result<Decoded, DecodeError> {
    decode_parsed(of, value, Some(text))
}

fn decode_parsed(of: TypeRef<'_>, value: Value, text: Option<&[u8]>) -> Result<Decoded, DecodeError> {
    let reading = Reading { text, beyond: None, notes: RefCell::new(Notes::new(VALUE_ALLOWED)) };
    let seed = Seed { of, reading: &reading, place: &Place::ROOT };
    let outcome = seed.deserialize(value);
    let notes = reading.notes.into_inner();
    match outcome {
        Ok(value) => finish(of, value, notes),
        Err(_) if notes.too_large => Err(DecodeError::TooLarge(0, VALUE_ALLOWED)),
        Err(error) => Err(DecodeError::Syntax(error.to_string())),
    }
}

fn invalid_text(text: &[u8]) -> String {
    match std::str::from_utf8(text) {
        Ok(_) => go_json::syntax_error(text),
        Err(_) => "invalid UTF-8 in JSON text".to_owned(),
    }
}

fn finish(of: TypeRef<'_>, value: Value, notes: Notes) -> Result<Decoded, DecodeError> {
    if let Some(error) = notes.error {
        return Err(DecodeError::Type(error));
    }
    let object = match value {
        Value::Object(object) => object,
        // A document that is null says nothing: it is the object that nobody filled in.
        _ => match of.zero() {
            Value::Object(object) => object,
            _ => Map::new(),
        },
    };
    Ok(Decoded { object, findings: notes.findings })
}

/// A document that is being read.
struct Reading<'t> {
    /// What its numbers were written in.
    text: Option<&'t [u8]>,
    /// How the first number that no float can hold is written; [`literals::BEYOND`] stands for it.
    beyond: Option<String>,
    notes: RefCell<Notes>,
}

/// What was noticed so far.
#[derive(Default)]
struct Notes {
    findings: Vec<Finding>,
    /// The first value of a wrong type.
    error: Option<String>,
    /// Bytes of paths in the findings.
    paths: usize,
    /// Bytes of all paths that were worked out.
    looked_at: usize,
    /// How often the text was read again.
    looked_up: usize,
    /// Whether `-0` is how a zero with a sign is written.
    plain_zero: Option<bool>,
    depth: usize,
    too_deep: bool,
    /// How many bytes may still be built.
    left: usize,
    too_large: bool,
}

impl Notes {
    fn new(allowed: usize) -> Self {
        Self { left: allowed, ..Self::default() }
    }
}

/// The way to the value being read, linked on the stack: it costs nothing until something is wrong.
struct Place<'p> {
    parent: Option<&'p Place<'p>>,
    step: PathStep<'p>,
    /// The struct whose field this is, as Go's messages name it.
    owner: &'p str,
    /// The structs within that one that the field is in.
    embedded: &'p str,
}

enum PathStep<'p> {
    Root,
    /// A field of a struct.
    Field(&'p str),
    /// A key of a map.
    Key(&'p str),
    Index(usize),
}

impl Place<'static> {
    const ROOT: Place<'static> = Place { parent: None, step: PathStep::Root, owner: "", embedded: "" };
}

impl Place<'_> {
    /// `spec.containers[0].image`, as findings print it.
    fn path(&self) -> String {
        let mut path = self.parent.map(Place::path).unwrap_or_default();
        match self.step {
            PathStep::Root => {}
            PathStep::Field(name) | PathStep::Key(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
            }
            PathStep::Index(index) => path.push_str(&format!("[{index}]")),
        }
        path
    }

    fn child_path(&self, name: &str) -> String {
        Place { parent: Some(self), step: PathStep::Field(name), owner: "", embedded: "" }.path()
    }

    /// `PodSpec.spec.template.spec.hostname`: Go's way to name a field leaves indexes and keys out.
    fn go_field(&self) -> Option<String> {
        let mut names = Vec::new();
        let mut owner = self.owner;
        let mut at = Some(self);
        while let Some(place) = at {
            if let PathStep::Field(name) = place.step {
                names.push(name);
                names.extend((!place.embedded.is_empty()).then_some(place.embedded));
                if owner.is_empty() {
                    owner = place.owner;
                }
            }
            at = place.parent;
        }
        (!owner.is_empty()).then(|| {
            names.reverse();
            format!("{owner}.{}", names.join("."))
        })
    }
}

#[derive(Clone, Copy)]
struct Seed<'s, 'c> {
    of: TypeRef<'s>,
    reading: &'c Reading<'c>,
    place: &'c Place<'c>,
}

impl<'de> DeserializeSeed<'de> for Seed<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        {
            let mut notes = self.reading.notes.borrow_mut();
            notes.depth += 1;
            if notes.depth > MAX_DEPTH {
                notes.too_deep = true;
                return Err(D::Error::custom("exceeded max depth"));
            }
        }
        let value = deserializer.deserialize_any(self);
        self.reading.notes.borrow_mut().depth -= 1;
        value
    }
}

impl<'s> Seed<'s, '_> {
    fn node(&self) -> &'s Node {
        self.of.node()
    }

    /// Notes that a value has the wrong type and reads on.
    fn mismatch(&self, what: &str) -> Value {
        self.mismatch_with(what, &self.node().go)
    }

    fn mismatch_with(&self, what: &str, go: &str) -> Value {
        let text = match self.place.go_field() {
            Some(field) => format!("json: cannot unmarshal {what} into Go struct field {field} of type {go}"),
            None => format!("json: cannot unmarshal {what} into Go value of type {go}"),
        };
        self.refuse(text)
    }

    fn refuse(&self, text: String) -> Value {
        self.reading.notes.borrow_mut().error.get_or_insert(text);
        Value::Null
    }

    /// Notes what is odd about a field, once, unless enough is noted: only then it is worked out where it stands.
    fn find(&self, finding: impl FnOnce() -> Finding) {
        let mut notes = self.reading.notes.borrow_mut();
        if notes.findings.len() < MAX_FINDINGS && notes.paths < MAX_PATHS && notes.looked_at < MAX_LOOKED_AT {
            let finding = finding();
            notes.looked_at += finding.path().len();
            if !notes.findings.contains(&finding) {
                notes.paths += finding.path().len();
                notes.findings.push(finding);
            }
        }
    }

    /// Counts what is about to be built.
    fn build<E: serde::de::Error>(&self, bytes: usize) -> Result<(), E> {
        let mut notes = self.reading.notes.borrow_mut();
        match notes.left.checked_sub(bytes) {
            Some(left) => {
                notes.left = left;
                Ok(())
            }
            None => {
                notes.too_large = true;
                Err(E::custom("too large"))
            }
        }
    }

    fn text(self, text: &str) -> Value {
        match &self.node().kind {
            _ if self.node().lenient => Value::from(text),
            NodeKind::Any | NodeKind::Scalar(Scalar::String | Scalar::IntOrString) => Value::from(text),
            NodeKind::Scalar(scalar) => self.special(*scalar, text),
            _ => self.mismatch("string"),
        }
    }
}

impl<'de> Visitor<'de> for Seed<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(match self.node().kind {
            _ if self.node().lenient => Value::Bool(v),
            NodeKind::Any | NodeKind::Scalar(Scalar::Bool) => Value::Bool(v),
            NodeKind::Scalar(Scalar::Time | Scalar::MicroTime | Scalar::Duration) => {
                self.mismatch_with("bool", "string")
            }
            NodeKind::Scalar(Scalar::IntOrString) => self.mismatch_with("bool", "int32"),
            NodeKind::Scalar(Scalar::Quantity) => self.refuse(pawl_meta::quantity::FORMAT_ERROR.to_owned()),
            _ => self.mismatch("bool"),
        })
    }

    fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
        Ok(self.number(v.into()))
    }

    fn visit_u64<E>(self, v: u64) -> Result<Value, E> {
        Ok(self.number(v.into()))
    }

    fn visit_f64<E>(self, v: f64) -> Result<Value, E> {
        Ok(Number::from_f64(v).map_or(Value::Null, |number| self.number(number)))
    }

    fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<Value, E> {
        self.build(built::text(v.len()))?;
        Ok(self.text(v))
    }

    fn visit_string<E>(self, v: String) -> Result<Value, E> {
        // A patched value hands over its strings: keep them where nothing has to change.
        let node = self.node();
        let kept =
            node.lenient || matches!(node.kind, NodeKind::Any | NodeKind::Scalar(Scalar::String | Scalar::IntOrString));
        Ok(if kept { Value::String(v) } else { self.text(&v) })
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let (item, go_owner) = match self.of.kind() {
            TypeKind::List(item) => (item, self.place.owner),
            TypeKind::Any => (self.of, ""),
            TypeKind::Scalar(Scalar::Bytes) if !self.node().lenient => return self.listed_bytes(seq),
            _ if self.node().lenient => return self.misplaced(|seed| seed.items(seed.of, "", seq)),
            _ => {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                return Ok(self.mismatch("array"));
            }
        };
        self.items(item, go_owner, seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
        match self.of.kind() {
            TypeKind::Object(object) => self.object(object, map),
            TypeKind::Map(value) => self.entries(value, map),
            TypeKind::Any => self.entries(self.of, map),
            _ if self.node().lenient => self.misplaced(|seed| seed.visit_map(map)),
            _ => {
                drain(map)?;
                Ok(self.mismatch("object"))
            }
        }
    }
}

impl Seed<'_, '_> {
    /// Reads a value of a kind that its lenient type is not: nothing is declared of what it holds, so that its fields are
    /// unknown, unless those are kept.
    fn misplaced<T>(self, read: impl FnOnce(Seed<'_, '_>) -> T) -> T {
        let undeclared = if self.node().preserve_unknown { &UNTYPED } else { &NOTHING };
        read(Seed { of: undeclared.as_ref(), reading: self.reading, place: self.place })
    }

    fn items<'de, A: SeqAccess<'de>>(self, item: TypeRef<'_>, owner: &str, mut seq: A) -> Result<Value, A::Error> {
        // Who knows the length has the items in memory already: as many again, and no more.
        let known = seq.size_hint().unwrap_or(0);
        self.build(built::list(known))?;
        let mut items = Vec::with_capacity(known);
        loop {
            let place = Place { parent: Some(self.place), step: PathStep::Index(items.len()), owner, embedded: "" };
            match seq.next_element_seed(Seed { of: item, place: &place, ..self })? {
                None => return Ok(Value::Array(items)),
                Some(value) => {
                    if items.len() == items.capacity() {
                        self.build(built::list(items.len().max(4)))?;
                    }
                    items.push(item_of(item, value));
                }
            }
        }
    }

    fn object<'de, A: MapAccess<'de>>(self, shape: ObjectRef<'_>, mut access: A) -> Result<Value, A::Error> {
        let object = shape.object;
        let mut map = Map::new();
        // Fields seen so far, one bit each: what was given and left out again still counts as given.
        let mut seen = Seen::default();
        while let Some(name) = access.next_key::<Name<'de>>()? {
            let name = name.as_str();
            match object.position(name).and_then(|at| Some((at, object.fields.get(at)?))) {
                Some((at, field)) => {
                    let owner = object.struct_name(field);
                    let embedded = &field.embedded;
                    let field = FieldRef { schema: shape.schema, field };
                    let place = Place { parent: Some(self.place), step: PathStep::Field(name), owner, embedded };
                    let is_repeated = seen.insert(at);
                    if is_repeated {
                        self.find(|| Finding::Duplicate { path: place.path() });
                    }
                    let value = access.next_value_seed(Seed { of: field.of(), place: &place, ..self })?;
                    if is_repeated {
                        let earlier = map.remove(name);
                        let is_replaced = field.of().node().lenient;
                        let merged = if is_replaced { value } else { merge(earlier, value) };
                        if !field.is_omitted(&merged) {
                            map.insert(name.to_owned(), merged);
                        }
                    } else if !field.is_omitted(&value) {
                        let value = if value.is_null() { null_of(field) } else { Some(value) };
                        if let Some(value) = value {
                            map.insert(name.to_owned(), value);
                        }
                    }
                }
                None if self.node().preserve_unknown => {
                    let place =
                        Place { parent: Some(self.place), step: PathStep::Field(name), owner: "", embedded: "" };
                    let value = match shape.others() {
                        Some(of) => access.next_value_seed(Seed { of, place: &place, ..self })?,
                        None => access.next_value_seed(Untyped { seed: Seed { place: &place, ..self } })?,
                    };
                    if let Some(earlier) = map.insert(name.to_owned(), value) {
                        drop(earlier);
                        self.find(|| Finding::Duplicate { path: place.path() });
                    }
                }
                None => {
                    access.next_value::<IgnoredAny>()?;
                    self.find(|| Finding::Unknown {
                        path: self.place.child_path(name),
                        suggestion: nearest(object, name),
                    });
                }
            }
        }
        shape.complete(&mut map);
        let names: usize = map.keys().map(|name| built::text(name.len())).sum();
        self.build(built::map(map.len()) + names)?;
        Ok(Value::Object(map))
    }

    fn entries<'de, A: MapAccess<'de>>(self, value: TypeRef<'_>, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = access.next_key::<Name<'de>>()? {
            let name = name.as_str();
            let place =
                Place { parent: Some(self.place), step: PathStep::Key(name), owner: self.place.owner, embedded: "" };
            if map.contains_key(name) {
                self.find(|| Finding::Duplicate { path: place.path() });
            }
            let read = access.next_value_seed(Seed { of: value, place: &place, ..self })?;
            let read = item_of(value, read);
            // A map may be as large as the document, so it is counted as it grows.
            let entry = built::map(map.len() + 1) - built::map(map.len());
            self.build(entry + built::text(name.len()))?;
            map.insert(name.to_owned(), read);
        }
        Ok(Value::Object(map))
    }
}

/// What an explicit null means for a field that is always written: nil where Go has nil, else the zero value.
fn null_of(field: FieldRef<'_>) -> Option<Value> {
    if field.null_is_empty {
        return Some(Value::Array(Vec::new()));
    }
    let node = field.of().node();
    let nil =
        field.pointer || node.nullable || matches!(node.kind, NodeKind::List(_) | NodeKind::Map(_) | NodeKind::Any);
    nil.then_some(Value::Null)
}

/// A null among items or map values is the zero value of their type, as in Go.
fn item_of(of: TypeRef<'_>, value: Value) -> Value {
    if !value.is_null() || of.node().lenient {
        return value;
    }
    match of.kind() {
        TypeKind::Scalar(Scalar::String | Scalar::Bytes) => Value::from(""),
        TypeKind::Scalar(Scalar::Bool) => Value::from(false),
        TypeKind::Scalar(Scalar::Quantity) => Value::from("0"),
        TypeKind::Scalar(Scalar::Int32 | Scalar::Int64 | Scalar::IntOrString) => Value::from(0),
        TypeKind::Object(object) => {
            let mut map = Map::new();
            object.complete(&mut map);
            Value::Object(map)
        }
        _ => Value::Null,
    }
}

/// Reads a value of which nothing is declared; only duplicates count.
struct Untyped<'s, 'c> {
    seed: Seed<'s, 'c>,
}

impl<'de> DeserializeSeed<'de> for Untyped<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let seed = Seed { of: UNTYPED.as_ref(), reading: self.seed.reading, place: self.seed.place };
        seed.deserialize(deserializer)
    }
}

static UNTYPED: LazyLock<Type> = LazyLock::new(|| Type::any("interface {}"));

/// A type of which nothing is declared and nothing kept but scalars.
static NOTHING: LazyLock<Type> = LazyLock::new(|| Type::nothing("interface {}"));

/// A key, borrowed from the text where it has no escapes.
enum Name<'de> {
    Borrowed(&'de str),
    Owned(String),
}

impl Name<'_> {
    fn as_str(&self) -> &str {
        match self {
            Self::Borrowed(name) => name,
            Self::Owned(name) => name,
        }
    }
}

impl<'de> serde::Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl<'de> Visitor<'de> for NameVisitor {
            type Value = Name<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, v: &'de str) -> Result<Name<'de>, E> {
                Ok(Name::Borrowed(v))
            }
            fn visit_str<E>(self, v: &str) -> Result<Name<'de>, E> {
                Ok(Name::Owned(v.to_owned()))
            }
            fn visit_string<E>(self, v: String) -> Result<Name<'de>, E> {
                Ok(Name::Owned(v))
            }
        }
        deserializer.deserialize_str(NameVisitor)
    }
}

/// Which fields of an object have been given.
#[derive(Default)]
struct Seen {
    low: u128,
    high: Vec<usize>,
}

impl Seen {
    /// Whether it was there already.
    fn insert(&mut self, at: usize) -> bool {
        if at < 128 {
            let bit = 1u128 << at;
            let was = self.low & bit != 0;
            self.low |= bit;
            return was;
        }
        let was = self.high.contains(&at);
        self.high.push(at);
        was
    }
}

/// Go decodes a repeated field into what is already there: objects grow, everything else is replaced.
fn merge(earlier: Option<Value>, later: Value) -> Value {
    match (earlier, later) {
        (Some(Value::Object(mut old)), Value::Object(new)) => {
            for (key, value) in new {
                let merged = merge(old.remove(&key), value);
                old.insert(key, merged);
            }
            Value::Object(old)
        }
        (Some(earlier), Value::Null) => earlier,
        (_, later) => later,
    }
}

fn drain<'de, A: MapAccess<'de>>(mut map: A) -> Result<(), A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

/// The known field that an unknown one was probably meant to be.
fn nearest(object: &crate::Object, name: &str) -> Option<String> {
    if name.len() > MAX_MISTYPED {
        return None;
    }
    let limit = match name.chars().count() {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    };
    let candidates = object.fields.iter().map(|field| (distance(name, &field.name), &field.name));
    candidates.filter(|(d, _)| *d <= limit).min_by_key(|(d, _)| *d).map(|(_, name)| name.to_string())
}

/// Edits (insert, delete, replace, swap of neighbours) between two names, ignoring case.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().flat_map(char::to_lowercase).take(64).collect();
    let b: Vec<char> = b.chars().flat_map(char::to_lowercase).take(64).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, cb) in b.iter().enumerate() {
            let at = |row: &Vec<usize>, k: usize| row.get(k).copied().unwrap_or(usize::MAX / 2);
            let mut cost =
                (at(&previous, j) + usize::from(ca != cb)).min(at(&previous, j + 1) + 1).min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(cb) && b.get(j - 1) == Some(ca);
            if swapped {
                cost = cost.min(at(&before, j - 1) + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut previous, row);
    }
    previous.last().copied().unwrap_or(0)
}

mod scalars;

#[cfg(test)]
mod lenient;
#[cfg(test)]
mod tests;
