//! Annotations that mean something for a pod: mirror pods, the cost of deletion, profiles of seccomp and AppArmor.

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath};
use serde_json::Value;

use super::{all_containers, volumes};

pub(crate) const MIRROR: &str = "kubernetes.io/config.mirror";
pub(crate) const APP_ARMOR_PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_PREFIX: &str = "container.seccomp.security.alpha.kubernetes.io/";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// The annotations of a pod; the object is the pod.
pub fn pod_annotations(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    meaningful(cx, object, &path.child("metadata").child("annotations"), errors);
}

/// The annotations of a pod template; the paths carry no `metadata`.
pub fn template_annotations(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    meaningful(cx, object, &path.child("annotations"), errors);
}

fn meaningful(cx: &Check<'_>, object: &Object, at: &FieldPath, errors: &mut Errors) {
    let annotations = read::annotations(object);
    let spec = read::within(object, "spec");
    if annotations.contains_key(MIRROR) && read::text(spec, "nodeName").is_empty() {
        let detail = "must set spec.nodeName if mirror pod annotation is set";
        errors.invalid(&at.key(MIRROR), read::text(annotations, MIRROR), detail);
    }
    deletion_cost(cx, annotations, at, errors);
    for (key, value) in annotations {
        let text = value.as_str().unwrap_or_default();
        if key == SECCOMP_POD || key.starts_with(SECCOMP_PREFIX) {
            seccomp_profile(text, &at.child(key), errors);
        }
    }
    for (key, value) in annotations {
        if let Some(name) = key.strip_prefix(APP_ARMOR_PREFIX) {
            app_armor_profile(spec, name, value.as_str().unwrap_or_default(), &at.key(key), errors);
        }
    }
}

/// A cost is a 32-bit number without a plus sign or leading zeros; one that was wrong before may stay wrong.
fn deletion_cost(cx: &Check<'_>, annotations: &Object, at: &FieldPath, errors: &mut Errors) {
    let Some(text) = annotations.get(DELETION_COST).and_then(Value::as_str) else { return };
    let before = cx.old.and_then(|old| read::deep(old, &["metadata", "annotations"]));
    let was_wrong = before
        .is_some_and(|old| !read::text(old, DELETION_COST).is_empty() && !is_cost(read::text(old, DELETION_COST)));
    if !is_cost(text) && !was_wrong {
        errors.invalid(&at.key(DELETION_COST), text, "must be a 32bit integer");
    }
}

fn is_cost(text: &str) -> bool {
    let padded = text.starts_with('+') || (text.starts_with('0') && text.len() > 1);
    !padded && text.parse::<i32>().is_ok()
}

fn seccomp_profile(text: &str, at: &FieldPath, errors: &mut Errors) {
    if matches!(text, "runtime/default" | "docker/default" | "unconfined") {
        return;
    }
    match text.strip_prefix("localhost/") {
        Some(name) => volumes::relative_path(name, at, errors),
        None => errors.invalid(at, text, "must be a valid seccomp profile"),
    }
}

fn app_armor_profile(spec: &Object, name: &str, profile: &str, at: &FieldPath, errors: &mut Errors) {
    let known = super::CONTAINER_LISTS
        .iter()
        .any(|field| read::objects(spec, field).any(|(_, container)| read::text(container, "name") == name));
    if !known {
        errors.invalid(at, name, "container not found");
    }
    let well_formed = matches!(profile, "" | "runtime/default" | "unconfined") || profile.starts_with("localhost/");
    if !well_formed {
        errors.invalid(at, profile, format!("invalid AppArmor profile name: {profile:?}"));
    }
}

/// Where a profile is named both in an annotation and in a field, both say the same. The object is the pod.
pub fn pod_profiles(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    profiles(object, path, errors);
}

/// The same for a pod template.
pub fn template_profiles(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    profiles(object, path, errors);
}

fn profiles(object: &Object, path: &FieldPath, errors: &mut Errors) {
    let annotations = read::annotations(object);
    let spec = read::within(object, "spec");
    let at = path.child("spec");
    let of_pod = |field: &str| read::deep(spec, &["securityContext", field]);
    if let Some(profile) = of_pod("seccompProfile") {
        let place = at.child("securityContext").child("seccompProfile");
        agree("seccomp", annotations.get(SECCOMP_POD), profile, &place, errors);
    }
    for (container, place) in all_containers(spec, &at) {
        if let Some(profile) = read::deep(container, &["securityContext", "seccompProfile"]) {
            let key = format!("{SECCOMP_PREFIX}{}", read::text(container, "name"));
            let place = place.child("securityContext").child("seccompProfile");
            agree("seccomp", annotations.get(&key), profile, &place, errors);
        }
    }
    if read::map(spec, "os").is_some_and(|os| read::text(os, "name") == "windows") {
        return;
    }
    for (container, place) in all_containers(spec, &at) {
        let own = read::deep(container, &["securityContext", "appArmorProfile"]);
        if let Some(profile) = own.or_else(|| of_pod("appArmorProfile")) {
            let key = format!("{APP_ARMOR_PREFIX}{}", read::text(container, "name"));
            let place = place.child("securityContext").child("appArmorProfile");
            agree("apparmor", annotations.get(&key), profile, &place, errors);
        }
    }
}

fn agree(what: &str, annotation: Option<&Value>, profile: &Object, at: &FieldPath, errors: &mut Errors) {
    let Some(annotation) = annotation.and_then(Value::as_str) else { return };
    let types_differ = match read::text(profile, "type") {
        "Unconfined" => annotation != "unconfined",
        "RuntimeDefault" => !matches!((what, annotation), (_, "runtime/default") | ("seccomp", "docker/default")),
        "Localhost" => !annotation.starts_with("localhost/"),
        _ => return,
    };
    if types_differ {
        errors.forbidden(&at.child("type"), format!("{what} type in annotation and field must match"));
    } else if read::text(profile, "type") == "Localhost"
        && annotation.strip_prefix("localhost/") != profile.get("localhostProfile").and_then(Value::as_str)
    {
        errors.forbidden(&at.child("localhostProfile"), format!("{what} profile in annotation and field must match"));
    }
}

/// Some annotations are set at creation or never.
pub fn pod_annotation_changes(cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let after = read::annotations(new);
    let before = read::annotations(old);
    let at = path.child("metadata").child("annotations");
    for (key, value) in before {
        if after.get(key) == Some(value) {
            continue;
        }
        if key.starts_with(APP_ARMOR_PREFIX) {
            errors.forbidden(&at.key(key), "may not remove or update AppArmor annotations");
        }
        if key == MIRROR {
            errors.forbidden(&at.key(key), "may not remove or update mirror pod annotation");
        }
    }
    for key in after.keys().filter(|key| !before.contains_key(*key)) {
        if key.starts_with(APP_ARMOR_PREFIX) {
            errors.forbidden(&at.key(key), "may not add AppArmor annotations");
        }
        if key == MIRROR {
            errors.forbidden(&at.key(key), "may not add mirror pod annotation");
        }
    }
    // Upstream looks at them once more here; a finding is a cause twice.
    meaningful(cx, new, &at, errors);
}
