//! A schema as OpenAPI publishes it, made from the shape of a type.

use std::borrow::Cow;
use std::collections::BTreeMap;

use pawl_kinds::{Published, Resource};
use pawl_schema::{FieldRef, ListType, ObjectRef, Patch, Presence, Scalar, TypeKind, TypeRef};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::names::{LIST_META, Names, OBJECT_META, STATUS, Source};

/// Which OpenAPI a schema is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Swagger 2.0: a reference may have siblings, defaults are left out, a quantity is just a string.
    V2,
    /// OpenAPI 3.0: a reference stands alone, what would stand beside it goes around it.
    V3,
}

impl Dialect {
    pub fn reference(self, name: &str) -> String {
        match self {
            Self::V2 => format!("#/definitions/{name}"),
            Self::V3 => format!("#/components/schemas/{name}"),
        }
    }
}

/// A schema object. Fields stand in the order of the alphabet, as upstream writes them.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Definition<'s> {
    #[serde(rename = "$ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_properties: Option<Box<Definition<'s>>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub all_of: Vec<Definition<'s>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Cow<'s, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'s str>,
    #[serde(rename = "enum", skip_serializing_if = "<[Box<str>]>::is_empty")]
    pub allowed: &'s [Box<str>],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Box<Definition<'s>>>,
    #[serde(skip_serializing_if = "is_false")]
    pub nullable: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<Definition<'s>>,
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "as_map")]
    pub properties: Vec<(&'s str, Definition<'s>)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<&'s str>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    #[serde(flatten)]
    pub extensions: Extensions<'s>,
    /// As an author wrote it: then there is nothing else.
    #[serde(flatten)]
    pub written: Option<serde_json::Map<String, Value>>,
}

/// What Kubernetes adds to a schema.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Extensions<'s> {
    #[serde(rename = "x-kubernetes-embedded-resource", skip_serializing_if = "is_false")]
    pub embedded: bool,
    #[serde(rename = "x-kubernetes-group-version-kind", skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<Kind<'s>>,
    #[serde(rename = "x-kubernetes-int-or-string", skip_serializing_if = "is_false")]
    pub int_or_string: bool,
    #[serde(rename = "x-kubernetes-list-map-keys", skip_serializing_if = "<[Box<str>]>::is_empty")]
    pub list_map_keys: &'s [Box<str>],
    #[serde(rename = "x-kubernetes-list-type", skip_serializing_if = "Option::is_none")]
    pub list_type: Option<&'static str>,
    #[serde(rename = "x-kubernetes-map-type", skip_serializing_if = "Option::is_none")]
    pub map_type: Option<&'static str>,
    #[serde(rename = "x-kubernetes-patch-merge-key", skip_serializing_if = "Option::is_none")]
    pub patch_merge_key: Option<&'s str>,
    #[serde(rename = "x-kubernetes-patch-strategy", skip_serializing_if = "Option::is_none")]
    pub patch_strategy: Option<&'static str>,
    #[serde(rename = "x-kubernetes-preserve-unknown-fields", skip_serializing_if = "is_false")]
    pub preserve_unknown: bool,
}

/// A kind, as an extension names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Kind<'s> {
    pub group: &'s str,
    pub kind: Cow<'s, str>,
    pub version: &'s str,
}

impl Extensions<'_> {
    fn is_empty(&self) -> bool {
        !self.embedded
            && self.kinds.is_empty()
            && !self.int_or_string
            && self.list_type.is_none()
            && self.map_type.is_none()
            && self.patch_merge_key.is_none()
            && self.patch_strategy.is_none()
            && !self.preserve_unknown
    }
}

impl<'s> Definition<'s> {
    pub fn reference(dialect: Dialect, name: &str) -> Self {
        Self { reference: Some(dialect.reference(name)), ..Self::default() }
    }

    pub fn of(kind: &'static str) -> Self {
        Self { kind: Some(kind), ..Self::default() }
    }

    fn formatted(kind: &'static str, format: &'static str) -> Self {
        Self { kind: Some(kind), format: Some(format), ..Self::default() }
    }

