//! Names and addresses of machines.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::OnceLock;

use regex::Regex;

/// One part of a Kubernetes name: lower case letters, digits and dashes inside.
pub(super) fn is_label(text: &str) -> bool {
    let is_end = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let bytes = text.as_bytes();
    is_end(bytes.first())
        && is_end(bytes.last())
        && bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
}

/// A host: one label with at most one dash, as its second character, or several labels of which the last is letters only.
pub(super) fn is_hostname(text: &str) -> bool {
    let labels: Vec<&str> = text.split('.').collect();
    let fits = match labels.as_slice() {
        [only] => is_lone_label(only),
        [inner @ .., last] => inner.iter().all(|label| is_inner_label(label)) && is_top_level(last),
        [] => false,
    };
    fits && text.len() <= 255 && labels.iter().all(|label| label.len() <= 63)
}

fn is_lone_label(label: &str) -> bool {
    let mut chars = label.chars();
    let Some(first) = chars.next() else { return false };
    let rest = chars.as_str();
    let rest = rest.strip_prefix('-').unwrap_or(rest);
    is_host_char(first) && rest.chars().count() <= 62 && rest.chars().all(is_host_char)
}

fn is_inner_label(label: &str) -> bool {
    let (first, last) = (label.chars().next(), label.chars().next_back());
    first.is_some_and(is_host_char)
        && last.is_some_and(is_host_char)
        && label.chars().count() <= 63
        && label.chars().all(|c| c == '-' || is_host_char(c))
}

fn is_top_level(label: &str) -> bool {
    (2..=63).contains(&label.chars().count()) && label.chars().all(is_letter)
}

/// Letters and symbols of any script, and digits.
fn is_host_char(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || matches!(c, '$' | '+' | '<' | '=' | '>' | '^' | '`' | '|' | '~')
        || is_letter_or_symbol(c)
}

fn is_letter(c: char) -> bool {
    static LETTER: OnceLock<Option<Regex>> = OnceLock::new();
    c.is_ascii_alphabetic() || (!c.is_ascii() && matches(&LETTER, r"^\p{L}$", c))
}

fn is_letter_or_symbol(c: char) -> bool {
    static SYMBOL: OnceLock<Option<Regex>> = OnceLock::new();
    !c.is_ascii() && matches(&SYMBOL, r"^[\p{L}\p{S}]$", c)
}

fn matches(regex: &OnceLock<Option<Regex>>, pattern: &str, c: char) -> bool {
    let mut buffer = [0; 4];
    let regex = regex.get_or_init(|| Regex::new(pattern).ok());
    regex.as_ref().is_some_and(|regex| regex.is_match(c.encode_utf8(&mut buffer)))
}

/// Dotted, also inside of an IPv6 address; zeros in front of a number do not count.
pub(super) fn is_ipv4(text: &str) -> bool {
    text.contains('.') && (loose_ipv4(text).is_some() || loose_ipv6(text).is_some())
}

pub(super) fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = if loose_ipv4(address).is_some() {
        32
    } else if loose_ipv6(address).is_some() {
        128
    } else {
        return false;
    };
    bits.bytes().all(|b| b.is_ascii_digit()) && bits.parse::<u32>().is_ok_and(|bits| bits <= most)
}

fn loose_ipv4(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<&str> = text.split('.').collect();
    let [a, b, c, d] = parts.as_slice() else { return None };
    let number = |part: &str| {
        let is_number = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if is_number { part.parse::<u32>().ok().and_then(|value| u8::try_from(value).ok()) } else { None }
    };
    Some(Ipv4Addr::new(number(a)?, number(b)?, number(c)?, number(d)?))
}

fn loose_ipv6(text: &str) -> Option<Ipv6Addr> {
    match text.rsplit_once(':') {
        Some((front, back)) if back.contains('.') => format!("{front}:{}", loose_ipv4(back)?).parse().ok(),
        _ => text.parse().ok(),
    }
}

/// Six, eight or twenty bytes: pairs of digits with colons or dashes, or groups of four with dots.
pub(super) fn is_mac(text: &str) -> bool {
    let (separator, width) = match text.as_bytes() {
        [_, _, separator @ (b':' | b'-'), ..] => (char::from(*separator), 2),
        [_, _, _, _, b'.', ..] => ('.', 4),
        _ => return false,
    };
    let groups: Vec<&str> = text.split(separator).collect();
    let is_group = |group: &&str| group.len() == width && group.bytes().all(|b| b.is_ascii_hexdigit());
    matches!(groups.len() * width / 2, 6 | 8 | 20) && groups.iter().all(is_group)
}
