//! What is measured of custom resources, under upstream's names where it has them. Whoever serves metrics asks for the
//! [`collectors`].

use std::sync::LazyLock;
use std::time::Duration;

use prometheus::core::Collector;
use prometheus::{Histogram, HistogramOpts, IntCounterVec, Opts};

struct Metrics {
    ratcheting: Histogram,
    update_ratcheting: Histogram,
    ratcheted: IntCounterVec,
    compilation: Histogram,
    evaluation: Histogram,
    openapi_v2: IntCounterVec,
    openapi_v3: IntCounterVec,
}

static METRICS: LazyLock<Metrics> = LazyLock::new(|| {
    let compared = || prometheus::exponential_buckets(0.000_01, 4.0, 10).unwrap_or_default();
    let histogram = |name: &str, help: &str, buckets: Option<Vec<f64>>| {
        let opts = HistogramOpts::new(name, help);
        valid(Histogram::with_opts(match buckets {
            Some(buckets) => opts.buckets(buckets),
            None => opts,
        }))
    };
    let counter = |name: &str, help: &str, labels: &[&str]| valid(IntCounterVec::new(Opts::new(name, help), labels));
    Metrics {
        ratcheting: histogram(
            "apiextensions_apiserver_validation_ratcheting_seconds",
            "How long updates took to compare new objects with old ones.",
            Some(compared()),
        ),
        update_ratcheting: histogram(
            "apiextensions_apiserver_update_ratcheting_time",
            "How long updates took to compare new objects with old ones, in seconds.",
            Some(compared()),
        ),
        ratcheted: counter(
            "apiextensions_apiserver_ratcheted_errors_total",
            "Errors that updates were let pass with because the value was there before, by definition and place in the schema.",
            &["crd", "schema_path"],
        ),
        compilation: histogram(
            "apiserver_cel_compilation_duration_seconds",
            "How long it took to compile the rules of a schema.",
            None,
        ),
        evaluation: histogram(
            "apiserver_cel_evaluation_duration_seconds",
            "How long it took to evaluate the rules of a schema.",
            None,
        ),
        openapi_v2: counter(
            "apiextensions_openapi_v2_regeneration_count",
            "How often a definition changed what OpenAPI 2 publishes, and why.",
            &["crd", "reason"],
        ),
        openapi_v3: counter(
            "apiextensions_openapi_v3_regeneration_count",
            "How often a definition changed what OpenAPI 3 publishes, and why.",
            &["crd", "group", "reason", "version"],
        ),
    }
});

#[expect(clippy::expect_used, reason = "the names and labels are constants of this file, tried by every test")]
fn valid<T>(result: prometheus::Result<T>) -> T {
    result.expect("a metric with a valid name")
}

/// Everything that is measured here.
pub fn collectors() -> Vec<Box<dyn Collector>> {
    let metrics = &*METRICS;
    vec![
        Box::new(metrics.ratcheting.clone()),
        Box::new(metrics.update_ratcheting.clone()),
        Box::new(metrics.ratcheted.clone()),
        Box::new(metrics.compilation.clone()),
        Box::new(metrics.evaluation.clone()),
        Box::new(metrics.openapi_v2.clone()),
        Box::new(metrics.openapi_v3.clone()),
    ]
}

/// An update was compared with what was there before.
pub(crate) fn compared(took: Duration) {
    METRICS.ratcheting.observe(took.as_secs_f64());
    METRICS.update_ratcheting.observe(took.as_secs_f64());
}

/// An error was let pass.
pub(crate) fn ratcheted(definition: &str, schema_path: &str) {
    METRICS.ratcheted.with_label_values(&[definition, schema_path]).inc();
}

pub(crate) fn compiled(took: Duration) {
    METRICS.compilation.observe(took.as_secs_f64());
}

pub(crate) fn evaluated(took: Duration) {
    METRICS.evaluation.observe(took.as_secs_f64());
}

/// A definition changed what is published: `add`, `update` or `remove`.
pub fn published<'v>(definition: &str, group: &str, versions: impl IntoIterator<Item = &'v str>, reason: &str) {
    METRICS.openapi_v2.with_label_values(&[definition, reason]).inc();
    for version in versions {
        METRICS.openapi_v3.with_label_values(&[definition, group, reason, version]).inc();
    }
}
