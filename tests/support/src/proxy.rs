//! A way to a server that can be spoiled: answers lost, connections cut, or everything held back as by a network that is gone.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// How a way is, from well to worse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    #[default]
    Well,
    /// What the server says is thrown away.
    Mute,
    /// Nothing arrives on either side, and no side is told. What was sent arrives once the way is well again.
    Held,
    /// Connections end, and new ones are not let through.
    Cut,
}

/// The state for everybody, and for single callers.
#[derive(Default)]
struct States {
    all: State,
    of: HashMap<String, State>,
}

pub struct Proxy {
    address: SocketAddr,
    states: watch::Sender<States>,
}

impl Proxy {
    /// Begins to carry connections to the place of a URL.
    pub fn start(to: &str) -> Self {
        let to = to.trim_start_matches("http://").to_owned();
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let listener = TcpListener::from_std(listener).unwrap();
        let address = listener.local_addr().unwrap();
        let states = watch::Sender::new(States::default());
        let seen = states.subscribe();
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(carry(near, to.clone(), seen.clone()));
            }
        });
        Self { address, states }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn lose_answers(&self) {
        self.become_for_all(State::Mute);
    }

    pub fn hold(&self) {
        self.become_for_all(State::Held);
    }

    pub fn cut(&self) {
        self.become_for_all(State::Cut);
    }

    /// Holds back one caller only. Members of an etcd cluster say who they are (`X-Server-From`).
    pub fn hold_from(&self, caller: &str) {
        self.states.send_modify(|states| states.of.extend([(caller.to_owned(), State::Held)]));
    }

    pub fn heal(&self) {
        self.states.send_modify(|states| *states = States::default());
    }

    fn become_for_all(&self, state: State) {
        self.states.send_modify(|states| states.all = state);
    }
}

/// What a connection knows of its way.
#[derive(Clone)]
struct Way {
    caller: String,
    states: watch::Receiver<States>,
}

impl Way {
    fn of(states: &States, caller: &str) -> State {
        states.all.max(states.of.get(caller).copied().unwrap_or_default())
    }

    /// Waits while everything is held back; `None` means that the way is cut.
    async fn passable(&mut self) -> Option<State> {
        let Self { caller, states } = self;
        let states = states.wait_for(|states| Self::of(states, caller) != State::Held).await.ok()?;
        Some(Self::of(&states, caller)).filter(|state| *state != State::Cut)
    }

    async fn cut(mut self) {
        let Self { caller, states } = &mut self;
        let _ = states.wait_for(|states| Self::of(states, caller) == State::Cut).await;
    }
}

async fn carry(mut near: TcpStream, to: String, states: watch::Receiver<States>) {
    let Some(first) = opening(&mut near).await else { return };
    let mut way = Way { caller: caller(&first), states };
    if way.passable().await.is_none() {
        return;
    }
    let Ok(mut far) = TcpStream::connect(to).await else { return };
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    if far.write_all(&first).await.is_err() {
        return;
    }
    let (from_near, to_near) = near.into_split();
    let (from_far, to_far) = far.into_split();
    tokio::select! {
        () = pass(from_near, to_far, way.clone(), false) => {}
        () = pass(from_far, to_near, way.clone(), true) => {}
        () = way.cut() => {}
    }
}

/// One direction of a connection.
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut way: Way, is_answer: bool) {
    let mut buffer = vec![0; 64 << 10];
    let mut spoiled = false;
    while let Ok(size @ 1..) = from.read(&mut buffer).await {
        let Some(state) = way.passable().await else { return };
        // A conversation with a hole in it is none any more.
        spoiled |= is_answer && state == State::Mute;
        if !spoiled && to.write_all(&buffer[..size]).await.is_err() {
            return;
        }
    }
    // What was held back when the connection ended must not overtake the end.
    let _ = way.passable().await;
}

/// What is said first: up to the end of the head of a request.
async fn opening(near: &mut TcpStream) -> Option<Vec<u8>> {
    let mut first = Vec::new();
    while !first.windows(4).any(|four| four == b"\r\n\r\n") && first.len() < 16 << 10 {
        if near.read_buf(&mut first).await.ok()? == 0 {
            return None;
        }
    }
    Some(first)
}

/// Who calls, where that is said.
fn caller(first: &[u8]) -> String {
    let head = String::from_utf8_lossy(first);
    let named = head.lines().find_map(|line| line.strip_prefix("X-Server-From: "));
    named.unwrap_or_default().trim().to_owned()
}
