//! Followers that fall behind, on a real store.

use std::time::Duration;

use pawl_auth::{Attributes, Authorizer, User};
use pawl_kinds::Resource;
use pawl_meta::object::Object;
use pawl_registry::{
    AddressRange, Context, CreateRequest, DeleteRequest, Mutation, PortRange, ServiceRanges, Settings, UpdateRequest,
};
use serde_json::json;

use super::*;

async fn registry(directory: &std::path::Path, resources: &[Resource]) -> Arc<Registry> {
    let store = pawl_kv_embedded::Store::open(directory, pawl_kv_embedded::Options::default()).unwrap();
    let services = ServiceRanges {
        addresses: AddressRange { base: "10.0.0.0".parse().unwrap(), bits: 24 },
        node_ports: PortRange { first: 30000, last: 32767 },
    };
    let admission = pawl_admission::Chain::default();
    let settings = Settings { admission, liens: true, event_ttl: Duration::ZERO, services, quarantine: Duration::ZERO };
    let (registry, revision) = Registry::open(store, None, resources, settings).await.unwrap();
    let registry = Arc::new(registry);
    let follower = Arc::clone(&registry);
    tokio::spawn(async move { follower.follow(revision).await });
    registry
}

async fn create(registry: &Registry, resource: &str, mut object: Value) {
    let table = registry.table();
    let served = table.preferred(GROUP, resource).unwrap();
    object["apiVersion"] = json!("rbac.authorization.k8s.io/v1");
    object["kind"] = json!(served.resource.facts.kind);
    let Value::Object(object) = object else { panic!("not an object") };
    let request = CreateRequest { namespace: "n".to_owned(), object, tracked: false };
    registry.create(&Context::own(), served, request).await.unwrap();
}

fn binding(user: &str) -> Value {
    let role = json!({"apiGroup": GROUP, "kind": "Role", "name": "reader"});
    json!({"metadata": {"name": user}, "roleRef": role, "subjects": [{"apiGroup": GROUP, "kind": "User", "name": user}]})
}

fn may(index: &Index, user: &str) -> bool {
    let user = User::named(user);
    let asked = Attributes { namespace: "n", ..Attributes::resource(&user, "get", "", "pods") };
    index.authorize(&asked).is_allowed()
}

/// Writes so much about one binding that events fall out of the ring.
async fn make_noise(registry: &Registry) {
    create(registry, "rolebindings", binding("noise")).await;
    let table = registry.table();
    let served = table.preferred(GROUP, "rolebindings").unwrap();
    for round in 0..50 {
        let change = |old: &Object| {
            let mut object = Value::Object(old.clone());
            object["metadata"]["annotations"] = json!({"noise": format!("{round}{}", "x".repeat(250_000))});
            Ok(object.as_object().unwrap().clone())
        };
        registry
            .update(&Context::own(), served, UpdateRequest::new(("n", "noise"), "", Mutation::own(change)))
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn what_was_revoked_while_nobody_watched_is_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let registry = registry(directory.path(), pawl_kinds::builtin()).await;
    let index = Arc::new(Index::new());
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    create(&registry, "roles", json!({"metadata": {"name": "reader"}, "rules": rules})).await;
    for i in 0..10 {
        create(&registry, "rolebindings", binding(&format!("user-{i}"))).await;
    }
    let (mut roles, mut granted) = start(&registry, &index, "roles", Kind::Role).unwrap();
    granted.take(roles.first().await);
    let (mut follower, mut granted) = start(&registry, &index, "rolebindings", Kind::RoleBinding).unwrap();
    let lag = follower.lag();
    assert!(up_to_date(std::slice::from_ref(&lag)).is_err());
    granted.take(follower.first().await);
    assert_eq!(up_to_date(std::slice::from_ref(&lag)), Ok(()));
    assert!((0..10).all(|i| may(&index, &format!("user-{i}"))));

    let table = registry.table();
    let served = table.preferred(GROUP, "rolebindings").unwrap();
    for i in 0..7 {
        let name = format!("user-{i}");
        let request = DeleteRequest { namespace: "n", name: &name, options: &pawl_deletion::DeleteOptions::default() };
        registry.delete(&Context::own(), served, request).await.unwrap();
    }
    create(&registry, "rolebindings", binding("user-10")).await;
    make_noise(&registry).await;
    // What the ring has lost, the store has forgotten too: the watch must start anew.
    let kv = registry.storage().kv();
    kv.compact(kv.revision().await.unwrap()).await.unwrap();
    create(&registry, "rolebindings", binding("last")).await;
    let mut started_anew = false;
    while !may(&index, "last") || lag.is_behind() {
        granted.take(follower.next().await);
        started_anew |= lag.is_behind();
    }
    assert!(started_anew, "the watch must have been lost, or this shows nothing");
    let allowed: Vec<usize> = (0..=10).filter(|i| may(&index, &format!("user-{i}"))).collect();
    assert_eq!(allowed, [7, 8, 9, 10]);
}
