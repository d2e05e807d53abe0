//! Regular expressions with Go's meaning.
//!
//! An expression is read as Go reads it, refused where Go refuses it and in Go's words, and written down
//! again in the syntax of the `regex` crate.

mod characters;
mod classes;

use characters::{Character, Rest, escaped, literal};
use regex::{Error, Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use std::fmt::Write;

/// The most repetitions that Go accepts, also of one inside of the other.
const MAX_REPEAT: u32 = 1000;
/// The deepest that Go nests.
const MAX_HEIGHT: u32 = 1000;
/// The deepest that is compiled: the engine goes down by recursion, and a request must not exhaust the stack.
const MAX_NESTED: u32 = 250;
/// The most memory that a compiled expression may take.
const MAX_SIZE: usize = 16 << 20;

/// So long an expression may be without any doubt about its size.
const SHORT: usize = 100;

/// Compiles an expression as Go would read it.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = translate(pattern)?;
    let mut builder = RegexBuilder::new(&translated);
    builder.size_limit(MAX_SIZE).dfa_size_limit(MAX_SIZE).nest_limit(MAX_NESTED);
    builder.build().map_err(|error| match error {
        Error::CompiledTooBig(_) => invalid("expression too large", pattern),
        // Everything else was looked at when it was read.
        _ => invalid("expression nests too deeply", pattern),
    })
}

/// Whether an expression can be compiled, and else why not. What is short and counts nothing cannot be too large, and is only read.
pub fn check(pattern: &str) -> Result<(), String> {
    if pattern.len() <= SHORT && !pattern.contains('{') {
        let mut parser = ParserBuilder::new().nest_limit(MAX_NESTED).build();
        let parsed = parser.parse(&translate(pattern)?);
        return parsed.map(drop).map_err(|_| invalid("expression nests too deeply", pattern));
    }
    compile(pattern).map(drop)
}

/// The same expression in the syntax of the `regex` crate.
fn translate(pattern: &str) -> Result<String, String> {
    let mut reading =
        Reading { out: String::with_capacity(pattern.len() + 8), levels: Vec::new(), level: Level::default() };
    let mut rest = Rest::new(pattern);
    // Where the last repetition began, while nothing came after it.
    let mut repeated: Option<Rest<'_>> = None;
    while let Some(c) = rest.peek() {
        let from = rest;
        if let Some(count) = count(&mut rest)? {
            reading.repeat(from, &mut rest, count, repeated)?;
            repeated = Some(from);
            continue;
        }
        repeated = None;
        rest = from;
        match c {
            '\\' => reading.escape(&mut rest)?,
            '[' => {
                classes::bracketed(&mut rest, &mut reading.out)?;
                reading.item(Item::PLAIN);
            }
            '(' => reading.open(&mut rest)?,
            ')' => {
                rest.next();
                reading.close().ok_or_else(|| invalid("unexpected )", pattern))?;
            }
            '|' => {
                rest.next();
                reading.out.push('|');
                reading.level.branch();
            }
            _ => {
                rest.next();
                // What is no repetition is a brace.
                reading.out.push_str(if c == '{' { "\\" } else { "" });
                reading.out.push(c);
                reading.item(Item::PLAIN);
            }
        }
        if reading.level.height() > MAX_HEIGHT {
            return Err(invalid("expression nests too deeply", pattern));
        }
    }
    if !reading.levels.is_empty() {
        return Err(invalid("missing closing )", pattern));
    }
    Ok(reading.out)
}

fn invalid(code: &str, part: &str) -> String {
    format!("error parsing regexp: {code}: `{part}`")
}

/// Something that can be repeated.
#[derive(Clone, Copy)]
struct Item {
    /// How often its parts are repeated inside of it, at most.
    repeats: u32,
    height: u32,
}

impl Item {
    const PLAIN: Item = Item { repeats: 1, height: 1 };
}

