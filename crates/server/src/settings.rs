//! What a server is told: flags, read and checked.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use pawl_audit::Rotation;
use pawl_auth::modes::Mode;

use crate::Error;
use crate::auditing::Auditing;
use crate::flags::Given;
use crate::gates::Gates;
use crate::host;

/// A server's settings.
#[derive(Clone, Debug)]
pub struct Settings {
    pub data_dir: PathBuf,
    /// Whether everything is kept in a directory that goes when the server does.
    pub ephemeral: bool,
    /// Whether a write is on the disk before it is acknowledged.
    pub sync: bool,
    /// The etcd cluster that is the store, unless one of its URLs leads to a stand-in that has a directory for one.
    pub etcd: Option<pawl_kv_etcd::Options>,
    /// Manifests that are applied before the server is ready.
    pub seed: Vec<PathBuf>,
    /// Where the administrator's kubeconfig is written once the server is ready.
    pub write_kubeconfig: Option<PathBuf>,
    pub exit_with_parent: bool,
    /// Further names and addresses for the serving certificate.
    pub names: Vec<String>,
    pub cert_dir: PathBuf,
    pub address: IpAddr,
    pub port: u16,
    pub advertise: IpAddr,
    /// Where the service `kubernetes` leads to.
    pub endpoint: IpAddr,
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Whether only the newest TLS is spoken.
    pub only_tls13: bool,
    pub http2: bool,
    pub client_ca: Option<PathBuf>,
    pub token_file: Option<PathBuf>,
    pub anonymous: bool,
    pub authorization_modes: Vec<String>,
    pub service_accounts: ServiceAccounts,
    pub audit: Auditing,
    pub encryption: Option<Encryption>,
    pub controllers: String,
    pub enable_admission: Vec<String>,
    pub disable_admission: Vec<String>,
    pub allow_privileged: bool,
    /// How long pods stay on a node that is not ready, and on one that is not reached, in seconds.
    pub toleration_seconds: (i64, i64),
    pub service_range: (IpAddr, u8),
    /// The first and the last port of services on nodes.
    pub node_ports: (u16, u16),
    pub gates: Gates,
    pub reading: usize,
    pub mutating: usize,
    pub request_timeout: Duration,
    pub min_watch_timeout: Duration,
    pub event_ttl: Duration,
    /// How long what was removed unread is kept; zero where it is not.
    pub quarantine: Duration,
    pub history: Duration,
    pub warnings: Vec<String>,
}

/// How tokens of service accounts are made and known.
#[derive(Clone, Debug, Default)]
pub struct ServiceAccounts {
    pub issuers: Vec<String>,
    pub audiences: Vec<String>,
    pub key_files: Vec<PathBuf>,
    pub signing_key_file: Option<PathBuf>,
    /// The longest life that may be asked for; zero where there is no limit.
    pub max_expiration: Duration,
    /// Whether tokens of pods outlive what was asked for, for clients that do not read them again.
    pub extend_expiration: bool,
}

