//! Defaults against the schema they stand in: they fit it, and nothing of them would be dropped.

use pawl_cel::k8s::OBJECT_COST_BUDGET;
use pawl_meta::{Errors, FieldError, FieldPath};
use serde_json::Value;

use crate::embedded::Embedded;
use crate::node::Node;
use crate::place::{Clock, Place};
use crate::problem::{Report, WHOLE, shown};
use crate::props::Props;
use crate::prune::prune;
use crate::rules::Run;
use crate::values;
use crate::view::View;

/// What is wrong with the defaults of a schema.
pub(super) fn check(schema: &Props, path: &FieldPath, require_pruned: bool) -> Errors {
    let mut walk = Walk { require_pruned, budget: OBJECT_COST_BUDGET, is_out_of_budget: false, errors: Errors::new() };
    walk.level(schema, path, true, false);
    walk.errors
}

/// Whether something of a default would be dropped.
pub(super) fn has_unpruned(schema: &Props) -> bool {
    let loses = |schema: &Props| {
        schema.default.as_ref().is_some_and(|default| {
            let mut pruned = default.clone();
            prune(&Node::compile(&without_rules(schema), false), &mut pruned);
            pruned != *default
        })
    };
    let below = schema.item().into_iter().chain(schema.additional_schema()).chain(schema.properties.values());
    loses(schema) || below.into_iter().any(has_unpruned)
}

fn without_rules(schema: &Props) -> Props {
    Props { rules: Vec::new(), source: None, ..schema.clone() }
}

struct Walk {
    require_pruned: bool,
    /// All defaults of a schema share what the rules of one object may cost.
    budget: u64,
    is_out_of_budget: bool,
    errors: Errors,
}

impl Walk {
    fn level(&mut self, schema: &Props, path: &FieldPath, is_root: bool, is_meta: bool) {
        let is_meta = is_meta && !schema.embedded;
        if let Some(default) = &schema.default {
            self.default(schema, default, &path.child("default"), is_root || schema.embedded, is_meta);
        }
        if self.is_out_of_budget {
            return;
        }
        // Below additionalProperties there are no defaults.
        if let Some(item) = schema.item() {
            self.level(item, &path.child("items"), false, is_meta);
        }
        for (name, property) in &schema.properties {
            if self.is_out_of_budget {
                return;
            }
            let is_resource = is_root || schema.embedded;
            let is_meta = is_meta || (is_resource && matches!(&**name, "metadata" | "apiVersion" | "kind"));
            self.level(property, &path.child("properties").key(name), false, is_meta);
        }
    }

    fn default(&mut self, schema: &Props, default: &Value, path: &FieldPath, is_resource: bool, is_meta: bool) {
        let mut node = Node::compile_default(schema, is_resource);
        // What stands at the root is an object of the kind, and is asked what objects within objects are asked.
        node.is_embedded |= is_resource;
        node.below.embedded |= is_resource;
        if self.require_pruned && !is_meta {
            let mut pruned = default.clone();
            prune(&node, &mut pruned);
            if pruned != *default {
                self.errors.invalid_shown(path, shown(default), "must not have unknown fields");
            }
        }
        let clock = Clock::default();
        let place = Place::root(&node, View::Value(default), None, &clock);
        let mut embedded = Embedded::new(&|_, _, _| {}, false);
        embedded.check(&place);
        if !embedded.errors.is_empty() {
            embedded.errors.into_iter().for_each(|error| self.errors.push(below(path, error)));
            return;
        }
        let mut report = Report::default();
        values::check(&place, &mut report);
        if !report.problems.is_empty() {
            let mut told = std::collections::HashSet::new();
            for problem in report.problems {
                if told.insert(problem.text) {
                    self.errors.push(named_below(path, problem.error));
                }
            }
            return;
        }
        if node.below.rules {
            self.rules(&place, default, path);
        }
    }

    /// A default is a value that did not change, and one that was not there.
    fn rules(&mut self, place: &Place<'_, '_>, default: &Value, path: &FieldPath) {
        let mut spent = 0;
        for old in [Some(View::Value(default)), None] {
            let mut run = Run::new(self.budget, true);
            run.base = path.to_string();
            run.check(place, old);
            spent = spent.max(run.spent);
            self.is_out_of_budget |= run.is_stopped;
            let has_failed = !run.errors.is_empty();
            run.errors.into_iter().for_each(|error| self.errors.push(error));
            if has_failed {
                break;
            }
        }
        self.budget = self.budget.saturating_sub(spent);
    }
}

/// The same for what the checker of schemas says: to upstream its place is one name, brackets and all.
fn named_below(path: &FieldPath, mut error: FieldError) -> FieldError {
    if error.field.starts_with('[') {
        error.field.insert(0, '.');
        error.field.insert_str(0, &path.to_string());
        return error;
    }
    below(path, error)
}

/// The error as one of a value that stands in the schema.
fn below(path: &FieldPath, mut error: FieldError) -> FieldError {
    error.field = match error.field.as_str() {
        "" | WHOLE => path.to_string(),
        field if field.starts_with('[') => format!("{path}{field}"),
        field => format!("{path}.{}", field.strip_prefix('.').unwrap_or(field)),
    };
    error
}
