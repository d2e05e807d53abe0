//! A kms v2 plugin for tests: a real gRPC server on a unix socket that rotates, stalls, stops and dies when told to.
//!
//! Its keys are toys: each key id is one byte, and to encrypt is to XOR with it. It runs on threads of its own, so that it
//! dies as a process does: in the middle of whatever it does.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed expectation is how a test reports")]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::net::UnixListener;
use tokio::runtime::Runtime;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::body::Body;
use tonic::server::{Grpc, UnaryService};
use tonic::transport::Server;
use tonic::{Code, Request, Response, Status};
use tonic_prost::ProstCodec;
use tower::Service;

use crate::kms::messages::{
    DECRYPT, DecryptRequest, DecryptResponse, ENCRYPT, EncryptRequest, EncryptResponse, STATUS, StatusRequest,
    StatusResponse,
};

/// The key id that a plugin begins with, and its byte.
pub const FIRST: (&str, u8) = ("kek-1", 0x5a);

/// A plugin, running or not. What it knows outlives its stops.
pub struct Plugin {
    socket: PathBuf,
    state: Arc<State>,
    running: Option<Runtime>,
}

struct State {
    behaviour: Mutex<Behaviour>,
    calls: [AtomicU64; 3],
}

#[derive(Clone)]
struct Behaviour {
    keys: BTreeMap<String, u8>,
    current: String,
    healthz: String,
    version: String,
    delay: Duration,
    annotations: BTreeMap<String, Vec<u8>>,
    /// What the error is when the key of a value is not there.
    unknown: Code,
    /// What Encrypt says instead of the key id in use.
    encrypts_as: Option<String>,
}

/// How often each method was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calls {
    pub status: u64,
    pub encrypt: u64,
    pub decrypt: u64,
}

impl Plugin {
    /// A plugin that does not run yet.
    pub fn new(socket: &Path) -> Self {
        let behaviour = Behaviour {
            keys: BTreeMap::from([(FIRST.0.to_owned(), FIRST.1)]),
            current: FIRST.0.to_owned(),
            healthz: "ok".to_owned(),
            version: "v2".to_owned(),
            delay: Duration::ZERO,
            annotations: BTreeMap::from([("vec.example.com".to_owned(), b"note".to_vec())]),
            unknown: Code::Unknown,
            encrypts_as: None,
        };
        let state = Arc::new(State { behaviour: Mutex::new(behaviour), calls: Default::default() });
        Self { socket: socket.to_owned(), state, running: None }
    }

    pub fn running(socket: &Path) -> Self {
        let mut plugin = Self::new(socket);
        plugin.start();
        plugin
    }

    pub fn start(&mut self) {
        let _ = std::fs::remove_file(&self.socket);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = {
            let _inside = runtime.enter();
            UnixListener::bind(&self.socket).unwrap()
        };
        let served = Served(self.state.clone());
        runtime.spawn(async move {
            Server::builder().serve_with_incoming(served, UnixListenerStream::new(listener)).await.unwrap();
        });
        self.running = Some(runtime);
    }

    /// Ends at once, with every call that is under way. The socket stays behind, and nobody listens.
    pub fn kill(&mut self) {
        if let Some(runtime) = self.running.take() {
            runtime.shutdown_background();
        }
    }

    /// The endpoint as a configuration writes it.
    pub fn endpoint(&self) -> String {
        format!("unix://{}", self.socket.display())
    }

    pub fn calls(&self) -> Calls {
        let [status, encrypt, decrypt] = self.state.calls.each_ref().map(|count| count.load(Ordering::SeqCst));
        Calls { status, encrypt, decrypt }
    }

    /// Uses another key from now on, and still has the old ones.
    pub fn rotate(&self, key_id: &str, byte: u8) {
        self.change(|b| {
            b.keys.insert(key_id.to_owned(), byte);
            b.current = key_id.to_owned();
        });
    }

