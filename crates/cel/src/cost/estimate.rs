//! The estimate before evaluation: a walk over the checked tree.

use super::path::{Path, PathStep, Sizes};
use super::{Argument, CallEstimate, CallSite, LIST_COST, MAP_COST, REGEX_FACTOR, Range, STRING_FACTOR, STRUCT_COST};
use crate::check::{Checked, Reference};
use crate::env::Env;
use crate::syntax::ast::{Comprehension, Element, Literal, MapEntry};
use crate::syntax::{Node, NodeId};
use crate::types::Type;
use std::collections::HashMap;
use std::sync::Arc;

/// What evaluating the expression may cost.
pub fn estimate(checked: &Checked, env: &Env) -> Range {
    let mut estimator = Estimator {
        checked,
        env,
        sizes: Sizes { root: env.sizes.as_deref() },
        paths: HashMap::new(),
        computed: HashMap::new(),
        entries: HashMap::new(),
        locals: HashMap::new(),
    };
    estimator.cost(checked.ast.root())
}

/// The sizes of the elements of a container.
#[derive(Clone, Copy)]
struct EntrySizes {
    is_list: bool,
    key: Range,
    value: Range,
}

impl EntrySizes {
    fn union(a: Option<EntrySizes>, b: Option<EntrySizes>) -> Option<EntrySizes> {
        let (a, b) = (a?, b?);
        Some(EntrySizes { is_list: a.is_list, key: a.key.union(b.key), value: a.value.union(b.value) })
    }
}

/// A variable of a comprehension.
#[derive(Clone)]
struct Local {
    path: Path,
    size: Option<Range>,
    entries: Option<EntrySizes>,
}

/// The operands of a call, with what is known of them.
struct Operands<'o> {
    nodes: &'o [NodeId],
    known: &'o [Argument<'o>],
    costs: &'o [Range],
    target: Option<&'o Argument<'o>>,
}

struct Estimator<'c> {
    checked: &'c Checked,
    env: &'c Env,
    sizes: Sizes<'c>,
    paths: HashMap<NodeId, Path>,
    computed: HashMap<NodeId, Range>,
    entries: HashMap<NodeId, EntrySizes>,
    locals: HashMap<Arc<str>, Vec<Local>>,
}

impl<'c> Estimator<'c> {
    fn cost(&mut self, id: NodeId) -> Range {
        let checked = self.checked;
        if let Some(Reference::Variable(name) | Reference::Local(name) | Reference::Type(name)) = checked.reference(id)
        {
            let path = self.local_at(id).map(|local| local.path.clone());
            self.paths.insert(id, path.unwrap_or_else(|| Path::variable(name.clone())));
            return Range::ONE;
        }
        match checked.ast.node(id) {
            Node::Unspecified | Node::Literal(_) => Range::ZERO,
            Node::Ident(_) => Range::ONE,
            Node::Select { operand, field, test } => self.select(id, *operand, field, *test),
            Node::Call { target, function, args } => self.call(id, *target, function, args),
            Node::List { elements } => self.list(id, elements),
            Node::Map { entries } => self.map(id, entries),
            Node::Struct { fields, .. } => {
                let sum = fields.iter().fold(Range::ZERO, |sum, field| sum.plus(self.cost(field.value)));
                sum.plus(Range::exactly(STRUCT_COST))
            }
            Node::Comprehension(comprehension) => self.comprehension(id, comprehension),
        }
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.get(name)?.last()
    }

    fn local_at(&self, id: NodeId) -> Option<&Local> {
        match self.checked.reference(id) {
            Some(Reference::Local(name)) => self.local(name),
            _ => None,
        }
    }

    fn select(&mut self, id: NodeId, operand: NodeId, field: &Arc<str>, test: bool) -> Range {
        let mut sum = self.cost(operand);
        if test {
            return if self.env.library.presence_test_costs { sum.plus(Range::ONE) } else { sum };
        }
        if matches!(self.checked.type_of(operand), Type::Map(_) | Type::Object(_)) {
            sum = sum.plus(Range::ONE);
        }
        let path = self.path(operand).join(PathStep::Name(field.clone()));
        self.paths.insert(id, path);
        sum
    }

