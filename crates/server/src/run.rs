//! From settings to a server that answers, and back to nothing.

use std::fs::File;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pawl_auth::Authorizer;
use pawl_auth::authn::Authorities;
use pawl_auth::modes::Chain;
use pawl_auth::rbac::Index;
use pawl_controllers::{Catalogue, Controllers, Oversight, Witness};
use pawl_custom::AtRest;
use pawl_http::{Api, ApiSettings, Audit, Health, Limits, Server, ServerOptions};
use pawl_kv::{Kv, Revision};
use pawl_registry::{Lag, Registry};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use crate::bootstrap::Placeholders;
use crate::certificates::Identity;
use crate::company::Company;
use crate::documents::FromTable;
use crate::encryption::Encryption;
use crate::gates::Gates;
use crate::roles;
use crate::signer::OwnSigner;
use crate::{
    Error, Settings, access, auditing, bootstrap, certificates, descriptors, encryption, guard, notify, parent, reload,
    seed, store,
};

/// A server that answers.
pub struct Running {
    pub url: String,
    pub kubeconfig: PathBuf,
    health: Arc<Health>,
    company: Company,
    serving: JoinHandle<()>,
    /// What keeps caches and certificates up to date: needed until the last write has been answered.
    followers: Vec<JoinHandle<()>>,
    /// Says why the server cannot go on, when it cannot.
    failed: oneshot::Receiver<Error>,
    /// What is deleted when everything else has ended.
    ephemeral: Option<tempfile::TempDir>,
    _lock: Option<File>,
}

impl Running {
    /// Stops: not ready at once, watches end, requests in flight finish.
    pub async fn stop(self) {
        self.health.stop();
        self.company.stop().await;
        let _ = self.serving.await;
        self.followers.iter().for_each(JoinHandle::abort);
        if let Some(directory) = self.ephemeral {
            discard(&directory.keep()).await;
        }
    }
}

/// Removes a directory in which threads that are about to end may still make a file.
async fn discard(directory: &Path) {
    const TRIES: u32 = 50;
    for _ in 0..TRIES {
        match std::fs::remove_dir_all(directory) {
            Err(error) if error.kind() != ErrorKind::NotFound => tokio::time::sleep(Duration::from_millis(20)).await,
            _ => return,
        }
    }
    tracing::warn!(directory = %directory.display(), "cannot be removed");
}

/// Starts a server. It listens only once it can answer. A start that is refused leaves nothing behind.
pub async fn start(mut settings: Settings) -> Result<Running, Error> {
    let index = Arc::new(Index::new());
    let Understood { policy, credentials, seed, authorizers, registry_settings } = understand(&settings, &index)?;
    let metrics = prometheus::Registry::new();
    let encryption = encryption::start(&settings, &metrics).await?;
    let (listener, local) = listen(&mut settings).await?;
    let store::Chosen { kv: store, ephemeral, lock } = store::choose(&mut settings, &metrics).await?;
    #[cfg(feature = "raw-store")]
    crate::raw_store::open(&store).await?;
    // Only the owner of the store makes certificates: a second server on the same directory has been refused by now.
    guard::secrets(&settings)?;
    let identity = certificates::prepare(&settings)?;
    let builtin = pawl_kinds::load().map_err(|broken| Error::Start(broken.to_string()))?;
    let ratcheting = settings.gates.enabled("CRDValidationRatcheting");
    let gates = pawl_custom::prepare::Gates { ratcheting, ..Default::default() };
    let at_rest = AtRest::default();
    let is_on = |gate: &str| settings.gates.enabled(gate);
    let resources = pawl_custom::with_definitions(&builtin.served(is_on), gates, &at_rest);
    let (registry, revision) =
        Registry::open(Arc::clone(&store), encryption.as_ref().map(Encryption::seals), &resources, registry_settings)
            .await
            .map_err(|source| Error::Store { path: settings.data_dir.clone(), source })?;
    let registry = Arc::new(registry);
    let (following, failed) = follow(&registry, revision);
    let placeholders = placeholders(&settings, &identity, store.is_shared());
    bootstrap::run(&registry, &placeholders, is_on).await;
    let catalogue = catalogue(&registry, ratcheting, &at_rest).await?;
    let roles::Following { tasks: mut followers, lag } =
        roles::follow(&registry, &index).await.map_err(|e| Error::Start(e.to_string()))?;
    followers.push(following);
    followers.extend(encryption.as_ref().map(|encryption| encryption.follow(&registry)));
    let health = Arc::new(health(&store, &registry, lag, encryption.as_ref()));
    let audit = auditing::build(&settings, policy)?;
    let oversight = oversight(&authorizers, audit.as_ref());
    let api_settings = ApiSettings {
        health: Arc::clone(&health),
        limits: limits(&settings),
        version: version(),
        field_validation: settings.gates.enabled("ServerSideFieldValidation"),
        unsafe_deletion: settings.gates.enabled("AllowUnsafeMalformedObjectDeletion"),
        audit,
        metrics,
        check_encryption: encryption::checker(&registry, encryption.as_ref()),
    };
    let source = pawl_discovery::Source { builtin, without: unlooked_at(&settings.gates) };
    let documents =
        Box::new(FromTable::new(Arc::clone(&registry), source, Arc::clone(&catalogue), settings.advertised()));
    let authorities = Authorities::from_pem(&identity.client_roots);
    let authorities = Arc::new(authorities.map_err(|error| Error::Certificate(error.to_string()))?);
    let access = access::build(&settings, &registry, authorizers, Arc::clone(&authorities), credentials)?;
    let api = Arc::new(Api::new(Arc::clone(&registry), access, documents, api_settings));
    measure(&api, pawl_custom::metrics::collectors());
    measure(&api, registry.collectors());
    let mut company = Company::start(&registry, &settings, options(oversight, &identity, catalogue), &api)?;
    seed::apply(&registry, &seed).await?;
    if let Some(path) = &settings.write_kubeconfig {
        certificates::publish(&identity.kubeconfig, path)?;
    }
    company.list(&registry, placeholders);
    let (renewed, tls) = watch::channel(identity.tls);
    followers.push(tokio::spawn(reload::follow(settings.clone(), renewed, authorities)));
    let server = Server::new(api, tls, server_options(&settings));
    let serving = tokio::spawn(server.run(listener));
    notify::ready();
    Ok(Running {
        url: format!("https://{local}"),
        kubeconfig: identity.kubeconfig,
        health,
        company,
        serving,
        followers,
        failed,
        ephemeral,
        _lock: lock,
    })
}

