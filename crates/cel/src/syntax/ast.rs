//! The syntax tree: nodes in one arena, named by index.
//!
//! An arena because trees come from users: dropping it never recurses, and
//! side tables (types, references, sizes) are plain vectors beside it.

use std::sync::Arc;

/// The index of a node in its [`Ast`].
pub type NodeId = u32;

/// A constant as it was written.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
}

/// One node of the tree.
#[derive(Debug, Clone)]
pub enum Node {
    /// Stands where the text was wrong; never in a tree that parsed.
    Unspecified,
    Literal(Literal),
    Ident(Arc<str>),
    Select {
        operand: NodeId,
        field: Arc<str>,
        /// Whether only the presence of the field is asked for.
        test: bool,
    },
    Call {
        target: Option<NodeId>,
        function: Arc<str>,
        args: Vec<NodeId>,
    },
    List {
        elements: Vec<Element>,
    },
    Map {
        entries: Vec<MapEntry>,
    },
    Struct {
        name: Arc<str>,
        fields: Vec<Field>,
    },
    Comprehension(Box<Comprehension>),
}

/// An element of a list; `[?e]` makes it optional.
#[derive(Debug, Clone, Copy)]
pub struct Element {
    pub value: NodeId,
    pub optional: bool,
}

/// An entry of a map; `{?k: v}` makes it optional.
#[derive(Debug, Clone, Copy)]
pub struct MapEntry {
    pub key: NodeId,
    pub value: NodeId,
    pub optional: bool,
}

/// A field of a message literal.
#[derive(Debug, Clone)]
pub struct Field {
    /// Where its colon stands.
    pub offset: usize,
    pub name: Arc<str>,
    pub value: NodeId,
    pub optional: bool,
}

/// The one loop of the language; every looping macro becomes one.
#[derive(Debug, Clone)]
pub struct Comprehension {
    pub range: NodeId,
    pub variable: Arc<str>,
    /// With a second variable the first is the key or the index.
    pub second: Option<Arc<str>>,
    pub accumulator: Arc<str>,
    pub init: NodeId,
    pub condition: NodeId,
    pub step: NodeId,
    pub result: NodeId,
}

/// A parsed expression.
#[derive(Debug, Clone)]
pub struct Ast {
    pub(super) nodes: Vec<Node>,
    pub(super) offsets: Vec<u32>,
    pub(super) root: NodeId,
}

impl Ast {
    /// The outermost node.
    pub fn root(&self) -> NodeId {
        self.root
    }

    /// How many nodes there are; ids are below it.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node with this id.
    pub fn node(&self, id: NodeId) -> &Node {
        self.nodes.get(id as usize).unwrap_or(&Node::Unspecified)
    }

    pub(crate) fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut(id as usize)
    }

    /// Where the node stands in the text, in code points.
    pub fn offset(&self, id: NodeId) -> usize {
        self.offsets.get(id as usize).copied().unwrap_or(0) as usize
    }

    /// The dotted name that a chain of selections spells, if it is nothing else.
    pub fn qualified_name(&self, id: NodeId) -> Option<String> {
        match self.node(id) {
            Node::Ident(name) => Some(name.to_string()),
            Node::Select { operand, field, test: false } => {
                let mut name = self.qualified_name(*operand)?;
                name.push('.');
                name.push_str(field);
                Some(name)
            }
            _ => None,
        }
    }

    /// The children of a node, in evaluation order.
    pub fn children(&self, id: NodeId) -> Vec<NodeId> {
        match self.node(id) {
            Node::Unspecified | Node::Literal(_) | Node::Ident(_) => Vec::new(),
            Node::Select { operand, .. } => vec![*operand],
            Node::Call { target, args, .. } => target.iter().chain(args).copied().collect(),
            Node::List { elements } => elements.iter().map(|e| e.value).collect(),
            Node::Map { entries } => entries.iter().flat_map(|e| [e.key, e.value]).collect(),
            Node::Struct { fields, .. } => fields.iter().map(|f| f.value).collect(),
            Node::Comprehension(c) => vec![c.range, c.init, c.condition, c.step, c.result],
        }
    }
}
