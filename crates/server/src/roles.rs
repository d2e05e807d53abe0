//! Keeps the index of roles and bindings up to date.

use std::collections::HashMap;
use std::sync::Arc;

use pawl_auth::rbac::{Index, Kind};
use pawl_meta::Status;
use pawl_registry::{CacheEntry, Followed, Follower, Lag, Registry};
use serde_json::Value;
use tokio::task::JoinHandle;

const GROUP: &str = "rbac.authorization.k8s.io";
const RESOURCES: [&str; 4] = ["clusterroles", "roles", "clusterrolebindings", "rolebindings"];

/// The tasks that keep the index, and how far behind they are.
pub struct Following {
    pub tasks: Vec<JoinHandle<()>>,
    pub lag: Vec<Lag>,
}

/// Fills the index and follows what changes. Returns once the index has everything that is there. The tasks never end by
/// themselves: an index that nobody keeps would leave in force what was revoked.
pub async fn follow(registry: &Arc<Registry>, index: &Arc<Index>) -> Result<Following, Status> {
    let mut following = Following { tasks: Vec::new(), lag: Vec::new() };
    for resource in RESOURCES {
        let Some(kind) = Kind::of_resource(resource) else { continue };
        let (mut follower, mut granted) = start(registry, index, resource, kind)?;
        granted.take(follower.first().await);
        following.lag.push(follower.lag());
        following.tasks.push(tokio::spawn(async move {
            loop {
                granted.take(follower.next().await);
            }
        }));
    }
    Ok(following)
}

/// What is ready only when the index has all that is there.
pub fn up_to_date(lag: &[Lag]) -> Result<(), String> {
    match lag.iter().filter(|lag| lag.is_behind()).count() {
        0 => Ok(()),
        count => Err(format!("{count} kinds of roles and bindings are being read again")),
    }
}

fn start(
    registry: &Arc<Registry>,
    index: &Arc<Index>,
    resource: &str,
    kind: Kind,
) -> Result<(Follower, Granted), Status> {
    let table = registry.table();
    let served = table.preferred(GROUP, resource).ok_or_else(Status::no_such_resource)?;
    let follower = Follower::new(Arc::clone(registry), Arc::clone(served));
    Ok((follower, Granted { kind, index: Arc::clone(index), known: HashMap::new() }))
}

/// What the index was told of one resource.
struct Granted {
    kind: Kind,
    index: Arc<Index>,
    known: HashMap<Arc<str>, Value>,
}

impl Granted {
    fn take(&mut self, changes: Vec<Followed>) {
        for change in changes {
            match change {
                Followed::Seen(entry) => self.put(&entry),
                Followed::Gone(entry) => {
                    let old = self.known.remove(&entry.key);
                    self.index.apply(self.kind, old.as_ref(), None);
                }
            }
        }
    }

    fn put(&mut self, entry: &CacheEntry) {
        // What cannot be read grants nothing.
        let new = entry.readable().map(|r| Value::Object(r.object(entry.revision)));
        let old = match &new {
            Some(new) => self.known.insert(Arc::clone(&entry.key), new.clone()),
            None => self.known.remove(&entry.key),
        };
        self.index.apply(self.kind, old.as_ref(), new.as_ref());
    }
}

#[cfg(test)]
mod tests;
