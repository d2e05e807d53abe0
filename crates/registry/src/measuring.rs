//! What is measured of caches and of writes, under upstream's names.
//!
//! A cache counts for itself, without looking anything up; what the counts are is put together when somebody asks for it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use pawl_apply::Compared;
use pawl_meta::GroupResource;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{Histogram, HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts};

use crate::table::{Stored, Table};
use crate::{Context, Served};

/// What happened to one cache.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    received: AtomicU64,
    dispatched: AtomicU64,
    loads: AtomicU64,
    /// Reads that must show everything acknowledged before them: those that did, and those that waited in vain.
    reads: [AtomicU64; 2],
    waits: OnceLock<Histogram>,
}

impl Tally {
    /// Events came from the store, and so many of them are news to somebody.
    pub fn receive(&self, received: u64, dispatched: u64) {
        self.received.fetch_add(received, Ordering::Relaxed);
        self.dispatched.fetch_add(dispatched, Ordering::Relaxed);
    }

    pub fn load(&self) {
        self.loads.fetch_add(1, Ordering::Relaxed);
    }

    /// Somebody has waited for the cache.
    pub fn wait(&self, of: &GroupResource, waited: Duration, in_vain: bool) {
        let [shown, missed] = &self.reads;
        if in_vain { missed } else { shown }.fetch_add(1, Ordering::Relaxed);
        self.waits.get_or_init(|| waits(of)).observe(waited.as_secs_f64());
    }
}

#[expect(clippy::expect_used, reason = "the name is a constant, and tried by every test")]
fn waits(of: &GroupResource) -> Histogram {
    let help = "How long reads waited for the cache to be new enough.";
    let buckets = vec![0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0];
    let options = HistogramOpts::new("apiserver_watch_cache_read_wait_seconds", help).buckets(buckets);
    let labelled = options.const_label("group", of.group.as_str()).const_label("resource", of.resource.as_str());
    Histogram::with_opts(labelled).expect("a metric with a valid name")
}

/// What is measured of writes and watches, by whoever has to do with them.
#[derive(Clone)]
pub struct Metrics {
    comparisons: HistogramVec,
    own_requests: IntCounterVec,
    watch_lists: HistogramVec,
}

impl Metrics {
    #[expect(clippy::expect_used, reason = "names and labels are constants, and tried by every test")]
    pub(crate) fn new() -> Self {
        let histogram = |name: &str, help: &str, buckets: &[f64], labels: &[&str]| {
            HistogramVec::new(HistogramOpts::new(name, help).buckets(buckets.to_vec()), labels)
                .expect("a metric with a valid name")
        };
        let own_requests = Opts::new("apiserver_selfrequest_total", "Requests of the server to itself.");
        Self {
            comparisons: histogram(
                "apiserver_request_timestamp_comparison_time",
                "How long it took to see whether a write changes anything but times.",
                &[0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 5.0],
                &["code_path"],
            ),
            own_requests: IntCounterVec::new(own_requests, &["verb", "group", "resource", "subresource"])
                .expect("a metric with a valid name"),
            watch_lists: histogram(
                "apiserver_watch_list_duration_seconds",
                "How long watches took to send what was there.",
                &[0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0],
                &["group", "version", "resource", "scope"],
            ),
        }
    }

    pub(crate) fn compared(&self, outcome: Compared, began: Instant) {
        let path = match outcome {
            Compared::OwnersDiffer => "unequalObjectsFast",
            Compared::Differ => "unequalObjectsSlow",
            Compared::Same => "equalObjectsSlow",
        };
        self.comparisons.with_label_values(&[path]).observe(began.elapsed().as_secs_f64());
    }

    /// Counts a request of the server itself, if it is one.
    pub fn own_request(&self, cx: &Context, verb: &str, served: &Served, subresource: &str) {
        if cx.is_own() {
            let GroupResource { group, resource } = &served.group_resource;
            self.own_requests.with_label_values(&[verb, group, resource, subresource]).inc();
        }
    }

