//! Everything that is not a resource: health, version, metrics, discovery.

use http::header::{ACCEPT, CACHE_CONTROL, ETAG, HeaderValue, IF_NONE_MATCH, LOCATION, VARY};
use http::{Method, Response};
use pawl_meta::Status;

use crate::api::{Api, Blob, Call};
use crate::body::Body;
use crate::negotiation::Media;
use crate::{negotiation, respond};

pub(crate) async fn answer(api: &Api, call: &Call) -> Result<Response<Body>, Status> {
    let path = call.info.path.as_str();
    let found = match path.trim_end_matches('/') {
        "/version" => Some(Found::Version),
        // These stand under one name only.
        "/metrics" | "/openapi/v2" if path.ends_with('/') => None,
        "/metrics" => Some(Found::Metrics),
        "/.well-known/openid-configuration" => {
            api.access.openid.as_ref().map(|o| Found::Document(o.configuration.clone()))
        }
        "/openid/v1/jwks" => api.access.openid.as_ref().map(|o| Found::Keys(o.keys.to_string())),
        trimmed => discovery(api, call, trimmed)?.map(Found::Response),
    };
    let Some(found) = found else { return not_found(api, call) };
    if !matches!(call.method, Method::GET | Method::HEAD) {
        return Err(Status::method_not_allowed());
    }
    Ok(match found {
        Found::Document(value) => call.document(&value),
        Found::Version => {
            negotiation::takes_json(&call.headers)?;
            call.document_in(Media::Json, &api.version)
        }
        Found::Metrics => {
            let refuses_writes = api.registry.storage().kv().health().is_err();
            let body = Body::from(api.metrics.text(&api.registry.table(), refuses_writes));
            respond::with(200, "text/plain; version=0.0.4; charset=utf-8; escaping=underscores", body)
        }
        Found::Keys(keys) => respond::with(200, "application/jwk-set+json", Body::from(keys)),
        Found::Response(response) => response,
    })
}

enum Found {
    Version,
    Document(serde_json::Value),
    Metrics,
    Keys(String),
    Response(Response<Body>),
}

fn discovery(api: &Api, call: &Call, path: &str) -> Result<Option<Response<Body>>, Status> {
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
    match path {
        "/openapi/v2" => return Ok(openapi_v2(api, call)),
        "/openapi/v3" => {
            return Ok(api.documents.openapi_v3_index().map(|blob| tagged(call, &blob, "text/plain; charset=utf-8")));
        }
        _ => {}
    }
    if let Some(key) = path.strip_prefix("/openapi/v3/") {
        let found = openapi_v3(api, call, key);
        return Ok(Some(found.unwrap_or_else(|| respond::bare(404))));
    }
    let Some(document) = api.documents.discovery(path) else { return Ok(None) };
    let is_index = path.strip_prefix("/apis").is_some_and(|rest| rest.matches('/').count() < 2);
    match negotiation::negotiate_document(&call.headers, is_index) {
        Ok(media) => Ok(Some(call.document_in(media, &document))),
        Err(status) if path != "/" => Err(status),
        Err(_) => Ok(Some(call.document(&document))),
    }
}

fn openapi_v2(api: &Api, call: &Call) -> Option<Response<Body>> {
    let accept = call.headers.get(ACCEPT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let protobuf = accept.contains("com.github.proto-openapi.spec.v2");
    // Clients ask for `@v1.0` and refuse an answer that says so: it is no media type.
    let content_type =
        if protobuf { "application/com.github.proto-openapi.spec.v2.v1.0+protobuf" } else { "application/json" };
    api.documents.openapi_v2(protobuf).map(|blob| tagged(call, &blob, content_type))
}

/// A document of the index. With the right hash it never changes; with a wrong one the client is sent to the right one.
fn openapi_v3(api: &Api, call: &Call, key: &str) -> Option<Response<Body>> {
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
