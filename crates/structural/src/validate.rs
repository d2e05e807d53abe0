//! A write against its schema: everything that is found, in the order in which clients know it.

use std::cell::LazyCell;
use std::collections::HashSet;
use std::time::{Duration, Instant};

use pawl_cel::k8s::OBJECT_COST_BUDGET;
use pawl_meta::object::Object;
use pawl_meta::{ErrorKind, Errors, FieldError, FieldPath};
use serde_json::Value;

use crate::embedded::Embedded;
use crate::equality;
use crate::lists;
use crate::node::Node;
use crate::place::{Clock, Place};
use crate::problem::{Holds, MOST_TOLD, Problem, Ratcheted, Report, WHOLE, truncated};
use crate::rules::Run;
use crate::scale::{self, Asked};
use crate::view::View;
use crate::{Structural, values};

const RULES_SKIPPED: &str = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

/// A write to be judged.
pub struct Write<'a> {
    pub new: &'a Object,
    /// On update: the old object in the same version, pruned and filled in by the same schema.
    pub old: Option<&'a Object>,
    pub part: Part,
    /// The gate `CRDValidationRatcheting`. Off, an update is judged like a creation, but for rules that compare.
    pub ratcheting: bool,
    /// What was found wrong before, with metadata: some of it keeps rules from being run.
    pub earlier: &'a Errors,
    /// The rules of metadata, for embedded objects: the object, the path of its metadata.
    pub embedded_metadata: &'a dyn Fn(&Object, &FieldPath, &mut Errors),
    /// The mark of the old object, if it has one of this schema.
    pub valid_before: Option<&'a Mark>,
}

/// Which part of an object a write may change, and is judged for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Whole,
    /// `/status`: keywords are checked below `status` only, as upstream does.
    Status,
}

/// An object was wholly valid under a schema, with nothing let pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What its rules cost, at most.
    pub cost: u64,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Outcome {
    pub errors: Errors,
    /// Rules that an unchanged value breaks, as they are told to the client.
    pub warnings: Vec<String>,
    /// Everything that was let pass because it did not change.
    pub ratcheted: Vec<Ratcheted>,
    /// What rules cost, at most.
    pub cost: u64,
    /// How long comparing with the old object took.
    pub compared: Duration,
    /// How long rules took, where there are any.
    pub ran: Option<Duration>,
    /// The mark of the new object, if it is wholly valid.
    pub mark: Option<Mark>,
}

impl Structural {
    /// Judges a write.
    pub fn validate(&self, write: &Write<'_>) -> Outcome {
        let Some(root) = &self.root else { return self.without_schema(write) };
        if let Some(outcome) = self.by_changes(root, write) {
            return outcome;
        }
        self.in_full(root, write, Clock::default(), false)
    }

    fn without_schema(&self, write: &Write<'_>) -> Outcome {
        let mut outcome = Outcome::default();
        self.check_scale(write, &mut outcome);
        outcome
    }

    /// The short way: under a marked object only what changed is looked at. Nothing where that does not decide.
    fn by_changes(&self, root: &Node, write: &Write<'_>) -> Option<Outcome> {
        let mark = write.valid_before.filter(|_| write.ratcheting && write.part == Part::Whole)?;
        let old = write.old?;
        let clock = Clock::comparing(root, write.new, old);
        let mut holds = Holds::default();
        let place = Place::root(root, View::Whole(write.new), Some(View::Whole(old)), &clock);
        values::check_changes(&place, &mut holds);
        if holds.failed() {
            return None;
        }
        let outcome = self.in_full(root, write, clock, true);
        // What the unchanged rest costs is known only together with what was there before.
        let cost = mark.cost.saturating_add(outcome.cost);
        let is_decided = outcome.errors.is_empty() && cost <= OBJECT_COST_BUDGET;
        is_decided.then_some(Outcome { cost, mark: Some(Mark { cost }), ..outcome })
    }

    /// `is_short`: keywords were checked where something changed, and rules are to be.
    fn in_full(&self, root: &Node, write: &Write<'_>, clock: Clock, is_short: bool) -> Outcome {
        let mut outcome = Outcome::default();
        let (new, old) = (View::Whole(write.new), write.old.map(View::Whole));
        let ratchets = write.ratcheting && old.is_some();
        let place = Place::root(root, new, old.filter(|_| ratchets), &clock);
        if !is_short {
            check_values(write, &place, &mut outcome);
        }
        self.check_scale(write, &mut outcome);
        if write.part == Part::Whole && root.below.embedded {
            let mut embedded = Embedded::new(write.embedded_metadata, ratchets);
            embedded.check(&place);
            embedded.errors.into_iter().for_each(|error| outcome.errors.push(error));
            outcome.ratcheted.extend(embedded.ratcheted);
            if embedded.is_truncated {
                outcome.errors.push(truncated());
            }
        }
        check_lists(write, &place, ratchets, is_short, &mut outcome);
        if root.below.rules {
            check_rules(write, &place, old, is_short, &mut outcome);
        }
        outcome.compared += clock.spent();
        let is_whole = write.part == Part::Whole && write.earlier.is_empty();
        if is_whole && outcome.errors.is_empty() && outcome.ratcheted.is_empty() {
            outcome.mark = Some(Mark { cost: outcome.cost });
        }
        outcome
    }

