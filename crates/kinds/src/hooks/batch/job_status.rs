//! What a Job's status may tell. A rule is applied only when what it is about has changed, so that a status from before
//! the rule can be written on.

use std::collections::BTreeSet;

use pawl_meta::object::Object;
use serde_json::Value;

use pawl_meta::read;
use pawl_rules::equal;
use pawl_rules::{Check, Errors, FieldPath};

/// Whether a condition has a status.
pub(crate) fn condition(status: &Object, kind: &str, wanted: &str) -> bool {
    read::objects(status, "conditions")
        .any(|(_, condition)| read::text(condition, "type") == kind && read::text(condition, "status") == wanted)
}

/// Pods that ended and are not yet counted are named once, among successes and failures together.
pub fn job_uncounted_pods(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let Some(uncounted) = read::deep(object, &["status", "uncountedTerminatedPods"]) else { return };
    let at = path.child("status").child("uncountedTerminatedPods");
    let mut seen = BTreeSet::new();
    for field in ["succeeded", "failed"] {
        for (index, uid) in read::texts(uncounted, field).into_iter().enumerate() {
            let place = at.child(field).index(index);
            if uid.is_empty() {
                errors.invalid(&place, uid, "must not be empty");
            } else if !seen.insert(uid) {
                errors.duplicate(&place, uid);
            }
        }
    }
}

/// A Job's status on one side of a change, with the questions that the rules ask.
struct Side<'a> {
    status: &'a Object,
    spec: &'a Object,
}

impl Side<'_> {
    fn is(&self, kind: &str) -> bool {
        condition(self.status, kind, "True")
    }

    fn complete(&self) -> bool {
        self.is("Complete")
    }

    fn failed(&self) -> bool {
        self.is("Failed")
    }

    fn finished(&self) -> bool {
        self.complete() || self.failed()
    }

    fn text(&self, field: &str) -> &str {
        read::text(self.status, field)
    }

    fn number(&self, field: &str) -> i64 {
        read::number(self.status, field)
    }
}

/// Changes of a Job's status that no controller makes.
pub fn job_status_changes(_cx: &Check<'_>, new: &Object, old: &Object, path: &FieldPath, errors: &mut Errors) {
    let spec = read::within(old, "spec");
    let now = Side { status: read::within(new, "status"), spec };
    let then = Side { status: read::within(old, "status"), spec };
    let at = path.child("status");
    conditions(&now, &then, &at, errors);
    times(&now, &then, &at, errors);
    finished(&now, &then, &at, errors);
    indexes(&now, &then, &at, errors);
    success(&now, &then, &at, errors);
    counters(&now, &then, &at, errors);
    start_and_end(&now, &then, &at, errors);
    success_over_time(&now, &then, &at, errors);
}

fn changed(now: &Side<'_>, then: &Side<'_>, field: &str) -> bool {
    !equal(now.status.get(field), then.status.get(field))
}

fn conditions(now: &Side<'_>, then: &Side<'_>, at: &FieldPath, errors: &mut Errors) {
    let place = at.child("conditions");
    let complete_changed = now.complete() != then.complete();
    if (complete_changed || now.failed() != then.failed()) && now.complete() && now.failed() {
        errors.invalid_omitted(&place, "cannot set Complete=True and Failed=true conditions");
    }
    let target_changed = now.is("FailureTarget") != then.is("FailureTarget");
    if (complete_changed || target_changed) && now.complete() && now.is("FailureTarget") {
        errors.invalid_omitted(&place, "cannot set Complete=True and FailureTarget=true conditions");
    }
}

fn times(now: &Side<'_>, then: &Side<'_>, at: &FieldPath, errors: &mut Errors) {
    let place = at.child("completionTime");
    let end = now.text("completionTime");
    if now.complete() != then.complete() || changed(now, then, "completionTime") {
        if !end.is_empty() && !now.complete() {
            errors.invalid(&place, end, "cannot set completionTime when there is no Complete=True condition");
        }
        if end.is_empty() && now.complete() {
            errors.required(&place, "completionTime is required for Complete jobs");
        }
    }
    let start = now.text("startTime");
    let moved = changed(now, then, "startTime") || changed(now, then, "completionTime");
    // Times are in UTC with seconds, so that texts compare as times do.
    if moved && !start.is_empty() && !end.is_empty() && end < start {
        errors.invalid(&place, end, "must be equal to or after `startTime`");
    }
}

