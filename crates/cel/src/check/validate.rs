//! Checks of literals that types cannot express.
//!
//! A pattern, a duration or a moment written as a literal is tried at once, so
//! that its author hears of a mistake before anything runs.

use super::Checked;
use crate::env::Env;
use crate::issue::Issues;
use crate::library::{format, regex};
use crate::source::Source;
use crate::syntax::ast::Literal;
use crate::syntax::{Node, NodeId};
use crate::types::Type;
use crate::value::{Text, Val, convert};
use ::regex::Regex;
use std::sync::Arc;

/// Tries the literals of a checked expression where the environment asks for it.
pub fn validate(mut checked: Checked, source: &Source, env: &Env) -> Result<Checked, Issues> {
    if !env.library.literal_checks {
        return Ok(checked);
    }
    let mut validator = Validator { checked: &checked, issues: Issues::new(source.clone()), regexes: Vec::new() };
    validator.walk(checked.ast.root(), false);
    if !validator.issues.is_empty() {
        return Err(validator.issues.sorted());
    }
    checked.regexes = validator.regexes;
    Ok(checked)
}

struct Validator<'c> {
    checked: &'c Checked,
    issues: Issues,
    regexes: Vec<(Arc<str>, Regex)>,
}

impl Validator<'_> {
    fn walk(&mut self, id: NodeId, inside_format: bool) {
        let ast = &self.checked.ast;
        let mut inside_format = inside_format;
        match ast.node(id) {
            Node::Call { target, function, args } => {
                self.literal_argument(function, args);
                if &**function == "format" {
                    inside_format = true;
                    self.format(id, *target, args);
                }
            }
            Node::List { elements } if !inside_format => {
                self.same_types(elements.iter().map(|element| (element.value, element.optional)), true);
            }
            Node::Map { entries } if !inside_format => {
                self.same_types(entries.iter().map(|entry| (entry.key, false)), false);
                self.same_types(entries.iter().map(|entry| (entry.value, entry.optional)), false);
            }
            _ => {}
        }
        for child in ast.children(id) {
            self.walk(child, inside_format);
        }
    }

    fn complain(&mut self, id: NodeId, message: impl Into<String>) {
        self.issues.report_at(self.checked.ast.offset(id), message);
    }

    fn literal_argument(&mut self, function: &str, args: &[NodeId]) {
        let Some(arg) = args.first() else { return };
        let Node::Literal(literal) = self.checked.ast.node(*arg) else { return };
        let value = match literal {
            Literal::String(text) => Val::String(Text::Shared(text.clone())),
            Literal::Int(value) => Val::Int(*value),
            _ => return,
        };
        let wrong = match (function, &value) {
            ("matches", Val::String(pattern)) => match regex::compile(pattern) {
                Ok(regex) => {
                    self.regexes.push(((&**pattern).into(), regex));
                    false
                }
                Err(_) => true,
            },
            ("duration", value) => convert::duration(value).is_err(),
            ("timestamp", value) => convert::timestamp(value).is_err(),
            _ => false,
        };
        if wrong {
            self.complain(*arg, format!("invalid {function} argument"));
        }
    }

    fn format(&mut self, id: NodeId, target: Option<NodeId>, args: &[NodeId]) {
        let ast = &self.checked.ast;
        let (Some(target), [list]) = (target, args) else { return };
        let (Node::Literal(Literal::String(text)), Node::List { elements }) = (ast.node(target), ast.node(*list))
        else {
            return;
        };
        let values: Vec<NodeId> = elements.iter().map(|element| element.value).collect();
        match format::check(text, values.len(), |clause, index| {
            let value = values.get(index).copied().unwrap_or(*list);
            self.misfit(clause, value)
        }) {
            Ok(used) if used < values.len() => {
                let message =
                    format!("too many arguments supplied to string.format (expected {used}, got {})", values.len());
                self.complain(id, message);
            }
            Ok(_) => {}
            Err((at, message)) => self.complain(at.unwrap_or(id), message),
        }
    }

    /// The node whose type a clause cannot write, and that type.
    fn misfit(&self, clause: format::Clause, id: NodeId) -> Option<(NodeId, String)> {
        let ty = self.checked.type_of(id);
        if !clause.takes(ty) {
            return Some((id, ty.runtime_name().to_owned()));
        }
        if clause != format::Clause::String || !matches!(ty, Type::List(_) | Type::Map(_)) {
            return None;
        }
        match self.checked.ast.node(id) {
            Node::List { .. } | Node::Map { .. } => {
                self.checked.ast.children(id).into_iter().find_map(|child| self.misfit(clause, child))
            }
            _ => None,
        }
    }

    /// Complains of types other than the first; of a list only once.
    fn same_types(&mut self, nodes: impl Iterator<Item = (NodeId, bool)>, once: bool) {
        let mut expected: Option<Type> = None;
        for (id, optional) in nodes {
            let ty = self.checked.type_of(id);
            let ty = if optional { ty.optional_inner().unwrap_or(ty) } else { ty }.clone();
            match &expected {
                None => expected = Some(ty),
                Some(first) if *first != ty => {
                    self.complain(id, format!("expected type '{first}' but found '{ty}'"));
                    if once {
                        return;
                    }
                }
                Some(_) => {}
            }
        }
    }
}
