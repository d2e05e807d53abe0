//! A server that is killed at any moment keeps what it has promised: every acknowledged write is there, none is half
//! there, versions never go back, and a watch that resumes sees a history without gap or duplicate.
//!
//! Ten kills by default; `PAWL_SOAK_KILLS` asks for more, `PAWL_SEED` repeats the decisions of an earlier run.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use fastrand::Rng;
use pawl_testing::{Client, DEADLINE, Place, Protocol, Server, seed, setting};
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "/api/v1/namespaces/crash/configmaps";
const WRITERS: usize = 16;
const FOLLOWERS: usize = 3;
/// Objects of each writer.
const OBJECTS: usize = 5;

#[tokio::test(flavor = "multi_thread")]
async fn kills_under_load_lose_nothing() {
    let mut rng = Rng::with_seed(seed());
    let kills = setting("PAWL_SOAK_KILLS").unwrap_or(10);
    let mut place = Place::new();
    let mut server = place.start().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "crash"}});
    place.client(Protocol::Http1).post("/api/v1/namespaces", &namespace).await.unwrap().expect(201);
    place.client(Protocol::Http1).post(CONFIG_MAPS, &config_map("counter", 0, None)).await.unwrap().expect(201);

    let mut writers: Vec<Writer> = (0..WRITERS).map(|i| Writer::new(i, rng.fork())).collect();
    let mut followers = Vec::new();
    for i in 0..FOLLOWERS {
        followers.push(Follower::begin(&place.client(Protocol::Http2), i % 2 == 0).await);
    }
    let mut counted = 0;
    let mut promised = 0;
    for round in 0..kills {
        let load: Vec<_> =
            writers.drain(..).map(|writer| tokio::spawn(writer.run(place.client(Protocol::Http2)))).collect();
        let watches: Vec<_> = followers
            .drain(..)
            .map(|follower| tokio::spawn(follower.run(place.client(Protocol::Http2), None)))
            .collect();
        tokio::time::sleep(Duration::from_millis(rng.u64(20..600))).await;
        server.kill();
        for writer in load {
            writers.push(writer.await.unwrap());
        }
        for follower in watches {
            followers.push(follower.await.unwrap());
        }

        server = restart(&mut place, &mut rng).await;
        let client = place.client(Protocol::Http2);
        let newest = followers.iter().map(|f| f.version).chain(writers.iter().map(|w| w.newest)).max().unwrap();
        let (version, _) = list(&client).await;
        assert!(version >= newest, "round {round}: version {version} after {newest} had been seen");
        counted = check_counter(&client, counted, &mut writers).await;
        for writer in &mut writers {
            writer.settle(&client).await;
        }
        followers = catch_up(&place, followers, &format!("marker-{round}"), version).await;
        promised += check_promises(&mut writers, &mut followers);
        server.assert_no_panic();
    }
    eprintln!("{promised} acknowledged writes, {counted} of them counted together, over {kills} kills");
    assert!(promised > 0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_during_the_first_start_leaves_nothing_that_stops_the_next() {
    let mut rng = Rng::with_seed(seed());
    for _ in 0..setting("PAWL_SOAK_KILLS").unwrap_or(10) {
        let mut place = Place::new();
        let server = place.launch(place.command());
        tokio::time::sleep(Duration::from_micros(rng.u64(0..150_000))).await;
        server.kill();
        let server = place.start().await;
        assert_eq!(place.client(Protocol::Http2).get("/readyz").await.unwrap().code, 200);
        server.stop().await;
    }
}

/// The key of the authority is written before its certificate.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_without_its_certificate_is_a_first_start_that_was_killed() {
    let mut place = Place::new();
    place.start().await.stop().await;
    std::fs::remove_file(place.data().join("pki/ca.crt")).unwrap();
    let server = place.start().await;
    assert_eq!(place.client(Protocol::Http2).get("/readyz").await.unwrap().code, 200);
    server.stop().await;
}

/// Starts again; one time in four, the first try is killed while it starts.
async fn restart(place: &mut Place, rng: &mut Rng) -> Server {
    if rng.u8(..4) == 0 {
        let server = place.launch(place.command());
        tokio::time::sleep(Duration::from_micros(rng.u64(0..100_000))).await;
        server.kill();
    }
    place.start().await
}

/// Lets the followers resume where they were and read up to a new object; what they hold then is what a list shows.
async fn catch_up(place: &Place, followers: Vec<Follower>, marker: &str, newest: u64) -> Vec<Follower> {
    let client = place.client(Protocol::Http2);
    let made = client.post(CONFIG_MAPS, &config_map(marker, 0, None)).await.unwrap().expect(201);
    assert!(version_of(&made) > newest, "{marker} has version {} after {newest}", version_of(&made));
    let tasks: Vec<_> = followers
        .into_iter()
        .map(|follower| tokio::spawn(follower.run(place.client(Protocol::Http2), Some(marker.to_owned()))))
        .collect();
    let (_, objects) = list(&client).await;
    let mut caught_up = Vec::new();
    for task in tasks {
        let follower = tokio::time::timeout(DEADLINE, task).await.expect("a watch does not go on").unwrap();
        assert_eq!(follower.objects, objects, "what a watch told differs from a list");
        caught_up.push(follower);
    }
    caught_up
}

