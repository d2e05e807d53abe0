//! Everything that is not a resource: health, version, metrics, discovery.

use http::header::{ACCEPT, CACHE_CONTROL, ETAG, HeaderValue, IF_NONE_MATCH, LOCATION, VARY};
use http::{Method, Response};
use pawl_meta::Status;

use crate::api::{Api, Blob, Call};
use crate::body::Body;
use crate::negotiation::Media;
use crate::{negotiation, respond};

/// Paths that are no resource. The first row that fits answers.
const ROWS: [Row; 10] = [
    Row { path: Path::Below("/livez"), always: true, answer: health },
    Row { path: Path::Below("/readyz"), always: true, answer: health },
    Row { path: Path::Below("/healthz"), always: true, answer: health },
    Row { path: Path::Either("/version"), always: false, answer: version },
    Row { path: Path::Exactly("/metrics"), always: false, answer: metrics },
    Row { path: Path::Either("/.well-known/openid-configuration"), always: false, answer: openid_configuration },
    Row { path: Path::Either("/openid/v1/jwks"), always: false, answer: openid_keys },
    Row { path: Path::Exactly("/openapi/v2"), always: false, answer: openapi_v2 },
    Row { path: Path::Below("/openapi/v3"), always: false, answer: openapi_v3 },
    Row { path: Path::Any, always: false, answer: discovery },
];

pub(crate) struct Row {
    path: Path,
    /// Whether it is answered whoever fills up the server, and by whatever method it is asked for.
    pub always: bool,
    answer: fn(&Api, &Call) -> Answer,
}

/// `None` is a path that is not there after all.
type Answer = Result<Option<Response<Body>>, Status>;

enum Path {
    Exactly(&'static str),
    /// With or without slashes at its end.
    Either(&'static str),
    /// Likewise, and everything below it.
    Below(&'static str),
    Any,
}

impl Path {
    fn fits(&self, path: &str) -> bool {
        match self {
            Self::Exactly(name) => path == *name,
            Self::Either(name) => path.trim_end_matches('/') == *name,
            Self::Below(name) => path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
            Self::Any => true,
        }
    }
}

/// The row of a path.
pub(crate) fn find(path: &str) -> &'static Row {
    let [.., last] = &ROWS;
    ROWS.iter().find(|row| row.path.fits(path)).unwrap_or(last)
}

impl Row {
    pub(crate) fn answer(&self, api: &Api, call: &Call) -> Result<Response<Body>, Status> {
        let found = (self.answer)(api, call);
        if matches!(found, Ok(None)) {
            return not_found(api, call);
        }
        if !self.always && !matches!(call.method, Method::GET | Method::HEAD) {
            return Err(Status::method_not_allowed());
        }
        found.map(|response| response.unwrap_or_else(respond::page_not_found))
    }
}

fn health(api: &Api, call: &Call) -> Answer {
    Ok(api.health.answer(&call.info.path, &call.query))
}

fn version(api: &Api, call: &Call) -> Answer {
    negotiation::takes_json(&call.headers)?;
    Ok(Some(call.document_in(Media::Json, &api.version)))
}

fn metrics(api: &Api, _: &Call) -> Answer {
    let refuses_writes = api.registry.store_health().is_err();
    let body = Body::from(api.metrics.text(&api.registry.table(), refuses_writes));
    Ok(Some(respond::with(200, "text/plain; version=0.0.4; charset=utf-8; escaping=underscores", body)))
}

fn openid_configuration(api: &Api, call: &Call) -> Answer {
    Ok(api.access.openid.as_ref().map(|openid| call.document(&openid.configuration)))
}

fn openid_keys(api: &Api, _: &Call) -> Answer {
    let keys = api.access.openid.as_ref().map(|openid| Body::from(openid.keys.to_string()));
    Ok(keys.map(|keys| respond::with(200, "application/jwk-set+json", keys)))
}

/// Which groups, versions and resources there are.
fn discovery(api: &Api, call: &Call) -> Answer {
    let path = call.info.path.trim_end_matches('/');
    if let "/api" | "/apis" = path
        && let Some(media) = negotiation::aggregated(&call.headers)
    {
        let content_type = match media {
            Media::Json => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            Media::Yaml => "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            Media::Protobuf => {
                "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
            }
        };
        return Ok(api.documents.aggregated(path == "/api", media).map(|blob| tagged(call, &blob, content_type)));
    }
    let Some(document) = api.documents.discovery(path) else { return Ok(None) };
    let is_index = path.strip_prefix("/apis").is_some_and(|rest| rest.matches('/').count() < 2);
    let media = negotiation::negotiate_document(&call.headers, is_index)?;
    Ok(Some(call.document_in(media, &document)))
}

fn openapi_v2(api: &Api, call: &Call) -> Answer {
    let accept = call.headers.get(ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let protobuf = accept.contains("com.github.proto-openapi.spec.v2");
    // Clients ask for `@v1.0` and refuse an answer that says so: it is no media type.
    let content_type =
        if protobuf { "application/com.github.proto-openapi.spec.v2.v1.0+protobuf" } else { "application/json" };
    Ok(api.documents.openapi_v2(protobuf).map(|blob| tagged(call, &blob, content_type)))
}

/// The index, or a document below it.
fn openapi_v3(api: &Api, call: &Call) -> Answer {
    let path = call.info.path.trim_end_matches('/');
    Ok(match path.strip_prefix("/openapi/v3/") {
        Some(key) => Some(openapi_v3_document(api, call, key).unwrap_or_else(|| respond::bare(404))),
        None => api.documents.openapi_v3_index().map(|blob| tagged(call, &blob, "text/plain; charset=utf-8")),
    })
}

/// A document of the index. With the right hash it never changes; with a wrong one the client is sent to the right one.
fn openapi_v3_document(api: &Api, call: &Call, key: &str) -> Option<Response<Body>> {
    let blob = api.documents.openapi_v3(key)?;
    let hash = call.query.get("hash").unwrap_or_default();
    if !hash.is_empty() && hash != blob.etag {
        let mut response = respond::with(301, "text/plain; charset=utf-8", Body::Empty);
        let location = HeaderValue::from_str(&format!("/openapi/v3/{key}?hash={}", blob.etag)).ok()?;
        response.headers_mut().insert(LOCATION, location);
        return Some(response);
    }
    let mut response = tagged(call, &blob, "application/json");
    if !hash.is_empty() {
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
    }
    Some(response)
}

/// A document with its tag; 304 for who has it already.
fn tagged(call: &Call, blob: &Blob, content_type: &'static str) -> Response<Body> {
    let tag = format!("\"{}\"", blob.etag);
    let known = call.headers.get(IF_NONE_MATCH).and_then(|v| v.to_str().ok()).is_some_and(|v| v.contains(&tag));
    let (code, body) = if known { (304, Body::Empty) } else { (200, Body::Full(blob.bytes.clone())) };
    let mut response = respond::with(code, content_type, body);
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    response
}

/// A version of the core group that is not served is an API error; everything else is just not there.
fn not_found(api: &Api, call: &Call) -> Result<Response<Body>, Status> {
    let table = api.registry.table();
    let mut parts = call.info.path.trim_matches('/').split('/');
    let known = match (parts.next(), parts.next(), parts.next()) {
        (Some("api"), Some(_), _) => true,
        (Some("apis"), Some(group), Some(_)) => table.has_builtin_group(group),
        _ => false,
    };
    if known { Err(Status::no_such_resource()) } else { Ok(respond::page_not_found()) }
}
