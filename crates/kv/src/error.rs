//! What can go wrong in a store, apart from an expectation that does not hold.

use crate::Revision;

/// The result of a store operation.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a store could not do what it was asked to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The asked-for revision has been compacted away; history starts after `compacted`.
    #[error("revision {requested} has been compacted, history starts after {compacted}")]
    Compacted { requested: Revision, compacted: Revision },
    /// The asked-for revision has not happened yet.
    #[error("revision {requested} is in the future, the newest is {current}")]
    Future { requested: Revision, current: Revision },
    /// A watcher fell too far behind and was dropped; it may start again from what it last saw.
    #[error("the watch fell too far behind")]
    Lagged,
    /// The store no longer accepts writes; reads may still work. It recovers when it is opened again.
    #[error("the store refuses writes: {0}")]
    ReadOnly(String),
    /// The store could not be reached or is shutting down.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// The write is larger than the store can hold.
    #[error("{size} bytes are more than the {limit} that the store takes for one key")]
    TooLarge { size: usize, limit: usize },
    /// What is on disk is not what was written there.
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    /// The write may or may not have been applied.
    #[error("the outcome of the write is unknown: {0}")]
    Unknown(String),
}
