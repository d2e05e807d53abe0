//! Rules of a schema: compiled once, run on every write.
//!
//! Owns the order in which rules run, the budget they share and what is said of a rule that fails. A rule that compares with
//! the old value runs where there is one; any other that fails on a value that did not change is told as a warning.

use pawl_cel::k8s::rules::{Rule, RuleEnv, RuleError, RuleVerdict};
use pawl_cel::k8s::{CALL_COST_LIMIT, MAX_MESSAGE_BYTES, schema};
use pawl_cel::value::{Map, Val};
use pawl_cel::{Bindings, EvalError};
use pawl_meta::{ErrorKind, FieldError, go};
use serde_json::Value;

use crate::equality;
use crate::node::Others;
use crate::paths::field_path;
use crate::place::{PathStep, Place};
use crate::problem::{MOST_TOLD, Ratcheted, WHOLE, truncated};
use crate::props::{Props, RuleProps};
use crate::view::View;

const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";
const MESSAGE_OUT_OF_BUDGET: &str =
    "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run";

/// The rules of one level.
#[derive(Debug)]
pub(crate) struct Rules {
    env: RuleEnv,
    list: Vec<CompiledRule>,
}

#[derive(Debug)]
struct CompiledRule {
    props: RuleProps,
    /// Nothing for a rule without text.
    rule: Option<Result<Rule, RuleError>>,
    message: Option<Rule>,
    /// Where the error is said to be, below the value.
    field: Option<String>,
}

impl Rules {
    /// Compiles the rules of a level; nothing where there are none or where expressions cannot see the value.
    pub fn compile(props: &Props, is_root: bool) -> Option<Rules> {
        let source = props.source.as_deref()?;
        let env = RuleEnv::new(schema::decl_type(source, is_root || props.embedded, "self")?);
        let list = props.rules.iter().map(|rule| CompiledRule::compile(rule, props, &env)).collect();
        Some(Rules { env, list })
    }

    pub fn compare_with_old(&self) -> bool {
        self.list.iter().any(CompiledRule::uses_old_self)
    }
}

impl CompiledRule {
    fn compile(rule: &RuleProps, schema: &Props, env: &RuleEnv) -> CompiledRule {
        let is_optional = rule.has_optional_old_self();
        let compiled = (!rule.rule.trim().is_empty()).then(|| env.rule(&rule.rule, is_optional));
        let wants_message = matches!(compiled, Some(Ok(_))) && !rule.message_expression.is_empty();
        let message = if wants_message { env.message(&rule.message_expression, is_optional).ok() } else { None };
        let field = (!rule.field_path.is_empty())
            .then(|| field_path(schema, &rule.field_path, true).ok())
            .flatten()
            .map(|(path, _)| path)
            .filter(|path| !path.is_empty());
        CompiledRule { props: rule.clone(), rule: compiled, message, field }
    }

    fn uses_old_self(&self) -> bool {
        matches!(&self.rule, Some(Ok(rule)) if rule.uses_old_self)
    }

    /// What stands for the rule in errors.
    fn shown(&self) -> &str {
        let message = self.props.message.trim();
        if self.props.message.is_empty() { self.props.rule.trim() } else { message }
    }
}

/// How rules are run.
pub(crate) struct Run {
    /// Whether what is wrong with an unchanged value is only warned of.
    pub is_ratcheting: bool,
    /// Under a wholly valid old object, only rules on what changed and rules that compare are run.
    pub only_changes: bool,
    pub budget: u64,
    pub spent: u64,
    /// Whether something was too expensive to go on.
    pub is_stopped: bool,
    pub errors: Vec<FieldError>,
    pub warnings: Vec<String>,
    pub ratcheted: Vec<Ratcheted>,
    /// The path that all others begin with.
    pub base: String,
}

/// Nothing may run any more.
struct Stopped;

impl Run {
    pub fn new(budget: u64, is_ratcheting: bool) -> Run {
        Run {
            is_ratcheting,
            only_changes: false,
            budget,
            spent: 0,
            is_stopped: false,
            errors: Vec::new(),
            warnings: Vec::new(),
            ratcheted: Vec::new(),
            base: String::new(),
        }
    }

