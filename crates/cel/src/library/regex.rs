//! Regular expressions with Go's meaning.
//!
//! The syntax of the `regex` crate is close to Go's; this module closes the
//! gap: ASCII classes, literal stretches, what Go refuses, and the limits.

use regex::{Regex, RegexBuilder};
use std::fmt::Write;

/// The most repetitions that Go accepts.
const MAX_REPEAT: u32 = 1000;
/// The most memory that a compiled expression may take.
const MAX_SIZE: usize = 16 << 20;

/// Compiles an expression as Go would read it.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = translate(pattern)?;
    RegexBuilder::new(&translated)
        .size_limit(MAX_SIZE)
        .dfa_size_limit(MAX_SIZE)
        .nest_limit(1000)
        .build()
        .map_err(|_| format!("error parsing regexp: invalid regular expression: `{pattern}`"))
}

/// The same expression in the syntax of the `regex` crate.
fn translate(pattern: &str) -> Result<String, String> {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = Rest { text: pattern };
    let mut open = 0;
    // What the last repetition looked like, while nothing came after it.
    let mut repeated = "";
    while let Some(c) = rest.text.chars().next() {
        let from = rest.text;
        rest.next();
        let is_repetition = match c {
            '\\' => {
                escape(&mut rest, &mut out)?;
                false
            }
            '[' => {
                class(&mut rest, &mut out, pattern)?;
                false
            }
            '{' => repetition(&mut rest, &mut out)?,
            '*' | '+' | '?' => {
                out.push(c);
                true
            }
            '(' => {
                open += 1;
                group(&mut rest, &mut out)?;
                false
            }
            ')' if open == 0 => return Err(invalid("unexpected )", pattern)),
            ')' => {
                open -= 1;
                out.push(c);
                false
            }
            _ => {
                out.push(c);
                false
            }
        };
        if !is_repetition {
            repeated = "";
            continue;
        }
        if rest.take("?") {
            out.push('?');
        }
        let this = from.get(..from.len() - rest.text.len()).unwrap_or_default();
        if !repeated.is_empty() {
            return Err(invalid("invalid nested repetition operator", &format!("{repeated}{this}")));
        }
        repeated = this;
    }
    if open > 0 {
        return Err(invalid("missing closing )", pattern));
    }
    Ok(out)
}

struct Rest<'p> {
    text: &'p str,
}

impl Rest<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.text.chars().next()?;
        self.text = self.text.get(c.len_utf8()..).unwrap_or_default();
        Some(c)
    }

    fn take(&mut self, prefix: &str) -> bool {
        match self.text.strip_prefix(prefix) {
            Some(rest) => {
                self.text = rest;
                true
            }
            None => false,
        }
    }
}

fn invalid(code: &str, part: &str) -> String {
    format!("error parsing regexp: {code}: `{part}`")
}

