//! Many watches that nothing happens to, long lists in both encodings, many watches that resume far behind, many Secrets in
//! use, many objects with pages of a state that has passed, snapshots of them, the past of one object, writers of objects that
//! a tightened schema refuses, values that are sealed, and many that a lost key makes unreadable.
//! `cargo bench --package pawl --bench scale` prints what they cost, and
//! `-- resuming` (or another name below) only that; nothing is asserted. Other work on the machine spoils the figures.
//! `PAWL_BENCH_OBJECTS` is how many objects are many, `PAWL_BENCH_ROUNDS` how often a key is lost.
#![allow(clippy::restriction, reason = "a benchmark prints, and says when it cannot run")]

#[path = "scale/sealed.rs"]
mod sealed;

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use http::Request;
use http::header::ACCEPT;
use pawl_snapshot::{Decoder, Encoder, Record};
use serde_json::{Value, json};

use pawl_testing::{Client, Place, Protocol, Watch};

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
    let chosen = |name: &str| {
        let mut names = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).peekable();
        names.peek().is_none() || names.any(|chosen| chosen == name)
    };
    if chosen("idle") {
        idle_watches().await;
    }
    if chosen("lists") {
        long_lists().await;
    }
    if chosen("resuming") {
        resuming_watches().await;
    }
    if chosen("in-use") {
        secrets_in_use().await;
    }
    if chosen("objects") {
        many_objects().await;
    }
    if chosen("snapshots") {
        snapshots().await;
    }
    if chosen("history") {
        history().await;
    }
    if chosen("tightened") {
        tightened().await;
    }
    if chosen("sealed") {
        sealed::beside_plain().await;
    }
    if chosen("unreadable") {
        sealed::unreadable().await;
    }
}

