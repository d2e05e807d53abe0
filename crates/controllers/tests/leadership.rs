//! One server leads: what the controllers of an earlier leader still have under way is not written.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod world;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pawl_controllers::{Act, Controllers, Leadership, Options, Oversight, Witness};
use pawl_kv::Guard;
use pawl_meta::Status;
use pawl_registry::{Context, CreateRequest, Mutation, UpdateRequest};
use serde_json::{Value, json};
use world::World;

const KEY: &str = "/registry/pawl.dev/test";

/// Notes the codes of what controllers write.
#[derive(Debug, Default)]
struct Codes(Mutex<Vec<u16>>);

impl Witness for Codes {
    fn wrote(&self, act: &Act<'_>) {
        self.0.lock().unwrap().push(act.code);
    }
}

fn always() -> Guard {
    Guard::Unwritten { prefix: "/registry/nothing".into(), through: 0 }
}

async fn create_behind(world: &World, fence: &Guard, name: &str) -> Result<(), Status> {
    let Value::Object(object) =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "n"}})
    else {
        unreachable!()
    };
    let mut cx = Context::own();
    cx.fence = Some(fence.clone());
    let request = CreateRequest { namespace: "n".to_owned(), object, tracked: false };
    world.registry.create(&cx, &world.served("configmaps"), request).await.map(drop)
}

#[tokio::test]
async fn behind_a_fallen_fence_nothing_is_written() {
    let world = World::new().await;
    let storage = world.registry.storage();
    let fence = storage.raise_fence(KEY, "one", always()).await.unwrap().unwrap();
    let codes = Arc::new(Codes::default());
    let oversight = Oversight { witness: Some(Arc::clone(&codes) as Arc<dyn Witness>), ..Oversight::default() };
    let options = Options { oversight, fence: Some(fence.clone()), ..Options::default() };
    let controllers = Controllers::start(Arc::clone(&world.registry), "*", options).unwrap();
    world.create("namespaces", json!({"metadata": {"name": "before"}})).await;
    world.until("an account is made", |world| world.get("serviceaccounts", "before/default").is_some()).await;
    // Updates and deletions pass as well: this is a whole namespace on its way out.
    world.delete("namespaces", "before", pawl_deletion::Propagation::Background).await;
    world.until("the namespace is gone", |world| world.get("namespaces", "before").is_none()).await;

    world.create("namespaces", json!({"metadata": {"name": "leaving"}})).await;
    world.until("an account is made", |world| world.get("serviceaccounts", "leaving/default").is_some()).await;
    storage.raise_fence(KEY, "two", always()).await.unwrap().unwrap();
    codes.0.lock().unwrap().clear();
    world.create("namespaces", json!({"metadata": {"name": "after"}})).await;
    world.delete("namespaces", "leaving", pawl_deletion::Propagation::Background).await;
    world.until("both controllers were refused", |_| codes.0.lock().unwrap().len() >= 4).await;
    assert!(codes.0.lock().unwrap().iter().all(|code| *code == 409), "{codes:?}");
    assert!(world.get("serviceaccounts", "after/default").is_none());
    assert!(world.get("serviceaccounts", "leaving/default").is_some());
    assert!(world.get("namespaces", "leaving").is_some());
    controllers.stop().await;
}

#[tokio::test]
async fn a_fence_is_raised_only_while_its_condition_holds() {
    let world = World::new().await;
    let storage = world.registry.storage();
    let through = storage.catch_up().await.unwrap();
    let condition = Guard::Unwritten { prefix: "/registry/configmaps/n/".into(), through };
    let fence = storage.raise_fence(KEY, "one", condition.clone()).await.unwrap().unwrap();
    create_behind(&world, &fence, "a").await.unwrap();
    assert_eq!(storage.raise_fence(KEY, "two", condition).await.unwrap(), None);
    create_behind(&world, &fence, "b").await.unwrap();
}

/// The Lease changes hands while its holder does not know: from the moment when the next one begins, the first writes nothing.
#[tokio::test]
async fn who_begins_to_lead_ends_what_the_last_one_does() {
    let world = World::new().await;
    world.create("namespaces", json!({"metadata": {"name": "kube-system"}})).await;
    let lead = |name: &str| {
        let (fences, registry) = (Arc::new(Mutex::new(Vec::new())), Arc::clone(&world.registry));
        let told = Arc::clone(&fences);
        let begin = move |fence: Guard| {
            told.lock().unwrap().push(fence);
            Controllers::start(Arc::clone(&registry), "-*", Options::default())
        };
        (Leadership::start(Arc::clone(&world.registry), name.to_owned(), begin), fences)
    };
    let (one, of_one) = lead("one");
    world.until("one leads", |_| !of_one.lock().unwrap().is_empty()).await;
    let fence = of_one.lock().unwrap()[0].clone();
    create_behind(&world, &fence, "a").await.unwrap();
    // The first takes it back as long as it is faster.
    let (two, of_two) = lead("two");
    while of_two.lock().unwrap().is_empty() {
        free(&world).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let next = of_two.lock().unwrap()[0].clone();
    let refused = create_behind(&world, &fence, "b").await.unwrap_err();
    assert_eq!((refused.code, refused.reason), (409, "Conflict"), "{refused}");
    create_behind(&world, &next, "b").await.unwrap();
    two.stop().await;
    one.stop().await;
}

/// Takes the Lease away from whoever holds it, unless that one is just renewing it.
async fn free(world: &World) {
    let change = Mutation::own(|lease| {
        let mut free = lease.clone();
        free["spec"]["holderIdentity"].take();
        Ok(free)
    });
    let request = UpdateRequest::new(("kube-system", "pawl-controllers"), "", change);
    let _ = world.registry.update(&Context::own(), &world.served("leases"), request).await;
}
