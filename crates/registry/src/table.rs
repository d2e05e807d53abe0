//! The table of resources: what is served, under which names, and where it is stored. It changes at run time as custom
//! resources come and go; a reader holds the table it started with.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use pawl_kinds::Resource;
use pawl_kv::Revision;
use pawl_meta::GroupResource;
use pawl_meta::object::Object;
use pawl_seal::{Plain, Seals, Transform};
use pawl_usage::User;

use crate::cache::Cache;
use crate::decoding::Wanted;
use crate::joining::Door;
use crate::messages::Messages;
use crate::unreadable::Reason;
use crate::{CacheEntry, past, showing};

/// The root of all keys.
pub const ROOT: &str = "/registry/";

/// A resource in one version, with the place where its objects are.
#[derive(Debug)]
pub struct Served {
    pub resource: Resource,
    pub group_resource: GroupResource,
    /// `apps/v1`
    pub(crate) api_version: String,
    /// The apiVersion and kind in which its objects are stored.
    pub stored_version: Arc<str>,
    pub kind: Arc<str>,
    pub stored: Arc<Stored>,
    /// How answers begin: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"`.
    pub head: String,
    /// How items of lists begin: most without kind and apiVersion.
    pub item_head: String,
}

/// Where the objects of a resource are, whatever version they are asked for in.
#[derive(Debug)]
pub struct Stored {
    pub group_resource: GroupResource,
    /// `/registry/configmaps/`
    pub prefix: String,
    /// The kind that its objects say they are; anything goes where it is not known.
    pub(crate) kind: Option<Arc<str>>,
    pub namespaced: bool,
    /// Names of selectable fields, and where each has its value from.
    pub select: Vec<String>,
    pub(crate) sources: Vec<String>,
    pub cache: Cache,
    pub(crate) door: Door,
    pub(crate) messages: Arc<Messages>,
    /// Its objects follow from others and are not stored.
    pub(crate) derived: bool,
    /// What kind of user its objects are, where they use others.
    pub(crate) user: Option<User>,
    /// What values pass on their way to and from the store; nothing where nothing is ever sealed.
    pub(crate) transform: Option<Transform>,
}

impl Served {
    /// Whether objects are stored in this version.
    pub fn is_stored_version(&self) -> bool {
        self.api_version == *self.stored_version
    }

    /// Whether an object is stored as it would be today: in this version, layout and under this key. What cannot be read is not.
    pub fn is_current(&self, entry: &CacheEntry) -> bool {
        let head = format!("{{\"kind\":\"{}\",\"apiVersion\":\"{}\",", self.kind, self.stored_version);
        entry
            .readable()
            .is_some_and(|readable| readable.value().starts_with(head.as_bytes()) && !self.stored.is_outdated(readable))
    }

    fn is_named_as(&self, other: &Self) -> bool {
        let (own, other) = (&self.resource.facts, &other.resource.facts);
        own.plural == other.plural && own.group == other.group && own.version == other.version
    }

    /// What a body for this resource must be.
    pub(crate) fn wanted(&self) -> Wanted<'_> {
        let facts = &self.resource.facts;
        Wanted { version: self.resource.group_version(), former: None, kind: &facts.kind, custom: facts.custom }
    }

    /// The bytes in which an object is stored.
    pub(crate) fn stored_form(&self, object: &Object) -> Plain {
        let object = &*self.judged_to_stored(object);
        let of = self.resource.stored_type();
        if self.resource.facts.stored_as_json || !of.holds_empties(object) {
            return Plain::new(crate::encode(object));
        }
        let mut object = object.clone();
        of.drop_empties(&mut object);
        Plain::new(crate::encode(&object))
    }
}

impl Stored {
    /// The key of an object below the prefix.
    pub fn key(&self, namespace: &str, name: &str) -> String {
        if self.namespaced { format!("{namespace}/{name}") } else { name.to_owned() }
    }

