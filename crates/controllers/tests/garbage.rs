//! What the garbage collector does, on a real registry.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod world;

use pawl_deletion::Propagation::{Background, Foreground, Orphan};
use pawl_meta::object::{Meta, Object};
use serde_json::{Value, json};
use world::{World, owner};

async fn config_map(world: &World, name: &str, owners: &[Value]) -> Object {
    world.create("configmaps", json!({"metadata": {"name": name, "namespace": "n", "ownerReferences": owners}})).await
}

fn exists(world: &World, name: &str) -> bool {
    world.get("configmaps", &format!("n/{name}")).is_some()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dependents_go_with_their_owner() {
    let world = World::new().await;
    let handle = world.control("garbagecollector");
    let a = config_map(&world, "a", &[]).await;
    let b = config_map(&world, "b", &[owner("ConfigMap", &a, false)]).await;
    config_map(&world, "c", &[owner("ConfigMap", &b, false)]).await;
    config_map(&world, "other", &[]).await;
    world.delete("configmaps", "n/a", Background).await;
    world.until_gone("configmaps", "n/c").await;
    assert!(!exists(&world, "b") && exists(&world, "other"));
    world.until("all is counted", |_| handle.counters().collected == 2).await;
    handle.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dependent_stays_while_another_owner_is_there() {
    let world = World::new().await;
    let handle = world.control("*");
    let a = config_map(&world, "a", &[]).await;
    let b = config_map(&world, "b", &[]).await;
    config_map(&world, "x", &[owner("ConfigMap", &a, true), owner("ConfigMap", &b, true)]).await;
    world.delete("configmaps", "n/a", Foreground).await;
    world.until_gone("configmaps", "n/a").await;
    let x = world.get("configmaps", "n/x").unwrap();
    assert_eq!(x["metadata"]["ownerReferences"].as_array().unwrap().len(), 1);
    assert_eq!(x["metadata"]["ownerReferences"][0]["name"], "b");
    handle.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orphans_forget_their_owner() {
    let world = World::new().await;
    let handle = world.control("*");
    let a = config_map(&world, "a", &[]).await;
    for i in 0..50 {
        config_map(&world, &format!("x{i}"), &[owner("ConfigMap", &a, true)]).await;
    }
    world.delete("configmaps", "n/a", Orphan).await;
    world.until_gone("configmaps", "n/a").await;
    for i in 0..50 {
        let x = world.get("configmaps", &format!("n/x{i}")).unwrap();
        assert!(x["metadata"].get("ownerReferences").is_none(), "{x:?}");
    }
    assert_eq!(handle.counters().orphaned, 50);
    handle.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreground_deletion_waits_for_what_blocks_it() {
    let world = World::new().await;
    let handle = world.control("*");
    let a = config_map(&world, "a", &[]).await;
    let b = world
        .create(
            "configmaps",
            json!({"metadata": {"name": "b", "namespace": "n", "finalizers": ["t.t/hold"],
            "ownerReferences": [owner("ConfigMap", &a, true)]}}),
        )
        .await;
    config_map(&world, "c", &[owner("ConfigMap", &b, true)]).await;
    config_map(&world, "free", &[owner("ConfigMap", &a, false)]).await;
    world.delete("configmaps", "n/a", Foreground).await;
    world.until_gone("configmaps", "n/c").await;
    world.until_gone("configmaps", "n/free").await;
    world
        .until("b is let go by the collector", |world| {
            world.get("configmaps", "n/b").is_some_and(|b| b.meta_strings("finalizers") == ["t.t/hold"])
        })
        .await;
    assert!(world.get("configmaps", "n/a").unwrap().is_deleting());
    world.patch("configmaps", "n/b", json!({"metadata": {"finalizers": null}})).await;
    world.until_gone("configmaps", "n/a").await;
    handle.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_lien_holds_stays_until_it_is_let_go() {
    let world = World::new().await;
    let handle = world.control("*");
    let held = |name: &str, owners: Value| json!({"metadata": {"name": name, "namespace": "n", "liens": ["t.t/use"], "ownerReferences": owners}});
    // In the background the owner goes at once.
    let a = config_map(&world, "a", &[]).await;
    world.create("configmaps", held("x", json!([owner("ConfigMap", &a, true)]))).await;
    world.delete("configmaps", "n/a", Background).await;
    world.until("somebody says why", |world| world.events("LienHeld").len() == 1).await;
    let (about, message) = world.events("LienHeld").remove(0);
    assert_eq!(about, "x");
    assert!(message.contains("held by liens: \"t.t/use\""), "{message}");
    assert!(handle.counters().held >= 1 && !exists(&world, "a") && exists(&world, "x"));
    world.patch("configmaps", "n/x", json!({"metadata": {"liens": []}})).await;
    world.until_gone("configmaps", "n/x").await;
    // In the foreground it waits for what blocks it, and not for what does not.
    let b = config_map(&world, "b", &[]).await;
    let c = config_map(&world, "c", &[]).await;
    world.create("configmaps", held("y", json!([owner("ConfigMap", &b, true)]))).await;
    world.create("configmaps", held("z", json!([owner("ConfigMap", &c, false)]))).await;
    world.delete("configmaps", "n/c", Foreground).await;
    world.until_gone("configmaps", "n/c").await;
    world.delete("configmaps", "n/b", Foreground).await;
    world.until("y is told of", |world| world.events("LienHeld").iter().any(|(name, _)| name == "y")).await;
    assert!(exists(&world, "b") && exists(&world, "y") && exists(&world, "z"));
    world.patch("configmaps", "n/y", json!({"metadata": {"liens": null}})).await;
    world.until_gone("configmaps", "n/b").await;
    assert!(!exists(&world, "y") && exists(&world, "z"));
    handle.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn references_that_name_nothing() {
    let world = World::new().await;
    world.create("namespaces", json!({"metadata": {"name": "m"}})).await;
    let there = world.create("configmaps", json!({"metadata": {"name": "there", "namespace": "m"}})).await;
    let here = config_map(&world, "here", &[]).await;
    let namespace = world.get("namespaces", "m").unwrap();
    let handle = world.control("*");
    let wrong = |mut reference: Value, field: &str, value: &str| {
        reference[field] = json!(value);
        reference
    };
    let at_here = owner("ConfigMap", &here, false);
    // An owner that never was.
    config_map(&world, "nobody", &[wrong(at_here.clone(), "uid", "u-u")]).await;
    world.until_gone("configmaps", "n/nobody").await;
    // The right uid under a wrong name or kind is no owner.
    config_map(&world, "name", &[wrong(at_here.clone(), "name", "elsewhere")]).await;
    config_map(&world, "kind", &[wrong(at_here.clone(), "kind", "Secret")]).await;
    world.until_gone("configmaps", "n/name").await;
    world.until_gone("configmaps", "n/kind").await;
    // Neither is one in another namespace; that is told.
    config_map(&world, "across", &[owner("ConfigMap", &there, false)]).await;
    world.until_gone("configmaps", "n/across").await;
    world
        .until("the reference across is told of", |world| {
            world.events("OwnerRefInvalidNamespace").iter().any(|(name, _)| name == "across")
        })
        .await;
    // A kind that nobody serves may come: its dependents stay.
    config_map(&world, "later", &[wrong(at_here.clone(), "apiVersion", "example.com/v1")]).await;
    // A cluster-scoped object cannot belong to one in a namespace: it stays, and that is told.
    let misplaced = json!({"metadata": {"name": "misplaced", "ownerReferences": [at_here]}, "rules": []});
    world.create("clusterroles", misplaced).await;
    world
        .until("the misplaced reference is told of", |world| {
            world.events("OwnerRefInvalidNamespace").iter().any(|(name, _)| name == "misplaced")
        })
        .await;
    // A cluster-scoped owner may be referenced from everywhere.
    config_map(&world, "of-namespace", &[owner("Namespace", &namespace, false)]).await;
    world.delete("configmaps", "n/here", Background).await;
    let marker = config_map(&world, "marker", &[]).await;
    config_map(&world, "last", &[owner("ConfigMap", &marker, false)]).await;
    world.delete("configmaps", "n/marker", Background).await;
    world.until_gone("configmaps", "n/last").await;
    assert!(exists(&world, "of-namespace") && exists(&world, "later"));
    assert!(world.get("clusterroles", "misplaced").is_some());
    handle.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rings_of_owners_come_apart() {
    let world = World::new().await;
    let handle = world.control("*");
    for (round, policy) in [Background, Foreground, Foreground].into_iter().enumerate() {
        let mut ring = Vec::new();
        for i in 0..5 {
            ring.push(config_map(&world, &format!("r{round}-{i}"), &[]).await);
        }
        for i in 0..5 {
            let references = json!([owner("ConfigMap", &ring[(i + 1) % 5], true)]);
            let patch = json!({"metadata": {"ownerReferences": references}});
            world.patch("configmaps", &format!("n/r{round}-{i}"), patch).await;
        }
        world.delete("configmaps", &format!("n/r{round}-0"), policy).await;
        if round == 2 {
            let options = pawl_deletion::DeleteOptions { propagation: Some(policy), ..Default::default() };
            let _ = world.try_delete("configmaps", "n/r2-3", options).await;
        }
        for i in 0..5 {
            world.until_gone("configmaps", &format!("n/r{round}-{i}")).await;
        }
    }
    // What owns itself does not wait for itself.
    let own = config_map(&world, "own", &[]).await;
    let patch = json!({"metadata": {"ownerReferences": [owner("ConfigMap", &own, true)]}});
    world.patch("configmaps", "n/own", patch).await;
    world.delete("configmaps", "n/own", Foreground).await;
    world.until_gone("configmaps", "n/own").await;
    handle.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happened_before_the_start_is_made_up_for() {
    let world = World::new().await;
    let a = config_map(&world, "a", &[]).await;
    let b = config_map(&world, "b", &[]).await;
    let c = config_map(&world, "c", &[]).await;
    config_map(&world, "of-a", &[owner("ConfigMap", &a, false)]).await;
    config_map(&world, "of-b", &[owner("ConfigMap", &b, true)]).await;
    config_map(&world, "of-c", &[owner("ConfigMap", &c, false)]).await;
    world.delete("configmaps", "n/a", Background).await;
    world.delete("configmaps", "n/b", Foreground).await;
    world.delete("configmaps", "n/c", Orphan).await;
    let handle = world.control("*");
    for gone in ["of-a", "b", "of-b", "c"] {
        world.until_gone("configmaps", &format!("n/{gone}")).await;
    }
    assert!(exists(&world, "of-c"));
    handle.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resources_that_come_are_followed() {
    let world = World::new().await;
    let handle = world.control("*");
    let a = config_map(&world, "a", &[]).await;
    let mut widgets = pawl_kinds::builtin().iter().find(|r| r.facts.plural == "configmaps").unwrap().clone();
    widgets.facts.group = "example.com".to_owned();
    widgets.facts.kind = "Widget".to_owned();
    widgets.facts.plural = "widgets".to_owned();
    widgets.facts.key = "example.com/widgets".to_owned();
    let reference = json!({"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": "u-u"});
    config_map(&world, "of-widget", &[reference]).await;
    let mut table = (*world.registry.table()).clone();
    table.add(widgets, world.registry.storage().applied());
    world.registry.set_table(table);
    // The kind is known now, so it is known that there is no such widget.
    world.until_gone("configmaps", "n/of-widget").await;
    let owned =
        json!({"metadata": {"name": "w", "namespace": "n", "ownerReferences": [owner("ConfigMap", &a, false)]}});
    world.create("widgets", owned).await;
    world.delete("configmaps", "n/a", Background).await;
    world.until_gone("widgets", "n/w").await;
    handle.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_dependents_go() {
    let world = World::new().await;
    let handle = world.control("*");
    let a = config_map(&world, "a", &[]).await;
    for i in 0..1000 {
        config_map(&world, &format!("x{i}"), &[owner("ConfigMap", &a, true)]).await;
    }
    world.delete("configmaps", "n/a", Foreground).await;
    world.until_gone("configmaps", "n/a").await;
    assert_eq!(world.all("configmaps").len(), 0);
    world.until("all is counted", |_| handle.counters().collected == 1000).await;
    handle.stop().await;
}

/// Damages what is stored of an object.
async fn damage(world: &World, name: &str) {
    let kv = world.registry.storage().kv();
    let key = bytes::Bytes::from(format!("/registry/configmaps/n/{name}"));
    let held = kv.get(key.clone()).await.unwrap().unwrap();
    let change = pawl_kv::Change::Put { value: "damaged".into(), ttl: None };
    let expect = pawl_kv::Expect::Revision(held.mod_revision);
    kv.write(pawl_kv::Write::new(key, expect, change)).await.unwrap();
    world.registry.storage().catch_up().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_cannot_be_read_is_still_an_owner_and_so_is_who_may_come_back() {
    let world = World::new().await;
    let handle = world.control("garbagecollector");
    let a = config_map(&world, "a", &[]).await;
    config_map(&world, "x", &[owner("ConfigMap", &a, false)]).await;
    damage(&world, "a").await;
    let told = |world: &World| {
        let events = world.registry.table().find("", "v1", "events").unwrap().stored.cache.objects();
        events.values().filter_map(|entry| entry.readable()).any(|event| {
            let event = event.object(0);
            event["reason"] == "StorageReadError" && event["involvedObject"]["name"] == "a"
        })
    };
    world.until("an event tells of it", told).await;
    // A dependent that is looked at finds its owner, readable or not.
    world
        .create(
            "configmaps",
            json!({"metadata": {"name": "y", "namespace": "n",
        "ownerReferences": [owner("ConfigMap", &a, false)]}}),
        )
        .await;
    let options = pawl_deletion::DeleteOptions { ignore_read_errors: true, ..Default::default() };
    let request = pawl_registry::DeleteRequest { namespace: "n", name: "a", options: &options };
    let (cx, served) = (pawl_registry::Context::own(), world.served("configmaps"));
    assert!(world.registry.delete(&cx, &served, request).await.is_ok());
    // Something that goes after it shows that the collector has seen all of this.
    let b = config_map(&world, "b", &[]).await;
    config_map(&world, "z", &[owner("ConfigMap", &b, false)]).await;
    world.delete("configmaps", "n/b", Background).await;
    world.until_gone("configmaps", "n/z").await;
    assert!(exists(&world, "x") && exists(&world, "y"), "their owner is in quarantine");
    handle.stop().await;
}