impl Settings {
    pub fn read(given: &Given) -> Result<Self, Error> {
        let flag = Error::Flag;
        let path = |name: &str| path(given, name);
        let ephemeral = given.switch("ephemeral").map_err(flag)?;
        if given.get("data-dir") == Some("") {
            return Err(flag("--data-dir must name a directory".into()));
        }
        if ephemeral && given.get("data-dir").is_some() {
            return Err(flag("--ephemeral has a directory of its own: leave out --data-dir".into()));
        }
        let data_dir = PathBuf::from(given.value("data-dir"));
        let (address, advertise, endpoint) = addresses(given)?;
        let gates = Gates::parse(&given.list("feature-gates").join(",")).map_err(|why| {
            flag(format!("invalid argument {:?} for \"--feature-gates\" flag: {why}", given.value("feature-gates")))
        })?;
        let mut warnings = given.warnings.clone();
        warnings.extend(gates.unknown.iter().map(|g| format!("feature gate {g} means nothing here")));
        let (modes, anonymous) = access(given, &mut warnings)?;
        check_audit_mode(given.value("audit-log-mode"))?;
        let mut etcd = etcd(given)?;
        if etcd.is_some() && (ephemeral || given.get("data-dir").is_some()) {
            warnings.push("--etcd-servers is ignored: --data-dir or --ephemeral chooses the embedded store".to_owned());
            etcd = None;
        }
        Ok(Self {
            cert_dir: path("cert-dir").unwrap_or_else(|| data_dir.join("pki")),
            data_dir,
            ephemeral,
            sync: !ephemeral && !given.switch("unsafe-no-fsync").map_err(flag)?,
            etcd,
            seed: given.list("seed").into_iter().map(PathBuf::from).collect(),
            write_kubeconfig: path("write-kubeconfig"),
            exit_with_parent: given.switch("exit-with-parent").map_err(flag)?,
            names: given.list("tls-san"),
            address,
            port: given.number("secure-port").map_err(flag).and_then(|n: u64| {
                let wrong = || flag(format!("--secure-port {n} must be between 0 and 65535, inclusive"));
                u16::try_from(n).map_err(|_| wrong())
            })?,
            advertise,
            endpoint,
            tls: tls(path("tls-cert-file"), path("tls-private-key-file"))?,
            only_tls13: only_tls13(given.value("tls-min-version"))?,
            http2: !given.switch("disable-http2-serving").map_err(flag)?,
            client_ca: path("client-ca-file"),
            token_file: path("token-auth-file"),
            anonymous,
            authorization_modes: modes,
            service_accounts: service_accounts(given)?,
            audit: auditing(given)?,
            encryption: encryption(given)?,
            controllers: match given.get("controllers") {
                Some(_) => given.list("controllers").join(","),
                None => given.value("controllers").to_owned(),
            },
            enable_admission: given.list("enable-admission-plugins"),
            disable_admission: given.list("disable-admission-plugins"),
            allow_privileged: given.switch("allow-privileged").map_err(flag)?,
            toleration_seconds: (
                given.number("default-not-ready-toleration-seconds").map_err(flag)?,
                given.number("default-unreachable-toleration-seconds").map_err(flag)?,
            ),
            service_range: service_range(given.value("service-cluster-ip-range"))?,
            node_ports: node_ports(given.value("service-node-port-range"))?,
            gates,
            reading: count(given, "max-requests-inflight")?,
            mutating: count(given, "max-mutating-requests-inflight")?,
            request_timeout: given.duration("request-timeout").map_err(flag)?,
            min_watch_timeout: Duration::from_secs(given.number("min-request-timeout").map_err(flag)?),
            quarantine: given.duration("quarantine-ttl").map_err(flag)?,
            event_ttl: given.duration("event-ttl").map_err(flag)?,
            history: given.duration("history").map_err(flag)?,
            warnings,
        })
    }

    /// Keeps everything below another directory than was said.
    pub fn move_to(&mut self, directory: PathBuf) {
        if self.cert_dir == self.data_dir.join("pki") {
            self.cert_dir = directory.join("pki");
        }
        self.data_dir = directory;
    }

    /// The address that clients are told to use.
    pub fn advertised(&self) -> String {
        std::net::SocketAddr::new(self.advertise, self.port).to_string()
    }

    /// The first address of the service range: the `kubernetes` service.
    pub fn service_ip(&self) -> IpAddr {
        match self.service_range.0 {
            IpAddr::V4(base) => IpAddr::V4((u32::from(base).wrapping_add(1)).into()),
            IpAddr::V6(base) => IpAddr::V6((u128::from(base).wrapping_add(1)).into()),
        }
    }
}

