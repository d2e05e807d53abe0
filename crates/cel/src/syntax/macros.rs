//! Macros: calls that are rewritten while parsing.
//!
//! Each macro is one function from its operands to nodes. New nodes stand at
//! the place of the macro's parenthesis, so that errors point there.

use super::ast::{Comprehension, Element, Literal, Node, NodeId};
use super::parser::{Parser, Stop};
use std::sync::Arc;

/// The name of every accumulator. It cannot be written in an expression.
pub const ACCUMULATOR: &str = "@result";
/// The name that accumulators once had; it stays forbidden for variables.
const OLD_ACCUMULATOR: &str = "__result__";
/// The loop variable of a comprehension that only binds a name.
const UNUSED: &str = "#unused";
const SORT_INPUT: &str = "@__sortBy_input__";

/// Which macros are expanded.
#[derive(Debug, Clone, Copy)]
pub struct MacroSet {
    /// `has`, `all`, `exists`, `exists_one`, `existsOne`, `map` and `filter`.
    pub standard: bool,
    /// The forms with two variables, and `transformList`, `transformMap`, `transformMapEntry`.
    pub two_variables: bool,
    /// `optMap` and `optFlatMap`.
    pub optionals: bool,
    /// `sortBy`.
    pub sorting: bool,
    /// `cel.bind`.
    pub binding: bool,
}

impl Default for MacroSet {
    fn default() -> Self {
        MacroSet { standard: true, two_variables: false, optionals: false, sorting: false, binding: false }
    }
}

type Expanded = Result<Result<NodeId, (usize, String)>, Stop>;

impl Parser<'_> {
    /// The expansion of the call if it is one of a macro.
    pub(super) fn expand(
        &mut self,
        offset: usize,
        target: Option<NodeId>,
        function: &str,
        args: &[NodeId],
        height: usize,
    ) -> Result<Option<NodeId>, Stop> {
        let set = self.options.macros;
        let mut at = Expansion { parser: self, offset, height };
        let expanded = match (target, function, args) {
            (None, "has", [arg]) if set.standard => at.has(*arg),
            (Some(t), "all", [v, p]) if set.standard => at.quantifier(Quantifier::All, t, &[*v], *p),
            (Some(t), "exists", [v, p]) if set.standard => at.quantifier(Quantifier::Exists, t, &[*v], *p),
            (Some(t), "exists_one" | "existsOne", [v, p]) if set.standard => {
                at.quantifier(Quantifier::ExistsOne, t, &[*v], *p)
            }
            (Some(t), "map", [v, f]) if set.standard => at.map(t, *v, None, *f),
            (Some(t), "map", [v, p, f]) if set.standard => at.map(t, *v, Some(*p), *f),
            (Some(t), "filter", [v, p]) if set.standard => at.filter(t, *v, *p),
            (Some(t), "all", [k, v, p]) if set.two_variables => at.quantifier(Quantifier::All, t, &[*k, *v], *p),
            (Some(t), "exists", [k, v, p]) if set.two_variables => at.quantifier(Quantifier::Exists, t, &[*k, *v], *p),
            (Some(t), "exists_one" | "existsOne", [k, v, p]) if set.two_variables => {
                at.quantifier(Quantifier::ExistsOne, t, &[*k, *v], *p)
            }
            (Some(t), "transformList" | "transformMap" | "transformMapEntry", [k, v, f]) if set.two_variables => {
                at.transform(function, t, &[*k, *v], None, *f)
            }
            (Some(t), "transformList" | "transformMap" | "transformMapEntry", [k, v, p, f]) if set.two_variables => {
                at.transform(function, t, &[*k, *v], Some(*p), *f)
            }
            (Some(t), "optMap" | "optFlatMap", [v, f]) if set.optionals => at.optional_map(function, t, *v, *f),
            (Some(t), "sortBy", [v, k]) if set.sorting => at.sort_by(t, *v, *k),
            (Some(t), "bind", [v, value, result]) if set.binding && at.name_of(t).as_deref() == Some("cel") => {
                match at.name_of(*v) {
                    Some(name) => at.bind(&name, *value, *result).map(Ok),
                    None => Ok(Err(at.complaint(*v, "cel.bind() variable names must be simple identifiers"))),
                }
            }
            _ => return Ok(None),
        };
        match expanded? {
            Ok(id) => Ok(Some(id)),
            Err((offset, message)) => self.error(offset, message).map(Some),
        }
    }
}

