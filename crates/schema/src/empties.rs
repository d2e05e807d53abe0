//! Empty lists and maps in fields that are always written.
//!
//! Upstream stores built-in kinds as protobuf, which cannot tell an empty list from none: what a client sends as `[]`
//! comes back as `null`. Only the parts of an object below which there are such fields are looked at.

use serde_json::{Map, Value};

use crate::{Field, NodeId, NodeKind, Presence, Schema};

impl Schema {
    /// Whether an object has an empty list or map where protobuf has nothing.
    pub fn holds_empties(&self, root: NodeId, object: &Map<String, Value>) -> bool {
        let NodeKind::Object(shape) = &self.node(root).kind else { return false };
        self.may_hold_empties(root)
            && object.iter().any(|(name, value)| {
                shape.field(name).is_some_and(|field| {
                    (self.is_dropped_when_empty(field) && is_empty(value))
                        || self.value_holds_empties(field.node, value)
                })
            })
    }

    /// Makes nothing of them.
    pub fn drop_empties(&self, root: NodeId, object: &mut Map<String, Value>) {
        let NodeKind::Object(shape) = &self.node(root).kind else { return };
        if !self.may_hold_empties(root) {
            return;
        }
        for (name, value) in object {
            let Some(field) = shape.field(name) else { continue };
            if self.is_dropped_when_empty(field) && is_empty(value) {
                *value = Value::Null;
            } else {
                self.drop_value_empties(field.node, value);
            }
        }
    }

    fn value_holds_empties(&self, node: NodeId, value: &Value) -> bool {
        if !self.may_hold_empties(node) {
            return false;
        }
        match (&self.node(node).kind, value) {
            (NodeKind::Object(_), Value::Object(object)) => self.holds_empties(node, object),
            (NodeKind::Map(inner), Value::Object(map)) => map.values().any(|v| self.value_holds_empties(*inner, v)),
            (NodeKind::List(item), Value::Array(items)) => items.iter().any(|v| self.value_holds_empties(*item, v)),
            _ => false,
        }
    }

    fn drop_value_empties(&self, node: NodeId, value: &mut Value) {
        if !self.may_hold_empties(node) {
            return;
        }
        match (&self.node(node).kind, value) {
            (NodeKind::Object(_), Value::Object(object)) => self.drop_empties(node, object),
            (NodeKind::Map(inner), Value::Object(map)) => {
                map.values_mut().for_each(|v| self.drop_value_empties(*inner, v));
            }
            (NodeKind::List(item), Value::Array(items)) => {
                items.iter_mut().for_each(|v| self.drop_value_empties(*item, v));
            }
            _ => {}
        }
    }

    fn is_dropped_when_empty(&self, field: &Field) -> bool {
        field.presence == Presence::Always
            && !field.pointer
            && matches!(self.node(field.node).kind, NodeKind::List(_) | NodeKind::Map(_))
    }

    /// Whether there is such a field at or below a node; worked out for all nodes on first use.
    fn may_hold_empties(&self, node: NodeId) -> bool {
        let known = self.empties.get_or_init(|| {
            let mut found = vec![false; self.nodes.len()];
            let at = |found: &[bool], id: NodeId| found.get(id.index()).copied().unwrap_or_default();
            // Types refer to each other: go round until nothing is found any more.
            loop {
                let mut changed = false;
                for (index, node) in self.nodes.iter().enumerate() {
                    let holds = match &node.kind {
                        NodeKind::Object(object) => {
                            object.fields.iter().any(|f| self.is_dropped_when_empty(f) || at(&found, f.node))
                        }
                        NodeKind::Map(inner) | NodeKind::List(inner) => at(&found, *inner),
                        NodeKind::Scalar(_) | NodeKind::Any => false,
                    };
                    if let Some(slot) = found.get_mut(index)
                        && holds
                        && !*slot
                    {
                        *slot = true;
                        changed = true;
                    }
                }
                if !changed {
                    return found.into_boxed_slice();
                }
            }
        });
        known.get(node.index()).copied().unwrap_or_default()
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Node, Object, Scalar, SchemaBuilder};

    #[test]
    fn only_fields_that_are_always_written_lose_their_empty_lists() {
        let mut builder = SchemaBuilder::new();
        let text = builder.add(Node::new(NodeKind::Scalar(Scalar::String), "string"));
        let list = builder.add(Node::new(NodeKind::List(text), "[]string"));
        let always = |name: &str| {
            let mut field = Field::new(name, list);
            (field.presence, field.pointer) = (Presence::Always, false);
            field
        };
        let inner = Object::new("inner", vec![always("verbs"), Field::new("urls", list)]);
        let inner = builder.add(Node::new(NodeKind::Object(inner), "Inner"));
        let inners = builder.add(Node::new(NodeKind::List(inner), "[]Inner"));
        let outer = Object::new("outer", vec![Field::new("rules", inners), Field::new("name", text)]);
        let outer = builder.add(Node::new(NodeKind::Object(outer), "Outer"));
        let schema = builder.build().unwrap();
        let mut object = json!({"name": "x", "rules": [{"verbs": [], "urls": []}, {"verbs": ["a"]}]});
        let object = object.as_object_mut().unwrap();
        assert!(schema.holds_empties(outer, object));
        schema.drop_empties(outer, object);
        assert_eq!(json!(object), json!({"name": "x", "rules": [{"verbs": null, "urls": []}, {"verbs": ["a"]}]}));
        assert!(!schema.holds_empties(outer, object));
    }
}
