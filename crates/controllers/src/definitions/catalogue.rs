//! Which definitions are served: the families that the table of resources was made from.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use pawl_custom::prepare::{self, Gates};
use pawl_custom::{Definition, Family, InUse, Refused, Settings, Survey, plan, validate};
use pawl_kinds::Resource;
use pawl_meta::object::{Meta, Object};
use pawl_meta::{Status, time};
use pawl_registry::{CacheEntry, Registry, Served};
use serde_json::{Value, json};

use crate::actor::object;

/// A dry run looks at no more objects.
const MOST_LOOKED_AT: usize = 10_000;
/// Nobody who asks waits longer.
const LONGEST_LOOK: Duration = Duration::from_millis(500);

/// What was read at which revision, by name.
type Read = HashMap<Arc<str>, (u64, Arc<Definition>)>;

/// Serves what definitions say.
pub struct Catalogue {
    registry: Arc<Registry>,
    settings: Settings,
    /// By the name of the definition.
    served: Mutex<HashMap<String, Arc<Family>>>,
    /// What was read of definitions, by name and revision: none is read twice.
    read: Mutex<Read>,
}

impl Catalogue {
    /// Serves every definition that was established before, and what would be now: a definition is served a moment before
    /// that is written down, so objects may be stored of one whose status does not say so. What is stored of them is there
    /// when this returns.
    pub async fn open(registry: Arc<Registry>, settings: Settings) -> Result<Self, Status> {
        let catalogue = Self { registry, settings, served: Mutex::default(), read: Mutex::default() };
        let stored = catalogue.home().map(|home| home.stored.cache.objects()).unwrap_or_default();
        let mut definitions: HashMap<String, Definition> = HashMap::with_capacity(stored.len());
        let mut waiting = Vec::new();
        for found in stored.values().filter_map(|entry| object(entry)) {
            let definition = Definition::read(&found);
            if !definition.established && !found.is_deleting() {
                waiting.push(found);
            }
            definitions.insert(definition.name.clone(), definition);
        }
        for mut found in waiting {
            let group = Definition::read(&found).group;
            let in_use = InUse::of(definitions.values().filter(|other| other.group == group));
            plan::install(&mut found, &in_use, &time::now());
            definitions.insert(found.name().to_owned(), Definition::read(&found));
        }
        let established = definitions.into_values().filter(|definition| definition.established);
        let families: Vec<Arc<Family>> = established.map(|found| Arc::new(Family::new(found, None))).collect();
        let resources = families.iter().flat_map(|family| catalogue.resources(family)).collect();
        catalogue.registry.exchange(&[], resources).await?;
        let named = families.into_iter().map(|family| (family.definition.name.clone(), family));
        catalogue.families().extend(named);
        Ok(catalogue)
    }

    pub(super) fn settings(&self) -> Settings {
        self.settings
    }

    /// What is served of a definition.
    pub(super) fn family(&self, name: &str) -> Option<Arc<Family>> {
        self.families().get(name).cloned()
    }

    /// The place of a definition's objects: any version leads there.
    pub(super) fn place_of(&self, name: &str) -> Option<Arc<Served>> {
        let family = self.family(name)?;
        let (group, plural) = (&family.definition.group, &family.definition.accepted.plural);
        let table = self.registry.table();
        let found = table.served().iter().filter(|served| served.resource.facts.custom).find(|served| {
            let facts = &served.resource.facts;
            facts.group == *group && facts.plural == *plural
        });
        found.cloned()
    }

    /// The stored objects of a definition that it would refuse as it is given, the first few: what an author asks before a
    /// schema is tightened. It takes no longer than a moment.
    pub fn survey(&self, definition: &Object) -> Option<Survey> {
        let mut survey = Survey::default();
        survey.is_cut = !self.look_through(definition, MOST_LOOKED_AT, &mut |refused| survey.count(refused))?;
        Some(survey)
    }

    /// The stored objects that a definition refuses; its own schema counts where none is given.
    pub fn invalid_objects(&self, name: &str, candidate: Option<&Object>) -> Result<Value, Status> {
        let home = self.home().ok_or_else(|| Status::internal("definitions are not served"))?;
        let found = home.stored.cache.get(name).as_deref().and_then(object);
        let found = found.ok_or_else(|| Status::not_found(&home.resource.group_resource(), name))?;
        let asked = match candidate {
            None => found,
            Some(candidate) => {
                let mut candidate = candidate.clone();
                prepare::update(&mut candidate, &found, Gates::default());
                let errors = validate::update(&candidate, &found);
                if !errors.is_empty() {
                    return Err(Status::invalid(&home.resource.group_kind(), name, &errors));
                }
                candidate
            }
        };
        let (mut items, mut looked_at) = (Vec::new(), 0);
        let whole = self.look_through(&asked, usize::MAX, &mut |refused| {
            looked_at += 1;
            items.extend(refused.map(|refused| {
                let problems = refused.problems.iter().map(|(field, what)| json!({"field": field, "message": what}));
                json!({"namespace": refused.namespace, "name": refused.name, "problems": problems.collect::<Vec<_>>()})
            }));
        });
        Ok(json!({
            "kind": "InvalidObjectList",
            "apiVersion": "apiextensions.k8s.io/v1",
            "metadata": {},
            "lookedAt": looked_at,
            "complete": whole.unwrap_or(true),
            "items": items,
        }))
    }

