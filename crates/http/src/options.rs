//! Options of requests, read from the query and checked as upstream checks them.

use std::time::Duration;

use pawl_meta::selector::{FieldSelector, LabelSelector};
use pawl_meta::{Errors, GroupKind, Status, go};
use pawl_registry::{
    FieldValidation, ListAt, ListRequest, PatchKind, Scope, Selection, Served, WatchRequest, WatchStart,
};
use serde_json::{Map, Value, json};

use crate::api::{Api, Call};
use crate::query::Query;

/// What lists and watches are told.
pub struct ListOptions {
    pub selection: Selection,
    pub scope: Scope,
    pub limit: usize,
    pub token: Option<String>,
    pub version: Option<u64>,
    pub version_match: VersionMatch,
    pub timeout_seconds: Option<u64>,
    pub bookmarks: bool,
    pub send_initial_events: Option<bool>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VersionMatch {
    #[default]
    Unset,
    Exact,
    NotOlderThan,
}

impl ListOptions {
    pub fn read(call: &Call, served: &Served, watch: bool) -> Result<Self, Status> {
        let query = &call.query;
        let limit = query.int("limit")?.unwrap_or(0);
        let timeout = query.int("timeoutSeconds")?;
        let labels =
            LabelSelector::parse(query.get("labelSelector").unwrap_or_default()).map_err(Status::bad_request)?;
        let fields =
            FieldSelector::parse(query.get("fieldSelector").unwrap_or_default()).map_err(Status::bad_request)?;
        check_fields(served, &fields)?;
        let version = query.get("resourceVersion").unwrap_or_default();
        let version_match = query.get("resourceVersionMatch").unwrap_or_default();
        let send_initial_events = query.flag("sendInitialEvents");
        let token = query.get("continue").filter(|t| !t.is_empty()).map(str::to_owned);
        let mut errors = Errors::new();
        check_match(watch, version, version_match, send_initial_events, token.is_some(), &mut errors);
        if !errors.is_empty() {
            return Err(invalid("ListOptions", &errors));
        }
        let parsed = match version {
            "" => None,
            text => Some(text.parse::<u64>().map_err(|_| {
                let mut errors = Errors::new();
                let detail = format!("strconv.ParseUint: parsing {}: invalid syntax", go::quote(text));
                errors.invalid(&"resourceVersion", text, detail);
                if watch {
                    Status::plain_error(errors.message())
                } else {
                    Status::bad_request(format!("invalid resource version: {}", errors.message()))
                }
            })?),
        };
        let name = fields.required("metadata.name").map(str::to_owned);
        let namespace = match fields.required("metadata.namespace") {
            Some(namespace) if call.info.namespace.is_empty() && served.resource.facts.namespaced => {
                namespace.to_owned()
            }
            _ => call.info.namespace.clone(),
        };
        let name = if call.info.watch_path && !call.info.name.is_empty() { Some(call.info.name.clone()) } else { name };
        let scope = match (served.resource.facts.namespaced, namespace.is_empty(), name) {
            (true, false, Some(name)) => Scope::Object { namespace, name },
            (true, false, None) => Scope::Namespace(namespace),
            (false, _, Some(name)) => Scope::Object { namespace: String::new(), name },
            _ => Scope::All,
        };
        Ok(Self {
            selection: Selection::new(labels, fields),
            scope,
            limit: usize::try_from(limit).unwrap_or(0),
            token,
            version: parsed,
            version_match: match version_match {
                "Exact" => VersionMatch::Exact,
                "NotOlderThan" => VersionMatch::NotOlderThan,
                _ => VersionMatch::Unset,
            },
            timeout_seconds: timeout.and_then(|t| u64::try_from(t).ok()).filter(|t| *t > 0),
            bookmarks: query.flag("allowWatchBookmarks").unwrap_or(false),
            send_initial_events,
        })
    }

    pub fn list_request(self) -> ListRequest {
        let at = match (self.version, self.version_match, self.limit) {
            (None, _, _) => ListAt::Newest,
            (Some(version), VersionMatch::Exact, _) => ListAt::Exactly(version),
            // A page of a given version is meant exactly, as clients expect from before there was a choice.
            (Some(version), VersionMatch::Unset, 1..) if version > 0 => ListAt::Exactly(version),
            (Some(version), _, _) => ListAt::NotOlderThan(version),
        };
        // The cache answers a list of "any" version whole, whatever the limit.
        let limit = if self.version == Some(0) && self.version_match == VersionMatch::Unset { 0 } else { self.limit };
        ListRequest { scope: self.scope, selection: self.selection, at, limit, token: self.token }
    }

