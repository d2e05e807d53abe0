//! A Job's generated selector, its indexes, its policies, and what of its template may change.

use std::collections::BTreeSet;

use pawl_meta::object::Object;
use pawl_meta::read;
use pawl_rules::{Check, Errors, FieldPath, equal, formats};
use serde_json::{Map, Value, json};

use super::job_status::{condition, count_indexes};
use crate::hooks::pods::warnings::{changed_template, name_as_host};
use crate::hooks::shown;

const UID_LABELS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];
const NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];

fn template_labels(job: &Object) -> Option<&Object> {
    read::deep(job, &["spec", "template", "metadata", "labels"])
}

fn copy_labels(job: &mut Object) {
    let Some(labels) = template_labels(job).filter(|labels| !labels.is_empty()).cloned() else { return };
    if let Some(meta) = read::map_mut(job, "metadata") {
        read::default_to(meta, "labels", labels);
    }
}

/// A Job without labels has those of its template. While the server's own are still to be added, that waits for them.
pub fn job_labels(object: &mut Object) {
    let generated =
        template_labels(object).is_some_and(|labels| UID_LABELS.iter().any(|key| labels.contains_key(*key)));
    let manual = read::map(object, "spec").is_some_and(|spec| read::truth(spec, "manualSelector"));
    if generated || manual {
        copy_labels(object);
    }
}

/// A new Job selects its pods by its own uid, unless the client brought a selector and takes care of it.
pub fn job_generated_selector(object: &mut Object) {
    let meta = |field: &str| read::map(object, "metadata").map_or("", |meta| read::text(meta, field)).to_string();
    let (name, uid) = (meta("name"), meta("uid"));
    let Some(Value::Object(spec)) = object.get_mut("spec") else { return };
    if read::truth(spec, "manualSelector") {
        return;
    }
    let labels = read::map_mut(spec, "template")
        .and_then(|template| read::map_mut(template, "metadata"))
        .and_then(|meta| read::map_mut(meta, "labels"));
    if let Some(labels) = labels {
        for (keys, value) in [(NAME_LABELS, &name), (UID_LABELS, &uid)] {
            for key in keys {
                labels.entry(key).or_insert_with(|| Value::String(value.clone()));
            }
        }
    }
    if let Some(matched) = read::map_mut(spec, "selector").and_then(|selector| read::map_mut(selector, "matchLabels")) {
        matched.entry("batch.kubernetes.io/controller-uid").or_insert(Value::String(uid));
    }
    copy_labels(object);
}

/// The generated labels are what they must be, and the selector is about them.
pub fn job_generated_labels(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let empty = Map::new();
    let spec = read::within(object, "spec");
    let Some(selector) = read::map(spec, "selector") else { return };
    if read::truth(spec, "manualSelector") {
        return;
    }
    let meta = read::within(object, "metadata");
    let (name, uid) = (read::text(meta, "name"), read::text(meta, "uid"));
    if uid.is_empty() {
        errors.required(&path.child("metadata").child("uid"), "");
    }
    let labels = template_labels(object).unwrap_or(&empty);
    let at = path.child("spec").child("template").child("metadata").child("labels");
    let prefixed = prefixed_labels_demanded(cx);
    let wanted = [
        (UID_LABELS.first(), uid, true),
        (NAME_LABELS.first(), name, true),
        (UID_LABELS.last(), uid, prefixed),
        (NAME_LABELS.last(), name, prefixed),
    ];
    let mut expected = Map::new();
    for (key, value, demanded) in wanted {
        let Some(key) = key.filter(|_| demanded) else { continue };
        expected.insert((*key).to_string(), Value::from(value));
        match labels.get(*key).and_then(Value::as_str) {
            None => errors.required(&at.key(key), format!("must be '{value}'")),
            Some(held) if held != value => {
                errors.invalid(&at.key(key), Value::Object(labels.clone()), format!("must be '{value}'"));
            }
            Some(_) => {}
        }
    }
    if !selects(selector, &expected) {
        let at = path.child("spec").child("selector");
        errors.invalid_shown(&at, shown("meta.v1.LabelSelector", selector), "`selector` not auto-generated");
    }
}

/// Jobs from before the prefixed labels go on without them.
fn prefixed_labels_demanded(cx: &Check<'_>) -> bool {
    let Some(old) = cx.old else { return true };
    template_labels(old).is_some_and(|labels| {
        [UID_LABELS.last(), NAME_LABELS.last()].iter().flatten().all(|key| labels.contains_key(**key))
    })
}

/// Whether a selector takes labels; one that cannot be read takes them, as it is refused elsewhere.
fn selects(selector: &Object, labels: &Object) -> bool {
    let matched = read::map(selector, "matchLabels");
    let all_match = matched.into_iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    all_match
        && read::objects(selector, "matchExpressions").all(|(_, expression)| {
            let held = labels.get(read::text(expression, "key"));
            let listed = held.is_some_and(|held| read::list(expression, "values").contains(held));
            match read::text(expression, "operator") {
                "In" => listed,
                "NotIn" => !listed,
                "Exists" => held.is_some(),
                "DoesNotExist" => held.is_none(),
                _ => true,
            }
        })
}

