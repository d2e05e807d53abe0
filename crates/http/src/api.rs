//! The way of a request: one ordered chain of filters, then the handler of its verb.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use pawl_meta::Status;
use pawl_registry::{Context, Registry, Served};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::access::Access;
use crate::body::Body;
use crate::handlers;
use crate::health::Health;
use crate::metrics::Metrics;
use crate::negotiation::{self, Accepted};
use crate::query::Query;
use crate::render;
use crate::request::RequestInfo;
use crate::respond;

/// Who is on the other end of a connection.
#[derive(Clone, Debug, Default)]
pub struct Peer {
    pub address: Option<SocketAddr>,
    /// The verified client certificate, if one was shown.
    pub certificate: Option<Vec<u8>>,
}

/// Documents that say what is served; built when asked for.
pub trait Documents: Send + Sync + 'static {
    /// `/`, `/api`, `/apis` and what is below them, in their plain form.
    fn discovery(&self, path: &str) -> Option<Value>;
    /// `/api` or `/apis` with everything below in one document.
    fn aggregated(&self, core: bool) -> Option<Blob>;
    fn openapi_v3_index(&self) -> Option<Blob>;
    /// One of the documents that the index names.
    fn openapi_v3(&self, key: &str) -> Option<Blob>;
    fn openapi_v2(&self, protobuf: bool) -> Option<Blob>;
}

/// A finished document and its entity tag.
#[derive(Clone, Debug)]
pub struct Blob {
    pub bytes: Bytes,
    pub etag: String,
}

/// What a client may use up.
#[derive(Clone, Debug)]
pub struct Limits {
    pub body: usize,
    pub reading: usize,
    pub mutating: usize,
    pub request_timeout: Duration,
    pub min_watch_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 3 << 20,
            reading: 400,
            mutating: 200,
            request_timeout: Duration::from_secs(60),
            min_watch_timeout: Duration::from_secs(1800),
        }
    }
}

/// Everything that answering a request needs.
pub struct Api {
    pub registry: Arc<Registry>,
    pub access: Access,
    pub documents: Box<dyn Documents>,
    pub health: Arc<Health>,
    pub metrics: Metrics,
    pub limits: Limits,
    pub version: Value,
    /// Whether `fieldValidation` is looked at: the gate `ServerSideFieldValidation`.
    pub field_validation: bool,
    reading: Semaphore,
    mutating: Semaphore,
}

/// A request whose sender is known and who may do what it asks for.
pub(crate) struct Call {
    pub info: RequestInfo,
    pub query: Query,
    pub headers: HeaderMap,
    pub body: Option<Incoming>,
    pub cx: Context,
    pub method: Method,
}

impl Api {
    pub fn new(
        registry: Arc<Registry>,
        access: Access,
        documents: Box<dyn Documents>,
        health: Arc<Health>,
        limits: Limits,
        version: Value,
        field_validation: bool,
    ) -> Self {
        Self {
            reading: Semaphore::new(limits.reading),
            mutating: Semaphore::new(limits.mutating),
            registry,
            access,
            documents,
            health,
            metrics: Metrics::new(),
            limits,
            version,
            field_validation,
        }
    }

    /// Answers a request. The filters, outermost first:
    /// 1. measuring: every request counts, whatever becomes of it;
    /// 2. who is it: nothing is told to somebody unknown;
    /// 3. how many at once: a flood from those who may come in;
    /// 4. how long: a request that takes too long is given up;
    /// 5. may they: then the handler.
    pub async fn answer(self: Arc<Self>, request: Request<Incoming>, peer: &Peer) -> Response<Body> {
        let started = Instant::now();
        let (parts, body) = request.into_parts();
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let info = RequestInfo::parse(&parts.method, parts.uri.path(), &query);
        let accepted = Accepted {
            media: negotiation::media(&parts.headers),
            pretty: negotiation::wants_pretty(&parts.headers, query.get("pretty")),
            ..Accepted::default()
        };
        let head = parts.method == Method::HEAD;
        let measured = info.clone();
        let in_flight = self.metrics.start(&measured);
        let result = self.admit(parts.method, parts.headers, info, query, body, peer).await;
        let mut response = match result {
            Ok(response) => response,
            Err(status) => respond::status(&status, accepted),
        };
        if head {
            *response.body_mut() = Body::Empty;
        }
        self.metrics.finish(in_flight, &measured, response.status().as_u16(), started);
        response
    }

    async fn admit(
        &self,
        method: Method,
        headers: HeaderMap,
        info: RequestInfo,
        query: Query,
        body: Incoming,
        peer: &Peer,
    ) -> Result<Response<Body>, Status> {
        let acting = self.access.identify(&headers, peer, &info)?;
        let long_running = info.is_long_running();
        let _permit = if long_running || !info.is_resource {
            None
        } else {
            let pool = if info.is_mutating() { &self.mutating } else { &self.reading };
            let refused = || Status::too_many_requests("Too many requests, please try again later.", 1);
            Some(pool.try_acquire().map_err(|_| refused())?)
        };
        let call = Call { info, query, headers, body: Some(body), cx: Context::new(acting.user), method };
        if long_running {
            return self.dispatch(call).await;
        }
        let timeout = self.limits.request_timeout;
        match tokio::time::timeout(timeout, self.dispatch(call)).await {
            Ok(result) => result,
            Err(_) => Err(Status::timeout(format!(
                "Timeout: request did not complete within the allotted timeout of {}s",
                timeout.as_secs()
            ))),
        }
    }

