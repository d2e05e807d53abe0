use serde_json::json;

use super::*;
use crate::fake::{Request, Stored};

fn stored() -> Stored {
    let class = |name: &str, overhead: Value, scheduling: Value| json!({"metadata": {"name": name}, "handler": "h", "overhead": overhead, "scheduling": scheduling});
    let scheduling = json!({"nodeSelector": {"a": "1"}, "tolerations": [{"key": "t", "operator": "Exists"}]});
    Stored::default()
        .with("node.k8s.io", "runtimeclasses", class("heavy", json!({"podFixed": {"cpu": "250m"}}), json!(null)))
        .with("node.k8s.io", "runtimeclasses", class("placed", json!(null), scheduling))
        .with_fresh("node.k8s.io", "runtimeclasses", class("late", json!(null), json!(null)))
}

fn refused(why: &str) -> String {
    format!("pods \"n\" is forbidden: {why}")
}

fn check_mutate(spec: Value, expect: Result<Value, &str>) {
    let result = Request::create("", "pods").mutate(&RuntimeClass, json!({"spec": spec}), &stored());
    assert_eq!(result, expect.map(|spec| json!({"spec": spec})).map_err(refused));
}

#[test]
fn a_pod_gets_what_its_class_says() {
    check_mutate(json!({}), Ok(json!({})));
    check_mutate(json!({"runtimeClassName": "late"}), Ok(json!({"runtimeClassName": "late"})));
    check_mutate(json!({"runtimeClassName": "x"}), Err("pod rejected: RuntimeClass \"x\" not found"));
    let heavy = json!({"runtimeClassName": "heavy", "overhead": {"cpu": "250m"}});
    check_mutate(json!({"runtimeClassName": "heavy"}), Ok(heavy.clone()));
    check_mutate(json!({"runtimeClassName": "heavy", "overhead": {}}), Ok(heavy.clone()));
    check_mutate(json!({"runtimeClassName": "heavy", "overhead": {"cpu": "0.25"}}), Ok(heavy));
    check_mutate(json!({"runtimeClassName": "heavy", "overhead": {"cpu": "1"}}), Err(MISMATCH));
    let exists = |key: &str| json!({"key": key, "operator": "Exists"});
    check_mutate(
        json!({"runtimeClassName": "placed", "nodeSelector": {"b": "2"}, "tolerations": [exists("own")]}),
        Ok(json!({
            "runtimeClassName": "placed",
            "nodeSelector": {"a": "1", "b": "2"},
            "tolerations": [exists("own"), exists("t")],
        })),
    );
    check_mutate(
        json!({"runtimeClassName": "placed", "nodeSelector": {"a": "2"}}),
        Err("conflict: runtimeClass.scheduling.nodeSelector[a] = 1; pod.spec.nodeSelector[a] = 2"),
    );
}

#[test]
fn a_pods_overhead_is_its_classs() {
    let check = |spec: Value, expect: Result<(), &str>| {
        let result = Request::create("", "pods").validate(&RuntimeClass, json!({"spec": spec}), &stored());
        assert_eq!(result, expect.map_err(refused));
    };
    let alone = Err("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead");
    check(json!({}), Ok(()));
    check(json!({"overhead": {"cpu": "1"}}), alone);
    check(json!({"overhead": {}}), alone);
    check(json!({"overhead": {"cpu": "1"}, "runtimeClassName": "placed"}), alone);
    check(json!({"overhead": {"cpu": "250m"}, "runtimeClassName": "heavy"}), Ok(()));
    check(json!({"overhead": {"cpu": "250m", "memory": "1"}, "runtimeClassName": "heavy"}), Err(MISMATCH));
    check(json!({"runtimeClassName": "heavy"}), Err(MISMATCH));
    check(json!({"runtimeClassName": "x"}), Err("pod rejected: RuntimeClass \"x\" not found"));
}

#[test]
fn pods_that_exist_and_subresources_are_left_alone() {
    let pod = json!({"spec": {"runtimeClassName": "x"}});
    for request in [
        Request::update("", "pods", json!({})),
        Request { subresource: "binding", ..Request::create("", "pods") },
        Request::create("apps", "deployments"),
    ] {
        assert_eq!(request.mutate(&RuntimeClass, pod.clone(), &stored()), Ok(pod.clone()));
        assert_eq!(request.validate(&RuntimeClass, pod.clone(), &stored()), Ok(()));
    }
}
