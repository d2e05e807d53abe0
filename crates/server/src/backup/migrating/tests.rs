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

fn somewhere() -> Place {
    Place::Etcd("somewhere".to_owned())
}

/// Brings a store into a directory.
async fn bring_home(from: &Arc<dyn Kv>, home: &Path) -> Result<Migrated, String> {
    let mut reading = Reading::store(Arc::clone(from)).await?;
    into_directory(&mut reading, &somewhere(), home, &mut |_, _| {}).await
}

/// A store that takes so many writes, gives so many pages, and is gone then.
struct Breaks {
    inner: Arc<dyn Kv>,
    writes: AtomicUsize,
    pages: AtomicUsize,
}

impl Breaks {
    fn after(inner: &Arc<dyn Kv>, writes: usize, pages: usize) -> Arc<Self> {
        let inner = Arc::clone(inner);
        Arc::new(Self { inner, writes: AtomicUsize::new(writes), pages: AtomicUsize::new(pages) })
    }

    fn takes(left: &AtomicUsize) -> bool {
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

impl Kv for Breaks {
    fn get(&self, key: Bytes) -> BoxFuture<'_, pawl_kv::Result<Option<KeyValue>>> {
        self.inner.get(key)
    }

    fn range(&self, request: RangeRequest) -> BoxFuture<'_, pawl_kv::Result<Range>> {
        match Self::takes(&self.pages) {
            true => self.inner.range(request),
            false => Box::pin(async { Err(Error::Closed) }),
        }
    }

    fn write(&self, write: Write) -> BoxFuture<'_, pawl_kv::Result<Outcome>> {
        match Self::takes(&self.writes) {
            true => self.inner.write(write),
            false => Box::pin(async { Err(Error::Closed) }),
        }
    }

    fn watch(&self, prefix: Bytes, after: Revision) -> BoxFuture<'_, pawl_kv::Result<Watch>> {
        self.inner.watch(prefix, after)
    }

    fn revision(&self) -> BoxFuture<'_, pawl_kv::Result<Revision>> {
        self.inner.revision()
    }

    fn compact(&self, revision: Revision) -> BoxFuture<'_, pawl_kv::Result<()>> {
        self.inner.compact(revision)
    }

    fn is_shared(&self) -> bool {
        self.inner.is_shared()
    }

    fn health(&self) -> pawl_kv::Result<()> {
        self.inner.health()
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
    let migrated = into_directory(&mut reading, &somewhere(), &back, &mut |_, _| {}).await.unwrap();
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
        let breaking: Arc<dyn Kv> = Breaks::after(&to, left, usize::MAX);
        let failed = bring(&from, &breaking).await.unwrap_err();
        assert!(failed.contains("migrate again"), "{failed}");
    }
    let migrated = bring(&from, &to).await.unwrap();
    assert!(migrated.already >= 350 && migrated.records == 502, "{migrated:?}");
    assert_eq!(values(&held(&to).await), values(&held(&from).await));
    // It is done: the same again finds a target that is not empty.
    assert!(bring(&from, &to).await.unwrap_err().contains("not empty"));
}

/// Some megabytes, so that a directory has many blocks and a source many pages.
async fn filled_much(kv: &Arc<dyn Kv>) {
    filled(kv, 10).await;
    for number in 0..600 {
        let value = Bytes::from(vec![b'v'; 20_000]);
        put(kv, Bytes::from(format!("/registry/much/n/{number:04}")), value, None).await.unwrap();
    }
}

#[tokio::test]
async fn what_was_interrupted_goes_on_in_a_directory() {
    let place = TempDir::new().unwrap();
    let (from, home) = (open(&place, "from"), place.path().join("home"));
    filled_much(&from).await;
    let mut already = 0;
    // So many pages are less than half of it, however much of them comes home.
    for pages in [5, 5] {
        // Nothing is read twice: what came home last time is not asked for again.
        let breaking: Arc<dyn Kv> = Breaks::after(&from, 0, pages);
        let failed = bring_home(&breaking, &home).await.unwrap_err();
        assert!(failed.contains(AGAIN), "{failed}");
        assert!(!home.join(STORE).exists(), "half of it is no store");
        let begun = held_in(&home);
        assert!(begun > already, "{begun} after {already}");
        already = begun;
    }
    let migrated = bring_home(&from, &home).await.unwrap();
    assert_eq!((migrated.already, migrated.records), (already, 612));
    let again = open(&place, "home");
    assert_eq!(held(&again).await, held(&from).await);
    assert_eq!(again.revision().await.unwrap(), from.revision().await.unwrap());
    // It is done: the same again finds a store.
    assert!(bring_home(&from, &home).await.unwrap_err().contains("not empty"));
}

