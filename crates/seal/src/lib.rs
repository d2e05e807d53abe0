//! Encryption at rest: the only crate that sees keys.
//!
//! Values are sealed on their way into the store and opened on their way out, in upstream's formats, so that data moves both
//! ways between Pawl and kube-apiserver. It owns the configuration file, the providers, and how keys change under a
//! running server. It refuses to know what is inside of values, and where they are stored.
//!
//! A value [opens](Opened), or it does not and says why, or the one who has its key is away: three answers, never mixed up.

mod chain;
mod config;
mod file;
mod keys;
mod kms;
mod live;
mod local;
mod metrics;
mod opened;
mod pace;
mod seal;
mod secret;
#[cfg(feature = "testing")]
pub mod testing;
mod transform;
mod value;

pub use config::{Config, ConfigError};
pub use keys::{Mark, Touched};
pub use live::{Candidate, HEALTH_CHECK, Refused, Seals};
pub use metrics::Metrics;
pub use opened::{Away, Opened, Reason, SealError, Unreadable};
pub use pace::Pace;
pub use seal::{Header, Seal};
pub use transform::{Asking, Opening, Transform};
pub use value::{Plain, Sealed};