/// Every acknowledged write is in the history that each follower saw. Gives their number.
fn check_promises(writers: &mut [Writer], followers: &mut [Follower]) -> usize {
    let promises: Vec<Seen> = writers.iter_mut().flat_map(|writer| writer.promises.drain(..)).collect();
    let histories: Vec<Vec<Seen>> = followers.iter_mut().map(|follower| std::mem::take(&mut follower.seen)).collect();
    for history in &histories {
        assert_eq!(history, &histories[0], "two watches saw different histories");
    }
    let told: HashSet<&Seen> = histories[0].iter().collect();
    for promise in &promises {
        assert!(told.contains(promise), "acknowledged, but no watch was told: {promise:?}");
    }
    promises.len()
}

/// Every acknowledged increment of the object that all share was counted once. Gives the number it has now.
async fn check_counter(client: &Client, before: u64, writers: &mut [Writer]) -> u64 {
    let now = client.get(&format!("{CONFIG_MAPS}/counter")).await.unwrap().expect(200);
    let now = whole(&now).unwrap();
    let acknowledged: u64 = writers.iter_mut().map(|writer| std::mem::take(&mut writer.counted)).sum();
    let unknown: u64 = writers.iter_mut().map(|writer| std::mem::take(&mut writer.maybe_counted)).sum();
    let least = before + acknowledged;
    assert!((least..=least + unknown).contains(&now), "counted {now}, expected {least} and up to {unknown} more");
    now
}

/// One event of the history: what became of an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Seen {
    Put {
        name: String,
        version: u64,
        number: u64,
    },
    /// Deleted, and which version was the last; the answer to a deletion does not tell its own version.
    Deleted {
        name: String,
        last: u64,
    },
}

/// A write that was sent.
#[derive(Clone, Copy, Debug)]
enum Attempt {
    Put(u64),
    Delete,
}

/// What a writer knows of one of its objects.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Version and number, as acknowledged last.
    held: Option<(u64, u64)>,
    /// A write whose answer never came: it happened or it did not.
    unknown: Option<Attempt>,
}

/// Changes objects that nobody else changes, and counts in one that all share.
struct Writer {
    number: usize,
    rng: Rng,
    known: [Known; OBJECTS],
    /// Numbers written so far, so that no two writes are alike.
    written: u64,
    newest: u64,
    promises: Vec<Seen>,
    counted: u64,
    maybe_counted: u64,
}

impl Writer {
    fn new(number: usize, rng: Rng) -> Self {
        let known = Default::default();
        Self { number, rng, known, written: 0, newest: 0, promises: Vec::new(), counted: 0, maybe_counted: 0 }
    }

    fn name(&self, object: usize) -> String {
        format!("w{}-{object}", self.number)
    }

    /// Writes until the server is gone.
    async fn run(mut self, client: Client) -> Self {
        loop {
            let going = if self.rng.u8(..8) == 0 { self.count(&client).await } else { self.change(&client).await };
            if !going {
                return self;
            }
        }
    }

    /// One write to an object of its own; false when no answer came.
    async fn change(&mut self, client: &Client) -> bool {
        let object = self.rng.usize(..OBJECTS);
        let name = self.name(object);
        let path = format!("{CONFIG_MAPS}/{name}");
        let held = self.known[object].held;
        self.written += 1;
        let number = self.written;
        if let Some((version, _)) = held
            && self.rng.u8(..6) == 0
        {
            // From a version that is gone: must never be applied.
            let stale = config_map(&name, number, Some(version - 1));
            let Ok(answer) = client.put(&path, &stale).await else { return false };
            answer.expect(409);
            return true;
        }
        let attempt = if held.is_some() && self.rng.u8(..5) == 0 { Attempt::Delete } else { Attempt::Put(number) };
        let result = match (attempt, held) {
            (Attempt::Delete, _) => client.delete(&path).await,
            (_, None) => client.post(CONFIG_MAPS, &config_map(&name, number, None)).await,
            (_, Some((version, _))) => client.put(&path, &config_map(&name, number, Some(version))).await,
        };
        let Ok(answer) = result else {
            self.known[object].unknown = Some(attempt);
            return false;
        };
        let value = answer.expect(if held.is_none() { 201 } else { 200 });
        if let (Attempt::Delete, Some((last, _))) = (attempt, held) {
            self.known[object].held = None;
            self.promises.push(Seen::Deleted { name, last });
            return true;
        }
        let version = version_of(&value);
        assert_eq!(whole(&value), Some(number));
        assert!(version > self.newest, "{name} has version {version} after {}", self.newest);
        self.newest = version;
        self.known[object].held = Some((version, number));
        self.promises.push(Seen::Put { name, version, number });
        true
    }

