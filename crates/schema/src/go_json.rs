//! The words of Go's JSON scanner for text that is not JSON.
//!
//! Only used once a document has been refused: the fast decoder finds that it is wrong, this finds what Go would say.

use pawl_meta::go;

/// What Go says about a malformed document.
pub fn syntax_error(text: &[u8]) -> String {
    let mut scanner = Scanner { text, at: 0 };
    match scanner.document() {
        Err(error) => error,
        Ok(()) => "invalid JSON".to_owned(),
    }
}

struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
}

const END: &str = "unexpected end of JSON input";
const MAX_DEPTH: usize = 10_000;

impl Scanner<'_> {
    /// Walks with a stack of its own: a document may be nested as deep as it likes.
    fn document(&mut self) -> Result<(), String> {
        let mut open: Vec<u8> = Vec::new();
        'value: loop {
            self.space();
            match self.peek() {
                Some(c @ (b'{' | b'[')) => {
                    self.at += 1;
                    open.push(c);
                    if open.len() > MAX_DEPTH {
                        return Err("exceeded max depth".to_owned());
                    }
                    self.space();
                    if c == b'{' {
                        match self.peek() {
                            Some(b'}') => {}
                            _ => {
                                self.key("looking for beginning of object key string")?;
                                continue 'value;
                            }
                        }
                    } else if self.peek() != Some(b']') {
                        continue 'value;
                    }
                }
                _ => self.scalar()?,
            }
            loop {
                self.space();
                match (open.last(), self.peek()) {
                    (None, None) => return Ok(()),
                    (None, Some(c)) => return Err(invalid(c, "after top-level value")),
                    (Some(_), None) => return Err(END.to_owned()),
                    (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')) => {
                        self.at += 1;
                        open.pop();
                    }
                    (Some(b'{'), Some(b',')) => {
                        self.at += 1;
                        self.space();
                        self.key("looking for beginning of object key string")?;
                        continue 'value;
                    }
                    (Some(_), Some(b',')) => {
                        self.at += 1;
                        continue 'value;
                    }
                    (Some(b'{'), Some(c)) => return Err(invalid(c, "after object key:value pair")),
                    (Some(_), Some(c)) => return Err(invalid(c, "after array element")),
                }
            }
        }
    }

    fn key(&mut self, context: &str) -> Result<(), String> {
        match self.peek() {
            None => return Err(END.to_owned()),
            Some(b'"') => self.string()?,
            Some(c) => return Err(invalid(c, context)),
        }
        self.space();
        match self.peek() {
            None => Err(END.to_owned()),
            Some(b':') => {
                self.at += 1;
                Ok(())
            }
            Some(c) => Err(invalid(c, "after object key")),
        }
    }

    fn scalar(&mut self) -> Result<(), String> {
        match self.peek() {
            None => Err(END.to_owned()),
            Some(b'"') => self.string(),
            Some(b't') => self.word("true"),
            Some(b'f') => self.word("false"),
            Some(b'n') => self.word("null"),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(c) => Err(invalid(c, "looking for beginning of value")),
        }
    }

    fn word(&mut self, word: &str) -> Result<(), String> {
        for (i, expected) in word.bytes().enumerate() {
            match self.peek() {
                None => return Err(END.to_owned()),
                Some(c) if c == expected => self.at += 1,
                Some(c) => {
                    return Err(invalid(c, &format!("in literal {word} (expecting '{}')", char::from(expected))))
                        .map_err(|e| if i == 0 { e.replace("in literal", "looking for") } else { e });
                }
            }
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), String> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            None => return Err(END.to_owned()),
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            Some(c) => return Err(invalid(c, "in numeric literal")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.need_digit("after decimal point in numeric literal")?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.need_digit("in exponent of numeric literal")?;
        }
        Ok(())
    }

    fn need_digit(&mut self, context: &str) -> Result<(), String> {
        match self.peek() {
            None => Err(END.to_owned()),
            Some(b'0'..=b'9') => {
                self.digits();
                Ok(())
            }
            Some(c) => Err(invalid(c, context)),
        }
    }

    fn digits(&mut self) {
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
    }

    fn string(&mut self) -> Result<(), String> {
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(END.to_owned()),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(c) if c < 0x20 => return Err(invalid(c, "in string literal")),
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<(), String> {
        match self.peek() {
            None => Err(END.to_owned()),
            Some(b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"') => {
                self.at += 1;
                Ok(())
            }
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    match self.peek() {
                        None => return Err(END.to_owned()),
                        Some(c) if c.is_ascii_hexdigit() => self.at += 1,
                        Some(c) => return Err(invalid(c, "in \\u hexadecimal character escape")),
                    }
                }
                Ok(())
            }
            Some(c) => Err(invalid(c, "in string escape code")),
        }
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }
}

fn invalid(c: u8, context: &str) -> String {
    let quoted = go::quote(&char::from(c).to_string());
    let shown = match c {
        b'\'' => r"\'",
        b'"' => "\"",
        _ => quoted.trim_matches('"'),
    };
    format!("invalid character '{shown}' {context}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_says_what_is_wrong() {
        for (text, expect) in [
            ("", END),
            ("{", END),
            ("{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
            ("{} t", "invalid character 't' after top-level value"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("[1 2]", "invalid character '2' after array element"),
            ("{\"a\":1 \"b\"}", "invalid character '\"' after object key:value pair"),
            ("nul", END),
            ("nulx", "invalid character 'x' in literal null (expecting 'l')"),
            ("kind: x", "invalid character 'k' looking for beginning of value"),
            ("\"a\u{1}\"", r"invalid character '\x01' in string literal"),
            ("\u{c}{}", r"invalid character '\f' looking for beginning of value"),
            ("01", "invalid character '1' after top-level value"),
        ] {
            assert_eq!(syntax_error(text.as_bytes()), expect, "{text}");
        }
    }
}
