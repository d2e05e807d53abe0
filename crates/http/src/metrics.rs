//! Metrics under upstream's names.

mod requests;

use std::time::{Duration, Instant};

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use prometheus::core::Collector;
use prometheus::{
    Encoder, Histogram, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder,
};

use pawl_registry::{GROUP, QUARANTINED, Table};
use serde_json::Value;

use crate::query::Query;
use crate::request::{RequestInfo, Verb};
use crate::target::Target;
use requests::{Request, Requests};

pub struct Metrics {
    registry: Registry,
    requests: Requests,
    in_flight: ByKind,
    queued: ByKind,
    filters: Filters,
    bodies: HistogramVec,
    long_running: IntGaugeVec,
    watch_events: IntCounterVec,
    event_sizes: HistogramVec,
    field_validation: HistogramVec,
    objects: IntGaugeVec,
    unreadable: IntGaugeVec,
    quarantined: IntGauge,
    store_refuses_writes: IntGauge,
}

/// How many requests of each kind are somewhere.
struct ByKind {
    reading: IntGauge,
    mutating: IntGauge,
}

impl ByKind {
    fn of(gauge: &IntGaugeVec) -> Self {
        let of_kind = |kind: &str| gauge.with_label_values(&[kind]);
        Self { reading: of_kind("readOnly"), mutating: of_kind("mutating") }
    }

    fn enter(&self, info: &RequestInfo) -> InFlight {
        let gauge = if info.is_mutating() { &self.mutating } else { &self.reading };
        gauge.inc();
        InFlight(Some(gauge.clone()))
    }
}

/// What requests pass before they are looked at.
pub struct Filters {
    pub authentication: Histogram,
    pub impersonation: Histogram,
    pub audit: Histogram,
    pub authorization: Histogram,
}

impl Filters {
    fn register(registry: &Registry) -> Self {
        let name = "apiserver_request_filter_duration_seconds";
        let options = HistogramOpts::new(name, "How long requests took to pass what looks at each of them.")
            .buckets(vec![0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 5.0, 10.0, 15.0, 30.0]);
        let filters = added(registry, HistogramVec::new(options, &["filter"]));
        let filter = |name: &str| filters.with_label_values(&[name]);
        Self {
            authentication: filter("authentication"),
            impersonation: filter("impersonation"),
            audit: filter("audit"),
            authorization: filter("authorization"),
        }
    }
}

