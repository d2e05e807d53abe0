//! What is posted below a pod.

use std::sync::Arc;

use crate::stage::{Stage, context};
use pawl_deletion::DeleteOptions;
use pawl_meta::Status;
use pawl_meta::object::Object;
use serde_json::{Value, json};

fn pod(name: &str, liens: Value) -> Value {
    json!({"metadata": {"name": name, "labels": {"app": "a"}, "liens": liens},
        "spec": {"containers": [{"name": "c", "image": "i"}]}})
}

async fn evict(stage: &Stage, name: &str, options: &DeleteOptions) -> Result<(), Status> {
    let pods = stage.served("", "v1", "pods");
    stage.registry.evict(&context(), &pods, ("n", name), Object::new(), options).await
}

async fn bind(stage: &Stage, name: &str) -> Result<(), Status> {
    let pods = stage.served("", "v1", "pods");
    let binding = json!({"metadata": {"name": name}, "target": {"kind": "Node", "name": "node"}});
    stage.registry.bind(&context(), &pods, "n", binding.as_object().unwrap().clone()).await
}

#[tokio::test]
async fn a_pod_is_bound_once() {
    let stage = Stage::open().await;
    let pods = stage.served("", "v1", "pods");
    stage.create(&pods, pod("p", json!([]))).await.unwrap();
    bind(&stage, "p").await.unwrap();
    let bound = stage.get(&pods, "p").await.unwrap();
    assert_eq!(bound["spec"]["nodeName"], "node");
    assert_eq!(bound["status"]["conditions"][0]["type"], "PodScheduled");
    assert_eq!(bind(&stage, "p").await.unwrap_err().code, 409);
    assert_eq!(bind(&stage, "q").await.unwrap_err().code, 404);
}

#[tokio::test]
async fn budgets_and_liens_hold_against_evictions() {
    let stage = Stage::open().await;
    let (pods, budgets) = (stage.served("", "v1", "pods"), stage.served("policy", "v1", "poddisruptionbudgets"));
    let none = DeleteOptions::default();
    stage.create(&pods, pod("p", json!(["example.com/held"]))).await.unwrap();
    bind(&stage, "p").await.unwrap();
    let running = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
    stage.merge(&pods, "p", "status", running).await.unwrap();
    let budget = json!({"metadata": {"name": "b"}, "spec": {"minAvailable": 1,
        "selector": {"matchLabels": {"app": "a"}}}});
    stage.create(&budgets, budget).await.unwrap();
    let allow = |allowed: i64| {
        json!({"status": {"observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 1,
        "desiredHealthy": 1, "expectedPods": 1}})
    };
    stage.merge(&budgets, "b", "status", allow(1)).await.unwrap();
    assert_eq!(evict(&stage, "p", &none).await.unwrap_err().code, 409);
    let untouched = stage.get(&budgets, "b").await.unwrap();
    assert_eq!(untouched["status"]["disruptionsAllowed"], 1, "a refused eviction is not counted");

    let ignoring = DeleteOptions { ignore_liens: true, ..DeleteOptions::default() };
    stage.merge(&budgets, "b", "status", allow(0)).await.unwrap();
    assert_eq!(evict(&stage, "p", &ignoring).await.unwrap_err().code, 429);
    stage.merge(&budgets, "b", "status", allow(1)).await.unwrap();
    evict(&stage, "p", &ignoring).await.unwrap();
    assert_eq!(stage.get(&budgets, "b").await.unwrap()["status"]["disruptionsAllowed"], 0);
    let evicted = stage.get(&pods, "p").await.unwrap();
    assert_eq!(evicted["metadata"]["deletionGracePeriodSeconds"], 30);
    let conditions = evicted["status"]["conditions"].as_array().unwrap();
    assert!(conditions.iter().any(|c| c["reason"] == "EvictionByEvictionAPI"));
}

