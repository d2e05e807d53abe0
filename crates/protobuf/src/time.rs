//! Times in seconds since the epoch and as the text that objects carry.

use pawl_meta::time;

/// A moment: seconds since the epoch, and nanoseconds within the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) seconds: i64,
    pub(crate) nanos: u32,
}

/// The year 1 and the last second of the year 9999.
const FIRST: i64 = -62_135_596_800;
const LAST: i64 = 253_402_300_799;
const DAY: i64 = 86_400;

impl Moment {
    /// What Go makes of the two numbers of a timestamp: nanoseconds are cut to microseconds and may be out of range.
    pub(crate) fn from_wire(seconds: i64, nanos: i32) -> Self {
        let nanos = nanos - nanos % 1_000;
        Self {
            seconds: seconds.saturating_add(nanos.div_euclid(1_000_000_000).into()),
            nanos: nanos.rem_euclid(1_000_000_000).unsigned_abs(),
        }
    }

    /// Go's zero time, which is null in JSON and an empty message in protobuf.
    pub(crate) fn is_zero(self) -> bool {
        self == Self { seconds: FIRST, nanos: 0 }
    }

    /// Reads an RFC 3339 time. `None` when it is not one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        canonical(text.as_bytes()).or_else(|| canonical(time::with_micros(text)?.as_bytes()))
    }

    /// `2024-05-06T07:08:09Z`; `None` when the year has no four digits.
    pub(crate) fn in_seconds(self) -> Option<String> {
        let mut text = self.civil()?;
        text.push('Z');
        Some(text)
    }

    /// `2024-05-06T07:08:09.000000Z`; `None` when the year has no four digits.
    pub(crate) fn in_micros(self) -> Option<String> {
        Some(format!("{}.{:06}Z", self.civil()?, self.nanos / 1_000))
    }

    /// Date and time. The calendar is shifted to years that begin in March, so that leap days come last.
    fn civil(self) -> Option<String> {
        if !(FIRST..=LAST).contains(&self.seconds) {
            return None;
        }
        let (days, second) = (self.seconds.div_euclid(DAY) + 719_468, self.seconds.rem_euclid(DAY));
        let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let mut text = String::with_capacity(27);
        let parts = [(year / 100, ""), (year % 100, "-"), (month, "-"), (day, "T")];
        let clock = [(second / 3_600, ":"), (second / 60 % 60, ":"), (second % 60, "")];
        for (number, then) in parts.into_iter().chain(clock) {
            for digit in [number / 10, number % 10] {
                text.extend(u32::try_from(digit).ok().and_then(|digit| char::from_digit(digit, 10)));
            }
            text.push_str(then);
        }
        Some(text)
    }
}

/// Reads the two forms in which times are kept. What is not in them may still be a time.
fn canonical(text: &[u8]) -> Option<Moment> {
    let (date_time, rest) = text.split_first_chunk::<19>()?;
    let [y1, y2, y3, y4, b'-', mo1, mo2, b'-', d1, d2, b'T', h1, h2, b':', mi1, mi2, b':', s1, s2] = *date_time else {
        return None;
    };
    let year = number(&[y1, y2, y3, y4])?;
    let (month, day) = (number(&[mo1, mo2])?, number(&[d1, d2])?);
    let (hour, minute, second) = (number(&[h1, h2])?, number(&[mi1, mi2])?, number(&[s1, s2])?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=last).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let micros = match rest {
        b"Z" => 0,
        [b'.', fraction @ .., b'Z'] if fraction.len() == 6 => number(fraction)?,
        _ => return None,
    };
    let (year, shifted) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    let days = era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468;
    let seconds = days * DAY + hour * 3_600 + minute * 60 + second;
    Some(Moment { seconds, nanos: u32::try_from(micros * 1_000).ok()? })
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written_as_they_are_kept() {
        for (text, seconds, nanos) in [
            ("1970-01-01T00:00:00.000000Z", 0, 0),
            ("2008-01-01T01:01:01.000000Z", 1_199_149_261, 0),
            ("2024-02-29T23:59:59.123456Z", 1_709_251_199, 123_456_000),
            ("0001-01-01T00:00:00.000000Z", FIRST, 0),
            ("1969-12-31T23:59:59.999999Z", -1, 999_999_000),
            ("9999-12-31T23:59:59.000000Z", LAST, 0),
        ] {
            let moment = Moment { seconds, nanos };
            assert_eq!(Moment::parse(text), Some(moment), "{text}");
            assert_eq!(moment.in_micros().as_deref(), Some(text));
        }
        assert_eq!(Moment::parse("2024-01-02T03:04:05+02:00"), Moment::parse("2024-01-02T01:04:05Z"));
        assert_eq!(Moment::parse("2023-02-29T00:00:00Z"), None);
        assert_eq!(Moment::parse("yesterday"), None);
        assert_eq!(Moment { seconds: LAST + 1, nanos: 0 }.in_seconds(), None);
        assert!(Moment::parse("0001-01-01T00:00:00Z").unwrap().is_zero());
    }

    #[test]
    fn every_day_agrees_with_the_calendar() {
        for day in (-25_567..120_000).step_by(13) {
            let moment = Moment { seconds: day * DAY + 45_296, nanos: 0 };
            let text = moment.in_seconds().unwrap();
            assert_eq!(text, time::seconds(moment.seconds));
            assert_eq!(Moment::parse(&text), Some(moment));
        }
    }

    #[test]
    fn timestamps_are_cut_as_go_cuts_them() {
        assert_eq!(Moment::from_wire(5, 1_999), Moment { seconds: 5, nanos: 1_000 });
        assert_eq!(Moment::from_wire(5, -1_000), Moment { seconds: 4, nanos: 999_999_000 });
        assert_eq!(Moment::from_wire(5, 2_000_000_000), Moment { seconds: 7, nanos: 0 });
        assert_eq!(Moment::from_wire(i64::MAX, i32::MAX).in_seconds(), None);
    }
}
