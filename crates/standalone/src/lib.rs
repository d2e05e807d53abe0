//! The controllers of KEP-2639 alone: liens on Secrets or ConfigMaps in use, on any server that has liens, over kube-rs.
//!
//! The plan is `Protection::plan` and the index is `pawl_usage`'s, as inside of Pawl; here one acts through the API. There is no
//! way to guard a write against users that come in this moment: a lien is removed after a look at everything that could be a
//! user, then one looks again and puts it back where somebody came. Between the two, somebody may delete.

mod acting;
mod endpoint;
mod following;
mod lease;
mod object;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use kube::config::{KubeConfigOptions, Kubeconfig};
use pawl_controllers::{Liens, WorkQueue};
pub use pawl_usage::Protection;
use pawl_usage::{Plan, Used};

use acting::Actor;
use following::Known;
use lease::Lease;

/// What a controller is told.
#[derive(Clone, Debug)]
pub struct Options {
    pub protection: Protection,
    /// How the server is found; without one, as a Pod finds its own.
    pub kubeconfig: Option<PathBuf>,
    /// The namespace of the Lease by which one of many leads; without one, everyone does.
    pub lease_namespace: Option<String>,
    /// Where `/healthz` and `/metrics` are; nowhere without one.
    pub listen: Option<SocketAddr>,
}

impl Options {
    /// The name of the controller, of its Lease and of what it is attributed to.
    fn name(&self) -> &'static str {
        if self.protection.used == Used::Secret {
            "secret-protection-controller"
        } else {
            "configmap-protection-controller"
        }
    }

    fn metric(&self) -> &'static str {
        if self.protection.used == Used::Secret { "secret_protection" } else { "configmap_protection" }
    }
}

/// For each queue.
const WORKERS: usize = 4;

/// Runs a controller until it is told to stop, or no longer leads.
pub async fn run(options: Options, stop: impl Future<Output = ()>) -> Result<(), String> {
    let client = client(&options).await?;
    let liens = Liens::new(options.metric());
    let health = Arc::new(endpoint::Health::default());
    if let Some(address) = options.listen {
        endpoint::serve(address, Arc::clone(&health), &liens).await?;
    }
    let lease = options.lease_namespace.as_ref().map(|namespace| Lease::new(&client, namespace, options.name()));
    tokio::select! {
        ended = lead(&options, client, liens, lease.as_ref(), &health) => return ended,
        () = stop => {}
    }
    if let Some(lease) = &lease {
        lease.release().await;
    }
    Ok(())
}

async fn client(options: &Options) -> Result<kube::Client, String> {
    let config = match &options.kubeconfig {
        Some(path) => {
            let kubeconfig = Kubeconfig::read_from(path).map_err(|e| format!("{}: {e}", path.display()))?;
            let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
            config.map_err(|e| format!("{}: {e}", path.display()))?
        }
        None => kube::Config::infer().await.map_err(|e| e.to_string())?,
    };
    kube::Client::try_from(config).map_err(|e| e.to_string())
}

/// Waits for the lead and works while it has it.
async fn lead(
    options: &Options,
    client: kube::Client,
    liens: Liens,
    lease: Option<&Lease>,
    health: &endpoint::Health,
) -> Result<(), String> {
    if let Some(lease) = lease {
        lease.acquire().await;
    }
    tracing::info!(controller = options.name(), "leads");
    let known = Arc::new(Known::new(options.protection));
    let actor = Arc::new(Actor::new(client.clone(), Arc::clone(&known), liens, options.name()));
    let mut tasks = tokio::task::JoinSet::new();
    for user in known.users() {
        tasks.spawn(following::users(client.clone(), Arc::clone(&known), user));
    }
    tasks.spawn(following::targets(client, Arc::clone(&known)));
    for does in [Plan::Add, Plan::Remove] {
        for _ in 0..WORKERS {
            let (known, actor) = (Arc::clone(&known), Arc::clone(&actor));
            tasks.spawn(async move {
                // Who has not seen everybody yet knows nothing of who does not use something.
                known.is_complete().await;
                let queue: &WorkQueue<_> = known.queue(does);
                loop {
                    let target = queue.next().await;
                    let step = actor.attend(does, &target).await;
                    queue.finish(target, step);
                }
            });
        }
    }
    let renewing = async {
        match lease {
            Some(lease) => lease.renew(health).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        why = renewing => Err(why),
        _ = tasks.join_next() => Err("a part of the controller has ended".to_owned()),
    }
}
