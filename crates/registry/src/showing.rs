//! What the server says of its own store: `storage.pawl.dev/v1`, objects that cannot be read and objects in quarantine.
//!
//! Unreadable objects are shown as objects of a resource of their own, which is not stored: it follows from the caches, at
//! the revisions of what happened to them, so it can be listed and watched like every other, and never fails.

use std::sync::Arc;

use pawl_kinds::print::Column;
use pawl_kinds::{
    Behaviour, Columns, Findings, Forms, MetadataCheck, MetadataPass, NameRule, Prepare, Resource, ResourceFacts,
    Subresource, Write,
};
use pawl_kv::Revision;
use pawl_meta::object::Object;
use pawl_meta::time;
use pawl_schema::{Field, Node, NodeKind, Object as Shape, Scalar, SchemaBuilder, Type};
use pawl_seal::Plain;
use serde_json::{Value, json};

use crate::cache::{Incoming, Objects};
use crate::entry::{CacheEntry, encode};
use crate::storage::Storage;
use crate::table::{Stored, Table};
use crate::unreadable::Unreadable;

pub const GROUP: &str = "storage.pawl.dev";
pub const VERSION: &str = "v1";
pub const UNREADABLE: &str = "unreadableobjects";
pub const QUARANTINED: &str = "quarantinedobjects";

/// The fields that both kinds have, all of them texts.
const PLACE: [&str; 4] = ["resource", "namespace", "name", "resourceVersion"];

/// The resources of the group.
pub(crate) fn resources() -> Vec<Resource> {
    let mut resources: Vec<Resource> = deeds().chain(stored()).collect();
    resources.sort_by(|one, other| one.facts.plural.cmp(&other.facts.plural));
    resources
}

fn stored() -> Vec<Resource> {
    vec![
        resource(
            QUARANTINED,
            ("QuarantinedObject", "quarantinedobject"),
            &["reason", "sha256", "removedBy", "removed", "expires"],
            &[("Size", "size"), ("Removed", "removed"), ("Expires", "expires"), ("By", "removedBy")],
            vec![Subresource {
                name: "restore".to_owned(),
                kind: "QuarantinedObject".to_owned(),
                verbs: vec!["create".to_owned()],
                ..Subresource::default()
            }],
        ),
        resource(
            UNREADABLE,
            ("UnreadableObject", "unreadableobject"),
            &["reason", "message", "provider", "key", "since"],
            &[("Reason", "reason"), ("Provider", "provider"), ("Key", "key"), ("Since", "since")],
            Vec::new(),
        ),
    ]
}

/// What is done or answered on a POST, and not stored.
fn deeds() -> impl Iterator<Item = Resource> {
    let deeds = [
        ("rewrites", "Rewrite", "rewrite"),
        ("encryptionchecks", "EncryptionCheck", "encryptioncheck"),
        ("snapshots", "Snapshot", "snapshot"),
    ];
    deeds.into_iter().map(|(plural, kind, singular)| {
        let facts = ResourceFacts {
            group: GROUP.to_owned(),
            version: VERSION.to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
            singular: singular.to_owned(),
            verbs: vec!["create".to_owned()],
            is_virtual: true,
            ..ResourceFacts::default()
        };
        Resource { facts, behaviour: Arc::new(Told::new(Type::any(kind), &[])) }
    })
}

fn resource(
    plural: &str,
    (kind, singular): (&str, &str),
    fields: &[&str],
    columns: &[(&'static str, &'static str)],
    sub: Vec<Subresource>,
) -> Resource {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let facts = ResourceFacts {
        group: GROUP.to_owned(),
        version: VERSION.to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
        singular: singular.to_owned(),
        verbs: words("get list watch"),
        key: format!("{GROUP}/{plural}"),
        name: NameRule::PathSegment,
        stored_as_json: true,
        sub,
        ..ResourceFacts::default()
    };
    let place =
        [("Resource", "resource"), ("Namespace", "namespace"), ("Object", "name"), ("Revision", "resourceVersion")];
    let shown: Vec<_> = place.iter().chain(columns).copied().collect();
    let texts: Vec<&str> = PLACE.iter().chain(fields).copied().collect();
    Resource { facts, behaviour: Arc::new(Told::new(shape(kind, &texts), &shown)) }
}

/// `{apiVersion, kind, metadata, spec: {texts, size}}`
fn shape(kind: &str, texts: &[&str]) -> Type {
    let mut builder = SchemaBuilder::new();
    let text = builder.add(Node::new(NodeKind::Scalar(Scalar::String), "string"));
    let number = builder.add(Node::new(NodeKind::Scalar(Scalar::Int64), "int64"));
    let metadata = match pawl_kinds::kinds().named("meta.v1.ObjectMeta") {
        Some(of) => builder.copy(of),
        None => builder.add(Node::new(NodeKind::Any, "metadata")),
    };
    let mut fields: Vec<Field> = texts.iter().map(|name| Field::new(*name, text)).collect();
    fields.push(Field::new("size", number));
    let spec = builder.add(Node::new(NodeKind::Object(Shape::new(format!("{kind}Spec"), fields)), "spec"));
    let root = vec![
        Field::new("apiVersion", text),
        Field::new("kind", text),
        Field::new("metadata", metadata),
        Field::new("spec", spec),
    ];
    let root = builder.add(Node::new(NodeKind::Object(Shape::new(kind, root)), kind));
    builder.build_type(root).unwrap_or_else(|_| Type::any(kind))
}

/// What such a kind does: it is told, and nobody writes it.
#[derive(Debug)]
struct Told {
    object_type: Type,
    columns: Vec<Column>,
    fields: Vec<&'static str>,
}

