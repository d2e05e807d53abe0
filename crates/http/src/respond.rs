//! Building answers.

use http::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{HeaderName, Response, StatusCode};
use pawl_meta::Status;

use crate::body::Body;
use crate::negotiation::Accepted;
use crate::render;

const WARNING: HeaderName = HeaderName::from_static("warning");

pub fn with(code: u16, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

pub fn text(code: u16, text: impl Into<String>) -> Response<Body> {
    with(code, "text/plain; charset=utf-8", Body::from(text.into()))
}

pub fn page_not_found() -> Response<Body> {
    text(404, "404 page not found\n")
}

/// What is no proper request of HTTP: the connection ends with the answer, since who sent it may mean something else.
pub fn malformed(why: &str) -> Response<Body> {
    let mut response = text(400, format!("400 Bad Request: {why}"));
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// A code and nothing else.
pub fn bare(code: u16) -> Response<Body> {
    let mut response = with(code, "text/plain", Body::Empty);
    response.headers_mut().remove(CONTENT_TYPE);
    response
}

/// An error, in the media type that the client reads.
pub fn status(status: &Status, accepted: Accepted) -> Response<Body> {
    let (body, content_type) = render::document(&status.to_value(), accepted);
    let mut response = with(status.code, content_type, Body::Full(body));
    if let Some(details) = &status.details
        && details.retry_after_seconds > 0
    {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(details.retry_after_seconds));
    }
    warn(&mut response, &status.warnings);
    response
}

/// Adds warnings: `299 - "text"`.
pub fn warn(response: &mut Response<Body>, warnings: &[String]) {
    for text in warnings {
        let quoted: String = text
            .chars()
            .flat_map(|c| match c {
                '"' | '\\' => vec!['\\', c],
                c if c.is_control() => vec![' '],
                c => vec![c],
            })
            .collect();
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()) {
            response.headers_mut().append(WARNING, value);
        }
    }
}
