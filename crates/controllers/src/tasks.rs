//! The tasks of the controllers: workers that take keys from queues, listeners that fill them, and how all of it ends.

use std::hash::Hash;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::informer::{Batch, Informer};
use crate::workqueue::{Reconciled, WorkQueue};

/// Looks at one key and does what is to be done about it.
pub trait Reconciler: Send + Sync + 'static {
    type Key: Clone + Eq + Hash + Send + Sync + 'static;

    fn queue(&self) -> &WorkQueue<Self::Key>;

    /// Takes in what was told of a resource and puts in line whom it concerns.
    fn enqueue(&self, batch: Batch);

    fn reconcile(&self, key: Self::Key) -> impl Future<Output = Reconciled> + Send;
}

/// How many batches of news may wait for a controller; past that its watches wait, and start anew when they fall behind.
const WAITING_BATCHES: usize = 64;

/// Everybody who works, and the sign to stop.
pub struct Tasks {
    tasks: JoinSet<()>,
    stop: watch::Sender<bool>,
    pub concurrency: usize,
}

impl Tasks {
    pub fn new(concurrency: usize) -> Self {
        Self { tasks: JoinSet::new(), stop: watch::Sender::new(false), concurrency }
    }

    /// Sets a controller to work: its feeds, its ear and its workers.
    pub fn run<H: Reconciler>(&mut self, reconciler: Arc<H>, informer: Informer, workers: usize) {
        let (sender, mut batches) = mpsc::channel(WAITING_BATCHES);
        self.until_stop(informer.run(sender));
        let listener = Arc::clone(&reconciler);
        self.until_stop(async move {
            while let Some(batch) = batches.recv().await {
                listener.enqueue(batch);
            }
        });
        self.add_workers(&reconciler, workers);
    }

    /// Sets more workers to work, on a queue that somebody else fills.
    pub fn add_workers<H: Reconciler>(&mut self, reconciler: &Arc<H>, workers: usize) {
        for _ in 0..workers {
            let reconciler = Arc::clone(reconciler);
            let mut stop = self.stop.subscribe();
            self.tasks.spawn(async move {
                loop {
                    // Only the wait for work is given up: work under way is finished.
                    let key = tokio::select! {
                        _ = stop.wait_for(|stop| *stop) => return,
                        key = reconciler.queue().next() => key,
                    };
                    let step = reconciler.reconcile(key.clone()).await;
                    reconciler.queue().finish(key, step);
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
