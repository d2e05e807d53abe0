//! The composition root: options, feature gates, certificates, wiring, shutdown.
//!
//! The parts meet only here. Nothing in this crate answers a request or decides about an object.

mod access;
mod asking;
mod auditing;
mod backup;
mod bootstrap;
mod certificates;
mod client_certificates;
mod company;
mod descriptors;
mod documents;
mod encryption;
mod endpoints;
mod error;
mod etcd_metrics;
pub mod flags;
pub mod gates;
mod guard;
mod host;
mod notify;
mod parent;
#[cfg(feature = "raw-store")]
mod raw_store;
mod reload;
mod roles;
mod run;
mod seed;
mod settings;
mod stand_in;
mod store;
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
