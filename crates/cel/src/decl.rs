//! Declared data: what a schema says about the JSON that an expression reads.
//!
//! A [`DeclType`] stands beside every borrowed JSON value: it tells how to read
//! the value, which fields are reachable under which names, how lists compare,
//! and how large things may be, which the cost estimate needs. It knows nothing
//! of where the schema came from.

use crate::types::Type;
use std::collections::HashMap;
use std::sync::Arc;

/// How a JSON value is read.
#[derive(Debug, Clone, PartialEq)]
pub enum DeclKind {
    /// As JSON says: integers, doubles, strings, booleans, lists and maps.
    Dyn,
    Bool,
    Int,
    /// Any number, always as a double.
    Double,
    String,
    /// A base64 string.
    Bytes,
    /// A duration string.
    Duration,
    /// A day, `2006-01-02`.
    Date,
    /// A moment, RFC 3339.
    DateTime,
    /// An integer or a string.
    IntOrString,
    /// A list with its elements' type.
    List(Box<DeclType>, ListKind),
    /// A map from strings.
    Map(Box<DeclType>),
    /// Declared fields only.
    Object(ObjectDecl),
    /// Data that is kept but cannot be looked into.
    Hidden,
}

/// How two lists compare and add.
#[derive(Debug, Clone, PartialEq)]
pub enum ListKind {
    /// Element by element.
    Atomic,
    /// Without order or repetition.
    Set,
    /// By the values of these fields of their elements.
    Keyed(Arc<[String]>),
}

/// A declared type with its sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclType {
    /// How values are read.
    pub kind: DeclKind,
    /// Whether null is a value.
    pub nullable: bool,
    /// The smallest serialized size in bytes.
    pub min_size: u64,
    /// The largest number of elements, entries or characters.
    pub max_elements: u64,
}

/// An object type: its name and fields.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectDecl {
    /// The type's name in messages.
    pub name: Arc<str>,
    /// Sorted by the name in expressions.
    fields: Vec<FieldDecl>,
    /// Indices into `fields`, sorted by the name in the data.
    by_key: Vec<usize>,
}

/// A field of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldDecl {
    /// The name in expressions; a field without one is read but not reachable.
    pub name: Option<Arc<str>>,
    /// The name in the data.
    pub key: Arc<str>,
    /// The field's type.
    pub decl: DeclType,
    /// Whether this is a second name of a field. Sizes are known by first names only.
    pub alias: bool,
}

impl DeclType {
    /// A type without elements.
    pub fn scalar(kind: DeclKind, min_size: u64) -> DeclType {
        DeclType { kind, nullable: false, min_size, max_elements: 0 }
    }

    /// Data read as JSON says.
    pub fn dynamic() -> DeclType {
        DeclType::scalar(DeclKind::Dyn, 1)
    }

    /// A list of `element`.
    pub fn list(element: DeclType, kind: ListKind, max_elements: u64) -> DeclType {
        DeclType { kind: DeclKind::List(Box::new(element), kind), nullable: false, min_size: 2, max_elements }
    }

    /// A map from strings to `value`.
    pub fn map(value: DeclType, max_elements: u64) -> DeclType {
        DeclType { kind: DeclKind::Map(Box::new(value)), nullable: false, min_size: 2, max_elements }
    }

    /// An object with these fields.
    pub fn object(name: impl Into<Arc<str>>, fields: Vec<FieldDecl>) -> DeclType {
        DeclType::scalar(DeclKind::Object(ObjectDecl::new(name, fields)), 2)
    }

    /// The same type with null among its values.
    pub fn or_null(mut self, nullable: bool) -> DeclType {
        self.nullable = nullable;
        self
    }

    /// The same type with a bound on its elements.
    pub fn bounded(mut self, max_elements: u64) -> DeclType {
        self.max_elements = max_elements;
        self
    }

    /// The type that the checker sees.
    pub fn static_type(&self) -> Type {
        match &self.kind {
            DeclKind::Dyn | DeclKind::IntOrString | DeclKind::Hidden => Type::Dyn,
            DeclKind::Bool => Type::Bool,
            DeclKind::Int => Type::Int,
            DeclKind::Double => Type::Double,
            DeclKind::String => Type::String,
            DeclKind::Bytes => Type::Bytes,
            DeclKind::Duration => Type::Duration,
            DeclKind::Date | DeclKind::DateTime => Type::Timestamp,
            DeclKind::List(element, _) => Type::list(element.static_type()),
            DeclKind::Map(value) => Type::map(Type::String, value.static_type()),
            DeclKind::Object(object) => Type::Object(object.name.clone()),
        }
    }

    /// The element type of a list or the value type of a map.
    pub fn element(&self) -> Option<&DeclType> {
        match &self.kind {
            DeclKind::List(element, _) | DeclKind::Map(element) => Some(element),
            _ => None,
        }
    }

    /// The fields of an object.
    pub fn as_object(&self) -> Option<&ObjectDecl> {
        match &self.kind {
            DeclKind::Object(object) => Some(object),
            _ => None,
        }
    }
}

impl ObjectDecl {
    fn new(name: impl Into<Arc<str>>, mut fields: Vec<FieldDecl>) -> Self {
        fields.sort_by(|a, b| (&a.name, &a.key).cmp(&(&b.name, &b.key)));
        let mut by_key: Vec<usize> = (0..fields.len()).collect();
        by_key.sort_by_key(|index| fields.get(*index).map(|field| field.key.clone()));
        ObjectDecl { name: name.into(), fields, by_key }
    }

    /// All fields.
    pub fn fields(&self) -> &[FieldDecl] {
        &self.fields
    }

    /// The field with this name in expressions.
    pub fn field(&self, name: &str) -> Option<&FieldDecl> {
        self.fields.get(self.field_index(name, 0)?)
    }

    /// The index of the field with this name, looking at `hint` first.
    pub(crate) fn field_index(&self, name: &str, hint: usize) -> Option<usize> {
        if self.fields.get(hint).is_some_and(|field| field.name.as_deref() == Some(name)) {
            return Some(hint);
        }
        self.fields.binary_search_by(|field| field.name.as_deref().cmp(&Some(name))).ok()
    }

    /// The field with this name in the data.
    pub fn field_by_key(&self, key: &str) -> Option<&FieldDecl> {
        let at = |index: &usize| self.fields.get(*index);
        let position = self.by_key.binary_search_by(|index| at(index).map(|f| &*f.key).cmp(&Some(key))).ok()?;
        self.by_key.get(position).and_then(at)
    }
}

/// The object types reachable from the declared variables, by name.
#[derive(Debug, Clone, Default)]
pub struct ObjectTypes {
    by_name: HashMap<Arc<str>, HashMap<Arc<str>, Type>>,
}

impl ObjectTypes {
    /// Adds every object type inside `decl`.
    pub fn add(&mut self, decl: &DeclType) {
        match &decl.kind {
            DeclKind::List(inner, _) | DeclKind::Map(inner) => self.add(inner),
            DeclKind::Object(object) => {
                let fields = object
                    .fields
                    .iter()
                    .filter_map(|field| Some((field.name.clone()?, field.decl.static_type())))
                    .collect();
                self.by_name.insert(object.name.clone(), fields);
                object.fields.iter().for_each(|field| self.add(&field.decl));
            }
            _ => {}
        }
    }

    /// The fields of an object type.
    pub fn fields(&self, name: &str) -> Option<&HashMap<Arc<str>, Type>> {
        self.by_name.get(name)
    }
}
