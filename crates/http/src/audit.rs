//! The audit trail of a request: what was asked, by whom, what was decided and answered.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use http::header::{AUTHORIZATION, USER_AGENT};
use http::{HeaderMap, Response};
use pawl_audit::{AuditLog, Policy, Record, Request, Stage, annotations, source_ips};
use pawl_auth::{Attributes, Decision, User};
use pawl_meta::{Status, time};
use pawl_registry::type_of;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{IntCounter, Opts};
use serde_json::Value;

use crate::access::attributes;
use crate::api::Peer;
use crate::body::Body;
use crate::negotiation::{Media, body_media};
use crate::request::RequestInfo;

/// What is recorded, and where it goes.
pub struct Audit {
    pub policy: Policy,
    pub log: AuditLog,
}

impl Audit {
    /// Records a request whose sender is nobody: what was tried, not by whom.
    pub(crate) fn refused(&self, info: &RequestInfo, headers: &HeaderMap, origin: &Origin<'_>) {
        let nobody = User::default();
        let Some(mut record) = self.record(&nobody, info, headers, origin) else { return };
        record.response_text(401, "", "", &attempted(headers, origin.peer));
        if let Some(line) = record.line(Stage::ResponseStarted) {
            self.log.write(line);
        }
    }

    /// Records what a part of the server did by itself, as far as the policy wants it.
    pub fn acted(&self, asked: &Attributes<'_>, code: u16, notes: BTreeMap<&'static str, String>) {
        let audit_id = uuid::Uuid::new_v4().to_string();
        let request =
            Request { audit_id: &audit_id, uri: asked.path, received: time::now_micro(), ..Request::default() };
        let Some(mut record) = Record::start(self.policy.evaluate(asked), asked, request) else { return };
        notes.into_iter().for_each(|(key, text)| record.annotate(key, text));
        record.response(code, None);
        if let Some(line) = record.line(Stage::ResponseComplete) {
            self.log.write(line);
        }
    }

    fn record(&self, user: &User, info: &RequestInfo, headers: &HeaderMap, origin: &Origin<'_>) -> Option<Record> {
        let asked = attributes(user, info);
        let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok());
        let request = Request {
            audit_id: origin.audit_id,
            uri: origin.uri,
            user_agent: text(USER_AGENT.as_str()).unwrap_or_default(),
            source_ips: source_ips(text("x-forwarded-for"), text("x-real-ip"), origin.peer.address.map(|a| a.ip())),
            received: time::now_micro(),
        };
        Record::start(self.policy.evaluate(&asked), &asked, request)
    }
}

/// Counts the records that were lost, for whoever watches over the server: a log with gaps must not look whole.
pub(crate) struct LostRecords(pub Arc<Audit>);

impl LostRecords {
    fn counter(&self) -> prometheus::Result<IntCounter> {
        let about = "Audit records that were lost: the queue was full, or writing failed.";
        let counter =
            IntCounter::with_opts(Opts::new("apiserver_audit_error_total", about).const_label("plugin", "log"))?;
        counter.inc_by(self.0.log.lost());
        Ok(counter)
    }
}

impl Collector for LostRecords {
    fn desc(&self) -> Vec<&Desc> {
        Vec::new()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.counter().map(|counter| counter.collect()).unwrap_or_default()
    }
}

/// The trail of one request. When it is dropped, the request is complete.
pub(crate) struct Trail {
    audit: Arc<Audit>,
    record: Mutex<Record>,
}

/// What the head of a request says about where it comes from.
pub(crate) struct Origin<'r> {
    pub audit_id: &'r str,
    pub uri: &'r str,
    pub peer: &'r Peer,
}

impl Trail {
    /// Begins a trail where the policy wants one. `user` sent the request; `acting` is whom it acts as.
    pub(crate) fn start(
        audit: &Arc<Audit>,
        user: &User,
        acting: Option<&User>,
        info: &RequestInfo,
        headers: &HeaderMap,
        origin: &Origin<'_>,
    ) -> Option<Arc<Self>> {
        let mut record = audit.record(user, info, headers, origin)?;
        if let Some(acting) = acting {
            record.impersonated(acting, "");
        }
        let trail = Arc::new(Self { audit: Arc::clone(audit), record: Mutex::new(record) });
        trail.write(Stage::RequestReceived);
        Some(trail)
    }

