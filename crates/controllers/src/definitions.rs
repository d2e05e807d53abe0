//! The definitions of custom resources: which names they get, when they are served, and how they go.
//!
//! Owns the status of definitions and, through the [`Catalogue`], what the table serves of them. A definition that is
//! deleted takes its objects along, first what no lien holds; what liens hold goes in spite of them when nothing has moved
//! for a while, as in a namespace. Of a group one definition is looked at at a time: names are given once.

mod catalogue;
mod inspection;
mod services;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use pawl_custom::plan::{self, CLEANUP_FINALIZER, Deletion};
use pawl_custom::{Definition, InUse};
use pawl_deletion::{DeleteOptions, Preconditions, Propagation};
use pawl_meta::object::{Meta, Object};
use pawl_meta::{Status, time};
use pawl_registry::{CacheEntry, Served};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::actor::{Actor, Outcome, drop_finalizer, object};
use crate::counters::Tally;
use crate::informer::{Batch, Followed, Informer};
use crate::tasks::{Reconciler, Tasks};
use crate::workqueue::{Reconciled, WorkQueue};

pub use catalogue::Catalogue;

/// Stands in line for all groups at once: no definition has this name.
const EVERYTHING: &str = "";
/// How many groups are looked at at a time.
const WORKERS: usize = 8;
/// How many objects are deleted at a time.
const DELETIONS: usize = 64;
/// The annotation of the audit log that says why an object went in spite of its liens.
const BECAUSE: &str = "apiserver.k8s.io/definition-deleted";

pub fn start(tasks: &mut Tasks, actor: Actor, catalogue: Arc<Catalogue>, stall: Duration, tally: Arc<Tally>) {
    // Objects matter only while their definition goes.
    let informer = Informer::new(&actor, |resource| {
        let facts = &resource.facts;
        facts.closed.is_some() || (facts.group == pawl_custom::GROUP && facts.plural == pawl_custom::PLURAL)
    });
    let (queue, leaving, groups) = (WorkQueue::default(), Mutex::default(), Mutex::default());
    queue.add(EVERYTHING.to_owned());
    let (inspector, names) = mpsc::unbounded_channel();
    let inspecting = Arc::new(Actor::own(Arc::clone(&actor.registry), actor.name, actor.oversight().clone()));
    tasks.until_stop(inspection::run(inspecting, Arc::clone(&catalogue), names));
    tasks.run(
        Arc::new(Controller { actor, catalogue, stall, tally, queue, leaving, groups, inspector }),
        informer,
        WORKERS,
    );
}

struct Controller {
    actor: Actor,
    catalogue: Arc<Catalogue>,
    stall: Duration,
    tally: Arc<Tally>,
    queue: WorkQueue<String>,
    /// Of definitions that go, by uid: how few objects there were at least, and since when.
    leaving: Mutex<HashMap<String, (usize, Instant)>>,
    /// Whose turn it is in a group.
    groups: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
    /// Who looks at stored objects, told by name which ones.
    inspector: mpsc::UnboundedSender<String>,
}

impl Reconciler for Controller {
    type Key = String;

    fn queue(&self) -> &WorkQueue<String> {
        &self.queue
    }

    fn enqueue(&self, Batch { served, changes }: Batch) {
        let facts = &served.resource.facts;
        if facts.custom {
            self.queue.add(format!("{}.{}", facts.plural, facts.group));
            return;
        }
        let name = |change: &Followed| {
            let (Followed::Seen(entry) | Followed::Gone(entry)) = change;
            entry.name().to_owned()
        };
        self.queue.extend(changes.iter().map(name));
    }

    async fn reconcile(&self, name: String) -> Reconciled {
        match self.attend(&name).await {
            Ok(step) => step,
            Err(status) => {
                tracing::debug!(definition = %name, %status, "tried again");
                self.tally.retries.add(1);
                Reconciled::Retry
            }
        }
    }
}

