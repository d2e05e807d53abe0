//! What a Table shows of an object: column definitions and cells, from `facts/columns.facts`.
//!
//! Owns the cell language and the functions it may call. It knows nothing of requests, lists or the wire: it turns one
//! object, in its storage form, into one row.

mod cells;
mod cluster;
mod duration;
mod fields;
mod functions;
mod language;
mod network;
mod pods;
mod selectors;
mod storage;
mod workloads;

pub use cells::Column;
pub(crate) use cells::Printed;
pub use duration::human as human_duration;