fn finished(now: &Side<'_>, then: &Side<'_>, at: &FieldPath, errors: &mut Errors) {
    let place = at.child("conditions");
    if (now.failed() != then.failed() || changed(now, then, "failedIndexes"))
        && now.failed()
        && !now.is("FailureTarget")
    {
        let detail = "cannot set Failed=True condition without the FailureTarget=true condition";
        errors.invalid_omitted(&place, detail);
    }
    let met_changed = now.is("SuccessCriteriaMet") != then.is("SuccessCriteriaMet");
    if (now.complete() != then.complete() || met_changed) && now.complete() && !now.is("SuccessCriteriaMet") {
        let detail = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
        errors.invalid_omitted(&place, detail);
    }
    let ended = now.finished() != then.finished();
    let active = now.number("active");
    if (ended || changed(now, then, "active")) && active > 0 && now.finished() {
        errors.invalid(&at.child("active"), active, "active>0 is invalid for finished job");
    }
    let never_to_start =
        read::truth(now.spec, "suspend") && now.spec.get("completions").and_then(Value::as_i64) == Some(0);
    if (ended || changed(now, then, "startTime"))
        && !never_to_start
        && now.text("startTime").is_empty()
        && now.finished()
    {
        errors.required(&at.child("startTime"), "startTime is required for finished job");
    }
    if (ended || changed(now, then, "uncountedTerminatedPods"))
        && now.finished()
        && let Some(uncounted) = read::map(now.status, "uncountedTerminatedPods")
        && ["succeeded", "failed"].iter().any(|field| !read::list(uncounted, field).is_empty())
    {
        let shown = Value::Object(uncounted.clone());
        errors.invalid(&at.child("uncountedTerminatedPods"), shown, "must be empty for finished job");
    }
}

fn indexes(now: &Side<'_>, then: &Side<'_>, at: &FieldPath, errors: &mut Errors) {
    let completions = now.spec.get("completions").and_then(Value::as_i64);
    let completed = now.text("completedIndexes");
    let failed = now.status.get("failedIndexes").and_then(Value::as_str);
    let (completed_changed, failed_changed) =
        (changed(now, then, "completedIndexes"), changed(now, then, "failedIndexes"));
    let (at_completed, at_failed) = (at.child("completedIndexes"), at.child("failedIndexes"));
    let limited = read::present(now.spec, "backoffLimitPerIndex");
    if let Some(completions) = completions {
        if completed_changed && let Err(detail) = count_indexes(completed, completions) {
            errors.invalid(&at_completed, completed, format!("error parsing completedIndexes: {detail}"));
        }
        if let Some(failed) = failed.filter(|_| failed_changed && limited)
            && let Err(detail) = count_indexes(failed, completions)
        {
            errors.invalid(&at_failed, failed, format!("error parsing failedIndexes: {detail}"));
        }
    }
    if completed_changed && !completed.is_empty() && read::text(now.spec, "completionMode") != "Indexed" {
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        errors.invalid(&at_completed, completed, detail);
    }
    let Some(failed) = failed else { return };
    if failed_changed && !limited {
        errors.invalid(&at_failed, failed, "cannot set non-null failedIndexes when backoffLimitPerIndex is null");
    }
    if (failed_changed || completed_changed)
        && let Some(index) = completions.and_then(|completions| overlap(completed, failed, completions))
    {
        errors.invalid(&at_failed, failed, format!("failedIndexes and completedIndexes overlap at index: {index}"));
    }
}

