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
    for text in within_limits(warnings) {
        let mut quoted = String::with_capacity(text.len() + 8);
        for c in text.chars() {
            match c {
                '"' | '\\' => quoted.extend(['\\', c]),
                c if c.is_control() => quoted.push(' '),
                c => quoted.push(c),
            }
        }
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()) {
            response.headers_mut().append(WARNING, value);
        }
    }
}

/// Clients refuse answers whose headers are too large, also to a write that was done: with more than this many characters in
/// all, every warning is cut, and what then does not fit is left out. As upstream counts.
const WARNINGS_MAX: usize = 4096;
const WARNING_CUT: usize = 256;

fn within_limits(warnings: &[String]) -> Vec<&str> {
    let size = |text: &str| text.chars().count();
    let mut total = 0;
    // The first that does not fit is the last that is taken whatever its place.
    let fit = warnings.iter().position(|text| {
        total += size(text);
        total > WARNINGS_MAX
    });
    let Some(first) = fit else { return warnings.iter().map(String::as_str).collect() };
    let cut = |text: &'_ str| text.char_indices().nth(WARNING_CUT).map_or(text.len(), |(at, _)| at);
    let mut written = 0;
    let mut kept = Vec::new();
    for (i, text) in warnings.iter().enumerate() {
        if i > first && written >= WARNINGS_MAX {
            break;
        }
        let text = text.get(..cut(text)).unwrap_or(text);
        written += size(text);
        kept.push(text);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(warnings: &[(usize, usize)], expect: (usize, usize)) {
        let texts = warnings.iter().flat_map(|(count, size)| vec!["\u{e4}".repeat(*size); *count]);
        let texts: Vec<String> = texts.collect();
        let kept = within_limits(&texts);
        assert_eq!((kept.len(), kept.iter().map(|text| text.chars().count()).sum()), expect, "{warnings:?}");
    }

    #[test]
    fn warnings_fit_into_the_headers_of_an_answer() {
        check(&[], (0, 0));
        check(&[(3, 1365)], (3, 4095));
        check(&[(4, 1024)], (4, 4096));
        check(&[(4, 1024), (1, 1)], (5, 1025));
        check(&[(99, 300)], (16, 4096));
        check(&[(1, 5000)], (1, 256));
        check(&[(5000, 1)], (4097, 4097));
    }
}