#[derive(Clone, Copy)]
enum Quantifier {
    All,
    Exists,
    ExistsOne,
}

/// A macro under expansion.
struct Expansion<'p, 's> {
    parser: &'p mut Parser<'s>,
    offset: usize,
    height: usize,
}

impl Expansion<'_, '_> {
    fn add(&mut self, node: Node) -> Result<NodeId, Stop> {
        self.parser.add(self.offset, node, self.height)
    }

    fn literal(&mut self, literal: Literal) -> Result<NodeId, Stop> {
        self.add(Node::Literal(literal))
    }

    fn ident(&mut self, name: &str) -> Result<NodeId, Stop> {
        self.add(Node::Ident(name.into()))
    }

    fn accumulator(&mut self) -> Result<NodeId, Stop> {
        self.ident(ACCUMULATOR)
    }

    fn call(&mut self, function: &str, args: Vec<NodeId>) -> Result<NodeId, Stop> {
        self.add(Node::Call { target: None, function: function.into(), args })
    }

    fn member_call(&mut self, function: &str, target: NodeId, args: Vec<NodeId>) -> Result<NodeId, Stop> {
        self.add(Node::Call { target: Some(target), function: function.into(), args })
    }

    fn list(&mut self, values: Vec<NodeId>) -> Result<NodeId, Stop> {
        let elements = values.into_iter().map(|value| Element { value, optional: false }).collect();
        self.add(Node::List { elements })
    }

    fn complaint(&self, at: NodeId, message: &str) -> (usize, String) {
        (self.parser.offset(at), message.to_owned())
    }

    fn name_of(&self, id: NodeId) -> Option<Arc<str>> {
        match self.parser.nodes.get(id as usize) {
            Some(Node::Ident(name)) => Some(name.clone()),
            _ => None,
        }
    }

    /// The names of the loop variables, checked as the macros with one and with two variables do.
    fn variables(&self, ids: &[NodeId], not_a_name: &str) -> Result<Variables, (usize, String)> {
        let mut names = Vec::with_capacity(2);
        for id in ids {
            names.push((*id, self.name_of(*id).ok_or_else(|| self.complaint(*id, not_a_name))?));
        }
        if let [(_, first), (at, second)] = names.as_slice()
            && first == second
        {
            return Err(self.complaint(*at, &format!("duplicate variable name: {first}")));
        }
        for (id, name) in &names {
            if matches!(&**name, ACCUMULATOR | OLD_ACCUMULATOR) {
                return Err(self.complaint(*id, "iteration variable overwrites accumulator variable"));
            }
        }
        let mut names = names.into_iter().map(|(_, name)| name);
        Ok(Variables { first: names.next().unwrap_or_else(|| "".into()), second: names.next() })
    }

    fn comprehension(&mut self, range: NodeId, vars: Variables, parts: Parts) -> Expanded {
        let Parts { init, condition, step, result } = parts;
        let id = self.add(Node::Comprehension(Box::new(Comprehension {
            range,
            variable: vars.first,
            second: vars.second,
            accumulator: ACCUMULATOR.into(),
            init,
            condition,
            step,
            result,
        })))?;
        Ok(Ok(id))
    }

