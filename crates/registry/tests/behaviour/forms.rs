//! Kinds of two forms: written in one, read in the other, owned in both.

use crate::stage::Stage;
use serde_json::json;

#[tokio::test]
async fn an_autoscaler_is_the_same_in_both_versions() {
    let stage = Stage::open().await;
    let plural = "horizontalpodautoscalers";
    let (v1, v2) = (stage.served("autoscaling", "v1", plural), stage.served("autoscaling", "v2", plural));
    let created = stage
        .create(
            &v1,
            json!({"metadata": {"name": "h"}, "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "maxReplicas": 3}}),
        )
        .await
        .unwrap();
    assert_eq!(created["apiVersion"], "autoscaling/v1");
    assert_eq!(created["spec"]["targetCPUUtilizationPercentage"], 80);
    let owned = &created["metadata"]["managedFields"][0];
    assert_eq!(owned["apiVersion"], "autoscaling/v1");
    assert_eq!(owned["fieldsV1"]["f:spec"]["f:targetCPUUtilizationPercentage"], json!({}));
    let read = stage.get(&v2, "h").await.unwrap();
    assert_eq!(read["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 80);
    stage.merge(&v1, "h", "", json!({"spec": {"targetCPUUtilizationPercentage": 55}})).await.unwrap();
    let scaled = json!({"spec": {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 5}}}});
    let patched = stage.merge(&v2, "h", "", scaled).await.unwrap();
    assert_eq!(patched["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 55);
    let read = stage.get(&v1, "h").await.unwrap();
    let behavior = read["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/behavior"].as_str().unwrap();
    assert!(behavior.contains(r#""ScaleDown":{"StabilizationWindowSeconds":5"#), "{behavior}");
    let patched = stage.merge(&v2, "h", "", json!({"kind": null, "spec": {"maxReplicas": 2}})).await.unwrap();
    assert_eq!((&patched["kind"], &patched["spec"]["maxReplicas"]), (&json!("HorizontalPodAutoscaler"), &json!(2)));
    let kept = stage.merge(&v1, "h", "", json!({"spec": {"maxReplicas": 4}})).await.unwrap();
    assert_eq!(kept["metadata"]["annotations"], read["metadata"]["annotations"]);
}

#[tokio::test]
async fn empty_lists_that_are_always_written_come_back_as_null() {
    let stage = Stage::open().await;
    let roles = stage.served("rbac.authorization.k8s.io", "v1", "roles");
    let created = stage.create(&roles, json!({"metadata": {"name": "r"}, "rules": []})).await.unwrap();
    assert_eq!(created["rules"], json!(null));
}
