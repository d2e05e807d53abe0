//! A lien always wins: over the whole history, no deletion follows a revision that held a lien.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod world;

use std::collections::HashMap;
use std::time::Duration;

use pawl_meta::object::Meta;
use pawl_registry::{Scope, Selection, WatchItem, WatchRequest, WatchStart};
use serde_json::json;
use world::World;

const OBJECTS: usize = 100;
const WRITERS: usize = 10;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_deletion_follows_a_revision_with_a_lien() {
    let world = std::sync::Arc::new(World::new().await);
    let handle = world.control("*");
    let mut owners = Vec::new();
    for i in 0..OBJECTS {
        let owner = world.create("secrets", json!({"metadata": {"name": format!("o{i}"), "namespace": "n"}})).await;
        let finalizers = if i % 3 == 0 { json!(["t.t/hold"]) } else { json!([]) };
        let reference = world::owner("Secret", &owner, i % 2 == 0);
        let metadata = json!({"name": format!("x{i}"), "namespace": "n", "finalizers": finalizers,
            "ownerReferences": [reference]});
        world.create("configmaps", json!({"metadata": metadata})).await;
        owners.push(owner);
    }
    // A thousand additions of liens, as many releases and a thousand deletions, some of them by the collector.
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let world = std::sync::Arc::clone(&world);
        tasks.spawn(async move {
            let (mut won, mut lost) = (0, 0);
            for i in 0..OBJECTS {
                let key = format!("n/x{}", (i * 7 + writer * 13) % OBJECTS);
                let lien = json!({"metadata": {"liens": [format!("t.t/{writer}")]}});
                let delete = world.try_delete("configmaps", &key, Default::default());
                let (added, deleted) = tokio::join!(world.try_patch("configmaps", &key, lien, ""), delete);
                match (added.is_ok(), deleted.is_ok()) {
                    (true, _) => won += 1,
                    (false, true) => lost += 1,
                    (false, false) => {}
                }
                // There is always something to fight over.
                let object = json!({"metadata": {"name": key.replace("n/", ""), "namespace": "n"}});
                let _ = world.try_create("configmaps", object).await;
                if (i + writer) % 4 == 0 {
                    let _ = world.try_delete("secrets", &key.replace('x', "o"), Default::default()).await;
                }
                if i % 2 == 1 {
                    let _ = world.try_patch("configmaps", &key, json!({"metadata": {"liens": []}}), "").await;
                }
            }
            (won, lost)
        });
    }
    let (mut won, mut lost) = (0, 0);
    while let Some(counted) = tasks.join_next().await {
        let (w, l) = counted.unwrap();
        won += w;
        lost += l;
    }
    assert!(won > 0 && lost > 0, "a race needs two: {won} {lost}");
    handle.stop().await;
    let request = WatchRequest {
        scope: Scope::All,
        selection: Selection::default(),
        start: WatchStart::After(world.beginning),
        bookmarks: false,
        tolerant: false,
    };
    let mut watcher = world.registry.watch(&world.served("configmaps"), request).await.unwrap();
    let mut held: HashMap<String, bool> = HashMap::new();
    let mut begun: HashMap<String, bool> = HashMap::new();
    let mut events = 0;
    while let Ok(items) = tokio::time::timeout(Duration::from_millis(500), watcher.next()).await {
        for item in items {
            events += 1;
            let (entry, ended) = match item {
                WatchItem::Added(entry) | WatchItem::Modified(entry) => (entry, false),
                WatchItem::Deleted(entry) => (entry, true),
                other => panic!("{other:?}"),
            };
            let object = entry.readable().unwrap().object(entry.revision);
            let uid = object.uid().to_owned();
            let begins = (ended || object.is_deleting()) && !begun.get(&uid).copied().unwrap_or(false);
            if begins {
                assert!(!held.get(&uid).copied().unwrap_or(false), "{} was held and its deletion began", entry.key);
            }
            begun.insert(uid.clone(), ended || object.is_deleting());
            held.insert(uid, !object.meta_strings("liens").is_empty());
        }
    }
    assert!(events > OBJECTS, "the history was read: {events}");
}
