//! Every object is the same in JSON and in protobuf: those of recorded conversations, and what a server starts with.
//!
//! The recordings lie at `../shared/golden` beside the repository, or where `PAWL_GOLDEN` says.

use std::collections::{BTreeMap, BTreeSet};

use crate::harvest::{self, Recorded};
use crate::messages::{Frames, PROTOBUF, agree, get, reading};
use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE};
use pawl_testing::{Client, DEADLINE, Running};
use serde_json::{Value, json};

/// Everything that is there stays as it is while it is compared.
const FLAGS: [&str; 2] = ["--disable-admission-plugins=ServiceAccount", "--controllers=-*"];

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_every_kind_are_the_same() {
    let others = harvest::others();
    let running = Running::start(&FLAGS, &[]).await;
    assert_eq!(create(&running.admin, &others).await, others.len());
    let tally = compare(&running.admin).await;
    println!("compared {tally}");
    assert!(tally.objects() > 150 && tally.kinds.len() > 35, "{tally}");
    assert!(tally.lists > 50 && tally.watches > 50, "{tally}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_recorded_is_the_same() {
    let Some(place) = harvest::place() else { return };
    let recorded = harvest::objects(&place);
    for recorded in &recorded {
        let object = recorded.whole();
        agree(&object.to_string(), &object, &pawl_registry::message(&object).unwrap());
    }
    let running = Running::start(&FLAGS, &[]).await;
    let created = create(&running.admin, &recorded).await;
    let others = create(&running.admin, &harvest::others()).await;
    let tally = compare(&running.admin).await;
    println!("created {created} of {} recorded objects and {others} others, compared {tally}", recorded.len());
    assert!(recorded.len() > 200 && created > 150, "{created} of {}", recorded.len());
    assert!(tally.objects() > 400 && tally.kinds.len() > 50, "{tally}");
    running.stop().await;
}

/// What was compared.
#[derive(Default)]
struct Tally {
    /// How many objects of each kind.
    kinds: BTreeMap<String, usize>,
    lists: usize,
    watches: usize,
}

impl Tally {
    fn objects(&self) -> usize {
        self.kinds.values().sum()
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kinds, lists, watches } = self;
        write!(f, "{} objects of {} kinds, {lists} lists, {watches} watches", self.objects(), kinds.len())
    }
}

/// Creates what the server takes, and says how much that was.
async fn create(client: &Client, recorded: &[Recorded]) -> usize {
    let mut namespaces: BTreeSet<&str> = recorded.iter().filter_map(Recorded::namespace).collect();
    for recorded in recorded.iter().filter(|recorded| recorded.resource.facts.kind == "Namespace") {
        namespaces.remove(recorded.name());
    }
    for name in namespaces {
        let answer = client.post("/api/v1/namespaces", &json!({"metadata": {"name": name}})).await.unwrap();
        assert!(matches!(answer.code, 201 | 409), "{answer:?}");
    }
    let mut ordered: Vec<&Recorded> = recorded.iter().collect();
    ordered.sort_by_key(|recorded| recorded.resource.facts.kind != "Namespace");
    let mut created = Vec::new();
    for recorded in ordered {
        let answer = client.post(&recorded.collection(), &recorded.object).await.unwrap();
        match answer.code {
            201 => created.push(recorded),
            _ => println!("{} {}: {}", recorded.collection(), recorded.name(), answer.json()["message"]),
        }
    }
    for recorded in &created {
        set_status(client, recorded).await;
    }
    created.len()
}

/// Gives an object the status that it had, as far as the server takes it.
async fn set_status(client: &Client, recorded: &Recorded) {
    let facts = &recorded.resource.facts;
    let Some(status) = recorded.status.as_ref().filter(|_| facts.sub.iter().any(|sub| sub.name == "status")) else {
        return;
    };
    let path = format!("{}/{}/status", recorded.collection(), recorded.name());
    let answer = client.merge(&path, &json!({"status": status})).await.unwrap();
    if answer.code != 200 {
        println!("{path}: {}", answer.json()["message"]);
    }
}

