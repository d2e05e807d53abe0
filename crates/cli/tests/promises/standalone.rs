//! `pawl controller` alone, against a server whose own controllers are off, and beside one whose own are on.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use pawl_testing::{Client, Protocol, Running, Signal, pawl, seed};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;

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
        Self::start_with(&running.place.data().join("admin.kubeconfig"), which)
    }

    fn start_with(kubeconfig: &Path, which: &str) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = pawl();
        command.args(["controller", which]);
        command.arg(format!("--kubeconfig={}", kubeconfig.display()));
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
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(versions(&running.admin).await, before);
    controller.stop();
    running.stop().await;
}

/// What becomes of bytes on the way between a controller and its server.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Line {
    Open,
    /// Nothing arrives, and nothing is lost: a network that is gone for a moment.
    Still,
    /// Connections break, and nobody answers.
    Cut,
}

/// A way to a server that can be interrupted.
struct Wire {
    port: u16,
    line: watch::Sender<Line>,
}

impl Wire {
    async fn to(port: u16) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (line, seen) = watch::channel(Line::Open);
        let wire = Self { port: listener.local_addr().unwrap().port(), line };
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let line = seen.clone();
                if *line.borrow() == Line::Cut {
                    continue;
                }
                tokio::spawn(async move {
                    let Ok(far) = tokio::net::TcpStream::connect(("127.0.0.1", port)).await else { return };
                    let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
                    tokio::select! {
                        () = carry(near_in, far_out, line.clone()) => {}
                        () = carry(far_in, near_out, line.clone()) => {}
                    }
                });
            }
        });
        wire
    }

    fn set(&self, line: Line) {
        self.line.send_replace(line);
    }
}

/// Brings bytes from one side to the other, as the line lets it.
async fn carry(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, mut line: watch::Receiver<Line>) {
    let mut cut = line.clone();
    let carried = async {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            let _ = line.wait_for(|line| *line != Line::Still).await;
            if to.write_all(&buffer[..read]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = carried => {}
        _ = cut.wait_for(|line| *line == Line::Cut) => {}
    }
}

/// A random change of a Secret or of who uses it. That it is refused is an answer, too.
async fn step(random: &mut fastrand::Rng, admin: &Client) {
    let (s, p) = (random.usize(..4), random.usize(..5));
    let (secret, pod) = (format!("{SECRETS}/s{s}"), format!("{PODS}/p{p}"));
    let wish = |value: Value| json!({"metadata": {"annotations": {"kubernetes.io/enable-secret-protection": value}}});
    let _ = match random.u8(..8) {
        0 | 1 => {
            let mut made = wish(json!("yes"));
            made["metadata"]["name"] = json!(format!("s{s}"));
            admin.post(SECRETS, &made).await.unwrap()
        }
        2 => admin.merge(&secret, &wish(json!("yes"))).await.unwrap(),
        3 => admin.merge(&secret, &wish(Value::Null)).await.unwrap(),
        4 => admin.delete(&secret).await.unwrap(),
        5 | 6 => {
            let volumes: Vec<Value> = (0..random.usize(1..3))
                .map(
                    |at| json!({"name": format!("v{at}"), "secret": {"secretName": format!("s{}", random.usize(..4))}}),
                )
                .collect();
            let spec = json!({"containers": [{"name": "c", "image": "i"}], "volumes": volumes});
            admin.post(PODS, &json!({"metadata": {"name": format!("p{p}")}, "spec": spec})).await.unwrap()
        }
        _ => admin.delete(&format!("{pod}?gracePeriodSeconds=0")).await.unwrap(),
    };
}

/// The Secrets whose lien is not as it should be, by what is there now.
async fn wrong(admin: &Client) -> Result<Vec<String>, pawl_testing::Failure> {
    let pods = admin.get(PODS).await?.json();
    let mut used = std::collections::BTreeSet::new();
    for pod in pods["items"].as_array().unwrap() {
        let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
        used.extend(volumes.filter_map(|volume| volume["secret"]["secretName"].as_str().map(str::to_owned)));
    }
    let secrets = admin.get(SECRETS).await?.json();
    let is_wrong = |secret: &&Value| {
        let metadata = &secret["metadata"];
        let wanted = metadata["annotations"]["kubernetes.io/enable-secret-protection"] == "yes";
        let has = metadata["liens"] == json!(["kubernetes.io/secret-protection"]);
        has != (wanted && used.contains(metadata["name"].as_str().unwrap()))
    };
    Ok(secrets["items"].as_array().unwrap().iter().filter(is_wrong).map(Value::to_string).collect())
}

/// Random changes while the controller is cut off from its server, hears nothing for a while, or starts anew. Whenever the line
/// is open and nothing happens, a lien is there exactly where it is wanted and used.
#[tokio::test(flavor = "multi_thread")]
async fn cut_off_and_back_liens_are_where_they_are_wanted_and_used() {
    let seed = seed();
    let mut random = fastrand::Rng::with_seed(seed);
    let mut running = Running::start(&[NOT_DEPLOYED], &[]).await;
    let wire = Wire::to(running.place.port).await;
    let config = std::fs::read_to_string(running.place.data().join("admin.kubeconfig")).unwrap();
    let through = running.place.path("through.kubeconfig");
    let rerouted = config.replace(&format!(":{}", running.place.port), &format!(":{}", wire.port));
    assert_ne!(config, rerouted);
    std::fs::write(&through, rerouted).unwrap();
    let mut controller = Controller::start_with(&through, "secret-protection");
    let admin = running.place.client(Protocol::Http2);
    for round in 0..24 {
        for _ in 0..random.usize(1..8) {
            step(&mut random, &admin).await;
        }
        let line = [Line::Still, Line::Cut, Line::Cut, Line::Open][round % 4];
        wire.set(line);
        for _ in 0..random.usize(1..12) {
            step(&mut random, &admin).await;
            tokio::time::sleep(Duration::from_millis(random.u64(..60))).await;
        }
        if round % 8 == 5 {
            // One that is stopped gives its Lease back, so that the next one need not wait for its end.
            wire.set(Line::Open);
            controller.stop();
            step(&mut random, &admin).await;
            controller = Controller::start_with(&through, "secret-protection");
        }
        wire.set(Line::Open);
        running
            .until(async || match wrong(&admin).await?.as_slice() {
                [] => Ok(()),
                wrong => Err(format!("round {round} after {line:?}, PAWL_SEED={seed}: {wrong:?}").into()),
            })
            .await;
    }
    controller.stop();
    running.stop().await;
}
