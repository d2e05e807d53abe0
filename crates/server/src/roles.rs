//! Keeps the index of roles and bindings up to date, and guards it: nobody grants what they do not hold.

use std::collections::HashMap;
use std::sync::Arc;

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

/// Fills the index and follows what changes. Returns once the index has everything that is there.
pub async fn follow(registry: &Arc<Registry>, index: &Arc<Index>) -> Result<Vec<JoinHandle<()>>, Status> {
    let mut tasks = Vec::new();
    for resource in RESOURCES {
        let Some(kind) = Kind::of_resource(resource) else { continue };
        let mut follower = Follower {
            registry: Arc::clone(registry),
            resource,
            kind,
            index: Arc::clone(index),
            known: HashMap::new(),
        };
        let mut watcher = follower.start().await?;
        while !follower.take(watcher.next().await) {}
        tasks.push(tokio::spawn(follower.run(watcher)));
    }
    Ok(tasks)
}

struct Follower {
    registry: Arc<Registry>,
    resource: &'static str,
    kind: Kind,
    index: Arc<Index>,
    known: HashMap<Arc<str>, Value>,
}

impl Follower {
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

    /// Takes news in. Says whether everything that was there at the start has been told.
    fn take(&mut self, items: Vec<WatchItem>) -> bool {
        let mut complete = items.is_empty();
        for item in items {
            match item {
                WatchItem::Added(entry) | WatchItem::Modified(entry) => self.put(&entry),
                WatchItem::Deleted(entry) => {
                    let old = self.known.remove(&entry.key);
                    self.index.apply(self.kind, old.as_ref(), None);
                }
                WatchItem::Bookmark { initial_events_end, .. } => complete |= initial_events_end,
                WatchItem::Error(_) => complete = true,
            }
        }
        complete
    }

    fn put(&mut self, entry: &Entry) {
        // What cannot be read grants nothing.
        let new = entry.readable().map(|r| Value::Object(r.object(entry.revision)));
        let old = match &new {
            Some(new) => self.known.insert(Arc::clone(&entry.key), new.clone()),
            None => self.known.remove(&entry.key),
        };
        self.index.apply(self.kind, old.as_ref(), new.as_ref());
    }

    async fn run(mut self, mut watcher: Watcher) {
        loop {
            let items = watcher.next().await;
            let broken = items.is_empty() || items.iter().any(|i| matches!(i, WatchItem::Error(_)));
            self.take(items);
            if broken {
                // Fell behind: start over from what is there now.
                match self.start().await {
                    Ok(fresh) => watcher = fresh,
                    Err(_) => return,
                }
            }
        }
    }
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
