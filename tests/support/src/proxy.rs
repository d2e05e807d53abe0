//! A way to an etcd that can be spoiled: answers lost, connections cut.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Well,
    /// What etcd says is thrown away.
    Mute,
    /// Connections end, and new ones are not let through.
    Cut,
}

pub struct Proxy {
    address: SocketAddr,
    state: watch::Sender<State>,
}

impl Proxy {
    pub async fn start(to: &str) -> Self {
        let to = to.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (state, seen) = watch::channel(State::Well);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (to, seen) = (to.clone(), seen.clone());
                tokio::spawn(async move {
                    if *seen.borrow() == State::Well
                        && let Ok(far) = TcpStream::connect(to).await
                    {
                        carry(near, far, seen).await;
                    }
                });
            }
        });
        Self { address, state }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn lose_answers(&self) {
        self.state.send_replace(State::Mute);
    }

    pub fn cut(&self) {
        self.state.send_replace(State::Cut);
    }

    pub fn heal(&self) {
        self.state.send_replace(State::Well);
    }
}

async fn carry(near: TcpStream, far: TcpStream, mut state: watch::Receiver<State>) {
    let (mut from_near, mut to_near) = near.into_split();
    let (mut from_far, mut to_far) = far.into_split();
    let cut = state.clone();
    let there = tokio::io::copy(&mut from_near, &mut to_far);
    let back = async move {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(size) = from_far.read(&mut buffer).await {
            if size == 0 {
                return;
            }
            // A conversation with a hole in it is none any more.
            if *cut.borrow() != State::Well {
                continue;
            }
            if to_near.write_all(&buffer[..size]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        _ = there => {}
        () = back => {}
        _ = state.wait_for(|state| *state == State::Cut) => {}
    }
}
