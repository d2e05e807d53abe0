//! `pawl controller` alone, against a server whose own controllers are off, and beside one whose own are on.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};

use pawl_testing::{Client, Protocol, Running, Signal, pawl};
use serde_json::{Value, json};

const NOT_DEPLOYED: &str = "--controllers=*,-secret-protection-controller,-configmap-protection-controller";
const SECRETS: &str = "/api/v1/namespaces/n/secrets";
const PODS: &str = "/api/v1/namespaces/n/pods";
const SNAPSHOTS: &str = "/apis/snapshot.storage.k8s.io/v1";

/// A controller of its own; it is killed when this is dropped.
struct Controller {
    child: Child,
    port: u16,
}

impl Controller {
    fn start(running: &Running, which: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = pawl();
        command.args(["controller", which]);
        command.arg(format!("--kubeconfig={}", running.place.data().join("admin.kubeconfig").display()));
        command.arg(format!("--bind-address=127.0.0.1:{port}"));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { child, port }
    }

    /// Stops it the way an operator does.
    fn stop(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }

    fn get(&self, path: &str) -> std::io::Result<String> {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port))?;
        write!(connection, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer)?;
        Ok(answer)
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn create(client: &Client, path: &str, object: Value) -> Value {
    client.post(path, &object).await.unwrap().expect(201)
}

async fn create_secret(running: &Running, name: &str, liens: Value) {
    let annotations = json!({"kubernetes.io/enable-secret-protection": "yes"});
    create(&running.admin, SECRETS, json!({"metadata": {"name": name, "annotations": annotations, "liens": liens}}))
        .await;
}

async fn create_pod(running: &Running, name: &str, secret: &str) {
    let spec = json!({"containers": [{"name": "c", "image": "i"}],
        "volumes": [{"name": "v", "secret": {"secretName": secret}}]});
    create(&running.admin, PODS, json!({"metadata": {"name": name}, "spec": spec})).await;
}