    /// A comprehension over nothing: names `value` and yields `result`.
    fn bind(&mut self, name: &str, value: NodeId, result: NodeId) -> Result<NodeId, Stop> {
        let range = self.list(Vec::new())?;
        let condition = self.literal(Literal::Bool(false))?;
        let step = self.ident(name)?;
        self.add(Node::Comprehension(Box::new(Comprehension {
            range,
            variable: UNUSED.into(),
            second: None,
            accumulator: name.into(),
            init: value,
            condition,
            step,
            result,
        })))
    }

    fn has(&mut self, arg: NodeId) -> Expanded {
        let Some(Node::Select { operand, field, .. }) = self.parser.nodes.get(arg as usize).cloned() else {
            return Ok(Err(self.complaint(arg, "invalid argument to has() macro")));
        };
        Ok(Ok(self.add(Node::Select { operand, field, test: true })?))
    }

    fn quantifier(&mut self, quantifier: Quantifier, range: NodeId, vars: &[NodeId], predicate: NodeId) -> Expanded {
        let vars = match self.variables(vars, "argument must be a simple name") {
            Ok(vars) => vars,
            Err(complaint) => return Ok(Err(complaint)),
        };
        let parts = match quantifier {
            Quantifier::All => {
                let init = self.literal(Literal::Bool(true))?;
                let so_far = self.accumulator()?;
                let condition = self.call("@not_strictly_false", vec![so_far])?;
                let so_far = self.accumulator()?;
                let step = self.call("_&&_", vec![so_far, predicate])?;
                Parts { init, condition, step, result: self.accumulator()? }
            }
            Quantifier::Exists => {
                let init = self.literal(Literal::Bool(false))?;
                let so_far = self.accumulator()?;
                let not = self.call("!_", vec![so_far])?;
                let condition = self.call("@not_strictly_false", vec![not])?;
                let so_far = self.accumulator()?;
                let step = self.call("_||_", vec![so_far, predicate])?;
                Parts { init, condition, step, result: self.accumulator()? }
            }
            Quantifier::ExistsOne => {
                let init = self.literal(Literal::Int(0))?;
                let condition = self.literal(Literal::Bool(true))?;
                let so_far = self.accumulator()?;
                let one = self.literal(Literal::Int(1))?;
                let more = self.call("_+_", vec![so_far, one])?;
                let same = self.accumulator()?;
                let step = self.call("_?_:_", vec![predicate, more, same])?;
                let total = self.accumulator()?;
                let one = self.literal(Literal::Int(1))?;
                Parts { init, condition, step, result: self.call("_==_", vec![total, one])? }
            }
        };
        self.comprehension(range, vars, parts)
    }

    fn map(&mut self, range: NodeId, var: NodeId, filter: Option<NodeId>, transform: NodeId) -> Expanded {
        match self.variables(&[var], "argument is not an identifier") {
            Ok(vars) => self.collect(range, vars, filter, transform),
            Err(complaint) => Ok(Err(complaint)),
        }
    }

    fn filter(&mut self, range: NodeId, var: NodeId, predicate: NodeId) -> Expanded {
        self.map(range, var, Some(predicate), var)
    }

    /// Appends `item` to the accumulated list for each element that passes.
    fn collect(&mut self, range: NodeId, vars: Variables, filter: Option<NodeId>, item: NodeId) -> Expanded {
        let init = self.list(Vec::new())?;
        let condition = self.literal(Literal::Bool(true))?;
        let so_far = self.accumulator()?;
        let one = self.list(vec![item])?;
        let step = self.call("_+_", vec![so_far, one])?;
        let step = self.only_if(filter, step)?;
        let result = self.accumulator()?;
        self.comprehension(range, vars, Parts { init, condition, step, result })
    }

    fn only_if(&mut self, filter: Option<NodeId>, step: NodeId) -> Result<NodeId, Stop> {
        let Some(filter) = filter else { return Ok(step) };
        let same = self.accumulator()?;
        self.call("_?_:_", vec![filter, step, same])
    }

