//! The embedded store: [`pawl_kv::Kv`] on a directory of the local disk.
//!
//! Owns an append-only log, which is the history that watches resume from, and the present state in memory, which every
//! read is served from. Knows nothing of what the values mean. The bytes on disk are defined in
//! `docs/storage-format.md`; why there is no general-purpose engine underneath is in
//! `docs/decisions/0001-embedded-engine.md`.
//!
//! ```no_run
//! # async fn example() -> pawl_kv::Result<()> {
//! use bytes::Bytes;
//! use pawl_kv::{Change, Expect, Kv, Write};
//!
//! let store = pawl_kv_embedded::Store::open("pawl-data/store".as_ref(), pawl_kv_embedded::Options::default())?;
//! let put = Change::Put { value: Bytes::from_static(b"{}"), ttl: None };
//! store.write(Write::new(Bytes::from_static(b"/registry/x"), Expect::Absent, put)).await?;
//! # Ok(())
//! # }
//! ```

mod clock;
mod committer;
mod compaction;
mod disk;
mod format;
mod fresh;
mod frozen;
mod history;
mod keep;
mod log;
mod read;
mod readers;
mod recovery;
mod salvage;
mod segment;
#[cfg(feature = "testing")]
pub mod simulated;
mod snapshot;
mod spare;
mod state;
mod unsynced;
mod watch;

use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use futures::channel::oneshot;
use futures::future::BoxFuture;
use parking_lot::RwLock;
use pawl_kv::{Change, Error, Expect, KeyValue, Kv, Outcome, Range, RangeRequest, Result, Revision, Watch, Write};
use tokio::sync::watch as channel;

use clock::Clock;
use committer::{Committer, Queue, Request};
use compaction::Compactor;
#[cfg(not(feature = "testing"))]
use disk::Disk;
use disk::{Directory, Lock};
#[cfg(feature = "testing")]
pub use disk::{Disk, DiskFile};
pub use fresh::Fresh;
pub use frozen::{Frozen, Item, Picture, SegmentInfo};
use history::Chapters;
use keep::{Kept, Pins};
use log::Log;
use readers::Readers;
pub use salvage::{Lost, Salvaged};
use segment::Segments;
use spare::Spare;
use state::{Refusal, StoreState};

/// How a store behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// Events are kept at least this long, so that watches resume from them, also after a restart.
    pub history: Duration,
    /// The log may take this much of the disk before history is cut shorter than `history`.
    pub history_bytes: u64,
    /// The size of a log segment; history is forgotten segment by segment.
    pub segment_bytes: u64,
    /// How many bytes of the newest events are kept in memory. Watchers further behind read the log.
    pub window_bytes: usize,
    /// Whether a write is on the disk before it is acknowledged. Without it a crash of the machine (not of the process) may
    /// lose what was acknowledged, or all of it.
    pub sync: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            history: Duration::from_secs(5 * 60),
            history_bytes: 1 << 30,
            segment_bytes: 16 << 20,
            window_bytes: 4 << 20,
            sync: true,
        }
    }
}

/// The embedded store. Keys and values are copied into memory of exactly their size.
///
/// A fault of the disk that passes is got over without opening the store again; [`Kv::health`] says while it lasts.
/// Dropping the store finishes the writes under way, ends all watches and releases the directory.
pub struct Store {
    shared: Arc<Shared>,
    visible: channel::Receiver<Revision>,
    committer: Option<JoinHandle<()>>,
    compactor: Compactor,
    readers: Vec<JoinHandle<()>>,
    /// Last, so that the directory is free only when nothing writes to it any more.
    _lock: Option<Lock>,
}

/// What the store's threads and its watches have in common.
struct Shared {
    disk: Arc<dyn Disk>,
    segments: Arc<Segments>,
    spare: Arc<Spare>,
    clock: Clock,
    state: RwLock<StoreState>,
    queue: Arc<Queue>,
    readers: Readers,
    chapters: Chapters,
    pins: Pins,
    kept: Kept,
}

impl Shared {
    /// The first revision that a watcher or a reader of pages still needs. Ask with the state locked: who begins to read
    /// looks at it in the same step.
    fn needed(&self) -> Option<Revision> {
        let pages = self.kept.least().map(|revision| revision + 1);
        pages.into_iter().chain(self.pins.least()).min()
    }

    /// Lets go of states that nobody reads any more.
    fn release_stale(&self) {
        let stale = self.kept.stale(self.state.read().written);
        if stale.iter().any(Option::is_some) {
            // A closed store has no readers any more, and no use for what is dropped then.
            let _ = self.readers.later(move || drop(stale));
        }
    }
}

impl Store {
    /// The largest key and value together. Kubernetes stays far below.
    pub const MOST_BYTES: usize = 256 << 20;

    /// Opens the store in a directory, making it where there is none.
    pub fn open(directory: &Path, options: Options) -> Result<Arc<Self>> {
        let (disk, lock) = Directory::open(directory)?;
        let in_directory = |what: String| format!("{}: {what}", directory.display());
        let disk: Arc<dyn Disk> = if options.sync { disk } else { Arc::new(unsynced::Unsynced(disk)) };
        Self::start(disk, Some(lock), options).map_err(|error| match error {
            Error::Corrupt(what) => Error::Corrupt(in_directory(what)),
            Error::Unavailable(what) => Error::Unavailable(in_directory(what)),
            Error::Newer { file, found, known } => {
                Error::Newer { file: directory.join(file).display().to_string(), found, known }
            }
            other => other,
        })
    }

