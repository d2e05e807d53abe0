//! Migration through [`Kv`], as into and out of an etcd: interrupted, disturbed, and compared.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::BoxFuture;
use pawl_kv::{Range, Watch};
use pawl_kv_embedded::{Options, Store};
use tempfile::TempDir;

use super::*;

fn open(place: &TempDir, name: &str) -> Arc<dyn Kv> {
    let directory = place.path().join(name).join(STORE);
    Store::open(&directory, Options { sync: false, ..Options::default() }).unwrap()
}

fn object(number: usize) -> Bytes {
    let liens = if number.is_multiple_of(10) { r#","liens":["example.com/x"]"# } else { "" };
    let name = format!("c-{number:04}");
    Bytes::from(format!(
        r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"{name}","namespace":"n","uid":"u-{number}"{liens}}}}}"#
    ))
}

fn key(number: usize) -> Bytes {
    Bytes::from(format!("/registry/configmaps/n/c-{number:04}"))
}

async fn filled(kv: &Arc<dyn Kv>, count: usize) {
    for number in 0..count {
        put(kv, key(number), object(number), None).await.unwrap();
    }
    put(kv, Bytes::from_static(b"/registry/events/n/e"), object(1), Some(Duration::from_secs(3000))).await.unwrap();
    put(kv, Bytes::from_static(b"/registry/secrets/n/s"), Bytes::from_static(b"k8s:enc:aesgcm:v1:k:x"), None)
        .await
        .unwrap();
}

async fn held(kv: &Arc<dyn Kv>) -> Vec<KeyValue> {
    kv.range(RangeRequest::default()).await.unwrap().items
}

fn values(held: &[KeyValue]) -> Vec<(Bytes, Bytes)> {
    held.iter().map(|held| (held.key.clone(), held.value.clone())).collect()
}

async fn bring(from: &Arc<dyn Kv>, to: &Arc<dyn Kv>) -> Result<Migrated, String> {
    let mut reading = Reading::store(Arc::clone(from)).await?;
    into_store(&mut reading, to, &mut |_, _| {}).await
}

/// A store that takes so many writes and is gone then.
struct Breaks(Arc<dyn Kv>, AtomicUsize);

impl Kv for Breaks {
    fn get(&self, key: Bytes) -> BoxFuture<'_, pawl_kv::Result<Option<KeyValue>>> {
        self.0.get(key)
    }

    fn range(&self, request: RangeRequest) -> BoxFuture<'_, pawl_kv::Result<Range>> {
        self.0.range(request)
    }

    fn write(&self, write: Write) -> BoxFuture<'_, pawl_kv::Result<Outcome>> {
        let left = self.1.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        match left {
            Ok(_) => self.0.write(write),
            Err(_) => Box::pin(async { Err(Error::Closed) }),
        }
    }

    fn watch(&self, prefix: Bytes, after: Revision) -> BoxFuture<'_, pawl_kv::Result<Watch>> {
        self.0.watch(prefix, after)
    }

    fn revision(&self) -> BoxFuture<'_, pawl_kv::Result<Revision>> {
        self.0.revision()
    }

    fn compact(&self, revision: Revision) -> BoxFuture<'_, pawl_kv::Result<()>> {
        self.0.compact(revision)
    }

    fn is_shared(&self) -> bool {
        self.0.is_shared()
    }

    fn health(&self) -> pawl_kv::Result<()> {
        self.0.health()
    }
}

#[tokio::test]
async fn there_and_back_every_value_is_the_same() {
    let place = TempDir::new().unwrap();
    let from = open(&place, "from");
    filled(&from, 300).await;
    let (before, revision) = (held(&from).await, from.revision().await.unwrap());
    drop(from);
    let data = place.path().join("from");
    let to = open(&place, "to");
    let mut reading = Reading::directory(&data.join(STORE)).unwrap();
    let migrated = into_store(&mut reading, &to, &mut |_, _| {}).await.unwrap();
    let facts = (migrated.records, migrated.revision, migrated.liens, migrated.sealed, migrated.keeps_revisions);
    assert_eq!(facts, (302, revision, 30, 1, false));
    assert_eq!(values(&held(&to).await), values(&before));
    let event = held(&to).await.into_iter().find(|held| held.key.starts_with(b"/registry/events")).unwrap();
    let left = to.time_left(&[event], 0).await.unwrap();
    assert!(left[0].is_some_and(|left| left <= Duration::from_secs(3000)), "{left:?}");
    // And back into a directory, which keeps the revisions of where it comes from.
    let back = place.path().join("back");
    let mut reading = Reading::store(Arc::clone(&to)).await.unwrap();
    let migrated = into_directory(&mut reading, &back, &mut |_, _| {}).await.unwrap();
    assert!(migrated.keeps_revisions);
    let again = open(&place, "back");
    assert_eq!(held(&again).await, held(&to).await);
    assert_eq!(again.revision().await.unwrap(), to.revision().await.unwrap());
}

