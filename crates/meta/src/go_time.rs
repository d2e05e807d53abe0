//! RFC 3339 as Go's `time.Parse` reads it, and what Go says of a text that is none.

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime};

/// How a time is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Whole seconds; a fraction may follow.
    Seconds,
    /// Six digits of a fraction, no more and no less.
    Micros,
}

impl Layout {
    fn text(self) -> &'static str {
        match self {
            Self::Seconds => "2006-01-02T15:04:05Z07:00",
            Self::Micros => "2006-01-02T15:04:05.000000Z07:00",
        }
    }
}

/// A time in UTC.
pub(crate) fn parse(text: &str, layout: Layout) -> Result<DateTime, String> {
    let mut reader = Reader { rest: text };
    reader.time(layout).map_err(|wrong| match wrong {
        Wrong::Text { rest, element } => {
            let (quoted, layout) = (quote(text), quote(layout.text()));
            format!("parsing time {quoted} as {layout}: cannot parse {} as {}", quote(rest), quote(element))
        }
        Wrong::Message(message) => format!("parsing time {}: {message}", quote(text)),
    })
}

enum Wrong<'t> {
    /// What is left of the text is not this part of the layout.
    Text {
        rest: &'t str,
        element: &'static str,
    },
    Message(String),
}

fn out_of_range<'t>(what: &str) -> Wrong<'t> {
    Wrong::Message(format!("{what} out of range"))
}

struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn time(&mut self, layout: Layout) -> Result<DateTime, Wrong<'t>> {
        let year = self.digits(4, 4, "2006")?;
        self.literal("-")?;
        let month = self.within(2, "01", 1..=12, "month")?;
        self.literal("-")?;
        let day = self.within(2, "02", 0..=99, "day")?;
        self.literal("T")?;
        // One digit is enough for Go.
        let hour = self.within(1, "15", 0..=23, "hour")?;
        self.literal(":")?;
        let minute = self.within(2, "04", 0..=59, "minute")?;
        self.literal(":")?;
        let second = self.within(2, "05", 0..=59, "second")?;
        let nanos = self.fraction(layout)?;
        let offset = self.zone()?;
        if !self.rest.is_empty() {
            return Err(Wrong::Message(format!("extra text: {}", quote(self.rest))));
        }
        let small = |number: i32| i8::try_from(number).unwrap_or_default();
        let year = i16::try_from(year).unwrap_or_default();
        let date = Date::new(year, small(month), small(day)).map_err(|_| out_of_range("day"))?;
        let local = date.at(small(hour), small(minute), small(second), nanos);
        let utc = local.checked_sub(SignedDuration::from_secs(offset)).ok().filter(|utc| utc.year() >= 0);
        utc.ok_or_else(|| out_of_range("year"))
    }

    fn literal(&mut self, text: &'static str) -> Result<(), Wrong<'t>> {
        let rest = self.rest.strip_prefix(text).ok_or(Wrong::Text { rest: self.rest, element: text })?;
        self.rest = rest;
        Ok(())
    }

    /// So many digits, at least and at most.
    fn digits(&mut self, least: usize, most: usize, element: &'static str) -> Result<i32, Wrong<'t>> {
        let found = self.rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let wrong = Wrong::Text { rest: self.rest, element };
        let (number, rest) = self.rest.split_at_checked(found).filter(|_| found >= least).ok_or(wrong)?;
        self.rest = rest;
        Ok(number.parse().unwrap_or_default())
    }

    fn within(
        &mut self,
        least: usize,
        element: &'static str,
        range: std::ops::RangeInclusive<i32>,
        what: &str,
    ) -> Result<i32, Wrong<'t>> {
        let number = self.digits(least, 2, element)?;
        if range.contains(&number) { Ok(number) } else { Err(out_of_range(what)) }
    }

    /// Nanoseconds.
    fn fraction(&mut self, layout: Layout) -> Result<i32, Wrong<'t>> {
        let after_point = self.rest.strip_prefix(['.', ',']);
        let found = after_point.map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
        let taken = match layout {
            Layout::Seconds => found,
            Layout::Micros if found >= 6 => 6,
            Layout::Micros => return Err(Wrong::Text { rest: self.rest, element: ".000000" }),
        };
        if taken == 0 {
            return Ok(0);
        }
        let (digits, rest) = after_point.and_then(|rest| rest.split_at_checked(taken)).unwrap_or_default();
        self.rest = rest;
        let nanos: String = digits.chars().chain("000000000".chars()).take(9).collect();
        Ok(nanos.parse().unwrap_or_default())
    }

    /// Seconds east of Greenwich.
    fn zone(&mut self) -> Result<i64, Wrong<'t>> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let whole = self.rest;
        let wrong = || Wrong::Text { rest: whole, element: "Z07:00" };
        let (zone, rest) = whole.split_at_checked(6).ok_or_else(wrong)?;
        let sign = match zone.as_bytes().first() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return Err(wrong()),
        };
        let (hours, minutes) = zone.get(1..).and_then(|zone| zone.split_once(':')).ok_or_else(wrong)?;
        let number = |text: &str| text.parse::<u8>().ok().filter(|_| text.len() == 2).map(i64::from).ok_or_else(wrong);
        let (hours, minutes) = (number(hours)?, number(minutes)?);
        if hours > 24 {
            return Err(out_of_range("time zone offset hour"));
        }
        if minutes > 60 {
            return Err(out_of_range("time zone offset minute"));
        }
        self.rest = rest;
        Ok(sign * (hours * 60 + minutes) * 60)
    }
}

