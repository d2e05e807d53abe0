//! The way of a request: one ordered chain of filters, then the handler of its verb.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Deref;
use std::pin::pin;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::{AUTHORIZATION, HeaderValue};
use http::{HeaderMap, HeaderName, Method, Request, Response};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use pawl_auth::Authorizer;
use pawl_auth::authn::PeerCertificates;
use pawl_meta::Status;
use pawl_meta::object::Object;
use pawl_registry::{Context, Registry, Served, Sight};
use serde_json::Value;

use crate::access::Access;
use crate::audit::{Audit, LostRecords, Origin, Trail};
use crate::body::Body;
use crate::handlers;
use crate::health::Health;
use crate::metrics::{self, Answered, Labels, Lap, Metrics};
use crate::negotiation::{self, Accepted, Media};
use crate::options;
use crate::query::Query;
use crate::render::{self, IncludeObject};
use crate::request::{RequestInfo, Verb, host_problem, path_problem};
use crate::request_log::Line;
use crate::respond;
use crate::shares::{self, Held, Shares};
use crate::target::Target;
use crate::websocket::Session;

/// Requests with more than this, in their body and in what they change, are large work.
const HEAVY: usize = 256 * 1024;
/// Bodies that come at once and have no more are not counted.
const UNCOUNTED: usize = 16 * 1024;
/// Answers of no more bytes are covered by the place of their request.
const SMALL_ANSWER: usize = 64 * 1024;

const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// Who is on the other end of a connection.
#[derive(Debug, Default)]
pub struct Peer {
    pub address: Option<SocketAddr>,
    /// The certificates of the client, if it showed any; nobody has verified them yet.
    pub certificate: Option<PeerCertificates>,
    /// How many shares its requests hold.
    pub(crate) shares: Arc<AtomicUsize>,
    /// What is spoken on the connection when HTTP is over.
    pub(crate) session: Mutex<Option<Session>>,
}

impl Peer {
    pub(crate) fn becomes(&self, session: Session) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
    }

    pub(crate) fn session(&self) -> Option<Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Documents that say what is served; built when asked for.
pub trait Documents: Send + Sync + 'static {
    /// `/`, `/api`, `/apis` and what is below them, in their plain form.
    fn discovery(&self, path: &str) -> Option<Value>;
    /// `/api` or `/apis` with everything below in one document.
    fn aggregated(&self, core: bool, media: Media) -> Option<Blob>;
    /// The stored objects that a definition refuses: by its own schema, or by that of a candidate.
    fn invalid_objects(&self, definition: &str, candidate: Option<&Object>) -> Result<Value, Status>;
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
    /// How long a body may stop to arrive.
    pub body_patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 3 << 20,
            reading: 400,
            mutating: 200,
            request_timeout: Duration::from_secs(60),
            min_watch_timeout: Duration::from_secs(1800),
            body_patience: Duration::from_secs(15),
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
    /// Whether what cannot be read may be deleted: the gate `AllowUnsafeMalformedObjectDeletion`.
    pub unsafe_deletion: bool,
    pub audit: Option<Arc<Audit>>,
    /// Where other parts of the server have made their metrics known.
    pub metrics: prometheus::Registry,
    pub check_encryption: CheckEncryption,
}

/// Says how many objects of which resources the encryption configuration in a file would make unreadable.
pub type CheckEncryption =
    Box<dyn Fn(std::path::PathBuf) -> BoxFuture<'static, Result<BTreeMap<String, usize>, String>> + Send + Sync>;

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
    /// Whether what cannot be read may be deleted: the gate `AllowUnsafeMalformedObjectDeletion`.
    pub unsafe_deletion: bool,
    pub check_encryption: CheckEncryption,
    pub audit: Option<Arc<Audit>>,
    pub(crate) shares: Shares,
}

/// What the head of a request says.
pub(crate) struct Asked {
    pub info: Arc<RequestInfo>,
    /// What it is about: found once, decided on, and then done.
    pub target: Target,
    pub query: Query,
    pub headers: HeaderMap,
    pub method: Method,
    /// The connection itself, where it can become something else than HTTP.
    pub upgrade: Option<OnUpgrade>,
}

