//! Snapshots of a store that is written to: each holds exactly what there was at its revision, and restores to that.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use fastrand::Rng;
use futures::StreamExt;
use pawl_kv::{Change, Error, Event, Expect, KeyValue, Kv, Outcome, RangeRequest, Revision, WatchMessage, Write};
use pawl_kv_embedded::{Fresh, Options, Store};
use pawl_snapshot::{Decoder, Fault, Head, Record, Saving};

const WRITERS: u64 = 64;
const SNAPSHOTS: usize = 20;

/// What there was at a revision, from every event that there ever was.
fn state(events: &[Event], revision: Revision) -> Vec<KeyValue> {
    let mut state: BTreeMap<Bytes, KeyValue> = BTreeMap::new();
    for event in events.iter().take_while(|event| event.revision <= revision) {
        let Event { key, value, revision, .. } = event.clone();
        let Some(value) = value else {
            state.remove(&key);
            continue;
        };
        let create_revision = state.get(&key).map_or(revision, |held| held.create_revision);
        state.insert(key.clone(), KeyValue { key, value, create_revision, mod_revision: revision });
    }
    state.into_values().collect()
}

async fn write(store: Arc<Store>, mut rng: Rng, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::Relaxed) {
        let key = Bytes::from(format!("/registry/things/{:05}", rng.u32(0..4000)));
        let held = store.get(key.clone()).await.unwrap();
        let expect = held.as_ref().map_or(Expect::Absent, |held| Expect::Revision(held.mod_revision));
        let change = match rng.u32(0..6) {
            0 if held.is_some() => Change::Delete,
            _ => {
                let value = Bytes::from(vec![rng.u8(..); rng.usize(0..1500)]);
                let ttl = (rng.u32(0..4) == 0).then(|| Duration::from_secs(rng.u64(1000..2000)));
                Change::Put { value, ttl }
            }
        };
        store.write(Write::new(key, expect, change)).await.unwrap();
    }
}

async fn save(store: &Arc<Store>) -> Vec<u8> {
    let (mut saving, head) = Saving::begin(Arc::clone(store) as Arc<dyn Kv>, "/registry/", 1, [0; 16]).await.unwrap();
    let mut file = head.to_vec();
    while let Some(bytes) = saving.next().await {
        file.extend_from_slice(&bytes.unwrap());
        tokio::task::yield_now().await;
    }
    file
}

fn read(file: &[u8]) -> Result<(Head, Vec<Record>), Fault> {
    let mut decoder = Decoder::open(file)?;
    let mut records = Vec::new();
    while let Some(block) = decoder.next_block()? {
        records.extend(block);
    }
    Ok((decoder.head().clone(), records))
}

fn restore(directory: &Path, records: &[Record], revision: Revision) -> Arc<Store> {
    let mut fresh = Fresh::create(directory).unwrap();
    for Record { key, value, create_revision, mod_revision, time_left } in records {
        fresh.push(key, value, (*create_revision, *mod_revision), *time_left).unwrap();
    }
    fresh.finish(revision).unwrap();
    Store::open(directory, Options::default()).unwrap()
}

fn held(record: &Record) -> KeyValue {
    let Record { key, value, create_revision, mod_revision, .. } = record.clone();
    KeyValue { key, value, create_revision, mod_revision }
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_snapshots_while_sixty_four_write_each_restore_to_their_revision() {
    let place = tempfile::tempdir().unwrap();
    let options = Options { sync: false, segment_bytes: 1 << 20, window_bytes: 64 << 10, ..Options::default() };
    let store = Store::open(&place.path().join("store"), options).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let watch = store.watch(Bytes::new(), 1).await.unwrap();
    let writers: Vec<_> =
        (0..WRITERS).map(|n| tokio::spawn(write(Arc::clone(&store), Rng::with_seed(n), Arc::clone(&stop)))).collect();
    while store.revision().await.unwrap() < 10_000 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut files = Vec::new();
    for _ in 0..SNAPSHOTS {
        files.push(save(&store).await);
    }
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    let newest = store.revision().await.unwrap();
    let events = all_events(watch, newest).await;
    let mut revisions = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let (head, records) = read(file).unwrap();
        revisions.push(head.revision);
        let expected = state(&events, head.revision);
        assert!(records.iter().map(held).eq(expected.iter().cloned()), "snapshot {number}");
        assert!(records.iter().any(|record| record.time_left.is_some()));
        let directory = place.path().join(format!("restored-{number}"));
        let margin = head.revision + 1_000_000;
        let restored = restore(&directory, &records, margin);
        let range = restored.range(RangeRequest::default()).await.unwrap();
        assert_eq!(range.revision, margin);
        assert!(range.items == expected, "restored {number}");
        let left = restored.time_left(&range.items, margin).await.unwrap();
        assert!(left.iter().zip(&records).all(|(left, record)| left.is_some() == record.time_left.is_some()));
    }
    assert!(revisions.is_sorted() && revisions.first() < revisions.last(), "{revisions:?}");
    // Writers went on meanwhile.
    assert!(revisions.last().is_some_and(|last| *last < newest));
}