    fn call(&mut self, id: NodeId, target: Option<NodeId>, function: &str, args: &[NodeId]) -> Range {
        if let ("dyn", [arg]) = (function, args) {
            let cost = self.cost(*arg).plus(Range::ONE);
            self.copy_sizes(id, *arg);
            return cost;
        }
        let checked = self.checked;
        let mut arg_costs = Vec::with_capacity(args.len());
        let mut arg_nodes = Vec::with_capacity(args.len());
        for arg in args {
            arg_costs.push(self.cost(*arg));
            arg_nodes.push(self.argument(*arg));
        }
        let Some(Reference::Function { name, qualified, overloads }) = checked.reference(id) else {
            return Range::ZERO;
        };
        let target = target.filter(|_| !qualified);
        let target_cost = target.map_or(Range::ZERO, |target| self.cost(target));
        let target_node = target.map(|target| self.argument(target));
        let operands = Operands { nodes: args, known: &arg_nodes, costs: &arg_costs, target: target_node.as_ref() };
        target_cost.plus(self.signatures(id, name, overloads, &operands))
    }

    /// The cost that covers every signature that fits.
    fn signatures(&mut self, id: NodeId, name: &str, overloads: &[usize], operands: &Operands<'_>) -> Range {
        let mut cost = Range::new(u64::MAX, 0);
        let mut size: Option<Range> = None;
        for index in overloads {
            let overload = self.env.library.functions.get(name).and_then(|f| f.overloads.get(*index));
            let overload_id = overload.map_or("", |overload| overload.id.as_str());
            let site =
                CallSite { function: name, overload: overload_id, target: operands.target, args: operands.known };
            let own = overload.and_then(|overload| overload.cost).and_then(|cost| (cost.estimate)(&site));
            let given = own.or_else(|| (self.env.library.cost.estimate)(&site));
            let call = match given {
                Some(call) => {
                    let sum = operands.costs.iter().fold(call.cost, |sum, cost| sum.plus(*cost));
                    CallEstimate { cost: sum, ..call }
                }
                None => self.standard(id, &site, operands.nodes, operands.costs),
            };
            cost = cost.union(call.cost);
            size = match (size, call.size) {
                (Some(a), Some(b)) => Some(a.union(b)),
                (a, b) => a.or(b),
            };
            if let (Some(container), "index_list" | "index_map") = (operands.nodes.first(), overload_id) {
                size = self.entry_sizes(*container).map(|entries| entries.value);
                let step = if overload_id == "index_list" { PathStep::Items } else { PathStep::Values };
                let path = self.path(*container).join(step);
                self.paths.insert(id, path);
            }
            size = size.or_else(|| self.size(id));
        }
        if let Some(size) = size {
            self.computed.insert(id, size);
        }
        cost
    }

    /// The cost by the rules of the language.
    fn standard(&mut self, id: NodeId, site: &CallSite<'_>, args: &[NodeId], arg_costs: &[Range]) -> CallEstimate {
        let sum = arg_costs.iter().fold(Range::ZERO, |sum, cost| sum.plus(*cost));
        let with_args = |cost: Range| CallEstimate::cost(cost.plus(sum));
        let walk = |size: Range| size.scaled(STRING_FACTOR);
        match (site.overload, site.target, site.args) {
            ("string_format", Some(target), _) => with_args(walk(target.size())),
            ("string_to_bytes", _, [arg]) => {
                let size = arg.size();
                with_args(walk(size)).sized(Range::new(size.min, size.max.wrapping_mul(4)))
            }
            ("bytes_to_string", _, [arg]) => {
                let size = arg.size();
                with_args(walk(size)).sized(Range::new(size.min / 4, size.max))
            }
            ("strings_quote", _, [arg]) => {
                let size = arg.size();
                let quoted = Range::new(size.min.wrapping_add(2), size.max.wrapping_mul(2).wrapping_add(2));
                with_args(walk(size)).sized(quoted)
            }
            ("starts_with_string" | "ends_with_string", _, [arg]) => with_args(walk(arg.size())),
            ("in_list", _, [_, list]) => with_args(list.size()),
            ("matches_string", Some(target), [pattern]) => {
                let text = walk(target.size().plus(Range::ONE));
                with_args(text.times(pattern.size().scaled(REGEX_FACTOR)))
            }
            ("contains_string", Some(target), [part]) => with_args(walk(target.size()).times(walk(part.size()))),
            ("logical_or" | "logical_and", ..) => {
                let first = arg_costs.first().copied().unwrap_or(Range::ZERO);
                CallEstimate::cost(Range::new(first.min, sum.max))
            }
            ("conditional", _, [_, truthy, falsy]) => {
                let size = truthy.size().union(falsy.size());
                if let ([_, a, b], [condition, truthy, falsy]) = (args, arg_costs) {
                    let entries = EntrySizes::union(self.entry_sizes(*a), self.entry_sizes(*b));
                    self.set_entries(id, entries);
                    return CallEstimate::cost(condition.plus(truthy.union(*falsy))).sized(size);
                }
                with_args(Range::ONE)
            }
            ("add_string" | "add_bytes" | "add_list", _, [left, right]) => {
                let size = left.size().plus(right.size());
                if let [a, b] = args {
                    let entries = EntrySizes::union(self.entry_sizes(*a), self.entry_sizes(*b));
                    self.set_entries(id, entries);
                }
                let cost = if site.overload == "add_list" { Range::ONE } else { walk(size) };
                with_args(cost).sized(size)
            }
            (overload, _, [left, right])
                if matches!(overload, "equals" | "not_equals") || super::is_text_comparison(overload) =>
            {
                let smaller = left.size().max.min(right.size().max);
                with_args(walk(Range::new(smaller.min(1), smaller)))
            }
            _ => with_args(Range::ONE),
        }
    }