    /// Looks at stored objects under a definition, until there are none left, enough of them, or no time. Answers whether
    /// all were looked at; nothing where nothing is stored.
    fn look_through(&self, definition: &Object, most: usize, tell: &mut dyn FnMut(Option<&Refused>)) -> Option<bool> {
        let served = self.place_of(definition.name())?;
        let family = Family::new(Definition::read(definition), None);
        let started = Instant::now();
        for (at, entry) in served.stored.cache.objects().values().enumerate() {
            if at >= most || started.elapsed() > LONGEST_LOOK {
                return Some(false);
            }
            let refused = object(entry).and_then(|stored| family.refuses(stored, self.settings));
            tell(refused.as_ref());
        }
        Some(true)
    }

    /// The resource of definitions themselves.
    pub(super) fn home(&self) -> Option<Arc<Served>> {
        self.registry.table().preferred(pawl_custom::GROUP, pawl_custom::PLURAL).cloned()
    }

    /// Every definition that is stored, or those of a group, without their schemas.
    pub(super) fn definitions(&self, group: Option<&str>) -> Vec<Arc<Definition>> {
        let Some(home) = self.home() else { return Vec::new() };
        let objects = home.stored.cache.objects();
        let mut read = self.read.lock().unwrap_or_else(|e| e.into_inner());
        if read.len() > objects.len() {
            read.retain(|name, _| objects.contains_key(name));
        }
        // A definition's name is the plural, a dot and the group.
        let wanted = |entry: &&Arc<CacheEntry>| {
            group.is_none_or(|group| entry.name().split_once('.').is_some_and(|(_, of)| of == group))
        };
        let mut all = Vec::new();
        for entry in objects.values().filter(wanted) {
            let known = read.get(&entry.key).filter(|(revision, _)| *revision == entry.revision);
            let found = match known {
                Some((_, known)) => Arc::clone(known),
                None => {
                    let Some(found) = object(entry) else { continue };
                    let found = Arc::new(slim(Definition::read(&found)));
                    read.insert(Arc::clone(&entry.key), (entry.revision, Arc::clone(&found)));
                    found
                }
            };
            all.push(found);
        }
        all
    }

    /// Serves a definition as it is now. Answers whether anything changed.
    pub(super) async fn serve(&self, definition: Definition) -> Result<bool, Status> {
        let before = self.families().get(&definition.name).cloned();
        if before.as_ref().is_some_and(|before| is_same(&before.definition, &definition)) {
            return Ok(false);
        }
        let mut before = before;
        if before.as_ref().is_some_and(|before| before.definition.uid != definition.uid) {
            // Another definition of the same name has nothing of the one before, its closed door least of all.
            self.withdraw(&definition.name).await?;
            before = None;
        }
        let family = Arc::new(Family::new(definition, before.as_deref()));
        let names = (family.definition.group.as_str(), family.definition.accepted.plural.as_str());
        self.registry.exchange(&[names], self.resources(&family)).await?;
        publish(&family, if before.is_some() { "update" } else { "add" });
        self.families().insert(family.definition.name.clone(), Arc::clone(&family));
        Ok(true)
    }

    /// Serves a definition no longer.
    pub(super) async fn withdraw(&self, name: &str) -> Result<bool, Status> {
        let Some(family) = self.families().get(name).cloned() else { return Ok(false) };
        let names = (family.definition.group.as_str(), family.definition.accepted.plural.as_str());
        self.registry.exchange(&[names], Vec::new()).await?;
        publish(&family, "remove");
        self.families().remove(name);
        Ok(true)
    }

    /// The versions that are served; what is built in is never in question.
    fn resources(&self, family: &Arc<Family>) -> Vec<Resource> {
        let table = self.registry.table();
        let is_free = |resource: &Resource| {
            let facts = &resource.facts;
            let present = table.find(&facts.group, &facts.version, &facts.plural);
            present.is_none_or(|present| present.resource.facts.custom)
        };
        let served: Vec<Resource> = pawl_custom::resources(family, self.settings).into_iter().filter(is_free).collect();
        if served.is_empty() && family.definition.terminating {
            // What is stored must be found to go.
            return pawl_custom::stored_resource(family, self.settings).into_iter().filter(is_free).collect();
        }
        served
    }

    fn families(&self) -> MutexGuard<'_, HashMap<String, Arc<Family>>> {
        self.served.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl std::fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Catalogue").field("served", &self.families().len()).finish_non_exhaustive()
    }
}

/// A definition without what takes most of its room.
fn slim(mut definition: Definition) -> Definition {
    for version in &mut definition.versions {
        (version.schema, version.columns) = (None, Vec::new());
    }
    definition
}

/// Counts what OpenAPI publishes anew.
fn publish(family: &Family, reason: &str) {
    let definition = &family.definition;
    let versions = definition.served();
    let versions = versions.iter().map(|version| version.name.as_str());
    pawl_custom::metrics::published(&definition.name, &definition.group, versions, reason);
}

/// Whether two states of a definition are served alike.
fn is_same(one: &Definition, other: &Definition) -> bool {
    let served =
        |definition: &Definition| Definition { generation: 0, stored_versions: Vec::new(), ..definition.clone() };
    served(one) == served(other)
}
