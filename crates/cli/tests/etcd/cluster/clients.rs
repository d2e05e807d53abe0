//! Clients of several servers, and what they were told.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fastrand::Rng;
use pawl_testing::linear::{Answer, Call, Operation};
use pawl_testing::{Client, Failure};
use serde_json::{Value, json};

pub const MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub const OBJECTS: usize = 4;
/// How long a client waits for an answer. Longer than a server waits for its store before it says so.
const PATIENCE: Duration = Duration::from_secs(8);

/// What all clients share.
#[derive(Default)]
pub struct Run {
    moments: AtomicU64,
    values: AtomicU64,
    done: AtomicBool,
    pub history: Mutex<Vec<(usize, Operation)>>,
    /// Which value was shown at which version of which object, by answers of any kind.
    pub shown: Mutex<Vec<(String, u64, u64)>>,
}

impl Run {
    fn moment(&self) -> u64 {
        self.moments.fetch_add(1, Ordering::SeqCst)
    }

    pub fn end(&self) {
        self.done.store(true, Ordering::SeqCst);
    }

    fn goes_on(&self) -> bool {
        !self.done.load(Ordering::SeqCst)
    }

    fn record(&self, object: usize, call: Call, begun: u64, answer: Option<Answer>) {
        let ended = answer.map(|answer| (self.moment(), answer));
        self.history.lock().unwrap().push((object, Operation { call, begun, ended }));
    }

    fn show(&self, object: &Value) -> u64 {
        let (name, version, value) = identity(object);
        self.shown.lock().unwrap().push((name, version, value));
        value
    }
}

pub fn name(object: usize) -> String {
    format!("object-{object}")
}

/// Name, version and value of an object.
pub fn identity(object: &Value) -> (String, u64, u64) {
    let metadata = &object["metadata"];
    let number = |value: &Value| value.as_str().and_then(|text| text.parse().ok()).unwrap_or_default();
    let name = metadata["name"].as_str().unwrap_or_default().to_owned();
    (name, number(&metadata["resourceVersion"]), number(&object["data"]["value"]))
}

/// How a request ended.
enum End {
    Told(pawl_testing::Answer),
    /// It was not done: nobody was there, or it was refused.
    Refused,
    Unknown,
}

async fn ask(request: impl Future<Output = Result<pawl_testing::Answer, Failure>>) -> End {
    match tokio::time::timeout(PATIENCE, request).await {
        Ok(Ok(answer)) => match answer.code {
            429 | 503 => End::Refused,
            200..300 | 404 | 409 => End::Told(answer),
            500.. => End::Unknown,
            code => panic!("{code}: {answer:?}"),
        },
        Ok(Err(why)) => match why.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => End::Refused,
            _ => End::Unknown,
        },
        Err(_) => End::Unknown,
    }
}

/// Reads, creates, replaces and deletes a few objects through one server, until the run is done.
pub async fn work(client: Client, run: Arc<Run>, mut random: Rng) {
    // What this client saw last of each.
    let mut known: Vec<Option<Value>> = vec![None; OBJECTS];
    while run.goes_on() {
        tokio::time::sleep(Duration::from_millis(random.u64(2..30))).await;
        let object = random.usize(..OBJECTS);
        let path = format!("{MAPS}/{}", name(object));
        match (random.u8(..20), known[object].take()) {
            (0, _) => list(&client, &run).await,
            (1, _) => {
                let begun = run.moment();
                match ask(client.delete(&path)).await {
                    End::Told(answer) if answer.code == 200 => {
                        run.record(object, Call::Delete, begun, Some(Answer::Done))
                    }
                    End::Told(answer) if answer.code == 404 => {
                        run.record(object, Call::Delete, begun, Some(Answer::Absent))
                    }
                    End::Told(_) | End::Refused => {}
                    End::Unknown => run.record(object, Call::Delete, begun, None),
                }
            }
            (2..8, None) => {
                let value = run.values.fetch_add(1, Ordering::SeqCst) + 1;
                let body = json!({"metadata": {"name": name(object)}, "data": {"value": value.to_string()}});
                let begun = run.moment();
                let end = ask(client.post(MAPS, &body)).await;
                known[object] = written(&run, (object, Call::Create(value), begun), end);
            }
            (2..14, Some(mut seen)) => {
                let value = run.values.fetch_add(1, Ordering::SeqCst) + 1;
                let expected = identity(&seen).2;
                seen["data"]["value"] = json!(value.to_string());
                let begun = run.moment();
                let end = ask(client.put(&path, &seen)).await;
                known[object] = written(&run, (object, Call::Replace { expected, value }, begun), end);
            }
            _ => {
                let begun = run.moment();
                if let End::Told(answer) = ask(client.get(&path)).await {
                    let found = (answer.code == 200).then(|| answer.json());
                    let value = found.as_ref().map(|found| run.show(found));
                    run.record(object, Call::Read, begun, Some(Answer::Found(value)));
                    known[object] = found;
                }
            }
        }
    }
}

