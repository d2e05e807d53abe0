//! Why a write was refused.

use crate::conflict::Conflicts;

/// Why an apply, or the tracking of an update, failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Others own fields that the intent would change: 409.
    #[error("{0}")]
    Conflicts(Conflicts),
    /// An intent may not say who owns what: 400.
    #[error("metadata.managedFields must be nil")]
    ManagedFieldsSet,
    /// The intent does not fit its schema: 500, as upstream has it.
    #[error("failed to create typed patch object ({subject}): {text}")]
    Schema { subject: String, text: String },
    /// The stored managedFields cannot be read: 500.
    #[error("failed to decode managed fields: {0}")]
    Managers(String),
    /// Two objects cannot be compared: 500 for an apply; an update goes on with managedFields removed.
    #[error("failed to compare objects: {0}")]
    Compare(String),
    /// An object cannot be brought into the version in which a manager wrote it: 500.
    #[error("failed to convert object to {0}")]
    Convert(String),
}

/// Why a patch was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch is not one: 400.
    #[error("{0}")]
    Malformed(String),
    /// The patch asks for too much: 413.
    #[error("{0}")]
    TooLarge(String),
    /// The patch does not fit the object: 422. Upstream does not show the text.
    #[error("{0}")]
    Inapplicable(String),
    /// The patch is wrong in a way that upstream has no answer for: 500.
    #[error("{0}")]
    Failed(String),
}