/// Runs `pawl` with arguments, which must succeed: how long it took, and the most memory that it held, in kilobytes.
async fn measured(arguments: &[&str]) -> (Duration, u64) {
    let began = Instant::now();
    let mut child = pawl_testing::pawl().args(arguments).stdout(std::process::Stdio::null()).spawn().unwrap();
    let mut most = 0;
    loop {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok());
        most = most.max(peak.unwrap_or(0));
        if let Some(ended) = child.try_wait().unwrap() {
            assert!(ended.success(), "{arguments:?}: {ended}");
            return (began.elapsed(), most);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn print_measured(what: &str, (took, peak): (Duration, u64)) {
    println!("{what}: {:.1} s, {:.0} MB at most", took.as_secs_f64(), peak as f64 / 1e3);
}

/// A million objects: restored, opened, saved while nobody and while many write, and proved. They are copies of one that a
/// server stored: to create them one by one would measure the client.
async fn snapshots() {
    let many = pawl_testing::setting("PAWL_BENCH_OBJECTS").map_or(1_000_000, |many| many as usize);
    let mut place = Place::new();
    let server = place.start().await;
    let client = place.client(Protocol::Http2);
    client.post(CONFIGMAPS, &configmap(0, 0)).await.unwrap().expect(201);
    let path = |name: &str| place.path(name).to_str().unwrap().to_owned();
    let (data, one, all, quiet, busy) = (path("data"), path("one"), path("all"), path("quiet"), path("busy"));
    measured(&["snapshot", "save", &one, "--data-dir", &data]).await;
    server.stop().await;
    std::fs::rename(place.data().join("store"), place.path("before")).unwrap();
    multiply(&one, &all, many);
    let size = std::fs::metadata(&all).unwrap().len();
    println!("{many} objects in a snapshot of {:.0} MB", size as f64 / 1e6);
    print_measured("restored", measured(&["snapshot", "restore", &all, "--data-dir", &data]).await);
    std::fs::remove_file(&all).unwrap();
    let began = Instant::now();
    let server = place.start().await;
    println!("a server on it is ready after {:.1} s", began.elapsed().as_secs_f64());
    let before = server.resident();
    print_measured(
        "saved from the server while nobody writes",
        measured(&["snapshot", "save", &quiet, "--data-dir", &data]).await,
    );
    println!(
        "the file has {:.0} MB; the server holds {:.0} MB, {:.0} MB before",
        std::fs::metadata(&quiet).unwrap().len() as f64 / 1e6,
        server.resident() as f64 / 1e3,
        before as f64 / 1e3
    );
    std::fs::remove_file(&quiet).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    let written = std::sync::atomic::AtomicUsize::new(0);
    let writers = futures::future::join_all((0..WRITERS).map(|writer| {
        let (done, written, client) = (&done, &written, place.client(Protocol::Http2));
        async move {
            for round in 1.. {
                if done.load(std::sync::atomic::Ordering::Relaxed) {
                    return;
                }
                let number = (writer * 7919 + round * WRITERS) % many;
                let path = format!("{CONFIGMAPS}/{}", copied(number));
                client.merge(&path, &json!({"data": {"round": round.to_string()}})).await.unwrap().expect(200);
                written.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
        }
    }));
    let saving = async {
        let measured = measured(&["snapshot", "save", &busy, "--data-dir", &data]).await;
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        measured
    };
    let (measured_busy, _) = futures::future::join(saving, writers).await;
    print_measured(&format!("saved while {WRITERS} write"), measured_busy);
    println!("{} writes meanwhile; the server holds {:.0} MB", written.into_inner(), server.resident() as f64 / 1e3);
    server.stop().await;
    print_measured("verified", measured(&["snapshot", "verify", &busy]).await);
    print_measured("inspected", measured(&["snapshot", "inspect", &busy]).await);
    print_measured("the directory inspected", measured(&["snapshot", "inspect", &data]).await);
}

/// The name of a copy: names of one length are in the order of their numbers.
fn copied(number: usize) -> String {
    format!("c-{number:07}")
}

/// Writes a snapshot that holds what another one does, and the object `c-0` of it so many times, each with a name and a uid of
/// its own.
fn multiply(one: &str, all: &str, many: usize) {
    let mut decoder = Decoder::open(std::fs::File::open(one).unwrap()).unwrap();
    let (mut encoder, head) = Encoder::begin(decoder.head());
    let mut file = std::io::BufWriter::new(std::fs::File::create(all).unwrap());
    let mut write = |bytes: &[u8]| std::io::Write::write_all(&mut file, bytes).unwrap();
    write(&head);
    while let Some(records) = decoder.next_block().unwrap() {
        for record in records {
            if !record.key.ends_with(b"/configmaps/default/c-0") {
                encoder.push(&record).unwrap().iter().for_each(|block| write(block));
                continue;
            }
            let value = String::from_utf8(record.value.to_vec()).unwrap();
            let object: Value = serde_json::from_str(&value).unwrap();
            let uid = object["metadata"]["uid"].as_str().unwrap();
            assert!(value.contains("\"c-0\""), "{value}");
            for number in 0..many {
                let name = copied(number);
                let value = value.replacen("\"c-0\"", &format!("\"{name}\""), 1);
                let value = value.replacen(uid, &format!("00000000-0000-4000-8000-{number:012}"), 1);
                let key = Bytes::from(format!("/registry/configmaps/default/{name}"));
                let copy = Record { key, value: Bytes::from(value), ..record.clone() };
                encoder.push(&copy).unwrap().iter().for_each(|block| write(block));
            }
        }
    }
    write(&encoder.finish().0);
    std::io::Write::flush(&mut file).unwrap();
}

/// An object that was written two hundred times, in a store that remembers some hundred thousand other writes: what it costs to ask for
/// its past.
async fn history() {
    const OBJECTS: usize = 1_000;
    const ROUNDS: usize = 200;
    let mut place = Place::new();
    let server = place.start().await;
    let client = &place.client(Protocol::Http2);
    each(0..OBJECTS, |i| async move { drop(client.post(CONFIGMAPS, &configmap(i, 0)).await.unwrap().expect(201)) })
        .await;
    for round in 1..ROUNDS {
        each(0..OBJECTS, |i| async move {
            let change = json!({"data": {"round": round.to_string()}});
            drop(client.merge(&format!("{CONFIGMAPS}/c-{i}"), &change).await.unwrap().expect(200));
        })
        .await;
    }
    let (began, busy, before) = (Instant::now(), server.cpu(), server.resident());
    const TIMES: u32 = 10;
    let mut told = 0;
    for _ in 0..TIMES {
        let answer = client.get(&format!("{CONFIGMAPS}/c-500/history")).await.unwrap().expect(200);
        told = answer["items"].as_array().unwrap().len();
    }
    println!(
        "the past of one of {OBJECTS} objects after {} writes: {told} moments in {:.0} ms, {:.0} ms of CPU; {:.0} MB more resident",
        OBJECTS * ROUNDS,
        began.elapsed().as_secs_f64() * 1e3 / f64::from(TIMES),
        (server.cpu() - busy).as_secs_f64() * 1e3 / f64::from(TIMES),
        server.resident().saturating_sub(before) as f64 / 1e3
    );
    server.stop().await;
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
/// How many objects a tightened schema refuses, and who writes their status.
const INVALID: usize = 100_000;
const WRITERS: usize = 64;

/// A definition whose objects' field has at least so many characters.
fn widgets(least: usize) -> Value {
    let spec = json!({"type": "object", "properties": {"a": {"type": "string", "minLength": least},
        "list": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 30}}}}}});
    let schema = json!({"type": "object", "properties": {"spec": spec,
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"}, "versions": [{"name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}}]}})
}

