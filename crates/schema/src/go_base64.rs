//! Base64 as Go's standard encoding reads it: lines may be broken, the bits that are left over may be anything, and an error
//! says at which byte of the text it was noticed.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// The bytes that a text stands for, or where it is wrong.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, usize> {
    LENIENT.decode(text.replace(['\n', '\r'], "")).map_err(|_| wrong_at(text.as_bytes()))
}

/// Walks a text that is wrong, four characters at a time.
fn wrong_at(text: &[u8]) -> usize {
    let mut chars = text.iter().enumerate().filter(|(_, c)| !matches!(c, b'\n' | b'\r'));
    let mut in_group = 0;
    while let Some((at, c)) = chars.next() {
        match c {
            b'=' if in_group < 2 => return at,
            b'=' if in_group == 3 => return chars.next().map_or(text.len(), |(at, _)| at),
            b'=' => {
                return match chars.next() {
                    None => text.len(),
                    Some((_, b'=')) => chars.next().map_or(text.len(), |(at, _)| at),
                    // Go names the first `=` then, by looking back one byte.
                    Some((second, _)) => second.saturating_sub(1),
                };
            }
            c if c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/') => in_group = (in_group + 1) % 4,
            _ => return at,
        }
    }
    text.len().saturating_sub(in_group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_where_go_notices_them() {
        for (text, at) in [
            ("MQ", 0),
            ("AQI=x", 4),
            ("!Bad!", 0),
            ("AQID!", 4),
            ("AQIDM", 4),
            ("=", 0),
            ("A===", 1),
            ("AQ=", 3),
            ("AQ=x", 2),
            ("AQ==AQ==", 4),
        ] {
            assert_eq!(decode(text), Err(at), "{text}");
        }
        assert_eq!(decode("M\nR=\r="), Ok(b"1".to_vec()));
        assert_eq!(decode(""), Ok(Vec::new()));
    }
}
