//! Moments and durations.
//!
//! Owns the calendar, time zones and Go's ways of writing both.

use jiff::tz::TimeZone;
use std::fmt::Write;

/// The first and the last second that a timestamp may have.
const MIN_SECONDS: i64 = -62_135_596_800;
const MAX_SECONDS: i64 = 253_402_300_799;
const NANOS: i64 = 1_000_000_000;
const DAY: i64 = 86_400;

/// A moment, and the offset it was written with.
#[derive(Debug, Clone, Copy)]
pub struct Timestamp {
    /// Seconds since 1970 in UTC.
    pub seconds: i64,
    /// Nanoseconds within the second.
    pub nanos: u32,
    /// Seconds east of UTC; only for writing the moment again.
    pub offset: i32,
}

/// The parts of a moment in some time zone.
pub struct Civil {
    pub year: i64,
    /// From one.
    pub month: i64,
    /// From one.
    pub day: i64,
    /// From zero.
    pub day_of_year: i64,
    /// From zero on Sunday.
    pub weekday: i64,
    pub hour: i64,
    pub minute: i64,
    pub second: i64,
    pub millisecond: i64,
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        (self.seconds, self.nanos) == (other.seconds, other.nanos)
    }
}

impl Timestamp {
    /// A moment in UTC; nothing outside the years 1 to 9999.
    pub fn new(seconds: i64, nanos: u32) -> Option<Timestamp> {
        (MIN_SECONDS..=MAX_SECONDS).contains(&seconds).then_some(Timestamp { seconds, nanos, offset: 0 })
    }

    pub fn is_zero(&self) -> bool {
        self.seconds == MIN_SECONDS && self.nanos == 0
    }

    /// Reads RFC 3339 as Go does.
    pub fn parse(text: &str) -> Option<Timestamp> {
        let mut at = Cursor { rest: text };
        let days = at.date()?;
        at.literal('T')?;
        let hour = at.number(2)?;
        at.literal(':')?;
        let minute = at.number(2)?;
        at.literal(':')?;
        let second = at.number(2)?;
        let nanos = at.fraction()?;
        let offset = at.offset()?;
        if hour > 23 || minute > 59 || second > 59 || !at.rest.is_empty() {
            return None;
        }
        let seconds = days * DAY + hour * 3600 + minute * 60 + second - i64::from(offset);
        Timestamp::new(seconds, nanos).map(|moment| Timestamp { offset, ..moment })
    }

    /// Reads RFC 3339; a moment without an offset is one in UTC, and no text at all is 1970.
    pub fn parse_loose(text: &str) -> Option<Timestamp> {
        if text.is_empty() {
            return Timestamp::new(0, 0);
        }
        Timestamp::parse(text).or_else(|| Timestamp::parse(&format!("{text}Z")))
    }

    /// Reads a day, `2006-01-02`, as its first moment in UTC.
    pub fn parse_date(text: &str) -> Option<Timestamp> {
        let mut at = Cursor { rest: text };
        let days = at.date()?;
        if at.rest.is_empty() { Timestamp::new(days * DAY, 0) } else { None }
    }

    /// The moment some nanoseconds later.
    pub fn add(&self, nanos: i64) -> Option<Timestamp> {
        let total = i64::from(self.nanos) + nanos.rem_euclid(NANOS);
        let seconds = self.seconds.checked_add(nanos.div_euclid(NANOS))?.checked_add(total / NANOS)?;
        let moment = Timestamp::new(seconds, (total % NANOS) as u32)?;
        Some(Timestamp { offset: self.offset, ..moment })
    }

    /// The nanoseconds since another moment.
    pub fn since(&self, other: &Timestamp) -> Option<i64> {
        let seconds = self.seconds.checked_sub(other.seconds)?;
        seconds.checked_mul(NANOS)?.checked_add(i64::from(self.nanos) - i64::from(other.nanos))
    }

    pub(super) fn order_key(&self) -> (i64, u32) {
        (self.seconds, self.nanos)
    }

    /// The parts in UTC.
    pub fn utc(&self) -> Civil {
        self.civil(0)
    }

    /// The parts in a zone: a name of the time zone database or an offset such as `-08:00`.
    pub fn in_zone(&self, zone: &str) -> Result<Civil, String> {
        let offset = match zone.split_once(':') {
            Some((hours, minutes)) => {
                let number = |text: &str| {
                    let sign_ok = text.strip_prefix(['+', '-']).unwrap_or(text).bytes().all(|b| b.is_ascii_digit());
                    let parsed = text.parse::<i32>().ok().filter(|_| sign_ok);
                    parsed.ok_or_else(|| format!("strconv.Atoi: parsing {text:?}: invalid syntax"))
                };
                let (hours, minutes) = (number(hours)?, number(minutes)?);
                let signed = if zone.starts_with('-') { -minutes } else { minutes };
                hours.saturating_mul(3600).saturating_add(signed.saturating_mul(60))
            }
            None if zone.is_empty() || zone == "UTC" => 0,
            None => {
                let unknown = |_| format!("unknown time zone {zone}");
                let zone = TimeZone::get(zone).map_err(unknown)?;
                let moment = jiff::Timestamp::new(self.seconds, 0).map_err(|e| e.to_string())?;
                zone.to_offset(moment).seconds()
            }
        };
        Ok(self.civil(offset))
    }

