//! What happens to the objects of many resources, as resources come and go.
//!
//! A informer follows each place where objects are, in the version they are stored in. Objects that cannot be read are told as
//! they are.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use pawl_kinds::Resource;
pub use pawl_registry::Followed;
use pawl_registry::{Follower, Registry, Served, Stored, Table, User};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use crate::actor::Actor;
use crate::oversight::Oversight;

/// How long to wait before it is asked again whether something may be followed.
const FORBIDDEN: Duration = Duration::from_secs(5);

/// What happened to the objects of one resource, in order.
pub struct Batch {
    pub served: Arc<Served>,
    pub changes: Vec<Followed>,
}

/// Which resources to follow.
pub struct Informer {
    registry: Arc<Registry>,
    /// Who is asked whether who may follow.
    oversight: (Oversight, User),
    wanted: Box<dyn Fn(&Resource) -> bool + Send + Sync>,
}

impl Informer {
    pub fn new(actor: &Actor, wanted: impl Fn(&Resource) -> bool + Send + Sync + 'static) -> Self {
        let (registry, oversight) = (Arc::clone(&actor.registry), (actor.oversight().clone(), actor.reader().clone()));
        Self { registry, oversight, wanted: Box::new(wanted) }
    }

    /// A informer of some resources, by group and plural.
    pub fn of(actor: &Actor, resources: &'static [(&'static str, &'static str)]) -> Self {
        Self::new(actor, |r| resources.contains(&(r.facts.group.as_str(), r.facts.plural.as_str())))
    }

    /// Tells what happens until nobody listens any more.
    pub async fn run(self, listener: mpsc::Sender<Batch>) {
        let mut changes = self.registry.table_changes();
        let mut tasks = JoinSet::new();
        let mut followed: HashMap<usize, Line> = HashMap::new();
        loop {
            let table = self.registry.table();
            let wanted: Vec<Arc<Served>> =
                each_place(&table).into_iter().filter(|served| (self.wanted)(&served.resource)).collect();
            // What left the table says farewell to its objects by itself, when its line is cut.
            let places: HashSet<usize> = wanted.iter().map(|served| address(&served.stored)).collect();
            followed.retain(|place, line| !line.task.is_finished() && places.contains(place));
            for served in wanted {
                if let Entry::Vacant(free) = followed.entry(address(&served.stored)) {
                    let (line, end) = mpsc::channel(1);
                    let stored = Arc::clone(&served.stored);
                    let from = (Arc::clone(&self.registry), self.oversight.clone());
                    let task = tasks.spawn(follow(from, served, listener.clone(), end));
                    free.insert(Line { _stored: stored, task, _line: line });
                }
            }
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                () = listener.closed() => return,
            }
        }
    }
}

/// Which place it is.
fn address(stored: &Arc<Stored>) -> usize {
    Arc::as_ptr(stored).addr()
}

/// What leads to somebody who follows one place.
struct Line {
    /// As long as it is followed, no other place is where this one is.
    _stored: Arc<Stored>,
    task: AbortHandle,
    _line: mpsc::Sender<()>,
}

/// One resource for each place where objects are, in the version that is stored there.
pub fn each_place(table: &Table) -> Vec<Arc<Served>> {
    let mut places: Vec<Arc<Served>> = Vec::new();
    let mut at: HashMap<*const Stored, usize> = HashMap::new();
    for served in table.served().iter().filter(|served| !served.resource.facts.is_virtual) {
        let is_stored = served.is_stored_version();
        match at.get(&Arc::as_ptr(&served.stored)) {
            None => {
                at.insert(Arc::as_ptr(&served.stored), places.len());
                places.push(Arc::clone(served));
            }
            Some(index) if is_stored => {
                if let Some(place) = places.get_mut(*index) {
                    *place = Arc::clone(served);
                }
            }
            Some(_) => {}
        }
    }
    places
}

/// Follows one resource until its line is cut or nobody listens; then all that was known of it is gone.
async fn follow(
    (registry, (oversight, reader)): (Arc<Registry>, (Oversight, User)),
    served: Arc<Served>,
    listener: mpsc::Sender<Batch>,
    mut line: mpsc::Receiver<()>,
) {
    let mut follower = Follower::new(registry, Arc::clone(&served));
    let tell = async {
        while let Err(status) = oversight.may_follow(&reader, &served) {
            tracing::warn!(resource = %served.stored.group_resource, %status, "may not be followed");
            tokio::time::sleep(FORBIDDEN).await;
        }
        loop {
            let changes = follower.next().await;
            if listener.send(Batch { served: Arc::clone(&served), changes }).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        _ = line.recv() => {}
        () = tell => {}
    }
    let changes: Vec<Followed> = follower.into_known().map(Followed::Gone).collect();
    if !changes.is_empty() {
        let _ = listener.send(Batch { served, changes }).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_is_followed_once_in_the_version_that_is_stored() {
        let places = each_place(&Table::new(pawl_kinds::builtin(), 1));
        let of = |plural: &str| {
            let found = places.iter().filter(|served| served.resource.facts.plural == plural);
            found.map(|served| served.resource.group_version().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(of("events"), ["v1"]);
        assert_eq!(of("horizontalpodautoscalers"), ["autoscaling/v2"]);
        assert!(of("tokenreviews").is_empty());
    }
}
