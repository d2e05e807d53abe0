//! A configuration in use: which chain a resource has, and what a change of the configuration changes for it.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::join_all;
use pawl_meta::GroupResource;

use crate::chain::{Chain, Provider};
use crate::config::{self, Config, ConfigError, Service};
use crate::kms::Kms;
use crate::metrics::Metrics;
use crate::pace::Pace;
use crate::seal::{SEALED, Seal};
use crate::value::Sealed;

/// The keys of one configuration.
#[derive(Default)]
pub(crate) struct Keys {
    /// The hash of the file; empty without one.
    pub hash: String,
    resources: HashMap<GroupResource, Arc<Chain>>,
    groups: HashMap<String, Arc<Chain>>,
    all: Option<Arc<Chain>>,
    none: Arc<Chain>,
    services: Vec<Arc<Kms>>,
}

/// What is needed to look after key services.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub pace: Pace,
    pub metrics: Arc<Metrics>,
    pub news: Arc<dyn Fn() + Send + Sync>,
}

impl Keys {
    /// Makes everything ready. Key services that are in use already are used on, with all that they gave.
    pub async fn build(config: &Config, used: &[Arc<Kms>], around: &Surroundings) -> Result<Self, ConfigError> {
        let wanted = config.entries.iter().flat_map(|entry| &entry.providers).filter_map(|provider| match provider {
            config::Provider::Kms(service) => Some(service),
            _ => None,
        });
        let services = join_all(wanted.map(|service| obtain(service, used, around))).await;
        let mut keys = Self { hash: config.hash().to_owned(), services, ..Self::default() };
        let mut chains: HashMap<GroupResource, Chain> = HashMap::new();
        for entry in &config.entries {
            let providers = entry.providers.iter().map(|provider| keys.provider(provider));
            let providers = providers.collect::<Option<Vec<_>>>();
            let providers = providers.ok_or_else(|| ConfigError::Build("a provider has no valid keys".to_owned()))?;
            for resource in &entry.resources {
                chains.entry(resource.clone()).or_default().append(&providers);
            }
        }
        for (resource, chain) in chains {
            let chain = Arc::new(chain);
            match (resource.resource.as_str(), resource.group.as_str()) {
                ("*", "*") => keys.all = Some(chain),
                ("*", _) => drop(keys.groups.insert(resource.group, chain)),
                _ => drop(keys.resources.insert(resource, chain)),
            }
        }
        Ok(keys)
    }

    fn provider(&self, given: &config::Provider) -> Option<Arc<Provider>> {
        let provider = match given {
            config::Provider::Kms(service) => {
                Provider::Kms(self.services.iter().find(|kms| kms.service == *service)?.clone())
            }
            local => Provider::local(local)?,
        };
        Some(Arc::new(provider))
    }

    /// The chain of a resource: its own, its group's, everybody's, or none.
    pub fn chain(&self, resource: &GroupResource) -> &Arc<Chain> {
        let own = self.resources.get(resource);
        own.or_else(|| self.groups.get(&resource.group)).or(self.all.as_ref()).unwrap_or(&self.none)
    }

    pub fn services(&self) -> &[Arc<Kms>] {
        &self.services
    }

    /// Whether all key services are well, each named by its place as upstream does.
    pub async fn health(&self) -> Result<(), String> {
        let wrong =
            self.health_each().await.into_iter().enumerate().filter_map(|(at, answer)| Some((at, answer.err()?)));
        let wrong: Vec<String> = wrong.map(|(at, error)| format!("kms-provider-{at}: {error}")).collect();
        match wrong.as_slice() {
            [] => Ok(()),
            [one] => Err(one.clone()),
            many => Err(format!("[{}]", many.join(", "))),
        }
    }

    pub async fn health_each(&self) -> Vec<Result<(), String>> {
        join_all(self.services.iter().map(|kms| kms.health())).await
    }
}

async fn obtain(service: &Service, used: &[Arc<Kms>], around: &Surroundings) -> Arc<Kms> {
    match used.iter().find(|kms| kms.service == *service) {
        Some(kms) => kms.clone(),
        None => Kms::start(service.clone(), around.pace, around.metrics.clone(), around.news.clone()).await,
    }
}

/// The keys at one moment, to see later what has changed since.
#[derive(Clone)]
pub struct Mark {
    pub(crate) generation: u64,
    pub(crate) keys: Arc<Keys>,
    epochs: Vec<u64>,
}

impl Mark {
    pub(crate) fn new(generation: u64, keys: Arc<Keys>) -> Self {
        let epochs = keys.services().iter().map(|kms| kms.epoch()).collect();
        Self { generation, keys, epochs }
    }

    /// Counts configurations; it grows with each that takes effect.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// What is different for a resource from how it was at an earlier mark.
    pub fn since(&self, earlier: &Self, resource: &GroupResource) -> Touched {
        let (chain, before) = (self.keys.chain(resource), earlier.keys.chain(resource));
        let mut touched = Touched::default();
        if !Arc::ptr_eq(chain, before) {
            let (openers, known) = (chain.openers(), before.openers());
            touched.gained = openers.iter().filter(|o| !known.contains(o)).map(|(prefix, _)| prefix.clone()).collect();
            touched.lost = known.iter().filter(|o| !openers.contains(o)).map(|(prefix, _)| prefix.clone()).collect();
        }
        for kms in chain.services() {
            if self.epoch(kms) != earlier.epoch(kms) && !touched.gained.contains(&kms.prefix) {
                touched.gained.push(kms.prefix.clone());
            }
        }
        touched
    }

    /// Whether a value of this seal is opened by the keys of a resource.
    pub fn opens(&self, resource: &GroupResource, seal: &Seal) -> bool {
        self.keys
            .chain(resource)
            .openers()
            .iter()
            .any(|(prefix, print)| **prefix == *seal.prefix() && (*print == seal.print() || seal.key_id().is_some()))
    }

    fn epoch(&self, kms: &Arc<Kms>) -> Option<u64> {
        let at = self.keys.services().iter().position(|other| Arc::ptr_eq(other, kms))?;
        self.epochs.get(at).copied()
    }
}

/// Which values of a resource a change concerns: all others open, or do not open, as before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Prefixes of values that were opened by a key that is not there any more.
    pub lost: Vec<Arc<str>>,
    /// Prefixes of values that may open now: a key is there, or who has it is there again.
    pub gained: Vec<Arc<str>>,
}

impl Touched {
    pub fn is_empty(&self) -> bool {
        self.lost.is_empty() && self.gained.is_empty()
    }

    /// Whether a value that was opened has to be tried again.
    pub fn closes(&self, seal: &Seal) -> bool {
        self.lost.iter().any(|prefix| **prefix == *seal.prefix())
    }

    /// Whether a value that was not opened is worth trying again.
    pub fn may_open(&self, value: &Sealed) -> bool {
        let value = value.as_slice();
        self.gained.iter().any(|prefix| match prefix.is_empty() {
            true => !value.starts_with(SEALED),
            false => value.starts_with(prefix.as_bytes()),
        })
    }
}
