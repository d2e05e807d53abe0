//! Keys that change under a registry: what can be read follows, in reads, lists and watches, as after a restart.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod model;
#[path = "../behaviour/stage.rs"]
#[allow(dead_code, reason = "the suite uses the rest")]
mod stage;

use std::sync::Arc;
use std::time::Duration;

use pawl_kv::{Change, Expect, Kv, Write};
use pawl_meta::Status;
use pawl_registry::{
    ListRequest, Registry, Scope, Selection, Served, UpdateRequest, WatchItem, WatchRequest, WatchStart, Watcher,
};
use pawl_seal::testing::Plugin;
use pawl_seal::{Config, Metrics, Pace, Seals};
use serde_json::{Value, json};
use stage::{Stage, context};

#[allow(dead_code, reason = "every world has its own keys")]
const KEYS: stage::Keys = stage::Keys::None;

/// Long enough for a machine that does much else.
const DEADLINE: Duration = Duration::from_secs(30);

const PACE: Pace = Pace {
    confirm: Duration::from_millis(50),
    retry: Duration::from_millis(20),
    confirmed: Duration::from_millis(400),
    fresh: Duration::ZERO,
    look: Duration::from_millis(20),
};

fn key(name: &str, byte: u8) -> Value {
    use base64::Engine;
    json!({"name": name, "secret": base64::engine::general_purpose::STANDARD.encode([byte; 32])})
}

fn aesgcm(keys: &[(&str, u8)]) -> Value {
    json!({"aesgcm": {"keys": keys.iter().map(|(name, byte)| key(name, *byte)).collect::<Vec<_>>()}})
}

fn secretbox(name: &str, byte: u8) -> Value {
    json!({"secretbox": {"keys": [key(name, byte)]}})
}

fn config(resources: &[&str], providers: Value) -> Config {
    let text = json!({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration",
        "resources": [{"resources": resources, "providers": providers}]});
    Config::parse("config", text.to_string().as_bytes(), true).unwrap()
}

async fn seals(config: &Config) -> Seals {
    let metrics = Metrics::register(&prometheus::Registry::new(), "here").unwrap();
    Seals::start(config, PACE, metrics).await.unwrap()
}

struct World {
    stage: Stage,
    seals: Seals,
    store: Arc<pawl_kv_embedded::Store>,
    secrets: Arc<Served>,
}

impl World {
    async fn new(providers: Value) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = pawl_kv_embedded::Store::open(directory.path(), Default::default()).unwrap();
        Self::over(store, directory, providers).await
    }

    async fn over(store: Arc<pawl_kv_embedded::Store>, directory: tempfile::TempDir, providers: Value) -> Self {
        let seals = seals(&config(&["secrets"], providers)).await;
        let stage = Stage::sealed(store.clone(), directory, Some(seals.clone())).await;
        let secrets = stage.served("", "v1", "secrets");
        Self { stage, seals, store, secrets }
    }

    /// Another server on what is stored.
    async fn again(&self, providers: Value) -> Self {
        Self::over(self.store.clone(), tempfile::tempdir().unwrap(), providers).await
    }

    async fn use_keys(&self, providers: Value) {
        let candidate = self.seals.prepare(&config(&["secrets"], providers)).await.unwrap();
        self.seals.install(candidate);
    }

    async fn create(&self, name: &str) {
        let secret = json!({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": name, "labels": {"l": name}},
            "data": {"a": "AQI="}});
        self.stage.create(&self.secrets, secret).await.unwrap();
    }

    async fn code(&self, name: &str) -> u16 {
        self.stage.get(&self.secrets, name).await.map_or_else(|status| status.code, |_| 200)
    }

    async fn until(&self, name: &str, code: u16) {
        eventually(&format!("{name} is answered with {code}"), async || self.code(name).await == code).await;
    }

    async fn list(&self, selection: Selection) -> Result<Vec<String>, Status> {
        let request = ListRequest { selection, ..ListRequest::default() };
        let page = self.stage.registry.list(&self.secrets, &request).await?;
        Ok(page.entries.iter().map(|entry| entry.name().to_owned()).collect())
    }

    async fn watch(&self, start: WatchStart) -> Result<Watcher, Status> {
        let (scope, selection) = (Scope::All, Selection::default());
        let request = WatchRequest { scope, selection, start, bookmarks: false, tolerant: false };
        self.stage.registry.watch(&self.secrets, request).await
    }

    async fn raw(&self, name: &str) -> Vec<u8> {
        let key = self.secrets.stored.full_key(&format!("n/{name}"));
        self.store.get(key.into()).await.unwrap().unwrap().value.to_vec()
    }

    /// What a value looks like in the store.
    fn seal(&self, key: &str, value: &[u8]) -> bytes::Bytes {
        let transform = self.seals.transform(self.secrets.stored.group_resource.clone());
        transform.seal(key, &pawl_seal::Plain::new(value.to_vec())).unwrap().into_bytes()
    }

    fn registry(&self) -> &Registry {
        &self.stage.registry
    }
}

