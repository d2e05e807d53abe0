//! The way of a request: one ordered chain of filters, then the handler of its verb.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::HeaderValue;
use http::{HeaderMap, HeaderName, Method, Request, Response};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use pawl_auth::authn::PeerCertificates;
use pawl_meta::Status;
use pawl_registry::{Context, Registry, Served};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::access::Access;
use crate::audit::{Audit, Origin, Trail};
use crate::body::Body;
use crate::handlers;
use crate::health::Health;
use crate::metrics::Metrics;
use crate::negotiation::{self, Accepted, Media};
use crate::query::Query;
use crate::render;
use crate::request::RequestInfo;
use crate::request_log::Line;
use crate::respond;

const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// Who is on the other end of a connection.
#[derive(Debug, Default)]
pub struct Peer {
    pub address: Option<SocketAddr>,
    /// The certificates of the client, if it showed any; nobody has verified them yet.
    pub certificate: Option<PeerCertificates>,
}

/// Documents that say what is served; built when asked for.
pub trait Documents: Send + Sync + 'static {
    /// `/`, `/api`, `/apis` and what is below them, in their plain form.
    fn discovery(&self, path: &str) -> Option<Value>;
    /// `/api` or `/apis` with everything below in one document.
    fn aggregated(&self, core: bool, media: Media) -> Option<Blob>;
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

/// What an [`Api`] is told once.
pub struct ApiSettings {
    pub health: Arc<Health>,
    pub limits: Limits,
    /// What `/version` answers.
    pub version: Value,
    /// Whether `fieldValidation` is looked at: the gate `ServerSideFieldValidation`.
    pub field_validation: bool,
    pub audit: Option<Arc<Audit>>,
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
    pub audit: Option<Arc<Audit>>,
    reading: Semaphore,
    mutating: Semaphore,
}

/// A request whose sender is known and who may do what it asks for.
pub(crate) struct Call {
    pub info: Arc<RequestInfo>,
    pub query: Query,
    pub headers: HeaderMap,
    pub body: Option<Incoming>,
    pub cx: Context,
    pub method: Method,
    pub trail: Option<Arc<Trail>>,
}

