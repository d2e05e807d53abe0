//! Three members of an etcd cluster, three servers on it, clients through all of them, and one fault after the other.
//!
//! Five faults, or as many as fit into `PAWL_SOAK_SECONDS`; `PAWL_SEED` repeats the choice of them.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use pawl_kv_etcd::testing::Etcd;
use pawl_testing::{Client, Place, Protocol, Server, Signal, pawl};
use rustix::process::{Pid, kill_process};
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const FAULTS: usize = 5;

struct Member {
    place: Place,
    server: Server,
}

/// What clients were told, all of them together.
#[derive(Default)]
struct Told {
    /// The count that was acknowledged last.
    counted: AtomicU64,
    /// How many of whose outcome nobody knows.
    unknown: AtomicU64,
    acknowledged: AtomicU64,
    done: AtomicBool,
}

fn command(place: &Place, members: &str) -> Command {
    let mut command = pawl();
    command
        .arg("serve")
        .arg(format!("--etcd-servers={members}"))
        .arg(format!("--token-auth-file={}", place.path("tokens.csv").display()))
        .arg(format!("--secure-port={}", place.port))
        .current_dir(place.path(""));
    command
}

async fn join(members: &str) -> Member {
    let mut place = Place::new();
    std::os::unix::fs::symlink("pawl-data", place.data()).unwrap();
    let server = place.start_with(|place| command(place, members)).await;
    Member { place, server }
}

/// Counts up in one object, through one server, and reads it through another: what was acknowledged before is never missing.
async fn count(clients: (Client, Client), told: Arc<Told>) {
    let (writes, reads) = clients;
    let path = format!("{MAPS}/count");
    let number = |object: &Value| object["data"]["n"].as_str().unwrap().parse::<u64>().unwrap();
    while !told.done.load(Ordering::SeqCst) {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let Some(mut object) =
            writes.get(&path).await.ok().filter(|answer| answer.code == 200).map(|answer| answer.json())
        else {
            continue;
        };
        let next = number(&object) + 1;
        object["data"]["n"] = json!(next.to_string());
        match writes.put(&path, &object).await {
            Ok(answer) if answer.code == 200 => {
                told.acknowledged.fetch_add(1, Ordering::SeqCst);
                told.counted.fetch_max(next, Ordering::SeqCst);
            }
            // Somebody was faster, or it is known that nothing was done.
            Ok(answer) if matches!(answer.code, 409 | 429 | 503) => continue,
            _ => {
                told.unknown.fetch_add(1, Ordering::SeqCst);
            }
        }
        let before = told.counted.load(Ordering::SeqCst);
        if let Ok(answer) = reads.get(&path).await
            && answer.code == 200
        {
            let seen = number(&answer.json());
            assert!(seen >= before, "{seen} was read after {before} had been acknowledged");
        }
    }
}

/// Makes objects; returns those that were acknowledged.
async fn make(client: Client, name: String, told: Arc<Told>) -> BTreeSet<String> {
    let mut made = BTreeSet::new();
    for number in 0.. {
        if told.done.load(Ordering::SeqCst) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        let name = format!("{name}-{number}");
        let object = json!({"metadata": {"name": name, "labels": {"made": "yes"}}});
        if let Ok(answer) = client.post(MAPS, &object).await
            && answer.code == 201
        {
            made.insert(name);
        }
    }
    made
}

/// Follows what is made, through faults, from where it was told last; its versions only grow and nothing comes twice.
async fn follow(client: Client, from: String, last: &str) -> BTreeSet<String> {
    let (mut version, mut seen) = (from, BTreeSet::new());
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        assert!(Instant::now() < deadline, "{last} is not told of after {version}");
        let path = format!("{MAPS}?watch=1&labelSelector=made&resourceVersion={version}&timeoutSeconds=20");
        let Ok(mut watch) = client.watch(&path).await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        while let Ok(Some(event)) = watch.next().await {
            if event["type"] == "ERROR" {
                let code = event["object"]["code"].as_u64();
                assert_ne!(code, Some(410), "nothing was forgotten: {event}");
                break;
            }
            let object = &event["object"]["metadata"];
            let at = object["resourceVersion"].as_str().unwrap();
            assert!(at.parse::<u64>().unwrap() > version.parse().unwrap(), "{at} after {version}");
            version = at.to_owned();
            let name = object["name"].as_str().unwrap().to_owned();
            assert!(seen.insert(name.clone()), "{name} was told twice");
            if name == last {
                return seen;
            }
        }
    }
}