    /// Whether there is so much to tell that no more rules need to be run.
    fn is_full(&self) -> bool {
        self.errors.len() >= MOST_TOLD
    }

    /// Runs all rules of a value and of what is below it. `old` is what `oldSelf` is for its rules.
    pub fn check(&mut self, place: &Place<'_, '_>, old: Option<View<'_>>) {
        self.is_stopped = self.descend(place, old).is_err();
        if self.is_full() {
            self.errors.push(truncated());
        }
    }

    fn descend(&mut self, place: &Place<'_, '_>, old: Option<View<'_>>) -> Result<(), Stopped> {
        let (node, value) = (place.node(), place.value());
        if value.is_null() || !node.below.rules {
            return Ok(());
        }
        let is_known = self.only_changes && place.is_unchanged();
        if is_known && !node.below.transition_rules {
            return Ok(());
        }
        if let Some(rules) = &node.rules {
            self.level(place, rules, old.filter(|old| !old.is_null()), is_known)?;
        }
        if let Some(items) = value.array() {
            self.items(place, items, old)?;
        }
        let Some(members) = value.object() else { return Ok(()) };
        let old_of = |name: &str| old.and_then(|old| old.get(name)).map(View::from);
        if let Others::Schema(schema) = &node.additional
            && schema.below.rules
        {
            for (name, value) in members {
                self.descend(&place.below(PathStep::Key(name), schema, value), old_of(name))?;
            }
        }
        for (name, value) in members {
            if let Some(property) = node.property(name) {
                self.descend(&place.below(PathStep::Field(name), property, value), old_of(name))?;
            }
        }
        Ok(())
    }

