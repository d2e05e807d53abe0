//! Faults that pass, at the real server: afterwards it reads and writes without a restart, what it acknowledged is there,
//! and a watch that went through all of it saw every write.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use pawl_testing::{Client, Place, Protocol, Running, Watch};
use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
use serde_json::{Value, json};

const NOBODY: u32 = 65534;
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
            503 => assert!(answer.json()["message"].as_str().unwrap().contains("the store"), "{}", answer.json()),
            504 => assert!(answer.json()["message"].as_str().unwrap().contains("is unknown"), "{}", answer.json()),
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

#[tokio::test(flavor = "multi_thread")]
async fn a_moment_without_threads() {
    let mut running = ordinary().await;
    let watch = begin(&running).await;
    let mut made = create(&running.admin, 0..10).await;
    limit_processes(&running, 1);
    made.extend(create(&running.admin, 10..40).await);
    assert_eq!(made.len(), 40, "threads are not needed to write");
    // Lists and patches are the heavy work that leaves the workers.
    let lists = (0..8).map(|_| running.admin.get(CONFIG_MAPS));
    for list in futures::future::join_all(lists).await {
        // One that every namespace has is among them.
        assert_eq!(list.unwrap().expect(200)["items"].as_array().unwrap().len(), 41);
    }
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    running.admin.merge(&format!("{CONFIG_MAPS}/cm-0?dryRun=All"), &label).await.unwrap().expect(200);
    limit_processes(&running, getrlimit(Resource::Nproc).current.unwrap_or(1 << 20));
    check_that_it_is_over(&mut running, watch, made).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_can_be_made_in_the_directory_for_a_moment() {
    let mut running = ordinary().await;
    let watch = begin(&running).await;
    let mut made = create(&running.admin, 0..10).await;
    let store = running.place.data().join("store");
    let before = std::fs::metadata(&store).unwrap().permissions();
    std::fs::set_permissions(&store, PermissionsExt::from_mode(0o500)).unwrap();
    // More than two segments.
    made.extend(create(&running.admin, 10..200).await);
    assert!(made.len() < 200, "it could make files all the time");
    running.admin.get(&format!("{CONFIG_MAPS}/cm-0")).await.unwrap().expect(200);
    std::fs::set_permissions(&store, before).unwrap();
    check_that_it_is_over(&mut running, watch, made).await;
    running.stop().await;
}

/// Sets how many processes and threads the user of an ordinary server may have.
fn limit_processes(running: &Running, limit: u64) {
    let mut command = Command::new("prlimit");
    command.args(["--pid", &running.server.pid().to_string(), &format!("--nproc={limit}:")]);
    if rustix::process::geteuid().is_root() {
        // Only the same user may without a privilege that containers do not have.
        command.uid(NOBODY).gid(NOBODY);
    }
    assert!(command.status().unwrap().success());
}

/// A server that does not run as root, whom limits of processes and permissions do not concern.
async fn ordinary() -> Running {
    let mut place = Place::new();
    if rustix::process::geteuid().is_root() {
        // Where the binary is, others may not be allowed to look.
        std::fs::copy(pawl_testing::binary(), place.path("pawl")).unwrap();
        for path in [place.path(""), place.path("pawl"), place.path("tokens.csv")] {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
    let command = |place: &Place| {
        let usual = place.command();
        if !rustix::process::geteuid().is_root() {
            return usual;
        }
        let mut command = Command::new(place.path("pawl"));
        command.args(usual.get_args()).uid(NOBODY).gid(NOBODY);
        command
    };
    let server = place.start_with(command).await;
    let admin = place.client(Protocol::Http2);
    admin.post("/api/v1/namespaces", &json!({"metadata": {"name": "n"}})).await.unwrap().expect(201);
    Running { place, server, admin }
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
