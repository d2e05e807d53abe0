//! Addresses and node ports of services, on a real store.

use std::collections::HashSet;

use crate::stage::{Stage, context};
use futures::future::join_all;
use serde_json::{Value, json};

fn service(name: &str, spec: Value) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
        "spec": {"ports": [{"port": 80}]}});
    object["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    object
}

#[tokio::test]
async fn no_two_services_get_the_same() {
    let stage = Stage::open().await;
    let services = stage.served("", "v1", "services");
    let addresses = stage.served("networking.k8s.io", "v1", "ipaddresses");
    let node_port = json!({"type": "NodePort"});
    let names: Vec<String> = (0..31).map(|i| format!("s{i}")).collect();
    let created = join_all(names.iter().map(|name| stage.create(&services, service(name, node_port.clone())))).await;
    let (got, refused): (Vec<_>, Vec<_>) = created.into_iter().partition(Result::is_ok);
    // The range has 30 addresses.
    assert_eq!((got.len(), refused.len()), (30, 1));
    let why = refused.into_iter().next().unwrap().unwrap_err();
    assert!(why.code == 500 && why.message.ends_with("range is full"), "{}", why.message);
    let got: Vec<Value> = got.into_iter().map(Result::unwrap).collect();
    let distinct = |path: &str| got.iter().map(|s| s.pointer(path).unwrap().to_string()).collect::<HashSet<_>>().len();
    assert_eq!((distinct("/spec/clusterIP"), distinct("/spec/ports/0/nodePort")), (30, 30));
    let mut kept = stage.names(&addresses);
    let mut given: Vec<String> = got.iter().map(|s| s["spec"]["clusterIP"].as_str().unwrap().to_owned()).collect();
    kept.sort();
    given.sort();
    assert_eq!(kept, given);

    let gone = &got[0];
    stage.delete(&services, gone["metadata"]["name"].as_str().unwrap()).await.unwrap();
    let again = stage.create(&services, service("again", json!({}))).await.unwrap();
    assert_eq!(again["spec"]["clusterIP"], gone["spec"]["clusterIP"]);
}

#[tokio::test]
async fn what_was_taken_for_nothing_is_given_back() {
    let stage = Stage::open().await;
    let services = stage.served("", "v1", "services");
    let addresses = stage.served("networking.k8s.io", "v1", "ipaddresses");
    stage.create(&services, service("a", json!({"clusterIP": "10.0.0.5"}))).await.unwrap();
    assert_eq!(stage.create(&services, service("a", json!({}))).await.unwrap_err().reason, "AlreadyExists");
    let invalid = service("b", json!({"clusterIP": "10.0.0.6", "sessionAffinity": "Nonsense"}));
    assert_eq!(stage.create(&services, invalid).await.unwrap_err().code, 422);
    assert_eq!(stage.names(&addresses), ["10.0.0.5"]);
    stage.create(&services, service("c", json!({"clusterIP": "10.0.0.6"}))).await.unwrap();
    let external = json!({"spec": {"type": "ExternalName", "externalName": "x.y"}});
    stage.merge(&services, "c", "", external).await.unwrap();
    assert_eq!(stage.names(&addresses), ["10.0.0.5"]);
    let object = stage.get(&addresses, "10.0.0.5").await.unwrap();
    assert_eq!(object["spec"]["parentRef"], json!({"resource": "services", "namespace": "n", "name": "a"}));
    assert_eq!(object["metadata"]["labels"]["ipaddress.kubernetes.io/ip-family"], "IPv4");
}

#[tokio::test]
async fn a_client_that_goes_away_costs_no_address() {
    use futures::FutureExt;
    let stage = Stage::open().await;
    let services = stage.served("", "v1", "services");
    let addresses = stage.served("networking.k8s.io", "v1", "ipaddresses");
    // Requests that are given up at every possible place.
    for polls in 0..12 {
        let name = format!("s{polls}");
        let mut request = Box::pin(stage.create(&services, service(&name, json!({}))));
        for _ in 0..polls {
            if (&mut request).now_or_never().is_some() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        drop(request);
    }
    stage.create(&services, service("last", json!({}))).await.unwrap();
    let mut given = Vec::new();
    for name in stage.names(&services) {
        given.push(stage.get(&services, &name).await.unwrap()["spec"]["clusterIP"].as_str().unwrap().to_owned());
    }
    let mut kept = stage.names(&addresses);
    kept.sort();
    given.sort();
    assert_eq!(kept, given);
}

#[tokio::test]
async fn a_dry_run_takes_nothing() {
    let stage = Stage::open().await;
    let services = stage.served("", "v1", "services");
    let mut cx = context();
    cx.dry_run = true;
    let created = stage.create_as(&cx, &services, service("a", json!({"type": "NodePort"}))).await.unwrap();
    assert!(created["spec"]["clusterIP"].is_string());
    assert!(stage.names(&services).is_empty());
    assert!(stage.names(&stage.served("networking.k8s.io", "v1", "ipaddresses")).is_empty());
}

#[tokio::test]
async fn addresses_agree_with_services_after_a_repair() {
    let stage = Stage::open().await;
    let services = stage.served("", "v1", "services");
    let addresses = stage.served("networking.k8s.io", "v1", "ipaddresses");
    stage.create(&services, service("a", json!({"clusterIP": "10.0.0.5"}))).await.unwrap();
    stage.delete(&addresses, "10.0.0.5").await.unwrap();
    let address = |name: &str, manager: &str| {
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "IPAddress",
            "metadata": {"name": name, "labels": {"ipaddress.kubernetes.io/managed-by": manager}},
            "spec": {"parentRef": {"resource": "services", "namespace": "n", "name": "gone"}}})
    };
    stage.create(&addresses, address("10.0.0.7", "ipallocator.k8s.io")).await.unwrap();
    stage.create(&addresses, address("10.0.0.8", "somebody")).await.unwrap();
    stage.registry.repair_addresses().await;
    assert_eq!(stage.names(&addresses), ["10.0.0.5", "10.0.0.8"]);
}
