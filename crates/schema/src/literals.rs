//! The numbers of a JSON text as they are written. The decoder reads floats and keeps no text; messages show it, and Go
//! takes `-0` for a whole number but not `-0.0`. Only asked for once something is odd.

use std::ops::Range;

/// Stands for a number that no float can hold.
pub(crate) const BEYOND: f64 = f64::MAX;

/// How a number that was read as a float is written.
pub(crate) fn of_float(text: &[u8], float: f64) -> Option<&str> {
    let is_it = |literal: &&str| {
        let is_float = literal.parse::<i64>().is_err() && literal.parse::<u64>().is_err() || *literal == "-0";
        is_float && literal.parse::<f64>().is_ok_and(|value| value.to_bits() == float.to_bits())
    };
    numbers(text).filter_map(|range| literal(text, range)).find(is_it)
}

/// The first number of a text that no float can hold, where there is one.
pub fn beyond_floats(text: &[u8]) -> Option<String> {
    beyond(text).map(|(_, first)| first)
}

/// The text with [`BEYOND`] in the place of numbers that no float can hold, and the first of them.
pub(crate) fn beyond(text: &[u8]) -> Option<(Vec<u8>, String)> {
    let (mut out, mut end, mut first) = (Vec::with_capacity(text.len()), 0, None);
    for range in numbers(text) {
        let Some(literal) = literal(text, range.clone()) else { continue };
        if literal.parse::<f64>().is_ok_and(f64::is_infinite) {
            out.extend_from_slice(text.get(end..range.start).unwrap_or_default());
            out.extend_from_slice(format!("{BEYOND:e}").as_bytes());
            end = range.end;
            first.get_or_insert_with(|| literal.to_owned());
        }
    }
    out.extend_from_slice(text.get(end..).unwrap_or_default());
    first.map(|first| (out, first))
}

fn literal(text: &[u8], range: Range<usize>) -> Option<&str> {
    std::str::from_utf8(text.get(range)?).ok()
}

/// Where numbers stand in a text.
fn numbers(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            match text.get(at)? {
                b'"' => at = after_string(text, at + 1),
                b'-' | b'0'..=b'9' => {
                    let start = at;
                    while let Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9') = text.get(at) {
                        at += 1;
                    }
                    return Some(start..at);
                }
                _ => at += 1,
            }
        }
    })
}

fn after_string(text: &[u8], mut at: usize) -> usize {
    loop {
        match text.get(at) {
            None => return at,
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_found_as_they_are_written() {
        let text = br#"{"1e3": "\"1000.0", "a": 1000, "b": [1E3, -0], "c": 1.50}"#;
        assert_eq!(of_float(text, 1000.0), Some("1E3"));
        assert_eq!(of_float(text, -0.0), Some("-0"));
        assert_eq!(of_float(text, 1.5), Some("1.50"));
        assert_eq!(of_float(text, 2.0), None);
    }

    #[test]
    fn numbers_beyond_floats_are_replaced() {
        let (text, first) = beyond(br#"{"a":"1e400","b":1e400,"c":[-1e999,2]}"#).unwrap();
        assert_eq!(first, "1e400");
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(value, serde_json::json!({"a": "1e400", "b": BEYOND, "c": [BEYOND, 2]}));
        assert_eq!(beyond(b"[1, 2.5]"), None);
    }
}