fn success(now: &Side<'_>, then: &Side<'_>, at: &FieldPath, errors: &mut Errors) {
    let terminating = now.number("terminating");
    let ended = now.finished() != then.finished();
    if (ended || changed(now, then, "terminating")) && terminating > 0 && now.finished() {
        errors.invalid(&at.child("terminating"), terminating, "terminating>0 is invalid for finished job");
    }
    let ready = now.number("ready");
    let is_said = read::present(now.status, "ready");
    if is_said && (changed(now, then, "ready") || changed(now, then, "active")) && ready > now.number("active") {
        errors.invalid(&at.child("ready"), ready, "cannot set more ready pods than active");
    }
    let place = at.child("conditions");
    let met = now.is("SuccessCriteriaMet");
    if met && now.failed() {
        errors.invalid_omitted(&place, "cannot set SuccessCriteriaMet=True and Failed=true conditions");
    }
    if met && now.is("FailureTarget") {
        errors.invalid_omitted(&place, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions");
    }
    if read::present(now.spec, "successPolicy") && !met && now.complete() {
        let detail = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
        errors.invalid_omitted(&place, detail);
    }
}

fn counters(now: &Side<'_>, then: &Side<'_>, at: &FieldPath, errors: &mut Errors) {
    for kind in ["Failed", "Complete", "FailureTarget"] {
        if then.is(kind) && !now.is(kind) {
            let detail = format!("cannot disable the terminal {kind}=True condition");
            errors.invalid_omitted(&at.child("conditions"), detail);
        }
    }
    // An indexed Job can be scaled down, together with its completions.
    let scales = read::text(now.spec, "completionMode") == "Indexed"
        && now.spec.get("completions") == now.spec.get("parallelism");
    for (field, held) in [("failed", true), ("succeeded", !scales)] {
        if held && now.number(field) < then.number(field) {
            errors.invalid(&at.child(field), now.number(field), format!("cannot decrease the {field} counter"));
        }
    }
}

fn start_and_end(now: &Side<'_>, then: &Side<'_>, at: &FieldPath, errors: &mut Errors) {
    let (end, ended) = (now.text("completionTime"), then.text("completionTime"));
    if !end.is_empty() && !ended.is_empty() && end != ended {
        errors.invalid(&at.child("completionTime"), end, "field is immutable");
    }
    let resuming = then.is("Suspended") && condition(now.status, "Suspended", "False");
    let (start, started) = (now.text("startTime"), then.text("startTime"));
    if !resuming && !started.is_empty() && start != started && !read::truth(now.spec, "suspend") {
        let shown = now.status.get("startTime").cloned().unwrap_or_default();
        errors.invalid(&at.child("startTime"), shown, "field is immutable for unsuspended job once set");
    }
}

fn success_over_time(now: &Side<'_>, then: &Side<'_>, at: &FieldPath, errors: &mut Errors) {
    let place = at.child("conditions");
    let (met, was_met) = (now.is("SuccessCriteriaMet"), then.is("SuccessCriteriaMet"));
    if was_met && !met {
        errors.invalid_omitted(&place, "cannot disable the SuccessCriteriaMet=True condition");
    }
    if then.complete() && !was_met && met {
        let detail = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
        errors.invalid_omitted(&place, detail);
    }
}

/// How many indexes a text such as `1,3-5` tells, all below the number of completions and in rising order.
pub(crate) fn count_indexes(text: &str, completions: i64) -> Result<i64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let mut last: Option<i64> = None;
    let mut total = 0;
    for interval in text.split(',') {
        let (first, end) = interval_of(interval, completions)?;
        if let Some(last) = last.filter(|last| *last >= first) {
            return Err(format!("non-increasing order, previous: {last}, current: {first}"));
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

fn interval_of(text: &str, completions: i64) -> Result<(i64, i64), String> {
    let index = |part: &str| {
        let number: i64 = part.parse().map_err(|_| format!("cannot convert string to integer for index: {part:?}"))?;
        if number >= completions { Err(format!("too large index: {part:?}")) } else { Ok(number) }
    };
    let parts: Vec<&str> = text.split('-').collect();
    match parts.as_slice() {
        [one] => index(one).map(|one| (one, one)),
        [first, last] => {
            let (first, last) = (index(first)?, index(last)?);
            if first >= last {
                return Err(format!("non-increasing order, previous: {first}, current: {last}"));
            }
            Ok((first, last))
        }
        _ => Err(format!(
            "the fragment {text:?} violates the requirement that an index interval can have at most two parts separated by '-'"
        )),
    }
}

/// The first index that is in both texts. Intervals that cannot be read are left out.
fn overlap(completed: &str, failed: &str, completions: i64) -> Option<i64> {
    let intervals = |text: &str| -> Vec<(i64, i64)> {
        text.split(',').filter_map(|interval| interval_of(interval, completions).ok()).collect()
    };
    let failed = intervals(failed);
    intervals(completed).into_iter().find_map(|(first, last)| {
        let shared = failed.iter().find(|(from, to)| first <= *to && *from <= last);
        shared.map(|(from, _)| first.max(*from))
    })
}
