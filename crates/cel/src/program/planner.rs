//! From a tree to a plan.
//!
//! Names become places, constants are folded where the reference folds them
//! (which is where it stops counting cost), and loops are recognized by the
//! macro that made them.

use super::plan::{
    Arithmetic, Attribute, Base, Call, Comparison, Conditional, FieldName, Fold, FoldKind, Item, MapItem, Plan,
    Qualifier, QualifierKey, Target, is_certain,
};
use super::{PlanError, Program};
use crate::check::{Checked, Reference};
use crate::cost::standard_actual;
use crate::env::Env;
use crate::function::{Actual, Function, Overload, Run};
use crate::syntax::ast::{Comprehension, Element, Literal, MapEntry};
use crate::syntax::{Ast, Node, NodeId};
use crate::types::Type;
use crate::value::{Key, Map, Text, Val};
use regex::Regex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Plans an expression; without a check everything is resolved while running.
pub fn plan(ast: &Ast, checked: Option<&Checked>, env: &Env) -> Result<Program, PlanError> {
    let mut planner = Planner { ast, checked, env, scopes: Vec::new(), slots: 0 };
    let plan = planner.plan(ast.root())?;
    let variables = env.variables.iter().map(|variable| variable.name.clone()).collect();
    Ok(Program { plan, variables, slots: planner.slots })
}

/// Conversions of constants are constants.
const CONVERSIONS: [&str; 10] =
    ["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"];

type Planned<T = Plan> = Result<T, PlanError>;

struct Planner<'e> {
    ast: &'e Ast,
    checked: Option<&'e Checked>,
    env: &'e Env,
    /// The names of variables in scope; a name's index is its slot.
    scopes: Vec<Arc<str>>,
    slots: usize,
}

