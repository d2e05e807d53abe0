//! The condition `ObjectsInvalidAtRest` of definitions: how many stored objects their schema refuses, as long as it does.
//!
//! When a definition changes, its objects are looked at, a few at a time and most of the time not at all. Where something is
//! refused, its objects are followed until nothing is, and those that change are looked at again at the same pace: nothing new
//! is taken that is not valid, so the number only falls.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use pawl_custom::plan::invalid_at_rest;
use pawl_custom::{Family, Survey};
use pawl_meta::object::Object;
use pawl_meta::{Status, time};
use pawl_registry::{Follower, Served};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use super::Catalogue;
use crate::actor::{Actor, object};
use crate::informer::Followed;

/// How many objects are looked at in one go.
const GO: usize = 32;
/// How many times as long as a go took nobody looks at anything: at first, and later, when what is left changes all the time.
const REST: u32 = 9;
const LATER_REST: u32 = 49;
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
    let mut invalid = Invalid { catalogue, family: &family, served: &served, keys: HashSet::new() };
    invalid.look_at_all().await;
    report(actor, catalogue, name, &invalid.survey()).await?;
    if invalid.keys.is_empty() {
        return Ok(());
    }
    let mut follower = Follower::new(Arc::clone(&actor.registry), Arc::clone(&served));
    let mut changes = follower.first().await;
    // Some of them may have gone since they were looked at: nobody will tell of those.
    invalid.keys.retain(|key| served.stored.cache.get(key).is_some());
    let mut told = None;
    let mut changed: HashSet<Arc<str>> = HashSet::new();
    let (mut look_at, mut report_at) = (Instant::now(), Instant::now() + GATHER);
    loop {
        for change in changes {
            match change {
                Followed::Seen(entry) if invalid.keys.contains(&entry.key) => {
                    changed.insert(Arc::clone(&entry.key));
                }
                Followed::Seen(_) => {}
                Followed::Gone(entry) => {
                    invalid.keys.remove(&entry.key);
                    changed.remove(&entry.key);
                }
            }
        }
        if look_at <= Instant::now() {
            let some: Vec<Arc<str>> = changed.iter().take(GO).cloned().collect();
            some.iter().for_each(|key| {
                changed.remove(key);
            });
            look_at = Instant::now() + invalid.look_at(some.iter()) * LATER_REST;
        }
        let is_news = told != Some(invalid.keys.len());
        if is_news && (report_at <= Instant::now() || invalid.keys.is_empty()) {
            report(actor, catalogue, name, &invalid.survey()).await?;
            told = Some(invalid.keys.len());
            report_at = Instant::now() + GATHER;
        }
        if invalid.keys.is_empty() {
            return Ok(());
        }
        let due = [(!changed.is_empty()).then_some(look_at), is_news.then_some(report_at)].into_iter().flatten().min();
        changes = match due {
            None => follower.next().await,
            Some(due) => tokio::select! {
                changes = follower.next() => changes,
                () = tokio::time::sleep_until(due) => Vec::new(),
            },
        };
    }
}

/// The objects of a definition that are refused.
struct Invalid<'a> {
    catalogue: &'a Catalogue,
    family: &'a Family,
    served: &'a Served,
    keys: HashSet<Arc<str>>,
}

impl Invalid<'_> {
    async fn look_at_all(&mut self) {
        let objects = self.served.stored.cache.objects();
        let mut keys = objects.keys();
        loop {
            let mut go = keys.by_ref().take(GO).peekable();
            if go.peek().is_none() {
                return;
            }
            let took = self.look_at(go);
            tokio::time::sleep(took * REST).await;
        }
    }

    /// Looks at some of them as they are now. Says how long it took.
    fn look_at<'k>(&mut self, keys: impl Iterator<Item = &'k Arc<str>>) -> Duration {
        let started = Instant::now();
        for key in keys {
            let refuses = |found| self.family.refuses(found, self.catalogue.settings()).is_some();
            let entry = self.served.stored.cache.get(key);
            match entry.as_deref().and_then(object).is_some_and(refuses) {
                true => self.keys.insert(Arc::clone(key)),
                false => self.keys.remove(key),
            };
        }
        started.elapsed()
    }

    /// What there is to tell: the first few are looked at once more for their fields.
    fn survey(&self) -> Survey {
        let mut keys: Vec<&Arc<str>> = self.keys.iter().collect();
        keys.sort_unstable();
        let mut survey = Survey::default();
        for entry in keys.into_iter().take(GO).filter_map(|key| self.served.stored.cache.get(key)) {
            let refused = object(&entry).and_then(|found| self.family.refuses(found, self.catalogue.settings()));
            survey.count(refused.as_ref());
        }
        survey.looked_at = self.served.stored.cache.len();
        survey.refused = survey.refused.max(self.keys.len());
        survey
    }
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
