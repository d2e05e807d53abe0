//! Keeps the index of roles and bindings up to date, and guards it: nobody grants what they do not hold.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pawl_admission::{Attributes, Operation, Plugin, Verdict};
use pawl_auth::User;
use pawl_auth::modes::Chain;
use pawl_auth::rbac::{Index, Kind, escalation};
use pawl_meta::Status;
use pawl_meta::object::Object;
use pawl_registry::{Entry, Registry, Scope, Selection, WatchItem, WatchRequest, WatchStart, Watcher};
use serde_json::Value;
use tokio::task::JoinHandle;

const GROUP: &str = "rbac.authorization.k8s.io";
const RESOURCES: [&str; 4] = ["clusterroles", "roles", "clusterrolebindings", "rolebindings"];

/// How long one waits before a watch that could not be started is tried again; twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How many followers are behind: the server is not ready as long as there are any.
#[derive(Clone, Debug, Default)]
pub struct Behind(Arc<AtomicUsize>);

impl Behind {
    pub fn check(&self) -> Result<(), String> {
        match self.0.load(Ordering::Relaxed) {
            0 => Ok(()),
            count => Err(format!("{count} kinds of roles and bindings are being read again")),
        }
    }
}

/// Fills the index and follows what changes. Returns once the index has everything that is there. The tasks never end by
/// themselves.
pub async fn follow(
    registry: &Arc<Registry>,
    index: &Arc<Index>,
    behind: &Behind,
) -> Result<Vec<JoinHandle<()>>, Status> {
    let mut tasks = Vec::new();
    for resource in RESOURCES {
        let Some(kind) = Kind::of_resource(resource) else { continue };
        let mut follower = Follower::new(registry, index, resource, kind);
        let watcher = follower.begin().await?;
        tasks.push(tokio::spawn(follower.run(watcher, behind.clone())));
    }
    Ok(tasks)
}

struct Follower {
    registry: Arc<Registry>,
    resource: &'static str,
    kind: Kind,
    index: Arc<Index>,
    /// What the index has been told of.
    known: HashMap<Arc<str>, Value>,
}

impl Follower {
    fn new(registry: &Arc<Registry>, index: &Arc<Index>, resource: &'static str, kind: Kind) -> Self {
        let (registry, index) = (Arc::clone(registry), Arc::clone(index));
        Self { registry, resource, kind, index, known: HashMap::new() }
    }

    /// Starts a watch and makes the index equal to what is there: what vanished while nobody watched is forgotten, too.
    async fn begin(&mut self) -> Result<Watcher, Status> {
        let mut watcher = self.start().await?;
        let mut present: HashMap<Arc<str>, Value> = HashMap::new();
        let mut complete = false;
        while !complete {
            let items = watcher.next().await;
            if items.is_empty() {
                return Err(Status::internal("the watch ended before it had told what is there"));
            }
            for item in items {
                match item {
                    WatchItem::Added(entry) | WatchItem::Modified(entry) => {
                        present.extend(grants(&entry).map(|object| (Arc::clone(&entry.key), object)));
                    }
                    WatchItem::Deleted(entry) => {
                        present.remove(&entry.key);
                    }
                    WatchItem::Bookmark { initial_events_end, .. } => complete |= initial_events_end,
                    WatchItem::Error(status) => return Err(*status),
                }
            }
        }
        self.replace(present);
        Ok(watcher)
    }

    async fn start(&self) -> Result<Watcher, Status> {
        let table = self.registry.table();
        let served = table.preferred(GROUP, self.resource).ok_or_else(Status::no_such_resource)?;
        let request = WatchRequest {
            scope: Scope::All,
            selection: Selection::default(),
            start: WatchStart::Initial { at_least: 0, bookmark: true },
            bookmarks: false,
        };
        self.registry.watch(served, request).await
    }

    /// The index gets what is new and loses what is gone; what is as it was stays in force throughout.
    fn replace(&mut self, present: HashMap<Arc<str>, Value>) {
        let before = std::mem::take(&mut self.known);
        for (_, gone) in before.iter().filter(|(key, _)| !present.contains_key(*key)) {
            self.index.apply(self.kind, Some(gone), None);
        }
        for (key, object) in &present {
            let old = before.get(key);
            if old != Some(object) {
                self.index.apply(self.kind, old, Some(object));
            }
        }
        self.known = present;
    }

    /// Takes news in. Says whether the watch goes on.
    fn take(&mut self, items: Vec<WatchItem>) -> bool {
        let mut goes_on = !items.is_empty();
        for item in items {
            match item {
                WatchItem::Added(entry) | WatchItem::Modified(entry) => self.put(&entry.key, grants(&entry)),
                WatchItem::Deleted(entry) => self.put(&entry.key, None),
                WatchItem::Bookmark { .. } => {}
                WatchItem::Error(_) => goes_on = false,
            }
        }
        goes_on
    }

    fn put(&mut self, key: &Arc<str>, new: Option<Value>) {
        let old = match &new {
            Some(new) => self.known.insert(Arc::clone(key), new.clone()),
            None => self.known.remove(key),
        };
        self.index.apply(self.kind, old.as_ref(), new.as_ref());
    }

    async fn run(mut self, mut watcher: Watcher, behind: Behind) {
        loop {
            if self.take(watcher.next().await) {
                continue;
            }
            // Fell behind: start over from what is there now.
            behind.0.fetch_add(1, Ordering::Relaxed);
            watcher = self.begin_again().await;
            behind.0.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Tries until it works: an index that nobody keeps would leave in force what was revoked.
    async fn begin_again(&mut self) -> Watcher {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.begin().await {
                Ok(watcher) => return watcher,
                Err(status) => tracing::warn!(resource = self.resource, %status, "cannot follow roles and bindings"),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// The object of an entry; what cannot be read grants nothing.
fn grants(entry: &Entry) -> Option<Value> {
    entry.readable().map(|readable| Value::Object(readable.object(entry.revision)))
}

/// Refuses roles and bindings that grant more than their writer holds.
pub struct NoEscalation {
    pub chain: Arc<Chain>,
}

impl Plugin for NoEscalation {
    fn name(&self) -> &'static str {
        "NoEscalation"
    }

    fn validate<'a>(&'a self, attributes: &'a Attributes<'a>, object: Option<&'a Object>) -> Verdict<'a> {
        Box::pin(async move {
            let Some(object) = object else { return Ok(()) };
            if attributes.resource.group != GROUP || attributes.operation == Operation::Delete {
                return Ok(());
            }
            let user = User::named(attributes.user).with_groups(attributes.groups.iter().cloned());
            let old = attributes.old.map(|o| Value::Object(o.clone()));
            let new = Value::Object(object.clone());
            let write = escalation::Write {
                user: &user,
                resource: &attributes.resource.resource,
                namespace: attributes.namespace,
                name: if attributes.operation == Operation::Create { "" } else { attributes.name },
                old: old.as_ref(),
                new: &new,
            };
            escalation::check(self.chain.index(), &*self.chain, write)
        })
    }
}

#[cfg(test)]
mod tests;