impl Controller {
    async fn attend(&self, name: &str) -> Result<Reconciled, Status> {
        if name == EVERYTHING {
            let all = self.catalogue.definitions(None);
            services::register(&self.actor, &all, None).await?;
            for definition in all {
                let _ = self.inspector.send(definition.name.clone());
            }
            return Ok(Reconciled::Done);
        }
        let turn = self.turn(name);
        let _turn = turn.lock().await;
        let Some(home) = self.catalogue.home() else { return Ok(Reconciled::Done) };
        let Some(found) = self.actor.read(&home, "", name).await?.as_deref().and_then(object) else {
            if self.catalogue.withdraw(name).await? {
                tracing::info!(definition = %name, "no longer served");
            }
            self.look_at_rivals(name);
            self.register(name).await?;
            return Ok(Reconciled::Done);
        };
        if found.is_deleting() { self.take_leave(&home, &found).await } else { self.settle(&home, found).await }
    }

    /// The turn in a definition's group.
    fn turn(&self, name: &str) -> Arc<tokio::sync::Mutex<()>> {
        let group = name.split_once('.').map_or("", |(_, group)| group);
        let mut groups = self.groups.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(turn) = groups.get(group).and_then(Weak::upgrade) {
            return turn;
        }
        groups.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::default();
        groups.insert(group.to_owned(), Arc::downgrade(&turn));
        turn
    }

    /// Gives names, serves what has them, and says so.
    async fn settle(&self, home: &Served, mut found: Object) -> Result<Reconciled, Status> {
        let (before, now) = (found.get("status").cloned(), time::now());
        let group = Definition::read(&found).group;
        let in_use = InUse::of(self.catalogue.definitions(Some(&group)).iter().map(Arc::as_ref));
        plan::install(&mut found, &in_use, &now);
        let definition = Definition::read(&found);
        let changed = definition.established && self.catalogue.serve(definition).await?;
        let mut step = Reconciled::Done;
        if found.get("status") != before.as_ref() {
            step = self.report(home, &found).await?;
            self.look_at_rivals(found.name());
        }
        if changed {
            self.register(found.name()).await?;
            let _ = self.inspector.send(found.name().to_owned());
        }
        Ok(step)
    }

    /// Brings the APIServices of a definition's group up to date.
    async fn register(&self, name: &str) -> Result<(), Status> {
        let Some((_, group)) = name.split_once('.') else { return Ok(()) };
        services::register(&self.actor, &self.catalogue.definitions(Some(group)), Some(group)).await
    }

    /// Definitions that wait for names look again when somebody of their group may have let go of some.
    fn look_at_rivals(&self, name: &str) {
        let Some((_, group)) = name.split_once('.') else { return };
        let waits = |other: &Arc<Definition>| other.name != name && other.names != other.accepted;
        let rivals = self.catalogue.definitions(Some(group)).into_iter().filter(waits);
        self.queue.extend(rivals.map(|rival| rival.name.clone()));
    }

    /// Writes the status of a definition that is still as it was looked at.
    async fn report(&self, home: &Served, found: &Object) -> Result<Reconciled, Status> {
        let status = found.get("status").cloned().unwrap_or_default();
        let version = found.resource_version().to_owned();
        let edit = |object: &mut Object| {
            object.insert("status".to_owned(), status.clone());
            // What was decided was decided about this version.
            pawl_meta::object::metadata_mut(object).insert("resourceVersion".to_owned(), version.as_str().into());
        };
        let outcome = self.actor.change(home, ("", found.name()), "status", found.uid(), edit).await?;
        Ok(if outcome == Outcome::Changed { Reconciled::Retry } else { Reconciled::Done })
    }

