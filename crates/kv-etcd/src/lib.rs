//! [`pawl_kv::Kv`] on an etcd cluster.
//!
//! Owns the translation of the contract into etcd's calls. It refuses to guess: a write is sent once, and what nobody can
//! know is [`Error::Unknown`]; a cluster whose history went back (one that was restored from an older backup) is not used
//! any more. Knows nothing of what the values mean. The choices are in `docs/decisions/0010-etcd.md`.

mod compaction;
mod faults;
mod keys;
mod leases;
mod lifetimes;
mod members;
mod messages;
mod newest;
mod observer;
mod probe;
#[cfg(feature = "testing")]
pub mod testing;
mod tls;
mod watch;

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::BoxFuture;
use parking_lot::RwLock;
use pawl_kv::{
    Change, Error, Expect, Guard, KeyValue, Kv, Outcome, Range, RangeRequest, Result, Revision, Watch, Write,
};
use tokio::sync::watch as channel;
use tokio::task::JoinHandle;
use tonic::Status;

use keys::{EDGE, Names};
use leases::Leases;
use members::Members;
use messages::{
    Answer, CompactionRequest, CompactionResponse, Compare, DeleteRangeRequest, Header, LeaseGrantRequest,
    LeaseGrantResponse, Operation, PutRequest, RangeResponse, Relation, RequestOp, Target, Than, TxnRequest,
    TxnResponse,
};
use newest::Newest;
pub use observer::Observer;
pub use tls::Files;
use tls::Place;

/// How a cluster is found and used.
#[derive(Clone, Debug)]
pub struct Options {
    /// URLs of members.
    pub servers: Vec<String>,
    pub files: Files,
    /// Where keys are kept that begin with `/registry` here.
    pub prefix: String,
    /// How old history may become before it is forgotten, by one of the servers that share a cluster.
    pub compaction: Option<Duration>,
    /// How long the cluster may take to say that it is well.
    pub health_patience: Duration,
    pub observer: Option<Arc<dyn Observer>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            files: Files::default(),
            prefix: "/registry".to_owned(),
            compaction: None,
            health_patience: Duration::from_secs(2),
            observer: None,
        }
    }
}

/// What a small question may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// What a write, or a read of many keys, may take.
const LONG_PATIENCE: Duration = Duration::from_secs(60);

/// A store on an etcd cluster. Dropping it ends what it does by itself.
pub struct Store {
    shared: Arc<Shared>,
    newest: Arc<Newest>,
    tasks: Vec<JoinHandle<()>>,
}

struct Shared {
    members: Members,
    names: Names,
    leases: Leases,
    /// The newest revision that anybody has heard of.
    newest: channel::Sender<Revision>,
    cluster: OnceLock<u64>,
    /// Why the cluster is not the one it was.
    broken: OnceLock<String>,
    health: RwLock<Result<()>>,
    observer: Option<Arc<dyn Observer>>,
}

