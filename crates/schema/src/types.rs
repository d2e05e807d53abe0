//! Types: a place in a schema, together with the schema. Whoever walks types does it here, so that a place is never
//! looked up in a schema that it is not of.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use crate::shape::{Field, Node, NodeId, NodeKind, Object, Scalar, Schema};

/// A type that keeps its schema alive: what travels with a resource.
#[derive(Clone)]
pub struct Type {
    schema: Arc<Schema>,
    root: NodeId,
}

/// A type in a schema that somebody else keeps alive. Two are equal where they are the same place of the same schema.
#[derive(Clone, Copy)]
pub struct TypeRef<'s> {
    pub(crate) schema: &'s Schema,
    pub(crate) id: NodeId,
}

/// What values of a type are.
#[derive(Clone, Copy)]
pub enum TypeKind<'s> {
    Object(ObjectRef<'s>),
    /// Of values of this type.
    Map(TypeRef<'s>),
    /// Of items of this type.
    List(TypeRef<'s>),
    Scalar(Scalar),
    /// Any JSON value.
    Any,
}

/// A type with declared fields.
#[derive(Clone, Copy)]
pub struct ObjectRef<'s> {
    pub(crate) schema: &'s Schema,
    pub(crate) object: &'s Object,
}

/// A declared field.
#[derive(Clone, Copy)]
pub struct FieldRef<'s> {
    pub(crate) schema: &'s Schema,
    pub(crate) field: &'s Field,
}

impl Type {
    pub(crate) fn new(schema: Arc<Schema>, root: NodeId) -> Self {
        Self { schema, root }
    }

    /// The type of that name in a schema.
    pub fn named(schema: &Arc<Schema>, name: &str) -> Option<Self> {
        schema.named(name).map(|found| Self { schema: Arc::clone(schema), root: found.id })
    }

    /// A type of which nothing is known.
    pub fn any(go: &str) -> Self {
        let schema = Schema::of(Node::new(NodeKind::Any, go));
        Self { schema: Arc::new(schema), root: NodeId::FIRST }
    }

    /// A type of which nothing is declared: what does not fit is kept, fields are not.
    pub(crate) fn nothing(go: &str) -> Self {
        let node = Node { lenient: true, ..Node::new(NodeKind::Object(Object::default()), go) };
        Self { schema: Arc::new(Schema::of(node)), root: NodeId::FIRST }
    }

    pub fn as_ref(&self) -> TypeRef<'_> {
        TypeRef { schema: &self.schema, id: self.root }
    }

    /// The types around it.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

impl<'s> TypeRef<'s> {
    /// What is particular about the type here: its name in Go, how lists are merged, whether nulls are values.
    pub fn node(self) -> &'s Node {
        self.schema.node(self.id)
    }

    pub fn kind(self) -> TypeKind<'s> {
        let schema = self.schema;
        match &self.node().kind {
            NodeKind::Object(object) => TypeKind::Object(ObjectRef { schema, object }),
            NodeKind::Map(id) => TypeKind::Map(TypeRef { schema, id: *id }),
            NodeKind::List(id) => TypeKind::List(TypeRef { schema, id: *id }),
            NodeKind::Scalar(scalar) => TypeKind::Scalar(*scalar),
            NodeKind::Any => TypeKind::Any,
        }
    }

    /// The declared fields, where the type has some.
    pub fn object(self) -> Option<ObjectRef<'s>> {
        match self.kind() {
            TypeKind::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The type below this one at a dotted path of fields.
    pub fn at(self, path: &str) -> Option<Self> {
        path.split('.').try_fold(self, |at, name| Some(at.object()?.field(name)?.of()))
    }

    /// The types around it.
    pub fn schema(self) -> &'s Schema {
        self.schema
    }
}

impl fmt::Debug for TypeRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Type({})", self.node().go)
    }
}

impl PartialEq for TypeRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.schema, other.schema) && self.id == other.id
    }
}

impl Eq for TypeRef<'_> {}

impl Hash for TypeRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl<'s> ObjectRef<'s> {
    /// The name of the type: `core.v1.PodSpec`; empty in a schema that names none.
    pub fn name(self) -> &'s str {
        &self.object.name
    }

    /// The fields, in the order of declaration.
    pub fn fields(self) -> impl ExactSizeIterator<Item = FieldRef<'s>> {
        self.object.fields.iter().map(move |field| FieldRef { schema: self.schema, field })
    }

    pub fn field(self, name: &str) -> Option<FieldRef<'s>> {
        self.object.field(name).map(|field| FieldRef { schema: self.schema, field })
    }

    /// What fields hold that are not declared, where something is said of them.
    pub fn others(self) -> Option<TypeRef<'s>> {
        self.object.others.map(|id| TypeRef { schema: self.schema, id })
    }

    pub fn has_fields(self) -> bool {
        !self.object.fields.is_empty()
    }
}

