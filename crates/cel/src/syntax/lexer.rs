//! From code points to tokens: the longest match wins.
//!
//! What matches nothing is reported and skipped, so that the parser always
//! gets a sequence that ends with [`Kind::Eof`].

use super::token::{Kind, Token};

/// A stretch of text that is no token: where it starts, where matching failed.
#[derive(Debug)]
pub struct Unrecognized {
    pub start: usize,
    /// The code point at which matching failed; it is part of what is shown.
    pub failed_at: usize,
}

/// Splits the text into tokens; white space and comments are dropped.
pub fn tokens(chars: &[char]) -> (Vec<Token>, Vec<Unrecognized>) {
    let mut found = Vec::with_capacity(chars.len() / 3 + 2);
    let mut unrecognized = Vec::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let rest = Rest { chars, at };
        if matches!(c, ' ' | '\t' | '\r' | '\n' | '\u{c}') {
            at += 1;
        } else if c == '/' && rest.peek(1) == Some('/') {
            at += rest.while_from(2, |c| c != '\n');
        } else {
            match rest.token(c) {
                Ok((kind, length)) => {
                    found.push(Token { kind, start: at, end: at + length });
                    at += length;
                }
                Err(consumed) => {
                    let failed_at = at + consumed;
                    unrecognized.push(Unrecognized { start: at, failed_at });
                    at = failed_at + 1;
                }
            }
        }
    }
    found.push(Token { kind: Kind::Eof, start: chars.len(), end: chars.len() });
    (found, unrecognized)
}

/// What is left of the text; lengths count from its start.
struct Rest<'t> {
    chars: &'t [char],
    at: usize,
}

