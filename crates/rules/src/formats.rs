//! The text formats that names, keys, addresses and quantities must have.
//!
//! Every function takes the text and returns what is wrong with it, in the words clients know; an empty list means that
//! the text is well formed. Which field is checked, and as which kind of error a finding is reported, is not known here.

use std::net::{IpAddr, Ipv6Addr};

const LABEL_FMT: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN_FMT: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LABEL_TEXT: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
const SUBDOMAIN_TEXT: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const QUALIFIED_FMT: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const QUALIFIED_TEXT: &str =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// The unit in which a length limit is reported: upstream says "characters" for the older formats and "bytes" for
/// label keys and values, though it counts bytes for both.
#[derive(Clone, Copy)]
enum Unit {
    Characters,
    Bytes,
}

fn too_long(limit: usize, unit: Unit) -> String {
    match unit {
        Unit::Characters => format!("must be no more than {limit} characters"),
        Unit::Bytes => format!("must be no more than {limit} bytes"),
    }
}

/// The sentence for a text that does not match a pattern, with examples of texts that would.
pub fn pattern_text(sentence: &str, pattern: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{sentence} (regex used for validation is '{pattern}')");
    }
    let shown: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{sentence} (e.g. {}regex used for validation is '{pattern}')", shown.join(" or "))
}

fn is_lower_alnum(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn matches_label(text: &str) -> bool {
    let ends_well = |byte: Option<&u8>| byte.is_some_and(|byte| is_lower_alnum(*byte));
    let bytes = text.as_bytes();
    ends_well(bytes.first())
        && ends_well(bytes.last())
        && bytes.iter().all(|byte| is_lower_alnum(*byte) || *byte == b'-')
}

fn matches_subdomain(text: &str) -> bool {
    text.split('.').all(matches_label)
}

fn matches_qualified(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends_well = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    ends_well(bytes.first())
        && ends_well(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// A DNS label (RFC 1123): the names of namespaces, containers, volumes.
pub fn dns1123_label(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if text.len() > 63 {
        found.push(too_long(63, Unit::Characters));
    }
    if !matches_label(text) {
        if matches_subdomain(text) {
            found.push("must not contain dots".to_string());
        } else {
            found.push(pattern_text(LABEL_TEXT, LABEL_FMT, &["my-name", "123-abc"]));
        }
    }
    found
}

/// A DNS subdomain (RFC 1123): the names of most objects.
pub fn dns1123_subdomain(text: &str) -> Vec<String> {
    subdomain(text, Unit::Characters)
}

fn subdomain(text: &str, unit: Unit) -> Vec<String> {
    let mut found = Vec::new();
    if text.len() > 253 {
        found.push(too_long(253, unit));
    }
    if !matches_subdomain(text) {
        found.push(pattern_text(SUBDOMAIN_TEXT, SUBDOMAIN_FMT, &["example.com"]));
    }
    found
}

/// A DNS subdomain whose letters may be of either case.
pub fn dns1123_subdomain_caseless(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if text.len() > 253 {
        found.push(too_long(253, Unit::Bytes));
    }
    if !matches_subdomain(&text.to_ascii_lowercase()) {
        let sentence = "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
        found.push(pattern_text(sentence, SUBDOMAIN_FMT, &["Example.com"]));
    }
    found
}

/// A DNS subdomain whose first label is `*`.
pub fn wildcard_dns1123_subdomain(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if text.len() > 253 {
        found.push(too_long(253, Unit::Characters));
    }
    if !text.strip_prefix("*.").is_some_and(matches_subdomain) {
        let sentence = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character";
        found.push(pattern_text(sentence, &format!(r"\*\.{SUBDOMAIN_FMT}"), &["*.example.com"]));
    }
    found
}

/// A DNS label (RFC 1035), which begins with a letter: the names of services before they were relaxed.
pub fn dns1035_label(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if text.len() > 63 {
        found.push(too_long(63, Unit::Characters));
    }
    if !(matches_label(text) && text.as_bytes().first().is_some_and(u8::is_ascii_lowercase)) {
        let sentence = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
        found.push(pattern_text(sentence, "[a-z]([-a-z0-9]*[a-z0-9])?", &["my-name", "abc-123"]));
    }
    found
}

/// A name with an optional DNS prefix: label keys, annotation keys, finalizers, condition types.
pub fn qualified_name(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                found.push("prefix part must be non-empty".to_string());
            } else {
                found.extend(subdomain(prefix, Unit::Bytes).iter().map(|text| format!("prefix part {text}")));
            }
            *name
        }
        _ => {
            let pattern = pattern_text(QUALIFIED_TEXT, QUALIFIED_FMT, &["MyName", "my.name", "123-abc"]);
            let suffix = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            found.push(format!("a valid label key {pattern} {suffix}"));
            return found;
        }
    };
    if name.is_empty() {
        found.push("name part must be non-empty".to_string());
    } else if name.len() > 63 {
        found.push(format!("name part {}", too_long(63, Unit::Bytes)));
    }
    if !matches_qualified(name) {
        let pattern = pattern_text(QUALIFIED_TEXT, QUALIFIED_FMT, &["MyName", "my.name", "123-abc"]);
        found.push(format!("name part {pattern}"));
    }
    found
}