/// A request whose sender is known and who may do what it asks for.
pub(crate) struct Call {
    asked: Asked,
    /// The form of the answer, for who asks for objects.
    pub accepted: Accepted,
    pub body: Arriving,
    pub cx: Context,
    pub trail: Option<Arc<Trail>>,
    /// What the connection holds of shares.
    pub connection: Arc<AtomicUsize>,
}

/// The body of a request.
pub(crate) enum Arriving {
    /// On its way.
    Coming(Incoming),
    /// All of it.
    There(Bytes),
}

/// Reads on what nobody wants to know, as far as it is short and comes soon: a connection that is closed with something
/// unread in it may take the answer with it.
fn pass_by(body: Incoming) -> BoxFuture<'static, ()> {
    const SHORT: usize = 256 << 10;
    const SOON: Duration = Duration::from_secs(5);
    let mut body = Limited::new(body, SHORT);
    let read = async move { while let Some(Ok(_)) = body.frame().await {} };
    Box::pin(async move {
        let _ = tokio::time::timeout(SOON, read).await;
    })
}

impl Api {
    pub fn new(registry: Arc<Registry>, access: Access, documents: Box<dyn Documents>, settings: ApiSettings) -> Self {
        let ApiSettings {
            health,
            limits,
            version,
            field_validation,
            unsafe_deletion,
            audit,
            metrics,
            check_encryption,
        } = settings;
        let metrics = Metrics::new(metrics, &version);
        if let Some(audit) = &audit {
            // There is one log, so this is the only such metric.
            let _ = metrics.registry().register(Box::new(LostRecords(Arc::clone(audit))));
        }
        Self {
            shares: Shares::new(&limits),
            registry,
            access,
            documents,
            health,
            metrics,
            limits,
            version,
            field_validation,
            unsafe_deletion,
            check_encryption,
            audit,
        }
    }

    /// Answers a request. The filters, outermost first:
    /// 1. measuring: every request counts, whatever becomes of it;
    /// 2. who is it: nothing is told to somebody unknown;
    /// 3. how many at once: a flood from those who may come in;
    /// 4. how long: a request that takes too long is given up;
    /// 5. what is it about, and may they do that: then the handler.
    pub async fn answer(self: Arc<Self>, request: Request<Incoming>, peer: &Peer) -> Response<Body> {
        let started = Instant::now();
        if let Some(problem) = host_problem(&request).or_else(|| path_problem(request.uri().path())) {
            return respond::malformed(problem);
        }
        let (mut parts, body) = request.into_parts();
        let line = Line::begin(&parts);
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let info = Arc::new(RequestInfo::parse(&parts.method, parts.uri.path(), &query));
        let accepted = negotiation::for_errors(&parts.headers, &query);
        let head = parts.method == Method::HEAD;
        let (verb, dry_run) = metrics::named(&info, &parts.headers, &query);
        let measured = Arc::clone(&info);
        let mut target = Target::find(&self.registry.table(), &info, &parts.method);
        if matches!(target, Target::Nothing(_)) && self.registry.learn(&info.group, &info.resource).await {
            target = Target::find(&self.registry.table(), &info, &parts.method);
        }
        let labels = Labels::of(&target, &measured);
        let in_flight = self.metrics.start(&measured, &labels);
        let audit_id = audit_id(&parts.headers);
        // Over HTTP/2 the URI names the host too.
        let uri = parts.uri.path_and_query().map(ToString::to_string).filter(|_| self.audit.is_some());
        let uri = uri.unwrap_or_default();
        let origin = Origin { audit_id: &audit_id, uri: &uri, peer };
        let upgrade = parts.extensions.remove();
        let asked = Asked { info, target, query, method: parts.method, headers: parts.headers, upgrade };
        let result = self.admit(asked, body, &origin).await;
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
        let code = response.status().as_u16();
        if let Some(line) = line {
            line.finish(measured.verb.as_str(), &audit_id, peer, code, started);
        }
        let answered = Answered { info: &measured, labels: &labels, verb, dry_run, code, took: started.elapsed() };
        let sizes = self.metrics.finish(in_flight, &answered);
        response.map(|body| body.measured_by(sizes))
    }

