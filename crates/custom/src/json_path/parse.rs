//! From the text of a path to its steps.

use serde_json::{Number, Value};

use super::{End, Filter, Operator, PathStep, Slice};

/// The steps of one action: what stands between two braces. What follows a closing brace is text to upstream and nothing here.
pub fn action(text: &str) -> Option<Vec<PathStep>> {
    let mut parser = Parser { rest: text };
    let mut steps = Vec::new();
    while !parser.rest.is_empty() && !parser.rest.starts_with('}') {
        parser.step(&mut steps)?;
    }
    Some(steps)
}

struct Parser<'t> {
    rest: &'t str,
}

impl<'t> Parser<'t> {
    fn step(&mut self, steps: &mut Vec<PathStep>) -> Option<()> {
        if self.take("[?(") {
            steps.push(self.filter()?);
            return Some(());
        }
        if self.take("..") {
            if steps.last() == Some(&PathStep::Recursive) {
                return None;
            }
            steps.push(PathStep::Recursive);
            if self.rest.starts_with(is_word) {
                steps.push(self.field());
            }
            return Some(());
        }
        let first = self.rest.chars().next()?;
        match first {
            ' ' | '@' | '$' => self.skip(first),
            '[' => {
                self.skip(first);
                self.brackets(steps)?;
            }
            '"' | '\'' => steps.push(PathStep::Constant(Value::String(self.quoted(first)?))),
            '.' => {
                self.skip(first);
                steps.push(self.field());
            }
            '+' | '-' => steps.push(self.number()?),
            c if c.is_numeric() => steps.push(self.number()?),
            c if is_word(c) => steps.push(match self.until(is_terminator) {
                "true" => PathStep::Constant(Value::Bool(true)),
                "false" => PathStep::Constant(Value::Bool(false)),
                _ => PathStep::Word,
            }),
            _ => return None,
        }
        Some(())
    }

