//! Noticing that the process which started this one has ended, so that a test that was killed leaves no server behind.

use std::time::Duration;

use rustix::process::getppid;

/// How often is looked. There is no event for it that does not depend on which of the parent's threads started us.
const EVERY: Duration = Duration::from_millis(250);

/// Returns when the process that was the parent at the time of the call is no longer. Who calls it late may call it when that
/// has happened already.
pub fn ended() -> impl Future<Output = ()> {
    let parent = getppid();
    async move {
        while getppid() == parent {
            tokio::time::sleep(EVERY).await;
        }
    }
}