async fn all_events(mut watch: pawl_kv::Watch, newest: Revision) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    while events.last().map_or(1, |event| event.revision) < newest {
        if let WatchMessage::Events(more) = watch.next().await.unwrap().unwrap() {
            events.extend(more);
        }
    }
    events
}

/// A restored store is on a time line of its own: what lies before is forgotten, what comes next is newer than all.
#[tokio::test(flavor = "multi_thread")]
async fn a_restored_store_forgets_the_old_time_line() {
    let place = tempfile::tempdir().unwrap();
    let key = Bytes::from_static(b"/registry/a");
    let put = |value: &'static str| Change::Put { value: Bytes::from_static(value.as_bytes()), ttl: None };
    let record = Record {
        key: key.clone(),
        value: Bytes::from_static(b"old"),
        create_revision: 3,
        mod_revision: 9,
        time_left: None,
    };
    let directory = place.path().join("store");
    let restored = restore(&directory, std::slice::from_ref(&record), 1000);
    for after in [1, 9, 999] {
        let refused = restored.watch(Bytes::new(), after).await.err();
        assert!(matches!(refused, Some(Error::Compacted { compacted: 1000, .. })), "{after}: {refused:?}");
    }
    let mut watch = restored.watch(Bytes::new(), 1000).await.unwrap();
    let written = restored.write(Write::new(key.clone(), Expect::Revision(9), put("new"))).await.unwrap();
    assert_eq!(written, Outcome::Applied { revision: 1001 });
    let Some(Ok(WatchMessage::Events(events))) = watch.next().await else { panic!("no event") };
    assert_eq!(events[0].previous.as_ref().map(|held| (held.create_revision, held.mod_revision)), Some((3, 9)));
    drop((restored, watch));
    let again = Store::open(&directory, Options::default()).unwrap();
    let found = again.get(key).await.unwrap().unwrap();
    assert_eq!((found.value, found.create_revision, found.mod_revision), (Bytes::from_static(b"new"), 3, 1001));
}

/// Whatever is left of a restore that was killed, it is no store, and the next one begins anew.
#[tokio::test(flavor = "multi_thread")]
async fn an_unfinished_restore_is_no_store() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("store");
    let mut fresh = Fresh::create(&directory).unwrap();
    fresh.push(b"/a", b"1", (2, 2), None).unwrap();
    assert!(Fresh::create(&directory).is_err(), "two at once");
    drop(fresh);
    assert!(pawl_kv_embedded::Frozen::open(&directory).is_err());
    let record = |key: &'static [u8]| Record {
        key: key.into(),
        value: Bytes::new(),
        create_revision: 2,
        mod_revision: 2,
        time_left: None,
    };
    let store = restore(&directory, &[record(b"/b")], 5);
    let keys: Vec<Bytes> =
        store.range(RangeRequest::default()).await.unwrap().items.into_iter().map(|held| held.key).collect();
    assert_eq!(keys, [Bytes::from_static(b"/b")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn revisions_that_make_no_sense_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let mut fresh = Fresh::create(place.path()).unwrap();
    assert!(fresh.push(b"/a", b"", (3, 2), None).is_err());
    fresh.push(b"/b", b"", (2, 9), None).unwrap();
    assert!(fresh.push(b"/b", b"", (2, 2), None).is_err());
    assert!(fresh.finish(8).is_err());
}
