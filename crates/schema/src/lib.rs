//! What objects look like: types, and how bytes become objects of a type.
//!
//! Owns the schema of every kind (built-in and custom alike), the one-pass decoder that builds an object, prunes it and
//! records unknown and duplicate fields, and the reading of YAML. It knows nothing of requests, of storage or of who asks.

pub mod built;
mod conversion;
mod decode;
mod empties;
mod go_base64;
mod go_json;
mod literals;
mod print;
mod shape;
mod types;
mod untyped;
pub mod yaml;
mod zero;

pub use decode::{DecodeError, Decoded, Finding, decode_json, decode_value, decode_value_of};
pub use go_json::syntax_error;
pub use literals::beyond_floats;
pub use shape::{Field, ListType, Node, NodeId, NodeKind, Object, Patch, Presence, Scalar, Schema, SchemaBuilder};
pub use types::{FieldRef, ObjectRef, Type, TypeKind, TypeRef};
pub use untyped::read_json;
