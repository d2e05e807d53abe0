//! Time in the store: milliseconds that pass while it is open, and never jump.
//!
//! Owns the answer to "how late is it": the time of the newest batch in the log, and what has passed since the store was
//! opened by a clock that nobody can set. The wall clock is asked once, by an empty store. So neither a step of it nor a
//! start with a wrong one makes keys expire early or history old; the price is that time to live does not run down while
//! the store is closed.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub struct Clock {
    begin: u64,
    since: Instant,
}

impl Clock {
    /// Goes on after the newest time in the log.
    pub fn after(newest: Option<u64>) -> Self {
        let wall = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, milliseconds);
        Self { begin: newest.unwrap_or_else(wall), since: Instant::now() }
    }

    /// Milliseconds since the Unix epoch, as far as the store has lived through them.
    pub fn now(&self) -> u64 {
        self.begin.saturating_add(milliseconds(self.since.elapsed()))
    }
}

/// A duration as a number.
pub fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the wall clock says: before it, or long after it.
    #[test]
    fn it_goes_on_where_the_log_ended() {
        const DAY: u64 = 24 * 60 * 60 * 1000;
        let wall = Clock::after(None).now();
        for newest in [wall - 1000 * DAY, wall + 1000 * DAY] {
            let now = Clock::after(Some(newest)).now();
            assert!((newest..newest + DAY).contains(&now), "{now} after {newest}");
        }
    }
}
