//! What concurrent clients see over HTTP can be told as a story in which every operation happens at one moment between
//! its request and its answer.
//!
//! A few rounds by default; with `PAWL_SOAK_SECONDS` they go on for so long.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use fastrand::Rng;
use pawl_kv::conformance::Effort;
use pawl_kv::conformance::linearizability::{Action, Operation, Register, check, check_revisions};
use pawl_kv::{Expect, Revision};
use pawl_testing::{Client, Place, Protocol};
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "/api/v1/namespaces/history/configmaps";
const TASKS: usize = 12;
const OPERATIONS: usize = 30;
const KEYS: usize = 2;

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_swaps_and_reads_are_linearizable() {
    let effort = Effort::from_environment();
    eprintln!("PAWL_SEED={}", effort.seed);
    let mut rng = Rng::with_seed(effort.seed);
    let mut place = Place::new();
    let server = place.start().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "history"}});
    place.client(Protocol::Http1).post("/api/v1/namespaces", &namespace).await.unwrap().expect(201);
    let mut round = 0;
    while effort.wants(round, 4) {
        let histories = record(&place, round, &mut rng).await;
        for (key, history) in &histories {
            let decided = history.iter().filter(|o| matches!(o.action, Action::Applied { .. })).count();
            assert!(decided > 0, "{key}: nothing was applied");
            check(history).unwrap_or_else(|why| panic!("{key}: {why}: {history:#?}"));
        }
        check_revisions(histories.values().flatten()).unwrap();
        round += 1;
    }
    server.assert_no_panic();
    server.stop().await;
}

/// Lets many tasks create, swap and read a few objects that are not there yet.
async fn record(place: &Place, round: usize, rng: &mut Rng) -> HashMap<String, Vec<Operation>> {
    let clock = Arc::new(AtomicU64::new(0));
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let protocol = if task % 3 == 0 { Protocol::Http1 } else { Protocol::Http2 };
            let names = (0..KEYS).map(|key| format!("r{round}-{key}")).collect();
            let worker = Worker { client: place.client(protocol), clock: Arc::clone(&clock), task, rng: rng.fork() };
            tokio::spawn(worker.run(names))
        })
        .collect();
    let mut histories: HashMap<String, Vec<Operation>> = HashMap::new();
    for task in tasks {
        for (key, operation) in task.await.unwrap() {
            histories.entry(key).or_default().push(operation);
        }
    }
    histories
}

struct Worker {
    client: Client,
    clock: Arc<AtomicU64>,
    task: usize,
    rng: Rng,
}

impl Worker {
    async fn run(mut self, names: Vec<String>) -> Vec<(String, Operation)> {
        let mut known: HashMap<String, Register> = HashMap::new();
        let mut recorded = Vec::new();
        for number in 0..OPERATIONS {
            let name = names[self.rng.usize(..names.len())].clone();
            let last = known.entry(name.clone()).or_default();
            let called = self.tick();
            let action = match self.rng.u8(..6) {
                0 => Action::Read { saw: self.get(&name).await },
                1 => Action::Read { saw: self.list(&name).await },
                _ => self.swap(&name, last.clone(), format!("{}.{number}", self.task)).await,
            };
            let returned = self.tick();
            let told = action.told();
            recorded.push((name.clone(), Operation { called, returned, action }));
            if let Some(told) = told {
                *last = told;
                continue;
            }
            // Something else is there by now: look what, or every swap from here on fails as well.
            let called = self.tick();
            let saw = self.get(&name).await;
            let returned = self.tick();
            last.clone_from(&saw);
            recorded.push((name, Operation { called, returned, action: Action::Read { saw } }));
        }
        recorded
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    async fn get(&self, name: &str) -> Register {
        let answer = self.client.get(&format!("{CONFIG_MAPS}/{name}")).await.unwrap();
        (answer.code != 404).then(|| register(&answer.expect(200)))
    }

    async fn list(&self, name: &str) -> Register {
        let answer = self.client.get(&format!("{CONFIG_MAPS}?fieldSelector=metadata.name%3D{name}")).await.unwrap();
        answer.expect(200)["items"].as_array().unwrap().first().map(register)
    }

    /// Creates what was absent, or replaces what was there last.
    async fn swap(&self, name: &str, last: Register, value: String) -> Action {
        let mut object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": value},
        });
        let (expect, answer) = match last {
            None => (Expect::Absent, self.client.post(CONFIG_MAPS, &object).await.unwrap()),
            Some((revision, _)) => {
                object["metadata"]["resourceVersion"] = json!(revision.to_string());
                let path = format!("{CONFIG_MAPS}/{name}");
                (Expect::Revision(revision), self.client.put(&path, &object).await.unwrap())
            }
        };
        if answer.code == 409 {
            return Action::Rejected { expect };
        }
        let (revision, written) = register(&answer.expect(if expect == Expect::Absent { 201 } else { 200 }));
        assert_eq!(written, value);
        Action::Applied { expect, value: Some(written), revision }
    }
}

fn register(object: &Value) -> (Revision, Bytes) {
    let revision = object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
    (revision, Bytes::from(object["data"]["value"].as_str().unwrap().to_owned()))
}
