//! Static types as the checker sees them.
//!
//! Owns their shape and how they are written in messages. Declared types with
//! fields and sizes are in [`crate::decl`]; here an object is only its name.

use std::fmt;
use std::sync::Arc;

/// A static type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// Checked only when evaluated.
    Dyn,
    /// The type of an expression that was already complained about.
    Error,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Duration,
    Timestamp,
    List(Arc<Type>),
    Map(Arc<(Type, Type)>),
    /// A type with declared fields, by name.
    Object(Arc<str>),
    /// A type without fields, by name, with parameters.
    Opaque(Arc<str>, Arc<[Type]>),
    /// The type of a type; without argument the type named `type`.
    Type(Option<Arc<Type>>),
    /// A parameter of a declared signature.
    Param(&'static str),
    /// A type still to be found; owned by one run of the checker.
    Var(u32),
}

/// The name of the optional type.
pub const OPTIONAL: &str = "optional_type";

impl Type {
    /// `list(element)`
    pub fn list(element: Type) -> Type {
        Type::List(Arc::new(element))
    }

    /// `map(key, value)`
    pub fn map(key: Type, value: Type) -> Type {
        Type::Map(Arc::new((key, value)))
    }

    /// `optional_type(inner)`
    pub fn optional(inner: Type) -> Type {
        Type::Opaque(OPTIONAL.into(), Arc::new([inner]))
    }

    /// An opaque type without parameters.
    pub fn opaque(name: &str) -> Type {
        Type::Opaque(name.into(), Arc::new([]))
    }

    /// The type of the type `of`.
    pub fn type_of(of: Type) -> Type {
        Type::Type(Some(Arc::new(of)))
    }

    /// What an optional holds, or nothing for other types.
    pub fn optional_inner(&self) -> Option<&Type> {
        match self {
            Type::Opaque(name, params) if **name == *OPTIONAL => params.first(),
            _ => None,
        }
    }

    pub(crate) fn is_dyn(&self) -> bool {
        matches!(self, Type::Dyn)
    }

    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Type::Dyn | Type::Error)
    }

    /// The name that `type()` shows at runtime.
    pub fn runtime_name(&self) -> &str {
        match self {
            Type::Dyn => "dyn",
            Type::Error => "error",
            Type::Null => "null_type",
            Type::Bool => "bool",
            Type::Int => "int",
            Type::Uint => "uint",
            Type::Double => "double",
            Type::String => "string",
            Type::Bytes => "bytes",
            Type::Duration => "google.protobuf.Duration",
            Type::Timestamp => "google.protobuf.Timestamp",
            Type::List(_) => "list",
            Type::Map(_) => "map",
            Type::Object(name) | Type::Opaque(name, _) => name,
            Type::Type(_) => "type",
            Type::Param(name) => name,
            Type::Var(_) => "dyn",
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Error => f.write_str("!error!"),
            Type::Null => f.write_str("null"),
            Type::Duration => f.write_str("duration"),
            Type::Timestamp => f.write_str("timestamp"),
            Type::Map(entry) => write!(f, "map({}, {})", entry.0, entry.1),
            Type::Var(id) => write!(f, "_var{id}"),
            Type::List(element) => write!(f, "list({element})"),
            Type::Type(Some(of)) => write!(f, "type({of})"),
            Type::Opaque(name, params) if !params.is_empty() => write!(f, "{name}{}", signature(params, false)),
            other => f.write_str(other.runtime_name()),
        }
    }
}

/// Writes the signature of a call: `(int, string)` or, with a receiver, `string.(int)`.
pub(crate) fn signature(args: &[Type], member: bool) -> String {
    let (receiver, rest) = match args.split_first() {
        Some((receiver, rest)) if member => (format!("{receiver}."), rest),
        _ => (String::new(), args),
    };
    let shown: Vec<String> = rest.iter().map(ToString::to_string).collect();
    format!("{receiver}({})", shown.join(", "))
}
