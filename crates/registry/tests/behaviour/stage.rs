//! A registry on a store in a directory that goes away with it.

use std::sync::Arc;

use pawl_admission::Chain;
use pawl_kv::Kv;
use pawl_meta::Status;
use pawl_meta::object::Object;
use pawl_registry::{
    AddressRange, CacheEntry, Context, CreateRequest, DeleteRequest, FieldValidation, Interruption, PatchKind,
    PatchRequest, PortRange, Registry, Sent, Served, ServiceRanges, Settings,
};
use pawl_seal::Seals;
use serde_json::Value;

pub struct Stage {
    pub registry: Arc<Registry>,
    /// Ends with the reason once the registry no longer follows its store.
    pub following: tokio::task::JoinHandle<Interruption>,
    _keys: Held,
    _directory: tempfile::TempDir,
}

impl Stage {
    pub async fn open() -> Self {
        Self::on(|store| store).await
    }

    /// A registry on a store with something around it.
    pub async fn on(wrap: impl FnOnce(Arc<dyn Kv>) -> Arc<dyn Kv>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = pawl_kv_embedded::Store::open(directory.path(), pawl_kv_embedded::Options::default()).unwrap();
        Self::over(wrap(store), directory).await
    }

    /// A registry on a store that lives in a directory.
    pub async fn over(store: Arc<dyn Kv>, directory: tempfile::TempDir) -> Self {
        let (seals, keys) = hold(directory.path()).await;
        Self { _keys: keys, ..Self::sealed(store, directory, seals).await }
    }

    /// A registry whose values are sealed with these keys.
    pub async fn sealed(store: Arc<dyn Kv>, directory: tempfile::TempDir, seals: Option<Seals>) -> Self {
        let services = ServiceRanges {
            addresses: AddressRange { base: "10.0.0.0".parse().unwrap(), bits: 27 },
            node_ports: PortRange { first: 30000, last: 30049 },
        };
        let settings = Settings {
            admission: Chain::default(),
            liens: true,
            event_ttl: std::time::Duration::ZERO,
            services,
            quarantine: std::time::Duration::from_secs(3600),
        };
        let (registry, revision) = Registry::open(store, seals, pawl_kinds::builtin(), settings).await.unwrap();
        let registry = Arc::new(registry);
        let follower = Arc::clone(&registry);
        let following = tokio::spawn(async move { follower.follow(revision).await });
        let looking = Arc::clone(&registry);
        tokio::spawn(async move { looking.follow_keys().await });
        Self { registry, following, _keys: None, _directory: directory }
    }

    pub fn served(&self, group: &str, version: &str, plural: &str) -> Arc<Served> {
        Arc::clone(self.registry.table().find(group, version, plural).unwrap())
    }

    pub async fn create(&self, served: &Served, object: Value) -> Result<Value, Status> {
        self.create_as(&context(), served, object).await
    }

    pub async fn create_as(&self, cx: &Context, served: &Served, object: Value) -> Result<Value, Status> {
        let body = object.to_string();
        let object = self.registry.decode(cx, served, Sent::json(body.as_bytes(), FieldValidation::Strict))?;
        let request = CreateRequest { namespace: "n".to_owned(), object, tracked: false };
        self.registry.create(cx, served, request).await.map(|entry| shown(served, &entry))
    }

    pub async fn get(&self, served: &Served, name: &str) -> Result<Value, Status> {
        self.registry.get(served, "n", name, None).await.map(|entry| shown(served, &entry))
    }

    pub async fn merge(&self, served: &Served, name: &str, subresource: &str, patch: Value) -> Result<Value, Status> {
        let body = patch.to_string();
        let request = PatchRequest {
            namespace: "n",
            name,
            subresource,
            kind: PatchKind::Merge,
            body: body.as_bytes(),
            validation: FieldValidation::Strict,
            force: false,
            create_refused: None,
        };
        self.registry.patch(&context(), served, request).await.map(|updated| shown(served, &updated.entry))
    }

    pub async fn delete(&self, served: &Served, name: &str) -> Result<(), Status> {
        let options = pawl_deletion::DeleteOptions::default();
        let request = DeleteRequest { namespace: "n", name, options: &options };
        self.registry.delete(&context(), served, request).await.map(drop)
    }

    /// The names of all objects of a resource.
    pub fn names(&self, served: &Served) -> Vec<String> {
        served.stored.cache.objects().values().map(|entry| entry.name().to_owned()).collect()
    }
}

pub fn context() -> Context {
    let mut cx = Context::own();
    cx.manager = "test".to_owned();
    cx
}

fn shown(served: &Served, entry: &CacheEntry) -> Value {
    let object: Object = served.object_of(entry.readable().unwrap(), entry.revision);
    Value::Object(object)
}

/// How values are sealed while the suite runs.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "every suite uses one")]
pub enum Keys {
    None,
    /// With a key of our own.
    Local,
    /// With keys of a service that takes its time.
    Slow,
    /// With keys of a service that is gone as soon as everything has begun.
    Gone,
}

type Held = Option<pawl_seal::testing::Plugin>;

async fn hold(directory: &std::path::Path) -> (Option<Seals>, Held) {
    use serde_json::json;
    let mut plugin = pawl_seal::testing::Plugin::new(&directory.join("kms.sock"));
    let service = || json!({"kms": {"apiVersion": "v2", "name": "vault", "endpoint": plugin.endpoint()}});
    let local =
        json!({"aesgcm": {"keys": [{"name": "key1", "secret": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}]}});
    let sealing = match crate::KEYS {
        Keys::None => return (None, None),
        Keys::Local => local,
        Keys::Slow | Keys::Gone => service(),
    };
    plugin.start();
    let text = json!({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["*.*"], "providers": [sealing, {"identity": {}}]}]});
    let config = pawl_seal::Config::parse("config", text.to_string().as_bytes(), true).unwrap();
    let metrics = pawl_seal::Metrics::register(&prometheus::Registry::new(), "here").unwrap();
    // Some tests let hours pass.
    let confirmed = std::time::Duration::from_secs(100 * 3600);
    let pace = pawl_seal::Pace { confirmed, ..pawl_seal::Pace::default() };
    let seals = Seals::start(&config, pace, metrics).await.unwrap();
    match crate::KEYS {
        Keys::Slow => plugin.delay(std::time::Duration::from_millis(300)),
        Keys::Gone => plugin.kill(),
        Keys::None | Keys::Local => {}
    }
    (Some(seals), Some(plugin))
}
