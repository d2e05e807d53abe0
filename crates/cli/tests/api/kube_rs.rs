//! kube-rs works with the server by its own kubeconfig: every verb, watchers in both list modes, a reflector, one also while
//! something cannot be read.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::{Stream, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams, Preconditions};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::watcher::{Config, Event};
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Api, Client, ResourceExt};
use pawl_testing::damage::Door;
use pawl_testing::{DEADLINE, Place, Running, Server, pause};
use serde_json::json;

const NAMESPACE: &str = "kube-rs";

/// A server, a client with its kubeconfig, and a namespace.
async fn start() -> (Place, Server, Client) {
    let mut place = Place::new();
    let server = place.start().await;
    let client = client(&place).await;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace = Namespace {
        metadata: ObjectMeta { name: Some(NAMESPACE.to_owned()), ..ObjectMeta::default() },
        ..Namespace::default()
    };
    namespaces.create(&PostParams::default(), &namespace).await.unwrap();
    (place, server, client)
}

/// A client with the server's own kubeconfig.
pub async fn client(place: &Place) -> Client {
    let kubeconfig = Kubeconfig::read_from(place.data().join("admin.kubeconfig")).unwrap();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

fn config_map(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(BTreeMap::from([("test".to_owned(), "kube-rs".to_owned())])),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("key".to_owned(), value.to_owned())])),
        ..ConfigMap::default()
    }
}

fn value(object: &ConfigMap) -> &str {
    &object.data.as_ref().unwrap()["key"]
}

fn code(error: kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        other => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_verb() {
    let (_place, server, client) = start().await;
    let version = client.apiserver_version().await.unwrap();
    assert_eq!((&*version.major, &*version.minor), ("1", "36"));
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let post = PostParams::default();

    let made = api.create(&post, &config_map("a", "1")).await.unwrap();
    assert!(made.uid().is_some() && made.resource_version().is_some());
    assert_eq!(code(api.create(&post, &config_map("a", "1")).await.unwrap_err()), 409);
    assert_eq!(api.get("a").await.unwrap(), made);
    assert_eq!(api.get_opt("none").await.unwrap(), None);
    assert_eq!(api.get_metadata("a").await.unwrap().metadata.uid, made.metadata.uid);

    let mut changed = made.clone();
    changed.data = config_map("a", "2").data;
    let replaced = api.replace("a", &post, &changed).await.unwrap();
    assert_eq!(value(&replaced), "2");
    // From a version that is gone.
    assert_eq!(code(api.replace("a", &post, &changed).await.unwrap_err()), 409);

    let merge = Patch::Merge(json!({"data": {"key": "3", "other": "x"}}));
    assert_eq!(value(&api.patch("a", &PatchParams::default(), &merge).await.unwrap()), "3");
    let strategic = Patch::Strategic(json!({"data": {"other": null}}));
    let patched = api.patch("a", &PatchParams::default(), &strategic).await.unwrap();
    assert_eq!(patched.data, config_map("a", "3").data);

    let apply = Patch::Apply(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"key": "1"},
    }));
    let applied = api.patch("b", &PatchParams::apply("one"), &apply).await.unwrap();
    assert_eq!(applied.managed_fields()[0].manager.as_deref(), Some("one"));
    let other = Patch::Apply(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"key": "2"},
    }));
    assert_eq!(code(api.patch("b", &PatchParams::apply("two"), &other).await.unwrap_err()), 409);
    assert_eq!(value(&api.patch("b", &PatchParams::apply("two").force(), &other).await.unwrap()), "2");

    let mut names = BTreeSet::new();
    let mut page = ListParams::default().limit(1).labels("test=kube-rs");
    api.create(&post, &config_map("c", "1")).await.unwrap();
    loop {
        let list = api.list(&page).await.unwrap();
        names.extend(list.items.iter().map(ResourceExt::name_any));
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => break,
        }
    }
    assert_eq!(names, BTreeSet::from(["a".to_owned(), "c".to_owned()]));

    let wrong = Preconditions { resource_version: made.resource_version(), uid: None };
    let wrong = DeleteParams::default().preconditions(wrong);
    assert_eq!(code(api.delete("a", &wrong).await.unwrap_err()), 409);
    assert!(api.delete("a", &DeleteParams::default()).await.unwrap().is_right());
    assert_eq!(code(api.delete("a", &DeleteParams::default()).await.unwrap_err()), 404);
    api.delete_collection(&DeleteParams::default(), &ListParams::default().labels("test=kube-rs")).await.unwrap();
    assert_eq!(api.get_opt("c").await.unwrap(), None);

    let secrets: Api<Secret> = Api::namespaced(client, NAMESPACE);
    let secret = Secret {
        metadata: ObjectMeta { generate_name: Some("s-".to_owned()), ..ObjectMeta::default() },
        string_data: Some(BTreeMap::from([("password".to_owned(), "sesame".to_owned())])),
        ..Secret::default()
    };
    let secret = secrets.create(&post, &secret).await.unwrap();
    assert!(secret.name_any().starts_with("s-"));
    assert_eq!(secret.data.unwrap()["password"].0, b"sesame");
    server.assert_no_panic();
    server.stop().await;
}