/// A hundred thousand objects and as many writers of their status as there are, before and after the schema refuses all
/// of them; the second round before it is tightened shows how much rounds differ by themselves.
async fn tightened() {
    let mut place = Place::new();
    let mut server = place.start().await;
    let client = place.client(Protocol::Http2);
    client.post(DEFINITIONS, &widgets(0)).await.unwrap().expect(201);
    server.until(async || client.get(WIDGETS).await?.ok()).await.unwrap();
    let items: Vec<Value> = (0..20).map(|number| json!({"name": format!("item-{number}")})).collect();
    each(0..INVALID, |number| {
        let object = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": format!("w-{number}")},
            "spec": {"a": "x", "list": items}});
        let client = &client;
        async move {
            client.post(WIDGETS, &object).await.unwrap().expect(201);
        }
    })
    .await;
    for round in ["valid", "valid again", "invalid", "invalid again"] {
        if round == "invalid" {
            let definition = format!("{DEFINITIONS}/widgets.example.com");
            client.merge(&definition, &json!({"spec": widgets(5)["spec"]})).await.unwrap().expect(200);
            let refused = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "new"}, "spec": {"a": "x"}});
            let is_refused = async || match client.post(&format!("{WIDGETS}?dryRun=All"), &refused).await?.code {
                422 => Ok(()),
                code => Err(format!("{code}").into()),
            };
            server.until(is_refused).await.unwrap();
        }
        let (began, cpu) = (Instant::now(), server.cpu());
        let next = std::sync::atomic::AtomicUsize::new(0);
        let writers = (0..WRITERS).map(|_| async {
            let client = place.client(Protocol::Http2);
            loop {
                let number = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                if number >= INVALID {
                    return;
                }
                let status = json!({"status": {"round": round, "number": number}});
                client.merge(&format!("{WIDGETS}/w-{number}/status"), &status).await.unwrap().expect(200);
            }
        });
        futures::future::join_all(writers).await;
        let took = began.elapsed();
        println!(
            "{round}: {INVALID} status writes by {WRITERS}: {:.0}/s, {:.1} us of the server's processors each, {} MB",
            INVALID as f64 / took.as_secs_f64(),
            (server.cpu() - cpu).as_secs_f64() * 1e6 / INVALID as f64,
            server.resident() / 1024,
        );
    }
    server.stop().await;
}

const CONFIGMAPS: &str = "/api/v1/namespaces/default/configmaps";

/// An object of some 2,400 bytes.
fn configmap(number: usize, round: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("c-{number}"), "labels": {"app": "a"}},
        "data": {"round": round.to_string(), "filling": "x".repeat(1_960)}})
}

async fn each<F: Future<Output = ()>>(numbers: std::ops::Range<usize>, work: impl Fn(usize) -> F) {
    stream::iter(numbers).map(work).buffer_unordered(128).for_each(|()| async {}).await;
}

