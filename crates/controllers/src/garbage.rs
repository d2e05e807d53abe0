//! The garbage collector: what nobody owns any more goes, as far as nothing holds it.
//!
//! Owns the graph of owners over every resource that is served. Owners are judged by what is there when the collector
//! looks, never by what the graph lacks. It refuses to touch what liens hold, what names an owner of a kind that is not
//! served, and cluster-scoped objects that name an owner in a namespace.

mod facts;
mod graph;
mod plan;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use pawl_deletion::{FOREGROUND, ORPHAN, Preconditions};
use pawl_kinds::Resource;
use pawl_meta::Status;
use serde_json::Value;

use crate::actor::{Actor, Outcome, drop_finalizer, keep};
use crate::counters::Tally;
use crate::informer::{Batch, Followed, Informer, each_place};
use crate::recorder::{About, Recorder};
use crate::tasks::{Reconciler, Tasks};
use crate::workqueue::{Reconciled, WorkQueue};

use facts::{Identity, Owner, OwnershipFacts, Uid};
use graph::Graph;
use plan::{CollectionVerdict, Standing};

/// What liens hold is tried again after this long at first. Their release is told, so there is no hurry.
const HELD: Duration = Duration::from_secs(1);
/// How often an object that changes under the collector is looked at again at once.
const ATTEMPTS: usize = 8;

pub fn start(tasks: &mut Tasks, actor: Actor, tally: Arc<Tally>) {
    let informer = Informer::new(&actor, is_collected);
    let registry = Arc::clone(&actor.registry);
    let actor = Arc::new(actor);
    let collector = Arc::new(Collector {
        recorder: Arc::new(Recorder::new(Arc::clone(&actor), Arc::clone(&tally))),
        actor,
        tally,
        concurrency: tasks.concurrency,
        queue: WorkQueue::default(),
        known: Mutex::default(),
        awaiting: Mutex::default(),
    });
    let waker = Arc::clone(&collector);
    tasks.until_stop(async move {
        let mut changes = registry.table_changes();
        while changes.changed().await.is_ok() {
            let waiting = std::mem::take(&mut *waker.awaiting());
            waker.queue.extend(waiting);
        }
    });
    let workers = tasks.concurrency;
    tasks.run(collector, informer, workers);
}

/// Events come and go by themselves, and own nothing.
fn is_collected(resource: &Resource) -> bool {
    let can = |verb: &str| resource.facts.verbs.iter().any(|v| v == verb);
    resource.facts.plural != "events" && can("delete") && can("list") && can("watch")
}

struct Collector {
    actor: Arc<Actor>,
    recorder: Arc<Recorder>,
    tally: Arc<Tally>,
    concurrency: usize,
    queue: WorkQueue<Uid>,
    known: Mutex<Known>,
    /// What names a kind that is not served.
    awaiting: Mutex<HashSet<Uid>>,
}

/// Of more objects that cannot be read, found at once, no events tell.
const TOLD: usize = 100;

/// The graph, and how far it has followed each place: whatever is newer there has not been told yet.
#[derive(Default)]
struct Known {
    graph: Graph,
    told: HashMap<String, u64>,
}

impl Reconciler for Collector {
    type Key = Uid;

    fn queue(&self) -> &WorkQueue<Uid> {
        &self.queue
    }

    fn enqueue(&self, Batch { served, changes }: Batch) {
        self.tell_of_unreadable(&served, &changes);
        let read: Vec<(bool, u64, Identity, Option<OwnershipFacts>)> = changes
            .iter()
            .map(|change| {
                let (Followed::Seen(entry) | Followed::Gone(entry)) = change;
                let gone = matches!(change, Followed::Gone(_));
                (gone, entry.revision, Identity::of(&served, entry), OwnershipFacts::of(&served, entry))
            })
            .collect();
        let mut known = self.known();
        let mut work = Vec::new();
        for (gone, revision, identity, facts) in read {
            let told = known.told.entry(served.stored.prefix.clone()).or_default();
            *told = revision.max(*told);
            work.extend(match (gone, facts) {
                (false, Some(facts)) => known.graph.observe(facts),
                // What cannot be read is still there.
                (false, None) => Vec::new(),
                (true, Some(facts)) => known.graph.forget(&facts.uid),
                (true, None) => known.graph.forget_at(&identity),
            });
        }
        drop(known);
        self.queue.extend(work);
    }

    async fn reconcile(&self, uid: Uid) -> Reconciled {
        for _ in 0..ATTEMPTS {
            match self.look_at(&uid).await {
                Ok(Looked::Finished) => return Reconciled::Done,
                Ok(Looked::Held) => return Reconciled::Wait(HELD),
                Ok(Looked::Again) => {}
                Err(status) => {
                    tracing::debug!(%uid, %status, "garbage collection is tried again");
                    break;
                }
            }
        }
        self.tally.retries.add(1);
        Reconciled::Retry
    }
}

