//! The text of rules: files into blocks, lines into words, a condition and a detail.

use std::cell::Cell;
use std::collections::HashMap;

use pawl_meta::ErrorKind;

use super::condition::Condition;
use super::primitive::Context;

/// The blocks of all files by name, `like` lines replaced by what they stand for.
pub(super) struct Blocks {
    pub types: HashMap<&'static str, Vec<&'static str>>,
    pub kinds: HashMap<&'static str, Vec<&'static str>>,
}

impl Blocks {
    pub fn read(texts: &[&'static str], errors: &mut Vec<String>) -> Self {
        let mut blocks = Self { types: HashMap::new(), kinds: HashMap::new() };
        for text in texts {
            let mut open: Option<&mut Vec<&'static str>> = None;
            for line in text.lines() {
                let trimmed = line.trim();
                if trimmed.is_empty() || trimmed.starts_with('#') {
                    continue;
                }
                let (map, head) = match (line.strip_prefix("type "), line.strip_prefix("kind ")) {
                    (Some(name), _) => (&mut blocks.types, name.trim()),
                    (_, Some(name)) => (&mut blocks.kinds, name.trim()),
                    _ => {
                        match &mut open {
                            Some(lines) => lines.push(trimmed),
                            None => errors.push(format!("a line outside of a block: {line}")),
                        }
                        continue;
                    }
                };
                if map.contains_key(head) {
                    errors.push(format!("two blocks of one name: {line}"));
                }
                open = Some(map.entry(head).or_default());
            }
        }
        expand(&mut blocks.types, errors);
        expand(&mut blocks.kinds, errors);
        blocks
    }
}

/// Replaces `like X` by the lines of X, until nothing is left to replace.
fn expand(blocks: &mut HashMap<&'static str, Vec<&'static str>>, errors: &mut Vec<String>) {
    const DEPTH: usize = 4;
    for _ in 0..DEPTH {
        let needy: Vec<&str> =
            blocks.iter().filter(|(_, lines)| lines.iter().any(|l| l.starts_with("like "))).map(|(n, _)| *n).collect();
        for name in needy {
            let mut lines = Vec::new();
            for line in blocks.get(name).into_iter().flatten() {
                match line.strip_prefix("like ") {
                    None => lines.push(*line),
                    Some(other) => match blocks.get(other.trim()) {
                        Some(taken) => lines.extend(taken),
                        None => errors.push(format!("{name}: {line}: no such block")),
                    },
                }
            }
            blocks.insert(name, lines);
        }
    }
    for (name, lines) in blocks.iter() {
        if lines.iter().any(|line| line.starts_with("like ")) {
            errors.push(format!("{name}: blocks that are like each other"));
        }
    }
}

/// A line in its parts: `<words> [if <condition>] [: <detail>]`. What nobody asks for is a mistake.
pub(super) struct Line {
    pub words: Vec<&'static str>,
    condition: Cell<Option<&'static str>>,
    detail: Cell<Option<&'static str>>,
}

impl Line {
    pub fn read(line: &'static str) -> Self {
        let (rest, detail) = match line.split_once(" : ") {
            Some((rest, detail)) => (rest, Some(detail.trim())),
            None => (line, None),
        };
        let (rest, condition) = match rest.split_once(" if ") {
            Some((rest, condition)) => (rest, Some(condition.trim())),
            None => (rest, None),
        };
        let words = rest.split_whitespace().collect();
        Self { words, condition: Cell::new(condition), detail: Cell::new(detail) }
    }

    pub fn condition(&self, cx: Context) -> Result<Option<Condition>, String> {
        self.condition.take().map(|text| Condition::parse(cx, text)).transpose()
    }

    pub fn detail(&self) -> Option<&'static str> {
        self.detail.take()
    }

    /// Whether all that the line says has been asked for.
    pub fn is_read(&self) -> Result<(), String> {
        match (self.condition.take(), self.detail.take()) {
            (Some(condition), _) => Err(format!("no such line has a condition: if {condition}")),
            (_, Some(detail)) => Err(format!("no such line has a text: {detail}")),
            (None, None) => Ok(()),
        }
    }
}

/// What may follow the arguments of a primitive.
#[derive(Default)]
pub(super) struct Modifiers {
    pub always: bool,
    pub joined: bool,
    pub kind: Option<ErrorKind>,
    pub at: Option<&'static str>,
    pub flow: Flow,
}

/// What an error of a line means for the lines after it.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Flow {
    #[default]
    GoOn,
    /// The rest of the block is skipped, children too.
    Stop,
    /// The field of the line is not descended into.
    Skip,
}

impl Modifiers {
    /// Takes the modifiers off the end of the words.
    pub fn take(words: &mut Vec<&'static str>) -> Result<Self, String> {
        let mut found = Self::default();
        let is_modifier = |word: &&str| matches!(*word, "always" | "joined" | "stop" | "skip" | "as" | "at");
        let Some(start) = words.iter().position(is_modifier) else { return Ok(found) };
        let mut rest = words.split_off(start).into_iter();
        while let Some(word) = rest.next() {
            match word {
                "always" => found.always = true,
                "joined" => found.joined = true,
                "stop" => found.flow = Flow::Stop,
                "skip" => found.flow = Flow::Skip,
                "as" => found.kind = Some(error_kind(rest.next().unwrap_or_default())?),
                "at" => found.at = Some(rest.next().ok_or("`at` without a path")?),
                other => return Err(format!("no such modifier: {other}")),
            }
        }
        Ok(found)
    }
}

fn error_kind(name: &str) -> Result<ErrorKind, String> {
    Ok(match name {
        "Required" => ErrorKind::Required,
        "Invalid" => ErrorKind::Invalid,
        "Forbidden" => ErrorKind::Forbidden,
        "NotSupported" => ErrorKind::NotSupported,
        "Duplicate" => ErrorKind::Duplicate,
        "TooLong" => ErrorKind::TooLong,
        other => return Err(format!("no such kind of error: {other}")),
    })
}

/// A word without the quotes that it may stand in.
pub(super) fn unquoted(word: &'static str) -> &'static str {
    word.strip_prefix('"').and_then(|word| word.strip_suffix('"')).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_asks_for_is_a_mistake() {
        let line = Line::read("keep status if create : a text");
        assert_eq!(line.words, ["keep", "status"]);
        assert_eq!(line.is_read(), Err("no such line has a condition: if create".to_owned()));
        let line = Line::read("keep status : a text");
        assert_eq!(line.is_read(), Err("no such line has a text: a text".to_owned()));
        let line = Line::read("keep status : a text");
        assert_eq!((line.detail(), line.is_read()), (Some("a text"), Ok(())));
        assert_eq!(Line::read("keep status").is_read(), Ok(()));
    }
}
