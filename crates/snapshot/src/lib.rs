//! Snapshots: everything that a store held at one revision, in one file that proves itself.
//!
//! Owns the file format (`docs/snapshot-format.md`), writing it from any [`pawl_kv::Kv`] and reading it back. Values are
//! taken as they are stored: what is sealed stays sealed, and nothing here knows what is inside. A file is whole when its
//! trailer is there and everything agrees with it; nothing less is ever taken for a snapshot, and what is wrong is named.

mod decode;
mod encode;
mod format;
mod save;

use std::time::Duration;

use bytes::Bytes;
use pawl_kv::{KeyValue, Revision};

pub use decode::{Damage, Decoder, Fault};
pub use encode::{Encoder, Unordered};
pub use save::{Pages, Saving, after_all};

/// What the beginning of a snapshot says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The state told here is the one right after the write of this revision.
    pub revision: Revision,
    /// When it was begun, in milliseconds since the Unix epoch.
    pub time: u64,
    /// Where it comes from: the uid of the namespace `kube-system`, which names a cluster; zeros where that is not known.
    pub cluster: [u8; 16],
}

/// One key of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub key: Bytes,
    /// As it is stored: sealed, where it is sealed there.
    pub value: Bytes,
    pub create_revision: Revision,
    pub mod_revision: Revision,
    /// How long the key still had to live, where it does not live forever.
    pub time_left: Option<Duration>,
}

impl Record {
    pub fn new(held: KeyValue, time_left: Option<Duration>) -> Self {
        let KeyValue { key, value, create_revision, mod_revision } = held;
        Self { key, value, create_revision, mod_revision, time_left }
    }
}

/// How much is in a snapshot, as its trailer says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub blocks: u64,
    pub records: u64,
    /// Of all keys and values.
    pub bytes: u64,
}
