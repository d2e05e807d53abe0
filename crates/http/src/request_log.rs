//! One line in the log for each request, as upstream's httplog writes it, for who asks for that much.

use std::time::Instant;

use http::header::USER_AGENT;
use http::request::Parts;
use tracing::Level;

use crate::api::Peer;

/// The target of these lines: a level of its own chooses them.
pub const REQUESTS: &str = "pawl_http::requests";

/// What of a request is noted before it is taken apart.
pub(crate) struct Line {
    method: String,
    uri: String,
    agent: String,
}

impl Line {
    /// `None` where nobody reads it.
    pub(crate) fn begin(parts: &Parts) -> Option<Self> {
        tracing::enabled!(target: REQUESTS, Level::INFO).then(|| Self {
            method: parts.method.to_string(),
            uri: parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
            agent: String::from_utf8_lossy(parts.headers.get(USER_AGENT).map_or(b"", |agent| agent.as_bytes())).into(),
        })
    }

    pub(crate) fn finish(self, verb: &str, audit_id: &str, peer: &Peer, code: u16, started: Instant) {
        let latency = started.elapsed();
        let source = peer.address.map(|address| address.to_string()).unwrap_or_default();
        tracing::info!(
            target: REQUESTS,
            "\"HTTP\" verb={verb:?} method={:?} URI={:?} latency=\"{latency:?}\" userAgent={:?} audit-ID={audit_id:?} srcIP={source:?} resp={code}",
            self.method,
            self.uri,
            self.agent,
        );
    }
}
