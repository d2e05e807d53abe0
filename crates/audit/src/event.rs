//! One request as the audit log tells it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use pawl_auth::{Attributes, User};
use pawl_meta::time;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::policy::{AuditVerdict, Level, Stage};

/// Longer names of clients are cut.
const MAX_USER_AGENT: usize = 1024;

/// What a request carried besides its attributes.
#[derive(Clone, Debug, Default)]
pub struct Request<'r> {
    /// From the header `Audit-ID`, or made for this request.
    pub audit_id: &'r str,
    /// Path and query as sent.
    pub uri: &'r str,
    pub user_agent: &'r str,
    pub source_ips: Vec<IpAddr>,
    /// With microseconds, as `pawl_meta::time::now_micro` gives it.
    pub received: String,
}

/// The growing record of a request: filled as it goes on, written at each stage that the policy wants.
#[derive(Clone, Debug)]
pub struct Record {
    verdict: AuditVerdict,
    event: Event,
}

/// The event on the wire, in the order of upstream's fields.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    kind: &'static str,
    api_version: &'static str,
    level: &'static str,
    #[serde(rename = "auditID")]
    audit_id: String,
    stage: &'static str,
    #[serde(rename = "requestURI")]
    request_uri: String,
    verb: String,
    user: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    impersonated_user: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authentication_metadata: Option<Value>,
    #[serde(rename = "sourceIPs", skip_serializing_if = "Vec::is_empty")]
    source_ips: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    user_agent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    object_ref: Option<ObjectRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_status: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_object: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_object: Option<Value>,
    request_received_timestamp: String,
    stage_timestamp: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ObjectRef {
    #[serde(skip_serializing_if = "String::is_empty")]
    resource: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    namespace: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    uid: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    api_group: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    api_version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    resource_version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    subresource: String,
}

impl Record {
    /// Starts the record of a request. `None` when the policy does not want one.
    pub fn start(verdict: AuditVerdict, attributes: &Attributes<'_>, request: Request<'_>) -> Option<Self> {
        if verdict.level == Level::None {
            return None;
        }
        let object_ref = attributes.is_resource.then(|| ObjectRef {
            resource: attributes.resource.to_owned(),
            namespace: attributes.namespace.to_owned(),
            name: attributes.name.to_owned(),
            api_group: attributes.api_group.to_owned(),
            api_version: attributes.api_version.to_owned(),
            subresource: attributes.subresource.to_owned(),
            ..ObjectRef::default()
        });
        let event = Event {
            kind: "Event",
            api_version: "audit.k8s.io/v1",
            level: verdict.level.name(),
            audit_id: request.audit_id.to_owned(),
            stage: "",
            request_uri: request.uri.to_owned(),
            verb: attributes.verb.to_owned(),
            user: attributes.user.to_value(),
            impersonated_user: None,
            authentication_metadata: None,
            source_ips: request.source_ips.iter().map(IpAddr::to_string).collect(),
            user_agent: cut(request.user_agent),
            object_ref,
            response_status: None,
            request_object: None,
            response_object: None,
            request_received_timestamp: request.received,
            stage_timestamp: String::new(),
            annotations: BTreeMap::new(),
        };
        Some(Self { verdict, event })
    }

    pub fn level(&self) -> Level {
        self.verdict.level
    }

    /// The request is made as somebody else; the constraint is the verb of a constrained impersonation, or empty.
    pub fn impersonated(&mut self, user: &User, constraint: &str) {
        self.event.impersonated_user = Some(user.to_value());
        if !constraint.is_empty() {
            self.event.authentication_metadata = Some(json!({"impersonationConstraint": constraint}));
        }
    }

    /// Adds an annotation; the first value of a key stays.
    pub fn annotate(&mut self, key: &str, value: impl Into<String>) {
        self.event.annotations.entry(key.to_owned()).or_insert_with(|| value.into());
    }

