//! The real binary as a child process, and clients that speak to it.
//!
//! Owns the directory, the port and the process of a server under test. It waits for what must happen and never asserts
//! how long that takes; a deadline only keeps a broken server from hanging the tests.

#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

pub mod authority;
mod client;
pub mod damage;
pub mod linear;
pub mod proxy;
pub mod sealing;
pub mod signing;

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

pub use client::{Answer, Client, Failure, Protocol, Trust, Watch};
pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process};
use serde_json::json;
use tempfile::TempDir;

/// The bearer token of a user who may do everything.
pub const TOKEN: &str = "root-token";

/// How long anything that must happen may take.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// A command line of the binary, or of another one that is to be measured.
pub fn pawl() -> Command {
    Command::new(std::env::var_os("PAWL_TEST_BIN").map_or_else(binary, PathBuf::from))
}

/// The binary of the same build: cargo puts it beside the directory of the tests.
pub fn binary() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().join("pawl")
}

/// A directory and a port for one server at a time.
pub struct Place {
    root: TempDir,
    pub port: u16,
}

impl Place {
    #[expect(clippy::new_without_default, reason = "every place is another one")]
    pub fn new() -> Self {
        let root = TempDir::new().unwrap();
        fs::write(root.path().join("tokens.csv"), format!("{TOKEN},root,0,system:masters\n")).unwrap();
        Self { root, port: free_port() }
    }

    /// One more user, whose token is his name, for servers that start later.
    pub fn add_user(&self, name: &str, groups: &str) {
        let mut tokens = fs::read_to_string(self.path("tokens.csv")).unwrap();
        tokens.push_str(&format!("{name},{name},{name}-uid,\"{groups}\"\n"));
        fs::write(self.path("tokens.csv"), tokens).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// The command that serves this place.
    pub fn command(&self) -> Command {
        let mut command = pawl();
        command
            .arg("serve")
            .arg(format!("--data-dir={}", self.data().display()))
            .arg(format!("--token-auth-file={}", self.path("tokens.csv").display()))
            .arg(format!("--secure-port={}", self.port));
        command
    }

    /// Starts a server that need not be ready yet.
    pub fn launch(&self, mut command: Command) -> Server {
        let log = self.path("stderr.log");
        let append = |path: &Path| fs::File::options().create(true).append(true).open(path).unwrap();
        command.stdin(Stdio::null()).stdout(append(&self.path("stdout.log"))).stderr(append(&log));
        Server { child: command.spawn().unwrap(), log }
    }

    /// Starts a server and waits until it is ready.
    pub async fn start(&mut self) -> Server {
        self.start_with(Self::command).await
    }

    /// Starts a server with more flags and waits until it is ready.
    pub async fn start_flagged(&mut self, flags: &[&str]) -> Server {
        self.start_with(|place| {
            let mut command = place.command();
            command.args(flags);
            command
        })
        .await
    }

    /// Starts a server by a command of its own and waits until it is ready.
    pub async fn start_with(&mut self, command: impl Fn(&Self) -> Command) -> Server {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let mut server = self.launch(command(self));
            match server.ready(self).await {
                Ok(()) => return server,
                // Somebody else took the port between our look and the server's: take another one.
                Err(why) if why.contains("cannot listen") && Instant::now() < deadline => self.port = free_port(),
                Err(why) => panic!("{why}"),
            }
        }
    }

    /// A client with the token of the user who may do everything.
    pub fn client(&self, protocol: Protocol) -> Client {
        self.anonymous(protocol).with_token(TOKEN)
    }

    /// A client that shows nothing of itself.
    pub fn anonymous(&self, protocol: Protocol) -> Client {
        self.shown(protocol, None)
    }

    /// A client that shows a certificate.
    pub fn shown(&self, protocol: Protocol, certificate: Option<(String, String)>) -> Client {
        let ca = fs::read_to_string(self.data().join("pki/ca.crt")).unwrap();
        Client::new(self.port, protocol, &Trust { ca, certificate })
    }
}

/// A server that runs in a place of its own, and a client that may do everything there.
pub struct Running {
    pub place: Place,
    pub server: Server,
    pub admin: Client,
}

impl Running {
    /// Starts a server with these flags, these users besides the one who may do everything, and one namespace `n`.
    pub async fn start(flags: &[&str], users: &[&str]) -> Self {
        let place = Place::new();
        for user in users {
            place.add_user(user, "");
        }
        Self::start_in(place, flags).await
    }

    /// Starts a server with these flags in a place that has been prepared, and makes one namespace `n`.
    pub async fn start_in(mut place: Place, flags: &[&str]) -> Self {
        let server = place.start_flagged(flags).await;
        let admin = place.client(Protocol::Http2);
        let namespace = json!({"metadata": {"name": "n"}});
        admin.post("/api/v1/namespaces", &namespace).await.unwrap().expect(201);
        Self { place, server, admin }
    }

    /// Stops this server, and starts another one with other flags on what it left.
    pub async fn restart(mut self, flags: &[&str]) -> Self {
        self.server.stop().await;
        let server = self.place.start_flagged(flags).await;
        let admin = self.place.client(Protocol::Http2);
        Self { place: self.place, server, admin }
    }

    /// A client of one of the users.
    pub fn user(&self, name: &str) -> Client {
        self.place.anonymous(Protocol::Http2).with_token(name)
    }

