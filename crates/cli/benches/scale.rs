//! Many watches that nothing happens to, and long lists in both encodings. `cargo bench --package pawl --bench scale`
//! prints what they cost; nothing is asserted. Other work on the machine spoils the figures.
#![allow(clippy::restriction, reason = "a benchmark prints, and says when it cannot run")]

#[path = "../tests/server/mod.rs"]
mod server;

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use http::Request;
use http::header::ACCEPT;
use serde_json::json;
use server::{Client, Place, Protocol};

const WATCHES: usize = 10_000;
const CONNECTIONS: usize = 100;
const PODS: usize = 10_000;
const PATH: &str = "/api/v1/namespaces/default/pods";

#[tokio::main]
async fn main() {
    // `cargo test` builds benchmarks and runs them too.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    idle_watches().await;
    long_lists().await;
}

async fn idle_watches() {
    let mut place = Place::new();
    let server = place.start().await;
    let clients: Vec<Client> = (0..CONNECTIONS).map(|_| place.client(Protocol::Http2)).collect();
    for client in &clients {
        client.get("/readyz").await.unwrap();
    }
    let before = server.resident();
    let mut watches = Vec::new();
    for client in &clients {
        let opening =
            (0..WATCHES / CONNECTIONS).map(|_| client.watch("/api/v1/configmaps?watch=true&labelSelector=no%3Done"));
        watches.extend(futures::future::join_all(opening).await.into_iter().map(Result::unwrap));
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (open, busy) = (server.resident(), server.cpu());
    tokio::time::sleep(Duration::from_secs(10)).await;
    let (busy, grown) = (server.cpu() - busy, open.saturating_sub(before));
    println!(
        "{} idle watches: {:.1} MB more resident, {:.1} kB each; {} ms of CPU in 10 s",
        watches.len(),
        grown as f64 / 1e3,
        grown as f64 / watches.len() as f64,
        busy.as_millis()
    );
    drop(watches);
    server.stop().await;
}

async fn long_lists() {
    let mut place = Place::new();
    let server = place.start().await;
    let client = place.client(Protocol::Http2);
    let creating = (0..PODS).map(|i| async move { i });
    stream::iter(creating)
        .buffer_unordered(64)
        .map(|i| create(&client, i))
        .buffer_unordered(64)
        .for_each(|()| async {})
        .await;
    for media in ["application/json", "application/vnd.kubernetes.protobuf"] {
        let before = server.resident();
        let first = list(&client, media).await;
        let mut again: Vec<(Duration, usize)> = Vec::new();
        for _ in 0..10 {
            again.push(list(&client, media).await);
        }
        again.sort();
        let after = server.resident();
        println!(
            "{PODS} pods as {media}: {:.1} MB, {:.0} ms the first time, {:.0} ms after that; {:.1} MB more resident",
            first.1 as f64 / 1e6,
            first.0.as_secs_f64() * 1e3,
            again[5].0.as_secs_f64() * 1e3,
            after.saturating_sub(before) as f64 / 1e3
        );
    }
    server.stop().await;
}

async fn create(client: &Client, number: usize) {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("pod-{number}"), "labels": {"app": "a"}},
        "spec": {"automountServiceAccountToken": false, "containers": [{"name": "main", "image": "registry.example.com/image:v1",
            "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "ports": [{"containerPort": 8080}],
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}]}});
    client.post(PATH, &pod).await.unwrap().expect(201);
}

async fn list(client: &Client, media: &str) -> (Duration, usize) {
    let began = Instant::now();
    let answer = client.send(Request::get(PATH).header(ACCEPT, media), Bytes::new()).await.unwrap();
    answer.ok().unwrap();
    (began.elapsed(), answer.body.len())
}