    fn list(&mut self, id: NodeId, elements: &[Element]) -> Range {
        let mut sum = Range::exactly(LIST_COST);
        let mut item = Range::new(if elements.is_empty() { 0 } else { u64::MAX }, 0);
        for element in elements {
            sum = sum.plus(self.cost(element.value));
            item = item.union(self.size_or_unknown(element.value));
        }
        self.set_entries(id, Some(EntrySizes { is_list: true, key: Range::ONE, value: item }));
        sum
    }

    fn map(&mut self, id: NodeId, entries: &[MapEntry]) -> Range {
        let mut sum = Range::exactly(MAP_COST);
        let none = Range::new(if entries.is_empty() { 0 } else { u64::MAX }, 0);
        let (mut key, mut value) = (none, none);
        for entry in entries {
            sum = sum.plus(self.cost(entry.key)).plus(self.cost(entry.value));
            key = key.union(self.size_or_unknown(entry.key));
            value = value.union(self.size_or_unknown(entry.value));
        }
        self.set_entries(id, Some(EntrySizes { is_list: false, key, value }));
        sum
    }

    fn comprehension(&mut self, id: NodeId, c: &Comprehension) -> Range {
        let ast = &self.checked.ast;
        let empty_range = matches!(ast.node(c.range), Node::List { elements } if elements.is_empty());
        let never = matches!(ast.node(c.condition), Node::Literal(Literal::Bool(false)));
        let mut sum = self.cost(c.range).plus(self.cost(c.init));
        if empty_range && never {
            // Nothing is repeated: a name is bound.
            self.push_bound(&c.accumulator, c.init);
            sum = sum.plus(self.cost(c.result));
            self.pop(&c.accumulator);
            self.copy_sizes(id, c.result);
            return sum;
        }
        self.push_bound(&c.accumulator, c.init);
        match &c.second {
            Some(second) => {
                self.push_variable(&c.variable, c.range, Role::Key);
                self.push_variable(second, c.range, Role::Value);
            }
            None => self.push_variable(&c.variable, c.range, Role::Single),
        }
        let turn = self.cost(c.condition).plus(self.cost(c.step));
        self.pop(&c.variable);
        if let Some(second) = &c.second {
            self.pop(second);
        }
        sum = sum.plus(self.cost(c.result));
        self.pop(&c.accumulator);
        let turns = self.size_or_unknown(c.range);
        sum = sum.plus(turns.times(turn));
        match self.checked.ast.node(c.init) {
            Node::Literal(_) => {
                if let Some(size) = self.size(c.init) {
                    self.computed.insert(id, size);
                }
            }
            Node::List { .. } | Node::Map { .. } => {
                self.computed.insert(id, turns);
                let entries = self.entry_sizes(c.step);
                self.set_entries(id, entries);
            }
            _ => {}
        }
        sum
    }

