//! `pawl migrate`: everything that one store holds goes into another one, which is empty, and is compared with it then.
//!
//! A data directory is made at once and keeps every revision. Any other store is written to through [`Kv`], key by key: it
//! gives revisions of its own. A migration that was interrupted goes on where it was, by a note that it left there.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use pawl_kv::{Change, Error, Expect, KeyValue, Kv, Outcome, RangeRequest, Revision, WatchMessage, Write};
use pawl_kv_embedded::{Frozen, Picture};
use pawl_kv_etcd::{Files, Options};
use pawl_registry::ROOT;
use pawl_snapshot::{Decoder, Pages, Record, after_all};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::judging::{Judge, ValueVerdict};
use super::target::NewStore;
use super::{Progress, STORE, open_file, picture, record};

/// Says on a target that a migration is under way, and from where.
const NOTE: &[u8] = b"/registry/pawl.dev/migration";
/// Where servers that share an etcd say that they are there.
const SERVERS: &str = "/registry/masterleases/";
/// What the store itself deletes when its time is over.
const EXPIRING: [&str; 2] = ["/registry/events/", SERVERS];
/// An object whose uid no other cluster has.
const CLUSTER: &[u8] = b"/registry/namespaces/kube-system";
/// So many keys are read, and written, at a time.
const AT_ONCE: usize = 64;
/// What to do about a migration that ended early.
const AGAIN: &str = "migrate again to go on where this ended";
/// How often a write is tried that a fault hit which may pass.
const TRIES: u32 = 5;

/// Where data is, or goes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// A data directory.
    Embedded(PathBuf),
    /// An etcd, as `etcd://host:port[/prefix]`.
    Etcd(String),
}

impl Place {
    fn parse(spec: &str) -> Result<Self, String> {
        match spec.split_once("://") {
            None if spec.is_empty() => {
                Err("--from and --to name a data directory, or etcd://HOST:PORT[/PREFIX]".into())
            }
            None => Ok(Self::Embedded(PathBuf::from(spec))),
            Some(("etcd", place)) if !place.is_empty() => Ok(Self::Etcd(place.to_owned())),
            Some(_) => Err(format!("{spec:?} is neither a data directory nor etcd://HOST:PORT[/PREFIX]")),
        }
    }
}

/// An etcd, at `host:port[,host:port...][/prefix]`. With files it is spoken to over TLS.
async fn connect(place: &str, files: &Files) -> Result<Arc<dyn Kv>, String> {
    let (hosts, prefix) = place.split_once('/').unwrap_or((place, ""));
    let scheme = if *files == Files::default() { "http" } else { "https" };
    let mut options = Options { files: files.clone(), ..Options::default() };
    options.servers = hosts.split(',').map(|host| format!("{scheme}://{host}")).collect();
    if !prefix.is_empty() {
        options.prefix = format!("/{prefix}");
    }
    let store = pawl_kv_etcd::Store::open(options).await;
    Ok(store.map_err(|why| format!("etcd://{place}: {why}"))?)
}

/// What came of a migration.
#[derive(Debug, Default)]
pub struct Migrated {
    pub records: u64,
    /// Of all keys and values.
    pub bytes: u64,
    /// The revision of the source.
    pub revision: Revision,
    /// Whether keys have the revisions that they had.
    pub keeps_revisions: bool,
    /// The revision at which the target began, where it gives its own: one below that of the source means that it gives
    /// revisions again that clients have seen.
    pub began: Revision,
    /// Keys that an earlier attempt had brought already.
    pub already: u64,
    /// Objects that are held by liens, which kube-apiserver would drop with its next write of each.
    pub liens: u64,
    /// Sealed objects, of which that cannot be told.
    pub sealed: u64,
}

/// Brings everything from one place to another, which must be empty. Both are proved equal at the end.
pub async fn migrate(from: &str, to: &str, files: &Files, progress: Progress<'_>) -> Result<Migrated, String> {
    let (from, to) = (Place::parse(from)?, Place::parse(to)?);
    if from == to {
        return Err("--from and --to are the same place".to_owned());
    }
    let mut reading = match &from {
        Place::Embedded(path) => Reading::directory(&path.join(STORE))?,
        Place::Etcd(place) => Reading::store(connect(place, files).await?).await?,
    };
    match &to {
        Place::Embedded(path) => into_directory(&mut reading, &from, path, progress).await,
        Place::Etcd(place) => into_store(&mut reading, &connect(place, files).await?, progress).await,
    }
}