/// Records a write; what it returned is known afterwards.
fn written(run: &Run, (object, call, begun): (usize, Call, u64), end: End) -> Option<Value> {
    let answer = match end {
        End::Refused => return None,
        End::Unknown => {
            run.record(object, call, begun, None);
            return None;
        }
        End::Told(answer) => answer,
    };
    let told = match answer.code {
        404 => Answer::Absent,
        409 => Answer::Conflict,
        _ => Answer::Done,
    };
    run.record(object, call, begun, Some(told));
    let made = (told == Answer::Done).then(|| answer.json())?;
    run.show(&made);
    Some(made)
}

/// A list is a read of everything at once.
async fn list(client: &Client, run: &Run) {
    let begun = run.moment();
    let End::Told(answer) = ask(client.get(MAPS)).await else { return };
    let list = answer.expect(200);
    let items = list["items"].as_array().unwrap();
    for object in 0..OBJECTS {
        let found = items.iter().find(|item| item["metadata"]["name"] == name(object));
        run.record(object, Call::Read, begun, Some(Answer::Found(found.map(|found| run.show(found)))));
    }
}

/// Something that happened, as a watcher is told of it: version, type, name and value.
pub type Told = (u64, String, String, u64);

/// Follows everything from a version on, through whatever fails, until something is told of; each time from where it was told
/// last, by events or by bookmarks, and of the next of the servers.
pub async fn follow(clients: Vec<Client>, from: u64, last: &str) -> Vec<Told> {
    let (mut version, mut told) = (from, Vec::new());
    for client in clients.iter().cycle() {
        let path = format!("{MAPS}?watch=1&allowWatchBookmarks=true&resourceVersion={version}&timeoutSeconds=15");
        let Ok(Ok(mut watch)) = tokio::time::timeout(PATIENCE, client.watch(&path)).await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        while let Ok(Ok(Some(event))) = tokio::time::timeout(2 * PATIENCE, watch.next()).await {
            let (name, at, value) = identity(&event["object"]);
            match event["type"].as_str().unwrap() {
                "ERROR" => {
                    // Nothing was forgotten, so that nobody has to begin anew.
                    assert_ne!(event["object"]["code"], 410, "{event}");
                    break;
                }
                "BOOKMARK" => assert!(at >= version, "a bookmark at {at} after {version}"),
                kind => {
                    assert!(at > version, "{at} after {version}: {event}");
                    told.push((at, kind.to_owned(), name.clone(), value));
                }
            }
            version = at;
            if name == last {
                return told;
            }
        }
    }
    told
}

/// Makes namespaces and lets them go: work for the controllers. Gives the names of those that were acknowledged.
pub async fn lodge(client: Client, prefix: String, run: Arc<Run>) -> Vec<String> {
    let mut made = Vec::new();
    for number in 0.. {
        if !run.goes_on() {
            break;
        }
        let name = format!("{prefix}-{number}");
        if let End::Told(_) = ask(client.post("/api/v1/namespaces", &json!({"metadata": {"name": name}}))).await {
            made.push(name);
        }
        tokio::time::sleep(Duration::from_millis(150)).await;
        let leaving = made.len().checked_sub(4).map(|leaving| made[leaving].clone());
        if let Some(name) = leaving {
            let _ = ask(client.delete(&format!("/api/v1/namespaces/{name}"))).await;
        }
    }
    made
}

/// Makes a namespace and waits until a controller has furnished it: some server leads again.
pub async fn until_served(client: &Client, namespace: &str) {
    let deadline = Instant::now() + 2 * pawl_testing::DEADLINE;
    let account = format!("/api/v1/namespaces/{namespace}/serviceaccounts/default");
    loop {
        assert!(Instant::now() < deadline, "nobody leads");
        let _ = ask(client.post("/api/v1/namespaces", &json!({"metadata": {"name": namespace}}))).await;
        if matches!(ask(client.get(&account)).await, End::Told(answer) if answer.code == 200) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Waits until all these namespaces have gone: whoever leads finishes what others have begun.
pub async fn until_vacant(client: &Client, prefix: &str) {
    let deadline = Instant::now() + 2 * pawl_testing::DEADLINE;
    loop {
        assert!(Instant::now() < deadline, "namespaces stay");
        tokio::time::sleep(Duration::from_millis(200)).await;
        let End::Told(answer) = ask(client.get("/api/v1/namespaces")).await else { continue };
        let list = answer.expect(200);
        let names = list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap());
        let left: Vec<String> = names.filter(|name| name.starts_with(prefix)).map(str::to_owned).collect();
        if left.is_empty() {
            return;
        }
        for name in &left {
            let _ = ask(client.delete(&format!("/api/v1/namespaces/{name}"))).await;
        }
    }
}

/// Makes an object that ends what watchers follow.
pub async fn make_last(client: &Client, name: &str) {
    let deadline = Instant::now() + pawl_testing::DEADLINE;
    // Made by an attempt whose answer was lost is made, too.
    while !matches!(ask(client.post(MAPS, &json!({"metadata": {"name": name}}))).await, End::Told(_)) {
        assert!(Instant::now() < deadline, "{name} cannot be made");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
