//! `docs/differences.md`, line by line: every line has a test that holds it, or says why it has none; and those that have no other
//! test have one here.
//!
//! `facts/differences.facts` has a line for each: how it begins, and where it is tried. `crates/… name` is a test, `differential
//! REASON` and `golden SCENARIO` are reasons in the lists of the recorded suites, which fail when nothing differs for them any
//! more; `-` is followed by why nothing can be asked.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use http::Request;
use http::header::ACCEPT;
use pawl_testing::{Client, Running};
use serde_json::{Value, json};

fn root() -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..")
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|why| panic!("{path}: {why}"))
}

/// The rows of its tables and the items of its lists.
fn lines() -> Vec<String> {
    let document = text("docs/differences.md");
    let heads = ["| what |", "|---"];
    let is_line =
        |line: &&str| (line.starts_with("| ") && !heads.iter().any(|h| line.starts_with(h))) || line.starts_with("- ");
    document.lines().filter(is_line).map(|line| line.trim_start_matches(['|', '-', ' ']).to_owned()).collect()
}

fn is_there(place: &str) -> bool {
    let (kind, rest) = place.split_once(' ').unwrap_or((place, ""));
    match kind {
        "-" => rest.len() > 10,
        "differential" => text("tests/differential/known-differences.txt").contains(&format!("| {rest}")),
        "crds" => text("tests/crds/known-differences.txt").contains(&format!("| {rest}")),
        "golden" => ["known-differences.txt", "excuses.txt"].iter().any(|list| {
            text(&format!("tests/golden/{list}")).lines().any(|line| line.starts_with(&format!("{rest} ")))
        }),
        file => rest.split_whitespace().all(|name| text(file).contains(&format!("fn {name}("))) && !rest.is_empty(),
    }
}