fn escape(rest: &mut Rest<'_>, out: &mut String) -> Result<(), String> {
    let Some(c) = rest.next() else { return Err(invalid("trailing backslash at end of expression", "")) };
    match c {
        'Q' => {
            let (literal, behind) = rest.text.split_once("\\E").unwrap_or((rest.text, ""));
            out.push_str(&regex::escape(literal));
            rest.text = behind;
        }
        // An end without a beginning stands for nothing.
        'E' => {}
        'd' => out.push_str("[0-9]"),
        'D' => out.push_str("[^0-9]"),
        's' => out.push_str("[\\t\\n\\f\\r ]"),
        'S' => out.push_str("[^\\t\\n\\f\\r ]"),
        'w' => out.push_str("[0-9A-Za-z_]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        'b' => out.push_str("(?-u:\\b)"),
        // Its ASCII form could match inside a character, so that it is not to be had; beside other
        // letters than ASCII ones this one differs.
        'B' => out.push_str("\\B"),
        'C' => out.push_str("(?s:.)"),
        'z' | 'A' | 'p' | 'P' | 'x' => {
            out.push('\\');
            out.push(c);
        }
        'a' => out.push_str("\\x07"),
        'f' | 'n' | 'r' | 't' | 'v' => {
            out.push('\\');
            out.push(c);
        }
        '0'..='7' => octal(c, rest, out)?,
        c if c.is_ascii_punctuation() => out.push_str(&regex::escape(&c.to_string())),
        c => return Err(invalid("invalid escape sequence", &format!("\\{c}"))),
    }
    Ok(())
}

/// `\123`; a single digit other than zero would be a back reference, which there is none of.
fn octal(first: char, rest: &mut Rest<'_>, out: &mut String) -> Result<(), String> {
    let digits: String = rest.text.chars().take(2).take_while(|c| ('0'..='7').contains(c)).collect();
    if first != '0' && digits.is_empty() {
        return Err(invalid("invalid escape sequence", &format!("\\{first}")));
    }
    rest.take(&digits);
    let code = u32::from_str_radix(&format!("{first}{digits}"), 8).unwrap_or(0);
    let _ = write!(out, "\\x{{{code:x}}}");
    Ok(())
}

/// A class: no nesting and no set operations, so that their signs are literal.
fn class(rest: &mut Rest<'_>, out: &mut String, pattern: &str) -> Result<(), String> {
    out.push('[');
    if rest.take("^") {
        out.push('^');
    }
    let mut first = true;
    loop {
        if rest.text.starts_with("[:") {
            let known = rest.text.find(":]").map(|end| end + 2).and_then(|end| rest.text.get(..end));
            let Some(name) = known else { return Err(invalid("missing closing ]", pattern)) };
            out.push_str(name);
            rest.text = rest.text.get(name.len()..).unwrap_or_default();
            first = false;
            continue;
        }
        let Some(c) = rest.next() else { return Err(invalid("missing closing ]", pattern)) };
        match c {
            ']' if !first => {
                out.push(']');
                return Ok(());
            }
            '\\' => escape_in_class(rest, out)?,
            '[' | ']' | '&' | '~' | '^' => {
                out.push('\\');
                out.push(c);
            }
            // A dash is literal at either end and a range elsewhere; two in a row would be a difference.
            '-' if first || rest.text.starts_with(']') || rest.text.starts_with('-') => out.push_str("\\-"),
            _ => out.push(c),
        }
        first = false;
    }
}

fn escape_in_class(rest: &mut Rest<'_>, out: &mut String) -> Result<(), String> {
    let Some(c) = rest.next() else { return Err(invalid("trailing backslash at end of expression", "")) };
    match c {
        'd' => out.push_str("0-9"),
        'w' => out.push_str("0-9A-Za-z_"),
        's' => out.push_str("\\t\\n\\f\\r "),
        'D' => out.push_str("[^0-9]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        'S' => out.push_str("[^\\t\\n\\f\\r ]"),
        'a' => out.push_str("\\x07"),
        'f' | 'n' | 'r' | 't' | 'v' | 'p' | 'P' | 'x' => {
            out.push('\\');
            out.push(c);
        }
        '0'..='7' => octal(c, rest, out)?,
        c if c.is_ascii_punctuation() => {
            out.push('\\');
            out.push(c);
        }
        c => return Err(invalid("invalid escape sequence", &format!("\\{c}"))),
    }
    Ok(())
}

/// `{n}`, `{n,}` and `{n,m}` repeat; any other brace is itself. Says which it was.
fn repetition(rest: &mut Rest<'_>, out: &mut String) -> Result<bool, String> {
    let body = rest.text.split_once('}').map(|(body, _)| body).filter(|body| {
        let (low, high) = body.split_once(',').unwrap_or((body, ""));
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        !low.is_empty() && digits(low) && digits(high)
    });
    let Some(body) = body else {
        out.push_str("\\{");
        return Ok(false);
    };
    if body
        .split(',')
        .any(|count| !count.is_empty() && count.parse::<u32>().is_ok_and(|n| n > MAX_REPEAT) || count.len() > 9)
    {
        return Err(invalid("invalid repeat count", &format!("{{{body}}}")));
    }
    let _ = write!(out, "{{{body}}}");
    rest.text = rest.text.get(body.len() + 1..).unwrap_or_default();
    Ok(true)
}

/// Groups and flags: only what Go knows.
fn group(rest: &mut Rest<'_>, out: &mut String) -> Result<(), String> {
    out.push('(');
    if !rest.take("?") {
        return Ok(());
    }
    let named = rest.text.starts_with("P<") || rest.text.starts_with('<');
    let lookbehind = rest.text.starts_with("<=") || rest.text.starts_with("<!");
    let flags_end = rest.text.find(|c: char| !matches!(c, 'i' | 'm' | 's' | 'U' | '-')).unwrap_or(0);
    let flags = rest.text.get(..flags_end).unwrap_or_default();
    let closes = rest.text.get(flags_end..).is_some_and(|behind| behind.starts_with([':', ')']));
    if lookbehind || (!named && !closes) {
        let next = rest.text.chars().next().map(String::from).unwrap_or_default();
        return Err(invalid("invalid or unsupported Perl syntax", &format!("(?{next}")));
    }
    out.push('?');
    if !named {
        out.push_str(flags);
        rest.text = rest.text.get(flags_end..).unwrap_or_default();
    }
    Ok(())
}