/// What flags say, and the files that they name.
struct Understood {
    policy: Option<pawl_audit::Policy>,
    credentials: access::Credentials,
    seed: Vec<seed::Manifest>,
    authorizers: Arc<Chain>,
    registry_settings: pawl_registry::Settings,
}

/// Reads what was given, before anything is made: what is wrong with it is told by a start that has written nothing.
fn understand(settings: &Settings, index: &Arc<Index>) -> Result<Understood, Error> {
    certificates::check(settings)?;
    Controllers::check(&settings.controllers).map_err(Error::Flag)?;
    let authorizers = access::chain(settings, Arc::clone(index))?;
    Ok(Understood {
        policy: auditing::policy(settings)?,
        credentials: access::Credentials::read(settings)?,
        seed: settings.seed.iter().map(|path| seed::read(path)).collect::<Result<Vec<_>, _>>()?.concat(),
        registry_settings: registry_settings(settings, &authorizers)?,
        authorizers,
    })
}

/// What the controllers are told.
fn options(oversight: Oversight, identity: &Identity, catalogue: Arc<Catalogue>) -> pawl_controllers::Options {
    pawl_controllers::Options {
        oversight,
        root_ca: Some(identity.serving_roots.clone()),
        signer: OwnSigner::of(&identity.ca),
        catalogue: Some(catalogue),
        ..Default::default()
    }
}

/// Listens. The port must be known for what points to it; who connects meanwhile waits until the server answers.
async fn listen(settings: &mut Settings) -> Result<(TcpListener, SocketAddr), Error> {
    let address = SocketAddr::new(settings.address, settings.port);
    let listener =
        TcpListener::bind(address).await.map_err(|source| Error::Listen { address: address.to_string(), source })?;
    let local = listener.local_addr().unwrap_or(address);
    settings.port = local.port();
    Ok((listener, local))
}

/// Who looks at what controllers do.
fn oversight(authorizers: &Arc<Chain>, audit: Option<&Arc<Audit>>) -> Oversight {
    let authorizer = Arc::clone(authorizers) as Arc<dyn Authorizer + Send + Sync>;
    let witness = audit.map(|audit| Arc::new(auditing::Recorder(Arc::clone(audit))) as Arc<dyn Witness>);
    Oversight { authorizer: Some(authorizer), witness }
}

/// Where the server is found, as the objects that it starts with say it.
fn placeholders(settings: &Settings, identity: &Identity, shared: bool) -> Placeholders {
    Placeholders {
        // Where there are others, each adds itself.
        servers: if shared { Vec::new() } else { vec![settings.endpoint] },
        ip: settings.endpoint,
        port: settings.port,
        service_ip: settings.service_ip(),
        service_range: format!("{}/{}", settings.service_range.0, settings.service_range.1),
        client_ca: Some(identity.client_roots.clone()),
    }
}

/// Serves what users defined, and lets their definitions ask what is stored.
async fn catalogue(registry: &Arc<Registry>, ratcheting: bool, at_rest: &AtRest) -> Result<Arc<Catalogue>, Error> {
    let serving = pawl_custom::Settings { ratcheting, embedded_metadata: pawl_registry::validate_embedded };
    let catalogue = Catalogue::open(Arc::clone(registry), serving).await;
    let catalogue = Arc::new(catalogue.map_err(|e| Error::Start(e.to_string()))?);
    let surveyor = Arc::clone(&catalogue);
    at_rest.set(move |definition| surveyor.survey(definition));
    Ok(catalogue)
}

