//! A structural schema as a type like those of built-in kinds, for decoding, apply and printing.
//!
//! Everything but metadata is lenient: values of wrong types are kept until validation says what is wrong with them.

use pawl_schema::{Field, ListType, Node as Described, NodeId, NodeKind, Object, Scalar, SchemaBuilder, Type, TypeRef};

use crate::node::{List, Node, Others};

/// What the type of any value is called; nobody reads it, because nothing of such a type is refused by the decoder.
const ANY: &str = "interface {}";

/// Builds the type of a resource. `None` keeps everything.
pub(crate) fn build(root: Option<&Node>, meta: TypeRef<'_>) -> Type {
    let mut builder = Builder { types: SchemaBuilder::new(), meta, nothing: None };
    let keep_all = Node { is_preserving: true, ..Node::default() };
    let root = builder.resource(root.unwrap_or(&keep_all), false);
    // Every node is made here, and none is named before it is there.
    builder.types.build_type(root).unwrap_or_else(|_| Type::any(ANY))
}

struct Builder<'m> {
    types: SchemaBuilder,
    meta: TypeRef<'m>,
    nothing: Option<NodeId>,
}

impl Builder<'_> {
    /// An object with metadata of its own: the whole, or one inside of it, which may be of any kind.
    fn resource(&mut self, node: &Node, is_embedded: bool) -> NodeId {
        let mut text = Described::new(NodeKind::Scalar(Scalar::String), "string");
        // Of objects within objects it is told where they stand, which is not known here.
        text.lenient = is_embedded;
        let text = self.types.add(text);
        let meta = self.types.copy(self.meta);
        let mut fields = vec![Field::new("apiVersion", text), Field::new("kind", text), Field::new("metadata", meta)];
        for (name, property) in &node.properties {
            if !matches!(&**name, "apiVersion" | "kind" | "metadata") {
                let below = self.value(property, property.is_preserving);
                fields.push(Field::new(name.clone(), below));
            }
        }
        let kind = NodeKind::Object(Object::new("", fields));
        // Something that is no object at all is refused by the decoder, as for every kind.
        let mut whole = describe(node, kind);
        whole.lenient = is_embedded;
        whole.embedded = is_embedded;
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
            let others = (!matches!(node.additional, Others::Unsaid)).then(|| self.others(node));
            NodeKind::Object(Object::new("", fields).with_others(others))
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
        let mut described = describe(node, kind);
        described.preserve_unknown |= keeps;
        self.types.add(described)
    }

    /// What fields beside declared ones hold.
    fn others(&mut self, node: &Node) -> NodeId {
        match &node.additional {
            Others::Schema(values) => self.value(values, values.is_preserving),
            _ => self.nothing(),
        }
    }

    fn any(&mut self) -> NodeId {
        let mut any = lenient(NodeKind::Any);
        any.preserve_unknown = true;
        self.types.add(any)
    }

    /// The type of values of which nothing is declared: no field of theirs is kept.
    fn nothing(&mut self) -> NodeId {
        if let Some(id) = self.nothing {
            return id;
        }
        let id = self.types.add(lenient(NodeKind::Object(Object::default())));
        self.nothing = Some(id);
        id
    }
}

fn describe(node: &Node, kind: NodeKind) -> Described {
    let mut described = lenient(kind);
    described.nullable = node.nullable;
    // Fields beside declared ones are kept where they are allowed.
    let keeps_others = !node.properties.is_empty() && !matches!(node.additional, Others::Unsaid);
    described.preserve_unknown = node.is_preserving || keeps_others;
    described.atomic = node.is_atomic_map;
    described.list = match &node.list {
        List::Atomic => ListType::Atomic,
        List::Set => ListType::Set,
        List::Map(keys) => ListType::Map(keys.clone()),
    };
    described
}

fn lenient(kind: NodeKind) -> Described {
    let mut described = Described::new(kind, ANY);
    described.lenient = true;
    described
}
