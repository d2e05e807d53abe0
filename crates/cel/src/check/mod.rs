//! The type checker.
//!
//! Finds a type for every node and what every name refers to, or says why not.
//! Its findings are side tables; the tree itself is left as parsed.

mod unify;
mod validate;

use crate::env::Env;
use crate::issue::Issues;
use crate::source::Source;
use crate::syntax::ast::{Comprehension, Element, Field, Literal, MapEntry};
use crate::syntax::{Ast, Node, NodeId};
use crate::types::{Type, signature};
use regex::Regex;
use std::sync::Arc;
use unify::{Substitution, instantiate, most_general};

pub use validate::validate;

/// What a name refers to.
#[derive(Debug, Clone, PartialEq)]
pub enum Reference {
    /// A variable of the environment.
    Variable(Arc<str>),
    /// A variable of a comprehension.
    Local(Arc<str>),
    /// A type used as a value.
    Type(Arc<str>),
    /// A function and those of its signatures that fit.
    Function {
        name: Arc<str>,
        /// Whether the receiver is part of the name.
        qualified: bool,
        /// Indices into the function's signatures.
        overloads: Vec<usize>,
    },
}

/// A checked expression.
#[derive(Debug, Clone)]
pub struct Checked {
    pub(crate) ast: Ast,
    types: Vec<Type>,
    references: Vec<Option<Reference>>,
    /// Literal patterns, compiled when they were tried.
    regexes: Vec<(Arc<str>, Regex)>,
}

impl Checked {
    /// The type of a node.
    pub fn type_of(&self, id: NodeId) -> &Type {
        self.types.get(id as usize).unwrap_or(&Type::Dyn)
    }

    /// The type of the whole expression.
    pub fn output(&self) -> &Type {
        self.type_of(self.ast.root())
    }

    /// What a node refers to.
    pub fn reference(&self, id: NodeId) -> Option<&Reference> {
        self.references.get(id as usize)?.as_ref()
    }

    pub(crate) fn regex(&self, pattern: &str) -> Option<&Regex> {
        self.regexes.iter().find(|(known, _)| **known == *pattern).map(|(_, regex)| regex)
    }

    /// Whether the expression reads this variable.
    pub fn uses(&self, variable: &str) -> bool {
        self.references.iter().flatten().any(|r| matches!(r, Reference::Variable(name) if **name == *variable))
    }
}

/// Checks a parsed expression in an environment.
pub fn check(ast: Ast, source: &Source, env: &Env) -> Result<Checked, Issues> {
    let mut checker = Checker {
        env,
        types: vec![Type::Error; ast.len()],
        references: vec![None; ast.len()],
        scopes: Vec::new(),
        substitution: Substitution::default(),
        issues: Issues::new(source.clone()),
        ast,
    };
    checker.check(checker.ast.root());
    if !checker.issues.is_empty() {
        return Err(checker.issues.sorted());
    }
    let types = checker.types.iter().map(|ty| checker.substitution.apply(ty, true)).collect();
    Ok(Checked { ast: checker.ast, types, references: checker.references, regexes: Vec::new() })
}

struct Checker<'e> {
    ast: Ast,
    env: &'e Env,
    types: Vec<Type>,
    references: Vec<Option<Reference>>,
    /// Variables of comprehensions, innermost last.
    scopes: Vec<(Arc<str>, Type)>,
    substitution: Substitution,
    issues: Issues,
}

