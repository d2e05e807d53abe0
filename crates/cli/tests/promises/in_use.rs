//! KEP-2639, Secrets and ConfigMaps in use: each line of its test plan, its stories, who is told of users, and `usedby`.

use pawl_testing::{Client, Protocol, Running};
use serde_json::{Value, json};

const OFF: &str = "--feature-gates=InUseProtection=false";
const NOT_DEPLOYED: &str = "--controllers=*,-secret-protection-controller,-configmap-protection-controller";

/// What is protected.
#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Secret,
    ConfigMap,
}
use What::{ConfigMap, Secret};

/// How it is used in a line of the plan.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Nobody,
    /// A pod uses it, but nobody asked for protection.
    PodWithoutAnnotation,
    PodVolume,
    PodEnv,
    /// A Deployment, a StatefulSet, a DaemonSet and a CronJob.
    TemplatesVolume,
    TemplatesEnv,
    /// A CSI volume, in this field.
    Volume(&'static str),
    ProvisionerOfClass,
    ProvisionerByTemplate,
    Snapshot,
    SnapshotByTemplate,
}
use By::*;

/// What the plan wants to see.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    /// Immediate deletion.
    Goes,
    /// It is not removed immediately, but once nobody uses it.
    Stays,
    /// It has the proper lien.
    HasLien,
}
use Then::{Goes, HasLien, Stays};

type Line = (What, By, Then);

/// Unit tests, lien feature enabled; the end-to-end tests with both controllers deployed are the same.
const ENABLED: [Line; 20] = [
    (Secret, Nobody, Goes),
    (Secret, PodWithoutAnnotation, Goes),
    (Secret, PodVolume, Stays),
    (Secret, PodEnv, Stays),
    (Secret, TemplatesVolume, HasLien),
    (Secret, TemplatesEnv, HasLien),
    (Secret, Volume("controllerPublishSecretRef"), Stays),
    (Secret, Volume("nodeStageSecretRef"), Stays),
    (Secret, Volume("nodePublishSecretRef"), Stays),
    (Secret, Volume("controllerExpandSecretRef"), Stays),
    (Secret, ProvisionerOfClass, Stays),
    (Secret, ProvisionerByTemplate, Stays),
    (Secret, Snapshot, Stays),
    (Secret, SnapshotByTemplate, Stays),
    (ConfigMap, Nobody, Goes),
    (ConfigMap, PodWithoutAnnotation, Goes),
    (ConfigMap, PodVolume, Stays),
    (ConfigMap, PodEnv, Stays),
    (ConfigMap, TemplatesVolume, HasLien),
    (ConfigMap, TemplatesEnv, HasLien),
];

/// Unit tests, lien feature disabled; the plan has the first line twice.
const DISABLED: [Line; 6] = [
    (Secret, Nobody, Goes),
    (Secret, PodVolume, Goes),
    (ConfigMap, Nobody, Goes),
    (ConfigMap, PodVolume, Goes),
    (Secret, Snapshot, Goes),
    (Secret, SnapshotByTemplate, Goes),
];

/// End-to-end tests, controllers not deployed: used by a Pod, a volume and a snapshot; a ConfigMap by a Pod.
const UNDEPLOYED: [Line; 4] = [
    (Secret, PodVolume, Goes),
    (Secret, Volume("controllerPublishSecretRef"), Goes),
    (Secret, Snapshot, Goes),
    (ConfigMap, PodVolume, Goes),
];

/// What the proposal does not test and speaks of, and what this server adds.
const MORE: [Line; 1] = [(Secret, Volume("nodeExpandSecretRef"), Stays)];

