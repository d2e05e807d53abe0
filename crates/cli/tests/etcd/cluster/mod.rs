//! Three members of an etcd cluster, three servers on it, clients through all of them, and one fault after the other: members and
//! servers killed and halted, ways between them cut, held back or deaf on one side.
//!
//! In the end the store's own history is the measure. Every acknowledged write is in it, and nothing was shown that is not. What
//! clients were told of each object can have happened in one order. Every watcher was told exactly that history. And what the
//! controllers did, each did while its server led.
//!
//! Five faults, or `PAWL_SOAK_FAULTS` of them; `PAWL_SEED` repeats the choice of them.

mod clients;
mod faults;
mod truth;

use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use pawl_testing::linear::{self, Operation};
use pawl_testing::{Client, DEADLINE, seed, setting};

use clients::{MAPS, OBJECTS, Run, follow, lodge, make_last, until_served, until_vacant, work};
use faults::{Cluster, Fault, Member};
use truth::Truth;

const FAULTS: u64 = 5;
/// Clients that read and write the same few objects, through each server.
const WORKERS: usize = 2;
const GUESTS: &str = "guest";
const LAST: &str = "last";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs an etcd: .ci/run etcd"]
async fn whatever_fails_everybody_is_told_one_history() {
    let mut random = Rng::with_seed(seed());
    let mut cluster = Cluster::start().await;
    let admin = cluster.servers[0].client();
    let list = admin.get(MAPS).await.unwrap().expect(200);
    let from: u64 = list["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
    let run = Arc::new(Run::default());
    let (mut working, mut following, mut lodging) = (Vec::new(), Vec::new(), Vec::new());
    for (number, server) in cluster.servers.iter().enumerate() {
        for _ in 0..WORKERS {
            working.push(tokio::spawn(work(server.client(), Arc::clone(&run), random.fork())));
        }
        following.push(tokio::spawn(follow(vec![server.client()], from, LAST)));
        lodging.push(tokio::spawn(lodge(server.client(), format!("{GUESTS}-{number}"), Arc::clone(&run))));
    }
    // And one that goes from server to server.
    let all: Vec<Client> = cluster.servers.iter().map(Member::client).collect();
    following.push(tokio::spawn(follow(all, from, LAST)));

    let began = Instant::now();
    let faults = setting("PAWL_SOAK_FAULTS").unwrap_or(FAULTS);
    for number in 1..=faults {
        tokio::time::sleep(Duration::from_millis(random.u64(100..1500))).await;
        let fault = Fault::any(&mut random);
        eprintln!("{:6.1} s, fault {number}: {fault:?}", began.elapsed().as_secs_f64());
        cluster.strike(fault, &mut random).await;
    }
    cluster.until_well().await;
    run.end();
    for worker in working {
        worker.await.unwrap();
    }
    let mut namespaces = 0;
    for guest in lodging {
        namespaces += guest.await.unwrap().len();
    }
    until_served(&admin, &format!("{GUESTS}-last")).await;
    until_vacant(&admin, GUESTS).await;
    make_last(&admin, LAST).await;
    eprintln!(
        "{:6.1} s: {faults} faults are over, {namespaces} namespaces came and went",
        began.elapsed().as_secs_f64()
    );

    let truth = Truth::read(&cluster.etcds[0], 1, LAST).await;
    truth.check_shown(&run.shown.lock().unwrap());
    check_order(&run);
    let expected: Vec<_> = truth.told().into_iter().filter(|(at, ..)| *at > from).collect();
    for (number, follower) in following.into_iter().enumerate() {
        let told = tokio::time::timeout(DEADLINE, follower).await.expect("a watcher that is told of the end").unwrap();
        let differs = told.iter().zip(&expected).position(|(told, expected)| told != expected);
        assert_eq!((differs, told.len()), (None, expected.len()), "watcher {number} was told something else");
    }
    let (reigns, effects) = (truth.check_reigns(), truth.check_effects(&cluster, GUESTS));
    assert!(effects > 0, "nobody can say who did what");
    eprintln!("{} events for each watcher, {effects} effects of controllers in {reigns} reigns", expected.len());
    for member in cluster.servers {
        member.server.assert_no_panic();
    }
}

/// What was told of each object can have happened in one order.
fn check_order(run: &Run) {
    let history = run.history.lock().unwrap();
    let open = history.iter().filter(|(_, operation)| operation.ended.is_none()).count();
    eprintln!("{} operations, of {open} of which nobody knows the outcome", history.len());
    for object in 0..OBJECTS {
        let of_one: Vec<Operation> = history.iter().filter(|(of, _)| *of == object).map(|(_, it)| *it).collect();
        linear::check(&of_one).unwrap_or_else(|why| panic!("object {object}: {why}"));
    }
}
