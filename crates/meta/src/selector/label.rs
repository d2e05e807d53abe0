//! Label selectors: `a=1, b!=2, c in (x,y), d notin (z), e, !f, g>3`.

use std::collections::BTreeSet;

use crate::{Errors, FieldPath, names};

/// How a requirement compares a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

/// One term of a label selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRequirement {
    pub key: String,
    pub operator: Operator,
    pub values: BTreeSet<String>,
}

/// All terms must hold. The empty selector matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    pub requirements: Vec<LabelRequirement>,
}

impl LabelSelector {
    pub fn parse(text: &str) -> Result<Self, String> {
        Parser { tokens: tokens(text), at: 0 }.selector()
    }

    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// `lookup` gives the value of a label, `None` where the object does not have it.
    pub fn matches<'v>(&self, lookup: impl Fn(&str) -> Option<&'v str>) -> bool {
        self.requirements.iter().all(|r| r.matches(lookup(&r.key)))
    }
}

impl LabelRequirement {
    fn matches(&self, label: Option<&str>) -> bool {
        match (self.operator, label) {
            (Operator::In, value) => value.is_some_and(|v| self.values.contains(v)),
            (Operator::NotIn, value) => value.is_none_or(|v| !self.values.contains(v)),
            (Operator::Exists, value) => value.is_some(),
            (Operator::DoesNotExist, value) => value.is_none(),
            (Operator::GreaterThan, value) => self.compare(value, |a, b| a > b),
            (Operator::LessThan, value) => self.compare(value, |a, b| a < b),
        }
    }

    fn compare(&self, label: Option<&str>, holds: fn(i64, i64) -> bool) -> bool {
        let (Some(label), Some(bound)) = (label, self.values.first()) else { return false };
        matches!((label.parse(), bound.parse()), (Ok(a), Ok(b)) if holds(a, b))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Symbol(&'static str),
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Symbol(symbol) => symbol,
            Self::End => "",
        }
    }
}

