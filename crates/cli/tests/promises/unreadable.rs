//! What cannot be read is named, and can be removed by who may: the two stories of the proposal, and every way to read.

use std::collections::BTreeSet;

use crate::sealing::{RELOAD, flag, keys, write, write_for};
use bytes::Bytes;
use http::Request;
use http::header::ACCEPT;
use pawl_testing::damage::Door;
use pawl_testing::{Answer, Place, Running};
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/n/configmaps";
const KEY: &str = "/registry/configmaps/n/c";
const X: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";
const GARBAGE: &[u8] = b"this is not an object";
const UNKNOWN_KEY: &[u8] = b"k8s:enc:aesgcm:v1:gone-key:0123456789abcdefghijklmnopqrstuvwxyz0123456789";

struct World {
    running: Running,
    door: Door,
}

impl World {
    async fn new(flags: &[&str]) -> Self {
        Self::with_users(&[], flags).await
    }

    async fn with_users(users: &[&str], flags: &[&str]) -> Self {
        let place = Place::new();
        for user in users {
            place.add_user(user, "");
        }
        let door = Door::new();
        Self { running: door.start(place, flags).await, door }
    }

    async fn create(&self, names: &[&str]) {
        for name in names {
            let map = json!({"metadata": {"name": name, "labels": {"of": name}}, "data": {"a": "1"}});
            self.running.admin.post(MAPS, &map).await.unwrap().expect(201);
        }
    }

    async fn get(&self, path: &str) -> Answer {
        self.running.admin.get(path).await.unwrap()
    }

    async fn get_as(&self, path: &str, accept: &str) -> Answer {
        self.running.admin.send(Request::get(path).header(ACCEPT, accept), Bytes::new()).await.unwrap()
    }

    async fn damage(&self, name: &str, value: &[u8]) {
        self.door.put(&format!("/registry/configmaps/n/{name}"), value).await;
        self.running.admin.get(&format!("{MAPS}/{name}")).await.unwrap().expect(500);
    }

    async fn remove(&self, name: &str) -> Answer {
        self.running.admin.delete(&format!("{MAPS}/{name}?{X}=true")).await.unwrap()
    }
}

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().filter_map(|item| item["metadata"]["name"].as_str()).collect()
}