    pub(crate) fn decided(&self, decision: &Decision) {
        let word = if decision.is_allowed() { "allow" } else { "forbid" };
        let mut record = self.record();
        record.annotate(annotations::DECISION, word);
        record.annotate(annotations::REASON, decision.reason());
    }

    /// Adds what the work itself had to tell.
    pub(crate) fn annotate(&self, notes: BTreeMap<&'static str, String>) {
        let mut record = self.record();
        notes.into_iter().for_each(|(key, text)| record.annotate(key, text));
    }

    /// Takes note of a body, as far as the policy wants it.
    pub(crate) fn requested(&self, headers: &HeaderMap, body: &[u8], patch: bool) {
        let mut record = self.record();
        if record.level() < pawl_audit::Level::Request || body.is_empty() {
            return;
        }
        let value = if patch {
            pawl_schema::yaml::parse(&String::from_utf8_lossy(body)).ok().map(|p| p.value)
        } else {
            read(headers, body)
        };
        match value {
            Some(value) if patch => record.request_patch(&value),
            Some(value) => record.request_object(&value),
            None => {}
        }
    }

    /// Takes note of what was answered.
    pub(crate) fn note(&self, result: &Result<Response<Body>, Status>, long_running: bool) {
        match result {
            Ok(response) => {
                let body = || serde_json::from_slice(response.body().whole()?).ok();
                self.answered(response.status().as_u16(), body);
                if long_running {
                    self.write(Stage::ResponseStarted);
                }
            }
            Err(status) => self.answered(status.code, || Some(status.to_value())),
        }
    }

    /// `body` is only looked at when the policy wants it, or it is an error.
    fn answered(&self, code: u16, body: impl FnOnce() -> Option<Value>) {
        let mut record = self.record();
        let wanted = code >= 400 || record.level() >= pawl_audit::Level::RequestResponse;
        let body = if wanted { body() } else { None };
        record.response(code, body.as_ref());
    }

    fn write(&self, stage: Stage) {
        if let Some(line) = self.record().line(stage) {
            // A record that is lost is counted by the log.
            self.audit.log.write(line);
        }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl Drop for Trail {
    fn drop(&mut self) {
        self.write(Stage::ResponseComplete);
    }
}

/// With which credentials somebody tried to be known.
fn attempted(headers: &HeaderMap, peer: &Peer) -> String {
    let authorization = headers.get(AUTHORIZATION).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let scheme = authorization.trim().split_once(' ').map(|(scheme, _)| scheme.to_ascii_lowercase());
    let header = scheme.filter(|scheme| matches!(scheme.as_str(), "basic" | "bearer"));
    let certificate = peer.certificate.as_ref().map(|_| "x509".to_owned());
    match header.into_iter().chain(certificate).collect::<Vec<_>>().as_slice() {
        [] => "Authentication failed, no credentials provided".to_owned(),
        methods => format!("Authentication failed, attempted: {}", methods.join(", ")),
    }
}

fn read(headers: &HeaderMap, body: &[u8]) -> Option<Value> {
    match body_media(headers).ok()? {
        Media::Json => pawl_schema::read_json(body).ok(),
        Media::Yaml => pawl_schema::yaml::parse(std::str::from_utf8(body).ok()?).ok().map(|p| p.value),
        Media::Protobuf => {
            let envelope = pawl_protobuf::open(body).ok()?;
            let of = type_of(envelope.api_version, envelope.kind)?;
            let mut object = pawl_registry::protobuf().decode(of, envelope.raw).ok()?.object;
            object.insert("apiVersion".to_owned(), envelope.api_version.into());
            object.insert("kind".to_owned(), envelope.kind.into());
            Some(Value::Object(object))
        }
    }
}
