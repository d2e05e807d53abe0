//! What is done with an object of a type: its lines in order, and the children that are visited between and after them.

use std::cell::OnceCell;

use pawl_meta::Errors;
use pawl_schema::{ObjectRef, TypeKind, TypeRef};
use serde_json::{Map, Value};

use super::check::{Around, Check};
use super::condition::{Condition, Scene, Siblings};
use super::equal;
use super::hooks::CheckHook;
use super::line::CheckLine;
use super::place::{EMPTY, Place};
use super::words::Flow;
use super::{Rules, at::At};

/// The place of a plan among the [`Rules`].
pub(super) type PlanId = usize;

#[derive(Default)]
pub(super) struct Plan {
    pub type_name: &'static str,
    pub ops: Vec<Op>,
}

pub(super) enum Op {
    Check(CheckLine),
    Hook(CheckHook, Option<Condition>),
    /// When the value is what it was, the rest of the block is skipped.
    Unchanged(Place),
    Descend(Descend),
    Union(Union),
}

/// A visit to what stands at a place.
pub(super) struct Descend {
    pub place: Place,
    pub plan: PlanId,
    pub shape: Shape,
    /// The items of the list are named as the list's owner.
    pub flat: bool,
    pub condition: Option<Condition>,
}

/// How the objects at a place are wrapped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    One,
    Items,
    Entries,
    /// A list in a map, or deeper: nothing of that kind has rules.
    Deeper,
}

/// One of several fields.
pub(super) struct Union {
    /// None for `first`, which demands nothing.
    pub noun: Option<String>,
    pub members: Vec<Member>,
}

pub(super) struct Member {
    pub field: &'static str,
    /// The name under which a further one is refused.
    pub refused: &'static str,
    /// The name under which its insides are reported.
    pub inside: &'static str,
    pub plan: Option<PlanId>,
    /// Upstream never refuses it beside others.
    pub always: bool,
}

/// The objects of a type: how they are wrapped and what they are.
pub(super) fn element(of: TypeRef<'_>) -> Option<(Shape, TypeRef<'_>, ObjectRef<'_>)> {
    let (shape, inner) = match of.kind() {
        TypeKind::Object(_) => (Shape::One, of),
        TypeKind::List(item) => (Shape::Items, item),
        TypeKind::Map(value) => (Shape::Entries, value),
        _ => return None,
    };
    match inner.kind() {
        TypeKind::Object(object) => Some((shape, inner, object)),
        TypeKind::List(_) | TypeKind::Map(_) => element(inner).map(|(_, inner, object)| (Shape::Deeper, inner, object)),
        _ => None,
    }
}

/// A validation under way.
pub(super) struct Run<'r> {
    pub rules: &'r Rules,
    pub root: &'r Map<String, Value>,
    pub old: Option<&'r Map<String, Value>>,
    pub kind: &'r str,
}

/// An object being visited.
#[derive(Clone, Copy)]
pub(super) struct Visit<'v> {
    pub scene: Scene<'v>,
    pub at: &'v At<'v>,
    pub around: Option<&'v Around<'v>>,
}

