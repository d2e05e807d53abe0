//! Numbers: comparing across types, exact conversions, Go's way of writing them.

use std::cmp::Ordering;

const TWO_63: f64 = 9_223_372_036_854_775_808.0;
const TWO_64: f64 = 18_446_744_073_709_551_616.0;

/// The integer that a double is exactly.
pub fn exact_int(value: f64) -> Option<i64> {
    to_int(value).filter(|int| *int as f64 == value)
}

/// The unsigned integer that a double is exactly.
pub fn exact_uint(value: f64) -> Option<u64> {
    to_uint(value).filter(|uint| *uint as f64 == value)
}

/// The double without its fraction; nothing outside the open range of the type.
pub fn to_int(value: f64) -> Option<i64> {
    (value > -TWO_63 && value < TWO_63).then_some(value as i64)
}

/// The double without its fraction; nothing when negative or too large.
pub fn to_uint(value: f64) -> Option<u64> {
    (0.0..TWO_64).contains(&value).then_some(value as u64)
}

/// How a double compares with an integer; the double is a number.
pub fn double_int(double: f64, int: i64) -> Ordering {
    if double < -TWO_63 {
        Ordering::Less
    } else if double > TWO_63 {
        Ordering::Greater
    } else {
        double.partial_cmp(&(int as f64)).unwrap_or(Ordering::Equal)
    }
}

/// How a double compares with an unsigned integer; the double is a number.
pub fn double_uint(double: f64, uint: u64) -> Ordering {
    if double < 0.0 {
        Ordering::Less
    } else if double > TWO_64 {
        Ordering::Greater
    } else {
        double.partial_cmp(&(uint as f64)).unwrap_or(Ordering::Equal)
    }
}

/// How an integer compares with an unsigned one.
pub fn int_uint(int: i64, uint: u64) -> Ordering {
    i128::from(int).cmp(&i128::from(uint))
}

/// A double as Go's `%g` writes it: the shortest digits, with an exponent when small or large.
pub fn shortest(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return format!("{value}");
    }
    format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// A double with a fixed number of decimals, as Go's `%.nf` writes it.
pub fn fixed(value: f64, decimals: usize) -> String {
    special(value).unwrap_or_else(|| format!("{value:.decimals$}"))
}

fn special(value: f64) -> Option<String> {
    let text = match () {
        () if value.is_nan() => "NaN",
        () if value == f64::INFINITY => "Infinity",
        () if value == f64::NEG_INFINITY => "-Infinity",
        () => return None,
    };
    Some(text.to_owned())
}
