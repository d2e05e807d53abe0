//! Rows of whole objects, as recorded from upstream or made from what it documents.

use super::*;

const NOW: i64 = 1_735_689_600; // 2025-01-01T00:00:00Z
const MADE: &str = "2024-12-31T23:59:00Z"; // 60s ago

fn columns(name: &str) -> &'static dyn Columns {
    Printed::load().unwrap().of(name)
}

#[test]
fn the_facts_can_be_read() {
    let facts = parse(&crate::facts::text().columns).unwrap();
    assert_eq!(facts.types.len(), 59);
    for (name, block) in &facts.types {
        let columns = &facts.blocks[*block];
        assert!(!columns.definitions.is_empty(), "{name} has columns");
        let extra = usize::from(*name == "networking.v1.IPAddress");
        assert_eq!(columns.row(&json!({}), NOW).len(), columns.definitions.len() + extra, "{name}");
    }
}

#[test]
fn columns_are_as_recorded() {
    let names = |name: &str| {
        columns(name).definitions().iter().map(|column| (&*column.name, column.priority)).collect::<Vec<_>>()
    };
    assert_eq!(
        names("core.v1.Pod"),
        [
            ("Name", 0),
            ("Ready", 0),
            ("Status", 0),
            ("Restarts", 0),
            ("Age", 0),
            ("IP", 1),
            ("Node", 1),
            ("Nominated Node", 1),
            ("Readiness Gates", 1)
        ]
    );
    assert_eq!(names("*"), [("Name", 0), ("Created At", 0)]);
    assert!(columns("core.v1.LimitRange").is_fallback());
    assert!(columns("rbac.v1.Role").is_fallback());
}