/// Compares everything that the server has.
async fn compare(client: &Client) -> Tally {
    let mut tally = Tally::default();
    for root in roots(client).await {
        let resources = document(client, &root).await;
        for resource in resources["resources"].as_array().unwrap() {
            let has = |verb: &str| resource["verbs"].as_array().unwrap().iter().any(|known| known == verb);
            if !has("list") || !builtin(&root) {
                continue;
            }
            let plural = resource["name"].as_str().unwrap();
            let updated = has("update");
            for path in compare_list(client, &root, plural, &mut tally).await.into_iter().filter(|_| updated) {
                check_unchanged(client, &path).await;
            }
            if has("watch") {
                compare_watch(client, &format!("{root}/{plural}")).await;
                tally.watches += 1;
            }
        }
    }
    tally
}

/// Whether this is the path of a version that is built in: custom resources have no messages.
fn builtin(root: &str) -> bool {
    let version = root.trim_start_matches("/apis/").trim_start_matches("/api/");
    pawl_kinds::builtin().iter().any(|resource| resource.group_version().to_string() == version)
}

/// The paths of all versions of all groups.
async fn roots(client: &Client) -> Vec<String> {
    document(client, "/api").await;
    let groups = document(client, "/apis").await;
    let mut roots = vec!["/api/v1".to_owned()];
    for group in groups["groups"].as_array().unwrap() {
        document(client, &format!("/apis/{}", group["name"].as_str().unwrap())).await;
        let versions = group["versions"].as_array().unwrap().iter();
        roots.extend(versions.map(|version| format!("/apis/{}", version["groupVersion"].as_str().unwrap())));
    }
    roots
}

/// A path in JSON; in protobuf it says the same.
async fn document(client: &Client, path: &str) -> Value {
    let json = client.get(path).await.unwrap().expect(200);
    let message = get(client, path).await.unwrap();
    assert_eq!((message.code, message.headers["content-type"].to_str().unwrap()), (200, PROTOBUF), "{path}");
    agree(path, &json, &message.body);
    json
}

/// Compares a list and each of its items, and gives the paths of these.
async fn compare_list(client: &Client, root: &str, plural: &str, tally: &mut Tally) -> Vec<String> {
    let list = document(client, &format!("{root}/{plural}")).await;
    let mut paths = Vec::new();
    let kind = format!("{} of {}", list["kind"], list["apiVersion"]);
    for item in list["items"].as_array().unwrap() {
        let metadata = &item["metadata"];
        let namespace = metadata["namespace"].as_str().map(|name| format!("/namespaces/{name}")).unwrap_or_default();
        let name = metadata["name"].as_str().unwrap();
        paths.push(format!("{root}{namespace}/{plural}/{name}"));
        document(client, paths.last().unwrap()).await;
        *tally.kinds.entry(kind.clone()).or_default() += 1;
    }
    tally.lists += 1;
    paths
}

/// Who writes back the message that was read changes nothing.
async fn check_unchanged(client: &Client, path: &str) {
    let read = get(client, path).await.unwrap();
    let head = Request::put(path).header(ACCEPT, PROTOBUF).header(CONTENT_TYPE, PROTOBUF);
    let written = client.send(head, read.body.clone()).await.unwrap();
    assert_eq!(written.code, 200, "{path}: {}", String::from_utf8_lossy(&written.body));
    assert_eq!(reading(&written.body), reading(&read.body), "{path}");
}

/// The events that a watch begins with are the same, up to the bookmark that ends them.
async fn compare_watch(client: &Client, collection: &str) {
    let query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let path = format!("{collection}?{query}");
    let events = async {
        let mut lines = client.watch(&path).await.unwrap();
        let mut frames = Frames::open(client, &path).await.unwrap();
        loop {
            let line = lines.next().await.unwrap().unwrap();
            let (kind, sealed) = frames.next().await.unwrap();
            assert_eq!(line["type"], kind, "{path}");
            if kind == "BOOKMARK" {
                // In JSON it has nothing but its metadata; a message always has what is not behind a pointer.
                assert_eq!(reading(&sealed)["metadata"], line["object"]["metadata"], "{path}");
                return;
            }
            agree(&path, &line["object"], &sealed);
        }
    };
    tokio::time::timeout(DEADLINE, events).await.expect("a watch ends its initial events");
}
