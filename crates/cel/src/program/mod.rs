//! Programs: expressions ready to run, and running them.

mod attribute;
mod eval;
mod fold;
mod operator;
mod plan;
mod planner;

use crate::check::Checked;
use crate::env::Env;
use crate::error::EvalError;
use crate::syntax::Ast;
use crate::value::Val;
use plan::Plan;
use std::sync::Arc;

/// What `+` makes of two values.
pub(crate) fn add_values<'a>(left: Val<'a>, right: Val<'a>) -> Result<Val<'a>, EvalError> {
    operator::arithmetic(plan::Arithmetic::Add, left, right)
}

/// Why a checked expression cannot be planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(pub(crate) String);

/// An expression ready to run, any number of times, from any thread.
#[derive(Debug)]
pub struct Program {
    plan: Plan,
    variables: Vec<Arc<str>>,
    slots: usize,
}

/// Values for variables. Nothing is copied: values borrow.
#[derive(Debug, Clone, Default)]
pub struct Bindings<'a> {
    /// Rules have one or two variables: they need no memory of their own.
    near: [Option<(&'a str, Val<'a>)>; 2],
    far: Vec<(&'a str, Val<'a>)>,
}

/// How an evaluation ended and what it cost.
#[derive(Debug, Clone)]
pub struct Outcome<'a> {
    /// The value, or why there is none.
    pub value: Result<Val<'a>, EvalError>,
    /// What was spent, also when it failed.
    pub cost: u64,
}

impl<'a> Bindings<'a> {
    /// No variables.
    pub fn new() -> Self {
        Bindings::default()
    }

    /// Adds a variable.
    pub fn with(mut self, name: &'a str, value: Val<'a>) -> Self {
        match self.near.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some((name, value)),
            None => self.far.push((name, value)),
        }
        self
    }

    /// The value of a variable; of one bound twice, the later.
    fn get(&self, name: &str) -> Option<&Val<'a>> {
        let mut all = self.near.iter().flatten().chain(&self.far).rev();
        all.find(|(bound, _)| *bound == name).map(|(_, value)| value)
    }
}

impl Program {
    /// Plans a checked expression.
    pub fn new(checked: &Checked, env: &Env) -> Result<Program, PlanError> {
        planner::plan(&checked.ast, Some(checked), env)
    }

    /// Plans an expression that was only parsed: everything is looked up while running.
    pub fn unchecked(ast: &Ast, env: &Env) -> Result<Program, PlanError> {
        planner::plan(ast, None, env)
    }

    /// Runs the program. Past `limit` it is stopped.
    pub fn run<'a>(&'a self, bindings: &Bindings<'a>, limit: u64) -> Outcome<'a> {
        let mut run = eval::Run {
            bindings,
            slots: vec![eval::Slot::Empty; self.slots],
            names: &self.variables,
            regexes: Vec::new(),
            cost: 0,
            limit,
        };
        let value = run.eval(&self.plan);
        Outcome { value, cost: run.cost }
    }
}
