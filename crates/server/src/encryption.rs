//! Encryption at rest, as a server uses it: the configuration at the start, its changes, and how key services are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pawl_http::{Check, CheckEncryption};
use pawl_registry::Registry;
use pawl_seal::{Candidate, Config, ConfigError, HEALTH_CHECK, Metrics, Pace, Seals};
use prometheus::{IntGaugeVec, Opts};
use tokio::task::JoinHandle;

use crate::{Error, Settings, settings};

/// How often it is looked at how key services are.
const EVERY: Duration = Duration::from_secs(1);

/// The keys of a server, and where they come from.
pub struct Encryption {
    seals: Seals,
    settings: settings::Encryption,
    services: Services,
    losses: IntGaugeVec,
}

/// How each key service was when somebody last looked.
type Services = Arc<Mutex<Vec<Result<(), String>>>>;

/// Reads the configuration, if there is one. What cannot be used ends the start; key services need not be there yet.
pub async fn start(settings: &Settings, metrics: &prometheus::Registry) -> Result<Option<Encryption>, Error> {
    let Some(settings::Encryption { config, reload }) = &settings.encryption else { return Ok(None) };
    let refused = |why: String| Error::Start(format!("--encryption-provider-config: {why}"));
    let parsed = Config::load(config, *reload).map_err(|why| refused(why.to_string()))?;
    let known = Metrics::register(metrics, &settings.advertised()).map_err(|why| refused(why.to_string()))?;
    let losses = IntGaugeVec::new(
        Opts::new(
            "pawl_encryption_config_lost_objects",
            "Objects that could be read before the last change of the encryption configuration, and not after it.",
        ),
        &["resource"],
    );
    let losses = losses.map_err(|why| refused(why.to_string()))?;
    metrics.register(Box::new(losses.clone())).map_err(|why| refused(why.to_string()))?;
    let seals = Seals::start(&parsed, Pace::default(), known).await.map_err(|why| refused(why.to_string()))?;
    let services = Services::default();
    let asked = tokio::time::timeout(EVERY, look(&seals, &services)).await;
    if asked.is_err() {
        note(&services, vec![Err("it has not answered yet".to_owned()); seals.services()]);
    }
    let settings = settings::Encryption { config: config.clone(), reload: *reload };
    Ok(Some(Encryption { seals, settings, services, losses }))
}

impl Encryption {
    pub fn seals(&self) -> Seals {
        self.seals.clone()
    }

    /// Looks after keys for as long as the server runs.
    pub fn follow(&self, registry: &Arc<Registry>) -> JoinHandle<()> {
        let (registry, seals, services) = (Arc::clone(registry), self.seals.clone(), Arc::clone(&self.services));
        let settings::Encryption { config, reload } = self.settings.clone();
        let losses = self.losses.clone();
        tokio::spawn(async move {
            let reloading = async {
                match reload {
                    true => seals.follow(config, |candidate| review(&registry, &seals, &losses, candidate)).await,
                    false => std::future::pending().await,
                }
            };
            let looking = async {
                loop {
                    look(&seals, &services).await;
                    tokio::time::sleep(EVERY).await;
                }
            };
            tokio::join!(registry.follow_keys(), reloading, looking);
        })
    }

    /// How key services are, as health shows it: together where the configuration may change, else each by its place.
    pub fn checks(&self) -> Vec<(String, Check)> {
        if self.settings.reload {
            let services = Arc::clone(&self.services);
            return vec![(HEALTH_CHECK.to_owned(), Box::new(move || together(&services)))];
        }
        let check = |at: usize| {
            let services = Arc::clone(&self.services);
            let check: Check = Box::new(move || lock(&services).get(at).cloned().unwrap_or(Ok(())));
            (format!("kms-provider-{at}"), check)
        };
        (0..self.seals.services()).map(check).collect()
    }
}

/// What answers who wants to know beforehand what a configuration would make unreadable.
pub fn checker(registry: &Arc<Registry>, encryption: Option<&Encryption>) -> CheckEncryption {
    let (registry, seals) = (Arc::clone(registry), encryption.map(Encryption::seals));
    Box::new(move |path| Box::pin(check(Arc::clone(&registry), seals.clone(), path)))
}

async fn check(
    registry: Arc<Registry>,
    seals: Option<Seals>,
    path: PathBuf,
) -> Result<BTreeMap<String, usize>, String> {
    let config = Config::load(&path, true).map_err(|why| told(&path, &why))?;
    let seals = match seals {
        Some(seals) => seals,
        // Nothing is sealed so far.
        None => Seals::none(Metrics::register(&prometheus::Registry::new(), "").map_err(|why| why.to_string())?),
    };
    let candidate = seals.prepare(&config).await.map_err(|why| why.to_string())?;
    Ok(registry.lost_with(&seals.mark(), candidate.mark()))
}

/// Why a configuration cannot be used, for who may ask about any path: nothing of what stands in a file that is none.
fn told(path: &Path, why: &ConfigError) -> String {
    if !matches!(why, ConfigError::Decode { .. }) {
        return why.to_string();
    }
    tracing::warn!(%why, "an encryption configuration that somebody asked about");
    format!("{} is no EncryptionConfiguration; the log of the server says why", path.display())
}

/// Says what will not be readable any more, before it is so.
async fn review(registry: &Registry, seals: &Seals, losses: &IntGaugeVec, candidate: Candidate) -> Candidate {
    losses.reset();
    for (resource, count) in registry.lost_with(&seals.mark(), candidate.mark()) {
        tracing::error!(resource, count, "the new encryption configuration makes objects unreadable");
        losses.with_label_values(&[resource.as_str()]).set(i64::try_from(count).unwrap_or(i64::MAX));
    }
    candidate
}

async fn look(seals: &Seals, services: &Services) {
    note(services, seals.health_each().await);
}

fn note(services: &Services, now: Vec<Result<(), String>>) {
    *lock(services) = now;
}

fn together(services: &Services) -> Result<(), String> {
    let services = lock(services);
    let wrong = services.iter().enumerate().filter_map(|(at, service)| Some((at, service.as_ref().err()?)));
    let wrong: Vec<String> = wrong.map(|(at, why)| format!("kms-provider-{at}: {why}")).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join(", ")) }
}

fn lock(services: &Services) -> std::sync::MutexGuard<'_, Vec<Result<(), String>>> {
    services.lock().unwrap_or_else(PoisonError::into_inner)
}
