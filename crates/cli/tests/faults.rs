//! Faults that pass, at the real server: afterwards it reads and writes without a restart, what it acknowledged is there,
//! and a watch that went through all of it saw every write.

#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod server;

use std::path::Path;
use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
use serde_json::{Value, json};
use server::{Client, Place, Protocol, Running, Watch};

const CONFIG_MAPS: &str = "/api/v1/namespaces/n/configmaps";
/// Large enough that a segment of the log takes few of them.
const BYTES: usize = 400_000;
/// The size of a small disk.
const SPACE: usize = 128 << 20;

fn config_map(number: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("cm-{number}")},
        "data": {"x": "x".repeat(BYTES)}})
}

/// Creates objects; tells which were acknowledged. A refusal says that the store refuses, nothing else.
async fn create(client: &Client, numbers: std::ops::Range<usize>) -> Vec<String> {
    let mut made = Vec::new();
    for number in numbers {
        let answer = client.post(CONFIG_MAPS, &config_map(number)).await.unwrap();
        match answer.code {
            201 => made.push(format!("cm-{number}")),
            500 | 503 => assert!(answer.json()["message"].as_str().unwrap().contains("the store"), "{}", answer.json()),
            other => panic!("{other}: {}", answer.json()),
        }
    }
    made
}

/// Waits until the server is ready and creates one more object; the watch then has told of all that were acknowledged.
async fn check_that_it_is_over(running: &mut Running, mut watch: Watch, mut made: Vec<String>) {
    let admin = running.place.client(Protocol::Http2);
    running.until(async || admin.get("/readyz").await?.ok()).await;
    admin.post(CONFIG_MAPS, &config_map(9999)).await.unwrap().expect(201);
    made.push("cm-9999".to_owned());
    let mut told = Vec::new();
    while told.last().map(String::as_str) != Some("cm-9999") {
        let event = watch.next().await.unwrap().expect("the watch ended");
        let name = event["object"]["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        match event["type"].as_str() {
            Some("ADDED") => told.push(name),
            Some("DELETED") => {}
            _ => panic!("{event}"),
        }
    }
    told.retain(|name| name.starts_with("cm-"));
    for name in &made {
        assert!(told.contains(name), "{name} was acknowledged, and the watch did not tell of it");
    }
}

async fn begin(running: &Running) -> Watch {
    let list = running.admin.get(CONFIG_MAPS).await.unwrap().expect(200);
    let version = list["metadata"]["resourceVersion"].as_str().unwrap();
    // On a connection of its own: it is not read before everything is over.
    let watcher = running.place.client(Protocol::Http2);
    watcher.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={version}")).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moment_without_descriptors() {
    let mut running = Running::start(&[], &[]).await;
    let watch = begin(&running).await;
    let mut made = create(&running.admin, 0..10).await;
    let pid = running.server.pid();
    let none = Rlimit { current: Some(1), ..getrlimit(Resource::Nofile) };
    let before = prlimit(Some(pid), Resource::Nofile, none).unwrap();
    // More than two segments.
    made.extend(create(&running.admin, 10..100).await);
    prlimit(Some(pid), Resource::Nofile, before).unwrap();
    assert!(made.len() >= 50, "the spare segment was not used: {} of 100 were made", made.len());
    check_that_it_is_over(&mut running, watch, made).await;
    running.stop().await;
}

/// Needs the right to mount: without it, there is nothing to see.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_for_a_moment() {
    let place = Place::new();
    std::fs::create_dir(place.data()).unwrap();
    let Some(_mount) = Mount::small(&place.data()) else {
        eprintln!("not run: a file system cannot be mounted here");
        return;
    };
    let mut running = Running::start_in(place, &[]).await;
    let watch = begin(&running).await;
    let mut made = create(&running.admin, 0..5).await;
    let filler = running.place.data().join("filler");
    // As much as there is; the last write does not fit.
    let _ = std::fs::write(&filler, vec![1; SPACE]);
    made.extend(create(&running.admin, 5..100).await);
    assert!(made.len() < 100, "it was never full");
    let verbose = running.admin.get("/readyz?verbose").await.unwrap();
    assert_eq!(verbose.code, 500, "it does not say that it refuses writes");
    running.admin.delete(&format!("{CONFIG_MAPS}/cm-0")).await.unwrap().expect(200);
    std::fs::remove_file(filler).unwrap();
    check_that_it_is_over(&mut running, watch, made).await;
    running.stop().await;
}

/// A file system of its own for a directory, until this is dropped.
struct Mount(std::path::PathBuf);

impl Mount {
    fn small(path: &Path) -> Option<Self> {
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={SPACE}"), "tmpfs"]).arg(path).status();
        mounted.is_ok_and(|status| status.success()).then(|| Self(path.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