#[tokio::test(flavor = "multi_thread")]
async fn every_line_of_the_plan_with_liens_and_controllers() {
    walk(&[], &[&ENABLED[..], &MORE].concat()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_line_of_the_plan_with_the_gate_off() {
    walk(&[OFF], &DISABLED).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_line_of_the_plan_without_controllers() {
    walk(&[NOT_DEPLOYED], &UNDEPLOYED).await;
}

async fn walk(flags: &[&str], lines: &[Line]) {
    let mut running = Running::start(flags, &[]).await;
    define_snapshots(&mut running).await;
    for (i, line) in lines.iter().enumerate() {
        check(&mut running, &format!("x{i}"), *line).await;
    }
    running.stop().await;
}

async fn check(running: &mut Running, name: &str, (what, by, then): Line) {
    let context = format!("{what:?} {by:?} {then:?}");
    let path = used(what, name);
    let (plural, annotation) = match what {
        Secret => ("secrets", "kubernetes.io/enable-secret-protection"),
        ConfigMap => ("configmaps", "kubernetes.io/enable-configmap-protection"),
    };
    let annotations = if by == PodWithoutAnnotation { json!({}) } else { json!({annotation: "yes"}) };
    let object = json!({"metadata": {"name": name, "annotations": annotations}});
    create(&running.admin, &format!("/api/v1/namespaces/n/{plural}"), object).await;
    let users = make_users(running, name, what, by).await;
    let delete = async |client: &Client| client.delete(&path).await.unwrap();
    match then {
        Goes => {
            delete(&running.admin).await.expect(200);
        }
        Stays => {
            let status = delete(&running.admin).await.expect(409);
            let causes = status["details"]["causes"].as_array().unwrap();
            assert!(causes.iter().any(|cause| cause["reason"] == "InUse"), "{context}: {status}");
            until_lien(running, &path, what, true).await;
            delete(&running.admin).await.expect(409);
            for user in &users {
                running.admin.delete(user).await.unwrap().expect(200);
            }
            until_lien(running, &path, what, false).await;
            delete(&running.admin).await.expect(200);
        }
        HasLien => until_lien(running, &path, what, true).await,
    }
    if then != Stays {
        for user in &users {
            running.admin.delete(user).await.unwrap().expect(200);
        }
    }
}

fn used(what: What, name: &str) -> String {
    let plural = if what == Secret { "secrets" } else { "configmaps" };
    format!("/api/v1/namespaces/n/{plural}/{name}")
}

async fn until_lien(running: &mut Running, path: &str, what: What, there: bool) {
    let lien = if what == Secret { "kubernetes.io/secret-protection" } else { "kubernetes.io/configmap-protection" };
    let admin = running.place.client(Protocol::Http2);
    let is = async || {
        let object = admin.get(path).await?.json();
        match object["metadata"]["liens"] == if there { json!([lien]) } else { Value::Null } {
            true => Ok(()),
            false => Err(format!("{path} has liens {}", object["metadata"]["liens"]).into()),
        }
    };
    running.until(is).await;
}

async fn create(client: &Client, path: &str, object: Value) -> Value {
    client.post(path, &object).await.unwrap().expect(201)
}

/// A pod's spec that uses something as a volume or in its environment.
fn pod_spec(what: What, name: &str, env: bool) -> Value {
    let (volume, from) = match what {
        Secret => (json!({"name": "v", "secret": {"secretName": name}}), "secretKeyRef"),
        ConfigMap => (json!({"name": "v", "configMap": {"name": name}}), "configMapKeyRef"),
    };
    let variable = json!({"name": "V", "valueFrom": {from: {"name": name, "key": "k"}}});
    let container = json!({"name": "c", "image": "i", "env": if env { json!([variable]) } else { json!([]) }});
    json!({"containers": [container], "volumes": if env { json!([]) } else { json!([volume]) }})
}

/// Makes who uses something; returns their paths.
async fn make_users(running: &mut Running, name: &str, what: What, by: By) -> Vec<String> {
    let admin = &running.admin;
    let mut made = Vec::new();
    let mut make = async |path: &str, object: Value| {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        create(admin, path, object).await;
        made.push(format!("{path}/{name}"));
    };
    let metadata = json!({"name": name});
    match by {
        Nobody => {}
        PodVolume | PodWithoutAnnotation | PodEnv => {
            let spec = pod_spec(what, name, by == PodEnv);
            make("/api/v1/namespaces/n/pods", json!({"metadata": metadata, "spec": spec})).await;
        }
        TemplatesVolume | TemplatesEnv => {
            let labels = json!({"app": name});
            let mut spec = pod_spec(what, name, by == TemplatesEnv);
            let template = json!({"metadata": {"labels": labels}, "spec": spec});
            let workload = json!({"selector": {"matchLabels": labels}, "template": template});
            for plural in ["deployments", "statefulsets", "daemonsets"] {
                let path = format!("/apis/apps/v1/namespaces/n/{plural}");
                make(&path, json!({"metadata": metadata, "spec": workload})).await;
            }
            spec["restartPolicy"] = json!("Never");
            let job = json!({"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": spec}}}});
            make("/apis/batch/v1/namespaces/n/cronjobs", json!({"metadata": metadata, "spec": job})).await;
        }
        Volume(field) => {
            let secret = json!({"name": name, "namespace": "n"});
            let csi = json!({"driver": "d.example.com", "volumeHandle": "h", field: secret});
            make("/api/v1/persistentvolumes", volume(name, "", csi)).await;
        }
        ProvisionerOfClass | ProvisionerByTemplate => {
            let template = by == ProvisionerByTemplate;
            let (of, namespace) = if template { ("${pvc.name}", "${pvc.namespace}") } else { (name, "n") };
            let parameters = json!({"csi.storage.k8s.io/provisioner-secret-name": of,
                "csi.storage.k8s.io/provisioner-secret-namespace": namespace});
            let class = json!({"metadata": metadata, "provisioner": "d.example.com", "parameters": parameters});
            create(admin, "/apis/storage.k8s.io/v1/storageclasses", class).await;
            let csi = json!({"driver": "d.example.com", "volumeHandle": "h"});
            make("/api/v1/persistentvolumes", volume(name, name, csi)).await;
        }
        Snapshot | SnapshotByTemplate => {
            let template = by == SnapshotByTemplate;
            let (of, namespace) =
                if template { ("${volumesnapshot.name}", "${volumesnapshot.namespace}") } else { (name, "n") };
            let parameters = json!({"csi.storage.k8s.io/snapshotter-secret-name": of,
                "csi.storage.k8s.io/snapshotter-secret-namespace": namespace});
            let (group, kinds) = ("snapshot.storage.k8s.io/v1", ["VolumeSnapshotClass", "VolumeSnapshotContent"]);
            let class = json!({"apiVersion": group, "kind": kinds[0], "metadata": metadata, "parameters": parameters});
            create(admin, &format!("{SNAPSHOTS}/volumesnapshotclasses"), class).await;
            let spec = json!({"volumeSnapshotClassName": name, "volumeSnapshotRef": {"namespace": "n", "name": name}});
            let content = json!({"apiVersion": group, "kind": kinds[1], "metadata": metadata, "spec": spec});
            make(&format!("{SNAPSHOTS}/volumesnapshotcontents"), content).await;
        }
    }
    // Finalizers of others would keep a volume that is deleted.
    for path in made.iter().filter(|path| path.contains("persistentvolumes")) {
        admin.merge(path, &json!({"metadata": {"finalizers": null}})).await.unwrap().expect(200);
    }
    made
}

