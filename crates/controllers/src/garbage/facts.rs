//! What the collector needs to know of an object.

use std::sync::Arc;

use pawl_registry::{CacheEntry, Served};
use serde::Deserialize;

use crate::recorder::About;

/// The uid of an object, shared by all that name it.
pub type Uid = Arc<str>;

/// Where an object is, and what it says it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    pub api_version: Arc<str>,
    pub kind: Arc<str>,
    /// `namespace/name`, or the name of a cluster-scoped object: as the caches have it, and the same memory.
    pub key: Arc<str>,
}

impl Identity {
    pub fn of(served: &Served, entry: &CacheEntry) -> Self {
        Self {
            api_version: Arc::clone(&served.stored_version),
            kind: Arc::clone(&served.kind),
            key: Arc::clone(&entry.key),
        }
    }

    pub fn namespace(&self) -> &str {
        self.key.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    pub fn name(&self) -> &str {
        self.key.split_once('/').map_or(&*self.key, |(_, name)| name)
    }

    /// The object as events name it.
    pub fn about(&self, uid: &Uid) -> About {
        About {
            api_version: Arc::clone(&self.api_version),
            kind: Arc::clone(&self.kind),
            namespace: self.namespace().into(),
            name: self.name().into(),
            uid: Arc::clone(uid),
        }
    }
}

/// A reference to an owner.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Owner {
    pub api_version: Arc<str>,
    pub kind: Arc<str>,
    pub name: Arc<str>,
    pub uid: Uid,
    /// The owner, deleted in the foreground, waits for this object.
    #[serde(rename = "blockOwnerDeletion", deserialize_with = "or_false")]
    pub blocks: bool,
}

impl Default for Owner {
    fn default() -> Self {
        let empty: Arc<str> = "".into();
        Self { api_version: empty.clone(), kind: empty.clone(), name: empty.clone(), uid: empty, blocks: false }
    }
}

/// An object as it was at a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnershipFacts {
    pub uid: Uid,
    pub identity: Identity,
    pub revision: u64,
    pub owners: Box<[Owner]>,
    pub liens: Box<[String]>,
    pub deleting: bool,
    /// It has the finalizer `foregroundDeletion`.
    pub foreground: bool,
    /// It has the finalizer `orphan`.
    pub orphan: bool,
}

impl OwnershipFacts {
    /// Reads the facts of an entry. `None` when the object cannot be read, or is nobody.
    pub fn of(served: &Served, entry: &CacheEntry) -> Option<Self> {
        let metadata: Metadata = entry.readable()?.read_metadata()?;
        if metadata.uid.is_empty() {
            return None;
        }
        let has = |finalizer: &str| metadata.finalizers.iter().flatten().any(|f| f == finalizer);
        Some(Self {
            identity: Identity::of(served, entry),
            revision: entry.revision,
            deleting: metadata.deletion_timestamp.is_some(),
            foreground: has(pawl_deletion::FOREGROUND),
            orphan: has(pawl_deletion::ORPHAN),
            uid: metadata.uid,
            owners: metadata.owner_references.unwrap_or_default().into(),
            liens: metadata.liens.unwrap_or_default().into(),
        })
    }

    /// The object as events name it.
    pub fn about(&self) -> About {
        self.identity.about(&self.uid)
    }

    /// It is being deleted and waits for its dependents to go.
    pub fn waits_for_dependents(&self) -> bool {
        self.deleting && self.foreground
    }

    /// It is being deleted and its dependents are to forget it.
    pub fn orphans_dependents(&self) -> bool {
        self.deleting && self.orphan
    }

    /// The references to one owner; there may be several with different coordinates.
    pub fn references<'f>(&'f self, owner: &'f str) -> impl Iterator<Item = &'f Owner> {
        self.owners.iter().filter(move |o| &*o.uid == owner)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    uid: Uid,
    deletion_timestamp: Option<serde::de::IgnoredAny>,
    owner_references: Option<Vec<Owner>>,
    finalizers: Option<Vec<String>>,
    liens: Option<Vec<String>>,
}

fn or_false<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(false))
}
