//! What happens to the objects of many resources, as resources come and go.
//!
//! A feed follows one watch per place where objects are, in the version they are stored in. A watch that fell behind
//! starts anew and tells what it missed; nobody who listens has to know. Objects that cannot be read are told as they are.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use pawl_kinds::Resource;
use pawl_registry::{Entry, Registry, Scope, Selection, Served, Stored, Table, WatchItem, WatchRequest, WatchStart};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use crate::actor::uid;

/// Something that became of an object.
#[derive(Clone, Debug)]
pub enum Change {
    Seen(Arc<Entry>),
    /// The object is no more; this is how it looked last.
    Gone(Arc<Entry>),
}

/// What happened to the objects of one resource, in order.
pub struct Batch {
    pub served: Arc<Served>,
    pub changes: Vec<Change>,
}

/// Which resources to follow.
pub struct Feed {
    registry: Arc<Registry>,
    wanted: Box<dyn Fn(&Resource) -> bool + Send + Sync>,
}

/// How long to wait before a watch that could not be started is tried again.
const AGAIN: Duration = Duration::from_millis(100);

impl Feed {
    pub fn new(registry: Arc<Registry>, wanted: impl Fn(&Resource) -> bool + Send + Sync + 'static) -> Self {
        Self { registry, wanted: Box::new(wanted) }
    }

    /// A feed of some resources, by group and plural.
    pub fn of(registry: Arc<Registry>, resources: &'static [(&'static str, &'static str)]) -> Self {
        Self::new(registry, |r| resources.contains(&(r.facts.group.as_str(), r.facts.plural.as_str())))
    }

    /// Tells what happens until nobody listens any more.
    pub async fn run(self, listener: mpsc::Sender<Batch>) {
        let mut changes = self.registry.table_changes();
        let mut tasks = JoinSet::new();
        let mut followed: Vec<(Arc<Stored>, AbortHandle, mpsc::Sender<()>)> = Vec::new();
        loop {
            let table = self.registry.table();
            let wanted: Vec<Arc<Served>> =
                each_place(&table).into_iter().filter(|served| (self.wanted)(&served.resource)).collect();
            // What left the table says farewell to its objects by itself, when its line is cut.
            followed.retain(|(stored, task, _)| {
                !task.is_finished() && wanted.iter().any(|served| Arc::ptr_eq(&served.stored, stored))
            });
            for served in wanted {
                if !followed.iter().any(|(stored, ..)| Arc::ptr_eq(stored, &served.stored)) {
                    let (line, end) = mpsc::channel(1);
                    let stored = Arc::clone(&served.stored);
                    let task = tasks.spawn(follow(Arc::clone(&self.registry), served, listener.clone(), end));
                    followed.push((stored, task, line));
                }
            }
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                () = listener.closed() => return,
            }
        }
    }
}

