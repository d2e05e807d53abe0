//! A structural schema as a type like those of built-in kinds, for decoding, apply and printing.
//!
//! Everything but metadata is lenient: values of wrong types are kept until validation says what is wrong with them.

use std::collections::HashMap;

use pawl_schema::{Field, ListType, Node as Type, NodeId, NodeKind, Object, Scalar, Schema, SchemaBuilder};

use crate::node::{List, Node, Others};

/// What the type of any value is called; nobody reads it, because nothing of such a type is refused by the decoder.
const ANY: &str = "interface {}";

/// Builds the type of a resource. `None` keeps everything.
pub(crate) fn build(root: Option<&Node>, meta: (&Schema, NodeId)) -> (Schema, NodeId) {
    let mut builder = Builder { types: SchemaBuilder::new(), copied: HashMap::new(), meta, nothing: None };
    let keep_all = Node { is_preserving: true, ..Node::default() };
    let root = builder.resource(root.unwrap_or(&keep_all), false);
    let schema = builder.types.build().unwrap_or_default();
    (schema, root)
}

struct Builder<'m> {
    types: SchemaBuilder,
    /// Types of built-in metadata that are here already.
    copied: HashMap<NodeId, NodeId>,
    meta: (&'m Schema, NodeId),
    nothing: Option<NodeId>,
}

impl Builder<'_> {
    /// An object with metadata of its own: the whole, or one inside of it, which may be of any kind.
    fn resource(&mut self, node: &Node, is_embedded: bool) -> NodeId {
        let text = Type::new(NodeKind::Scalar(Scalar::String), "string");
        let text = self.types.add(text);
        let meta = self.copy(self.meta.1);
        let mut fields = vec![Field::new("apiVersion", text), Field::new("kind", text), Field::new("metadata", meta)];
        for (name, property) in &node.properties {
            if !matches!(&**name, "apiVersion" | "kind" | "metadata") {
                let below = self.value(property, property.is_preserving);
                fields.push(Field::new(name.clone(), below));
            }
        }
        let kind = NodeKind::Object(Object::new("", fields));
        // Something that is no object at all is refused by the decoder, as for every kind.
        let whole = Type { lenient: is_embedded, embedded: is_embedded, ..self.describe(node, kind) };
        self.types.add(whole)
    }

    /// `keeps`: fields that are not declared stay.
    fn value(&mut self, node: &Node, keeps: bool) -> NodeId {
        if node.is_embedded {
            return self.resource(node, true);
        }
        let types = node.types;
        let kind = if !node.properties.is_empty() {
            let mut fields = Vec::with_capacity(node.properties.len());
            for (name, property) in &node.properties {
                let below = self.value(property, property.is_preserving);
                fields.push(Field::new(name.clone(), below));
            }
            let mut object = Object::new("", fields);
            object.others = (!matches!(node.additional, Others::Unsaid)).then(|| self.others(node));
            NodeKind::Object(object)
        } else if let Others::Schema(values) = &node.additional {
            NodeKind::Map(self.value(values, values.is_preserving))
        } else if matches!(node.additional, Others::Allowed | Others::Forbidden) {
            NodeKind::Map(self.nothing())
        } else if types.array || node.item.is_some() {
            NodeKind::List(match &node.item {
                Some(item) => self.value(item, keeps || item.is_preserving),
                None => self.any(),
            })
        } else if types.object {
            NodeKind::Object(Object::default())
        } else if types.integer && types.string {
            NodeKind::Scalar(Scalar::IntOrString)
        } else if types.string {
            NodeKind::Scalar(Scalar::String)
        } else if types.integer {
            NodeKind::Scalar(Scalar::Int64)
        } else if types.number {
            NodeKind::Scalar(Scalar::Float64)
        } else if types.boolean {
            NodeKind::Scalar(Scalar::Bool)
        } else if keeps {
            NodeKind::Any
        } else {
            NodeKind::Object(Object::default())
        };
        let mut described = self.describe(node, kind);
        described.preserve_unknown |= keeps;
        self.types.add(described)
    }

    fn describe(&self, node: &Node, kind: NodeKind) -> Type {
        // Fields beside declared ones are kept where they are allowed.
        let keeps_others = !node.properties.is_empty() && !matches!(node.additional, Others::Unsaid);
        Type {
            lenient: true,
            nullable: node.nullable,
            preserve_unknown: node.is_preserving || keeps_others,
            atomic: node.is_atomic_map,
            list: match &node.list {
                List::Atomic => ListType::Atomic,
                List::Set => ListType::Set,
                List::Map(keys) => ListType::Map(keys.clone()),
            },
            ..Type::new(kind, ANY)
        }
    }

    /// What fields beside declared ones hold.
    fn others(&mut self, node: &Node) -> NodeId {
        match &node.additional {
            Others::Schema(values) => self.value(values, values.is_preserving),
            _ => self.nothing(),
        }
    }

    fn any(&mut self) -> NodeId {
        self.types.add(Type { lenient: true, preserve_unknown: true, ..Type::new(NodeKind::Any, ANY) })
    }

    /// The type of values of which nothing is declared: no field of theirs is kept.
    fn nothing(&mut self) -> NodeId {
        if let Some(id) = self.nothing {
            return id;
        }
        let kind = NodeKind::Object(Object::default());
        let id = self.types.add(Type { lenient: true, ..Type::new(kind, ANY) });
        self.nothing = Some(id);
        id
    }

    /// A type of built-in metadata, under its name.
    fn copy(&mut self, id: NodeId) -> NodeId {
        if let Some(copy) = self.copied.get(&id) {
            return *copy;
        }
        let mut node = self.meta.0.node(id).clone();
        let mut name = None;
        node.kind = match node.kind {
            NodeKind::Object(object) => {
                name = (!object.name.is_empty()).then(|| object.name.clone());
                let fields = object.fields.into_iter().map(|field| Field { node: self.copy(field.node), ..field });
                let fields: Vec<Field> = fields.collect();
                NodeKind::Object(Object::new(object.name, fields))
            }
            NodeKind::Map(values) => NodeKind::Map(self.copy(values)),
            NodeKind::List(items) => NodeKind::List(self.copy(items)),
            other => other,
        };
        let copy = match name {
            Some(name) => self.types.define(&name, node),
            None => self.types.add(node),
        };
        self.copied.insert(id, copy);
        copy
    }
}