    fn civil(&self, offset: i32) -> Civil {
        let local = self.seconds + i64::from(offset);
        let (days, clock) = (local.div_euclid(DAY), local.rem_euclid(DAY));
        let (year, month, day) = date_of(days);
        Civil {
            year,
            month,
            day,
            day_of_year: days - days_of(year, 1, 1),
            weekday: (days + 4).rem_euclid(7),
            hour: clock / 3600,
            minute: clock / 60 % 60,
            second: clock % 60,
            millisecond: i64::from(self.nanos / 1_000_000),
        }
    }
}

impl std::fmt::Display for Timestamp {
    /// RFC 3339 with as many decimals as needed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = self.civil(self.offset);
        let Civil { year, month, day, hour, minute, second, .. } = at;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if self.nanos > 0 {
            let digits = format!("{:09}", self.nanos);
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        if self.offset == 0 {
            return f.write_str("Z");
        }
        let minutes = self.offset.abs() / 60;
        write!(f, "{}{:02}:{:02}", if self.offset < 0 { '-' } else { '+' }, minutes / 60, minutes % 60)
    }
}

/// A duration as CEL writes it: seconds with as many decimals as needed.
pub fn duration_text(nanos: i64) -> String {
    let seconds = (nanos / NANOS) as f64 + (nanos % NANOS) as f64 / 1e9;
    format!("{seconds}s")
}

/// Reads a duration as Go does: `1h30m`, `-1.5s`, `100ms`.
pub fn parse_duration(text: &str) -> Option<i64> {
    let (negative, body) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if body == "0" {
        return Some(0);
    }
    if body.is_empty() {
        return None;
    }
    let mut total: u64 = 0;
    let mut rest = body;
    while !rest.is_empty() {
        let whole = digits(&mut rest);
        let fraction = if let Some(behind) = rest.strip_prefix('.') {
            rest = behind;
            digits(&mut rest)
        } else {
            ""
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let unit_length = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
        let (unit, behind) = rest.split_at_checked(unit_length)?;
        rest = behind;
        let scale: u64 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let part = fraction_of(fraction, scale);
        total = total.checked_add(whole.checked_mul(scale)?)?.checked_add(part)?;
        if total > 1 << 63 {
            return None;
        }
    }
    if negative { 0i64.checked_sub_unsigned(total) } else { i64::try_from(total).ok() }
}

/// Reads a duration as Go does, else as counted units in words: `3 days`, `2w`.
pub fn parse_loose_duration(text: &str) -> Option<i64> {
    if let Some(nanos) = parse_duration(text) {
        return Some(nanos);
    }
    let mut rest = text.trim();
    let mut total: i64 = 0;
    while !rest.is_empty() {
        let count: i64 = digits(&mut rest).parse().ok()?;
        rest = rest.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (unit, behind) = rest.split_at_checked(end)?;
        rest = behind.trim_start();
        let scale = match unit.to_ascii_lowercase().as_str() {
            "ns" | "nano" | "nanos" => 1,
            "us" | "micro" | "micros" => 1_000,
            "ms" | "milli" | "millis" => 1_000_000,
            "s" | "sec" | "secs" | "second" | "seconds" => NANOS,
            "m" | "min" | "mins" | "minute" | "minutes" => 60 * NANOS,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3600 * NANOS,
            "d" | "day" | "days" => DAY * NANOS,
            "w" | "wk" | "wks" | "week" | "weeks" => 7 * DAY * NANOS,
            _ => return None,
        };
        total = total.checked_add(count.checked_mul(scale)?)?;
    }
    (!text.trim().is_empty()).then_some(total)
}

fn digits<'t>(rest: &mut &'t str) -> &'t str {
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (found, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
    *rest = behind;
    found
}

/// A decimal fraction of a unit, cut where it gets finer than a double tells apart.
fn fraction_of(digits: &str, unit: u64) -> u64 {
    let (mut value, mut scale) = (0u64, 1f64);
    for digit in digits.bytes().map(|b| u64::from(b - b'0')) {
        if value > (1 << 63) / 10 {
            break;
        }
        value = value * 10 + digit;
        scale *= 10.0;
    }
    (value as f64 * (unit as f64 / scale)) as u64
}

struct Cursor<'t> {
    rest: &'t str,
}

impl Cursor<'_> {
    fn number(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
    }

    fn literal(&mut self, c: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(c)?;
        Some(())
    }

    fn date(&mut self) -> Option<i64> {
        let year = self.number(4)?;
        self.literal('-')?;
        let month = self.number(2)?;
        self.literal('-')?;
        let day = self.number(2)?;
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let length = match month {
            2 => 28 + i64::from(leap),
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        (1..=length).contains(&day).then(|| days_of(year, month, day))
    }

    fn fraction(&mut self) -> Option<u32> {
        let Some(mut rest) = self.rest.strip_prefix(['.', ',']) else { return Some(0) };
        let found = digits(&mut rest);
        self.rest = rest;
        let mut padded = String::with_capacity(9);
        let _ = write!(padded, "{:0<9}", found.get(..found.len().min(9))?);
        (!found.is_empty()).then(|| padded.parse().ok())?
    }

    fn offset(&mut self) -> Option<i32> {
        if self.literal('Z').is_some() {
            return Some(0);
        }
        let sign = if self.literal('-').is_some() { -1 } else { self.literal('+').map(|()| 1)? };
        let hours = self.number(2)?;
        self.literal(':')?;
        let minutes = self.number(2)?;
        (hours <= 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60) as i32)
    }
}

/// Days since 1970 of a date; months count from March inside so that leap days come last.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn date_of(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, of_year - (153 * shifted_month + 2) / 5 + 1)
}
