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
    Write::new(Bytes::copy_from_slice(key.as_bytes()), expect, change)
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
    let delete = Write::new(Bytes::from_static(b"/a"), Expect::Revision(3), Change::Delete);
    assert_eq!(applied(&store, delete).await, 4);
    let Some(Ok(WatchMessage::Events(events))) = watch.next().await else { panic!("no events") };
    assert_eq!((events[0].revision, &events[0].value), (4, &None));
    let past = store.range(RangeRequest { revision: Some(2), ..RangeRequest::default() }).await.unwrap();
    assert_eq!(&past.items[0].value[..], b"one");
    drop(store);
    assert_eq!(watch.next().await, Some(Err(Error::Closed)));
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
    let written = applied(&store, Write::new("/ttl", Expect::Absent, change)).await;
    drop(store);
    let store = open(directory.path());
    let mut watch = store.watch(Bytes::new(), written).await.unwrap();
    let Some(Ok(WatchMessage::Events(events))) = watch.next().await else { panic!("no events") };
    assert_eq!((events[0].revision, &events[0].value), (written + 1, &None));
    assert_eq!(&events[0].previous.as_ref().unwrap().value[..], b"short");
    assert_eq!(store.get("/ttl".into()).await, Ok(None));
}

/// Nothing is kept for a watcher that does not read but the log, and that only up to its size.
#[tokio::test]
async fn a_watcher_that_falls_behind_the_log_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        history: Duration::ZERO,
        history_bytes: 8192,
        segment_bytes: 4096,
        window_bytes: 1024,
        ..Options::default()
    };
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

/// The directory itself is locked: who removes the lock file does not let a second server in.
#[tokio::test]
async fn a_removed_lock_lets_nobody_in() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    applied(&store, put("/a", Expect::Absent, "x")).await;
    std::fs::remove_file(directory.path().join("lock")).unwrap();
    let Err(Error::Unavailable(reason)) = Store::open(directory.path(), Options::default()) else { panic!("opened") };
    assert!(reason.contains("in use"), "{reason}");
    // The first one goes on, and puts the file back for those who look only at it.
    std::fs::remove_file(directory.path().join("lock")).unwrap();
    applied(&store, put("/b", Expect::Absent, "x")).await;
    let lock = std::fs::File::open(directory.path().join("lock")).unwrap();
    assert!(matches!(lock.try_lock(), Err(std::fs::TryLockError::WouldBlock)));
}

/// A lock of somebody else, or another directory in the place of ours: no write is acknowledged that may be lost there.
#[tokio::test]
async fn a_replaced_lock_stops_writes() {
    let parent = tempfile::tempdir().unwrap();
    let (path, aside) = (parent.path().join("store"), parent.path().join("aside"));
    let store = open(&path);
    applied(&store, put("/a", Expect::Absent, "x")).await;
    for replace in
        [(|path: &Path, _: &Path| std::fs::write(path.join("new"), "").unwrap()) as fn(&Path, &Path), |path, aside| {
            std::fs::rename(path, aside).unwrap();
            std::fs::create_dir(path).unwrap();
        }]
    {
        replace(&path, &aside);
        if path.join("new").exists() {
            std::fs::rename(path.join("new"), path.join("lock")).unwrap();
        }
        let refused = store.write(put("/b", Expect::Absent, "x")).await;
        assert!(matches!(refused, Err(Error::ReadOnly(_))), "{refused:?}");
        if aside.exists() {
            std::fs::remove_dir(&path).unwrap();
            std::fs::rename(&aside, &path).unwrap();
        } else {
            std::fs::remove_file(path.join("lock")).unwrap();
        }
        while store.health().is_err() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let revision = store.get("/b".into()).await.unwrap();
        assert_eq!(revision, None);
    }
    applied(&store, put("/b", Expect::Absent, "x")).await;
}

