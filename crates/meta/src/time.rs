//! Times on the wire: RFC 3339 in whole seconds (`Time`) or microseconds (`MicroTime`), always UTC.

use std::cell::RefCell;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::SignedDuration;
use jiff::civil::DateTime;

use crate::go_time::{self, Layout};

/// The present time as objects carry it.
pub fn now() -> String {
    at(unix_now())
}

thread_local! {
    /// A second, and how it is written: many writes come in each.
    static LAST: RefCell<(i64, String)> = RefCell::default();
}

fn at(second: i64) -> String {
    LAST.with_borrow_mut(|(last, text)| {
        if *last != second || text.is_empty() {
            (*last, *text) = (second, seconds(second));
        }
        text.clone()
    })
}

/// The present time with microseconds.
pub fn now_micro() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let micros = SignedDuration::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX));
    in_micros(EPOCH.checked_add(micros).unwrap_or(EPOCH))
}

/// Seconds since the epoch, now.
pub fn unix_now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// The last second that can be written down.
pub fn latest() -> i64 {
    unix(DateTime::MAX)
}

/// A time in seconds since the epoch as `2024-05-06T07:08:09Z`.
pub fn seconds(unix: i64) -> String {
    let time = EPOCH.checked_add(SignedDuration::from_secs(unix)).unwrap_or(EPOCH);
    in_seconds(time)
}

/// Reads an RFC 3339 time. `None` when it is not one.
pub fn parse(text: &str) -> Option<i64> {
    go_time::parse(text, Layout::Seconds).ok().map(unix)
}

/// The form in which a `Time` is kept: whole seconds, UTC. The error is Go's.
pub fn normalize(text: &str) -> Result<String, String> {
    go_time::parse(text, Layout::Seconds).map(in_seconds)
}

/// The form in which a `MicroTime` is kept: microseconds, UTC. Only that form of a fraction is one, the error is Go's.
pub fn normalize_micro(text: &str) -> Result<String, String> {
    go_time::parse(text, Layout::Micros).map(in_micros)
}

/// Any RFC 3339 time with its microseconds.
pub fn with_micros(text: &str) -> Option<String> {
    go_time::parse(text, Layout::Seconds).ok().map(in_micros)
}

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

fn unix(time: DateTime) -> i64 {
    let since = time.duration_since(EPOCH);
    since.as_secs() - i64::from(since.subsec_nanos() < 0)
}

fn in_seconds(time: DateTime) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn in_micros(time: DateTime) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_is_written_as_itself_whatever_was_before() {
        for second in [0, 0, 60, 59, 60, -1, 1_700_000_000, 0] {
            assert_eq!(at(second), seconds(second));
        }
    }

    #[test]
    fn times_are_kept_in_utc() {
        assert_eq!(normalize("2024-01-02T03:04:05+02:00").as_deref(), Ok("2024-01-02T01:04:05Z"));
        assert_eq!(normalize("2024-01-02T03:04:05.999Z").as_deref(), Ok("2024-01-02T03:04:05Z"));
        assert_eq!(normalize("9999-12-31T23:59:59Z").as_deref(), Ok("9999-12-31T23:59:59Z"));
        assert_eq!(normalize_micro("2024-01-02T03:04:05.500000Z").as_deref(), Ok("2024-01-02T03:04:05.500000Z"));
        assert_eq!(with_micros("2024-01-02T03:04:05.5Z").as_deref(), Some("2024-01-02T03:04:05.500000Z"));
        assert!(normalize("2024-01-02").is_err());
        assert!(normalize("2024-01-02 03:04:05Z").is_err());
        assert_eq!(parse("1970-01-01T00:01:00Z"), Some(60));
        assert_eq!(parse("1969-12-31T23:59:59.5Z"), Some(-1));
        assert_eq!(seconds(latest()), "9999-12-31T23:59:59Z");
    }
}
