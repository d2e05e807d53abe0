//! What rules do to an object before it is validated: what a client may not set is dropped or kept as it was, what follows
//! from the rest is filled in.

use pawl_meta::time;
use pawl_schema::{Scalar, TypeKind, TypeRef};
use serde_json::{Map, Value};

use super::Rules;
use super::condition::Scene;
use super::fill::{remove, set};
use super::kind::{Create, Keep, KindRules};

/// Who writes, and when.
#[derive(Clone, Debug, Default)]
pub struct Prepare {
    pub user: String,
    pub uid: String,
    pub groups: Vec<String>,
    /// What else is known of the user, texts by name.
    pub extra: Map<String, Value>,
    /// The time of the request, RFC 3339 in seconds.
    pub now: String,
}

impl Rules {
    /// Prepares a new object: the kind's `create` lines apply.
    pub fn prepare_create(&self, kind: &KindRules, object: &mut Map<String, Value>, by: &Prepare) {
        if let Some(gates) = kind.gates {
            self.shut(gates, object, None);
        }
        for line in &kind.creates {
            create(line, object, by);
        }
        if kind.creates.iter().any(|line| matches!(line, Create::Fill(_))) {
            stamp_status(kind, object, &by.now);
        }
    }

    /// Prepares a changed object: what the kind's `update` lines keep is kept.
    pub fn prepare_update(
        &self,
        kind: &KindRules,
        new: &mut Map<String, Value>,
        old: &Map<String, Value>,
        by: &Prepare,
    ) {
        if let Some(gates) = kind.gates {
            self.shut(gates, new, Some(old));
        }
        for keep in &kind.keeps {
            match keep {
                Keep::Hook(hook) => hook(new, old),
                Keep::Place(place) => match place.get(old) {
                    Some(value) => set(new, place, value.clone()),
                    None => remove(new, place),
                },
                Keep::Metadata => keep_metadata(new, old),
            }
        }
        if kind.keeps.iter().any(|keep| matches!(keep, Keep::Hook(_))) {
            stamp_status(kind, new, &by.now);
        }
    }
}

fn create(line: &Create, object: &mut Map<String, Value>, cx: &Prepare) {
    match line {
        Create::Set(place, given, condition) => {
            if condition.as_ref().is_none_or(|condition| condition.holds(Scene::of(object))) {
                set(object, place, given.value(|| cx.now.clone()));
            }
        }
        Create::Drop(place) => remove(object, place),
        Create::Fill(hook) => hook(object),
        Create::User(field) => {
            let Some(target) = object.entry(*field).or_insert_with(|| Value::Object(Map::new())).as_object_mut() else {
                return;
            };
            target.insert("username".to_owned(), Value::from(cx.user.as_str()));
            if !cx.uid.is_empty() {
                target.insert("uid".to_owned(), Value::from(cx.uid.as_str()));
            }
            if !cx.groups.is_empty() {
                target.insert("groups".to_owned(), Value::from(cx.groups.clone()));
            }
            if !cx.extra.is_empty() {
                target.insert("extra".to_owned(), Value::Object(cx.extra.clone()));
            }
        }
    }
}

fn keep_metadata(new: &mut Map<String, Value>, old: &Map<String, Value>) {
    let Some(Value::Object(before)) = old.get("metadata") else { return };
    let mut kept = before.clone();
    let given = new.get("metadata").and_then(Value::as_object);
    for field in ["managedFields", "resourceVersion"] {
        match given.and_then(|given| given.get(field)) {
            Some(value) => kept.insert(field.to_owned(), value.clone()),
            None => kept.remove(field),
        };
    }
    new.insert("metadata".to_owned(), Value::Object(kept));
}

/// Writes the time where a hook left `@now` in the status. Only fields that hold times are looked at: no client can have
/// written that text there.
fn stamp_status(kind: &KindRules, object: &mut Map<String, Value>, now: &str) {
    let Some(shape) = kind.of.object() else { return };
    for name in kind.status {
        if let (Some(field), Some(value)) = (shape.field(name), object.get_mut(name)) {
            stamp(field.of(), value, now);
        }
    }
}

fn stamp(of: TypeRef<'_>, value: &mut Value, now: &str) {
    match (of.kind(), value) {
        (TypeKind::Scalar(Scalar::Time), Value::String(text)) if text == "@now" => now.clone_into(text),
        (TypeKind::Scalar(Scalar::MicroTime), Value::String(text)) if text == "@now" => {
            *text = time::with_micros(now).unwrap_or_else(|| now.to_owned());
        }
        (TypeKind::Object(object), Value::Object(fields)) => {
            for (name, value) in fields {
                if let Some(field) = object.field(name) {
                    stamp(field.of(), value, now);
                }
            }
        }
        (TypeKind::List(item), Value::Array(items)) => {
            items.iter_mut().for_each(|value| stamp(item, value, now));
        }
        _ => {}
    }
}
