//! Who owns which field, and what becomes of an object when somebody patches or applies.
//!
//! A ladder of modules, each using only those above it: what values are ([`value`]), how a field is named ([`path`]),
//! sets of fields ([`set`]) and how they are written ([`fields_v1`]), values with a type ([`typed`], [`check`],
//! [`collect`]), the steps of apply ([`compare`], [`merge`], [`remove`], [`reconcile`]), the managers of an object
//! ([`managed`]), and on top what the registry calls: [`track_update`], [`apply`], [`scale`] and the three patches.
//!
//! Everything here is synchronous and pure. It does not decode bytes into objects, default, validate or store; it
//! refuses to know what a kind is beyond its schema.

mod check;
mod collect;
mod compare;
mod conflict;
mod error;
mod fields_v1;
mod last_applied;
mod managed;
mod merge;
mod path;
mod prune;
mod reconcile;
mod remove;
mod server_side;
mod set;
mod typed;
mod update;
mod value;
mod zero;

pub mod json_patch;
pub mod merge_patch;
pub mod scale;
pub mod strategic;

pub use conflict::{Conflict, Conflicts};
pub use error::{Error, PatchError};
pub use managed::{Compared, Operation, restore_times, validate_managed_fields};
pub use path::Element;
pub use server_side::{Applied, apply, subject};
pub use set::FieldSet;
pub use typed::{Shape, Typed, Versions, Writer};
pub use update::track_update;