#[test]
fn rows_are_as_recorded() {
    let template = json!({"spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "j"}]}});
    for (name, mut object, expected) in [
        ("*", json!({}), json!(["a", MADE])),
        ("core.v1.ConfigMap", json!({"data": {"k": "v"}, "binaryData": {"z": "AA=="}}), json!(["a", 2, "60s"])),
        ("core.v1.Secret", json!({"type": "example.com/x"}), json!(["a", "example.com/x", 0, "60s"])),
        ("core.v1.Namespace", json!({"status": {"phase": "Active"}}), json!(["a", "Active", "60s"])),
        (
            "core.v1.Pod",
            json!({"spec": {"containers": [{"name": "c"}], "nodeName": "n1"}, "status": {"phase": "Running",
                "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}],
                "containerStatuses": [{"name": "c", "ready": true, "state": {"running": {}}}]}}),
            json!(["a", "1/1", "Running", "0", "60s", "10.1.2.3", "n1", "<none>", "<none>"]),
        ),
        (
            "core.v1.PersistentVolume",
            json!({"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
                "claimRef": {"namespace": "n", "name": "c"}, "persistentVolumeReclaimPolicy": "Retain",
                "volumeMode": "Filesystem"}, "status": {"phase": "Pending"}}),
            json!(["a", "1Gi", "RWO,ROX", "Retain", "Pending", "n/c", "", "<unset>", "", "60s", "Filesystem"]),
        ),
        (
            "core.v1.PersistentVolumeClaim",
            json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
                "storageClassName": "s", "volumeMode": "Filesystem"}, "status": {"phase": "Pending"}}),
            json!(["a", "Pending", "", "", "", "s", "<unset>", "60s", "Filesystem"]),
        ),
        (
            "core.v1.PersistentVolumeClaim",
            json!({"spec": {"volumeName": "v"}, "status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": "2Gi"}}}),
            json!(["a", "Bound", "v", "2Gi", "RWO", "", "<unset>", "60s", "<unset>"]),
        ),
        (
            "core.v1.Service",
            json!({"spec": {"type": "ClusterIP", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"],
                "ports": [{"port": 443, "protocol": "TCP"}]}}),
            json!(["a", "ClusterIP", "10.0.0.1", "<none>", "443/TCP", "60s", "<none>"]),
        ),
        (
            "core.v1.Node",
            json!({"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.2"}], "nodeInfo":
                {"kubeletVersion": "v1.36.4", "kernelVersion": "6.1", "architecture": "amd64"}}}),
            json!([
                "a",
                "Unknown",
                "<none>",
                "60s",
                "v1.36.4",
                "10.0.0.2",
                "<none>",
                "<unknown>",
                "6.1 (amd64)",
                "<unknown>"
            ]),
        ),
        (
            "apps.v1.Deployment",
            json!({"spec": {"replicas": 3, "selector": {"matchLabels": {"app": "a"}}, "template": template}}),
            json!(["a", "0/3", 0, 0, "60s", "c,d", "i,j", "app=a"]),
        ),
        (
            "batch.v1.Job",
            json!({"spec": {"completions": 3, "template": template,
                "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}}}),
            json!(["a", "Running", "0/3", "", "60s", "c,d", "i,j", "batch.kubernetes.io/controller-uid=u"]),
        ),
        (
            "batch.v1.CronJob",
            json!({"spec": {"schedule": "*/5 * * * *", "suspend": false, "jobTemplate": {"spec": {"template": template}}}}),
            json!(["a", "*/5 * * * *", "<none>", "False", 0, "<none>", "60s", "c,d", "i,j", "<none>"]),
        ),
        (
            "policy.v1.PodDisruptionBudget",
            json!({"spec": {"minAvailable": "50%"}}),
            json!(["a", "50%", "N/A", 0, "60s"]),
        ),
        ("policy.v1.PodDisruptionBudget", json!({"spec": {"maxUnavailable": 1}}), json!(["a", "N/A", "1", 0, "60s"])),
        (
            "networking.v1.IPAddress",
            json!({"spec": {"parentRef": {"resource": "services", "namespace": "n", "name": "s"}}}),
            json!(["a", "services/n/s", "60s"]),
        ),
        (
            "networking.v1.IngressClass",
            json!({"metadata": {"annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}},
                "spec": {"controller": "c", "parameters": {"apiGroup": "g", "kind": "K", "name": "p"}}}),
            json!(["a (default)", "c", "K.g/p", "60s"]),
        ),
        (
            "storage.v1.CSIDriver",
            json!({"spec": {"tokenRequests": [{"audience": "x"}, {"audience": "y"}]}}),
            json!(["a", true, false, false, "x,y", false, "<none>", "60s"]),
        ),
        (
            "flowcontrol.v1.PriorityLevelConfiguration",
            json!({"spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 30, "limitResponse": {"type": "Reject"}}}}),
            json!(["a", "Limited", 30, "<none>", "<none>", "<none>", "60s"]),
        ),
        (
            "resource.v1.ResourceClaim",
            json!({"status": {"allocation": {}, "reservedFor": [{"name": "p"}]}}),
            json!(["a", "allocated,reserved", "60s"]),
        ),
    ] {
        object["metadata"]["name"] = json!("a");
        object["metadata"]["creationTimestamp"] = json!(MADE);
        assert_eq!(json!(columns(name).row(&object, NOW)), expected, "{name}");
    }
}

#[test]
fn pods_that_have_ended_say_so() {
    let conditions = |phase: &str| {
        let pod = json!({"status": {"phase": phase}});
        json!(columns("core.v1.Pod").row_conditions(&pod))
    };
    assert_eq!(conditions("Running"), json!([]));
    assert_eq!(
        conditions("Succeeded"),
        json!([{"type": "Completed", "status": "True", "reason": "Succeeded",
            "message": "The pod has completed successfully."}])
    );
    assert_eq!(
        conditions("Failed"),
        json!([{"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}])
    );
}

#[test]
fn flow_schemas_come_by_precedence() {
    let schema =
        |name: &str, precedence: i64| json!({"metadata": {"name": name}, "spec": {"matchingPrecedence": precedence}});
    let mut schemas = [schema("c", 10), schema("b", 9), schema("a", 10)];
    let columns = columns("flowcontrol.v1.FlowSchema");
    schemas.sort_by(|one, other| columns.order(&columns.sort_key(one), &columns.sort_key(other)));
    let names: Vec<_> = schemas.iter().map(|schema| schema["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["b", "a", "c"]);
}
