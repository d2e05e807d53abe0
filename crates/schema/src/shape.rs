//! The shape of objects: a graph of nodes, built once per set of types and shared by everything that reads objects.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::Value;

use crate::{ObjectRef, TypeKind, TypeRef};

/// The place of a node in the schema that a [`SchemaBuilder`] makes. It is good for that builder alone: a finished schema is
/// walked by [`crate::TypeRef`], which never parts from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeId(u32);

impl NodeId {
    pub(crate) const FIRST: Self = Self(0);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of types that refer to each other.
#[derive(Debug, Default)]
pub struct Schema {
    pub(crate) nodes: Vec<Node>,
    names: HashMap<Box<str>, NodeId>,
    /// Below which nodes empty lists are to be looked for; worked out on first use.
    pub(crate) empties: OnceLock<Box<[bool]>>,
}

/// What may stand at one place of an object.
#[derive(Clone, Debug)]
pub struct Node {
    pub(crate) kind: NodeKind,
    /// How Go names the type in messages: `v1.PodSpec`, `int32`, `map[string]string`.
    pub go: Box<str>,
    /// Written as a whole: owned and replaced as one value by apply (structs and maps).
    pub atomic: bool,
    pub list: ListType,
    pub patch: Patch,
    /// Unknown fields are kept and not reported.
    pub preserve_unknown: bool,
    /// The object is a resource of its own: its kind, apiVersion and metadata are known without being declared.
    pub embedded: bool,
    /// An explicit null is a value.
    pub nullable: bool,
    /// Values of a wrong type and nulls are kept: what is wrong with them is said by validation.
    pub lenient: bool,
    /// In protobuf a message of its own around the list (`ExtraValue`).
    pub wrapped: bool,
}

#[derive(Clone, Debug)]
pub enum NodeKind {
    Object(Object),
    Map(NodeId),
    List(NodeId),
    Scalar(Scalar),
    /// Any JSON value.
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    String,
    Bytes,
    Bool,
    Int32,
    Int64,
    Uint32,
    Uint64,
    Float64,
    Time,
    MicroTime,
    Duration,
    Quantity,
    IntOrString,
}

/// How the items of a list are told apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    #[default]
    Atomic,
    Set,
    Map(Vec<Box<str>>),
}

/// What a strategic merge patch does with a field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    pub merge: bool,
    pub replace: bool,
    pub retain_keys: bool,
    pub merge_key: Option<Box<str>>,
}

/// An object with declared fields, in the order of declaration.
#[derive(Clone, Debug, Default)]
pub struct Object {
    /// The name of its type: `core.v1.PodSpec`; empty for a schema that names none.
    pub name: Box<str>,
    pub fields: Vec<Field>,
    /// What fields hold that are not declared, where they are allowed and something is said of them.
    pub others: Option<NodeId>,
    index: HashMap<Box<str>, usize>,
}

#[derive(Clone, Debug)]
pub struct Field {
    pub name: Box<str>,
    pub(crate) node: NodeId,
    pub presence: Presence,
    /// Behind a pointer in Go: a zero value is kept apart from an absent one.
    pub pointer: bool,
    /// The protobuf field number; 0 where it has none.
    pub number: u32,
    /// For a field of an embedded struct: the numbers of the messages around it in protobuf, outermost first.
    pub inline: Vec<u32>,
    pub required: bool,
    /// An explicit empty list is kept: that it was sent means something.
    pub keep_empty: bool,
    /// An explicit null is an empty list.
    pub null_is_empty: bool,
    pub default: Option<Value>,
    pub allowed: Vec<Box<str>>,
    /// The struct that declares the field, where it is not the object's own type (embedded structs).
    pub owner: Option<Box<str>>,
    /// The names of the structs around it within the object's own, as messages have them on the way to the field:
    /// `RuleWithOperations.Rule`.
    pub embedded: Box<str>,
}

/// Which values of a field are left out on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Written whatever it is.
    Always,
    /// Left out when empty: false, 0, "", no items, no pointer. A struct is never empty.
    OmitEmpty,
    /// Left out when zero, structs included.
    OmitZero,
}

