//! Whether an object may be deleted, and what its deletion does to it. Pure verdicts: nothing here acts.
//!
//! This is the only place that decides on liens, finalizers, grace periods, propagation and preconditions, for DELETE,
//! DELETECOLLECTION and eviction alike. A lien stops a deletion from starting; it never stops one that has begun.

mod lien_conflict;
mod liens;
mod options;
mod uses;
mod verdict;

pub use lien_conflict::{LIEN_HELD, is_held};
pub use liens::{MAX_LIENS, carry_over, validate_liens};
pub use options::{DeleteOptions, IGNORE_READ_ERRORS, Preconditions, Propagation};
pub use uses::{IN_USE, InUse, UsedBy};
pub use verdict::{Deletion, DeletionVerdict, Grace, Traits, completes, judge};

/// Holds an object until the dependents that block it are gone.
pub const FOREGROUND: &str = "foregroundDeletion";
/// Holds an object until its dependents have forgotten it.
pub const ORPHAN: &str = "orphan";
