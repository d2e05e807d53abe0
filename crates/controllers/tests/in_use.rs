//! Secrets and ConfigMaps in use, on a real registry: liens come and go with their users, whatever happens in between, and
//! what is used is not deleted, not even before its lien is there.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod world;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use pawl_controllers::{Controllers, Handle, Options};
use pawl_deletion::DeleteOptions;
use pawl_deletion::Propagation::Background;
use pawl_meta::object::{Meta, at};
use pawl_registry::{Scope, Selection, WatchItem, WatchRequest, WatchStart};
use serde_json::{Value, json};
use world::World;

const LIEN: &str = "kubernetes.io/secret-protection";
const BOTH: &str = "secret-protection-controller,configmap-protection-controller";

fn secret(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "n",
        "annotations": {"kubernetes.io/enable-secret-protection": "yes"}}})
}

fn pod(name: &str, secrets: &[&str]) -> Value {
    let volumes: Vec<Value> = secrets
        .iter()
        .enumerate()
        .map(|(i, s)| json!({"name": format!("v{i}"), "secret": {"secretName": s}}))
        .collect();
    json!({"metadata": {"name": name, "namespace": "n"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "volumes": volumes}})
}

fn volume(name: &str, policy: &str, secret: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": policy, "storageClassName": "fast",
        "claimRef": {"namespace": "n", "name": "data"},
        "csi": {"driver": "d.example.com", "volumeHandle": "h",
            "controllerPublishSecretRef": {"name": secret, "namespace": "n"}}}})
}

fn liens(world: &World, plural: &str, key: &str) -> Vec<String> {
    let object = world.get(plural, key);
    object.iter().flat_map(|object| object.meta_strings("liens")).map(str::to_owned).collect()
}

async fn until_liens(world: &World, key: &str, expect: &[&str]) {
    world.until(&format!("{key} has liens {expect:?}"), |world| liens(world, "secrets", key) == expect).await;
}

