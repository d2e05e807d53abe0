//! Storage migrations: what is stored is rewritten as it would be stored today, whatever kind it is, in its version, its layout
//! and under its key, and a definition is told which versions are left. What is interrupted goes on, what cannot be fails clearly.

use bytes::Bytes;
use futures::StreamExt;
use http::Request;
use http::header::ACCEPT;
use pawl_testing::damage::Door;
use pawl_testing::{Client, Place, Protocol, Running};
use serde_json::{Value, json};

use crate::sealing::{flag, keys, on_disk, until_wiped, write};

const ON: &str = "--feature-gates=StorageVersionMigrator=true";
const MIGRATIONS: &str = "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/n/widgets";
const CONFIG_MAPS: &str = "/api/v1/namespaces/n/configmaps";
const NOW: &str = "2026-01-01T00:00:00Z";
/// How every widget begins that is stored in the first version.
const OF_OLD: &[u8] = br#"{"kind":"Widget","apiVersion":"example.com/v1","#;

fn version(name: &str, storage: bool) -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": open}})
}

fn widgets(versions: &[Value]) -> Value {
    json!({"metadata": {"name": "widgets.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
        "versions": versions, "names": {"plural": "widgets", "kind": "Widget"}}})
}

fn migration(name: &str, group: &str, resource: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"resource": {"group": group, "resource": resource}}})
}

fn condition<'o>(object: &'o Value, kind: &str) -> Option<&'o Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}

fn is_true(object: &Value, kind: &str) -> bool {
    condition(object, kind).is_some_and(|condition| condition["status"] == "True")
}

async fn until_so(running: &mut Running, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let admin = running.place.client(Protocol::Http2);
    running
        .until(async || match admin.get(path).await?.json() {
            found if holds(&found) => Ok(()),
            found => Err(format!("it is not so: {found}").into()),
        })
        .await;
    admin.get(path).await.unwrap().expect(200)
}

async fn begin(client: &Client, name: &str, group: &str, resource: &str) {
    client.post(MIGRATIONS, &migration(name, group, resource)).await.unwrap().expect(201);
}

/// A migration of widgets that runs, up to this version, where nobody runs it.
async fn begun(client: &Client, name: &str, version: &str) {
    begin(client, name, "example.com", "widgets").await;
    let running = json!({"type": "Running", "status": "True", "lastTransitionTime": NOW, "reason": "MigrationRunning",
        "message": "The migration is running"});
    let status = json!({"status": {"conditions": [running], "resourceVersion": version}});
    client.merge(&format!("{MIGRATIONS}/{name}/status"), &status).await.unwrap().expect(200);
}

/// How a migration ended.
async fn ended(running: &mut Running, name: &str) -> Value {
    let over = |found: &Value| (is_true(found, "Succeeded") || is_true(found, "Failed")) && !is_true(found, "Running");
    until_so(running, &format!("{MIGRATIONS}/{name}"), over).await
}

async fn succeeds(running: &mut Running, name: &str) {
    let found = ended(running, name).await;
    assert!(is_true(&found, "Succeeded"), "{found}");
}

/// Widgets that are stored in a version that is no longer the one to store.
async fn stored_of_old(running: &mut Running, count: usize) {
    running.admin.post(DEFINITIONS, &widgets(&[version("v1", true)])).await.unwrap().expect(201);
    let definition = format!("{DEFINITIONS}/widgets.example.com");
    until_so(running, &definition, |found| is_true(found, "Established")).await;
    let make = |number: usize| {
        let admin = &running.admin;
        async move {
            let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget",
                "metadata": {"name": format!("w{number:05}")}, "spec": {"number": number}});
            admin.post(WIDGETS, &widget).await.unwrap().expect(201);
        }
    };
    futures::stream::iter((0..count).map(make)).buffer_unordered(50).collect::<Vec<()>>().await;
    let both = json!({"spec": {"versions": [version("v1", false), version("v2", true)]}});
    let changed = running.admin.merge(&definition, &both).await.unwrap().expect(200);
    assert_eq!(changed["status"]["storedVersions"], json!(["v1", "v2"]));
}

