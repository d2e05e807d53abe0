//! The vocabulary of Pawl: what things are called, where a field is, what an error says, what a selector selects.
//!
//! Everything here is synchronous and does no IO. It refuses to know how objects are stored, served or validated: it only
//! gives the other crates the words they share.

pub mod duration;
mod field_error;
mod field_path;
pub mod go;
mod go_time;
mod group;
pub mod names;
pub mod nearest;
pub mod object;
pub mod quantity;
pub mod read;
pub mod selector;
mod status;
pub mod time;
mod version_order;

pub use field_error::{ErrorKind, Errors, FieldError};
pub use field_path::FieldPath;
pub use group::{GroupKind, GroupResource, GroupVersion, GroupVersionKind};
pub use status::{Cause, Details, Status};
pub use version_order::by_priority;