/// The next event of a watcher, which must come and be no error.
async fn next(events: &mut (impl Stream<Item = watcher::Result<Event<ConfigMap>>> + Unpin)) -> Event<ConfigMap> {
    tokio::time::timeout(DEADLINE, events.try_next())
        .await
        .expect("no event comes")
        .unwrap()
        .expect("the watcher ended")
}

#[tokio::test(flavor = "multi_thread")]
async fn watchers_in_both_list_modes() {
    let (_place, server, client) = start().await;
    let api: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    for config in [Config::default().page_size(3), Config::default().streaming_lists()] {
        let config = config.labels("test=kube-rs");
        let expected: BTreeSet<String> = (0..10).map(|i| format!("w{i}")).collect();
        for name in &expected {
            api.create(&PostParams::default(), &config_map(name, "1")).await.unwrap();
        }
        let mut events = pin!(watcher(api.clone(), config));
        assert!(matches!(next(&mut events).await, Event::Init));
        let mut listed = BTreeSet::new();
        loop {
            match next(&mut events).await {
                Event::InitApply(object) => assert!(listed.insert(object.name_any()), "listed twice"),
                Event::InitDone => break,
                other => panic!("{other}"),
            }
        }
        assert_eq!(listed, expected);

        let merge = Patch::Merge(json!({"data": {"key": "2"}}));
        api.patch("w3", &PatchParams::default(), &merge).await.unwrap();
        assert!(matches!(next(&mut events).await, Event::Apply(object) if value(&object) == "2"));
        // An object that no longer has the label is gone for this watcher.
        let unlabel = Patch::Merge(json!({"metadata": {"labels": {"test": null}}}));
        api.patch("w4", &PatchParams::default(), &unlabel).await.unwrap();
        assert!(matches!(next(&mut events).await, Event::Delete(object) if object.name_any() == "w4"));
        for name in &expected {
            api.delete(name, &DeleteParams::default()).await.unwrap();
        }
        for name in expected.iter().filter(|name| *name != "w4") {
            assert!(matches!(next(&mut events).await, Event::Delete(object) if object.name_any() == *name));
        }
    }
    server.assert_no_panic();
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reflector_outlives_the_server() {
    let (mut place, server, client) = start().await;
    let api: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    for config in [Config::default(), Config::default().streaming_lists()] {
        let (store, writer) = reflector::store();
        let stream = reflector(writer, watcher(api.clone(), config.labels("test=kube-rs"))).default_backoff();
        let following = tokio::spawn(stream.for_each(|_| async {}));
        tokio::time::timeout(DEADLINE, store.wait_until_ready()).await.unwrap().unwrap();
        for i in 0..20 {
            api.create(&PostParams::default(), &config_map(&format!("r{i}"), "1")).await.unwrap();
        }
        agree(&api, &store).await;
        for i in 0..20 {
            if i % 2 == 0 {
                api.delete(&format!("r{i}"), &DeleteParams::default()).await.unwrap();
            } else {
                let merge = Patch::Merge(json!({"data": {"key": "2"}}));
                api.patch(&format!("r{i}"), &PatchParams::default(), &merge).await.unwrap();
            }
        }
        agree(&api, &store).await;
        following.abort();
        for i in (1..20).step_by(2) {
            api.delete(&format!("r{i}"), &DeleteParams::default()).await.unwrap();
        }
    }

    // The server goes and comes back, and something changes that the reflector has not seen yet.
    let (store, writer) = reflector::store();
    let stream = reflector(writer, watcher(api.clone(), Config::default().labels("test=kube-rs"))).default_backoff();
    let following = tokio::spawn(stream.for_each(|_| async {}));
    tokio::time::timeout(DEADLINE, store.wait_until_ready()).await.unwrap().unwrap();
    api.create(&PostParams::default(), &config_map("before", "1")).await.unwrap();
    agree(&api, &store).await;
    let port = place.port;
    server.stop().await;
    let server = place.start().await;
    assert_eq!(place.port, port, "somebody took the port");
    api.create(&PostParams::default(), &config_map("after", "1")).await.unwrap();
    agree(&api, &store).await;
    following.abort();
    server.assert_no_panic();
    server.stop().await;
}

/// Waits until a reflector's store holds exactly what a list shows.
async fn agree(api: &Api<ConfigMap>, store: &reflector::Store<ConfigMap>) {
    let listed = api.list(&ListParams::default().labels("test=kube-rs")).await.unwrap().items;
    let by_name = |objects: Vec<Arc<ConfigMap>>| -> BTreeMap<String, Arc<ConfigMap>> {
        objects.into_iter().map(|object| (object.name_any(), object)).collect()
    };
    let listed = by_name(listed.into_iter().map(Arc::new).collect());
    let agreed = async {
        while by_name(store.state()) != listed {
            pause().await;
        }
    };
    if tokio::time::timeout(DEADLINE, agreed).await.is_err() {
        assert_eq!(by_name(store.state()), listed);
    }
}

/// A configuration with one key, put in place in one step.
fn use_key(place: &Place, name: &str, byte: u8) {
    use base64::Engine;
    let secret = base64::engine::general_purpose::STANDARD.encode([byte; 32]);
    let providers = json!([{"aesgcm": {"keys": [{"name": name, "secret": secret}]}}]);
    let text = json!({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["configmaps"], "providers": providers}]});
    std::fs::write(place.path("keys.half"), text.to_string()).unwrap();
    std::fs::rename(place.path("keys.half"), place.path("keys")).unwrap();
}

