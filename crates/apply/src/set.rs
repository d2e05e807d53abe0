//! Sets of fields: a trie of path elements.
//!
//! A node may be a member, have members below it, or both. Owning a field says nothing about owning what is below it:
//! every operation works member by member, only [`FieldSet::recursive_difference`] takes whole subtrees.

use std::cmp::Ordering;

use crate::path::Element;

/// A set of fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet<'a> {
    // Sorted by element, without repetition; every node is a member or has members below it.
    nodes: Vec<Node<'a>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node<'a> {
    pub(crate) element: Element<'a>,
    pub(crate) member: bool,
    pub(crate) children: FieldSet<'a>,
}

impl<'a> FieldSet<'a> {
    pub const fn new() -> Self {
        Self { nodes: Vec::new() }
    }

    pub(crate) fn with_capacity(nodes: usize) -> Self {
        Self { nodes: Vec::with_capacity(nodes) }
    }

    /// The set of some fields, each a dotted path of field names: `spec`, `metadata.labels`.
    pub fn of_fields<'p: 'a>(paths: impl IntoIterator<Item = &'p str>) -> Self {
        let mut set = Self::new();
        for path in paths {
            set.insert(path.split('.').map(Element::field));
        }
        set
    }

    /// Adds a field. The path of nothing is the whole object, which nobody owns.
    pub fn insert(&mut self, path: impl IntoIterator<Item = Element<'a>>) {
        let mut path = path.into_iter();
        if let Some(element) = path.next() {
            self.insert_below(element, &mut path);
        }
    }

    fn insert_below(&mut self, element: Element<'a>, rest: &mut dyn Iterator<Item = Element<'a>>) {
        let node = self.node_mut(element);
        match rest.next() {
            None => node.member = true,
            Some(next) => node.children.insert_below(next, rest),
        }
    }

    /// Adds a node with what is below it; nodes that arrive in order are appended.
    pub(crate) fn put(&mut self, element: Element<'a>, member: bool, children: Self) {
        if !member && children.is_empty() {
            return;
        }
        let node = self.node_mut(element);
        node.member |= member;
        if node.children.is_empty() {
            node.children = children;
        } else {
            node.children.extend(children);
        }
    }

    /// The node of an element, made where there is none: the caller gives it a reason to be.
    fn node_mut(&mut self, element: Element<'a>) -> &mut Node<'a> {
        let at = match self.nodes.last().map(|last| last.element.cmp(&element)) {
            None | Some(Ordering::Less) => Err(self.nodes.len()),
            Some(_) => self.nodes.binary_search_by(|node| node.element.cmp(&element)),
        };
        let at = match at {
            Ok(at) => at,
            Err(at) => {
                self.nodes.insert(at, Node { element, member: false, children: Self::new() });
                at
            }
        };
        #[expect(clippy::indexing_slicing, reason = "found or inserted above")]
        &mut self.nodes[at]
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// How many fields are in the set.
    pub fn len(&self) -> usize {
        self.nodes.iter().map(|node| usize::from(node.member) + node.children.len()).sum()
    }

    pub(crate) fn nodes(&self) -> &[Node<'a>] {
        &self.nodes
    }

    pub(crate) fn nodes_mut(&mut self) -> impl Iterator<Item = &mut Node<'a>> {
        self.nodes.iter_mut()
    }

    pub(crate) fn node(&self, element: &Element<'_>) -> Option<&Node<'a>> {
        self.find(|node| node.cmp(element))
    }

    /// The node of a field name, without making an element of it.
    pub(crate) fn field(&self, name: &str) -> Option<&Node<'a>> {
        self.find(|element| match element {
            Element::Field(field) => (**field).cmp(name),
            _ => Ordering::Greater,
        })
    }

    fn find(&self, order: impl Fn(&Element<'a>) -> Ordering) -> Option<&Node<'a>> {
        let at = self.nodes.binary_search_by(|node| order(&node.element)).ok()?;
        self.nodes.get(at)
    }

    /// Whether a field is in the set.
    pub fn contains<'p, 'e: 'p>(&self, path: impl IntoIterator<Item = &'p Element<'e>>) -> bool {
        let mut set = self;
        let mut member = false;
        for element in path {
            match set.node(element) {
                Some(node) => (set, member) = (&node.children, node.member),
                None => return false,
            }
        }
        member
    }

    /// Takes in all fields of another set.
    pub fn extend(&mut self, other: Self) {
        if self.nodes.is_empty() {
            *self = other;
            return;
        }
        for node in other.nodes {
            self.put(node.element, node.member, node.children);
        }
    }

    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut out = self.clone();
        out.extend(other.clone());
        out
    }

    /// The fields that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &FieldSet<'_>) -> Self {
        let mut out = Self::new();
        self.join(other, |node, other| {
            if let Some(other) = other {
                let children = node.children.intersection(&other.children);
                let member = node.member && other.member;
                if member || !children.is_empty() {
                    out.nodes.push(Node { element: node.element.clone(), member, children });
                }
            }
        });
        out
    }