#[tokio::test]
async fn a_subresource_changes_and_owns_only_its_part() {
    let stage = Stage::open().await;
    let pods = stage.served("", "v1", "pods");
    stage.create(&pods, pod("p", json!([]))).await.unwrap();
    let patch = json!({
        "metadata": {"labels": {"other": "x"}, "finalizers": ["example.com/f"]},
        "spec": {"schedulerName": "other", "ephemeralContainers": [{"name": "e", "image": "i",
            "terminationMessagePolicy": "File", "terminationMessagePath": "/t", "imagePullPolicy": "Always"}]},
    });
    let patched = stage.merge(&pods, "p", "ephemeralcontainers", patch).await.unwrap();
    assert_eq!(patched["spec"]["ephemeralContainers"][0]["name"], "e");
    assert_eq!(patched["spec"]["schedulerName"], "default-scheduler");
    assert_eq!(patched["metadata"]["labels"], json!({"app": "a"}));
    assert!(patched["metadata"].get("finalizers").is_none());
    let owners = patched["metadata"]["managedFields"].as_array().unwrap();
    let owned = owners.iter().find(|o| o["subresource"] == "ephemeralcontainers").unwrap();
    let fields = owned["fieldsV1"].as_object().unwrap();
    assert_eq!(fields.keys().collect::<Vec<_>>(), ["f:spec"]);
    assert_eq!(owned["fieldsV1"]["f:spec"].as_object().unwrap().len(), 1);
}

#[tokio::test]
async fn a_namespace_goes_when_nothing_finalizes_it() {
    let stage = Stage::open().await;
    let namespaces = stage.served("", "v1", "namespaces");
    stage.create(&namespaces, json!({"metadata": {"name": "gone"}})).await.unwrap();
    stage.delete(&namespaces, "gone").await.unwrap();
    assert_eq!(stage.get(&namespaces, "gone").await.unwrap()["status"]["phase"], "Terminating");
    stage.merge(&namespaces, "gone", "finalize", json!({"spec": {"finalizers": null}})).await.unwrap();
    assert_eq!(stage.get(&namespaces, "gone").await.unwrap_err().code, 404);
}

/// A lien that comes while a pod is evicted either comes too late, or nothing of the eviction is left: the budget is as it was,
/// and the pod is not marked.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_eviction_that_loses_to_a_lien_leaves_nothing_behind() {
    let stage = Stage::open().await;
    let (pods, budgets) = (stage.served("", "v1", "pods"), stage.served("policy", "v1", "poddisruptionbudgets"));
    let budget = json!({"metadata": {"name": "b"}, "spec": {"selector": {"matchLabels": {"app": "a"}}}});
    stage.create(&budgets, budget).await.unwrap();
    let (mut stayed, mut went) = (0, 0);
    for round in 0..60 {
        let status = json!({"status": {
            "observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1,
            "expectedPods": 2, "disruptedPods": null, "conditions": null,
        }});
        stage.merge(&budgets, "b", "status", status).await.unwrap();
        let name = format!("p{round}");
        let pod = json!({
            "metadata": {"name": name, "labels": {"app": "a"}},
            "spec": {"nodeName": "x", "containers": [{"name": "c", "image": "i"}]},
        });
        stage.create(&pods, pod).await.unwrap();
        let running = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
        stage.merge(&pods, &name, "status", running).await.unwrap();
        let lien = json!({"metadata": {"liens": ["example.com/held"]}});
        let evicting = {
            let (registry, pods, name) = (Arc::clone(&stage.registry), Arc::clone(&pods), name.clone());
            tokio::spawn(async move {
                let none = DeleteOptions::default();
                registry.evict(&context(), &pods, ("n", &name), Object::new(), &none).await
            })
        };
        let (_, evicted) = tokio::join!(
            async {
                // At once, when the budget was asked, or when the pod was marked.
                loop {
                    let (pod, budget) = (stage.get(&pods, &name).await, stage.get(&budgets, "b").await);
                    let (pod, budget) = (pod.unwrap(), budget.unwrap());
                    let is_spent = budget["status"]["disruptionsAllowed"] == 0;
                    if [true, is_spent, is_marked(&pod)][round % 3] || is_going(&pod) {
                        break;
                    }
                }
                stage.merge(&pods, &name, "", lien).await
            },
            async { evicting.await.unwrap() }
        );
        let (pod, budget) = (stage.get(&pods, &name).await.unwrap(), stage.get(&budgets, "b").await.unwrap());
        let allowed = budget["status"]["disruptionsAllowed"].as_i64().unwrap();
        let (found, expect) = ((is_going(&pod), is_marked(&pod), allowed), evicted.is_ok());
        assert_eq!(found, if expect { (true, true, 0) } else { (false, false, 1) });
        if evicted.is_ok() { went += 1 } else { stayed += 1 }
    }
    assert!(stayed > 0 && went > 0, "{stayed} stayed, {went} went");
}

fn is_marked(pod: &Value) -> bool {
    pod["status"]["conditions"].as_array().unwrap().iter().any(|c| c["type"] == "DisruptionTarget")
}

fn is_going(pod: &Value) -> bool {
    pod["metadata"].get("deletionTimestamp").is_some()
}
