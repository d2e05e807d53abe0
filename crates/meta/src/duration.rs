//! Durations in nanoseconds and as Go writes them: `1h0m0.5s`.

const SECOND: u64 = 1_000_000_000;

/// Reads a duration as Go's `time.ParseDuration` does. `None` when it is not one, or has no place in 64 bits.
pub fn parse(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    let mut total: i128 = 0;
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(end);
        let end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(end);
        total = total.checked_add(amount(number, unit)?)?;
        if tail.is_empty() {
            break;
        }
        rest = tail;
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

/// `1.5` of a unit, in nanoseconds; what is smaller is cut off.
fn amount(number: &str, unit: &str) -> Option<i128> {
    let per: i128 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND.into(),
        "m" => i128::from(SECOND) * 60,
        "h" => i128::from(SECOND) * 3_600,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // Twenty digits say more than the smallest unit can.
    let fraction = fraction.get(..20).unwrap_or(fraction);
    let part = match fraction {
        "" => 0,
        digits => {
            digits.parse::<i128>().ok()?.checked_mul(per)? / 10i128.checked_pow(u32::try_from(digits.len()).ok()?)?
        }
    };
    whole.checked_mul(per)?.checked_add(part)
}

/// Writes a duration as Go's `Duration.String` does.
pub fn format(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    let small = match nanos {
        0 => return "0s".to_owned(),
        1..1_000 => Some(("ns", 1)),
        1_000..1_000_000 => Some(("µs", 1_000)),
        1_000_000..SECOND => Some(("ms", 1_000_000)),
        _ => None,
    };
    if let Some((unit, per)) = small {
        return format!("{sign}{}{unit}", decimal(nanos, per));
    }
    let minutes = nanos / (60 * SECOND);
    let seconds = decimal(nanos % (60 * SECOND), SECOND);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{sign}{seconds}s"),
        (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
        (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
    }
}

/// `value / per`, a power of ten, without zeros at the end.
fn decimal(value: u64, per: u64) -> String {
    let (whole, fraction) = (value / per, value % per);
    if fraction == 0 {
        return whole.to_string();
    }
    let digits = format!("{:0width$}", fraction, width = per.ilog10() as usize);
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_gos() {
        for (text, nanos) in [
            ("0s", 0),
            ("1ns", 1),
            ("1.1µs", 1_100),
            ("2.2ms", 2_200_000),
            ("3.3s", 3_300_000_000),
            ("4m5.001s", 245_001_000_000),
            ("5h6m7.001s", 18_367_001_000_000),
            ("-1h0m0s", -3_600_000_000_000),
            ("2562047h47m16.854775807s", i64::MAX),
            ("-2562047h47m16.854775808s", i64::MIN),
        ] {
            assert_eq!(format(nanos), text);
            assert_eq!(parse(text), Some(nanos), "{text}");
        }
        for (text, nanos) in
            [("0", 0), ("+5s", 5_000_000_000), (".5s", 500_000_000), ("1h30m", 5_400_000_000_000), ("1us", 1_000)]
        {
            assert_eq!(parse(text), Some(nanos), "{text}");
        }
        for text in ["", "3", "s", ".s", "1d", "1.2.3s", "9999999h", "-"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