/// The last pod of an indexed Job still has a name that a host can have.
pub fn job_pod_hostname(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let spec = read::within(object, "spec");
    let completions = read::number(spec, "completions");
    if read::text(spec, "completionMode") != "Indexed" || completions <= 0 {
        return;
    }
    let name = read::map(object, "metadata").map_or("", |meta| read::text(meta, "name"));
    let host = format!("{name}-{}", completions - 1);
    if !formats::dns1123_label(&host).is_empty() {
        let detail = format!("will not able to create pod with invalid DNS label: {host}");
        errors.invalid(&path.child("metadata").child("name"), name, detail);
    }
}

/// How many indexes may fail and how many pods may run, for Jobs with many indexes.
pub fn job_index_limits(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    if read::text(object, "completionMode") != "Indexed" {
        return;
    }
    let number = |field: &str| object.get(field).and_then(Value::as_i64);
    let (completions, failed) = (number("completions"), number("maxFailedIndexes"));
    let at = path.child("maxFailedIndexes");
    if let (Some(completions), Some(failed)) = (completions, failed)
        && failed > completions
    {
        errors.invalid(&at, failed, "must be less than or equal to completions");
    }
    if let Some(failed) = failed.filter(|failed| *failed > 100_000) {
        errors.invalid(&at, failed, "must be less than or equal to 100000");
    }
    if completions.is_none_or(|completions| completions <= 100_000) || !read::present(object, "backoffLimitPerIndex") {
        return;
    }
    if failed.is_none() {
        errors.required(&at, "must be specified when completions is above 100000");
    }
    let detail =
        "must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index";
    if let Some(parallelism) = number("parallelism").filter(|parallelism| *parallelism > 10_000) {
        errors.invalid(&path.child("parallelism"), parallelism, detail);
    }
    if let Some(failed) = failed.filter(|failed| *failed > 10_000) {
        errors.invalid(&at, failed, detail);
    }
}

fn enclosing_job<'a>(cx: &'a Check<'_>) -> Option<&'a Object> {
    cx.enclosing("batch.v1.JobSpec")
}

/// To fail an index there must be a limit per index.
pub fn failure_rule_fail_index(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let limited = enclosing_job(cx).is_some_and(|spec| read::present(spec, "backoffLimitPerIndex"));
    if read::text(object, "action") == "FailIndex" && !limited {
        errors.invalid(&path.child("action"), "FailIndex", "requires the backoffLimitPerIndex to be set");
    }
}

/// A rule about one container names one of the template.
pub fn failure_rule_container(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(name) = object.get("containerName").and_then(Value::as_str) else { return };
    let spec = enclosing_job(cx).and_then(|spec| read::deep(spec, &["template", "spec"]));
    let known = spec.is_some_and(|spec| {
        ["containers", "initContainers"]
            .iter()
            .any(|field| read::objects(spec, field).any(|(_, container)| read::text(container, "name") == name))
    });
    if !known {
        let detail = "must be one of the container or initContainer names in the pod template";
        errors.invalid(&path.child("containerName"), name, detail);
    }
}

/// Exit codes are listed in order, each once; success is not a failure.
pub fn failure_rule_exit_codes(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let at = path.child("values");
    let codes: Vec<i64> = read::list(object, "values").iter().filter_map(Value::as_i64).collect();
    let mut seen = BTreeSet::new();
    for (index, code) in codes.iter().enumerate() {
        if *code == 0 && read::text(object, "operator") == "In" {
            errors.invalid(&at.index(index), 0_i64, "must not be 0 for the In operator");
        }
        if !seen.insert(*code) {
            errors.duplicate(&at.index(index), *code);
        }
    }
    if !codes.is_sorted() {
        errors.invalid(&at, json!(codes), "must be ordered");
    }
}

/// What counts as success fits the number of completions.
pub fn success_rule(cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let completions = enclosing_job(cx).map_or(0, |spec| read::number(spec, "completions"));
    let mut listed = None;
    if let Some(indexes) = object.get("succeededIndexes").and_then(Value::as_str) {
        match count_indexes(indexes, completions) {
            Ok(count) => listed = Some(count),
            Err(detail) => {
                let at = path.child("succeededIndexes");
                errors.invalid(&at, indexes, format!("error parsing succeededIndexes: {detail}"));
                listed = Some(0);
            }
        }
    }
    let Some(count) = object.get("succeededCount").and_then(Value::as_i64) else { return };
    let at = path.child("succeededCount");
    if count < 0 {
        errors.invalid(&at, count, "must be greater than or equal to 0");
    }
    if count > completions {
        let detail = format!("must be less than or equal to {completions} (the number of specified completions)");
        errors.invalid(&at, count, detail);
    }
    if let Some(listed) = listed.filter(|listed| count > *listed) {
        let detail = format!(
            "must be less than or equal to {listed} (the number of indexes in the specified succeededIndexes field)"
        );
        errors.invalid(&at, count, detail);
    }
}

