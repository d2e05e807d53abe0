//! What rules cannot say about APIServices.

use pawl_meta::object::{Meta, Object};
use pawl_meta::{read, time};
use pawl_rules::{Check, Errors, FieldPath, formats};
use serde_json::json;

use super::report::each;

/// One that names no service is answered by this server itself, from the beginning.
pub fn api_service_available(object: &mut Object) {
    if read::present(read::within(object, "spec"), "service") {
        return;
    }
    let condition = json!({
        "type": "Available",
        "status": "True",
        "lastTransitionTime": time::now(),
        "reason": "Local",
        "message": "Local APIServices are always available",
    });
    object.insert("status".to_owned(), json!({"conditions": [condition]}));
}

/// Its name says what it is for.
pub fn api_service_name(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let (name, spec) = (object.name(), read::within(object, "spec"));
    let wanted = format!("{}.{}", read::text(spec, "version"), read::text(spec, "group"));
    if formats::path_segment(name).is_empty() && name != wanted {
        let detail = format!("must be `spec.version+\".\"+spec.group`: {}", pawl_meta::go::quote(&wanted));
        errors.invalid(&path.child("metadata").child("name"), name, detail);
    }
}

/// The group, the version and their places in the order of all.
pub fn api_service_spec(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let spec = read::within(object, "spec");
    let at = path.child("spec");
    let (group, version) = (read::text(spec, "group"), read::text(spec, "version"));
    if group.is_empty() && version != "v1" {
        errors.required(&at.child("group"), "only v1 may have an empty group and it better be legacy kube");
    }
    if !group.is_empty() {
        each(formats::dns1123_subdomain(group), &at.child("group"), group, errors);
    }
    each(formats::dns1035_label(version), &at.child("version"), version, errors);
    for (field, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1_000)] {
        let priority = read::number(spec, field);
        if !(1..=most).contains(&priority) {
            errors.invalid(&at.child(field), priority, format!("must be positive and less than {most}"));
        }
    }
    // Of those that name a service, what else could be wrong is told when they are served.
    if read::present(spec, "service") {
        return;
    }
    let bundle = read::text(spec, "caBundle");
    if !bundle.is_empty() {
        let bytes = bundle.len() / 4 * 3 - bundle.bytes().rev().take_while(|byte| *byte == b'=').count();
        errors.invalid(&at.child("caBundle"), format!("{bytes} bytes"), "local APIServices may not have a caBundle");
    }
    if read::truth(spec, "insecureSkipTLSVerify") {
        let detail = "local APIServices may not have insecureSkipTLSVerify";
        errors.invalid(&at.child("insecureSkipTLSVerify"), true, detail);
    }
}

/// Whether conditions hold is known, or known not to be.
pub fn api_service_conditions(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("status").child("conditions");
    for (index, condition) in read::objects(read::within(object, "status"), "conditions") {
        let holds = read::text(condition, "status");
        if !["True", "False", "Unknown"].contains(&holds) {
            errors.not_supported(&at.index(index).child("status"), holds, &["True", "False", "Unknown"]);
        }
    }
}
