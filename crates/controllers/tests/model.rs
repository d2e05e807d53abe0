//! Random graphs of owners, finalizers and liens, random deletions: what the collector leaves is what the specification
//! allows.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod specification;
mod world;

use std::collections::BTreeMap;
use std::time::Duration;

use pawl_deletion::{DeleteOptions, Propagation};
use pawl_meta::object::Meta;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use specification::{Policy, Remaining};
use world::World;

const MOST: usize = 6;
/// How long the collector may take to come to an end, and how long it must then keep still.
const PATIENCE: Duration = Duration::from_secs(20);
const STILL: Duration = Duration::from_millis(8);

#[derive(Clone, Debug)]
struct Start {
    lien: bool,
    hold: bool,
    owners: BTreeMap<usize, bool>,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Delete(usize, Policy),
    ReleaseLien(usize),
    ReleaseFinalizer(usize),
}

fn starts() -> impl Strategy<Value = Vec<Start>> {
    let start = (
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.25),
        prop::collection::btree_map(0..MOST, any::<bool>(), 0..3),
    );
    let start = start.prop_map(|(lien, hold, owners)| Start { lien, hold, owners });
    prop::collection::vec(start, 2..=MOST)
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let policy = prop_oneof![Just(Policy::Background), Just(Policy::Foreground), Just(Policy::Orphan)];
    let act = prop_oneof![
        4 => (0..MOST, policy).prop_map(|(i, policy)| Act::Delete(i, policy)),
        1 => (0..MOST).prop_map(Act::ReleaseLien),
        1 => (0..MOST).prop_map(Act::ReleaseFinalizer),
    ];
    prop::collection::vec(act, 1..6)
}

#[test]
fn the_collector_keeps_to_its_specification() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    // A soak asks for more.
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(64);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config)
        .run(&(starts(), acts()), |(starts, acts)| runtime.block_on(run(starts, acts)).map_err(TestCaseError::fail));
    if let Err(error) = result {
        panic!("{error}");
    }
}

async fn run(starts: Vec<Start>, acts: Vec<Act>) -> Result<(), String> {
    let world = World::new().await;
    let handle = world.control("garbagecollector");
    let mut uids = Vec::new();
    for (i, start) in starts.iter().enumerate() {
        let finalizers = if start.hold { json!(["t.t/hold"]) } else { json!([]) };
        let liens = if start.lien { json!(["t.t/use"]) } else { json!([]) };
        let metadata = json!({"name": name(i), "namespace": "n", "finalizers": finalizers, "liens": liens});
        let object = world.create("configmaps", json!({"metadata": metadata})).await;
        uids.push(object.uid().to_owned());
    }
    for (i, start) in starts.iter().enumerate() {
        let references: Vec<Value> = start
            .owners
            .iter()
            .filter(|(owner, _)| **owner < uids.len())
            .map(|(owner, blocks)| {
                json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name(*owner), "uid": uids[*owner],
                    "blockOwnerDeletion": blocks})
            })
            .collect();
        world.patch("configmaps", &key(i), json!({"metadata": {"ownerReferences": references}})).await;
    }
    let all = (0..starts.len()).flat_map(|i| [Act::ReleaseLien(i), Act::ReleaseFinalizer(i)]);
    let mut state = observe(&world, &uids);
    for act in acts.iter().copied().chain(all) {
        let mut expected = state.clone();
        let done = perform(&world, act, &mut expected).await;
        done.map_err(|why| format!("{act:?} on {state:?}: {why}"))?;
        let outcomes = expected.outcomes();
        let settled = async {
            loop {
                let now = observe(&world, &uids);
                if outcomes.contains(&now) {
                    tokio::time::sleep(STILL).await;
                    if observe(&world, &uids) == now {
                        return now;
                    }
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        state = tokio::time::timeout(PATIENCE, settled).await.map_err(|_| {
            format!(
                "after {act:?} on {state:?}\nthe collector left {:?}\nbut may only leave {outcomes:?}",
                observe(&world, &uids)
            )
        })?;
    }
    handle.stop().await;
    Ok(())
}

/// Does something to the world and to the specification alike.
async fn perform(world: &World, act: Act, expected: &mut specification::World) -> Result<(), String> {
    let (i, patch) = match act {
        Act::Delete(i, policy) => {
            let propagation = Some(match policy {
                Policy::Background => Propagation::Background,
                Policy::Foreground => Propagation::Foreground,
                Policy::Orphan => Propagation::Orphan,
            });
            let options = DeleteOptions { propagation, ..DeleteOptions::default() };
            let refused = world.try_delete("configmaps", &key(i), options).await.is_err();
            return if refused == expected.delete(i, policy) { Ok(()) } else { Err(format!("refused: {refused}")) };
        }
        Act::ReleaseLien(i) => (i, json!({"metadata": {"liens": []}})),
        Act::ReleaseFinalizer(i) => {
            let Some(object) = world.get("configmaps", &key(i)) else { return Ok(()) };
            let left: Vec<&str> = object.meta_strings("finalizers").into_iter().filter(|f| *f != "t.t/hold").collect();
            (i, json!({"metadata": {"finalizers": left}}))
        }
    };
    let Some(thing) = expected.0.get_mut(&i) else { return Ok(()) };
    match act {
        Act::ReleaseLien(_) => thing.lien = false,
        _ => thing.hold = false,
    }
    expected.end(i);
    world.try_patch("configmaps", &key(i), patch, "").await.map_err(|status| status.message)
}

fn observe(world: &World, uids: &[String]) -> specification::World {
    let index = |uid: &str| uids.iter().position(|u| u == uid);
    let read = |object: &pawl_meta::object::Object| {
        let has = |finalizer: &str| object.meta_strings("finalizers").contains(&finalizer);
        let owners = object["metadata"].get("ownerReferences").and_then(Value::as_array).cloned().unwrap_or_default();
        let owner = |o: &Value| {
            Some((index(o["uid"].as_str()?)?, o.get("blockOwnerDeletion").and_then(Value::as_bool).unwrap_or(false)))
        };
        Remaining {
            lien: !object.meta_strings("liens").is_empty(),
            hold: has("t.t/hold"),
            deleting: object.is_deleting(),
            foreground: has(pawl_deletion::FOREGROUND),
            orphan: has(pawl_deletion::ORPHAN),
            owners: owners.iter().filter_map(owner).collect(),
        }
    };
    let objects = world.all("configmaps");
    specification::World(objects.values().filter_map(|o| Some((index(o.uid())?, read(o)))).collect())
}

fn name(i: usize) -> String {
    format!("x{i}")
}

fn key(i: usize) -> String {
    format!("n/x{i}")
}
