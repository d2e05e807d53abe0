//! What was found wrong with an expression, and how it is shown to its author.
//!
//! The layout is a wire contract: servers return it to clients verbatim.

use crate::source::{Location, Source};
use std::fmt;

/// At most this many issues are kept and shown; the rest is counted.
pub const MAX_ISSUES: usize = 100;

/// Longer lines are not repeated under the message.
const MAX_SNIPPET_BYTES: usize = 16_384;

/// One complaint about an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// Where it was found.
    pub location: Location,
    /// What was found.
    pub message: String,
}

/// All complaints about one expression, in the order of their places in the text.
#[derive(Debug, Clone)]
pub struct Issues {
    list: Vec<Issue>,
    found: usize,
    source: Source,
}

impl std::error::Error for Issues {}

impl Issues {
    pub(crate) fn new(source: Source) -> Self {
        Issues { list: Vec::new(), found: 0, source }
    }

    pub(crate) fn report(&mut self, location: Location, message: impl Into<String>) {
        self.found += 1;
        if self.found <= MAX_ISSUES {
            self.list.push(Issue { location, message: message.into() });
        }
    }

    pub(crate) fn report_at(&mut self, offset: usize, message: impl Into<String>) {
        self.report(self.source.location(offset), message);
    }

    /// Settles the order once nothing more will be found.
    pub(crate) fn sorted(mut self) -> Self {
        self.list.sort_by_key(|issue| issue.location);
        self
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.found == 0
    }

    /// The issues kept.
    pub fn iter(&self) -> impl Iterator<Item = &Issue> {
        self.list.iter()
    }
}

impl fmt::Display for Issues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, issue) in self.list.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            show(issue, &self.source, f)?;
        }
        if self.found > MAX_ISSUES {
            write!(f, "\n{} more errors were truncated", self.found - MAX_ISSUES)?;
        }
        Ok(())
    }
}

fn show(issue: &Issue, source: &Source, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let Location { line, column } = issue.location;
    // Nothing has no first letter to point at.
    if source.line(1).is_none_or(|text| text.is_empty()) && source.line(2).is_none() {
        return write!(f, "ERROR: <input>:1:0: {}", issue.message);
    }
    write!(f, "ERROR: <input>:{}:{}: {}", line, column + 1, issue.message)?;
    let Some(snippet) = source.line(line).filter(|text| text.len() <= MAX_SNIPPET_BYTES) else {
        return Ok(());
    };
    let snippet = snippet.replace('\t', " ");
    write!(f, "\n | {snippet}\n | ")?;
    let mut chars = snippet.chars();
    // A wide character is pointed past with a wide dot, so that the marker stays below its place.
    for c in chars.by_ref().take(usize::try_from(column).unwrap_or(0)) {
        f.write_str(if c.is_ascii() { "." } else { "\u{ff0e}" })?;
    }
    f.write_str(if chars.next().is_none_or(|c| c.is_ascii()) { "^" } else { "\u{ff3e}" })
}