    /// A name up to what cannot be part of one; a backslash makes anything part of it.
    fn field(&mut self) -> PathStep {
        let mut name = String::new();
        let mut escaped = false;
        let mut end = self.rest.len();
        for (at, c) in self.rest.char_indices() {
            if escaped {
                // A backslash before a backslash goes like every other.
                if c != '\\' {
                    name.push(c);
                }
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if is_terminator(c) {
                end = at;
                break;
            } else {
                name.push(c);
            }
        }
        let text = self.advance(end);
        if text == "*" { PathStep::Wildcard } else { PathStep::Field(name.into()) }
    }

    fn brackets(&mut self, steps: &mut Vec<PathStep>) -> Option<()> {
        let inside = self.through(|c| c == ']')?;
        let alternatives: Vec<&str> = inside.split(',').collect();
        if alternatives.len() > 1 {
            let union = alternatives.iter().map(|one| action(&format!("[{}]", one.trim_matches(' '))));
            steps.push(PathStep::Union(union.collect::<Option<_>>()?));
        } else if let Some(key) = quoted_key(inside) {
            steps.extend(action(&format!(".{key}"))?);
        } else {
            steps.push(PathStep::Slice(slice(inside)?));
        }
        Some(())
    }

    fn filter(&mut self) -> Option<PathStep> {
        let (mut begun, mut ended) = (None, false);
        let mut before = '(';
        let mut end = None;
        for (at, c) in self.rest.char_indices() {
            match (c, begun) {
                ('\n', _) => return None,
                ('"' | '\'', None) => begun = Some(c),
                ('"' | '\'', Some(quote)) => ended |= before != '\\' && c == quote,
                (')', _) if begun.is_some() == ended => {
                    end = Some(at);
                    break;
                }
                _ => {}
            }
            before = c;
        }
        let text = self.advance(end?);
        if !self.take(")]") {
            return None;
        }
        let filter = match comparison(text) {
            Some((left, operator, right)) => Filter { left: action(left)?, compare: Some((operator, action(right)?)) },
            None => Filter { left: action(text)?, compare: None },
        };
        Some(PathStep::Filter(Box::new(filter)))
    }

    fn number(&mut self) -> Option<PathStep> {
        let sign = usize::from(self.rest.starts_with(['+', '-']));
        let body = self.rest.get(sign..)?;
        let end = body.find(|c: char| c != '.' && !c.is_numeric()).unwrap_or(body.len());
        let text = self.advance(sign + end);
        let number = match text.parse::<i64>() {
            Ok(whole) => Number::from(whole),
            Err(_) => Number::from_f64(text.parse().ok()?)?,
        };
        Some(PathStep::Constant(Value::Number(number)))
    }

    fn quoted(&mut self, quote: char) -> Option<String> {
        self.skip(quote);
        let mut text = String::new();
        let mut chars = self.rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '\n' => return None,
                c if c == quote => {
                    self.advance(at + quote.len_utf8());
                    return Some(text);
                }
                '\\' => match chars.next()?.1 {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    c @ '\\' => text.push(c),
                    c if c == quote => text.push(c),
                    _ => return None,
                },
                c => text.push(c),
            }
        }
        None
    }

    fn take(&mut self, prefix: &str) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn skip(&mut self, c: char) {
        self.rest = self.rest.strip_prefix(c).unwrap_or(self.rest);
    }

    fn until(&mut self, stop: fn(char) -> bool) -> &'t str {
        self.advance(self.rest.find(stop).unwrap_or(self.rest.len()))
    }

    /// What stands before the first such character on this line; the character is left behind.
    fn through(&mut self, stop: fn(char) -> bool) -> Option<&'t str> {
        let at = self.rest.find(stop)?;
        let text = self.advance(at);
        self.rest = self.rest.strip_prefix(stop)?;
        (!text.contains('\n')).then_some(text)
    }

    fn advance(&mut self, by: usize) -> &'t str {
        let (text, rest) = self.rest.split_at_checked(by).unwrap_or((self.rest, ""));
        self.rest = rest;
        text
    }
}

/// `'key'`
fn quoted_key(text: &str) -> Option<&str> {
    text.strip_prefix('\'')?.strip_suffix('\'').filter(|key| !key.contains('\''))
}

/// Both sides of a comparison, split at the first run of operator characters.
fn comparison(text: &str) -> Option<(&str, Operator, &str)> {
    let is_operator = |c: char| matches!(c, '!' | '<' | '>' | '=');
    let at = text.find(is_operator).filter(|at| *at > 0)?;
    let (left, rest) = text.split_at_checked(at)?;
    // At least one character remains for the right side.
    let end = rest.find(|c| !is_operator(c)).or_else(|| rest.len().checked_sub(1))?;
    let (operator, right) = rest.split_at_checked(end)?;
    if operator.is_empty() || right.is_empty() {
        return None;
    }
    let operator = match operator {
        "==" => Operator::Equal,
        "!=" => Operator::NotEqual,
        "<" => Operator::Less,
        "<=" => Operator::LessOrEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterOrEqual,
        _ => Operator::Unknown,
    };
    Some((left, operator, right))
}

/// `2`, `-1`, `1:3`, `::2`, `*`
fn slice(text: &str) -> Option<Slice> {
    let text = if text == "*" { ":" } else { text };
    let mut parts = text.split(':');
    let number = |part: &str| match part {
        "" => Some(None),
        digits if digits.starts_with('+') => None,
        digits => digits.parse::<i64>().ok().map(Some),
    };
    let start = number(parts.next()?)?;
    let end = match parts.next() {
        None => End::Single,
        Some(part) => number(part)?.map_or(End::Open, End::At),
    };
    let step = parts.next().map_or(Some(None), number)?;
    parts.next().is_none().then_some(Slice { start, end, step })
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphabetic() || c.is_numeric()
}

fn is_terminator(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}