/// Restores a snapshot into an empty store that is not a data directory, and compares what is there then with it.
pub async fn restore_into(file: &Path, to: &str, files: &Files, progress: Progress<'_>) -> Result<Migrated, String> {
    let Place::Etcd(place) = Place::parse(to)? else {
        return Err("--to is etcd://HOST:PORT[/PREFIX]; --data-dir names a data directory".to_owned());
    };
    let target = connect(&place, files).await?;
    let mut reading = Reading::Snapshot(Box::new(open_file(file)?.0));
    into_store(&mut reading, &target, progress).await
}

/// A source that is read in the order of its keys.
enum Reading {
    /// A directory, which nobody else opens meanwhile.
    Directory {
        picture: Box<Picture>,
        _held: Frozen,
        after: Option<Bytes>,
    },
    Store {
        kv: Arc<dyn Kv>,
        pages: Box<Pages>,
    },
    /// A snapshot, which must be whole.
    Snapshot(Box<Decoder<BufReader<File>>>),
}

impl Reading {
    fn directory(store: &Path) -> Result<Self, String> {
        let failed = |why: Error| format!("{}: {why}", store.display());
        let held = Frozen::open(store).map_err(failed)?;
        let picture = Box::new(held.picture().map_err(failed)?);
        Ok(Self::Directory { picture, _held: held, after: None })
    }

    async fn store(kv: Arc<dyn Kv>) -> Result<Self, String> {
        // Servers on an etcd keep a key there for as long as they run.
        let servers = RangeRequest { start: SERVERS.into(), end: after_all(SERVERS), limit: 1, ..Default::default() };
        if !kv.range(servers).await.map_err(|why| why.to_string())?.items.is_empty() {
            return Err("a server uses the source, or stopped less than fifteen seconds ago".to_owned());
        }
        let pages = Pages::begin(Arc::clone(&kv), ROOT).await.map_err(|why| why.to_string())?;
        Ok(Self::Store { kv, pages: Box::new(pages) })
    }

    fn revision(&self) -> Revision {
        match self {
            Self::Directory { picture, .. } => picture.revision,
            Self::Store { pages, .. } => pages.revision(),
            Self::Snapshot(decoder) => decoder.head().revision,
        }
    }

    /// What tells this source from any other.
    async fn origin(&self, place: &Place) -> Result<String, String> {
        let cluster = match self {
            Self::Directory { picture, .. } => picture.value(CLUSTER),
            Self::Store { kv, .. } => {
                let found = kv.get(Bytes::from_static(CLUSTER)).await.map_err(|why| why.to_string())?;
                found.map(|held| held.value)
            }
            Self::Snapshot(_) => None,
        };
        Ok(format!("{place:?} {:?}", cluster.map(|value| Sha256::digest(value).to_vec())))
    }

    /// Reads the state that was read before, if that is still what there is.
    async fn go_back(&mut self, before: Revision) -> Result<(), String> {
        let Self::Store { kv, pages } = self else { return Ok(()) };
        if before < pages.revision() && is_quiet(kv, before, pages.revision()).await? {
            **pages = Pages::begin_at(Arc::clone(kv), ROOT, before);
        }
        Ok(())
    }

    /// How many keys there are.
    async fn count(&self) -> Result<u64, String> {
        match self {
            Self::Directory { picture, .. } => Ok(picture.len() as u64),
            Self::Store { pages, .. } => pages.count().await.map_err(|why| why.to_string()),
            Self::Snapshot(_) => Err("a snapshot says at its end how many keys it has".to_owned()),
        }
    }

    /// Goes on behind a key: what is before it has been read already.
    fn skip_through(&mut self, key: &Bytes) {
        match self {
            Self::Directory { after, .. } => *after = Some(key.clone()),
            Self::Store { pages, .. } => pages.skip_through(key),
            Self::Snapshot(_) => {}
        }
    }

    async fn next(&mut self) -> Result<Option<Vec<Record>>, String> {
        match self {
            Self::Directory { picture, after, .. } => {
                let records: Vec<Record> = picture.items_after(after.as_ref()).take(1000).map(record).collect();
                let Some(last) = records.last() else { return Ok(None) };
                *after = Some(last.key.clone());
                Ok(Some(records))
            }
            Self::Store { pages, .. } => pages.next().await.map_err(|why| why.to_string()),
            Self::Snapshot(decoder) => decoder.next_block().map_err(|why| why.to_string()),
        }
    }

    /// Says if somebody has written to the source since it was read.
    async fn check_unchanged(&self) -> Result<(), String> {
        let Self::Store { kv, pages } = self else { return Ok(()) };
        let now = kv.revision().await.map_err(|why| why.to_string())?;
        if is_quiet(kv, pages.revision(), now).await? {
            return Ok(());
        }
        Err(format!(
            "somebody writes to the source: it was read at revision {} and is at {now}; stop whoever does, and migrate again",
            pages.revision()
        ))
    }
}

