//! Sets of characters: in brackets, by letters behind a backslash, by names of Unicode.

use regex::Regex;

use super::characters::{Character, Rest, escaped as escaped_character, literal};
use super::invalid;

/// A class without members.
pub(super) const NOTHING: &str = "[a&&b]";

const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
];

/// Scripts whose names have four letters. Others of four letters are abbreviations, which Go does not know.
const SHORT_SCRIPTS: [&str; 9] = ["ahom", "cham", "kawi", "lisu", "miao", "modi", "newa", "thai", "toto"];

/// Reads a class in brackets: no nesting and no set operations, so that their signs are literal.
pub(super) fn bracketed(rest: &mut Rest<'_>, out: &mut String) -> Result<(), String> {
    let whole = *rest;
    rest.next();
    out.push('[');
    if rest.take("^") {
        out.push('^');
    }
    let mut is_first = true;
    while is_first || rest.peek() != Some(']') {
        is_first = false;
        if posix(rest, out)? || escaped(rest, out)? {
            continue;
        }
        let from = *rest;
        let low = member(rest, whole)?;
        let mut high = low;
        // A dash before the end is literal.
        if rest.text().strip_prefix('-').is_some_and(|behind| !behind.is_empty() && !behind.starts_with(']')) {
            rest.next();
            high = member(rest, whole)?;
            if high.code() < low.code() {
                return Err(invalid("invalid character class range", from.until(*rest)));
            }
        }
        range(low, high, out);
    }
    rest.next();
    out.push(']');
    Ok(())
}

fn member(rest: &mut Rest<'_>, whole: Rest<'_>) -> Result<Character, String> {
    if rest.peek() == Some('\\') {
        return escaped_character(rest);
    }
    rest.next().map(Character::Scalar).ok_or_else(|| invalid("missing closing ]", whole.text()))
}

/// Writes a range, without the halves of pairs that it begins or ends with.
fn range(low: Character, high: Character, out: &mut String) {
    let low = match low {
        Character::Scalar(c) => c,
        Character::Surrogate(_) => '\u{e000}',
    };
    let high = match high {
        Character::Scalar(c) => c,
        Character::Surrogate(_) => '\u{d7ff}',
    };
    if low > high {
        out.push_str(NOTHING);
        return;
    }
    literal(low, out);
    if low < high {
        out.push('-');
        literal(high, out);
    }
}

/// Reads `[:name:]` inside of a class. Without an end it is no name.
fn posix(rest: &mut Rest<'_>, out: &mut String) -> Result<bool, String> {
    let Some((name, _)) = rest.text().strip_prefix("[:").and_then(|behind| behind.split_once(":]")) else {
        return Ok(false);
    };
    let whole = format!("[:{name}:]");
    if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
        return Err(invalid("invalid character class range", &whole));
    }
    out.push_str(&whole);
    Ok(rest.take(&whole))
}

/// Reads a class behind a backslash, if there is one.
pub(super) fn escaped(rest: &mut Rest<'_>, out: &mut String) -> Result<bool, String> {
    let mut behind = *rest;
    if !behind.take("\\") {
        return Ok(false);
    }
    out.push_str(match behind.next() {
        Some('d') => "[0-9]",
        Some('D') => "[^0-9]",
        Some('s') => "[\\t\\n\\f\\r ]",
        Some('S') => "[^\\t\\n\\f\\r ]",
        Some('w') => "[0-9A-Za-z_]",
        Some('W') => "[^0-9A-Za-z_]",
        Some('p') => return of_unicode(rest, behind, out, false),
        Some('P') => return of_unicode(rest, behind, out, true),
        _ => return Ok(false),
    });
    *rest = behind;
    Ok(true)
}

/// `\pL`, `\p{Greek}`, `\p{^Greek}`.
fn of_unicode<'p>(
    rest: &mut Rest<'p>,
    mut behind: Rest<'p>,
    out: &mut String,
    mut is_negated: bool,
) -> Result<bool, String> {
    let from = *rest;
    let start = behind;
    let name = match behind.next() {
        Some('{') => {
            let inside = behind.text().split_once('}').map(|(name, _)| name);
            let name = inside.ok_or_else(|| invalid("invalid character class range", from.text()))?;
            behind.take(name);
            behind.take("}");
            name
        }
        _ => start.until(behind),
    };
    let plain = name.strip_prefix('^');
    is_negated ^= plain.is_some();
    let Some(class) = class_of(plain.unwrap_or(name), is_negated) else {
        return Err(invalid("invalid character class range", from.until(behind)));
    };
    out.push_str(&class);
    *rest = behind;
    Ok(true)
}

/// What a general category or a script is called in the `regex` crate.
fn class_of(name: &str, is_negated: bool) -> Option<String> {
    let name: String = name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).map(|c| c.to_ascii_lowercase()).collect();
    // The crate lets names begin with this word; Go does not.
    if name.is_empty() || name.starts_with("is") || !name.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    let letter = if is_negated { 'P' } else { 'p' };
    if matches!(name.as_str(), "any" | "assigned" | "ascii") {
        return Some(format!("\\{letter}{{{name}}}"));
    }
    let is_abbreviation = name.len() == 4 && !SHORT_SCRIPTS.contains(&name.as_str());
    let mut kinds = ["gc", "sc"].into_iter().filter(|kind| *kind == "gc" || !is_abbreviation);
    kinds.find_map(|kind| {
        let class = format!("\\{letter}{{{kind}={name}}}");
        Regex::new(&class).is_ok().then_some(class)
    })
}
