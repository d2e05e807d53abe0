//! An etcd of one's own for a test: on loopback, on free ports, in a directory that goes with it.

use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::members::Members;
use crate::messages::{self, StatusRequest, StatusResponse};
use crate::tls::{Files, Place};
use crate::{Options, Store};

/// A running member of an etcd cluster, mostly the only one. Dropping it ends the process.
pub struct Etcd {
    process: Option<Child>,
    name: String,
    client: u16,
    peer: u16,
    /// Where other members find it.
    advertised: String,
    /// All members, as etcd wants to be told of them.
    cluster: String,
    flags: Vec<String>,
    directory: tempfile::TempDir,
}

impl Etcd {
    /// Starts the etcd that `PAWL_ETCD` names, or the one on the path. There must be one.
    pub fn start() -> io::Result<Self> {
        Self::start_with(&[])
    }

    pub fn start_with(flags: &[&str]) -> io::Result<Self> {
        on_free_ports(|| {
            let mut etcd = Self::new(0, flags)?;
            etcd.resume()?;
            Ok(etcd)
        })
    }

    /// Starts a cluster of several members.
    pub fn cluster(size: usize) -> io::Result<Vec<Self>> {
        Self::cluster_by(size, str::to_owned)
    }

    /// The same, where members find each other by other ways: each is told of as the URL of a way that leads to it.
    pub fn cluster_by(size: usize, way: impl Fn(&str) -> String) -> io::Result<Vec<Self>> {
        on_free_ports(|| Self::members(size, &way))
    }

    fn members(size: usize, way: &impl Fn(&str) -> String) -> io::Result<Vec<Self>> {
        // Slower than a lone member: these must agree while other tests run.
        let flags = ["--heartbeat-interval=50", "--election-timeout=500"];
        let mut members = (0..size).map(|number| Self::new(number, &flags)).collect::<io::Result<Vec<_>>>()?;
        for member in &mut members {
            member.advertised = way(&member.advertised);
        }
        let named = members.iter().map(|member| format!("{}={}", member.name, member.advertised));
        let cluster: Vec<String> = named.collect();
        for member in &mut members {
            member.cluster = cluster.join(",");
            member.launch()?;
        }
        members.iter_mut().try_for_each(Self::wait_for_port)?;
        Ok(members)
    }

    fn new(number: usize, flags: &[&str]) -> io::Result<Self> {
        let flags = flags.iter().map(|&flag| flag.to_owned()).collect();
        let directory = tempfile::TempDir::with_prefix("pawl-etcd-")?;
        let (name, client, peer) = (format!("test{number}"), free_port()?, free_port()?);
        let advertised = format!("http://127.0.0.1:{peer}");
        let cluster = format!("{name}={advertised}");
        Ok(Self { process: None, name, client, peer, advertised, cluster, flags, directory })
    }

    /// The number of the process, while there is one.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    pub fn url(&self) -> String {
        let scheme = if self.flags.iter().any(|flag| flag.starts_with("--cert-file")) { "https" } else { "http" };
        format!("{scheme}://127.0.0.1:{}", self.client)
    }

    /// Where it keeps its data.
    pub fn data(&self) -> std::path::PathBuf {
        self.directory.path().join("data")
    }

    pub fn options(&self) -> Options {
        Options { servers: vec![self.url()], ..Options::default() }
    }

    /// A store on it.
    pub async fn store(&self) -> pawl_kv::Result<Arc<Store>> {
        Store::open(self.options()).await
    }

    /// The ids of this member and of the one that it takes for the leader.
    pub async fn ids(&self) -> Option<(u64, u64)> {
        let status = self.status().await?;
        Some((status.header?.member_id, status.leader))
    }

    pub async fn version(&self) -> Option<String> {
        self.status().await.map(|status| status.version)
    }

    async fn status(&self) -> Option<StatusResponse> {
        let members = Members::new(vec![Place::parse(&self.url()).ok()?], Files::default());
        members.once(0, messages::STATUS, StatusRequest {}, Duration::from_secs(1)).await.ok()
    }

    /// Ends the process as a crash would.
    pub fn kill(&mut self) -> io::Result<()> {
        match self.process.take() {
            Some(mut process) => process.kill().and_then(|()| process.wait().map(drop)),
            None => Ok(()),
        }
    }

    /// Starts the process again, where it was and with what it had.
    pub fn resume(&mut self) -> io::Result<()> {
        self.launch()?;
        self.wait_for_port()
    }

    /// The same without waiting for it to answer: one that has too few others does not.
    pub fn launch(&mut self) -> io::Result<()> {
        self.kill()?;
        let program = std::env::var("PAWL_ETCD").unwrap_or_else(|_| "etcd".to_owned());
        let (client, peer) = (self.url(), format!("http://127.0.0.1:{}", self.peer));
        let mut command = Command::new(&program);
        command
            .args(["--name", &self.name, "--unsafe-no-fsync=true", "--log-level", "error"])
            // A lone member elects itself: the sooner the better.
            .args(["--heartbeat-interval", "20", "--election-timeout", "100"])
            .arg(format!("--data-dir={}", self.data().display()))
            .arg(format!("--listen-client-urls={client}"))
            .arg(format!("--advertise-client-urls={client}"))
            .arg(format!("--listen-peer-urls={peer}"))
            .arg(format!("--initial-advertise-peer-urls={}", self.advertised))
            .arg(format!("--initial-cluster={}", self.cluster))
            .args(&self.flags)
            .stdout(Stdio::null())
            .stderr(log(&self.directory.path().join("log"))?);
        let process = command.spawn().map_err(|why| io::Error::other(format!("{program}: {why}")))?;
        self.process = Some(process);
        Ok(())
    }

    pub fn wait_for_port(&mut self) -> io::Result<()> {
        let began = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", self.client)).is_err() {
            let ended = self.process.as_mut().is_none_or(|process| process.try_wait().is_ok_and(|code| code.is_some()));
            if ended || began.elapsed() > Duration::from_secs(30) {
                let said = std::fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
                return Err(io::Error::other(format!("etcd did not start: {said}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

fn log(path: &Path) -> io::Result<Stdio> {
    std::fs::File::options().create(true).append(true).open(path).map(Stdio::from)
}

/// Starts something anew on other ports when somebody has taken one since it was found free.
fn on_free_ports<T>(start: impl Fn() -> io::Result<T>) -> io::Result<T> {
    const TRIES: usize = 5;
    let is_taken = |why: &io::Error| why.to_string().contains("address already in use");
    let mut started = start();
    for _ in 1..TRIES {
        if !started.as_ref().is_err_and(is_taken) {
            break;
        }
        started = start();
    }
    started
}

/// A port below those that the system gives to clients: while a member is down, nobody who connects is given its own.
fn free_port() -> io::Result<u16> {
    use std::hash::{BuildHasher, RandomState};
    const FIRST: u16 = 10_000;
    const MANY: u64 = 22_000;
    loop {
        let random = RandomState::new().hash_one(std::process::id()) % MANY;
        let port = u16::try_from(random).map_err(io::Error::other)? + FIRST;
        match TcpListener::bind(("127.0.0.1", port)) {
            Ok(_) => return Ok(port),
            Err(why) if why.kind() == io::ErrorKind::AddrInUse => {}
            Err(why) => return Err(why),
        }
    }
}