fn tokens(text: &str) -> Vec<Token> {
    const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", ">", "<", "(", ")", ","];
    let mut out = Vec::new();
    let mut rest = text.trim_start_matches([' ', '\t', '\r', '\n']);
    while !rest.is_empty() {
        if let Some(symbol) = SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
            out.push(Token::Symbol(symbol));
            rest = rest.get(symbol.len()..).unwrap_or_default();
        } else {
            let end = rest.find(['=', '!', '(', ')', ',', '>', '<', ' ', '\t', '\r', '\n']).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            out.push(Token::Word(word.to_owned()));
            rest = after;
        }
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }
    out
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn selector(mut self) -> Result<LabelSelector, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::End => break,
                Token::Word(_) | Token::Symbol("!") => {}
                other => return Err(format!("found '{}', expected: !, identifier, or 'end of string'", other.text())),
            }
            requirements.push(self.requirement().map_err(|e| format!("unable to parse requirement: {e}"))?);
            match self.next() {
                Token::End => break,
                Token::Symbol(",") => match self.peek() {
                    Token::Word(_) | Token::Symbol("!") => {}
                    other => return Err(format!("found '{}', expected: identifier after ','", other.text())),
                },
                other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
            }
        }
        // Upstream sorts the terms by key; only the order of evaluation would show it.
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(LabelSelector { requirements })
    }

    fn requirement(&mut self) -> Result<LabelRequirement, String> {
        let negated = self.peek() == Token::Symbol("!");
        if negated {
            self.next();
        }
        let key = match self.next() {
            Token::Word(word) => word,
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        if let Some(wrong) = key_error(&key) {
            return Err(wrong);
        }
        let ends = matches!(self.peek(), Token::End | Token::Symbol(","));
        if negated || ends {
            let operator = if negated { Operator::DoesNotExist } else { Operator::Exists };
            return checked(key, operator, BTreeSet::new());
        }
        let (operator, many) = match self.next() {
            Token::Word(word) if word == "in" => (Operator::In, true),
            Token::Word(word) if word == "notin" => (Operator::NotIn, true),
            Token::Symbol("=" | "==") => (Operator::In, false),
            Token::Symbol("!=") => (Operator::NotIn, false),
            Token::Symbol(">") => (Operator::GreaterThan, false),
            Token::Symbol("<") => (Operator::LessThan, false),
            other => return Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", other.text())),
        };
        let values = if many { self.value_list()? } else { self.exact_value()? };
        checked(key, operator, values)
    }

    fn exact_value(&mut self) -> Result<BTreeSet<String>, String> {
        match self.peek() {
            Token::End | Token::Symbol(",") => Ok(BTreeSet::from([String::new()])),
            Token::Word(word) => {
                self.next();
                Ok(BTreeSet::from([word]))
            }
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    fn value_list(&mut self) -> Result<BTreeSet<String>, String> {
        match self.next() {
            Token::Symbol("(") => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        let mut values = BTreeSet::new();
        let mut expects_value = true;
        loop {
            match self.next() {
                Token::Word(word) if expects_value => {
                    values.insert(word);
                    expects_value = false;
                }
                Token::Symbol(",") => {
                    if expects_value {
                        values.insert(String::new());
                    }
                    expects_value = true;
                }
                Token::Symbol(")") => {
                    if expects_value {
                        values.insert(String::new());
                    }
                    return Ok(values);
                }
                other if expects_value && values.is_empty() => {
                    return Err(format!("found '{}', expected: ',', ')' or identifier", other.text()));
                }
                other if expects_value => {
                    return Err(format!("found '{}', expected: ',', or identifier", other.text()));
                }
                other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
            }
        }
    }

    fn peek(&self) -> Token {
        self.tokens.get(self.at).cloned().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        token
    }
}

fn key_error(key: &str) -> Option<String> {
    let wrong = names::qualified_name(key);
    if wrong.is_empty() {
        return None;
    }
    let mut errors = Errors::new();
    errors.invalid(&"<nil>", key, wrong.join("; "));
    Some(errors.message())
}

fn checked(key: String, operator: Operator, values: BTreeSet<String>) -> Result<LabelRequirement, String> {
    let mut errors = Errors::new();
    let path = FieldPath::of("values");
    for (i, value) in values.iter().enumerate() {
        if matches!(operator, Operator::GreaterThan | Operator::LessThan) && value.parse::<i64>().is_err() {
            let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
            errors.invalid(&path.index(i), value.as_str(), detail);
        }
        let wrong = names::label_value(value);
        if !wrong.is_empty() {
            errors.invalid(&path.index(i).key(&key), value.as_str(), wrong.join("; "));
        }
    }
    if errors.is_empty() { Ok(LabelRequirement { key, operator, values }) } else { Err(errors.message()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(selector: &str, labels: &[(&str, &str)], expect: bool) {
        let parsed = LabelSelector::parse(selector).unwrap();
        let got = parsed.matches(|key| labels.iter().find(|(k, _)| *k == key).map(|(_, v)| *v));
        assert_eq!(got, expect, "{selector} on {labels:?}");
    }

    fn refuse(selector: &str, expect: &str) {
        assert_eq!(LabelSelector::parse(selector).unwrap_err(), expect, "{selector}");
    }

    #[test]
    fn selectors_match() {
        check("a=1", &[("a", "1")], true);
        check("a!=1", &[], true);
        check("a in (1,2), !b", &[("a", "2")], true);
        check("a notin (1)", &[("a", "1")], false);
        check("b=", &[("b", "")], true);
        check("a>1", &[("a", "2")], true);
        check("a<2", &[("a", "x")], false);
        check("a in ()", &[("a", "1")], false);
        check("", &[], true);
    }

    #[test]
    fn errors_are_upstreams() {
        refuse("a in (1", "unable to parse requirement: found '', expected: ',' or ')'");
        refuse("a=!", "unable to parse requirement: found '!', expected: identifier");
        refuse("a=b=c", "found '=', expected: ',' or 'end of string'");
        refuse(",", "found ',', expected: !, identifier, or 'end of string'");
        refuse("bad key!=x", "unable to parse requirement: found 'key', expected: in, notin, =, ==, !=, gt, lt");
        refuse(
            "a>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
        );
    }
}