impl Store {
    /// Finds a cluster. One that does not answer for a while is an error.
    pub async fn open(options: Options) -> Result<Arc<Self>> {
        let unusable = |why: String| Error::Unavailable(why);
        let places = options.servers.iter().map(|url| Place::parse(url)).collect::<std::result::Result<Vec<_>, _>>();
        let places = places.map_err(unusable)?;
        if places.iter().any(|place| place.tls) {
            options.files.check().map_err(|why| unusable(why.to_string()))?;
        }
        let shared = Arc::new(Shared {
            members: Members::new(places, options.files.clone()),
            names: Names::under(&options.prefix),
            leases: Leases::new(options.observer.clone()),
            newest: channel::Sender::new(0),
            cluster: OnceLock::new(),
            broken: OnceLock::new(),
            health: RwLock::new(Ok(())),
            observer: options.observer.clone(),
        });
        probe::wait_for(&shared).await?;
        let mut tasks = vec![tokio::spawn(probe::run(Arc::clone(&shared), options.health_patience))];
        tasks.extend(options.compaction.map(|every| tokio::spawn(compaction::run(Arc::clone(&shared), every))));
        let asked = Arc::clone(&shared);
        let newest = Newest::new(Box::new(move || {
            let asked = Arc::clone(&asked);
            Box::pin(async move { asked.revision().await })
        }));
        Ok(Arc::new(Self { shared, newest, tasks }))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Shared {
    /// Whether the cluster is still the one it was.
    fn intact(&self) -> Result<()> {
        self.broken.get().map_or(Ok(()), |why| Err(Error::Corrupt(why.clone())))
    }

    /// Does something about a key, and tells who counts.
    async fn observed<T>(
        &self,
        operation: &'static str,
        key: &Bytes,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let Some(observer) = &self.observer else { return call.await };
        let began = Instant::now();
        let answer = call.await;
        observer.asked(operation, key, began.elapsed(), answer.is_err());
        answer
    }

    /// Asks something that changes nothing.
    async fn read<Q, A>(&self, method: &'static str, question: Q, patience: Duration) -> std::result::Result<A, Status>
    where
        Q: prost::Message + Clone + 'static,
        A: Answer,
    {
        let before = *self.newest.borrow();
        let answer: A = self.members.read(method, question, patience).await?;
        self.note(before, answer.header())?;
        Ok(answer)
    }

    async fn transact(&self, request: TxnRequest) -> std::result::Result<TxnResponse, Status> {
        let before = *self.newest.borrow();
        let seat = self.members.seat();
        let answer: TxnResponse = self.members.once(seat, messages::TXN, request, LONG_PATIENCE).await?;
        self.note(before, answer.header())?;
        Ok(answer)
    }

    /// Notes how far the cluster is. An answer to a question that was asked after revision `before` had been heard of is
    /// not older than that, unless the cluster's history was exchanged for an older one.
    fn note(&self, before: Revision, header: Option<&Header>) -> std::result::Result<(), Status> {
        let Some(header) = header else { return Ok(()) };
        let (cluster, now) = (*self.cluster.get_or_init(|| header.cluster_id), revision(header.revision));
        let why = if cluster != header.cluster_id {
            format!("another etcd cluster answers ({:x}, was {cluster:x})", header.cluster_id)
        } else if now < before {
            format!("etcd's history went back from revision {before} to {now}, as after the restoring of a backup")
        } else {
            self.newest.send_if_modified(|newest| {
                let newer = now > *newest;
                *newest = now.max(*newest);
                newer
            });
            return Ok(());
        };
        let why = self.broken.get_or_init(|| format!("{why}: what was read before is not true any more, start anew"));
        *self.health.write() = Err(Error::Corrupt(why.clone()));
        Err(Status::data_loss(why.clone()))
    }

    async fn range(&self, request: messages::RangeRequest) -> std::result::Result<RangeResponse, Status> {
        self.read(messages::RANGE, request, LONG_PATIENCE).await
    }

    async fn ask_revision(&self) -> Result<Revision> {
        let question = messages::RangeRequest { key: EDGE, count_only: true, ..Default::default() };
        let answer: std::result::Result<RangeResponse, Status> = self.read(messages::RANGE, question, PATIENCE).await;
        let answer = answer.map_err(|status| faults::of_read(&status))?;
        Ok(answer.header.map_or(0, |header| revision(header.revision)))
    }

    async fn revision(&self) -> Result<Revision> {
        self.intact()?;
        self.ask_revision().await
    }

    /// What a failure to read at a revision means.
    async fn past_error(&self, requested: Revision, status: &Status) -> Error {
        if faults::is_future(status) {
            match self.revision().await {
                Ok(current) => Error::Future { requested, current },
                Err(error) => error,
            }
        } else if faults::is_compacted(status) {
            match compaction::compacted(self).await {
                Ok(compacted) => Error::Compacted { requested, compacted },
                Err(error) => error,
            }
        } else {
            faults::of_read(status)
        }
    }

    async fn write(&self, write: Write) -> Result<Outcome> {
        self.intact()?;
        let size = write.key.len() + if let Change::Put { value, .. } = &write.change { value.len() } else { 0 };
        let holds_never =
            matches!((write.expect, &write.change), (Expect::Absent, Change::Delete) | (Expect::Revision(0), _));
        if holds_never {
            return Ok(Outcome::Conflict { current: self.get(&write.key).await? });
        }
        let ttl = if let Change::Put { ttl, .. } = &write.change { *ttl } else { None };
        let mut answer = self.attempt(&write, ttl).await;
        if let Err((lease, status)) = &answer
            && *lease != 0
            && faults::is_lost_lease(status)
        {
            // Nothing was written: the lease had ended, or its history with it.
            self.leases.forget(*lease).await;
            answer = self.attempt(&write, ttl).await;
        }
        let answer = answer.map_err(|(_, status)| faults::of_write(&status, size))?;
        if answer.succeeded {
            return Ok(Outcome::Applied { revision: answer.header.map_or(0, |header| revision(header.revision)) });
        }
        let found = answer.responses.into_iter().next().and_then(|response| response.range);
        let current = found.and_then(|range| range.kvs.into_iter().next());
        Ok(Outcome::Conflict { current: current.map(|kv| key_value(&self.names, kv)) })
    }

    /// Sends a write, once. An error names the lease that the key was to be attached to, 0 for none.
    async fn attempt(&self, write: &Write, ttl: Option<Duration>) -> std::result::Result<TxnResponse, (i64, Status)> {
        let lease = match ttl {
            Some(ttl) => self.leases.find(ttl, async |seconds| self.grant(seconds).await).await.map_err(|s| (0, s))?,
            None => 0,
        };
        self.transact(transaction(&self.names, write, lease)).await.map_err(|status| (lease, status))
    }

    /// A lease that was granted and not heard of ends by itself: it may be asked for again.
    async fn grant(&self, ttl: i64) -> std::result::Result<i64, Status> {
        let question = LeaseGrantRequest { ttl };
        let granted: std::result::Result<LeaseGrantResponse, Status> =
            self.members.read(messages::LEASE_GRANT, question, PATIENCE).await;
        granted.map(|granted| granted.id).map_err(|status| {
            // Whatever came of this, the key was not written.
            Status::failed_precondition(faults::worded(&status))
        })
    }

    async fn page(&self, request: RangeRequest) -> Result<Range> {
        let (key, range_end) = self.names.range(&request.start, &request.end);
        let limit = i64::try_from(request.limit).unwrap_or(i64::MAX);
        let at = signed(request.revision.unwrap_or_default());
        let question = messages::RangeRequest { key, range_end, limit, revision: at, ..Default::default() };
        let answer = match (self.range(question).await, request.revision) {
            (Ok(answer), _) => answer,
            (Err(status), Some(requested)) => return Err(self.past_error(requested, &status).await),
            (Err(status), None) => return Err(faults::of_read(&status)),
        };
        let newest = answer.header.map_or(0, |header| revision(header.revision));
        let left = usize::try_from(answer.count).unwrap_or_default().saturating_sub(answer.kvs.len());
        Ok(Range {
            revision: request.revision.unwrap_or(newest),
            items: answer.kvs.into_iter().map(|kv| key_value(&self.names, kv)).collect(),
            more: answer.more,
            remaining: request.count.then_some(left),
        })
    }

    async fn get(&self, key: &Bytes) -> Result<Option<KeyValue>> {
        let question = messages::RangeRequest { key: self.names.there(key), ..Default::default() };
        let answer: std::result::Result<RangeResponse, Status> = self.read(messages::RANGE, question, PATIENCE).await;
        let answer = answer.map_err(|status| faults::of_read(&status))?;
        Ok(answer.kvs.into_iter().next().map(|kv| key_value(&self.names, kv)))
    }
}

/// One conditional write as etcd does it in one step.
fn transaction(names: &Names, write: &Write, lease: i64) -> TxnRequest {
    let key = names.there(&write.key);
    let (target, than) = match write.expect {
        Expect::Absent => (Target::Create, Than::Create(0)),
        Expect::Revision(expected) => (Target::Mod, Than::Mod(signed(expected))),
    };
    let expected = Compare {
        result: Relation::Equal.into(),
        target: target.into(),
        key: key.clone(),
        than: Some(than),
        range_end: Bytes::new(),
    };
    let compare = std::iter::once(expected).chain(write.guards.iter().map(|guard| guarded(names, guard))).collect();
    let change = match &write.change {
        Change::Put { value, .. } => Operation::Put(PutRequest { key: key.clone(), value: value.clone(), lease }),
        Change::Delete => Operation::Delete(DeleteRangeRequest { key: key.clone() }),
    };
    let look = Operation::Range(messages::RangeRequest { key, ..Default::default() });
    let step = |operation| vec![RequestOp { operation: Some(operation) }];
    TxnRequest { compare, success: step(change), failure: step(look) }
}

fn guarded(names: &Names, guard: &Guard) -> Compare {
    let (relation, revision, (key, range_end)) = match guard {
        // Every key of the range was written before that; none is as good as all.
        Guard::Unwritten { prefix, through } => {
            (Relation::Less, signed(*through).saturating_add(1), names.prefix(prefix))
        }
        // A key that is not there is of revision 0, which no key is of.
        Guard::Same { key, revision } => (Relation::Equal, signed(*revision).max(1), (names.there(key), Bytes::new())),
    };
    Compare { result: relation.into(), target: Target::Mod.into(), key, than: Some(Than::Mod(revision)), range_end }
}

fn key_value(names: &Names, kv: messages::KeyValue) -> KeyValue {
    KeyValue {
        key: names.here(&kv.key),
        value: kv.value,
        create_revision: revision(kv.create_revision),
        mod_revision: revision(kv.mod_revision),
    }
}

fn revision(signed: i64) -> Revision {
    u64::try_from(signed).unwrap_or_default()
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Kv for Store {
    fn get(&self, key: Bytes) -> BoxFuture<'_, Result<Option<KeyValue>>> {
        Box::pin(async move {
            self.shared.intact()?;
            self.shared.observed("get", &key, self.shared.get(&key)).await
        })
    }

    fn range(&self, request: RangeRequest) -> BoxFuture<'_, Result<Range>> {
        Box::pin(async move {
            self.shared.intact()?;
            let key = request.start.clone();
            self.shared.observed("list", &key, self.shared.page(request)).await
        })
    }

    fn write(&self, write: Write) -> BoxFuture<'_, Result<Outcome>> {
        let operation = match (&write.change, write.expect) {
            (Change::Delete, _) => "delete",
            (Change::Put { .. }, Expect::Absent) => "create",
            (Change::Put { .. }, Expect::Revision(_)) => "update",
        };
        Box::pin(async move {
            let key = write.key.clone();
            self.shared.observed(operation, &key, self.shared.write(write)).await
        })
    }

    fn watch(&self, prefix: Bytes, after: Revision) -> BoxFuture<'_, Result<Watch>> {
        Box::pin(async move {
            self.shared.intact()?;
            // Whether that revision is there is what a read at it says, too.
            let question = messages::RangeRequest {
                key: EDGE,
                revision: signed(after.max(1)),
                count_only: true,
                ..Default::default()
            };
            match self.shared.range(question).await {
                Ok(_) => Ok(watch::begin(Arc::clone(&self.shared), prefix, after)),
                Err(status) => Err(self.shared.past_error(after, &status).await),
            }
        })
    }

    fn revision(&self) -> BoxFuture<'_, Result<Revision>> {
        Box::pin(self.newest.learn())
    }

    fn compact(&self, revision: Revision) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.shared.intact()?;
            let question = CompactionRequest { revision: signed(revision) };
            let done: std::result::Result<CompactionResponse, Status> =
                self.shared.members.read(messages::COMPACT, question, LONG_PATIENCE).await;
            match done {
                Ok(_) => Ok(()),
                Err(status) if faults::is_compacted(&status) => Ok(()),
                Err(status) => Err(self.shared.past_error(revision, &status).await),
            }
        })
    }

    fn time_left(&self, items: &[KeyValue], revision: Revision) -> BoxFuture<'_, Result<Vec<Option<Duration>>>> {
        let items = items.to_vec();
        Box::pin(async move { lifetimes::left(&self.shared, &items, revision).await })
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn health(&self) -> Result<()> {
        self.shared.health.read().clone()
    }
}
