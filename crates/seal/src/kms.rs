//! A key service behind a unix socket, spoken to in upstream's kms v2: it seals and opens the keys, we seal and open values.
//!
//! Owns the key in use for writing, which the service has to confirm again and again, and the keys that values were
//! read with, which stay. A service that does not answer is away: it never makes a value unreadable.

mod client;
mod data_key;
mod envelope;
pub(crate) mod messages;
mod probe;
mod provider;

pub(crate) use client::code_name;
pub(crate) use data_key::DataKey;
pub(crate) use envelope::Envelope;
pub(crate) use provider::{Kms, Lookup, Question};