/// What the registry is told once.
fn registry_settings(settings: &Settings, authorizers: &Arc<Chain>) -> Result<pawl_registry::Settings, Error> {
    Ok(pawl_registry::Settings {
        admission: access::admission(settings, authorizers)?,
        liens: settings.gates.enabled("InUseProtection"),
        event_ttl: settings.event_ttl,
        quarantine: settings.quarantine,
        services: pawl_registry::ServiceRanges {
            addresses: pawl_registry::AddressRange { base: settings.service_range.0, bits: settings.service_range.1 },
            node_ports: pawl_registry::PortRange { first: settings.node_ports.0, last: settings.node_ports.1 },
        },
    })
}

/// Keeps the caches up to date; who waits for the receiver learns why that ended.
fn follow(registry: &Arc<Registry>, revision: Revision) -> (JoinHandle<()>, oneshot::Receiver<Error>) {
    let follower = Arc::clone(registry);
    let (failing, failed) = oneshot::channel();
    let following = tokio::spawn(async move {
        let why = follower.follow(revision).await;
        let _ = failing.send(Error::Following(why.to_string()));
    });
    (following, failed)
}

/// What `/livez` and `/readyz` ask.
fn health(store: &Arc<dyn Kv>, registry: &Arc<Registry>, lag: Vec<Lag>, encryption: Option<&Encryption>) -> Health {
    let (store, caches, told) = (Arc::clone(store), Arc::clone(registry.storage()), Arc::clone(registry));
    let health = Health::new(vec![
        ("etcd", Box::new(move || store.health().map_err(|e| e.to_string()))),
        ("watch-cache", Box::new(move || caches.following())),
    ]);
    let health = health.with_readiness("informer-sync", Box::new(move || roles::up_to_date(&lag)));
    let health = health.with_remark(Box::new(move || unreadable(&told)));
    let checks = encryption.into_iter().flat_map(Encryption::checks);
    checks.fold(health, |health, (name, check)| health.with_service(name, check))
}

/// Counts what others do among everything else.
pub(crate) fn measure(api: &Api, collectors: Vec<Box<dyn prometheus::core::Collector>>) {
    for collector in collectors {
        // Names are distinct, and every server has a registry of its own. Controllers that begin again count on where the
        // first ones stopped being counted.
        let _ = api.metrics.registry().register(collector);
    }
}

/// Parameters of queries that are not looked at.
fn unlooked_at(gates: &Gates) -> &'static [&'static str] {
    match (gates.enabled("ServerSideFieldValidation"), gates.enabled("InUseProtection")) {
        (true, true) => &[],
        (true, false) => &["ignoreLiens"],
        (false, true) => &["fieldValidation"],
        (false, false) => &["fieldValidation", "ignoreLiens"],
    }
}

fn limits(settings: &Settings) -> Limits {
    Limits {
        reading: settings.reading,
        mutating: settings.mutating,
        request_timeout: settings.request_timeout,
        min_watch_timeout: settings.min_watch_timeout.max(Duration::from_secs(1)),
        ..Limits::default()
    }
}

fn server_options(settings: &Settings) -> ServerOptions {
    let connections = descriptors::connections();
    ServerOptions {
        connections: connections.all,
        loopback: connections.loopback,
        http2: settings.http2,
        ..ServerOptions::default()
    }
}

/// Runs a server until it is told to stop, or cannot go on.
pub async fn serve(settings: Settings, announce: impl FnOnce(&Running)) -> Result<(), Error> {
    for warning in &settings.warnings {
        tracing::warn!("{warning}");
    }
    let signals =
        |kind| tokio::signal::unix::signal(kind).map_err(|source| Error::File { path: "signals".into(), source });
    let mut terminate = signals(tokio::signal::unix::SignalKind::terminate())?;
    let mut interrupt = signals(tokio::signal::unix::SignalKind::interrupt())?;
    let orphaned = orphaned(settings.exit_with_parent);
    let mut running = start(settings).await?;
    announce(&running);
    let ended = tokio::select! {
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
        () = orphaned => Ok(()),
        Ok(why) = &mut running.failed => Err(why),
    };
    tracing::info!("stopping");
    running.stop().await;
    ended
}

/// Returns when there is nobody left to serve for; never, unless that was asked for.
fn orphaned(exit_with_parent: bool) -> impl Future<Output = ()> {
    let ended = exit_with_parent.then(parent::ended);
    async {
        match ended {
            Some(ended) => ended.await,
            None => std::future::pending().await,
        }
    }
}

/// How many objects cannot be read, if there are any.
fn unreadable(registry: &Registry) -> Option<String> {
    let table = registry.table();
    let shown = table.find(pawl_registry::GROUP, "v1", pawl_registry::UNREADABLE)?;
    let count = shown.stored.cache.len();
    (count > 0).then(|| format!("{count} objects cannot be read: kubectl get {}", pawl_registry::UNREADABLE))
}

/// What `/version` says: a version that clients know, with our own in it.
pub fn version() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": concat!("v1.36.4+pawl.", env!("CARGO_PKG_VERSION")),
        "gitCommit": "unknown",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "rustc",
        "platform": concat!("linux/", env!("PAWL_ARCH")),
    })
}
