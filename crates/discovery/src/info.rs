//! What every OpenAPI document says about the server.

use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct Info {
    pub title: &'static str,
    pub version: &'static str,
}

impl Info {
    /// The Kubernetes version whose API this is.
    pub const KUBERNETES: Self = Self { title: "Kubernetes", version: "1.36" };
}

#[derive(Debug, Serialize)]
pub(crate) struct SecurityScheme {
    pub description: &'static str,
    #[serde(rename = "in")]
    pub place: &'static str,
    pub name: &'static str,
    #[serde(rename = "type")]
    pub kind: &'static str,
}

impl SecurityScheme {
    pub const BEARER: Self =
        Self { description: "Bearer Token authentication", place: "header", name: "authorization", kind: "apiKey" };
}

/// What a response's code means.
pub(crate) fn reason(code: u16) -> &'static str {
    match code {
        201 => "Created",
        202 => "Accepted",
        401 => "Unauthorized",
        _ => "OK",
    }
}

pub(crate) fn is_success(code: u16) -> bool {
    code < 300
}