async fn specs(client: &Client, path: &str) -> Vec<Value> {
    let list = client.get(path).await.unwrap().expect(200);
    list["items"].as_array().unwrap().iter().map(|item| item["spec"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_nothing_is_stored_in_any_more_can_be_dropped() {
    let mut running = Running::start(&[ON, "--history=1s"], &[]).await;
    stored_of_old(&mut running, 20).await;
    let definition = format!("{DEFINITIONS}/widgets.example.com");
    let only = json!({"spec": {"versions": [version("v2", true)]}});
    let refused = running.admin.merge(&definition, &only).await.unwrap().expect(422);
    assert_eq!(refused["details"]["causes"][0]["field"], "status.storedVersions[0]", "{refused}");
    let before = running.admin.get(&format!("{WIDGETS}/w00007")).await.unwrap().expect(200);

    begin(&running.admin, "widgets", "example.com", "widgets").await;
    succeeds(&mut running, "widgets").await;
    let admin = &running.admin;
    let told = admin.get(&definition).await.unwrap().expect(200);
    assert_eq!(told["status"]["storedVersions"], json!(["v2"]));
    let said = condition(&told, "StorageMigrating").unwrap();
    assert_eq!(
        (&said["status"], &said["reason"], &said["message"], &said["observedGeneration"]),
        (
            &json!("False"),
            &json!("MigrationSucceeded"),
            &json!("The migration has succeeded and the stored versions have been updated"),
            &told["metadata"]["generation"]
        )
    );
    let ended = admin.get(&format!("{MIGRATIONS}/widgets")).await.unwrap().expect(200);
    let conditions: Vec<Value> = ended["status"]["conditions"].as_array().unwrap().clone();
    let of = |at: usize| (conditions[at]["type"].clone(), conditions[at]["reason"].clone());
    assert_eq!(of(0), (json!("Running"), json!("MigrationCompleted")));
    assert_eq!(of(1), (json!("Succeeded"), json!("StorageVersionMigrationSucceeded")));
    let recorded: u64 = ended["status"]["resourceVersion"].as_str().unwrap().parse().unwrap();

    // Nothing but the version has changed, and nobody owns more than before.
    let mut after = admin.get(&format!("{WIDGETS}/w00007")).await.unwrap().expect(200);
    let now = after["metadata"]["resourceVersion"].take();
    assert!(now.as_str().unwrap().parse::<u64>().unwrap() > recorded, "{now} {recorded}");
    after["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"].clone();
    assert_eq!(after, before);

    admin.merge(&definition, &only).await.unwrap().expect(200);
    let mut running = running.restart(&[ON, "--history=1s"]).await;
    until_wiped(&mut running, std::str::from_utf8(OF_OLD).unwrap()).await;
    let second = WIDGETS.replace("/v1/", "/v2/");
    let wanted: Vec<Value> = (0..20).map(|number| json!({"number": number})).collect();
    assert_eq!(specs(&running.admin, &second).await, wanted);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_is_deleted_has_failed() {
    let mut running = Running::start(&[ON, "--controllers=*,-svm"], &[]).await;
    stored_of_old(&mut running, 3).await;
    // It has begun, and waits for a version that does not come.
    let admin = &running.admin;
    let path = format!("{MIGRATIONS}/widgets");
    begun(admin, "widgets", "4000000000").await;
    let definition = format!("{DEFINITIONS}/widgets.example.com");
    let generation = admin.get(&definition).await.unwrap().expect(200)["metadata"]["generation"].clone();
    let runs = json!({"type": "StorageMigrating", "status": "True", "lastTransitionTime": NOW,
        "reason": "MigrationRunning", "message": "Migration widgets is running", "observedGeneration": generation});
    let mut told = admin.get(&definition).await.unwrap().expect(200);
    told["status"]["conditions"].as_array_mut().unwrap().push(runs);
    admin.put(&format!("{definition}/status"), &told).await.unwrap().expect(200);

    let mut running = running.restart(&[ON]).await;
    running.admin.delete(&path).await.unwrap().expect(200);
    let over =
        |found: &Value| condition(found, "StorageMigrating").is_some_and(|said| said["reason"] == "MigrationFailed");
    let failed = until_so(&mut running, &definition, over).await;
    assert_eq!(failed["status"]["storedVersions"], json!(["v1", "v2"]));
    // The next one does it, and the one after that changes nothing.
    let mut versions = Vec::new();
    for name in ["next", "after"] {
        begin(&running.admin, name, "example.com", "widgets").await;
        succeeds(&mut running, name).await;
        let found = running.admin.get(&definition).await.unwrap().expect(200);
        assert_eq!(found["status"]["storedVersions"], json!(["v2"]));
        let widget = running.admin.get(&format!("{WIDGETS}/w00001")).await.unwrap().expect(200);
        versions.push(widget["metadata"]["resourceVersion"].clone());
    }
    assert_eq!(versions[0], versions[1]);
    running.stop().await;
}

/// Another server, which has not heard of the version that is stored now, may write of old when a migration has begun.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_later_as_of_old_is_rewritten_too() {
    let mut running = Running::start(&[ON, "--controllers=*,-svm", "--history=1s"], &[]).await;
    stored_of_old(&mut running, 3).await;
    begun(&running.admin, "widgets", "1").await;
    let mut running = running.restart(&[ON, "--history=1s"]).await;
    succeeds(&mut running, "widgets").await;
    let definition = running.admin.get(&format!("{DEFINITIONS}/widgets.example.com")).await.unwrap().expect(200);
    assert_eq!(definition["status"]["storedVersions"], json!(["v1", "v2"]), "it was never told that it is migrated");
    let mut running = running.restart(&["--history=1s"]).await;
    until_wiped(&mut running, std::str::from_utf8(OF_OLD).unwrap()).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_goes_on_after_a_kill() {
    const COUNT: usize = 1500;
    let mut running = Running::start(&[ON], &[]).await;
    stored_of_old(&mut running, COUNT).await;
    let first = format!("{WIDGETS}/w00000");
    let before = running.admin.get(&first).await.unwrap().expect(200)["metadata"]["resourceVersion"].clone();
    begin(&running.admin, "widgets", "example.com", "widgets").await;
    until_so(&mut running, &first, |found| found["metadata"]["resourceVersion"] != before).await;
    let Running { mut place, server, .. } = running;
    server.kill();

    // Nobody migrates here: this is where it stood.
    let server = place.start_flagged(&[ON, "--controllers=*,-svm"]).await;
    let admin = place.client(Protocol::Http2);
    let found = admin.get(&format!("{MIGRATIONS}/widgets")).await.unwrap().expect(200);
    assert!(is_true(&found, "Running") && !is_true(&found, "Succeeded"), "{found}");
    let recorded: u64 = found["status"]["resourceVersion"].as_str().unwrap().parse().unwrap();
    let rewritten = |items: &[Value]| {
        let version = |item: &Value| item["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap();
        items.iter().filter(|item| version(item) > recorded).count()
    };
    let items = admin.get(WIDGETS).await.unwrap().expect(200)["items"].as_array().unwrap().clone();
    let half = rewritten(&items);
    assert!(half > 0 && half < COUNT, "{half}");

    let mut running = Running { place, server, admin }.restart(&[ON]).await;
    succeeds(&mut running, "widgets").await;
    let items = running.admin.get(WIDGETS).await.unwrap().expect(200)["items"].as_array().unwrap().clone();
    assert_eq!((items.len(), rewritten(&items)), (COUNT, COUNT));
    let definition = running.admin.get(&format!("{DEFINITIONS}/widgets.example.com")).await.unwrap().expect(200);
    assert_eq!(definition["status"]["storedVersions"], json!(["v2"]));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_sealed_anew() {
    const PLAIN: &str = "cGxhaW4tYXMtZGF5";
    let secrets = "/api/v1/namespaces/n/secrets";
    let place = Place::new();
    write(&place.path("encryption.yaml"), &json!([{"identity": {}}]));
    let flag = flag(&place);
    let running = Running::start_in(place, &[ON, &flag, "--history=1s"]).await;
    for number in 0..5 {
        let secret = json!({"metadata": {"name": format!("s{number}")}, "data": {"value": PLAIN}});
        running.admin.post(secrets, &secret).await.unwrap().expect(201);
    }
    write(&running.place.path("encryption.yaml"), &json!([keys("aesgcm", &["one"]), {"identity": {}}]));
    let mut running = running.restart(&[ON, &flag, "--history=1s"]).await;
    assert!(on_disk(&running.place.data(), PLAIN.as_bytes()));
    begin(&running.admin, "secrets", "", "secrets").await;
    succeeds(&mut running, "secrets").await;
    let mut running = running.restart(&[ON, &flag, "--history=1s"]).await;
    until_wiped(&mut running, PLAIN).await;
    let secret = running.admin.get(&format!("{secrets}/s3")).await.unwrap().expect(200);
    assert_eq!(secret["data"]["value"], PLAIN);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_server_wrote_is_rewritten_once_and_what_cannot_be_read_fails() {
    let door = Door::new();
    let mut running = door.start(Place::new(), &[ON]).await;
    let foreign = json!({"apiVersion": "v1", "data": {"k": "v"}, "kind": "ConfigMap",
        "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z", "name": "foreign", "namespace": "n", "uid": "u-1"}});
    // Sorted by name: another layout than ours.
    let text = foreign.to_string();
    assert!(text.starts_with("{\"apiVersion\""), "{text}");
    door.put("/registry/configmaps/n/foreign", text.as_bytes()).await;
    let path = format!("{CONFIG_MAPS}/foreign");
    let mut versions = Vec::new();
    for name in ["first", "second"] {
        let found = until_so(&mut running, &path, |found| found["kind"] == "ConfigMap").await;
        versions.push(found["metadata"]["resourceVersion"].clone());
        begin(&running.admin, name, "", "configmaps").await;
        succeeds(&mut running, name).await;
    }
    let found = running.admin.get(&path).await.unwrap().expect(200);
    versions.push(found["metadata"]["resourceVersion"].clone());
    assert_ne!(versions[0], versions[1], "rewritten though nothing changes");
    assert_eq!(versions[1], versions[2], "and not again");
    assert_eq!(found["data"], foreign["data"]);

    door.put("/registry/configmaps/n/broken", b"no object").await;
    begin(&running.admin, "third", "", "configmaps").await;
    let failed = ended(&mut running, "third").await;
    let said = condition(&failed, "Failed").unwrap();
    assert_eq!(said["reason"], "StorageVersionMigrationFailed");
    let message = said["message"].as_str().unwrap();
    assert!(message.starts_with("migration encountered unhandled error: ") && message.contains("broken"), "{message}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_resource_that_is_stored_can_be_migrated() {
    let mut running = Running::start(&[ON], &[]).await;
    let admin = running.place.client(Protocol::Http2);
    let groups = admin.get("/apis").await.unwrap().expect(200);
    let mut paths = vec![(String::new(), "/api/v1".to_owned())];
    for group in groups["groups"].as_array().unwrap() {
        let version = group["preferredVersion"]["groupVersion"].as_str().unwrap();
        paths.push((group["name"].as_str().unwrap().to_owned(), format!("/apis/{version}")));
    }
    let mut names = Vec::new();
    for (group, path) in paths {
        for resource in admin.get(&path).await.unwrap().expect(200)["resources"].as_array().unwrap() {
            let verbs: Vec<&str> = resource["verbs"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            let plural = resource["name"].as_str().unwrap();
            if plural.contains('/') || !["update", "patch", "list"].iter().all(|verb| verbs.contains(verb)) {
                continue;
            }
            let name = format!("{plural}.{group}").trim_end_matches('.').to_owned();
            begin(&admin, &name, &group, plural).await;
            names.push(name);
        }
    }
    assert!(names.len() > 50, "{names:?}");
    for name in &names {
        succeeds(&mut running, name).await;
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_migrated_says_so() {
    let mut running = Running::start(&[ON], &[]).await;
    begin(&running.admin, "nothing", "example.com", "nothings").await;
    begin(&running.admin, "reviews", "authentication.k8s.io", "tokenreviews").await;
    for (name, why) in [
        (
            "reviews",
            "resource \"authentication.k8s.io/v1, Resource=tokenreviews\" does not support discovery operations: \
             [update patch list]",
        ),
        ("nothing", "resource does not exist in discovery"),
    ] {
        let failed = ended(&mut running, name).await;
        let said = condition(&failed, "Failed").unwrap();
        assert_eq!((&said["reason"], &said["message"]), (&json!("StorageVersionMigrationFailed"), &json!(why)));
        assert_eq!(failed["status"]["resourceVersion"], Value::Null);
    }
    let admin = &running.admin;
    let wrong = admin.post(MIGRATIONS, &migration("wrong", "", "A")).await.unwrap().expect(422);
    assert_eq!(wrong["details"]["causes"][0]["field"], "spec.resource.resource");
    let other = json!({"spec": {"resource": {"resource": "pods"}}});
    let changed = admin.merge(&format!("{MIGRATIONS}/nothing"), &other).await.unwrap().expect(422);
    let why = "Invalid value: {\"Resource\":{\"group\":\"example.com\",\"resource\":\"pods\"}}: field is immutable";
    assert_eq!(changed["details"]["causes"][0]["message"], why);
    let head = Request::get(MIGRATIONS).header(ACCEPT, "application/json;as=Table;v=v1;g=meta.k8s.io");
    let table = admin.send(head, Bytes::new()).await.unwrap().expect(200);
    let cells: Vec<&Value> = table["rows"].as_array().unwrap().iter().map(|row| &row["cells"]).collect();
    assert_eq!(
        cells,
        [
            &json!(["nothing", "nothings.example.com", "Failed"]),
            &json!(["reviews", "tokenreviews.authentication.k8s.io", "Failed"])
        ]
    );
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_gate_there_is_no_such_group() {
    let mut running = Running::start(&[ON], &[]).await;
    begin(&running.admin, "secrets", "", "secrets").await;
    succeeds(&mut running, "secrets").await;
    let role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:controller:storage-version-migrator-controller";
    running.admin.get(role).await.unwrap().expect(200);
    let groups = async |client: &Client| client.get("/apis").await.unwrap().expect(200)["groups"].to_string();
    assert!(groups(&running.admin).await.contains("storagemigration.k8s.io"));
    let running = running.restart(&[]).await;
    assert_eq!(running.admin.get(MIGRATIONS).await.unwrap().code, 404);
    assert!(!groups(&running.admin).await.contains("storagemigration.k8s.io"));
    let document = running.admin.get("/openapi/v2").await.unwrap().body;
    assert!(!String::from_utf8_lossy(&document).contains("StorageVersionMigration"));
    // What is stored stays.
    let running = running.restart(&[ON]).await;
    assert!(is_true(&running.admin.get(&format!("{MIGRATIONS}/secrets")).await.unwrap().expect(200), "Succeeded"));
    running.stop().await;
    let off = Running::start(&[], &[]).await;
    assert_eq!(off.admin.get(role).await.unwrap().code, 404);
    off.stop().await;
}
