//! Connections: TLS, HTTP/1.1 and HTTP/2, their limits, and a stop that loses nothing.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use pawl_auth::authn::PeerCertificates;
use pawl_gathering::Gathering;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use crate::api::{Api, Peer};
use crate::body::Sending;
use crate::records::{AHEAD, Records};
use crate::shares::{Held, Pool};
use crate::watchman::{Patience, Watchman};
use crate::websocket::Session;

#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// How long a client may take for the TLS handshake, between the lines of a head, or until it asks for something.
    pub patience: Duration,
    /// How long a connection may be open without a request.
    pub idle: Duration,
    /// How long a client may not read what it asked for.
    pub unread: Duration,
    /// Connections at once; one address has at most as many as are left for others. More are closed as they come.
    pub connections: usize,
    /// Connections beyond these for clients on the same machine.
    pub loopback: usize,
    /// How long requests in flight may take to finish once the server stops.
    pub drain: Duration,
    /// Whether HTTP/2 is spoken, too.
    pub http2: bool,
}

impl Default for ServerOptions {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            patience: seconds(10),
            idle: seconds(90),
            unread: seconds(30),
            connections: 20_000,
            loopback: 64,
            drain: Duration::from_millis(700),
            http2: true,
        }
    }
}

/// A server on one listener.
pub struct Server {
    api: Arc<Api>,
    tls: watch::Receiver<Arc<ServerConfig>>,
    options: ServerOptions,
}

/// What the connections of a server share.
struct Shared {
    api: Arc<Api>,
    builder: Builder<TokioExecutor>,
    patience: Duration,
    watchman: Arc<Watchman>,
}

impl Server {
    /// The TLS configuration may change while the server runs; new connections use the new one.
    pub fn new(api: Arc<Api>, tls: watch::Receiver<Arc<ServerConfig>>, options: ServerOptions) -> Self {
        Self { api, tls, options }
    }

