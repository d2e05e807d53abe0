//! The store on a real directory: what a user of the crate sees first.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use pawl_kv::{Change, Error, Expect, Kv, Outcome, RangeRequest, Revision, WatchMessage, Write};
use pawl_kv_embedded::{Options, Store};

fn open(directory: &Path) -> Arc<Store> {
    Store::open(directory, Options::default()).unwrap()
}

fn put(key: &str, expect: Expect, value: impl Into<Bytes>) -> Write {
    let change = Change::Put { value: value.into(), ttl: None };
    Write { key: Bytes::copy_from_slice(key.as_bytes()), expect, change }
}

async fn applied(store: &Store, write: Write) -> Revision {
    match store.write(write).await.unwrap() {
        Outcome::Applied { revision } => revision,
        conflict => panic!("{conflict:?}"),
    }
}

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let first = applied(&store, put("/a", Expect::Absent, "one")).await;
    let second = applied(&store, put("/a", Expect::Revision(first), "two")).await;
    assert_eq!((first, second), (2, 3));
    drop(store);

    let store = open(directory.path());
    assert_eq!(store.revision().await, Ok(3));
    let held = store.get(Bytes::from_static(b"/a")).await.unwrap().unwrap();
    assert_eq!((&held.value[..], held.create_revision, held.mod_revision), (&b"two"[..], 2, 3));
    let mut watch = store.watch(Bytes::new(), 1).await.unwrap();
    let Some(Ok(WatchMessage::Events(events))) = watch.next().await else { panic!("no events") };
    assert_eq!(events.iter().map(|event| event.revision).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(&events[1].previous.as_ref().unwrap().value[..], b"one");
    let delete = Write { key: Bytes::from_static(b"/a"), expect: Expect::Revision(3), change: Change::Delete };
    assert_eq!(applied(&store, delete).await, 4);
    let Some(Ok(WatchMessage::Events(events))) = watch.next().await else { panic!("no events") };
    assert_eq!((events[0].revision, &events[0].value), (4, &None));
    let past = store.range(RangeRequest { revision: Some(2), ..RangeRequest::default() }).await.unwrap();
    assert_eq!(&past.items[0].value[..], b"one");
    drop(store);
    assert!(matches!(watch.next().await, Some(Err(Error::Unavailable(_)))));
}

#[tokio::test]
async fn a_second_store_on_the_directory_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let Err(Error::Unavailable(reason)) = Store::open(directory.path(), Options::default()) else { panic!("opened") };
    assert!(reason.contains(directory.path().to_str().unwrap()), "{reason}");
    drop(store);
    open(directory.path());
}

#[tokio::test]
async fn compaction_keeps_the_state_and_the_revision() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { history: Duration::ZERO, segment_bytes: 4096, window_bytes: 1024, ..Options::default() };
    let store = Store::open(directory.path(), options.clone()).unwrap();
    let mut revision = applied(&store, put("/a", Expect::Absent, vec![b'x'; 1000])).await;
    while store.compacted() < 50 {
        revision = applied(&store, put("/a", Expect::Revision(revision), vec![b'x'; 1000])).await;
    }
    let compacted = store.compacted();
    drop(store);
    let store = Store::open(directory.path(), options).unwrap();
    assert_eq!(store.revision().await, Ok(revision));
    assert!(store.compacted() >= compacted);
    assert_eq!(store.get(Bytes::from_static(b"/a")).await.unwrap().unwrap().mod_revision, revision);
    let too_old = store.watch(Bytes::new(), compacted - 1).await.err().unwrap();
    assert!(matches!(too_old, Error::Compacted { .. }), "{too_old}");
}

#[tokio::test]
async fn keys_expire_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let change = Change::Put { value: "short".into(), ttl: Some(Duration::from_millis(200)) };
    let written = applied(&store, Write { key: "/ttl".into(), expect: Expect::Absent, change }).await;
    drop(store);
    let store = open(directory.path());
    let mut watch = store.watch(Bytes::new(), written).await.unwrap();
    let Some(Ok(WatchMessage::Events(events))) = watch.next().await else { panic!("no events") };
    assert_eq!((events[0].revision, &events[0].value), (written + 1, &None));
    assert_eq!(&events[0].previous.as_ref().unwrap().value[..], b"short");
    assert_eq!(store.get("/ttl".into()).await, Ok(None));
}

/// Nothing is kept for a watcher that does not read: it follows the log for as long as there is one.
#[tokio::test]
async fn a_watcher_that_falls_behind_the_log_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { history: Duration::ZERO, segment_bytes: 4096, window_bytes: 1024, ..Options::default() };
    let store = Store::open(directory.path(), options).unwrap();
    let mut slow = store.watch(Bytes::new(), 1).await.unwrap();
    let mut revision = applied(&store, put("/a", Expect::Absent, vec![b'x'; 1000])).await;
    while store.compacted() < 10 {
        revision = applied(&store, put("/a", Expect::Revision(revision), vec![b'x'; 1000])).await;
    }
    assert_eq!(slow.next().await, Some(Err(Error::Lagged)));
    assert_eq!(slow.next().await, None);
}

#[tokio::test]
async fn nobody_else_may_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("made");
    applied(&open(&directory), put("/a", Expect::Absent, "secret")).await;
    for path in std::iter::once(directory.clone()).chain(directory.read_dir().unwrap().map(|file| file.unwrap().path()))
    {
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", path.display());
    }
}
