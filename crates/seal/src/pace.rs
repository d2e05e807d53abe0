//! How often things are looked at, and how long what was seen counts.

use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How often a key service that is well is asked which of its keys is in use.
    pub confirm: Duration,
    /// How often one that is away is tried. Upstream waits ten seconds.
    pub retry: Duration,
    /// How long values are sealed under a key id that the service did not confirm again.
    pub confirmed: Duration,
    /// How old an answer about the health of a service may be.
    pub fresh: Duration,
    /// How often the configuration file is looked at. Upstream waits a minute.
    pub look: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            confirm: Duration::from_secs(60),
            retry: Duration::from_secs(1),
            confirmed: Duration::from_secs(180),
            fresh: Duration::from_secs(20),
            look: Duration::from_millis(250),
        }
    }
}
