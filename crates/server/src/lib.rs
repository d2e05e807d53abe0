//! The composition root: options, feature gates, certificates, wiring, shutdown.
//!
//! The parts meet only here. Nothing in this crate answers a request or decides about an object.

mod access;
mod auditing;
mod bootstrap;
mod certificates;
mod client_certificates;
mod descriptors;
mod documents;
mod error;
pub mod flags;
pub mod gates;
mod guard;
mod notify;
mod reload;
mod roles;
mod run;
mod settings;

pub use error::Error;
pub use run::{Running, serve, start};
pub use settings::Settings;