impl Told {
    fn new(object_type: Type, shown: &[(&'static str, &'static str)]) -> Self {
        let text = |name: &'static str| Column { name: name.into(), kind: "string".into(), ..Column::default() };
        let name = Column { format: "name".into(), ..text("Name") };
        let columns = std::iter::once(name).chain(shown.iter().map(|(name, _)| text(name))).collect();
        Self { object_type, columns, fields: shown.iter().map(|(_, field)| *field).collect() }
    }
}

impl Behaviour for Told {
    fn object_type(&self) -> &Type {
        &self.object_type
    }

    fn set_defaults(&self, _object: &mut Object) -> Result<(), String> {
        Ok(())
    }

    fn prepare(&self, _write: Write<'_>, _object: &mut Object, _by: &Prepare) {}

    fn validate(&self, write: Write<'_>, _object: &Object, metadata: MetadataCheck<'_>, found: &mut Findings) {
        metadata(if write.old.is_some() { MetadataPass::Update } else { MetadataPass::Meta }, &mut found.errors);
    }

    fn warnings(&self, _write: Write<'_>, _object: &Object) -> Vec<String> {
        Vec::new()
    }

    fn columns(&self) -> &dyn Columns {
        self
    }

    fn forms(&self) -> Option<&dyn Forms> {
        None
    }
}

impl Columns for Told {
    fn definitions(&self) -> &[Column] {
        &self.columns
    }

    fn row(&self, object: &Value, _now_unix: i64) -> Vec<Value> {
        let name = object.pointer("/metadata/name").cloned().unwrap_or_default();
        let spec = object.get("spec");
        let cell = |field: &&str| match spec.and_then(|spec| spec.get(*field)) {
            Some(Value::String(text)) => json!(text),
            Some(other) => json!(other.to_string()),
            None => json!(""),
        };
        std::iter::once(name).chain(self.fields.iter().map(cell)).collect()
    }
}

/// How an object is called here: `configmaps:ns:name`, `nodes:name`, `widgets.example.com:ns:name`.
pub(crate) fn name_of(stored: &Stored, key: &str) -> String {
    format!("{}:{}", stored.group_resource, key.replacen('/', ":", usize::from(stored.namespaced)))
}

/// Where an object is, as fields.
pub(crate) fn place_of(stored: &Stored, entry: &CacheEntry) -> Object {
    let namespace = if stored.namespaced { entry.namespace() } else { "" };
    let place = [
        ("resource", stored.group_resource.to_string()),
        ("namespace", namespace.to_owned()),
        ("name", if stored.namespaced { entry.name().to_owned() } else { entry.key.to_string() }),
        ("resourceVersion", entry.revision.to_string()),
    ];
    let given = place.into_iter().filter(|(_, value)| !value.is_empty());
    given.map(|(field, value)| (field.to_owned(), json!(value))).collect()
}

/// An object of the group, as it is stored and shown.
pub(crate) fn object(kind: &str, name: &str, created: &str, spec: Object) -> Object {
    let object = json!({"kind": kind, "apiVersion": format!("{GROUP}/{VERSION}"),
        "metadata": {"name": name, "creationTimestamp": created}, "spec": spec});
    match object {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

fn told(stored: &Stored, entry: &CacheEntry, unreadable: &Unreadable) -> (String, Object) {
    let name = name_of(stored, &entry.key);
    let since = unreadable.since.duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let since = time::seconds(i64::try_from(since).unwrap_or(0));
    let mut spec = place_of(stored, entry);
    spec.insert("reason".to_owned(), json!(unreadable.reason.as_str()));
    spec.insert("message".to_owned(), json!(unreadable.message(entry.revision)));
    spec.insert("size".to_owned(), json!(unreadable.size()));
    spec.insert("since".to_owned(), json!(since));
    for (field, value) in [("provider", &unreadable.provider), ("key", &unreadable.key)] {
        if !value.is_empty() {
            spec.insert(field.to_owned(), json!(value));
        }
    }
    let object = object("UnreadableObject", &name, &since, spec);
    (name, object)
}

impl Storage {
    /// Brings what is shown of unreadable objects up to the caches, as of a revision.
    pub(crate) fn show(&self, table: &Table, revision: Revision) {
        let Some(shown) = table.find(GROUP, VERSION, UNREADABLE).map(|served| &served.stored) else { return };
        let mut wanted = Objects::new();
        for stored in table.stored() {
            for entry in stored.cache.closed().values() {
                let Some(unreadable) = entry.unreadable() else { continue };
                let (name, object) = told(stored, entry, unreadable);
                let told = shown.entry(&name, revision, Plain::new(encode(&object)));
                wanted.insert(Arc::clone(&told.key), Arc::new(told));
            }
        }
        let (present, newest) = shown.cache.snapshot();
        let revision = revision.max(newest);
        let value = |entry: &CacheEntry| entry.readable().map(|readable| readable.value().clone());
        let is_new = |entry: &&Arc<CacheEntry>| present.get(&entry.key).and_then(|now| value(now)) != value(entry);
        let gone = present.keys().filter(|key| !wanted.contains_key(*key));
        let gone: Vec<Incoming<'_>> = gone.map(|key| Incoming { revision, key, entry: None }).collect();
        let new = wanted.values().filter(is_new);
        let new = new.map(|entry| Incoming { revision, key: &entry.key, entry: Some(Arc::new(entry.at(revision))) });
        let writes: Vec<Incoming<'_>> = gone.into_iter().chain(new).collect();
        let keys: Vec<String> = writes.iter().map(|write| write.key.to_owned()).collect();
        shown.cache.apply(writes);
        keys.iter().for_each(|key| shown.cache.wake(revision, key));
    }
}
