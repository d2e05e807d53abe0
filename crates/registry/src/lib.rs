//! The life of an object: created, changed, deleted, read, listed, watched. One path for every kind.
//!
//! Owns the watch cache, the table of resources and the retry loop of the compare-and-swap: on a conflict every stage of a
//! write runs again on what is there now. It knows nothing of HTTP; errors are [`pawl_meta::Status`].

// What is served, and how its objects look.
mod forms;
mod messages;
mod table;
mod wire;

// A request on its way in: who asks, and what was sent.
mod context;
mod decoding;
mod stated;

// A write: the verbs, the stages between them, and what a write takes beside its object.
mod allocation;
mod binding;
mod create;
mod delete;
mod eviction;
mod metadata;
mod patch;
mod pipeline;
mod rewrite;
mod scale;
mod stages;
mod update;

// The store, and what keeps the caches up to date.
mod feeding;
mod fencing;
mod joining;
mod resealing;
mod saving;
mod storage;

// The watch cache, and who reads it.
mod bookmarks;
mod cache;
mod calls;
mod continue_token;
mod entry;
mod following;
mod history;
mod list;
mod measuring;
mod past;
mod rendering;
mod texts;
mod watch;

// What cannot be read, and who uses what.
mod keys;
mod opening;
mod quarantine;
mod removing;
mod showing;
mod turning;
mod unreadable;
mod usage;

use std::sync::Arc;

use arc_swap::ArcSwap;
use futures::future::BoxFuture;
use pawl_admission::{Chain, Objects};
use pawl_kv::{Kv, Revision};
use pawl_meta::Status;
use pawl_meta::object::Object;
use pawl_seal::Seals;
use tokio::sync::watch as signal;

pub use allocation::{AddressRange, PortRange, ServiceRanges};
pub use cache::{Cache, Scope};
pub use context::{Context, Sight, User};
pub use create::CreateRequest;
pub use decoding::{ApiKind, BodyError, Encoding, FieldValidation, Opened, Sent, open as open_body};
use delete::Deleters;
pub use delete::{DeleteRequest, Deleted};
pub use entry::{CacheEntry, Readability, Readable, Selection, encode};
pub use feeding::Interruption;
pub use following::{Followed, Follower, Lag};
pub use list::{ListAt, ListRequest, Page};
pub use measuring::Metrics;
pub use messages::Messages;
pub use metadata::validate_embedded;
pub use past::{Moment, Past, PastAsked};
pub use patch::{PatchKind, PatchRequest};
pub use pawl_kinds::Columns;
pub use pawl_seal::Plain;
pub use resealing::Resealed;
pub use saving::Snapshot;
pub use scale::ScaleChange;
pub use showing::{GROUP, QUARANTINED, UNREADABLE};
pub use storage::Storage;
pub use table::{ROOT, Served, Stored, Table};
pub use unreadable::{Closed, Reason, Unreadable};
pub use update::{Mutation, UpdateRequest, Updated};
pub use usage::{Usage, UsageNews, UserShown, UsersShown};
pub use watch::{WatchItem, WatchRequest, WatchStart, Watcher};
pub use wire::{api_columns, api_type, message, protobuf, set_defaults, type_of, validate};

/// What the registry is told once, at start.
pub struct Settings {
    pub admission: Chain,
    /// The gate `InUseProtection`: liens hold objects.
    pub liens: bool,
    pub event_ttl: std::time::Duration,
    /// What services get their addresses and ports from.
    pub services: ServiceRanges,
    /// How long what was removed unread is kept; zero where it is not.
    pub quarantine: std::time::Duration,
}

impl Settings {
    /// For who only reads.
    pub fn reading() -> Self {
        let nowhere = std::net::IpAddr::from([0, 0, 0, 0]);
        let services = ServiceRanges {
            addresses: AddressRange { base: nowhere, bits: 32 },
            node_ports: PortRange { first: 0, last: 0 },
        };
        let zero = std::time::Duration::ZERO;
        Self { admission: Chain::default(), liens: true, event_ttl: zero, services, quarantine: zero }
    }
}

/// Everything that is stored, and the way to it.
pub struct Registry {
    storage: Arc<Storage>,
    table: ArcSwap<Table>,
    table_changes: signal::Sender<()>,
    settings: Settings,
    reservations: allocation::Reservations,
    deleters: Deleters,
    /// Whose turn it is to change what is served.
    joining: tokio::sync::Mutex<()>,
    keys: Option<keys::Keys>,
    metrics: Metrics,
    /// How many snapshots may still be taken at once.
    snapshots: Arc<tokio::sync::Semaphore>,
}

impl Registry {
    /// Opens the registry on a store: reads what is there. [`Registry::follow`] must run from then on.
    pub async fn open(
        kv: Arc<dyn Kv>,
        seals: Option<Seals>,
        resources: &[pawl_kinds::Resource],
        settings: Settings,
    ) -> Result<(Self, Revision), pawl_kv::Error> {
        let storage = Arc::new(Storage::new(kv));
        let mut table = Table::sealed(&usage::with_users(resources), 0, seals.clone());
        table.extend(showing::resources(), 0);
        let keys = seals.map(keys::Keys::new);
        let revision = storage.load(&table).await?;
        keys::begin(&storage, &table).await?;
        let table = ArcSwap::from_pointee(table);
        let table_changes = signal::Sender::new(());
        let reservations = allocation::Reservations::default();
        let deleters = Deleters::default();
        let joining = tokio::sync::Mutex::default();
        let metrics = Metrics::new();
        let snapshots = Arc::new(tokio::sync::Semaphore::new(saving::AT_ONCE));
        let registry =
            Self { storage, table, table_changes, settings, reservations, deleters, joining, keys, metrics, snapshots };
        Ok((registry, revision))
    }

