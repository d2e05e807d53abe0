//! Groups that belong to the Kubernetes community, and whether a definition in one of them was approved there.

use pawl_meta::object::{Meta, Object};
use pawl_meta::{Errors, FieldPath, go};

use crate::fields;

/// The annotation that says where a definition was approved, or that it was not.
pub const ANNOTATION: &str = "api-approved.kubernetes.io";

const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

/// What the annotation says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// A URL.
    Approved,
    /// A reason why it was not approved and is there all the same.
    Bypassed,
    Missing,
    Invalid,
}

/// Whether definitions in a group must be approved.
pub fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

/// What the annotation of a definition says, and a sentence on it.
pub fn of(object: &Object) -> (Approval, String) {
    let name = go::quote(ANNOTATION);
    match object.annotation(ANNOTATION).unwrap_or_default() {
        "" => (Approval::Missing, format!("protected groups must have approval annotation {name}, {SEE}")),
        why if why.starts_with("unapproved") => (Approval::Bypassed, format!("not approved: {}", go::quote(why))),
        url if is_url(url) => (Approval::Approved, format!("approved in {url}")),
        _ => (
            Approval::Invalid,
            format!(
                "protected groups must have approval annotation {name} with either a URL or a reason starting with \
                 \"unapproved\", {SEE}"
            ),
        ),
    }
}

/// A definition in a protected group must say whether it was approved. One that said the same before is left alone.
pub(crate) fn validate(new: &Object, old: Option<&Object>, errors: &mut Errors) {
    if !is_protected(fields::text(fields::within(new, "spec"), "group")) {
        return;
    }
    let (approval, message) = of(new);
    if old.is_some_and(|old| of(old).0 == approval) {
        return;
    }
    let path = FieldPath::of("metadata").child("annotations").key(ANNOTATION);
    match approval {
        Approval::Missing => errors.required(&path, message),
        Approval::Invalid => errors.invalid(&path, new.annotation(ANNOTATION).unwrap_or_default(), message),
        Approval::Approved | Approval::Bypassed => {}
    }
}

/// An absolute URL with a host.
fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    let plain = |text: &str| !text.bytes().any(|b| b <= b' ' || b == 0x7f);
    is_scheme && !host.is_empty() && plain(host) && !text.bytes().any(|b| b < b' ' || b == 0x7f)
}
