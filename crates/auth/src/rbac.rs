//! Role-based access control: rules, the index that decides, and what guards the rules themselves.
//!
//! Objects arrive as the API stores them (`rbac.authorization.k8s.io/v1`) and are taken to be valid. This module refuses
//! to validate them, to write them, or to ask anybody else: what it does not have is missing.

pub mod bootstrap;
pub mod covers;
pub mod escalation;
mod index;
mod lookup;
pub mod reconcile;
mod rule;

pub use index::{Index, Kind, UserRules};
pub use rule::Rule;
pub(crate) use rule::quoted;

/// The API group of roles and bindings.
pub const GROUP: &str = "rbac.authorization.k8s.io";
/// Says whether a role or binding may be put back in order at start; only `"false"` prevents it.
pub const AUTO_UPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";