/// The value of a label, which may be empty.
pub fn label_value(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if text.len() > 63 {
        found.push(too_long(63, Unit::Bytes));
    }
    if !text.is_empty() && !matches_qualified(text) {
        let sentence = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
        found.push(pattern_text(sentence, &format!("({QUALIFIED_FMT})?"), &["MyValue", "my_value", "12345"]));
    }
    found
}

/// A key of a config map or a secret.
pub fn config_key(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if text.len() > 253 {
        found.push(too_long(253, Unit::Characters));
    }
    let well_formed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if text.is_empty() || !text.bytes().all(well_formed) {
        let sentence = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
        found.push(pattern_text(sentence, "[-._a-zA-Z0-9]+", &["key.name", "KEY_NAME", "key-name"]));
    }
    found.extend(parent_directory(text));
    found
}

fn parent_directory(text: &str) -> Option<String> {
    match text {
        "." => Some("must not be '.'".to_string()),
        ".." => Some("must not be '..'".to_string()),
        _ if text.starts_with("..") => Some("must not start with '..'".to_string()),
        _ => None,
    }
}

/// The name of a port, as IANA writes service names.
pub fn port_name(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if text.len() > 15 {
        found.push(too_long(15, Unit::Characters));
    }
    if text.is_empty() || !text.bytes().all(|byte| is_lower_alnum(byte) || byte == b'-') {
        found.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_string());
    }
    if !text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        found.push("must contain at least one letter (a-z)".to_string());
    }
    if text.contains("--") {
        found.push("must not contain consecutive hyphens".to_string());
    }
    if text.starts_with('-') || text.ends_with('-') {
        found.push("must not begin or end with a hyphen".to_string());
    }
    found
}

/// A name that can be one segment of a URL path.
pub fn path_segment(text: &str) -> Vec<String> {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    path_segment_prefix(text)
}

/// The beginning of a name that can be one segment of a URL path.
pub fn path_segment_prefix(text: &str) -> Vec<String> {
    ["/", "%"].iter().filter(|part| text.contains(**part)).map(|part| format!("may not contain '{part}'")).collect()
}

/// A C identifier.
pub fn c_identifier(text: &str) -> Vec<String> {
    let starts_well = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    if starts_well && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Vec::new();
    }
    let sentence = "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'";
    vec![pattern_text(sentence, "[A-Za-z_][A-Za-z0-9_]*", &["my_name", "MY_NAME", "MyName"])]
}

/// An IP address, as fields older than strict parsing take it: not necessarily in canonical form.
pub fn ip(text: &str) -> Vec<String> {
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => {
            vec!["must not be an IPv4-mapped IPv6 address".to_string()]
        }
        Ok(_) => Vec::new(),
        Err(_) if without_leading_zeros(text).parse::<IpAddr>().is_ok() => vec!["must not have leading 0s".to_string()],
        Err(_) => vec!["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)".to_string()],
    }
}

/// An IP address in canonical form.
pub fn canonical_ip(text: &str) -> Vec<String> {
    let found = ip(text);
    if !found.is_empty() {
        return found;
    }
    match text.parse::<IpAddr>() {
        Ok(address) if address.to_string() != text => vec![format!("must be in canonical form (\"{address}\")")],
        _ => Vec::new(),
    }
}

/// A range of addresses, as fields older than strict parsing take it: no bits after the prefix, any spelling.
pub fn cidr(text: &str) -> Vec<String> {
    if let Some((address, prefix)) = parse_cidr(text) {
        if matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some()) {
            return vec!["must not have an IPv4-mapped IPv6 address".to_string()];
        }
        if masked(address, prefix) != address {
            return vec!["must not have bits set beyond the prefix length".to_string()];
        }
        return Vec::new();
    }
    let sloppy = text.split_once('/').is_some_and(|(address, prefix)| {
        let digits = prefix.trim_start_matches('0');
        let digits = if digits.is_empty() { "0" } else { digits };
        parse_cidr(&format!("{}/{digits}", without_leading_zeros(address))).is_some()
    });
    if sloppy {
        return vec!["must not have leading 0s in IP or prefix length".to_string()];
    }
    vec!["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)".to_string()]
}

/// A range of addresses in canonical form.
pub fn canonical_cidr(text: &str) -> Vec<String> {
    let found = cidr(text);
    if !found.is_empty() {
        return found;
    }
    match parse_cidr(text) {
        Some((address, prefix)) if format!("{address}/{prefix}") != text => {
            vec![format!("must be in canonical form (\"{address}/{prefix}\")")]
        }
        _ => Vec::new(),
    }
}

/// The address and the prefix length of a range; nothing for a text that is none.
pub fn parse_cidr(text: &str) -> Option<(IpAddr, u8)> {
    let (address, prefix) = text.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let canonical = prefix == "0" || !prefix.starts_with('0');
    if !canonical || prefix.is_empty() || !prefix.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let prefix: u8 = prefix.parse().ok()?;
    let width = if address.is_ipv4() { 32 } else { 128 };
    (prefix <= width).then_some((address, prefix))
}

