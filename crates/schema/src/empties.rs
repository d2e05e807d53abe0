//! Empty lists and maps in fields that are always written.
//!
//! Upstream stores built-in kinds as protobuf, which cannot tell an empty list from none: what a client sends as `[]`
//! comes back as `null`. Only the parts of an object below which there are such fields are looked at.

use serde_json::{Map, Value};

use crate::{FieldRef, NodeId, NodeKind, Presence, Schema, TypeKind, TypeRef};

impl TypeRef<'_> {
    /// Whether an object has an empty list or map where protobuf has nothing.
    pub fn holds_empties(self, object: &Map<String, Value>) -> bool {
        let Some(shape) = self.object() else { return false };
        self.may_hold_empties()
            && object.iter().any(|(name, value)| {
                shape.field(name).is_some_and(|field| {
                    (is_dropped_when_empty(field) && is_empty(value)) || field.of().value_holds_empties(value)
                })
            })
    }

    /// Makes nothing of them.
    pub fn drop_empties(self, object: &mut Map<String, Value>) {
        let Some(shape) = self.object() else { return };
        if !self.may_hold_empties() {
            return;
        }
        for (name, value) in object {
            let Some(field) = shape.field(name) else { continue };
            if is_dropped_when_empty(field) && is_empty(value) {
                *value = Value::Null;
            } else {
                field.of().drop_value_empties(value);
            }
        }
    }

    fn value_holds_empties(self, value: &Value) -> bool {
        if !self.may_hold_empties() {
            return false;
        }
        match (self.kind(), value) {
            (TypeKind::Object(_), Value::Object(object)) => self.holds_empties(object),
            (TypeKind::Map(inner), Value::Object(map)) => map.values().any(|v| inner.value_holds_empties(v)),
            (TypeKind::List(item), Value::Array(items)) => items.iter().any(|v| item.value_holds_empties(v)),
            _ => false,
        }
    }

    fn drop_value_empties(self, value: &mut Value) {
        if !self.may_hold_empties() {
            return;
        }
        match (self.kind(), value) {
            (TypeKind::Object(_), Value::Object(object)) => self.drop_empties(object),
            (TypeKind::Map(inner), Value::Object(map)) => map.values_mut().for_each(|v| inner.drop_value_empties(v)),
            (TypeKind::List(item), Value::Array(items)) => items.iter_mut().for_each(|v| item.drop_value_empties(v)),
            _ => {}
        }
    }

    fn may_hold_empties(self) -> bool {
        self.schema.may_hold_empties(self.id)
    }
}

fn is_dropped_when_empty(field: FieldRef<'_>) -> bool {
    field.presence == Presence::Always
        && !field.pointer
        && matches!(field.of().node().kind, NodeKind::List(_) | NodeKind::Map(_))
}

impl Schema {
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
                            let field = |field| FieldRef { schema: self, field };
                            object.fields.iter().any(|f| is_dropped_when_empty(field(f)) || at(&found, f.node))
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
    use crate::{Field, Node, Object, Scalar, SchemaBuilder};

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
        let outer = builder.build_type(outer).unwrap();
        let outer = outer.as_ref();
        let mut object = json!({"name": "x", "rules": [{"verbs": [], "urls": []}, {"verbs": ["a"]}]});
        let object = object.as_object_mut().unwrap();
        assert!(outer.holds_empties(object));
        outer.drop_empties(object);
        assert_eq!(json!(object), json!({"name": "x", "rules": [{"verbs": null, "urls": []}, {"verbs": ["a"]}]}));
        assert!(!outer.holds_empties(object));
    }
}