/// How a look at an object ended.
enum Looked {
    Finished,
    Held,
    Again,
}

impl From<Outcome> for Looked {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done | Outcome::Gone => Self::Finished,
            Outcome::Held(_) => Self::Held,
            Outcome::Changed => Self::Again,
        }
    }
}

impl Collector {
    /// Says in its namespace that an object cannot be read. Who sees everything is who says so.
    fn tell_of_unreadable(&self, served: &pawl_registry::Served, changes: &[Followed]) {
        let unreadable = changes.iter().filter_map(|change| match change {
            Followed::Seen(entry) => Some((entry, entry.unreadable()?)),
            Followed::Gone(_) => None,
        });
        let told: Vec<(About, String)> = unreadable
            .take(TOLD)
            .map(|(entry, why)| {
                let about = Identity::of(served, entry).about(&"".into());
                (about, why.message(entry.revision))
            })
            .collect();
        if told.is_empty() {
            return;
        }
        let recorder = Arc::clone(&self.recorder);
        tokio::spawn(async move {
            for (about, why) in &told {
                recorder.warn(about, "StorageReadError", &format!("the object cannot be read: {why}")).await;
            }
        });
    }

    /// Looks at one object and does what its plan says.
    async fn look_at(&self, uid: &Uid) -> Result<Looked, Status> {
        let Some(view) = self.known().graph.view(uid) else { return Ok(Looked::Finished) };
        let mut going = plan::plan_deleting(&view);
        if matches!(going, Some(CollectionVerdict::Release | CollectionVerdict::Orphan)) {
            // Before it is let go, dependents that the graph has not been told of must be known.
            self.learn_dependents(uid).await?;
            let Some(view) = self.known().graph.view(uid) else { return Ok(Looked::Finished) };
            going = plan::plan_deleting(&view);
        }
        let at = view.facts.identity.clone();
        match going {
            Some(CollectionVerdict::Release) => {
                return Ok(self.edit(uid, &at, |object| drop_finalizer(object, FOREGROUND)).await?.into());
            }
            Some(CollectionVerdict::Unblock) => return Ok(self.edit(uid, &at, unblock).await?.into()),
            Some(CollectionVerdict::Orphan) => return self.orphan(uid, &at).await,
            Some(_) => return Ok(Looked::Finished),
            None => {}
        }
        let Some(served) = self.actor.served_kind(&at.api_version, &at.kind) else {
            return Ok(self.await_resources(uid));
        };
        let Some(entry) = self.actor.read(&served, at.namespace(), at.name()).await? else {
            return Ok(Looked::Finished);
        };
        let Some(latest) = OwnershipFacts::of(&served, &entry).filter(|latest| latest.uid == *uid) else {
            return Ok(Looked::Finished);
        };
        let mut owners = Vec::with_capacity(latest.owners.len());
        for owner in &latest.owners {
            owners.push((owner, self.standing(&latest, owner).await?));
        }
        match plan::plan(&latest, view.has_dependents, &owners) {
            CollectionVerdict::AwaitResources => Ok(self.await_resources(uid)),
            CollectionVerdict::DropOwners(gone) => {
                let outcome = self.edit(uid, &at, |object| drop_owners(object, &gone)).await?;
                Ok(outcome.into())
            }
            CollectionVerdict::Delete(propagation) => {
                let preconditions = Preconditions {
                    uid: Some(uid.to_string()),
                    // What was judged is what is deleted: an owner that was added meanwhile counts.
                    resource_version: Some(latest.revision.to_string()),
                };
                let outcome = self.actor.delete(&served, at.namespace(), at.name(), preconditions, propagation).await?;
                match &outcome {
                    Outcome::Done => self.tally.collected.add(1),
                    Outcome::Held(why) => {
                        self.tally.held.add(1);
                        let message = format!("cannot be garbage-collected: {why}");
                        self.recorder.warn(&latest.about(), "LienHeld", &message).await;
                    }
                    Outcome::Gone | Outcome::Changed => {}
                }
                Ok(outcome.into())
            }
            _ => Ok(Looked::Finished),
        }
    }

    /// How an owner is found where a reference says that it is.
    async fn standing(&self, dependent: &OwnershipFacts, owner: &Owner) -> Result<Standing, Status> {
        let Some(served) = self.actor.served_kind(&owner.api_version, &owner.kind) else {
            return Ok(Standing::Unknown);
        };
        let namespaced = served.resource.facts.namespaced;
        let here = dependent.identity.namespace();
        if namespaced && here.is_empty() {
            self.report_misplaced(dependent, owner).await;
            return Ok(Standing::Misplaced);
        }
        let found = self.actor.read(&served, if namespaced { here } else { "" }, &owner.name).await?;
        let found = found.and_then(|entry| OwnershipFacts::of(&served, &entry)).filter(|found| found.uid == owner.uid);
        match found {
            Some(found) if found.waits_for_dependents() => Ok(Standing::Waiting),
            Some(_) => Ok(Standing::Solid),
            // It was removed unread, and may come back.
            None if self.actor.registry.is_quarantined(&served, if namespaced { here } else { "" }, &owner.name) => {
                Ok(Standing::Solid)
            }
            None => {
                let elsewhere = self.known().graph.identity(&owner.uid).map(|at| at.namespace().to_owned());
                if namespaced && elsewhere.is_some_and(|namespace| !namespace.is_empty() && namespace != here) {
                    self.report_misplaced(dependent, owner).await;
                }
                Ok(Standing::Absent)
            }
        }
    }