/// One fault, and what ends it.
async fn strike(etcds: &mut [Etcd], members: &mut [Member], urls: &str, random: &mut fastrand::Rng) {
    let etcd = random.usize(..etcds.len());
    let signal = |etcd: &Etcd, signal| {
        let pid = Pid::from_raw(i32::try_from(etcd.pid().unwrap()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    };
    let pause = Duration::from_millis(random.u64(200..2500));
    match random.u8(..4) {
        0 => {
            eprintln!("member {etcd} is killed for {pause:?}");
            etcds[etcd].kill().unwrap();
            tokio::time::sleep(pause).await;
            etcds[etcd].resume().unwrap();
        }
        1 => {
            eprintln!("member {etcd} hears and says nothing for {pause:?}");
            signal(&etcds[etcd], Signal::STOP);
            tokio::time::sleep(pause).await;
            signal(&etcds[etcd], Signal::CONT);
        }
        2 => {
            eprintln!("two members are killed for {pause:?}: there is no quorum");
            let other = (etcd + 1) % etcds.len();
            etcds[etcd].kill().unwrap();
            etcds[other].kill().unwrap();
            tokio::time::sleep(pause).await;
            // A member listens once it has found the others.
            etcds[etcd].launch().unwrap();
            etcds[other].launch().unwrap();
            etcds[etcd].wait_for_port().unwrap();
            etcds[other].wait_for_port().unwrap();
        }
        _ => {
            let member = random.usize(..members.len());
            eprintln!("server {member} is killed");
            members[member].server.signal(Signal::KILL);
            members[member].server.ended().await;
            let place = &mut members[member].place;
            members[member].server = place.start_with(|place| command(place, urls)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an etcd: .ci/run etcd"]
async fn nothing_acknowledged_is_lost_whatever_fails() {
    let mut random = fastrand::Rng::with_seed(pawl_testing::seed());
    let mut etcds = Etcd::cluster(3).expect("an etcd on the path");
    let urls: Vec<String> = etcds.iter().map(Etcd::url).collect();
    let urls = urls.join(",");
    let (one, two, three) = futures::join!(join(&urls), join(&urls), join(&urls));
    let mut members = [one, two, three];
    let client = |member: &Member| member.place.client(Protocol::Http2);
    let admin = client(&members[0]);
    admin.post(MAPS, &json!({"metadata": {"name": "count"}, "data": {"n": "0"}})).await.unwrap().expect(201);
    let version =
        admin.get(MAPS).await.unwrap().expect(200)["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let told = Arc::new(Told::default());
    let (mut counting, mut making, mut following) = (Vec::new(), Vec::new(), Vec::new());
    for (number, member) in members.iter().enumerate() {
        let other = &members[(number + 1) % members.len()];
        counting.push(tokio::spawn(count((client(member), client(other)), Arc::clone(&told))));
        making.push(tokio::spawn(make(client(member), format!("made-{number}"), Arc::clone(&told))));
        following.push(tokio::spawn(follow(client(member), version.clone(), "last")));
    }
    let until = pawl_testing::setting("PAWL_SOAK_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut faults = 0;
    while faults < FAULTS || until.is_some_and(|until| Instant::now() < until) {
        tokio::time::sleep(Duration::from_millis(random.u64(100..1500))).await;
        strike(&mut etcds, &mut members, &urls, &mut random).await;
        faults += 1;
    }
    for member in &mut members {
        let admin = client(member);
        member.server.until(async || admin.get("/readyz").await?.ok()).await.unwrap();
    }
    told.done.store(true, Ordering::SeqCst);
    for counter in counting {
        counter.await.unwrap();
    }
    let mut made = BTreeSet::new();
    for maker in making {
        made.extend(maker.await.unwrap());
    }
    let last = json!({"metadata": {"name": "last", "labels": {"made": "yes"}}});
    admin.post(MAPS, &last).await.unwrap().expect(201);
    let counted = admin.get(&format!("{MAPS}/count")).await.unwrap().expect(200);
    let counted: u64 = counted["data"]["n"].as_str().unwrap().parse().unwrap();
    let (acknowledged, unknown) = (told.acknowledged.load(Ordering::SeqCst), told.unknown.load(Ordering::SeqCst));
    eprintln!(
        "{faults} faults, {} objects made, counted to {counted}, {acknowledged} acknowledged, {unknown} unknown",
        made.len()
    );
    assert!((acknowledged..=acknowledged + unknown).contains(&counted), "{counted}, {acknowledged}, {unknown}");
    let list = admin.get(&format!("{MAPS}?labelSelector=made")).await.unwrap().expect(200);
    let names =
        list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned());
    let there: BTreeSet<String> = names.collect();
    let lost: Vec<_> = made.difference(&there).collect();
    assert!(lost.is_empty(), "acknowledged and not there: {lost:?}");
    for follower in following {
        assert_eq!(follower.await.unwrap(), there, "a watcher was told something else");
    }
    for member in members {
        member.server.assert_no_panic();
    }
}
