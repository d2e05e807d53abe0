//! Reporting syntax errors and going on after them.
//!
//! The reference parser is generated and recovers in three ways: it drops one
//! token, invents one token, or skips to a token that some enclosing rule
//! could follow with. Which of them happens decides how many errors an author
//! sees and how they read, so the same decisions are taken here.

use super::parser::{Abort, Parser, Stop};
use super::token::{Kind, Set, Token};

/// After this many recoveries the parser gives up.
const MAX_ATTEMPTS: usize = 30;
/// In one recovery at most this many tokens are skipped.
const MAX_SKIPPED: usize = 256;

/// What may come after a rule at the place it was called from.
#[derive(Debug, Clone, Copy)]
pub struct Follow {
    pub set: Set,
    /// Whether the calling rule may end there, so that its own follow counts as well.
    pub ends: bool,
}

/// The state of error reporting.
#[derive(Debug, Default)]
pub struct Recovery {
    /// Set after an error until a token matches again: nothing is reported in between.
    silent: bool,
    attempts: usize,
    /// The failures since the last token that matched; one that repeats in place must eat a token.
    failures: Vec<(usize, Option<Set>)>,
}

impl Recovery {
    fn matched(&mut self) {
        self.silent = false;
        self.failures.clear();
    }
}

/// Why a rule could not go on.
#[derive(Debug)]
pub enum Exception {
    Mismatch { expecting: Set },
    NoAlternative { start: usize, offending: usize },
}

impl Parser<'_> {
    /// Consumes a token of this kind, or recovers as if it had been there.
    ///
    /// `then` is what may follow the token inside the current rule.
    pub(super) fn expect(&mut self, kind: Kind, then: Follow) -> Result<Token, Stop> {
        let token = self.token(0);
        if token.kind == kind {
            self.recovery.matched();
            self.advance();
            return Ok(token);
        }
        self.count_attempt()?;
        let expecting = Set::of(&[kind]);
        if self.drop_one(expecting)? {
            let token = self.token(0);
            self.advance();
            return Ok(token);
        }
        if self.may_follow(then, token.kind) {
            let shown = self.shown(token);
            self.complain(token, format!("missing {expecting} at {shown}"))?;
            return Ok(Token { kind, start: token.start, end: token.start });
        }
        Err(Stop::Rule(Exception::Mismatch { expecting }))
    }

    /// At the start of a choice: drops one token if the next fits, else fails.
    pub(super) fn sync(&mut self, expecting: Set) -> Result<(), Stop> {
        if self.recovery.silent || expecting.has(self.kind(0)) || self.drop_one(expecting)? {
            return Ok(());
        }
        Err(Stop::Rule(Exception::Mismatch { expecting }))
    }

    /// At the end of a turn of a loop: skips to a token that fits or that something outside waits for.
    pub(super) fn sync_loop(&mut self, expecting: Set) -> Result<(), Stop> {
        if self.recovery.silent || expecting.has(self.kind(0)) {
            return Ok(());
        }
        self.complain_unwanted(expecting)?;
        self.skip_until(expecting.with(self.recovery_set()))?;
        Ok(())
    }

    /// Reports why a rule failed and skips to where its caller may go on.
    pub(super) fn recover(&mut self, exception: Exception) -> Result<(), Abort> {
        let expecting = match &exception {
            Exception::Mismatch { expecting } => Some(*expecting),
            Exception::NoAlternative { .. } => None,
        };
        if !self.recovery.silent {
            let (token, message) = match exception {
                Exception::Mismatch { expecting } => {
                    let token = self.token(0);
                    (token, format!("mismatched input {} expecting {expecting}", self.shown(token)))
                }
                Exception::NoAlternative { start, offending } => {
                    (self.token_at(offending), self.no_alternative(start, offending))
                }
            };
            self.complain(token, message)?;
        }
        self.count_attempt()?;
        if self.recovery.failures.contains(&(self.position, expecting)) {
            self.advance();
        }
        self.recovery.failures.push((self.position, expecting));
        self.skip_until(self.recovery_set())
    }

    fn no_alternative(&self, start: usize, end: usize) -> String {
        let (first, offending) = (self.token_at(start), self.token_at(end));
        // A literal where a name belongs is said in the words of a mismatch.
        if let (Kind::True | Kind::False | Kind::Null, Kind::Dot) = (offending.kind, first.kind) {
            let word = self.source.text(offending.start, offending.end);
            return format!("mismatched input '{word}' expecting IDENTIFIER");
        }
        let mut text = String::new();
        for index in start..=end {
            if index > start {
                let between = self.source.text(self.token_at(index - 1).end, self.token_at(index).start);
                text.extend(between.chars().filter(|c| c.is_whitespace()));
            }
            text.push_str(&self.source.text(self.token_at(index).start, self.token_at(index).end));
        }
        if first.kind == Kind::Eof {
            text.push_str("<EOF>");
        }
        format!("no viable alternative at input {}", quote(&text))
    }

    fn drop_one(&mut self, expecting: Set) -> Result<bool, Abort> {
        if !expecting.has(self.kind(1)) {
            return Ok(false);
        }
        self.complain_unwanted(expecting)?;
        self.advance();
        self.recovery.matched();
        Ok(true)
    }

    fn complain_unwanted(&mut self, expecting: Set) -> Result<(), Abort> {
        if self.recovery.silent {
            return Ok(());
        }
        let token = self.token(0);
        self.complain(token, format!("extraneous input {} expecting {expecting}", self.shown(token)))
    }

    fn complain(&mut self, token: Token, message: String) -> Result<(), Abort> {
        if self.recovery.silent {
            return Ok(());
        }
        self.recovery.silent = true;
        self.syntax_error(token.start, message)
    }

    fn count_attempt(&mut self) -> Result<(), Abort> {
        if self.recovery.attempts == MAX_ATTEMPTS {
            let message = format!("error recovery attempt limit exceeded: {MAX_ATTEMPTS}");
            self.syntax_error(self.token(0).start, message)?;
            return Err(Abort::Reported);
        }
        self.recovery.attempts += 1;
        Ok(())
    }

    fn skip_until(&mut self, set: Set) -> Result<(), Abort> {
        let mut skipped = 0;
        while self.kind(0) != Kind::Eof && !set.has(self.kind(0)) {
            if skipped == MAX_SKIPPED {
                return Err(Abort::Limit(format!("error recovery token lookahead limit exceeded: {MAX_SKIPPED}")));
            }
            self.advance();
            skipped += 1;
        }
        Ok(())
    }

    fn recovery_set(&self) -> Set {
        self.follows.iter().fold(Set::of(&[]), |set, follow| set.with(follow.set))
    }

    fn may_follow(&self, then: Follow, kind: Kind) -> bool {
        if then.set.has(kind) {
            return true;
        }
        let mut ends = then.ends;
        for follow in self.follows.iter().rev() {
            if !ends {
                return false;
            }
            if follow.set.has(kind) {
                return true;
            }
            ends = follow.ends;
        }
        false
    }

    fn shown(&self, token: Token) -> String {
        if token.kind == Kind::Eof { "'<EOF>'".to_owned() } else { quote(&self.source.text(token.start, token.end)) }
    }
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t"))
}
