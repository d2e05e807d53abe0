//! Three members, three servers, every way between them a proxy; and what can go wrong with them.

use std::cell::RefCell;
use std::time::Duration;

use fastrand::Rng;
use pawl_kv_etcd::testing::Etcd;
use pawl_testing::proxy::Proxy;
use pawl_testing::{Client, DEADLINE, Place, Protocol, Server, Signal, pause};
use rustix::process::{Pid, kill_process};

use crate::etcd;

pub const SIZE: usize = 3;
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/pawl-controllers";
/// Longer than a Lease lasts that nobody renews: another server leads afterwards.
const LONG: Duration = Duration::from_secs(18);

pub struct Cluster {
    pub etcds: Vec<Etcd>,
    pub servers: Vec<Member>,
    /// The way to each member for the others.
    peers: Vec<Proxy>,
    /// How members call themselves when they speak to each other.
    ids: Vec<String>,
}

pub struct Member {
    pub place: Place,
    pub server: Server,
    /// Its way to each member.
    ways: Vec<Proxy>,
}

impl Member {
    async fn join(etcds: &[Etcd]) -> Self {
        let ways: Vec<Proxy> = etcds.iter().map(|etcd| Proxy::start(&etcd.url())).collect();
        let mut place = Place::new();
        std::os::unix::fs::symlink("pawl-data", place.data()).unwrap();
        // What controllers do is recorded, and nothing else.
        let rules =
            r#"[{"level": "Metadata", "userGroups": ["system:serviceaccounts:kube-system"]}, {"level": "None"}]"#;
        let policy = format!(r#"{{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": {rules}}}"#);
        std::fs::write(place.path("policy.json"), policy).unwrap();
        let server = place.start_with(|place| command(place, &ways)).await;
        Self { place, server, ways }
    }

    pub fn client(&self) -> Client {
        self.place.client(Protocol::Http2)
    }

    async fn restart(&mut self) {
        let Self { place, server, ways } = self;
        server.signal(Signal::KILL);
        server.ended().await;
        *server = place.start_with(|place| command(place, ways)).await;
    }
}

fn command(place: &Place, ways: &[Proxy]) -> std::process::Command {
    let urls: Vec<String> = ways.iter().map(Proxy::url).collect();
    let mut command = etcd::command(place, &urls.join(","));
    command
        // Everything stays, so that nobody has to be told 410 and all of it can be compared in the end.
        .arg("--etcd-compaction-interval=0")
        .arg(format!("--audit-log-path={}", place.path("audit.log").display()))
        .arg(format!("--audit-policy-file={}", place.path("policy.json").display()));
    command
}

/// What goes wrong.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    MemberKilled(usize),
    MemberHalted(usize),
    /// Its peers and it do not hear each other.
    MemberAlone(usize),
    /// The same, of the member that leads.
    LeaderAlone,
    QuorumKilled(usize),
    ServerKilled(usize),
    ServerHalted(usize),
    /// Nothing arrives between a server and a member, and nobody is told.
    WayHeld(usize, usize),
    /// Connections between a server and a member are cut.
    WayCut(usize, usize),
    /// What a member does is done, and its server is not told.
    AnswersLost(usize),
    /// A server hears of no member.
    ServerAlone(usize),
    /// The server that runs the controllers is killed.
    ControllersKilled,
    /// It is halted until another one runs them.
    ControllersHalted,
    /// It hears of no member until another one runs them.
    ControllersAlone,
}

impl Fault {
    pub fn any(random: &mut Rng) -> Self {
        let (one, other) = (random.usize(..SIZE), random.usize(..SIZE));
        match random.u8(..28) {
            0..2 => Self::MemberKilled(one),
            2..4 => Self::MemberHalted(one),
            4..6 => Self::MemberAlone(one),
            6..9 => Self::LeaderAlone,
            9..11 => Self::QuorumKilled(one),
            11..13 => Self::ServerKilled(one),
            13..15 => Self::ServerHalted(one),
            15..17 => Self::WayHeld(one, other),
            17..19 => Self::WayCut(one, other),
            19..21 => Self::AnswersLost(one),
            21..24 => Self::ServerAlone(one),
            24..26 => Self::ControllersKilled,
            26 => Self::ControllersHalted,
            _ => Self::ControllersAlone,
        }
    }
}

impl Cluster {
    pub async fn start() -> Self {
        let peers = RefCell::new(Vec::new());
        let way = |url: &str| {
            let proxy = Proxy::start(url);
            let through = proxy.url();
            peers.borrow_mut().push(proxy);
            through
        };
        let etcds = Etcd::cluster_by(SIZE, way).expect("an etcd on the path");
        let mut peers = peers.into_inner();
        // A start that failed has left its own.
        let peers = peers.split_off(peers.len() - SIZE);
        let mut ids = Vec::new();
        for etcd in &etcds {
            ids.push(format!("{:x}", until_some(async || etcd.ids().await).await.0));
        }
        let (one, two, three) = futures::join!(Member::join(&etcds), Member::join(&etcds), Member::join(&etcds));
        Self { etcds, servers: vec![one, two, three], peers, ids }
    }