/// A request that is somewhere, until this is dropped.
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
        metrics.show();
        metrics
    }

    /// A metric without a value is not shown: what counts by resource has one from the start, so that who looks for its name
    /// finds it.
    fn show(&self) {
        let namespaces = Labels(["", "v1", "namespaces", "", "cluster"]);
        let [group, version, resource, subresource, scope] = namespaces.0;
        let watches = [group, version, resource, subresource, scope, "WATCH", "apiserver"];
        self.long_running.with_label_values(&watches);
        self.watch_events(&namespaces);
        self.bodies.with_label_values(&[group, resource, "create"]);
        self.requests.of(&Request { labels: namespaces.0, verb: "LIST", dry_run: "", code: 200 });
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
        let sizes = |name: &str, help: &str, buckets: Vec<f64>, labels: &[&str]| {
            added(&registry, HistogramVec::new(HistogramOpts::new(name, help).buckets(buckets), labels))
        };
        let requests = Requests::register(&registry);
        let in_flight =
            gauge("apiserver_current_inflight_requests", "Requests being answered, by kind.", &["request_kind"]);
        let queued = gauge(
            "apiserver_current_inqueue_requests",
            "Requests with large work that wait for their turn, by kind.",
            &["request_kind"],
        );
        let filters = Filters::register(&registry);
        let bodies = sizes(
            "apiserver_request_body_size_bytes",
            "How large the bodies of requests are.",
            (0..31).map(|step| 50_000.0 + 100_000.0 * f64::from(step)).collect(),
            &["group", "resource", "verb"],
        );
        let event_sizes = sizes(
            "apiserver_watch_events_sizes",
            "How large watch events are, in bytes.",
            (10..18).map(|power| f64::from(1 << power)).collect(),
            &["group", "version", "resource"],
        );
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
            in_flight: ByKind::of(&in_flight),
            queued: ByKind::of(&queued),
            filters,
            bodies,
            long_running,
            watch_events,
            event_sizes,
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
        if !info.is_long_running() {
            return self.in_flight.enter(info);
        }
        let [group, version, resource, subresource, scope] = labels.0;
        let place = [group, version, resource, subresource, scope, "WATCH", "apiserver"];
        let gauge = self.long_running.with_label_values(&place);
        gauge.inc();
        InFlight(Some(gauge))
    }

    /// A request waits for its turn, until what is returned is dropped.
    pub fn queue(&self, info: &RequestInfo) -> InFlight {
        self.queued.enter(info)
    }

    pub fn filters(&self) -> &Filters {
        &self.filters
    }

    /// A body has arrived.
    pub fn received(&self, info: &RequestInfo, bytes: usize) {
        let verb = match info.verb {
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "delete_collection",
            Verb::List | Verb::Watch | Verb::Get | Verb::Other(_) => return,
        };
        self.bodies.with_label_values(&[info.group.as_str(), &info.resource, verb]).observe(bytes as f64);
    }

    /// Counts a request that is over but for its answer on the way. Returns where the size of that is noted.
    pub(crate) fn finish(&self, in_flight: InFlight, answered: &Answered<'_>) -> Option<Histogram> {
        let Answered { info, labels, verb, dry_run, code, took } = *answered;
        let request = Request { labels: labels.0, verb, dry_run, code };
        let series = self.requests.of(&request);
        series.count.inc();
        if !info.is_long_running() {
            let seconds = took.as_secs_f64();
            series.duration.observe(seconds);
            if dry_run.is_empty() {
                series.indicator.observe(seconds);
            }
        }
        drop(in_flight);
        series.sizes.clone()
    }

    /// Where the events of a watch are counted, and their sizes.
    pub fn watch_events(&self, labels: &Labels<'_>) -> (prometheus::IntCounter, Histogram) {
        let [group, version, resource, ..] = labels.0;
        let place = [group, version, resource];
        (self.watch_events.with_label_values(&place), self.event_sizes.with_label_values(&place))
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
            let count = i64::try_from(stored.count()).unwrap_or(i64::MAX);
            self.objects.with_label_values(&[resource.group.as_str(), &resource.resource]).set(count);
            for reason in stored.unreadable() {
                self.unreadable.with_label_values(&[&resource.to_string(), reason.as_str()]).inc();
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

/// A request that has been answered.
#[derive(Clone, Copy)]
pub(crate) struct Answered<'i> {
    pub info: &'i RequestInfo,
    pub labels: &'i Labels<'i>,
    pub verb: &'static str,
    pub dry_run: &'static str,
    pub code: u16,
    pub took: Duration,
}

/// How a request is called by what counts it: its verb, and whether it is a dry run.
pub(crate) fn named(info: &RequestInfo, headers: &HeaderMap, query: &Query) -> (&'static str, &'static str) {
    let is_apply = || headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "application/apply-patch+yaml");
    let verb = match info.verb {
        _ if matches!(info.subresource.as_str(), "log" | "exec" | "portforward" | "attach" | "proxy") => "CONNECT",
        Verb::Create => "POST",
        Verb::Update => "PUT",
        Verb::Patch if is_apply() => "APPLY",
        Verb::Patch => "PATCH",
        Verb::Delete => "DELETE",
        Verb::DeleteCollection => "DELETECOLLECTION",
        Verb::List => "LIST",
        Verb::Watch => "WATCH",
        Verb::Get => "GET",
        Verb::Other(_) => "other",
    };
    let dry_run = match query.get("dryRun") {
        None => "",
        Some(_) if query.all("dryRun").all(|given| given == "All") => "All",
        Some(_) => "invalid",
    };
    (verb, dry_run)
}

/// Measures what is done one after the other.
pub(crate) struct Lap(Instant);

impl Lap {
    pub fn begin() -> Self {
        Self(Instant::now())
    }

    /// Notes how long it took since the last end.
    pub fn end(&mut self, histogram: &Histogram) {
        let now = Instant::now();
        histogram.observe(now.duration_since(self.0).as_secs_f64());
        self.0 = now;
    }
}

/// A metric that the registry shows from now on.
#[expect(clippy::expect_used, reason = "the names and labels are constants of this file, tried by every test")]
fn added<T: Collector + Clone + 'static>(registry: &Registry, made: prometheus::Result<T>) -> T {
    let metric = made.expect("a metric with a valid name");
    // Names are distinct; a second registration cannot happen.
    let _ = registry.register(Box::new(metric.clone()));
    metric
}