    /// One try to count up the shared object; false when no answer came.
    async fn count(&mut self, client: &Client) -> bool {
        let path = format!("{CONFIG_MAPS}/counter");
        let Ok(answer) = client.get(&path).await else { return false };
        let current = answer.expect(200);
        let next = whole(&current).unwrap() + 1;
        let Ok(answer) = client.put(&path, &config_map("counter", next, Some(version_of(&current)))).await else {
            self.maybe_counted += 1;
            return false;
        };
        if answer.code != 409 {
            let version = version_of(&answer.expect(200));
            self.newest = self.newest.max(version);
            self.counted += 1;
            self.promises.push(Seen::Put { name: "counter".to_owned(), version, number: next });
        }
        true
    }

    /// Compares what is there after a restart with what was acknowledged.
    async fn settle(&mut self, client: &Client) {
        for object in 0..OBJECTS {
            let name = self.name(object);
            let Known { held, unknown } = self.known[object];
            let answer = client.get(&format!("{CONFIG_MAPS}/{name}")).await.unwrap();
            let now = (answer.code != 404).then(|| {
                let value = answer.expect(200);
                (version_of(&value), whole(&value).unwrap())
            });
            let happened = match (unknown, now) {
                (Some(Attempt::Put(number)), Some((version, found))) => {
                    number == found && held.is_none_or(|(before, _)| before < version)
                }
                (Some(Attempt::Delete), None) => true,
                _ => false,
            };
            assert!(
                now == held || happened,
                "{name}: acknowledged {held:?}, unknown {unknown:?}, but there is {now:?}"
            );
            self.known[object] = Known { held: now, unknown: None };
        }
    }
}

/// Follows all objects and keeps its own picture of them.
struct Follower {
    bookmarks: bool,
    version: u64,
    /// Version and number by name.
    objects: BTreeMap<String, (u64, u64)>,
    seen: Vec<Seen>,
}

impl Follower {
    async fn begin(client: &Client, bookmarks: bool) -> Self {
        let (version, objects) = list(client).await;
        Self { bookmarks, version, objects, seen: Vec::new() }
    }

    /// Follows from the last version it saw, until an object of this name is there or else until the server is gone.
    async fn run(mut self, client: Client, until: Option<String>) -> Self {
        let path =
            format!("{CONFIG_MAPS}?watch=true&resourceVersion={}&allowWatchBookmarks={}", self.version, self.bookmarks);
        let mut watch = match client.watch(&path).await {
            Ok(watch) => watch,
            Err(_) if until.is_none() => return self,
            Err(error) => panic!("cannot resume from {}: {error}", self.version),
        };
        while until.as_ref().is_none_or(|marker| !self.objects.contains_key(marker)) {
            match watch.next().await {
                Ok(Some(event)) => self.take(&event),
                Ok(None) | Err(_) if until.is_none() => return self,
                other => panic!("a watch ended early: {other:?}"),
            }
        }
        self
    }

    fn take(&mut self, event: &Value) {
        let object = &event["object"];
        let kind = event["type"].as_str().unwrap();
        assert_ne!(kind, "ERROR", "{event}");
        let version = version_of(object);
        if kind == "BOOKMARK" {
            assert!(version >= self.version, "a bookmark goes back from {} to {version}", self.version);
            self.version = version;
            return;
        }
        assert!(version > self.version, "{} comes again or late after version {}: {event}", version, self.version);
        self.version = version;
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        // Not one of ours.
        let Some(number) = whole(object) else { return };
        let before = self.objects.remove(&name);
        assert_eq!(before.is_none(), kind == "ADDED", "{kind} of {name} after {before:?}: an event is missing");
        if kind == "DELETED" {
            let (last, _) = before.unwrap();
            self.seen.push(Seen::Deleted { name, last });
        } else {
            self.objects.insert(name.clone(), (version, number));
            self.seen.push(Seen::Put { name, version, number });
        }
    }
}

/// The version of a list, and its objects.
async fn list(client: &Client) -> (u64, BTreeMap<String, (u64, u64)>) {
    let list = client.get(CONFIG_MAPS).await.unwrap().expect(200);
    let objects = list["items"].as_array().unwrap().iter().filter_map(|object| {
        Some((object["metadata"]["name"].as_str()?.to_owned(), (version_of(object), whole(object)?)))
    });
    (version_of(&list), objects.collect())
}

/// An object that shows whether it is whole: its text follows from its number.
fn config_map(name: &str, number: u64, version: Option<u64>) -> Value {
    let mut metadata = json!({"name": name});
    if let Some(version) = version {
        metadata["resourceVersion"] = json!(version.to_string());
    }
    let data = json!({"number": number.to_string(), "text": text(number)});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

/// The number of an object, which must be whole; `None` when it is not one of ours.
fn whole(object: &Value) -> Option<u64> {
    let number = object["data"]["number"].as_str()?.parse().unwrap();
    assert!(object["data"]["text"] == text(number), "half an object: {object}");
    Some(number)
}

/// Mostly short, sometimes long enough for many pages of a file.
fn text(number: u64) -> String {
    let length = if number % 40 == 39 { 200_000 } else { number * 37 % 3000 };
    format!("{number} ").repeat(usize::try_from(length).unwrap() / 4)
}

fn version_of(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().and_then(|v| v.parse().ok()).unwrap_or_else(|| panic!("{object}"))
}
