//! Faults that pass: for a moment the disk fails, is full, is read-only, or there are no descriptors. Afterwards the same
//! store works on; nothing acknowledged is lost, and nobody who follows it misses anything.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod ledger;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use ledger::{Ledger, cases, healthy};
use pawl_kv::{Change, Error, Expect, Kv, Outcome, RangeRequest, Revision, WatchMessage, Write};
use pawl_kv_embedded::simulated::{Fault, Faults, Moment, SimulatedDisk};
use pawl_kv_embedded::{Disk, Options, Store};

fn open(disk: &SimulatedDisk, options: Options) -> Arc<Store> {
    Store::open_on(Arc::new(disk.clone()), options).unwrap()
}

/// Small segments and little memory: making segments, compaction and reading the log happen all the time.
fn small(history: Duration) -> Options {
    Options { history, segment_bytes: 4 << 10, window_bytes: 4 << 10, ..Options::default() }
}

fn put(key: &str, value: impl Into<Bytes>) -> Write {
    let change = Change::Put { value: value.into(), ttl: None };
    Write::new(Bytes::copy_from_slice(key.as_bytes()), Expect::Absent, change)
}

async fn applied(store: &Store, write: Write) -> Revision {
    match store.write(write).await {
        Ok(Outcome::Applied { revision }) => revision,
        other => panic!("{other:?}"),
    }
}

/// Follows a store through everything, as a cache does, and tells how often history was gone when it came back.
async fn follow(store: Arc<Store>, mut cursor: Revision, until: tokio::sync::watch::Receiver<Revision>) -> usize {
    let mut lost = 0;
    while cursor < *until.borrow() {
        let mut watch = match store.watch(Bytes::new(), cursor).await {
            Ok(watch) => watch,
            Err(Error::Compacted { compacted, .. }) => {
                assert!(compacted > cursor);
                (cursor, lost) = (compacted, lost + 1);
                continue;
            }
            Err(other) => panic!("{other}"),
        };
        loop {
            let message = tokio::select! {
                message = watch.next() => message.unwrap(),
                // Look again whether there is more to come.
                () = tokio::time::sleep(Duration::from_millis(20)) => break,
            };
            match message {
                Ok(WatchMessage::Progress(revision)) => {
                    assert_eq!(revision, cursor, "everything is of interest, so nothing is passed over");
                }
                Ok(WatchMessage::Events(events)) => {
                    for event in events {
                        assert_eq!(event.revision, cursor + 1, "a gap");
                        cursor = event.revision;
                    }
                }
                Err(Error::Lagged) => {
                    assert!(store.compacted() > cursor, "history is there, and the watch lagged");
                    break;
                }
                Err(error) => {
                    assert!(error.passes(), "{error}");
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    break;
                }
            }
        }
    }
    lost
}

