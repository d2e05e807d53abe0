//! Requests to a server: whole answers as JSON, refusals in the server's words, and lists page by page.

use http::header::{ACCEPT, CONTENT_TYPE, WARNING};
use http::{Method, Request};
use kube::client::Body;
use serde_json::{Value, json};

/// How many objects a page of a list has.
const PAGE: usize = 500;

/// A server that is asked.
pub struct Server {
    client: kube::Client,
    /// Where it is, for who must be told.
    place: String,
    /// The namespace that is meant where none is named.
    pub namespace: String,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The server says no.
    #[error("the server answers {code}: {message}")]
    Status { code: u16, reason: String, message: String },
    #[error("{0}")]
    Failed(String),
}

impl Refused {
    pub fn code(&self) -> u16 {
        match self {
            Self::Status { code, .. } => *code,
            Self::Failed(_) => 0,
        }
    }

    /// Whether the server has no such path, which is not the same as no such object.
    pub fn is_unknown_path(&self) -> bool {
        self.code() == 404 && self.to_string().contains("could not find the requested resource")
    }

    pub fn reason(&self) -> &str {
        match self {
            Self::Status { reason, .. } => reason,
            Self::Failed(_) => "",
        }
    }
}

impl From<Refused> for String {
    fn from(why: Refused) -> Self {
        why.to_string()
    }
}

/// An answer, and what the server warned of beside it.
pub struct Answer {
    pub code: u16,
    pub body: Value,
    pub warnings: Vec<String>,
}

impl Server {
    pub(crate) fn new(client: kube::Client, place: String, namespace: String) -> Self {
        Self { client, place, namespace }
    }

    pub async fn get(&self, path: &str) -> Result<Value, Refused> {
        self.get_as(path, "application/json").await
    }

    pub async fn get_as(&self, path: &str, accept: &str) -> Result<Value, Refused> {
        let head = Request::get(path).header(ACCEPT, accept);
        Ok(self.accepted(head, &Value::Null).await?.body)
    }

    pub async fn post(&self, path: &str, object: &Value) -> Result<Answer, Refused> {
        self.accepted(Request::post(path).header(CONTENT_TYPE, "application/json"), object).await
    }

    /// A JSON patch.
    pub async fn patch(&self, path: &str, steps: &Value) -> Result<Answer, Refused> {
        self.accepted(Request::patch(path).header(CONTENT_TYPE, "application/json-patch+json"), steps).await
    }

    pub async fn delete(&self, path: &str, options: &Value) -> Result<Answer, Refused> {
        self.accepted(Request::delete(path).header(CONTENT_TYPE, "application/json"), options).await
    }

    /// Sends anything; an answer is an answer, whatever its code.
    pub async fn send(&self, method: Method, path: &str, form: &str, object: &Value) -> Result<Answer, Refused> {
        self.ask(Request::builder().method(method).uri(path).header(CONTENT_TYPE, form), object).await
    }

    /// Everything at a path of lists; only metadata where that is enough.
    pub async fn list(&self, path: &str, only_metadata: bool) -> Result<Vec<Value>, Refused> {
        let accept = match only_metadata {
            true => "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
            false => "application/json",
        };
        let (mut items, mut rest) = (Vec::new(), String::new());
        loop {
            let page = format!("{path}?limit={PAGE}{rest}");
            let mut answer = self.get_as(&page, accept).await?;
            if let Some(Value::Array(found)) = answer.get_mut("items").map(Value::take) {
                items.extend(found);
            }
            match answer.pointer("/metadata/continue").and_then(Value::as_str).filter(|token| !token.is_empty()) {
                Some(token) => rest = format!("&continue={}", escaped(token)),
                None => return Ok(items),
            }
        }
    }

    async fn accepted(&self, head: http::request::Builder, object: &Value) -> Result<Answer, Refused> {
        let answer = self.ask(head, object).await?;
        if (200..300).contains(&answer.code) {
            return Ok(answer);
        }
        let text = |field: &str| answer.body.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let message = Some(text("message")).filter(|message| !message.is_empty());
        Err(Refused::Status {
            code: answer.code,
            reason: text("reason"),
            message: message.unwrap_or_else(|| "it says no more".to_owned()),
        })
    }

    async fn ask(&self, head: http::request::Builder, object: &Value) -> Result<Answer, Refused> {
        let failed = |why: &dyn std::fmt::Display| Refused::Failed(format!("{}: {why}", self.place));
        let body = if object.is_null() { Vec::new() } else { object.to_string().into_bytes() };
        let request = head.body(Body::from(body)).map_err(|why| failed(&why))?;
        let answer = self.client.send(request).await.map_err(|why| failed(&causes(&why)))?;
        let code = answer.status().as_u16();
        let warnings = answer.headers().get_all(WARNING).iter().filter_map(|value| value.to_str().ok());
        let warnings = warnings.map(warned).collect();
        let body = answer.into_body().collect_bytes().await.map_err(|why| failed(&causes(&why)))?;
        let body = serde_json::from_slice(&body).unwrap_or_else(|_| json!(String::from_utf8_lossy(&body)));
        Ok(Answer { code, body, warnings })
    }
}

/// An error with what caused it: that it could not be sent says nothing yet.
fn causes(why: &dyn std::error::Error) -> String {
    let mut told = why.to_string();
    let mut cause = why.source();
    while let Some(next) = cause {
        let text = next.to_string();
        if !told.contains(&text) {
            told = format!("{told}: {text}");
        }
        cause = next.source();
    }
    told
}

/// The text of `299 - "text"`.
fn warned(header: &str) -> String {
    let quoted = header.split_once('"').map(|(_, text)| text.strip_suffix('"').unwrap_or(text));
    quoted.unwrap_or(header).replace("\\\"", "\"").replace("\\\\", "\\")
}

/// What may stand in a query or as one part of a path.
pub fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_in_a_path_stays_one_part_of_it() {
        assert_eq!(escaped("a/b?c=ü:1"), "a%2Fb%3Fc%3D%C3%BC:1");
        assert_eq!(warned("299 - \"mind this\""), "mind this");
        assert_eq!(warned(r#"299 - "unknown field \"dta\"""#), "unknown field \"dta\"");
    }
}
