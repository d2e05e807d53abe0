//! The three calls to a key service, each with its deadline.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Uri;
use http::uri::PathAndQuery;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

use super::messages::{
    DECRYPT, DecryptRequest, DecryptResponse, ENCRYPT, EncryptRequest, EncryptResponse, STATUS, StatusRequest,
    StatusResponse,
};
use crate::config::Service;
use crate::metrics::Metrics;

const TOO_LATE: &str = "context deadline exceeded";

pub(crate) struct Client {
    provider: String,
    grpc: Grpc<Channel>,
    timeout: Duration,
    metrics: Arc<Metrics>,
}

impl Client {
    /// Connects when it is first used, and again whenever the connection was lost.
    pub fn new(service: &Service, metrics: Arc<Metrics>) -> Self {
        // A name that begins with a zero byte is one without a file.
        let socket = match service.socket.strip_prefix('@') {
            Some(name) => PathBuf::from(format!("\0{name}")),
            None => PathBuf::from(&service.socket),
        };
        let connect = tower::service_fn(move |_: Uri| {
            let socket = socket.clone();
            async move { UnixStream::connect(socket).await.map(TokioIo::new) }
        });
        let channel = Endpoint::from_static("http://localhost").connect_with_connector_lazy(connect);
        let grpc = Grpc::new(channel);
        Self { provider: service.name.clone(), grpc, timeout: service.timeout, metrics }
    }

    pub async fn status(&self) -> Result<StatusResponse, Status> {
        self.call(STATUS, StatusRequest {}).await
    }

    pub async fn encrypt(&self, request: EncryptRequest) -> Result<EncryptResponse, Status> {
        self.call(ENCRYPT, request).await
    }

    pub async fn decrypt(&self, request: DecryptRequest) -> Result<DecryptResponse, Status> {
        self.call(DECRYPT, request).await
    }

    async fn call<Q, A>(&self, method: &'static str, request: Q) -> Result<A, Status>
    where
        Q: prost::Message + 'static,
        A: prost::Message + Default + 'static,
    {
        let began = Instant::now();
        let mut grpc = self.grpc.clone();
        let call = async move {
            grpc.ready().await.map_err(|error| Status::unavailable(whole(&error)))?;
            let mut request = Request::new(request);
            request.set_timeout(self.timeout);
            let codec = ProstCodec::<Q, A>::default();
            grpc.unary(request, PathAndQuery::from_static(method), codec).await.map(tonic::Response::into_inner)
        };
        // The transport looks at the time, too, and has other words for it.
        let answer = match tokio::time::timeout(self.timeout, call).await {
            Ok(Err(_)) if began.elapsed() >= self.timeout => Err(Status::deadline_exceeded(TOO_LATE)),
            Ok(answer) => answer,
            Err(_) => Err(Status::deadline_exceeded(TOO_LATE)),
        };
        let code = answer.as_ref().map_or_else(Status::code, |_| Code::Ok);
        self.metrics.kms_call(&self.provider, method, code, began.elapsed());
        answer
    }
}

/// Whether nobody answered, or not in time: an error of the service itself is an answer.
pub(crate) fn is_away(status: &Status) -> bool {
    let code = matches!(
        status.code(),
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Aborted | Code::ResourceExhausted
    );
    // Errors that were made on this side have a cause.
    code || std::error::Error::source(status).is_some()
}

/// Whether the service says that it is the value, or the key the value names, that it cannot do anything with.
pub(crate) fn is_final(status: &Status) -> bool {
    matches!(status.code(), Code::InvalidArgument | Code::NotFound | Code::DataLoss | Code::OutOfRange)
}

/// An error of a call as Go writes it.
pub(crate) fn worded(status: &Status) -> String {
    let cause = std::error::Error::source(status).map(whole);
    let message = cause.as_deref().unwrap_or_else(|| status.message());
    format!("rpc error: code = {} desc = {message}", code_name(status.code()))
}

/// An error with what caused it.
fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        next = cause.source();
    }
    text
}

/// The names of codes in Go.
pub(crate) fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "Canceled",
        Code::Unknown => "Unknown",
        Code::InvalidArgument => "InvalidArgument",
        Code::DeadlineExceeded => "DeadlineExceeded",
        Code::NotFound => "NotFound",
        Code::AlreadyExists => "AlreadyExists",
        Code::PermissionDenied => "PermissionDenied",
        Code::ResourceExhausted => "ResourceExhausted",
        Code::FailedPrecondition => "FailedPrecondition",
        Code::Aborted => "Aborted",
        Code::OutOfRange => "OutOfRange",
        Code::Unimplemented => "Unimplemented",
        Code::Internal => "Internal",
        Code::Unavailable => "Unavailable",
        Code::DataLoss => "DataLoss",
        Code::Unauthenticated => "Unauthenticated",
    }
}