/// Thousands who come back far behind: each hears of what it missed, whatever the others do, and only of its own.
#[tokio::test(flavor = "multi_thread")]
async fn many_watchers_resume_from_the_past() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { segment_bytes: 256 << 10, window_bytes: 1024, ..Options::default() };
    let store = Store::open(directory.path(), options).unwrap();
    let mut revision = 1;
    for number in 0..2000 {
        let key = format!("/{}/{number}", number % 10);
        revision = applied(&store, put(&key, Expect::Absent, vec![b'x'; 500])).await;
    }
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let before = threads();
    let watchers: Vec<_> = (0..1000_u64)
        .map(|number| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let (prefix, after) = (format!("/{}/", number % 10), 1 + number);
                let mut watch = store.watch(prefix.clone().into(), after).await.unwrap();
                let (mut through, mut events) = (after, 0);
                while through < revision {
                    match watch.next().await.unwrap().unwrap() {
                        WatchMessage::Progress(reached) => through = reached,
                        WatchMessage::Events(more) => {
                            assert!(more.iter().all(|event| event.key.starts_with(prefix.as_bytes())));
                            assert!(more.len() <= 512);
                            through = more.last().unwrap().revision;
                            events += more.len();
                        }
                    }
                }
                // Of every ten revisions one is of the prefix; revision 2 wrote the key 0.
                let expected = (after + 1..=revision).filter(|at| (at - 2) % 10 == number % 10).count();
                assert_eq!(events, expected, "{prefix} after {after}");
            })
        })
        .collect();
    let during = threads();
    for watcher in watchers {
        watcher.await.unwrap();
    }
    assert!(during <= before, "{during} threads instead of {before}");
}

/// Pages of one state, while everything is replaced and history is kept for no time at all; then what happened since.
#[tokio::test(flavor = "multi_thread")]
async fn pages_hold_while_everything_changes() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { history: Duration::ZERO, segment_bytes: 4096, window_bytes: 1024, ..Options::default() };
    let store = Store::open(directory.path(), options).unwrap();
    let key = |number: u64| format!("/p/{number:03}");
    for number in 0..100 {
        applied(&store, put(&key(number), Expect::Absent, vec![b'a'; 300])).await;
    }
    let (mut start, mut seen, mut at) = (Bytes::from_static(b"/p/"), 0, None);
    loop {
        let request = RangeRequest { start, limit: 7, revision: at, count: true, ..RangeRequest::default() };
        let page = store.range(request).await.unwrap();
        assert!(page.items.iter().all(|item| item.value[0] == b'a'), "a page holds what came later");
        assert_eq!(*at.get_or_insert(page.revision), page.revision);
        seen += page.items.len();
        assert_eq!(page.remaining, Some(100 - seen));
        for number in 0..100 {
            let held = store.get(key(number).into()).await.unwrap().unwrap();
            applied(&store, put(&key(number), Expect::Revision(held.mod_revision), vec![b'b'; 300])).await;
        }
        match page.items.last() {
            Some(last) if page.more => start = [&last.key[..], b"\0"].concat().into(),
            _ => break,
        }
    }
    assert_eq!(seen, 100);
    let mut watch = store.watch(Bytes::new(), at.unwrap()).await.unwrap();
    assert!(matches!(watch.next().await, Some(Ok(WatchMessage::Events(_)))));
}

/// However short history is kept: what a watch that has begun still has to read is not forgotten for its age.
#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_has_begun_is_not_overtaken() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { history: Duration::ZERO, segment_bytes: 4096, window_bytes: 1024, ..Options::default() };
    let store = Store::open(directory.path(), options).unwrap();
    let mut slow = store.watch(Bytes::new(), 1).await.unwrap();
    let mut revision = applied(&store, put("/a", Expect::Absent, vec![b'x'; 1000])).await;
    for _ in 0..100 {
        revision = applied(&store, put("/a", Expect::Revision(revision), vec![b'x'; 1000])).await;
        // Compaction looks every ten milliseconds.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let mut seen = 1;
    while seen < revision {
        let Some(Ok(WatchMessage::Events(events))) = slow.next().await else { panic!("after {seen}") };
        assert!(events.iter().map(|event| event.revision).eq(seen + 1..=seen + events.len() as u64));
        seen += events.len() as u64;
    }
    // And once it has read everything, nothing holds history back.
    drop(slow);
    while store.compacted() < 10 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A great many keys run out at once, some of them while the store was closed: none is left, and others are not kept
/// waiting for all of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_great_many_keys_expire() {
    const KEYS: usize = 3000;
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let writes = (0..KEYS).map(|number| {
        let change = Change::Put { value: "x".into(), ttl: Some(Duration::from_millis(1)) };
        store.write(Write::new(format!("/e/{number}"), Expect::Absent, change))
    });
    for outcome in futures::future::join_all(writes).await {
        outcome.unwrap();
    }
    drop(store);
    let store = open(directory.path());
    let before = store.revision().await.unwrap();
    let written = applied(&store, put("/other", Expect::Absent, "x")).await;
    assert!(written - before < KEYS as u64, "it waited for all of them");
    while store.range(RangeRequest::default()).await.unwrap().items.len() > 1 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
