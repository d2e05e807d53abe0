//! Storage migrations: every object of a resource is written again, as it would be stored today.
//!
//! Owns the status of StorageVersionMigrations and, of definitions, the condition StorageMigrating and which versions are
//! stored. Objects are rewritten by an apply that says nothing: it goes the way of every write, for built-in kinds and custom
//! resources alike, and is stored only where the bytes would be others. A migration that was interrupted goes over everything
//! again. It has succeeded when everything that was there at its beginning has been looked at, and nothing is stored
//! otherwise than today.

mod definition;
mod plan;

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use pawl_custom::status::{self, Condition};
use pawl_kv::Revision;
use pawl_meta::object::{Meta, Object, at};
use pawl_meta::{GroupResource, Status, read, time};
use pawl_registry::{CacheEntry, Served};
use serde_json::{Value, json};

use crate::actor::{Actor, Outcome, object};
use crate::counters::Tally;
use crate::informer::{Batch, Followed, Informer};
use crate::tasks::{Reconciler, Tasks};
use crate::workqueue::{Reconciled, WorkQueue};

use plan::{End, Migration, Step, plan};

const GROUP: &str = "storagemigration.k8s.io";
const PLURAL: &str = "storageversionmigrations";
/// How many resources are migrated at a time: upstream's number.
const WORKERS: usize = 5;
/// How many objects are looked at before the others have their turn, and before a server that stops is heard.
const AT_ONCE: usize = 500;
/// How soon it is looked for a resource that is not there yet; later and later.
const FIRST_LOOK: Duration = Duration::from_millis(50);
/// What discovery must say of a resource that can be migrated.
const VERBS: [&str; 3] = ["update", "patch", "list"];

pub fn start(tasks: &mut Tasks, actor: Actor, patience: Duration, tally: Arc<Tally>) {
    let informer = Informer::of(&actor, &[(GROUP, PLURAL)]);
    let (queue, places, writes) = (WorkQueue::default(), Mutex::default(), tasks.concurrency);
    tasks.run(Arc::new(Controller { actor, patience, tally, queue, places, writes }), informer, WORKERS);
}

struct Controller {
    actor: Actor,
    /// How long a resource may be missing.
    patience: Duration,
    tally: Arc<Tally>,
    /// The resources whose migrations are to be looked at.
    queue: WorkQueue<GroupResource>,
    /// By the uid of a migration that runs: the key of the last object that was looked at.
    places: Mutex<HashMap<String, Arc<str>>>,
    writes: usize,
}

impl Reconciler for Controller {
    type Key = GroupResource;

    fn queue(&self) -> &WorkQueue<GroupResource> {
        &self.queue
    }

    fn enqueue(&self, batch: Batch) {
        for change in &batch.changes {
            let (Followed::Seen(entry) | Followed::Gone(entry)) = change;
            let Some(migration) = object(entry) else { continue };
            if matches!(change, Followed::Gone(_)) {
                self.places().remove(migration.uid());
            }
            self.queue.add(resource_of(&migration));
        }
    }

    async fn reconcile(&self, resource: GroupResource) -> Reconciled {
        match self.attend(&resource).await {
            Ok(step) => step,
            Err(status) => {
                tracing::debug!(%resource, %status, "a migration is tried again");
                self.tally.retries.add(1);
                Reconciled::Retry
            }
        }
    }
}

impl Controller {
    /// Takes steps until there is something to wait for.
    async fn attend(&self, resource: &GroupResource) -> Result<Reconciled, Status> {
        let Some(home) = self.actor.served(GROUP, PLURAL) else { return Ok(Reconciled::Done) };
        loop {
            self.actor.may_follow(&home)?;
            self.actor.registry.storage().catch_up().await?;
            let objects = home.stored.cache.objects();
            let all = objects.values().filter_map(|entry| object(entry));
            let migrations: Vec<Migration> =
                all.filter(|found| resource_of(found) == *resource).map(|found| Migration::read(&found)).collect();
            let step = match plan(&migrations) {
                Step::Rest => {
                    // A migration that was deleted while it ran has told nobody.
                    self.end_definition(resource, false).await?;
                    return Ok(Reconciled::Done);
                }
                Step::Begin(migration) => {
                    self.begin_definition(resource, &migration.name).await?;
                    let said = condition(Migration::RUNNING, "MigrationRunning", "The migration is running");
                    self.say(&home, migration, &[said], None).await?;
                    None
                }
                Step::Record(migration) => self.record(&home, migration, resource).await?,
                Step::Rewrite(migration) => self.rewrite(&home, migration, resource).await?,
                Step::Finish(migration, end) => {
                    self.finish(&home, migration, resource, end).await?;
                    None
                }
            };
            if let Some(step) = step {
                return Ok(step);
            }
        }
    }