    /// Whether the sets have a field in common.
    pub fn intersects(&self, other: &FieldSet<'_>) -> bool {
        let mut found = false;
        self.join(other, |node, other| {
            found = found
                || other
                    .is_some_and(|other| (node.member && other.member) || node.children.intersects(&other.children));
        });
        found
    }

    /// Whether every field of this set is in the other one too.
    pub fn is_subset(&self, other: &FieldSet<'_>) -> bool {
        let mut subset = true;
        self.join(other, |node, other| {
            subset = subset
                && other
                    .is_some_and(|other| (!node.member || other.member) && node.children.is_subset(&other.children));
        });
        subset
    }

    /// Takes the fields of another set away, one by one: what is below a field that goes stays.
    pub fn subtract(&mut self, other: &FieldSet<'_>) {
        self.drop_nodes(other, |node, other| {
            node.member &= !other.member;
            node.children.subtract(&other.children);
        });
    }

    #[must_use]
    pub fn difference(&self, other: &FieldSet<'_>) -> Self {
        let mut out = self.clone();
        out.subtract(other);
        out
    }

    /// Takes the fields of another set away, each with everything below it.
    pub fn subtract_recursively(&mut self, other: &FieldSet<'_>) {
        self.drop_nodes(other, |node, other| {
            if other.member {
                node.member = false;
                node.children = Self::new();
            } else {
                node.children.subtract_recursively(&other.children);
            }
        });
    }

    #[must_use]
    pub fn recursive_difference(&self, other: &FieldSet<'_>) -> Self {
        let mut out = self.clone();
        out.subtract_recursively(other);
        out
    }

    /// Changes nodes, and drops those that are left without a reason to be.
    pub(crate) fn retain_nodes(&mut self, change: impl Fn(&mut Node<'a>)) {
        self.nodes.retain_mut(|node| {
            change(node);
            node.member || !node.children.is_empty()
        });
    }

    fn drop_nodes(&mut self, other: &FieldSet<'_>, change: impl Fn(&mut Node<'a>, &Node<'_>)) {
        if other.is_empty() {
            return;
        }
        self.nodes.retain_mut(|node| match other.node(&node.element) {
            None => true,
            Some(other) => {
                change(node, other);
                node.member || !node.children.is_empty()
            }
        });
    }

    /// Only the fields below which there are none.
    #[must_use]
    pub fn leaves(&self) -> Self {
        let leaf = |node: &Node<'a>| Node {
            element: node.element.clone(),
            member: node.member && node.children.is_empty(),
            children: node.children.leaves(),
        };
        Self { nodes: self.nodes.iter().map(leaf).collect() }
    }

    /// Calls with every field: those of a level before those below it.
    pub fn for_each(&self, visit: &mut dyn FnMut(&[&Element<'a>])) {
        self.for_each_below(&mut Vec::new(), visit);
    }

    fn for_each_below<'s>(&'s self, prefix: &mut Vec<&'s Element<'a>>, visit: &mut dyn FnMut(&[&Element<'a>])) {
        for node in self.nodes.iter().filter(|node| node.member) {
            prefix.push(&node.element);
            visit(prefix);
            prefix.pop();
        }
        for node in &self.nodes {
            prefix.push(&node.element);
            node.children.for_each_below(prefix, visit);
            prefix.pop();
        }
    }

    /// Every field as messages print it: `.spec.ports[port=80]`.
    pub fn paths(&self) -> Vec<String> {
        let mut out = Vec::new();
        self.for_each(&mut |path| out.push(path.iter().map(ToString::to_string).collect()));
        out
    }

    pub fn into_owned(self) -> FieldSet<'static> {
        let owned = |node: Node<'a>| Node {
            element: node.element.into_owned(),
            member: node.member,
            children: node.children.into_owned(),
        };
        FieldSet { nodes: self.nodes.into_iter().map(owned).collect() }
    }

    /// Calls with every node and its counterpart in the other set.
    fn join<'o, 'b>(&self, other: &'o FieldSet<'b>, mut visit: impl FnMut(&Node<'a>, Option<&'o Node<'b>>)) {
        let mut others = other.nodes.iter().peekable();
        for node in &self.nodes {
            while others.next_if(|other| other.element < node.element).is_some() {}
            visit(node, others.next_if(|other| other.element == node.element));
        }
    }
}

#[cfg(test)]
mod tests;