    /// In OpenAPI 3.0 what stands beside a reference goes around it.
    fn settled(mut self, dialect: Dialect) -> Self {
        let alone = self.default.is_none() && self.description.is_none() && self.extensions.is_empty();
        if dialect == Dialect::V3
            && !alone
            && let Some(reference) = self.reference.take()
        {
            self.all_of = vec![Self { reference: Some(reference), ..Self::default() }];
        }
        self
    }
}

/// Writes the schemas of types, and keeps account of the types they refer to.
pub(crate) struct Writer<'n, 's> {
    dialect: Dialect,
    names: &'n Names<'s>,
    /// The types referred to that may still have to be written.
    wanted: Vec<Cow<'static, str>>,
}

/// The definitions of the wanted types and of all they refer to, by name.
pub(crate) fn reachable<'s>(
    dialect: Dialect,
    names: &Names<'s>,
    wanted: Vec<Cow<'static, str>>,
) -> BTreeMap<Cow<'static, str>, Definition<'s>> {
    let mut writer = Writer { dialect, names, wanted };
    let mut written = BTreeMap::new();
    while let Some(name) = writer.wanted.pop() {
        if !written.contains_key(&name)
            && let Some(source) = names.source(&name)
        {
            let definition = writer.definition(&name, source);
            written.insert(name, definition);
        }
    }
    written
}

