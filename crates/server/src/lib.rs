//! The composition root: options, feature gates, certificates, wiring, shutdown.
//!
//! The parts meet only here. Nothing in this crate answers a request or decides about an object.

// What a server is told.
mod error;
pub mod flags;
pub mod gates;
mod host;
mod settings;

// How it is put together, and how it ends.
mod access;
mod auditing;
mod bootstrap;
mod company;
mod descriptors;
mod documents;
mod endpoints;
mod guard;
mod notify;
mod parent;
mod roles;
mod run;
mod seed;

// Its certificates and keys.
mod certificates;
mod client_certificates;
mod encryption;
mod reload;
mod signer;

// Its store.
mod etcd_metrics;
#[cfg(feature = "raw-store")]
mod raw_store;
mod stand_in;
mod store;

// What is done with a store beside serving it.
mod asking;
mod backup;
mod storing;

pub use backup::{
    Inspection, Migrated, Restored, Salvage, Saved, Source, Verified, inspect, migrate, restore, restore_into, salvage,
    save, shown_time, shown_uid, verify,
};
pub use error::Error;
pub use pawl_kv_etcd::Files as EtcdFiles;
pub use pawl_meta::nearest::nearest;
pub use run::{Running, serve, start, version};
pub use settings::Settings;
pub use stand_in::{ETCD_VERSION, StandIn};
pub use storing::{check_encryption, rewrite};

/// The target of the line that is logged for each request.
pub const REQUESTS: &str = pawl_http::REQUESTS;
