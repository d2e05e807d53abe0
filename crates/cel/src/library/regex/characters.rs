//! Single characters of an expression: where it is read, and what a backslash makes of them.

use super::invalid;

/// What is left to read.
#[derive(Clone, Copy)]
pub(super) struct Rest<'p> {
    text: &'p str,
}

impl<'p> Rest<'p> {
    pub fn new(text: &'p str) -> Self {
        Self { text }
    }

    pub fn text(self) -> &'p str {
        self.text
    }

    pub fn peek(self) -> Option<char> {
        self.text.chars().next()
    }

    pub fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.text = self.text.get(c.len_utf8()..).unwrap_or_default();
        Some(c)
    }

    pub fn take(&mut self, prefix: &str) -> bool {
        let behind = self.text.strip_prefix(prefix);
        self.text = behind.unwrap_or(self.text);
        behind.is_some()
    }

    /// What was read from here on until `later`.
    pub fn until(self, later: Rest<'_>) -> &'p str {
        self.text.get(..self.text.len() - later.text.len()).unwrap_or_default()
    }

    /// A number without zeros before it; one that is too long is as good as any that is too great.
    pub fn number(&mut self) -> Option<u32> {
        let end = self.text.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.text.len());
        let (digits, behind) = self.text.split_at_checked(end)?;
        if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
            return None;
        }
        self.text = behind;
        Some(digits.parse().unwrap_or(u32::MAX))
    }

    /// What stands literally behind `\Q`.
    pub fn quoted(&mut self) -> &'p str {
        let (literal, behind) = self.text.split_once("\\E").unwrap_or((self.text, ""));
        self.text = behind;
        literal
    }
}

/// A character that an expression names. Half of a pair is no character, but has its place in a range.
#[derive(Clone, Copy)]
pub(super) enum Character {
    Scalar(char),
    Surrogate(u32),
}

impl Character {
    pub fn code(self) -> u32 {
        match self {
            Character::Scalar(c) => u32::from(c),
            Character::Surrogate(code) => code,
        }
    }
}

pub(super) fn literal(c: char, out: &mut String) {
    out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
}

/// Reads a backslash and the character that it makes.
pub(super) fn escaped(rest: &mut Rest<'_>) -> Result<Character, String> {
    let from = *rest;
    rest.next();
    let Some(c) = rest.next() else { return Err(invalid("trailing backslash at end of expression", "")) };
    let code = match c {
        'a' => Some(7),
        'f' => Some(0xc),
        'n' => Some(0xa),
        'r' => Some(0xd),
        't' => Some(9),
        'v' => Some(0xb),
        'x' => hexadecimal(rest),
        '0'..='7' => octal(c, rest),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => Some(u32::from(c)),
        _ => None,
    };
    let character = code.and_then(|code| match char::from_u32(code) {
        None if code <= u32::from(char::MAX) => Some(Character::Surrogate(code)),
        scalar => scalar.map(Character::Scalar),
    });
    character.ok_or_else(|| invalid("invalid escape sequence", from.until(*rest)))
}

/// `\123`; a single digit other than zero would be a back reference, which there is none of.
fn octal(first: char, rest: &mut Rest<'_>) -> Option<u32> {
    let mut code = first.to_digit(8)?;
    let mut digits = 1;
    while let Some(digit) = rest.peek().and_then(|c| c.to_digit(8)).filter(|_| digits < 3) {
        rest.next();
        code = code * 8 + digit;
        digits += 1;
    }
    (first == '0' || digits > 1).then_some(code)
}

/// `\x41` or `\x{41}`. Reads on to the character that is wrong.
fn hexadecimal(rest: &mut Rest<'_>) -> Option<u32> {
    let first = rest.next()?;
    if first != '{' {
        let second = rest.next()?;
        return Some(first.to_digit(16)? * 16 + second.to_digit(16)?);
    }
    let mut code = None::<u32>;
    loop {
        match rest.next()? {
            '}' => return code,
            c => code = Some(code.unwrap_or(0) * 16 + c.to_digit(16)?),
        }
        code.filter(|&code| code <= u32::from(char::MAX))?;
    }
}
