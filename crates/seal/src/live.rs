//! The keys in use, and how others take their place while the server runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use pawl_meta::GroupResource;
use tokio::sync::watch;

use crate::config::{Config, ConfigError};
use crate::keys::{Keys, Mark, Surroundings};
use crate::metrics::Metrics;
use crate::pace::Pace;
use crate::transform::Transform;

/// The name under which the health of key services is asked for.
pub const HEALTH_CHECK: &str = "kms-providers";

/// The keys of a server. Clones are the same.
#[derive(Clone)]
pub struct Seals {
    pub(crate) shared: Arc<Shared>,
    around: Surroundings,
    news: Arc<watch::Sender<u64>>,
}

impl std::fmt::Debug for Seals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Seals(generation {})", self.shared.generation())
    }
}

pub(crate) struct Shared {
    current: ArcSwap<(u64, Arc<Keys>)>,
    generation: AtomicU64,
    /// One change after the other.
    changing: Mutex<()>,
    pub metrics: Arc<Metrics>,
}

impl Shared {
    /// Cheap to ask, for everybody who has seen the keys already.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub fn mark(&self) -> Mark {
        let current = self.current.load();
        Mark::new(current.0, current.1.clone())
    }
}

/// Keys that could be used from now on.
pub struct Candidate {
    mark: Mark,
}

impl Candidate {
    /// To see what would change: `candidate.mark().since(&seals.mark(), resource)`.
    pub fn mark(&self) -> &Mark {
        &self.mark
    }

    pub fn hash(&self) -> &str {
        &self.mark.keys.hash
    }
}

/// Why keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("health check for new transformers failed: {0}")]
    Unwell(String),
}

impl Seals {
    /// Nothing is sealed, as without a configuration.
    pub fn none(metrics: Arc<Metrics>) -> Self {
        Self::with(Pace::default(), metrics)
    }

    /// Starts with a configuration. Key services need not be there yet.
    pub async fn start(config: &Config, pace: Pace, metrics: Arc<Metrics>) -> Result<Self, ConfigError> {
        let seals = Self::with(pace, metrics);
        let keys = Keys::build(config, &[], &seals.around).await?;
        seals.replace(Arc::new(keys));
        Ok(seals)
    }

    fn with(pace: Pace, metrics: Arc<Metrics>) -> Self {
        let current = ArcSwap::new(Arc::new((0, Arc::new(Keys::default()))));
        let (generation, changing) = (AtomicU64::new(0), Mutex::new(()));
        let shared = Arc::new(Shared { current, generation, changing, metrics: metrics.clone() });
        let news = Arc::new(watch::Sender::new(0));
        let told = news.clone();
        let tell = Arc::new(move || told.send_modify(|count: &mut u64| *count += 1));
        Self { shared, around: Surroundings { pace, metrics, news: tell }, news }
    }

    /// What the values of a resource go through, now and after every change.
    pub fn transform(&self, resource: GroupResource) -> Transform {
        Transform::new(self.shared.clone(), resource)
    }

    /// Changes whenever something might open that did not, or the other way round: look at a new mark then.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// The keys at this moment.
    pub fn mark(&self) -> Mark {
        self.shared.mark()
    }

    pub(crate) fn pace(&self) -> Pace {
        self.around.pace
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// Makes keys ready without using them. Every key service among them has to answer.
    pub async fn prepare(&self, config: &Config) -> Result<Candidate, Refused> {
        let now = self.mark();
        let keys = Arc::new(Keys::build(config, now.keys.services(), &self.around).await?);
        keys.health().await.map_err(Refused::Unwell)?;
        Ok(Candidate { mark: Mark::new(now.generation + 1, keys) })
    }

    /// Uses other keys from now on, for everything at once.
    pub fn install(&self, candidate: Candidate) -> u64 {
        self.replace(candidate.mark.keys)
    }

    fn replace(&self, keys: Arc<Keys>) -> u64 {
        let _turn = self.shared.changing.lock();
        self.shared.metrics.in_use(&keys.hash);
        let generation = self.shared.current.load().0 + 1;
        self.shared.current.store(Arc::new((generation, keys)));
        self.shared.generation.store(generation, Ordering::Release);
        (self.around.news)();
        generation
    }

    /// How many key services there are.
    pub fn services(&self) -> usize {
        self.mark().keys.services().len()
    }

    /// The same as [`Seals::health`], for each key service by itself.
    pub async fn health_each(&self) -> Vec<Result<(), String>> {
        self.mark().keys.health_each().await
    }

    /// Whether all key services are well. What was heard a moment ago is not asked again.
    pub async fn health(&self) -> Result<(), String> {
        self.mark().keys.health().await
    }
}
