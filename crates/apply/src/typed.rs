//! Values with a type: which parts of an object are owned one by one, and what an item of a list is called.
//!
//! A schema says whether a map or list is one value (atomic) or many. Where it says nothing (any JSON), the value
//! itself decides: maps are owned entry by entry, lists as a whole.

use std::borrow::Cow;

use serde_json::{Map, Value};

use pawl_meta::{go, object::Object};
use pawl_schema::{FieldRef, ListType, ObjectRef, Patch, Presence, Scalar, TypeKind, TypeRef};

use crate::path::Element;
use crate::value;

/// The type of the objects at hand, in the version the request speaks.
#[derive(Clone, Copy)]
pub struct Typed<'s> {
    pub of: TypeRef<'s>,
    pub(crate) versions: Option<&'s dyn Versions>,
}

/// Who writes, in which version, through which subresource (empty for the main resource), and when.
#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    pub manager: &'a str,
    pub api_version: &'a str,
    pub subresource: &'a str,
    pub time: &'a str,
}

/// The other versions of a kind. Fields are compared in the version in which their manager wrote them.
pub trait Versions {
    /// What a version of the kind looks like.
    fn shape(&self, api_version: &str) -> Shape<'_>;

    /// The object in another version, `apiVersion` included; `None` when it cannot be converted.
    fn convert(&self, object: &Object, api_version: &str) -> Option<Object>;
}

/// What a version of a kind looks like, seen from the version of the request.
pub enum Shape<'s> {
    /// As the request's: the same fields in the same places.
    Same,
    Other(Typed<'s>),
    /// No longer served: what was owned in it is forgotten.
    Gone,
}

impl<'s> Typed<'s> {
    /// A type all of whose versions have the same shape.
    pub fn new(of: TypeRef<'s>) -> Self {
        Self { of, versions: None }
    }

    #[must_use]
    pub fn with_versions(self, versions: &'s dyn Versions) -> Self {
        Self { versions: Some(versions), ..self }
    }

    pub(crate) fn at(&self) -> At<'s> {
        At::of(self.of)
    }

    pub(crate) fn shape(&self, own: &str, api_version: &str) -> Shape<'s> {
        match self.versions {
            Some(versions) if own != api_version => versions.shape(api_version),
            _ => Shape::Same,
        }
    }
}

/// A place in the schema; without a type, whatever the value is.
#[derive(Clone, Copy)]
pub(crate) struct At<'s> {
    of: Option<TypeRef<'s>>,
}

/// What the schema makes of a value.
#[derive(Clone, Copy)]
pub(crate) enum Form<'s> {
    Map(MapForm<'s>),
    List(ListForm<'s>),
    Scalar(ScalarForm),
}

#[derive(Clone, Copy)]
pub(crate) struct MapForm<'s> {
    kind: MapKind<'s>,
    pub(crate) atomic: bool,
}

#[derive(Clone, Copy)]
enum MapKind<'s> {
    Struct { object: ObjectRef<'s>, open: bool, embedded: Option<TypeRef<'s>> },
    Map(TypeRef<'s>),
    Deduced,
}

#[derive(Clone, Copy)]
pub(crate) struct ListForm<'s> {
    pub(crate) items: At<'s>,
    list: &'s ListType,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScalarForm {
    Numeric,
    String,
    Boolean,
    Untyped,
}

/// Where an entry of a map leads.
pub(crate) struct MapEntry<'s> {
    pub(crate) at: At<'s>,
    /// The field of a struct; `None` for an entry that only its map declares.
    pub(crate) field: Option<FieldRef<'s>>,
}

static ATOMIC: ListType = ListType::Atomic;

impl<'s> At<'s> {
    const DEDUCED: Self = Self { of: None };

    pub(crate) fn of(of: TypeRef<'s>) -> Self {
        Self { of: (of.node().atomic || !matches!(of.kind(), TypeKind::Any)).then_some(of) }
    }