    /// Serves until the server stops, then waits for what is in flight.
    pub async fn run(self, listener: TcpListener) {
        let ServerOptions { patience, idle, unread, connections, loopback, drain, http2 } = self.options;
        let watchman = Watchman::new(Patience { first: patience, idle, unread });
        let watching = tokio::spawn(Arc::clone(&watchman).watch());
        let builder = builder(patience, http2);
        let shared = Arc::new(Shared { api: Arc::clone(&self.api), builder, patience, watchman });
        let mut stopping = self.api.health.stopping();
        let slots = Slots { all: Pool::new(connections), loopback: Pool::new(loopback) };
        let open = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
        loop {
            let accepted = tokio::select! {
                accepted = accept(&listener) => accepted,
                () = stopping.wait() => break,
            };
            let Some((stream, address)) = accepted else { continue };
            // Who finds no slot is told by the end of the connection: one that waits would hold a descriptor.
            let Some(slot) = slots.take(address.ip()) else { continue };
            let tls = TlsAcceptor::from(self.tls.borrow().clone());
            let Ok(alive) = Arc::clone(&open).try_acquire_owned() else { continue };
            let shared = Arc::clone(&shared);
            tokio::spawn(async move {
                connection(&shared, tls, stream, address).await;
                drop((alive, slot));
            });
        }
        drop(listener);
        watching.abort();
        let drained = async {
            while open.available_permits() < Semaphore::MAX_PERMITS {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let _ = tokio::time::timeout(drain, drained).await;
    }
}

/// How many connections there may be.
struct Slots {
    all: Arc<Pool>,
    /// So that whoever looks after the server on its own machine reaches it.
    loopback: Arc<Pool>,
}

impl Slots {
    fn take(&self, address: IpAddr) -> Option<Held> {
        let address = address.to_canonical();
        let own = || self.loopback.take_any(1).filter(|_| address.is_loopback());
        self.all.take(&address, 1, None).or_else(own)
    }
}

async fn accept(listener: &TcpListener) -> Option<(TcpStream, SocketAddr)> {
    match listener.accept().await {
        Ok((stream, address)) => {
            // Small answers must not wait for more to say.
            let _ = stream.set_nodelay(true);
            Some((stream, address))
        }
        Err(error) => {
            // Out of file descriptors, most likely: let some go before trying again.
            tracing::warn!(%error, "cannot accept a connection");
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

/// Whether a client begins to speak HTTP without TLS. These words are what Go's server looks for.
async fn is_plain(stream: &TcpStream) -> bool {
    const WORDS: [&[u8; 5]; 5] = [b"GET /", b"HEAD ", b"POST ", b"PUT /", b"OPTIO"];
    let mut first = [0; 5];
    matches!(stream.peek(&mut first).await, Ok(5)) && WORDS.contains(&&first)
}

/// Says what is wrong, in words that are known.
async fn tell_plainly(mut stream: TcpStream) -> std::io::Result<()> {
    /// A connection that is closed while something in it is unread takes the answer with it.
    const HEARD: u64 = 64 * 1024;
    let answer = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
    stream.write_all(answer).await?;
    stream.shutdown().await?;
    tokio::io::copy(&mut stream.take(HEARD), &mut tokio::io::sink()).await.map(drop)
}

async fn connection(shared: &Shared, tls: TlsAcceptor, stream: TcpStream, address: SocketAddr) {
    let handshake = async {
        if is_plain(&stream).await {
            tracing::debug!(%address, "HTTP where TLS is spoken");
            return tell_plainly(stream).await.map(|()| None);
        }
        tls.accept(stream).await.map(Some)
    };
    let stream = match tokio::time::timeout(shared.patience, handshake).await {
        Ok(Ok(Some(stream))) => stream,
        Ok(Err(error)) => {
            tracing::debug!(%address, %error, "TLS handshake failed");
            return;
        }
        Ok(Ok(None)) | Err(_) => return,
    };
    let certificate = stream.get_ref().1.peer_certificates().and_then(PeerCertificates::new);
    let peer = Arc::new(Peer { address: Some(address), certificate, ..Peer::default() });
    let mut stopping = shared.api.health.stopping();
    let watched = shared.watchman.connection();
    let service = service_fn(|request| {
        let api = Arc::clone(&shared.api);
        let peer = Arc::clone(&peer);
        let open = watched.ask();
        // On its own: a task is aligned to cache lines, and so large an allocation like that is slow.
        Box::pin(async move {
            let mut response = api.answer(request, &peer).await;
            if let Some(session) = Session::of(&mut response) {
                peer.becomes(session);
            }
            Ok::<_, Infallible>(Sending::of(response, open))
        })
    });
    let is_shared = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let stream = TokioIo::new(Gathering::new(Records::new(stream), is_shared));
    let connection = shared.builder.serve_connection_with_upgrades(stream, service);
    tokio::pin!(connection);
    let result = tokio::select! {
        result = connection.as_mut() => result,
        () = stopping.wait() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        () = watched.over() => {
            tracing::debug!(%address, "connection closed: nothing happens on it");
            if !watched.is_idle() {
                return;
            }
            // Who is about to ask again learns that this connection is no longer the one to ask on.
            connection.as_mut().graceful_shutdown();
            match tokio::time::timeout(shared.patience, connection).await {
                Ok(result) => result,
                Err(_) => return,
            }
        }
    };
    if let Err(error) = result {
        tracing::debug!(%address, %error, "connection ended");
    }
    // It has its slot for as long as it lasts, whatever is spoken on it.
    if let Some(session) = peer.session() {
        session.run().await;
    }
}

fn builder(patience: Duration, http2: bool) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(patience).max_buf_size(64 * 1024).keep_alive(true);
    builder
        .http2()
        .timer(TokioTimer::new())
        .initial_stream_window_size(256 * 1024)
        .initial_connection_window_size(1 << 20)
        .max_frame_size(64 * 1024)
        .max_concurrent_streams(1000)
        .max_header_list_size(64 * 1024)
        .max_pending_accept_reset_streams(64)
        .max_send_buf_size(AHEAD)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(20));
    if http2 { builder } else { builder.http1_only() }
}