async fn until_liens(running: &mut Running, path: &str, expect: Value) {
    let admin = running.place.client(Protocol::Http2);
    let is = async || {
        let object = admin.get(path).await?.json();
        match object["metadata"]["liens"] == expect {
            true => Ok(()),
            false => Err(format!("{path} has liens {}, not {expect}", object["metadata"]["liens"]).into()),
        }
    };
    running.until(is).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn alone_it_keeps_liens_where_they_are_wanted_and_used() {
    let lien = json!(["kubernetes.io/secret-protection"]);
    let mut running = Running::start(&[NOT_DEPLOYED], &[]).await;
    // There before it, with a user, without one, with a lien that is not deserved.
    create_secret(&running, "used", json!([])).await;
    create_secret(&running, "free", json!(["kubernetes.io/secret-protection"])).await;
    create_pod(&running, "p", "used").await;
    let controller = Controller::start(&running, "secret-protection");
    until_liens(&mut running, &format!("{SECRETS}/used"), lien.clone()).await;
    until_liens(&mut running, &format!("{SECRETS}/free"), Value::Null).await;
    running.admin.delete(&format!("{SECRETS}/used")).await.unwrap().expect(409);
    running.admin.delete(&format!("{SECRETS}/free")).await.unwrap().expect(200);
    // Other liens stay what they are.
    create_secret(&running, "other", json!(["example.com/a", "example.com/b"])).await;
    create_pod(&running, "q", "other").await;
    let all = json!(["example.com/a", "example.com/b", "kubernetes.io/secret-protection"]);
    until_liens(&mut running, &format!("{SECRETS}/other"), all).await;
    running.admin.delete(&format!("{PODS}/q")).await.unwrap().expect(200);
    until_liens(&mut running, &format!("{SECRETS}/other"), json!(["example.com/a", "example.com/b"])).await;
    let off = json!({"metadata": {"annotations": {"kubernetes.io/enable-secret-protection": null}}});
    running.admin.merge(&format!("{SECRETS}/used"), &off).await.unwrap().expect(200);
    until_liens(&mut running, &format!("{SECRETS}/used"), Value::Null).await;
    assert!(controller.get("/healthz").unwrap().ends_with("\r\n\r\nok"));
    let metrics = controller.get("/metrics").unwrap();
    assert!(metrics.contains("secret_protection{operation=\"add\"} 2"), "{metrics}");
    check_storage(&mut running, &lien).await;
    controller.stop();
    running.stop().await;
}

/// Volumes by the template of their class, and snapshots whose definition comes while the controller runs.
async fn check_storage(running: &mut Running, lien: &Value) {
    create_secret(running, "pv", json!([])).await;
    let parameters = json!({"csi.storage.k8s.io/provisioner-secret-name": "${pv.name}",
        "csi.storage.k8s.io/provisioner-secret-namespace": "${pvc.namespace}"});
    let class = json!({"metadata": {"name": "fast"}, "provisioner": "d.example.com", "parameters": parameters});
    create(&running.admin, "/apis/storage.k8s.io/v1/storageclasses", class).await;
    let volume = json!({"metadata": {"name": "pv"}, "spec": {"capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "claimRef": {"namespace": "n", "name": "c"},
        "csi": {"driver": "d.example.com", "volumeHandle": "h"}}});
    create(&running.admin, "/api/v1/persistentvolumes", volume).await;
    until_liens(running, &format!("{SECRETS}/pv"), lien.clone()).await;
    create_secret(running, "snap", json!([])).await;
    let (group, kind) = ("snapshot.storage.k8s.io", "VolumeSnapshotContent");
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    let definition = json!({"metadata": {"name": format!("volumesnapshotcontents.{group}"),
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"}},
        "spec": {"group": group, "scope": "Cluster", "versions": [version],
            "names": {"plural": "volumesnapshotcontents", "kind": kind}}});
    create(&running.admin, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    let contents = format!("{SNAPSHOTS}/volumesnapshotcontents");
    let admin = running.place.client(Protocol::Http2);
    running.until(async || admin.get(&contents).await?.ok()).await;
    let annotations = json!({"snapshot.storage.kubernetes.io/deletion-secret-name": "snap",
        "snapshot.storage.kubernetes.io/deletion-secret-namespace": "n"});
    let content = json!({"apiVersion": format!("{group}/v1"), "kind": kind,
        "metadata": {"name": "c", "annotations": annotations}});
    create(&running.admin, &contents, content).await;
    until_liens(running, &format!("{SECRETS}/snap"), lien.clone()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_leads_and_another_takes_over() {
    let lien = json!(["kubernetes.io/configmap-protection"]);
    let mut running = Running::start(&[NOT_DEPLOYED], &[]).await;
    let first = Controller::start(&running, "configmap-protection");
    let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/configmap-protection-controller";
    let admin = running.place.client(Protocol::Http2);
    running.until(async || admin.get(lease).await?.ok()).await;
    let holder = async |admin: &Client| admin.get(lease).await.unwrap().expect(200)["spec"]["holderIdentity"].clone();
    let leader = holder(&admin).await;
    let second = Controller::start(&running, "configmap-protection");
    let make = async |running: &Running, name: &str| {
        let annotations = json!({"kubernetes.io/enable-configmap-protection": "yes"});
        let object = json!({"metadata": {"name": name, "annotations": annotations}});
        create(&running.admin, "/api/v1/namespaces/n/configmaps", object).await;
        let spec = json!({"containers": [{"name": "c", "image": "i", "envFrom": [{"configMapRef": {"name": name}}]}]});
        create(&running.admin, PODS, json!({"metadata": {"name": name}, "spec": spec})).await;
    };
    make(&running, "a").await;
    until_liens(&mut running, "/api/v1/namespaces/n/configmaps/a", lien.clone()).await;
    assert_eq!(holder(&admin).await, leader);
    running.until(async || second.get("/healthz").map(drop).map_err(Into::into)).await;
    assert!(second.get("/metrics").unwrap().contains("configmap_protection{operation=\"add\"} 0"));
    // It lets go when it is stopped, so nobody waits for the lease to run out.
    first.stop();
    make(&running, "b").await;
    until_liens(&mut running, "/api/v1/namespaces/n/configmaps/b", lien).await;
    assert_ne!(holder(&admin).await, leader);
    second.stop();
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn beside_the_server_s_own_it_does_not_fight() {
    let mut running = Running::start(&[], &[]).await;
    let controller = Controller::start(&running, "secret-protection");
    let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/secret-protection-controller";
    let admin = running.place.client(Protocol::Http2);
    running.until(async || admin.get(lease).await?.ok()).await;
    for i in 0..20 {
        create_secret(&running, &format!("s{i}"), json!([])).await;
        create_pod(&running, &format!("p{i}"), &format!("s{i}")).await;
    }
    for i in 0..10 {
        running.admin.delete(&format!("{PODS}/p{i}")).await.unwrap().expect(200);
    }
    for i in 0..20 {
        let expect = if i < 10 { Value::Null } else { json!(["kubernetes.io/secret-protection"]) };
        until_liens(&mut running, &format!("{SECRETS}/s{i}"), expect).await;
    }
    // Each was written a few times at most: created, held, and half of them let go.
    let versions = async |admin: &Client| {
        let list = admin.get(SECRETS).await.unwrap().expect(200);
        let of = |item: &Value| item["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
        list["items"].as_array().unwrap().iter().map(of).collect::<Vec<_>>()
    };
    let before = versions(&running.admin).await;
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    assert_eq!(versions(&running.admin).await, before);
    controller.stop();
    running.stop().await;
}
