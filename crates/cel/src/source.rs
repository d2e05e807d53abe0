//! The text of one expression, addressed in code points.
//!
//! Owns lines, columns and snippets. Everything else in the crate carries a
//! plain offset and asks here when a person has to read it.

/// A position as people count it: lines from one, columns from zero.
///
/// [`Location::NONE`] stands for errors that concern the whole expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The line, counted from one.
    pub line: i32,
    /// The column in code points, counted from zero.
    pub column: i32,
}

impl Location {
    /// The location of an error that belongs to no place in the text.
    pub const NONE: Location = Location { line: -1, column: -1 };
}

/// The text of an expression as a sequence of code points.
#[derive(Debug, Clone)]
pub struct Source {
    chars: Vec<char>,
    line_starts: Vec<usize>,
}

impl Source {
    /// Indexes `text` by code point and by line.
    pub fn new(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let mut line_starts = vec![0];
        line_starts.extend(chars.iter().enumerate().filter(|(_, c)| **c == '\n').map(|(i, _)| i + 1));
        Source { chars, line_starts }
    }

    /// How many code points the expression has.
    pub fn len(&self) -> usize {
        self.chars.len()
    }

    /// Whether the expression has no text at all.
    pub fn is_empty(&self) -> bool {
        self.chars.is_empty()
    }

    /// The code points themselves.
    pub fn chars(&self) -> &[char] {
        &self.chars
    }

    /// The text between two offsets, clipped to what there is.
    pub fn text(&self, start: usize, end: usize) -> String {
        let end = end.min(self.chars.len());
        self.chars.get(start.min(end)..end).map(|c| c.iter().collect()).unwrap_or_default()
    }

    /// Where the offset lies.
    pub fn location(&self, offset: usize) -> Location {
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = self.line_starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        Location { line: line as i32, column: (offset - start) as i32 }
    }

    /// The text of a line without its line break.
    pub fn line(&self, line: i32) -> Option<String> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        let start = *self.line_starts.get(index)?;
        let end = self.line_starts.get(index + 1).map_or(self.chars.len(), |next| next - 1);
        Some(self.text(start, end))
    }
}
