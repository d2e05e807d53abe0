//! The life of an object, the same for every kind: create, read, list, table, four patches, delete, and a watch over it all.

use bytes::Bytes;
use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE};
use serde_json::{Value, json};

use super::Kind;
use pawl_testing::{Answer, Client, Watch};

/// What each kind of patch sends, and the annotation that it makes.
const PATCHES: [(&str, &str, &str); 4] = [
    ("merge-patch", "merge", r#"{"metadata":{"annotations":{"merge":"1"}}}"#),
    ("json-patch", "json", r#"[{"op":"add","path":"/metadata/annotations/json","value":"1"}]"#),
    ("strategic-merge-patch", "strategic", r#"{"metadata":{"annotations":{"strategic":"1"}}}"#),
    ("apply-patch", "apply", r#"{"metadata":{"annotations":{"apply":"1"}}}"#),
];

pub async fn live(client: &Client, kind: &Kind) {
    let collection = kind.collection();
    let object = kind.whole(&kind.least);
    if kind.resource.facts.is_virtual {
        client.post(&collection, &object).await.unwrap().expect(201);
        return;
    }
    let name = object["metadata"]["name"].as_str().unwrap();
    let own = format!("{collection}/{name}");
    let mut watch = client.watch(&format!("{collection}?watch=1&fieldSelector=metadata.name%3D{name}")).await.unwrap();

    let created = client.post(&collection, &object).await.unwrap().expect(201);
    assert_eq!(created["kind"], object["kind"]);
    assert!(!created["metadata"]["uid"].as_str().unwrap().is_empty());
    assert_eq!(client.post(&collection, &object).await.unwrap().code, 409, "it is there already");

    let read = client.get(&own).await.unwrap().expect(200);
    assert_eq!(read["metadata"]["uid"], created["metadata"]["uid"]);
    let list = client.get(&collection).await.unwrap().expect(200);
    assert_eq!(list["kind"], json!(kind.resource.list_kind()));
    assert!(list["items"].as_array().unwrap().iter().any(|item| item["metadata"]["name"] == *name));
    table(client, &collection, name).await;
    for patch in PATCHES {
        send_patch(client, &own, &object, patch).await;
    }
    follow(&mut watch, &created).await;
    let deleted = client.delete(&own).await.unwrap();
    assert!(matches!(deleted.code, 200 | 202), "{deleted:?}");
    until_deleted(&mut watch, &created).await;
    assert_eq!(client.get(&own).await.unwrap().code, 404);
}

async fn table(client: &Client, collection: &str, name: &str) {
    let request = Request::get(collection).header(ACCEPT, "application/json;as=Table;v=v1;g=meta.k8s.io");
    let table = client.send(request, Bytes::new()).await.unwrap().expect(200);
    assert_eq!(table["kind"], "Table");
    let columns = table["columnDefinitions"].as_array().unwrap();
    let rows = table["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["object"]["metadata"]["name"] == *name).unwrap();
    let cells = row["cells"].as_array().unwrap();
    assert!(!columns.is_empty() && cells.len() >= columns.len(), "{columns:?} {cells:?}");
}

async fn send_patch(client: &Client, own: &str, object: &Value, (patch, annotation, body): (&str, &str, &str)) {
    let mut path = own.to_owned();
    let mut content_type = format!("application/{patch}+json");
    let mut body = body.to_owned();
    if patch == "apply-patch" {
        path += "?fieldManager=applier";
        content_type = "application/apply-patch+yaml".to_owned();
        let mut intent: Value = serde_json::from_str(&body).unwrap();
        intent["apiVersion"] = object["apiVersion"].clone();
        intent["kind"] = object["kind"].clone();
        body = intent.to_string();
    }
    let request = Request::patch(path).header(CONTENT_TYPE, content_type);
    let answer: Answer = client.send(request, Bytes::from(body)).await.unwrap();
    let patched = answer.expect(200);
    assert_eq!(patched["metadata"]["annotations"][annotation], "1", "{patch}");
    if patch == "apply-patch" {
        let owners = patched["metadata"]["managedFields"].as_array().unwrap();
        assert!(owners.iter().any(|owner| owner["manager"] == "applier" && owner["operation"] == "Apply"));
    }
}

/// The watch shows the object as it was created, then every patch in turn.
async fn follow(watch: &mut Watch, created: &Value) {
    let first = watch.next().await.unwrap().unwrap();
    assert_eq!((&first["type"], &first["object"]["metadata"]["uid"]), (&json!("ADDED"), &created["metadata"]["uid"]));
    let mut awaited = PATCHES.iter().map(|(_, annotation, _)| *annotation).peekable();
    while let Some(annotation) = awaited.peek() {
        let event = watch.next().await.unwrap().unwrap();
        assert_eq!(event["type"], "MODIFIED");
        if event["object"]["metadata"]["annotations"].get(*annotation).is_some() {
            awaited.next();
        }
    }
}

async fn until_deleted(watch: &mut Watch, created: &Value) {
    loop {
        let event = watch.next().await.unwrap().unwrap();
        if event["type"] == "DELETED" {
            assert_eq!(event["object"]["metadata"]["uid"], created["metadata"]["uid"]);
            return;
        }
        assert_eq!(event["type"], "MODIFIED");
    }
}
