//! What is counted and measured, under upstream's names. Keys appear by their names and by hashes of their ids only.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use prometheus::core::Collector;
use prometheus::{
    Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGaugeVec, Opts, Registry,
    exponential_buckets,
};

use crate::config::hash_of_name;

pub(crate) const FROM_STORAGE: &str = "from_storage";
pub(crate) const TO_STORAGE: &str = "to_storage";
/// Key ids that are counted at once; older ones make room.
const KEY_IDS: usize = 100;

pub struct Metrics {
    operations: IntCounterVec,
    durations: HistogramVec,
    pub(crate) misses: IntCounter,
    generation: Histogram,
    generation_failures: IntCounter,
    calls: HistogramVec,
    key_ids: IntCounterVec,
    key_ids_last: GaugeVec,
    status_last: GaugeVec,
    invalid_key_ids: IntCounterVec,
    data_keys: IntGaugeVec,
    reloads: IntCounterVec,
    reloads_last: GaugeVec,
    config: IntGaugeVec,
    /// The hash of this server's name.
    server: String,
    counted: Mutex<VecDeque<[String; 3]>>,
}

impl Metrics {
    /// Makes the metrics known to a registry. `server` is this server's identity, of which a hash is shown.
    pub fn register(registry: &Registry, server: &str) -> prometheus::Result<Arc<Self>> {
        let metrics = Self::new(server)?;
        let collectors: [Box<dyn Collector>; 14] = [
            Box::new(metrics.operations.clone()),
            Box::new(metrics.durations.clone()),
            Box::new(metrics.misses.clone()),
            Box::new(metrics.generation.clone()),
            Box::new(metrics.generation_failures.clone()),
            Box::new(metrics.calls.clone()),
            Box::new(metrics.key_ids.clone()),
            Box::new(metrics.key_ids_last.clone()),
            Box::new(metrics.status_last.clone()),
            Box::new(metrics.invalid_key_ids.clone()),
            Box::new(metrics.data_keys.clone()),
            Box::new(metrics.reloads.clone()),
            Box::new(metrics.reloads_last.clone()),
            Box::new(metrics.config.clone()),
        ];
        for collector in collectors {
            registry.register(collector)?;
        }
        Ok(Arc::new(metrics))
    }

    fn new(server: &str) -> prometheus::Result<Self> {
        let storage = |name: &str, help: &str| Opts::new(format!("apiserver_storage_{name}"), help);
        let envelope = |name: &str, help: &str| Opts::new(format!("apiserver_envelope_encryption_{name}"), help);
        let reload = |name: &str, help: &str| Opts::new(format!("apiserver_encryption_config_controller_{name}"), help);
        let timed = |opts: Opts, start: f64, count: usize| -> prometheus::Result<HistogramOpts> {
            Ok(HistogramOpts { common_opts: opts, buckets: exponential_buckets(start, 2.0, count)? })
        };
        let key_id = ["transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash"];
        Ok(Self {
            operations: IntCounterVec::new(
                storage("transformation_operations_total", "Values sealed and opened, by resource, prefix and status."),
                &["resource", "transformation_type", "transformer_prefix", "status"],
            )?,
            durations: HistogramVec::new(
                timed(storage("transformation_duration_seconds", "How long sealing and opening took."), 5e-6, 25)?,
                &["transformation_type", "transformer_prefix"],
            )?,
            misses: IntCounter::with_opts(storage(
                "envelope_transformation_cache_misses_total",
                "How often a key service was asked for a data key.",
            ))?,
            generation: Histogram::with_opts(timed(
                storage("data_key_generation_duration_seconds", "How long making data keys took."),
                5e-6,
                14,
            )?)?,
            generation_failures: IntCounter::with_opts(storage(
                "data_key_generation_failures_total",
                "Data keys that could not be made.",
            ))?,
            calls: HistogramVec::new(
                timed(envelope("kms_operations_latency_seconds", "How long calls to key services took."), 0.0001, 20)?,
                &["provider_name", "method_name", "grpc_status_code"],
            )?,
            key_ids: IntCounterVec::new(envelope("key_id_hash_total", "How often a key id was used."), &key_id)?,
            key_ids_last: GaugeVec::new(
                envelope("key_id_hash_last_timestamp_seconds", "When a key id was last used."),
                &key_id,
            )?,
            status_last: GaugeVec::new(
                envelope("key_id_hash_status_last_timestamp_seconds", "When a key service last named a key id."),
                &["provider_name", "key_id_hash", "apiserver_id_hash"],
            )?,
            invalid_key_ids: IntCounterVec::new(
                envelope("invalid_key_id_from_status_total", "Key ids of key services that cannot be used, by error."),
                &["provider_name", "error"],
            )?,
            data_keys: IntGaugeVec::new(
                envelope("dek_source_cache_size", "Data keys at hand, by key service."),
                &["provider_name"],
            )?,
            reloads: IntCounterVec::new(
                reload("automatic_reloads_total", "Changes of the configuration, taken or refused."),
                &["status", "apiserver_id_hash"],
            )?,
            reloads_last: GaugeVec::new(
                reload("automatic_reload_last_timestamp_seconds", "When a change was last taken or refused."),
                &["status", "apiserver_id_hash"],
            )?,
            config: IntGaugeVec::new(
                reload("last_config_info", "The configuration in use, by its hash."),
                &["apiserver_id_hash", "hash"],
            )?,
            server: hash_of_name(server),
            counted: Mutex::new(VecDeque::new()),
        })
    }

