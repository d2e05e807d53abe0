//! Recursive descent over the grammar, with limits that hold for every shape.
//!
//! Two depths are limited alike: how deeply rules nest, and how deep the tree
//! grows, which a chain such as `1 + 1 + …` does without nesting anything. A
//! tree past its limit is no longer built, only read for further errors.

use super::ast::{Ast, Literal, Node, NodeId};
use super::lexer;
use super::macros::MacroSet;
use super::recovery::{Exception, Follow, Recovery};
use super::token::{Kind, Set, Token};
use crate::issue::Issues;
use crate::source::{Location, Source};
use std::sync::Arc;

/// How deep rules and trees may nest.
pub const MAX_DEPTH: usize = 250;
/// How long an expression may be.
pub const MAX_CODE_POINTS: usize = 100_000;
/// How many nodes a tree may have after its macros are expanded.
///
/// Some macros repeat their operand, so that a chain of them doubles with every
/// link; the limit on the text alone would not bound the tree.
pub const MAX_NODES: usize = 400_000;
/// After this many syntax errors the parser gives up.
const MAX_SYNTAX_ERRORS: usize = 100;

/// Which parts of the syntax are switched on.
#[derive(Debug, Clone, Copy, Default)]
pub struct ParserOptions {
    /// `.?`, `[?]`, `[?e]` and `{?k: v}`.
    pub optional_syntax: bool,
    /// Field names in backticks.
    pub escaped_identifiers: bool,
    /// The macros to expand.
    pub macros: MacroSet,
}

/// Parses an expression, expanding macros.
pub fn parse(source: &Source, options: ParserOptions) -> Result<Ast, Issues> {
    let mut issues = Issues::new(source.clone());
    if source.len() > MAX_CODE_POINTS {
        let message =
            format!("expression code point size exceeds limit: size: {}, limit {MAX_CODE_POINTS}", source.len());
        issues.report(Location::NONE, message);
        return Err(issues);
    }
    let (tokens, unrecognized) = lexer::tokens(source.chars());
    let mut parser = Parser {
        source,
        options,
        position: 0,
        follows: Vec::with_capacity(32),
        recovery: Recovery::default(),
        depths: Depths::default(),
        nodes: Vec::with_capacity(tokens.len()),
        offsets: Vec::with_capacity(tokens.len()),
        heights: Vec::with_capacity(tokens.len()),
        too_deep: false,
        syntax_errors: 0,
        issues,
        tokens,
    };
    let parsed = parser.run(&unrecognized);
    if let Err(Abort::Limit(message)) = &parsed {
        parser.issues.report(Location::NONE, message.clone());
    } else if parser.too_deep {
        parser.issues.report(Location::NONE, "max recursion depth exceeded");
    }
    match parsed {
        Ok(root) if parser.issues.is_empty() => Ok(Ast { nodes: parser.nodes, offsets: parser.offsets, root }),
        _ => Err(parser.issues.sorted()),
    }
}

/// Why parsing ends before the text does.
#[derive(Debug)]
pub(super) enum Abort {
    /// A limit, still to be reported.
    Limit(String),
    /// The reason has been reported.
    Reported,
}

/// Why a rule ends early.
#[derive(Debug)]
pub(super) enum Stop {
    /// The rule failed; its caller goes on.
    Rule(Exception),
    /// Everything ends.
    All(Abort),
}

impl From<Abort> for Stop {
    fn from(abort: Abort) -> Self {
        Stop::All(abort)
    }
}

#[derive(Default)]
struct Depths {
    expr: usize,
    relation: usize,
    calc: usize,
}

pub(super) struct Parser<'s> {
    pub(super) source: &'s Source,
    pub(super) options: ParserOptions,
    tokens: Vec<Token>,
    pub(super) position: usize,
    /// One entry per rule under way: what follows it at the place it was called from.
    pub(super) follows: Vec<Follow>,
    pub(super) recovery: Recovery,
    depths: Depths,
    pub(super) nodes: Vec<Node>,
    pub(super) offsets: Vec<u32>,
    /// How deep the text nests below each node, as the reference counts it.
    heights: Vec<u16>,
    too_deep: bool,
    syntax_errors: usize,
    issues: Issues,
}

