//! HTTP: connections, the chain of filters, one handler file per verb, and how answers look.
//!
//! A handler parses, calls the registry, renders. Only this crate renders answers; nothing below it knows of HTTP.

// From a connection to a request, and who it is from.
mod access;
mod api;
mod audit;
mod connection;
mod query;
mod records;
mod request;
mod request_log;
mod shares;
mod target;
mod watchman;
mod websocket;

// One file for each verb.
mod handlers;

// What a request may say, and how answers look.
mod body;
mod negotiation;
mod options;
mod render;
mod respond;

// What is told of the server itself.
mod health;
pub mod metrics;

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