    fn push_bound(&mut self, name: &Arc<str>, value: NodeId) {
        let local = Local { path: self.path(value), size: self.size(value), entries: self.entry_sizes(value) };
        self.locals.entry(name.clone()).or_default().push(local);
    }

    fn push_variable(&mut self, name: &Arc<str>, range: NodeId, role: Role) {
        let entries = self.entry_sizes(range);
        let is_list = entries.map_or(matches!(self.checked.type_of(range), Type::List(_)), |e| e.is_list);
        let (step, size) = match (role, is_list) {
            (Role::Key, true) => (PathStep::Indices, entries.map(|e| e.key)),
            (Role::Key, false) | (Role::Single, false) => (PathStep::Keys, entries.map(|e| e.key)),
            (Role::Value, true) | (Role::Single, true) => (PathStep::Items, entries.map(|e| e.value)),
            (Role::Value, false) => (PathStep::Values, entries.map(|e| e.value)),
        };
        let path = self.path(range).join(step);
        self.locals.entry(name.clone()).or_default().push(Local { path, size, entries: None });
    }

    fn pop(&mut self, name: &str) {
        if let Some(stack) = self.locals.get_mut(name) {
            stack.pop();
        }
    }

    fn path(&self, id: NodeId) -> Path {
        match self.local_at(id) {
            Some(local) => local.path.clone(),
            None => self.paths.get(&id).cloned().unwrap_or_default(),
        }
    }

    fn argument(&mut self, id: NodeId) -> Argument<'c> {
        let path = self.path(id);
        let path = if path.is_accumulated() { Path::default() } else { path };
        let known_size = self.size(id);
        let ty = self.checked.type_of(id);
        let is_container = matches!(ty, Type::List(_) | Type::Map(_) | Type::Opaque(..) | Type::Type(_));
        let element_size = if is_container { self.sizes.of_elements(&path) } else { None };
        let literal = match self.checked.ast.node(id) {
            Node::Literal(literal) => Some(literal),
            _ => None,
        };
        Argument { ty, known_size, element_size, literal }
    }

    fn size_or_unknown(&mut self, id: NodeId) -> Range {
        self.size(id).unwrap_or(Range::UNKNOWN)
    }

    fn size(&mut self, id: NodeId) -> Option<Range> {
        if let Some(size) = self.computed.get(&id) {
            return Some(*size);
        }
        if let Some(size) = written_size(self.checked.ast.node(id)) {
            return Some(Range::exactly(size));
        }
        if let Some(size) = self.sizes.at(&self.path(id)) {
            self.computed.insert(id, size);
            return Some(size);
        }
        if is_scalar(self.checked.type_of(id)) {
            return Some(Range::ONE);
        }
        self.local_at(id).and_then(|local| local.size)
    }

    fn entry_sizes(&self, id: NodeId) -> Option<EntrySizes> {
        self.entries.get(&id).copied().or_else(|| self.local_at(id).and_then(|local| local.entries))
    }

    fn set_entries(&mut self, id: NodeId, entries: Option<EntrySizes>) {
        if let Some(entries) = entries {
            self.entries.insert(id, entries);
        }
    }

    fn copy_sizes(&mut self, to: NodeId, from: NodeId) {
        if let Some(size) = self.size(from) {
            self.computed.insert(to, size);
        }
        let entries = self.entry_sizes(from);
        self.set_entries(to, entries);
    }
}

#[derive(Clone, Copy)]
enum Role {
    Key,
    Value,
    Single,
}

fn written_size(node: &Node) -> Option<u64> {
    Some(match node {
        Node::Literal(Literal::String(text)) => text.chars().count() as u64,
        Node::Literal(Literal::Bytes(bytes)) => bytes.len() as u64,
        Node::Literal(_) => 1,
        Node::List { elements } => elements.len() as u64,
        Node::Map { entries } => entries.len() as u64,
        _ => return None,
    })
}

/// Whether values of the type have one size.
fn is_scalar(ty: &Type) -> bool {
    match ty {
        Type::Bool | Type::Int | Type::Uint | Type::Double | Type::Duration | Type::Timestamp => true,
        _ => ty.optional_inner().is_some_and(is_scalar),
    }
}