pub(super) type Parsed<T = NodeId> = Result<T, Stop>;

pub(super) const LITERALS: Set = Set::of(&[Kind::True, Kind::False, Kind::Null, Kind::Uint, Kind::String, Kind::Bytes]);
pub(super) const NUMBERS: Set = Set::of(&[Kind::Float, Kind::Int]);
/// What a member may start with.
pub(super) const MEMBER_START: Set =
    Set::of(&[Kind::LeftBracket, Kind::LeftBrace, Kind::LeftParen, Kind::Dot, Kind::Minus, Kind::Identifier])
        .with(LITERALS)
        .with(NUMBERS);
/// What an expression may start with.
pub(super) const EXPR_START: Set = MEMBER_START.with(Set::of(&[Kind::Exclamation]));
pub(super) const OPTIONAL_EXPR_START: Set = EXPR_START.with(Set::of(&[Kind::Question]));
const RELATIONS: Set = Set::of(&[
    Kind::Less,
    Kind::LessEquals,
    Kind::GreaterEquals,
    Kind::Greater,
    Kind::Equals,
    Kind::NotEquals,
    Kind::In,
]);
const FACTORS: Set = Set::of(&[Kind::Star, Kind::Slash, Kind::Percent]);
const TERMS: Set = Set::of(&[Kind::Plus, Kind::Minus]);
const MEMBER_TAIL: Set = Set::of(&[Kind::Dot, Kind::LeftBracket]);
pub(super) const IDENTIFIERS: Set = Set::of(&[Kind::Identifier, Kind::EscapedIdentifier]);

pub(super) const fn then(kinds: &[Kind]) -> Follow {
    Follow { set: Set::of(kinds), ends: false }
}

pub(super) const fn may_end(set: Set) -> Follow {
    Follow { set, ends: true }
}

pub(super) const ENDS: Follow = may_end(Set::of(&[]));
const MEMBER_GOES_ON: Follow = may_end(MEMBER_TAIL);
pub(super) const AFTER_ARGUMENTS: Follow = then(&[Kind::RightParen]);
pub(super) const AFTER_EXPR: Follow = Follow { set: EXPR_START, ends: false };