    async fn dispatch(&self, mut call: Call) -> Result<Response<Body>, Status> {
        self.access.decide(&call.cx.user, &call.info)?;
        let result = if call.info.is_resource {
            self.resource(&mut call).await
        } else {
            handlers::documents::answer(self, &call).await
        };
        let warnings = call.cx.take_warnings();
        match result {
            Ok(mut response) => {
                respond::warn(&mut response, &warnings);
                Ok(response)
            }
            Err(mut status) => {
                let mut all = warnings;
                all.append(&mut status.warnings);
                Err(status.with_warnings(all))
            }
        }
    }

    async fn resource(&self, call: &mut Call) -> Result<Response<Body>, Status> {
        let table = self.registry.table();
        let info = &call.info;
        let Some(served) = table.find(&info.group, &info.version, &info.resource).cloned() else {
            return if info.group.is_empty() || table.has_group(&info.group) {
                Err(Status::no_such_resource())
            } else {
                Ok(respond::page_not_found())
            };
        };
        if let Some(warning) = &served.resource.facts.warning {
            call.cx.warn(warning.clone());
        }
        if !info.subresource.is_empty() {
            return handlers::subresource::answer(self, &served, call).await;
        }
        self.check_verb(&served, call)?;
        match call.info.verb.as_str() {
            "get" => handlers::get::answer(self, &served, call).await,
            "list" => handlers::list::answer(self, &served, call).await,
            "watch" => handlers::watch::answer(self, &served, call).await,
            "create" => handlers::create::answer(self, &served, call).await,
            "update" => handlers::update::answer(self, &served, call).await,
            "patch" => handlers::patch::answer(self, &served, call).await,
            "delete" => handlers::delete::answer(self, &served, call).await,
            "deletecollection" => handlers::deletecollection::answer(self, &served, call).await,
            _ => Err(Status::method_not_allowed()),
        }
    }

    /// Whether the path exists, and has this method.
    fn check_verb(&self, served: &Served, call: &Call) -> Result<(), Status> {
        let facts = &served.resource.facts;
        let info = &call.info;
        let has = |verb: &str| facts.verbs.iter().any(|v| v == verb);
        let on_object = info.names_object() || (info.verb == "create" && !info.name.is_empty());
        let in_namespace = facts.namespaced && !info.namespace.is_empty();
        if facts.namespaced && on_object && info.namespace.is_empty() {
            return Err(Status::no_such_resource());
        }
        if !facts.namespaced && !info.namespace.is_empty() && facts.plural != "namespaces" {
            return Err(Status::no_such_resource());
        }
        if on_object && !["get", "update", "patch", "delete"].iter().any(|v| has(v)) {
            return Err(Status::no_such_resource());
        }
        let across = facts.namespaced && !in_namespace && !on_object;
        let allowed = match info.verb.as_str() {
            "create" => has("create") && info.name.is_empty() && !across,
            "deletecollection" => has("deletecollection") && !across,
            "update" | "patch" | "delete" => on_object && has(&info.verb),
            verb => has(verb),
        };
        if allowed && call.method != Method::HEAD { Ok(()) } else { Err(Status::method_not_allowed()) }
    }

    /// The whole body of a request, within the limit.
    pub(crate) async fn body(&self, call: &mut Call) -> Result<Bytes, Status> {
        let Some(body) = call.body.take() else { return Ok(Bytes::new()) };
        let limit = self.limits.body;
        // A body that is too large is read on for a while, so that its sender gets to read the answer.
        let mut body = Limited::new(body, limit.saturating_mul(4));
        let mut pieces = bytes::BytesMut::new();
        let mut size = 0;
        while let Some(frame) = body.frame().await {
            let data = match frame {
                Ok(frame) => frame.into_data().unwrap_or_default(),
                Err(error) if error.is::<http_body_util::LengthLimitError>() => break,
                Err(error) => return Err(Status::bad_request(format!("unable to read the body: {error}"))),
            };
            size += data.len();
            if size <= limit {
                pieces.extend_from_slice(&data);
            }
        }
        if size > limit {
            return Err(Status::too_large(format!("Request entity too large: limit is {limit}")));
        }
        Ok(pieces.freeze())
    }

    /// The answer to a request for one object.
    pub(crate) fn object(
        &self,
        call: &Call,
        served: &Served,
        entry: &pawl_registry::Entry,
        code: u16,
    ) -> Result<Response<Body>, Status> {
        let accepted = negotiation::negotiate(&call.headers, call.query.get("pretty"))?;
        let include = render::IncludeObject::parse(call.query.get("includeObject"));
        let bytes = render::object(served, entry, accepted, include)?;
        Ok(respond::with(code, accepted.media.content_type(), Body::Full(bytes)))
    }

    pub(crate) fn accepted(&self, call: &Call) -> Result<Accepted, Status> {
        negotiation::negotiate(&call.headers, call.query.get("pretty"))
    }
}

impl Call {
    /// What a document that is not an object of a resource looks like.
    pub(crate) fn document(&self, value: &Value) -> Response<Body> {
        let accepted = Accepted {
            media: negotiation::media(&self.headers),
            pretty: negotiation::wants_pretty(&self.headers, self.query.get("pretty")),
            ..Accepted::default()
        };
        let (body, content_type) = render::document(value, accepted);
        respond::with(200, content_type, Body::Full(body))
    }
}
