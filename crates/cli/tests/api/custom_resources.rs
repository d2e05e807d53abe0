//! Definitions and what they define, over HTTP: served, changed while in use, deleted with all that belongs to them, tightened
//! without breaking what is stored, and there again after a kill.
//!
//! Ten kills by default; `PAWL_SOAK_KILLS` asks for more, `PAWL_SEED` repeats the decisions of an earlier run.

use std::time::Duration;

use bytes::Bytes;
use fastrand::Rng;
use pawl_testing::{Client, Place, Protocol, Running, seed, setting};
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/n/widgets";

/// A version with these properties of its spec.
fn version(name: &str, storage: bool, properties: Value) -> Value {
    json!({"name": name, "served": true, "storage": storage, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "properties": properties},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}})
}

fn definition(plural: &str, kind: &str, versions: Value) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {"group": "example.com", "scope": "Namespaced", "versions": versions,
            "names": {"plural": plural, "kind": kind}}})
}

fn widgets(properties: Value) -> Value {
    definition("widgets", "Widget", json!([version("v1", true, properties)]))
}

fn widget(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

fn condition<'o>(object: &'o Value, kind: &str) -> Option<&'o Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}

/// Waits until something is so of a definition.
async fn until(running: &mut Running, name: &str, holds: impl Fn(&Value) -> bool) {
    let path = format!("{DEFINITIONS}/{name}");
    let admin = running.place.client(Protocol::Http2);
    let is = async || match holds(&admin.get(&path).await?.json()) {
        true => Ok(()),
        false => Err(format!("{name} is not so: {}", admin.get(&path).await?.json()["status"]).into()),
    };
    running.until(is).await;
}

async fn define(running: &mut Running, definition: &Value) {
    running.admin.post(DEFINITIONS, definition).await.unwrap().expect(201);
    let name = definition["metadata"]["name"].as_str().unwrap();
    until(running, name, |found| condition(found, "Established").is_some_and(|c| c["status"] == "True")).await;
}

async fn change_versions(client: &Client, name: &str, versions: Value) {
    let patch = json!({"spec": {"versions": versions}});
    client.merge(&format!("{DEFINITIONS}/{name}"), &patch).await.unwrap().expect(200);
}