impl<'s> FieldRef<'s> {
    /// The type of its values.
    pub fn of(self) -> TypeRef<'s> {
        TypeRef { schema: self.schema, id: self.field.node }
    }

    /// The field itself, for as long as its schema lives.
    pub fn get(self) -> &'s Field {
        self.field
    }
}

impl Deref for FieldRef<'_> {
    type Target = Field;

    fn deref(&self) -> &Field {
        self.field
    }
}

impl Schema {
    /// The type of that name.
    pub fn named(&self, name: &str) -> Option<TypeRef<'_>> {
        self.id_of(name).map(|id| TypeRef { schema: self, id })
    }

    /// Every named type.
    pub fn types(&self) -> impl Iterator<Item = (&str, TypeRef<'_>)> {
        self.ids().map(|(name, id)| (name, TypeRef { schema: self, id }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SchemaBuilder;

    fn schema(names: &[&str]) -> Arc<Schema> {
        let mut builder = SchemaBuilder::new();
        for name in names {
            builder.define(name, Node::new(NodeKind::Any, *name));
        }
        Arc::new(builder.build().unwrap())
    }

    #[test]
    fn the_same_place_of_another_schema_is_another_type() {
        let (one, other) = (schema(&["a", "b"]), schema(&["a"]));
        let (a, b) = (Type::named(&one, "a").unwrap(), Type::named(&one, "b").unwrap());
        assert_eq!(a.as_ref(), one.named("a").unwrap());
        assert_ne!(a.as_ref(), b.as_ref());
        assert_ne!(a.as_ref(), other.named("a").unwrap());
        assert!(Type::named(&other, "b").is_none());
    }

    #[test]
    fn a_type_is_taken_over_with_what_it_is_made_of() {
        let mut builder = SchemaBuilder::new();
        let text = builder.add(Node::new(NodeKind::Scalar(Scalar::String), "string"));
        let own = builder.reference("t.Tree");
        let below = builder.add(Node::new(NodeKind::List(own), "[]Tree"));
        let fields = vec![Field::new("name", text), Field::new("below", below)];
        builder.define("t.Tree", Node::new(NodeKind::Object(Object::new("t.Tree", fields)), "Tree"));
        let trees = builder.build().unwrap();
        let mut builder = SchemaBuilder::new();
        builder.add(Node::new(NodeKind::Any, "first"));
        let (once, again) =
            (builder.copy(trees.named("t.Tree").unwrap()), builder.copy(trees.named("t.Tree").unwrap()));
        assert_eq!(once, again);
        let fields = vec![Field::new("tree", once)];
        let root = builder.add(Node::new(NodeKind::Object(Object::new("", fields)), "root"));
        let root = builder.build_type(root).unwrap();
        let tree = root.as_ref().at("tree").unwrap();
        assert_eq!(root.schema().named("t.Tree"), Some(tree));
        let TypeKind::List(item) = tree.at("below").unwrap().kind() else { panic!("no list") };
        assert_eq!(item, tree);
        assert_eq!(&*tree.at("name").unwrap().node().go, "string");
    }

    #[test]
    fn what_undeclared_fields_hold_is_taken_over_too_and_must_be_known() {
        let mut builder = SchemaBuilder::new();
        builder.add(Node::new(NodeKind::Any, "first"));
        let text = builder.add(Node::new(NodeKind::Scalar(Scalar::String), "string"));
        let open = |others| Node::new(NodeKind::Object(Object::default().with_others(Some(others))), "open");
        let root = builder.add(open(text));
        let original = builder.build_type(root).unwrap();
        let mut builder = SchemaBuilder::new();
        let copy = builder.copy(original.as_ref());
        let copy = builder.build_type(copy).unwrap();
        let others = copy.as_ref().object().and_then(ObjectRef::others).unwrap();
        assert_eq!(&*others.node().go, "string");
        let mut builder = SchemaBuilder::new();
        builder.add(open(text));
        assert!(builder.build().is_err());
    }

    #[test]
    fn an_id_of_another_builder_is_refused() {
        let mut elsewhere = SchemaBuilder::new();
        elsewhere.add(Node::new(NodeKind::Any, "x"));
        let far = elsewhere.add(Node::new(NodeKind::Any, "y"));
        let mut builder = SchemaBuilder::new();
        builder.define("list", Node::new(NodeKind::List(far), "[]y"));
        assert!(builder.build().is_err());
    }
}
