//! Quantities: decimal numbers with a suffix (`100m`, `1Gi`, `12e6`), their canonical form and their order.

use std::cmp::Ordering;

/// A parsed quantity: `digits × 10^-scale`, with the suffix family it was written in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// The value in nano units (10⁻⁹), rounded up as upstream does.
    nano: i128,
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    DecimalSi,
    BinarySi,
    DecimalExponent,
}

const NANO: i128 = 1_000_000_000;
/// Upstream caps values with binary suffixes at 2⁶³−1 units.
const MAX_BINARY: i128 = (i64::MAX as i128) * NANO;
/// Others have no bound there; this one is beyond anything that is measured.
const MAX_DECIMAL: i128 = 10_i128.pow(38);

const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

/// The one sentence for everything that does not parse.
pub const FORMAT_ERROR: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

impl Quantity {
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (negative, rest) = match text.as_bytes().first() {
            Some(b'-') => (true, text.get(1..).unwrap_or_default()),
            Some(b'+') => (false, text.get(1..).unwrap_or_default()),
            _ => (false, text),
        };
        let digits_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(digits_end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(FORMAT_ERROR);
        }
        let (format, factor) = factor(suffix)?;
        let nano = scaled(whole, fraction, factor);
        Ok(Self { nano: if negative { -nano } else { nano }, format })
    }

    pub fn zero() -> Self {
        Self { nano: 0, format: Format::DecimalSi }
    }

    pub fn is_negative(&self) -> bool {
        self.nano < 0
    }

    pub fn is_zero(&self) -> bool {
        self.nano == 0
    }

    /// Whether the value has no fraction.
    pub fn is_integer(&self) -> bool {
        self.nano % NANO == 0
    }

    /// The value in whole units, rounded up.
    pub fn value(&self) -> i64 {
        i64::try_from(div_up(self.nano, NANO)).unwrap_or(i64::MAX)
    }

    /// The value in thousandths, rounded up.
    pub fn milli_value(&self) -> i64 {
        i64::try_from(div_up(self.nano, NANO / 1000)).unwrap_or(i64::MAX)
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.nano.cmp(&other.nano))
    }
}

/// The canonical text of a quantity, as the server stores and shows it.
impl std::fmt::Display for Quantity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let magnitude = self.nano.abs();
        if self.nano < 0 {
            f.write_str("-")?;
        }
        if magnitude == 0 {
            return f.write_str("0");
        }
        let binary = self.format == Format::BinarySi && magnitude >= 1024 * NANO && magnitude % NANO == 0;
        if binary {
            let units = magnitude / NANO;
            let power = BINARY.iter().rev().find(|(_, bits)| units % (1 << bits) == 0);
            return match power {
                Some((suffix, bits)) => write!(f, "{}{suffix}", units >> bits),
                None => write!(f, "{units}"),
            };
        }
        let mut exponent = -9;
        let mut value = magnitude;
        while value % 1000 == 0 && exponent < 18 {
            value /= 1000;
            exponent += 3;
        }
        match self.format {
            Format::DecimalExponent if exponent != 0 => write!(f, "{value}e{exponent}"),
            Format::DecimalExponent => write!(f, "{value}"),
            _ => {
                let suffix = DECIMAL.iter().find(|(_, e)| *e == exponent).map_or("", |(s, _)| s);
                write!(f, "{value}{suffix}")
            }
        }
    }
}

enum Factor {
    Ten(i32),
    Two(u32),
}

fn factor(suffix: &str) -> Result<(Format, Factor), &'static str> {
    if let Some((_, bits)) = BINARY.iter().find(|(s, _)| *s == suffix) {
        return Ok((Format::BinarySi, Factor::Two(*bits)));
    }
    if let Some((_, exponent)) = DECIMAL.iter().find(|(s, _)| *s == suffix) {
        return Ok((Format::DecimalSi, Factor::Ten(*exponent)));
    }
    if let Some(exponent) = suffix.strip_prefix(['e', 'E']) {
        let exponent: i32 = exponent.parse().map_err(|_| FORMAT_ERROR)?;
        return Ok((Format::DecimalExponent, Factor::Ten(exponent)));
    }
    Err(if suffix.bytes().all(|b| b"eEinumkKMGTP+-0123456789".contains(&b)) {
        "unable to parse quantity's suffix"
    } else {
        FORMAT_ERROR
    })
}

/// `whole.fraction × factor` in nano units, rounded up, capped.
fn scaled(whole: &str, fraction: &str, factor: Factor) -> i128 {
    let mut digits: i128 = 0;
    let mut overflow = false;
    let mut fraction_len = 0i32;
    let mut lost = false;
    for (i, byte) in whole.bytes().chain(fraction.bytes()).enumerate() {
        let in_fraction = i >= whole.len();
        let next = digits.checked_mul(10).and_then(|d| d.checked_add(i128::from(byte - b'0')));
        match next {
            Some(next) => {
                digits = next;
                fraction_len += i32::from(in_fraction);
            }
            None if in_fraction => lost |= byte != b'0',
            None => overflow = true,
        }
    }
    let (exponent, bits, most) = match factor {
        Factor::Ten(exponent) => (exponent, 0, MAX_DECIMAL),
        Factor::Two(bits) => (0, bits, MAX_BINARY),
    };
    if overflow {
        return most;
    }
    let exponent = i64::from(exponent) + 9 - i64::from(fraction_len);
    let shifted = digits.checked_mul(1 << bits).unwrap_or(i128::MAX);
    let nano = match u32::try_from(exponent) {
        Ok(up) => 10i128.checked_pow(up).and_then(|p| shifted.checked_mul(p)).unwrap_or(if shifted == 0 {
            0
        } else {
            i128::MAX
        }),
        Err(_) => match u32::try_from(-exponent).ok().and_then(|down| 10i128.checked_pow(down)) {
            Some(p) => div_up(shifted, p),
            None => i128::from(shifted != 0),
        },
    };
    nano.saturating_add(i128::from(lost)).min(most)
}

fn div_up(value: i128, by: i128) -> i128 {
    value.div_euclid(by) + i128::from(value.rem_euclid(by) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_one_form() {
        for (text, canonical) in [
            ("100m", "100m"),
            ("0.1", "100m"),
            ("1000m", "1"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("1000", "1k"),
            ("1500", "1500"),
            ("12e6", "12e6"),
            ("1e3", "1e3"),
            ("0", "0"),
            ("-5", "-5"),
            ("512Ki", "512Ki"),
            ("0.5Ki", "512"),
            ("1n", "1n"),
            ("0.1n", "1n"),
            ("+1", "1"),
            ("1.0", "1"),
            (".5", "500m"),
            ("5.", "5"),
            ("1E", "1E"),
            ("100Ei", "9223372036854775807"),
            ("8Ei", "9223372036854775807"),
            ("9223372036854775808", "9223372036854775808"),
            ("123456789012345678901", "123456789012345678901"),
            ("1e19", "10e18"),
            ("92233720368547580700u", "92233720368547580700u"),
            ("0Gi", "0"),
            ("2k", "2k"),
            ("1e-3", "1e-3"),
        ] {
            assert_eq!(Quantity::parse(text).map(|q| q.to_string()).as_deref(), Ok(canonical), "{text}");
        }
        for text in ["", "abc", "1 Gi", "1.2.3", "--1", "1gi", "Gi"] {
            assert!(Quantity::parse(text).is_err(), "{text}");
        }
        assert!(Quantity::parse("1Gi").unwrap() > Quantity::parse("1G").unwrap());
        assert_eq!(Quantity::parse("1.5").unwrap().value(), 2);
    }
}