impl Checker<'_> {
    fn check(&mut self, id: NodeId) {
        // The node is taken out for the time of its check: it is not looked at from below.
        let node = match self.ast_node(id) {
            Some(node) => std::mem::replace(node, Node::Unspecified),
            None => return,
        };
        match &node {
            Node::Unspecified => {}
            Node::Literal(literal) => self.set(id, literal_type(literal)),
            Node::Ident(name) => self.ident(id, name),
            Node::Select { operand, field, test } => self.select(id, *operand, field, *test),
            Node::Call { target, function, args } => self.call(id, *target, function, args),
            Node::List { elements } => self.list(id, elements),
            Node::Map { entries } => self.map(id, entries),
            Node::Struct { name, fields } => self.message(id, name, fields),
            Node::Comprehension(comprehension) => self.comprehension(id, comprehension),
        }
        if let Some(place) = self.ast_node(id) {
            *place = node;
        }
    }

    fn ast_node(&mut self, id: NodeId) -> Option<&mut Node> {
        self.ast.node_mut(id)
    }

    fn set(&mut self, id: NodeId, ty: Type) {
        if let Some(slot) = self.types.get_mut(id as usize) {
            *slot = ty;
        }
    }

    fn refer(&mut self, id: NodeId, reference: Reference) {
        if let Some(slot) = self.references.get_mut(id as usize) {
            *slot = Some(reference);
        }
    }

    fn type_of(&self, id: NodeId) -> Type {
        self.types.get(id as usize).cloned().unwrap_or(Type::Error)
    }

    fn resolved(&self, id: NodeId) -> Type {
        self.substitution.apply(&self.type_of(id), false)
    }

    fn complain(&mut self, id: NodeId, message: impl Into<String>) {
        self.issues.report_at(self.ast.offset(id), message);
    }

    fn mismatch(&mut self, id: NodeId, expected: &Type, found: &Type) {
        self.complain(id, format!("expected type '{expected}' but found '{found}'"));
    }

    fn undeclared(&mut self, id: NodeId, name: &str) {
        self.complain(id, format!("undeclared reference to '{name}' (in container '{}')", self.env.container));
        self.set(id, Type::Error);
    }

    /// The type of a name and what it refers to.
    fn lookup(&self, name: &str) -> Option<(Type, Reference)> {
        if let Some((name, ty)) = self.local(name) {
            return Some((ty.clone(), Reference::Local(name.clone())));
        }
        for candidate in self.env.candidates(name) {
            if let Some((_, variable)) = self.env.variable(&candidate) {
                return Some((variable.ty.clone(), Reference::Variable(variable.name.clone())));
            }
            if let Some((name, ty)) = self.env.library.type_names.get_key_value(candidate.as_str()) {
                return Some((Type::type_of(ty.clone()), Reference::Type(name.clone())));
            }
        }
        None
    }

    /// The variable of a comprehension with this name; a name with a leading dot means none of them.
    fn local(&self, name: &str) -> Option<&(Arc<str>, Type)> {
        self.scopes.iter().rfind(|(scoped, _)| **scoped == *name)
    }

    fn ident(&mut self, id: NodeId, name: &str) {
        match self.lookup(name) {
            Some((ty, reference)) => {
                self.set(id, ty);
                self.refer(id, reference);
            }
            None => self.undeclared(id, name),
        }
    }

    fn select(&mut self, id: NodeId, operand: NodeId, field: &Arc<str>, test: bool) {
        // A chain of names may be one name with dots.
        if !test
            && let Some(prefix) = self.ast.qualified_name(operand)
            && self.local(prefix.split('.').next().unwrap_or_default()).is_none()
            && let Some((ty, reference)) = self.lookup(&format!("{prefix}.{field}"))
        {
            self.set(id, ty);
            self.refer(id, reference);
            return;
        }
        let ty = self.field_type(id, operand, field, false);
        let ty = if test { Type::Bool } else { self.substitution.apply(&ty, false) };
        self.set(id, ty);
    }

    fn field_type(&mut self, id: NodeId, operand: NodeId, field: &str, optional: bool) -> Type {
        self.check(operand);
        let operand = self.resolved(operand);
        let (target, was_optional) = match operand.optional_inner() {
            Some(inner) => (inner.clone(), true),
            None => (operand, false),
        };
        let ty = match &target {
            Type::Map(entry) => entry.1.clone(),
            Type::Object(name) => match self.env.objects.fields(name) {
                None => {
                    self.complain(id, format!("unexpected failed resolution of '{name}'"));
                    Type::Error
                }
                Some(fields) => match fields.get(field) {
                    Some(ty) => ty.clone(),
                    None => {
                        self.complain(id, format!("undefined field '{field}'"));
                        Type::Error
                    }
                },
            },
            Type::Var(_) => {
                self.substitution.assignable(&Type::Dyn, &target);
                Type::Dyn
            }
            other => {
                if !other.is_dyn_or_error() {
                    self.complain(id, format!("type '{other}' does not support field selection"));
                }
                Type::Dyn
            }
        };
        if was_optional || optional { Type::optional(ty) } else { ty }
    }

    fn call(&mut self, id: NodeId, target: Option<NodeId>, function: &Arc<str>, args: &[NodeId]) {
        if &**function == "_?._" {
            return self.optional_select(id, args);
        }
        args.iter().for_each(|arg| self.check(*arg));
        let Some(target) = target else {
            return match self.function(function) {
                Some(name) => self.overload(id, &name, None, args, false),
                None => self.undeclared(id, function),
            };
        };
        if let Some(prefix) = self.ast.qualified_name(target)
            && let Some(name) = self.function(&format!("{prefix}.{function}"))
        {
            return self.overload(id, &name, None, args, true);
        }
        self.check(target);
        match self.function(function) {
            Some(name) => self.overload(id, &name, Some(target), args, false),
            None => self.undeclared(id, function),
        }
    }

    fn function(&self, name: &str) -> Option<Arc<str>> {
        let mut candidates = self.env.candidates(name).into_iter();
        candidates.find(|name| self.env.library.functions.get(name).is_some()).map(Into::into)
    }

    fn optional_select(&mut self, id: NodeId, args: &[NodeId]) {
        let [operand, field] = args else { return };
        let Node::Literal(Literal::String(name)) = self.ast.node(*field).clone() else { return };
        self.set(*field, Type::String);
        let ty = self.field_type(id, *operand, &name, true);
        let ty = self.substitution.apply(&ty, false);
        self.set(id, ty);
        self.refer(id, Reference::Function { name: "_?._".into(), qualified: false, overloads: vec![0] });
    }

    fn overload(&mut self, id: NodeId, name: &Arc<str>, target: Option<NodeId>, args: &[NodeId], qualified: bool) {
        if matches!(&**name, "_&&_" | "_||_") {
            return self.logical(id, name, args);
        }
        let env = self.env;
        let Some(function) = env.library.functions.get(name) else { return };
        let arg_types: Vec<Type> = target.iter().chain(args).map(|arg| self.type_of(*arg)).collect();
        let mut fitting = Vec::new();
        let mut result: Option<Type> = None;
        for (index, overload) in function.overloads.iter().enumerate() {
            if overload.member != target.is_some() || overload.args.len() != arg_types.len() {
                continue;
            }
            if !env.library.cross_type_comparison && is_cross_type(name, &overload.args) {
                continue;
            }
            let (fits, ty) = if overload.params.is_empty() {
                (self.substitution.assignable_all(&arg_types, &overload.args), overload.result.clone())
            } else {
                let params: Vec<_> = overload.params.iter().map(|p| (*p, self.substitution.fresh())).collect();
                let args: Vec<Type> = overload.args.iter().map(|arg| instantiate(arg, &params)).collect();
                (self.substitution.assignable_all(&arg_types, &args), instantiate(&overload.result, &params))
            };
            if !fits {
                continue;
            }
            fitting.push(index);
            let ty = self.substitution.apply(&ty, false);
            result = Some(match result {
                None => ty,
                Some(known) if known.is_dyn() || known == ty => known,
                Some(_) => Type::Dyn,
            });
        }
        let Some(ty) = result else {
            let shown: Vec<Type> = arg_types.iter().map(|ty| self.substitution.apply(ty, true)).collect();
            let shown = signature(&shown, target.is_some());
            self.complain(id, format!("found no matching overload for '{name}' applied to '{shown}'"));
            return self.set(id, Type::Error);
        };
        self.set(id, ty);
        self.refer(id, Reference::Function { name: name.clone(), qualified, overloads: fitting });
    }

    fn logical(&mut self, id: NodeId, name: &Arc<str>, args: &[NodeId]) {
        let mut ty = Type::Bool;
        for arg in args {
            let found = self.type_of(*arg);
            if !self.substitution.assignable(&found, &Type::Bool) {
                self.mismatch(*arg, &Type::Bool, &found);
                ty = Type::Error;
            }
        }
        self.set(id, ty);
        self.refer(id, Reference::Function { name: name.clone(), qualified: false, overloads: vec![0] });
    }

    /// The type of an optional element without its wrapper.
    fn unwrap_optional(&mut self, id: NodeId, ty: Type) -> Type {
        match ty.optional_inner() {
            Some(inner) => inner.clone(),
            None => {
                if !ty.is_dyn() {
                    self.mismatch(id, &Type::optional(ty.clone()), &ty);
                }
                ty
            }
        }
    }

    fn join(&mut self, id: NodeId, previous: Option<Type>, current: Type) -> Type {
        let Some(previous) = previous else { return current };
        if self.substitution.assignable(&previous, &current) {
            return most_general(&previous, &current);
        }
        if !self.env.library.homogeneous_literals {
            return Type::Dyn;
        }
        self.mismatch(id, &previous, &current);
        Type::Error
    }

    fn list(&mut self, id: NodeId, elements: &[Element]) {
        let mut joined = None;
        for element in elements {
            self.check(element.value);
            let mut ty = self.type_of(element.value);
            if element.optional {
                ty = self.unwrap_optional(element.value, ty);
            }
            joined = Some(self.join(element.value, joined, ty));
        }
        let ty = joined.unwrap_or_else(|| self.substitution.fresh());
        self.set(id, Type::list(ty));
    }

    fn map(&mut self, id: NodeId, entries: &[MapEntry]) {
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            self.check(entry.key);
            keys = Some(self.join(entry.key, keys, self.type_of(entry.key)));
            self.check(entry.value);
            let mut ty = self.type_of(entry.value);
            if entry.optional {
                ty = self.unwrap_optional(entry.value, ty);
            }
            values = Some(self.join(entry.value, values, ty));
        }
        let key = keys.unwrap_or_else(|| self.substitution.fresh());
        let value = values.unwrap_or_else(|| self.substitution.fresh());
        self.set(id, Type::map(key, value));
    }

    fn message(&mut self, id: NodeId, name: &str, fields: &[Field]) {
        let Some((ty, _)) = self.lookup(name) else { return self.undeclared(id, name) };
        let message = match ty {
            Type::Type(Some(of)) => format!("'{}' is not a message type", of.runtime_name()),
            other => format!("'{}' is not a type", other.runtime_name()),
        };
        self.complain(id, message);
        fields.iter().for_each(|field| self.check(field.value));
    }

    fn comprehension(&mut self, id: NodeId, c: &Comprehension) {
        self.check(c.range);
        self.check(c.init);
        let range = self.resolved(c.range);
        let accumulated = self.type_of(c.init);
        let outer = self.scopes.len();
        self.scopes.push((c.accumulator.clone(), accumulated.clone()));
        let (first, second) = match &range {
            Type::List(element) if c.second.is_some() => (Type::Int, (**element).clone()),
            Type::List(element) => ((**element).clone(), Type::Dyn),
            Type::Map(entry) => entry.as_ref().clone(),
            Type::Dyn | Type::Error | Type::Var(_) => {
                self.substitution.assignable(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let message = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.complain(c.range, message);
                (Type::Error, Type::Error)
            }
        };
        let inner = self.scopes.len();
        self.scopes.push((c.variable.clone(), first));
        if let Some(name) = &c.second {
            self.scopes.push((name.clone(), second));
        }
        self.check(c.condition);
        self.assert(c.condition, &Type::Bool);
        self.check(c.step);
        self.assert(c.step, &accumulated);
        self.scopes.truncate(inner);
        self.check(c.result);
        self.scopes.truncate(outer);
        let ty = self.resolved(c.result);
        self.set(id, ty);
    }

    fn assert(&mut self, id: NodeId, expected: &Type) {
        let found = self.type_of(id);
        if !self.substitution.assignable(expected, &found) {
            self.mismatch(id, expected, &found);
        }
    }
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}

/// Whether a signature compares numbers of two types.
fn is_cross_type(function: &str, args: &[Type]) -> bool {
    matches!(function, "_<_" | "_<=_" | "_>_" | "_>=_") && matches!(args, [a, b] if a != b)
}