/// Waits until nothing has been written for a while.
async fn until_still(world: &World) {
    let mut seen = 0;
    loop {
        let now = world.registry.storage().catch_up().await.unwrap();
        if now == seen {
            return;
        }
        seen = now;
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

#[tokio::test]
async fn a_lien_comes_with_the_first_user_and_goes_with_the_last() {
    let world = World::new().await;
    let handle = world.control(BOTH);
    world.create("secrets", secret("s")).await;
    world.create("pods", pod("a", &["s"])).await;
    world.create("pods", pod("b", &["s"])).await;
    until_liens(&world, "n/s", &[LIEN]).await;
    world.delete("pods", "n/a", Background).await;
    until_still(&world).await;
    assert_eq!(liens(&world, "secrets", "n/s"), [LIEN]);
    world.delete("pods", "n/b", Background).await;
    until_liens(&world, "n/s", &[]).await;
    world.delete("secrets", "n/s", Background).await;
    handle.stop().await;
}

#[tokio::test]
async fn a_finished_pod_is_a_user() {
    let world = World::new().await;
    let handle = world.control(BOTH);
    world.create("secrets", secret("s")).await;
    world.create("pods", pod("a", &["s"])).await;
    world.patch_status("pods", "n/a", json!({"status": {"phase": "Succeeded"}})).await;
    until_liens(&world, "n/s", &[LIEN]).await;
    assert!(world.try_delete("secrets", "n/s", DeleteOptions::default()).await.is_err());
    handle.stop().await;
}

#[tokio::test]
async fn the_annotation_decides_and_other_liens_stay() {
    let world = World::new().await;
    let handle = world.control(BOTH);
    world.create("pods", pod("a", &["s"])).await;
    let mut plain = secret("s");
    plain["metadata"]["annotations"]["kubernetes.io/enable-secret-protection"] = json!("true");
    plain["metadata"]["liens"] = json!(["example.com/other"]);
    world.create("secrets", plain).await;
    until_still(&world).await;
    assert_eq!(liens(&world, "secrets", "n/s"), ["example.com/other"]);
    let annotate =
        |value: Value| json!({"metadata": {"annotations": {"kubernetes.io/enable-secret-protection": value}}});
    world.patch("secrets", "n/s", annotate(json!("yes"))).await;
    until_liens(&world, "n/s", &["example.com/other", LIEN]).await;
    world.patch("secrets", "n/s", annotate(Value::Null)).await;
    until_liens(&world, "n/s", &["example.com/other"]).await;
    handle.stop().await;
}

#[tokio::test]
async fn a_user_that_was_there_first_counts_for_a_secret_that_comes_and_comes_again() {
    let world = World::new().await;
    let handle = world.control(BOTH);
    world.create("pods", pod("a", &["s"])).await;
    for _ in 0..2 {
        world.create("secrets", secret("s")).await;
        until_liens(&world, "n/s", &[LIEN]).await;
        let options = DeleteOptions { ignore_liens: true, ..DeleteOptions::default() };
        world.try_delete("secrets", "n/s", options).await.map(drop).unwrap();
    }
    handle.stop().await;
}

#[tokio::test]
async fn what_was_missed_while_the_controller_was_off_is_made_up_for() {
    let world = World::new().await;
    let handle = world.control(BOTH);
    for name in ["stale", "kept", "fresh", "stray"] {
        world.create("secrets", secret(name)).await;
    }
    world.create("pods", pod("a", &["stale"])).await;
    world.create("pods", pod("b", &["kept"])).await;
    world.create("pods", pod("d", &["stray"])).await;
    for name in ["stale", "kept", "stray"] {
        until_liens(&world, &format!("n/{name}"), &[LIEN]).await;
    }
    handle.stop().await;
    world.delete("pods", "n/a", Background).await;
    world.create("pods", pod("c", &["fresh"])).await;
    let off = json!({"metadata": {"annotations": {"kubernetes.io/enable-secret-protection": null}}});
    world.patch("secrets", "n/stray", off).await;
    until_still(&world).await;
    assert_eq!(liens(&world, "secrets", "n/fresh"), [""; 0]);
    // A server that starts anew knows nothing of before.
    let world = world.restart(true).await;
    let handle = world.control(BOTH);
    for (name, expect) in [("stale", &[][..]), ("kept", &[LIEN]), ("fresh", &[LIEN]), ("stray", &[])] {
        until_liens(&world, &format!("n/{name}"), expect).await;
    }
    handle.stop().await;
}

#[tokio::test]
async fn what_is_used_cannot_be_deleted_before_its_lien_is_there() {
    let world = World::new().await;
    // A controller that has no time: its liens never come, and what is used stays all the same.
    let held = json!({"metadata": {"liens": (0..32).map(|i| format!("t.t/{i}")).collect::<Vec<_>>()}});
    let handle = world.control(BOTH);
    world.create("secrets", secret("s")).await;
    world.patch("secrets", "n/s", held).await;
    world.create("pods", pod("a", &["s"])).await;
    world.patch("secrets", "n/s", json!({"metadata": {"liens": []}})).await;
    let status = world.try_delete("secrets", "n/s", DeleteOptions::default()).await.map(drop).unwrap_err();
    assert!(pawl_deletion::is_held(&status), "{status}");
    // Who deletes in spite of liens deletes in spite of users.
    let options = DeleteOptions { ignore_liens: true, ..DeleteOptions::default() };
    world.try_delete("secrets", "n/s", options).await.map(drop).unwrap();
    handle.stop().await;
    // Requests are still answered when controllers have stopped: it is the server that keeps what is used.
    world.create("secrets", secret("s")).await;
    assert!(world.try_delete("secrets", "n/s", DeleteOptions::default()).await.is_err());
    let world = world.restart(true).await;
    world.delete("secrets", "n/s", Background).await;
}

#[tokio::test]
async fn where_liens_do_not_hold_nothing_is_done() {
    let world = World::new().await;
    let handle = world.control(BOTH);
    world.create("secrets", secret("s")).await;
    world.create("pods", pod("a", &["s"])).await;
    until_liens(&world, "n/s", &[LIEN]).await;
    handle.stop().await;
    let world = world.restart(false).await;
    let handle = world.control(BOTH);
    world.create("secrets", secret("t")).await;
    world.create("pods", pod("b", &["t"])).await;
    until_still(&world).await;
    assert_eq!((liens(&world, "secrets", "n/s"), liens(&world, "secrets", "n/t")), (vec![LIEN.to_owned()], vec![]));
    assert_eq!(handle.counters().retries, 0);
    world.delete("secrets", "n/s", Background).await;
    world.delete("secrets", "n/t", Background).await;
    handle.stop().await;
}

#[tokio::test]
async fn a_secret_that_takes_no_more_liens_is_not_asked_all_the_time() {
    let world = World::new().await;
    let handle = world.control(BOTH);
    let mut full = secret("s");
    full["metadata"]["liens"] = json!((0..32).map(|i| format!("t.t/{i}")).collect::<Vec<_>>());
    world.create("secrets", full).await;
    world.create("pods", pod("a", &["s"])).await;
    until_still(&world).await;
    world.patch("secrets", "n/s", json!({"metadata": {"liens": ["t.t/0"]}})).await;
    until_liens(&world, "n/s", &["t.t/0", LIEN]).await;
    handle.stop().await;
}

/// A claim, its volume and the Secret of both in a namespace that is deleted. The quiet time is short here, and the driver
/// takes many times as long.
#[tokio::test]
async fn a_secret_outlives_the_volume_that_needs_it() {
    let world = World::new().await;
    let options = Options { namespace_stall: Duration::from_millis(50), ..Options::default() };
    let handle = Controllers::start(Arc::clone(&world.registry), "*", options).unwrap();
    world.create("secrets", secret("s")).await;
    world.create("secrets", json!({"metadata": {"name": "plain", "namespace": "n"}})).await;
    let claim = json!({"metadata": {"name": "data", "namespace": "n"}, "spec": {"accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast", "volumeName": "pv", "resources": {"requests": {"storage": "1Gi"}}}});
    world.create("persistentvolumeclaims", claim).await;
    world.create("persistentvolumes", volume("pv", "Delete", "s")).await;
    world.patch_status("persistentvolumes", "pv", json!({"status": {"phase": "Bound"}})).await;
    until_liens(&world, "n/s", &[LIEN]).await;
    // Somebody else holds the claim for a while: the volume has not been let go yet.
    world.patch("persistentvolumeclaims", "n/data", json!({"metadata": {"finalizers": ["t.t/hold"]}})).await;
    world.delete("namespaces", "n", Background).await;
    world.until_gone("secrets", "n/plain").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(world.get("secrets", "n/s").is_some(), "the claim is going, and its volume with it");
    world.patch_status("persistentvolumes", "pv", json!({"status": {"phase": "Released"}})).await;
    world.patch("persistentvolumeclaims", "n/data", json!({"metadata": {"finalizers": []}})).await;
    world.until_gone("persistentvolumeclaims", "n/data").await;
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert!(world.get("secrets", "n/s").is_some(), "the volume is still there");
    let namespace = world.get("namespaces", "n").unwrap();
    let conditions = at(&namespace, "status.conditions").unwrap().to_string();
    assert!(
        conditions.contains("secrets \\\"s\\\" used by PersistentVolume \\\"pv\\\", which is going"),
        "{conditions}"
    );
    world.delete("persistentvolumes", "pv", Background).await;
    world.until_gone("namespaces", "n").await;
    handle.stop().await;
}

/// Story 2 with the times that servers have: ten quiet seconds, and a driver that takes sixty to delete its volume. The clock
/// is ours. Without the volume the same namespace is gone long before.
#[tokio::test]
async fn a_secret_waits_a_minute_for_a_slow_driver() {
    for needed in [true, false] {
        let world = World::new().await;
        let handle = Controllers::start(Arc::clone(&world.registry), "*", Options::default()).unwrap();
        let mut held = secret("s");
        held["metadata"]["liens"] = json!(["t.t/somebody-else"]);
        world.create("secrets", held).await;
        if needed {
            world.create("persistentvolumes", volume("pv", "Delete", "s")).await;
            world.patch_status("persistentvolumes", "pv", json!({"status": {"phase": "Released"}})).await;
            until_liens(&world, "n/s", &["t.t/somebody-else", LIEN]).await;
        }
        world.create("configmaps", json!({"metadata": {"name": "plain", "namespace": "n"}})).await;
        world.delete("namespaces", "n", Background).await;
        world.until_gone("configmaps", "n/plain").await;
        tokio::time::pause();
        let mut gone = None;
        for second in 1..=60 {
            pass(Duration::from_secs(1)).await;
            if world.get("namespaces", "n").is_none() {
                gone = Some(second);
                break;
            }
        }
        tokio::time::resume();
        match needed {
            true => {
                assert_eq!(gone, None, "the driver needs the Secret");
                assert!(world.get("secrets", "n/s").is_some());
                let conditions = at(&world.get("namespaces", "n").unwrap(), "status.conditions").unwrap().to_string();
                assert!(conditions.contains("used by PersistentVolume \\\"pv\\\", which is going"), "{conditions}");
                // The driver is done: from here on the quiet time runs for whoever else holds it.
                world.delete("persistentvolumes", "pv", Background).await;
                until_liens(&world, "n/s", &["t.t/somebody-else"]).await;
                tokio::time::pause();
                for _ in 0..30 {
                    pass(Duration::from_secs(1)).await;
                }
                tokio::time::resume();
                world.until_gone("namespaces", "n").await;
            }
            false => assert!(gone.is_some_and(|second| (10..30).contains(&second)), "{gone:?}"),
        }
        handle.stop().await;
    }
}

/// Lets time pass, and everybody do what is due by then. The store's own threads know nothing of our clock: they get real time.
async fn pass(time: Duration) {
    tokio::time::advance(time).await;
    for _ in 0..20 {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[tokio::test]
async fn a_volume_that_is_retained_holds_its_secret_and_not_a_namespace() {
    let world = World::new().await;
    let handle = world.control("*");
    world.create("secrets", secret("s")).await;
    world.create("persistentvolumes", volume("pv", "Retain", "s")).await;
    world.patch_status("persistentvolumes", "pv", json!({"status": {"phase": "Released"}})).await;
    until_liens(&world, "n/s", &[LIEN]).await;
    assert!(world.try_delete("secrets", "n/s", DeleteOptions::default()).await.is_err());
    world.delete("namespaces", "n", Background).await;
    world.until_gone("namespaces", "n").await;
    assert!(world.get("persistentvolumes", "pv").is_some());
    handle.stop().await;
}

/// Story 3, and what ends the wait of a namespace.
#[tokio::test]
async fn removing_the_annotation_or_ignoring_liens_ends_the_wait() {
    for by_annotation in [true, false] {
        let world = World::new().await;
        let handle = world.control("*");
        world.create("secrets", secret("s")).await;
        world.create("persistentvolumes", volume("pv", "Delete", "s")).await;
        world.patch_status("persistentvolumes", "pv", json!({"status": {"phase": "Released"}})).await;
        until_liens(&world, "n/s", &[LIEN]).await;
        world.delete("namespaces", "n", Background).await;
        tokio::time::sleep(Duration::from_millis(800)).await;
        assert!(world.get("secrets", "n/s").is_some());
        if by_annotation {
            let off = json!({"metadata": {"annotations": {"kubernetes.io/enable-secret-protection": null}}});
            world.patch("secrets", "n/s", off).await;
        } else {
            let options = DeleteOptions { ignore_liens: true, ..DeleteOptions::default() };
            world.try_delete("secrets", "n/s", options).await.map(drop).unwrap();
        }
        world.until_gone("namespaces", "n").await;
        handle.stop().await;
    }
}

/// What is there, in a random world of a few Secrets and users.
const SECRETS: usize = 4;
const USERS: usize = 5;

/// Random creations, changes and deletions of users and Secrets, with controllers that stop and start and a server that
/// starts anew. Whenever everything is still, a lien is there exactly where it is wanted and used.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whenever_it_is_still_liens_are_where_they_are_wanted_and_used() {
    let seed = std::env::var("PAWL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    let mut random = fastrand::Rng::with_seed(seed);
    let mut world = World::new().await;
    let mut handle = Some(world.control(BOTH));
    for round in 0..60 {
        for _ in 0..random.usize(1..12) {
            step(&mut random, &world).await;
        }
        // Now and then nobody is at work for a while, and now and then the server starts anew.
        let away = random.u8(..8);
        if away < 3
            && let Some(handle) = handle.take()
        {
            handle.stop().await;
            for _ in 0..random.usize(1..8) {
                step(&mut random, &world).await;
            }
        }
        if away == 0 {
            world = world.restart(true).await;
        }
        let handle = handle.get_or_insert_with(|| world.control(BOTH));
        check_still(&world, handle, &format!("round {round}, PAWL_SEED={seed}")).await;
    }
}

async fn step(random: &mut fastrand::Rng, world: &World) {
    let (s, u) = (random.usize(..SECRETS), random.usize(..USERS));
    let secret_key = format!("n/s{s}");
    match random.u8(..10) {
        0 | 1 => {
            let mut secret = secret(&format!("s{s}"));
            if random.bool() {
                secret["metadata"]["annotations"] = json!({});
            }
            let _ = world.try_create("secrets", secret).await;
        }
        2 => {
            let value = random.choice([json!("yes"), json!("no"), Value::Null]);
            let patch = json!({"metadata": {"annotations": {"kubernetes.io/enable-secret-protection": value}}});
            let _ = world.try_patch("secrets", &secret_key, patch, "").await;
        }
        3 => {
            let options = DeleteOptions { ignore_liens: random.bool(), ..DeleteOptions::default() };
            let _ = world.try_delete("secrets", &secret_key, options).await;
        }
        4 => {
            let liens = random.choice([json!([]), json!([LIEN]), json!(["t.t/x"]), json!(["t.t/x", LIEN])]);
            let _ = world.try_patch("secrets", &secret_key, json!({"metadata": {"liens": liens}}), "").await;
        }
        5 | 6 => {
            let names: Vec<String> = (0..SECRETS).filter(|_| random.u8(..3) == 0).map(|s| format!("s{s}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let _ = world.try_create("pods", pod(&format!("p{u}"), &names)).await;
        }
        7 => {
            let _ = world.try_create("persistentvolumes", volume(&format!("v{u}"), "Retain", &format!("s{s}"))).await;
        }
        8 => {
            let _ = world.try_delete("pods", &format!("n/p{u}"), DeleteOptions::default()).await;
        }
        _ => {
            let _ = world.try_delete("persistentvolumes", &format!("v{u}"), DeleteOptions::default()).await;
        }
    }
}

/// Waits until every Secret is as it should be by what the users say, and stays so.
async fn check_still(world: &World, _handle: &Handle, context: &str) {
    let mut used: BTreeSet<String> = BTreeSet::new();
    for pod in world.all("pods").values() {
        let volumes = at(pod, "spec.volumes").and_then(Value::as_array).cloned().unwrap_or_default();
        used.extend(volumes.iter().filter_map(|v| Some(format!("n/{}", v.pointer("/secret/secretName")?.as_str()?))));
    }
    for volume in world.all("persistentvolumes").values() {
        let name = at(volume, "spec.csi.controllerPublishSecretRef.name").and_then(Value::as_str).unwrap();
        used.insert(format!("n/{name}"));
    }
    let wrong = |world: &World| {
        let secrets = world.all("secrets");
        let is_wrong = |(key, secret): &(&String, &pawl_meta::object::Object)| {
            let wanted = secret.annotation("kubernetes.io/enable-secret-protection") == Some("yes");
            secret.meta_strings("liens").contains(&LIEN) != (wanted && used.contains(*key))
        };
        secrets.iter().find(is_wrong).map(|(key, secret)| format!("{key}: {secret:?}"))
    };
    world.until(&format!("{context}: {:?}, used {used:?}", wrong(world)), |world| wrong(world).is_none()).await;
    until_still(world).await;
    assert_eq!(wrong(world), None, "{context}, used {used:?}");
}

/// A thousand deletions of Secrets race with Pods that come to use them. Over the whole history none was deleted that wanted
/// to be protected and was used at that revision.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn over_the_whole_history_nothing_is_deleted_while_it_is_used() {
    const RACES: usize = 1000;
    const WRITERS: usize = 8;
    let world = Arc::new(World::new().await);
    let handle = world.control(BOTH);
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let world = Arc::clone(&world);
        tasks.spawn(async move {
            let (mut deleted, mut refused) = (0, 0);
            for i in (writer..RACES).step_by(WRITERS) {
                let (name, key) = (format!("s{i}"), format!("n/s{i}"));
                world.create("secrets", secret(&name)).await;
                let user = async {
                    // Now one, now the other is a little faster.
                    if i % 3 == 0 {
                        tokio::task::yield_now().await;
                    }
                    world.create("pods", pod(&format!("p{i}"), &[&name])).await
                };
                let (_, deletion) = tokio::join!(user, world.try_delete("secrets", &key, DeleteOptions::default()));
                match deletion {
                    Ok(_) => deleted += 1,
                    Err(_) => refused += 1,
                }
                if i % 2 == 0 {
                    // The last user goes: the removal of a lien, and whoever deletes after it, race with the next one.
                    let next = world.create("pods", pod(&format!("q{i}"), &[&name]));
                    let last = format!("n/p{i}");
                    let last = world.try_delete("pods", &last, DeleteOptions::default());
                    let delete = world.try_delete("secrets", &key, DeleteOptions::default());
                    let _ = tokio::join!(last, next, delete);
                }
            }
            (deleted, refused)
        });
    }
    let (mut deleted, mut refused) = (0, 0);
    while let Some(counted) = tasks.join_next().await {
        let (d, r) = counted.unwrap();
        deleted += d;
        refused += r;
    }
    handle.stop().await;
    assert!(deleted > 0 && refused > 0, "a race needs two: {deleted} {refused}");
    let checked = check_history(&world).await;
    assert!(checked >= deleted, "{checked} deletions were looked at");
}

/// Every deletion of a Secret in the history, held against the Pods that were there at its revision; how many there were.
async fn check_history(world: &World) -> usize {
    let mut events: Vec<(u64, String, bool, Vec<String>)> = Vec::new();
    for plural in ["secrets", "pods"] {
        let request = WatchRequest {
            scope: Scope::All,
            selection: Selection::default(),
            start: WatchStart::After(world.beginning),
            bookmarks: false,
            tolerant: false,
        };
        let mut watcher = world.registry.watch(&world.served(plural), request).await.unwrap();
        while let Ok(items) = tokio::time::timeout(Duration::from_millis(500), watcher.next()).await {
            for item in items {
                let (entry, gone) = match item {
                    WatchItem::Added(entry) | WatchItem::Modified(entry) => (entry, false),
                    WatchItem::Deleted(entry) => (entry, true),
                    _ => continue,
                };
                let object = entry.readable().unwrap().object(entry.revision);
                let volumes = at(&object, "spec.volumes").and_then(Value::as_array).cloned().unwrap_or_default();
                let names = volumes.iter().filter_map(|v| v.pointer("/secret/secretName")?.as_str().map(str::to_owned));
                events.push((entry.revision, format!("{plural}/{}", entry.name()), gone, names.collect()));
            }
        }
    }
    events.sort();
    let mut users: HashMap<String, BTreeSet<String>> = HashMap::new();
    let mut checked = 0;
    for (revision, what, gone, names) in events {
        match what.strip_prefix("secrets/") {
            Some(secret) if gone => {
                let now = users.get(secret).filter(|users| !users.is_empty());
                assert!(now.is_none(), "{secret} was deleted at {revision} while {now:?} used it");
                checked += 1;
            }
            Some(_) => {}
            None => {
                for name in names {
                    let users = users.entry(name).or_default();
                    if gone {
                        users.remove(&what)
                    } else {
                        users.insert(what.clone())
                    };
                }
            }
        }
    }
    checked
}