impl Parser<'_> {
    fn run(&mut self, unrecognized: &[lexer::Unrecognized]) -> Result<NodeId, Abort> {
        for stretch in unrecognized {
            let text = self.source.text(stretch.start, stretch.failed_at + 1);
            self.syntax_error(stretch.start, format!("token recognition error at: '{text}'"))?;
        }
        let root = self.expr(then(&[Kind::Eof]))?;
        match self.expect(Kind::Eof, ENDS) {
            Ok(_) => Ok(root),
            Err(Stop::Rule(exception)) => self.recover(exception).map(|()| root),
            Err(Stop::All(abort)) => Err(abort),
        }
    }

    // Tokens.

    pub(super) fn token_at(&self, index: usize) -> Token {
        self.tokens.get(index.min(self.tokens.len() - 1)).copied().unwrap_or(Token {
            kind: Kind::Eof,
            start: 0,
            end: 0,
        })
    }

    pub(super) fn token(&self, ahead: usize) -> Token {
        self.token_at(self.position + ahead)
    }

    pub(super) fn kind(&self, ahead: usize) -> Kind {
        self.token(ahead).kind
    }

    pub(super) fn advance(&mut self) {
        self.position = (self.position + 1).min(self.tokens.len() - 1);
    }

    pub(super) fn text(&self, token: Token) -> Arc<str> {
        self.source.text(token.start, token.end).into()
    }

    // Errors.

    pub(super) fn syntax_error(&mut self, offset: usize, message: String) -> Result<(), Abort> {
        if self.syntax_errors == MAX_SYNTAX_ERRORS {
            self.issues.report_at(offset, format!("Syntax error: More than {MAX_SYNTAX_ERRORS} syntax errors"));
            return Err(Abort::Reported);
        }
        self.syntax_errors += 1;
        self.issues.report_at(offset, format!("Syntax error: {message}"));
        Ok(())
    }

    /// Reports what is wrong with text that follows the grammar.
    pub(super) fn error(&mut self, offset: usize, message: impl Into<String>) -> Parsed {
        self.issues.report_at(offset, message);
        self.add(offset, Node::Unspecified, 0)
    }

    // Nodes.

    /// Adds a node; `height` is how deep the text below it nests, itself included where it counts.
    pub(super) fn add(&mut self, offset: usize, node: Node, height: usize) -> Parsed {
        if self.nodes.len() >= MAX_NODES {
            return Err(Abort::Limit(format!("expression node limit exceeded: {MAX_NODES}")).into());
        }
        self.too_deep |= height > MAX_DEPTH;
        let node = if self.too_deep { Node::Unspecified } else { node };
        self.nodes.push(node);
        self.offsets.push(offset as u32);
        self.heights.push(height.min(MAX_DEPTH + 1) as u16);
        Ok((self.nodes.len() - 1) as NodeId)
    }

    pub(super) fn height(&self, id: NodeId) -> usize {
        self.heights.get(id as usize).copied().unwrap_or(0).into()
    }

    pub(super) fn tallest(&self, ids: &[NodeId]) -> usize {
        ids.iter().map(|id| self.height(*id)).max().unwrap_or(0)
    }

    pub(super) fn offset(&self, id: NodeId) -> usize {
        self.offsets.get(id as usize).copied().unwrap_or(0) as usize
    }

    // Rules. Each turns its own failure into a node and goes on behind it.

    /// Ends a rule whose follow was pushed before its body ran.
    pub(super) fn finish(&mut self, result: Parsed) -> Result<NodeId, Abort> {
        let result = match result {
            Ok(node) => Ok(node),
            Err(Stop::All(abort)) => Err(abort),
            Err(Stop::Rule(exception)) => self.recover(exception).and_then(|()| self.placeholder()),
        };
        self.follows.pop();
        result
    }

    fn placeholder(&mut self) -> Result<NodeId, Abort> {
        match self.add(self.token(0).start, Node::Unspecified, 0) {
            Ok(node) => Ok(node),
            Err(Stop::All(abort)) => Err(abort),
            // Adding a node reads nothing, so that no rule can fail in it.
            Err(Stop::Rule(_)) => Err(Abort::Reported),
        }
    }

    pub(super) fn expr(&mut self, follow: Follow) -> Result<NodeId, Abort> {
        self.depths.expr += 1;
        if self.depths.expr > MAX_DEPTH {
            return Err(too_nested());
        }
        self.follows.push(follow);
        let result = self.conditional();
        let result = self.finish(result);
        self.depths.expr -= 1;
        result
    }

    fn conditional(&mut self) -> Parsed {
        let condition = self.disjunction(may_end(Set::of(&[Kind::Question])))?;
        if self.kind(0) != Kind::Question {
            return Ok(condition);
        }
        let op = self.expect(Kind::Question, AFTER_EXPR)?;
        let truthy = self.disjunction(then(&[Kind::Colon]))?;
        self.expect(Kind::Colon, AFTER_EXPR)?;
        let falsy = self.expr(ENDS)?;
        self.operator(op, "_?_:_", vec![condition, truthy, falsy], 1)
    }

    fn disjunction(&mut self, follow: Follow) -> Result<NodeId, Abort> {
        self.follows.push(follow);
        let result = match self.conjunction(may_end(Set::of(&[Kind::Or]))) {
            Ok(first) => self.logical(first, Kind::Or, "_||_", Self::conjunction),
            Err(abort) => Err(abort.into()),
        };
        self.finish(result)
    }

    fn conjunction(&mut self, follow: Follow) -> Result<NodeId, Abort> {
        self.follows.push(follow);
        let result = match self.relation(0, may_end(Set::of(&[Kind::And]))) {
            Ok(first) => self.logical(first, Kind::And, "_&&_", |parser, follow| parser.relation(0, follow)),
            Err(abort) => Err(abort.into()),
        };
        self.finish(result)
    }

    /// A chain of `&&` or `||` becomes a balanced tree, so that long chains stay shallow.
    fn logical(
        &mut self,
        first: NodeId,
        kind: Kind,
        function: &str,
        operand: fn(&mut Self, Follow) -> Result<NodeId, Abort>,
    ) -> Parsed {
        if self.kind(0) != kind {
            return Ok(first);
        }
        let mut terms = vec![first];
        let mut ops = Vec::new();
        while self.kind(0) == kind {
            ops.push(self.expect(kind, AFTER_EXPR)?.start);
            terms.push(operand(self, may_end(Set::of(&[kind])))?);
        }
        self.balanced(&terms, &ops, &Arc::from(function))
    }

    fn balanced(&mut self, terms: &[NodeId], ops: &[usize], function: &Arc<str>) -> Parsed {
        let middle = ops.len() / 2;
        let (Some((left_terms, right_terms)), Some(op)) = (terms.split_at_checked(middle + 1), ops.get(middle)) else {
            return Ok(terms.first().copied().unwrap_or(0));
        };
        let left = self.balanced(left_terms, ops.get(..middle).unwrap_or_default(), function)?;
        let right = self.balanced(right_terms, ops.get(middle + 1..).unwrap_or_default(), function)?;
        let args = vec![left, right];
        let height = self.tallest(&args);
        self.add(*op, Node::Call { target: None, function: function.clone(), args }, height)
    }

    fn relation(&mut self, precedence: u8, follow: Follow) -> Result<NodeId, Abort> {
        self.depths.relation += 1;
        if self.depths.relation > MAX_DEPTH {
            return Err(too_nested());
        }
        self.follows.push(follow);
        let result = self.relations(precedence);
        let result = self.finish(result);
        self.depths.relation -= 1;
        result
    }

    fn relations(&mut self, precedence: u8) -> Parsed {
        let mut left = self.calc(0, may_end(RELATIONS))?;
        while precedence <= 1 && RELATIONS.has(self.kind(0)) {
            let op = self.expect(self.kind(0), AFTER_EXPR)?;
            let right = self.relation(2, may_end(RELATIONS))?;
            left = self.operator(op, operator_name(op.kind), vec![left, right], 1)?;
        }
        Ok(left)
    }

    fn calc(&mut self, precedence: u8, follow: Follow) -> Result<NodeId, Abort> {
        self.depths.calc += 1;
        if self.depths.calc > MAX_DEPTH {
            return Err(too_nested());
        }
        self.follows.push(follow);
        let result = self.calculations(precedence);
        let result = self.finish(result);
        self.depths.calc -= 1;
        result
    }

    fn calculations(&mut self, precedence: u8) -> Parsed {
        const GOES_ON: Follow = may_end(FACTORS.with(TERMS));
        let mut left = self.unary(GOES_ON)?;
        loop {
            let kind = self.kind(0);
            let right_precedence = match () {
                () if FACTORS.has(kind) && precedence <= 2 => 3,
                () if TERMS.has(kind) && precedence <= 1 => 2,
                () => return Ok(left),
            };
            let op = self.expect(kind, AFTER_EXPR)?;
            let right = self.calc(right_precedence, GOES_ON)?;
            left = self.operator(op, operator_name(kind), vec![left, right], 1)?;
        }
    }

    fn operator(&mut self, op: Token, function: &str, args: Vec<NodeId>, counts: usize) -> Parsed {
        let height = self.tallest(&args) + counts;
        self.add(op.start, Node::Call { target: None, function: function.into(), args }, height)
    }

    fn unary(&mut self, follow: Follow) -> Result<NodeId, Abort> {
        self.follows.push(follow);
        let result = self.signed();
        self.finish(result)
    }

    fn signed(&mut self) -> Parsed {
        self.sync(EXPR_START)?;
        match (self.kind(0), self.kind(1)) {
            (Kind::Exclamation, _) => self.repeated(Kind::Exclamation, "!_", EXPR_START),
            // A number takes its sign along; anything else is negated.
            (Kind::Minus, next) if !NUMBERS.has(next) => self.repeated(Kind::Minus, "-_", MEMBER_START),
            _ => Ok(self.member(ENDS)?),
        }
    }

    /// Fails at the token behind the current one.
    pub(super) fn no_way<T>(&self) -> Parsed<T> {
        let start = self.position;
        Err(Stop::Rule(Exception::NoAlternative { start, offending: start + 1 }))
    }

    /// An even number of signs is none.
    fn repeated(&mut self, kind: Kind, function: &str, expecting: Set) -> Parsed {
        let first = self.token(0);
        let mut count = 0;
        while self.kind(0) == kind {
            // Another minus may belong to a number, so that what follows it decides.
            if kind == Kind::Minus && !expecting.has(self.kind(1)) {
                return self.no_way();
            }
            self.expect(kind, Follow { set: expecting, ends: false })?;
            count += 1;
            self.sync_loop(expecting)?;
        }
        let operand = self.member(ENDS)?;
        if count % 2 == 0 { Ok(operand) } else { self.operator(first, function, vec![operand], 0) }
    }

    fn member(&mut self, follow: Follow) -> Result<NodeId, Abort> {
        self.follows.push(follow);
        let result = self.selections();
        self.finish(result)
    }

    fn selections(&mut self) -> Parsed {
        let mut operand = self.primary(MEMBER_GOES_ON)?;
        loop {
            operand = match self.kind(0) {
                Kind::Dot => self.selection(operand)?,
                Kind::LeftBracket => self.index(operand)?,
                _ => return Ok(operand),
            };
        }
    }

    fn selection(&mut self, operand: NodeId) -> Parsed {
        match (self.kind(1), self.kind(2)) {
            (Kind::Identifier, Kind::LeftParen) => return self.member_call(operand),
            (Kind::Identifier | Kind::EscapedIdentifier | Kind::Question, _) => {}
            _ => return self.no_way(),
        }
        let op = self.expect(Kind::Dot, Follow { set: IDENTIFIERS.with(Set::of(&[Kind::Question])), ends: false })?;
        let optional = self.kind(0) == Kind::Question;
        if optional {
            self.expect(Kind::Question, Follow { set: IDENTIFIERS, ends: false })?;
        }
        let Some((token, field)) = self.field_name(MEMBER_GOES_ON)? else {
            return self.add(op.start, Node::Unspecified, 0);
        };
        let height = self.height(operand) + 1;
        if !optional {
            return self.add(op.start, Node::Select { operand, field, test: false }, height);
        }
        if !self.options.optional_syntax {
            return self.error(op.start, "unsupported syntax '.?'");
        }
        let name = self.add(token.start, Node::Literal(Literal::String(field)), 0)?;
        self.add(op.start, Node::Call { target: None, function: "_?._".into(), args: vec![operand, name] }, height)
    }

    /// A name behind a dot; in backticks only where that is switched on.
    pub(super) fn field_name(&mut self, follow: Follow) -> Parsed<Option<(Token, Arc<str>)>> {
        self.follows.push(follow);
        let token = match self.sync(IDENTIFIERS) {
            Ok(()) if IDENTIFIERS.has(self.kind(0)) => self.expect(self.kind(0), ENDS),
            Ok(()) => Err(Stop::Rule(Exception::Mismatch { expecting: IDENTIFIERS })),
            Err(stop) => Err(stop),
        };
        let token = match token {
            Ok(token) => Ok(Some(token)),
            Err(Stop::Rule(exception)) => self.recover(exception).map(|()| None),
            Err(Stop::All(abort)) => Err(abort),
        };
        self.follows.pop();
        let token = token?;
        let Some(token) = token else { return Ok(None) };
        if token.kind == Kind::Identifier {
            return Ok(Some((token, self.text(token))));
        }
        if !self.options.escaped_identifiers {
            self.error(token.start, "unsupported syntax: '`'")?;
            return Ok(Some((token, "".into())));
        }
        Ok(Some((token, self.source.text(token.start + 1, token.end - 1).into())))
    }

    fn member_call(&mut self, operand: NodeId) -> Parsed {
        self.expect(Kind::Dot, ENDS)?;
        let name = self.expect(Kind::Identifier, ENDS)?;
        let (open, args) = self.arguments(MEMBER_GOES_ON)?;
        let height = self.tallest(&args).max(self.height(operand)) + 1;
        let function = self.text(name);
        self.call_or_macro(open.start, Some(operand), function, args, height)
    }

    fn index(&mut self, operand: NodeId) -> Parsed {
        let op = self.expect(Kind::LeftBracket, Follow { set: OPTIONAL_EXPR_START, ends: false })?;
        self.sync(OPTIONAL_EXPR_START)?;
        let optional = self.kind(0) == Kind::Question;
        if optional {
            self.expect(Kind::Question, AFTER_EXPR)?;
        }
        let index = self.expr(then(&[Kind::RightBracket]))?;
        self.expect(Kind::RightBracket, MEMBER_GOES_ON)?;
        if optional && !self.options.optional_syntax {
            return self.error(op.start, "unsupported syntax '[?'");
        }
        self.operator(op, if optional { "_[?_]" } else { "_[_]" }, vec![operand, index], 1)
    }

    pub(super) fn arguments(&mut self, behind: Follow) -> Parsed<(Token, Vec<NodeId>)> {
        let open = self.expect(Kind::LeftParen, Follow { set: EXPR_START.with(AFTER_ARGUMENTS.set), ends: false })?;
        self.sync(EXPR_START.with(AFTER_ARGUMENTS.set))?;
        let mut args = Vec::new();
        if EXPR_START.has(self.kind(0)) {
            self.follows.push(AFTER_ARGUMENTS);
            // No token is expected here that is not there, so that the list itself cannot fail.
            loop {
                args.push(self.expr(may_end(Set::of(&[Kind::Comma])))?);
                if self.kind(0) != Kind::Comma {
                    break;
                }
                self.expect(Kind::Comma, AFTER_EXPR)?;
            }
            self.follows.pop();
        }
        self.expect(Kind::RightParen, behind)?;
        Ok((open, args))
    }

    pub(super) fn call_or_macro(
        &mut self,
        offset: usize,
        target: Option<NodeId>,
        function: Arc<str>,
        args: Vec<NodeId>,
        height: usize,
    ) -> Parsed {
        if !self.too_deep
            && let Some(expanded) = self.expand(offset, target, &function, &args, height)?
        {
            return Ok(expanded);
        }
        self.add(offset, Node::Call { target, function, args }, height)
    }
}

fn too_nested() -> Abort {
    Abort::Limit(format!("expression recursion limit exceeded: {MAX_DEPTH}"))
}

fn operator_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Less => "_<_",
        Kind::LessEquals => "_<=_",
        Kind::Greater => "_>_",
        Kind::GreaterEquals => "_>=_",
        Kind::Equals => "_==_",
        Kind::NotEquals => "_!=_",
        Kind::In => "@in",
        Kind::Plus => "_+_",
        Kind::Minus => "_-_",
        Kind::Star => "_*_",
        Kind::Slash => "_/_",
        _ => "_%_",
    }
}