    /// Takes note of the object in the request. At level Metadata only its name is kept.
    pub fn request_object(&mut self, object: &Value) {
        let meta =
            |field: &str| object.pointer(&format!("/metadata/{field}")).and_then(Value::as_str).unwrap_or_default();
        let reference = self.event.object_ref.get_or_insert_default();
        for (slot, field) in [
            (&mut reference.namespace, "namespace"),
            (&mut reference.name, "name"),
            (&mut reference.uid, "uid"),
            (&mut reference.resource_version, "resourceVersion"),
        ] {
            if slot.is_empty() {
                meta(field).clone_into(slot);
            }
        }
        if self.verdict.level >= Level::Request {
            self.event.request_object = Some(self.shown(object));
        }
    }

    /// Takes note of a patch, which is no object yet.
    pub fn request_patch(&mut self, patch: &Value) {
        if self.verdict.level >= Level::Request {
            self.event.request_object = Some(patch.clone());
        }
    }

    /// Takes note of the answer: its code, what a `Status` says, and at the highest level the object.
    pub fn response(&mut self, code: u16, object: Option<&Value>) {
        let mut status = Map::from_iter([("metadata".to_owned(), json!({}))]);
        if let Some(object) = object.filter(|o| o["kind"] == "Status" && o["apiVersion"] == "v1") {
            for field in ["status", "message", "reason", "details"] {
                status.extend(object.get(field).map(|value| (field.to_owned(), value.clone())));
            }
        }
        status.insert("code".to_owned(), json!(code));
        self.event.response_status = Some(Value::Object(status));
        if self.verdict.level >= Level::RequestResponse {
            self.event.response_object = object.map(|object| self.shown(object));
        }
    }

    /// Sets the status of a request whose connection was closed before anything was answered, or that panicked.
    pub fn response_text(&mut self, code: u16, status: &str, reason: &str, message: &str) {
        let mut body = Map::from_iter([("metadata".to_owned(), json!({}))]);
        for (field, text) in [("status", status), ("message", message), ("reason", reason)] {
            if !text.is_empty() {
                body.insert(field.to_owned(), json!(text));
            }
        }
        body.insert("code".to_owned(), json!(code));
        self.event.response_status = Some(Value::Object(body));
    }

    /// The record at a stage, as one line of JSON. `None` when the policy leaves this stage out.
    pub fn line(&mut self, stage: Stage) -> Option<String> {
        if !self.verdict.records(stage) {
            return None;
        }
        self.event.stage = stage.name();
        self.event.stage_timestamp = match stage {
            Stage::RequestReceived => self.event.request_received_timestamp.clone(),
            _ => time::now_micro(),
        };
        let mut line = serde_json::to_string(&self.event).ok()?;
        line.push('\n');
        Some(line)
    }

    fn shown(&self, object: &Value) -> Value {
        let mut object = object.clone();
        if self.verdict.omit_managed_fields {
            drop_managed_fields(&mut object);
        }
        object
    }
}

/// Where a request came from: what proxies say, then the peer itself. All but the last can be made up by a client.
pub fn source_ips(forwarded_for: Option<&str>, real_ip: Option<&str>, peer: Option<IpAddr>) -> Vec<IpAddr> {
    let forwarded = forwarded_for.unwrap_or_default().split(',');
    let mut ips: Vec<IpAddr> = forwarded.filter_map(|part| part.trim().parse().ok()).collect();
    if let Some(ip) = real_ip.and_then(|text| text.parse().ok()).filter(|ip| !ips.contains(ip)) {
        ips.push(ip);
    }
    if let Some(peer) = peer.filter(|peer| ips.last() != Some(peer)) {
        ips.push(peer);
    }
    ips
}

/// From the object itself, the items of a list and the rows of a table.
fn drop_managed_fields(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    for item in object.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
        drop_managed_fields(item);
    }
    for row in object.get_mut("rows").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(object) = row.get_mut("object") {
            drop_managed_fields(object);
        }
    }
}

fn cut(user_agent: &str) -> String {
    if user_agent.len() <= MAX_USER_AGENT {
        return user_agent.to_owned();
    }
    let end = (0..=MAX_USER_AGENT).rev().find(|end| user_agent.is_char_boundary(*end)).unwrap_or(0);
    format!("{}...TRUNCATED", user_agent.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests;
