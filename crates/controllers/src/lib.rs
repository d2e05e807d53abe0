//! The controllers that run inside the server: garbage collector, namespaces, protection of volumes, claims and classes,
//! of Secrets and ConfigMaps in use, service accounts, root certificates, signing requests, aggregated cluster roles, storage migrations,
//! definitions of custom resources.
//!
//! Each one plans (pure, over what it was told) and acts (writes through the registry as its own user, the way every
//! client does). They follow watches and never poll; what fails is tried again later and later. Only the namespace
//! controller may ignore liens. They decide nothing about deletion themselves: a refusal of the registry stands.
//!
//! ```no_run
//! # async fn example(registry: std::sync::Arc<pawl_registry::Registry>) -> Result<(), String> {
//! use pawl_controllers::{Controllers, Options};
//!
//! let handle = Controllers::start(registry, "*,-serviceaccount-controller", Options::default())?;
//! handle.stop().await;
//! # Ok(())
//! # }
//! ```

// What every controller is made of.
mod actor;
mod counters;
mod informer;
mod leadership;
mod oversight;
mod recorder;
mod selection;
mod tasks;
mod workqueue;

// The controllers.
mod aggregation;
mod definitions;
mod garbage;
mod in_use;
mod migration;
mod namespaces;
mod protection;
mod publisher;
mod signing;

use std::sync::Arc;
use std::time::Duration;

use pawl_kv::Guard;
use pawl_registry::Registry;
use pawl_usage::Protection;

pub use counters::{Counters, Liens};
pub use definitions::Catalogue;
pub use leadership::Leadership;
pub use oversight::{Act, Oversight, Witness};
pub use selection::ControllerName;
pub use signing::{Order, OtherName, Signer, SigningRequest, Unsigned};
pub use workqueue::{Reconciled, WorkQueue};

use counters::Tally;
use selection::Selection;
use tasks::Tasks;

/// What the controllers are told once, at start.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long nothing may move in a namespace that goes away before what is left goes in spite of liens.
    pub namespace_stall: Duration,
    /// How long a migration waits for a resource that is not there.
    pub migration_patience: Duration,
    /// How many writes a controller has under way at once.
    pub concurrency: usize,
    /// The certificates that `kube-root-ca.crt` shows in every namespace; without them there is no such ConfigMap.
    pub root_ca: Option<String>,
    /// Who signs approved requests; without it they wait for somebody else.
    pub signer: Option<Arc<dyn Signer>>,
    /// Who is asked whether a controller may do something, and told that it did.
    pub oversight: Oversight,
    /// What serves custom resources; without it definitions do nothing.
    pub catalogue: Option<Arc<Catalogue>>,
    /// What must still hold whenever a controller writes. Where several servers share a store: nobody else leads.
    pub fence: Option<Guard>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            namespace_stall: Duration::from_secs(10),
            migration_patience: Duration::from_secs(10),
            concurrency: 16,
            root_ca: None,
            signer: None,
            oversight: Oversight::default(),
            catalogue: None,
            fence: None,
        }
    }
}

/// Starts controllers.
pub struct Controllers;

impl Controllers {
    /// Says what is wrong with a selection, where nothing is to be started yet.
    pub fn check(selection: &str) -> Result<(), String> {
        Selection::parse(selection).map(drop)
    }

    /// Starts the controllers that a selection names: `*` is all, `name` one, `-name` not that one, `-*` none. The
    /// registry must be following its store. The error says what is wrong with the selection.
    pub fn start(registry: Arc<Registry>, selection: &str, options: Options) -> Result<Handle, String> {
        let selection = Selection::parse(selection)?;
        let tally = Arc::new(Tally::default());
        let mut tasks = Tasks::new(options.concurrency.max(1));
        for name in ControllerName::ALL {
            if !selection.includes(name) {
                continue;
            }
            let actor = actor::Actor::new(Arc::clone(&registry), name, options.oversight.clone());
            let actor = actor.behind(options.fence.clone());
            match name {
                ControllerName::GarbageCollector => garbage::start(&mut tasks, actor, Arc::clone(&tally)),
                ControllerName::Namespaces => {
                    namespaces::start(&mut tasks, actor, options.namespace_stall, Arc::clone(&tally));
                }
                ControllerName::VolumeProtection
                | ControllerName::ClaimProtection
                | ControllerName::ClassProtection => {
                    protection::start(&mut tasks, actor, name, Arc::clone(&tally));
                }
                ControllerName::SecretProtection => {
                    in_use::start(&mut tasks, actor, Protection::SECRETS, tally.liens.secrets.clone());
                }
                ControllerName::ConfigMapProtection => {
                    in_use::start(&mut tasks, actor, Protection::CONFIG_MAPS, tally.liens.config_maps.clone());
                }
                ControllerName::ServiceAccounts => publisher::service_accounts(&mut tasks, actor, Arc::clone(&tally)),
                ControllerName::RootCertificates => {
                    if let Some(certificates) = &options.root_ca {
                        publisher::root_certificates(&mut tasks, actor, certificates, Arc::clone(&tally));
                    }
                }
                ControllerName::RequestSigning => {
                    if let Some(signer) = &options.signer {
                        signing::start(&mut tasks, actor, Arc::clone(signer), Arc::clone(&tally));
                    }
                }
                ControllerName::RoleAggregation => aggregation::start(&mut tasks, actor, Arc::clone(&tally)),
                ControllerName::StorageMigration => {
                    migration::start(&mut tasks, actor, options.migration_patience, Arc::clone(&tally));
                }
                ControllerName::Definitions => {}
            }
            tracing::debug!(controller = %name, "started");
        }
        if let Some(catalogue) = options.catalogue {
            let actor = actor::Actor::own(registry, ControllerName::Definitions, options.oversight);
            definitions::start(&mut tasks, actor, catalogue, options.namespace_stall, Arc::clone(&tally));
        }
        Ok(Handle { tasks, tally })
    }
}

/// Controllers that run. Dropping it ends them where they stand.
pub struct Handle {
    tasks: Tasks,
    tally: Arc<Tally>,
}

impl Handle {
    /// Ends the controllers; writes under way finish.
    pub async fn stop(self) {
        self.tasks.stop().await;
    }

    /// What they have done so far.
    pub fn counters(&self) -> Counters {
        self.tally.read()
    }

    /// What of it is measured under names of its own.
    pub fn collectors(&self) -> Vec<Box<dyn prometheus::core::Collector>> {
        self.tally.liens.collectors()
    }
}