/// Completions are fixed; those of an indexed Job move together with its parallelism.
pub fn job_completions(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let (after, before) = (read::within(new, "spec"), read::within(old, "spec"));
    let number = |spec: &Object, field: &str| spec.get(field).and_then(Value::as_i64);
    let (now, then) = (number(after, "completions"), number(before, "completions"));
    if now == then {
        return;
    }
    let at = path.child("spec").child("completions");
    let shown = now.map_or(Value::Null, Value::from);
    if read::text(after, "completionMode") != "Indexed" {
        errors.invalid(&at, shown, "field is immutable");
    } else if now.is_some() && now != number(after, "parallelism") {
        errors.invalid(&at, shown, "can only be modified in tandem with spec.parallelism");
    }
}

/// The template is fixed. While the Job is suspended and none of its pods run, where they go may change, and what they
/// ask for.
pub fn job_template(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let (after, before) = (read::within(new, "spec"), read::within(old, "spec"));
    let template = read::map(after, "template").cloned().unwrap_or_default();
    let mut allowed = read::map(before, "template").cloned().unwrap_or_default();
    let at = path.child("spec");
    if !is_resting(old, before) {
        if !equal(Some(&Value::Object(template.clone())), Some(&Value::Object(allowed))) {
            errors.invalid_shown(
                &at.child("template"),
                shown("core.v1.PodTemplateSpec", &template),
                "field is immutable",
            );
        }
        return;
    }
    allow_placement(&mut allowed, &template);
    allow_resources(&mut allowed, &template);
    let (now, then) = (template.get("spec"), allowed.get("spec"));
    if !equal(now, then) {
        let shown = now.cloned().unwrap_or_default();
        errors.invalid(&at.child("template.spec"), shown, "field is immutable");
    }
}

fn is_resting(old: &Object, before: &Object) -> bool {
    let status = read::within(old, "status");
    let at_rest = !read::present(status, "startTime") || condition(status, "Suspended", "True");
    read::truth(before, "suspend") && at_rest && read::number(status, "active") == 0
}

fn allow_placement(allowed: &mut Object, template: &Object) {
    let wanted = read::map(template, "spec").cloned().unwrap_or_default();
    let Some(spec) = read::map_mut(allowed, "spec") else { return };
    for field in ["nodeSelector", "tolerations", "schedulingGates"] {
        take_over(spec, field, wanted.get(field));
    }
    let node = read::deep(&wanted, &["affinity", "nodeAffinity"]).cloned().map(Value::Object);
    if let Some(affinity) = read::map_mut(spec, "affinity") {
        take_over(affinity, "nodeAffinity", node.as_ref());
    }
}

fn allow_resources(allowed: &mut Object, template: &Object) {
    let wanted = read::within(template, "spec");
    let Some(spec) = read::map_mut(allowed, "spec") else { return };
    for field in ["containers", "initContainers"] {
        let new = read::list(wanted, field);
        let Some(Value::Array(held)) = spec.get_mut(field) else { continue };
        if held.len() != new.len() {
            continue;
        }
        for (held, new) in held.iter_mut().zip(new) {
            if held.get("name") == new.get("name")
                && let Some(held) = held.as_object_mut()
            {
                take_over(held, "resources", new.get("resources"));
            }
        }
    }
}

fn take_over(object: &mut Object, field: &str, value: Option<&Value>) {
    match value {
        Some(value) => object.insert(field.to_string(), value.clone()),
        None => object.remove(field),
    };
}

/// What a client is warned of when it writes a Job.
pub fn job_warnings(cx: &Check<'_>, object: &Object, path: &FieldPath, warnings: &mut Vec<String>) {
    spec_warnings(cx, object, &["spec"], path, warnings);
}

/// What a client is warned of when it writes a CronJob.
pub fn cron_job_warnings(cx: &Check<'_>, object: &Object, path: &FieldPath, warnings: &mut Vec<String>) {
    spec_warnings(cx, object, &["spec", "jobTemplate", "spec"], path, warnings);
    let schedule = read::map(object, "spec").map_or("", |spec| read::text(spec, "schedule"));
    if cx.old.is_some() && schedule.contains("TZ") {
        warnings.push(
            "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
                .to_string(),
        );
    }
}

fn spec_warnings(cx: &Check<'_>, object: &Object, fields: &[&str], path: &FieldPath, warnings: &mut Vec<String>) {
    if cx.old.is_none() {
        let name = read::map(object, "metadata").map_or("", |meta| read::text(meta, "name"));
        name_as_host(name, "Pod names and hostnames", warnings);
    }
    if let Some(spec) = read::deep(object, fields)
        && read::text(spec, "completionMode") == "Indexed"
        && read::number(spec, "completions") > 100_000
        && read::number(spec, "parallelism") > 10_000
    {
        let at = fields.iter().fold(path.clone(), |at, field| at.child(field));
        warnings.push(format!(
            "{at}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        ));
    }
    let mut template = fields.to_vec();
    template.push("template");
    changed_template(cx, object, &template, path, warnings);
}
