//! How a webhook may be reached and what it must understand, whoever calls it.

use std::collections::HashSet;

use pawl_meta::object::Object;
use pawl_meta::{go, read};
use pawl_rules::{Errors, FieldPath, formats};
use serde_json::json;

use super::report::each;

/// It is reached by a URL or through a service.
pub fn client(client: &Object, at: &FieldPath, errors: &mut Errors) {
    match (read::present(client, "url"), read::map(client, "service")) {
        (true, None) => url(read::text(client, "url"), &at.child("url"), errors),
        (false, Some(through)) => service(through, &at.child("service"), errors),
        _ => errors.required(at, "exactly one of url or service is required"),
    }
}

/// The versions of reviews that it understands: each once, and one that the server knows where that is asked for.
pub fn review_versions(versions: &[&str], known: bool, at: &FieldPath, errors: &mut Errors) {
    let mut seen = HashSet::new();
    for (index, version) in versions.iter().enumerate() {
        if !seen.insert(version) {
            errors.invalid(&at.index(index), *version, "duplicate version");
            continue;
        }
        each(formats::dns1035_label(version), &at.index(index), version, errors);
    }
    if known && !versions.iter().any(|version| matches!(*version, "v1" | "v1beta1")) {
        errors.invalid(at, json!(versions), "must include at least one of v1, v1beta1");
    }
}

fn url(text: &str, at: &FieldPath, errors: &mut Errors) {
    let form = "; desired format: https://host[/path]";
    if let Some(why) = unreadable(text) {
        let said = format!("url must be a valid URL: parse {}: {why}{form}", go::quote(text));
        errors.required(at, said);
        return;
    }
    let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (scheme, rest) = rest.split_once(':').unwrap_or(("", rest));
    let authority = rest.strip_prefix("//").map(|rest| rest.split('/').next().unwrap_or_default()).unwrap_or_default();
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    if scheme != "https" {
        errors.invalid(at, scheme, format!("'https' is the only allowed URL scheme{form}"));
    }
    if host.is_empty() {
        errors.invalid(at, "", format!("host must be specified{form}"));
    }
    if let Some(user) = user {
        errors.invalid(at, user, "user information is not permitted in the URL");
    }
    if !fragment.is_empty() {
        errors.invalid(at, fragment, "fragments are not permitted in the URL");
    }
    if !query.is_empty() {
        errors.invalid(at, query, "query parameters are not permitted in the URL");
    }
}

/// Why Go reads no URL at all.
fn unreadable(text: &str) -> Option<&'static str> {
    if text.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return Some("net/url: invalid control character in URL");
    }
    if text.starts_with(':') {
        return Some("missing protocol scheme");
    }
    let is_of_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let behind = text.trim_start_matches(is_of_scheme);
    let has_scheme = behind.starts_with(':') && text.starts_with(|c: char| c.is_ascii_alphabetic());
    let first = text.split(['/', '?', '#']).next().unwrap_or_default();
    (!has_scheme && first.contains(':')).then_some("first path segment in URL cannot contain colon")
}

fn service(service: &Object, at: &FieldPath, errors: &mut Errors) {
    // Upstream hands over the two names the wrong way round: each is reported at the other's place.
    if read::text(service, "namespace").is_empty() {
        errors.required(&at.child("name"), "");
    }
    if read::text(service, "name").is_empty() {
        errors.required(&at.child("namespace"), "");
    }
    let port = read::number(service, "port");
    if !(1..=65535).contains(&port) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        errors.invalid(&at.child("port"), port, detail);
    }
    if read::present(service, "path") {
        service_path(read::text(service, "path"), &at.child("path"), errors);
    }
}

fn service_path(path: &str, at: &FieldPath, errors: &mut Errors) {
    if path.is_empty() || path == "/" {
        return;
    }
    if path == "//" {
        errors.invalid(at, path, "segment[0] may not be empty");
        return;
    }
    if !path.starts_with('/') {
        errors.invalid(at, path, "must start with a '/'");
    }
    let mut rest = path.chars();
    rest.next();
    let rest = rest.as_str();
    for (index, step) in rest.strip_suffix('/').unwrap_or(rest).split('/').enumerate() {
        if step.is_empty() {
            errors.invalid(at, path, format!("segment[{index}] may not be empty"));
            continue;
        }
        for detail in formats::dns1123_subdomain(step) {
            errors.invalid(at, path, format!("segment[{index}]: {detail}"));
        }
    }
}
