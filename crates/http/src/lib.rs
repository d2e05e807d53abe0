//! HTTP: connections, the chain of filters, one handler file per verb, and how answers look.
//!
//! A handler parses, calls the registry, renders. Only this crate renders answers; nothing below it knows of HTTP.

mod access;
mod api;
mod audit;
mod body;
mod connection;
mod handlers;
mod health;
pub mod metrics;
mod negotiation;
mod options;
mod places;
mod query;
mod render;
mod request;
mod request_log;
mod respond;
mod target;
mod watchman;

pub use access::Access;
pub use api::{Api, ApiSettings, Blob, CheckEncryption, Documents, Limits, Peer};
pub use audit::Audit;
pub use body::Body;
pub use connection::{Server, ServerOptions};
pub use health::{Check, Health};
pub use negotiation::Media;
pub use query::Query;
pub use request::RequestInfo;
pub use request_log::REQUESTS;
