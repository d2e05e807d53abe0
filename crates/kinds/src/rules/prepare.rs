//! What the server does to an object before it validates it: what a client may not set is dropped or kept as it was, what
//! follows from the rest is filled in.

use pawl_meta::time;
use pawl_schema::{Scalar, TypeKind, TypeRef};
use serde_json::{Map, Value};

use super::condition::Scene;
use super::fill::{remove, set};
use super::kind::{Create, Keep, Kind};
use super::{Rules, rules};
use crate::Resource;

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

/// Prepares a new object: its status is not the client's to give, and the kind's `create` lines apply.
pub fn prepare_create(resource: &Resource, object: &mut Map<String, Value>, cx: &Prepare) {
    let facts = &resource.facts;
    let kind = Rules::of(&facts.type_name, "");
    if !facts.status_on_create && facts.status.iter().filter(|field| object.remove(*field).is_some()).count() > 0 {
        complete(resource, kind, object);
    }
    let Some(kind) = kind else { return };
    if let Some(gates) = kind.gates {
        rules().shut(gates, object, None);
    }
    for line in &kind.creates {
        create(line, object, cx);
    }
    if kind.creates.iter().any(|line| matches!(line, Create::Fill(_))) {
        stamp_status(resource, kind, object, &cx.now);
    }
}

/// Prepares a changed object: a write changes only what its resource or subresource owns.
pub fn prepare_update(
    resource: &Resource,
    subresource: &str,
    new: &mut Map<String, Value>,
    old: &Map<String, Value>,
    cx: &Prepare,
) {
    let facts = &resource.facts;
    let kind = Rules::of(&facts.type_name, subresource);
    let mut lost = false;
    match kind.and_then(|kind| kind.owns.as_deref()) {
        Some(owned) => lost = keep_all_but(new, old, |field| owned.contains(&field)),
        None if subresource == "status" => {
            lost = keep_all_but(new, old, |field| facts.status.iter().any(|status| status == field));
        }
        None => facts.status.iter().for_each(|field| lost |= !restore(new, old, field)),
    }
    if lost {
        complete(resource, kind, new);
    }
    let Some(kind) = kind else { return };
    if let Some(gates) = kind.gates {
        rules().shut(gates, new, Some(old));
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
        stamp_status(resource, kind, new, &cx.now);
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

/// Puts back what the old object has in all top-level fields but the owned ones and those that every write may change;
/// true when one was taken away.
fn keep_all_but(new: &mut Map<String, Value>, old: &Map<String, Value>, owned: impl Fn(&str) -> bool) -> bool {
    let shared = |field: &str| matches!(field, "apiVersion" | "kind" | "metadata");
    let fields: Vec<String> = new.keys().chain(old.keys()).filter(|f| !shared(f) && !owned(f)).cloned().collect();
    fields.iter().filter(|field| !restore(new, old, field)).count() > 0
}

/// Puts back one field; false when the old object does not have it and the new one does.
fn restore(new: &mut Map<String, Value>, old: &Map<String, Value>, field: &str) -> bool {
    match old.get(field) {
        Some(before) => {
            match new.get_mut(field) {
                Some(value) if value == before => {}
                Some(value) => *value = before.clone(),
                None => {
                    new.insert(field.to_owned(), before.clone());
                }
            }
            true
        }
        None => new.remove(field).is_none(),
    }
}

/// Adds what is always on the wire.
fn complete(resource: &Resource, kind: Option<&Kind>, object: &mut Map<String, Value>) {
    let of = kind.map_or(resource.object_type.as_ref(), |kind| kind.of);
    if let Some(shape) = of.object() {
        shape.complete(object);
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
fn stamp_status(resource: &Resource, kind: &Kind, object: &mut Map<String, Value>, now: &str) {
    let Some(shape) = kind.of.object() else { return };
    for name in &resource.facts.status {
        if let (Some(field), Some(value)) = (shape.field(name), object.get_mut(name)) {
            stamp(field.of(), value, now);
        }
    }
}

fn stamp(of: TypeRef<'_>, value: &mut Value, now: &str) {
    match (of.kind(), value) {
        (TypeKind::Scalar(Scalar::Time), Value::String(text)) if text == "@now" => now.clone_into(text),
        (TypeKind::Scalar(Scalar::MicroTime), Value::String(text)) if text == "@now" => {
            *text = time::normalize_micro(now).unwrap_or_else(|| now.to_owned());
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