    fn check_scale(&self, write: &Write<'_>, outcome: &mut Outcome) {
        let Some(paths) = &self.scale else { return };
        let asked = if write.part == Part::Whole { Asked::All } else { Asked::Status };
        let (errors, ratcheted) = scale::check(paths, asked, write.new, write.old.filter(|_| write.ratcheting));
        errors.into_iter().for_each(|error| outcome.errors.push(error));
        outcome.ratcheted.extend(ratcheted);
    }
}

/// The keywords of the schema.
fn check_values(write: &Write<'_>, place: &Place<'_, '_>, outcome: &mut Outcome) {
    let mut report = Report::default();
    let clock = Clock::default();
    let base = match write.part {
        Part::Whole => {
            values::check(place, &mut report);
            ""
        }
        Part::Status => {
            let status = place.value().get("status").zip(place.node().property("status"));
            let Some((status, node)) = status else { return };
            let old = place.old().and_then(|old| old.get("status")).map(View::from);
            values::check(&Place::root(node, status.into(), old, &clock), &mut report);
            "status"
        }
    };
    outcome.compared += clock.spent();
    outcome.ratcheted.append(&mut report.ratcheted);
    // What one check found is not told again by another.
    let mut told = HashSet::new();
    for Problem { error, text, .. } in report.problems {
        if told.insert(text) {
            outcome.errors.push(based(error, base));
        }
    }
    if report.untold > 0 {
        outcome.errors.push(truncated());
    }
}

/// The error below another path.
fn based(mut error: FieldError, base: &str) -> FieldError {
    if base.is_empty() {
        return error;
    }
    error.field = match error.field.as_str() {
        WHOLE => base.to_owned(),
        field => format!("{base}.{field}"),
    };
    error
}

/// Sets may keep a repeated item as long as the list does not change; keys that come twice are let pass only where nothing
/// but metadata changes, so that what holds the object can still let go of it.
fn check_lists(write: &Write<'_>, place: &Place<'_, '_>, ratchets: bool, is_short: bool, outcome: &mut Outcome) {
    let only_metadata =
        LazyCell::new(|| ratchets && write.old.is_some_and(|old| differ_in_metadata_only(write.new, old)));
    let (mut errors, mut is_truncated) = (Vec::new(), false);
    lists::check(place, is_short, &mut |found| {
        let passes = ratchets && ((found.is_unchanged && !found.is_about_keys) || *only_metadata);
        if !passes {
            is_truncated |= errors.len() >= MOST_TOLD;
            if !is_truncated {
                errors.push(found.error);
            }
        } else if outcome.ratcheted.len() < MOST_TOLD {
            let (path, detail) = (found.error.field.clone(), found.error.body());
            outcome.ratcheted.push(Ratcheted { path, rule: found.rule, detail });
        }
    });
    errors.into_iter().for_each(|error| outcome.errors.push(error));
    if is_truncated {
        outcome.errors.push(truncated());
    }
}

fn differ_in_metadata_only(new: &Object, old: &Object) -> bool {
    let rest = |object: &Object| object.keys().filter(|name| *name != "metadata").count();
    let is_same = |(name, new): (&String, &Value)| {
        name == "metadata" || old.get(name).is_some_and(|old| equality::equal(new, old))
    };
    rest(new) == rest(old) && new.iter().all(is_same)
}

fn check_rules(write: &Write<'_>, place: &Place<'_, '_>, old: Option<View<'_>>, is_short: bool, outcome: &mut Outcome) {
    if write.earlier.iter().chain(outcome.errors.iter()).any(keeps_rules_from_running) {
        outcome.errors.push(FieldError {
            kind: ErrorKind::Invalid,
            field: WHOLE.to_owned(),
            bad_value: Some("null".to_owned()),
            detail: RULES_SKIPPED.to_owned(),
        });
        return;
    }
    let started = Instant::now();
    let mut run = Run::new(OBJECT_COST_BUDGET, write.ratcheting);
    run.only_changes = is_short;
    run.check(place, old);
    run.errors.into_iter().for_each(|error| outcome.errors.push(error));
    outcome.warnings.extend(run.warnings);
    outcome.ratcheted.extend(run.ratcheted);
    outcome.cost = run.spent;
    outcome.ran = Some(started.elapsed());
}

/// Rules may rely on types and sizes.
fn keeps_rules_from_running(error: &FieldError) -> bool {
    matches!(
        error.kind,
        ErrorKind::NotSupported
            | ErrorKind::Required
            | ErrorKind::TooLong
            | ErrorKind::TooMany
            | ErrorKind::TypeInvalid
    )
}