    /// Where it is noted how long a watch took to send what was there.
    pub(crate) fn watch_list(&self, served: &Served, scope: &str) -> Histogram {
        let facts = &served.resource.facts;
        self.watch_lists.with_label_values(&[facts.group.as_str(), &facts.version, &facts.plural, scope])
    }

    pub(crate) fn collectors(&self) -> Vec<Box<dyn Collector>> {
        vec![
            Box::new(self.comparisons.clone()),
            Box::new(self.own_requests.clone()),
            Box::new(self.watch_lists.clone()),
        ]
    }
}

/// Shows what the caches of a table have counted.
pub(crate) struct Caches<F> {
    pub table: F,
    received: IntCounterVec,
    dispatched: IntCounterVec,
    loads: IntCounterVec,
    reads: IntCounterVec,
    revision: IntGaugeVec,
}

impl<F: Fn() -> Option<Arc<Table>> + Send + Sync> Caches<F> {
    #[expect(clippy::expect_used, reason = "names and labels are constants, and tried by every test")]
    pub fn new(table: F) -> Self {
        const PLACE: [&str; 2] = ["group", "resource"];
        let counter = |name: &str, help: &str, labels: &[&str]| {
            IntCounterVec::new(Opts::new(name, help), labels).expect("a metric with a valid name")
        };
        let revision = Opts::new("apiserver_watch_cache_resource_version", "The newest version that a cache has seen.");
        Self {
            table,
            received: counter(
                "apiserver_watch_cache_events_received_total",
                "Events that caches were told by the store.",
                &PLACE,
            ),
            dispatched: counter(
                "apiserver_watch_cache_events_dispatched_total",
                "Events that caches have for those who watch.",
                &PLACE,
            ),
            loads: counter(
                "apiserver_watch_cache_initializations_total",
                "How often caches were filled with everything there is.",
                &PLACE,
            ),
            reads: counter(
                "apiserver_watch_cache_consistent_read_total",
                "Reads that must show everything written before them; none reads the store instead.",
                &["group", "resource", "success", "fallback"],
            ),
            revision: IntGaugeVec::new(revision, &PLACE).expect("a metric with a valid name"),
        }
    }

    fn note(&self, stored: &Stored) {
        let GroupResource { group, resource } = &stored.group_resource;
        let place = [group.as_str(), resource.as_str()];
        let tally = stored.cache.tally();
        for (counter, count) in
            [(&self.received, &tally.received), (&self.dispatched, &tally.dispatched), (&self.loads, &tally.loads)]
        {
            counter.with_label_values(&place).inc_by(count.load(Ordering::Relaxed));
        }
        for (success, count) in ["true", "false"].into_iter().zip(&tally.reads) {
            let count = count.load(Ordering::Relaxed);
            if count > 0 {
                self.reads.with_label_values(&[group, resource, success, "false"]).inc_by(count);
            }
        }
        let revision = i64::try_from(stored.cache.newest()).unwrap_or(i64::MAX);
        self.revision.with_label_values(&place).set(revision);
    }
}

impl<F: Fn() -> Option<Arc<Table>> + Send + Sync> Collector for Caches<F> {
    fn desc(&self) -> Vec<&Desc> {
        let counters = [&self.received, &self.dispatched, &self.loads, &self.reads];
        counters.into_iter().flat_map(Collector::desc).chain(self.revision.desc()).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let Some(table) = (self.table)() else { return Vec::new() };
        // What is no longer served is no longer shown.
        let counters = [&self.received, &self.dispatched, &self.loads, &self.reads];
        counters.iter().for_each(|counter| counter.reset());
        self.revision.reset();
        let mut waited: Option<MetricFamily> = None;
        for stored in table.stored() {
            self.note(stored);
            for mut family in stored.cache.tally().waits.get().iter().flat_map(|histogram| histogram.collect()) {
                match &mut waited {
                    Some(all) => all.mut_metric().append(&mut family.take_metric()),
                    None => waited = Some(family),
                }
            }
        }
        let shown = counters.into_iter().flat_map(Collector::collect);
        shown.chain(self.revision.collect()).chain(waited).collect()
    }
}
