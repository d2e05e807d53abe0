//! Values at runtime.
//!
//! A value borrows from the data and the program it came from wherever it can:
//! binding a variable copies nothing, and lists and objects are read element by
//! element when they are looked at.

pub mod convert;
mod display;
pub mod equality;
mod json;
mod list;
mod map;
pub mod number;
pub mod order;
pub mod time;

pub(crate) use display::quoted;
pub use list::{List, OwnedList};
pub use map::{Key, Map};
pub use time::Timestamp;

use crate::types::OPTIONAL;
use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// How deep data may nest where all of it is walked. Deeper data can be read, not compared or written.
pub(crate) const MAX_NESTING: usize = 200;

/// A value.
#[derive(Debug, Clone)]
pub enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Text<'a>),
    Bytes(Arc<[u8]>),
    /// In nanoseconds.
    Duration(i64),
    Timestamp(Timestamp),
    List(List<'a>),
    Map(Map<'a>),
    /// The name of a type.
    Type(Text<'a>),
    Optional(Option<Arc<Val<'a>>>),
    Opaque(Arc<dyn Opaque>),
}

/// A value of a library's own type.
pub trait Opaque: fmt::Debug + Send + Sync {
    /// The type's name.
    fn type_name(&self) -> &'static str;
    /// Whether it equals a value of the same type; nothing for other types.
    fn equals(&self, other: &dyn Opaque) -> Option<bool>;
    /// Its size where sizes are counted as cost.
    fn size(&self) -> Option<u64> {
        None
    }
    /// What `string()` makes of it, if anything.
    fn text(&self) -> Option<String> {
        None
    }
    /// For downcasts.
    fn as_any(&self) -> &dyn Any;
}

/// A string, borrowed or shared.
#[derive(Debug, Clone)]
pub enum Text<'a> {
    Borrowed(&'a str),
    Shared(Arc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Text::Borrowed(text) => text,
            Text::Shared(text) => text,
        }
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Text<'_> {}

impl PartialOrd for Text<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (**self).cmp(&**other)
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Text::Shared(text.into())
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Text::Borrowed(text)
    }
}

impl<'a> Val<'a> {
    /// A string value.
    pub fn string(text: impl Into<Text<'a>>) -> Val<'a> {
        Val::String(text.into())
    }

    /// A list value.
    pub fn list(items: Vec<Val<'a>>) -> Val<'a> {
        Val::List(List::from(items))
    }

    /// An optional value that is there.
    pub fn some(value: Val<'a>) -> Val<'a> {
        Val::Optional(Some(Arc::new(value)))
    }

    /// A value of a library's own type.
    pub fn opaque(value: impl Opaque + 'static) -> Val<'a> {
        Val::Opaque(Arc::new(value))
    }

    /// The name of the value's type.
    pub fn type_name(&self) -> &str {
        match self {
            Val::Null => "null_type",
            Val::Bool(_) => "bool",
            Val::Int(_) => "int",
            Val::Uint(_) => "uint",
            Val::Double(_) => "double",
            Val::String(_) => "string",
            Val::Bytes(_) => "bytes",
            Val::Duration(_) => "google.protobuf.Duration",
            Val::Timestamp(_) => "google.protobuf.Timestamp",
            Val::List(_) => "list",
            Val::Map(_) => "map",
            Val::Type(_) => "type",
            Val::Optional(_) => OPTIONAL,
            Val::Opaque(opaque) => opaque.type_name(),
        }
    }

    /// The same value without borrowing the name of a type.
    pub fn type_value(&self) -> Val<'static> {
        Val::Type(Text::Shared(self.type_name().into()))
    }

    /// What `size()` says, also of library types; nothing for values without a size.
    pub fn size(&self) -> Option<u64> {
        match self {
            Val::String(text) => Some(text.chars().count() as u64),
            Val::Bytes(bytes) => Some(bytes.len() as u64),
            Val::List(list) => Some(list.len() as u64),
            Val::Map(map) => Some(map.len() as u64),
            Val::Opaque(opaque) => opaque.size(),
            _ => None,
        }
    }

    /// The library value inside, if it is a `T`.
    pub fn downcast<T: Opaque + 'static>(&self) -> Option<&T> {
        match self {
            Val::Opaque(opaque) => opaque.as_any().downcast_ref(),
            _ => None,
        }
    }

    /// Whether `optional.ofNonZeroValue` takes it for nothing.
    pub fn is_zero(&self) -> bool {
        match self {
            Val::Null => true,
            Val::Bool(b) => !b,
            Val::Int(i) => *i == 0,
            Val::Uint(u) => *u == 0,
            Val::Double(d) => *d == 0.0,
            Val::String(text) => text.is_empty(),
            Val::Bytes(bytes) => bytes.is_empty(),
            Val::Duration(nanos) => *nanos == 0,
            Val::Timestamp(at) => at.is_zero(),
            Val::List(list) => list.is_empty(),
            Val::Map(map) => map.is_empty(),
            Val::Optional(value) => value.is_none(),
            Val::Type(_) | Val::Opaque(_) => false,
        }
    }
}