/// Stores bytes, whatever is there.
async fn put(world: &World, key: &str, value: &'static [u8]) {
    let key = bytes::Bytes::copy_from_slice(key.as_bytes());
    let held = world.store.get(key.clone()).await.unwrap();
    let expect = held.map_or(Expect::Absent, |held| Expect::Revision(held.mod_revision));
    let change = Change::Put { value: value.into(), ttl: None };
    world.store.write(Write::new(key, expect, change)).await.unwrap();
}

async fn eventually(what: &str, check: impl AsyncFn() -> bool) {
    let tried = async {
        while !check().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(DEADLINE, tried).await.is_ok(), "{what}");
}

async fn next(watcher: &mut Watcher) -> Vec<WatchItem> {
    tokio::time::timeout(DEADLINE, watcher.next()).await.expect("something happens")
}

/// The error that a watch ends with.
async fn end(watcher: &mut Watcher) -> Status {
    loop {
        let items = next(watcher).await;
        assert!(!items.is_empty(), "it ends with an error");
        for item in items {
            if let WatchItem::Error(status) = item {
                assert!(next(watcher).await.is_empty(), "nothing follows");
                return *status;
            }
        }
    }
}

fn labels(text: &str) -> Selection {
    let mut selection = Selection::default();
    selection.labels = pawl_meta::selector::LabelSelector::parse(text).unwrap();
    selection
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_is_sealed_for_its_place() {
    let world = World::new(json!([aesgcm(&[("one", 1)])])).await;
    world.create("a").await;
    world.create("b").await;
    let raw = world.raw("a").await;
    assert!(raw.starts_with(b"k8s:enc:aesgcm:v1:one:"), "{raw:?}");
    assert!(!raw.windows(4).any(|at| at == b"AQI="));
    let other = world.again(json!([aesgcm(&[("one", 1)])])).await;
    assert_eq!(other.code("a").await, 200);
    // A value that is moved to another place does not open there.
    let key = bytes::Bytes::from(world.secrets.stored.full_key("n/moved"));
    let change = Change::Put { value: raw.into(), ttl: None };
    world.store.write(Write::new(key, Expect::Absent, change)).await.unwrap();
    world.until("moved", 500).await;
    let status = world.stage.get(&world.secrets, "moved").await.unwrap_err();
    assert_eq!(status.reason, "StorageReadError");
    assert!(status.message.contains("data from the storage is not transformable"), "{status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_gone_takes_what_it_sealed_and_brings_it_back() {
    let world = World::new(json!([aesgcm(&[("one", 1)])])).await;
    world.create("a").await;
    let candidate = config(&["secrets"], json!([aesgcm(&[("two", 2)])]));
    let candidate = world.seals.prepare(&candidate).await.unwrap();
    assert_eq!(world.registry().lost_with(&world.seals.mark(), candidate.mark()), [("secrets".to_owned(), 1)].into());
    let before = world.stage.get(&world.secrets, "a").await.unwrap();
    let mut open = world.watch(WatchStart::Now).await.unwrap();
    world.seals.install(candidate);
    world.until("a", 500).await;
    assert_eq!(end(&mut open).await.reason, "StorageReadError");
    world.create("b").await;
    for selection in [Selection::default(), labels("l=b"), labels("l=nothing")] {
        let status = world.list(selection).await.unwrap_err();
        let details = status.details.unwrap();
        assert_eq!((status.reason, details.kind.as_str()), ("StorageReadError", "secrets"));
        assert_eq!((details.name.as_str(), details.causes.len()), ("/registry/secrets/", 1));
        assert_eq!(details.causes[0].field, "/registry/secrets/n/a");
    }
    // Who comes from before has to list, who lists is told, and who comes from after goes on.
    let version = before["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
    assert_eq!(world.watch(WatchStart::After(version)).await.err().map(|status| status.code), Some(410));
    let initial = WatchStart::Initial { at_least: 0, bookmark: true };
    assert_eq!(world.watch(initial).await.err().map(|status| status.reason), Some("StorageReadError"));
    let mut later = world.watch(WatchStart::Now).await.unwrap();
    world.create("c").await;
    assert!(matches!(next(&mut later).await.as_slice(), [WatchItem::Added(entry)] if entry.name() == "c"));
    world.use_keys(json!([aesgcm(&[("two", 2), ("one", 1)])])).await;
    world.until("a", 200).await;
    assert_eq!(world.stage.get(&world.secrets, "a").await.unwrap(), before);
    assert_eq!(end(&mut later).await.code, 410, "it has not been told of what is there again");
    assert_eq!(world.list(Selection::default()).await.unwrap(), ["a", "b", "c"]);
    assert!(world.watch(initial).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn other_keys_after_a_restart_are_told_to_who_comes_from_before() {
    let world = World::new(json!([aesgcm(&[("one", 1)])])).await;
    world.create("a").await;
    let version = world.registry().storage().applied();
    let lost = world.again(json!([aesgcm(&[("two", 2)])])).await;
    assert_eq!(lost.code("a").await, 500);
    eventually("what cannot be read is told", async || {
        lost.watch(WatchStart::After(version)).await.err().is_some_and(|status| status.code == 410)
    })
    .await;
    let version = lost.registry().storage().catch_up().await.unwrap();
    assert!(lost.watch(WatchStart::After(version)).await.is_ok());
    let found = lost.again(json!([aesgcm(&[("two", 2), ("one", 1)])])).await;
    assert_eq!(found.code("a").await, 200);
    eventually("what can be read again is told", async || {
        found.watch(WatchStart::After(version)).await.err().is_some_and(|status| status.code == 410)
    })
    .await;
    let version = found.registry().storage().catch_up().await.unwrap();
    let again = found.again(json!([aesgcm(&[("two", 2), ("one", 1)])])).await;
    assert!(again.watch(WatchStart::After(version)).await.is_ok(), "nothing has turned any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sealed_by_an_old_key_is_sealed_anew_when_it_is_touched() {
    let world = World::new(json!([{"identity": {}}])).await;
    world.create("a").await;
    assert!(world.raw("a").await.starts_with(b"{"));
    let touch = async || {
        let request = UpdateRequest::new(("n", "a"), "", pawl_registry::Mutation::own(|object| Ok(object.clone())));
        world.registry().update(&context(), &world.secrets, request).await.unwrap().entry.revision
    };
    let first = touch().await;
    assert_eq!(touch().await, first, "nothing is written where nothing changes");
    let mut revision = first;
    for (providers, prefix) in [
        (json!([aesgcm(&[("one", 1)]), {"identity": {}}]), "k8s:enc:aesgcm:v1:one:"),
        (json!([secretbox("box", 3), aesgcm(&[("one", 1)])]), "k8s:enc:secretbox:v1:box:"),
        (json!([aesgcm(&[("two", 2)]), secretbox("box", 3)]), "k8s:enc:aesgcm:v1:two:"),
    ] {
        world.use_keys(providers).await;
        let now = touch().await;
        assert!(now > revision, "{prefix}");
        assert!(world.raw("a").await.starts_with(prefix.as_bytes()));
        assert_eq!(touch().await, now);
        revision = now;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_service_that_is_away_is_waited_for_and_nothing_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let mut plugin = Plugin::running(&directory.path().join("kms.sock"));
    let kms =
        || json!([{"kms": {"apiVersion": "v2", "name": "vault", "endpoint": plugin.endpoint(), "timeout": "1s"}}]);
    let providers = kms();
    let world = World::new(providers.clone()).await;
    world.create("a").await;
    let maps = world.stage.served("", "v1", "configmaps");
    plugin.kill();
    let other = world.again(providers).await;
    let status = other.stage.get(&other.secrets, "a").await.unwrap_err();
    let retry = status.details.as_ref().map(|details| details.retry_after_seconds);
    assert_eq!((status.code, status.reason, retry), (503, "ServiceUnavailable", Some(1)), "{status}");
    assert_eq!(other.list(Selection::default()).await.unwrap_err().code, 503);
    let initial = WatchStart::Initial { at_least: 0, bookmark: false };
    assert_eq!(other.watch(initial).await.err().map(|status| status.code), Some(503));
    let secret = json!({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "b"}});
    assert_eq!(other.stage.create(&other.secrets, secret).await.unwrap_err().code, 503);
    assert_eq!(other.stage.delete(&other.secrets, "a").await.unwrap_err().code, 503);
    assert_eq!(other.registry().away().count(), 1);
    let map = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "m"}});
    other.stage.create(&maps, map).await.unwrap();
    // It sealed what it read; it goes on reading that.
    assert_eq!(world.code("a").await, 200);
    plugin.start();
    other.until("a", 200).await;
    assert_eq!(other.list(Selection::default()).await.unwrap(), ["a"]);
    eventually("it seals again", async || {
        let secret = json!({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "b"}});
        other.stage.create(&other.secrets, secret).await.is_ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_service_that_takes_its_time_stalls_nobody_else() {
    let directory = tempfile::tempdir().unwrap();
    let plugin = Plugin::running(&directory.path().join("kms.sock"));
    let kms = json!([{"kms": {"apiVersion": "v2", "name": "vault", "endpoint": plugin.endpoint(), "timeout": "20s"}}]);
    let world = World::new(kms.clone()).await;
    let other = world.again(kms).await;
    let mut open = other.watch(WatchStart::Now).await.unwrap();
    plugin.delay(Duration::from_secs(5));
    // Sealed with a data key that the other server has yet to ask for.
    world.create("a").await;
    eventually("it has come in", async || other.code("a").await == 503).await;
    assert_eq!(end(&mut open).await.code, 503);
    let maps = other.stage.served("", "v1", "configmaps");
    let map = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "m"}});
    other.stage.create(&maps, map).await.unwrap();
    assert_eq!(other.code("a").await, 503, "nobody waited for the answer");
    plugin.delay(Duration::ZERO);
    other.until("a", 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_replaced_meanwhile_is_not_removed() {
    use pawl_deletion::DeleteOptions;
    let world = World::new(json!([aesgcm(&[("one", 1)])])).await;
    let key = world.secrets.stored.full_key("n/a");
    let options = DeleteOptions { ignore_read_errors: true, ..DeleteOptions::default() };
    for _ in 0..20 {
        put(&world, &key, b"damaged").await;
        world.until("a", 500).await;
        // Somebody mends it at the same time: one of both wins, and nothing is lost.
        let cx = context();
        let request = pawl_registry::DeleteRequest { namespace: "n", name: "a", options: &options };
        let mended = br#"{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"1"}}"#;
        let plain = World::seal(&world, &key, mended);
        let (removed, ()) =
            tokio::join!(world.registry().delete(&cx, &world.secrets, request), replace(&world, &key, plain));
        match removed {
            Ok(_) => {}
            Err(status) => assert!(matches!(status.code, 409 | 422), "{status}"),
        }
        let left = world.store.get(bytes::Bytes::from(key.clone())).await.unwrap();
        assert!(left.is_none_or(|left| left.value.starts_with(b"k8s:enc:")), "what was mended is there, or nothing");
    }
}

/// Whoever wrote something is told what, even if the key that sealed it is gone a moment later.
#[tokio::test(flavor = "multi_thread")]
async fn who_writes_while_keys_change_is_answered_with_what_was_written() {
    let world = World::new(json!([aesgcm(&[("one", 1)])])).await;
    let done = std::sync::atomic::AtomicBool::new(false);
    let changing = async {
        for round in 0..60 {
            let key = if round % 2 == 0 { ("two", 2) } else { ("one", 1) };
            world.use_keys(json!([aesgcm(&[key])])).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    };
    let writing = (0..8).map(|writer| {
        let (world, done) = (&world, &done);
        async move {
            for count in 0.. {
                if done.load(std::sync::atomic::Ordering::Relaxed) {
                    return;
                }
                let name = format!("w{writer}-{count}");
                let secret = json!({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": name}});
                let made = world.stage.create(&world.secrets, secret).await.unwrap();
                assert_eq!(made["metadata"]["name"], name.as_str());
            }
        }
    });
    futures::future::join(changing, futures::future::join_all(writing)).await;
}

/// Puts a value in the place of another, if that is there still.
async fn replace(world: &World, key: &str, value: bytes::Bytes) {
    let key = bytes::Bytes::copy_from_slice(key.as_bytes());
    let Some(held) = world.store.get(key.clone()).await.unwrap() else { return };
    let change = Change::Put { value, ttl: None };
    world.store.write(Write::new(key, Expect::Revision(held.mod_revision), change)).await.unwrap();
}
