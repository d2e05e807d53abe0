//! Rules of schemas: compiling them, running them, and saying what is wrong.
//!
//! Texts are those that a client reads in a field error's detail. Where the
//! error belongs in an object is not known here.

use super::{ESTIMATED_EXPRESSION_LIMIT, library, schema};
use crate::check::Checked;
use crate::decl::DeclType;
use crate::env::Env;
use crate::error::EvalError;
use crate::program::{Bindings, Program};
use crate::types::Type;
use crate::value::Val;
use crate::{CompileError, compile, cost};
use std::sync::Arc;

const SELF: &str = "self";
const OLD_SELF: &str = "oldSelf";

/// What the rules of one schema node are compiled against.
#[derive(Debug)]
pub struct RuleEnv {
    decl: Arc<DeclType>,
    env: Env,
    optional_env: Env,
}

/// A rule ready to run.
#[derive(Debug)]
pub struct Rule {
    /// The program.
    pub program: Program,
    /// The most that one run is estimated to cost.
    pub max_cost: u64,
    /// How often it may run in one request, when nothing around it bounds that.
    pub max_cardinality: u64,
    /// Whether it compares with an old value.
    pub uses_old_self: bool,
}

/// Why an expression is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RuleError(String);

/// How a rule ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleVerdict {
    /// It holds.
    Passed,
    /// It does not; the value is not to be shown.
    Failed { detail: String },
    /// It could not be decided.
    Undecided { detail: String },
    /// It was too expensive: no rule may run after it.
    TooExpensive { detail: String },
}

impl RuleEnv {
    /// The environment for rules on values of this type.
    pub fn new(decl: DeclType) -> RuleEnv {
        let decl = Arc::new(decl);
        let base = Env::new(library()).with_sizes(decl.clone()).with_data(SELF, &decl);
        let optional_env = base.clone().with_variable(OLD_SELF, Type::optional(decl.static_type()));
        let env = base.with_data(OLD_SELF, &decl);
        RuleEnv { decl, env, optional_env }
    }

    /// The type of the values.
    pub fn decl(&self) -> &Arc<DeclType> {
        &self.decl
    }

    /// The environment itself, where `oldSelf` is a value like `self`.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// Compiles a rule.
    pub fn rule(&self, text: &str, optional_old_self: bool) -> Result<Rule, RuleError> {
        let not_bool = "cel expression must evaluate to a bool";
        self.expression(text, optional_old_self, &Type::Bool, "", not_bool)
    }

    /// Compiles an expression that yields a message.
    pub fn message(&self, text: &str, optional_old_self: bool) -> Result<Rule, RuleError> {
        let not_string = "messageExpression must evaluate to a string";
        self.expression(text, optional_old_self, &Type::String, "messageExpression ", not_string)
    }

    fn expression(
        &self,
        text: &str,
        optional_old_self: bool,
        output: &Type,
        kind: &str,
        wrong_output: &str,
    ) -> Result<Rule, RuleError> {
        let env = if optional_old_self { &self.optional_env } else { &self.env };
        let failed = |issues: CompileError| RuleError(format!("{kind}compilation failed: {issues}"));
        let checked: Checked = compile(text, env).map_err(failed)?;
        if checked.output() != output {
            return Err(RuleError(wrong_output.to_owned()));
        }
        let what = if kind.is_empty() { "program " } else { kind };
        let program =
            Program::new(&checked, env).map_err(|error| RuleError(format!("{what}instantiation failed: {error}")))?;
        Ok(Rule {
            program,
            max_cost: cost::estimate(&checked, env).max,
            max_cardinality: schema::max_cardinality(&self.decl),
            uses_old_self: checked.uses(OLD_SELF),
        })
    }
}

impl Rule {
    /// Decides the rule for a value. `shown` is its message, or its text if it has none.
    pub fn decide(
        &self,
        bindings: &Bindings<'_>,
        limit: u64,
        shown: &str,
        message: Option<&str>,
    ) -> (RuleVerdict, u64) {
        let outcome = self.program.run(bindings, limit);
        let verdict = match outcome.value {
            Ok(Val::Bool(true)) => RuleVerdict::Passed,
            Ok(_) => {
                let detail = message.map_or_else(|| format!("failed rule: {shown}"), str::to_owned);
                RuleVerdict::Failed { detail }
            }
            Err(error) => undecided(&error, message.unwrap_or(shown)),
        };
        (verdict, outcome.cost)
    }
}

fn undecided(error: &EvalError, shown: &str) -> RuleVerdict {
    if *error == EvalError::CostLimit {
        let why = "no further validation rules will be run due to call cost exceeds limit for rule";
        return RuleVerdict::TooExpensive { detail: format!("'{error}': {why}: {shown}") };
    }
    if error.is_no_such_overload() {
        let why = "call arguments did not match a supported operator, function or macro signature for rule";
        return RuleVerdict::Undecided { detail: format!("'{error}': {why}: {shown}") };
    }
    RuleVerdict::Undecided { detail: format!("{error} evaluating rule: {shown}") }
}

/// What to say of an estimate over its limit: `name` is "estimated rule cost" or the like.
pub fn excess(name: &str, cost: u64, limit: u64) -> Option<String> {
    if cost <= limit {
        return None;
    }
    let factor = cost as f64 / limit as f64;
    let factor = match () {
        () if factor > 100.0 => "more than 100x".to_owned(),
        // With one decimal this would read as no excess at all.
        () if factor < 1.5 => format!("{factor:.6}x"),
        () => format!("{factor:.1}x"),
    };
    Some(format!(
        "{name} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    ))
}

/// What to say of a rule whose estimate, taken as often as it may run, is over the limit of one expression.
pub fn rule_excess(max_cost: u64, cardinality: u64) -> Option<String> {
    excess("estimated rule cost", max_cost.saturating_mul(cardinality), ESTIMATED_EXPRESSION_LIMIT)
}
