//! The versions of a definition with their schemas, ready for use: compiled when they are first needed, and shared by
//! everyone who uses the same definition.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use pawl_meta::object::Object;
use pawl_structural::{Props, Structural};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::definition::{AuthorSchema, Conversion, Definition, Scale, Version};
use crate::{Columns, Selectable, builtin, metrics};

/// A definition and what its versions need to be served.
#[derive(Debug)]
pub struct Family {
    pub definition: Definition,
    pub(crate) members: Vec<Arc<Member>>,
    /// The apiVersion in which objects are stored.
    pub(crate) stored: String,
}

/// A version: what is made of what its author wrote.
#[derive(Debug)]
pub(crate) struct Member {
    /// No two schemas have the same number.
    pub id: u64,
    pub api_version: String,
    schema: Option<AuthorSchema>,
    scale: Option<Scale>,
    preserves: bool,
    hash: OnceLock<[u8; 32]>,
    compiled: OnceLock<Structural>,
    columns: OnceLock<Columns>,
    selectable: OnceLock<Selectable>,
}

impl Member {
    pub fn structural(&self) -> &Structural {
        self.compiled.get_or_init(|| {
            let scale = self.scale.as_ref().map(Scale::paths);
            let props = self.schema.as_ref().map(|schema| {
                let mut value = schema.value();
                if self.preserves {
                    keep_everything(&mut value);
                }
                Props::parse(&value)
            });
            let started = Instant::now();
            let compiled = Structural::compile(props.as_ref(), scale, builtin::object_meta().as_ref());
            if compiled.has_rules() {
                metrics::compiled(started.elapsed());
            }
            compiled
        })
    }

    /// The same for the same schema.
    pub fn schema_hash(&self) -> &[u8; 32] {
        let text = self.schema.as_ref().map(AuthorSchema::text).unwrap_or_default();
        self.hash.get_or_init(|| Sha256::digest(text).into())
    }

    pub fn columns(&self, version: &Version) -> &Columns {
        self.columns.get_or_init(|| Columns::compile(&version.columns))
    }

    pub fn selectable(&self, version: &Version) -> &Selectable {
        self.selectable.get_or_init(|| Selectable::compile(&version.selectable))
    }
}

/// The legacy way to keep unknown fields keeps all of them, at every level.
fn keep_everything(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    if schema.get("type").and_then(Value::as_str) == Some("object") {
        schema.insert("x-kubernetes-preserve-unknown-fields".to_owned(), json!(true));
    }
    let mut below: Vec<&mut Value> = Vec::new();
    for (name, value) in schema.iter_mut() {
        match (name.as_str(), value) {
            ("items" | "additionalProperties", value) => below.push(value),
            ("properties", Value::Object(properties)) => below.extend(properties.values_mut()),
            _ => {}
        }
    }
    below.into_iter().for_each(keep_everything);
}

/// A number that nobody has had before.
pub(crate) fn number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Family {
    /// What was compiled for a version that did not change is used on.
    pub fn new(definition: Definition, before: Option<&Self>) -> Self {
        let api_version = |version: &str| format!("{}/{version}", definition.group);
        let same = |version: &Version| {
            let before = before?;
            let index = before.definition.versions.iter().position(|other| other.name == version.name)?;
            let unchanged = before.definition.versions.get(index)? == version
                && before.definition.preserve_unknown == definition.preserve_unknown;
            before.members.get(index).filter(|_| unchanged).cloned()
        };
        let fresh = |version: &Version| {
            Arc::new(Member {
                id: number(),
                api_version: api_version(&version.name),
                schema: version.schema.clone(),
                scale: version.scale.clone(),
                preserves: definition.preserve_unknown,
                hash: OnceLock::new(),
                compiled: OnceLock::new(),
                columns: OnceLock::new(),
                selectable: OnceLock::new(),
            })
        };
        let members = definition.versions.iter().map(|version| same(version).unwrap_or_else(|| fresh(version)));
        let members = members.collect();
        let stored = definition.storage_version().map(|version| api_version(&version.name)).unwrap_or_default();
        Self { members, stored, definition }
    }

    pub(crate) fn member(&self, api_version: &str) -> Option<&Arc<Member>> {
        self.members.iter().find(|member| member.api_version == api_version)
    }

    /// Whether objects of one version become those of another without anybody's help.
    pub(crate) fn converts_by_itself(&self) -> bool {
        self.definition.conversion == Conversion::None
    }

    /// An object in another version. One that comes from the store is brought into the form of the schema it was stored
    /// under, as that is now, before.
    pub(crate) fn convert(&self, mut object: Object, api_version: &str) -> Option<Object> {
        let from = object.get("apiVersion").and_then(Value::as_str).and_then(|from| self.member(from))?;
        let to = self.member(api_version)?;
        let structural = from.structural();
        structural.prune(&mut object);
        structural.default(&mut object);
        if from.api_version != to.api_version {
            if !self.converts_by_itself() {
                return None;
            }
            object.insert("apiVersion".to_owned(), json!(api_version));
            to.structural().prune(&mut object);
        }
        Some(object)
    }
}
