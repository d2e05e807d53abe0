//! A stand-in for etcd, for test environments that start one before the API server: it takes etcd's flags, answers what
//! they ask to see whether it is up, and holds a directory. The API server asks it for that directory and opens the
//! embedded store there itself; nothing of etcd's own protocol is spoken.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use crate::Error;

/// Where a server asks whether it talks to a stand-in.
const PATH: &str = "/pawl/v1/stand-in";
/// What is waited for an answer; a real etcd answers at once.
const PATIENCE: Duration = Duration::from_secs(5);
/// Some start the API server together with etcd: for so long one asks again where nobody listens yet.
const START: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(20);
/// The longest head of a request, and answer, that is read.
const MOST: u64 = 64 << 10;
/// The version that is told: the newest whose clients everybody has.
pub const ETCD_VERSION: &str = "3.6.8";

/// A stand-in that listens.
pub struct StandIn {
    listeners: Vec<TcpListener>,
    document: Arc<Value>,
}

/// What a stand-in says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub directory: PathBuf,
    pub sync: bool,
}

impl StandIn {
    /// Listens at URLs (`http://127.0.0.1:2379`), on this machine only, and makes its directory.
    pub async fn listen(urls: &[String], directory: &Path, sync: bool) -> Result<Self, Error> {
        let mut addresses = Vec::new();
        for url in urls {
            addresses.extend(loopback(url)?);
        }
        let mut listeners = Vec::new();
        for address in addresses {
            let failed = |source| Error::Listen { address: address.to_string(), source };
            listeners.push(TcpListener::bind(address).await.map_err(failed)?);
        }
        std::fs::create_dir_all(directory).map_err(Error::file(directory))?;
        let directory = std::path::absolute(directory).map_err(Error::file(directory))?;
        Ok(Self { listeners, document: Arc::new(json!({"directory": directory, "sync": sync})) })
    }

    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// Answers for as long as it is polled.
    pub async fn run(self) {
        let each = self.listeners.into_iter().map(|listener| accept(listener, Arc::clone(&self.document)));
        futures::future::join_all(each).await;
    }
}

async fn accept(listener: TcpListener, document: Arc<Value>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let document = Arc::clone(&document);
                tokio::spawn(async move {
                    // Who goes away in the middle is nobody's concern.
                    let _ = tokio::time::timeout(PATIENCE, answer(stream, &document)).await;
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection was not taken");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// One request, one answer, and the connection ends.
async fn answer(stream: TcpStream, document: &Value) -> io::Result<()> {
    let mut stream = BufReader::new(stream.take(MOST));
    let head = read_head(&mut stream).await?;
    let path = head.split_whitespace().nth(1).unwrap_or_default();
    let (code, body) = match path.split('?').next().unwrap_or_default() {
        "/health" | "/livez" | "/readyz" => ("200 OK", json!({"health": "true", "reason": ""})),
        "/version" => ("200 OK", json!({"etcdserver": ETCD_VERSION, "etcdcluster": "3.6.0", "storage": "3.6.0"})),
        PATH => ("200 OK", document.clone()),
        _ => ("404 Not Found", json!({"error": "this is Pawl's stand-in for etcd: it only holds a directory"})),
    };
    let body = body.to_string();
    let text = format!(
        "HTTP/1.1 {code}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.get_mut().get_mut().write_all(text.as_bytes()).await?;
    stream.get_mut().get_mut().shutdown().await
}

async fn read_head(stream: &mut BufReader<tokio::io::Take<TcpStream>>) -> io::Result<String> {
    let mut head = String::new();
    loop {
        let before = head.len();
        stream.read_line(&mut head).await?;
        if head.len() - before <= 2 {
            return Ok(head);
        }
    }
}

/// The addresses of a URL, all of them on this machine. One that means every address of the machine means this one only.
fn loopback(url: &str) -> Result<Vec<SocketAddr>, Error> {
    let wrong = |why: &str| Error::Flag(format!("--listen-client-urls {url}: {why}"));
    let place = url.strip_prefix("http://").ok_or_else(|| wrong("the stand-in for etcd speaks plain http only"))?;
    let place = place.trim_end_matches('/');
    let mut found: Vec<SocketAddr> = place.to_socket_addrs().map_err(|error| wrong(&error.to_string()))?.collect();
    for address in found.iter_mut().filter(|address| address.ip().is_unspecified()) {
        address.set_ip(if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
    }
    if found.is_empty() || found.iter().any(|address| !address.ip().is_loopback()) {
        return Err(wrong("the stand-in for etcd listens on this machine only"));
    }
    Ok(found.into_iter().take(1).collect())
}

/// Asks whether a stand-in is behind a URL of `--etcd-servers`. `None` when something else answers, or nothing.
pub async fn ask(url: &str) -> Option<Found> {
    let address = loopback(url).ok()?.into_iter().next()?;
    let began = Instant::now();
    let asked = loop {
        match tokio::time::timeout(PATIENCE, request(address)).await.ok()? {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused && began.elapsed() < START => {
                tokio::time::sleep(PAUSE).await;
            }
            answered => break answered.ok()?,
        }
    };
    let document: Value = serde_json::from_str(&asked).ok()?;
    Some(Found { directory: document.get("directory")?.as_str()?.into(), sync: document.get("sync")?.as_bool()? })
}

async fn request(address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(format!("GET {PATH} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").as_bytes()).await?;
    let mut text = String::new();
    stream.take(MOST).read_to_string(&mut text).await?;
    Ok(text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stand_in_is_known_by_its_answer() {
        let directory = tempfile::tempdir().unwrap();
        let stand_in = StandIn::listen(&["http://127.0.0.1:0".to_owned()], directory.path(), false).await.unwrap();
        let address = stand_in.addresses()[0];
        let task = tokio::spawn(stand_in.run());
        let found = ask(&format!("http://{address}")).await;
        assert_eq!(found, Some(Found { directory: directory.path().to_owned(), sync: false }));
        task.abort();
        // Nobody there, or somebody else.
        assert_eq!(ask(&format!("http://{address}")).await, None);
    }

    #[tokio::test]
    async fn one_that_comes_later_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let free = StandIn::listen(&["http://127.0.0.1:0".to_owned()], directory.path(), true).await.unwrap();
        let url = format!("http://{}", free.addresses()[0]);
        drop(free);
        let asked = tokio::spawn({
            let url = url.clone();
            async move { ask(&url).await }
        });
        tokio::time::sleep(3 * PAUSE).await;
        let stand_in = StandIn::listen(&[url], directory.path(), true).await.unwrap();
        let task = tokio::spawn(stand_in.run());
        assert!(asked.await.unwrap().is_some());
        task.abort();
    }

    #[tokio::test]
    async fn it_stays_on_this_machine() {
        let directory = tempfile::tempdir().unwrap();
        let stand_in = StandIn::listen(&["http://0.0.0.0:0".to_owned()], directory.path(), true).await.unwrap();
        assert!(stand_in.addresses().iter().all(|address| address.ip().is_loopback()));
        for url in ["http://192.0.2.1:2379", "https://127.0.0.1:0", "127.0.0.1:0"] {
            assert!(StandIn::listen(&[url.to_owned()], directory.path(), true).await.is_err(), "{url}");
        }
    }
}
