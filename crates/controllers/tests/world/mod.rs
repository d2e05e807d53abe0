//! A registry on a store in a directory of its own, with controllers, and the words that tests need.
#![allow(dead_code, reason = "each test uses its part")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pawl_admission::{Chain, NamespaceLifecycle};
use pawl_controllers::{Controllers, Handle, Options};
use pawl_deletion::{DeleteOptions, Propagation};
use pawl_kv::Kv;
use pawl_meta::Status;
use pawl_meta::object::{Meta, Object};
use pawl_registry::{
    AddressRange, Context, CreateRequest, DeleteRequest, Deleted, FieldValidation, PatchKind, PatchRequest, PortRange,
    Registry, Sent, Served, ServiceRanges, Settings, User,
};
use serde_json::{Value, json};

/// How long anything may take. Nothing is asserted about time: this only ends a test that would never end.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct World {
    pub registry: Arc<Registry>,
    /// The revision before everything that happened here.
    pub beginning: u64,
    following: tokio::task::JoinHandle<()>,
    directory: Arc<tempfile::TempDir>,
}

impl Drop for World {
    fn drop(&mut self) {
        self.following.abort();
    }
}

impl World {
    /// An empty server with the namespaces `default` and `n`.
    pub async fn new() -> Self {
        let world = Self::open(Arc::new(tempfile::tempdir().unwrap()), true).await;
        for name in ["default", "n"] {
            world.create("namespaces", json!({"metadata": {"name": name}})).await;
        }
        world
    }

    /// The same data under a server that starts anew, where liens hold or do not.
    pub async fn restart(mut self, liens: bool) -> Self {
        let directory = Arc::clone(&self.directory);
        self.following.abort();
        let _ = (&mut self.following).await;
        drop(self);
        Self::open(directory, liens).await
    }

    async fn open(directory: Arc<tempfile::TempDir>, liens: bool) -> Self {
        let store: Arc<dyn Kv> = pawl_kv_embedded::Store::open(directory.path(), Default::default()).unwrap();
        let settings = Settings {
            admission: Chain::new(vec![Arc::new(NamespaceLifecycle)]),
            liens,
            event_ttl: Duration::ZERO,
            quarantine: Duration::from_secs(3600),
            services: ServiceRanges {
                addresses: AddressRange { base: [10, 0, 0, 0].into(), bits: 24 },
                node_ports: PortRange { first: 30000, last: 32767 },
            },
        };
        let opened = Registry::open(store, None, pawl_kinds::builtin(), settings).await;
        let (registry, revision) = opened.unwrap();
        let registry = Arc::new(registry);
        let follower = Arc::clone(&registry);
        let following = tokio::spawn(async move {
            let _ = follower.follow(revision).await;
        });
        Self { registry, beginning: revision, following, directory }
    }

    pub fn control(&self, selection: &str) -> Handle {
        let options = Options { namespace_stall: Duration::from_millis(500), ..Options::default() };
        Controllers::start(Arc::clone(&self.registry), selection, options).unwrap()
    }

    /// A resource by its plural; the group is found.
    pub fn served(&self, plural: &str) -> Arc<Served> {
        let table = self.registry.table();
        let found = table.served().iter().find(|s| s.resource.facts.plural == plural && !s.resource.facts.is_virtual);
        Arc::clone(found.unwrap())
    }

    pub async fn try_create(&self, plural: &str, mut object: Value) -> Result<Object, Status> {
        let served = self.served(plural);
        object["apiVersion"] = json!(served.resource.group_version().to_string());
        object["kind"] = json!(served.resource.facts.kind);
        let namespace = object.namespace().to_owned();
        let body = object.to_string();
        let cx = context();
        let decoded = self.registry.decode(&cx, &served, Sent::json(body.as_bytes(), FieldValidation::Strict))?;
        let request = CreateRequest { namespace, object: decoded, tracked: false };
        let entry = self.registry.create(&cx, &served, request).await?;
        Ok(entry.readable().unwrap().object(entry.revision))
    }

    pub async fn create(&self, plural: &str, object: Value) -> Object {
        self.try_create(plural, object.clone()).await.unwrap_or_else(|status| panic!("{object}: {status}"))
    }

    pub async fn try_delete(&self, plural: &str, key: &str, options: DeleteOptions) -> Result<Deleted, Status> {
        let (namespace, name) = split(key);
        let request = DeleteRequest { namespace, name, options: &options };
        self.registry.delete(&context(), &self.served(plural), request).await
    }

    pub async fn delete(&self, plural: &str, key: &str, propagation: Propagation) {
        let options = DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() };
        self.try_delete(plural, key, options).await.unwrap_or_else(|status| panic!("{key}: {status}"));
    }

    pub async fn try_patch(&self, plural: &str, key: &str, patch: Value, subresource: &str) -> Result<(), Status> {
        let (namespace, name) = split(key);
        let body = patch.to_string();
        let request = PatchRequest {
            namespace,
            name,
            subresource,
            kind: PatchKind::Merge,
            body: body.as_bytes(),
            validation: FieldValidation::Strict,
            force: false,
            create_refused: None,
        };
        self.registry.patch(&context(), &self.served(plural), request).await.map(|_| ())
    }

    pub async fn patch(&self, plural: &str, key: &str, patch: Value) {
        self.try_patch(plural, key, patch, "").await.unwrap_or_else(|status| panic!("{key}: {status}"));
    }

    pub async fn patch_status(&self, plural: &str, key: &str, patch: Value) {
        self.try_patch(plural, key, patch, "status").await.unwrap_or_else(|status| panic!("{key}: {status}"));
    }

    /// The object, as the caches have it.
    pub fn get(&self, plural: &str, key: &str) -> Option<Object> {
        let entry = self.served(plural).stored.cache.get(key)?;
        Some(entry.readable().unwrap().object(entry.revision))
    }

    /// Everything of a resource, by key.
    pub fn all(&self, plural: &str) -> BTreeMap<String, Object> {
        let objects = self.served(plural).stored.cache.objects();
        let read = |entry: &pawl_registry::CacheEntry| entry.readable().unwrap().object(entry.revision);
        objects.iter().map(|(key, entry)| (key.to_string(), read(entry))).collect()
    }

    /// Waits until something holds.
    pub async fn until(&self, what: &str, holds: impl Fn(&World) -> bool) {
        let wait = async {
            while !holds(self) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        assert!(tokio::time::timeout(PATIENCE, wait).await.is_ok(), "never came to pass: {what}");
    }

    pub async fn until_gone(&self, plural: &str, key: &str) {
        self.until(&format!("{plural} {key} is gone"), |world| world.get(plural, key).is_none()).await;
    }

    /// Events of a reason, with what they are about.
    pub fn events(&self, reason: &str) -> Vec<(String, String)> {
        let text = |event: &Object, path: &str| {
            let value = pawl_meta::object::at(event, path).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        let all = self.all("events");
        let events = all.values().filter(|event| text(event, "reason") == reason);
        events.map(|event| (text(event, "involvedObject.name"), text(event, "message"))).collect()
    }
}

/// A reference to an owner.
pub fn owner(kind: &str, object: &Object, blocks: bool) -> Value {
    let api_version = object["apiVersion"].clone();
    json!({"apiVersion": api_version, "kind": kind, "name": object.name(), "uid": object.uid(),
        "blockOwnerDeletion": blocks})
}

fn split(key: &str) -> (&str, &str) {
    key.split_once('/').unwrap_or(("", key))
}

fn context() -> Context {
    let mut cx = Context::new(User { name: "tester".to_owned(), ..User::default() });
    cx.manager = "tester".to_owned();
    cx
}
