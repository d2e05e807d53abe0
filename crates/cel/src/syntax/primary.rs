//! The innermost rules: names, literals, lists, maps and messages.

use super::ast::{Element, Field, Literal, MapEntry, Node, NodeId};
use super::literal::unquote;
use super::parser::{
    AFTER_ARGUMENTS, AFTER_EXPR, Abort, ENDS, IDENTIFIERS, MEMBER_START, NUMBERS, OPTIONAL_EXPR_START, Parsed, Parser,
    Stop, may_end, then,
};
use super::recovery::Follow;
use super::token::{Kind, Set};

/// Words that name no variable.
pub const RESERVED: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "package",
    "namespace",
    "null",
    "return",
    "true",
    "var",
    "void",
    "while",
];

impl Parser<'_> {
    pub(super) fn primary(&mut self, follow: Follow) -> Result<NodeId, Abort> {
        self.follows.push(follow);
        let result = match self.sync(MEMBER_START) {
            Ok(()) => match self.kind(0) {
                Kind::LeftParen => self.nested(),
                Kind::LeftBracket => self.list(),
                Kind::LeftBrace => self.map(),
                Kind::Dot | Kind::Identifier => self.name(),
                _ => self.literal(),
            },
            Err(stop) => Err(stop),
        };
        self.finish(result)
    }

    fn nested(&mut self) -> Parsed {
        self.expect(Kind::LeftParen, AFTER_EXPR)?;
        let inner = self.expr(AFTER_ARGUMENTS)?;
        self.expect(Kind::RightParen, ENDS)?;
        Ok(inner)
    }

    fn list(&mut self) -> Parsed {
        const INSIDE: Set = OPTIONAL_EXPR_START.with(CLOSE);
        const CLOSE: Set = Set::of(&[Kind::Comma, Kind::RightBracket]);
        let op = self.expect(Kind::LeftBracket, Follow { set: INSIDE, ends: false })?;
        self.sync(INSIDE)?;
        let mut elements = Vec::new();
        if OPTIONAL_EXPR_START.has(self.kind(0)) {
            self.items(CLOSE, &mut elements, Self::list_element)?;
        }
        self.close(CLOSE, Kind::RightBracket)?;
        let height = elements.iter().map(|e| self.height(e.value)).max().unwrap_or(0);
        self.add(op.start, Node::List { elements }, height)
    }

    fn map(&mut self) -> Parsed {
        const INSIDE: Set = OPTIONAL_EXPR_START.with(CLOSE);
        const CLOSE: Set = Set::of(&[Kind::Comma, Kind::RightBrace]);
        let op = self.expect(Kind::LeftBrace, Follow { set: INSIDE, ends: false })?;
        self.sync(INSIDE)?;
        let mut entries = Vec::new();
        if OPTIONAL_EXPR_START.has(self.kind(0)) {
            self.items(CLOSE, &mut entries, Self::map_entry)?;
        }
        self.close(CLOSE, Kind::RightBrace)?;
        let height = entries.iter().map(|e| self.height(e.key).max(self.height(e.value))).max().unwrap_or(0);
        self.add(op.start, Node::Map { entries }, height)
    }

    fn list_element(&mut self) -> Parsed<Element> {
        let (value, optional) = self.optional_expr(may_end(Set::of(&[Kind::Comma])))?;
        Ok(Element { value, optional })
    }

    fn map_entry(&mut self) -> Parsed<MapEntry> {
        let (key, optional) = self.optional_expr(then(&[Kind::Colon]))?;
        self.expect(Kind::Colon, AFTER_EXPR)?;
        let value = self.expr(may_end(Set::of(&[Kind::Comma])))?;
        Ok(MapEntry { key, value, optional })
    }

    /// The list rule inside brackets or braces; a comma before the end belongs to the brackets.
    fn items<T>(&mut self, close: Set, into: &mut Vec<T>, item: fn(&mut Self) -> Parsed<T>) -> Parsed<()> {
        self.follows.push(Follow { set: close, ends: false });
        let result = loop {
            match item(self) {
                Ok(item) => into.push(item),
                Err(Stop::Rule(exception)) => break self.recover(exception),
                Err(Stop::All(abort)) => break Err(abort),
            }
            if self.kind(0) != Kind::Comma || close.has(self.kind(1)) {
                break Ok(());
            }
            // The token is known to be there.
            self.expect(Kind::Comma, AFTER_EXPR)?;
        };
        self.follows.pop();
        Ok(result?)
    }

    fn close(&mut self, close: Set, kind: Kind) -> Parsed<()> {
        self.sync(close)?;
        if self.kind(0) == Kind::Comma {
            self.expect(Kind::Comma, then(&[kind]))?;
        }
        self.expect(kind, ENDS)?;
        Ok(())
    }

    fn optional_expr(&mut self, follow: Follow) -> Parsed<(NodeId, bool)> {
        self.follows.push(follow);
        let mut optional = false;
        let result = self.maybe_optional(&mut optional);
        Ok((self.finish(result)?, optional))
    }

    fn maybe_optional(&mut self, optional: &mut bool) -> Parsed {
        self.sync(OPTIONAL_EXPR_START)?;
        let question = self.token(0);
        if question.kind == Kind::Question {
            *optional = true;
            self.expect(Kind::Question, AFTER_EXPR)?;
            if !self.options.optional_syntax {
                self.error(question.start, "unsupported syntax '?'")?;
            }
        }
        Ok(self.expr(ENDS)?)
    }

    /// A variable, a call or a message literal: all start with a name.
    fn name(&mut self) -> Parsed {
        let start = self.token(0);
        let dotted = start.kind == Kind::Dot;
        if dotted && self.kind(1) != Kind::Identifier {
            return self.no_way();
        }
        let first = usize::from(dotted);
        let mut behind = first + 1;
        while self.kind(behind) == Kind::Dot && self.kind(behind + 1) == Kind::Identifier {
            behind += 2;
        }
        if self.kind(behind) == Kind::LeftBrace {
            return self.message(dotted, behind);
        }
        if dotted {
            self.expect(Kind::Dot, then(&[Kind::Identifier]))?;
        }
        let token = self.expect(Kind::Identifier, ENDS)?;
        let word = self.text(token);
        let name = if dotted { format!(".{word}").into() } else { word.clone() };
        let call = if self.kind(0) == Kind::LeftParen { Some(self.arguments(ENDS)?) } else { None };
        if RESERVED.contains(&&*word) {
            return self.error(start.start, format!("reserved identifier: {word}"));
        }
        match call {
            None => self.add(token.start, Node::Ident(name), 0),
            Some((open, args)) => {
                let height = self.tallest(&args);
                self.call_or_macro(open.start, None, name, args, height)
            }
        }
    }

    fn message(&mut self, dotted: bool, length: usize) -> Parsed {
        const CLOSE: Set = Set::of(&[Kind::Comma, Kind::RightBrace]);
        const FIELD_START: Set = IDENTIFIERS.with(Set::of(&[Kind::Question]));
        let last = self.token(length - 1);
        let name = self.source.text(self.token(0).start, last.end);
        let name: String = name.chars().filter(|c| !c.is_whitespace()).collect();
        let name = if dotted && !name.starts_with('.') { format!(".{name}") } else { name };
        for _ in 0..length {
            self.advance();
        }
        let op = self.expect(Kind::LeftBrace, Follow { set: FIELD_START.with(CLOSE), ends: false })?;
        self.sync(FIELD_START.with(CLOSE))?;
        let mut fields = Vec::new();
        if FIELD_START.has(self.kind(0)) {
            self.items(CLOSE, &mut fields, Self::message_field)?;
        }
        self.close(CLOSE, Kind::RightBrace)?;
        let fields: Vec<Field> = fields.into_iter().flatten().collect();
        let height = fields.iter().map(|f| self.height(f.value)).max().unwrap_or(0);
        self.add(op.start, Node::Struct { name: name.into(), fields }, height)
    }

    fn message_field(&mut self) -> Parsed<Option<Field>> {
        let question = self.token(0);
        let optional = question.kind == Kind::Question;
        if optional {
            self.expect(Kind::Question, Follow { set: IDENTIFIERS, ends: false })?;
            if !self.options.optional_syntax {
                self.error(question.start, "unsupported syntax '?'")?;
            }
        }
        let name = self.field_name(then(&[Kind::Colon]))?;
        let colon = self.expect(Kind::Colon, AFTER_EXPR)?;
        let value = self.expr(may_end(Set::of(&[Kind::Comma])))?;
        Ok(name.map(|(_, name)| Field { offset: colon.start, name, value, optional }))
    }

    fn literal(&mut self) -> Parsed {
        let first = self.token(0);
        let signed = first.kind == Kind::Minus;
        if signed && !NUMBERS.has(self.kind(1)) {
            return self.no_way();
        }
        if signed {
            self.expect(Kind::Minus, Follow { set: NUMBERS, ends: false })?;
        }
        let token = self.expect(self.kind(0), ENDS)?;
        let text = self.source.text(token.start, token.end);
        let literal = match token.kind {
            Kind::Int => integer(&text, signed).map(Literal::Int).ok_or("invalid int literal"),
            Kind::Uint => {
                let digits = text.get(..text.len() - 1).unwrap_or_default();
                let value = digits
                    .strip_prefix("0x")
                    .map_or_else(|| digits.parse().ok(), |hex| u64::from_str_radix(hex, 16).ok());
                value.map(Literal::Uint).ok_or("invalid uint literal")
            }
            Kind::Float => match text.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(Literal::Double(if signed { -value } else { value })),
                _ => Err("invalid double literal"),
            },
            Kind::String => {
                unquote(&text, false).map(|bytes| Literal::String(String::from_utf8_lossy(&bytes).into_owned().into()))
            }
            Kind::Bytes => unquote(text.get(1..).unwrap_or_default(), true).map(|bytes| Literal::Bytes(bytes.into())),
            Kind::True => Ok(Literal::Bool(true)),
            Kind::False => Ok(Literal::Bool(false)),
            _ => Ok(Literal::Null),
        };
        match literal {
            Ok(literal) => self.add(first.start, Node::Literal(literal), 0),
            Err(message) => self.error(first.start, message),
        }
    }
}

fn integer(text: &str, negative: bool) -> Option<i64> {
    let magnitude = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => text.parse().ok()?,
    };
    if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}