    fn items<'v>(&mut self, place: &Place<'_, 'v>, items: &'v [Value], old: Option<View<'_>>) -> Result<(), Stopped> {
        let node = place.node();
        let Some(item) = node.item.as_deref().filter(|item| item.below.rules) else { return Ok(()) };
        let old = old.and_then(View::array).filter(|_| item.below.transition_rules);
        let pairs = match (node.map_keys(), old) {
            (Some(keys), Some(old)) => equality::pair(keys, items, old),
            _ => Vec::new(),
        };
        for (index, value) in items.iter().enumerate() {
            let old = pairs.get(index).copied().flatten().map(View::from);
            self.descend(&place.below(PathStep::Index(index), item, value), old)?;
        }
        Ok(())
    }

    fn level(
        &mut self,
        place: &Place<'_, '_>,
        rules: &Rules,
        old: Option<View<'_>>,
        is_known: bool,
    ) -> Result<(), Stopped> {
        let bad = go::quote(&place.node().kind);
        if self.spent >= self.budget {
            self.refuse(place, None, Some(bad.clone()), OUT_OF_BUDGET);
            return Err(Stopped);
        }
        let (new, old) = (read(place.value(), &rules.env), old.map(|old| read(old, &rules.env)));
        for (index, rule) in rules.list.iter().enumerate() {
            let compiled = match &rule.rule {
                None => continue,
                Some(Ok(compiled)) => compiled,
                Some(Err(error)) => {
                    self.refuse(place, None, Some(bad.clone()), &format!("rule compile error: {error}"));
                    continue;
                }
            };
            if is_known && !compiled.uses_old_self {
                continue;
            }
            let is_optional = rule.props.has_optional_old_self();
            if compiled.uses_old_self && old.is_none() && !(is_optional && self.is_ratcheting) {
                continue;
            }
            if self.is_full() {
                return Err(Stopped);
            }
            let at = Turn { place, rule, compiled, index, bad: &bad };
            self.turn(&at, new.as_ref(), old.as_ref())?;
        }
        Ok(())
    }

    /// One rule on one value.
    fn turn(&mut self, at: &Turn<'_, '_>, new: Read<'_>, old: Option<&ReadResult<'_>>) -> Result<(), Stopped> {
        let is_optional = at.rule.props.has_optional_old_self();
        let (verdict, cost) = match bind(new, old, is_optional, at.compiled.uses_old_self) {
            Ok(bindings) => at.compiled.decide(&bindings, CALL_COST_LIMIT, at.rule.shown(), None),
            Err(error) => {
                let detail = format!("{error} evaluating rule: {}", at.rule.shown());
                (RuleVerdict::Undecided { detail }, 1)
            }
        };
        if cost > self.budget.saturating_sub(self.spent) {
            self.refuse(at.place, None, Some(at.bad.clone()), OUT_OF_BUDGET);
            return Err(Stopped);
        }
        self.spent += cost;
        match verdict {
            RuleVerdict::Passed => Ok(()),
            RuleVerdict::TooExpensive { detail } => {
                self.refuse(at.place, None, Some(at.bad.clone()), &detail);
                Err(Stopped)
            }
            RuleVerdict::Undecided { detail } => {
                let error = self.error(at.place, None, Some(at.bad.clone()), &detail);
                self.tell(at, error);
                Ok(())
            }
            RuleVerdict::Failed { .. } => {
                let detail = match self.message(at, new, old) {
                    Ok(Some(message)) => message,
                    Ok(None) if at.rule.props.message.is_empty() => format!("failed rule: {}", at.rule.shown()),
                    Ok(None) => at.rule.shown().to_owned(),
                    Err(detail) => {
                        let error = self.error(at.place, at.rule.field.as_deref(), Some(at.bad.clone()), &detail);
                        self.tell(at, error);
                        return Err(Stopped);
                    }
                };
                let error = self.failure(at, detail);
                self.tell(at, error);
                Ok(())
            }
        }
    }

    /// What the rule's own expression says; nothing where it says nothing usable, an error where it may not be asked.
    fn message(
        &mut self,
        at: &Turn<'_, '_>,
        new: Read<'_>,
        old: Option<&ReadResult<'_>>,
    ) -> Result<Option<String>, String> {
        let Some(expression) = &at.rule.message else { return Ok(None) };
        // Here the old value is the plain one, even where the rule sees it as an optional.
        let Ok(bindings) = bind(new, old, false, old.is_some()) else { return Ok(None) };
        let outcome = expression.program.run(&bindings, CALL_COST_LIMIT);
        if outcome.cost > self.budget.saturating_sub(self.spent) {
            return Err(MESSAGE_OUT_OF_BUDGET.to_owned());
        }
        let text = match outcome.value {
            Ok(Val::String(text)) => text.trim().to_owned(),
            Ok(_) => String::new(),
            Err(EvalError::CostLimit) => {
                let expression = go::quote(&at.rule.props.message_expression);
                let why =
                    "no further validation rules will be run due to call cost exceeds limit for messageExpression";
                return Err(format!("{why}: {expression}"));
            }
            Err(_) => String::new(),
        };
        self.spent += outcome.cost;
        let is_usable = !text.is_empty() && text.len() <= MAX_MESSAGE_BYTES && !text.contains('\n');
        Ok(is_usable.then_some(text))
    }

    /// The error of a rule that does not hold.
    fn failure(&self, at: &Turn<'_, '_>, detail: String) -> FieldError {
        let node = at.place.node();
        let is_compound = matches!(&*node.kind, "object" | "array");
        let bad = if is_compound { None } else { Some(at.place.value().shown()) };
        let kind = match at.rule.props.reason.as_deref() {
            Some("FieldValueForbidden") => ErrorKind::Forbidden,
            Some("FieldValueRequired") => ErrorKind::Required,
            Some("FieldValueDuplicate") => ErrorKind::Duplicate,
            _ => ErrorKind::Invalid,
        };
        let mut error = self.error(at.place, at.rule.field.as_deref(), bad, &detail);
        error.kind = kind;
        match kind {
            ErrorKind::Forbidden | ErrorKind::Required => error.bad_value = None,
            // Upstream has no room for words here.
            ErrorKind::Duplicate => error.detail = String::new(),
            _ => {}
        }
        error
    }

    fn error(&self, place: &Place<'_, '_>, below: Option<&str>, bad: Option<String>, detail: &str) -> FieldError {
        let mut field = self.base.clone();
        for part in [place.path().as_str(), below.unwrap_or_default()] {
            if !field.is_empty() && !part.is_empty() && !part.starts_with('[') {
                field.push('.');
            }
            field.push_str(part);
        }
        if field.is_empty() {
            WHOLE.clone_into(&mut field);
        }
        FieldError { kind: ErrorKind::Invalid, field, bad_value: bad, detail: detail.to_owned() }
    }

    fn refuse(&mut self, place: &Place<'_, '_>, below: Option<&str>, bad: Option<String>, detail: &str) {
        let error = self.error(place, below, bad, detail);
        self.errors.push(error);
    }

    /// Refuses, or only warns where the value is what it was and the rule says nothing about changes.
    fn tell(&mut self, at: &Turn<'_, '_>, error: FieldError) {
        if !self.is_ratcheting || at.compiled.uses_old_self || !at.place.is_unchanged() {
            self.errors.push(error);
            return;
        }
        if self.warnings.len() >= MOST_TOLD {
            return;
        }
        self.warnings.push(error.to_string());
        let schema_path = at.place.schema_path();
        let rule = match schema_path.as_str() {
            "" => format!("x-kubernetes-validations[{}]", at.index),
            path => format!("{path}.x-kubernetes-validations[{}]", at.index),
        };
        self.ratcheted.push(Ratcheted { path: error.field.clone(), rule, detail: error.body() });
    }
}

