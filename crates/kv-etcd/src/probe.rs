//! Whether the cluster is well, found out by asking it now and then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pawl_kv::{Error, Result};

use crate::messages::{self, StatusRequest, StatusResponse};
use crate::{Shared, faults};

const EVERY: Duration = Duration::from_secs(1);
/// How long a start waits for a cluster.
const START_PATIENCE: Duration = Duration::from_secs(10);

/// Waits until the cluster answers for the first time.
pub async fn wait_for(shared: &Shared) -> Result<()> {
    let began = Instant::now();
    loop {
        match shared.revision().await {
            Ok(_) => return Ok(()),
            Err(why) if began.elapsed() >= START_PATIENCE => return Err(why),
            Err(why) => tracing::info!(%why, "waiting for etcd"),
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Keeps an eye on the cluster for as long as it is polled.
pub async fn run(shared: Arc<Shared>, patience: Duration) {
    loop {
        let seat = shared.members.seat();
        let late = || {
            // Another member may be better.
            shared.members.turn_from(seat);
            Err(Error::Unavailable("etcd did not answer in time".to_owned()))
        };
        let health = tokio::time::timeout(patience, look(&shared)).await.unwrap_or_else(|_| late());
        if let Err(why) = &health {
            let known = shared.health.read().is_err();
            if !known {
                tracing::warn!(%why, "etcd is not well");
            }
        }
        *shared.health.write() = shared.intact().and(health);
        tokio::time::sleep(EVERY).await;
    }
}

/// Asks the cluster for something that only a quorum knows, and a member for alarms.
async fn look(shared: &Shared) -> Result<()> {
    shared.revision().await?;
    let status = shared.members.read(messages::STATUS, StatusRequest {}, EVERY).await;
    let status: StatusResponse = status.map_err(|status| faults::of_read(&status))?;
    // The version first in which a member names its alarms here is 3.4; without a leader it says that, too.
    match status.errors.iter().find(|error| error.contains("NOSPACE") || error.contains("CORRUPT")) {
        Some(alarm) => Err(Error::ReadOnly(format!("etcd raised an alarm: {alarm}"))),
        None => Ok(()),
    }
}