/// What was read of the expression or of a group of it.
#[derive(Default)]
struct Level {
    /// Absent at the beginning of a branch.
    last: Option<Item>,
    items: u32,
    branches: u32,
    repeats: u32,
    tallest: u32,
    is_capture: bool,
}

impl Level {
    fn add(&mut self, item: Item) {
        self.last = Some(item);
        self.items += 1;
        self.repeats = self.repeats.max(item.repeats);
        self.tallest = self.tallest.max(item.height);
    }

    fn branch(&mut self) {
        self.last = None;
        self.items = 0;
        self.branches += 1;
    }

    fn height(&self) -> u32 {
        self.tallest + u32::from(self.items > 1) + u32::from(self.branches > 0)
    }
}

/// How often something is repeated; without an end if `most` is absent.
#[derive(Clone, Copy)]
struct Count {
    least: u32,
    most: Option<u32>,
    is_sign: bool,
}

struct Reading {
    out: String,
    /// The groups around the one that is read.
    levels: Vec<Level>,
    level: Level,
}

impl Reading {
    fn item(&mut self, item: Item) {
        self.level.add(item);
    }

    /// Repeats what was read last, as often as it says between two places.
    fn repeat(
        &mut self,
        from: Rest<'_>,
        rest: &mut Rest<'_>,
        count: Count,
        before: Option<Rest<'_>>,
    ) -> Result<(), String> {
        let _ = match (count.is_sign, count.least, count.most) {
            (true, ..) => write!(self.out, "{}", from.until(*rest)),
            (_, least, None) => write!(self.out, "{{{least},}}"),
            (_, least, Some(most)) => write!(self.out, "{{{least},{most}}}"),
        };
        if rest.take("?") {
            self.out.push('?');
        }
        if let Some(before) = before {
            return Err(invalid("invalid nested repetition operator", before.until(*rest)));
        }
        let this = from.until(*rest);
        let Some(mut item) = self.level.last else {
            return Err(invalid("missing argument to repetition operator", this));
        };
        item.height += 1;
        if !count.is_sign {
            item.repeats = match count.most {
                Some(0) => 1,
                most => item.repeats.saturating_mul(most.unwrap_or(count.least).max(1)),
            };
            if count.least.max(count.most.unwrap_or(0)) >= 2 && item.repeats > MAX_REPEAT {
                return Err(invalid("invalid repeat count", this));
            }
        }
        self.item(item);
        self.level.items -= 1;
        Ok(())
    }

    /// A group, or flags for the rest of the one that is read.
    fn open(&mut self, rest: &mut Rest<'_>) -> Result<(), String> {
        let from = *rest;
        rest.next();
        let mut is_capture = true;
        if rest.take("?") {
            is_capture = named(from, rest)?;
            if !is_capture {
                let flags = flags(from, rest)?;
                self.out.push_str(&flags);
                if !flags.ends_with(':') {
                    return Ok(());
                }
            }
        }
        if is_capture {
            self.out.push('(');
        }
        let inner = Level { is_capture, ..Level::default() };
        self.levels.push(std::mem::replace(&mut self.level, inner));
        Ok(())
    }

    fn close(&mut self) -> Option<()> {
        let outer = self.levels.pop()?;
        let inner = std::mem::replace(&mut self.level, outer);
        let height = inner.height().max(1) + u32::from(inner.is_capture);
        self.out.push(')');
        self.item(Item { repeats: inner.repeats.max(1), height });
        Some(())
    }

