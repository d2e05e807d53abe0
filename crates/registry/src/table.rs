//! The table of resources: what is served, under which names, and where it is stored. It changes at run time as custom
//! resources come and go; a reader holds the table it started with.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use pawl_kinds::Resource;
use pawl_kv::Revision;
use pawl_meta::GroupResource;
use pawl_meta::object::Object;

use crate::cache::{Cache, Objects};
use crate::decoding::Wanted;
use crate::forms::KindForms;

/// The root of all keys.
pub const ROOT: &str = "/registry/";

/// A resource in one version, with the place where its objects are.
#[derive(Debug)]
pub struct Served {
    pub resource: Resource,
    /// `apps/v1`
    pub(crate) api_version: String,
    /// The forms of its kind, where its versions differ in shape.
    pub(crate) forms: Option<KindForms>,
    pub stored: Arc<Stored>,
    /// How answers begin: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"`.
    pub head: String,
    /// How items of typed lists begin: without kind and apiVersion.
    pub item_head: &'static str,
}

/// Where the objects of a resource are, whatever version they are asked for in.
#[derive(Debug)]
pub struct Stored {
    pub group_resource: GroupResource,
    /// `/registry/configmaps/`
    pub prefix: String,
    /// The apiVersion and kind in which values are written.
    pub api_version: Arc<str>,
    pub kind: Arc<str>,
    pub namespaced: bool,
    /// Names of selectable fields.
    pub select: Vec<String>,
    pub cache: Cache,
}

impl Served {
    /// What a body for this resource must be.
    pub(crate) fn wanted(&self) -> Wanted<'_> {
        Wanted { version: self.resource.group_version(), kind: &self.resource.facts.kind }
    }

    /// The bytes in which an object is stored.
    pub(crate) fn stored_form(&self, object: &Object) -> Bytes {
        let of = self.stored_type();
        if self.resource.facts.stored_as_json || !of.holds_empties(object) {
            return crate::encode(object);
        }
        let mut object = object.clone();
        of.drop_empties(&mut object);
        crate::encode(&object)
    }
}

impl Stored {
    /// The key of an object below the prefix.
    pub fn key(&self, namespace: &str, name: &str) -> String {
        if self.namespaced { format!("{namespace}/{name}") } else { name.to_owned() }
    }

    pub fn full_key(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Table {
    served: Vec<Arc<Served>>,
    by_name: HashMap<(String, String, String), usize>,
    /// By the part of the prefix below the root: `configmaps`, `services/specs`.
    by_prefix: HashMap<String, Arc<Stored>>,
}

impl Table {
    /// A table of these resources, with nothing in their caches as of a revision.
    pub fn new(resources: &[Resource], revision: Revision) -> Self {
        let mut table = Self::default();
        for resource in resources {
            table.add(resource.clone(), revision);
        }
        table
    }

    /// Adds a resource. In a place that is new its cache is empty as of a revision.
    pub fn add(&mut self, resource: Resource, revision: Revision) {
        let facts = &resource.facts;
        let stored = match self.by_prefix.get(&facts.key) {
            Some(stored) => Arc::clone(stored),
            None => {
                let stored = Arc::new(Stored {
                    group_resource: resource.group_resource(),
                    prefix: format!("{ROOT}{}/", facts.key),
                    api_version: match &facts.storage {
                        Some(version) => version.as_str().into(),
                        None => resource.group_version().to_string().into(),
                    },
                    kind: facts.kind.as_str().into(),
                    namespaced: facts.namespaced,
                    select: facts.select.clone(),
                    cache: Cache::new(Objects::new(), revision),
                });
                if !facts.is_virtual {
                    self.by_prefix.insert(facts.key.clone(), Arc::clone(&stored));
                }
                stored
            }
        };
        let head = format!(
            "{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{{\"resourceVersion\":\"",
            facts.kind,
            resource.group_version()
        );
        let name = (facts.group.clone(), facts.version.clone(), facts.plural.clone());
        self.by_name.insert(name, self.served.len());
        let item_head = "{\"metadata\":{\"resourceVersion\":\"";
        let forms = pawl_kinds::convert::forms(&facts.type_name).map(KindForms);
        let api_version = resource.group_version().to_string();
        self.served.push(Arc::new(Served { resource, api_version, forms, stored, head, item_head }));
    }

    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Served>> {
        let at = self.by_name.get(&(group.to_owned(), version.to_owned(), plural.to_owned()))?;
        self.served.get(*at)
    }

    /// Everything served, in the order of discovery.
    pub fn served(&self) -> &[Arc<Served>] {
        &self.served
    }

    /// Every place where objects are.
    pub fn stored(&self) -> impl Iterator<Item = &Arc<Stored>> {
        self.by_prefix.values()
    }

    /// A resource in the version that is stored, by group and plural.
    pub fn preferred(&self, group: &str, plural: &str) -> Option<&Arc<Served>> {
        self.served.iter().find(|s| s.resource.facts.group == group && s.resource.facts.plural == plural)
    }

    pub fn by_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Served>> {
        self.served.iter().find(|s| {
            s.resource.facts.group == group && s.resource.facts.version == version && s.resource.facts.kind == kind
        })
    }

    pub fn has_group(&self, group: &str) -> bool {
        self.served.iter().any(|s| s.resource.facts.group == group)
    }

    pub fn has_group_version(&self, group: &str, version: &str) -> bool {
        self.served.iter().any(|s| s.resource.facts.group == group && s.resource.facts.version == version)
    }

    /// The place of a stored key, and the key below its prefix.
    pub fn place<'k>(&self, full_key: &'k str) -> Option<(&Arc<Stored>, &'k str)> {
        let rest = full_key.strip_prefix(ROOT)?;
        let first = rest.find('/')?;
        if let Some(stored) = self.by_prefix.get(rest.get(..first)?) {
            return Some((stored, rest.get(first + 1..)?));
        }
        let second = first + 1 + rest.get(first + 1..)?.find('/')?;
        Some((self.by_prefix.get(rest.get(..second)?)?, rest.get(second + 1..)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_find_their_resource() {
        let table = Table::new(pawl_kinds::builtin(), 1);
        let check = |key: &str, resource: &str, rest: &str| {
            let (stored, found) = table.place(key).unwrap();
            assert_eq!((stored.group_resource.to_string().as_str(), found), (resource, rest));
        };
        check("/registry/configmaps/a/b", "configmaps", "a/b");
        check("/registry/services/specs/a/b", "services", "a/b");
        check("/registry/minions/n", "nodes", "n");
        assert!(table.place("/registry/unknown/a").is_none());
        assert!(table.place("/other").is_none());
    }
}
