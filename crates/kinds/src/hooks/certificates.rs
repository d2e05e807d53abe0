//! What rules cannot say about CertificateSigningRequest: what it asks for, and who may write which part of its status.
//! Requests and certificates are looked at as PEM; their contents and signatures are not.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pawl_meta::object::{Object, at as value_at};
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath, formats};
use serde_json::{Value, json};

use super::report::each;

const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// A request is one PEM block of the right type.
pub fn csr_request(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let spec = read::within(object, "spec");
    let request = read::text(spec, "request");
    if pem_types(request).first().map(String::as_str) != Some("CERTIFICATE REQUEST") {
        let shown = spec.get("request").cloned().unwrap_or(Value::Null);
        let detail = "PEM block type must be CERTIFICATE REQUEST";
        errors.invalid(&path.child("spec").child("request"), shown, detail);
    }
}

/// The types of the PEM blocks in a base64 text.
pub(crate) fn pem_types(encoded: &str) -> Vec<String> {
    let content = STANDARD.decode(encoded).unwrap_or_default();
    let text = String::from_utf8_lossy(&content).into_owned();
    let mut types = Vec::new();
    let mut open: Option<&str> = None;
    for line in text.lines().map(str::trim_end) {
        let label = |prefix: &str| line.strip_prefix(prefix).and_then(|rest| rest.strip_suffix("-----"));
        if let Some(label) = label("-----BEGIN ") {
            open = Some(label);
        } else if let Some(label) = label("-----END ")
            && open == Some(label)
        {
            types.push(label.to_string());
            open = None;
        }
    }
    types
}

/// Usages are known and not repeated.
pub fn csr_usages(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let usages = read::map(object, "spec").map(|spec| read::texts(spec, "usages")).unwrap_or_default();
    let at = path.child("spec").child("usages");
    for (index, usage) in usages.iter().enumerate() {
        if !USAGES.contains(usage) {
            errors.not_supported(&at.index(index), *usage, &USAGES);
        }
    }
    let mut seen = HashSet::new();
    for (index, usage) in usages.iter().enumerate() {
        if !seen.insert(usage) {
            errors.duplicate(&at.index(index), *usage);
        }
    }
}

/// A signer is named `domain/path`.
pub fn csr_signer_name(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let name = read::map(object, "spec").map(|spec| read::text(spec, "signerName")).unwrap_or_default();
    let at = path.child("spec").child("signerName");
    if name.is_empty() {
        errors.required(&at, "");
        return;
    }
    let parts: Vec<&str> = name.split('/').collect();
    let [domain, rest] = parts.as_slice() else {
        let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        errors.invalid(&at, name, detail);
        return;
    };
    if domain.len() > 253 {
        errors.too_long(&at, Value::Null, 253);
    }
    labels(domain, formats::dns1123_label, &at, errors);
    if !domain.contains('.') {
        errors.invalid(&at, *domain, "should be a domain with at least two segments separated by dots");
    }
    labels(rest, formats::dns1123_subdomain, &at, errors);
    if name.len() > 571 {
        errors.too_long(&at, Value::Null, 571);
    }
}

/// The first label that is wrong is reported.
fn labels(text: &str, rule: fn(&str) -> Vec<String>, at: &FieldPath, errors: &mut Errors) {
    for label in text.split('.') {
        let found = rule(label);
        if !found.is_empty() {
            let found = found.into_iter().map(|detail| format!("validating label {label:?}: {detail}")).collect();
            each(found, at, text, errors);
            return;
        }
    }
}

/// Conditions: each type once, with a status it can have; approved and denied exclude each other.
pub fn csr_conditions(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(status) = read::map(object, "status") else { return };
    let at = path.child("status").child("conditions");
    let mut seen: HashSet<&str> = HashSet::new();
    for (index, condition) in read::objects(status, "conditions") {
        let item = at.index(index);
        let kind = read::text(condition, "type");
        if kind.is_empty() {
            errors.required(&item.child("type"), "");
        }
        condition_status(kind, read::text(condition, "status"), &item.child("status"), errors);
        let other = match kind {
            "Approved" => "Denied",
            "Denied" => "Approved",
            _ => "-",
        };
        if seen.contains(other) {
            errors.invalid(&at, kind, "Approved and Denied conditions are mutually exclusive");
        }
        if !seen.insert(kind) {
            errors.duplicate(&item.child("type"), kind);
        }
    }
}

fn condition_status(kind: &str, status: &str, at: &FieldPath, errors: &mut Errors) {
    let final_kind = matches!(kind, "Approved" | "Denied" | "Failed");
    match status {
        "" => errors.required(at, ""),
        "True" => {}
        "False" | "Unknown" if !final_kind => {}
        _ if final_kind => errors.not_supported(at, status, &["True"]),
        _ => errors.not_supported(at, status, &["False", "True", "Unknown"]),
    }
}

