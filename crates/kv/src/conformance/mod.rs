//! What every backend must do, as a suite that each of them runs in its tests.
//!
//! Owns the reading of the contract: behaviours one by one, random scripts against a plain model, and recorded histories
//! of concurrent operations against a linearizability checker. It knows no backend; revisions are taken relative to what
//! the store it is given starts with, and nothing about time is asserted but that what must happen does happen.
//!
//! ```ignore
//! pawl_kv::conformance::run(|| async { my_fresh_store().await }).await.unwrap();
//! ```

mod behaviours;
pub mod linearizability;
mod model;
mod scripts;

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;

use crate::{Event, Kv, Revision, Watch, WatchMessage};

/// What a check says: nothing, or in words what is wrong.
pub type Check = Result<(), String>;

/// Runs the whole suite; `make` gives a fresh store for every case.
///
/// With `PAWL_SOAK_SECONDS` in the environment, each kind of random cases goes on for so long; with `PAWL_SEED`, they are those of an
/// earlier run.
pub async fn run<F, S>(make: F) -> Check
where
    F: Fn() -> S,
    S: Future<Output = Arc<dyn Kv>>,
{
    behaviours::run(&make).await?;
    scripts::run(&make, &Effort::from_environment()).await?;
    linearizability::run(&make, &Effort::from_environment()).await
}

/// How many random cases to try, and which.
#[derive(Clone, Debug)]
pub struct Effort {
    pub seed: u64,
    until: Option<Instant>,
}

impl Effort {
    pub fn from_environment() -> Self {
        use std::hash::{BuildHasher, RandomState};
        let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
        let until = number("PAWL_SOAK_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
        Self { seed: number("PAWL_SEED").unwrap_or_else(|| RandomState::new().hash_one(0_u8)), until }
    }

    /// Whether to try one more after `done` cases, of which `short` are enough when nobody asked for more.
    pub fn wants(&self, done: usize, short: usize) -> bool {
        done < short || self.until.is_some_and(|until| Instant::now() < until)
    }
}

/// Fails a check unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}
pub(crate) use ensure;

/// The next message of a watch. A watch that says nothing at all when it should is a failure, not a hang.
async fn next_message(watch: &mut Watch) -> Result<crate::Result<WatchMessage>, String> {
    const PATIENCE: Duration = Duration::from_secs(60);
    match tokio::time::timeout(PATIENCE, watch.next()).await {
        Ok(Some(message)) => Ok(message),
        Ok(None) => Err("the watch ended without a reason".to_owned()),
        Err(_) => Err("the watch says nothing".to_owned()),
    }
}

/// What a watch delivered up to a revision.
#[derive(Debug, Default)]
struct Delivered {
    events: Vec<Event>,
    /// How far the watch said it had come.
    through: Revision,
}

impl Delivered {
    /// Reads on until everything up to `revision` has been delivered; hands on the error that a watch ends with.
    async fn follow(&mut self, watch: &mut Watch, revision: Revision) -> Result<crate::Result<()>, String> {
        while self.through < revision {
            match next_message(watch).await? {
                Ok(WatchMessage::Events(events)) => {
                    ensure!(!events.is_empty(), "a message without events");
                    for event in events {
                        let said = self.through;
                        ensure!(event.revision > said, "event {} after progress to {said}", event.revision);
                        self.through = event.revision;
                        self.events.push(event);
                    }
                }
                Ok(WatchMessage::Progress(reached)) => {
                    ensure!(reached >= self.through, "progress goes back from {} to {reached}", self.through);
                    self.through = reached;
                }
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(()))
    }
}
