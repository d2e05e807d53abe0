//! Who is asking, and may they: authentication, impersonation and authorization.
//!
//! Everything here is synchronous and works on what it is given: credentials as the connection carried them, RBAC objects
//! as the watch cache sees them, key files as text. The crate refuses to know HTTP, TLS or the store; whoever serves the
//! request verifies certificates, reads headers and files, and feeds the index.

pub mod authn;
mod authorizer;
pub mod impersonation;
pub mod modes;
pub mod rbac;
pub mod reviews;
mod user;

pub use authorizer::{Attributes, Authorizer, Decision};
pub use user::User;
pub use user::names;