    async fn report_misplaced(&self, dependent: &OwnershipFacts, owner: &Owner) {
        let namespace = dependent.identity.namespace();
        let message = format!(
            "ownerRef [{}/{}, namespace: {namespace}, name: {}, uid: {}] does not exist in namespace {namespace:?}",
            owner.api_version, owner.kind, owner.name, owner.uid
        );
        self.recorder.warn(&dependent.about(), "OwnerRefInvalidNamespace", &message).await;
    }

    /// Takes an owner off its dependents, then its finalizer.
    async fn orphan(&self, uid: &Uid, at: &Identity) -> Result<Looked, Status> {
        let dependents: Vec<(Uid, Identity)> = {
            let known = self.known();
            let dependents = known.graph.dependents(uid).into_iter();
            dependents.filter_map(|d| Some((d.clone(), known.graph.identity(&d)?.clone()))).collect()
        };
        let gone = [uid.clone()];
        let mut edits: Vec<BoxFuture<'_, Result<Outcome, Status>>> = Vec::with_capacity(dependents.len());
        for (dependent, at) in &dependents {
            edits.push(Box::pin(self.edit(dependent, at, |object| drop_owners(object, &gone))));
        }
        let outcomes: Vec<Result<Outcome, Status>> =
            futures::stream::iter(edits).buffer_unordered(self.concurrency).collect().await;
        for outcome in outcomes {
            match outcome? {
                Outcome::Done => self.tally.orphaned.add(1),
                Outcome::Gone => {}
                Outcome::Held(_) | Outcome::Changed => return Ok(Looked::Again),
            }
        }
        Ok(self.edit(uid, at, |object| drop_finalizer(object, ORPHAN)).await?.into())
    }

    async fn edit(
        &self,
        uid: &Uid,
        at: &Identity,
        edit: impl FnMut(&mut pawl_meta::object::Object) + Send,
    ) -> Result<Outcome, Status> {
        // Objects of a kind that is no longer served are out of reach, and gone as far as anybody can tell.
        let Some(served) = self.actor.served_kind(&at.api_version, &at.kind) else { return Ok(Outcome::Gone) };
        self.actor.change(&served, (at.namespace(), at.name()), "", uid, edit).await
    }

    /// Takes into the graph the dependents of an object that are stored but have not been told yet.
    async fn learn_dependents(&self, uid: &Uid) -> Result<(), Status> {
        self.actor.registry.storage().catch_up().await?;
        let mut work = Vec::new();
        {
            let mut known = self.known();
            for served in each_place(&self.actor.registry.table()).iter().filter(|s| is_collected(&s.resource)) {
                let told = known.told.get(&served.stored.prefix).copied().unwrap_or(0);
                for (_, entry) in served.stored.cache.objects().iter().filter(|(_, e)| e.revision > told) {
                    let names = |metadata: &[u8]| metadata.windows(uid.len()).any(|at| at == uid.as_bytes());
                    if entry.readable().is_some_and(|r| names(r.metadata()))
                        && let Some(facts) = OwnershipFacts::of(served, entry)
                    {
                        work.extend(known.graph.observe(facts));
                    }
                }
            }
        }
        self.queue.extend(work);
        Ok(())
    }

    fn await_resources(&self, uid: &Uid) -> Looked {
        self.awaiting().insert(uid.clone());
        Looked::Finished
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn awaiting(&self) -> MutexGuard<'_, HashSet<Uid>> {
        self.awaiting.lock().unwrap_or_else(|e| e.into_inner())
    }
}

fn drop_owners(object: &mut pawl_meta::object::Object, gone: &[Uid]) {
    keep(object, "ownerReferences", |owner| {
        let uid = owner.get("uid").and_then(Value::as_str).unwrap_or_default();
        !gone.iter().any(|g| **g == *uid)
    });
}

fn unblock(object: &mut pawl_meta::object::Object) {
    let owners = pawl_meta::object::metadata_mut(object).get_mut("ownerReferences").and_then(Value::as_array_mut);
    for owner in owners.into_iter().flatten() {
        if let Some(blocks) = owner.get_mut("blockOwnerDeletion") {
            *blocks = Value::Bool(false);
        }
    }
}
