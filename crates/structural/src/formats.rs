//! Formats of strings: which are known, and what fits them.
//!
//! A format that nobody knows says nothing. Names are compared without their dashes.

mod codes;
mod email;
mod hosts;

use pawl_cel::k8s::urls;
use pawl_cel::value::{Timestamp, time};

use crate::props::Props;

/// A known format.
#[derive(Clone, Debug)]
pub(crate) struct Format {
    name: Box<str>,
    /// Absent for formats of numbers, which are part of their type.
    fits: Option<fn(&str) -> bool>,
}

impl Format {
    /// The format of a schema; nothing if it has none or a format that its type does not know.
    pub fn of(props: &Props) -> Option<Format> {
        let name = &*props.format;
        let fits = match &*props.kind {
            _ if name.is_empty() => return None,
            "" | "string" => Some(of_strings(name)?),
            _ if props.int_or_string => Some(of_strings(name)?),
            "integer" if matches!(name, "int32" | "int64") => None,
            "number" if matches!(name, "float" | "double") => None,
            _ => return None,
        };
        Some(Format { name: name.into(), fits })
    }

    /// The format of a schema, whatever its type and whether anybody knows it.
    pub fn as_written(props: &Props) -> Option<Format> {
        let name = &*props.format;
        (!name.is_empty()).then(|| Format { name: name.into(), fits: of_strings(name) })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn is_of_strings(&self) -> bool {
        self.fits.is_some()
    }

    pub fn fits(&self, text: &str) -> bool {
        self.fits.is_none_or(|fits| fits(text))
    }
}

/// Formats in a schema that nobody checks, in the order of the schema.
pub fn unrecognized_formats(schema: &Props) -> Vec<String> {
    let mut found = Vec::new();
    schema.any(&mut |level| {
        if !level.format.is_empty() && Format::of(level).is_none() {
            found.push(level.format.to_string());
        }
        false
    });
    found
}

fn of_strings(name: &str) -> Option<fn(&str) -> bool> {
    Some(match name.replace('-', "").as_str() {
        "bsonobjectid" => |text| text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit()),
        "uri" => |text| urls::parse_request(text).is_ok(),
        "email" => email::is_address,
        "hostname" => hosts::is_hostname,
        "ipv4" => hosts::is_ipv4,
        "ipv6" => hosts::is_ipv6,
        "cidr" => hosts::is_cidr,
        "mac" => hosts::is_mac,
        "uuid" => |text| codes::is_uuid(text, None, false),
        "uuid3" => |text| codes::is_uuid(text, Some(b'3'), false),
        "uuid4" => |text| codes::is_uuid(text, Some(b'4'), true),
        "uuid5" => |text| codes::is_uuid(text, Some(b'5'), true),
        "isbn" => |text| codes::is_isbn10(text) || codes::is_isbn13(text),
        "isbn10" => codes::is_isbn10,
        "isbn13" => codes::is_isbn13,
        "creditcard" => codes::is_credit_card,
        "ssn" => codes::is_ssn,
        "hexcolor" => codes::is_hex_color,
        "rgbcolor" => codes::is_rgb_color,
        "byte" => codes::is_base64,
        "password" => |_| true,
        "date" => |text| Timestamp::parse_date(text).is_some(),
        "duration" => is_duration,
        "datetime" => is_datetime,
        "k8sshortname" => |text| text.len() <= 63 && hosts::is_label(text),
        "k8slongname" => |text| text.len() <= 253 && text.split('.').all(hosts::is_label),
        _ => return None,
    })
}

/// A day and a time of day, in this order and with a `t` between them.
fn is_datetime(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    Timestamp::parse_date(date).is_some() && is_time(time)
}

/// `15:04:05`, a fraction if any, and `z` or an offset. Any character may begin the fraction.
fn is_time(time: &str) -> bool {
    let two = |from: usize, most: &str| {
        time.get(from..from + 2).is_some_and(|part| part.bytes().all(|b| b.is_ascii_digit()) && part <= most)
    };
    let colon = |at: usize| time.as_bytes().get(at) == Some(&b':');
    if !(two(0, "23") && colon(2) && two(3, "59") && colon(5) && two(6, "59")) {
        return false;
    }
    let rest = time.get(8..).unwrap_or_default();
    let is_zone = |zone: &str| {
        zone == "z"
            || (zone.starts_with(['+', '-'])
                && zone.len() == 6
                && zone.bytes().enumerate().skip(1).all(|(at, b)| if at == 3 { b == b':' } else { b.is_ascii_digit() }))
    };
    if is_zone(rest) {
        return true;
    }
    let mut behind = rest.chars();
    if behind.next().is_none_or(|c| c == '\n') {
        return false;
    }
    let fraction = behind.as_str();
    let end = fraction.find(|c: char| !c.is_ascii_digit()).unwrap_or(fraction.len());
    end > 0 && is_zone(fraction.get(end..).unwrap_or_default())
}

/// A duration as Go writes it, or counted units in words among other text.
fn is_duration(text: &str) -> bool {
    if time::parse_duration(text).is_some() {
        return true;
    }
    let mut is_any = false;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let counted = rest.get(start..).unwrap_or_default();
        let digits = counted.find(|c: char| !c.is_ascii_digit()).unwrap_or(counted.len());
        let (count, behind) = counted.split_at_checked(digits).unwrap_or((counted, ""));
        let unit = behind.trim_start_matches(['\t', '\n', '\u{c}', '\r', ' ']);
        let end = unit.find(|c: char| !(c.is_ascii_alphabetic() || c == 'µ')).unwrap_or(unit.len());
        let (unit, behind) = unit.split_at_checked(end).unwrap_or((unit, ""));
        if !unit.is_empty() {
            if count.parse::<i64>().is_err() {
                return false;
            }
            is_any |= is_unit(&unit.to_lowercase());
        }
        rest = behind;
    }
    is_any
}

fn is_unit(unit: &str) -> bool {
    matches!(unit, "ns" | "us" | "µs" | "ms" | "s" | "m" | "h" | "hr" | "d" | "w" | "wk")
        || ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"].iter().any(|word| unit.starts_with(word))
}