    /// How many bytes an object has as it is stored; `None` where there is none.
    pub fn weight_of(&self, namespace: &str, name: &str) -> Option<usize> {
        self.cache.get(&self.key(namespace, name)).map(|entry| entry.weight())
    }

    /// How many objects there are.
    pub fn count(&self) -> usize {
        self.cache.len()
    }

    /// Why some of them cannot be read, once for each.
    pub fn unreadable(&self) -> Vec<Reason> {
        self.cache.closed().values().filter_map(|entry| Some(entry.unreadable()?.reason)).collect()
    }

    pub fn full_key(&self, key: &str) -> String {
        // To the byte: the store keeps it as it is.
        [&self.prefix, key].concat()
    }
}

/// What is served. A look-up costs the same however much that is, and allocates nothing.
#[derive(Clone, Debug, Default)]
pub struct Table {
    served: Vec<Arc<Served>>,
    groups: HashMap<String, Group>,
    /// By the part of the prefix below the root: `configmaps`, `services/specs`.
    by_prefix: HashMap<String, Arc<Stored>>,
    messages: Arc<Messages>,
    /// The keys that values are sealed with.
    seals: Option<Seals>,
}

#[derive(Clone, Debug, Default)]
struct Group {
    /// Something of it is built in.
    builtin: bool,
    versions: HashMap<String, Version>,
    /// By plural: the version that came first.
    preferred: HashMap<String, Arc<Served>>,
}

#[derive(Clone, Debug, Default)]
struct Version {
    by_plural: HashMap<String, Arc<Served>>,
    by_kind: HashMap<String, Arc<Served>>,
}

impl Table {
    /// A table of these resources, with nothing in their caches as of a revision. Nothing is sealed.
    pub fn new(resources: &[Resource], revision: Revision) -> Self {
        Self::sealed(resources, revision, None)
    }

    /// A table of resources, these and those that come later, whose values are sealed with these keys.
    pub fn sealed(resources: &[Resource], revision: Revision, seals: Option<Seals>) -> Self {
        let mut table = Self { seals, ..Self::default() };
        table.extend(resources.iter().cloned(), revision);
        table
    }

    /// Adds a resource, or puts it in the place of the one of its name: what is stored stays where it is and keeps its
    /// cache, whatever else changes. In a place that is new its cache is empty as of a revision.
    pub fn add(&mut self, resource: Resource, revision: Revision) {
        self.extend([resource], revision);
    }

    /// Adds many, as [`Table::add`] does one.
    pub fn extend(&mut self, resources: impl IntoIterator<Item = Resource>, revision: Revision) {
        for resource in resources {
            let served = self.made(resource, revision);
            let place = self.served.iter_mut().find(|other| other.is_named_as(&served));
            match place {
                Some(place) => *place = served,
                None => self.served.push(served),
            }
        }
        self.index();
    }

    /// Takes a resource away in one version; with the last one its place goes, and the cache with it. Who holds the resource
    /// keeps what it has.
    pub fn remove(&mut self, group: &str, version: &str, plural: &str) -> Option<Arc<Served>> {
        let found = Arc::clone(self.find(group, version, plural)?);
        self.served.retain(|served| !Arc::ptr_eq(served, &found));
        let used = self.served.iter().any(|served| Arc::ptr_eq(&served.stored, &found.stored));
        if !used {
            self.by_prefix.remove(&found.resource.facts.key);
        }
        self.index();
        Some(found)
    }

    /// Makes the places of resources that are not there yet, so that they are fed; nothing of them is served. Returns the
    /// new ones.
    pub fn reserve(&mut self, resources: &[Resource], revision: Revision) -> Vec<Arc<Stored>> {
        let mut fresh = Vec::new();
        for resource in resources {
            if !self.by_prefix.contains_key(&resource.facts.key) {
                fresh.push(self.place_of(resource, revision));
            }
        }
        fresh
    }

