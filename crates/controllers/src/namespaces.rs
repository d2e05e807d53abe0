//! The namespace controller: a namespace that is deleted takes all that is in it along, in an order that hurts nobody.
//!
//! Owns the life of a terminating namespace: its content goes, conditions name what remains, and at the end its finalizer.
//! It is the only controller that may ignore liens, and only when nothing has moved for a while. It never deletes from a
//! namespace that is not being deleted.

mod conditions;
mod content;
mod plan;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use pawl_deletion::{DeleteOptions, Preconditions, Propagation};
use pawl_kinds::Resource;
use pawl_meta::object::{Meta, Object};
use pawl_meta::{Status, time};
use pawl_registry::Served;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::actor::{Actor, Outcome, object};
use crate::counters::Tally;
use crate::informer::{Batch, Followed, Informer};
use crate::tasks::{Reconciler, Tasks};
use crate::workqueue::{Reconciled, WorkQueue};

use content::{Content, Remaining};
use plan::{Progress, Round};

/// The finalizer in a namespace's spec that this controller stands for.
const FINALIZER: &str = "kubernetes";
/// The annotation of the audit log that names who deleted the namespace that an object goes with.
const DELETED_BY: &str = "apiserver.k8s.io/namespace-deleted-by";
/// How many namespaces go at a time.
const WORKERS: usize = 8;
/// What was deleted may have let other things go: so many times one looks again at once.
const ROUNDS: usize = 64;
/// How long until one looks again whether definitions can be read.
const UNKNOWN: Duration = Duration::from_secs(2);

pub fn start(tasks: &mut Tasks, actor: Actor, stall: Duration, tally: Arc<Tally>) {
    let informer = Informer::new(&actor, |r| is_namespace(r) || content::is_content(r));
    let controller = Controller {
        actor,
        stall,
        tally,
        concurrency: tasks.concurrency,
        queue: WorkQueue::default(),
        known: Mutex::default(),
    };
    tasks.run(Arc::new(controller), informer, WORKERS);
}

fn is_namespace(resource: &Resource) -> bool {
    resource.facts.group.is_empty() && resource.facts.plural == "namespaces"
}

/// Whether what goes does so in spite of liens, and who deleted the namespace, if that is known.
type Terms<'a> = (bool, Option<&'a str>);

struct Controller {
    actor: Actor,
    stall: Duration,
    tally: Arc<Tally>,
    concurrency: usize,
    queue: WorkQueue<String>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// Namespaces that are being deleted, with their uids: what happens in them matters.
    terminating: HashMap<String, (String, Progress)>,
    /// Namespaces that ended lately. What was created in one while it went must not stay behind.
    ended: HashSet<String>,
}

impl Known {
    /// How a namespace gets on; another one of the same name begins anew.
    fn progress(&mut self, name: &str, uid: &str, now: Instant) -> &mut Progress {
        let begin = || (uid.to_owned(), Progress::new(now));
        let (whose, progress) = self.terminating.entry(name.to_owned()).or_insert_with(begin);
        if whose != uid {
            (*whose, *progress) = begin();
        }
        progress
    }
}

/// How many ended namespaces are remembered.
const REMEMBERED: usize = 4096;

impl Reconciler for Controller {
    type Key = String;

    fn queue(&self) -> &WorkQueue<String> {
        &self.queue
    }

    fn enqueue(&self, Batch { served, changes }: Batch) {
        let mut concerned: Vec<String> = Vec::new();
        let of_namespaces = is_namespace(&served.resource);
        let mut known = self.known();
        for change in &changes {
            let (Followed::Seen(entry) | Followed::Gone(entry)) = change;
            if !of_namespaces {
                let namespace = entry.namespace();
                let matters = known.terminating.contains_key(namespace)
                    || matches!(change, Followed::Seen(_)) && known.ended.contains(namespace);
                if matters && concerned.last().is_none_or(|last| last != namespace) {
                    concerned.push(namespace.to_owned());
                }
                continue;
            }
            let name = entry.name().to_owned();
            let deleting = object(entry).filter(Meta::is_deleting);
            match (change, deleting) {
                (Followed::Seen(_), Some(namespace)) => {
                    known.progress(&name, namespace.uid(), Instant::now());
                }
                (Followed::Seen(_), None) => {
                    known.terminating.remove(&name);
                    known.ended.remove(&name);
                }
                (Followed::Gone(_), _) => {
                    known.terminating.remove(&name);
                }
            }
            concerned.push(name);
        }
        drop(known);
        self.queue.extend(concerned);
    }