#[tokio::test]
async fn a_snapshot_goes_into_any_store() {
    let place = TempDir::new().unwrap();
    let from = open(&place, "from");
    filled(&from, 50).await;
    let before = held(&from).await;
    drop(from);
    let file = place.path().join("file");
    super::super::save(&file, &place.path().join("from"), None, &mut |_, _| {}).await.unwrap();
    let to = open(&place, "to");
    let mut reading = Reading::Snapshot(Box::new(open_file(&file).unwrap().0));
    let migrated = into_store(&mut reading, &to, &mut |_, _| {}).await.unwrap();
    assert!(migrated.began < migrated.revision, "it gives revisions again, and says so");
    assert_eq!(values(&held(&to).await), values(&before));
    let old = to.watch(Bytes::new(), 2).await.err();
    assert!(matches!(old, Some(Error::Compacted { .. })), "{old:?}");
    // Half of it is refused, and what came of it is not taken for all.
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    let other = open(&place, "other");
    let mut reading = Reading::Snapshot(Box::new(open_file(&file).unwrap().0));
    assert!(into_store(&mut reading, &other, &mut |_, _| {}).await.unwrap_err().contains("not whole"));
    assert!(other.get(Bytes::from_static(NOTE)).await.unwrap().is_some(), "the note says that it is not done");
}

#[tokio::test]
async fn what_was_interrupted_goes_on() {
    let place = TempDir::new().unwrap();
    let (from, to) = (open(&place, "from"), open(&place, "to"));
    filled(&from, 500).await;
    for left in [0, 1, 100, 350] {
        let breaking: Arc<dyn Kv> = Arc::new(Breaks(Arc::clone(&to), AtomicUsize::new(left)));
        let failed = bring(&from, &breaking).await.unwrap_err();
        assert!(failed.contains("migrate again"), "{failed}");
    }
    let migrated = bring(&from, &to).await.unwrap();
    assert!(migrated.already >= 350 && migrated.records == 502, "{migrated:?}");
    assert_eq!(values(&held(&to).await), values(&held(&from).await));
    // It is done: the same again finds a target that is not empty.
    assert!(bring(&from, &to).await.unwrap_err().contains("not empty"));
}

#[tokio::test]
async fn what_belongs_to_somebody_else_is_refused() {
    let place = TempDir::new().unwrap();
    let (from, to) = (open(&place, "from"), open(&place, "to"));
    filled(&from, 10).await;
    put(&to, key(3), Bytes::from_static(b"other"), None).await.unwrap();
    assert!(bring(&from, &to).await.unwrap_err().contains("not empty"));
    // Half of a migration of another state.
    let to = open(&place, "half");
    begin(&to, 4711).await.unwrap();
    assert!(bring(&from, &to).await.unwrap_err().contains("another migration"));
    // Somebody writes to the target meanwhile.
    let to = open(&place, "running");
    begin(&to, from.revision().await.unwrap()).await.unwrap();
    put(&to, key(3), Bytes::from_static(b"other"), None).await.unwrap();
    assert!(bring(&from, &to).await.unwrap_err().contains("somebody else writes"));
    let to = open(&place, "more");
    begin(&to, from.revision().await.unwrap()).await.unwrap();
    put(&to, key(99), object(99), None).await.unwrap();
    assert!(bring(&from, &to).await.unwrap_err().contains("the source has 12 keys"));
}

#[tokio::test]
async fn a_source_that_is_written_to_is_refused() {
    let place = TempDir::new().unwrap();
    let from = open(&place, "from");
    filled(&from, 10).await;
    let mut reading = Reading::store(Arc::clone(&from)).await.unwrap();
    put(&from, key(11), object(11), None).await.unwrap();
    let target = place.path().join("to");
    let refused = into_directory(&mut reading, &target, &mut |_, _| {}).await.unwrap_err();
    assert!(refused.contains("somebody writes to the source"), "{refused}");
    assert!(!target.exists(), "nothing is left of it");
}

#[tokio::test]
async fn a_source_that_a_server_uses_is_refused() {
    let place = TempDir::new().unwrap();
    let from = open(&place, "from");
    put(&from, Bytes::from_static(b"/registry/masterleases/10.0.0.1"), object(1), None).await.unwrap();
    let refused = Reading::store(from).await.err().unwrap();
    assert!(refused.contains("a server uses the source"), "{refused}");
}

#[tokio::test]
async fn places_are_what_they_say() {
    let place = TempDir::new().unwrap();
    let data = place.path().join("data").display().to_string();
    for (from, to, why) in [
        ("", "x", "name a data directory"),
        ("x", "x", "the same place"),
        ("x", "http://y", "neither a data directory"),
        (data.as_str(), "y", "No such file"),
    ] {
        let refused = migrate(from, to, &Files::default(), &mut |_, _| {}).await.unwrap_err();
        assert!(refused.contains(why), "{from} {to}: {refused}");
    }
}
