//! Clients that mean harm, all at once: a client that means none notices nothing, health is told throughout, and memory
//! stays bounded.
//!
//! Five seconds by default; with `PAWL_SOAK_SECONDS` it goes on for so long.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::attacks::{ATTACKS, Attacker};
use crate::bodies::{NOBODY, TENANT, costly};
use fastrand::Rng;
use pawl_testing::{Client, Failure, Protocol, Running, TOKEN, pause, seed, setting};
use serde_json::json;

/// How much more may be resident at any moment, in kilobytes: bodies, what is built of the two that are worked on, and
/// answers that wait to be read.
const GROWTH: u64 = 800_000;
/// The user who means no harm.
const WORKER: &str = "worker";
/// Large objects that lists show, and the size of each.
const LARGE: (usize, usize) = (20, 700_000);

/// Makes, reads, changes, lists and deletes one object, again and again; gives how long each request took.
async fn work(client: Client, name: String, until: Instant) -> Result<Vec<Duration>, Failure> {
    let collection = "/api/v1/namespaces/n/configmaps";
    let path = format!("{collection}/{name}");
    let object = json!({"metadata": {"name": name}, "data": {"k": "v"}});
    let mut taken = Vec::new();
    while Instant::now() < until {
        for step in 0..5 {
            let began = Instant::now();
            let answer = match step {
                0 => client.post(collection, &object).await?,
                1 => client.get(&path).await?,
                2 => client.put(&path, &object).await?,
                3 => client.get(&format!("{collection}?limit=10")).await?,
                _ => client.delete(&path).await?,
            };
            if !matches!(answer.code, 200 | 201) {
                return Err(format!("step {step}: {answer:?}").into());
            }
            taken.push(began.elapsed());
        }
    }
    Ok(taken)
}

/// Attacks in one way, again and again.
async fn harm(attacker: Attacker, kind: usize, mut rng: Rng, until: Instant, count: Arc<[AtomicUsize; ATTACKS.len()]>) {
    while Instant::now() < until {
        let left = until.saturating_duration_since(Instant::now());
        // Whatever becomes of it is the attacker's own business.
        let _ = tokio::time::timeout(left, attacker.attack(ATTACKS[kind], &mut rng)).await;
        count[kind].fetch_add(1, Ordering::Relaxed);
        // There are two sides to a connection, and this one must not be what runs out.
        pause().await;
    }
}

/// Asks whether the server is alive, each time on a connection of its own.
async fn look(client: Client, until: Instant) -> Result<usize, Failure> {
    let mut looks = 0;
    while Instant::now() < until {
        client.get("/livez").await?.ok()?;
        looks += 1;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(looks)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_is_noticed_by_nobody() {
    let mut rng = Rng::with_seed(seed());
    let mut running = Running::start(&[], &[WORKER, NOBODY, TENANT]).await;
    running.grant(WORKER, &["create", "get", "update", "list", "delete"], "configmaps").await;
    for resource in ["configmaps", "services", "pods", "secrets"] {
        running.grant(TENANT, &["create", "get", "list", "update", "patch"], resource).await;
    }
    let roles = json!({"metadata": {"name": "roles"}, "rules": [
        {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["create"]}]});
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/n";
    running.admin.post(&format!("{rbac}/roles"), &roles).await.unwrap().expect(201);
    let binding = json!({"metadata": {"name": "roles"}, "subjects": [{"kind": "User", "name": TENANT}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "roles"}});
    running.admin.post(&format!("{rbac}/rolebindings"), &binding).await.unwrap().expect(201);
    let patched = json!({"metadata": {"name": "patched"}});
    running.admin.post("/api/v1/namespaces/n/configmaps", &patched).await.unwrap().expect(201);
    for i in 0..LARGE.0 {
        let secret = json!({"metadata": {"name": format!("large-{i}")}, "stringData": {"k": "v".repeat(LARGE.1)}});
        running.admin.post("/api/v1/namespaces/n/secrets", &secret).await.unwrap().expect(201);
    }
    let client = |protocol| running.place.anonymous(protocol).with_token(WORKER);
    // What a server needs once is not growth.
    let warm = Instant::now() + Duration::from_millis(500);
    work(client(Protocol::Http2), "warm".to_owned(), warm).await.unwrap();
    let before = running.server.resident();
    let costly = costly(&mut rng).into();

    let until = Instant::now() + Duration::from_secs(setting("PAWL_SOAK_SECONDS").unwrap_or(5));
    let count: Arc<[AtomicUsize; ATTACKS.len()]> = Arc::default();
    let mut attackers = tokio::task::JoinSet::new();
    for (kind, attack) in ATTACKS.iter().enumerate() {
        for _ in 0..attack.attackers() {
            let attacker = Attacker::new(running.place.port, TOKEN, Arc::clone(&costly));
            attackers.spawn(harm(attacker, kind, rng.fork(), until, Arc::clone(&count)));
        }
    }
    let workers = [(Protocol::Http2, "a"), (Protocol::Http2, "b"), (Protocol::Http1, "c")];
    let mut at_work = tokio::task::JoinSet::new();
    for (protocol, name) in workers {
        at_work.spawn(work(client(protocol), name.to_owned(), until));
    }
    let health = tokio::spawn(look(running.place.anonymous(Protocol::Http1), until));
    let mut most = before;
    while Instant::now() < until {
        most = most.max(running.server.resident());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut taken = Vec::new();
    while let Some(done) = at_work.join_next().await {
        taken.extend(done.unwrap().unwrap_or_else(|error| panic!("the one who means no harm noticed: {error}")));
    }
    let looks = health.await.unwrap().unwrap_or_else(|error| panic!("health was not told: {error}"));
    attackers.shutdown().await;
    taken.sort_unstable();
    for (kind, count) in ATTACKS.iter().zip(count.iter()) {
        println!("{kind:?}: {count:?}");
    }
    println!("{} requests, p99 {:?}", taken.len(), taken[taken.len() * 99 / 100]);
    println!("{looks} looks at health, all well");
    println!("resident {before} kB, at most {most} kB");
    assert!(most.saturating_sub(before) < GROWTH, "resident {before} kB, then {most} kB");
    running.stop().await;
}
