//! The tasks of the controllers: workers that take keys from queues, listeners that fill them, and how all of it ends.

use std::hash::Hash;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::feed::{Batch, Feed};
use crate::queue::{Queue, Step};

/// Looks at one key and does what is to be done about it.
pub trait Handler: Send + Sync + 'static {
    type Key: Clone + Eq + Hash + Send + Sync + 'static;

    fn queue(&self) -> &Queue<Self::Key>;

    /// Takes in what was told of a resource and puts in line whom it concerns.
    fn hear(&self, batch: Batch);

    fn handle(&self, key: Self::Key) -> impl Future<Output = Step> + Send;
}

/// How many batches of news may wait for a controller; past that its watches wait, and start anew when they fall behind.
const WAITING_BATCHES: usize = 64;

/// Everybody who works, and the sign to stop.
pub struct Crew {
    tasks: JoinSet<()>,
    stop: watch::Sender<bool>,
    pub concurrency: usize,
}

impl Crew {
    pub fn new(concurrency: usize) -> Self {
        Self { tasks: JoinSet::new(), stop: watch::Sender::new(false), concurrency }
    }

    /// Sets a controller to work: its feeds, its ear and its workers.
    pub fn hire<H: Handler>(&mut self, handler: Arc<H>, feed: Feed, workers: usize) {
        let (sender, mut batches) = mpsc::channel(WAITING_BATCHES);
        self.until_stop(feed.run(sender));
        let ear = Arc::clone(&handler);
        self.until_stop(async move {
            while let Some(batch) = batches.recv().await {
                ear.hear(batch);
            }
        });
        self.employ(&handler, workers);
    }

    /// Sets more workers to work, on a queue that somebody else fills.
    pub fn employ<H: Handler>(&mut self, handler: &Arc<H>, workers: usize) {
        for _ in 0..workers {
            let handler = Arc::clone(handler);
            let mut stop = self.stop.subscribe();
            self.tasks.spawn(async move {
                loop {
                    // Only the wait for work is given up: work under way is finished.
                    let key = tokio::select! {
                        _ = stop.wait_for(|stop| *stop) => return,
                        key = handler.queue().next() => key,
                    };
                    let step = handler.handle(key.clone()).await;
                    handler.queue().finish(key, step);
                }
            });
        }
    }

    /// Runs something until the end.
    pub fn until_stop(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        let mut stop = self.stop.subscribe();
        self.tasks.spawn(async move {
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => {}
                () = task => {}
            }
        });
    }

    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        while self.tasks.join_next().await.is_some() {}
    }
}
