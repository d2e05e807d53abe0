//! Keys made ready for a test.
#![allow(dead_code, reason = "every test uses a part")]

use std::sync::Arc;
use std::time::Duration;

use pawl_meta::GroupResource;
use pawl_seal::{Config, Metrics, Opened, Pace, Reason, Sealed, Seals, Transform};
use prometheus::{Encoder, Registry, TextEncoder};
use serde_json::{Value, json};

/// Everything happens soon.
pub const PACE: Pace = Pace {
    confirm: Duration::from_millis(50),
    retry: Duration::from_millis(20),
    confirmed: Duration::from_secs(60),
    fresh: Duration::ZERO,
    look: Duration::from_millis(20),
};

/// Long enough for a machine that does much else.
pub const DEADLINE: Duration = Duration::from_secs(30);

pub struct Keyed {
    pub seals: Seals,
    pub transform: Transform,
    pub registry: Registry,
}

pub fn resource(name: &str) -> GroupResource {
    let (resource, group) = name.split_once('.').unwrap_or((name, ""));
    GroupResource::new(group, resource)
}

pub fn document(entries: Value) -> String {
    let kind = "EncryptionConfiguration";
    json!({"apiVersion": "apiserver.config.k8s.io/v1", "kind": kind, "resources": entries}).to_string()
}

/// One entry for everything.
pub fn for_all(providers: Value) -> String {
    document(json!([{"resources": ["*.*"], "providers": providers}]))
}

pub fn config(text: &str) -> Config {
    Config::parse("config", text.as_bytes(), true).unwrap()
}

pub fn metrics() -> (Registry, Arc<Metrics>) {
    let registry = Registry::new();
    let metrics = Metrics::register(&registry, "this-server").unwrap();
    (registry, metrics)
}

impl Keyed {
    /// Everything is sealed by these providers.
    pub async fn with(providers: Value) -> Self {
        Self::new(&for_all(providers), PACE).await
    }

    pub async fn new(text: &str, pace: Pace) -> Self {
        let (registry, metrics) = metrics();
        let seals = Seals::start(&config(text), pace, metrics).await.unwrap();
        let transform = seals.transform(resource("secrets"));
        Self { seals, transform, registry }
    }

    pub fn seal(&self, place: &str, plain: &str) -> Vec<u8> {
        self.transform.seal(place, &pawl_seal::Plain::new(plain.to_owned())).unwrap().into_bytes().to_vec()
    }

    pub async fn open(&self, place: &str, value: Vec<u8>) -> Opened {
        self.transform.open(place, Sealed::stored(value)).finish().await
    }

    /// The plain bytes, and whether they are stale.
    pub async fn plain(&self, place: &str, value: Vec<u8>) -> (Vec<u8>, bool) {
        match self.open(place, value).await {
            Opened::Plain { bytes, stale, .. } => (bytes.into_bytes().to_vec(), stale),
            other => panic!("{other:?}"),
        }
    }

    /// Why a value does not open.
    pub async fn refusal(&self, place: &str, value: &[u8]) -> (Reason, String) {
        match self.open(place, value.to_vec()).await {
            Opened::Unreadable(unreadable) => (unreadable.reason, unreadable.message),
            other => panic!("{other:?}"),
        }
    }

    pub async fn is_away(&self, place: &str, value: &[u8]) -> bool {
        matches!(self.open(place, value.to_vec()).await, Opened::Away(_))
    }

    /// The value of a metric that begins like this.
    pub fn metric(&self, begin: &str) -> Option<f64> {
        let text = rendered(&self.registry);
        text.lines().find(|line| line.starts_with(begin)).and_then(|line| line.rsplit(' ').next()?.parse().ok())
    }
}

pub fn rendered(registry: &Registry) -> String {
    let mut text = Vec::new();
    TextEncoder::new().encode(&registry.gather(), &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Waits until something is so.
pub async fn eventually(what: &str, mut so: impl AsyncFnMut() -> bool) {
    let began = std::time::Instant::now();
    while !so().await {
        assert!(began.elapsed() < DEADLINE, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
