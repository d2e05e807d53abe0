//! Metrics under upstream's names.

use std::time::Instant;

use prometheus::core::Collector;
use prometheus::{
    Encoder, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder,
};

use pawl_registry::{GROUP, QUARANTINED, Table};
use serde_json::Value;

use crate::request::{RequestInfo, Verb};
use crate::target::Target;

pub struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    duration: HistogramVec,
    in_flight: IntGaugeVec,
    long_running: IntGaugeVec,
    watch_events: IntCounterVec,
    field_validation: HistogramVec,
    objects: IntGaugeVec,
    unreadable: IntGaugeVec,
    quarantined: IntGauge,
    store_refuses_writes: IntGauge,
}

/// A request that has begun.
pub struct InFlight(Option<prometheus::IntGauge>);

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some(gauge) = &self.0 {
            gauge.dec();
        }
    }
}

const RESOURCE: [&str; 5] = ["group", "version", "resource", "subresource", "scope"];

impl Metrics {
    pub fn new(registry: Registry, version: &Value) -> Self {
        let (metrics, build) = Self::register(registry);
        let text = |field: &str| version.get(field).and_then(Value::as_str).unwrap_or_default();
        build.with_label_values(&[text("major"), text("minor"), text("gitVersion"), text("platform")]).set(1);
        metrics
    }

    fn register(registry: Registry) -> (Self, IntGaugeVec) {
        let labels = |more: &[&'static str]| [&RESOURCE[..], more].concat();
        let seconds =
            vec![0.001, 0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0];
        let histogram = |name: &str, help: &str, labels: &[&str]| {
            added(&registry, HistogramVec::new(HistogramOpts::new(name, help).buckets(seconds.clone()), labels))
        };
        let counter = |name: &str, help: &str, labels: &[&str]| {
            added(&registry, IntCounterVec::new(Opts::new(name, help), labels))
        };
        let gauge =
            |name: &str, help: &str, labels: &[&str]| added(&registry, IntGaugeVec::new(Opts::new(name, help), labels));
        let single = |name: &str, help: &str| added(&registry, IntGauge::new(name, help));
        let requests = counter(
            "apiserver_request_total",
            "Requests by verb, dry run, resource, scope, component and code.",
            &labels(&["verb", "dry_run", "component", "code"]),
        );
        let duration = histogram(
            "apiserver_request_duration_seconds",
            "How long requests took.",
            &labels(&["verb", "dry_run", "component"]),
        );
        let in_flight =
            gauge("apiserver_current_inflight_requests", "Requests being answered, by kind.", &["request_kind"]);
        let long_running = gauge(
            "apiserver_longrunning_requests",
            "Requests that last, by verb and resource.",
            &labels(&["verb", "component"]),
        );
        let watch_events = counter(
            "apiserver_watch_events_total",
            "Watch events sent, by resource.",
            &["group", "version", "resource"],
        );
        let field_validation = histogram(
            "field_validation_request_duration_seconds",
            "How long writes took, by what they asked of field validation.",
            &["field_validation"],
        );
        let objects =
            gauge("apiserver_resource_objects", "Objects that are stored, by resource.", &["group", "resource"]);
        let unreadable = gauge(
            "pawl_storage_unreadable_objects",
            "Objects that cannot be read, by resource and reason.",
            &["resource", "reason"],
        );
        let quarantined =
            single("pawl_storage_quarantined_objects", "Objects that were removed unread and can be restored.");
        let store_refuses_writes =
            single("pawl_store_refuses_writes", "1 while the store accepts no writes; /readyz?verbose says why.");
        let build = gauge(
            "kubernetes_build_info",
            "What is running: always 1.",
            &["major", "minor", "git_version", "platform"],
        );
        let metrics = Self {
            registry,
            requests,
            duration,
            in_flight,
            long_running,
            watch_events,
            field_validation,
            objects,
            unreadable,
            quarantined,
            store_refuses_writes,
        };
        (metrics, build)
    }

    /// The registry, for metrics of other parts of the server.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    pub fn start(&self, info: &RequestInfo, labels: &Labels<'_>) -> InFlight {
        if !info.is_resource {
            return InFlight(None);
        }
        let gauge = if info.is_long_running() {
            let [group, version, resource, subresource, scope] = labels.0;
            self.long_running.with_label_values(&[group, version, resource, subresource, scope, "WATCH", "apiserver"])
        } else {
            self.in_flight.with_label_values(&[if info.is_mutating() { "mutating" } else { "readOnly" }])
        };
        gauge.inc();
        InFlight(Some(gauge))
    }

