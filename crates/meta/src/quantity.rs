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
        let written = Written::read(text)?;
        let (format, factor) = factor(written.suffix)?;
        let nano = scaled(written.whole, written.fraction, factor);
        Ok(Self { nano: if written.negative { -nano } else { nano }, format })
    }

    /// The text in which a quantity is kept: as it was written where upstream sees no need to write it anew.
    pub fn kept(text: &str) -> Result<String, &'static str> {
        let text = text.trim();
        let (parsed, written) = (Self::parse(text)?, Written::read(text)?);
        Ok(if written.is_kept() { text.to_owned() } else { parsed.to_string() })
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

/// The parts of a quantity's text.
struct Written<'t> {
    negative: bool,
    /// Without leading zeros.
    whole: &'t str,
    fraction: &'t str,
    suffix: &'t str,
}

impl<'t> Written<'t> {
    fn read(text: &'t str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err(FORMAT_ERROR);
        }
        let (negative, rest) = match text.as_bytes().first() {
            Some(b'-') => (true, text.get(1..).unwrap_or_default()),
            Some(b'+') => (false, text.get(1..).unwrap_or_default()),
            _ => (false, text),
        };
        let (whole, rest) = split_digits(rest);
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_digits);
        let letters = suffix.trim_start_matches(|c: char| "eEinumkKMGTP".contains(c));
        let digits = letters.strip_prefix(['+', '-']).unwrap_or(letters);
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(FORMAT_ERROR);
        }
        Ok(Self { negative, whole: whole.trim_start_matches('0'), fraction, suffix })
    }

    /// Upstream takes these for canonical: few enough digits, a power of a thousand, nothing to shorten.
    fn is_kept(&self) -> bool {
        let (whole, fraction) = (self.whole.len().max(1), self.fraction.len());
        let digits =
            if self.whole.is_empty() { format!("0{}", self.fraction) } else { [self.whole, self.fraction].concat() };
        match factor(self.suffix) {
            Ok((_, Factor::Two(bits))) => {
                let is_small = whole + (bits as usize) * 3 / 10 < 15;
                is_small && fraction == 0 && digits.parse().is_ok_and(|value: i64| value % 8 != 0)
            }
            Ok((_, Factor::Ten(exponent))) => {
                let scale = i64::from(exponent) - i64::try_from(fraction).unwrap_or(i64::MAX);
                let is_canonical = scale % 3 == 0 && !digits.ends_with("000") && !digits.starts_with('0');
                whole + fraction <= 18 && scale >= -9 && is_canonical
            }
            Err(_) => false,
        }
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
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
    let exponent = suffix.strip_prefix(['e', 'E']).and_then(|exponent| exponent.parse().ok());
    exponent.map(|exponent| (Format::DecimalExponent, Factor::Ten(exponent))).ok_or("unable to parse quantity's suffix")
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
        for text in ["", "abc", "1 Gi", "1.2.3", "1gi"] {
            assert_eq!(Quantity::parse(text), Err(FORMAT_ERROR), "{text}");
        }
        for text in ["--1", "1e", "1Kii", "1e+"] {
            assert_eq!(Quantity::parse(text), Err("unable to parse quantity's suffix"), "{text}");
        }
        assert!(Quantity::parse("1Gi").unwrap() > Quantity::parse("1G").unwrap());
        assert_eq!(Quantity::parse("1.5").unwrap().value(), 2);
    }

    #[test]
    fn what_needs_no_shortening_is_kept_as_it_was_written() {
        for (text, kept) in [
            ("1e3", "1e3"),
            ("1E3", "1E3"),
            ("1.", "1."),
            ("+1", "+1"),
            ("007", "007"),
            ("1.500", "1.500"),
            (" 1 ", "1"),
            ("1000", "1k"),
            ("0.1", "100m"),
            ("1e2", "100"),
            ("8Ki", "8Ki"),
            ("+8Ki", "8Ki"),
            ("+7Ki", "+7Ki"),
            ("1.5Gi", "1536Mi"),
            ("Gi", "0"),
            ("-", "0"),
        ] {
            assert_eq!(Quantity::kept(text).as_deref(), Ok(kept), "{text}");
        }
    }
}