/// A rule whose turn it is.
struct Turn<'t, 'v> {
    place: &'t Place<'t, 'v>,
    rule: &'t CompiledRule,
    compiled: &'t Rule,
    index: usize,
    /// What evaluation errors show in place of the value.
    bad: &'t String,
}

type ReadResult<'v> = Result<Val<'v>, EvalError>;
type Read<'v> = Result<&'v Val<'v>, &'v EvalError>;

fn read<'v>(value: View<'v>, env: &'v RuleEnv) -> ReadResult<'v> {
    match value {
        View::Value(value) => Val::from_json(value, env.decl()),
        View::Whole(object) => Ok(Val::Map(Map::Json(object, env.decl()))),
    }
}

fn bind<'v>(
    new: Read<'v>,
    old: Option<&'v ReadResult<'v>>,
    is_optional: bool,
    uses_old: bool,
) -> Result<Bindings<'v>, EvalError> {
    let mut bindings = Bindings::new().with("self", new.map_err(Clone::clone)?.clone());
    if uses_old {
        let old = old.cloned().transpose()?;
        bindings = match (old, is_optional) {
            (Some(old), true) => bindings.with("oldSelf", Val::some(old)),
            (None, true) => bindings.with("oldSelf", Val::Optional(None)),
            (Some(old), false) => bindings.with("oldSelf", old),
            (None, false) => bindings,
        };
    }
    Ok(bindings)
}

/// The estimates and complaints that a definition is judged by.
pub(crate) struct Estimate {
    pub rule: Option<Result<Rule, RuleError>>,
    pub message: Option<Result<Rule, RuleError>>,
}

/// Compiles the rules of a level for judging its definition; nothing where expressions cannot see the value.
pub(crate) fn estimates(props: &Props, is_root: bool) -> Option<Vec<Estimate>> {
    let source = props.source.as_deref()?;
    let env = RuleEnv::new(schema::decl_type(source, is_root || props.embedded, "self")?);
    let estimate = |rule: &RuleProps| {
        let is_optional = rule.has_optional_old_self();
        let compiled = (!rule.rule.trim().is_empty()).then(|| env.rule(&rule.rule, is_optional));
        let wants_message = matches!(compiled, Some(Ok(_))) && !rule.message_expression.is_empty();
        let message = wants_message.then(|| env.message(&rule.message_expression, is_optional));
        Estimate { rule: compiled, message }
    };
    Some(props.rules.iter().map(estimate).collect())
}