/// Whether nothing happened between two revisions but that something came to the end of its time.
async fn is_quiet(kv: &Arc<dyn Kv>, from: Revision, through: Revision) -> Result<bool, String> {
    if from >= through {
        return Ok(from == through);
    }
    let mut watch = match kv.watch(Bytes::new(), from).await {
        Ok(watch) => watch,
        Err(Error::Compacted { .. }) => return Ok(false),
        Err(why) => return Err(why.to_string()),
    };
    let expires = |key: &[u8]| EXPIRING.iter().any(|prefix| key.starts_with(prefix.as_bytes()));
    while let Some(message) = watch.next().await {
        let reached = match message.map_err(|why| why.to_string())? {
            WatchMessage::Progress(reached) => reached,
            WatchMessage::Events(events) => {
                if events.iter().any(|event| event.value.is_some() || !expires(&event.key)) {
                    return Ok(false);
                }
                events.last().map_or(from, |event| event.revision)
            }
        };
        if reached >= through {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What was read, to compare with what was written.
#[derive(Default)]
struct Sum {
    hash: Sha256,
    records: u64,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, key: &[u8], value: &[u8], revisions: Option<(Revision, Revision)>) {
        for part in [key, value] {
            self.hash.update((part.len() as u64).to_le_bytes());
            self.hash.update(part);
        }
        let (create, modified) = revisions.unwrap_or_default();
        self.hash.update(create.to_le_bytes());
        self.hash.update(modified.to_le_bytes());
        self.records += 1;
        self.bytes += (key.len() + value.len()) as u64;
    }

    fn add_record(&mut self, record: &Record) {
        let revisions = (record.create_revision, record.mod_revision);
        self.add(&record.key, &record.value, Some(revisions));
    }

    /// Whether the same was found on both sides.
    fn check(self, found: Self) -> Result<(), String> {
        if (self.records, self.bytes) != (found.records, found.bytes) {
            let (from, to) = (self.records, found.records);
            return Err(format!(
                "the source has {from} keys with {} bytes, the target {to} with {}",
                self.bytes, found.bytes
            ));
        }
        let same = self.hash.finalize() == found.hash.finalize();
        same.then_some(()).ok_or_else(|| "the target does not hold what the source holds".to_owned())
    }
}

/// Looks at what would be lost on the way to a kube-apiserver.
struct Census(Judge);

impl Census {
    async fn count(&self, record: &Record, migrated: &mut Migrated) {
        match self.0.judge(record).await {
            ValueVerdict::Readable { liens: true } => migrated.liens += 1,
            ValueVerdict::Sealed => migrated.sealed += 1,
            _ => {}
        }
    }
}

/// Brings everything into a directory, on top of what an earlier attempt brought there of the same state. What that had
/// read is not read from the source again: it was written with checksums of its own, which hold.
async fn into_directory(
    reading: &mut Reading,
    from: &Place,
    data_dir: &Path,
    progress: Progress<'_>,
) -> Result<Migrated, String> {
    let origin = reading.origin(from).await?;
    if let Some(before) = NewStore::begun(data_dir, origin.as_bytes())? {
        reading.go_back(before).await?;
    }
    let keys = reading.count().await?;
    let (mut sum, mut last) = (Sum::default(), None);
    let mut target = NewStore::resume(data_dir, (origin.as_bytes(), reading.revision()), |record| {
        sum.add_record(&record);
        last = Some(record.key);
    })?;
    let mut migrated = Migrated { revision: reading.revision(), keeps_revisions: true, ..Migrated::default() };
    migrated.already = sum.records;
    if let Some(last) = last {
        reading.skip_through(&last);
    }
    while let Some(records) = reading.next().await.map_err(|why| format!("{why}; {AGAIN}"))? {
        for record in &records {
            target.push(record)?;
            sum.add_record(record);
        }
        progress(sum.bytes, None);
    }
    if let Err(why) = reading.check_unchanged().await {
        target.give_up();
        return Err(why);
    }
    (migrated.records, migrated.bytes) = (sum.records, sum.bytes);
    if sum.records != keys {
        target.give_up();
        return Err(format!("the source has {keys} keys, and {} were read; migrate again", sum.records));
    }
    target.finish(migrated.revision, |made| {
        let mut found = Sum::default();
        picture(made)?.items().for_each(|item| found.add_record(&record(item)));
        sum.check(found)
    })?;
    Ok(migrated)
}

async fn into_store(reading: &mut Reading, target: &Arc<dyn Kv>, progress: Progress<'_>) -> Result<Migrated, String> {
    let began = begin(target, reading.revision()).await?;
    let census = Census(Judge::new(None).await?);
    let mut migrated = Migrated { revision: reading.revision(), began, ..Migrated::default() };
    let mut sum = Sum::default();
    while let Some(records) = reading.next().await? {
        for record in records.iter().filter(|record| *record.key != *NOTE) {
            census.count(record, &mut migrated).await;
            sum.add(&record.key, &record.value, None);
        }
        migrated.already += copy(target, records).await?;
        progress(sum.bytes, None);
    }
    reading.check_unchanged().await?;
    (migrated.records, migrated.bytes) = (sum.records, sum.bytes);
    sum.check(sum_of(target).await?)?;
    end(target).await?;
    // Nobody shall follow from here what happened elsewhere.
    let now = target.revision().await.map_err(|why| why.to_string())?;
    target.compact(now).await.map_err(|why| why.to_string())?;
    Ok(migrated)
}

/// Takes an empty store for this migration, or goes on with one that was begun on the same state of the source. Tells the
/// revision at which the target began.
async fn begin(target: &Arc<dyn Kv>, revision: Revision) -> Result<Revision, String> {
    let failed = |why: Error| why.to_string();
    let found = target.get(Bytes::from_static(NOTE)).await.map_err(failed)?;
    if let Some(found) = found {
        let told: Value = serde_json::from_slice(&found.value).unwrap_or_default();
        let number = |field: &str| told.get(field).and_then(Value::as_u64);
        return match (number("from"), number("began")) {
            (Some(from), Some(began)) if from == revision => Ok(began),
            _ => Err(format!("the target holds part of another migration ({told}); empty it before this one")),
        };
    }
    let all = RangeRequest { start: ROOT.into(), end: after_all(ROOT), limit: 1, ..RangeRequest::default() };
    let any = target.range(all).await.map_err(failed)?;
    if let Some(held) = any.items.first() {
        return Err(format!("the target is not empty: it holds {:?}", String::from_utf8_lossy(&held.key)));
    }
    let note = json!({"from": revision, "began": any.revision});
    put(target, Bytes::from_static(NOTE), Bytes::from(note.to_string()), None).await?;
    Ok(any.revision)
}

async fn end(target: &Arc<dyn Kv>) -> Result<(), String> {
    let note = target.get(Bytes::from_static(NOTE)).await.map_err(|why| why.to_string())?;
    let Some(KeyValue { key, mod_revision, .. }) = note else { return Ok(()) };
    let removed = target.write(Write::new(key, Expect::Revision(mod_revision), Change::Delete)).await;
    removed.map(|_| ()).map_err(|why| why.to_string())
}

/// Writes keys that are not there yet; tells how many were there already.
async fn copy(target: &Arc<dyn Kv>, records: Vec<Record>) -> Result<u64, String> {
    let writes = records
        .into_iter()
        .filter(|record| *record.key != *NOTE)
        .map(|record| async move { put(target, record.key, record.value, record.time_left).await });
    let there: Vec<bool> = stream::iter(writes).buffer_unordered(AT_ONCE).try_collect().await?;
    Ok(there.into_iter().filter(|was_there| *was_there).count() as u64)
}

/// Writes one key; tells whether it was there. Another value in its place is somebody else's.
async fn put(target: &Arc<dyn Kv>, key: Bytes, value: Bytes, ttl: Option<Duration>) -> Result<bool, String> {
    let change = Change::Put { value: value.clone(), ttl };
    let write = Write::new(key.clone(), Expect::Absent, change);
    let mut tries = 0;
    loop {
        match target.write(write.clone()).await {
            Ok(Outcome::Applied { .. }) => return Ok(false),
            Ok(Outcome::Conflict { current: Some(held) }) if held.value == value => return Ok(true),
            Ok(Outcome::Conflict { .. }) => {
                let key = String::from_utf8_lossy(&key).into_owned();
                return Err(format!("somebody else writes to the target: {key:?} holds another value there"));
            }
            Err(why) if tries < TRIES && (why.passes() || matches!(why, Error::Unknown(_))) => {
                tries += 1;
                tokio::time::sleep(Duration::from_millis(100 << tries)).await;
            }
            Err(why) => return Err(format!("{why}; {AGAIN}")),
        }
    }
}

/// What a store holds, but for the note.
async fn sum_of(kv: &Arc<dyn Kv>) -> Result<Sum, String> {
    let failed = |why: Error| why.to_string();
    let mut pages = Pages::begin(Arc::clone(kv), ROOT).await.map_err(failed)?;
    let mut sum = Sum::default();
    while let Some(records) = pages.next().await.map_err(failed)? {
        for record in records.iter().filter(|record| *record.key != *NOTE) {
            sum.add(&record.key, &record.value, None);
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests;