fn volume(name: &str, class: &str, csi: Value) -> Value {
    json!({"metadata": {"name": name}, "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Delete", "storageClassName": class,
        "claimRef": {"namespace": "n", "name": name}, "csi": csi}})
}

const SNAPSHOTS: &str = "/apis/snapshot.storage.k8s.io/v1";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

async fn define_snapshots(running: &mut Running) {
    for (plural, kind) in
        [("volumesnapshotclasses", "VolumeSnapshotClass"), ("volumesnapshotcontents", "VolumeSnapshotContent")]
    {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
        let definition = json!({"metadata": {"name": format!("{plural}.snapshot.storage.k8s.io"),
                "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"}},
            "spec": {"group": "snapshot.storage.k8s.io", "scope": "Cluster", "versions": [version],
                "names": {"plural": plural, "kind": kind}}});
        create(&running.admin, DEFINITIONS, definition).await;
        let admin = running.place.client(Protocol::Http2);
        let path = format!("{SNAPSHOTS}/{plural}");
        running.until(async || admin.get(&path).await?.ok()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn definitions_of_snapshots_come_and_go() {
    let mut running = Running::start(&[], &[]).await;
    let path = used(Secret, "s");
    let annotations = json!({"kubernetes.io/enable-secret-protection": "yes"});
    create(
        &running.admin,
        "/api/v1/namespaces/n/secrets",
        json!({"metadata": {"name": "s", "annotations": annotations}}),
    )
    .await;
    define_snapshots(&mut running).await;
    make_users(&mut running, "s", Secret, Snapshot).await;
    until_lien(&mut running, &path, Secret, true).await;
    let running = running.restart(&[]).await;
    let mut running = running;
    running.admin.delete(&path).await.unwrap().expect(409);
    let definition = format!("{DEFINITIONS}/volumesnapshotcontents.snapshot.storage.k8s.io");
    running.admin.delete(&definition).await.unwrap().expect(200);
    until_lien(&mut running, &path, Secret, false).await;
    running.admin.delete(&path).await.unwrap().expect(200);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happened_before_a_kill_is_made_up_for() {
    let mut running = Running::start(&[], &[]).await;
    let annotations = json!({"kubernetes.io/enable-secret-protection": "yes"});
    for round in 0..3 {
        for i in 0..20 {
            let name = format!("s{round}-{i}");
            let secret = json!({"metadata": {"name": name, "annotations": annotations}});
            create(&running.admin, "/api/v1/namespaces/n/secrets", secret).await;
            let pod = json!({"metadata": {"name": name}, "spec": pod_spec(Secret, &name, false)});
            create(&running.admin, "/api/v1/namespaces/n/pods", pod).await;
        }
        let Running { mut place, server, .. } = running;
        server.kill();
        let server = place.start().await;
        let admin = place.client(Protocol::Http2);
        running = Running { place, server, admin };
        for i in 0..20 {
            let path = used(Secret, &format!("s{round}-{i}"));
            running.admin.delete(&path).await.unwrap().expect(409);
            until_lien(&mut running, &path, Secret, true).await;
        }
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_names_the_users_that_one_may_read() {
    let mut running = Running::start(&[], &["eve"]).await;
    check_users_made(&running).await;
    running.grant("eve", &["delete", "deletecollection", "list"], "secrets").await;
    let path = used(Secret, "db");
    let eve = running.user("eve");
    let status = eve.delete(&path).await.unwrap().expect(409);
    let text = status.to_string();
    assert!(!text.contains("web") && !text.contains("Pod"), "{text}");
    assert!(status["message"].as_str().unwrap().contains("is used by 2 objects that you may not read"), "{text}");
    running.grant("eve", &["get"], "pods").await;
    let status = eve.delete(&path).await.unwrap().expect(409);
    let causes = status["details"]["causes"].as_array().unwrap().clone();
    let users: Vec<&Value> = causes.iter().filter(|cause| cause["reason"] == "InUse").collect();
    assert_eq!(users.len(), 2, "{status}");
    assert_eq!(users[0]["field"], "spec.volumes[0].secret.secretName");
    assert_eq!(users[0]["message"], "used by Pod \"n/web\" in spec.volumes[0].secret.secretName");
    assert_eq!(users[1]["message"], "used by 1 objects that are not named here");
    let collection = eve.delete("/api/v1/namespaces/n/secrets").await.unwrap().expect(409);
    assert!(collection["message"].as_str().unwrap().contains("1 of 1 secrets are held"), "{collection}");
    // Who may ignore liens may ignore users, and nobody else.
    let options = json!({"ignoreLiens": true});
    eve.delete_with(&path, &options).await.unwrap().expect(403);
    running.grant("eve", &["ignore-liens"], "secrets").await;
    eve.delete_with(&path, &options).await.unwrap().expect(200);
    running.stop().await;
}

/// A Secret `db` in the namespace `n` that a Pod and a Deployment use, and an Ingress names.
async fn check_users_made(running: &Running) {
    let admin = &running.admin;
    let annotations = json!({"kubernetes.io/enable-secret-protection": "yes"});
    let secret = json!({"metadata": {"name": "db", "annotations": annotations}});
    create(admin, "/api/v1/namespaces/n/secrets", secret).await;
    let pod = json!({"metadata": {"name": "web"}, "spec": pod_spec(Secret, "db", false)});
    create(admin, "/api/v1/namespaces/n/pods", pod).await;
    let labels = json!({"app": "api"});
    let template = json!({"metadata": {"labels": labels}, "spec": pod_spec(Secret, "db", true)});
    let spec = json!({"selector": {"matchLabels": labels}, "template": template});
    create(admin, "/apis/apps/v1/namespaces/n/deployments", json!({"metadata": {"name": "api"}, "spec": spec})).await;
    let spec =
        json!({"defaultBackend": {"service": {"name": "s", "port": {"number": 1}}}, "tls": [{"secretName": "db"}]});
    let ingress = json!({"metadata": {"name": "front"}, "spec": spec});
    create(admin, "/apis/networking.k8s.io/v1/namespaces/n/ingresses", ingress).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn usedby_says_who_uses_an_object() {
    let mut running = Running::start(&[], &["eve"]).await;
    check_users_made(&running).await;
    let path = format!("{}/usedby", used(Secret, "db"));
    let shown = running.admin.get(&path).await.unwrap().expect(200);
    assert_eq!(
        (&shown["kind"], &shown["metadata"]["name"], &shown["others"]),
        (&json!("UsedBy"), &json!("db"), &json!(0))
    );
    let users: Vec<String> = shown["users"].as_array().unwrap().iter().map(told).collect();
    assert_eq!(
        users,
        [
            "v1 Pod n/web spec.volumes[0].secret.secretName true",
            "apps/v1 Deployment n/api spec.template.spec.containers[0].env[0].valueFrom.secretKeyRef.name true",
            "networking.k8s.io/v1 Ingress n/front spec.tls[0].secretName false",
        ]
    );
    let eve = running.user("eve");
    eve.get(&path).await.unwrap().expect(403);
    running.grant("eve", &["get"], "secrets").await;
    eve.get(&path).await.unwrap().expect(403);
    running.grant("eve", &["get"], "secrets/usedby").await;
    running.grant("eve", &["get"], "pods").await;
    let shown = eve.get(&path).await.unwrap().expect(200);
    let users: Vec<String> = shown["users"].as_array().unwrap().iter().map(told).collect();
    assert_eq!(users, ["v1 Pod n/web spec.volumes[0].secret.secretName true"]);
    assert_eq!(shown["others"], 2);
    running.admin.get("/api/v1/namespaces/n/secrets/none/usedby").await.unwrap().expect(404);
    running.admin.post(&path, &json!({})).await.unwrap().expect(405);
    check_other_kinds(&running).await;
    // Upstream's groups say nothing of it.
    for document in ["/api/v1", "/apis/storage.k8s.io/v1", "/openapi/v2", "/openapi/v3/api/v1"] {
        assert!(!running.admin.get(document).await.unwrap().expect(200).to_string().contains("usedby"), "{document}");
    }
    running.stop().await;
}

async fn check_other_kinds(running: &Running) {
    let admin = &running.admin;
    let spec = json!({"accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
        "resources": {"requests": {"storage": "1Gi"}}});
    create(admin, "/api/v1/namespaces/n/persistentvolumeclaims", json!({"metadata": {"name": "data"}, "spec": spec}))
        .await;
    let class = json!({"metadata": {"name": "fast"}, "provisioner": "d.example.com"});
    create(admin, "/apis/storage.k8s.io/v1/storageclasses", class).await;
    let class = json!({"metadata": {"name": "high"}, "value": 1000});
    create(admin, "/apis/scheduling.k8s.io/v1/priorityclasses", class).await;
    let spec = json!({"containers": [{"name": "c", "image": "i"}], "priorityClassName": "high",
        "serviceAccountName": "default", "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]});
    create(admin, "/api/v1/namespaces/n/pods", json!({"metadata": {"name": "all"}, "spec": spec})).await;
    for (path, expect) in [
        (
            "/api/v1/namespaces/n/persistentvolumeclaims/data",
            "v1 Pod n/all spec.volumes[0].persistentVolumeClaim.claimName true",
        ),
        ("/api/v1/namespaces/n/serviceaccounts/default", "v1 Pod n/all spec.serviceAccountName true"),
        ("/apis/scheduling.k8s.io/v1/priorityclasses/high", "v1 Pod n/all spec.priorityClassName true"),
        ("/apis/storage.k8s.io/v1/storageclasses/fast", "v1 PersistentVolumeClaim n/data spec.storageClassName true"),
    ] {
        let shown = admin.get(&format!("{path}/usedby")).await.unwrap().expect(200);
        let users: Vec<String> = shown["users"].as_array().unwrap().iter().map(told).collect();
        assert!(users.iter().any(|user| user == expect), "{path}: {users:?}");
    }
}

fn told(user: &Value) -> String {
    let text = |field: &str| user[field].as_str().unwrap_or_default().to_owned();
    let fields: Vec<&str> = user["fields"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let (version, kind, namespace, name) = (text("apiVersion"), text("kind"), text("namespace"), text("name"));
    format!("{version} {kind} {namespace}/{name} {} {}", fields.join(" "), user["protects"])
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_controllers_do_is_measured() {
    let mut running = Running::start(&[], &[]).await;
    check_users_made(&running).await;
    until_lien(&mut running, &used(Secret, "db"), Secret, true).await;
    let answer = running.admin.get("/metrics").await.unwrap();
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    assert!(text.contains("secret_protection{operation=\"add\"} 1"), "{text}");
    assert!(text.contains("configmap_protection{operation=\"add\"} 0"), "{text}");
    running.stop().await;
}

/// Story 3: by the annotation, by the liens once the controllers are off.
#[tokio::test(flavor = "multi_thread")]
async fn who_really_wants_to_can_delete() {
    let mut running = Running::start(&[], &[]).await;
    check_users_made(&running).await;
    let path = used(Secret, "db");
    until_lien(&mut running, &path, Secret, true).await;
    let off = json!({"metadata": {"annotations": {"kubernetes.io/enable-secret-protection": null}}});
    running.admin.merge(&path, &off).await.unwrap().expect(200);
    until_lien(&mut running, &path, Secret, false).await;
    running.admin.delete(&path).await.unwrap().expect(200);
    let annotations = json!({"kubernetes.io/enable-secret-protection": "yes"});
    let secret = json!({"metadata": {"name": "db", "annotations": annotations}});
    create(&running.admin, "/api/v1/namespaces/n/secrets", secret).await;
    until_lien(&mut running, &path, Secret, true).await;
    let running = running.restart(&[NOT_DEPLOYED]).await;
    running.admin.delete(&path).await.unwrap().expect(409);
    running.admin.merge(&path, &json!({"metadata": {"liens": []}})).await.unwrap().expect(200);
    running.admin.delete(&path).await.unwrap().expect(200);
    running.stop().await;
}
