//! What applies to the whole object of a kind, or to an update of it through a subresource.

use pawl_meta::ErrorKind;
use pawl_schema::TypeRef;
use serde_json::Value;

use super::condition::Condition;
use super::fill::{DefaultLine, FillId, GateId};
use super::hooks::{CheckHook, FillHook, KeepHook, UpdateHook, WarnHook};
use super::place::Place;
use super::plan::PlanId;

/// The rules of a kind, or of one of its subresources.
pub struct KindRules {
    /// The type in whose form the object is looked at.
    pub(super) of: TypeRef<'static>,
    /// The fields that only the status subresource may change.
    pub(super) status: &'static [String],
    /// The kind's own defaults, which its type does not have where it stands inside another.
    pub(super) defaults: Vec<DefaultLine>,
    /// The defaults of its type and of everything below.
    pub(super) fill: Option<FillId>,
    pub(super) gates: Option<GateId>,
    pub(super) creates: Vec<Create>,
    pub(super) keeps: Vec<Keep>,
    /// The top-level fields that a subresource may change; the main resource changes all but the status.
    pub(super) owns: Option<Vec<&'static str>>,
    pub(super) create_checks: Vec<CheckHook>,
    pub(super) updates: Vec<UpdateLine>,
    pub(super) plan: Option<PlanId>,
    pub(super) on_create: Vec<Step>,
    pub(super) on_update: Vec<Step>,
    pub(super) warns: Vec<Warn>,
    /// Finalizers need not be standard or qualified names.
    pub(super) plain_metadata: bool,
    /// The kind that errors name, when that is not the object's.
    pub(super) error_kind: Option<&'static str>,
    /// The group that errors name, when that is not the object's.
    pub(super) error_group: Option<&'static str>,
}

impl KindRules {
    /// The top-level fields that a subresource may change, where that is not the status.
    pub fn owned_fields(&self) -> Option<&[&'static str]> {
        self.owns.as_deref()
    }

    /// Whether finalizers need be neither standard nor qualified names (`meta plain`).
    pub fn has_plain_metadata(&self) -> bool {
        self.plain_metadata
    }

    /// The group and the kind that errors name, where they are not the object's.
    pub fn error_names(&self) -> (Option<&'static str>, Option<&'static str>) {
        (self.error_group, self.error_kind)
    }
}

impl std::fmt::Debug for KindRules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KindRules").field("of", &self.of).finish_non_exhaustive()
    }
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