    async fn reconcile(&self, name: String) -> Reconciled {
        match self.attend(&name).await {
            Ok(step) => step,
            Err(status) => {
                tracing::debug!(namespace = %name, %status, "the deletion of a namespace is tried again");
                self.tally.retries.add(1);
                Reconciled::Retry
            }
        }
    }
}

impl Controller {
    async fn attend(&self, name: &str) -> Result<Reconciled, Status> {
        let Some(namespaces) = self.actor.served("", "namespaces") else { return Ok(Reconciled::Done) };
        let Some(entry) = self.actor.read(&namespaces, "", name).await? else {
            return self.sweep(name, None).await;
        };
        let Some(namespace) = object(&entry).filter(Meta::is_deleting) else { return Ok(Reconciled::Done) };
        if spec_finalizers(&namespace).is_empty() {
            return Ok(Reconciled::Done);
        }
        for _ in 0..ROUNDS {
            self.actor.registry.storage().catch_up().await?;
            let content = self.content(name);
            let (stalled, left) = self.watch_progress(&namespace, &content);
            match plan::plan(&content.objects, stalled) {
                // What comes back with its definition would be in a namespace that is gone.
                Round::Finish if !content.unknown.is_empty() => {
                    self.report(&namespaces, &namespace, &content, &[]).await?;
                    return Ok(Reconciled::After(UNKNOWN));
                }
                Round::Finish if content.unreadable.is_empty() => {
                    self.report(&namespaces, &namespace, &content, &[]).await?;
                    return self.finalize(&namespaces, &namespace).await;
                }
                Round::Delete { objects, ignore_liens } => {
                    let deleter = self.actor.registry.deleter(namespace.uid());
                    let errors = self.delete(name, &content, &objects, (ignore_liens, deleter.as_deref())).await;
                    if !errors.is_empty() {
                        self.report(&namespaces, &namespace, &content, &errors).await?;
                        return Ok(Reconciled::Retry);
                    }
                }
                // What waits is told of; only that nothing happens must be found out.
                Round::Finish | Round::Wait { held: false } => {
                    self.report(&namespaces, &namespace, &content, &[]).await?;
                    return Ok(Reconciled::Done);
                }
                Round::Wait { held: true } => {
                    self.report(&namespaces, &namespace, &content, &[]).await?;
                    return Ok(Reconciled::After(left));
                }
            }
        }
        Ok(Reconciled::Retry)
    }

    /// Whether nothing has moved for long enough, and else how long is left.
    fn watch_progress(&self, namespace: &Object, content: &Content) -> (bool, Duration) {
        let now = Instant::now();
        let still = self.known().progress(namespace.name(), namespace.uid(), now).watch(&content.objects, now);
        (still >= self.stall, self.stall.saturating_sub(still))
    }

    /// Deletes some of the content; returns what failed. What is held or has changed is left to the next round.
    async fn delete(&self, namespace: &str, content: &Content, objects: &[usize], terms: Terms<'_>) -> Vec<String> {
        let mut deletions: Vec<BoxFuture<'_, Option<String>>> = Vec::with_capacity(objects.len());
        for object in objects.iter().filter_map(|i| content.objects.get(*i)) {
            deletions.push(Box::pin(self.delete_one(namespace, object, terms)));
        }
        let outcomes: Vec<Option<String>> =
            futures::stream::iter(deletions).buffer_unordered(self.concurrency * 4).collect().await;
        outcomes.into_iter().flatten().collect()
    }

