//! Resources that come and go while the server runs.
//!
//! Owns the order in which that happens: the place where objects are is fed before it is read, and read before it is served,
//! so nobody ever finds a resource without the objects that are stored already; a resource that closes takes no new objects
//! before anybody looks for the last one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pawl_kinds::Resource;
use pawl_kv::RangeRequest;
use pawl_meta::Status;
use pawl_meta::object::Object;
use serde_json::Value;
use tokio::sync::{RwLock, RwLockReadGuard};

use crate::cache::Objects;
use crate::storage::{after, store_error};
use crate::table::Stored;
use crate::{Registry, Served, Storage};

/// How many keys are read at once.
const PAGE: usize = 10_000;
/// A place whose ring overflows while it is read is read again.
const ATTEMPTS: usize = 5;
/// How long what another server has established may be on its way here.
const LEARNING: Duration = Duration::from_secs(5);

/// Whether a place takes new objects. Who writes one holds the door.
#[derive(Debug, Default)]
pub(crate) struct Door(RwLock<bool>);

impl Door {
    /// Enters, if it is open.
    pub async fn enter(&self) -> Option<RwLockReadGuard<'_, bool>> {
        Some(self.0.read().await).filter(|closed| !**closed)
    }

    /// Sets whether it is closed, once nobody is in it.
    async fn set(&self, closed: bool) {
        *self.0.write().await = closed;
    }
}

impl Registry {
    /// Serves these versions in the place of all that are served now of the resources of these names (group and plural),
    /// which so may go. What is stored of them is there when this returns.
    pub async fn exchange(&self, names: &[(&str, &str)], resources: Vec<Resource>) -> Result<(), Status> {
        let _turn = self.joining.lock().await;
        let mut table = (*self.table()).clone();
        let fresh = table.reserve(&resources, self.storage().applied());
        if !fresh.is_empty() {
            let _keys = self.hold_keys().await;
            self.table.store(Arc::new(table));
            for stored in &fresh {
                if let Err(status) = self.storage().fill(stored).await {
                    // What could not be read is a new place again next time.
                    let mut table = (*self.table()).clone();
                    table.exchange(&[], Vec::new(), self.storage().applied());
                    self.table.store(Arc::new(table));
                    return Err(status);
                }
            }
            if fresh.iter().any(|stored| !stored.cache.closed().is_empty()) {
                self.storage().show(&self.table(), self.storage().applied());
                // Who has their keys may have to be asked.
                self.storage().turning.ask();
            }
        }
        let mut table = (*self.table()).clone();
        table.exchange(names, resources, self.storage().applied());
        self.set_table(table);
        Ok(())
    }

    /// From the moment that this returns on, no new object of a resource is stored.
    pub async fn close(&self, served: &Served) {
        served.stored.door.set(true).await;
    }

    /// The version of a resource that is served now: its schema may have changed, or it may be gone.
    pub fn current(&self, served: &Arc<Served>) -> Option<Arc<Served>> {
        let table = self.table.load();
        let facts = &served.resource.facts;
        let found = table.find(&facts.group, &facts.version, &facts.plural)?;
        Arc::ptr_eq(&found.stored, &served.stored).then(|| Arc::clone(found))
    }
}

impl Registry {
    /// Waits for what another server has established and this one does not serve yet: whoever was told that there is such a
    /// resource finds it everywhere. Says whether it is worth looking again.
    pub async fn learn(&self, group: &str, plural: &str) -> bool {
        if group.is_empty() || !self.storage().kv().is_shared() || self.storage().catch_up().await.is_err() {
            return false;
        }
        let name = format!("{plural}.{group}");
        let began = Instant::now();
        while self.table().preferred(group, plural).is_none() {
            let definition =
                pawl_admission::Objects::get(self, "apiextensions.k8s.io", "customresourcedefinitions", "", &name);
            let established = definition.as_ref().is_some_and(is_established);
            if !established || began.elapsed() > LEARNING {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        true
    }
}

/// Whether clients have been told that objects of a definition can be made.
fn is_established(definition: &Object) -> bool {
    let conditions = pawl_meta::object::at(definition, "status.conditions").and_then(Value::as_array);
    let says = |condition: &Value, field: &str, value: &str| condition.get(field).is_some_and(|found| found == value);
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| says(condition, "type", "Established") && says(condition, "status", "True"))
}

impl Storage {
    /// Reads what is stored in a place that is fed already and not served yet.
    async fn fill(&self, stored: &Stored) -> Result<(), Status> {
        for _ in 0..ATTEMPTS {
            let (objects, revision) = self.read_place(stored).await?;
            self.wait_for(revision).await?;
            if stored.cache.fill(&objects, revision) {
                self.usage.look_at_all(stored);
                return Ok(());
            }
        }
        Err(Status::unavailable(format!("{} could not be read while it is written", stored.group_resource)))
    }

    async fn read_place(&self, stored: &Stored) -> Result<(Objects, pawl_kv::Revision), Status> {
        let mut start = bytes::Bytes::from(stored.prefix.clone());
        let end = bytes::Bytes::from(format!("{}0", stored.prefix.trim_end_matches('/')));
        let (mut revision, mut objects) = (None, Objects::new());
        loop {
            let request = RangeRequest { start, end: end.clone(), limit: PAGE, revision, count: false };
            let range = self.kv().range(request).await.map_err(|e| store_error(&e))?;
            revision = Some(range.revision);
            for item in &range.items {
                let Ok(full_key) = std::str::from_utf8(&item.key) else { continue };
                let Some(key) = full_key.strip_prefix(&stored.prefix) else { continue };
                let entry = self.entry_of(stored, key, item);
                objects.insert(Arc::clone(&entry.key), entry);
            }
            match range.items.last() {
                Some(last) if range.more => start = after(&last.key),
                _ => return Ok((objects, range.revision)),
            }
        }
    }
}