#[test]
fn every_line_is_tried_somewhere() {
    let facts = text("crates/cli/tests/facts/differences.facts");
    let known: Vec<(&str, &str)> = facts
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_once(" => ").unwrap())
        .collect();
    let lines = lines();
    let mut wrong: Vec<String> = Vec::new();
    for line in &lines {
        match known.iter().filter(|(begin, _)| line.starts_with(begin)).count() {
            1 => {}
            0 => wrong.push(format!("nothing tries: {line}")),
            _ => wrong.push(format!("two lines are meant to try: {line}")),
        }
    }
    for (begin, places) in known {
        if !lines.iter().any(|line| line.starts_with(begin)) {
            wrong.push(format!("no line begins so: {begin}"));
        }
        wrong.extend(
            places.split("; ").filter(|place| !is_there(place)).map(|place| format!("{begin}: no such place: {place}")),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

async fn start(flags: &[&str]) -> Running {
    Running::start(flags, &[]).await
}

async fn service(client: &Client, name: &str, address: Option<&str>) -> pawl_testing::Answer {
    let spec = json!({"ports": [{"port": 80}], "clusterIP": address});
    client.post("/api/v1/namespaces/n/services", &json!({"metadata": {"name": name}, "spec": spec})).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_goes_with_its_service_in_spite_of_a_lien() {
    let running = start(&[]).await;
    let made = service(&running.admin, "s", None).await.expect(201);
    let address = format!("/apis/networking.k8s.io/v1/ipaddresses/{}", made["spec"]["clusterIP"].as_str().unwrap());
    let lien = json!({"metadata": {"liens": ["example.com/x"]}});
    running.admin.merge(&address, &lien).await.unwrap().expect(200);
    running.admin.delete(&address).await.unwrap().expect(409);
    running.admin.delete("/api/v1/namespaces/n/services/s").await.unwrap().expect(200);
    running.admin.get(&address).await.unwrap().expect(404);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_expires_in_spite_of_a_lien() {
    let mut running = start(&["--event-ttl=2s"]).await;
    let path = "/api/v1/namespaces/n/events";
    let event = json!({"metadata": {"name": "e", "liens": ["example.com/x"]}, "involvedObject": {"namespace": "n"}});
    running.admin.post(path, &event).await.unwrap().expect(201);
    running.until_gone(&format!("{path}/e")).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strict_error_has_a_cause_for_each_field() {
    let running = start(&[]).await;
    let body = json!({"metadata": {"name": "c", "lables": {}}, "dta": {}});
    let path = "/api/v1/namespaces/n/configmaps?fieldValidation=Strict";
    let status = running.admin.post(path, &body).await.unwrap().expect(400);
    let causes: Vec<(&str, &str)> = status["details"]["causes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cause| (cause["field"].as_str().unwrap(), cause["message"].as_str().unwrap()))
        .collect();
    assert_eq!(
        causes,
        [
            ("dta", "unknown field \"dta\", did you mean \"data\"?"),
            ("metadata.lables", "unknown field \"metadata.lables\", did you mean \"labels\"?"),
        ]
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_of_a_scale_that_changes_nothing_leaves_its_owners() {
    let running = start(&[]).await;
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template});
    let path = "/apis/apps/v1/namespaces/n/deployments";
    running.admin.post(path, &json!({"metadata": {"name": "d"}, "spec": spec})).await.unwrap().expect(201);
    let before = running.admin.get(&format!("{path}/d")).await.unwrap().expect(200);
    let scale = running.admin.get(&format!("{path}/d/scale")).await.unwrap().expect(200);
    running.admin.put(&format!("{path}/d/scale"), &scale).await.unwrap().expect(200);
    assert_eq!(running.admin.get(&format!("{path}/d")).await.unwrap().expect(200), before);
    running.stop().await;
}

/// What documents, health and answers are like.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_says_what_it_has_and_no_more() {
    let running = start(&[]).await;
    let admin = &running.admin;
    let paths = admin.get("/").await.unwrap().expect(200)["paths"].to_string();
    for absent in ["/flagz", "/statusz", "/metrics/slis", "poststarthook"] {
        assert!(!paths.contains(absent), "{absent}");
    }
    for absent in ["/flagz", "/statusz", "/metrics/slis", "/apis/storagemigration.k8s.io"] {
        assert_eq!(admin.get(absent).await.unwrap().code, 404, "{absent}");
    }
    let checks = |text: &[u8]| -> Vec<String> {
        let text = String::from_utf8_lossy(text).into_owned();
        text.lines().filter_map(|line| Some(line.strip_prefix("[+]")?.split(' ').next()?.to_owned())).collect()
    };
    assert_eq!(checks(&admin.get("/livez?verbose").await.unwrap().body), ["ping", "etcd", "watch-cache"]);
    let ready = ["ping", "etcd", "watch-cache", "etcd-readiness", "informer-sync", "shutdown"];
    assert_eq!(checks(&admin.get("/readyz?verbose").await.unwrap().body), ready);
    let metrics = String::from_utf8_lossy(&admin.get("/metrics").await.unwrap().body).into_owned();
    assert!(metrics.contains("apiserver_request_total{") && !metrics.contains("workqueue_"));
    let statuses = admin.get("/api/v1/componentstatuses").await.unwrap().expect(200);
    let names: Vec<&Value> =
        statuses["items"].as_array().unwrap().iter().map(|item| &item["metadata"]["name"]).collect();
    assert_eq!(names, ["etcd-0"]);
    admin.post("/api/v1/namespaces/n/configmaps", &json!({"metadata": {"name": "c"}})).await.unwrap().expect(201);
    let whole = admin.get("/api/v1/namespaces/n/configmaps/c").await.unwrap().body;
    assert!(whole.starts_with(br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"#));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_yet_says_so() {
    let running = start(&[]).await;
    let admin = &running.admin;
    // Another range of services adds no addresses.
    let ranges = "/apis/networking.k8s.io/v1/servicecidrs";
    admin
        .post(ranges, &json!({"metadata": {"name": "more"}, "spec": {"cidrs": ["10.9.0.0/24"]}}))
        .await
        .unwrap()
        .expect(201);
    service(admin, "out", Some("10.9.0.7")).await.expect(422);
    let spec = json!({"ports": [{"port": 80}], "ipFamilies": ["IPv6"]});
    admin
        .post("/api/v1/namespaces/n/services", &json!({"metadata": {"name": "six"}, "spec": spec}))
        .await
        .unwrap()
        .expect(422);
    let head = Request::get("/api/v1/namespaces/n").header(ACCEPT, "application/cbor");
    admin.send(head, Bytes::new()).await.unwrap().expect(406);
    // What needs a node is 501 once there is one.
    admin.post("/api/v1/nodes", &json!({"metadata": {"name": "node"}})).await.unwrap().expect(201);
    let spec = json!({"nodeName": "node", "containers": [{"name": "c", "image": "i"}]});
    admin.post("/api/v1/namespaces/n/serviceaccounts", &json!({"metadata": {"name": "default"}})).await.unwrap();
    admin
        .post("/api/v1/namespaces/n/pods", &json!({"metadata": {"name": "p"}, "spec": spec}))
        .await
        .unwrap()
        .expect(201);
    for below in ["log", "exec?command=a", "attach", "portforward", "proxy"] {
        let answer = admin.get(&format!("/api/v1/namespaces/n/pods/p/{below}")).await.unwrap();
        assert_eq!(answer.code, 501, "{below} {answer:?}");
    }
    // The level of a namespace is stored, with a Warning.
    let labels = json!({"pod-security.kubernetes.io/enforce": "baseline"});
    let made =
        admin.post("/api/v1/namespaces", &json!({"metadata": {"name": "level", "labels": labels}})).await.unwrap();
    assert!(made.code == 201 && made.warnings()[0].contains("is stored but not enforced yet"), "{made:?}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_owns_the_labels_that_a_job_takes_from_its_template() {
    let running = start(&["--controllers=-*"]).await;
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]});
    let job =
        json!({"metadata": {"name": "j"}, "spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": pod}}});
    let made = running.admin.post("/apis/batch/v1/namespaces/n/jobs", &job).await.unwrap().expect(201);
    assert_eq!(made["metadata"]["labels"]["a"], "b");
    assert_eq!(made["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"], Value::Null);
    running.stop().await;
}
