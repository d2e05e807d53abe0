//! How a server ends and comes back.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Instant;

use pawl_testing::{Failure, Place, Protocol, Signal, TOKEN, Watch};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const CONFIG_MAPS: &str = "/api/v1/namespaces/stop/configmaps";
/// Follows our own objects, not those that controllers put into every namespace.
const WATCH: &str = "/api/v1/namespaces/stop/configmaps?watch=true&labelSelector=test%3Dstop";

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"test": "stop"}}, "data": {"a": "b"}})
}

async fn make_namespace(place: &Place) {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "stop"}});
    place.client(Protocol::Http1).post("/api/v1/namespaces", &namespace).await.unwrap().expect(201);
}

/// Reads a watch to its end; gives the number of events.
async fn to_the_end(mut watch: Watch) -> Result<usize, Failure> {
    let mut events = 0;
    while watch.next().await?.is_some() {
        events += 1;
    }
    Ok(events)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_watches_end_cleanly() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut place = Place::new();
        let mut server = place.start().await;
        make_namespace(&place).await;
        let mut watches = Vec::new();
        for (protocol, count) in [(Protocol::Http2, 250); 4].into_iter().chain([(Protocol::Http1, 8)]) {
            let client = place.client(protocol);
            for _ in 0..count {
                watches.push(client.watch(WATCH).await.unwrap());
            }
        }
        place.client(Protocol::Http2).post(CONFIG_MAPS, &config_map("seen")).await.unwrap().expect(201);
        for watch in &mut watches {
            assert_eq!(watch.next().await.unwrap().unwrap()["object"]["metadata"]["name"], "seen");
        }
        let reading: Vec<_> = watches.into_iter().map(|watch| tokio::spawn(to_the_end(watch))).collect();
        let asked = Instant::now();
        server.signal(signal);
        for watch in reading {
            assert_eq!(watch.await.unwrap().map_err(|error| error.to_string()), Ok(0), "{}", server.log());
        }
        let status = server.ended().await;
        eprintln!("ended {:?} after {signal:?}", asked.elapsed());
        assert_eq!(status.code(), Some(0), "{}", server.log());
        server.assert_no_panic();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_server_is_not_ready_and_finishes_what_it_has_begun() {
    let mut place = Place::new();
    let mut server = place.start().await;
    make_namespace(&place).await;
    let client = place.client(Protocol::Http1);
    let watch = client.watch(WATCH).await.unwrap();

    // A create whose body the server waits for: it says so by asking to go on.
    let body = config_map("in-flight").to_string();
    let mut stream = client.connect().await.unwrap();
    let head = format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).await.unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");

    server.signal(Signal::TERM);
    assert_eq!(to_the_end(watch).await.unwrap(), 0);
    stream.write_all(body.as_bytes()).await.unwrap();
    let ready = client.get("/readyz").await;
    assert!(ready.as_ref().map_or(true, |answer| answer.code != 200), "{ready:?}");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 201 Created\r\n"), "{answer}");
    assert_eq!(server.ended().await.code(), Some(0), "{}", server.log());

    let server = place.start().await;
    place.client(Protocol::Http1).get(&format!("{CONFIG_MAPS}/in-flight")).await.unwrap().expect(200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_server_on_the_same_directory_is_refused() {
    let mut place = Place::new();
    let server = place.start().await;
    let output = place.command().arg(format!("--secure-port={}", pawl_testing::free_port())).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let error = text.lines().find(|line| line.starts_with("Error: ")).unwrap_or_else(|| panic!("{text}"));
    assert!(error.contains(&*place.data().to_string_lossy()) && error.contains("in use"), "{error}");
    // The first one does not notice.
    assert_eq!(place.client(Protocol::Http2).get("/readyz").await.unwrap().code, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_everything() {
    let mut place = Place::new();
    let server = place.start().await;
    make_namespace(&place).await;
    let mut before = place.client(Protocol::Http1).post(CONFIG_MAPS, &config_map("kept")).await.unwrap().expect(201);
    let files = owned_files(&place);
    assert!(files.iter().any(|(path, _)| path.ends_with("admin.kubeconfig")), "{files:?}");
    for (path, _) in &files {
        let mode = fs::metadata(path).unwrap().permissions().mode() & 0o777;
        if path.ends_with("admin.kubeconfig") || path.extension().is_some_and(|e| e == "key") {
            assert_eq!(mode, 0o600, "{}", path.display());
        }
    }
    server.stop().await;
    let server = place.start().await;
    assert_eq!(owned_files(&place), files);
    let path = format!("{CONFIG_MAPS}/kept");
    assert_eq!(place.client(Protocol::Http1).get(&path).await.unwrap().expect(200), before);
    before["data"]["a"] = json!("c");
    let after = place.client(Protocol::Http1).put(&path, &before).await.unwrap().expect(200);
    let version = |object: &Value| object["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap();
    assert!(version(&after) > version(&before));
    server.stop().await;
}

/// The kubeconfig, the certificates and their keys, with their bytes.
fn owned_files(place: &Place) -> Vec<(PathBuf, Vec<u8>)> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(place.data().join("pki")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.push(place.data().join("admin.kubeconfig"));
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}