async fn newest(client: &Client) -> String {
    let list = client.get(&format!("{CONFIGMAPS}?limit=1")).await.unwrap().expect(200);
    list["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
}

/// When a watch has its first event; from then on the client is slow.
async fn first_event(client: &Client, path: &str, began: Instant) -> (Duration, Watch) {
    let mut watch = client.watch(path).await.unwrap();
    let first = watch.next().await.unwrap().unwrap();
    assert_ne!(first["type"], "ERROR", "{first}");
    (began.elapsed(), watch)
}

/// 1,000 watches that resume 100,000 events behind.
async fn resuming_watches() {
    const OBJECTS: usize = 1_000;
    const ROUNDS: usize = 100;
    let mut place = Place::new();
    let server = place.start().await;
    let clients: Vec<Client> = (0..CONNECTIONS).map(|_| place.client(Protocol::Http2)).collect();
    let client = &clients[0];
    each(0..OBJECTS, |i| async move { drop(client.post(CONFIGMAPS, &configmap(i, 0)).await.unwrap().expect(201)) })
        .await;
    let start = newest(client).await;
    for round in 1..=ROUNDS {
        let path = |i: usize| format!("{CONFIGMAPS}/c-{i}");
        each(0..OBJECTS, |i| async move {
            drop(client.put(&path(i), &configmap(i, round)).await.unwrap().expect(200));
        })
        .await;
    }
    for client in &clients {
        client.get("/readyz").await.unwrap();
    }
    let idle = server.resident();
    let path = format!("{CONFIGMAPS}?watch=true&resourceVersion={start}");
    let began = Instant::now();
    let all = clients.iter().flat_map(|client| (0..10).map(move |_| client));
    let all = all.map(|client| first_event(client, &path, began));
    let watches = futures::future::join_all(all).await;
    let most = server.resident();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let slowest = watches.iter().map(|(first, _)| *first).max().unwrap();
    println!(
        "{} watches that resume {} events behind: the last has its first event after {:.2} s; {:.0} MB more resident, {:.0} \
         MB two seconds later; {}",
        watches.len(),
        OBJECTS * ROUNDS,
        slowest.as_secs_f64(),
        most.saturating_sub(idle) as f64 / 1e3,
        server.resident().saturating_sub(idle) as f64 / 1e3,
        server.proc("status").lines().find(|line| line.starts_with("Threads")).unwrap()
    );
    // All they missed, for one of them.
    let mut watch = watches.into_iter().next().unwrap().1;
    for _ in 1..OBJECTS * ROUNDS {
        assert_ne!(watch.next().await.unwrap().unwrap()["type"], "ERROR");
    }
    println!("one of them has all after {:.2} s", began.elapsed().as_secs_f64());
    server.stop().await;
}

/// 10,000 Pods that use 1,000 Secrets which want to be protected: when their liens are right after a start, what that takes,
/// and when those of 1,000 Pods that are deleted are gone.
async fn secrets_in_use() {
    const SECRETS: usize = 1_000;
    const OFF: &str = "--controllers=*,-secret-protection-controller,-configmap-protection-controller";
    let secrets = "/api/v1/namespaces/default/secrets";
    let mut place = Place::new();
    let server = place.start_flagged(&[OFF]).await;
    let client = &place.client(Protocol::Http2);
    let annotations = json!({"kubernetes.io/enable-secret-protection": "yes"});
    let secret = |i: usize| json!({"metadata": {"name": format!("s-{i}"), "annotations": annotations}});
    each(0..SECRETS, |i| {
        let secret = secret(i);
        async move { drop(client.post(secrets, &secret).await.unwrap().expect(201)) }
    })
    .await;
    each(0..PODS, |i| async move {
        let spec = json!({"containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "v", "secret": {"secretName": format!("s-{}", i % SECRETS)}}]});
        let pod = json!({"metadata": {"name": format!("p-{i}")}, "spec": spec});
        drop(client.post(PATH, &pod).await.unwrap().expect(201));
    })
    .await;
    server.stop().await;
    let server = place.start_flagged(&[OFF]).await;
    let client = &place.client(Protocol::Http2);
    client.get("/readyz").await.unwrap();
    let before = server.resident();
    server.stop().await;
    let began = Instant::now();
    let server = place.start().await;
    let client = &place.client(Protocol::Http2);
    let held = async || {
        let list = client.get(secrets).await.unwrap().expect(200);
        list["items"].as_array().unwrap().iter().filter(|item| item["metadata"]["liens"].is_array()).count()
    };
    while held().await < SECRETS {}
    println!(
        "{SECRETS} Secrets that {PODS} Pods use have their liens {:.2} s after the start; {:.0} MB more resident than without \
         the controllers",
        began.elapsed().as_secs_f64(),
        server.resident().saturating_sub(before) as f64 / 1e3
    );
    // All ten users of each of a hundred Secrets.
    let began = Instant::now();
    each(0..SECRETS, |i| async move {
        let pod = format!("{PATH}/p-{}?gracePeriodSeconds=0", i % 100 + i / 100 * SECRETS);
        drop(client.delete(&pod).await.unwrap().expect(200));
    })
    .await;
    let deleted = began.elapsed();
    while held().await > SECRETS - 100 {}
    println!(
        "1000 Pods are deleted in {:.2} s, and 100 liens are gone after {:.2} s",
        deleted.as_secs_f64(),
        began.elapsed().as_secs_f64()
    );
    server.stop().await;
}

/// A million objects: what they take, and what a page of a state that has passed costs among them.
async fn many_objects() {
    let many = pawl_testing::setting("PAWL_BENCH_OBJECTS").map_or(1_000_000, |many| many as usize);
    let mut place = Place::new();
    let server = place.start().await;
    let client = &place.client(Protocol::Http2);
    let began = Instant::now();
    each(0..many, |i| async move { drop(client.post(CONFIGMAPS, &configmap(i, 0)).await.unwrap().expect(201)) }).await;
    let took = began.elapsed();
    tokio::time::sleep(Duration::from_secs(2)).await;
    println!(
        "{many} objects of {} bytes: {:.0} MB resident after creating them, {:.0}/s",
        client.get(&format!("{CONFIGMAPS}/c-0")).await.unwrap().body.len(),
        server.resident() as f64 / 1e3,
        many as f64 / took.as_secs_f64()
    );
    let page = client.get(&format!("{CONFIGMAPS}?limit=500")).await.unwrap().expect(200);
    let token = page["metadata"]["continue"].as_str().unwrap().to_owned();
    // More than the ring holds.
    each(0..5_000, |i| async move {
        drop(client.put(&format!("{CONFIGMAPS}/c-{i}"), &configmap(i, 1)).await.unwrap().expect(200));
    })
    .await;
    const PAGES: u32 = 20;
    let (began, busy, workers) = (Instant::now(), server.cpu(), server.worker_cpu());
    for _ in 0..PAGES {
        client.get(&format!("{CONFIGMAPS}?limit=500&continue={token}")).await.unwrap().expect(200);
    }
    println!(
        "a page beyond the ring among them: {:.1} ms, {:.1} ms of CPU on all threads, {:.1} ms on those that serve requests",
        began.elapsed().as_secs_f64() * 1e3 / f64::from(PAGES),
        (server.cpu() - busy).as_secs_f64() * 1e3 / f64::from(PAGES),
        (server.worker_cpu() - workers).as_secs_f64() * 1e3 / f64::from(PAGES)
    );
    let before = server.resident();
    let listed =
        client.send(Request::get(CONFIGMAPS).header(ACCEPT, "application/vnd.kubernetes.protobuf"), Bytes::new());
    let listed = listed.await.unwrap().body.len();
    tokio::time::sleep(Duration::from_secs(10)).await;
    println!(
        "all of them as protobuf: {:.0} MB, of which {:.0} MB stay resident",
        listed as f64 / 1e6,
        server.resident().saturating_sub(before) as f64 / 1e3
    );
    server.stop().await;
    let server = place.start().await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    println!("{:.0} MB resident after a restart", server.resident() as f64 / 1e3);
    server.stop().await;
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
