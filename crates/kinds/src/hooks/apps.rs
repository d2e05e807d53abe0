//! What rules cannot say about Deployment, StatefulSet, DaemonSet and ControllerRevision.

use std::collections::BTreeSet;

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath, equal, formats};
use serde_json::Value;

use super::pods;
use super::report::each;

const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// The number of `3` or `30%`; zero for anything else.
fn int_or_percent(value: Option<&Value>) -> i64 {
    match value {
        Some(Value::Number(number)) => number.as_i64().unwrap_or_default(),
        Some(Value::String(text)) => text.strip_suffix('%').unwrap_or(text).parse().unwrap_or_default(),
        _ => 0,
    }
}

/// A rolling update of a Deployment must be able to move.
pub fn rolling_update_moves(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let unavailable = object.get("maxUnavailable");
    if int_or_percent(unavailable) == 0 && int_or_percent(object.get("maxSurge")) == 0 {
        let shown = unavailable.cloned().unwrap_or(Value::from(0));
        errors.invalid(&path.child("maxUnavailable"), shown, "may not be 0 when `maxSurge` is 0");
    }
}

/// A rolling update of a DaemonSet takes away or adds, and one of the two it must do.
pub fn daemon_set_moves(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let surge = object.get("maxSurge");
    match (int_or_percent(object.get("maxUnavailable")) != 0, int_or_percent(surge) != 0) {
        (true, true) => {
            let shown = surge.cloned().unwrap_or_default();
            errors.invalid(&path.child("maxSurge"), shown, "may not be set when maxUnavailable is non-zero");
        }
        (false, false) => errors.required(&path.child("maxUnavailable"), "cannot be 0 when maxSurge is 0"),
        _ => {}
    }
}

/// A rolling update of a StatefulSet may take away at least one.
pub fn stateful_set_unavailable(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    if let Some(unavailable) = object.get("maxUnavailable").filter(|value| !value.is_null())
        && int_or_percent(Some(unavailable)) == 0
    {
        errors.invalid(&path.child("maxUnavailable"), unavailable.clone(), "cannot be 0");
    }
}

/// The claim templates of a StatefulSet tell their kind, whatever the client said, and wait like any new claim.
pub fn claim_template_kinds(object: &mut Object) {
    let Some(Value::Array(templates)) = object.get_mut("volumeClaimTemplates") else { return };
    for template in templates.iter_mut().filter_map(Value::as_object_mut) {
        template.insert("kind".to_string(), Value::from("PersistentVolumeClaim"));
        template.insert("apiVersion".to_string(), Value::from("v1"));
        if let Some(status) = read::map_mut(template, "status") {
            read::default_to(status, "phase", "Pending");
        }
    }
}

/// Claim templates are volumes of the pods, and have names like these.
pub fn statefulset_claim_names(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let templates = read::objects(object, "volumeClaimTemplates");
    let names: BTreeSet<&str> = templates
        .map(|(_, template)| read::map(template, "metadata").map_or("", |meta| read::text(meta, "name")))
        .collect();
    let volumes = path.child("template").child("spec").child("volumes");
    for (index, name) in names.into_iter().enumerate() {
        let at = volumes.index(index);
        if name.is_empty() {
            errors.required(&at.child("persistentVolumeClaim").child("claimName"), "");
            errors.required(&at.child("name"), "");
        } else {
            each(formats::dns1123_label(name), &at.child("name"), name, errors);
        }
    }
}

/// The annotations of a StatefulSet's template are looked at a second time.
pub fn statefulset_template_annotations(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let template = read::within(object, "template");
    pods::template_annotations(cx, template, &path.child("template"), errors);
}

fn template_generation(object: &Object) -> i64 {
    let annotations = read::deep(object, &["metadata", "annotations"]);
    annotations.and_then(|annotations| read::text(annotations, TEMPLATE_GENERATION).parse().ok()).unwrap_or_default()
}

fn set_template_generation(object: &mut Object, generation: i64) {
    if let Some(annotations) = read::map_mut(object, "metadata").and_then(|meta| read::map_mut(meta, "annotations")) {
        annotations.insert(TEMPLATE_GENERATION.to_string(), Value::from(generation.to_string()));
    }
}

/// The first template of a DaemonSet.
pub fn daemon_set_first_generation(object: &mut Object) {
    let generation = template_generation(object).max(1);
    set_template_generation(object, generation);
}

fn template(object: &Object) -> Option<&Value> {
    read::map(object, "spec").and_then(|spec| spec.get("template"))
}

/// A new status leaves it as it was.
pub fn daemon_set_same_generation(new: &mut Object, old: &Object) {
    set_template_generation(new, template_generation(old));
}

/// Every other template counts one more.
pub fn daemon_set_next_generation(new: &mut Object, old: &Object) {
    let changed = !equal(template(new), template(old));
    set_template_generation(new, template_generation(old) + i64::from(changed));
}

/// The data of a revision is an object, which may be empty.
pub fn revision_data_object(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    match object.get("data") {
        None | Some(Value::Null) => errors.required(&path.child("data"), "data is mandatory"),
        Some(Value::Object(_)) => {}
        Some(_) => errors.required(&path.child("data"), "data must be a valid JSON object"),
    }
}