    pub fn finish(&self, in_flight: InFlight, info: &RequestInfo, labels: &Labels<'_>, code: u16, started: Instant) {
        let long_running = info.is_long_running();
        let verb = match info.verb {
            Verb::Create => "POST",
            Verb::Update => "PUT",
            Verb::Patch => "PATCH",
            Verb::Delete => "DELETE",
            Verb::DeleteCollection => "DELETECOLLECTION",
            Verb::List => "LIST",
            Verb::Watch => "WATCH",
            Verb::Get => "GET",
            Verb::Other(_) => "other",
        };
        let [group, version, resource, subresource, scope] = labels.0;
        let mut buffer = [0u8; 3];
        let code = code_text(code, &mut buffer);
        self.requests
            .with_label_values(&[group, version, resource, subresource, scope, verb, "", "apiserver", code])
            .inc();
        if !long_running {
            self.duration
                .with_label_values(&[group, version, resource, subresource, scope, verb, "", "apiserver"])
                .observe(started.elapsed().as_secs_f64());
        }
        drop(in_flight);
    }

    pub fn watch_events(&self, labels: &Labels<'_>) -> prometheus::IntCounter {
        let [group, version, resource, ..] = labels.0;
        self.watch_events.with_label_values(&[group, version, resource])
    }

    pub fn validated(&self, directive: &str, started: Instant) {
        self.field_validation.with_label_values(&[directive]).observe(started.elapsed().as_secs_f64());
    }

    /// All metrics as text, with the number of objects as the table has them and the health of the store as it is now.
    pub fn text(&self, table: &Table, refuses_writes: bool) -> Vec<u8> {
        self.store_refuses_writes.set(i64::from(refuses_writes));
        self.unreadable.reset();
        for stored in table.stored() {
            let resource = &stored.group_resource;
            let count = i64::try_from(stored.cache.len()).unwrap_or(i64::MAX);
            self.objects.with_label_values(&[resource.group.as_str(), &resource.resource]).set(count);
            for entry in stored.cache.closed().values().filter_map(|entry| entry.unreadable()) {
                self.unreadable.with_label_values(&[&resource.to_string(), entry.reason.as_str()]).inc();
            }
            if (resource.group.as_str(), resource.resource.as_str()) == (GROUP, QUARANTINED) {
                self.quarantined.set(count);
            }
        }
        let mut out = Vec::new();
        // Writing to memory cannot fail.
        let _ = TextEncoder::new().encode(&self.registry.gather(), &mut out);
        out
    }
}

/// What a request is counted by: group, version, resource, subresource and scope. Only names that are served count, for
/// every new one costs memory for good; all others are one.
pub struct Labels<'i>([&'i str; 5]);

impl<'i> Labels<'i> {
    pub(crate) fn of(target: &Target, info: &'i RequestInfo) -> Self {
        if !matches!(target, Target::Resource(_)) {
            return Self([""; 5]);
        }
        let scope = match (info.name.is_empty(), info.namespace.is_empty()) {
            (false, _) => "resource",
            (true, false) => "namespace",
            (true, true) => "cluster",
        };
        Self([&info.group, &info.version, &info.resource, &info.subresource, scope])
    }
}

fn code_text(code: u16, buffer: &mut [u8; 3]) -> &str {
    let digit = |n: u16| b'0' + u8::try_from(n % 10).unwrap_or(0);
    *buffer = [digit(code / 100), digit(code / 10), digit(code)];
    std::str::from_utf8(buffer).unwrap_or("500")
}

/// A metric that the registry shows from now on.
#[expect(clippy::expect_used, reason = "the names and labels are constants of this file, tried by every test")]
fn added<T: Collector + Clone + 'static>(registry: &Registry, made: prometheus::Result<T>) -> T {
    let metric = made.expect("a metric with a valid name");
    // Names are distinct; a second registration cannot happen.
    let _ = registry.register(Box::new(metric.clone()));
    metric
}
