//! Times on the wire: RFC 3339 in whole seconds (`Time`) or microseconds (`MicroTime`), always UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// The present time as objects carry it.
pub fn now() -> String {
    seconds(unix_now())
}

/// The present time with microseconds.
pub fn now_micro() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    micro(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// Seconds since the epoch, now.
pub fn unix_now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// The last second that can be written down.
pub fn latest() -> i64 {
    Timestamp::MAX.as_second()
}

/// A time in seconds since the epoch as `2024-05-06T07:08:09Z`.
pub fn seconds(unix: i64) -> String {
    Timestamp::from_second(unix).unwrap_or(Timestamp::UNIX_EPOCH).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn micro(unix_micros: i64) -> String {
    Timestamp::from_microsecond(unix_micros)
        .unwrap_or(Timestamp::UNIX_EPOCH)
        .strftime("%Y-%m-%dT%H:%M:%S.%6fZ")
        .to_string()
}

/// Reads an RFC 3339 time. `None` when it is not one.
pub fn parse(text: &str) -> Option<i64> {
    Some(timestamp(text)?.as_second())
}

/// The form in which a `Time` is kept: whole seconds, UTC.
pub fn normalize(text: &str) -> Option<String> {
    Some(seconds(timestamp(text)?.as_second()))
}

/// The form in which a `MicroTime` is kept: microseconds, UTC.
pub fn normalize_micro(text: &str) -> Option<String> {
    Some(micro(timestamp(text)?.as_microsecond()))
}

fn timestamp(text: &str) -> Option<Timestamp> {
    // Looser forms (a blank for the `T`, no zone) are not RFC 3339 and Go refuses them.
    let bytes = text.as_bytes();
    let zoned = text.ends_with('Z')
        || bytes.len().checked_sub(6).and_then(|i| bytes.get(i)).is_some_and(|b| matches!(b, b'+' | b'-'));
    if bytes.get(10) != Some(&b'T') || !zoned {
        return None;
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_kept_in_utc() {
        assert_eq!(normalize("2024-01-02T03:04:05+02:00").as_deref(), Some("2024-01-02T01:04:05Z"));
        assert_eq!(normalize("2024-01-02T03:04:05.999Z").as_deref(), Some("2024-01-02T03:04:05Z"));
        assert_eq!(normalize_micro("2024-01-02T03:04:05.5Z").as_deref(), Some("2024-01-02T03:04:05.500000Z"));
        assert_eq!(normalize("2024-01-02"), None);
        assert_eq!(normalize("2024-01-02 03:04:05Z"), None);
        assert_eq!(parse("1970-01-01T00:01:00Z"), Some(60));
    }
}
