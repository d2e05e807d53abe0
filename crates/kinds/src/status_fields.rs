//! Which fields a write may change: the resource itself all but the status, a subresource its own. The same for every kind.

use pawl_meta::object::Object;
use pawl_rules::Prepare;

use crate::{Resource, Write};

impl Resource {
    /// Prepares a new object: its status is not the client's to give, and the kind has its say.
    pub fn prepare_create(&self, object: &mut Object, by: &Prepare) {
        let facts = &self.facts;
        if !facts.status_on_create && facts.status.iter().filter(|field| object.remove(*field).is_some()).count() > 0 {
            self.complete(object);
        }
        self.behaviour.prepare(Write::CREATE, object, by);
    }

    /// Prepares a changed object: a write changes only what its resource or subresource owns, and the kind has its say.
    pub fn prepare_update(&self, subresource: &str, new: &mut Object, old: &Object, by: &Prepare) {
        let status = &self.facts.status;
        let is_in = |fields: &[String], field: &str| fields.iter().any(|name| name == field);
        let mut lost = false;
        match self.owned_fields(subresource) {
            Some(owned) => lost = keep_all_but(new, old, |field| is_in(owned, field)),
            None if subresource == "status" => lost = keep_all_but(new, old, |field| is_in(status, field)),
            None => status.iter().for_each(|field| lost |= !restore(new, old, field)),
        }
        if lost {
            self.complete(new);
        }
        self.behaviour.prepare(Write::update(subresource, old), new, by);
    }

    /// Adds what is always on the wire.
    fn complete(&self, object: &mut Object) {
        if let Some(shape) = self.stored_type().object() {
            shape.complete(object);
        }
    }
}

/// Puts back what the old object has in all top-level fields but the owned ones and those that every write may change;
/// true when one was taken away.
fn keep_all_but(new: &mut Object, old: &Object, owned: impl Fn(&str) -> bool) -> bool {
    let shared = |field: &str| matches!(field, "apiVersion" | "kind" | "metadata");
    let fields: Vec<String> = new.keys().chain(old.keys()).filter(|f| !shared(f) && !owned(f)).cloned().collect();
    fields.iter().filter(|field| !restore(new, old, field)).count() > 0
}

/// Puts back one field; false when the old object does not have it and the new one does.
fn restore(new: &mut Object, old: &Object, field: &str) -> bool {
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
