//! Validation of whole objects: the steps of a kind in its order, and the rules about what an update may change.

use pawl_meta::{ErrorKind, Errors, FieldPath};
use serde_json::{Map, Value};

use super::at::At;
use super::check::Check;
use super::judge::Report;
use super::kind::{KindRules, Step, UpdateLine, UpdateRule, Warn};
use super::place::Place;
use super::plan::{Run, Visit};
use super::{Rules, equal, shown};

/// Which pass over the metadata is due. What the passes look at is the caller's affair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetadataPass {
    /// What metadata must be, with the kind's name rule.
    Meta,
    /// What may change of metadata.
    Update,
}

/// Called when it is the metadata's turn, so that errors stand in upstream's order.
pub type MetadataCheck<'c> = &'c mut dyn FnMut(MetadataPass, &mut Errors);

impl Rules {
    /// Validates a new object.
    pub fn validate_create(
        &self,
        kind: &KindRules,
        kind_name: &str,
        object: &Map<String, Value>,
        metadata: MetadataCheck<'_>,
        errors: &mut Errors,
    ) {
        let run = Run { rules: self, root: object, old: None, kind: kind_name };
        for step in &kind.on_create {
            match step {
                Step::Meta => metadata(MetadataPass::Meta, errors),
                Step::MetaUpdate => {}
                Step::Updates => {
                    for hook in &kind.create_checks {
                        hook(&run.check(), object, &FieldPath::root(), errors);
                    }
                }
                Step::Checks => run.checks(kind, errors),
            }
        }
    }

    /// Validates a change, made through the resource itself or one of its subresources.
    pub fn validate_update(
        &self,
        kind: &KindRules,
        kind_name: &str,
        (new, old): (&Map<String, Value>, &Map<String, Value>),
        metadata: MetadataCheck<'_>,
        errors: &mut Errors,
    ) {
        let run = Run { rules: self, root: new, old: Some(old), kind: kind_name };
        for step in &kind.on_update {
            match step {
                Step::Meta => metadata(MetadataPass::Meta, errors),
                Step::MetaUpdate => metadata(MetadataPass::Update, errors),
                Step::Updates => {
                    for line in &kind.updates {
                        line.run(&run, old, errors);
                    }
                }
                Step::Checks => run.checks(kind, errors),
            }
        }
    }

    /// What deserves a warning about an object that passed validation.
    pub fn warnings(
        &self,
        kind: &KindRules,
        kind_name: &str,
        new: &Map<String, Value>,
        old: Option<&Map<String, Value>>,
    ) -> Vec<String> {
        let mut found = Vec::new();
        let run = Run { rules: self, root: new, old, kind: kind_name };
        for warn in &kind.warns {
            match warn {
                Warn::Text(place, condition, text) => {
                    let applies = condition.as_ref().is_none_or(|condition| condition.holds(run.whole()));
                    if applies && place.is_set(place.get(new)) {
                        found.push((*text).to_owned());
                    }
                }
                Warn::Hook(hook) => hook(&run.check(), new, &FieldPath::root(), &mut found),
            }
        }
        found
    }
}

impl<'r> Run<'r> {
    fn checks(&self, kind: &KindRules, errors: &mut Errors) {
        if let Some(plan) = kind.plan {
            self.run(plan, Visit { scene: self.whole(), at: &At::ROOT, around: None }, errors);
        }
    }

    fn check(&self) -> Check<'r> {
        Check { root: self.root, old: self.old, kind: self.kind, around: None }
    }
}

impl UpdateLine {
    fn run(&self, run: &Run<'_>, old: &Map<String, Value>, errors: &mut Errors) {
        if self.condition.as_ref().is_some_and(|condition| !condition.holds(run.whole())) {
            return;
        }
        let new = run.root;
        let mut report = Report { errors, kind: self.kind, detail: self.detail, joined: false };
        match &self.rule {
            UpdateRule::Hook(hook) => hook(&run.check(), new, old, &FieldPath::root(), report.errors),
            UpdateRule::Immutable(place) => {
                if changed(place, new, old) {
                    self.invalid(place, new, &mut report, "field is immutable");
                }
            }
            UpdateRule::Once(place) => {
                if place.is_set(place.get(old)) && changed(place, new, old) {
                    self.invalid(place, new, &mut report, "field is immutable");
                }
            }
            UpdateRule::Forbidden(place) => {
                if changed(place, new, old) {
                    report.add(ErrorKind::Forbidden, &self.at(place), String::new, "");
                }
            }
            UpdateRule::Only(place, fields) => {
                let rest = |object: &Map<String, Value>| -> Option<Value> {
                    let mut value = place.get(object)?.clone();
                    if let Some(inside) = value.as_object_mut() {
                        fields.iter().for_each(|field| drop(inside.remove(*field)));
                    }
                    Some(value)
                };
                if !equal(rest(new).as_ref(), rest(old).as_ref()) {
                    report.add(ErrorKind::Forbidden, &self.at(place), String::new, "");
                }
            }
            UpdateRule::NoDecrease(place) => {
                let number = |object: &Map<String, Value>| place.get(object).and_then(Value::as_i64);
                let (now, before) = (number(new), number(old));
                if before.is_some_and(|before| now.is_none_or(|now| now < before)) {
                    report.invalid(&self.at(place), || now.unwrap_or_default().to_string(), "");
                }
            }
        }
    }

    fn at(&self, place: &Place) -> &'static str {
        self.at.unwrap_or(place.text)
    }

    fn invalid(&self, place: &Place, new: &Map<String, Value>, report: &mut Report<'_>, detail: &str) {
        let bad = || match place.get(new).filter(|value| !value.is_null()) {
            Some(value) => shown::value(place.of, value),
            None if place.pointer => "null".to_owned(),
            None => shown::value(place.of, &place.zero),
        };
        report.invalid(&self.at(place), bad, detail);
    }
}

fn changed(place: &Place, new: &Map<String, Value>, old: &Map<String, Value>) -> bool {
    let of = |object| place.get(object).filter(|value| place.is_set(Some(value)));
    !equal(of(new), of(old))
}
