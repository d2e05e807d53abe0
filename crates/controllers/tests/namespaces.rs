//! How namespaces end, on a real registry: over the whole history of the watches, not only at the end.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod world;

use std::time::Duration;

use pawl_controllers::{Controllers, Options};
use pawl_deletion::Propagation::Background;
use pawl_meta::object::{Meta, Object, at};
use pawl_registry::{Scope, Selection, WatchItem, WatchRequest, WatchStart};
use serde_json::{Value, json};
use world::World;

fn pod(name: &str, more: Value) -> Value {
    let mut metadata = json!({"name": name, "namespace": "n"});
    for (key, value) in more.as_object().unwrap() {
        metadata[key] = value.clone();
    }
    json!({"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}],
        "volumes": [{"name": "v", "secret": {"secretName": "used"}}]}})
}

fn object(name: &str, more: Value) -> Value {
    let mut metadata = json!({"name": name, "namespace": "n"});
    for (key, value) in more.as_object().unwrap() {
        metadata[key] = value.clone();
    }
    json!({"metadata": metadata})
}

fn condition(namespace: &Object, kind: &str) -> Option<(String, String)> {
    let conditions = at(namespace, "status.conditions")?.as_array()?;
    let found = conditions.iter().find(|c| c["type"] == kind)?;
    Some((found["reason"].as_str()?.to_owned(), found["message"].as_str()?.to_owned()))
}

async fn until_condition(world: &World, kind: &str, reason: &str) -> String {
    let now = |world: &World| world.get("namespaces", "n").and_then(|n| condition(&n, kind)).filter(|c| c.0 == reason);
    world.until(&format!("{kind} {reason}"), |world| now(world).is_some()).await;
    now(world).unwrap().1
}

