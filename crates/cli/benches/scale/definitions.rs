//! Definitions of custom resources: how soon the first object of one is taken, what many of them cost that nobody uses, and how fast
//! objects are validated.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http::header::ACCEPT;
use pawl_testing::{Client, Place, Protocol};
use serde_json::{Value, json};

use super::{DEFINITIONS, each};

/// How many definitions are many.
const MANY: usize = 1_000;
/// How many of them are timed one by one.
const TIMED: usize = 100;
/// How often each document is asked for.
const ASKED: usize = 100;

/// So many make a definition of five kilobytes.
const FIELDS: usize = 27;

fn definition(number: usize) -> Value {
    let mut properties = serde_json::Map::new();
    for field in 0..FIELDS {
        let about = format!("What the field {field} is for, in a sentence as authors write them for those who ask.");
        let schema = json!({"type": "string", "maxLength": 64, "pattern": "^[a-z0-9-]*$", "description": about});
        properties.insert(format!("field{field}"), schema);
    }
    let item = json!({"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "size": {"type": "integer", "minimum": 0}}});
    properties.insert("items".to_owned(), json!({"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}));
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": properties},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    // Twenty to a group, as operators have them.
    let group = group(number);
    json!({"metadata": {"name": format!("things{number}.{group}")}, "spec": {"group": group, "scope": "Namespaced",
        "names": {"plural": format!("things{number}"), "kind": format!("Thing{number}")},
        "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}}]}})
}

fn group(number: usize) -> String {
    format!("g{}.example.com", number / 20)
}

fn path(number: usize) -> String {
    format!("/apis/{}/v1/namespaces/default/things{number}", group(number))
}

fn thing(number: usize, items: usize) -> Value {
    let items: Vec<Value> = (0..items).map(|item| json!({"name": format!("item-{item}"), "size": item})).collect();
    let mut spec: serde_json::Map<String, Value> =
        (0..FIELDS).map(|field| (format!("field{field}"), json!("a-value-of-some-length"))).collect();
    spec.insert("items".to_owned(), items.into());
    json!({"apiVersion": format!("{}/v1", group(number)), "kind": format!("Thing{number}"), "metadata": {"name": "first"}, "spec": spec})
}

/// The half, and the most.
fn shown(mut times: Vec<Duration>) -> String {
    times.sort();
    let ms = |time: &Duration| time.as_secs_f64() * 1e3;
    let half = times.get(times.len() / 2).map_or(0.0, ms);
    format!("{half:.2} ms by half, {:.2} ms at most, of {}", times.last().map_or(0.0, ms), times.len())
}

/// From the first byte of a POST of a definition to the answer that its first object is stored.
async fn served(client: &Client, number: usize) -> Duration {
    let (definition, first) = (definition(number), thing(number, 1));
    let began = Instant::now();
    client.post(DEFINITIONS, &definition).await.unwrap().expect(201);
    loop {
        match client.post(&path(number), &first).await.unwrap().code {
            201 => return began.elapsed(),
            404 => tokio::time::sleep(Duration::from_micros(200)).await,
            code => panic!("{code}"),
        }
    }
}

async fn asked(client: &Client, path: &str, media: &str) -> String {
    let mut times = Vec::new();
    let mut size = 0;
    for _ in 0..ASKED {
        let began = Instant::now();
        let answer = client.send(Request::get(path).header(ACCEPT, media), Bytes::new()).await.unwrap();
        assert_eq!(answer.code, 200);
        times.push(began.elapsed());
        size = answer.body.len();
    }
    let first = times.remove(0).as_secs_f64() * 1e3;
    format!("{:.0} KB: first {first:.1} ms, then {}", size as f64 / 1e3, shown(times))
}

pub async fn many() {
    let mut place = Place::new();
    let server = place.start().await;
    let client = place.client(Protocol::Http2);
    let size = definition(0).to_string().len();
    let mut times = Vec::new();
    for number in MANY..MANY + TIMED {
        times.push(served(&client, number).await);
    }
    println!("from a definition of {size} bytes to its first object: {}", shown(times));
    // What is counted below is what nobody uses.
    for number in MANY..MANY + TIMED {
        client.delete(&format!("{DEFINITIONS}/things{number}.{}", group(number))).await.unwrap().expect(200);
    }
    while client.get(DEFINITIONS).await.unwrap().expect(200)["items"].as_array().is_some_and(|left| !left.is_empty()) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    let before = server.resident();
    each(0..MANY, |number| {
        let client = &client;
        async move {
            client.post(DEFINITIONS, &definition(number)).await.unwrap().expect(201);
        }
    })
    .await;
    let mut server = server;
    let last = async || {
        for number in 0..MANY {
            client.get(&path(number)).await?.ok()?;
        }
        Ok(())
    };
    server.until(last).await.unwrap();
    let each_takes = |now: u64| (now.saturating_sub(before)) as f64 / MANY as f64;
    println!("{MANY} definitions that were listed once: {:.1} KB each", each_takes(server.resident()));
    server.stop().await;

    // One server without and one with them, neither of which anybody asked for anything yet.
    let mut empty = Place::new();
    let began = Instant::now();
    let alone = empty.start().await;
    println!("a start without definitions: {:.0} ms", began.elapsed().as_secs_f64() * 1e3);
    let least = alone.resident();
    alone.stop().await;
    let began = Instant::now();
    let server = place.start().await;
    println!("a start with {MANY} definitions: {:.0} ms", began.elapsed().as_secs_f64() * 1e3);
    let most = server.resident().saturating_sub(least);
    println!("while nobody uses them: {:.1} KB each", most as f64 / MANY as f64);
    let client = place.client(Protocol::Http2);
    // To connect is not what is measured.
    client.get("/livez").await.unwrap();
    let aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    println!("aggregated discovery, {}", asked(&client, "/apis", aggregated).await);
    println!("groups, {}", asked(&client, "/apis", "application/json").await);
    println!("a group's version, {}", asked(&client, &format!("/apis/{}/v1", group(0)), "application/json").await);
    println!("the index of OpenAPI, {}", asked(&client, "/openapi/v3", "application/json").await);
    validated(&client).await;
    server.stop().await;
}

/// Large objects that are judged and not stored.
async fn validated(client: &Client) {
    let object = thing(0, 4_000);
    let size = object.to_string().len();
    let dry = format!("{}?dryRun=All", path(0));
    client.post(&dry, &object).await.unwrap().expect(201);
    let began = Instant::now();
    for _ in 0..ASKED {
        client.post(&dry, &object).await.unwrap().expect(201);
    }
    let rate = (size * ASKED) as f64 / began.elapsed().as_secs_f64() / 1e6;
    println!(
        "objects of {:.0} KB, read, defaulted, pruned, validated and answered one after the other: {rate:.1} MB/s",
        size as f64 / 1e3
    );
}