    /// Deletes the objects of a definition, then lets it go.
    async fn take_leave(&self, home: &Served, found: &Object) -> Result<Reconciled, Status> {
        if !found.meta_strings("finalizers").contains(&CLEANUP_FINALIZER) {
            return Ok(Reconciled::Done);
        }
        let definition = Definition::read(found);
        let (name, uid) = (definition.name.clone(), definition.uid.clone());
        if !definition.established {
            return self.finish(home, found, &Deletion::NeverEstablished).await;
        }
        self.catalogue.serve(definition).await?;
        let Some(served) = self.catalogue.place_of(&name) else {
            return self.finish(home, found, &Deletion::Completed).await;
        };
        self.actor.registry.close(&served).await;
        self.actor.registry.storage().catch_up().await?;
        let entries: Vec<Arc<CacheEntry>> = served.stored.cache.objects().values().cloned().collect();
        if entries.is_empty() {
            self.leaving.lock().unwrap_or_else(|e| e.into_inner()).remove(&uid);
            return self.finish(home, found, &Deletion::Completed).await;
        }
        if !self.say(home, found, &Deletion::InProgress).await? {
            return Ok(Reconciled::Retry);
        }
        let (stalled, left) = self.watch_progress(&uid, entries.len());
        let because = format!("the definition {name} was deleted");
        let mut held = false;
        let mut deletions: Vec<BoxFuture<'_, Result<Outcome, Status>>> = Vec::with_capacity(entries.len());
        for entry in &entries {
            deletions.push(Box::pin(self.delete(&served, entry, stalled, &because)));
        }
        let outcomes: Vec<Result<Outcome, Status>> =
            futures::stream::iter(deletions).buffer_unordered(DELETIONS).collect().await;
        for outcome in outcomes {
            match outcome {
                Ok(Outcome::Held(_)) => held = true,
                Ok(_) => {}
                Err(status) => {
                    let why = format!("could not list/delete instances: {}", status.message);
                    self.say(home, found, &Deletion::Failed(why)).await?;
                    return Ok(Reconciled::Retry);
                }
            }
        }
        self.actor.registry.storage().catch_up().await?;
        if served.stored.cache.is_empty() {
            return Ok(Reconciled::After(Duration::ZERO));
        }
        // What waits for finalizers is told of when it goes; only that nothing happens must be found out.
        Ok(if held { Reconciled::After(left) } else { Reconciled::Done })
    }

    async fn delete(
        &self,
        served: &Served,
        entry: &CacheEntry,
        ignore_liens: bool,
        because: &str,
    ) -> Result<Outcome, Status> {
        let preconditions = Preconditions { uid: crate::actor::uid(entry), ..Preconditions::default() };
        let propagation = Some(Propagation::Background);
        let options = DeleteOptions { preconditions, propagation, ignore_liens, ..DeleteOptions::default() };
        self.actor.delete_with(served, entry.namespace(), entry.name(), &options, &[(BECAUSE, because)]).await
    }

    /// Whether there have been no fewer objects for long enough, and else how long is left.
    fn watch_progress(&self, uid: &str, count: usize) -> (bool, Duration) {
        let now = Instant::now();
        let mut leaving = self.leaving.lock().unwrap_or_else(|e| e.into_inner());
        let (least, since) = leaving.entry(uid.to_owned()).or_insert((count, now));
        if count < *least {
            (*least, *since) = (count, now);
        }
        let still = now.saturating_duration_since(*since);
        (still >= self.stall, self.stall.saturating_sub(still))
    }

    /// Says how far a deletion has come. False when the definition has changed meanwhile.
    async fn say(&self, home: &Served, found: &Object, step: &Deletion) -> Result<bool, Status> {
        let now = time::now();
        let edit = |object: &mut Object| {
            if let Some(status) = plan::terminating(object, step, &now) {
                object.insert("status".to_owned(), Value::Object(status));
            }
        };
        let outcome = self.actor.change(home, ("", found.name()), "status", found.uid(), edit).await?;
        Ok(outcome == Outcome::Done)
    }

    /// Nothing is left of a definition but itself.
    async fn finish(&self, home: &Served, found: &Object, step: &Deletion) -> Result<Reconciled, Status> {
        self.say(home, found, step).await?;
        let edit = |object: &mut Object| drop_finalizer(object, CLEANUP_FINALIZER);
        self.actor.change(home, ("", found.name()), "", found.uid(), edit).await?;
        Ok(Reconciled::Done)
    }
}
