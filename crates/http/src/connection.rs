//! Connections: TLS, HTTP/1.1 and HTTP/2, their limits, and a stop that loses nothing.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use pawl_auth::authn::PeerCertificates;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use crate::api::{Api, Peer};

#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// How long a client may take for the TLS handshake, or between the lines of a head.
    pub patience: Duration,
    /// Connections at once; more wait.
    pub connections: usize,
    /// How long requests in flight may take to finish once the server stops.
    pub drain: Duration,
    /// Whether HTTP/2 is spoken, too.
    pub http2: bool,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self { patience: Duration::from_secs(10), connections: 20_000, drain: Duration::from_millis(700), http2: true }
    }
}

/// A server on one listener.
pub struct Server {
    api: Arc<Api>,
    tls: watch::Receiver<Arc<ServerConfig>>,
    options: ServerOptions,
}

impl Server {
    /// The TLS configuration may change while the server runs; new connections use the new one.
    pub fn new(api: Arc<Api>, tls: watch::Receiver<Arc<ServerConfig>>, options: ServerOptions) -> Self {
        Self { api, tls, options }
    }

    /// Serves until the server stops, then waits for what is in flight.
    pub async fn run(self, listener: TcpListener) {
        let builder = Arc::new(builder(&self.options));
        let mut stopping = self.api.health.stopping();
        let slots = Arc::new(Semaphore::new(self.options.connections));
        let open = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
        loop {
            let accepted = tokio::select! {
                accepted = accept(&listener, &slots) => accepted,
                () = stopping.wait() => break,
            };
            let Some((stream, address, slot)) = accepted else { continue };
            let tls = TlsAcceptor::from(self.tls.borrow().clone());
            let api = Arc::clone(&self.api);
            let builder = Arc::clone(&builder);
            let patience = self.options.patience;
            let Ok(alive) = Arc::clone(&open).try_acquire_owned() else { continue };
            tokio::spawn(async move {
                connection(api, tls, builder, stream, address, patience).await;
                drop((alive, slot));
            });
        }
        drop(listener);
        let drained = async {
            while open.available_permits() < Semaphore::MAX_PERMITS {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let _ = tokio::time::timeout(self.options.drain, drained).await;
    }
}

async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> Option<(TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, address)) => {
            // Small answers must not wait for more to say.
            let _ = stream.set_nodelay(true);
            Some((stream, address, slot))
        }
        Err(error) => {
            // Out of file descriptors, most likely: let some go before trying again.
            tracing::warn!(%error, "cannot accept a connection");
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

async fn connection(
    api: Arc<Api>,
    tls: TlsAcceptor,
    builder: Arc<Builder<TokioExecutor>>,
    stream: TcpStream,
    address: SocketAddr,
    patience: Duration,
) {
    let stream = match tokio::time::timeout(patience, tls.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            tracing::debug!(%address, %error, "TLS handshake failed");
            return;
        }
        Err(_) => return,
    };
    let certificate = stream.get_ref().1.peer_certificates().and_then(PeerCertificates::new);
    let peer = Arc::new(Peer { address: Some(address), certificate });
    let mut stopping = api.health.stopping();
    let service = service_fn(move |request| {
        let api = Arc::clone(&api);
        let peer = Arc::clone(&peer);
        // On its own: a task is aligned to cache lines, and so large an allocation like that is slow.
        Box::pin(async move { Ok::<_, Infallible>(api.answer(request, &peer).await) })
    });
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let result = tokio::select! {
        result = connection.as_mut() => result,
        () = stopping.wait() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = result {
        tracing::debug!(%address, %error, "connection ended");
    }
}

fn builder(options: &ServerOptions) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(options.patience)
        .max_buf_size(64 * 1024)
        .keep_alive(true);
    builder
        .http2()
        .timer(TokioTimer::new())
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size(4 << 20)
        .max_frame_size(64 * 1024)
        .max_concurrent_streams(1000)
        .max_header_list_size(64 * 1024)
        .max_pending_accept_reset_streams(64)
        .max_send_buf_size(256 * 1024)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(20));
    if options.http2 { builder } else { builder.http1_only() }
}
