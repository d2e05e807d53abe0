//! The kind of `docs/adding-a-kind.md`, taken from the document itself, is served like every other one.

#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

use bytes::Bytes;
use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE};
use pawl_kinds::facts::{Addition, add};
use pawl_server::flags::Given;
use pawl_server::{Running, Settings};
use pawl_testing::{Answer, Client, Place, Protocol};
use serde_json::{Value, json};

const DOCUMENT: &str = include_str!("../../../docs/adding-a-kind.md");
const WIDGETS: &str = "/apis/example.io/v1/namespaces/default/widgets";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// One test: kinds are added once, before the first is used.
#[tokio::test(flavor = "multi_thread")]
async fn the_kind_of_the_document_is_served() {
    add_kind();
    let place = Place::new();
    let running = start(&place).await;
    let client = place.client(Protocol::Http1);
    it_is_discovered(&client).await;
    it_has_defaults_and_checks(&client).await;
    it_is_shown_in_a_table(&client).await;
    it_is_applied(&client).await;
    it_is_protobuf(&client).await;
    running.stop().await;
}

/// The blocks of the document: types, resource, rules, columns.
fn add_kind() {
    let blocks: Vec<String> = DOCUMENT
        .split("```")
        .skip(1)
        .step_by(2)
        .map(|block| block.lines().map(|line| line.strip_prefix("   ").unwrap_or(line)).collect::<Vec<_>>().join("\n"))
        .collect();
    let [types, resource, rules, columns] = blocks.try_into().expect("four blocks");
    add(Addition { types, resources: format!("[{resource}]"), rules, columns }).unwrap();
}

async fn start(place: &Place) -> Running {
    let arguments = [
        format!("--data-dir={}", place.data().display()),
        format!("--secure-port={}", place.port),
        format!("--token-auth-file={}", place.path("tokens.csv").display()),
    ];
    let settings = Settings::read(&Given::parse(&[pawl_server::flags::FLAGS], arguments.to_vec()).unwrap()).unwrap();
    pawl_server::start(settings).await.unwrap()
}

fn widget(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "example.io/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

#[track_caller]
fn expect_cause(answer: &Answer, field: &str, message: &str) {
    let causes = answer.expect(422)["details"]["causes"].clone();
    assert_eq!(causes.as_array().unwrap().len(), 1, "{causes}");
    assert_eq!((&causes[0]["field"], &causes[0]["message"]), (&json!(field), &json!(message)));
}

async fn it_is_discovered(client: &Client) {
    let resources = client.get("/apis/example.io/v1").await.unwrap().expect(200);
    assert_eq!(resources["resources"][0]["kind"], "Widget");
    let document = client.get("/openapi/v3/apis/example.io/v1").await.unwrap().expect(200);
    let size = &document["components"]["schemas"]["io.example.v1.WidgetSpec"]["properties"]["size"];
    assert_eq!(size["format"], "int32", "{size}");
}

async fn it_has_defaults_and_checks(client: &Client) {
    let created = client.post(WIDGETS, &widget("first", &json!({"owners": ["a", "b"]}))).await.unwrap().expect(201);
    assert_eq!(created["spec"], json!({"size": 1, "owners": ["a", "b"]}));
    assert_eq!(created["metadata"]["generation"], 1);

    let large = client.post(WIDGETS, &widget("large", &json!({"size": 101}))).await.unwrap();
    expect_cause(&large, "spec.size", "Invalid value: 101: must be between 1 and 100, inclusive");
    let strict = format!("{WIDGETS}?fieldValidation=Strict");
    assert_eq!(client.post(&strict, &widget("odd", &json!({"sise": 1}))).await.unwrap().code, 400);

    let mut changed = created.clone();
    changed["spec"] = json!({"size": 2, "owners": ["a"]});
    let own = format!("{WIDGETS}/first");
    let refused = client.put(&own, &changed).await.unwrap();
    expect_cause(&refused, "spec.owners", r#"Invalid value: ["a"]: field is immutable"#);
    changed["spec"]["owners"] = json!(["a", "b"]);
    let updated = client.put(&own, &changed).await.unwrap().expect(200);
    assert_eq!((&updated["spec"]["size"], &updated["metadata"]["generation"]), (&json!(2), &json!(2)));
}

async fn it_is_shown_in_a_table(client: &Client) {
    let request = Request::get(WIDGETS).header(ACCEPT, "application/json;as=Table;v=v1;g=meta.k8s.io");
    let table = client.send(request, Bytes::new()).await.unwrap().expect(200);
    let names: Vec<&str> =
        table["columnDefinitions"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Name", "Size", "Owners"]);
    assert_eq!(table["rows"][0]["cells"], json!(["first", 2, "a,b"]));
}

/// Owners are a set: who applies one of them adds it, and takes nothing from others.
async fn it_is_applied(client: &Client) {
    let apply = async |manager: &str, owners: Value| {
        let path = format!("{WIDGETS}/applied?fieldManager={manager}");
        let request = Request::patch(path).header(CONTENT_TYPE, "application/apply-patch+yaml");
        let body = widget("applied", &json!({"owners": owners})).to_string();
        client.send(request, Bytes::from(body)).await.unwrap()
    };
    apply("one", json!(["a", "b"])).await.expect(201);
    let both = apply("two", json!(["b"])).await.expect(200);
    assert_eq!(both["spec"]["owners"], json!(["a", "b"]));
    let owners = both["metadata"]["managedFields"].as_array().unwrap();
    let two = owners.iter().find(|owner| owner["manager"] == "two").unwrap();
    assert_eq!(two["fieldsV1"]["f:spec"]["f:owners"], json!({r#"v:"b""#: {}}));
    assert_ne!(apply("two", json!(["b", "b"])).await.code, 200, "a set has no item twice");
}

async fn it_is_protobuf(client: &Client) {
    let own = format!("{WIDGETS}/first");
    let before = client.get(&own).await.unwrap().expect(200);
    let message = client.send(Request::get(&own).header(ACCEPT, PROTOBUF), Bytes::new()).await.unwrap();
    assert!(message.body.starts_with(b"k8s\0"), "{message:?}");
    // The spec: its size as field 1, its owners as field 2.
    let spec = b"\x08\x02\x12\x01a\x12\x01b";
    assert!(message.body.windows(spec.len()).any(|part| part == spec), "{:?}", message.body);
    let request = Request::put(&own).header(CONTENT_TYPE, PROTOBUF);
    let after = client.send(request, message.body).await.unwrap().expect(200);
    assert_eq!(
        (&after["spec"], &after["metadata"]["resourceVersion"]),
        (&before["spec"], &before["metadata"]["resourceVersion"])
    );
}
