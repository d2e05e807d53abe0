//! Paths that authors write into schemas: `.spec.replicas`, `['a key']`.

use crate::props::Props;

/// The path as errors print it and the schema it leads to, or why it leads nowhere. Brackets only where they are allowed.
pub fn field_path<'s>(schema: &'s Props, path: &str, brackets: bool) -> Result<(String, &'s Props), String> {
    let mut tokens = Tokens { rest: path };
    let mut at = Cursor { schema, printed: String::new() };
    while let Some(token) = tokens.next() {
        match token {
            "[" => {
                if !brackets {
                    return Err("array notation is not allowed".to_owned());
                }
                let token = tokens.next().ok_or_else(unexpected_end)?;
                let quoted = token.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
                let quoted = quoted.ok_or_else(|| format!("expected single quoted string but got {token}"))?;
                let name = unescape(quoted).map_err(|error| format!("invalid string literal: {error}"))?;
                at.follow(&name)?;
                match tokens.next() {
                    Some("]") => {}
                    Some(other) => return Err(format!("expected ] but got {other}")),
                    None => return Err(unexpected_end()),
                }
            }
            "." => {
                let name = tokens.next().ok_or_else(unexpected_end)?;
                at.follow(name)?;
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        }
    }
    Ok((at.printed, at.schema))
}

fn unexpected_end() -> String {
    "unexpected end of JSON path".to_owned()
}

struct Cursor<'s> {
    schema: &'s Props,
    printed: String,
}

impl Cursor<'_> {
    fn follow(&mut self, name: &str) -> Result<(), String> {
        let nowhere = || "does not refer to a valid field".to_owned();
        if self.schema.properties.is_empty() {
            self.schema = self.schema.additional_schema().ok_or_else(nowhere)?;
            self.printed.push_str(&format!("[{name}]"));
        } else {
            self.schema = self.schema.properties.get(name).ok_or_else(nowhere)?;
            if !self.printed.is_empty() {
                self.printed.push('.');
            }
            self.printed.push_str(name);
        }
        Ok(())
    }
}

/// The three delimiters by themselves, quoted texts whole, and everything between.
struct Tokens<'t> {
    rest: &'t str,
}

impl<'t> Tokens<'t> {
    fn next(&mut self) -> Option<&'t str> {
        let end = match self.rest.chars().next()? {
            '.' | '[' | ']' => 1,
            '\'' => {
                let body = self.rest.get(1..).unwrap_or_default();
                let mut escaped = false;
                let close = body.find(|c| {
                    let closes = c == '\'' && !escaped;
                    escaped = c == '\\';
                    closes
                });
                close.map_or(self.rest.len(), |at| at + 2)
            }
            _ => self.rest.find(['.', '[', ']']).unwrap_or(self.rest.len()),
        };
        let (token, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        Some(token)
    }
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('a') => out.push('\u{7}'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('v') => out.push('\u{b}'),
            Some(c @ ('\'' | '\\')) => out.push(c),
            Some(c) => return Err(format!("invalid escape char \\{c}")),
            None => out.push('\\'),
        }
    }
    Ok(out)
}