fn text() -> Value {
    json!({"type": "string"})
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_pruned_filled_in_and_refused_and_there_after_a_restart() {
    let mut running = Running::start(&[], &[]).await;
    let properties = json!({"a": {"type": "string", "maxLength": 3}, "n": {"type": "integer", "default": 7}});
    define(&mut running, &widgets(properties)).await;
    let admin = &running.admin;
    let answer = admin.post(WIDGETS, &widget("w", json!({"a": "x", "unknown": 1}))).await.unwrap();
    assert_eq!(answer.warnings(), ["299 - \"unknown field \\\"spec.unknown\\\"\""]);
    let made = answer.expect(201);
    assert_eq!(made["spec"], json!({"a": "x", "n": 7}));
    assert_eq!(made["metadata"]["generation"], 1);
    let refused = admin.post(WIDGETS, &widget("v", json!({"a": "long"}))).await.unwrap().expect(422);
    assert_eq!(refused["details"]["causes"][0]["field"], "spec.a");
    assert!(admin.merge(&format!("{WIDGETS}/w/status"), &json!({"status": {"x": 1}})).await.unwrap().code == 200);
    let running = running.restart(&[]).await;
    let found = running.admin.get(&format!("{WIDGETS}/w")).await.unwrap().expect(200);
    assert_eq!((&found["spec"], &found["status"]), (&made["spec"], &json!({"x": 1})));
    assert_eq!(found["metadata"]["generation"], 1);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_goes_on_while_its_definition_changes_and_ends_with_its_version() {
    let mut running = Running::start(&[], &[]).await;
    define(&mut running, &widgets(json!({"a": text()}))).await;
    let admin = running.place.client(Protocol::Http2);
    let mut watch = admin.watch(&format!("{WIDGETS}?watch=true")).await.unwrap();
    admin.post(WIDGETS, &widget("one", json!({"a": "x", "b": "dropped"}))).await.unwrap().expect(201);
    let seen = async |watch: &mut pawl_testing::Watch| watch.next().await.unwrap().unwrap();
    assert_eq!(seen(&mut watch).await["object"]["spec"], json!({"a": "x"}));
    let wider = json!({"a": text(), "b": {"type": "string", "default": "B"}});
    change_versions(&admin, "widgets.example.com", json!([version("v1", true, wider.clone())])).await;
    let filled = async || match admin.get(&format!("{WIDGETS}/one")).await?.json()["spec"]["b"] == "B" {
        true => Ok(()),
        false => Err("the old object has no default yet".into()),
    };
    running.until(filled).await;
    admin.post(WIDGETS, &widget("two", json!({"b": "kept"}))).await.unwrap().expect(201);
    let event = seen(&mut watch).await;
    assert_eq!((&event["type"], &event["object"]["spec"]), (&json!("ADDED"), &json!({"b": "kept"})));
    // Another version, which is stored from now on; the first one is no longer served.
    let mut gone = version("v1", false, wider);
    gone["served"] = json!(false);
    let next = version("v2", true, json!({"b": text(), "c": {"type": "string", "default": "C"}}));
    change_versions(&admin, "widgets.example.com", json!([gone, next])).await;
    assert!(watch.next().await.unwrap().is_none(), "the version is no longer served");
    let second = WIDGETS.replace("/v1/", "/v2/");
    let list = admin.get(&second).await.unwrap().expect(200);
    let specs: Vec<&Value> = list["items"].as_array().unwrap().iter().map(|item| &item["spec"]).collect();
    assert_eq!(specs, [&json!({"b": "B"}), &json!({"b": "kept"})], "defaults are those of the version that is stored");
    let changed = admin.merge(&format!("{second}/one"), &json!({"spec": {"b": "n"}})).await.unwrap().expect(200);
    assert_eq!(changed["spec"], json!({"b": "n", "c": "C"}));
    let stored = admin.get(&format!("{DEFINITIONS}/widgets.example.com")).await.unwrap().json();
    assert_eq!(stored["status"]["storedVersions"], json!(["v1", "v2"]));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_takes_its_objects_along_first_what_nothing_holds() {
    let mut running = Running::start(&[], &[]).await;
    define(&mut running, &widgets(json!({}))).await;
    let admin = running.place.client(Protocol::Http2);
    let path = format!("{DEFINITIONS}/widgets.example.com");
    admin.merge(&path, &json!({"metadata": {"liens": ["example.com/keep"]}})).await.unwrap().expect(200);
    admin.delete(&path).await.unwrap().expect(409);
    admin.merge(&path, &json!({"metadata": {"liens": []}})).await.unwrap().expect(200);
    let mut held = widget("held", json!({}));
    held["metadata"]["liens"] = json!(["example.com/held"]);
    let mut waits = widget("waits", json!({}));
    waits["metadata"]["finalizers"] = json!(["example.com/waits"]);
    for object in [&held, &waits, &widget("free", json!({}))] {
        admin.post(WIDGETS, object).await.unwrap().expect(201);
    }
    let begun = admin.delete(&path).await.unwrap().expect(200);
    assert_eq!(begun["metadata"]["finalizers"], json!(["customresourcecleanup.apiextensions.k8s.io"]));
    assert_eq!(condition(&begun, "Terminating").unwrap()["reason"], "InstanceDeletionPending");
    running.until_gone(&format!("{WIDGETS}/free")).await;
    let refused = admin.post(WIDGETS, &widget("new", json!({}))).await.unwrap().expect(405);
    assert_eq!(refused["message"], "create not allowed while custom resource definition is terminating");
    admin.get(&format!("{WIDGETS}/held")).await.unwrap().expect(200);
    admin.get(&path).await.unwrap().expect(200);
    // A kill in the middle changes nothing.
    running.server.kill();
    running.server = running.place.start().await;
    let admin = running.place.client(Protocol::Http2);
    running.admin = running.place.client(Protocol::Http2);
    admin.merge(&format!("{WIDGETS}/held"), &json!({"metadata": {"liens": []}})).await.unwrap().expect(200);
    running.until_gone(&format!("{WIDGETS}/held")).await;
    admin.merge(&format!("{WIDGETS}/waits"), &json!({"metadata": {"finalizers": null}})).await.unwrap().expect(200);
    running.until_gone(&path).await;
    running.until_gone(WIDGETS).await;
    // The name is free again, for another scope too.
    let mut other = widgets(json!({}));
    other["spec"]["scope"] = json!("Cluster");
    define(&mut running, &other).await;
    let list = admin.get("/apis/example.com/v1/widgets").await.unwrap().expect(200);
    assert_eq!(list["items"], json!([]));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_has_one_owner_and_is_free_when_that_goes() {
    let mut running = Running::start(&[], &[]).await;
    define(&mut running, &widgets(json!({}))).await;
    let mut rival = definition("gadgets", "Gadget", json!([version("v1", true, json!({}))]));
    rival["spec"]["names"]["singular"] = json!("widget");
    running.admin.post(DEFINITIONS, &rival).await.unwrap().expect(201);
    let waits = |found: &Value| condition(found, "NamesAccepted").is_some_and(|c| c["reason"] == "SingularConflict");
    until(&mut running, "gadgets.example.com", waits).await;
    running.admin.delete(&format!("{DEFINITIONS}/widgets.example.com")).await.unwrap().expect(200);
    let serves = |found: &Value| condition(found, "Established").is_some_and(|c| c["status"] == "True");
    until(&mut running, "gadgets.example.com", serves).await;
    running.admin.get(&WIDGETS.replace("widgets", "gadgets")).await.unwrap().expect(200);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn owners_namespaces_and_discovery_know_them() {
    let mut running = Running::start(&[], &[]).await;
    define(&mut running, &widgets(json!({}))).await;
    let admin = running.place.client(Protocol::Http2);
    let owner = admin.post(WIDGETS, &widget("owner", json!({}))).await.unwrap().expect(201);
    let reference = json!([{"apiVersion": "example.com/v1", "kind": "Widget", "name": "owner",
        "uid": owner["metadata"]["uid"]}]);
    let owned = json!({"metadata": {"name": "owned", "ownerReferences": reference}});
    admin.post("/api/v1/namespaces/n/configmaps", &owned).await.unwrap().expect(201);
    admin.delete(&format!("{WIDGETS}/owner")).await.unwrap().expect(200);
    running.until_gone("/api/v1/namespaces/n/configmaps/owned").await;
    admin.post(WIDGETS, &widget("left", json!({}))).await.unwrap().expect(201);
    let service = admin.get("/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com").await.unwrap().expect(200);
    assert_eq!(service["spec"]["versionPriority"], 100);
    let published = admin.get("/openapi/v3/apis/example.com/v1").await.unwrap().expect(200);
    assert!(published["components"]["schemas"]["com.example.v1.Widget"].is_object());
    let foreign = json!({"metadata": {"name": "v1.other.com"}, "spec": {"group": "other.com", "version": "v1",
        "groupPriorityMinimum": 1, "versionPriority": 1, "service": {"name": "s", "namespace": "n"}}});
    admin.post("/apis/apiregistration.k8s.io/v1/apiservices", &foreign).await.unwrap().expect(501);
    let mut own = foreign.clone();
    own["spec"].as_object_mut().unwrap().remove("service");
    own["metadata"]["name"] = json!("v2.other.com");
    admin.post("/apis/apiregistration.k8s.io/v1/apiservices", &own).await.unwrap().expect(422);
    own["metadata"]["name"] = json!("v1.other.com");
    let made = admin.post("/apis/apiregistration.k8s.io/v1/apiservices", &own).await.unwrap().expect(201);
    assert_eq!(made["status"]["conditions"][0]["reason"], "Local");
    let path = "/apis/apiregistration.k8s.io/v1/apiservices/v1.other.com";
    admin.merge(path, &json!({"spec": {"service": {"name": "s", "namespace": "n"}}})).await.unwrap().expect(501);
    admin.merge(path, &json!({"metadata": {"labels": {"a": "b"}}})).await.unwrap().expect(200);
    admin.delete("/api/v1/namespaces/n").await.unwrap().expect(200);
    running.until_gone("/api/v1/namespaces/n").await;
    assert_eq!(admin.get("/apis/example.com/v1/widgets").await.unwrap().expect(200)["items"], json!([]));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_a_webhook_is_refused_and_the_rest_is_served() {
    let mut running = Running::start(&[], &[]).await;
    let mut both = definition(
        "widgets",
        "Widget",
        json!([version("v1", true, json!({"a": text()})), version("v2", false, json!({"b": text()}))]),
    );
    both["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://127.0.0.1:1/convert"}}});
    define(&mut running, &both).await;
    running.admin.post(WIDGETS, &widget("w", json!({"a": "x"}))).await.unwrap().expect(201);
    let refused = running.admin.get(&format!("{}/w", WIDGETS.replace("/v1/", "/v2/"))).await.unwrap().expect(501);
    assert!(refused["message"].as_str().unwrap().contains("webhook"), "{refused}");
    running.stop().await;
}

fn tight() -> Value {
    json!({"a": {"type": "string", "minLength": 3}, "b": text()})
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_can_still_be_written_when_its_schema_is_tightened() {
    let mut running = Running::start(&[], &[]).await;
    define(&mut running, &widgets(json!({"a": text(), "b": text()}))).await;
    let admin = running.place.client(Protocol::Http2);
    let mut object = widget("w", json!({"a": "x"}));
    object["metadata"]["finalizers"] = json!(["example.com/f"]);
    admin.post(WIDGETS, &object).await.unwrap().expect(201);
    change_versions(&admin, "widgets.example.com", json!([version("v1", true, tight())])).await;
    let refuses = |found: &Value| condition(found, "ObjectsInvalidAtRest").is_some();
    until(&mut running, "widgets.example.com", refuses).await;
    let path = format!("{WIDGETS}/w");
    admin.merge(&format!("{path}/status"), &json!({"status": {"ready": true}})).await.unwrap().expect(200);
    admin.merge(&path, &json!({"metadata": {"labels": {"l": "1"}}})).await.unwrap().expect(200);
    let changed = admin.merge(&path, &json!({"spec": {"b": "new"}})).await.unwrap().expect(200);
    assert_eq!(changed["spec"], json!({"a": "x", "b": "new"}));
    admin.merge(&path, &json!({"spec": {"a": "y"}})).await.unwrap().expect(422);
    admin.post(WIDGETS, &widget("v", json!({"a": "x"}))).await.unwrap().expect(422);
    // Plain validation, over the same data, and back.
    let mut running = running.restart(&["--feature-gates=CRDValidationRatcheting=false"]).await;
    let label = json!({"metadata": {"labels": {"l": "2"}}});
    running.admin.merge(&path, &label).await.unwrap().expect(422);
    running = running.restart(&[]).await;
    running.admin.merge(&path, &label).await.unwrap().expect(200);
    running.admin.delete(&path).await.unwrap().expect(200);
    running.admin.merge(&path, &json!({"metadata": {"finalizers": null}})).await.unwrap().expect(200);
    running.until_gone(&path).await;
    until(&mut running, "widgets.example.com", |found| condition(found, "ObjectsInvalidAtRest").is_none()).await;
    running.stop().await;
}

/// Changes the only version of the widgets, and waits until a new object is judged by it: `refused` is then.
async fn tighten(running: &mut Running, properties: Value, refused: Value) {
    let admin = running.place.client(Protocol::Http2);
    change_versions(&admin, "widgets.example.com", json!([version("v1", true, properties)])).await;
    let probe = widget("probe", refused);
    let is_refused = async || match admin.post(&format!("{WIDGETS}?dryRun=All"), &probe).await?.code {
        422 => Ok(()),
        code => Err(format!("a new object is {code}").into()),
    };
    running.until(is_refused).await;
}

/// What an operator and a user do with an object, whatever has become of its schema: status, labels, other fields.
async fn go_on(admin: &Client, name: &str, round: usize) {
    let path = format!("{WIDGETS}/{name}");
    let number = round.to_string();
    admin.merge(&format!("{path}/status"), &json!({"status": {"round": round}})).await.unwrap().expect(200);
    admin.merge(&path, &json!({"metadata": {"labels": {"round": number}}})).await.unwrap().expect(200);
    admin.merge(&path, &json!({"spec": {"b": number}})).await.unwrap().expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_format_that_begins_to_be_checked_lets_stored_objects_be() {
    let mut running = Running::start(&[], &[]).await;
    // A server that does not know a format does not check it.
    let unknown = json!({"a": {"type": "string", "format": "of-a-later-release"}, "b": text()});
    define(&mut running, &widgets(unknown)).await;
    let admin = running.place.client(Protocol::Http2);
    admin.post(WIDGETS, &widget("w", json!({"a": "no time"}))).await.unwrap().expect(201);
    let known = json!({"a": {"type": "string", "format": "date-time"}, "b": text()});
    tighten(&mut running, known, json!({"a": "no time"})).await;
    go_on(&admin, "w", 1).await;
    let path = format!("{WIDGETS}/w");
    admin.merge(&path, &json!({"spec": {"a": "no time either"}})).await.unwrap().expect(422);
    admin.merge(&path, &json!({"spec": {"a": "2026-01-01T00:00:00Z"}})).await.unwrap().expect(200);
    admin.merge(&path, &json!({"spec": {"a": "no time"}})).await.unwrap().expect(422);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_newer_definition_allowed_lives_on_under_the_older_one() {
    let mut running = Running::start(&[], &[]).await;
    let of = |values: Value| json!({"a": {"type": "string", "enum": values}, "b": text()});
    define(&mut running, &widgets(of(json!(["old"])))).await;
    let admin = running.place.client(Protocol::Http2);
    admin.post(WIDGETS, &widget("first", json!({"a": "old"}))).await.unwrap().expect(201);
    change_versions(&admin, "widgets.example.com", json!([version("v1", true, of(json!(["old", "new"])))])).await;
    let made = async || match admin.post(WIDGETS, &widget("second", json!({"a": "new"}))).await?.code {
        201 => Ok(()),
        code => Err(format!("{code}").into()),
    };
    running.until(made).await;
    // The operator is rolled back, and its definition with it.
    tighten(&mut running, of(json!(["old"])), json!({"a": "new"})).await;
    go_on(&admin, "first", 1).await;
    go_on(&admin, "second", 1).await;
    admin.merge(&format!("{WIDGETS}/first"), &json!({"spec": {"a": "new"}})).await.unwrap().expect(422);
    admin.merge(&format!("{WIDGETS}/second"), &json!({"spec": {"a": "old"}})).await.unwrap().expect(200);
    admin.merge(&format!("{WIDGETS}/second"), &json!({"spec": {"a": "new"}})).await.unwrap().expect(422);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tighten_loosen_tighten_with_the_gate_off_and_on_between() {
    let mut running = Running::start(&[], &[]).await;
    let loose = || json!({"a": text(), "b": text()});
    let off: &[&str] = &["--feature-gates=CRDValidationRatcheting=false"];
    define(&mut running, &widgets(loose())).await;
    let short = json!({"a": "x"});
    running.admin.post(WIDGETS, &widget("w", short.clone())).await.unwrap().expect(201);
    tighten(&mut running, tight(), short.clone()).await;
    go_on(&running.admin, "w", 1).await;
    let label = |value: &str| json!({"metadata": {"labels": {"l": value}}});
    let path = format!("{WIDGETS}/w");
    running = running.restart(off).await;
    running.admin.merge(&path, &label("off")).await.unwrap().expect(422);
    change_versions(&running.admin, "widgets.example.com", json!([version("v1", true, loose())])).await;
    let admin = running.place.client(Protocol::Http2);
    running.until(async || admin.merge(&path, &label("loose")).await?.ok()).await;
    running = running.restart(&[]).await;
    tighten(&mut running, tight(), short.clone()).await;
    go_on(&running.admin, "w", 2).await;
    running = running.restart(off).await;
    running.admin.merge(&path, &label("again")).await.unwrap().expect(422);
    running = running.restart(&[]).await;
    go_on(&running.admin, "w", 3).await;
    running.admin.merge(&path, &json!({"spec": {"a": "y"}})).await.unwrap().expect(422);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_author_is_told_what_a_tighter_schema_would_refuse() {
    let mut running = Running::start(&[], &["reader"]).await;
    define(&mut running, &widgets(json!({"a": text()}))).await;
    let admin = running.place.client(Protocol::Http2);
    for (name, a) in [("one", "x"), ("two", "long enough"), ("three", "y")] {
        admin.post(WIDGETS, &widget(name, json!({"a": a}))).await.unwrap().expect(201);
    }
    let path = format!("{DEFINITIONS}/widgets.example.com");
    let patch = json!({"spec": {"versions": [version("v1", true, tight())]}});
    let tried = admin.merge(&format!("{path}?dryRun=All"), &patch).await.unwrap();
    let told = "299 - \"the new schema would refuse 2 of 3 stored objects: n/one (spec.a), n/three (spec.a)\"";
    assert_eq!(tried.warnings(), [told]);
    tried.expect(200);
    let ask = format!("{path}/invalidobjects");
    assert_eq!(admin.get(&ask).await.unwrap().expect(200)["items"], json!([]));
    let mut candidate = admin.get(&path).await.unwrap().expect(200);
    candidate["spec"]["versions"] = patch["spec"]["versions"].clone();
    let found = admin.post(&ask, &candidate).await.unwrap().expect(200);
    let names: Vec<&str> = found["items"].as_array().unwrap().iter().map(|i| i["name"].as_str().unwrap()).collect();
    assert_eq!((names, &found["lookedAt"]), (vec!["one", "three"], &json!(3)));
    running.user("reader").get(&ask).await.unwrap().expect(403);
    let unchanged = admin.get(&path).await.unwrap().expect(200);
    assert_eq!(unchanged["metadata"]["generation"], 1, "nobody changed anything");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kills_leave_no_object_without_its_definition_and_lose_none() {
    let mut rng = Rng::with_seed(seed());
    let mut place = Place::new();
    let mut server = place.start().await;
    place
        .client(Protocol::Http2)
        .post("/api/v1/namespaces", &json!({"metadata": {"name": "n"}}))
        .await
        .unwrap()
        .expect(201);
    let mut promised = 0;
    for round in 0..setting("PAWL_SOAK_KILLS").unwrap_or(10) {
        let load: Vec<_> = (0..4).map(|i| tokio::spawn(live(place.client(Protocol::Http2), i, rng.fork()))).collect();
        tokio::time::sleep(Duration::from_millis(rng.u64(100..900))).await;
        server.kill();
        let mut kept: Vec<(usize, Vec<String>)> = Vec::new();
        for (i, task) in load.into_iter().enumerate() {
            kept.push((i, task.await.unwrap()));
        }
        server = place.start().await;
        let client = place.client(Protocol::Http2);
        for (i, names) in kept {
            promised += names.len();
            check_kept(&mut server, &client, i, &names, round).await;
            bury(&mut server, &client, i).await;
        }
        server.assert_no_panic();
    }
    eprintln!("{promised} acknowledged objects of definitions that were there");
    server.stop().await;
}

fn plural(i: usize) -> String {
    format!("things{i}")
}

fn things(i: usize) -> String {
    format!("/apis/example.com/v1/namespaces/n/{}", plural(i))
}

/// Defines, creates, changes and deletes until nobody answers. Returns the objects that must be there: acknowledged, with no
/// deletion of theirs or of their definition on its way.
async fn live(client: Client, i: usize, mut rng: Rng) -> Vec<String> {
    let (mut kept, mut goes) = (Vec::new(), false);
    let defined = definition(&plural(i), &format!("Thing{i}"), json!([version("v1", true, json!({"a": text()}))]));
    loop {
        match client.post(DEFINITIONS, &defined).await {
            // What is taken while the definition goes is gone with it.
            Ok(answer) if answer.code == 409 && goes => continue,
            Ok(answer) if matches!(answer.code, 201 | 409) => goes = false,
            Ok(answer) => panic!("{}", answer.json()),
            Err(_) => return kept,
        }
        for _ in 0..rng.usize(5..60) {
            let name = format!("t{}", rng.u32(..));
            let object = json!({"apiVersion": "example.com/v1", "kind": format!("Thing{i}"),
                "metadata": {"name": name}, "spec": {"a": "x"}});
            match client.post(&things(i), &object).await {
                Ok(answer) if answer.code == 201 => kept.push(name),
                Ok(_) => {}
                Err(_) => return kept,
            }
        }
        if let Some(name) = kept.pop()
            && client.delete(&format!("{}/{name}", things(i))).await.is_err()
        {
            return kept;
        }
        if rng.u8(..) < 64 {
            kept.clear();
            goes = true;
            if client.delete(&format!("{DEFINITIONS}/{}.example.com", plural(i))).await.is_err() {
                return kept;
            }
        }
    }
}

async fn check_kept(server: &mut pawl_testing::Server, client: &Client, i: usize, names: &[String], round: u64) {
    if names.is_empty() {
        return;
    }
    let list = client.get(&things(i)).await.unwrap().expect(200);
    let there: Vec<&str> =
        list["items"].as_array().unwrap().iter().map(|o| o["metadata"]["name"].as_str().unwrap()).collect();
    for name in names {
        assert!(there.contains(&name.as_str()), "round {round}: {} {name} is lost", things(i));
    }
    server.assert_no_panic();
}

/// Deletes a definition, makes it anew, and finds nothing of the old one.
async fn bury(server: &mut pawl_testing::Server, client: &Client, i: usize) {
    let path = format!("{DEFINITIONS}/{}.example.com", plural(i));
    let gone = async || match client.delete(&path).await?.code {
        404 => Ok(()),
        _ => Err("still there".into()),
    };
    server.until(gone).await.unwrap();
    let defined = definition(&plural(i), &format!("Thing{i}"), json!([version("v1", true, json!({"a": text()}))]));
    client.post(DEFINITIONS, &defined).await.unwrap().expect(201);
    let served = async || client.get(&things(i)).await?.ok();
    server.until(served).await.unwrap();
    assert_eq!(client.get(&things(i)).await.unwrap().expect(200)["items"], json!([]), "objects of a dead definition");
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_have_no_protobuf_form_and_their_metadata_has() {
    let mut running = Running::start(&[], &[]).await;
    define(&mut running, &widgets(json!({}))).await;
    running.admin.post(WIDGETS, &widget("w", json!({}))).await.unwrap().expect(201);
    let protobuf = "application/vnd.kubernetes.protobuf";
    let get = |accept: String| http::Request::get(format!("{WIDGETS}/w")).header("accept", accept);
    let code = async |accept: String| running.admin.send(get(accept), Bytes::new()).await.unwrap().code;
    assert_eq!(code(protobuf.to_owned()).await, 406);
    assert_eq!(code(format!("{protobuf},application/json")).await, 200);
    assert_eq!(code(format!("{protobuf};as=PartialObjectMetadata;g=meta.k8s.io;v=v1")).await, 200);
    let post = http::Request::post(WIDGETS).header("content-type", protobuf);
    assert_eq!(running.admin.send(post, Bytes::from_static(b"k8s\0")).await.unwrap().code, 415);
    let strategic =
        http::Request::patch(format!("{WIDGETS}/w")).header("content-type", "application/strategic-merge-patch+json");
    assert_eq!(running.admin.send(strategic, Bytes::from_static(b"{}")).await.unwrap().code, 415);
    running.stop().await;
}
