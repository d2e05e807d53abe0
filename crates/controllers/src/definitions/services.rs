//! The APIServices of what is served of definitions: made when a version comes, deleted when the last of it goes. Only those
//! that carry the label of such objects are touched.

use std::collections::BTreeMap;
use std::sync::Arc;

use pawl_custom::Definition;
use pawl_custom::registration::{MANAGED, api_services};
use pawl_deletion::{Preconditions, Propagation};
use pawl_meta::Status;
use pawl_meta::object::{Meta, Object};
use pawl_registry::Served;
use serde_json::Value;

use crate::actor::{Actor, object};

/// Brings the APIServices of a group up to date, or those of all groups.
pub async fn register(actor: &Actor, definitions: &[Arc<Definition>], group: Option<&str>) -> Result<(), Status> {
    let Some(served) = actor.served("apiregistration.k8s.io", "apiservices") else { return Ok(()) };
    let concerns = |of: &str| group.is_none_or(|group| group == of);
    let established = definitions.iter().filter(|found| found.established && concerns(&found.group)).map(Arc::as_ref);
    let wanted = api_services(established);
    let present = present(&served, &concerns);
    for (_, service) in wanted.iter().filter(|(name, _)| !present.contains_key(*name)) {
        actor.create(&served, "", service).await?;
    }
    for (name, service) in present.iter().filter(|(name, _)| !wanted.contains_key(*name)) {
        let preconditions = Preconditions { uid: Some(service.uid().to_owned()), ..Preconditions::default() };
        actor.delete(&served, "", name, preconditions, Propagation::Background).await?;
    }
    Ok(())
}

/// The APIServices of groups that came by themselves, by name.
fn present(served: &Served, concerns: &dyn Fn(&str) -> bool) -> BTreeMap<String, Object> {
    let objects = served.stored.cache.objects();
    let managed = objects.values().filter(|entry| {
        let labelled = entry.readable().and_then(|readable| readable.label(MANAGED));
        labelled == Some("true")
    });
    let of_group =
        |service: &Object| pawl_meta::object::at(service, "spec.group").and_then(Value::as_str).is_some_and(concerns);
    managed.filter_map(|entry| object(entry)).filter(of_group).map(|found| (found.name().to_owned(), found)).collect()
}