    /// Puts versions of resources that users defined into the place of all that are there now of these names, group and
    /// plural. What is built in stays.
    pub fn exchange(&mut self, names: &[(&str, &str)], resources: Vec<Resource>, revision: Revision) {
        let goes = |served: &Arc<Served>| {
            let facts = &served.resource.facts;
            facts.custom && names.contains(&(&*facts.group, &*facts.plural))
        };
        self.served.retain(|served| !goes(served));
        for resource in resources {
            let served = self.made(resource, revision);
            self.served.push(served);
        }
        let builtin = self.served.iter().take_while(|served| !served.resource.facts.custom).count();
        if let Some(custom) = self.served.get_mut(builtin..) {
            custom.sort_by(|a, b| {
                let (a, b) = (&a.resource.facts, &b.resource.facts);
                let version = || pawl_meta::by_priority(&a.version, &b.version);
                a.group.cmp(&b.group).then_with(version).then_with(|| a.plural.cmp(&b.plural))
            });
        }
        let used: HashSet<*const Stored> = self.served.iter().map(|served| Arc::as_ptr(&served.stored)).collect();
        self.by_prefix.retain(|_, stored| used.contains(&Arc::as_ptr(stored)));
        self.index();
    }

    /// A resource with the place where its objects are: the present one, or a new one.
    fn made(&mut self, mut resource: Resource, revision: Revision) -> Arc<Served> {
        past::with_history(&mut resource);
        let stored = self.place_of(&resource, revision);
        let api_version = resource.group_version().to_string();
        let kind = &resource.facts.kind;
        let head =
            format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\",\"metadata\":{{\"resourceVersion\":\"");
        let item_head = match resource.facts.custom {
            true => head.clone(),
            false => "{\"metadata\":{\"resourceVersion\":\"".to_owned(),
        };
        let stored_version = resource.facts.storage.as_ref().unwrap_or(&api_version).as_str().into();
        let kind = kind.as_str().into();
        let group_resource = resource.group_resource();
        Arc::new(Served { resource, group_resource, api_version, stored_version, kind, stored, head, item_head })
    }

    fn place_of(&mut self, resource: &Resource, revision: Revision) -> Arc<Stored> {
        let facts = &resource.facts;
        if let Some(stored) = self.by_prefix.get(&facts.key) {
            return Arc::clone(stored);
        }
        let stored = Arc::new(Stored {
            group_resource: resource.group_resource(),
            prefix: format!("{ROOT}{}/", facts.key),
            kind: (!facts.kind.is_empty()).then(|| facts.kind.as_str().into()),
            namespaced: facts.namespaced,
            // What users defined is selected by what a version shows.
            select: if facts.custom { Vec::new() } else { facts.select.clone() },
            sources: if facts.custom { Vec::new() } else { sources(facts) },
            cache: Cache::new(revision),
            door: Door::default(),
            messages: Arc::clone(&self.messages),
            derived: facts.group == showing::GROUP && facts.plural == showing::UNREADABLE,
            user: User::of(&facts.group, &facts.plural).filter(|_| !facts.is_virtual),
            transform: self.seals.as_ref().map(|seals| seals.transform(resource.group_resource())),
        });
        if !facts.is_virtual {
            self.by_prefix.insert(facts.key.clone(), Arc::clone(&stored));
        }
        stored
    }

    /// Makes the look-ups anew. The first of a name counts.
    fn index(&mut self) {
        self.groups = HashMap::new();
        for served in &self.served {
            let facts = &served.resource.facts;
            let group = self.groups.entry(facts.group.clone()).or_default();
            group.builtin |= !facts.custom;
            let version = group.versions.entry(facts.version.clone()).or_default();
            for (names, name) in [
                (&mut version.by_plural, &facts.plural),
                (&mut version.by_kind, &facts.kind),
                (&mut group.preferred, &facts.plural),
            ] {
                names.entry(name.clone()).or_insert_with(|| Arc::clone(served));
            }
        }
    }

    fn version(&self, group: &str, version: &str) -> Option<&Version> {
        self.groups.get(group)?.versions.get(version)
    }

    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Served>> {
        self.version(group, version)?.by_plural.get(plural)
    }

    /// Everything served, in the order of discovery.
    pub fn served(&self) -> &[Arc<Served>] {
        &self.served
    }

    /// Every place where objects are.
    pub fn stored(&self) -> impl Iterator<Item = &Arc<Stored>> {
        self.by_prefix.values()
    }

    /// A resource in the version that is preferred, by group and plural.
    pub fn preferred(&self, group: &str, plural: &str) -> Option<&Arc<Served>> {
        self.groups.get(group)?.preferred.get(plural)
    }

    pub fn by_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Served>> {
        self.version(group, version)?.by_kind.get(kind)
    }

    pub fn has_group(&self, group: &str) -> bool {
        self.groups.contains_key(group)
    }

    /// Whether something of a group is built in.
    pub fn has_builtin_group(&self, group: &str) -> bool {
        self.groups.get(group).is_some_and(|group| group.builtin)
    }

    pub fn has_group_version(&self, group: &str, version: &str) -> bool {
        self.version(group, version).is_some()
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

fn sources(facts: &pawl_kinds::ResourceFacts) -> Vec<String> {
    facts.select.iter().map(|name| facts.select_from.get(name).unwrap_or(name).clone()).collect()
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

    fn widgets(version: &str) -> Resource {
        let mut resource = pawl_kinds::builtin().iter().find(|r| r.facts.plural == "configmaps").unwrap().clone();
        let facts = &mut resource.facts;
        (facts.group, facts.version) = ("example.com".to_owned(), version.to_owned());
        (facts.kind, facts.plural) = ("Widget".to_owned(), "widgets".to_owned());
        facts.key = "example.com/widgets".to_owned();
        resource
    }

    #[test]
    fn what_comes_and_goes_is_found_and_forgotten() {
        let mut table = Table::new(pawl_kinds::builtin(), 1);
        let before = table.served().len();
        table.add(widgets("v1"), 7);
        table.add(widgets("v2"), 8);
        assert_eq!(table.preferred("example.com", "widgets").unwrap().resource.facts.version, "v1");
        assert!(table.has_group_version("example.com", "v2") && !table.has_group_version("example.com", "v3"));
        assert!(table.remove("example.com", "v1", "widgets").is_some());
        assert!(table.remove("example.com", "v1", "widgets").is_none());
        assert_eq!(table.preferred("example.com", "widgets").unwrap().resource.facts.version, "v2");
        assert!(table.by_kind("example.com", "v2", "Widget").is_some());
        assert!(table.by_kind("example.com", "v1", "Widget").is_none());
        assert!(table.place("/registry/example.com/widgets/n/a").is_some());
        table.remove("example.com", "v2", "widgets");
        assert!(!table.has_group("example.com"));
        assert!(table.place("/registry/example.com/widgets/n/a").is_none());
        assert_eq!(table.served().len(), before);
    }

    #[test]
    fn a_place_keeps_its_cache_while_a_version_of_it_is_served() {
        let mut table = Table::default();
        table.add(widgets("v1"), 7);
        let stored = Arc::clone(&table.find("example.com", "v1", "widgets").unwrap().stored);
        let mut changed = widgets("v1");
        changed.facts.short = vec!["wd".to_owned()];
        table.add(changed, 9);
        let found = table.find("example.com", "v1", "widgets").unwrap();
        assert_eq!(found.resource.facts.short, ["wd"]);
        assert!(Arc::ptr_eq(&found.stored, &stored));
        assert_eq!(table.served().len(), 1);
        table.add(widgets("v2"), 10);
        table.remove("example.com", "v1", "widgets");
        assert!(Arc::ptr_eq(&table.find("example.com", "v2", "widgets").unwrap().stored, &stored));
    }
}
