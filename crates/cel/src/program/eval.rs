//! Running a plan.
//!
//! A tree walk. Every step charges its cost when it is done, also when it
//! failed, because that is how the reference counts.

use super::Bindings;
use super::plan::{Attribute, Call, Item, MapItem, Plan, Target};
use crate::error::EvalError;
use crate::function::{Actual, Overload, Run as Runner};
use crate::value::{Key, Map, Val};
use regex::Regex;
use std::collections::BTreeMap;
use std::sync::Arc;

pub type Evaluated<'a> = Result<Val<'a>, EvalError>;

/// The place of a comprehension's variable.
#[derive(Debug, Clone)]
pub enum Slot<'a> {
    Empty,
    /// Data that cannot be read fails when it is used, not when it is bound.
    Value(Evaluated<'a>),
    /// Found when first used.
    Lazy(&'a Plan),
}

/// The state of one evaluation.
pub struct Run<'a, 'b> {
    pub bindings: &'b Bindings<'a>,
    pub names: &'a [Arc<str>],
    pub slots: Vec<Slot<'a>>,
    /// Expressions that were not constant, compiled once per evaluation.
    pub regexes: Vec<(String, Regex)>,
    pub cost: u64,
    pub limit: u64,
}

impl<'a, 'b> Run<'a, 'b> {
    /// The value bound to a variable.
    #[inline]
    pub fn variable(&self, index: usize) -> Option<&'b Val<'a>> {
        self.bindings.get(self.names.get(index)?)
    }

    /// Adds to the cost; past the limit everything ends.
    #[inline]
    pub fn charge(&mut self, cost: u64) -> Result<(), EvalError> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limit { Err(EvalError::CostLimit) } else { Ok(()) }
    }

    pub fn eval(&mut self, plan: &'a Plan) -> Evaluated<'a> {
        match plan {
            Plan::Constant(value) => Ok(borrowed(value)),
            Plan::Attribute(attribute) => self.attribute(attribute),
            Plan::Has(attribute) => self.has(attribute),
            Plan::And(terms) => self.logical(terms, false),
            Plan::Or(terms) => self.logical(terms, true),
            Plan::Not(operand) => self.not(operand),
            Plan::Negate(operand) => self.negate(operand),
            Plan::Equal { sides, negated, cost } => self.equal(sides, *negated, *cost),
            Plan::Compare { sides, operator, cost } => self.compare(sides, *operator, *cost),
            Plan::Arithmetic { sides, operator, cost } => self.arithmetic(sides, *operator, *cost),
            Plan::In { sides, cost } => self.contains(sides, *cost),
            Plan::Member { value, list } => self.member(value, list),
            Plan::Call(call) => self.call(call),
            Plan::OptionalOr { sides, unwrap } => self.optional_or(sides, *unwrap),
            Plan::List(items) => self.list(items),
            Plan::Map(items) => self.map(items),
            Plan::Fold(fold) => self.fold(fold),
            Plan::Unknown(function) => Err(EvalError::new(format!("no such overload: {function}"))),
        }
    }

    #[inline]
    fn attribute(&mut self, attribute: &'a Attribute) -> Evaluated<'a> {
        let value = self.resolve(attribute);
        if !attribute.is_conditional() {
            self.charge(1)?;
        }
        value
    }

    fn logical(&mut self, terms: &'a [Plan; 2], decisive: bool) -> Evaluated<'a> {
        let mut failure = None;
        for term in terms {
            match self.eval(term) {
                Ok(Val::Bool(value)) if value == decisive => return Ok(Val::Bool(decisive)),
                Ok(Val::Bool(_)) => {}
                Err(EvalError::CostLimit) => return Err(EvalError::CostLimit),
                Err(error) => failure = failure.or(Some(error)),
                Ok(_) => failure = failure.or(Some(EvalError::NO_OVERLOAD)),
            }
        }
        failure.map_or(Ok(Val::Bool(!decisive)), Err)
    }

    fn optional_or(&mut self, sides: &'a [Plan; 2], unwrap: bool) -> Evaluated<'a> {
        let [left, right] = sides;
        match self.eval(left)? {
            Val::Optional(Some(value)) if unwrap => Ok((*value).clone()),
            Val::Optional(None) => self.eval(right),
            other => Ok(other),
        }
    }

    fn list(&mut self, items: &'a [Item]) -> Evaluated<'a> {
        let list = self.items(items);
        self.charge(crate::cost::LIST_COST)?;
        list.map(Val::list)
    }

    fn items(&mut self, items: &'a [Item]) -> Result<Vec<Val<'a>>, EvalError> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            let value = self.eval(&item.value)?;
            match (item.optional, value) {
                (false, value) => values.push(value),
                (true, Val::Optional(Some(value))) => values.push((*value).clone()),
                (true, Val::Optional(None)) => {}
                (true, value) => {
                    let message = format!("cannot initialize optional list element from non-optional value {value}");
                    return Err(EvalError::new(message));
                }
            }
        }
        Ok(values)
    }

    fn map(&mut self, items: &'a [MapItem]) -> Evaluated<'a> {
        let map = self.entries(items);
        self.charge(crate::cost::MAP_COST)?;
        map.map(|entries| Val::Map(Map::from(entries)))
    }

    fn entries(&mut self, items: &'a [MapItem]) -> Result<BTreeMap<Key<'a>, Val<'a>>, EvalError> {
        let mut entries = BTreeMap::new();
        for item in items {
            let key_value = self.eval(&item.key)?;
            let value = self.eval(&item.value)?;
            let key = Key::new(&key_value)
                .ok_or_else(|| EvalError::new(format!("unsupported key type: {}", key_value.type_name())))?;
            match (item.optional, value) {
                (false, value) => entries.insert(key, value),
                (true, Val::Optional(Some(value))) => entries.insert(key, (*value).clone()),
                (true, Val::Optional(None)) => entries.remove(&key),
                (true, value) => {
                    let message = format!("cannot initialize optional entry '{key}' from non-optional value {value}");
                    return Err(EvalError::new(message));
                }
            };
        }
        Ok(entries)
    }

    /// Charges for a step with two operands, whichever of them failed.
    pub fn charge_for(
        &mut self,
        cost: Option<Actual>,
        args: &[&Evaluated<'a>; 2],
        result: Option<&Val<'a>>,
    ) -> Result<(), EvalError> {
        match cost {
            None => self.charge(1),
            Some(cost) => {
                let sized = args.map(|arg| arg.as_ref().ok().cloned().unwrap_or(Val::Null));
                self.charge(cost(&sized, result))
            }
        }
    }

    fn call(&mut self, call: &'a Call) -> Evaluated<'a> {
        let mut failure = None;
        let mut args = Vec::with_capacity(call.args.len());
        for (index, arg) in call.args.iter().enumerate() {
            match self.eval(arg) {
                Ok(value) => args.push(value),
                Err(EvalError::CostLimit) => return Err(EvalError::CostLimit),
                Err(error) => {
                    if call.stops_at_error && index + 1 < call.args.len() {
                        return Err(error);
                    }
                    failure = failure.or(Some(error));
                    // Stands in for the failure where costs are counted; nothing else looks at it.
                    args.push(Val::Null);
                }
            }
        }
        if let Some(before) = call.before
            && failure.is_none()
            && self.cost.saturating_add(before(&args)) > self.limit
        {
            return Err(EvalError::CostLimit);
        }
        let result = match failure {
            Some(error) => Err(error),
            None => self.invoke(call, &args),
        };
        let cost = call.cost.map_or(1, |cost| cost(&args, result.as_ref().ok()));
        self.charge(cost)?;
        result
    }

    fn invoke(&mut self, call: &'a Call, args: &[Val<'a>]) -> Evaluated<'a> {
        let run = match &call.target {
            Target::One { run, guard } => {
                if guard.as_ref().is_some_and(|overload| !overload.accepts(args)) {
                    return Err(no_overload(&call.function, args));
                }
                *run
            }
            Target::Any(overloads) => match overloads.iter().find(|overload| overload.accepts(args)) {
                Some(Overload { run, .. }) => *run,
                None => return Err(no_overload(&call.function, args)),
            },
        };
        match run {
            Runner::Plain(function) => function(args),
            Runner::Regex(function) => match (&call.regex, args.get(1)) {
                (Some(regex), _) => function(regex, args),
                (None, Some(Val::String(pattern))) => {
                    let regex = self.regex(pattern)?;
                    function(&regex, args)
                }
                _ => Err(EvalError::NO_OVERLOAD),
            },
            Runner::BuiltIn => Err(EvalError::NO_OVERLOAD),
        }
    }

    fn regex(&mut self, pattern: &str) -> Result<Regex, EvalError> {
        if let Some((_, regex)) = self.regexes.iter().find(|(known, _)| known == pattern) {
            return Ok(regex.clone());
        }
        let regex = crate::library::regex::compile(pattern).map_err(EvalError::new)?;
        self.regexes.push((pattern.to_owned(), regex.clone()));
        Ok(regex)
    }
}

fn no_overload(function: &str, args: &[Val<'_>]) -> EvalError {
    let types: Vec<&str> = args.iter().map(Val::type_name).collect();
    EvalError::new(format!("no such overload: {function}({})", types.join(", ")))
}

/// A constant is lent by the program; only containers share their memory.
fn borrowed<'a>(value: &'a Val<'static>) -> Val<'a> {
    match value {
        Val::String(text) => Val::string(&**text),
        Val::Type(name) => Val::Type((&**name).into()),
        other => other.clone(),
    }
}
