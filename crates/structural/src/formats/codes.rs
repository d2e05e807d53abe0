//! Numbers and codes that are written down: identifiers, book and card numbers, colours, base64.

/// A UUID, with or without its dashes; `version` and the variant where they matter.
pub(super) fn is_uuid(text: &str, version: Option<u8>, has_variant: bool) -> bool {
    let mut digits = Vec::with_capacity(32);
    for byte in text.bytes() {
        match byte {
            b'-' if matches!(digits.len(), 8 | 12 | 16 | 20) => digits.push(byte),
            _ if byte.is_ascii_hexdigit() => {
                // A dash stands where the next digit is counted from; it is no digit itself.
                if digits.last() == Some(&b'-') {
                    digits.pop();
                }
                digits.push(byte.to_ascii_lowercase());
            }
            _ => return false,
        }
    }
    digits.len() == 32
        && digits.last() != Some(&b'-')
        && version.is_none_or(|version| digits.get(12) == Some(&version))
        && (!has_variant || digits.get(16).is_some_and(|digit| b"89ab".contains(digit)))
}

fn digits_of(text: &str) -> Vec<u32> {
    text.chars().filter_map(|c| c.to_digit(10)).collect()
}

fn without_spaces_and_dashes(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '\t' | '\n' | '\u{c}' | '\r' | ' ' | '-')).collect()
}

pub(super) fn is_isbn10(text: &str) -> bool {
    let text = without_spaces_and_dashes(text);
    let (body, last) = match text.split_at_checked(9) {
        Some(parts) => parts,
        None => return false,
    };
    let check = match last {
        "X" => 10,
        _ => match last.parse::<u32>() {
            Ok(digit) if last.len() == 1 => digit,
            _ => return false,
        },
    };
    if !body.bytes().all(|b| b.is_ascii_digit()) {
        return false;
    }
    let sum: u32 = (1..).zip(digits_of(body)).map(|(weight, digit)| weight * digit).sum();
    (sum + 10 * check).is_multiple_of(11)
}

pub(super) fn is_isbn13(text: &str) -> bool {
    let text = without_spaces_and_dashes(text);
    if text.len() != 13 || !text.bytes().all(|b| b.is_ascii_digit()) {
        return false;
    }
    let sum: u32 =
        digits_of(&text).iter().enumerate().map(|(at, digit)| if at % 2 == 0 { *digit } else { digit * 3 }).sum();
    sum.is_multiple_of(10)
}

/// The numbers of known issuers with a right check digit; whatever stands between digits does not count.
pub(super) fn is_credit_card(text: &str) -> bool {
    let number: String = text.chars().filter(char::is_ascii_digit).collect();
    let starts = |from: u32, to: u32, length: usize| {
        number.get(..length).and_then(|start| start.parse().ok()).is_some_and(|start| (from..=to).contains(&start))
    };
    let is_issued = match number.len() {
        13 => starts(4, 4, 1),
        14 => starts(300, 305, 3) || starts(36, 36, 2) || starts(38, 38, 2),
        15 => starts(34, 34, 2) || starts(37, 37, 2) || starts(2131, 2131, 4) || starts(1800, 1800, 4),
        16 => starts(4, 4, 1) || starts(51, 55, 2) || starts(6011, 6011, 4) || starts(65, 65, 2) || starts(35, 35, 2),
        _ => false,
    };
    let doubled = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let digits = digits_of(&number);
    let sum: u32 =
        digits.iter().rev().enumerate().map(|(at, digit)| if at % 2 == 0 { *digit } else { doubled(*digit) }).sum();
    is_issued && sum.is_multiple_of(10)
}

/// `123-45-6789`, with dashes or spaces.
pub(super) fn is_ssn(text: &str) -> bool {
    text.len() == 11
        && text.bytes().enumerate().all(|(at, b)| match at {
            3 | 6 => matches!(b, b'-' | b' '),
            _ => b.is_ascii_digit(),
        })
}

pub(super) fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

/// `rgb(1, 2, 255)`.
pub(super) fn is_rgb_color(text: &str) -> bool {
    let Some(body) = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')')) else { return false };
    let parts: Vec<&str> = body.split(',').collect();
    let is_part = |part: &&str| {
        let part = part.trim_matches(['\t', '\n', '\u{c}', '\r', ' ']);
        let is_plain = part == "0" || (!part.starts_with('0') && part.bytes().all(|b| b.is_ascii_digit()));
        is_plain && part.len() <= 3 && part.parse::<u8>().is_ok()
    };
    parts.len() == 3 && parts.iter().all(is_part)
}

/// Base64 with its padding; nothing at all is none.
pub(super) fn is_base64(text: &str) -> bool {
    let body = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    !text.is_empty()
        && text.len().is_multiple_of(4)
        && body.len() >= 2
        && body.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
}