impl Schema {
    /// A schema of one node.
    pub(crate) fn of(node: Node) -> Self {
        Self { nodes: vec![node], ..Self::default() }
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node {
        // Ids are only made by the builder of this schema, and outside of this crate they never leave it.
        #[expect(clippy::indexing_slicing, reason = "ids are indexes into the schema that made them")]
        &self.nodes[id.index()]
    }

    pub(crate) fn id_of(&self, name: &str) -> Option<NodeId> {
        self.names.get(name).copied()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = (&str, NodeId)> {
        self.names.iter().map(|(name, id)| (&**name, *id))
    }
}

impl NodeKind {
    /// The nodes that it is made of.
    fn refers_to(&self) -> impl Iterator<Item = NodeId> {
        let (fields, inner) = match self {
            Self::Object(object) => (object.fields.as_slice(), object.others),
            Self::Map(inner) | Self::List(inner) => (Default::default(), Some(*inner)),
            Self::Scalar(_) | Self::Any => (Default::default(), None),
        };
        fields.iter().map(|field| field.node).chain(inner)
    }
}

impl Node {
    pub fn new(kind: NodeKind, go: impl Into<Box<str>>) -> Self {
        Self {
            kind,
            go: go.into(),
            atomic: false,
            list: ListType::Atomic,
            patch: Patch::default(),
            preserve_unknown: false,
            embedded: false,
            nullable: false,
            lenient: false,
            wrapped: false,
        }
    }
}

impl Object {
    pub fn new(name: impl Into<Box<str>>, fields: Vec<Field>) -> Self {
        let index = fields.iter().enumerate().map(|(i, f)| (f.name.clone(), i)).collect();
        Self { name: name.into(), fields, others: None, index }
    }

    /// The same, with fields that are not declared holding values of a type.
    pub fn with_others(self, others: Option<NodeId>) -> Self {
        Self { others, ..self }
    }

    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.get(*self.index.get(name)?)
    }

    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// The Go name of the struct that messages name for a field: `PodSpec`. What is embedded is on the way to it.
    pub fn struct_name<'f>(&'f self, field: &'f Field) -> &'f str {
        let name = field.owner.as_deref().filter(|_| field.embedded.is_empty()).unwrap_or(&self.name);
        name.rsplit('.').next().unwrap_or(name)
    }
}

impl Field {
    pub fn new(name: impl Into<Box<str>>, node: NodeId) -> Self {
        Self {
            name: name.into(),
            node,
            presence: Presence::OmitEmpty,
            pointer: true,
            number: 0,
            inline: Vec::new(),
            required: false,
            keep_empty: false,
            null_is_empty: false,
            default: None,
            allowed: Vec::new(),
            owner: None,
            embedded: "".into(),
        }
    }
}

/// Builds a [`Schema`]; named types may be used before they are defined.
#[derive(Default)]
pub struct SchemaBuilder {
    nodes: Vec<Option<Node>>,
    names: HashMap<Box<str>, NodeId>,
}

impl SchemaBuilder {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node that nothing refers to by name.
    pub fn add(&mut self, node: Node) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(Some(node));
        id
    }

    /// The id of a named type, which may be defined later.
    pub fn reference(&mut self, name: &str) -> NodeId {
        if let Some(id) = self.names.get(name) {
            return *id;
        }
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(None);
        self.names.insert(name.into(), id);
        id
    }

    /// Says what a named type is.
    pub fn define(&mut self, name: &str, node: Node) -> NodeId {
        let id = self.reference(name);
        if let Some(slot) = self.nodes.get_mut(id.0 as usize) {
            *slot = Some(node);
        }
        id
    }

    /// Takes over a type of a finished schema with everything that it is made of. Named types keep their names; one that has
    /// been defined here already stays as it is.
    pub fn copy(&mut self, of: TypeRef<'_>) -> NodeId {
        self.copy_node(of, &mut HashMap::new())
    }

    fn copy_node(&mut self, of: TypeRef<'_>, copied: &mut HashMap<NodeId, NodeId>) -> NodeId {
        if let Some(id) = copied.get(&of.id) {
            return *id;
        }
        let name = of.object().map(ObjectRef::name).filter(|name| of.schema().named(name) == Some(of));
        if let Some(id) = name.filter(|name| self.defined(name).is_some()).and_then(|name| self.names.get(name)) {
            return *id;
        }
        // Types may be made of themselves: their place is known before they are.
        let id = match name {
            Some(name) => self.reference(name),
            None => {
                self.nodes.push(None);
                NodeId(u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX))
            }
        };
        copied.insert(of.id, id);
        let mut node = of.node().clone();
        node.kind = match of.kind() {
            TypeKind::Object(object) => {
                let mut shape = object.object.clone();
                for (field, original) in shape.fields.iter_mut().zip(object.fields()) {
                    field.node = self.copy_node(original.of(), copied);
                }
                shape.others = object.others().map(|others| self.copy_node(others, copied));
                NodeKind::Object(shape)
            }
            TypeKind::Map(inner) => NodeKind::Map(self.copy_node(inner, copied)),
            TypeKind::List(inner) => NodeKind::List(self.copy_node(inner, copied)),
            TypeKind::Scalar(scalar) => NodeKind::Scalar(scalar),
            TypeKind::Any => NodeKind::Any,
        };
        if let Some(slot) = self.nodes.get_mut(id.index()) {
            *slot = Some(node);
        }
        id
    }

    /// The node of a type that has been defined already.
    pub fn defined(&self, name: &str) -> Option<&Node> {
        self.nodes.get(self.names.get(name)?.0 as usize)?.as_ref()
    }

    /// The finished schema, or the names that were used and never defined, and what refers to nothing here.
    pub fn build(self) -> Result<Schema, Vec<String>> {
        let is_missing = |id: NodeId| self.nodes.get(id.index()).is_none_or(Option::is_none);
        let missing = self.names.iter().filter(|(_, id)| is_missing(**id)).map(|(name, _)| name.to_string());
        let is_foreign = |node: &&Node| node.kind.refers_to().any(|id| id.index() >= self.nodes.len());
        let foreign = self.nodes.iter().flatten().filter(is_foreign).map(|node| node.go.to_string());
        let wrong: Vec<String> = missing.chain(foreign).collect();
        if !wrong.is_empty() {
            return Err(wrong);
        }
        Ok(Schema { nodes: self.nodes.into_iter().flatten().collect(), names: self.names, empties: OnceLock::new() })
    }

    /// The finished schema, seen from one of its nodes.
    pub fn build_type(self, root: NodeId) -> Result<crate::Type, Vec<String>> {
        if root.index() >= self.nodes.len() {
            return Err(vec!["the root".to_owned()]);
        }
        Ok(crate::Type::new(std::sync::Arc::new(self.build()?), root))
    }
}