    /// Opens the store on a disk that is not a directory.
    #[cfg(feature = "testing")]
    pub fn open_on(disk: Arc<dyn Disk>, options: Options) -> Result<Arc<Self>> {
        Self::start(disk, None, options)
    }

    fn start(disk: Arc<dyn Disk>, lock: Option<Lock>, options: Options) -> Result<Arc<Self>> {
        let recovered = recovery::recover(&*disk, options.window_bytes)?;
        let newest = recovered.segments.iter().map(|segment| segment.newest).max();
        let segments = Arc::new(Segments::new(recovered.segments));
        let spare = Arc::new(Spare::new(Arc::clone(&disk), options.segment_bytes));
        let (sender, visible) = channel::channel(recovered.state.revision);
        let shared = Arc::new(Shared {
            disk: Arc::clone(&disk),
            segments: Arc::clone(&segments),
            spare: Arc::clone(&spare),
            clock: Clock::after(newest),
            state: RwLock::new(recovered.state),
            queue: Arc::default(),
            readers: Readers::default(),
            chapters: Chapters::default(),
            pins: Pins::default(),
            kept: Kept::default(),
        });
        let log = Log::new(disk, segments, spare, recovered.tail);
        let committer = Committer::new(Arc::clone(&shared), log, sender);
        let committer = spawn("pawl-commit", move || committer.run())?;
        let compactor = Compactor::start(&shared, options, recovered.snapshot).inspect_err(|_| shared.queue.close())?;
        let mut store =
            Self { shared, visible, committer: Some(committer), compactor, readers: Vec::new(), _lock: lock };
        for _ in 0..Readers::THREADS {
            let shared = Arc::clone(&store.shared);
            store.readers.push(spawn("pawl-history", move || shared.readers.serve())?);
        }
        Ok(Arc::new(store))
    }

    /// The oldest revision that a range may be read at and a watch may start after.
    pub fn compacted(&self) -> Revision {
        self.shared.state.read().compacted
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<Result<T>>) -> Request) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        self.shared.queue.push(request(reply))?;
        // Every request that was taken is answered, unless the committer itself came to grief.
        answer.await.map_err(|_| Error::Unknown("the committer ended".to_owned()))?
    }

    /// A conflict with what is visible is one, whatever else is under way: the write can have been tried right now.
    fn conflict(&self, write: &Write) -> Result<Option<Outcome>> {
        let state = self.shared.state.read();
        if let Some(refused) = Refusal::of(state.refusal.as_ref(), &write.change) {
            return Err(refused);
        }
        let current = state.index.get(&write.key);
        let holds = match (write.expect, current) {
            (Expect::Absent, current) => current.is_none() && matches!(write.change, Change::Put { .. }),
            (Expect::Revision(expected), current) => current.is_some_and(|entry| entry.mod_revision == expected),
        };
        Ok((!holds).then(|| Outcome::Conflict { current: current.map(|entry| entry.key_value(&write.key)) }))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.shared.queue.close();
        self.compactor.stop();
        if let Some(committer) = self.committer.take()
            && committer.join().is_err()
        {
            tracing::error!("the committer ended with a panic");
        }
        self.shared.readers.close();
        for reader in self.readers.drain(..) {
            // What a job did wrong has been caught there.
            let _ = reader.join();
        }
    }
}

impl Kv for Store {
    fn get(&self, key: Bytes) -> BoxFuture<'_, Result<Option<KeyValue>>> {
        Box::pin(async move {
            let state = self.shared.state.read();
            Ok(state.index.get(&key).map(|entry| entry.key_value(&key)))
        })
    }

    fn range(&self, request: RangeRequest) -> BoxFuture<'_, Result<Range>> {
        Box::pin(read::range(&self.shared, request))
    }

    fn write(&self, write: Write) -> BoxFuture<'_, Result<Outcome>> {
        Box::pin(async move {
            let value = if let Change::Put { value, .. } = &write.change { value.len() } else { 0 };
            let size = write.key.len().saturating_add(value);
            if size > Self::MOST_BYTES {
                return Err(Error::TooLarge { size, limit: Self::MOST_BYTES });
            }
            if let Some(conflict) = self.conflict(&write)? {
                return Ok(conflict);
            }
            self.ask(|reply| Request::Write { write, reply }).await
        })
    }

    fn watch(&self, prefix: Bytes, after: Revision) -> BoxFuture<'_, Result<Watch>> {
        Box::pin(async move { watch::begin(&self.shared, self.visible.clone(), prefix, after) })
    }

    fn revision(&self) -> BoxFuture<'_, Result<Revision>> {
        Box::pin(async move { Ok(self.shared.state.read().revision) })
    }

    fn compact(&self, revision: Revision) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.ask(move |reply| Request::Compact { revision, reply }))
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn time_left(&self, items: &[KeyValue], revision: Revision) -> BoxFuture<'_, Result<Vec<Option<Duration>>>> {
        let left = read::time_left(&self.shared, items, revision);
        Box::pin(async move { Ok(left) })
    }

    fn health(&self) -> Result<()> {
        match &self.shared.state.read().refusal {
            Some(refusal) => Err(Error::ReadOnly(refusal.reason().to_owned())),
            None => Ok(()),
        }
    }
}

fn spawn<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>> {
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map_err(|error| Error::Unavailable(format!("starting the thread {name}: {error}")))
}