/// A certificate is PEM, and nothing but certificates. One that did not change is not looked at again.
pub fn csr_certificate(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let certificate = read::map(object, "status").map(|status| read::text(status, "certificate")).unwrap_or_default();
    let before = cx.old.and_then(|old| value_at(old, "status.certificate")).and_then(Value::as_str);
    if certificate.is_empty() || before == Some(certificate) {
        return;
    }
    let types = pem_types(certificate);
    let detail = match types.iter().find(|kind| *kind != "CERTIFICATE") {
        Some(kind) => format!("only CERTIFICATE PEM blocks are allowed, found {kind:?}"),
        None if types.is_empty() => "must contain at least one CERTIFICATE PEM block".to_string(),
        None => return,
    };
    errors.invalid(&path.child("status").child("certificate"), "<certificate data>", detail);
}

/// Approvals stay as they are when the rest of the status is written; new conditions say when they came.
pub fn csr_status_set(new: &mut Object, old: &Object) {
    for kind in ["Approved", "Denied"] {
        let before: Vec<Value> =
            conditions(old, kind).into_iter().map(|(_, condition)| Value::Object(condition.clone())).collect();
        let places: Vec<usize> = conditions(new, kind).into_iter().map(|(at, _)| at).collect();
        if before.len() != places.len() {
            continue;
        }
        let Some(list) = read::map_mut(new, "status").and_then(|status| status.get_mut("conditions")) else { continue };
        for (place, condition) in places.into_iter().zip(before) {
            if let Some(slot) = list.get_mut(place) {
                *slot = condition;
            }
        }
    }
    csr_condition_times(new, old);
}

/// Conditions without times get them: now, or the time since which the condition has its status.
pub fn csr_condition_times(new: &mut Object, old: &Object) {
    let before = read::within(old, "status");
    let Some(status) = new.get_mut("status").and_then(Value::as_object_mut) else { return };
    let Some(list) = status.get_mut("conditions").and_then(Value::as_array_mut) else { return };
    for condition in list.iter_mut().filter_map(Value::as_object_mut) {
        if !read::present(condition, "lastUpdateTime") {
            condition.insert("lastUpdateTime".to_string(), json!("@now"));
        }
        if read::present(condition, "lastTransitionTime") {
            continue;
        }
        let since = read::objects(before, "conditions")
            .find(|(_, earlier)| read::same(earlier, condition, "type") && read::same(earlier, condition, "status"))
            .and_then(|(_, earlier)| earlier.get("lastTransitionTime").cloned())
            .filter(|time| !time.is_null());
        condition.insert("lastTransitionTime".to_string(), since.unwrap_or_else(|| json!("@now")));
    }
}

/// Through the request itself neither approvals nor certificates come.
pub fn csr_update(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    removed_conditions(new, old, path, errors);
    changed_approvals(new, old, path, errors);
    if certificate_of(new) != certificate_of(old) {
        errors.forbidden(&path.child("status").child("certificate"), "updates may not set certificate content");
    }
}

/// Through /status comes the certificate, once, and no approval.
pub fn csr_status_update(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    removed_conditions(new, old, path, errors);
    changed_approvals(new, old, path, errors);
    if certificate_of(new) != certificate_of(old) && !certificate_of(old).is_empty() {
        let detail = "updates may not modify existing certificate content";
        errors.forbidden(&path.child("status").child("certificate"), detail);
    }
}

/// Through /approval come approvals; none goes.
pub fn csr_approval_update(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    removed_conditions(new, old, path, errors);
}

fn removed_conditions(new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    for kind in ["Approved", "Denied", "Failed"] {
        if conditions(new, kind).len() < conditions(old, kind).len() {
            let detail = format!("updates may not remove a condition of type {kind:?}");
            errors.forbidden(&path.child("status").child("conditions"), detail);
        }
    }
}

fn changed_approvals(new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("status").child("conditions");
    for kind in ["Approved", "Denied"] {
        let (now, before) = (conditions(new, kind), conditions(old, kind));
        if now.len() > before.len() {
            errors.forbidden(&at, format!("updates may not add a condition of type {kind:?}"));
        } else if now.len() == before.len() && now.iter().zip(&before).any(|((_, one), (_, other))| one != other) {
            errors.forbidden(&at, format!("updates may not modify a condition of type {kind:?}\n"));
        }
    }
}

fn conditions<'a>(object: &'a Object, kind: &str) -> Vec<(usize, &'a Object)> {
    let status = read::map(object, "status");
    let all = status.into_iter().flat_map(|status| read::objects(status, "conditions"));
    all.filter(|(_, condition)| read::text(condition, "type") == kind).collect()
}

fn certificate_of(object: &Object) -> &str {
    read::map(object, "status").map(|status| read::text(status, "certificate")).unwrap_or_default()
}