/// A path that a flag names; none where it is empty.
fn path(given: &Given, name: &str) -> Option<PathBuf> {
    given.get(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Where the server listens, where clients are told to find it, and where the service `kubernetes` leads to.
fn addresses(given: &Given) -> Result<(IpAddr, IpAddr, IpAddr), Error> {
    let address: IpAddr = parse(given, "bind-address")?;
    if given.get("advertise-address").is_some() {
        let said = parse(given, "advertise-address")?;
        return Ok((address, said, said));
    }
    let advertise = if address.is_unspecified() { IpAddr::from([127, 0, 0, 1]) } else { address };
    let endpoint = match host::can_be_endpoint(advertise) {
        true => advertise,
        false => host::address(address).unwrap_or(advertise),
    };
    Ok((address, advertise, endpoint))
}

fn count(given: &Given, name: &str) -> Result<usize, Error> {
    given.number::<u64>(name).map_err(Error::Flag).map(|n| usize::try_from(n).unwrap_or(usize::MAX >> 4))
}

fn tls(certificate: Option<PathBuf>, key: Option<PathBuf>) -> Result<Option<(PathBuf, PathBuf)>, Error> {
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
        (None, None) => Ok(None),
        _ => Err(Error::Flag("--tls-cert-file and --tls-private-key-file must be given together".into())),
    }
}

/// The modes of authorization, and whether somebody unknown may ask. What cannot be used is told before anything is made.
fn access(given: &Given, warnings: &mut Vec<String>) -> Result<(Vec<String>, bool), Error> {
    let modes = match given.get("authorization-mode") {
        Some(_) => given.list("authorization-mode"),
        None => vec![given.value("authorization-mode").to_owned()],
    };
    let parsed = Mode::parse_all(&modes).map_err(|e| Error::Flag(e.to_string()))?;
    let mut anonymous = given.switch("anonymous-auth").map_err(Error::Flag)?;
    // Where everything is allowed, everybody would be: whoever comes must at least be known.
    if anonymous && parsed.contains(&Mode::AlwaysAllow) {
        anonymous = false;
        warnings.push("--anonymous-auth counts as false with --authorization-mode=AlwaysAllow".to_owned());
    }
    Ok((modes, anonymous))
}

fn service_accounts(given: &Given) -> Result<ServiceAccounts, Error> {
    Ok(ServiceAccounts {
        issuers: given.list("service-account-issuer"),
        audiences: given.list("api-audiences"),
        key_files: given.list("service-account-key-file").into_iter().map(PathBuf::from).collect(),
        signing_key_file: path(given, "service-account-signing-key-file"),
        max_expiration: max_expiration(given)?,
        extend_expiration: given.switch("service-account-extend-token-expiration").map_err(Error::Flag)?,
    })
}

fn auditing(given: &Given) -> Result<Auditing, Error> {
    Ok(Auditing {
        policy_file: path(given, "audit-policy-file"),
        log_path: given.get("audit-log-path").filter(|p| !p.is_empty()).map(str::to_owned),
        rotation: Rotation {
            max_size: given.number("audit-log-maxsize").map_err(Error::Flag)?,
            max_age: given.number("audit-log-maxage").map_err(Error::Flag)?,
            max_backups: count(given, "audit-log-maxbackup")?,
        },
    })
}

fn parse<T: std::str::FromStr>(given: &Given, name: &str) -> Result<T, Error> {
    let text = given.value(name);
    text.parse().map_err(|_| {
        Error::Flag(format!("invalid argument {text:?} for \"--{name}\" flag: failed to parse IP: {text:?}"))
    })
}

/// How values are encrypted at rest.
#[derive(Clone, Debug)]
pub struct Encryption {
    pub config: PathBuf,
    /// Whether the file is read again when it changes.
    pub reload: bool,
}

fn encryption(given: &Given) -> Result<Option<Encryption>, Error> {
    let reload = given.switch("encryption-provider-config-automatic-reload").map_err(Error::Flag)?;
    match given.get("encryption-provider-config").filter(|path| !path.is_empty()) {
        Some(path) => Ok(Some(Encryption { config: path.into(), reload })),
        None if reload => Err(Error::Flag(
            "--encryption-provider-config-automatic-reload must be set with --encryption-provider-config".into(),
        )),
        None => Ok(None),
    }
}

/// The etcd cluster of a server that has one.
fn etcd(given: &Given) -> Result<Option<pawl_kv_etcd::Options>, Error> {
    let servers = given.list("etcd-servers");
    if servers.is_empty() {
        return Ok(None);
    }
    let (certificate, key) = (path(given, "etcd-certfile"), path(given, "etcd-keyfile"));
    if certificate.is_some() != key.is_some() {
        return Err(Error::Flag("--etcd-certfile and --etcd-keyfile must be given together".into()));
    }
    let authorities = path(given, "etcd-cafile");
    if authorities.is_none() && servers.iter().any(|url| url.starts_with("https://")) {
        return Err(Error::Flag("--etcd-servers with https needs --etcd-cafile".into()));
    }
    let duration = |name| given.duration(name).map_err(Error::Flag);
    let every = duration("etcd-compaction-interval")?;
    let patience = duration("etcd-healthcheck-timeout")?.max(duration("etcd-readycheck-timeout")?);
    Ok(Some(pawl_kv_etcd::Options {
        servers,
        files: pawl_kv_etcd::Files { authorities, certificate, key },
        prefix: given.value("etcd-prefix").to_owned(),
        compaction: (!every.is_zero()).then_some(every),
        health_patience: patience,
        observer: None,
    }))
}

/// What is older than TLS 1.2 is never spoken, whatever was asked for.
fn only_tls13(version: &str) -> Result<bool, Error> {
    match version {
        "" | "VersionTLS10" | "VersionTLS11" | "VersionTLS12" => Ok(false),
        "VersionTLS13" => Ok(true),
        other => Err(Error::Flag(format!("unknown tls version {other:?}"))),
    }
}

/// A log that holds up requests until their records are written is not there; a queue with a limit is, for both other modes.
fn check_audit_mode(mode: &str) -> Result<(), Error> {
    match mode {
        "batch" | "blocking" => Ok(()),
        "blocking-strict" => Err(Error::Flag(
            "--audit-log-mode=blocking-strict is not supported yet: requests would go unrecorded".into(),
        )),
        other => Err(Error::Flag(format!(
            "invalid audit log mode {other}, allowed modes are \"batch,blocking,blocking-strict\""
        ))),
    }
}

fn max_expiration(given: &Given) -> Result<Duration, Error> {
    const NAME: &str = "service-account-max-token-expiration";
    let limit = given.duration(NAME).map_err(Error::Flag)?;
    if !limit.is_zero() && !(3600..=1 << 32).contains(&limit.as_secs()) {
        return Err(Error::Flag(format!("the {NAME} must be between 1 hour and 2^32 seconds")));
    }
    Ok(limit)
}

/// `30000-32767`, or a base and how many more: `30000+100`.
fn node_ports(text: &str) -> Result<(u16, u16), Error> {
    let wrong =
        |why: &str| Error::Flag(format!("invalid argument {text:?} for \"--service-node-port-range\" flag: {why}"));
    let port = |text: &str| text.trim().parse::<u16>().map_err(|_| wrong("unable to parse port range"));
    let (first, last) = match (text.split_once('-'), text.split_once('+')) {
        (Some((first, last)), _) => (port(first)?, port(last)?),
        (None, Some((first, more))) => {
            let (first, more) = (port(first)?, port(more)?);
            (first, first.checked_add(more).ok_or_else(|| wrong("the range exceeds 65535"))?)
        }
        (None, None) => (port(text)?, port(text)?),
    };
    if first == 0 || last < first {
        return Err(wrong("end port cannot be less than start port"));
    }
    Ok((first, last))
}

fn service_range(text: &str) -> Result<(IpAddr, u8), Error> {
    let wrong = || {
        Error::Flag(format!(
            "invalid argument {text:?} for \"--service-cluster-ip-range\" flag: invalid CIDR address: {text}"
        ))
    };
    let first = text.split(',').next().unwrap_or_default();
    let (address, bits) = first.split_once('/').ok_or_else(wrong)?;
    let address: IpAddr = address.parse().map_err(|_| wrong())?;
    let bits: u8 = bits.parse().map_err(|_| wrong())?;
    let width = if address.is_ipv4() { 32 } else { 128 };
    if bits > width {
        return Err(wrong());
    }
    // The base of the range, whatever address in it was given.
    let base = match address {
        IpAddr::V4(a) => IpAddr::V4((u32::from(a) & u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0)).into()),
        IpAddr::V6(a) => IpAddr::V6((u128::from(a) & u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0)).into()),
    };
    Ok((base, bits))
}
