//! `/healthz` and `/metrics` of a controller that runs alone.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use pawl_controllers::Liens;
use prometheus::{Encoder, Registry, TextEncoder};
use tokio::net::TcpListener;

/// Whether the controller does what it should.
pub struct Health(AtomicBool);

impl Default for Health {
    fn default() -> Self {
        Self(AtomicBool::new(true))
    }
}

impl Health {
    pub fn set(&self, well: bool) {
        self.0.store(well, Ordering::Relaxed);
    }
}

/// Answers from now on, in the background.
pub async fn serve(address: SocketAddr, health: Arc<Health>, liens: &Liens) -> Result<(), String> {
    let listener = TcpListener::bind(address).await.map_err(|e| format!("cannot listen on {address}: {e}"))?;
    let registry = Registry::new();
    if let Some(collector) = liens.collector() {
        registry.register(collector).map_err(|e| e.to_string())?;
    }
    if let Ok(local) = listener.local_addr() {
        tracing::info!(address = %local, "health and metrics");
    }
    tokio::spawn(async move {
        loop {
            let Ok((connection, _)) = listener.accept().await else { continue };
            let (health, registry) = (Arc::clone(&health), registry.clone());
            tokio::spawn(async move {
                let service = service_fn(move |request| {
                    let response = answer(&request, &health, &registry);
                    async move { Ok::<_, Infallible>(response) }
                });
                let mut server = http1::Builder::new();
                server.timer(TokioTimer::new());
                let _ = server.serve_connection(TokioIo::new(connection), service).await;
            });
        }
    });
    Ok(())
}

fn answer(request: &Request<Incoming>, health: &Health, registry: &Registry) -> Response<Full<Bytes>> {
    let (code, body) = match request.uri().path() {
        "/healthz" if health.0.load(Ordering::Relaxed) => (StatusCode::OK, Bytes::from_static(b"ok")),
        "/healthz" => (StatusCode::INTERNAL_SERVER_ERROR, Bytes::from_static(b"the lease is not renewed")),
        "/metrics" => {
            let mut text = Vec::new();
            match TextEncoder::new().encode(&registry.gather(), &mut text) {
                Ok(()) => (StatusCode::OK, Bytes::from(text)),
                Err(why) => (StatusCode::INTERNAL_SERVER_ERROR, Bytes::from(why.to_string())),
            }
        }
        _ => (StatusCode::NOT_FOUND, Bytes::from_static(b"404 page not found\n")),
    };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = code;
    response
}