impl Api {
    pub fn new(registry: Arc<Registry>, access: Access, documents: Box<dyn Documents>, settings: ApiSettings) -> Self {
        let ApiSettings { health, limits, version, field_validation, audit } = settings;
        Self {
            reading: Semaphore::new(limits.reading),
            mutating: Semaphore::new(limits.mutating),
            registry,
            access,
            documents,
            health,
            metrics: Metrics::new(&version),
            limits,
            version,
            field_validation,
            audit,
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
        let line = Line::begin(&parts);
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let info = Arc::new(RequestInfo::parse(&parts.method, parts.uri.path(), &query));
        let accepted = Accepted {
            media: negotiation::error_media(&parts.headers),
            pretty: negotiation::wants_pretty(&parts.headers, query.get("pretty")),
            ..Accepted::default()
        };
        let head = parts.method == Method::HEAD;
        let measured = Arc::clone(&info);
        let in_flight = self.metrics.start(&measured);
        let audit_id = audit_id(&parts.headers);
        // Over HTTP/2 the URI names the host too.
        let uri = parts.uri.path_and_query().map(ToString::to_string).filter(|_| self.audit.is_some());
        let uri = uri.unwrap_or_default();
        let origin = Origin { audit_id: &audit_id, uri: &uri, peer };
        let result = self.admit(parts.method, parts.headers, info, query, body, &origin).await;
        let mut response = match result {
            Ok(response) => response,
            Err(status) => respond::status(&status, accepted),
        };
        if let Ok(id) = HeaderValue::from_str(&audit_id) {
            response.headers_mut().insert(AUDIT_ID, id);
        }
        if head {
            *response.body_mut() = Body::Empty;
        }
        self.metrics.finish(in_flight, &measured, response.status().as_u16(), started);
        if let Some(line) = line {
            line.finish(&measured.verb, &audit_id, peer, response.status().as_u16(), started);
        }
        response
    }

    async fn admit(
        &self,
        method: Method,
        headers: HeaderMap,
        info: Arc<RequestInfo>,
        query: Query,
        body: Incoming,
        origin: &Origin<'_>,
    ) -> Result<Response<Body>, Status> {
        let sender = self.access.authenticate(&headers, origin.peer).inspect_err(|_| {
            if let Some(audit) = &self.audit {
                audit.refused(&info, &headers, origin);
            }
        })?;
        let acting = self.access.impersonate(&sender, &headers, &info);
        let trail = self.audit.as_ref().and_then(|audit| {
            let acting_as = acting.as_ref().ok().and_then(Option::as_ref);
            Trail::start(audit, &sender, acting_as, &info, &headers, origin)
        });
        let long_running = info.is_long_running();
        let result = match acting {
            Ok(acting) => {
                let cx = Context::new(acting.unwrap_or(sender));
                self.serve(Call { info, query, headers, body: Some(body), cx, method, trail: trail.clone() }).await
            }
            Err(status) => Err(status),
        };
        if let Some(trail) = &trail {
            trail.note(&result, long_running);
        }
        result
    }

    /// Answers somebody who is known, if there is room for one more.
    async fn serve(&self, call: Call) -> Result<Response<Body>, Status> {
        if call.info.is_long_running() {
            return self.dispatch(call).await;
        }
        let _permit = if call.info.is_resource {
            let pool = if call.info.is_mutating() { &self.mutating } else { &self.reading };
            let refused = || Status::too_many_requests("Too many requests, please try again later.", 1);
            Some(pool.try_acquire().map_err(|_| refused())?)
        } else {
            None
        };
        self.within(self.limits.request_timeout, self.dispatch(call)).await
    }

    async fn within(
        &self,
        timeout: Duration,
        answer: impl Future<Output = Result<Response<Body>, Status>>,
    ) -> Result<Response<Body>, Status> {
        match tokio::time::timeout(timeout, answer).await {
            Ok(result) => result,
            Err(_) => Err(Status::timeout(format!(
                "Timeout: request did not complete within the allotted timeout of {}s",
                timeout.as_secs()
            ))),
        }
    }

    async fn dispatch(&self, mut call: Call) -> Result<Response<Body>, Status> {
        self.access.decide(&call.cx.user, &call.info, call.trail.as_deref())?;
        let result = if call.info.path.starts_with("//") {
            Ok(respond::page_not_found())
        } else if call.info.is_resource {
            self.resource(&mut call).await
        } else {
            handlers::documents::answer(self, &call).await
        };
        if let Some(trail) = &call.trail {
            trail.annotate(call.cx.take_notes());
        }
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
            verb => has(verb) && call.method == Method::GET,
        };
        if allowed { Ok(()) } else { Err(Status::method_not_allowed()) }
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
        let pieces = pieces.freeze();
        if let Some(trail) = &call.trail {
            trail.requested(&call.headers, &pieces, call.info.verb == "patch");
        }
        Ok(pieces)
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

/// The id of a request in the audit log: the client's own, or a new one.
fn audit_id(headers: &HeaderMap) -> String {
    let given = headers.get(AUDIT_ID).and_then(|v| v.to_str().ok()).filter(|v| !v.is_empty() && v.len() <= 64);
    given.map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned)
}

impl Call {
    /// An object that is not stored, in the form that the client asked for.
    pub(crate) fn reply(&self, code: u16, object: Value) -> Result<Response<Body>, Status> {
        let accepted = negotiation::negotiate(&self.headers, self.query.get("pretty"))?;
        let (body, content_type) = render::document(&render::formed(object, accepted)?, accepted);
        Ok(respond::with(code, content_type, Body::Full(body)))
    }

    /// What a document that is not an object of a resource looks like.
    pub(crate) fn document(&self, value: &Value) -> Response<Body> {
        self.document_in(negotiation::media(&self.headers), value)
    }

    /// A document in a media type that is settled.
    pub(crate) fn document_in(&self, media: Media, value: &Value) -> Response<Body> {
        let accepted = Accepted {
            media,
            pretty: negotiation::wants_pretty(&self.headers, self.query.get("pretty")),
            ..Accepted::default()
        };
        let (body, content_type) = render::document(value, accepted);
        respond::with(200, content_type, Body::Full(body))
    }
}
