//! Which definitions are served: the families that the table of resources was made from.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use pawl_custom::{Definition, Family, Settings};
use pawl_kinds::Resource;
use pawl_meta::Status;
use pawl_registry::{Registry, Served};

use crate::actor::object;

/// Serves what definitions say.
pub struct Catalogue {
    registry: Arc<Registry>,
    settings: Settings,
    /// By the name of the definition.
    served: Mutex<HashMap<String, Arc<Family>>>,
}

impl Catalogue {
    /// Serves every definition that was established before. What is stored of them is there when this returns.
    pub async fn open(registry: Arc<Registry>, settings: Settings) -> Result<Self, Status> {
        let catalogue = Self { registry, settings, served: Mutex::default() };
        let established = catalogue.definitions().into_iter().filter(|definition| definition.established);
        let families: Vec<Arc<Family>> = established.map(|found| Arc::new(Family::new(found, None))).collect();
        let resources = families.iter().flat_map(|family| catalogue.resources(family)).collect();
        catalogue.registry.exchange(&[], resources).await?;
        let named = families.into_iter().map(|family| (family.definition.name.clone(), family));
        catalogue.families().extend(named);
        Ok(catalogue)
    }

    /// The resource of definitions themselves.
    pub(super) fn home(&self) -> Option<Arc<Served>> {
        self.registry.table().preferred(pawl_custom::GROUP, pawl_custom::PLURAL).cloned()
    }

    /// Every definition that is stored.
    pub(super) fn definitions(&self) -> Vec<Definition> {
        let Some(home) = self.home() else { return Vec::new() };
        let objects = home.stored.cache.objects();
        objects.iter().filter_map(|(_, entry)| Some(Definition::read(&object(entry)?))).collect()
    }

    /// Serves a definition as it is now. Answers whether anything changed.
    pub(super) async fn serve(&self, definition: Definition) -> Result<bool, Status> {
        let before = self.families().get(&definition.name).cloned();
        if before.as_ref().is_some_and(|before| is_same(&before.definition, &definition)) {
            return Ok(false);
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