impl Run<'_> {
    pub fn whole(&self) -> Scene<'_> {
        Scene { object: self.root, old: self.old, siblings: None, update: self.old.is_some(), kind: self.kind }
    }

    pub fn run(&self, plan: PlanId, visit: Visit<'_>, errors: &mut Errors) {
        let Some(plan) = self.rules.plans.get(plan) else { return };
        let scene = visit.scene;
        let names = OnceCell::new();
        let around = Around { type_name: plan.type_name, object: scene.object, outer: visit.around, names };
        let inner = Visit { around: Some(&around), ..visit };
        let mut skipped: Vec<&str> = Vec::new();
        let mut path = None;
        for op in &plan.ops {
            match op {
                Op::Check(line) => {
                    let before = errors.len();
                    line.run(scene, visit.at, errors);
                    if errors.len() > before {
                        match line.flow {
                            Flow::GoOn => {}
                            Flow::Stop => return,
                            Flow::Skip => skipped.push(line.place.text),
                        }
                    }
                }
                Op::Hook(hook, condition) => {
                    if condition.as_ref().is_none_or(|condition| condition.holds(scene)) {
                        let cx = Check { root: self.root, old: self.old, kind: self.kind, around: Some(&around) };
                        hook(&cx, scene.object, path.get_or_insert_with(|| visit.at.path()), errors);
                    }
                }
                Op::Unchanged(place) => {
                    let before = scene.old.and_then(|old| place.get(old));
                    if scene.update && equal(place.get(scene.object), before) {
                        return;
                    }
                }
                Op::Descend(descend) => {
                    if !skipped.contains(&descend.place.text)
                        && descend.condition.as_ref().is_none_or(|condition| condition.holds(scene))
                    {
                        self.descend(descend, inner, errors);
                    }
                }
                Op::Union(union) => self.union(union, inner, errors),
            }
        }
    }

    fn descend(&self, descend: &Descend, visit: Visit<'_>, errors: &mut Errors) {
        let scene = visit.scene;
        descend.place.visit(scene.object, scene.old, visit.at, &mut |value, old, at| {
            let at = if descend.flat { visit.at } else { at };
            let items = |value: &'_ Value| -> usize { value.as_array().map_or(0, Vec::len) };
            match (descend.shape, value) {
                (Shape::One, Some(Value::Object(object))) => {
                    let old = old.and_then(Value::as_object);
                    self.enter(descend.plan, object, old, None, at, visit.around, errors);
                }
                (Shape::One, None | Some(Value::Null)) if !descend.place.pointer => {
                    self.enter(descend.plan, &EMPTY, None, None, at, visit.around, errors);
                }
                (Shape::Items, Some(list)) if items(list) > 0 => {
                    let all = list.as_array().map(Vec::as_slice).unwrap_or_default();
                    let siblings = Siblings::new(all);
                    for (index, object) in all.iter().enumerate().filter_map(|(i, v)| Some((i, v.as_object()?))) {
                        let old = old.and_then(|old| old.get(index)).and_then(Value::as_object);
                        let item = at.index(index);
                        let at = if descend.flat { at } else { &item };
                        self.enter(descend.plan, object, old, Some((&siblings, index)), at, visit.around, errors);
                    }
                }
                (Shape::Entries, Some(Value::Object(entries))) => {
                    for (key, object) in entries.iter().filter_map(|(k, v)| Some((k, v.as_object()?))) {
                        let old = old.and_then(|old| old.get(key)).and_then(Value::as_object);
                        self.enter(descend.plan, object, old, None, &at.key(key), visit.around, errors);
                    }
                }
                _ => {}
            }
        });
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a visit, put together here only")]
    fn enter(
        &self,
        plan: PlanId,
        object: &Map<String, Value>,
        old: Option<&Map<String, Value>>,
        siblings: Option<(&Siblings<'_>, usize)>,
        at: &At<'_>,
        around: Option<&Around<'_>>,
        errors: &mut Errors,
    ) {
        let scene = Scene { object, old, siblings, update: self.old.is_some(), kind: self.kind };
        self.run(plan, Visit { scene, at, around }, errors);
    }

    /// The first that is there is visited, further ones are refused, none at all is not enough.
    fn union(&self, union: &Union, visit: Visit<'_>, errors: &mut Errors) {
        let scene = visit.scene;
        let mut found = false;
        for member in &union.members {
            let Some(value) = scene.object.get(member.field).filter(|value| !value.is_null()) else { continue };
            if found && !member.always {
                let Some(noun) = &union.noun else { return };
                errors.forbidden(&visit.at.field(member.refused), format!("may not specify more than 1 {noun}"));
                continue;
            }
            found = true;
            if let (Some(plan), Some(object)) = (member.plan, value.as_object()) {
                let old = scene.old.and_then(|old| old.get(member.field)).and_then(Value::as_object);
                self.enter(plan, object, old, None, &visit.at.field(member.inside), visit.around, errors);
            }
        }
        if let Some(noun) = union.noun.as_ref().filter(|_| !found) {
            errors.required(visit.at, format!("must specify a {noun}"));
        }
    }
}