/// How many keys of an unfinished migration would be gone on with.
fn held_in(home: &Path) -> u64 {
    let copy = TempDir::new().unwrap();
    for file in std::fs::read_dir(home.join(super::super::UNFINISHED)).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
    }
    let origin = format!("{:?} None", somewhere());
    let begun = pawl_kv_embedded::Fresh::begun(copy.path(), origin.as_bytes()).unwrap().unwrap();
    let mut count = 0;
    pawl_kv_embedded::Fresh::resume(copy.path(), origin.as_bytes(), begun, |_| count += 1).unwrap();
    count
}

#[tokio::test]
async fn only_the_same_state_is_gone_on_with() {
    let place = TempDir::new().unwrap();
    let (from, home) = (open(&place, "from"), place.path().join("home"));
    filled_much(&from).await;
    let interrupted = async || {
        let breaking: Arc<dyn Kv> = Breaks::after(&from, 0, 5);
        bring_home(&breaking, &home).await.unwrap_err();
    };
    let remove = async |key: &'static str| {
        let held = from.get(Bytes::from_static(key.as_bytes())).await.unwrap().unwrap();
        from.write(Write::new(held.key, Expect::Revision(held.mod_revision), Change::Delete)).await.unwrap();
    };
    // What comes to the end of its time is no reason to begin anew: it comes along with what was left of it.
    interrupted().await;
    let begun = from.revision().await.unwrap();
    remove("/registry/events/n/e").await;
    let mut reading = Reading::store(Arc::clone(&from)).await.unwrap();
    reading.go_back(begun).await.unwrap();
    assert_eq!(reading.revision(), begun);
    let migrated = bring_home(&from, &home).await.unwrap();
    assert!(migrated.already > 0 && migrated.records == 612 && migrated.revision == begun, "{migrated:?}");
    // A source that somebody wrote to meanwhile is another one.
    std::fs::remove_dir_all(&home).unwrap();
    interrupted().await;
    remove("/registry/much/n/0007").await;
    let migrated = bring_home(&from, &home).await.unwrap();
    assert_eq!((migrated.already, migrated.records), (0, 610));
    assert_eq!(held(&open(&place, "home")).await, held(&from).await);
    // And so is one of another place.
    std::fs::remove_dir_all(&home).unwrap();
    interrupted().await;
    let mut reading = Reading::store(Arc::clone(&from)).await.unwrap();
    let elsewhere = Place::Etcd("elsewhere".to_owned());
    let migrated = into_directory(&mut reading, &elsewhere, &home, &mut |_, _| {}).await.unwrap();
    assert_eq!((migrated.already, migrated.records), (0, 610));
}

/// Whatever a fault left behind what holds, the end is the same.
#[tokio::test]
async fn what_does_not_hold_is_not_gone_on_with() {
    let place = TempDir::new().unwrap();
    let from = open(&place, "from");
    filled_much(&from).await;
    for (number, spoil) in [0_usize, 1, 2].into_iter().enumerate() {
        let home = place.path().join(format!("home-{number}"));
        let breaking: Arc<dyn Kv> = Breaks::after(&from, 0, 6);
        bring_home(&breaking, &home).await.unwrap_err();
        let before = held_in(&home);
        let made = home.join(super::super::UNFINISHED).join("making.tmp");
        let mut bytes = std::fs::read(&made).unwrap();
        match spoil {
            0 => bytes.truncate(bytes.len() - 1),
            1 => *bytes.last_mut().unwrap() ^= 1,
            _ => bytes.extend([7; 1000]),
        }
        std::fs::write(&made, bytes).unwrap();
        let migrated = bring_home(&from, &home).await.unwrap();
        assert!(if spoil == 2 { migrated.already == before } else { migrated.already < before }, "{migrated:?}");
        assert_eq!(held(&open(&place, &format!("home-{number}"))).await, held(&from).await);
    }
    // One that was whole when it ended, and had no name yet.
    let home = place.path().join("whole");
    bring_home(&from, &home).await.unwrap();
    std::fs::rename(home.join(STORE), home.join(super::super::UNFINISHED)).unwrap();
    let migrated = bring_home(&from, &home).await.unwrap();
    assert_eq!((migrated.already, migrated.records), (612, 612));
    assert_eq!(held(&open(&place, "whole")).await, held(&from).await);
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
    let refused = into_directory(&mut reading, &somewhere(), &target, &mut |_, _| {}).await.unwrap_err();
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
