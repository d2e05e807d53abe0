//! What applies to the whole object of a kind, or to an update of it through a subresource.

use pawl_meta::ErrorKind;
use pawl_schema::TypeRef;
use serde_json::Value;

use super::condition::Condition;
use super::fill::{DefaultLine, FillId, GateId};
use super::place::Place;
use super::plan::PlanId;
use crate::hooks::{CheckHook, FillHook, KeepHook, UpdateHook, WarnHook};

pub(super) struct Kind {
    /// The type in whose form the object is looked at.
    pub of: TypeRef<'static>,
    /// The kind's own defaults, which its type does not have where it stands inside another.
    pub defaults: Vec<DefaultLine>,
    /// The defaults of its type and of everything below.
    pub fill: Option<FillId>,
    pub gates: Option<GateId>,
    pub creates: Vec<Create>,
    pub keeps: Vec<Keep>,
    /// The top-level fields that a subresource may change; the main resource changes all but the status.
    pub owns: Option<Vec<&'static str>>,
    pub create_checks: Vec<CheckHook>,
    pub updates: Vec<UpdateLine>,
    pub plan: Option<PlanId>,
    pub on_create: Vec<Step>,
    pub on_update: Vec<Step>,
    pub warns: Vec<Warn>,
    /// Finalizers need not be standard or qualified names.
    pub plain_metadata: bool,
    /// The kind that errors name, when that is not the object's.
    pub error_kind: Option<&'static str>,
    /// The group that errors name, when that is not the object's.
    pub error_group: Option<&'static str>,
}

/// A stage of validation; their order is the order of errors.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Meta,
    MetaUpdate,
    Updates,
    Checks,
}

/// A `create` line.
pub(super) enum Create {
    Set(Place, Given, Option<Condition>),
    Drop(Place),
    Fill(FillHook),
    /// Who asks is written below this field.
    User(&'static str),
}

/// A value of a line.
pub(super) enum Given {
    Value(Value),
    Now,
    Uuid,
}

/// What an update takes over from the old object.
pub(super) enum Keep {
    Hook(KeepHook),
    Place(Place),
    /// All metadata but what every write changes.
    Metadata,
}

/// An `update` line that validates.
pub(super) struct UpdateLine {
    pub rule: UpdateRule,
    pub condition: Option<Condition>,
    pub kind: Option<ErrorKind>,
    pub at: Option<&'static str>,
    pub detail: Option<&'static str>,
}

pub(super) enum UpdateRule {
    Immutable(Place),
    Once(Place),
    Forbidden(Place),
    /// Nothing but these fields may change below the place.
    Only(Place, Vec<&'static str>),
    NoDecrease(Place),
    Hook(UpdateHook),
}

pub(super) enum Warn {
    Text(Place, Option<Condition>, &'static str),
    Hook(WarnHook),
}