/// Waits until an object is answered with a code.
async fn until(running: &mut Running, name: &str, code: u16) {
    let Running { server, admin, .. } = running;
    let path = format!("/api/v1/namespaces/n/configmaps/{name}");
    let answered = async || match admin.get(&path).await?.code {
        found if found == code => Ok(()),
        found => Err(format!("{name} is answered with {found}").into()),
    };
    server.until(answered).await.unwrap();
}

/// The proposal asks for it: what turned unreadable under a reflector, by damage or by a key that is gone, and was removed
/// unread or became readable again, is in its store as it is in the server. Nothing but the removal is needed.
#[tokio::test(flavor = "multi_thread")]
async fn a_reflector_agrees_with_the_server_after_an_unsafe_delete() {
    const UNSAFE: &str = "ignoreStoreReadErrorWithClusterBreakingPotential=true";
    let place = Place::new();
    use_key(&place, "one", 1);
    let keys = format!("--encryption-provider-config={}", place.path("keys").display());
    let flags = ["--controllers=-*", "--encryption-provider-config-automatic-reload", &keys];
    let door = Door::new();
    let mut running = door.start(place, &flags).await;
    let api: Api<ConfigMap> = Api::namespaced(client(&running.place).await, "n");
    for config in [Config::default(), Config::default().streaming_lists()] {
        for name in ["damaged", "lost", "good"] {
            api.create(&PostParams::default(), &config_map(name, "1")).await.unwrap();
        }
        let (store, writer) = reflector::store();
        let told = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&told);
        let stream = reflector(writer, watcher(api.clone(), config.labels("test=kube-rs"))).default_backoff();
        let following = tokio::spawn(stream.for_each(move |event| {
            counted.fetch_add(usize::from(event.is_err()), Ordering::Relaxed);
            async {}
        }));
        tokio::time::timeout(DEADLINE, store.wait_until_ready()).await.unwrap().unwrap();
        agree(&api, &store).await;

        door.put("/registry/configmaps/n/damaged", b"this is not an object").await;
        until(&mut running, "damaged", 500).await;
        api.create(&PostParams::default(), &config_map("meanwhile", "1")).await.unwrap();
        let remove = async |running: &Running, name: &str| {
            let path = format!("/api/v1/namespaces/n/configmaps/{name}?{UNSAFE}");
            running.admin.delete(&path).await.unwrap().expect(200);
        };
        remove(&running, "damaged").await;
        agree(&api, &store).await;
        assert_eq!(store.state().len(), 3, "lost, good, meanwhile");

        // A key is gone: what it sealed is removed, or readable again when the key returns.
        use_key(&running.place, "two", 2);
        until(&mut running, "lost", 500).await;
        remove(&running, "lost").await;
        use_key(&running.place, "one", 1);
        until(&mut running, "good", 200).await;
        agree(&api, &store).await;
        assert_eq!(store.state().len(), 2, "good, meanwhile");
        assert!(told.load(Ordering::Relaxed) >= 2, "it was told each time");

        // All is well: what comes now, comes to the reflector.
        api.create(&PostParams::default(), &config_map("after", "1")).await.unwrap();
        agree(&api, &store).await;
        following.abort();
        for name in ["good", "meanwhile", "after"] {
            api.delete(name, &DeleteParams::default()).await.unwrap();
        }
    }
    running.stop().await;
}