    pub fn watch_request(self) -> WatchRequest {
        let start = match (self.send_initial_events, self.version) {
            (Some(true), version) => WatchStart::Initial { at_least: version.unwrap_or(0), bookmark: self.bookmarks },
            (Some(false), None | Some(0)) => WatchStart::Now,
            (None, None | Some(0)) => WatchStart::Initial { at_least: 0, bookmark: false },
            (_, Some(version)) => WatchStart::After(version),
        };
        WatchRequest { scope: self.scope, selection: self.selection, start, bookmarks: self.bookmarks, tolerant: false }
    }
}

/// How long a client wants to wait at most; none where it does not say, or does not care.
pub fn timeout(query: &Query) -> Result<Option<Duration>, Status> {
    let Some(text) = query.get("timeout").filter(|text| !text.is_empty()) else { return Ok(None) };
    match pawl_meta::duration::parse(text) {
        Some(nanos) => Ok(u64::try_from(nanos).ok().filter(|nanos| *nanos > 0).map(Duration::from_nanos)),
        None => {
            let why = format!("time: invalid duration {}", go::quote(text));
            Err(Status::bad_request(format!("invalid timeout specified in the request URL - {why}")))
        }
    }
}

/// Refuses what a GET could once ask for: an object without what the cluster made of it.
pub fn check_export(query: &Query) -> Result<(), Status> {
    match query.flag("export") {
        Some(true) => Err(Status::bad_request("the export parameter, deprecated since v1.14, is no longer supported")),
        _ => Ok(()),
    }
}

/// Only declared fields can be selected by.
fn check_fields(served: &Served, fields: &FieldSelector) -> Result<(), Status> {
    let facts = &served.resource.facts;
    for requirement in &fields.requirements {
        let field = requirement.field.as_str();
        let known = match field {
            "metadata.name" => true,
            // What is in no namespace has no such field, unless nobody has thought about its fields.
            "metadata.namespace" => facts.namespaced || facts.select.is_empty() && !facts.custom,
            field => facts.select.iter().any(|s| s == field),
        };
        if known {
            continue;
        }
        // Kinds that declare fields of their own say it in another way than those that do not.
        return Err(Status::bad_request(if facts.select.is_empty() && !facts.custom {
            format!(
                "{} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
                go::quote(field)
            )
        } else {
            let words = facts.select_refusal.as_deref().unwrap_or("field label not supported: %s");
            words.replace("%q", &go::quote(field)).replace("%s", field)
        }));
    }
    Ok(())
}

fn check_match(watch: bool, version: &str, how: &str, initial: Option<bool>, token: bool, errors: &mut Errors) {
    let at = "resourceVersionMatch";
    if watch {
        // A watch from nowhere begins with what is there, and so with a list of which nobody has a page yet.
        if token && (initial.is_some() || matches!(version, "" | "0")) {
            errors.forbidden(&at, "resourceVersionMatch is forbidden when continue is provided");
        }
        match (initial, how) {
            (Some(_), "NotOlderThan") | (None, "") => {}
            (Some(_), _) => {
                errors.forbidden(&at, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
                if !how.is_empty() {
                    errors.not_supported(&at, how, &["NotOlderThan"]);
                }
            }
            (None, _) => {
                errors
                    .forbidden(&at, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
                if how != "NotOlderThan" {
                    errors.not_supported(&at, how, &["NotOlderThan"]);
                }
            }
        }
        return;
    }
    if initial.is_some() {
        errors.forbidden(&"sendInitialEvents", "sendInitialEvents is forbidden for list");
    }
    if how.is_empty() {
        return;
    }
    if version.is_empty() {
        errors.forbidden(&at, "resourceVersionMatch is forbidden unless resourceVersion is provided");
    }
    if token {
        errors.forbidden(&at, "resourceVersionMatch is forbidden when continue is provided");
    }
    if !matches!(how, "Exact" | "NotOlderThan") {
        errors.not_supported(&at, how, &["Exact", "NotOlderThan", ""]);
    }
    if how == "Exact" && version == "0" {
        errors.forbidden(&at, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    }
}

/// What writes are told.
#[derive(Debug, Default)]
pub struct WriteOptions {
    pub dry_run: bool,
    pub field_validation: FieldValidation,
    pub field_manager: String,
    pub force: Option<bool>,
}

impl WriteOptions {
    /// `kind` is the name of the options in messages: `CreateOptions`.
    pub fn read(api: &Api, call: &Call, kind: &str) -> Result<Self, Status> {
        Self::read_after(api, call, kind, Errors::new())
    }

    /// The options of a patch. Apply names its manager; only apply may force.
    pub fn of_patch(api: &Api, call: &Call, kind: PatchKind) -> Result<Self, Status> {
        let mut errors = Errors::new();
        let named = call.query.get("fieldManager").is_some_and(|manager| !manager.is_empty());
        if kind == PatchKind::Apply && !named {
            errors.required(&"fieldManager", "is required for apply patch");
        }
        if kind != PatchKind::Apply && call.query.flag("force").is_some() {
            errors.forbidden(&"force", "may not be specified for non-apply patch");
        }
        Self::read_after(api, call, "PatchOptions", errors)
    }

    fn read_after(api: &Api, call: &Call, kind: &str, mut errors: Errors) -> Result<Self, Status> {
        let query = &call.query;
        let dry_run: Vec<&str> = query.all("dryRun").collect();
        if dry_run.iter().any(|v| *v != "All") {
            errors.not_supported(&"dryRun", json!(dry_run), &["All"]);
        }
        let manager = query.get("fieldManager").unwrap_or_default();
        check_manager(manager, &mut errors);
        let validation = if api.field_validation { query.get("fieldValidation").unwrap_or_default() } else { "Ignore" };
        let field_validation = match validation {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                errors.not_supported(&"fieldValidation", other, &["", "Ignore", "Strict", "Warn"]);
                FieldValidation::Warn
            }
        };
        if !errors.is_empty() {
            return Err(invalid(kind, &errors));
        }
        Ok(Self {
            dry_run: !dry_run.is_empty(),
            field_validation,
            field_manager: manager.to_owned(),
            force: query.flag("force"),
        })
    }

    /// The name of the directive, for metrics.
    pub fn directive(&self) -> &'static str {
        match self.field_validation {
            FieldValidation::Ignore => "Ignore",
            FieldValidation::Warn => "Warn",
            FieldValidation::Strict => "Strict",
        }
    }
}

fn check_manager(manager: &str, errors: &mut Errors) {
    const MAX: usize = 128;
    if manager.chars().count() > MAX {
        errors.too_long(&"fieldManager", manager, MAX);
    }
    for (i, c) in manager.chars().enumerate() {
        if c.is_control() || (c.is_whitespace() && c != ' ') {
            let detail = format!("invalid character U+{:04X} (at position {i})", c as u32);
            errors.invalid(&"fieldManager", manager, detail);
        }
    }
}

/// Who a write is attributed to: the named manager, else the client's name up to its version.
pub fn manager(call: &Call, named: &str) -> String {
    if !named.is_empty() {
        return named.to_owned();
    }
    let agent = call.headers.get(http::header::USER_AGENT).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let name = agent.split('/').next().unwrap_or_default();
    let name: String = name.chars().filter(|c| !c.is_control()).take(128).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

/// The options of a deletion that stand in the query, in the shape of a body.
pub fn delete_query(call: &Call) -> Result<Map<String, Value>, Status> {
    let query = &call.query;
    let mut options = Map::new();
    if let Some(seconds) = query.int("gracePeriodSeconds")? {
        options.insert("gracePeriodSeconds".to_owned(), json!(seconds));
    }
    options.extend(query.flag("orphanDependents").map(|flag| ("orphanDependents".to_owned(), json!(flag))));
    for field in ["ignoreLiens", "ignoreStoreReadErrorWithClusterBreakingPotential"] {
        options.extend(careful_flag(call, field)?.map(|flag| (field.to_owned(), json!(flag))));
    }
    options.extend(query.get("propagationPolicy").map(|p| ("propagationPolicy".to_owned(), json!(p))));
    let dry_run: Vec<&str> = query.all("dryRun").collect();
    if !dry_run.is_empty() {
        options.insert("dryRun".to_owned(), json!(dry_run));
    }
    Ok(options)
}

/// A flag that can lose something: it says true or false, once, or the same several times. Elsewhere any word is a yes.
fn careful_flag(call: &Call, field: &'static str) -> Result<Option<bool>, Status> {
    let given: Vec<&str> = call.query.all(field).collect();
    let read = |text: &&str| match text.to_lowercase().as_str() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    };
    let Some(first) = given.first() else { return Ok(None) };
    let flag = read(first);
    if flag.is_some() && given.iter().all(|text| read(text) == flag) {
        return Ok(flag);
    }
    let mut errors = Errors::new();
    errors.invalid(&field, json!(given), "must be true or false, and not both");
    Err(invalid("DeleteOptions", &errors))
}

pub fn invalid(kind: &str, errors: &Errors) -> Status {
    Status::invalid(&GroupKind { group: "meta.k8s.io".to_owned(), kind: kind.to_owned() }, "", errors)
}

/// The version that a get asks for.
pub fn get_version(call: &Call) -> Result<Option<u64>, Status> {
    match call.query.get("resourceVersion") {
        None | Some("") => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| {
            let mut errors = Errors::new();
            let detail = format!("strconv.ParseUint: parsing {}: invalid syntax", go::quote(text));
            errors.invalid(&"resourceVersion", text, detail);
            Status::plain_error(errors.message())
        }),
    }
}