impl Planner<'_> {
    fn plan(&mut self, id: NodeId) -> Planned {
        if let Some(leaf) = self.leaf(id) {
            return leaf;
        }
        match self.ast.node(id) {
            Node::Select { operand, field, test } => self.select(id, *operand, field, *test),
            Node::Call { target, function, args } => self.call(id, *target, function, args),
            Node::List { elements } => self.list(elements),
            Node::Map { entries } => self.map(entries),
            Node::Comprehension(comprehension) => self.comprehension(comprehension),
            _ => Err(PlanError("incomplete expression".to_owned())),
        }
    }

    fn boxed_plan(&mut self, id: NodeId) -> Planned<Box<Plan>> {
        self.plan(id).map(Box::new)
    }

    /// The plan of a node without operands.
    fn leaf(&self, id: NodeId) -> Option<Planned> {
        let plan = match (self.reference(id), self.ast.node(id)) {
            (Some(Reference::Variable(name)), _) => self.variable(name),
            (Some(Reference::Local(name)), _) => {
                let base = self.slot(name).map_or_else(|| Base::Missing(name.clone()), Base::Slot);
                Plan::Attribute(Box::new(Attribute { base, qualifiers: Vec::new() }))
            }
            (Some(Reference::Type(name)), _) => self.type_constant(name),
            (_, Node::Literal(literal)) => Plan::Constant(constant(literal)),
            (_, Node::Ident(name)) => self.unchecked_name(name).unwrap_or_else(|| missing(name)),
            (_, Node::Struct { name, .. }) => return Some(Err(PlanError(format!("unknown type: {name}")))),
            _ => return None,
        };
        Some(Ok(plan))
    }

    fn reference(&self, id: NodeId) -> Option<&Reference> {
        self.checked?.reference(id)
    }

    fn type_of(&self, id: NodeId) -> &Type {
        self.checked.map_or(&Type::Dyn, |checked| checked.type_of(id))
    }

    fn boxed(&mut self, ids: &[NodeId]) -> Planned<Box<[Plan; 2]>> {
        match ids {
            [left, right] => Ok(Box::new([self.plan(*left)?, self.plan(*right)?])),
            _ => Err(PlanError("an operator takes two operands".to_owned())),
        }
    }

    // Names.

    fn slot(&self, name: &str) -> Option<usize> {
        self.scopes.iter().rposition(|scoped| **scoped == *name)
    }

    fn variable(&self, name: &Arc<str>) -> Plan {
        let found = self.env.variable(name).map(|(index, _)| Base::Variable(index));
        let base = found.unwrap_or_else(|| Base::Missing(name.clone()));
        Plan::Attribute(Box::new(Attribute { base, qualifiers: Vec::new() }))
    }

    fn type_constant(&self, name: &str) -> Plan {
        let ty = self.env.library.type_names.get(name).map_or(name, Type::runtime_name);
        Plan::Constant(Val::Type(Text::Shared(ty.into())))
    }

    /// What a name means that no checker resolved.
    fn unchecked_name(&self, name: &str) -> Option<Plan> {
        let attribute = |base| Plan::Attribute(Box::new(Attribute { base, qualifiers: Vec::new() }));
        if let Some(slot) = self.slot(name) {
            return Some(attribute(Base::Slot(slot)));
        }
        // A chain of selections from a variable of a comprehension is never one name.
        if name.split_once('.').is_some_and(|(root, _)| !root.is_empty() && self.slot(root).is_some()) {
            return None;
        }
        for candidate in self.env.candidates(name) {
            if let Some((index, _)) = self.env.variable(&candidate) {
                return Some(attribute(Base::Variable(index)));
            }
            if self.env.library.type_names.contains_key(candidate.as_str()) {
                return Some(self.type_constant(&candidate));
            }
        }
        None
    }

    fn select(&mut self, id: NodeId, operand: NodeId, field: &Arc<str>, test: bool) -> Planned {
        if self.checked.is_none()
            && !test
            && let Some(name) = self.ast.qualified_name(id)
            && let Some(plan) = self.unchecked_name(&name)
        {
            return Ok(plan);
        }
        let mut attribute = self.attribute(operand)?;
        attribute
            .qualifiers
            .push(Qualifier { key: QualifierKey::Name(FieldName::new(field.clone())), optional: false });
        Ok(if test { Plan::Has(Box::new(attribute)) } else { Plan::Attribute(Box::new(attribute)) })
    }

    /// The operand of a selection: an attribute grows, anything else is computed first.
    fn attribute(&mut self, operand: NodeId) -> Planned<Attribute> {
        Ok(match self.plan(operand)? {
            Plan::Attribute(attribute) => *attribute,
            other => Attribute { base: Base::Computed(Box::new(other)), qualifiers: Vec::new() },
        })
    }

    fn index(&mut self, operand: NodeId, index: NodeId, optional: bool) -> Planned {
        let mut attribute = self.attribute(operand)?;
        let key = match self.plan(index)? {
            Plan::Constant(Val::String(name)) => QualifierKey::Name(FieldName::new((&*name).into())),
            Plan::Constant(value) => QualifierKey::Constant(value),
            Plan::Attribute(attribute) => QualifierKey::Attribute(*attribute),
            other => {
                QualifierKey::Attribute(Attribute { base: Base::Computed(Box::new(other)), qualifiers: Vec::new() })
            }
        };
        attribute.qualifiers.push(Qualifier { key, optional });
        Ok(Plan::Attribute(Box::new(attribute)))
    }

    // Calls.

    fn call(&mut self, id: NodeId, target: Option<NodeId>, function: &Arc<str>, args: &[NodeId]) -> Planned {
        if let (None, Some(plan)) = (target, self.operator(id, function, args)?) {
            return Ok(plan);
        }
        let (name, target) = self.callee(id, target, function);
        if self.env.library.functions.get(&name).is_none() {
            return Ok(Plan::Unknown(name.as_ref().into()));
        }
        let operands: Vec<NodeId> = target.iter().chain(args).copied().collect();
        let planned = self.operands(&operands)?;
        self.library_call(id, name, target.is_some(), &operands, planned)
    }

    fn operands(&mut self, operands: &[NodeId]) -> Planned<Vec<Plan>> {
        let mut planned = Vec::with_capacity(operands.len());
        for operand in operands {
            planned.push(self.plan(*operand)?);
        }
        Ok(planned)
    }

    /// The function's full name, and the receiver if it is not part of that name.
    fn callee(&self, id: NodeId, target: Option<NodeId>, function: &Arc<str>) -> (Arc<str>, Option<NodeId>) {
        if let Some(Reference::Function { name, qualified, .. }) = self.reference(id) {
            return (name.clone(), target.filter(|_| !qualified));
        }
        let known = |name: &str| {
            let mut candidates = self.env.candidates(name).into_iter();
            candidates.find(|name| self.env.library.functions.get(name).is_some())
        };
        let qualified =
            target.and_then(|target| self.ast.qualified_name(target)).map(|prefix| format!("{prefix}.{function}"));
        match qualified.and_then(|name| known(&name)) {
            Some(name) => (name.into(), None),
            None => (known(function).map_or_else(|| function.clone(), Into::into), target),
        }
    }

    fn library_call(
        &mut self,
        id: NodeId,
        name: Arc<str>,
        member: bool,
        operands: &[NodeId],
        args: Vec<Plan>,
    ) -> Planned {
        if member && args.len() == 2 && matches!(&*name, "or" | "orValue") {
            let unwrap = &*name == "orValue";
            return match <[Plan; 2]>::try_from(args) {
                Ok(sides) => Ok(Plan::OptionalOr { sides: Box::new(sides), unwrap }),
                Err(_) => Err(PlanError("an operator takes two operands".to_owned())),
            };
        }
        let env = self.env;
        let Some(declared) = env.library.functions.get(&name) else {
            return Ok(Plan::Unknown(name.as_ref().into()));
        };
        let fitting = self.fitting(id, declared, member, operands.len());
        let only = match fitting.as_slice() {
            [only] => Some(*only),
            _ => None,
        };
        let cost = self.call_cost(&name, only);
        let regex_at = fitting.iter().any(|overload| matches!(overload.run, Run::Regex(_)));
        let regex = match args.get(1) {
            Some(Plan::Constant(Val::String(pattern))) if regex_at => Some(self.regex(pattern)?),
            _ => None,
        };
        let folds = CONVERSIONS.contains(&&*name) && matches!(args.as_slice(), [Plan::Constant(_)]);
        let stops_at_error = regex.is_some() || only.is_none_or(|overload| overload.stops_at_error);
        let types: Vec<Type> = operands.iter().map(|operand| self.type_of(*operand).clone()).collect();
        let target = match only {
            Some(overload) => {
                let guard = (overload.guarded && !is_certain(&overload.args, &types)).then(|| overload.clone());
                Target::One { run: overload.run, guard }
            }
            None => Target::Any(fitting.into_iter().cloned().collect()),
        };
        let before = only.and_then(|overload| overload.cost).and_then(|cost| cost.before);
        let call = Call { function: name, args, target, regex, cost, before, stops_at_error };
        let call = Plan::Call(Box::new(call));
        if folds { fold(call) } else { Ok(call) }
    }

    /// The compiled expression; the check may have compiled it already.
    fn regex(&self, pattern: &str) -> Planned<Regex> {
        match self.checked.and_then(|checked| checked.regex(pattern)) {
            Some(regex) => Ok(regex.clone()),
            None => crate::library::regex::compile(pattern).map_err(PlanError),
        }
    }

    fn fitting<'f>(&self, id: NodeId, declared: &'f Function, member: bool, args: usize) -> Vec<&'f Overload> {
        match self.reference(id) {
            Some(Reference::Function { overloads, .. }) => {
                overloads.iter().filter_map(|index| declared.overloads.get(*index)).collect()
            }
            _ => declared.overloads.iter().filter(|o| o.member == member && o.args.len() == args).collect(),
        }
    }

    fn call_cost(&self, name: &str, only: Option<&Overload>) -> Option<Actual> {
        let overload = only.map_or("", |overload| overload.id.as_str());
        only.and_then(|overload| overload.cost)
            .map(|cost| cost.actual)
            .or_else(|| (self.env.library.cost.actual)(name, overload))
            .or_else(|| standard_actual(overload))
    }

    /// The cost of an operator, by the one signature that fits.
    fn operator_cost(&self, id: NodeId, function: &str) -> Option<Actual> {
        let declared = self.env.library.functions.get(function)?;
        let fitting = match self.reference(id) {
            Some(Reference::Function { overloads, .. }) => overloads.as_slice(),
            _ => &[],
        };
        let only = match fitting {
            [only] => declared.overloads.get(*only),
            _ => None,
        };
        self.call_cost(function, only)
    }

    // Each operator has a function of its own: plans of deep expressions must fit small stacks.
    fn operator(&mut self, id: NodeId, function: &str, args: &[NodeId]) -> Planned<Option<Plan>> {
        let plan = match (function, args) {
            ("_&&_", _) => self.boxed(args).map(Plan::And),
            ("_||_", _) => self.boxed(args).map(Plan::Or),
            ("_==_" | "_!=_", _) => self.equality(function, args),
            ("!_", [operand]) => self.plan(*operand).map(|operand| Plan::Not(Box::new(operand))),
            ("-_", [operand]) => self.plan(*operand).map(|operand| Plan::Negate(Box::new(operand))),
            ("@in", _) => self.membership(id, args),
            ("_?_:_", [condition, truthy, falsy]) => self.conditional(*condition, *truthy, *falsy),
            ("_[_]", [operand, index]) => self.index(*operand, *index, false),
            ("_[?_]" | "_?._", [operand, index]) => self.index(*operand, *index, true),
            ("_<_", _) => self.comparison(id, function, Comparison::Less, args),
            ("_<=_", _) => self.comparison(id, function, Comparison::LessOrEqual, args),
            ("_>_", _) => self.comparison(id, function, Comparison::Greater, args),
            ("_>=_", _) => self.comparison(id, function, Comparison::GreaterOrEqual, args),
            ("_+_", _) => self.arithmetic(id, function, Arithmetic::Add, args),
            ("_-_", _) => self.arithmetic(id, function, Arithmetic::Subtract, args),
            ("_*_", _) => self.arithmetic(id, function, Arithmetic::Multiply, args),
            ("_/_", _) => self.arithmetic(id, function, Arithmetic::Divide, args),
            ("_%_", _) => self.arithmetic(id, function, Arithmetic::Modulo, args),
            _ => return Ok(None),
        };
        plan.map(Some)
    }

    fn comparison(&mut self, id: NodeId, function: &str, operator: Comparison, args: &[NodeId]) -> Planned {
        let cost = self.operator_cost(id, function);
        Ok(Plan::Compare { sides: self.boxed(args)?, operator, cost })
    }

    fn arithmetic(&mut self, id: NodeId, function: &str, operator: Arithmetic, args: &[NodeId]) -> Planned {
        let cost = self.operator_cost(id, function);
        Ok(Plan::Arithmetic { sides: self.boxed(args)?, operator, cost })
    }

    fn equality(&mut self, function: &str, args: &[NodeId]) -> Planned {
        let negated = function == "_!=_";
        let overload = if negated { "not_equals" } else { "equals" };
        let model = (self.env.library.cost.actual)(function, overload);
        Ok(Plan::Equal { sides: self.boxed(args)?, negated, cost: model.or_else(|| standard_actual(overload)) })
    }

    fn conditional(&mut self, condition: NodeId, truthy: NodeId, falsy: NodeId) -> Planned {
        let condition = self.boxed_plan(condition)?;
        let truthy = self.attribute(truthy).map(Box::new)?;
        let falsy = self.attribute(falsy).map(Box::new)?;
        let base = Base::Conditional(Box::new(Conditional { condition, truthy, falsy }));
        Ok(Plan::Attribute(Box::new(Attribute { base, qualifiers: Vec::new() })))
    }

    fn membership(&mut self, id: NodeId, args: &[NodeId]) -> Planned {
        let cost = self.operator_cost(id, "@in");
        let sides = self.boxed(args)?;
        let in_list = matches!(self.reference(id), Some(Reference::Function { overloads, .. }) if overloads == &[0]);
        let members = match &*sides {
            [_, Plan::Constant(Val::List(list))] if in_list => list.to_vec().unwrap_or_default(),
            _ => return Ok(Plan::In { sides, cost }),
        };
        let simple = |value: &Val<'_>| {
            matches!(value, Val::Bool(_) | Val::Int(_) | Val::Uint(_) | Val::Double(_) | Val::String(_) | Val::Null)
        };
        if !members.iter().all(simple) {
            return Ok(Plan::In { sides, cost });
        }
        if members.is_empty() {
            return Ok(Plan::Constant(Val::Bool(false)));
        }
        let [value, _] = *sides;
        Ok(Plan::Member { value: Box::new(value), list: members })
    }

    // Containers.

    fn list(&mut self, elements: &[Element]) -> Planned {
        let mut items = Vec::with_capacity(elements.len());
        for element in elements {
            items.push(Item { value: self.plan(element.value)?, optional: element.optional });
        }
        let constants: Option<Vec<_>> = items.iter().map(|item| as_constant(&item.value, item.optional)).collect();
        Ok(match constants {
            Some(values) => Plan::Constant(Val::list(values)),
            None => Plan::List(items.into()),
        })
    }

    fn map(&mut self, entries: &[MapEntry]) -> Planned {
        let mut items = Vec::with_capacity(entries.len());
        for entry in entries {
            let (key, value) = (self.plan(entry.key)?, self.plan(entry.value)?);
            items.push(MapItem { key, value, optional: entry.optional });
        }
        let constants: Option<BTreeMap<_, _>> = items
            .iter()
            .map(|item| {
                let key = Key::new(&as_constant(&item.key, false)?)?;
                Some((key, as_constant(&item.value, item.optional)?))
            })
            .collect();
        Ok(match constants {
            Some(entries) => Plan::Constant(Val::Map(Map::from(entries))),
            None => Plan::Map(items.into()),
        })
    }

    // Loops.

    fn comprehension(&mut self, c: &Comprehension) -> Planned {
        let range = self.boxed_plan(c.range)?;
        let outer = self.scopes.len();
        let (first, second, kind) = if matches!(self.ast.node(c.condition), Node::Literal(Literal::Bool(false))) {
            let (slot, kind) = self.bind(c)?;
            (slot, None, kind)
        } else {
            let first = self.declare(&c.variable);
            let second = c.second.as_ref().map(|name| self.declare(name));
            (first, second, self.fold_kind(c)?)
        };
        self.scopes.truncate(outer);
        Ok(Plan::Fold(Box::new(Fold { range, first, second, kind })))
    }

    fn bind(&mut self, c: &Comprehension) -> Planned<(usize, FoldKind)> {
        let value = self.boxed_plan(c.init)?;
        let slot = self.declare(&c.accumulator);
        let body = self.boxed_plan(c.result)?;
        Ok((slot, FoldKind::Bind { value, slot, body }))
    }

    fn declare(&mut self, name: &Arc<str>) -> usize {
        self.scopes.push(name.clone());
        self.slots = self.slots.max(self.scopes.len());
        self.scopes.len() - 1
    }

    /// Which macro made the loop, by the shape of its step.
    fn fold_kind(&mut self, c: &Comprehension) -> Planned<FoldKind> {
        let unknown = || PlanError("a loop that no macro makes".to_owned());
        let ast = self.ast;
        let Node::Call { function, args, .. } = ast.node(c.step) else { return Err(unknown()) };
        match (&**function, args.as_slice()) {
            ("_&&_", [_, predicate]) => self.boxed_plan(*predicate).map(FoldKind::All),
            ("_||_", [_, predicate]) => self.boxed_plan(*predicate).map(FoldKind::Exists),
            ("_?_:_", [predicate, ..]) if matches!(ast.node(c.init), Node::Literal(Literal::Int(0))) => {
                self.boxed_plan(*predicate).map(FoldKind::ExistsOne)
            }
            ("_?_:_", [filter, step, _]) => {
                let filter = self.boxed_plan(*filter)?;
                self.accumulation(*step, Some(filter))
            }
            _ => self.accumulation(c.step, None),
        }
    }

    fn accumulation(&mut self, step: NodeId, filter: Option<Box<Plan>>) -> Planned<FoldKind> {
        let unknown = || PlanError("a loop that no macro makes".to_owned());
        let ast = self.ast;
        let Node::Call { function, args, .. } = ast.node(step) else { return Err(unknown()) };
        match (&**function, args.as_slice()) {
            ("_+_", [_, list]) => {
                let Node::List { elements } = ast.node(*list) else { return Err(unknown()) };
                let [Element { value, .. }] = elements.as_slice() else { return Err(unknown()) };
                let item = self.boxed_plan(*value)?;
                let list_is_constant = matches!(*item, Plan::Constant(_));
                Ok(FoldKind::Collect { filter, item, list_is_constant })
            }
            ("cel.@mapInsert", [_, value]) => {
                let value = self.boxed_plan(*value)?;
                Ok(FoldKind::Insert { filter, key: None, value })
            }
            ("cel.@mapInsert", [_, key, value]) => {
                let (key, value) = (self.boxed_plan(*key)?, self.boxed_plan(*value)?);
                Ok(FoldKind::Insert { filter, key: Some(key), value })
            }
            _ => Err(unknown()),
        }
    }
}

