//! Snapshots with the real binary: who may take one, what is in it while others write, what restores from it, and that half
//! of anything is never taken for whole.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use pawl_snapshot::Decoder;
use pawl_testing::{Client, Place, Protocol, Running, pawl};
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/n/configmaps";
const SNAPSHOTS: &str = "/apis/storage.pawl.dev/v1/snapshots";

fn map(name: &str, text: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}})
}

fn snapshot(arguments: &[&str]) -> Command {
    let mut command = pawl();
    command.arg("snapshot").args(arguments);
    command
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

async fn run(mut command: Command) -> Output {
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

/// Runs `pawl snapshot`, which must end with this code; what it says, errors too.
async fn told(arguments: &[&str], code: i32) -> String {
    let output = run(snapshot(arguments)).await;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    said
}

/// Saves what the server of a place has.
async fn save(place: &Place, name: &str) -> std::path::PathBuf {
    let file = place.path(name);
    let (file_text, data) = (text(&file).to_owned(), place.data());
    let said = told(&["save", &file_text, "--data-dir", text(&data)], 0).await;
    assert!(said.contains("from the server"), "{said}");
    file
}

fn revision(file: &Path) -> u64 {
    Decoder::open(std::fs::File::open(file).unwrap()).unwrap().head().revision
}

/// The objects of a list by name: all of each.
fn items(list: &Value) -> BTreeMap<String, Value> {
    let name = |item: &Value| item["metadata"]["name"].as_str().unwrap().to_owned();
    list["items"].as_array().unwrap().iter().map(|item| (name(item), item.clone())).collect()
}

async fn write(client: Client, number: usize, stop: Arc<AtomicBool>) {
    for round in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let name = format!("c-{number}");
        match round % 5 {
            0 => drop(client.post(MAPS, &map(&name, "new")).await.unwrap().expect(201)),
            4 => drop(client.delete(&format!("{MAPS}/{name}")).await.unwrap().expect(200)),
            _ => {
                let change = json!({"data": {"text": format!("{round} {}", "x".repeat(round % 700))}});
                client.merge(&format!("{MAPS}/{name}"), &change).await.unwrap().expect(200);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_saved_while_others_write_restores_to_exactly_its_revision() {
    let running = Running::start(&["--controllers=-*"], &[]).await;
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..64)
        .map(|number| tokio::spawn(write(running.place.client(Protocol::Http2), number, Arc::clone(&stop))))
        .collect();
    let mut saved = Vec::new();
    for number in 0..4 {
        let file = save(&running.place, &format!("{number}.snapshot")).await;
        let at = revision(&file);
        let exact = format!("{MAPS}?resourceVersion={at}&resourceVersionMatch=Exact");
        saved.push((file, at, items(&running.admin.get(&exact).await.unwrap().expect(200))));
    }
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    let newest: u64 = {
        let list = running.admin.get(&format!("{MAPS}?limit=1")).await.unwrap().expect(200);
        list["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
    };
    running.server.assert_no_panic();
    let Running { server, place: _old, .. } = running;
    server.stop().await;
    assert!(saved.iter().map(|(_, at, _)| *at).is_sorted() && saved[0].1 < newest);
    // Each is on a time line of its own, above those before it.
    let mut began = 0;
    for (file, at, expected) in saved {
        let mut place = Place::new();
        let said = told(&["restore", text(&file), "--data-dir", text(&place.data())], 0).await;
        let begins: u64 = said.split_once("goes on at ").unwrap().1.split(':').next().unwrap().parse().unwrap();
        let server = place.start_flagged(&["--controllers=-*"]).await;
        let client = place.client(Protocol::Http2);
        let list = client.get(MAPS).await.unwrap().expect(200);
        // Whole objects: values, uids and versions.
        assert_eq!(items(&list), expected, "of revision {at}");
        let now: u64 = list["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        assert!(now >= begins && begins > newest && begins > began, "{begins} after {began} and {newest}");
        began = now;
        // The old time line is gone, also what lies between it and the new one.
        for old in [at, newest, begins - 1] {
            let mut watch = client.watch(&format!("{MAPS}?watch=1&resourceVersion={old}")).await.unwrap();
            let first = watch.next().await.unwrap().unwrap();
            assert_eq!((&first["type"], &first["object"]["code"]), (&json!("ERROR"), &json!(410)), "{old}: {first}");
        }
        // Who lists can watch from there, and what he has read can be written.
        let mut watch = client.watch(&format!("{MAPS}?watch=1&resourceVersion={now}")).await.unwrap();
        if let Some(mut object) = expected.values().next().cloned() {
            object["apiVersion"] = json!("v1");
            object["kind"] = json!("ConfigMap");
            object["data"]["text"] = json!("restored");
            let name = object["metadata"]["name"].as_str().unwrap();
            let path = format!("{MAPS}/{name}");
            client.put(&path, &object).await.unwrap().expect(200);
            let event = watch.next().await.unwrap().unwrap();
            assert_eq!(event["object"]["data"]["text"], "restored");
        }
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_killed_leaves_nothing_that_looks_whole() {
    let running = Running::start(&["--controllers=-*"], &[]).await;
    let filling = "x".repeat(200_000);
    for number in 0..40 {
        let created = running.admin.post(MAPS, &map(&format!("c-{number}"), &filling)).await.unwrap();
        created.expect(201);
    }
    let data = running.place.data();
    let began = Instant::now();
    save(&running.place, "not-killed").await;
    // From the beginning to some time after the end.
    let (step, mut whole) = (began.elapsed() / 20, 0);
    for number in 0..25 {
        let file = running.place.path(&format!("killed-{number}"));
        let mut child = snapshot(&["save", text(&file), "--data-dir", text(&data)]);
        let mut child = child.stdout(std::process::Stdio::null()).spawn().unwrap();
        tokio::time::sleep(step * number).await;
        let _ = child.kill();
        child.wait().unwrap();
        if file.exists() {
            told(&["verify", text(&file)], 0).await;
            whole += 1;
        }
        // The next one begins anew, whatever is left of this one.
        if number == 12 && !file.exists() {
            save(&running.place, &format!("killed-{number}")).await;
        }
    }
    eprintln!("{whole} were done before they were killed");
    // A server that goes away in the middle.
    let file = running.place.path("server-killed");
    let child = tokio::task::spawn_blocking({
        let (file, data) = (text(&file).to_owned(), text(&data).to_owned());
        move || snapshot(&["save", &file, "--data-dir", &data]).output().unwrap()
    });
    tokio::time::sleep(step * 5).await;
    running.server.kill();
    let ended = child.await.unwrap();
    assert_eq!(file.exists(), ended.status.success(), "{ended:?}");
    if file.exists() {
        told(&["verify", text(&file)], 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_are_taken_at_once_and_no_more() {
    let running = Running::start(&["--controllers=-*"], &[]).await;
    // More than the sockets between a server and a client who does not read can hold.
    let filling = "x".repeat(900_000);
    for number in 0..40 {
        running.admin.post(MAPS, &map(&format!("c-{number}"), &filling)).await.unwrap().expect(201);
    }
    let wanted = json!({"apiVersion": "storage.pawl.dev/v1", "kind": "Snapshot"});
    let asked = || http::Request::post(SNAPSHOTS).header("content-type", "application/json");
    let slow: Vec<Client> = (0..2).map(|_| running.place.client(Protocol::Http2)).collect();
    let mut taken = Vec::new();
    for client in &slow {
        let answer = client.open(asked(), wanted.to_string().into()).await.unwrap();
        assert_eq!(answer.status(), 200);
        taken.push(answer);
    }
    let refused = running.admin.post(SNAPSHOTS, &wanted).await.unwrap();
    assert_eq!(refused.expect(429)["reason"], "TooManyRequests");
    assert!(refused.headers.contains_key("retry-after"), "{:?}", refused.headers);
    let (file, data) = (running.place.path("third"), running.place.data());
    let said = told(&["save", text(&file), "--data-dir", text(&data)], 1).await;
    assert!(said.contains("other snapshots are being taken") && !file.exists(), "{said}");
    // Others work on meanwhile, and who goes away makes room.
    running.admin.post(MAPS, &map("new", "new")).await.unwrap().expect(201);
    let one = taken.pop().unwrap();
    drop(one);
    let mut running = running;
    let (admin, question) = (running.place.client(Protocol::Http2), wanted.clone());
    let may = async || admin.post(SNAPSHOTS, &question).await?.ok();
    running.until(may).await;
    // The one that waited all the while is whole, and of its time.
    let body = http_body_util::BodyExt::collect(taken.pop().unwrap().into_body()).await.unwrap().to_bytes();
    let mut decoder = Decoder::open(&body[..]).unwrap();
    while let Some(records) = decoder.next_block().unwrap() {
        assert!(records.iter().all(|record| !record.key.ends_with(b"/new")));
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_needs_a_permission_of_its_own() {
    let mut running = Running::start(&["--controllers=-*"], &["view", "edit", "admin", "reader", "keeper"]).await;
    let group = "rbac.authorization.k8s.io";
    let rbac = format!("/apis/{group}/v1");
    let roles = [
        ("reader", json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}])),
        ("keeper", json!([{"apiGroups": ["storage.pawl.dev"], "resources": ["snapshots"], "verbs": ["create"]}])),
    ];
    for (name, rules) in roles {
        let role = json!({"metadata": {"name": name}, "rules": rules});
        running.admin.post(&format!("{rbac}/clusterroles"), &role).await.unwrap().expect(201);
    }
    for name in ["view", "edit", "admin", "reader", "keeper"] {
        let binding = json!({"metadata": {"name": name}, "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": group, "kind": "User", "name": name}]});
        running.admin.post(&format!("{rbac}/clusterrolebindings"), &binding).await.unwrap().expect(201);
    }
    let wanted = json!({"apiVersion": "storage.pawl.dev/v1", "kind": "Snapshot"});
    let keeper = running.user("keeper");
    let may = async || keeper.post(SNAPSHOTS, &wanted).await?.ok();
    running.until(may).await;
    for name in ["view", "edit", "admin", "reader"] {
        running.user(name).post(SNAPSHOTS, &wanted).await.unwrap().expect(403);
    }
    running.place.anonymous(Protocol::Http2).post(SNAPSHOTS, &wanted).await.unwrap().expect(403);
    assert_eq!(running.admin.get(SNAPSHOTS).await.unwrap().code, 405);
    let answer = keeper.post(SNAPSHOTS, &wanted).await.unwrap();
    let mut decoder = Decoder::open(&answer.body[..]).unwrap();
    while decoder.next_block().unwrap().is_some() {}
    assert!(decoder.totals().records > 100);
    let dry = keeper.post(&format!("{SNAPSHOTS}?dryRun=All"), &wanted).await.unwrap().expect(201);
    assert_eq!(dry["kind"], "Snapshot");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sealed_stays_sealed() {
    let place = Place::new();
    let config = place.path("encryption.yaml");
    let keys = |secret: u8| {
        json!({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration", "resources": [
            {"resources": ["secrets"], "providers": [{"aesgcm": {"keys": [{"name": "k", "secret": BASE64.encode([secret; 32])}]}}]}]})
    };
    std::fs::write(&config, keys(1).to_string()).unwrap();
    let flag = format!("--encryption-provider-config={}", text(&config));
    let running = Running::start_in(place, &[&flag, "--controllers=-*"]).await;
    let secret = json!({"metadata": {"name": "s"}, "stringData": {"password": "plain-as-day"}});
    running.admin.post("/api/v1/namespaces/n/secrets", &secret).await.unwrap().expect(201);
    let file = save(&running.place, "sealed").await;
    let place = running.place;
    running.server.stop().await;
    let bytes = std::fs::read(&file).unwrap();
    let plain = BASE64.encode("plain-as-day");
    assert!(!bytes.windows(plain.len()).any(|at| at == plain.as_bytes()), "the file tells a secret");
    let said = told(&["verify", text(&file)], 0).await;
    assert!(said.contains("1 are sealed and were not opened"), "{said}");
    let said = told(&["verify", text(&file), &flag], 0).await;
    assert!(said.contains("0 are sealed") && said.contains("everything holds\n"), "{said}");
    let other = place.path("other.yaml");
    std::fs::write(&other, keys(2).to_string()).unwrap();
    let said = told(&["verify", text(&file), &format!("--encryption-provider-config={}", text(&other))], 2).await;
    assert!(said.contains("UNREADABLE: /registry/secrets/n/s"), "{said}");
    // The same of the directory; and it opens where it was restored.
    let said = told(&["verify", text(&place.data()), &flag], 0).await;
    assert!(said.contains("everything holds\n"), "{said}");
    let mut restored = Place::new();
    told(&["restore", text(&file), "--data-dir", text(&restored.data())], 0).await;
    let server = restored.start_flagged(&[&flag, "--controllers=-*"]).await;
    let found = restored.client(Protocol::Http2).get("/api/v1/namespaces/n/secrets/s").await.unwrap().expect(200);
    assert_eq!(found["data"]["password"], plain);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn directories_are_saved_looked_into_migrated_and_salvaged() {
    let running = Running::start(&["--controllers=-*"], &[]).await;
    for number in 0..30 {
        let text = "y".repeat(5000);
        running.admin.post(MAPS, &map(&format!("c-{number}"), &text)).await.unwrap().expect(201);
    }
    let (data, other) = (running.place.data(), running.place.path("other"));
    let (data, other) = (text(&data).to_owned(), text(&other).to_owned());
    // While the server runs the directory is its own.
    for arguments in [vec!["verify", &data], vec!["inspect", &data], vec!["salvage", &data, "--to", &other]] {
        assert!(told(&arguments, 1).await.contains("in use by another server"));
    }
    let before = items(&running.admin.get(MAPS).await.unwrap().expect(200));
    let place = running.place;
    running.server.stop().await;
    let offline = place.path("offline");
    let said = told(&["save", text(&offline), "--data-dir", &data], 0).await;
    assert!(said.contains("from the files"), "{said}");
    assert!(told(&["save", text(&offline), "--data-dir", &data], 1).await.contains("is there already"));
    let said = told(&["inspect", &data], 0).await;
    assert!(said.contains("configmaps") && said.contains("history   from revision 1 on"), "{said}");
    let said = told(&["salvage", &data, "--to", text(&place.path("whole"))], 0).await;
    assert!(said.contains("nothing is lost"), "{said}");
    // Into a new directory, with every revision.
    let mut command = pawl();
    command.args(["migrate", "--from", &data, "--to", &other]);
    let output = run(command).await;
    assert!(output.status.success(), "{output:?}");
    let mut command = pawl();
    command.args(["migrate", "--from", &data, "--to", &other]);
    assert_eq!(run(command).await.status.code(), Some(1), "the target is not empty any more");
    // A bit flips in the log.
    let log = std::fs::read_dir(place.data().join("store")).unwrap().map(|entry| entry.unwrap().path());
    let log = log.filter(|path| path.extension().is_some_and(|end| end == "log")).max().unwrap();
    let mut bytes = std::fs::read(&log).unwrap();
    let at = bytes.windows(200).position(|at| at.iter().all(|byte| *byte == b'y')).unwrap();
    bytes[at] ^= 1;
    std::fs::write(&log, &bytes).unwrap();
    let said = told(&["verify", &data], 2).await;
    assert!(said.contains("DAMAGED") && said.contains(".log at byte"), "{said}");
    let salvaged = format!("{}/", text(&place.path("salvaged")));
    let said = told(&["salvage", &data, "--to", &salvaged], 2).await;
    assert!(said.contains("LOST") && said.contains("/registry/configmaps/n/c-"), "{said}");
    assert_eq!(std::fs::read(&log).unwrap(), bytes, "the source is not touched");
    told(&["verify", &salvaged], 0).await;
    // What was migrated is served, as it was.
    std::fs::rename(place.data(), place.path("damaged")).unwrap();
    std::fs::rename(&other, place.data()).unwrap();
    let mut place = place;
    let server = place.start_flagged(&["--controllers=-*"]).await;
    assert_eq!(items(&place.client(Protocol::Http2).get(MAPS).await.unwrap().expect(200)), before);
    server.stop().await;
}

/// A migration that is killed when part of it is there goes on when the same is run again.
#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_was_killed_goes_on() {
    let running = Running::start(&["--controllers=-*"], &[]).await;
    let filling = "y".repeat(900_000);
    for number in 0..40 {
        running.admin.post(MAPS, &map(&format!("c-{number:03}"), &filling)).await.unwrap().expect(201);
    }
    let before = items(&running.admin.get(MAPS).await.unwrap().expect(200));
    let Running { server, place, .. } = running;
    server.stop().await;
    let data = text(&place.data()).to_owned();
    let migrate = |to: &str| {
        let mut command = pawl();
        command.args(["migrate", "--from", &data, "--to", to]);
        command
    };
    let (mut target, mut kills) = (Place::new(), 0);
    let said = loop {
        let to = text(&target.data()).to_owned();
        let mut child = migrate(&to).stdout(std::process::Stdio::null()).spawn().unwrap();
        let made = target.data().join("store.restoring/making.tmp");
        // Further with every attempt.
        let enough = 3_000_000 * (kills + 1);
        let ended = loop {
            if let Some(ended) = child.try_wait().unwrap() {
                break Some(ended);
            }
            if std::fs::metadata(&made).is_ok_and(|made| made.len() > enough) {
                break None;
            }
            tokio::time::sleep(std::time::Duration::from_micros(200)).await;
        };
        let _ = child.kill();
        child.wait().unwrap();
        if let Some(ended) = ended {
            // It was quicker than we are: once more, from the start.
            assert!(ended.success());
            (target, kills) = (Place::new(), 0);
            continue;
        }
        assert!(!target.data().join("store").exists(), "half of it is no store");
        kills += 1;
        if kills == 3 {
            let output = run(migrate(&to)).await;
            assert!(output.status.success(), "{output:?}");
            break String::from_utf8(output.stdout).unwrap();
        }
    };
    let already = said.split_once(" of them were there from before").expect(&said).0.rsplit('\n').next().unwrap();
    // Blocks have a quarter of a megabyte, or one object.
    assert!(already.parse::<usize>().unwrap() >= 5, "{said}");
    told(&["verify", text(&target.data())], 0).await;
    let server = target.start_flagged(&["--controllers=-*"]).await;
    assert_eq!(items(&target.client(Protocol::Http2).get(MAPS).await.unwrap().expect(200)), before);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_restore_is_not_served() {
    let running = Running::start(&["--controllers=-*"], &[]).await;
    let file = save(&running.place, "file").await;
    let Running { server, place: _old, .. } = running;
    server.stop().await;
    let place = Place::new();
    let data = place.data();
    // As a restore leaves it that was killed.
    std::fs::create_dir_all(data.join("store.restoring")).unwrap();
    std::fs::write(data.join("store.restoring/making.tmp"), b"half").unwrap();
    let output = run(place.command()).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && said.contains("an interrupted restore"), "{said}");
    // Half a file restores nothing, and leaves nothing.
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    let fresh = place.path("fresh");
    assert!(told(&["restore", text(&file), "--data-dir", text(&fresh)], 1).await.contains("not whole"));
    assert!(!fresh.exists());
    std::fs::write(&file, &bytes).unwrap();
    told(&["restore", text(&file), "--data-dir", text(&data)], 0).await;
    let said = told(&["restore", text(&file), "--data-dir", text(&data)], 1).await;
    assert!(said.contains("is not empty"), "{said}");
    let mut place = place;
    place.start().await.stop().await;
}
