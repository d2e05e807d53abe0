//! Protection, accounts, certificates and aggregated roles, on a real registry.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod world;

use pawl_controllers::{Controllers, Options};
use pawl_deletion::Propagation::Background;
use pawl_meta::object::{Meta, Object};
use serde_json::{Value, json};
use world::World;

fn has(object: Option<Object>, finalizer: &str) -> bool {
    object.is_some_and(|object| object.meta_strings("finalizers").contains(&finalizer))
}

fn claim(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "n"}, "spec": {"accessModes": ["ReadWriteOnce"],
        "volumeAttributesClassName": "gold", "resources": {"requests": {"storage": "1Gi"}}}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_stays_while_a_pod_uses_it() {
    let world = World::new().await;
    let handle = world.control("pvc-protection");
    const FINALIZER: &str = "kubernetes.io/pvc-protection";
    for name in ["used", "unused"] {
        world.create("persistentvolumeclaims", claim(name)).await;
        let key = format!("n/{name}");
        world.until("it is protected", |world| has(world.get("persistentvolumeclaims", &key), FINALIZER)).await;
    }
    let pod = json!({"metadata": {"name": "p", "namespace": "n"}, "spec": {"nodeName": "node",
        "containers": [{"name": "c", "image": "i"}],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "used"}}]}});
    world.create("pods", pod).await;
    world.delete("persistentvolumeclaims", "n/used", Background).await;
    world.delete("persistentvolumeclaims", "n/unused", Background).await;
    world.until_gone("persistentvolumeclaims", "n/unused").await;
    assert!(has(world.get("persistentvolumeclaims", "n/used"), FINALIZER));
    let now = pawl_deletion::DeleteOptions { grace_period_seconds: Some(0), ..Default::default() };
    assert!(world.try_delete("pods", "n/p", now).await.is_ok());
    world.until_gone("persistentvolumeclaims", "n/used").await;
    handle.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_volume_stays_while_it_is_bound_and_a_class_while_it_is_named() {
    let world = World::new().await;
    let handle = world.control("pv-protection,pvc-protection,vac-protection");
    let volume = json!({"metadata": {"name": "v"}, "spec": {"capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/v"}}});
    world.create("persistentvolumes", volume).await;
    world
        .until("it is protected", |world| has(world.get("persistentvolumes", "v"), "kubernetes.io/pv-protection"))
        .await;
    world.patch_status("persistentvolumes", "v", json!({"status": {"phase": "Bound"}})).await;
    world.delete("persistentvolumes", "v", Background).await;
    let class = json!({"metadata": {"name": "gold"}, "driverName": "d.d", "parameters": {"a": "b"}});
    world.create("volumeattributesclasses", class).await;
    world
        .until("it is protected", |world| {
            has(world.get("volumeattributesclasses", "gold"), "kubernetes.io/vac-protection")
        })
        .await;
    world.create("persistentvolumeclaims", claim("of-gold")).await;
    world.delete("volumeattributesclasses", "gold", Background).await;
    assert!(world.get("persistentvolumes", "v").is_some() && world.get("volumeattributesclasses", "gold").is_some());
    world.patch_status("persistentvolumes", "v", json!({"status": {"phase": "Released"}})).await;
    world.until_gone("persistentvolumes", "v").await;
    world.delete("persistentvolumeclaims", "n/of-gold", Background).await;
    world.until_gone("volumeattributesclasses", "gold").await;
    world.until("all is counted", |_| handle.counters().released == 3).await;
    handle.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_active_namespace_is_furnished() {
    let world = World::new().await;
    let options = Options { root_ca: Some("certificates".to_owned()), ..Options::default() };
    let handle = Controllers::start(world.registry.clone(), "*", options).unwrap();
    let published = |namespace: &'static str| {
        move |world: &World| {
            let certificates = world.get("configmaps", &format!("{namespace}/kube-root-ca.crt"));
            world.get("serviceaccounts", &format!("{namespace}/default")).is_some()
                && certificates.is_some_and(|map| map["data"]["ca.crt"] == "certificates")
        }
    };
    world.until("n is published", published("n")).await;
    world.create("namespaces", json!({"metadata": {"name": "m"}})).await;
    world.until("m is published", published("m")).await;
    world.delete("serviceaccounts", "n/default", Background).await;
    world.delete("configmaps", "n/kube-root-ca.crt", Background).await;
    world.until("n is published again", published("n")).await;
    world.patch("configmaps", "n/kube-root-ca.crt", json!({"data": {"ca.crt": "mine", "x": "y"}})).await;
    world.until("the certificates are put right", published("n")).await;
    world.delete("namespaces", "m", Background).await;
    world.until_gone("namespaces", "m").await;
    assert!(world.get("serviceaccounts", "m/default").is_none());
    handle.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aggregated_roles_follow_their_parts() {
    let world = World::new().await;
    let handle = world.control("clusterrole-aggregation");
    let rule = |resource: &str| json!({"apiGroups": [""], "resources": [resource], "verbs": ["get"]});
    let part =
        |name: &str, rules: Value| json!({"metadata": {"name": name, "labels": {"to": "whole"}}, "rules": rules});
    let whole = json!({"metadata": {"name": "whole"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"to": "whole"}}]}, "rules": []});
    world.create("clusterroles", part("b", json!([rule("pods"), rule("nodes")]))).await;
    world.create("clusterroles", whole).await;
    world.create("clusterroles", part("a", json!([rule("nodes")]))).await;
    let rules = |world: &World| world.get("clusterroles", "whole").unwrap().get("rules").cloned().unwrap_or_default();
    world.until("the union", |world| rules(world) == json!([rule("nodes"), rule("pods")])).await;
    let managed = world.get("clusterroles", "whole").unwrap()["metadata"]["managedFields"].clone();
    let own = managed.as_array().unwrap().iter().find(|m| m["manager"] == "clusterrole-aggregation-controller");
    assert_eq!(own.unwrap()["operation"], "Apply", "{managed}");
    assert_eq!(own.unwrap()["fieldsV1"], json!({"f:rules": {}}));
    world.patch("clusterroles", "b", json!({"rules": [rule("secrets")]})).await;
    world.until("the new union", |world| rules(world) == json!([rule("nodes"), rule("secrets")])).await;
    world.delete("clusterroles", "a", Background).await;
    world.until("what is left", |world| rules(world) == json!([rule("secrets")])).await;
    handle.stop().await;
}