fn missing(name: &Arc<str>) -> Plan {
    Plan::Attribute(Box::new(Attribute { base: Base::Missing(name.clone()), qualifiers: Vec::new() }))
}

fn constant(literal: &Literal) -> Val<'static> {
    match literal {
        Literal::Null => Val::Null,
        Literal::Bool(value) => Val::Bool(*value),
        Literal::Int(value) => Val::Int(*value),
        Literal::Uint(value) => Val::Uint(*value),
        Literal::Double(value) => Val::Double(*value),
        Literal::String(text) => Val::String(Text::Shared(text.clone())),
        Literal::Bytes(bytes) => Val::Bytes(bytes.clone()),
    }
}

fn as_constant(plan: &Plan, optional: bool) -> Option<Val<'static>> {
    match plan {
        Plan::Constant(value) if !optional => Some(value.clone()),
        _ => None,
    }
}

/// The value of a call of constants. A failure is one of the program, not of a run.
fn fold(call: Plan) -> Planned {
    let Plan::Call(call) = call else { return Ok(call) };
    let args: Option<Vec<Val<'static>>> = call.args.iter().map(|arg| as_constant(arg, false)).collect();
    let args = args.unwrap_or_default();
    let run = match &call.target {
        Target::One { run, .. } => Some(*run),
        Target::Any(overloads) => overloads.iter().find(|overload| overload.accepts(&args)).map(|o| o.run),
    };
    match run {
        Some(Run::Plain(function)) => function(&args).map(Plan::Constant).map_err(|error| PlanError(error.to_string())),
        _ => Ok(Plan::Call(call)),
    }
}