/// One resource for each place where objects are, in the version that is stored there.
pub fn each_place(table: &Table) -> Vec<Arc<Served>> {
    let mut places: Vec<Arc<Served>> = Vec::new();
    let mut at: HashMap<*const Stored, usize> = HashMap::new();
    for served in table.served().iter().filter(|served| !served.resource.facts.is_virtual) {
        let is_stored = served.resource.group_version().to_string() == *served.stored_version;
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
    registry: Arc<Registry>,
    served: Arc<Served>,
    listener: mpsc::Sender<Batch>,
    mut line: mpsc::Receiver<()>,
) {
    let mut known = Known::default();
    tokio::select! {
        _ = line.recv() => {}
        () = follow_watch(&registry, &served, &listener, &mut known) => {}
    }
    let changes: Vec<Change> = known.objects.into_values().map(Change::Gone).collect();
    if !changes.is_empty() {
        let _ = listener.send(Batch { served, changes }).await;
    }
}

async fn follow_watch(registry: &Registry, served: &Arc<Served>, listener: &mpsc::Sender<Batch>, known: &mut Known) {
    loop {
        let request = WatchRequest {
            scope: Scope::All,
            selection: Selection::default(),
            start: WatchStart::Initial { at_least: 0, bookmark: true },
            bookmarks: false,
        };
        let Ok(mut watcher) = registry.watch(served, request).await else {
            tokio::time::sleep(AGAIN).await;
            continue;
        };
        known.begin();
        loop {
            let items = watcher.next().await;
            if items.is_empty() {
                return;
            }
            let mut changes = Vec::with_capacity(items.len());
            let mut ended = false;
            for item in items {
                match item {
                    WatchItem::Added(entry) | WatchItem::Modified(entry) => known.seen(entry, &mut changes),
                    WatchItem::Deleted(entry) => known.gone(entry, &mut changes),
                    WatchItem::Bookmark { initial_events_end: true, .. } => known.complete(&mut changes),
                    WatchItem::Bookmark { .. } => {}
                    WatchItem::Error(status) => {
                        tracing::debug!(resource = %served.stored.group_resource, %status, "watch starts anew");
                        ended = true;
                    }
                }
            }
            if !changes.is_empty() && listener.send(Batch { served: Arc::clone(served), changes }).await.is_err() {
                return;
            }
            if ended {
                break;
            }
        }
    }
}

/// The objects that the listener knows of, so that a watch that starts anew can tell what is gone.
#[derive(Default)]
struct Known {
    objects: HashMap<Arc<str>, Arc<Entry>>,
    /// While a watch tells what is there: the keys told so far.
    told: Option<HashSet<Arc<str>>>,
}

impl Known {
    fn begin(&mut self) {
        self.told = Some(HashSet::new());
    }

    fn seen(&mut self, entry: Arc<Entry>, changes: &mut Vec<Change>) {
        let before = self.objects.insert(Arc::clone(&entry.key), Arc::clone(&entry));
        if let Some(told) = &mut self.told {
            told.insert(Arc::clone(&entry.key));
            match before {
                Some(before) if before.revision == entry.revision => return,
                // Another object of the same name came while nobody looked.
                Some(before) if uid(&before) != uid(&entry) => changes.push(Change::Gone(before)),
                _ => {}
            }
        }
        changes.push(Change::Seen(entry));
    }

    fn gone(&mut self, entry: Arc<Entry>, changes: &mut Vec<Change>) {
        self.objects.remove(&entry.key);
        changes.push(Change::Gone(entry));
    }

    fn complete(&mut self, changes: &mut Vec<Change>) {
        let Some(told) = self.told.take() else { return };
        let missing: Vec<Arc<str>> = self.objects.keys().filter(|key| !told.contains(*key)).cloned().collect();
        changes.extend(missing.iter().filter_map(|key| self.objects.remove(key)).map(Change::Gone));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pawl_registry::{Readable, State};

    fn entry(key: &str, uid: &str, revision: u64) -> Arc<Entry> {
        let value = format!(r#"{{"kind":"K","apiVersion":"v1","metadata":{{"name":"{key}","uid":"{uid}"}}}}"#);
        let readable = Readable::cut(value.into(), &[]).unwrap();
        Arc::new(Entry { key: key.into(), revision, state: State::Readable(readable) })
    }

    #[test]
    fn a_watch_that_starts_anew_tells_what_it_missed() {
        let mut known = Known::default();
        let mut tell = |entries: &[(&str, &str, u64)]| {
            let mut changes = Vec::new();
            known.begin();
            for (key, uid, revision) in entries {
                known.seen(entry(key, uid, *revision), &mut changes);
            }
            known.complete(&mut changes);
            let told = changes.iter().map(|change| match change {
                Change::Seen(entry) => format!("{}@{}", entry.key, entry.revision),
                Change::Gone(entry) => format!("-{}@{}", entry.key, entry.revision),
            });
            told.collect::<Vec<_>>()
        };
        assert_eq!(tell(&[("a", "1", 1), ("b", "2", 2), ("c", "3", 3)]), ["a@1", "b@2", "c@3"]);
        assert_eq!(tell(&[("b", "4", 5), ("c", "3", 6), ("d", "5", 7)]), ["-b@2", "b@5", "c@6", "d@7", "-a@1"]);
        assert_eq!(tell(&[("b", "4", 5), ("c", "3", 6), ("d", "5", 7)]), [""; 0]);
    }

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