    pub(crate) fn kms_call(&self, provider: &str, method: &str, code: tonic::Code, took: Duration) {
        let code = crate::kms::code_name(code);
        self.calls.with_label_values(&[provider, method, code]).observe(took.as_secs_f64());
    }

    pub(crate) fn data_key_made(&self, began: Option<Instant>) {
        match began {
            Some(began) => self.generation.observe(began.elapsed().as_secs_f64()),
            None => self.generation_failures.inc(),
        }
    }

    pub(crate) fn key_id_told(&self, provider: &str, key_id: &str) {
        let hash = hash_of_name(key_id);
        self.status_last.with_label_values(&[provider, &hash, &self.server]).set(now());
        self.make_room(["", provider, &hash]);
    }

    pub(crate) fn key_id_refused(&self, provider: &str, error: &str) {
        self.invalid_key_ids.with_label_values(&[provider, error]).inc();
    }

    pub(crate) fn data_keys(&self, provider: &str, count: usize) {
        self.data_keys.with_label_values(&[provider]).set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// What counts the uses of one key id.
    pub(crate) fn uses(&self, direction: &str, provider: &str, key_id: &str) -> Uses {
        let hash = hash_of_name(key_id);
        let labels = [direction, provider, &hash, &self.server];
        let uses =
            Uses { total: self.key_ids.with_label_values(&labels), last: self.key_ids_last.with_label_values(&labels) };
        self.make_room([direction, provider, &hash]);
        uses
    }

    fn make_room(&self, labels: [&str; 3]) {
        let labels = labels.map(str::to_owned);
        let mut counted = self.counted.lock();
        counted.retain(|other| *other != labels);
        counted.push_back(labels);
        if counted.len() > KEY_IDS
            && let Some([direction, provider, hash]) = counted.pop_front()
        {
            // What was never counted under these labels cannot be removed: that is as good.
            let used = [direction.as_str(), &provider, &hash, &self.server];
            let _ = self.key_ids.remove_label_values(&used);
            let _ = self.key_ids_last.remove_label_values(&used);
            let _ = self.status_last.remove_label_values(&[provider.as_str(), &hash, &self.server]);
        }
    }

    /// The configuration in use, which others may have been before.
    pub(crate) fn in_use(&self, hash: &str) {
        self.config.reset();
        if !hash.is_empty() {
            self.config.with_label_values(&[self.server.as_str(), hash]).set(1);
        }
    }

    pub(crate) fn reloaded(&self, taken: bool) {
        let status = if taken { "success" } else { "failure" };
        self.reloads.with_label_values(&[status, &self.server]).inc();
        self.reloads_last.with_label_values(&[status, &self.server]).set(now());
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Counts the uses of one key id.
pub(crate) struct Uses {
    total: IntCounter,
    last: Gauge,
}

impl Uses {
    pub fn count(&self) {
        self.total.inc();
        self.last.set(now());
    }
}

/// Counts what one prefix does for one resource. Series begin with their first use.
pub(crate) struct Meter {
    metrics: Arc<Metrics>,
    labels: [Box<str>; 3],
    good: OnceLock<(IntCounter, Histogram)>,
}

impl Meter {
    pub fn new(metrics: &Arc<Metrics>, resource: &str, direction: &str, prefix: &str) -> Self {
        let labels = [resource.into(), direction.into(), prefix.into()];
        Self { metrics: metrics.clone(), labels, good: OnceLock::new() }
    }

    pub fn succeeded(&self, began: Instant) {
        let [resource, direction, prefix] = &self.labels;
        let (total, time) = self.good.get_or_init(|| {
            let total = self.metrics.operations.with_label_values(&[resource, direction, prefix, "OK"]);
            (total, self.metrics.durations.with_label_values(&[direction, prefix]))
        });
        total.inc();
        time.observe(began.elapsed().as_secs_f64());
    }

    pub fn failed(&self, code: &str) {
        let [resource, direction, prefix] = &self.labels;
        self.metrics.operations.with_label_values(&[resource, direction, prefix, code]).inc();
    }
}