    /// Notes the version up to which objects are to be rewritten: all that are there now.
    async fn record(
        &self,
        home: &Served,
        migration: &Migration,
        resource: &GroupResource,
    ) -> Result<Option<Reconciled>, Status> {
        let Some(served) = self.find(resource).await else {
            return self.miss(home, migration, resource, "resource does not exist in discovery").await;
        };
        let facts = &served.resource.facts;
        if !VERBS.iter().all(|wanted| facts.verbs.iter().any(|verb| verb == wanted)) {
            let named = format!("{}/{}, Resource={}", facts.group, facts.version, facts.plural);
            let named = pawl_meta::go::quote(&named);
            let why = format!("resource {named} does not support discovery operations: [{}]", VERBS.join(" "));
            self.finish(home, migration, resource, &End::Failed(why)).await?;
            return Ok(None);
        }
        // Nothing is rewritten in the version of before.
        if !self.serves_what_it_says(resource, &served).await? {
            return Ok(Some(Reconciled::Retry));
        }
        let version = self.actor.registry.storage().catch_up().await?;
        self.say(home, migration, &[], Some(version)).await?;
        Ok(None)
    }

    /// Rewrites some objects, after those that were rewritten before.
    async fn rewrite(
        &self,
        home: &Served,
        migration: &Migration,
        resource: &GroupResource,
    ) -> Result<Option<Reconciled>, Status> {
        let Some(served) = self.find(resource).await else {
            return self.miss(home, migration, resource, &unhandled("unable to obtain GVR from discovery")).await;
        };
        self.actor.may_follow(&served)?;
        let Ok(version) = migration.version.parse::<Revision>() else {
            let why = format!("resource version is not well formed: {}", migration.version);
            self.finish(home, migration, resource, &End::Failed(unhandled(&why))).await?;
            return Ok(None);
        };
        self.actor.registry.storage().wait_for(version).await?;
        let after = self.places().get(&migration.uid).cloned();
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let objects = served.stored.cache.objects();
        let next: Vec<&Arc<CacheEntry>> =
            objects.range::<_, Arc<str>>((from, Bound::Unbounded)).map(|(_, entry)| entry).take(AT_ONCE).collect();
        let Some(last) = next.last() else {
            return self.look_again(home, migration, resource, &served).await;
        };
        let to_do = next.iter().filter(|entry| entry.revision <= version || !served.is_current(entry));
        let writes: Vec<_> = to_do.map(|entry| self.rewrite_one(&served, entry)).collect();
        let done: Vec<Result<(), Status>> = futures::stream::iter(writes).buffered(self.writes).collect().await;
        if let Err(status) = done.into_iter().collect::<Result<(), Status>>() {
            if passes(&status) {
                return Err(status);
            }
            self.finish(home, migration, resource, &End::Failed(unhandled(&status.message))).await?;
            return Ok(None);
        }
        self.places().insert(migration.uid.clone(), Arc::clone(&last.key));
        Ok(Some(Reconciled::After(Duration::ZERO)))
    }

    /// All objects have been looked at. What is stored as of old all the same, by whoever was slow, is rewritten, too.
    async fn look_again(
        &self,
        home: &Served,
        migration: &Migration,
        resource: &GroupResource,
        served: &Served,
    ) -> Result<Option<Reconciled>, Status> {
        self.places().remove(&migration.uid);
        self.actor.registry.storage().catch_up().await?;
        let objects = served.stored.cache.objects();
        if objects.values().any(|entry| !served.is_current(entry)) {
            return Ok(Some(Reconciled::Retry));
        }
        let count = objects.len();
        tracing::info!(migration = migration.name, %resource, count, "everything is stored as it would be today");
        self.finish(home, migration, resource, &End::Succeeded).await?;
        Ok(None)
    }

