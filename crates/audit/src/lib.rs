//! The audit log: which requests are recorded, what a record says, and where it is written.
//!
//! A policy (`audit.k8s.io/v1`) is asked once per request. Bodies get into a record only at the levels that say so, so a
//! Secret is in the log exactly when the policy asks for it. The crate refuses to know HTTP: whoever serves a request
//! hands over its parts, and calls at each stage.

mod event;
mod log;
mod policy;
mod rotation;

pub use event::{Record, Request, source_ips};
pub use log::{AuditLog, LogError};
pub use policy::{AuditVerdict, Level, Policy, PolicyError, Stage};
pub use rotation::Rotation;

/// Names of annotations that the server itself sets.
pub mod annotations {
    pub const DECISION: &str = "authorization.k8s.io/decision";
    pub const REASON: &str = "authorization.k8s.io/reason";
    pub const ISSUED_CREDENTIAL: &str = "authentication.kubernetes.io/issued-credential-id";
}