    fn escape(&mut self, rest: &mut Rest<'_>) -> Result<(), String> {
        let from = *rest;
        rest.next();
        let translated = match rest.next() {
            Some('A') => "\\A",
            Some('z') => "\\z",
            Some('b') => "(?-u:\\b)",
            // Beside ASCII only letters of ASCII make words. That cannot be said in full: between one of
            // them and another letter this holds, too.
            Some('B') => "(?:\\B|(?-u:\\b{start-half}\\b{end-half}))",
            Some('C') => return Err(invalid("invalid escape sequence", "\\C")),
            Some('Q') => {
                for c in rest.quoted().chars() {
                    literal(c, &mut self.out);
                    self.item(Item::PLAIN);
                }
                return Ok(());
            }
            _ => {
                *rest = from;
                if !classes::escaped(rest, &mut self.out)? {
                    match escaped(rest)? {
                        Character::Scalar(c) => literal(c, &mut self.out),
                        Character::Surrogate(_) => self.out.push_str(classes::NOTHING),
                    }
                }
                ""
            }
        };
        self.out.push_str(translated);
        self.item(Item::PLAIN);
        Ok(())
    }
}

/// Reads `*`, `+`, `?`, `{n}`, `{n,}` or `{n,m}`; any other brace is itself.
fn count(rest: &mut Rest<'_>) -> Result<Option<Count>, String> {
    let from = *rest;
    let sign = |least, most| Ok(Some(Count { least, most, is_sign: true }));
    match rest.next() {
        Some('*') => return sign(0, None),
        Some('+') => return sign(1, None),
        Some('?') => return sign(0, Some(1)),
        Some('{') => {}
        _ => return Ok(None),
    }
    let Some(least) = rest.number() else { return Ok(None) };
    let most = match rest.take(",") {
        false => Some(least),
        true if rest.peek() == Some('}') => None,
        true => match rest.number() {
            Some(most) => Some(most),
            None => return Ok(None),
        },
    };
    if !rest.take("}") {
        return Ok(None);
    }
    if least > MAX_REPEAT || most.is_some_and(|most| most > MAX_REPEAT || most < least) {
        return Err(invalid("invalid repeat count", from.until(*rest)));
    }
    Ok(Some(Count { least, most, is_sign: false }))
}

/// Reads the name of a group, if it has one. Nobody asks for groups by name, so names are dropped.
fn named(from: Rest<'_>, rest: &mut Rest<'_>) -> Result<bool, String> {
    let opening =
        ["P<", "<"].into_iter().find(|opening| rest.text().strip_prefix(opening).is_some_and(|name| !name.is_empty()));
    let Some(opening) = opening else { return Ok(false) };
    rest.take(opening);
    let Some((name, _)) = rest.text().split_once('>') else {
        return Err(invalid("invalid named capture", from.text()));
    };
    rest.take(name);
    rest.take(">");
    if name.is_empty() || !name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric()) {
        return Err(invalid("invalid named capture", from.until(*rest)));
    }
    Ok(true)
}

/// Reads flags up to `:` or `)`, and writes them without repetitions.
fn flags(from: Rest<'_>, rest: &mut Rest<'_>) -> Result<String, String> {
    let (mut on, mut off) = (String::new(), None::<String>);
    loop {
        match (rest.next(), &mut off) {
            (Some(flag @ ('i' | 'm' | 's' | 'U')), None) => on.push(flag),
            (Some(flag @ ('i' | 'm' | 's' | 'U')), Some(off)) => off.push(flag),
            (Some('-'), None) => off = Some(String::new()),
            (Some(end @ (':' | ')')), off) if off.as_ref().is_none_or(|off| !off.is_empty()) => {
                let off = off.take().unwrap_or_default();
                let of = |flags: &str, but: &str| -> String {
                    ['i', 'm', 's', 'U']
                        .into_iter()
                        .filter(|&flag| flags.contains(flag) && !but.contains(flag))
                        .collect()
                };
                let dash = if off.is_empty() { "" } else { "-" };
                return Ok(match format!("{}{dash}{}", of(&on, &off), of(&off, "")) {
                    none if none.is_empty() && end == ')' => none,
                    flags => format!("(?{flags}{end}"),
                });
            }
            _ => return Err(invalid("invalid or unsupported Perl syntax", from.until(*rest))),
        }
    }
}

#[cfg(test)]
mod tests;
