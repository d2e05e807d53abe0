//! Revisioned bytes: the one seam between Pawl and a storage engine.
//!
//! Owns the vocabulary of the store (keys, values, revisions, events) and the contract that every backend keeps. It
//! knows nothing of Kubernetes objects, of encryption, or of any engine: a backend may be a log on the local disk or an
//! etcd cluster, and nothing above may be able to tell which.
//!
//! The contract:
//! - Every applied write has a revision of its own, one greater than the write before it, whoever wrote that: others may
//!   share a store, so that one's own writes need not follow each other. A fresh store is at revision 1.
//! - A write is applied only if its expectation and all its guards hold, checked in the same step: whatever is written in
//!   between is seen by one of the two.
//! - A write is visible (to reads, to watches, in [`Kv::revision`]) only once it would survive a crash.
//! - A watch delivers every event of its prefix after its starting point, in the order of revisions, without gap or
//!   duplicate, or it ends with an error that says why.
//! - What lies below the compacted revision is answered with [`Error::Compacted`], never with a guess.
//! - Events may share a revision (in a backend whose transactions write several keys). They are never torn apart: a
//!   message of a watch ends between revisions, and so must whoever keeps, cuts or pages what a watch delivered.
//! - A fault that passes, passes: reads are answered with [`Error::Unavailable`], writes with [`Error::ReadOnly`] (not
//!   applied) or [`Error::Unknown`], and once it is over everything works again on the same store.
//! - Reading the past costs its reader, never writers: it is done in bounded pieces, and away from whoever polls.

#[cfg(feature = "conformance")]
pub mod conformance;
mod error;

use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;

pub use error::{Error, Result};

/// A point in the history of the store. 0 is never the revision of a write.
pub type Revision = u64;

/// A key with its present value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue {
    pub key: Bytes,
    pub value: Bytes,
    /// The revision of the write that created the key (anew, after a deletion).
    pub create_revision: Revision,
    /// The revision of the write that gave the key this value.
    pub mod_revision: Revision,
}

/// What must hold for a write to be applied. It is checked in the same step that applies the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// The key does not exist.
    Absent,
    /// The key exists and was last written at exactly this revision.
    Revision(Revision),
}

/// What a write does to its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Stores the value; with a time to live, the store deletes the key by itself some time after it has passed.
    Put { value: Bytes, ttl: Option<Duration> },
    /// Removes the key. Only meaningful together with [`Expect::Revision`].
    Delete,
}

/// One conditional write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    pub key: Bytes,
    pub expect: Expect,
    pub change: Change,
    /// What else must hold, checked in the same step.
    pub guards: Vec<Guard>,
}

/// What must hold of other keys for a write to be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guard {
    /// No key that starts with this was written after a revision and is there: neither a new one nor a changed one. Keys that
    /// are gone do not matter.
    Unwritten {
        prefix: Bytes,
        /// The newest write that may be there.
        through: Revision,
    },
    /// The key is there, and was last written at exactly this revision.
    Same { key: Bytes, revision: Revision },
}

impl Write {
    /// A write that nothing guards but its expectation.
    pub fn new(key: impl Into<Bytes>, expect: Expect, change: Change) -> Self {
        Self { key: key.into(), expect, change, guards: Vec::new() }
    }
}

/// How a conditional write ended, when the store itself worked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Applied and durable, at this revision.
    Applied { revision: Revision },
    /// The expectation or a guard did not hold; this is what the key held. Nothing was written.
    Conflict { current: Option<KeyValue> },
}

/// An ordered read of `start <= key < end`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeRequest {
    pub start: Bytes,
    /// Exclusive. Empty means: to the end of the key space.
    pub end: Bytes,
    /// 0 means no limit.
    pub limit: usize,
    /// `None` reads the present state. The revision of an answer that has `more` serves for the pages that follow: the
    /// store keeps that state, and the history after it, as long as pages of it are asked for (within limits of its own,
    /// beyond which it answers [`Error::Compacted`]).
    pub revision: Option<Revision>,
    /// Whether to count what the limit cut off. That looks at every key of the range.
    pub count: bool,
}

/// The answer to a [`RangeRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The revision that was read.
    pub revision: Revision,
    pub items: Vec<KeyValue>,
    /// Whether keys follow that the limit cut off.
    pub more: bool,
    /// How many they are, where that was asked for.
    pub remaining: Option<usize>,
}

/// Something that happened to one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub revision: Revision,
    pub key: Bytes,
    /// The value now, or `None` for a deletion.
    pub value: Option<Bytes>,
    /// What the key held before, if it existed. Always there for a deletion.
    pub previous: Option<KeyValue>,
}

/// What a watch says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchMessage {
    /// Events in the order of their revisions; never empty, never many. All events of its last revision are in it.
    Events(Vec<Event>),
    /// Every event of the prefix up to and including this revision has been delivered.
    Progress(Revision),
}

/// A running watch. It never ends by itself but with an error; dropping it releases what it holds.
///
/// Every error but [`Error::Lagged`], [`Error::Compacted`], [`Error::Corrupt`] and [`Error::Closed`] passes: the same
/// watch may be begun again after the last revision that it delivered or reported progress to.
pub type Watch = BoxStream<'static, Result<WatchMessage>>;

/// A store of revisioned bytes.
pub trait Kv: Send + Sync + 'static {
    /// Reads one key, as new as every write acknowledged before the call.
    fn get(&self, key: Bytes) -> BoxFuture<'_, Result<Option<KeyValue>>>;

    /// Reads a range of keys in their order, at one revision.
    fn range(&self, request: RangeRequest) -> BoxFuture<'_, Result<Range>>;

    /// Applies a write if its expectation and its guards hold. Returns once the outcome is durable.
    fn write(&self, write: Write) -> BoxFuture<'_, Result<Outcome>>;

    /// Follows all keys that start with `prefix`, beginning with the first event *after* `after`, which may be the
    /// newest revision but not lie beyond it.
    ///
    /// Thousands may begin far in the past at once: a watch holds no thread, no file and no events between two messages,
    /// only what its prefix selects is made into events, and those who read the same share the work. From the call on,
    /// the history that it has not read yet is not forgotten for its age, only for its size or by [`Kv::compact`].
    fn watch(&self, prefix: Bytes, after: Revision) -> BoxFuture<'_, Result<Watch>>;

    /// The newest visible revision, as new as every write acknowledged before the call.
    fn revision(&self) -> BoxFuture<'_, Result<Revision>>;

    /// Forgets history: reads and watches below `revision` are refused from then on. The present state stays. To forget
    /// again what is forgotten already changes nothing.
    fn compact(&self, revision: Revision) -> BoxFuture<'_, Result<()>>;

    /// Whether others may write to it, so that it may be ahead of everything that was read from it before.
    fn is_shared(&self) -> bool;

    /// How long each of these keys, read at a revision, still has to live, where it does not live forever and that is known:
    /// of a value that was replaced since it may not be.
    fn time_left(&self, items: &[KeyValue], _revision: Revision) -> BoxFuture<'_, Result<Vec<Option<Duration>>>> {
        let unknown = vec![None; items.len()];
        Box::pin(async move { Ok(unknown) })
    }

    /// Whether writes are accepted, and the reason where they are not at present (after a failed sync, say).
    fn health(&self) -> Result<()>;
}