    /// What is here, given a value. A null is whatever the type is; where there is none, an empty map.
    pub(crate) fn form(self, value: &Value) -> Form<'s> {
        match self.of {
            Some(of) if is_any_unit(of) => match value {
                Value::Object(_) => Form::Map(MapForm { kind: MapKind::Deduced, atomic: true }),
                Value::Array(_) => Form::List(ListForm { items: Self::DEDUCED, list: &ATOMIC }),
                _ => Form::Scalar(ScalarForm::Untyped),
            },
            Some(of) => declared(of),
            None => match value {
                Value::Object(_) | Value::Null => Form::Map(MapForm { kind: MapKind::Deduced, atomic: false }),
                Value::Array(_) => Form::List(ListForm { items: self, list: &ATOMIC }),
                _ => Form::Scalar(ScalarForm::Untyped),
            },
        }
    }

    pub(crate) fn kind(self) -> Option<TypeKind<'s>> {
        self.of.map(TypeRef::kind)
    }

    /// What a strategic merge patch does here; nothing special where there is no schema.
    pub(crate) fn patch(self) -> Option<&'s Patch> {
        self.of.map(|of| &of.node().patch)
    }

    pub(crate) fn is_struct(self) -> bool {
        matches!(self.kind(), Some(TypeKind::Object(_)))
    }

    /// What is here, where the schema says it.
    pub(crate) fn declared_form(self) -> Option<Form<'s>> {
        self.of.map(declared)
    }
}

/// Whether whatever is here is one value. A number or a text of what users defined is, until somebody judges it.
fn is_any_unit(of: TypeRef<'_>) -> bool {
    of.node().lenient && matches!(of.kind(), TypeKind::Scalar(Scalar::IntOrString))
}

fn declared(of: TypeRef<'_>) -> Form<'_> {
    let node = of.node();
    let map = |kind| Form::Map(MapForm { kind, atomic: node.atomic });
    match of.kind() {
        TypeKind::Object(object) => {
            // An object that declares nothing is free in its fields.
            let open = node.preserve_unknown || !object.has_fields();
            map(MapKind::Struct { object, open, embedded: node.embedded.then_some(of) })
        }
        TypeKind::Map(values) => map(MapKind::Map(values)),
        TypeKind::List(items) => Form::List(ListForm { items: At::of(items), list: &node.list }),
        TypeKind::Scalar(scalar) => Form::Scalar(ScalarForm::of(scalar)),
        TypeKind::Any => map(MapKind::Deduced),
    }
}

impl<'s> MapForm<'s> {
    /// Where an entry leads; `None` when the schema does not know it.
    pub(crate) fn entry(&self, name: &str) -> Option<MapEntry<'s>> {
        let undeclared = |at| Some(MapEntry { at, field: None });
        match self.kind {
            MapKind::Struct { object, open, embedded } => match (object.field(name), embedded) {
                (Some(field), _) => Some(MapEntry { at: At::of(field.of()), field: Some(field) }),
                (None, Some(of)) if name == "metadata" => {
                    undeclared(of.schema().named("meta.v1.ObjectMeta").map_or(At::DEDUCED, At::of))
                }
                (None, Some(_)) if matches!(name, "kind" | "apiVersion") => undeclared(At::DEDUCED),
                (None, _) if open => undeclared(At::DEDUCED),
                (None, _) => None,
            },
            MapKind::Map(values) => undeclared(At::of(values)),
            MapKind::Deduced => undeclared(At::DEDUCED),
        }
    }

    /// Where an entry leads; what the schema does not know is taken as it is.
    pub(crate) fn entry_or_deduced(&self, name: &str) -> MapEntry<'s> {
        self.entry(name).unwrap_or(MapEntry { at: At::DEDUCED, field: None })
    }

    /// The fields of a struct; none for a map.
    pub(crate) fn fields(&self) -> impl Iterator<Item = FieldRef<'s>> + use<'s> {
        let object = match self.kind {
            MapKind::Struct { object, .. } => Some(object),
            _ => None,
        };
        object.into_iter().flat_map(ObjectRef::fields)
    }

    pub(crate) fn is_deduced(&self) -> bool {
        match self.kind {
            MapKind::Deduced => true,
            MapKind::Struct { object, open, .. } => open && !object.has_fields(),
            MapKind::Map(_) => false,
        }
    }
}

impl<'s> ListForm<'s> {
    pub(crate) fn is_atomic(&self) -> bool {
        *self.list == ListType::Atomic
    }