    /// Keeps the caches up to date. Returns only when that is no longer possible, with the reason.
    pub async fn follow(&self, after: Revision) -> Interruption {
        self.storage.follow(|| self.table.load_full(), after).await
    }

    pub fn table(&self) -> Arc<Table> {
        self.table.load_full()
    }

    /// Serves another table from now on. Resources that stay keep the place they have in the table of before, so the new
    /// one is best made of a clone of it.
    pub fn set_table(&self, table: Table) {
        self.usage().forget_undefined(&table);
        self.table.store(Arc::new(table));
        self.table_changes.send_replace(());
    }

    /// A receiver that changes when resources come or go.
    pub fn table_changes(&self) -> signal::Receiver<()> {
        self.table_changes.subscribe()
    }

    /// Who asked for the deletion of a namespace that is on its way out, as long as the server that was asked runs.
    pub fn deleter(&self, uid: &str) -> Option<String> {
        self.deleters.of(uid)
    }

    /// A namespace is gone: who deleted it need not be known any more.
    pub fn forget_deleter(&self, uid: &str) {
        self.deleters.forget(uid);
    }

    /// The gate `InUseProtection`: whether liens hold objects.
    pub fn liens_hold(&self) -> bool {
        self.settings.liens
    }

    pub fn storage(&self) -> &Arc<Storage> {
        &self.storage
    }

    /// Why the store refuses writes, while it does.
    pub fn store_health(&self) -> pawl_kv::Result<()> {
        self.storage.kv().health()
    }

    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// What is measured here, to be shown as long as the registry is there.
    pub fn collectors(self: &Arc<Self>) -> Vec<Box<dyn prometheus::core::Collector>> {
        let registry = Arc::downgrade(self);
        let caches = measuring::Caches::new(move || registry.upgrade().map(|registry| registry.table()));
        let mut all = self.metrics.collectors();
        all.push(Box::new(caches));
        all
    }

    /// Reads one object. Without a revision it is as new as every write acknowledged before the call.
    pub async fn get(
        &self,
        served: &Served,
        namespace: &str,
        name: &str,
        at_least: Option<Revision>,
    ) -> Result<Arc<CacheEntry>, Status> {
        match at_least {
            None => {
                self.storage.catch_up_for(&served.stored).await?;
            }
            Some(revision) => self.storage.wait_for(revision).await?,
        }
        let key = served.stored.key(namespace, name);
        let entry = served.stored.cache.get(&key);
        let entry = entry.ok_or_else(|| Status::not_found(&served.resource.group_resource(), name))?;
        entry.must_be_readable(&served.stored)?;
        Ok(entry)
    }

    pub async fn list(&self, served: &Served, request: &ListRequest) -> Result<Page, Status> {
        let selection = served.stored_selection(request.selection.clone());
        let request = ListRequest { selection, ..request.clone() };
        list::list(&self.storage, &served.stored, &request).await
    }

    pub async fn watch(&self, served: &Served, mut request: WatchRequest) -> Result<Watcher, Status> {
        request.selection = served.stored_selection(request.selection);
        let listing = matches!(request.start, WatchStart::Initial { bookmark: true, .. });
        let listing = listing.then(|| self.metrics.watch_list(served, request.scope.as_str()));
        let watcher = Watcher::start(Arc::clone(&self.storage), Arc::clone(&served.stored), request).await?;
        Ok(watcher.measured(listing))
    }

    fn find(&self, group: &str, resource: &str) -> Option<Arc<Served>> {
        self.table.load().preferred(group, resource).cloned()
    }
}

impl Objects for Registry {
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Object> {
        let served = self.find(group, resource)?;
        let entry = served.stored.cache.get(&served.stored.key(namespace, name))?;
        Some(entry.readable()?.object(entry.revision))
    }

    fn is_deleting(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<bool> {
        let served = self.find(group, resource)?;
        served.stored.cache.get(&served.stored.key(namespace, name))?.readable().map(Readable::is_deleting)
    }

    fn get_fresh<'a>(
        &'a self,
        group: &'a str,
        resource: &'a str,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Option<Object>> {
        Box::pin(async move {
            self.storage.catch_up().await.ok()?;
            Objects::get(self, group, resource, namespace, name)
        })
    }

    fn list(&self, group: &str, resource: &str, namespace: &str) -> Vec<Object> {
        let Some(served) = self.find(group, resource) else { return Vec::new() };
        let objects = served.stored.cache.objects();
        objects
            .iter()
            .filter(|(_, entry)| namespace.is_empty() || entry.namespace() == namespace)
            .filter_map(|(_, entry)| Some(entry.readable()?.object(entry.revision)))
            .collect()
    }
}
