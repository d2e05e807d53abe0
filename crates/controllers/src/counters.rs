//! What the controllers have done, counted.

use std::sync::atomic::{AtomicU64, Ordering};

use pawl_usage::Plan;
use prometheus::core::Collector;
use prometheus::{IntCounterVec, Opts};

/// What has been done since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Objects that the garbage collector deleted.
    pub collected: u64,
    /// Objects whose references to an owner it took away.
    pub orphaned: u64,
    /// Deletions that liens refused.
    pub held: u64,
    /// Events that were recorded.
    pub events: u64,
    /// Objects that went with their namespace.
    pub namespaced_deleted: u64,
    /// Of these, how many went in spite of liens.
    pub liens_ignored: u64,
    pub namespaces_finalized: u64,
    /// Finalizers that the protection controllers took away.
    pub released: u64,
    /// Objects that were made or put right: accounts, certificates, aggregated roles.
    pub published: u64,
    /// What failed and is tried again later.
    pub retries: u64,
}

/// The counting.
#[derive(Debug, Default)]
pub struct Tally {
    pub collected: Count,
    pub orphaned: Count,
    pub held: Count,
    pub events: Count,
    pub namespaced_deleted: Count,
    pub liens_ignored: Count,
    pub namespaces_finalized: Count,
    pub released: Count,
    pub published: Count,
    pub retries: Count,
    pub liens: LienTally,
}

/// What the controllers of Secrets and ConfigMaps in use do.
#[derive(Debug)]
pub struct LienTally {
    pub secrets: Liens,
    pub config_maps: Liens,
}

impl Default for LienTally {
    fn default() -> Self {
        Self { secrets: Liens::new("secret_protection"), config_maps: Liens::new("configmap_protection") }
    }
}

impl LienTally {
    pub fn collectors(&self) -> Vec<Box<dyn Collector>> {
        [&self.secrets, &self.config_maps].into_iter().filter_map(Liens::collector).collect()
    }
}

/// Liens that one controller has added and removed, under the name that the proposal gives it.
#[derive(Clone, Debug)]
pub struct Liens(Option<IntCounterVec>);

impl Liens {
    pub fn new(name: &str) -> Self {
        let help = "Liens on objects in use, by what was done: add, remove, or retry after a failure.";
        let metric = IntCounterVec::new(Opts::new(name, help), &["operation"]).ok();
        let liens = Self(metric);
        ["add", "remove", "retry"].iter().for_each(|operation| liens.count(operation, 0));
        liens
    }

    pub fn collector(&self) -> Option<Box<dyn Collector>> {
        self.0.clone().map(|metric| Box::new(metric) as Box<dyn Collector>)
    }

    pub fn changed(&self, did: Plan) {
        self.count(if did == Plan::Add { "add" } else { "remove" }, 1);
    }

    pub fn retried(&self) {
        self.count("retry", 1);
    }

    fn count(&self, operation: &str, more: u64) {
        if let Some(metric) = &self.0 {
            metric.with_label_values(&[operation]).inc_by(more);
        }
    }
}

#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Tally {
    pub fn read(&self) -> Counters {
        Counters {
            collected: self.collected.get(),
            orphaned: self.orphaned.get(),
            held: self.held.get(),
            events: self.events.get(),
            namespaced_deleted: self.namespaced_deleted.get(),
            liens_ignored: self.liens_ignored.get(),
            namespaces_finalized: self.namespaces_finalized.get(),
            released: self.released.get(),
            published: self.published.get(),
            retries: self.retries.get(),
        }
    }
}
