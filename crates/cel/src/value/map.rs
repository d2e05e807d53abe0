//! Maps and objects: borrowed JSON beside its declaration, or values in memory.

use super::{Text, Val};
use crate::decl::{DeclKind, DeclType};
use crate::error::EvalError;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

type Object = serde_json::Map<String, Value>;

/// A map.
#[derive(Debug, Clone)]
pub enum Map<'a> {
    /// JSON entries and the type of the map or object.
    Json(&'a Object, &'a DeclType),
    /// Entries, shared.
    Owned(Arc<BTreeMap<Key<'a>, Val<'a>>>),
}

/// What may be a key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key<'a> {
    Bool(bool),
    Int(i64),
    Uint(u64),
    String(Text<'a>),
}

impl<'a> Key<'a> {
    /// The key that this value is, if it can be one.
    pub fn new(value: &Val<'a>) -> Option<Key<'a>> {
        match value {
            Val::Bool(b) => Some(Key::Bool(*b)),
            Val::Int(i) => Some(Key::Int(*i)),
            Val::Uint(u) => Some(Key::Uint(*u)),
            Val::String(text) => Some(Key::String(text.clone())),
            _ => None,
        }
    }

    /// The key as a value.
    pub fn to_val(&self) -> Val<'a> {
        match self {
            Key::Bool(b) => Val::Bool(*b),
            Key::Int(i) => Val::Int(*i),
            Key::Uint(u) => Val::Uint(*u),
            Key::String(text) => Val::String(text.clone()),
        }
    }
}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_val().fmt(f)
    }
}

impl<'a> From<BTreeMap<Key<'a>, Val<'a>>> for Map<'a> {
    fn from(entries: BTreeMap<Key<'a>, Val<'a>>) -> Self {
        Map::Owned(Arc::new(entries))
    }
}

impl<'a> Map<'a> {
    /// How many entries there are; an object counts what the data holds.
    pub fn len(&self) -> usize {
        match self {
            Map::Json(object, _) => object.len(),
            Map::Owned(entries) => entries.len(),
        }
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value under a key; a number finds an equal number of another type.
    pub fn get(&self, key: &Val<'a>) -> Result<Option<Val<'a>>, EvalError> {
        match self {
            Map::Json(object, decl) => match key {
                Val::String(name) => json_entry(object, decl, name),
                _ if matches!(decl.kind, DeclKind::Dyn) => Ok(None),
                _ => Err(EvalError::NO_OVERLOAD),
            },
            Map::Owned(entries) => Ok(owned_entry(entries, key).cloned()),
        }
    }

    /// The value under a name.
    pub fn get_str(&self, name: &str) -> Result<Option<Val<'a>>, EvalError> {
        match self {
            Map::Json(object, decl) => json_entry(object, decl, name),
            Map::Owned(entries) => {
                // A key is looked up by a borrowed name, which lives shorter than the map: compare by hand.
                let probe: &BTreeMap<Key<'_>, Val<'a>> = shorten(entries);
                Ok(probe.get(&Key::String(Text::Borrowed(name))).cloned())
            }
        }
    }

    /// All keys, in order; of an object the names that expressions can reach.
    pub fn keys(&self) -> Vec<Val<'a>> {
        match self {
            Map::Json(object, decl) => match &decl.kind {
                DeclKind::Object(fields) => object
                    .keys()
                    .filter_map(|key| fields.field_by_key(key))
                    .map(|field| Val::string(field.name.as_deref().unwrap_or(&field.key)))
                    .collect(),
                _ => object.keys().map(|key| Val::string(key.as_str())).collect(),
            },
            Map::Owned(entries) => entries.keys().map(Key::to_val).collect(),
        }
    }

    /// All entries, in the order of their keys.
    pub fn entries(&self) -> Vec<(Val<'a>, Result<Val<'a>, EvalError>)> {
        let value = |key: &Val<'a>| self.get(key).and_then(|found| found.ok_or_else(|| EvalError::no_such_key(key)));
        self.keys().into_iter().map(|key| (key.clone(), value(&key))).collect()
    }
}

/// Both parameters of the map are covariant, so a shorter life of the keys is the same map.
fn shorten<'s, 'a: 's>(entries: &'s BTreeMap<Key<'a>, Val<'a>>) -> &'s BTreeMap<Key<'s>, Val<'a>> {
    entries
}

fn owned_entry<'m, 'a>(entries: &'m BTreeMap<Key<'a>, Val<'a>>, key: &Val<'a>) -> Option<&'m Val<'a>> {
    let exact = Key::new(key).and_then(|key| entries.get(&key));
    if exact.is_some() {
        return exact;
    }
    let int = |value: i64| entries.get(&Key::Int(value));
    let uint = |value: u64| entries.get(&Key::Uint(value));
    match key {
        Val::Int(i) => u64::try_from(*i).ok().and_then(uint),
        Val::Uint(u) => i64::try_from(*u).ok().and_then(int),
        Val::Double(d) => {
            super::number::exact_int(*d).and_then(int).or_else(|| super::number::exact_uint(*d).and_then(uint))
        }
        _ => None,
    }
}

fn json_entry<'a>(object: &'a Object, decl: &'a DeclType, name: &str) -> Result<Option<Val<'a>>, EvalError> {
    match &decl.kind {
        DeclKind::Object(fields) => {
            let Some(field) = fields.field(name) else { return Ok(None) };
            match object.get(&*field.key) {
                // Null is how absence is written in an object.
                None | Some(Value::Null) => Ok(None),
                Some(value) => Val::from_json(value, &field.decl).map(Some),
            }
        }
        DeclKind::Map(element) => object.get(name).map(|value| Val::from_json(value, element)).transpose(),
        _ => object.get(name).map(|value| Val::from_json(value, decl)).transpose(),
    }
}
