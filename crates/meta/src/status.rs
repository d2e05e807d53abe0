//! `Status`: how the server says that something went wrong, with upstream's codes, reasons, messages and causes.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::{Errors, GroupKind, GroupResource, go};

/// One cause inside a `Status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    pub reason: String,
    pub message: String,
    pub field: String,
}

/// What a `Status` is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    pub name: String,
    pub group: String,
    pub kind: String,
    pub uid: String,
    pub causes: Vec<Cause>,
    pub retry_after_seconds: u32,
}

/// A failed request, as the client is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    pub code: u16,
    /// Empty where upstream gives none.
    pub reason: &'static str,
    pub message: String,
    pub details: Option<Details>,
    /// `resourceVersion` of the error's list metadata and the token to go on with, for expired continue tokens.
    pub continue_token: Option<String>,
    /// Warnings that travel with the error.
    pub warnings: Vec<String>,
}

impl Status {
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None, continue_token: None, warnings: Vec::new() }
    }

    pub fn with_details(mut self, details: Details) -> Self {
        self.details = Some(details);
        self
    }

    pub fn with_warnings(mut self, warnings: Vec<String>) -> Self {
        self.warnings = warnings;
        self
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    pub fn not_found(resource: &GroupResource, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{resource} {} not found", go::quote(name)))
            .with_details(about(resource, name))
    }

    /// A path, resource or subresource that is not served.
    pub fn no_such_resource() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource").with_details(Details::default())
    }

    pub fn method_not_allowed() -> Self {
        Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
            .with_details(Details::default())
    }

    pub fn already_exists(resource: &GroupResource, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{resource} {} already exists", go::quote(name)))
            .with_details(about(resource, name))
    }

    pub fn conflict(resource: &GroupResource, name: &str, why: impl fmt::Display) -> Self {
        Self::new(409, "Conflict", format!("Operation cannot be fulfilled on {resource} {}: {why}", go::quote(name)))
            .with_details(about(resource, name))
    }

    pub fn invalid(kind: &GroupKind, name: &str, errors: &Errors) -> Self {
        Self::new(422, "Invalid", format!("{kind} {} is invalid: {}", go::quote(name), errors.message())).with_details(
            Details {
                name: name.to_owned(),
                group: kind.group.clone(),
                kind: kind.kind.clone(),
                causes: errors.causes(),
                ..Details::default()
            },
        )
    }

    pub fn forbidden(resource: &GroupResource, name: &str, why: impl fmt::Display) -> Self {
        let message = match (name.is_empty(), resource.resource.is_empty()) {
            (_, true) => format!("forbidden: {why}"),
            (true, false) => format!("{resource} is forbidden: {why}"),
            (false, false) => format!("{resource} {} is forbidden: {why}", go::quote(name)),
        };
        Self::new(403, "Forbidden", message).with_details(about(resource, name))
    }

    pub fn gone(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    pub fn too_large(why: impl std::fmt::Display) -> Self {
        Self::new(413, "RequestEntityTooLarge", format!("Request entity too large: {why}"))
    }

    pub fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(415, "UnsupportedMediaType", message)
    }

    pub fn not_acceptable(message: impl Into<String>) -> Self {
        Self::new(406, "NotAcceptable", message)
    }

    pub fn internal(message: impl fmt::Display) -> Self {
        Self::new(500, "InternalError", format!("Internal error occurred: {message}")).with_details(Details {
            causes: vec![Cause { message: message.to_string(), ..Cause::default() }],
            ..Details::default()
        })
    }

    /// A failure that upstream passes on as it is: 500, no reason.
    pub fn plain_error(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    pub fn not_implemented(message: impl Into<String>) -> Self {
        Self::new(501, "NotImplemented", message)
    }

    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(503, "ServiceUnavailable", message)
    }

    pub fn timeout(message: impl Into<String>) -> Self {
        Self::new(504, "Timeout", message).with_details(Details::default())
    }

    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::new(429, "TooManyRequests", message).with_details(Details { retry_after_seconds, ..Details::default() })
    }

    /// The body of the answer.
    pub fn to_value(&self) -> Value {
        let mut metadata = Map::new();
        if let Some(token) = &self.continue_token {
            metadata.insert("continue".to_owned(), json!(token));
        }
        let mut body = Map::new();
        body.insert("kind".to_owned(), json!("Status"));
        body.insert("apiVersion".to_owned(), json!("v1"));
        body.insert("metadata".to_owned(), Value::Object(metadata));
        body.insert("status".to_owned(), json!("Failure"));
        put(&mut body, "message", &self.message);
        put(&mut body, "reason", self.reason);
        if let Some(details) = &self.details {
            body.insert("details".to_owned(), details.to_value());
        }
        body.insert("code".to_owned(), json!(self.code));
        Value::Object(body)
    }
}

impl Details {
    fn to_value(&self) -> Value {
        let mut map = Map::new();
        put(&mut map, "name", &self.name);
        put(&mut map, "group", &self.group);
        put(&mut map, "kind", &self.kind);
        put(&mut map, "uid", &self.uid);
        if !self.causes.is_empty() {
            map.insert("causes".to_owned(), Value::Array(self.causes.iter().map(Cause::to_value).collect()));
        }
        if self.retry_after_seconds > 0 {
            map.insert("retryAfterSeconds".to_owned(), json!(self.retry_after_seconds));
        }
        Value::Object(map)
    }
}

impl Cause {
    fn to_value(&self) -> Value {
        let mut map = Map::new();
        put(&mut map, "reason", &self.reason);
        put(&mut map, "message", &self.message);
        put(&mut map, "field", &self.field);
        Value::Object(map)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Status {}

fn about(resource: &GroupResource, name: &str) -> Details {
    Details {
        name: name.to_owned(),
        group: resource.group.clone(),
        kind: resource.resource.clone(),
        ..Details::default()
    }
}

fn put(map: &mut Map<String, Value>, key: &str, text: &str) {
    if !text.is_empty() {
        map.insert(key.to_owned(), json!(text));
    }
}
