//! What of a value is not what it was, found once for everybody who asks.
//!
//! An update of a large object mostly changes little of it. Whoever checks only what changed asks about one value after
//! the other, from the outermost inwards; comparing each of them anew would cost more than checking everything.

use std::collections::HashSet;

use pawl_meta::object::Object;
use serde_json::Value;

use crate::equality::{equal, pair, same};
use crate::node::Node;
use crate::view::View;

/// The values that changed, by where they are in memory: of the objects that were compared none moves meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Changes(HashSet<usize>);

impl Changes {
    /// Compares two objects under their schema.
    pub fn between(node: &Node, new: &Object, old: &Object) -> Self {
        let mut changes = Self::default();
        if changes.members(node, new, old) {
            changes.0.insert(address(View::Whole(new)));
        }
        changes
    }

    /// Whether a value that goes with an old one is not what that was.
    pub fn contains(&self, value: View<'_>) -> bool {
        self.0.contains(&address(value))
    }

    fn value(&mut self, node: Option<&Node>, new: &Value, old: Option<&Value>) -> bool {
        let Some(old) = old else { return true };
        let is_changed = match (node, new, old) {
            (Some(node), Value::Object(new), Value::Object(old)) if !node.is_atomic_map => self.members(node, new, old),
            (Some(node), Value::Array(items), Value::Array(before)) => match node.map_keys() {
                Some(keys) => self.items(node, keys, (new, items), (old, before)),
                None => !same(Some(node), new.into(), old.into()),
            },
            (Some(_), Value::Object(_), _) => !same(node, new.into(), old.into()),
            _ => !equal(new, old),
        };
        if is_changed {
            self.0.insert(address(View::Value(new)));
        }
        is_changed
    }

    fn members(&mut self, node: &Node, new: &Object, old: &Object) -> bool {
        let mut is_changed = new.len() != old.len();
        // Both are in order: as long as their names agree, nothing has to be looked up.
        let mut side_by_side = old.iter().fuse();
        for (name, value) in new {
            let before = match side_by_side.next() {
                Some((other, before)) if other == name => Some(before),
                _ => old.get(name),
            };
            is_changed |= self.value(node.field(name), value, before);
        }
        is_changed
    }

    fn items(&mut self, node: &Node, keys: &[Box<str>], new: (&Value, &[Value]), old: (&Value, &[Value])) -> bool {
        let pairs = pair(keys, new.1, old.1);
        if pairs.contains(&None) && same(Some(node), new.0.into(), old.0.into()) {
            return false;
        }
        let mut is_changed = new.1.len() != old.1.len();
        for (item, before) in new.1.iter().zip(pairs) {
            is_changed |= self.value(node.item.as_deref(), item, before);
        }
        is_changed
    }
}

fn address(value: View<'_>) -> usize {
    match value {
        View::Value(value) => std::ptr::from_ref(value).addr(),
        View::Whole(object) => std::ptr::from_ref(object).addr(),
    }
}
