//! What a migration says in the definition of the resource that it is about, where there is one.

use pawl_custom::plan::{self, Migration};
use pawl_custom::status::{self, Condition};
use pawl_custom::{Definition, GROUP, PLURAL};
use pawl_meta::object::{Meta, Object};
use pawl_meta::{GroupResource, Status, read, time};
use pawl_registry::Served;
use serde_json::json;

use super::Controller;
use crate::actor::{Outcome, object};

/// Who owns in definitions what migrations say: upstream's name.
const MANAGER: &str = "migration-runner-controller";
/// A definition is looked at again when somebody was faster.
const ATTEMPTS: usize = 10;

impl Controller {
    pub(super) async fn begin_definition(&self, resource: &GroupResource, name: &str) -> Result<(), Status> {
        self.tell_definition(resource, &Migration::Running(name)).await
    }

    pub(super) async fn end_definition(&self, resource: &GroupResource, succeeded: bool) -> Result<(), Status> {
        let step = if succeeded { Migration::Succeeded } else { Migration::Failed };
        self.tell_definition(resource, &step).await
    }

    /// Whether objects are stored in the version that the definition names by now.
    pub(super) async fn serves_what_it_says(&self, resource: &GroupResource, served: &Served) -> Result<bool, Status> {
        let Some(found) = self.definition(resource).await? else { return Ok(true) };
        let definition = Definition::read(&found);
        let stored = definition.versions.iter().find(|version| version.storage);
        Ok(stored.is_none_or(|version| *served.stored_version == *format!("{}/{}", definition.group, version.name)))
    }

    async fn definition(&self, resource: &GroupResource) -> Result<Option<Object>, Status> {
        let Some(home) = self.actor.served(GROUP, PLURAL) else { return Ok(None) };
        let name = format!("{}.{}", resource.resource, resource.group);
        Ok(self.actor.read(&home, "", &name).await?.as_deref().and_then(object))
    }

    /// Says of exactly the definition that was looked at how far its migration is.
    async fn tell_definition(&self, resource: &GroupResource, step: &Migration<'_>) -> Result<(), Status> {
        let Some(home) = self.actor.served(GROUP, PLURAL) else { return Ok(()) };
        for _ in 0..ATTEMPTS {
            let Some(found) = self.definition(resource).await? else { return Ok(()) };
            let Some(said) = plan::migrating(&found, step, &time::now()) else { return Ok(()) };
            let intent = json!({
                "apiVersion": home.resource.group_version().to_string(),
                "kind": home.resource.facts.kind,
                "metadata": {"name": found.name(), "resourceVersion": found.resource_version()},
                // What was owned once must be named each time: what is left out would go.
                "status": {
                    "conditions": [status::find(&said, Condition::STORAGE_MIGRATING)],
                    "storedVersions": read::list(&said, "storedVersions"),
                },
            });
            match self.actor.apply_as(MANAGER, &home, ("", found.name()), "status", &intent).await? {
                Outcome::Changed => {}
                _ => return Ok(()),
            }
        }
        Err(Status::conflict(&home.group_resource, &resource.resource, "it changes all the time"))
    }
}
