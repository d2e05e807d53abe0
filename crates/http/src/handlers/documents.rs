//! Everything that is not a resource: health, version, metrics, discovery.

use http::{Method, Response};
use pawl_meta::Status;

use crate::api::{Api, Call};
use crate::body::Body;
use crate::{negotiation, respond};

pub(crate) async fn answer(api: &Api, call: &Call) -> Result<Response<Body>, Status> {
    let path = call.info.path.as_str();
    if let Some(response) = api.health.answer(path, &call.query) {
        return Ok(response);
    }
    let found = match path.trim_end_matches('/') {
        "/version" => Some(Found::Document(api.version.clone())),
        "/metrics" => Some(Found::Metrics),
        trimmed => discovery(api, call, trimmed)?.map(Found::Response),
    };
    let Some(found) = found else { return not_found(api, call) };
    if !matches!(call.method, Method::GET | Method::HEAD) {
        return Err(Status::method_not_allowed());
    }
    Ok(match found {
        Found::Document(value) => call.document(&value),
        Found::Metrics => {
            let body = Body::from(api.metrics.text());
            respond::with(200, "text/plain; version=0.0.4; charset=utf-8; escaping=underscores", body)
        }
        Found::Response(response) => response,
    })
}

enum Found {
    Document(serde_json::Value),
    Metrics,
    Response(Response<Body>),
}

fn discovery(api: &Api, call: &Call, path: &str) -> Result<Option<Response<Body>>, Status> {
    if let ("/api" | "/apis", Some(version)) = (path, negotiation::discovery_version(&call.headers)) {
        let document = api.documents.aggregated(path == "/api", version);
        return Ok(document.map(|document| {
            let content_type = match version {
                "v2" => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
                _ => "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
            };
            respond::with(200, content_type, Body::from(document.to_string() + "\n"))
        }));
    }
    let Some(document) = api.documents.discovery(path) else { return Ok(None) };
    // What cannot be had is said as for objects.
    match negotiation::negotiate(&call.headers, None) {
        Err(status) if status.details.is_some() => Err(status),
        _ => Ok(Some(call.document(&document))),
    }
}

/// A version of the core group that is not served is an API error; everything else is just not there.
fn not_found(api: &Api, call: &Call) -> Result<Response<Body>, Status> {
    let table = api.registry.table();
    let mut parts = call.info.path.trim_matches('/').split('/');
    let known = match (parts.next(), parts.next(), parts.next()) {
        (Some("api"), Some(_), _) => true,
        (Some("apis"), Some(group), Some(_)) => table.has_group(group),
        _ => false,
    };
    if known { Err(Status::no_such_resource()) } else { Ok(respond::page_not_found()) }
}