impl Rest<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// The length up to the first code point at or after `from` that does not satisfy `test`.
    fn while_from(&self, from: usize, test: impl Fn(char) -> bool) -> usize {
        let mut length = from;
        while self.peek(length).is_some_and(&test) {
            length += 1;
        }
        length
    }

    /// The token here and its length, or how many code points matched before the first that cannot.
    fn token(&self, c: char) -> Result<(Kind, usize), usize> {
        let two = |second: char, both: Kind, one: Kind| {
            if self.peek(1) == Some(second) { (both, 2) } else { (one, 1) }
        };
        let only_two = |second: char, both: Kind| if self.peek(1) == Some(second) { Ok((both, 2)) } else { Err(1) };
        match c {
            '=' => only_two('=', Kind::Equals),
            '&' => only_two('&', Kind::And),
            '|' => only_two('|', Kind::Or),
            '!' => Ok(two('=', Kind::NotEquals, Kind::Exclamation)),
            '<' => Ok(two('=', Kind::LessEquals, Kind::Less)),
            '>' => Ok(two('=', Kind::GreaterEquals, Kind::Greater)),
            '[' => Ok((Kind::LeftBracket, 1)),
            ']' => Ok((Kind::RightBracket, 1)),
            '{' => Ok((Kind::LeftBrace, 1)),
            '}' => Ok((Kind::RightBrace, 1)),
            '(' => Ok((Kind::LeftParen, 1)),
            ')' => Ok((Kind::RightParen, 1)),
            ',' => Ok((Kind::Comma, 1)),
            '-' => Ok((Kind::Minus, 1)),
            '?' => Ok((Kind::Question, 1)),
            ':' => Ok((Kind::Colon, 1)),
            '+' => Ok((Kind::Plus, 1)),
            '*' => Ok((Kind::Star, 1)),
            '/' => Ok((Kind::Slash, 1)),
            '%' => Ok((Kind::Percent, 1)),
            '.' if self.peek(1).is_some_and(|c| c.is_ascii_digit()) => {
                let digits = self.while_from(1, |c| c.is_ascii_digit());
                Ok((Kind::Float, self.exponent(digits).unwrap_or(digits)))
            }
            '.' => Ok((Kind::Dot, 1)),
            '0'..='9' => Ok(self.number()),
            '"' | '\'' => self.quoted(0, c).map(|length| (Kind::String, length)),
            '`' => self.escaped_identifier(),
            c if c.is_ascii_alphabetic() || c == '_' => Ok(self.prefixed_string(c).unwrap_or_else(|| self.word())),
            _ => Err(0),
        }
    }

    fn number(&self) -> (Kind, usize) {
        let unsigned = |length: usize| {
            if matches!(self.peek(length), Some('u' | 'U')) { (Kind::Uint, length + 1) } else { (Kind::Int, length) }
        };
        if self.peek(0) == Some('0') && self.peek(1) == Some('x') {
            let end = self.while_from(2, |c| c.is_ascii_hexdigit());
            if end > 2 {
                return unsigned(end);
            }
        }
        let digits = self.while_from(0, |c| c.is_ascii_digit());
        if self.peek(digits) == Some('.') {
            let fraction = self.while_from(digits + 1, |c| c.is_ascii_digit());
            if fraction > digits + 1 {
                return (Kind::Float, self.exponent(fraction).unwrap_or(fraction));
            }
        }
        self.exponent(digits).map_or_else(|| unsigned(digits), |end| (Kind::Float, end))
    }

    fn exponent(&self, from: usize) -> Option<usize> {
        if !matches!(self.peek(from), Some('e' | 'E')) {
            return None;
        }
        let digits = from + 1 + usize::from(matches!(self.peek(from + 1), Some('+' | '-')));
        let end = self.while_from(digits, |c| c.is_ascii_digit());
        (end > digits).then_some(end)
    }

    fn word(&self) -> (Kind, usize) {
        let length = self.while_from(0, |c| c.is_ascii_alphanumeric() || c == '_');
        let is = |word: &str| word.len() == length && word.chars().enumerate().all(|(i, c)| self.peek(i) == Some(c));
        let kind = if is("in") {
            Kind::In
        } else if is("true") {
            Kind::True
        } else if is("false") {
            Kind::False
        } else if is("null") {
            Kind::Null
        } else {
            Kind::Identifier
        };
        (kind, length)
    }

    /// A string with `r`, `b` or both in front. Without its end the letters are an identifier.
    fn prefixed_string(&self, c: char) -> Option<(Kind, usize)> {
        let bytes = matches!(c, 'b' | 'B');
        let raw_at = usize::from(bytes);
        let raw = matches!(self.peek(raw_at), Some('r' | 'R'));
        let quote_at = raw_at + usize::from(raw);
        let quote = self.peek(quote_at).filter(|c| quote_at > 0 && matches!(c, '"' | '\''))?;
        let end = if raw { self.raw(quote_at, quote) } else { self.quoted(quote_at, quote).ok() }?;
        Some((if bytes { Kind::Bytes } else { Kind::String }, end))
    }

    fn tripled(&self, from: usize, quote: char) -> bool {
        (0..3).all(|i| self.peek(from + i) == Some(quote))
    }

    fn quoted(&self, from: usize, quote: char) -> Result<usize, usize> {
        if self.tripled(from, quote)
            && let Some(end) = self.long_quoted(from + 3, quote)
        {
            return Ok(end);
        }
        let mut at = from + 1;
        loop {
            match self.peek(at) {
                Some(c) if c == quote => return Ok(at + 1),
                Some('\\') => at = self.escape(at)?,
                None | Some('\n' | '\r') => return Err(at),
                Some(_) => at += 1,
            }
        }
    }

    fn long_quoted(&self, from: usize, quote: char) -> Option<usize> {
        let mut at = from;
        while !self.tripled(at, quote) {
            at = match self.peek(at)? {
                '\\' => self.escape(at).ok()?,
                _ => at + 1,
            };
        }
        Some(at + 3)
    }

    fn raw(&self, from: usize, quote: char) -> Option<usize> {
        if self.tripled(from, quote) {
            let mut at = from + 3;
            while self.peek(at).is_some() && !self.tripled(at, quote) {
                at += 1;
            }
            if self.peek(at).is_some() {
                return Some(at + 3);
            }
        }
        let end = self.while_from(from + 1, |c| c != quote && c != '\n' && c != '\r');
        (self.peek(end) == Some(quote)).then_some(end + 1)
    }

    /// The end of the escape sequence that starts with the backslash at `at`.
    fn escape(&self, at: usize) -> Result<usize, usize> {
        let all = |from: usize, count: usize, test: fn(char) -> bool| {
            let matched = (from..from + count).take_while(|i| self.peek(*i).is_some_and(test)).count();
            if matched == count { Ok(from + count) } else { Err(from + matched) }
        };
        match self.peek(at + 1) {
            Some('a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '"' | '\'' | '\\' | '?' | '`') => Ok(at + 2),
            Some('x' | 'X') => all(at + 2, 2, |c| c.is_ascii_hexdigit()),
            Some('u') => all(at + 2, 4, |c| c.is_ascii_hexdigit()),
            Some('U') => all(at + 2, 8, |c| c.is_ascii_hexdigit()),
            Some('0'..='3') => all(at + 2, 2, |c| ('0'..='7').contains(&c)),
            _ => Err(at + 1),
        }
    }

    fn escaped_identifier(&self) -> Result<(Kind, usize), usize> {
        let end = self.while_from(1, |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ' '));
        if end > 1 && self.peek(end) == Some('`') { Ok((Kind::EscapedIdentifier, end + 1)) } else { Err(end) }
    }
}
