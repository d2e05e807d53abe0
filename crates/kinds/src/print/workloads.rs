//! Cells of jobs, autoscalers and controller revisions.

use serde_json::{Value, json};

use super::duration::{human, since, unix_seconds};
use super::fields::{at, condition_holds, flag, has, items, number, shortened, shown, text};

/// What a job is up to, by the conditions that count, in the order in which they count.
pub(super) fn job_status(job: &Value, _now: i64) -> Value {
    let conditions = items(job, &["status", "conditions"]);
    let holds = |kind: &str| condition_holds(conditions, kind);
    json!(match () {
        () if holds("Complete") => "Complete",
        () if holds("Failed") => "Failed",
        () if has(job, &["metadata", "deletionTimestamp"]) => "Terminating",
        () if holds("Suspended") => "Suspended",
        () if holds("FailureTarget") => "FailureTarget",
        () if holds("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    })
}

/// How many pods have succeeded of how many it takes; without a number of completions one is enough.
pub(super) fn job_completions(job: &Value, _now: i64) -> Value {
    let succeeded = number(job, &["status", "succeeded"]);
    let parallelism = number(job, &["spec", "parallelism"]);
    json!(match at(job, &["spec", "completions"]) {
        Some(completions) => format!("{succeeded}/{}", shown(completions)),
        None if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        None => format!("{succeeded}/1"),
    })
}

/// How long a job took, or has been going on; "" before it starts.
pub(super) fn job_duration(job: &Value, now: i64) -> Value {
    let time = |field: &str| unix_seconds(text(job, &["status", field]));
    json!(match (time("startTime"), time("completionTime")) {
        (Some(start), Some(end)) => human(end.saturating_sub(start)),
        _ => since(at(job, &["status", "startTime"]), now).unwrap_or_default(),
    })
}

/// The kind and name of the controller that owns an object.
pub(super) fn controller(object: &Value, _now: i64) -> Value {
    let owners = items(object, &["metadata", "ownerReferences"]);
    let Some(owner) = owners.iter().find(|owner| flag(owner, &["controller"])) else {
        return json!("<none>");
    };
    let kind = text(owner, &["kind"]);
    let kind = match text(owner, &["apiVersion"]).split_once('/') {
        Some((group, _)) => format!("{kind}.{group}"),
        None => kind.to_owned(),
    };
    json!(format!("{}/{}", kind.to_lowercase(), text(owner, &["name"])))
}

/// What an autoscaler measures against what it aims at; two metrics at most.
pub(super) fn autoscaler_targets(autoscaler: &Value, _now: i64) -> Value {
    let metrics = items(autoscaler, &["spec", "metrics"]);
    if metrics.is_empty() {
        return json!("<none>");
    }
    let statuses = items(autoscaler, &["status", "currentMetrics"]);
    let targets: Vec<String> =
        metrics.iter().enumerate().map(|(index, metric)| metric_target(metric, statuses.get(index))).collect();
    json!(shortened(&targets, 2, ", "))
}

/// One metric: current value, a slash, the target.
fn metric_target(metric: &Value, status: Option<&Value>) -> String {
    let source = match text(metric, &["type"]) {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".to_owned(),
    };
    let status = status.and_then(|status| at(status, &[source]));
    let target = |field: &str| at(metric, &[source, "target", field]);
    let current = |field: &str| status.and_then(|status| at(status, &["current", field]));
    let target_text = |field: &str| target(field).map_or_else(|| "<nil>".to_owned(), shown);
    // A status without the value that is asked for shows as nil; no status at all is unknown.
    let current_text = |field: &str| match status {
        Some(_) => current(field).map_or_else(|| "<nil>".to_owned(), shown),
        None => "<unknown>".to_owned(),
    };
    match source {
        "pods" => format!("{}/{}", current_text("averageValue"), target_text("averageValue")),
        "external" | "object" if target("averageValue").is_some() => {
            let current = current("averageValue").map_or_else(|| "<unknown>".to_owned(), shown);
            format!("{current}/{} (avg)", target_text("averageValue"))
        }
        "external" | "object" => format!("{}/{}", current_text("value"), target_text("value")),
        _ => {
            let name = text(metric, &[source, "name"]);
            if target("averageValue").is_some() {
                return format!("{name}: {}/{}", current_text("averageValue"), target_text("averageValue"));
            }
            let percent = |value: Option<&Value>, none: &str| {
                value.map_or_else(|| none.to_owned(), |value| format!("{}%", shown(value)))
            };
            let current = percent(current("averageUtilization"), "<unknown>");
            format!("{name}: {current}/{}", percent(target("averageUtilization"), "<auto>"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_735_689_600; // 2025-01-01T00:00:00Z

    #[test]
    fn a_job_says_how_far_it_is() {
        for (job, expected) in [
            (json!({"spec": {"completions": 3}}), ["Running", "0/3", ""]),
            (json!({"spec": {"parallelism": 2}}), ["Running", "0/1 of 2", ""]),
            (
                json!({"spec": {}, "status": {"succeeded": 1, "startTime": "2024-12-31T23:59:00Z"}}),
                ["Running", "1/1", "60s"],
            ),
            (
                json!({"spec": {"completions": 1}, "status": {"succeeded": 1,
                    "startTime": "2024-12-31T20:00:00Z", "completionTime": "2024-12-31T20:00:05Z",
                    "conditions": [{"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}]}}),
                ["Complete", "1/1", "5s"],
            ),
            (
                json!({"spec": {"completions": 1}, "status": {"conditions": [{"type": "Suspended", "status": "True"}]}}),
                ["Suspended", "0/1", ""],
            ),
        ] {
            let cells = [job_status(&job, NOW), job_completions(&job, NOW), job_duration(&job, NOW)];
            assert_eq!(cells, expected.map(|cell| json!(cell)), "{job}");
        }
    }

    #[test]
    fn a_revision_names_its_controller() {
        let owned = json!({"metadata": {"ownerReferences": [
            {"apiVersion": "v1", "kind": "X", "name": "x"},
            {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "controller": true}]}});
        assert_eq!(controller(&owned, NOW), json!("statefulset.apps/web"));
        assert_eq!(controller(&json!({}), NOW), json!("<none>"));
    }

    #[test]
    fn targets_are_current_over_wanted() {
        let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}});
        let pods = json!({"type": "Pods", "pods": {"target": {"averageValue": "10"}}});
        let queue = json!({"type": "External", "external": {"target": {"value": "5"}}});
        for (metrics, current, expected) in [
            (json!([]), json!([]), "<none>"),
            (json!([cpu]), json!([]), "cpu: <unknown>/80%"),
            (json!([cpu]), json!([{"resource": {"current": {"averageUtilization": 20}}}]), "cpu: 20%/80%"),
            (json!([pods]), json!([{"pods": {"current": {"averageValue": "7"}}}]), "7/10"),
            (json!([queue]), json!([{"external": {"current": {"value": "1"}}}]), "1/5"),
            (json!([{"type": "Object", "object": {"target": {"averageValue": "5"}}}]), json!([]), "<unknown>/5 (avg)"),
            (json!([cpu, pods, queue]), json!([]), "cpu: <unknown>/80%, <unknown>/10 + 1 more..."),
            (json!([{"type": "Moon"}]), json!([]), "<unknown type>"),
        ] {
            let autoscaler = json!({"spec": {"metrics": metrics}, "status": {"currentMetrics": current}});
            assert_eq!(autoscaler_targets(&autoscaler, NOW), json!(expected), "{autoscaler}");
        }
    }
}