    async fn admit(&self, asked: Asked, body: Incoming, origin: &Origin<'_>) -> Result<Response<Body>, Status> {
        let Asked { info, headers, .. } = &asked;
        let filters = self.metrics.filters();
        let mut lap = Lap::begin();
        let authenticated = self.access.authenticate(headers, origin.peer);
        lap.end(&filters.authentication);
        let sender = match authenticated {
            Ok(sender) => sender,
            Err(status) => {
                if let Some(audit) = &self.audit {
                    audit.refused(info, headers, origin);
                }
                pass_by(body).await;
                return Err(status);
            }
        };
        let acting = self.access.impersonate(&sender, headers, info);
        lap.end(&filters.impersonation);
        let trail = self.audit.as_ref().and_then(|audit| {
            let acting_as = acting.as_ref().ok().and_then(Option::as_ref);
            Trail::start(audit, &sender, acting_as, info, headers, origin)
        });
        lap.end(&filters.audit);
        let long_running = info.is_long_running();
        let result = match acting {
            Ok(acting) => {
                let mut cx = Context::new(acting.unwrap_or(sender));
                cx.sight = Sight::Asked(Arc::clone(&self.access.chain) as Arc<dyn Authorizer + Send + Sync>);
                if let Some(header) = asked.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok())
                    && pawl_auth::authn::is_padded(header)
                {
                    cx.warn("the provided Authorization header contains extra space before the bearer token, and is ignored");
                }
                let (body, connection) = (Arriving::Coming(body), Arc::clone(&origin.peer.shares));
                let accepted = Accepted::default();
                let mut call = Call { asked, accepted, body, cx, trail: trail.clone(), connection };
                self.serve(&mut call).await
            }
            Err(status) => {
                pass_by(body).await;
                Err(status)
            }
        };
        if let Some(trail) = &trail {
            trail.note(&result, long_running);
        }
        result
    }

    /// Answers somebody who is known, within the time that there is.
    async fn serve(&self, call: &mut Call) -> Result<Response<Body>, Status> {
        let longest = self.limits.request_timeout;
        let timeout = match call.info.is_long_running() {
            true => None,
            false => Some(options::timeout(&call.query)?.map_or(longest, |timeout| timeout.min(longest))),
        };
        let answer = pin!(self.dispatch(call));
        match timeout {
            Some(timeout) => self.within(timeout, answer).await,
            None => answer.await,
        }
    }

    /// Does what a request asks for whose sender may ask for it, if there is room for one more. A place is taken when the
    /// body is there, and held until the answer has been sent: who sends or reads slowly has it from his own share.
    async fn carry_out(&self, served: &Arc<Served>, call: &mut Call) -> Result<Response<Body>, Status> {
        if call.info.is_long_running() {
            call.body = Arriving::There(Bytes::new());
            return self.resource(served, call).await;
        }
        let body = if call.info.is_mutating() { Some(self.receive(call).await?) } else { None };
        // What nobody reads is let go of: its bytes would wait in the connection.
        let (body, room) = body.unwrap_or_default();
        self.metrics.received(&call.info, body.len());
        let weight = body.len() + stored_weight(served, &call.info);
        call.body = Arriving::There(body);
        let place = self.shares.take(&call.cx.user, &call.info, &call.connection)?;
        let result = if weight < HEAVY || !can_block() {
            self.resource(served, call).await
        } else {
            let waiting = self.metrics.queue(&call.info);
            let _turn = self.shares.turn(&call.cx.user).await?;
            drop(waiting);
            let timeout = self.limits.request_timeout;
            // Large work is done by a thread that others do not wait for.
            tokio::task::block_in_place(|| {
                tokio::runtime::Handle::current().block_on(self.within(timeout, self.resource(served, call)))
            })
        };
        let response = match result {
            // What is long is an answer like every other.
            Err(status) if status.message.len() > SMALL_ANSWER => {
                respond::status(&status, negotiation::for_errors(&call.headers, &call.query))
            }
            result => result?,
        };
        let answer = match response.body() {
            Body::Full(bytes) if bytes.len() > SMALL_ANSWER => Some(self.shares.answer(&call.cx.user, bytes.len())?),
            _ => None,
        };
        Ok(response.map(|body| body.holding(Holding { _place: place, _room: room, _answer: answer })))
    }

    /// Answers what is no resource.
    fn document(&self, call: &Call) -> Result<Response<Body>, Status> {
        let row = handlers::documents::find(&call.info.path);
        if row.always {
            return row.answer(self, call);
        }
        let place = self.shares.take(&call.cx.user, &call.info, &call.connection)?;
        let response = row.answer(self, call)?;
        Ok(response.map(|body| body.holding(Holding { _place: place, _room: None, _answer: None })))
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

    async fn dispatch(&self, call: &mut Call) -> Result<Response<Body>, Status> {
        let mut lap = Lap::begin();
        let decided = self.access.decide(&call.cx.user, &call.info, call.trail.as_deref());
        lap.end(&self.metrics.filters().authorization);
        let result = match decided {
            Ok(()) => match call.target.clone() {
                Target::Resource(served) => self.carry_out(&served, call).await,
                Target::Document => self.document(call),
                Target::Nothing(absence) => absence.answer(&call.info),
            },
            Err(status) => Err(status),
        };
        if let Arriving::Coming(body) = std::mem::replace(&mut call.body, Arriving::There(Bytes::new())) {
            pass_by(body).await;
        }
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

    async fn resource(&self, served: &Arc<Served>, call: &mut Call) -> Result<Response<Body>, Status> {
        if let Some(warning) = &served.resource.facts.warning {
            call.cx.warn(warning.clone());
        }
        if let Some(why) = &served.resource.facts.unconverted {
            return Err(Status::not_implemented(why.as_str()));
        }
        if call.info.names_object()
            && let Some(why) = pawl_meta::names::path_segment(&call.info.name).first()
        {
            let name = pawl_meta::go::quote(&call.info.name);
            return Err(Status::bad_request(format!("Name parameter invalid: {name}: {why}")));
        }
        // What leads to a node is not for us to write.
        if !call.info.leads_to_node() {
            let protobuf = !served.resource.facts.custom || call.info.subresource == "scale";
            let choose = match call.info.verb {
                Verb::List | Verb::Watch => negotiation::negotiate_list,
                _ => negotiation::negotiate_for,
            };
            call.accepted = choose(&call.headers, call.query.get("pretty"), protobuf)?;
            // What is answered and not stored has no table.
            let below = matches!(call.info.subresource.as_str(), "binding" | "eviction" | "token");
            let answered = call.info.verb == Verb::Create && (below || served.resource.facts.is_virtual);
            if call.accepted.form == negotiation::Form::Table && answered {
                return Err(negotiation::not_accepted());
            }
        }
        if !call.info.subresource.is_empty() {
            return Box::pin(handlers::subresource::answer(self, served, call)).await;
        }
        // On the heap: what awaits one of several has room for the largest, and is itself moved about by everybody around it.
        match call.info.verb {
            Verb::Get => handlers::get::answer(self, served, call).await,
            Verb::List => Box::pin(handlers::list::answer(self, served, call)).await,
            Verb::Watch => Box::pin(handlers::watch::answer(self, served, call)).await,
            Verb::Create => Box::pin(handlers::create::answer(self, served, call)).await,
            Verb::Update => Box::pin(handlers::update::answer(self, served, call)).await,
            Verb::Patch => Box::pin(handlers::patch::answer(self, served, call)).await,
            Verb::Delete => Box::pin(handlers::delete::answer(self, served, call)).await,
            Verb::DeleteCollection => Box::pin(handlers::deletecollection::answer(self, served, call)).await,
            Verb::Other(_) => Err(Status::method_not_allowed()),
        }
    }

    /// The body of a request, once.
    pub(crate) async fn body(&self, call: &mut Call) -> Result<Bytes, Status> {
        match std::mem::replace(&mut call.body, Arriving::There(Bytes::new())) {
            Arriving::There(body) => Ok(body),
            Arriving::Coming(_) => Err(Status::internal("the body has not been received")),
        }
    }

    /// Receives the whole body of a request, within the limit. What has come of it counts against what its sender may have
    /// on the way.
    async fn receive(&self, call: &mut Call) -> Result<(Bytes, Option<Held>), Status> {
        let nothing = Arriving::There(Bytes::new());
        let body = match std::mem::replace(&mut call.body, nothing) {
            Arriving::Coming(body) => body,
            Arriving::There(body) => return Ok((body, None)),
        };
        let limit = self.limits.body;
        let mut room: Option<Held> = None;
        // A body that is too large is read on for a while, so that its sender gets to read the answer.
        let mut body = Limited::new(body, limit.saturating_mul(4));
        let mut pieces = bytes::BytesMut::new();
        let mut size = 0;
        loop {
            let frame = match tokio::time::timeout(self.limits.body_patience, body.frame()).await {
                Ok(None) => break,
                Ok(Some(frame)) => frame,
                Err(_) => return Err(Status::timeout("Timeout: the body of the request did not arrive")),
            };
            let data = match frame {
                Ok(frame) => frame.into_data().unwrap_or_default(),
                Err(error) if error.is::<http_body_util::LengthLimitError>() => break,
                Err(error) => return Err(Status::bad_request(format!("unable to read the body: {error}"))),
            };
            size += data.len();
            if size > limit {
                continue;
            }
            // Most bodies come at once, and are small: only what waits, or is much, is counted.
            let counted = room.is_some() || size > UNCOUNTED || !http_body::Body::is_end_stream(&body);
            match &mut room {
                Some(room) => room.grow(data.len()).then_some(()).ok_or_else(shares::too_many)?,
                None if counted => room = Some(self.shares.body(&call.cx.user, size)?),
                None => {}
            }
            pieces.extend_from_slice(&data);
        }
        if size > limit {
            return Err(Status::too_large(format!("limit is {limit}")));
        }
        let pieces = pieces.freeze();
        if let Some(trail) = &call.trail {
            trail.requested(&call.headers, &pieces, call.info.verb == Verb::Patch);
        }
        Ok((pieces, room))
    }

    /// The answer to a request for one object.
    pub(crate) fn object(
        &self,
        call: &Call,
        served: &Served,
        entry: &pawl_registry::CacheEntry,
        code: u16,
    ) -> Result<Response<Body>, Status> {
        let include = render::IncludeObject::parse(call.query.get("includeObject"));
        let bytes = render::object(served, entry, call.accepted, include)?;
        Ok(respond::with(code, call.accepted.media.content_type(), Body::Full(bytes)))
    }
}

/// What a request holds until its answer has been sent.
pub struct Holding {
    _place: Held,
    _room: Option<Held>,
    _answer: Option<Held>,
}

/// Whether this thread can be given to one request, for others take over what it does.
pub(crate) fn can_block() -> bool {
    let runtime = tokio::runtime::Handle::try_current();
    runtime.is_ok_and(|runtime| runtime.runtime_flavor() == tokio::runtime::RuntimeFlavor::MultiThread)
}

/// How much the object has that a request changes.
fn stored_weight(served: &Served, info: &RequestInfo) -> usize {
    if info.name.is_empty() || !matches!(info.verb, Verb::Update | Verb::Patch) {
        return 0;
    }
    let namespace = if served.resource.facts.namespaced { info.namespace.as_str() } else { "" };
    served.stored.weight_of(namespace, &info.name).unwrap_or_default()
}

/// The id of a request in the audit log: the client's own, or a new one.
fn audit_id(headers: &HeaderMap) -> String {
    let given = headers.get(AUDIT_ID).and_then(|v| v.to_str().ok()).filter(|v| !v.is_empty() && v.len() <= 64);
    given.map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned)
}

impl Deref for Call {
    type Target = Asked;

    fn deref(&self) -> &Asked {
        &self.asked
    }
}

impl Call {
    /// An object that is not stored, in the form that the client asked for.
    pub(crate) fn reply(&self, code: u16, object: Value) -> Result<Response<Body>, Status> {
        let include = IncludeObject::parse(self.query.get("includeObject"));
        let (body, content_type) = render::document(&render::formed(object, self.accepted, include)?, self.accepted);
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
