//! Defaults, and fields behind gates that are off: what is added to an object and removed from it, type by type.

use pawl_meta::time;
use serde_json::{Map, Value};

use super::Rules;
use super::condition::{Condition, Scene};
use super::hooks::FillHook;
use super::kind::{Given, KindRules};
use super::place::{PathStep, Place};
use super::plan::Shape;

pub(super) type FillId = usize;
pub(super) type GateId = usize;

/// The defaults of a type and of the types below it.
#[derive(Default)]
pub(super) struct Fill {
    pub lines: Vec<DefaultLine>,
    pub children: Vec<Child>,
}

/// The gated fields of a type and of the types below it.
#[derive(Default)]
pub(super) struct Gates {
    pub fields: Vec<&'static str>,
    pub children: Vec<Child>,
}

/// A field below which there is something to do.
pub(super) struct Child {
    pub field: &'static str,
    pub shape: Shape,
    /// A struct that is always there.
    pub plain: bool,
    pub id: usize,
}

pub(super) enum DefaultLine {
    Set(Place, Given, Option<Condition>),
    Copy(Place, Place, Option<Condition>),
    Drop(Place, Option<Condition>),
    Hook(FillHook),
}

impl Rules {
    /// Fills in the defaults of a kind.
    pub fn set_defaults(&self, kind: &KindRules, object: &mut Map<String, Value>) {
        for line in &kind.defaults {
            line.apply(object);
        }
        if let Some(fill) = kind.fill {
            self.fill(fill, object);
        }
    }

    /// Fills in defaults: the type's own first, then its children's.
    fn fill(&self, id: FillId, object: &mut Map<String, Value>) {
        let Some(fill) = self.fills.get(id) else { return };
        for line in &fill.lines {
            line.apply(object);
        }
        for child in &fill.children {
            let inner = |object: &mut Map<String, Value>| self.fill(child.id, object);
            match object.get_mut(child.field) {
                Some(value) if !value.is_null() => each_object(value, child.shape, inner),
                _ if child.plain => {
                    let mut made = Map::new();
                    inner(&mut made);
                    if !made.is_empty() {
                        object.insert(child.field.to_owned(), Value::Object(made));
                    }
                }
                _ => {}
            }
        }
    }

    /// Removes fields whose gate is off, unless the old object has them at the same place.
    pub(super) fn shut(&self, id: GateId, object: &mut Map<String, Value>, old: Option<&Map<String, Value>>) {
        let Some(gates) = self.gates.get(id) else { return };
        for field in &gates.fields {
            if old.and_then(|old| old.get(*field)).is_none_or(Value::is_null) {
                object.remove(*field);
            }
        }
        for child in &gates.children {
            let before = old.and_then(|old| old.get(child.field));
            match (child.shape, object.get_mut(child.field)) {
                (Shape::One, Some(Value::Object(object))) => {
                    self.shut(child.id, object, before.and_then(Value::as_object));
                }
                (Shape::Items, Some(Value::Array(items))) => {
                    for (index, item) in items.iter_mut().enumerate() {
                        let before = before.and_then(|before| before.get(index)).and_then(Value::as_object);
                        if let Some(object) = item.as_object_mut() {
                            self.shut(child.id, object, before);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

fn each_object(value: &mut Value, shape: Shape, f: impl Fn(&mut Map<String, Value>)) {
    match (shape, value) {
        (Shape::One, Value::Object(object)) => f(object),
        (Shape::Items, Value::Array(items)) => items.iter_mut().filter_map(Value::as_object_mut).for_each(f),
        (Shape::Entries, Value::Object(entries)) => entries.values_mut().filter_map(Value::as_object_mut).for_each(f),
        _ => {}
    }
}

impl DefaultLine {
    pub fn apply(&self, object: &mut Map<String, Value>) {
        let holds = |condition: &Option<Condition>, object: &Map<String, Value>| {
            condition.as_ref().is_none_or(|condition| condition.holds(Scene::of(object)))
        };
        match self {
            Self::Set(place, given, condition) => {
                if !place.is_set(place.get(object)) && holds(condition, object) {
                    set(object, place, given.value(time::now));
                }
            }
            Self::Copy(place, from, condition) => {
                if !place.is_set(place.get(object))
                    && holds(condition, object)
                    && let Some(value) = from.get(object).filter(|value| from.is_set(Some(value))).cloned()
                {
                    set(object, place, value);
                }
            }
            Self::Drop(place, condition) => {
                if place.get(object).is_some() && holds(condition, object) {
                    remove(object, place);
                }
            }
            Self::Hook(hook) => hook(object),
        }
    }
}

impl Given {
    pub fn value(&self, now: impl FnOnce() -> String) -> Value {
        match self {
            Self::Value(value) => value.clone(),
            Self::Now => Value::from(now()),
            Self::Uuid => Value::from(uuid::Uuid::new_v4().to_string()),
        }
    }
}

/// Sets what stands at a place, making plain structs and maps on the way, never what is behind a pointer.
pub(super) fn set(object: &mut Map<String, Value>, place: &Place, value: Value) {
    let Some((last, parents)) = place.steps.split_last() else { return };
    if let (Some(parent), Some(name)) = (parent(object, parents, true), name(last)) {
        parent.insert(name.to_owned(), value);
    }
}

/// Takes away what stands at a place.
pub(super) fn remove(object: &mut Map<String, Value>, place: &Place) {
    let Some((last, parents)) = place.steps.split_last() else { return };
    if let (Some(parent), Some(name)) = (parent(object, parents, false), name(last)) {
        parent.remove(name);
    }
}

fn name(step: &PathStep) -> Option<&'static str> {
    match step {
        PathStep::Field { name, .. } | PathStep::Key(name) => Some(name),
        PathStep::Each => None,
    }
}

fn parent<'o>(
    object: &'o mut Map<String, Value>,
    steps: &[PathStep],
    make: bool,
) -> Option<&'o mut Map<String, Value>> {
    let Some((step, rest)) = steps.split_first() else { return Some(object) };
    let pointer = matches!(step, PathStep::Field { pointer: true, .. });
    let name = name(step)?;
    let absent = object.get(name).is_none_or(Value::is_null);
    if absent {
        if pointer || !make {
            return None;
        }
        object.insert(name.to_owned(), Value::Object(Map::new()));
    }
    parent(object.get_mut(name)?.as_object_mut()?, rest, make)
}