    /// Lets something go wrong for a while.
    pub async fn strike(&mut self, fault: Fault, random: &mut Rng) {
        let a_while = Duration::from_millis(random.u64(200..2500));
        let pass = tokio::time::sleep;
        match fault {
            Fault::MemberKilled(member) => {
                self.etcds[member].kill().unwrap();
                pass(a_while).await;
                self.etcds[member].resume().unwrap();
            }
            Fault::MemberHalted(member) => {
                signal(&self.etcds[member], Signal::STOP);
                pass(a_while).await;
                signal(&self.etcds[member], Signal::CONT);
            }
            Fault::MemberAlone(member) => self.isolate(member, a_while).await,
            Fault::LeaderAlone => {
                let leader = until_some(async || self.leader().await).await;
                self.isolate(leader, a_while + Duration::from_secs(1)).await;
            }
            Fault::QuorumKilled(member) => {
                let two = [member, (member + 1) % SIZE];
                two.iter().for_each(|member| self.etcds[*member].kill().unwrap());
                pass(a_while).await;
                // A member listens once it has found the others.
                two.iter().for_each(|member| self.etcds[*member].launch().unwrap());
                two.iter().for_each(|member| self.etcds[*member].wait_for_port().unwrap());
            }
            Fault::ServerKilled(server) => self.servers[server].restart().await,
            Fault::ServerHalted(server) => self.halt(server, a_while).await,
            Fault::WayHeld(server, member) => {
                self.servers[server].ways[member].hold();
                pass(a_while).await;
                self.servers[server].ways[member].heal();
            }
            Fault::WayCut(server, member) => {
                self.servers[server].ways[member].cut();
                pass(a_while).await;
                self.servers[server].ways[member].heal();
            }
            Fault::AnswersLost(server) => {
                let ways = &self.servers[server].ways;
                ways.iter().for_each(Proxy::lose_answers);
                pass(a_while).await;
                // Conversations with holes end.
                ways.iter().for_each(Proxy::cut);
                pass(Duration::from_millis(50)).await;
                ways.iter().for_each(Proxy::heal);
            }
            Fault::ServerAlone(server) => self.cut_off(server, a_while).await,
            Fault::ControllersKilled => {
                let server = self.in_charge().await;
                self.servers[server].restart().await;
            }
            Fault::ControllersHalted => {
                let server = self.in_charge().await;
                self.halt(server, LONG).await;
            }
            Fault::ControllersAlone => {
                let server = self.in_charge().await;
                self.cut_off(server, LONG).await;
            }
        }
    }

    async fn halt(&self, server: usize, a_while: Duration) {
        self.servers[server].server.signal(Signal::STOP);
        tokio::time::sleep(a_while).await;
        self.servers[server].server.signal(Signal::CONT);
    }

    async fn cut_off(&self, server: usize, a_while: Duration) {
        let ways = &self.servers[server].ways;
        ways.iter().for_each(Proxy::hold);
        tokio::time::sleep(a_while).await;
        ways.iter().for_each(Proxy::heal);
    }

    /// A member and its peers do not hear each other; clients reach all of them.
    async fn isolate(&self, member: usize, a_while: Duration) {
        for (number, way) in self.peers.iter().enumerate() {
            if number == member { way.hold() } else { way.hold_from(&self.ids[member]) }
        }
        tokio::time::sleep(a_while).await;
        self.peers.iter().for_each(Proxy::heal);
    }

    /// The member that leads the others.
    async fn leader(&self) -> Option<usize> {
        for etcd in &self.etcds {
            if let Some((_, leader)) = etcd.ids().await
                && let Some(found) = self.ids.iter().position(|id| *id == format!("{leader:x}"))
            {
                return Some(found);
            }
        }
        None
    }

    /// The server that holds the Lease of the controllers.
    async fn in_charge(&self) -> usize {
        let holder = async || {
            for server in &self.servers {
                let client = server.client();
                let asked = tokio::time::timeout(Duration::from_secs(5), client.get(LEASE)).await;
                if let Ok(Ok(answer)) = asked
                    && answer.code == 200
                    && let Some(identity) = answer.json()["spec"]["holderIdentity"].as_str()
                {
                    return self.named(identity);
                }
            }
            None
        };
        until_some(holder).await
    }

    /// The server that has this identity: its address, and what tells its lives apart.
    pub fn named(&self, identity: &str) -> Option<usize> {
        self.servers.iter().position(|server| identity.contains(&format!(":{}_", server.place.port)))
    }

    /// Waits until every server is ready.
    pub async fn until_well(&mut self) {
        for member in &mut self.servers {
            let admin = member.client();
            member.server.until(async || admin.get("/readyz").await?.ok()).await.unwrap();
        }
    }
}

fn signal(etcd: &Etcd, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(etcd.pid().unwrap()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

async fn until_some<T>(look: impl AsyncFn() -> Option<T>) -> T {
    let deadline = std::time::Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(std::time::Instant::now() < deadline, "it does not come to that");
        pause().await;
    }
}
