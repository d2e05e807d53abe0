//! What is asked of etcd, counted under upstream's names.
//!
//! Owns the way from a key to the resource that is behind it: the store knows only bytes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use pawl_kv_etcd::Observer;
use prometheus::{Histogram, HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry};

const BUCKETS: [f64; 23] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0,
    45.0, 60.0,
];
const LABELS: [&str; 3] = ["operation", "group", "resource"];

#[derive(Debug)]
pub struct EtcdMetrics {
    durations: HistogramVec,
    requests: IntCounterVec,
    errors: IntCounterVec,
    events: IntCounterVec,
    /// The same twice: upstream gave its gauge a counter as successor.
    bookmarks: IntCounterVec,
    bookmark_counts: IntGaugeVec,
    leased: Histogram,
    /// Group and name of built-in resources, by the place of their objects.
    places: HashMap<String, (String, String)>,
}

impl EtcdMetrics {
    pub fn register(registry: &Registry) -> prometheus::Result<Arc<Self>> {
        let timed = |name: &str, help: &str, buckets: &[f64]| HistogramOpts::new(name, help).buckets(buckets.to_vec());
        let durations =
            timed("etcd_request_duration_seconds", "How long etcd took, by operation and resource.", &BUCKETS);
        let leased = timed(
            "etcd_lease_object_counts",
            "How many objects share a lease.",
            &[10.0, 50.0, 100.0, 500.0, 1000.0, 2500.0, 5000.0],
        );
        let requests = Opts::new("etcd_requests_total", "What was asked of etcd, by operation and resource.");
        let errors = Opts::new("etcd_request_errors_total", "What etcd did not do, by operation and resource.");
        let events = Opts::new("apiserver_storage_events_received_total", "Changes that etcd told of, by resource.");
        let bookmarks = |name: &str| Opts::new(name, "How often etcd told a watch how far it is, by resource.");
        let facts = pawl_kinds::builtin().iter().map(|resource| &resource.facts).filter(|facts| !facts.key.is_empty());
        let metrics = Self {
            durations: HistogramVec::new(durations, &LABELS)?,
            requests: IntCounterVec::new(requests, &LABELS)?,
            errors: IntCounterVec::new(errors, &LABELS)?,
            events: IntCounterVec::new(events, &LABELS[1..])?,
            bookmarks: IntCounterVec::new(bookmarks("etcd_bookmark_total"), &LABELS[1..])?,
            bookmark_counts: IntGaugeVec::new(bookmarks("etcd_bookmark_counts"), &LABELS[1..])?,
            leased: Histogram::with_opts(leased)?,
            places: facts.map(|f| (f.key.clone(), (f.group.clone(), f.plural.clone()))).collect(),
        };
        registry.register(Box::new(metrics.durations.clone()))?;
        registry.register(Box::new(metrics.requests.clone()))?;
        registry.register(Box::new(metrics.errors.clone()))?;
        registry.register(Box::new(metrics.events.clone()))?;
        registry.register(Box::new(metrics.bookmarks.clone()))?;
        registry.register(Box::new(metrics.bookmark_counts.clone()))?;
        registry.register(Box::new(metrics.leased.clone()))?;
        Ok(Arc::new(metrics))
    }

    /// The resource behind a key. What users defined says it itself; what belongs to no resource has no name.
    fn resource<'a>(&'a self, key: &'a [u8]) -> (&'a str, &'a str) {
        let key = std::str::from_utf8(key).ok().and_then(|key| key.strip_prefix("/registry/")).unwrap_or_default();
        let mut parts = key.splitn(3, '/');
        let (first, second) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let both = key.get(..first.len() + 1 + second.len()).unwrap_or_default();
        match self.places.get(first).or_else(|| self.places.get(both)) {
            Some((group, resource)) => (group, resource),
            None if first.contains('.') => (first, second),
            None => ("", ""),
        }
    }
}

impl Observer for EtcdMetrics {
    fn asked(&self, operation: &'static str, key: &[u8], took: Duration, failed: bool) {
        let (group, resource) = self.resource(key);
        let labels = [operation, group, resource];
        self.durations.with_label_values(&labels).observe(took.as_secs_f64());
        self.requests.with_label_values(&labels).inc();
        if failed {
            self.errors.with_label_values(&labels).inc();
        }
    }

    fn heard(&self, key: &[u8]) {
        let (group, resource) = self.resource(key);
        self.events.with_label_values(&[group, resource]).inc();
    }

    fn progressed(&self, prefix: &[u8]) {
        let (group, resource) = self.resource(prefix);
        self.bookmarks.with_label_values(&[group, resource]).inc();
        self.bookmark_counts.with_label_values(&[group, resource]).inc();
    }

    fn leased(&self, keys: u32) {
        self.leased.observe(f64::from(keys));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_lead_to_resources() {
        let metrics = EtcdMetrics::register(&Registry::new()).unwrap();
        for (key, expected) in [
            ("/registry/pods/a/b", ("", "pods")),
            ("/registry/deployments/a/b", ("apps", "deployments")),
            ("/registry/services/specs/a/b", ("", "services")),
            ("/registry/services/endpoints/a/b", ("", "endpoints")),
            ("/registry/minions/n", ("", "nodes")),
            (
                "/registry/apiextensions.k8s.io/customresourcedefinitions/a",
                ("apiextensions.k8s.io", "customresourcedefinitions"),
            ),
            ("/registry/example.com/widgets/a/b", ("example.com", "widgets")),
            ("/registry/masterleases/10.0.0.1", ("", "")),
            ("/registry/", ("", "")),
            ("compact_rev_key", ("", "")),
        ] {
            assert_eq!(metrics.resource(key.as_bytes()), expected, "{key}");
        }
    }
}