impl<'s> Writer<'_, 's> {
    /// The definition of a published type.
    fn definition(&mut self, name: &str, source: Source<'s>) -> Definition<'s> {
        if let Source::Custom(resource) | Source::CustomList(resource) = source
            && let Some(published) = resource.behaviour.published()
        {
            return self.published(resource, published, matches!(source, Source::CustomList(_)));
        }
        let mut definition = match source {
            Source::Builtin(of) => self.builtin(name, of),
            Source::Custom(resource) => self.custom(resource),
            Source::CustomList(resource) => self.custom_list(resource),
        };
        definition.description = self.names.builtin().description(name);
        definition.extensions.kinds = self.names.kinds(name).to_vec();
        definition
    }

    /// A schema as its author wrote it.
    fn published(&mut self, resource: &'s Resource, published: &dyn Published, list: bool) -> Definition<'s> {
        let [object, of_list] = published.schemas(self.dialect == Dialect::V3);
        match list {
            true => self.wanted.extend([self.names.of_resource(resource), Cow::Borrowed(LIST_META)]),
            false => self.wanted.push(Cow::Borrowed(OBJECT_META)),
        }
        let written = match if list { of_list } else { object } {
            Value::Object(written) => Some(written),
            _ => None,
        };
        Definition { written, ..Definition::default() }
    }

    fn builtin(&mut self, name: &str, of: TypeRef<'s>) -> Definition<'s> {
        let mut definition = match of.kind() {
            TypeKind::Object(object) => self.object(object, Some(name)),
            TypeKind::Scalar(scalar) => self.scalar_type(scalar),
            // The unions of a custom resource's own schema may be anything; the others are objects.
            TypeKind::Any if name.starts_with("io.k8s.apiextensions-apiserver.") => Definition::default(),
            TypeKind::Any | TypeKind::List(_) | TypeKind::Map(_) => Definition::of("object"),
        };
        definition.extensions.map_type = of.node().atomic.then_some("atomic");
        definition
    }

    /// A custom resource: its schema need not declare what every object has.
    fn custom(&mut self, resource: &'s Resource) -> Definition<'s> {
        let of = resource.object_type().as_ref();
        let mut definition = match of.kind() {
            TypeKind::Object(object) => self.object(object, None),
            _ => Definition::of("object"),
        };
        definition.extensions.preserve_unknown = of.node().preserve_unknown;
        self.with_type_and_metadata(definition, OBJECT_META)
    }

    fn custom_list(&mut self, resource: &'s Resource) -> Definition<'s> {
        let item = self.names.of_resource(resource);
        let items =
            Definition { items: Some(Box::new(Definition::reference(self.dialect, &item))), ..Definition::of("array") };
        self.wanted.push(item);
        let list =
            Definition { properties: vec![("items", items)], required: vec!["items"], ..Definition::of("object") };
        self.with_type_and_metadata(list, LIST_META)
    }

    fn with_type_and_metadata(&mut self, mut definition: Definition<'s>, metadata: &'static str) -> Definition<'s> {
        definition.properties.retain(|(name, _)| !["apiVersion", "kind", "metadata"].contains(name));
        for name in ["apiVersion", "kind"] {
            let property = Definition {
                description: self.names.builtin().field_description(STATUS, name),
                ..Definition::of("string")
            };
            definition.properties.push((name, property));
        }
        definition.properties.push(("metadata", Definition::reference(self.dialect, metadata)));
        definition.properties.sort_by_key(|(name, _)| *name);
        self.wanted.push(Cow::Borrowed(metadata));
        definition
    }

    /// An object with its properties in the order of the alphabet.
    fn object(&mut self, object: ObjectRef<'s>, name: Option<&str>) -> Definition<'s> {
        let list = object.field("metadata").is_some_and(|f| f.of().schema().named("meta.v1.ListMeta") == Some(f.of()));
        let mut properties: Vec<(&str, Definition)> = Vec::with_capacity(object.fields().len());
        for field in object.fields() {
            let mut property = self.field(field);
            property.description = name.and_then(|name| self.names.builtin().field_description(name, &field.name));
            if list {
                // Lists are described nowhere; what they have in common with a status reads the same.
                property.description =
                    property.description.or_else(|| self.names.builtin().field_description(STATUS, &field.name));
            }
            if list && &*field.name == "items" {
                property.extensions.list_type = None;
            }
            properties.push((&field.get().name, property.settled(self.dialect)));
        }
        properties.sort_by_key(|(name, _)| *name);
        let required = object.fields().filter(|f| f.required).map(|f| &*f.get().name).collect();
        Definition { properties, required, ..Definition::of("object") }
    }

    /// A property as its field declares it, but for its description.
    fn field(&mut self, field: FieldRef<'s>) -> Definition<'s> {
        let of = field.of();
        let field = field.get();
        let mut definition = self.inline(of);
        merging(&mut definition.extensions, of);
        if self.dialect == Dialect::V3 {
            definition.default = match &field.default {
                Some(default) => Some(Cow::Borrowed(default)),
                None if field.pointer => None,
                None => zero(of).filter(|zero| field.presence == Presence::Always || zero.is_object()).map(Cow::Owned),
            };
        }
        match &mut definition {
            Definition { items: Some(item), .. } => item.allowed = &field.allowed,
            Definition { additional_properties: Some(value), .. } => value.allowed = &field.allowed,
            definition => definition.allowed = &field.allowed,
        }
        definition
    }

    /// What stands for a type: a reference where it is published, or the schema itself.
    fn inline(&mut self, of: TypeRef<'s>) -> Definition<'s> {
        if let Some(name) = self.names.published(of) {
            self.wanted.push(Cow::Borrowed(name));
            return Definition::reference(self.dialect, name);
        }
        let node = of.node();
        let mut definition = match of.kind() {
            TypeKind::Object(object) => self.object(object, None),
            TypeKind::List(item) => Definition { items: Some(Box::new(self.element(item))), ..Definition::of("array") },
            TypeKind::Map(value) => {
                Definition { additional_properties: Some(Box::new(self.element(value))), ..Definition::of("object") }
            }
            TypeKind::Scalar(Scalar::Int64) if &*node.go == "int" => Definition::formatted("integer", "int32"),
            // As custom resources say it; the built-in type has a name.
            TypeKind::Scalar(Scalar::IntOrString) => Definition {
                extensions: Extensions { int_or_string: true, ..Extensions::default() },
                ..Definition::default()
            },
            TypeKind::Scalar(scalar) => self.scalar_type(scalar),
            TypeKind::Any if node.preserve_unknown => Definition::default(),
            TypeKind::Any => Definition::of("object"),
        };
        definition.nullable = node.nullable && self.dialect == Dialect::V3;
        definition.extensions.preserve_unknown = node.preserve_unknown;
        definition.extensions.embedded = node.embedded;
        definition
    }

    /// An item of a list or a value of a map: in Go never behind a pointer, so it has a zero value.
    fn element(&mut self, of: TypeRef<'s>) -> Definition<'s> {
        let mut definition = self.inline(of);
        if self.dialect == Dialect::V3 && self.names.is_builtin(of) {
            definition.default = zero(of).map(Cow::Owned);
        }
        definition.settled(self.dialect)
    }

    fn scalar_type(&self, scalar: Scalar) -> Definition<'s> {
        let either = |one: &'static str, other: &'static str| Definition {
            one_of: vec![Definition::of(one), Definition::of(other)],
            ..Definition::default()
        };
        match (scalar, self.dialect) {
            (Scalar::String | Scalar::Duration, _) => Definition::of("string"),
            (Scalar::Bytes, _) => Definition::formatted("string", "byte"),
            (Scalar::Bool, _) => Definition::of("boolean"),
            (Scalar::Int32, _) => Definition::formatted("integer", "int32"),
            (Scalar::Int64 | Scalar::Uint32 | Scalar::Uint64, _) => Definition::formatted("integer", "int64"),
            (Scalar::Float64, _) => Definition::formatted("number", "double"),
            (Scalar::Time | Scalar::MicroTime, _) => Definition::formatted("string", "date-time"),
            (Scalar::Quantity, Dialect::V2) => Definition::of("string"),
            (Scalar::Quantity, Dialect::V3) => either("string", "number"),
            (Scalar::IntOrString, Dialect::V2) => Definition::formatted("string", "int-or-string"),
            (Scalar::IntOrString, Dialect::V3) => {
                Definition { format: Some("int-or-string"), ..either("integer", "string") }
            }
        }
    }
}

/// The value that Go has in a field without a pointer. Types that read themselves have none that could be written.
fn zero(of: TypeRef<'_>) -> Option<Value> {
    match of.kind() {
        TypeKind::Object(object) if !object.name().is_empty() => Some(json!({})),
        TypeKind::Scalar(Scalar::String) => Some(json!("")),
        TypeKind::Scalar(Scalar::Bool) => Some(json!(false)),
        TypeKind::Scalar(Scalar::Int32 | Scalar::Int64 | Scalar::Uint32 | Scalar::Uint64 | Scalar::Float64) => {
            Some(json!(0))
        }
        _ => None,
    }
}

/// Adds what a field says about the merging of its values.
fn merging<'s>(extensions: &mut Extensions<'s>, of: TypeRef<'s>) {
    let node = of.node();
    extensions.patch_strategy = patch_strategy(&node.patch);
    extensions.patch_merge_key = node.patch.merge_key.as_deref();
    match of.kind() {
        // `Verbs` and `ExtraValue` are types of their own, which say nothing.
        TypeKind::List(_) if !node.wrapped => match &node.list {
            ListType::Atomic => extensions.list_type = Some("atomic"),
            ListType::Set => extensions.list_type = Some("set"),
            ListType::Map(keys) => {
                extensions.list_type = Some("map");
                extensions.list_map_keys = keys;
            }
        },
        TypeKind::Map(_) => extensions.map_type = node.atomic.then_some("atomic"),
        // A use of a type differs from the type itself only where the facts say so.
        TypeKind::Object(object) => {
            let declared = of.schema().named(object.name()).is_some_and(|of| of.node().atomic);
            extensions.map_type = match (node.atomic, declared) {
                (true, false) => Some("atomic"),
                (false, true) => Some("granular"),
                _ => None,
            };
        }
        _ => {}
    }
}

fn patch_strategy(patch: &Patch) -> Option<&'static str> {
    match (patch.merge, patch.replace, patch.retain_keys) {
        (true, _, true) => Some("merge,retainKeys"),
        (true, _, false) => Some("merge"),
        (false, true, true) => Some("replace,retainKeys"),
        (false, true, false) => Some("replace"),
        (false, false, true) => Some("retainKeys"),
        (false, false, false) => None,
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Pairs as the members of an object, in their order.
pub(crate) fn as_map<K: Serialize, V: Serialize, S: Serializer>(pairs: &[(K, V)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}