    /// Loses a key.
    pub fn forget(&self, key_id: &str) {
        self.change(|b| {
            b.keys.remove(key_id);
        });
    }

    /// Says this key id without having a key for it.
    pub fn name(&self, key_id: &str) {
        self.change(|b| b.current = key_id.to_owned());
    }

    /// Every call takes this long.
    pub fn delay(&self, delay: Duration) {
        self.change(|b| b.delay = delay);
    }

    pub fn healthz(&self, healthz: &str) {
        self.change(|b| b.healthz = healthz.to_owned());
    }

    pub fn version(&self, version: &str) {
        self.change(|b| b.version = version.to_owned());
    }

    pub fn annotate(&self, name: &str, value: &[u8]) {
        self.change(|b| drop(b.annotations.insert(name.to_owned(), value.to_vec())));
    }

    /// The code of the error about keys that are not there.
    pub fn refuse_with(&self, code: Code) {
        self.change(|b| b.unknown = code);
    }

    /// Encrypt names another key id than Status.
    pub fn encrypt_as(&self, key_id: Option<&str>) {
        self.change(|b| b.encrypts_as = key_id.map(str::to_owned));
    }

    fn change(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.state.behaviour.lock());
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_file(&self.socket);
    }
}

impl State {
    async fn called(&self, method: usize) -> Behaviour {
        if let Some(count) = self.calls.get(method) {
            count.fetch_add(1, Ordering::SeqCst);
        }
        let behaviour = self.behaviour.lock().clone();
        tokio::time::sleep(behaviour.delay).await;
        behaviour
    }

    async fn status(self: Arc<Self>, _: StatusRequest) -> Result<StatusResponse, Status> {
        let b = self.called(0).await;
        Ok(StatusResponse { version: b.version, healthz: b.healthz, key_id: b.current })
    }

    async fn encrypt(self: Arc<Self>, request: EncryptRequest) -> Result<EncryptResponse, Status> {
        let b = self.called(1).await;
        let byte = b.keys.get(&b.current).ok_or_else(|| Status::new(b.unknown, "there is no such key"))?;
        let ciphertext = request.plaintext.iter().map(|plain| plain ^ byte).collect();
        Ok(EncryptResponse { ciphertext, key_id: b.encrypts_as.unwrap_or(b.current), annotations: b.annotations })
    }

    async fn decrypt(self: Arc<Self>, request: DecryptRequest) -> Result<DecryptResponse, Status> {
        let b = self.called(2).await;
        let byte = b.keys.get(&request.key_id).ok_or_else(|| Status::new(b.unknown, "there is no such key"))?;
        Ok(DecryptResponse { plaintext: request.ciphertext.iter().map(|sealed| sealed ^ byte).collect() })
    }
}

/// The service as the transport sees it.
#[derive(Clone)]
struct Served(Arc<State>);

impl Service<http::Request<Body>> for Served {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let state = self.0.clone();
        Box::pin(async move {
            let path = request.uri().path().to_owned();
            Ok(match path.as_str() {
                STATUS => Grpc::new(ProstCodec::default()).unary(Method(state, State::status), request).await,
                ENCRYPT => Grpc::new(ProstCodec::default()).unary(Method(state, State::encrypt), request).await,
                DECRYPT => Grpc::new(ProstCodec::default()).unary(Method(state, State::decrypt), request).await,
                _ => Status::unimplemented("").into_http(),
            })
        })
    }
}

/// One method of the service.
struct Method<F>(Arc<State>, F);

impl<F, Q, A, R> UnaryService<Q> for Method<F>
where
    F: Fn(Arc<State>, Q) -> R,
    R: Future<Output = Result<A, Status>> + Send + 'static,
{
    type Response = A;
    type Future = BoxFuture<'static, Result<Response<A>, Status>>;

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let answer = (self.1)(self.0.clone(), request.into_inner());
        Box::pin(async move { answer.await.map(Response::new) })
    }
}
