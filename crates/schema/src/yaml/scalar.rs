//! What a plain scalar means: YAML 1.1 as Go's library reads it.

use serde_json::{Number, Value};

/// The value of a plain scalar.
pub(super) fn resolve(text: &str) -> Result<Value, String> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Value::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Value::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return Err("json: unsupported value: NaN".to_owned()),
        "-.inf" | "-.Inf" | "-.INF" => return Err("json: unsupported value: -Inf".to_owned()),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            return Err("json: unsupported value: +Inf".to_owned());
        }
        _ => number(text).map_or_else(|| Value::from(text), Value::Number),
    })
}

/// Whether a plain scalar would be read as something else than a string.
pub(super) fn is_special(text: &str) -> bool {
    !matches!(resolve(text), Ok(Value::String(_))) || looks_like_time(text)
}

fn number(text: &str) -> Option<Number> {
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.')) {
        return None;
    }
    let plain = text.replace('_', "");
    integer(&plain).or_else(|| if is_float(&plain) { float(plain.parse().ok()?) } else { None })
}

/// What is whole is written without a fraction in the JSON that Go makes of YAML.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, and within the range")]
fn float(float: f64) -> Option<Number> {
    match float {
        whole if whole.fract() != 0.0 => Number::from_f64(whole),
        small if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&small) => {
            Some((small as i64).into())
        }
        large if (0.0..18_446_744_073_709_551_616.0).contains(&large) => Some((large as u64).into()),
        other => Number::from_f64(other),
    }
}

/// Integers in base 10, 8 (`0755`, `0o755`), 16 and 2.
fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, lower.get(2..)?),
        [b'0', b'b', ..] => (2, lower.get(2..)?),
        [b'0', b'o', ..] => (8, lower.get(2..)?),
        [b'0', _, ..] => (8, lower.get(1..)?),
        _ => (10, lower.as_str()),
    };
    // Signs are not digits, although the standard library would take one.
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    let value = u64::from_str_radix(digits, radix).ok()?;
    match (negative, i64::try_from(value)) {
        (false, Ok(value)) => Some(value.into()),
        (false, Err(_)) => Some(value.into()),
        (true, Ok(value)) => Some((-value).into()),
        (true, Err(_)) => (value == 1 << 63).then(|| i64::MIN.into()),
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(at) => (rest.get(..at).unwrap_or_default(), rest.get(at + 1..)),
        None => (rest, None),
    };
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let mantissa_ok = match mantissa.split_once('.') {
        None => digits(mantissa),
        Some(("", fraction)) => digits(fraction),
        Some((whole, fraction)) => digits(whole) && fraction.bytes().all(|b| b.is_ascii_digit()),
    };
    mantissa_ok && exponent.is_none_or(|e| digits(e.strip_prefix(['-', '+']).unwrap_or(e)))
}

/// Times stay strings, but are quoted when written.
fn looks_like_time(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let (Some(year), Some(month), Some(rest)) = (parts.next(), parts.next(), parts.next()) else { return false };
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    year.len() == 4
        && digits(year)
        && digits(month)
        && month.len() <= 2
        && rest.starts_with(|c: char| c.is_ascii_digit())
}