/// A text as errors of times show it: everything beyond ASCII byte by byte.
fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=0x7f => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_no_times_are_told_in_gos_words() {
        let as_seconds = " as \"2006-01-02T15:04:05Z07:00\": ";
        for (text, why) in [
            ("2020-01-01", format!("{as_seconds}cannot parse \"\" as \"T\"")),
            ("x", format!("{as_seconds}cannot parse \"x\" as \"2006\"")),
            ("2020-01-01 00:00:00Z", format!("{as_seconds}cannot parse \" 00:00:00Z\" as \"T\"")),
            ("2020-01-01T00:00:00z", format!("{as_seconds}cannot parse \"z\" as \"Z07:00\"")),
            ("2020-01-01T00:00:00+0200", format!("{as_seconds}cannot parse \"+0200\" as \"Z07:00\"")),
            ("2020-13-01T00:00:00Z", ": month out of range".to_owned()),
            ("2020-02-30T00:00:00Z", ": day out of range".to_owned()),
            ("2020-01-01T24:00:00Z", ": hour out of range".to_owned()),
            ("2020-01-01T00:00:60Z", ": second out of range".to_owned()),
            ("2020-01-01T00:00:00+25:00", ": time zone offset hour out of range".to_owned()),
            ("2020-01-01T00:00:00Zx", ": extra text: \"x\"".to_owned()),
            ("9999-12-31T23:59:59-01:00", ": year out of range".to_owned()),
        ] {
            assert_eq!(parse(text, Layout::Seconds), Err(format!("parsing time \"{text}\"{why}")));
        }
        let as_micros = "as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse";
        for (text, what) in [
            ("2020-01-01T00:00:00Z", "\"Z\" as \".000000\""),
            ("2020-01-01T00:00:00.123456789Z", "\"789Z\" as \"Z07:00\""),
        ] {
            assert_eq!(parse(text, Layout::Micros), Err(format!("parsing time \"{text}\" {as_micros} {what}")));
        }
    }

    #[test]
    fn every_year_of_four_digits_can_be_read() {
        for text in ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2020-01-01T1:00:00,5Z"] {
            assert!(parse(text, Layout::Seconds).is_ok(), "{text}");
        }
    }
}
