//! GET of a collection.

use std::sync::Arc;

use http::Response;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderValue, VARY};
use pawl_meta::Status;
use pawl_registry::Served;

use crate::api::{Api, Call};
use crate::body::Body;
use crate::handlers::component;
use crate::negotiation::Form;
use crate::options::ListOptions;
use crate::render::{self, IncludeObject};
use crate::respond;

pub(crate) async fn answer(api: &Api, served: &Arc<Served>, call: &Call) -> Result<Response<Body>, Status> {
    let accepted = call.accepted;
    let options = ListOptions::read(call, served, false)?;
    let page = match served.resource.facts.is_virtual {
        true => component::list(api)?,
        false => api.registry.list(served, &options.list_request()).await?,
    };
    let gzip = call.headers.get(ACCEPT_ENCODING).and_then(|v| v.to_str().ok()).is_some_and(|v| v.contains("gzip"));
    if accepted.form == Form::Table {
        IncludeObject::check(call.query.get("includeObject"))?;
    }
    let include = IncludeObject::parse(call.query.get("includeObject"));
    let (body, compressed) = render::list(served, page, accepted, include, gzip, api.shares.turns())?;
    let mut response = respond::with(200, accepted.media.content_type(), body);
    if compressed {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        response.headers_mut().insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
    Ok(response)
}