async fn a_moment_of(fault: Fault, short: usize) {
    cases(short, async |mut rng, _| {
        let disk = SimulatedDisk::new(rng.u64(..));
        let ledger = Ledger::default();
        let history = *rng.choice([Duration::ZERO, Duration::from_secs(3600)].iter()).unwrap();
        let store = open(&disk, small(history));
        let (end, until) = tokio::sync::watch::channel(Revision::MAX);
        let follower = tokio::spawn(follow(Arc::clone(&store), 1, until));
        ledger.work(&store, &mut rng, 4, 5).await;
        for _ in 0..rng.u32(1..4) {
            let moment = Moment { fault, after: rng.u64(0..60), calls: rng.u64(1..40) };
            disk.set_faults(Faults { moment: Some(moment), ..Faults::default() });
            ledger.work(&store, &mut rng, 6, 8).await;
            disk.set_faults(Faults::default());
            healthy(&store).await;
            ledger.settle(&store).await;
            ledger.work(&store, &mut rng, 4, 4).await;
        }
        let newest = applied(&store, put("/last", "")).await;
        ledger.tell(newest, "/last", "");
        end.send(newest).unwrap();
        let lost = follower.await.unwrap();
        // Where nothing is kept, or nothing can be, it may have been gone when the follower came back.
        let may_lose = fault == Fault::Full || history.is_zero();
        assert!(lost == 0 || may_lose, "the follower lost its place {lost} times");
        let disk = if rng.bool() { disk.crash() } else { disk };
        drop(store);
        ledger.verify(&open(&disk, small(Duration::from_secs(3600))), &mut rng).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_call_fails_for_a_moment() {
    a_moment_of(Fault::Io, 60).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_disk_is_read_only_for_a_moment() {
    a_moment_of(Fault::ReadOnly, 20).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_no_descriptors_for_a_moment() {
    a_moment_of(Fault::Descriptors, 20).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_disk_is_full_for_a_moment() {
    a_moment_of(Fault::Full, 20).await;
}

/// Without descriptors the log goes on in its spare segment, and history can be read.
#[tokio::test(flavor = "multi_thread")]
async fn without_descriptors_the_spare_segment_takes_what_comes() {
    let disk = SimulatedDisk::new(1);
    let store = open(&disk, small(Duration::from_secs(3600)));
    applied(&store, put("/0", vec![b'x'; 3000])).await;
    while !disk.list().unwrap().iter().any(|name| name == "spare.tmp") {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let moment = Moment { fault: Fault::Descriptors, after: 0, calls: u64::MAX };
    disk.set_faults(Faults { moment: Some(moment), ..Faults::default() });
    let newest = applied(&store, put("/1", vec![b'x'; 3000])).await;
    assert_eq!(ledger::history(&store, 1, newest).await.len(), 2);
}

/// What is left when there is no room for another segment is for those who make room.
#[tokio::test(flavor = "multi_thread")]
async fn on_a_full_disk_deletions_come_before_puts() {
    let disk = SimulatedDisk::new(1);
    let store = open(&disk, Options { segment_bytes: 64 << 10, ..small(Duration::from_secs(3600)) });
    let first = applied(&store, put("/first", "x")).await;
    disk.set_faults(Faults { space: Some(130 << 10), ..Faults::default() });
    let mut number = 0;
    let refused = loop {
        match store.write(put(&format!("/{number}"), vec![b'x'; 1000])).await {
            Ok(_) => number += 1,
            Err(refused) => break refused,
        }
        assert!(number < 1000, "it is never full");
    };
    assert!(matches!(&refused, Error::ReadOnly(_)), "{refused}");
    assert!(store.health().is_err());
    let delete = Write::new("/first", Expect::Revision(first), Change::Delete);
    assert!(matches!(store.write(delete).await, Ok(Outcome::Applied { .. })));
    disk.set_faults(Faults::default());
    healthy(&store).await;
    applied(&store, put("/again", "x")).await;
}

/// On a full disk old versions go, whatever their age: they are what takes the room.
#[tokio::test(flavor = "multi_thread")]
async fn on_a_full_disk_history_makes_room() {
    let disk = SimulatedDisk::new(1);
    disk.set_faults(Faults { space: Some(400 << 10), ..Faults::default() });
    let store = open(&disk, Options { segment_bytes: 32 << 10, ..small(Duration::from_secs(3600)) });
    let mut revision = applied(&store, put("/a", "x")).await;
    let mut number = 0_u32;
    while number < 2000 {
        let value = Bytes::from(number.to_string().repeat(300));
        let change = Change::Put { value, ttl: None };
        match store.write(Write::new("/a", Expect::Revision(revision), change)).await {
            Ok(Outcome::Applied { revision: next }) => (revision, number) = (next, number + 1),
            Ok(conflict) => panic!("{conflict:?}"),
            Err(Error::ReadOnly(_)) => healthy(&store).await,
            Err(other) => panic!("{other}"),
        }
    }
    assert!(store.compacted() > 1);
}

/// A snapshot that does not fit is not begun, and nothing is left of one that fails.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_snapshot_leaves_nothing() {
    cases(20, async |mut rng, _| {
        let disk = SimulatedDisk::new(rng.u64(..));
        let store = open(&disk, small(Duration::ZERO));
        for number in 0..20 {
            if store.write(put(&format!("/{number}"), vec![b'x'; 1000])).await.is_err() {
                break;
            }
            if number == 5 {
                let moment = Moment { fault: Fault::Io, after: rng.u64(0..30), calls: 8 };
                disk.set_faults(Faults { moment: Some(moment), ..Faults::default() });
            }
        }
        disk.set_faults(Faults::default());
        healthy(&store).await;
        drop(store);
        let left: Vec<String> = disk.list().unwrap().into_iter().filter(|name| name.ends_with(".tmp")).collect();
        assert!(left.iter().all(|name| !name.contains("snap")), "{left:?}");
    })
    .await;
}

/// A batch whose sync fails is of unknown outcome, and from the next one on everything is sure again.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_failed_sync_the_store_opens_itself_again() {
    for seed in 0..2 {
        let disk = SimulatedDisk::new(seed);
        let after = get_over_a_failed_sync(&disk).await;
        let disk = if seed == 0 { disk } else { disk.crash() };
        let range = open(&disk, Options::default()).range(RangeRequest::default()).await.unwrap();
        assert_eq!(range.revision, after);
        let keys: Vec<_> = range.items.iter().map(|item| &item.key[..]).collect();
        assert_eq!(keys, [&b"/after"[..], b"/before"]);
    }
}

async fn get_over_a_failed_sync(disk: &SimulatedDisk) -> Revision {
    let store = open(disk, Options::default());
    applied(&store, put("/before", "x")).await;
    disk.set_faults(Faults { fail_sync_after: Some(0), ..Faults::default() });
    let unknown = store.write(put("/unknown", "x")).await;
    assert!(matches!(unknown, Err(Error::Unknown(_))), "{unknown:?}");
    let refused = store.write(put("/refused", "x")).await;
    assert!(matches!(refused, Err(Error::ReadOnly(_))), "{refused:?}");
    assert!(store.health().is_err());
    disk.set_faults(Faults::default());
    healthy(&store).await;
    applied(&store, put("/after", "x")).await
}
