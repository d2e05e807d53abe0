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
    /// What a watcher had not read yet has been forgotten: the history that it needs is gone, as with `Compacted`.
    #[error("the watch fell too far behind")]
    Lagged,
    /// The write was not applied and never will be: the store refuses writes for now. It tries by itself to get over the
    /// cause and goes on; reads and watches work meanwhile.
    #[error("the store refuses writes: {0}")]
    ReadOnly(String),
    /// Something outside of the store did not work this time (a read, a descriptor, the way to it). Whoever read may try
    /// again, a watcher from the last revision that it was told of.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// The store has ended. Nothing will work any more.
    #[error("the store is closed")]
    Closed,
    /// The write is larger than the store can hold.
    #[error("{size} bytes are more than the {limit} that the store takes for one key")]
    TooLarge { size: usize, limit: usize },
    /// What is on disk is not what was written there.
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    /// What is on disk was written by a newer version, in a format that this one does not know.
    #[error("{file} is of format {found}, and this version knows formats up to {known}: it was written by a newer one")]
    Newer { file: String, found: u32, known: u32 },
    /// The write may or may not have been applied.
    #[error("the outcome of the write is unknown: {0}")]
    Unknown(String),
}

impl Error {
    /// Whether the same may work a little later, without anybody doing anything. Not so after [`Error::Lagged`] and
    /// [`Error::Compacted`] (read the state anew), [`Error::Corrupt`], [`Error::Newer`] and [`Error::Closed`] (give up).
    pub fn passes(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::ReadOnly(_))
    }
}
