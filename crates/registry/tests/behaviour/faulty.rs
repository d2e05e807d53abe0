//! A store that fails when it is told to, and notes what it was asked.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{StreamExt, stream};
use pawl_kv::{Error, KeyValue, Kv, Outcome, Range, RangeRequest, Result, Revision, Watch, WatchMessage, Write};
use tokio::sync::watch;

#[derive(Clone, Debug)]
pub enum Fault {
    Error(Error),
    Panic,
    /// The watch just ends.
    End,
    /// Nothing more is heard.
    Silence,
}

pub struct Faulty {
    inner: Arc<dyn Kv>,
    /// What happens to watches of everything, which feed the caches.
    feed: watch::Sender<Option<Fault>>,
    /// What happens to watches of single resources, which read history.
    past: watch::Sender<Option<Fault>>,
    /// How often a fault has struck.
    struck: Arc<AtomicUsize>,
    /// How many messages watches of single resources were told.
    pub messages: Arc<AtomicUsize>,
    pub ranges: Mutex<Vec<RangeRequest>>,
    /// Ranges as of a revision find it compacted away.
    pub forgetful: std::sync::atomic::AtomicBool,
}

impl Faulty {
    pub fn new(inner: Arc<dyn Kv>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            feed: watch::Sender::new(None),
            past: watch::Sender::new(None),
            struck: Arc::default(),
            messages: Arc::default(),
            ranges: Mutex::default(),
            forgetful: Default::default(),
        })
    }

    /// From now on the feed fails.
    pub async fn break_feed(&self, fault: Fault) {
        self.feed.send_replace(Some(fault));
        self.strikes(1).await;
    }

    pub fn mend_feed(&self) {
        self.feed.send_replace(None);
    }

    pub fn break_past(&self, fault: Option<Fault>) {
        self.past.send_replace(fault);
    }

    /// Waits until a fault has struck so many times more.
    pub async fn strikes(&self, times: usize) {
        let until = self.struck.load(Ordering::Acquire) + times;
        while self.struck.load(Ordering::Acquire) < until {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }
}

struct Cursor {
    inner: Watch,
    faults: watch::Receiver<Option<Fault>>,
    struck: Arc<AtomicUsize>,
    messages: Option<Arc<AtomicUsize>>,
}

impl Cursor {
    async fn next(mut self) -> Option<(Result<WatchMessage>, Self)> {
        loop {
            let fault = self.faults.borrow_and_update().clone();
            if fault.is_some() {
                self.struck.fetch_add(1, Ordering::AcqRel);
            }
            match fault {
                Some(Fault::Error(error)) => return Some((Err(error), self)),
                Some(Fault::Panic) => panic!("as it was told to"),
                Some(Fault::End) => return None,
                Some(Fault::Silence) => {
                    let _ = self.faults.changed().await;
                }
                None => tokio::select! {
                    _ = self.faults.changed() => {}
                    message = self.inner.next() => {
                        if let Some(messages) = &self.messages {
                            messages.fetch_add(1, Ordering::AcqRel);
                        }
                        return Some((message?, self));
                    }
                },
            }
        }
    }
}

impl Kv for Faulty {
    fn get(&self, key: Bytes) -> BoxFuture<'_, Result<Option<KeyValue>>> {
        self.inner.get(key)
    }

    fn range(&self, request: RangeRequest) -> BoxFuture<'_, Result<Range>> {
        self.ranges.lock().unwrap().push(request.clone());
        if let (Some(requested), true) = (request.revision, self.forgetful.load(Ordering::Acquire)) {
            return Box::pin(async move { Err(Error::Compacted { requested, compacted: requested + 1 }) });
        }
        self.inner.range(request)
    }

    fn write(&self, write: Write) -> BoxFuture<'_, Result<Outcome>> {
        self.inner.write(write)
    }

    fn watch(&self, prefix: Bytes, after: Revision) -> BoxFuture<'_, Result<Watch>> {
        Box::pin(async move {
            let is_feed = prefix == "/registry/";
            let faults = if is_feed { self.feed.subscribe() } else { self.past.subscribe() };
            let fault = faults.borrow().clone();
            if let Some(Fault::Error(error)) = fault {
                self.struck.fetch_add(1, Ordering::AcqRel);
                return Err(error);
            }
            let inner = self.inner.watch(prefix, after).await?;
            let messages = (!is_feed).then(|| Arc::clone(&self.messages));
            let cursor = Cursor { inner, faults, struck: Arc::clone(&self.struck), messages };
            Ok(stream::unfold(cursor, Cursor::next).boxed())
        })
    }

    fn revision(&self) -> BoxFuture<'_, Result<Revision>> {
        self.inner.revision()
    }

    fn compact(&self, revision: Revision) -> BoxFuture<'_, Result<()>> {
        self.inner.compact(revision)
    }

    fn is_shared(&self) -> bool {
        self.inner.is_shared()
    }

    fn health(&self) -> Result<()> {
        self.inner.health()
    }
}