    /// Writes an object again. One that is gone, or has changed since, needs it no more.
    async fn rewrite_one(&self, served: &Served, entry: &CacheEntry) -> Result<(), Status> {
        let mut metadata = Object::new();
        metadata.insert("resourceVersion".to_owned(), json!(entry.revision.to_string()));
        // What cannot be read says so when it is to be written.
        let uid = entry.readable().and_then(pawl_registry::Readable::uid);
        metadata.extend(uid.map(|uid| ("uid".to_owned(), json!(uid))));
        let version = served.resource.group_version().to_string();
        let intent = json!({"apiVersion": version, "kind": served.resource.facts.kind, "metadata": metadata});
        self.actor.apply(served, (entry.namespace(), entry.name()), &intent).await.map(drop)
    }

    /// The resource is not there: it may come, and the migration fails where it does not.
    async fn miss(
        &self,
        home: &Served,
        migration: &Migration,
        resource: &GroupResource,
        why: &str,
    ) -> Result<Option<Reconciled>, Status> {
        let age = time::unix_now().saturating_sub(time::parse(&migration.created).unwrap_or(0));
        let waits = i64::try_from(self.patience.as_secs()).is_ok_and(|patience| age < patience);
        if waits {
            return Ok(Some(Reconciled::Wait(FIRST_LOOK)));
        }
        self.finish(home, migration, resource, &End::Failed(why.to_owned())).await?;
        Ok(None)
    }

    /// The resource, in the version in which it is stored where that is served: then nothing is converted on the way.
    async fn find(&self, resource: &GroupResource) -> Option<Arc<Served>> {
        let (group, plural) = (resource.group.as_str(), resource.resource.as_str());
        self.actor.registry.learn(group, plural).await;
        let table = self.actor.registry.table();
        let is_it = |served: &&Arc<Served>| {
            let facts = &served.resource.facts;
            facts.group == group && facts.plural == plural && served.is_stored_version()
        };
        table.served().iter().find(is_it).or_else(|| table.preferred(group, plural)).cloned()
    }

    /// Ends a migration: first in its definition, so that who waits for the end finds that done.
    async fn finish(
        &self,
        home: &Served,
        migration: &Migration,
        resource: &GroupResource,
        end: &End,
    ) -> Result<(), Status> {
        self.places().remove(&migration.uid);
        self.end_definition(resource, *end == End::Succeeded).await?;
        let ended = match end {
            End::Succeeded => condition(Migration::SUCCEEDED, "StorageVersionMigrationSucceeded", ""),
            End::Failed(why) => condition(Migration::FAILED, "StorageVersionMigrationFailed", why),
        };
        let over = condition(Migration::RUNNING, "MigrationCompleted", "Migration completed");
        self.say(home, migration, &[Condition { status: "False", ..over }, ended], None).await
    }

    /// Writes the status of a migration.
    async fn say(
        &self,
        home: &Served,
        migration: &Migration,
        conditions: &[Condition],
        version: Option<Revision>,
    ) -> Result<(), Status> {
        let now = time::now();
        let edit = |object: &mut Object| {
            let said = object.entry("status").or_insert_with(|| json!({}));
            let Some(said) = said.as_object_mut() else { return };
            for condition in conditions {
                status::set(said, condition, &now);
            }
            if let Some(version) = version {
                said.insert("resourceVersion".to_owned(), json!(version.to_string()));
            }
        };
        match self.actor.change(home, ("", &migration.name), "status", &migration.uid, edit).await? {
            Outcome::Changed => Err(Status::conflict(&home.group_resource, &migration.name, "it changes all the time")),
            _ => Ok(()),
        }
    }

    fn places(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<str>>> {
        self.places.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// What a migration is about.
fn resource_of(migration: &Object) -> GroupResource {
    let named = at(migration, "spec.resource").and_then(Value::as_object);
    let text = |field: &str| named.map(|named| read::text(named, field)).unwrap_or_default().to_owned();
    GroupResource { group: text("group"), resource: text("resource") }
}

fn condition(kind: &'static str, reason: &'static str, message: &str) -> Condition {
    Condition { kind, status: "True", reason, message: message.to_owned() }
}

fn unhandled(why: &str) -> String {
    format!("migration encountered unhandled error: {why}")
}

/// Whether what went wrong may go right when it is tried again.
fn passes(status: &Status) -> bool {
    let passing = ["InternalError", "ServerTimeout", "ServiceUnavailable", "Timeout", "TooManyRequests"];
    passing.contains(&status.reason)
}
