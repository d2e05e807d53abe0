//! The condition `ObjectsInvalidAtRest` of definitions: how many stored objects their schema refuses, as long as it does.
//!
//! When a definition changes, its objects are looked at, a few at a time and most of the time not at all. Where something is
//! refused, its objects are followed until nothing is: nothing new is taken that is not valid, so the number only falls.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use pawl_custom::plan::invalid_at_rest;
use pawl_custom::{Family, Survey};
use pawl_meta::object::Object;
use pawl_meta::{Status, time};
use pawl_registry::{Entry, Follower, Served};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use super::Catalogue;
use crate::actor::{Actor, object};
use crate::feed::Change;

/// How many objects are looked at in one go.
const GO: usize = 32;
/// How many times as long as a go took nobody looks at anything.
const REST: u32 = 9;
/// What changes within this time is told together.
const GATHER: Duration = Duration::from_secs(1);

/// Looks at the definitions that it is told of, each as it is then.
pub async fn run(actor: Arc<Actor>, catalogue: Arc<Catalogue>, mut names: mpsc::UnboundedReceiver<String>) {
    let mut tasks = JoinSet::new();
    let mut running: HashMap<String, AbortHandle> = HashMap::new();
    while let Some(name) = names.recv().await {
        running.retain(|_, task| !task.is_finished());
        if let Some(before) = running.remove(&name) {
            before.abort();
        }
        let (actor, catalogue) = (Arc::clone(&actor), Arc::clone(&catalogue));
        let of = name.clone();
        let task = tasks.spawn(async move {
            if let Err(status) = inspect(&actor, &catalogue, &of).await {
                tracing::debug!(definition = %of, %status, "stored objects could not be looked at");
            }
        });
        running.insert(name, task);
        while tasks.try_join_next().is_some() {}
    }
}

async fn inspect(actor: &Actor, catalogue: &Catalogue, name: &str) -> Result<(), Status> {
    let (Some(family), Some(served)) = (catalogue.family(name), catalogue.place_of(name)) else { return Ok(()) };
    let objects = served.stored.cache.objects();
    let mut invalid = Invalid::default();
    let entries: Vec<&Arc<Entry>> = objects.values().collect();
    for go in entries.chunks(GO) {
        let started = Instant::now();
        go.iter().for_each(|entry| invalid.look(catalogue, &family, entry));
        tokio::time::sleep(started.elapsed() * REST).await;
    }
    report(actor, catalogue, name, &invalid.survey(catalogue, &family, &served)).await?;
    if invalid.keys.is_empty() {
        return Ok(());
    }
    let mut follower = Follower::new(Arc::clone(&actor.registry), Arc::clone(&served));
    let mut changes = follower.first().await;
    // Some of them may have gone since they were looked at: nobody will tell of those.
    invalid.keys.retain(|key| served.stored.cache.get(key).is_some());
    let mut told = None;
    loop {
        for change in changes {
            match change {
                Change::Seen(entry) if invalid.keys.contains(&entry.key) => invalid.look(catalogue, &family, &entry),
                Change::Seen(_) => {}
                Change::Gone(entry) => {
                    invalid.keys.remove(&entry.key);
                }
            }
        }
        if told != Some(invalid.keys.len()) {
            tokio::time::sleep(GATHER).await;
            report(actor, catalogue, name, &invalid.survey(catalogue, &family, &served)).await?;
            told = Some(invalid.keys.len());
        }
        if invalid.keys.is_empty() {
            return Ok(());
        }
        changes = follower.next().await;
    }
}

/// The objects that are refused, by key.
#[derive(Default)]
struct Invalid {
    keys: HashSet<Arc<str>>,
}

impl Invalid {
    fn look(&mut self, catalogue: &Catalogue, family: &Family, entry: &Entry) {
        match refused(catalogue, family, entry) {
            true => self.keys.insert(Arc::clone(&entry.key)),
            false => self.keys.remove(&entry.key),
        };
    }

    /// What there is to tell: the first few are looked at once more for their fields.
    fn survey(&self, catalogue: &Catalogue, family: &Family, served: &Served) -> Survey {
        let mut keys: Vec<&Arc<str>> = self.keys.iter().collect();
        keys.sort_unstable();
        let mut survey = Survey::default();
        for entry in keys.into_iter().take(GO).filter_map(|key| served.stored.cache.get(key)) {
            let refused = object(&entry).and_then(|found| family.refuses(found, catalogue.settings()));
            survey.count(refused.as_ref());
        }
        survey.looked_at = served.stored.cache.len();
        survey.refused = survey.refused.max(self.keys.len());
        survey
    }
}

fn refused(catalogue: &Catalogue, family: &Family, entry: &Entry) -> bool {
    object(entry).is_some_and(|found| family.refuses(found, catalogue.settings()).is_some())
}

/// Says what is refused, or nothing any more.
async fn report(actor: &Actor, catalogue: &Catalogue, name: &str, survey: &Survey) -> Result<(), Status> {
    let Some(home) = catalogue.home() else { return Ok(()) };
    let Some(found) = actor.read(&home, "", name).await?.as_deref().and_then(object) else { return Ok(()) };
    let now = time::now();
    if invalid_at_rest(&found, survey, &now).is_none() {
        return Ok(());
    }
    let edit = |object: &mut Object| {
        if let Some(status) = invalid_at_rest(object, survey, &now) {
            object.insert("status".to_owned(), Value::Object(status));
        }
    };
    actor.change(&home, ("", name), "status", pawl_meta::object::Meta::uid(&found), edit).await?;
    Ok(())
}
