//! Starting objects on a real store.

use std::sync::Arc;

use pawl_registry::{AddressRange, PortRange, ServiceRanges, Settings};

use super::*;

async fn registry(directory: &std::path::Path) -> Arc<Registry> {
    let store = pawl_kv_embedded::Store::open(directory, pawl_kv_embedded::Options::default()).unwrap();
    let services = ServiceRanges {
        addresses: AddressRange { base: "10.0.0.0".parse().unwrap(), bits: 24 },
        node_ports: PortRange { first: 30000, last: 32767 },
    };
    let settings = Settings {
        admission: pawl_admission::Chain::default(),
        liens: true,
        event_ttl: std::time::Duration::ZERO,
        quarantine: std::time::Duration::ZERO,
        services,
    };
    let (registry, revision) = Registry::open(store, None, pawl_kinds::builtin(), settings).await.unwrap();
    let registry = Arc::new(registry);
    let follower = Arc::clone(&registry);
    tokio::spawn(async move { follower.follow(revision).await });
    registry
}

fn places() -> Placeholders {
    Placeholders {
        servers: vec!["192.0.2.1".parse().unwrap()],
        ip: "192.0.2.1".parse().unwrap(),
        port: 6443,
        service_ip: "10.0.0.1".parse().unwrap(),
        service_range: "10.0.0.0/24".to_owned(),
        client_ca: None,
    }
}

fn object(registry: &Registry, group: &str, resource: &str, namespace: &str, name: &str) -> Value {
    Value::Object(Objects::get(registry, group, resource, namespace, name).unwrap())
}

#[tokio::test]
async fn a_second_start_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let registry = registry(directory.path()).await;
    run(&registry, &places(), |_| false).await;
    let written = registry.storage().catch_up().await.unwrap();
    let service = object(&registry, "", "services", "default", "kubernetes");
    assert_eq!(service["spec"]["clusterIP"], "10.0.0.1");
    let address = object(&registry, "networking.k8s.io", "ipaddresses", "", "10.0.0.1");
    assert_eq!(address["spec"]["parentRef"]["name"], "kubernetes");
    let slice = object(&registry, "discovery.k8s.io", "endpointslices", "default", "kubernetes");
    assert_eq!(slice["endpoints"][0]["addresses"], json!(["192.0.2.1"]));
    let endpoints = object(&registry, "", "endpoints", "default", "kubernetes");
    assert_eq!(endpoints["subsets"][0]["ports"][0]["port"], 6443);
    let range = object(&registry, "networking.k8s.io", "servicecidrs", "", "kubernetes");
    assert_eq!(range["status"]["conditions"][0]["type"], "Ready");
    let flow = object(&registry, "flowcontrol.apiserver.k8s.io", "flowschemas", "", "exempt");
    assert_eq!(flow["status"]["conditions"][0]["type"], "Dangling");
    object(&registry, "rbac.authorization.k8s.io", "clusterroles", "", "cluster-admin");
    run(&registry, &places(), |_| false).await;
    assert_eq!(registry.storage().catch_up().await.unwrap(), written);
}

#[tokio::test]
async fn what_was_changed_or_removed_is_put_right_at_the_next_start() {
    let directory = tempfile::tempdir().unwrap();
    let registry = registry(directory.path()).await;
    run(&registry, &places(), |_| false).await;
    let elsewhere = "192.0.2.2".parse().unwrap();
    let moved = Placeholders { ip: elsewhere, servers: vec![elsewhere], ..places() };
    let table = registry.table();
    let roles = table.preferred("rbac.authorization.k8s.io", "clusterroles").unwrap();
    let options = pawl_deletion::DeleteOptions::default();
    let request = pawl_registry::DeleteRequest { namespace: "", name: "view", options: &options };
    registry.delete(&Context::own(), roles, request).await.unwrap();
    run(&registry, &moved, |_| false).await;
    object(&registry, "rbac.authorization.k8s.io", "clusterroles", "", "view");
    let slice = object(&registry, "discovery.k8s.io", "endpointslices", "default", "kubernetes");
    assert_eq!(slice["endpoints"][0]["addresses"], json!(["192.0.2.2"]));
    // Where several servers share a store, all are named.
    lead_to(&registry, &moved, &["192.0.2.1".parse().unwrap(), elsewhere]).await;
    let slice = object(&registry, "discovery.k8s.io", "endpointslices", "default", "kubernetes");
    let named: Vec<&Value> = slice["endpoints"].as_array().unwrap().iter().map(|one| &one["addresses"][0]).collect();
    assert_eq!(named, ["192.0.2.1", "192.0.2.2"]);
    let endpoints = object(&registry, "", "endpoints", "default", "kubernetes");
    assert_eq!(endpoints["subsets"][0]["addresses"], json!([{"ip": "192.0.2.1"}, {"ip": "192.0.2.2"}]));
    assert_eq!(endpoints["subsets"][0]["ports"][0]["port"], 6443);
}

fn of(value: Value) -> Object {
    value.as_object().unwrap().clone()
}

#[test]
fn what_must_not_differ_is_put_right() {
    let wanted = of(json!({"kind": "K", "metadata": {"name": "x"}, "spec": {"a": 1}}));
    let same = of(json!({"kind": "K", "metadata": {"name": "x", "uid": "u"}, "spec": {"a": 1}}));
    let other = of(json!({"kind": "K", "metadata": {"name": "x", "generation": 2}, "spec": {"a": 2}}));
    assert_eq!(corrected(Keep::Equal, &same, &wanted), None);
    assert_eq!(corrected(Keep::Equal, &other, &wanted).unwrap()["spec"], json!({"a": 1}));
    assert_eq!(corrected(Keep::Present, &other, &wanted), None);
    assert_eq!(corrected(Keep::EqualUnlessOptedOut, &other, &wanted), None);
    let mut asked = other.clone();
    asked["metadata"]["annotations"] = json!({AUTO_UPDATE: "true"});
    assert!(corrected(Keep::EqualUnlessOptedOut, &asked, &wanted).is_some());
}
