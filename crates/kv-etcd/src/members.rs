//! Calls to the members of a cluster.
//!
//! Owns which member is asked: the same one, until it does not answer. What only reads is then asked of the next; a write is
//! sent once and never again, because nobody knows whether the first one arrived.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::Stream as Questions;
use http::Uri;
use http::uri::PathAndQuery;
use hyper_util::rt::TokioIo;
use pawl_gathering::Gathering;
use tokio::io::BufWriter;
use tonic::client::Grpc;
use tonic::metadata::MetadataValue;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::faults;
use crate::messages::Answer;
use crate::tls::{Files, Place, Stream};

/// A connection that says nothing is asked whether it is there; etcd takes offence at more than one question in 5 s.
const KEEP_ALIVE: Duration = Duration::from_secs(6);
const KEEP_ALIVE_PATIENCE: Duration = Duration::from_secs(3);
/// How much is sent together at most.
const TOGETHER: usize = 64 * 1024;

pub struct Members {
    channels: Vec<Grpc<Channel>>,
    current: AtomicUsize,
}

impl Members {
    /// Connects when it is first used, and again whenever a connection was lost.
    pub fn new(places: Vec<Place>, files: Files) -> Self {
        let files = Arc::new(files);
        let channels = places.into_iter().map(|place| channel(place, Arc::clone(&files))).collect();
        Self { channels, current: AtomicUsize::new(0) }
    }

    /// Asks something that changes nothing, of another member where one does not answer.
    pub async fn read<Q, A>(&self, method: &'static str, question: Q, patience: Duration) -> Result<A, Status>
    where
        Q: prost::Message + Clone + 'static,
        A: Answer,
    {
        let mut answer = self.once(self.seat(), method, question.clone(), patience).await;
        for _ in 1..self.channels.len() {
            match &answer {
                Err(status) if faults::is_away(status) => {
                    answer = self.once(self.seat(), method, question.clone(), patience).await;
                }
                _ => break,
            }
        }
        answer
    }

    /// Asks one member, once.
    pub async fn once<Q, A>(
        &self,
        seat: usize,
        method: &'static str,
        question: Q,
        patience: Duration,
    ) -> Result<A, Status>
    where
        Q: prost::Message + 'static,
        A: Answer,
    {
        let mut grpc = self.member(seat)?;
        let call = async {
            grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
            let codec = ProstCodec::<Q, A>::default();
            grpc.unary(asking(question), PathAndQuery::from_static(method), codec).await
        };
        self.within(patience, seat, call).await
    }

    /// Begins a conversation with one member.
    pub async fn converse<Q, A>(
        &self,
        seat: usize,
        method: &'static str,
        questions: impl Questions<Item = Q> + Send + 'static,
        patience: Duration,
    ) -> Result<Streaming<A>, Status>
    where
        Q: prost::Message + 'static,
        A: Answer,
    {
        let mut grpc = self.member(seat)?;
        let call = async {
            grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
            let codec = ProstCodec::<Q, A>::default();
            grpc.streaming(asking(questions), PathAndQuery::from_static(method), codec).await
        };
        self.within(patience, seat, call).await
    }

    /// What a member answers, if it does so in time.
    async fn within<A>(
        &self,
        patience: Duration,
        seat: usize,
        call: impl Future<Output = Result<tonic::Response<A>, Status>>,
    ) -> Result<A, Status> {
        let late = || Err(Status::deadline_exceeded("etcd did not answer in time"));
        let answer = tokio::time::timeout(patience, call).await.unwrap_or_else(|_| late());
        self.judge(seat, &answer);
        answer.map(tonic::Response::into_inner)
    }

    /// The member that is asked at present.
    pub fn seat(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    /// Turns to another member: this one is no use. Many may find that out at once, only the first of them turns.
    pub fn turn_from(&self, seat: usize) {
        let next = (seat + 1) % self.channels.len().max(1);
        let _ = self.current.compare_exchange(seat, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn member(&self, seat: usize) -> Result<Grpc<Channel>, Status> {
        let grpc = self.channels.get(seat).cloned().ok_or_else(|| Status::unavailable("no members"))?;
        Ok(grpc.max_decoding_message_size(usize::MAX).max_encoding_message_size(usize::MAX))
    }

    fn judge<T>(&self, seat: usize, answer: &Result<T, Status>) {
        if answer.as_ref().is_err_and(faults::is_away) {
            self.turn_from(seat);
        }
    }
}

/// A member that knows no leader is to say so at once.
fn asking<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
    request
}

/// What is asked at the same time is sent together.
fn gathering(stream: Stream) -> TokioIo<Gathering<BufWriter<Stream>>> {
    TokioIo::new(Gathering::new(BufWriter::with_capacity(TOGETHER, stream), true))
}

fn channel(place: Place, files: Arc<Files>) -> Grpc<Channel> {
    // TLS is the connector's: to what is above, every connection is plain.
    let host = if place.host.contains(':') { format!("[{}]", place.host) } else { place.host.clone() };
    let uri = Uri::try_from(format!("http://{host}:{}", place.port)).unwrap_or_default();
    let connect = tower::service_fn(move |_: Uri| {
        let (place, files) = (place.clone(), Arc::clone(&files));
        async move { place.connect(&files).await.map(gathering) }
    });
    let endpoint = Endpoint::from(uri)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE_PATIENCE)
        .initial_stream_window_size(4 << 20)
        .initial_connection_window_size(16 << 20);
    Grpc::new(endpoint.connect_with_connector_lazy(connect))
}