    /// Deletes one object; returns why that failed.
    async fn delete_one(
        &self,
        namespace: &str,
        object: &Remaining,
        (ignore_liens, deleter): Terms<'_>,
    ) -> Option<String> {
        let preconditions = Preconditions { uid: Some(object.uid.clone()), ..Preconditions::default() };
        let propagation = Some(Propagation::Background);
        let options = DeleteOptions { preconditions, propagation, ignore_liens, ..DeleteOptions::default() };
        let because = [(DELETED_BY, deleter.unwrap_or("unknown: it was deleted before the server was started"))];
        match self.actor.delete_with(&object.served, namespace, &object.name, &options, &because).await {
            Ok(Outcome::Done) => {
                self.tally.namespaced_deleted.add(1);
                self.tally.liens_ignored.add(u64::from(ignore_liens));
                None
            }
            Ok(Outcome::Held(_)) => {
                self.tally.held.add(1);
                None
            }
            Ok(Outcome::Gone | Outcome::Changed) => None,
            Err(status) => Some(status.message),
        }
    }

    /// Brings phase and conditions up to date.
    async fn report(
        &self,
        namespaces: &Served,
        namespace: &Object,
        content: &Content,
        errors: &[String],
    ) -> Result<(), Status> {
        let told = conditions::of(content, errors);
        let now = time::now();
        let edit = |object: &mut Object| {
            let status = object.entry("status").or_insert_with(|| json!({}));
            let Value::Object(status) = status else { return };
            status.insert("phase".to_owned(), json!("Terminating"));
            let conditions = status.entry("conditions").or_insert_with(|| json!([]));
            if let Value::Array(conditions) = conditions {
                conditions::merge(conditions, &told, &now);
            }
        };
        self.actor.change(namespaces, ("", namespace.name()), "status", namespace.uid(), edit).await?;
        Ok(())
    }

    /// Takes away the finalizer: the namespace is gone unless somebody else holds it.
    async fn finalize(&self, namespaces: &Served, namespace: &Object) -> Result<Reconciled, Status> {
        let name = namespace.name();
        {
            let mut known = self.known();
            if known.ended.len() >= REMEMBERED {
                known.ended.clear();
            }
            known.ended.insert(name.to_owned());
        }
        let edit = |object: &mut Object| {
            let finalizers = object.get_mut("spec").and_then(|spec| spec.get_mut("finalizers"));
            if let Some(Value::Array(finalizers)) = finalizers {
                finalizers.retain(|f| f.as_str() != Some(FINALIZER));
            }
        };
        let deleter = self.actor.registry.deleter(namespace.uid());
        let outcome = self.actor.change(namespaces, ("", name), "finalize", namespace.uid(), edit).await?;
        if outcome == Outcome::Done {
            self.tally.namespaces_finalized.add(1);
            self.actor.registry.forget_deleter(namespace.uid());
        }
        // A write that was admitted before the deletion may have come after the last look.
        self.sweep(name, deleter.as_deref()).await
    }

    /// Deletes what was left in a namespace that this controller has ended.
    async fn sweep(&self, name: &str, deleter: Option<&str>) -> Result<Reconciled, Status> {
        if !self.known().ended.contains(name) {
            return Ok(Reconciled::Done);
        }
        self.actor.registry.storage().catch_up().await?;
        let content = self.content(name);
        // Looked at last: what is in a namespace of that name that came anew stays.
        let exists = self.actor.served("", "namespaces").is_some_and(|s| s.stored.cache.get(name).is_some());
        if exists {
            return Ok(Reconciled::Done);
        }
        let stray: Vec<usize> =
            content.objects.iter().enumerate().filter(|(_, object)| !object.deleting).map(|(i, _)| i).collect();
        let errors = self.delete(name, &content, &stray, (true, deleter)).await;
        Ok(if errors.is_empty() { Reconciled::Done } else { Reconciled::Retry })
    }

    fn content(&self, namespace: &str) -> Content {
        Content::of(&self.actor.registry, namespace)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(|e| e.into_inner())
    }
}

fn spec_finalizers(namespace: &Object) -> Vec<&str> {
    let list = namespace.get("spec").and_then(|spec| spec.get("finalizers")).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).filter(|f| *f == FINALIZER).collect()
}