/// Whether the second range lies within the first. Both are (address, prefix length).
pub fn contains_range(outer: (IpAddr, u8), inner: (IpAddr, u8)) -> bool {
    outer.0.is_ipv4() == inner.0.is_ipv4() && outer.1 <= inner.1 && masked(inner.0, outer.1) == masked(outer.0, outer.1)
}

fn masked(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0);
            IpAddr::V4((u32::from(address) & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix.min(128))).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from(u128::from(address) & mask))
        }
    }
}

fn without_leading_zeros(text: &str) -> String {
    let strip = |part: &str| {
        let digits = part.trim_start_matches('0');
        if digits.is_empty() && !part.is_empty() { "0".to_string() } else { digits.to_string() }
    };
    match text.rfind(':') {
        // The dotted tail of an IPv6 address.
        Some(at) if text.contains('.') => {
            let (head, tail) = text.split_at(at + 1);
            format!("{head}{}", tail.split('.').map(strip).collect::<Vec<_>>().join("."))
        }
        Some(_) => text.to_string(),
        None => text.split('.').map(strip).collect::<Vec<_>>().join("."),
    }
}

/// The amount of a quantity in billionths, for comparisons; nothing for a text that is none.
/// Amounts beyond the range of the type are held at its ends.
pub fn quantity(text: &str) -> Option<i128> {
    let split = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-'))).unwrap_or(text.len());
    let (number, suffix) = text.split_at(split);
    let (negative, digits) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if !all_digits || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let (multiplier, power) = scale(suffix)?;
    let mut amount: i128 = 0;
    for byte in whole.bytes().chain(fraction.bytes()) {
        amount = amount.saturating_mul(10).saturating_add(i128::from(byte - b'0'));
    }
    amount = amount.saturating_mul(multiplier);
    let power = power + 9 - i32::try_from(fraction.len()).ok()?;
    for _ in 0..power.clamp(0, 60) {
        amount = amount.saturating_mul(10);
    }
    for _ in 0..(-power).clamp(0, 60) {
        // Less than a billionth counts as a billionth.
        amount = amount / 10 + i128::from(amount % 10 != 0);
    }
    Some(if negative { -amount } else { amount })
}

/// The factor and the power of ten that the suffix of a quantity stands for.
fn scale(suffix: &str) -> Option<(i128, i32)> {
    let binary = |power: u32| Some((1024_i128.pow(power), 0));
    match suffix {
        "" => Some((1, 0)),
        "n" => Some((1, -9)),
        "u" => Some((1, -6)),
        "m" => Some((1, -3)),
        "k" => Some((1, 3)),
        "M" => Some((1, 6)),
        "G" => Some((1, 9)),
        "T" => Some((1, 12)),
        "P" => Some((1, 15)),
        "E" => Some((1, 18)),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E'])?;
            Some((1, exponent.strip_prefix('+').unwrap_or(exponent).parse().ok()?))
        }
    }
}

/// An address that an endpoint may have: none that only means something on one machine or one link.
pub fn endpoint_ip(text: &str) -> Vec<String> {
    let Ok(address) = without_leading_zeros(text).parse::<IpAddr>() else {
        return vec!["must be a valid IP address".to_string()];
    };
    let address = address.to_canonical();
    let mut found = Vec::new();
    if address.is_unspecified() {
        found.push(format!("may not be unspecified ({text})"));
    }
    if address.is_loopback() {
        found.push("may not be in the loopback range (127.0.0.0/8, ::1/128)".to_string());
    }
    let (link_local, link_multicast) = match address {
        IpAddr::V4(v4) => (v4.is_link_local(), v4.octets().starts_with(&[224, 0, 0])),
        IpAddr::V6(v6) => {
            let first = u128::from(v6) >> 112;
            (first & 0xffc0 == 0xfe80, first & 0xff0f == 0xff02)
        }
    };
    if link_local {
        found.push("may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_string());
    }
    if link_multicast {
        found.push("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_string());
    }
    found
}

/// Whether the text is an IP address in any spelling, leading zeros included.
pub fn is_ip(text: &str) -> bool {
    without_leading_zeros(text).parse::<IpAddr>().is_ok()
}

/// A path below a domain (`acme.io/foo`). Each finding comes with the part that is wrong; an empty text is for the
/// caller to report.
pub fn domain_prefixed_path(text: &str) -> Vec<(String, String)> {
    let (host, path) = match text.split_once('/') {
        Some((host, path)) if !host.is_empty() && !path.is_empty() => (host, path),
        _ => {
            let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            return vec![(text.to_string(), detail.to_string())];
        }
    };
    let mut found: Vec<(String, String)> =
        dns1123_subdomain(host).into_iter().map(|detail| (host.to_string(), detail)).collect();
    if !path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte)) {
        let detail = pattern_text("Invalid path", r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+", &[]);
        found.push((path.to_string(), detail));
    }
    found
}