    /// Lets a user do this in the namespace `n`, and waits until he may.
    pub async fn grant(&mut self, user: &str, verbs: &[&str], resource: &str) {
        let name = format!("{user}-{}", fastrand::u32(..));
        let rules = json!([{"apiGroups": [""], "resources": [resource], "verbs": verbs}]);
        let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/n";
        let role = json!({"metadata": {"name": name}, "rules": rules});
        self.admin.post(&format!("{roles}/roles"), &role).await.unwrap().expect(201);
        let group = "rbac.authorization.k8s.io";
        let binding = json!({"metadata": {"name": name}, "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user}]});
        self.admin.post(&format!("{roles}/rolebindings"), &binding).await.unwrap().expect(201);
        let client = self.user(user);
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        for verb in verbs {
            let asked = json!({"namespace": "n", "verb": verb, "resource": resource, "subresource": subresource});
            let review = json!({"spec": {"resourceAttributes": asked}});
            let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
            let may = async || match client.post(path, &review).await?.json()["status"]["allowed"] == true {
                true => Ok(()),
                false => Err(format!("{user} may not yet {verb} {resource}").into()),
            };
            self.until(may).await;
        }
    }

    /// Waits until something holds.
    pub async fn until(&mut self, holds: impl AsyncFn() -> Result<(), Failure>) {
        self.server.until(holds).await.unwrap_or_else(|why| panic!("{why}"));
    }

    /// Waits until a path is gone.
    pub async fn until_gone(&mut self, path: &str) {
        let admin = &self.admin;
        let gone = async || match admin.get(path).await?.code {
            404 => Ok(()),
            _ => Err(format!("{path} is still there").into()),
        };
        self.server.until(gone).await.unwrap_or_else(|why| panic!("{why}"));
    }

    /// Stops the server, which must not have panicked.
    pub async fn stop(self) {
        self.server.assert_no_panic();
        self.server.stop().await;
    }
}

/// A running server; it is killed when this is dropped.
pub struct Server {
    child: Child,
    log: PathBuf,
}

impl Server {
    /// Waits until the server of a place answers that it is ready.
    async fn ready(&mut self, place: &Place) -> Result<(), String> {
        self.until(async || {
            TcpStream::connect((Ipv4Addr::LOCALHOST, place.port))?;
            // A port is taken before anything is written.
            fs::metadata(place.data().join("pki/ca.crt"))?;
            place.client(Protocol::Http1).get("/readyz").await?.ok()
        })
        .await
    }

    /// Waits until something holds of the running server.
    pub async fn until(&mut self, holds: impl AsyncFn() -> Result<(), Failure>) -> Result<(), String> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Err(format!("the server ended with {status}: {}", self.log()));
            }
            match holds().await {
                Ok(()) => return Ok(()),
                Err(why) if Instant::now() > deadline => return Err(format!("{why}: {}", self.log())),
                Err(_) => pause().await,
            }
        }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Ends the server without giving it a chance to do anything.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until the server has ended by itself.
    pub async fn ended(&mut self) -> ExitStatus {
        let deadline = Instant::now() + DEADLINE;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            pause().await;
        }
        panic!("the server did not end: {}", self.log());
    }

    /// Stops the server the way an operator does, and checks that it liked to.
    pub async fn stop(mut self) {
        self.signal(Signal::TERM);
        let status = self.ended().await;
        assert_eq!(status.code(), Some(0), "{}", self.log());
    }

    /// What servers of this place have written to standard error so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// What the system says of the process.
    pub fn proc(&self, file: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap()
    }

    /// The resident memory of the process, in kilobytes.
    pub fn resident(&self) -> u64 {
        let status = self.proc("status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// How long the process has been computing.
    pub fn cpu(&self) -> Duration {
        let stat = self.proc("stat");
        // User and system time are fields 14 and 15, in hundredths of a second; the name before them may contain spaces.
        let fields = stat.rsplit(')').next().unwrap().split_whitespace().skip(11);
        Duration::from_millis(10 * fields.take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum::<u64>())
    }

    /// How long the threads that serve requests have been computing: those that the runtime made first. What takes long is left to
    /// others.
    pub fn worker_cpu(&self) -> Duration {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let mut threads: Vec<u32> =
            tasks.map(|task| task.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect();
        threads.sort_unstable();
        let named = |thread: &u32| self.proc(&format!("task/{thread}/comm")).starts_with("tokio-rt-worker");
        let workers = std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 8));
        let ran = |thread: u32| {
            let times = self.proc(&format!("task/{thread}/schedstat"));
            times.split_whitespace().next().unwrap().parse::<u64>().unwrap()
        };
        Duration::from_nanos(threads.into_iter().filter(named).take(workers).map(ran).sum())
    }

    /// A panic is told by its message, even where something caught it.
    pub fn assert_no_panic(&self) {
        let log = self.log();
        assert!(!log.contains("panicked"), "{log}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A number from the environment.
pub fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

/// The seed of this run: given in `PAWL_SEED`, or new. It is printed, and shown when the test fails.
pub fn seed() -> u64 {
    let seed = setting("PAWL_SEED").unwrap_or_else(|| fastrand::u64(..));
    eprintln!("PAWL_SEED={seed}");
    seed
}

/// A short wait between two looks.
pub async fn pause() {
    tokio::time::sleep(Duration::from_millis(5)).await;
}

/// A port below those that the system gives to clients, that nobody listens on.
pub fn free_port() -> u16 {
    loop {
        let port = fastrand::u16(10_000..32_000);
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}
