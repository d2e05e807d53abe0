//! Times and spans of time as people read them: two or three significant figures.

use serde_json::Value;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// A span of seconds for people. Clocks may differ a little: one second into the future is now.
pub fn human(seconds: i64) -> String {
    match seconds {
        ..=-2 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        s if s < 2 * MINUTE => format!("{s}s"),
        s if s < 10 * MINUTE => two_units(s, MINUTE, "m", 1, "s"),
        s if s < 3 * HOUR => format!("{}m", s / MINUTE),
        s if s < 8 * HOUR => two_units(s, HOUR, "h", MINUTE, "m"),
        s if s < 2 * DAY => format!("{}h", s / HOUR),
        s if s < 8 * DAY => two_units(s, DAY, "d", HOUR, "h"),
        s if s < 2 * YEAR => format!("{}d", s / DAY),
        s if s < 8 * YEAR => two_units(s, YEAR, "y", DAY, "d"),
        s => format!("{}y", s / YEAR),
    }
}

/// How long ago a time was, or nothing when it is absent or not a time.
pub(super) fn since(time: Option<&Value>, now: i64) -> Option<String> {
    let then = time.and_then(Value::as_str).and_then(unix_seconds)?;
    Some(human(now.saturating_sub(then)))
}

/// How long ago a time was.
pub(super) fn age(time: Option<&Value>, now: i64) -> String {
    since(time, now).unwrap_or_else(|| "<unknown>".to_owned())
}

/// The seconds since 1970 of an RFC 3339 time; fractions are cut off.
pub(super) fn unix_seconds(time: &str) -> Option<i64> {
    let (date, clock) = time.split_once(['T', 't', ' '])?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (clock, offset) = split_offset(clock)?;
    let clock = clock.split_once('.').map_or(clock, |(whole, _)| whole);
    let mut clock = clock.splitn(3, ':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if !(0..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    if !(0..24).contains(&hour) || !(0..60).contains(&minute) || !(0..=60).contains(&second) {
        return None;
    }
    Some(days_since_1970(year, month, day) * DAY + hour * HOUR + minute * MINUTE + second - offset)
}

/// The larger unit, then the rest in the smaller one unless it is nothing.
fn two_units(seconds: i64, large: i64, large_name: &str, small: i64, small_name: &str) -> String {
    match seconds % large / small {
        0 => format!("{}{large_name}", seconds / large),
        rest => format!("{}{large_name}{rest}{small_name}", seconds / large),
    }
}

/// The time of day without its offset, and the offset from UTC in seconds.
fn split_offset(clock: &str) -> Option<(&str, i64)> {
    if let Some(clock) = clock.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let at = clock.rfind(['+', '-'])?;
    let (clock, offset) = clock.split_at_checked(at)?;
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let offset = hours.parse::<i64>().ok()? * HOUR + minutes.parse::<i64>().ok()? * MINUTE;
    Some((clock, sign * offset))
}

/// Days from 1970-01-01 to a date of the Gregorian calendar, counting years from March so that the leap day is last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_as_people_write_them() {
        for (seconds, expected) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (150, "2m30s"),
            (599, "9m59s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (12_000, "3h20m"),
            (28_799, "7h59m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (176_400, "2d1h"),
            (691_200, "8d"),
            (63_071_999, "729d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (252_288_000, "8y"),
        ] {
            assert_eq!(human(seconds), expected, "{seconds} seconds");
        }
    }

    #[test]
    fn times_are_rfc_3339() {
        for (time, expected) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:00:00Z", Some(951_825_600)),
            ("2025-01-01T00:00:00Z", Some(1_735_689_600)),
            ("2025-01-01T01:00:00+01:00", Some(1_735_689_600)),
            ("2024-12-31T23:30:00.123456-00:30", Some(1_735_689_600)),
            ("2025-13-01T00:00:00Z", None),
            ("2025-01-01", None),
            ("", None),
        ] {
            assert_eq!(unix_seconds(time), expected, "{time}");
        }
    }
}