    fn transform(
        &mut self,
        function: &str,
        range: NodeId,
        vars: &[NodeId],
        filter: Option<NodeId>,
        transform: NodeId,
    ) -> Expanded {
        let vars = match self.variables(vars, "argument must be a simple name") {
            Ok(vars) => vars,
            Err(complaint) => return Ok(Err(complaint)),
        };
        if function == "transformList" {
            return self.collect(range, vars, filter, transform);
        }
        let init = self.add(Node::Map { entries: Vec::new() })?;
        let condition = self.literal(Literal::Bool(true))?;
        let mut args = vec![self.accumulator()?];
        if function == "transformMap" {
            args.push(self.ident(&vars.first)?);
        }
        args.push(transform);
        let step = self.call("cel.@mapInsert", args)?;
        let step = self.only_if(filter, step)?;
        let result = self.accumulator()?;
        self.comprehension(range, vars, Parts { init, condition, step, result })
    }

    fn optional_map(&mut self, function: &str, target: NodeId, var: NodeId, body: NodeId) -> Expanded {
        let Some(name) = self.name_of(var) else {
            let message = format!("{function}() variable name must be a simple identifier");
            return Ok(Err(self.complaint(var, &message)));
        };
        let again = self.copy(target)?;
        let present = self.member_call("hasValue", target, Vec::new())?;
        let value = self.member_call("value", again, Vec::new())?;
        let bound = self.bind(&name, value, body)?;
        let some = if function == "optMap" { self.call("optional.of", vec![bound])? } else { bound };
        let none = self.call("optional.none", Vec::new())?;
        Ok(Ok(self.call("_?_:_", vec![present, some, none])?))
    }

    fn sort_by(&mut self, target: NodeId, var: NodeId, key: NodeId) -> Expanded {
        if let Some(Node::Literal(_) | Node::Map { .. } | Node::Struct { .. }) = self.parser.nodes.get(target as usize)
        {
            let message = "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
            return Ok(Err(self.complaint(target, message)));
        }
        let input = self.ident(SORT_INPUT)?;
        let keys = match self.map(input, var, None, key)? {
            Ok(keys) => keys,
            Err(complaint) => return Ok(Err(complaint)),
        };
        let list = self.ident(SORT_INPUT)?;
        let sorted = self.member_call("@sortByAssociatedKeys", list, vec![keys])?;
        Ok(Ok(self.bind(SORT_INPUT, target, sorted)?))
    }

    /// A second copy of a subtree. Recursion is bounded by the depth of the tree.
    fn copy(&mut self, id: NodeId) -> Result<NodeId, Stop> {
        let mut node = self.parser.nodes.get(id as usize).cloned().unwrap_or(Node::Unspecified);
        match &mut node {
            Node::Unspecified | Node::Literal(_) | Node::Ident(_) => {}
            Node::Select { operand, .. } => *operand = self.copy(*operand)?,
            Node::Call { target, args, .. } => {
                for child in target.iter_mut().chain(args) {
                    *child = self.copy(*child)?;
                }
            }
            Node::List { elements } => {
                for element in elements {
                    element.value = self.copy(element.value)?;
                }
            }
            Node::Map { entries } => {
                for entry in entries {
                    entry.key = self.copy(entry.key)?;
                    entry.value = self.copy(entry.value)?;
                }
            }
            Node::Struct { fields, .. } => {
                for field in fields {
                    field.value = self.copy(field.value)?;
                }
            }
            Node::Comprehension(c) => {
                for child in [&mut c.range, &mut c.init, &mut c.condition, &mut c.step, &mut c.result] {
                    *child = self.copy(*child)?;
                }
            }
        }
        let (offset, height) = (self.parser.offset(id), self.parser.height(id));
        self.parser.add(offset, node, height)
    }
}

/// The names of a comprehension's variables.
struct Variables {
    first: Arc<str>,
    second: Option<Arc<str>>,
}

struct Parts {
    init: NodeId,
    condition: NodeId,
    step: NodeId,
    result: NodeId,
}