fn reason(answer: &Answer) -> (u16, String) {
    (answer.code, answer.json()["reason"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_to_read_names_what_cannot_be_read() {
    let world = World::new(&["--controllers=-*"]).await;
    world.create(&["c", "good"]).await;
    for (value, why) in [
        (GARBAGE, "object not decodable revision="),
        (UNKNOWN_KEY, "data from the storage is not transformable revision=0: identity transformer tried to read"),
        (
            b"{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"c\"}}",
            "the value is of kind \"Secret\"",
        ),
        (b"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"}", "the value has no metadata"),
        (b"k8s\0\x0a\xff", "object not decodable"),
    ] {
        world.damage("c", value).await;
        let status = world.get(&format!("{MAPS}/c")).await.expect(500);
        assert_eq!((&status["reason"], &status["details"]["kind"]), (&json!("StorageReadError"), &json!("configmaps")));
        assert_eq!(status["details"]["name"], KEY);
        assert_eq!(status["details"]["causes"].as_array().unwrap().len(), 1);
        let cause = &status["details"]["causes"][0];
        assert_eq!((&cause["reason"], &cause["field"]), (&json!("UnexpectedServerResponse"), &json!(KEY)));
        for text in [&status["message"], &cause["message"]] {
            let text = text.as_str().unwrap();
            assert!(text.contains("StorageError: corrupt object, Code: 7, Key: /") && text.contains(why), "{text}");
        }
        for query in
            ["", "?limit=1", "?limit=500", "?resourceVersion=0", "?labelSelector=of%3Dgood", "?labelSelector=x"]
        {
            let status = world.get(&format!("{MAPS}{query}")).await.expect(500);
            assert_eq!(status["reason"], "StorageReadError", "{query}");
            assert_eq!(status["details"]["name"], "/registry/configmaps/n/");
            assert_eq!(status["details"]["causes"][0]["field"], KEY);
            assert!(status["message"].as_str().unwrap().contains(KEY), "{status}");
        }
        let everywhere = world.get("/api/v1/configmaps").await.expect(500);
        assert_eq!(everywhere["details"]["name"], "/registry/configmaps/");
        for accept in [
            "application/json;as=Table;v=v1;g=meta.k8s.io",
            "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
            "application/vnd.kubernetes.protobuf",
            "application/yaml",
        ] {
            assert_eq!(world.get_as(MAPS, accept).await.code, 500, "{accept}");
        }
        world.get(&format!("{MAPS}/good")).await.expect(200);
        let by_name = world.get(&format!("{MAPS}?fieldSelector=metadata.name%3Dgood")).await.expect(200);
        assert_eq!(names(&by_name), ["good"]);
        world.get("/api/v1/namespaces/default/configmaps").await.expect(200);
    }
    world.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_are_named_and_no_more() {
    let world = World::new(&["--controllers=-*"]).await;
    let causes = async || {
        let status = world.get(MAPS).await.expect(500);
        status["details"]["causes"].as_array().unwrap().clone()
    };
    for i in 0..100 {
        world.door.put(&format!("/registry/configmaps/n/c{i:03}"), GARBAGE).await;
    }
    let told = causes().await;
    assert_eq!(told.len(), 100);
    assert!(told.iter().all(|cause| cause["reason"] == "UnexpectedServerResponse"));
    world.door.put("/registry/configmaps/n/c100", GARBAGE).await;
    let told = causes().await;
    assert_eq!(told.len(), 101);
    assert_eq!(told[100], json!({"reason": "FieldValueTooMany", "message": "too many errors, the list is truncated"}));
    world.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_plain_write_touches_what_cannot_be_read() {
    let world = World::new(&["--controllers=-*"]).await;
    world.create(&["c", "good"]).await;
    world.damage("c", GARBAGE).await;
    let admin = &world.running.admin;
    let path = format!("{MAPS}/c");
    let map = json!({"metadata": {"name": "c"}, "data": {"a": "2"}});
    let taken = admin.post(MAPS, &map).await.unwrap();
    assert_eq!(reason(&taken), (409, "AlreadyExists".to_owned()));
    for answer in [
        admin.put(&path, &map).await.unwrap(),
        admin.merge(&path, &json!({"data": {"a": "2"}})).await.unwrap(),
        admin.delete(&path).await.unwrap(),
        admin.delete(&format!("{path}?dryRun=All")).await.unwrap(),
        admin.delete(&format!("{path}?{X}=false")).await.unwrap(),
        admin.delete(MAPS).await.unwrap(),
    ] {
        assert_eq!(reason(&answer), (500, "StorageReadError".to_owned()));
    }
    world.get(&format!("{MAPS}/good")).await.expect(200);
    world.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_removes_it_and_everything_is_well_again() {
    let place = Place::new();
    place.add_user("alice", "");
    let policy = json!({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
        "rules": [{"level": "Metadata", "verbs": ["delete"], "users": ["alice"]}]});
    std::fs::write(place.path("policy.yaml"), policy.to_string()).unwrap();
    let flags = [
        "--controllers=-*".to_owned(),
        format!("--audit-policy-file={}", place.path("policy.yaml").display()),
        format!("--audit-log-path={}", place.path("audit.log").display()),
    ];
    let door = Door::new();
    let running = door.start(place, &flags.each_ref().map(String::as_str)).await;
    let mut world = World { running, door };
    world.create(&["c", "good"]).await;
    world.damage("c", GARBAGE).await;
    world.running.grant("alice", &["get", "list", "delete"], "configmaps").await;
    let alice = world.running.user("alice");
    let path = format!("{MAPS}/c?{X}=true");
    let refused = alice.delete(&path).await.unwrap().expect(403);
    let told = "configmaps \"c\" is forbidden: not permitted to do \"unsafe-delete-ignore-read-errors\", reason: ";
    assert_eq!(refused["message"], told);
    // Options are looked at before the verb.
    alice.delete(&format!("{path}&gracePeriodSeconds=0")).await.unwrap().expect(422);
    world.running.grant("alice", &["unsafe-delete-ignore-read-errors"], "configmaps").await;
    for other in ["good", "absent"] {
        let wrong = alice.delete(&format!("{MAPS}/{other}?{X}=true")).await.unwrap().expect(422);
        assert!(wrong["message"].as_str().unwrap().contains("is exclusively used to delete corrupt object(s)"));
    }
    let many = alice.delete(&format!("{MAPS}?{X}=true")).await.unwrap();
    assert!(matches!(many.code, 403 | 422), "{many:?}");
    let dry = alice.delete(&format!("{path}&dryRun=All")).await.unwrap();
    let success = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": {"name": "c", "kind": "ConfigMap"}, "code": 200});
    assert_eq!(dry.expect(200), success);
    world.get(&format!("{MAPS}/c")).await.expect(500);
    assert_eq!(names(&world.get(&format!("{OWN}/quarantinedobjects")).await.expect(200)), [""; 0]);
    let done = alice.delete(&path).await.unwrap();
    assert_eq!(done.expect(200), success);
    assert!(
        done.warnings().iter().any(|warning| warning.contains("liens, finalizers and owner references")),
        "{done:?}"
    );
    world.get(&format!("{MAPS}/c")).await.expect(404);
    assert_eq!(names(&world.get(MAPS).await.expect(200)), ["good"]);
    world.create(&["c"]).await;
    let Running { place, server, .. } = world.running;
    server.stop().await;
    let log = std::fs::read_to_string(place.path("audit.log")).unwrap();
    let annotated =
        log.lines().filter(|line| line.contains("apiserver.k8s.io/unsafe-delete-ignore-read-error")).count();
    assert!(annotated == 6, "refused attempts are noted too: {log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_option_stands_alone() {
    let world = World::new(&["--controllers=-*", "--disable-admission-plugins=ServiceAccount"]).await;
    world.create(&["c"]).await;
    world.damage("c", GARBAGE).await;
    let admin = &world.running.admin;
    let of = pawl_registry::api_type("meta.v1.DeleteOptions").unwrap();
    let options: BTreeSet<String> = of.object().unwrap().fields().map(|field| field.get().name.to_string()).collect();
    assert!(options.contains("ignoreLiens") && options.contains("gracePeriodSeconds"), "{options:?}");
    for option in options {
        let value = match option.as_str() {
            "apiVersion" | "kind" | "dryRun" | X => continue,
            "gracePeriodSeconds" => json!(0),
            "orphanDependents" | "ignoreLiens" => json!(true),
            "preconditions" => json!({"uid": "x"}),
            "propagationPolicy" => json!("Background"),
            other => panic!("{other} has come: is it refused beside the option?"),
        };
        let refused = admin.delete_with(&format!("{MAPS}/c"), &json!({X: true, &option: value})).await.unwrap();
        let told = refused.expect(422)["message"].as_str().unwrap().to_owned();
        assert!(told.contains(&format!("cannot be set together with .{option}")), "{told}");
    }
    // What the query says counts beside the body, which upstream forgets.
    let both = admin.delete_with(&format!("{MAPS}/c?gracePeriodSeconds=5"), &json!({X: true})).await.unwrap();
    both.expect(422);
    world.get(&format!("{MAPS}/c")).await.expect(500);
    let eviction =
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}, "deleteOptions": {X: true}});
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    admin.post("/api/v1/namespaces/n/pods", &pod).await.unwrap().expect(201);
    admin.post("/api/v1/namespaces/n/pods/p/eviction", &eviction).await.unwrap().expect(422);
    world.get("/api/v1/namespaces/n/pods/p").await.expect(200);
    for name in ["default", "kube-system", "kube-public"] {
        let path = format!("/api/v1/namespaces/{name}?{X}=true");
        admin.delete(&path).await.unwrap().expect(403);
    }
    world.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gate_goes_off_and_on_again() {
    let on = World::new(&["--controllers=-*"]).await;
    on.create(&["c"]).await;
    on.damage("c", GARBAGE).await;
    let door = on.door;
    on.running.server.stop().await;
    let off = "--feature-gates=AllowUnsafeMalformedObjectDeletion=false";
    let off = door.start(on.running.place, &["--controllers=-*", off]).await;
    let ignored = off.admin.delete(&format!("{MAPS}/c?{X}=true")).await.unwrap();
    assert_eq!(reason(&ignored), (500, "StorageReadError".to_owned()));
    // It does not even count beside others.
    let ignored = off.admin.delete(&format!("{MAPS}/c?{X}=true&gracePeriodSeconds=0")).await.unwrap();
    assert_eq!(reason(&ignored), (500, "StorageReadError".to_owned()));
    off.server.stop().await;
    let on = World { running: door.start(off.place, &["--controllers=-*"]).await, door };
    on.remove("c").await.expect(200);
    on.get(MAPS).await.expect(200);
    on.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn watchers_are_told_and_relist() {
    let world = World::new(&["--controllers=-*"]).await;
    world.create(&["c", "good"]).await;
    let version = world.get(MAPS).await.expect(200)["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let admin = &world.running.admin;
    let from = |version: &str| format!("{MAPS}?watch=1&timeoutSeconds=30&resourceVersion={version}");
    let mut open = admin.watch(&from(&version)).await.unwrap();
    let mut elsewhere = admin.watch("/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=3").await.unwrap();
    world.damage("c", GARBAGE).await;
    let error = open.next().await.unwrap().unwrap();
    assert_eq!((&error["type"], &error["object"]["reason"]), (&json!("ERROR"), &json!("StorageReadError")), "{error}");
    assert!(open.next().await.unwrap().is_none(), "that was the end");
    let mut resumed = admin.watch(&from(&version)).await.unwrap();
    let error = resumed.next().await.unwrap().unwrap();
    assert_eq!((&error["type"], &error["object"]["code"]), (&json!("ERROR"), &json!(410)), "{error}");
    for lists_first in
        ["", "&resourceVersion=0", "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"]
    {
        let mut watch = admin.watch(&format!("{MAPS}?watch=1&timeoutSeconds=30{lists_first}")).await.unwrap();
        let error = watch.next().await.unwrap().unwrap();
        assert_eq!(error["object"]["reason"], "StorageReadError", "{lists_first}: {error}");
        assert!(watch.next().await.unwrap().is_none());
    }
    // One that begins later goes on, until the object is removed.
    let made = admin.post(MAPS, &json!({"metadata": {"name": "later"}})).await.unwrap().expect(201);
    let later = made["metadata"]["resourceVersion"].as_str().unwrap();
    let mut open = admin.watch(&from(later)).await.unwrap();
    world.create(&["more"]).await;
    assert_eq!(open.next().await.unwrap().unwrap()["object"]["metadata"]["name"], "more");
    world.remove("c").await.expect(200);
    let error = open.next().await.unwrap().unwrap();
    let told = error["object"]["message"].as_str().unwrap();
    assert!(told.starts_with("corrupt object has been deleted - object not decodable revision="), "{error}");
    assert_eq!(error["object"]["reason"], "StorageReadError");
    assert!(open.next().await.unwrap().is_none());
    // A new list, and all is well.
    let list = world.get(MAPS).await.expect(200);
    assert_eq!(names(&list), ["good", "later", "more"]);
    let mut open = admin.watch(&from(list["metadata"]["resourceVersion"].as_str().unwrap())).await.unwrap();
    world.create(&["last"]).await;
    assert_eq!(open.next().await.unwrap().unwrap()["object"]["metadata"]["name"], "last");
    while let Some(event) = elsewhere.next().await.unwrap() {
        assert_ne!(event["type"], "ERROR", "another namespace is not concerned: {event}");
    }
    world.running.stop().await;
}

/// The authorizer goes on with what it can read.
#[tokio::test(flavor = "multi_thread")]
async fn a_binding_that_cannot_be_read_grants_nothing_and_others_go_on() {
    let mut world = World::with_users(&["alice", "bob"], &["--controllers=-*"]).await;
    world.create(&["c"]).await;
    for user in ["alice", "bob"] {
        world.running.grant(user, &["get"], "configmaps").await;
    }
    let bindings = world.get("/apis/rbac.authorization.k8s.io/v1/namespaces/n/rolebindings").await.expect(200);
    let of_alice = names(&bindings).into_iter().find(|name| name.starts_with("alice-")).unwrap();
    world.door.put(&format!("/registry/rolebindings/n/{of_alice}"), GARBAGE).await;
    let (alice, bob) = (world.running.user("alice"), world.running.user("bob"));
    let path = format!("{MAPS}/c");
    let refused = async || match alice.get(&path).await?.code {
        403 => Ok(()),
        code => Err(format!("alice is answered with {code}").into()),
    };
    world.running.until(refused).await;
    bob.get(&path).await.unwrap().expect(200);
    world.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_with_something_unreadable_says_so_and_ends_when_it_is_gone() {
    let mut world = World::new(&[]).await;
    world.create(&["c", "good"]).await;
    world.damage("c", GARBAGE).await;
    world.running.admin.delete("/api/v1/namespaces/n").await.unwrap().expect(200);
    world.running.until_gone(&format!("{MAPS}/good")).await;
    let Running { server, admin, .. } = &mut world.running;
    let told = async || {
        let namespace = admin.get("/api/v1/namespaces/n").await?.json();
        match namespace["status"]["conditions"].to_string().contains("configmaps that cannot be read: \\\"c\\\"") {
            true => Ok(()),
            false => Err(namespace.to_string().into()),
        }
    };
    server.until(told).await.unwrap();
    world.remove("c").await.expect(200);
    world.running.until_gone("/api/v1/namespaces/n").await;
    world.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_cannot_be_read_keeps_its_content_until_it_is_removed_and_then_too() {
    let world = World::new(&["--controllers=*"]).await;
    world.create(&["one", "two"]).await;
    world.door.put("/registry/namespaces/n", GARBAGE).await;
    world.get("/api/v1/namespaces/n").await.expect(500);
    world.get(&format!("{MAPS}/one")).await.expect(200);
    world.running.admin.merge(&format!("{MAPS}/one"), &json!({"data": {"a": "2"}})).await.unwrap().expect(200);
    let removed = world.running.admin.delete(&format!("/api/v1/namespaces/n?{X}=true")).await.unwrap();
    removed.expect(200);
    assert!(
        removed.warnings().iter().any(|text| text.contains("objects in this namespace stay behind")),
        "{removed:?}"
    );
    world.get(&format!("{MAPS}/one")).await.expect(200);
    world.get(&format!("{MAPS}/two")).await.expect(200);
    world.running.stop().await;
}

/// A definition that cannot be read is served as it was, for as long as the server knows it. After a restart nobody knows what it
/// was: its objects are not served, and no namespace ends in which there may be some of them.
#[tokio::test(flavor = "multi_thread")]
async fn the_objects_of_a_definition_that_cannot_be_read_are_served_and_never_forgotten() {
    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const WIDGETS: &str = "/apis/example.com/v1/namespaces/n/widgets";
    let place = Place::new();
    let file = place.path("encryption.yaml");
    let use_key = |name: &str| {
        write_for(&file, &["customresourcedefinitions.apiextensions.k8s.io"], &json!([keys("aesgcm", &[name])]));
    };
    use_key("one");
    let flag = flag(&place);
    let door = Door::new();
    let mut world = World { running: door.start(place, &[&flag, RELOAD]).await, door };
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    let definition = json!({"metadata": {"name": "widgets.example.com"}, "spec": {"group": "example.com",
        "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"}, "versions": [version]}});
    world.running.admin.post(DEFINITIONS, &definition).await.unwrap().expect(201);
    until(&mut world, WIDGETS, 200).await;
    let widget = |name: &str| json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}});
    world.running.admin.post(WIDGETS, &widget("before")).await.unwrap().expect(201);
    let path = format!("{DEFINITIONS}/widgets.example.com");
    use_key("two");
    until(&mut world, &path, 500).await;
    world.running.admin.post(WIDGETS, &widget("meanwhile")).await.unwrap().expect(201);
    assert_eq!(names(&world.get(WIDGETS).await.expect(200)), ["before", "meanwhile"]);
    let dry = world.running.admin.delete(&format!("{path}?{X}=true&dryRun=All")).await.unwrap();
    dry.expect(200);
    let told = "2 objects of this definition stay behind without it";
    assert!(dry.warnings().iter().any(|text| text.contains(told)), "{dry:?}");
    let (door, place) = (world.door, world.running.place);
    world.running.server.stop().await;
    let mut world = World { running: door.start(place, &[&flag, RELOAD]).await, door };
    assert_eq!(world.get(WIDGETS).await.code, 404);
    world.running.admin.delete("/api/v1/namespaces/n").await.unwrap().expect(200);
    let Running { server, admin, .. } = &mut world.running;
    let told = async || {
        let namespace = admin.get("/api/v1/namespaces/n").await?.json();
        match namespace["status"]["conditions"].to_string().contains("cannot be read: \\\"widgets.example.com\\\"") {
            true => Ok(()),
            false => Err(namespace.to_string().into()),
        }
    };
    server.until(told).await.unwrap();
    use_key("one");
    world.running.until_gone("/api/v1/namespaces/n").await;
    assert_eq!(names(&world.get("/apis/example.com/v1/widgets").await.expect(200)), [""; 0]);
    world.running.stop().await;
}

const OWN: &str = "/apis/storage.pawl.dev/v1";

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_a_resource_of_its_own() {
    let world = World::new(&["--controllers=-*"]).await;
    let admin = &world.running.admin;
    let list = world.get(&format!("{OWN}/unreadableobjects")).await.expect(200);
    assert_eq!(names(&list), [""; 0]);
    let version = list["metadata"]["resourceVersion"].as_str().unwrap();
    let mut watch = admin.watch(&format!("{OWN}/unreadableobjects?watch=1&resourceVersion={version}")).await.unwrap();
    world.create(&["c", "good"]).await;
    world.damage("c", UNKNOWN_KEY).await;
    world.door.put("/registry/minions/node", GARBAGE).await;
    let added = watch.next().await.unwrap().unwrap();
    assert_eq!((&added["type"], &added["object"]["metadata"]["name"]), (&json!("ADDED"), &json!("configmaps:n:c")));
    let shown = world.get(&format!("{OWN}/unreadableobjects/configmaps:n:c")).await.expect(200);
    let spec = &shown["spec"];
    for (field, value) in [
        ("resource", "configmaps"),
        ("namespace", "n"),
        ("name", "c"),
        ("reason", "no key"),
        ("provider", "aesgcm"),
        ("key", "gone-key"),
    ] {
        assert_eq!(spec[field], value, "{shown}");
    }
    assert!(spec["since"].is_string() && spec["resourceVersion"].is_string(), "{shown}");
    let all = world.get(&format!("{OWN}/unreadableobjects")).await.expect(200);
    assert_eq!(names(&all), ["configmaps:n:c", "nodes:node"]);
    assert_eq!(all["items"][1]["spec"]["reason"], "not decodable");
    let table = world.get_as(&format!("{OWN}/unreadableobjects"), "application/json;as=Table;v=v1;g=meta.k8s.io").await;
    let columns: Vec<Value> =
        table.json()["columnDefinitions"].as_array().unwrap().iter().map(|c| c["name"].clone()).collect();
    assert_eq!(
        columns,
        ["Name", "Resource", "Namespace", "Object", "Revision", "Reason", "Provider", "Key", "Since"].map(Value::from)
    );
    let metrics = String::from_utf8(world.get("/metrics").await.body.to_vec()).unwrap();
    assert!(
        metrics.contains("pawl_storage_unreadable_objects{reason=\"no key\",resource=\"configmaps\"} 1"),
        "{metrics}"
    );
    let ready = world.get("/readyz?verbose").await;
    let told = String::from_utf8_lossy(&ready.body).into_owned();
    assert!(ready.code == 200 && told.contains("2 objects cannot be read: kubectl get unreadableobjects"), "{told}");
    assert_eq!(admin.delete(&format!("{OWN}/unreadableobjects/nodes:node")).await.unwrap().code, 405);
    world.remove("c").await.expect(200);
    let mut last = Value::Null;
    while last["type"] != "DELETED" {
        last = watch.next().await.unwrap().unwrap();
    }
    assert_eq!(last["object"]["metadata"]["name"], "configmaps:n:c");
    let discovered = world.get(OWN).await.expect(200);
    let found: Vec<&str> =
        discovered["resources"].as_array().unwrap().iter().filter_map(|r| r["name"].as_str()).collect();
    let expected = [
        "encryptionchecks",
        "quarantinedobjects",
        "quarantinedobjects/restore",
        "rewrites",
        "snapshots",
        "unreadableobjects",
    ];
    assert_eq!(found, expected);
    // It is there after a restart, too.
    let (door, place) = (world.door, world.running.place);
    world.running.server.stop().await;
    let again = World { running: door.start(place, &["--controllers=-*"]).await, door };
    assert_eq!(names(&again.get(&format!("{OWN}/unreadableobjects")).await.expect(200)), ["nodes:node"]);
    again.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_removed_unread_can_be_brought_back() {
    let world = World::new(&["--controllers=-*"]).await;
    let admin = &world.running.admin;
    world.create(&["c", "good"]).await;
    world.damage("c", UNKNOWN_KEY).await;
    let removed = world.remove("c").await;
    removed.expect(200);
    assert!(removed.warnings().iter().any(|text| text.contains("brings it back")), "{removed:?}");
    let all = world.get(&format!("{OWN}/quarantinedobjects")).await.expect(200);
    let kept = all["items"][0].clone();
    let name = kept["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("configmaps:n:c:"), "{all}");
    assert_eq!(kept["spec"]["size"], UNKNOWN_KEY.len());
    assert_eq!(kept["spec"]["removedBy"], "root");
    assert_eq!(kept["spec"]["sha256"].as_str().unwrap().len(), 64);
    assert!(!all.to_string().contains("0123456789abcdefghijklmnopqrstuvwxyz"), "the bytes are nobody's to see");
    let path = format!("{OWN}/quarantinedobjects/{name}/restore");
    // The name is taken.
    world.create(&["c"]).await;
    admin.post(&path, &json!({})).await.unwrap().expect(409);
    admin.post(&format!("{path}?dryRun=All"), &json!({})).await.unwrap().expect(409);
    admin.delete(&format!("{MAPS}/c")).await.unwrap().expect(200);
    admin.post(&format!("{path}?dryRun=All"), &json!({})).await.unwrap().expect(201);
    world.get(&format!("{MAPS}/c")).await.expect(404);
    admin.post(&path, &json!({})).await.unwrap().expect(201);
    let back = world.get(&format!("{MAPS}/c")).await;
    assert_eq!(reason(&back), (500, "StorageReadError".to_owned()), "as unreadable as it was");
    assert_eq!(names(&world.get(&format!("{OWN}/quarantinedobjects")).await.expect(200)), [""; 0]);
    admin.post(&path, &json!({})).await.unwrap().expect(404);
    // Nor does one that goes away, or that is not there, take anything back.
    world.remove("c").await.expect(200);
    let all = world.get(&format!("{OWN}/quarantinedobjects")).await.expect(200);
    let path = format!("{OWN}/quarantinedobjects/{}/restore", names(&all)[0]);
    admin.merge("/api/v1/namespaces/n", &json!({"metadata": {"finalizers": ["example.com/stay"]}})).await.unwrap();
    admin.delete("/api/v1/namespaces/n").await.unwrap().expect(200);
    let refused = admin.post(&path, &json!({})).await.unwrap().expect(409);
    assert!(refused["message"].as_str().unwrap().contains("namespace n is being terminated"), "{refused}");
    world.door.delete("/registry/namespaces/n").await;
    world.get("/api/v1/namespaces/n").await.expect(404);
    let refused = admin.post(&path, &json!({})).await.unwrap().expect(409);
    assert!(refused["message"].as_str().unwrap().contains("namespace n is not there"), "{refused}");
    let metrics = String::from_utf8(world.get("/metrics").await.body.to_vec()).unwrap();
    assert!(metrics.contains("pawl_storage_quarantined_objects 1"), "{metrics}");
    world.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quarantine_lasts_as_long_as_it_is_told_to() {
    let world = World::new(&["--controllers=-*", "--quarantine-ttl=0"]).await;
    world.create(&["c"]).await;
    world.damage("c", GARBAGE).await;
    let removed = world.remove("c").await;
    removed.expect(200);
    assert!(!removed.warnings().iter().any(|text| text.contains("brings it back")), "{removed:?}");
    let list = format!("{OWN}/quarantinedobjects");
    assert_eq!(names(&world.get(&list).await.expect(200)), [""; 0]);
    let (door, place) = (world.door, world.running.place);
    world.running.server.stop().await;
    let mut world = World { running: door.start(place, &["--controllers=-*", "--quarantine-ttl=2s"]).await, door };
    world.create(&["c"]).await;
    world.damage("c", GARBAGE).await;
    world.remove("c").await.expect(200);
    let kept = names(&world.get(&list).await.expect(200))[0].to_owned();
    assert!(kept.starts_with("configmaps:n:c:"), "{kept}");
    world.running.until_gone(&format!("{list}/{kept}")).await;
    world.running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_key_that_is_found_again_brings_everything_back() {
    let place = Place::new();
    let file = place.path("encryption.yaml");
    let write = |name: &str| write(&file, &json!([keys("aesgcm", &[name])]));
    write("one");
    let flag = flag(&place);
    let flags = ["--controllers=-*", &flag, RELOAD];
    let door = Door::new();
    let mut world = World { running: door.start(place, &flags).await, door };
    world.create(&["a", "b"]).await;
    let before = world.get(&format!("{MAPS}/a")).await.expect(200);
    write("two");
    until(&mut world, &format!("{MAPS}/a"), 500).await;
    let told = world.get(&format!("{OWN}/unreadableobjects")).await.expect(200);
    let told: Vec<&str> = names(&told).into_iter().filter(|name| name.starts_with("configmaps:n:")).collect();
    assert_eq!(told, ["configmaps:n:a", "configmaps:n:b"]);
    world.remove("a").await.expect(200);
    let all = world.get(&format!("{OWN}/quarantinedobjects")).await.expect(200);
    let path = format!("{OWN}/quarantinedobjects/{}/restore", names(&all)[0]);
    world.running.admin.post(&path, &json!({})).await.unwrap().expect(201);
    write("one");
    until(&mut world, &format!("{MAPS}/a"), 200).await;
    let after = world.get(&format!("{MAPS}/a")).await.expect(200);
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(after["data"], before["data"]);
    assert_eq!(names(&world.get(&format!("{OWN}/unreadableobjects")).await.expect(200)), [""; 0]);
    world.running.stop().await;
}

async fn until(world: &mut World, path: &str, code: u16) {
    let Running { server, admin, .. } = &mut world.running;
    let answered = async || match admin.get(path).await?.code {
        found if found == code => Ok(()),
        found => Err(format!("{path} is answered with {found}").into()),
    };
    server.until(answered).await.unwrap();
}

/// What the proposal asks to be tested, its stories and what it wants before beta, each with the test that shows it.
const PROPOSAL: [(&str, &str, &str); 13] = [
    (
        "resources that are encrypted and are decryptable can still be deleted as before",
        "crates/cli/tests/promises/encryption.rs",
        "fn every_provider_keeps_its_values_from_the_disk(",
    ),
    (
        "resources that are malformed throw the new error on read",
        "crates/cli/tests/promises/unreadable.rs",
        "fn every_way_to_read_names_what_cannot_be_read(",
    ),
    (
        "resources that are malformed cannot be removed if the user lacks required permissions but uses the new DeleteOption",
        "crates/cli/tests/promises/unreadable.rs",
        "fn who_may_removes_it_and_everything_is_well_again(",
    ),
    (
        "resources that are malformed can be removed if the user has proper permissions and uses the new DeleteOption",
        "crates/cli/tests/promises/unreadable.rs",
        "fn who_may_removes_it_and_everything_is_well_again(",
    ),
    (
        "if there are too many malformed resources in a return of a LIST action, the error will be truncated",
        "crates/cli/tests/promises/unreadable.rs",
        "fn a_hundred_are_named_and_no_more(",
    ),
    (
        "an informer is consistent with the state in the storage after the corrupt resource is unsafe-deleted",
        "crates/cli/tests/api/kube_rs.rs",
        "fn a_reflector_agrees_with_the_server_after_an_unsafe_delete(",
    ),
    (
        "an informer is consistent with the state in the storage after the corrupt resource is unsafe-deleted",
        "tests/clients/go/main.go",
        "a key is lost, and what it sealed is removed unread",
    ),
    ("Story 1", "tests/kubectl/80-unreadable.sh", "## Story 1"),
    ("Story 2", "tests/kubectl/80-unreadable.sh", "## Story 2"),
    (
        "API validation must be resilient to future additions to the API",
        "crates/cli/tests/promises/unreadable.rs",
        "fn the_option_stands_alone(",
    ),
    (
        "dynamic encryption config reload takes about 1m",
        "crates/cli/tests/promises/encryption.rs",
        "fn keys_change_under_a_running_server(",
    ),
    (
        "Allow `DryRun` together with `ignoreStoreReadErrorWithClusterBreakingPotential`",
        "crates/cli/tests/promises/unreadable.rs",
        "fn who_may_removes_it_and_everything_is_well_again(",
    ),
    (
        "The feature can be safely enabled and disabled at will.",
        "crates/cli/tests/promises/unreadable.rs",
        "fn the_gate_goes_off_and_on_again(",
    ),
];

#[test]
fn each_line_of_the_proposal_has_its_test() {
    for (line, file, test) in PROPOSAL {
        let path = std::path::Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..").join(file);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{file}: {why}"));
        // This table is no test.
        let found = text.split("const PROPOSAL").next().unwrap().contains(test);
        assert!(found, "{line}: {test} is not in {file}");
    }
}