    /// The name of an item, or why it has none.
    pub(crate) fn element<'v>(&self, item: &'v Value) -> Result<Element<'v>, String>
    where
        's: 'v,
    {
        match self.list {
            ListType::Atomic => Err("invalid indexing of non-associative list".to_owned()),
            ListType::Set => match item {
                Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
                Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
                Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
                scalar => Ok(Element::Value(Cow::Borrowed(scalar))),
            },
            ListType::Map(keys) => match item {
                Value::Object(map) => self.keyed(keys, map),
                Value::Null => Err("associative list with keys may not have a null element".to_owned()),
                _ => Err("associative list with keys may not have non-map elements".to_owned()),
            },
        }
    }

    /// Whether two items have the same name. Items without one are nobody's namesake.
    pub(crate) fn same_name(&self, a: &Value, b: &Value) -> bool {
        match (self.list, a, b) {
            (ListType::Map(keys), Value::Object(a), Value::Object(b)) => {
                let mut named = false;
                let same = keys.iter().all(|key| match (self.key_value(key, a), self.key_value(key, b)) {
                    (Some(a), Some(b)) => {
                        named = true;
                        value::same(&a, &b)
                    }
                    (None, None) => true,
                    _ => false,
                });
                same && named
            }
            (ListType::Set, Value::Number(_) | Value::String(_) | Value::Bool(_), _) => value::same(a, b),
            _ => false,
        }
    }

    fn key_value<'v>(&self, key: &str, item: &'v Map<String, Value>) -> Option<Cow<'v, Value>>
    where
        's: 'v,
    {
        item.get(key).map(Cow::Borrowed).or_else(|| self.key_default(key))
    }

    fn keyed<'v>(&self, keys: &'s [Box<str>], item: &'v Map<String, Value>) -> Result<Element<'v>, String>
    where
        's: 'v,
    {
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            // Without the key it is another item than with it.
            if let Some(value) = self.key_value(key, item) {
                found.push((Cow::Borrowed(&**key), value));
            }
        }
        if found.is_empty() && !keys.is_empty() {
            let keys: Vec<String> = keys.iter().map(|key| go::quote(key)).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default \
                 values for any key fields)",
                keys.join(" ")
            ));
        }
        Ok(Element::key(found))
    }

    /// The value of a key that an item does not have: its default, or the zero of a field that is always written.
    fn key_default(&self, key: &str) -> Option<Cow<'s, Value>> {
        let Some(Form::Map(items)) = self.items.declared_form() else { return None };
        let field = items.entry(key)?.field?;
        if let Some(default) = &field.get().default {
            return Some(Cow::Borrowed(default));
        }
        if field.pointer || field.presence != Presence::Always {
            return None;
        }
        match field.of().kind() {
            TypeKind::Scalar(scalar) => Some(Cow::Owned(crate::zero::scalar(scalar))),
            _ => None,
        }
    }
}

impl ScalarForm {
    fn of(scalar: Scalar) -> Self {
        match scalar {
            Scalar::String | Scalar::Bytes | Scalar::Duration => Self::String,
            Scalar::Bool => Self::Boolean,
            Scalar::Int32 | Scalar::Int64 | Scalar::Uint32 | Scalar::Uint64 | Scalar::Float64 => Self::Numeric,
            Scalar::Time | Scalar::MicroTime | Scalar::Quantity | Scalar::IntOrString => Self::Untyped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pawl_schema::{Node, NodeKind, SchemaBuilder};
    use serde_json::json;

    #[test]
    fn a_number_or_text_that_users_defined_may_be_anything_until_it_is_judged() {
        let form = |lenient: bool, value: &Value| {
            let mut builder = SchemaBuilder::new();
            let mut node = Node::new(NodeKind::Scalar(Scalar::IntOrString), "intstr.IntOrString");
            node.lenient = lenient;
            let id = builder.add(node);
            let of = builder.build_type(id).expect("a type");
            match At::of(of.as_ref()).form(value) {
                Form::Map(form) => (form.atomic, "map"),
                Form::List(form) => (form.is_atomic(), "list"),
                Form::Scalar(_) => (true, "scalar"),
            }
        };
        for (value, kind) in [(json!([1]), "list"), (json!({"a": 1}), "map"), (json!("1"), "scalar")] {
            assert_eq!(form(true, &value), (true, kind));
            assert_eq!(form(false, &value), (true, "scalar"));
        }
    }
}