/// In which order the deletions of objects began, from the beginning on.
async fn order(world: &World, plurals: &[&str]) -> Vec<String> {
    let mut began: Vec<(u64, String)> = Vec::new();
    for plural in plurals {
        let start = WatchStart::After(world.beginning);
        let request = WatchRequest {
            scope: Scope::All,
            selection: Selection::default(),
            start,
            bookmarks: false,
            tolerant: false,
        };
        let mut watcher = world.registry.watch(&world.served(plural), request).await.unwrap();
        while let Ok(items) = tokio::time::timeout(Duration::from_millis(100), watcher.next()).await {
            for item in items {
                let (entry, ends) = match item {
                    WatchItem::Added(entry) | WatchItem::Modified(entry) => (entry, false),
                    WatchItem::Deleted(entry) => (entry, true),
                    other => panic!("{other:?}"),
                };
                let deleting = entry.readable().unwrap().object(entry.revision).is_deleting();
                if (ends || deleting) && !began.iter().any(|(_, key)| *key == *entry.key) {
                    began.push((entry.revision, entry.key.to_string()));
                }
            }
        }
    }
    began.sort_unstable();
    began.into_iter().map(|(_, key)| key.trim_start_matches("n/").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_goes_and_pods_go_first() {
    let world = World::new().await;
    let handle = world.control("*");
    world.create("secrets", object("used", json!({}))).await;
    world.create("configmaps", object("a", json!({}))).await;
    world.create("pods", pod("p", json!({}))).await;
    world.create("pods", pod("q", json!({"finalizers": ["t.t/hold"]}))).await;
    world.delete("namespaces", "n", Background).await;
    world.until_gone("pods", "n/p").await;
    let remaining = until_condition(&world, "NamespaceContentRemaining", "SomeResourcesRemain").await;
    assert!(remaining.contains("pods. has 1 resource instances"), "{remaining}");
    let finalizers = until_condition(&world, "NamespaceFinalizersRemaining", "SomeFinalizersRemain").await;
    assert!(finalizers.ends_with("finalizers remaining: t.t/hold in 1 resource instances"), "{finalizers}");
    // Nothing that a pod may use has gone while one was there.
    assert!(world.get("secrets", "n/used").is_some() && world.get("configmaps", "n/a").is_some());
    assert_eq!(at(&world.get("namespaces", "n").unwrap(), "status.phase").unwrap(), "Terminating");
    let late = world.try_create("configmaps", object("late", json!({}))).await;
    assert_eq!(late.unwrap_err().code, 403);
    world.patch("pods", "n/q", json!({"metadata": {"finalizers": null}})).await;
    world.until_gone("namespaces", "n").await;
    let order = order(&world, &["pods", "secrets", "configmaps"]).await;
    assert_eq!(
        order.iter().position(|name| name == "used").into_iter().chain(order.iter().position(|n| n == "a")).min(),
        Some(2),
        "{order:?}"
    );
    world.until("all is counted", |_| handle.counters().namespaces_finalized == 1).await;
    assert_eq!(handle.counters().liens_ignored, 0);
    handle.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_liens_hold_goes_as_they_are_let_go() {
    let world = World::new().await;
    // A stall that never comes: only released liens let things go.
    let options = Options { namespace_stall: Duration::from_secs(3600), ..Options::default() };
    let handle = Controllers::start(world.registry.clone(), "*", options).unwrap();
    world.create("secrets", object("used", json!({"liens": ["t.t/use"]}))).await;
    world.create("secrets", object("other", json!({"liens": ["t.t/use"]}))).await;
    world.create("configmaps", object("free", json!({}))).await;
    world.create("pods", pod("p", json!({}))).await;
    world.delete("namespaces", "n", Background).await;
    let failed = until_condition(&world, "NamespaceDeletionContentFailure", "ContentDeletionFailed").await;
    assert_eq!(failed, "Failed to delete all resource types, 1 remaining: secrets held by liens: \"other\", \"used\"");
    world.until_gone("configmaps", "n/free").await;
    world.patch("secrets", "n/used", json!({"metadata": {"liens": []}})).await;
    world.until_gone("secrets", "n/used").await;
    assert!(world.get("secrets", "n/other").is_some());
    world.patch("secrets", "n/other", json!({"metadata": {"liens": null}})).await;
    world.until_gone("namespaces", "n").await;
    assert_eq!(order(&world, &["pods", "secrets", "configmaps"]).await, ["p", "free", "used", "other"]);
    assert_eq!(handle.counters().liens_ignored, 0);
    handle.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_namespace_ends_in_spite_of_liens() {
    let world = World::new().await;
    let handle = world.control("*");
    world.create("secrets", object("used", json!({}))).await;
    world.create("secrets", object("free", json!({}))).await;
    world.create("configmaps", object("held", json!({"liens": ["t.t/use"]}))).await;
    world.create("pods", pod("p", json!({"liens": ["t.t/use"]}))).await;
    world.delete("namespaces", "n", Background).await;
    world.until_gone("namespaces", "n").await;
    // What is free goes first, the pod before what it uses, what is held last.
    assert_eq!(order(&world, &["pods", "secrets", "configmaps"]).await, ["free", "p", "used", "held"]);
    assert_eq!(handle.counters().liens_ignored, 2);
    handle.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lien_on_the_namespace_itself_stops_its_deletion() {
    let world = World::new().await;
    let handle = world.control("*");
    world.create("configmaps", object("a", json!({}))).await;
    world.patch("namespaces", "n", json!({"metadata": {"liens": ["t.t/keep"]}})).await;
    let refused = world.try_delete("namespaces", "n", Default::default()).await.err().unwrap();
    assert_eq!(refused.code, 409);
    world.patch("namespaces", "n", json!({"metadata": {"liens": []}})).await;
    world.delete("namespaces", "n", Background).await;
    world.until_gone("namespaces", "n").await;
    handle.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_gate_off_liens_hold_nothing() {
    let world = World::new().await;
    world.create("secrets", object("held", json!({"liens": ["t.t/use"]}))).await;
    world.delete("namespaces", "n", Background).await;
    let world = world.restart(false).await;
    let options = Options { namespace_stall: Duration::from_secs(3600), ..Options::default() };
    let handle = Controllers::start(world.registry.clone(), "*", options).unwrap();
    world.until_gone("namespaces", "n").await;
    assert_eq!(handle.counters().liens_ignored, 0);
    handle.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_finalizers_hold_the_namespace_but_not_its_content() {
    let world = World::new().await;
    let handle = world.control("*");
    world.patch("namespaces", "n", json!({"metadata": {"finalizers": ["t.t/hold"]}})).await;
    world.create("configmaps", object("a", json!({}))).await;
    world.delete("namespaces", "n", Background).await;
    world
        .until("its own finalizer is gone", |world| {
            let namespace = world.get("namespaces", "n").unwrap();
            at(&namespace, "spec.finalizers").and_then(Value::as_array).is_none_or(Vec::is_empty)
        })
        .await;
    assert!(world.get("configmaps", "n/a").is_none());
    until_condition(&world, "NamespaceContentRemaining", "ContentRemoved").await;
    world.patch("namespaces", "n", json!({"metadata": {"finalizers": null}})).await;
    world.until_gone("namespaces", "n").await;
    handle.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_stays_behind_however_late_it_comes() {
    let world = World::new().await;
    let handle = world.control("*");
    for round in 0..20 {
        let name = format!("n{round}");
        world.create("namespaces", json!({"metadata": {"name": name}})).await;
        let writes = (0..32).map(|i| {
            let object = json!({"metadata": {"name": format!("c{i}"), "namespace": name}});
            world.try_create("configmaps", object)
        });
        // Some are admitted before the deletion and stored after it.
        let (_, ()) = tokio::join!(futures::future::join_all(writes), world.delete("namespaces", &name, Background));
        world.until_gone("namespaces", &name).await;
        let prefix = format!("{name}/");
        world
            .until("nothing is left", |world| world.all("configmaps").keys().all(|key| !key.starts_with(&prefix)))
            .await;
    }
    handle.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_objects_go() {
    let world = World::new().await;
    let handle = world.control("*");
    for i in 0..1000 {
        world.create(["configmaps", "secrets"][i % 2], object(&format!("x{i}"), json!({}))).await;
    }
    world.delete("namespaces", "n", Background).await;
    world.until_gone("namespaces", "n").await;
    assert_eq!(world.all("configmaps").len() + world.all("secrets").len(), 0);
    handle.stop().await;
}
