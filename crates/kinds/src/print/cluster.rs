//! Cells of nodes, events, quotas, role bindings, certificates, API services, migrations and admission policies.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::duration::age;
use super::fields::{at, condition, flag, has, items, number, shown, text};
use super::selectors;

/// Whether a node is ready and takes pods.
pub(super) fn node_status(node: &Value, _now: i64) -> Value {
    let conditions = items(node, &["status", "conditions"]);
    let ready = match conditions.iter().rev().find(|condition| text(condition, &["type"]) == "Ready") {
        Some(condition) if text(condition, &["status"]) == "True" => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    if flag(node, &["spec", "unschedulable"]) { json!(format!("{ready},SchedulingDisabled")) } else { json!(ready) }
}

/// The roles that a node's labels give it.
pub(super) fn node_roles(node: &Value, _now: i64) -> Value {
    let labels = at(node, &["metadata", "labels"]).and_then(Value::as_object);
    let roles: BTreeSet<&str> = labels
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None if key == "kubernetes.io/role" => value.as_str(),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    if roles.is_empty() { json!("<none>") } else { json!(roles.into_iter().collect::<Vec<_>>().join(",")) }
}

/// Last seen, object, source, message, first seen, count. Reads both forms of an event.
pub(super) fn event_summary(event: &Value, now: i64) -> Vec<Value> {
    let either = |core: &'static str, events: &'static str| at(event, &[core]).or_else(|| at(event, &[events]));
    let first = either("firstTimestamp", "deprecatedFirstTimestamp").or_else(|| at(event, &["eventTime"]));
    let last = either("lastTimestamp", "deprecatedLastTimestamp").or(first);
    let count = match either("count", "deprecatedCount").and_then(Value::as_i64) {
        Some(count) if count != 0 => count,
        _ => 1, // An event that happened once need not say so.
    };
    let (last, count) = match at(event, &["series"]) {
        Some(series) => (at(series, &["lastObservedTime"]), number(series, &["count"])),
        None => (last, count),
    };
    let involved = either("involvedObject", "regarding").unwrap_or(&Value::Null);
    let kind = text(involved, &["kind"]).to_lowercase();
    let object = match text(involved, &["name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let message = either("message", "note").and_then(Value::as_str).unwrap_or("").trim();
    vec![
        json!(age(last, now)),
        json!(object),
        json!(event_source(event)),
        json!(message),
        json!(age(first, now)),
        json!(count),
    ]
}

/// Who reported an event: the component, and the host or instance if it is known.
fn event_source(event: &Value) -> String {
    let first = |paths: &[&[&str]]| paths.iter().map(|path| text(event, path)).find(|text| !text.is_empty());
    let component = first(&[
        &["source", "component"],
        &["deprecatedSource", "component"],
        &["reportingComponent"],
        &["reportingController"],
    ]);
    let instance = first(&[&["source", "host"], &["deprecatedSource", "host"], &["reportingInstance"]]);
    let component = component.unwrap_or("").to_owned();
    match instance {
        Some(instance) => format!("{component}, {instance}"),
        None => component,
    }
}

/// What is used of a quota and what there is: requests, then limits.
pub(super) fn quota_usage(quota: &Value, _now: i64) -> Vec<Value> {
    let empty = Map::new();
    let hard = at(quota, &["status", "hard"]).and_then(Value::as_object).unwrap_or(&empty);
    let mut names: Vec<&String> = hard.keys().collect();
    names.sort_unstable();
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for name in names {
        let amount = |of: &str| at(quota, &["status", of, name.as_str()]).map_or_else(|| "0".to_owned(), shown);
        let usage = format!("{name}: {}/{}", amount("used"), amount("hard"));
        if name.starts_with("limits.") { limits.push(usage) } else { requests.push(usage) }
    }
    vec![json!(requests.join(", ")), json!(limits.join(", "))]
}

/// The users, groups and service accounts that a binding is for.
pub(super) fn subjects(binding: &Value, _now: i64) -> Vec<Value> {
    let subjects = items(binding, &["subjects"]);
    let of_kind = |kind: &str| {
        let names = subjects.iter().filter(|subject| text(subject, &["kind"]) == kind).map(|subject| {
            let name = text(subject, &["name"]);
            match kind {
                "ServiceAccount" => format!("{}/{name}", text(subject, &["namespace"])),
                _ => name.to_owned(),
            }
        });
        json!(names.collect::<Vec<_>>().join(", "))
    };
    vec![of_kind("User"), of_kind("Group"), of_kind("ServiceAccount")]
}

/// How far a signing request has come. A condition counts by being there.
pub(super) fn signing_request_condition(request: &Value, _now: i64) -> Value {
    let conditions = items(request, &["status", "conditions"]);
    let is = |kind: &str| condition(conditions, kind).is_some();
    let mut words = vec![match (is("Denied"), is("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    }];
    if is("Failed") {
        words.push("Failed");
    }
    if !text(request, &["status", "certificate"]).is_empty() {
        words.push("Issued");
    }
    json!(words.join(","))
}

/// The last of a migration's conditions that holds.
pub(super) fn migration_status(migration: &Value, _now: i64) -> Value {
    let holds = |condition: &&Value| {
        text(condition, &["status"]) == "True"
            && matches!(text(condition, &["type"]), "Running" | "Failed" | "Succeeded")
    };
    let last = items(migration, &["status", "conditions"]).iter().rev().find(holds);
    json!(last.map_or("Unknown", |condition| text(condition, &["type"])))
}

/// Whether an API service is available, and if not, why.
pub(super) fn api_service_available(service: &Value, _now: i64) -> Value {
    let Some(condition) = condition(items(service, &["status", "conditions"]), "Available") else {
        return json!("Unknown");
    };
    let (status, reason) = (text(condition, &["status"]), text(condition, &["reason"]));
    if status == "True" || reason.is_empty() { json!(status) } else { json!(format!("{status} ({reason})")) }
}

/// The parameter that a policy binding refers to. Its namespace is not known here unless the binding says it.
pub(super) fn policy_parameter(binding: &Value, _now: i64) -> Value {
    let parameter = at(binding, &["spec", "paramRef"]).unwrap_or(&Value::Null);
    let (namespace, name) = (text(parameter, &["namespace"]), text(parameter, &["name"]));
    json!(match (name, namespace) {
        ("", _) if has(parameter, &["selector"]) => {
            at(parameter, &["selector"]).map(selectors::debugged).unwrap_or_default()
        }
        ("", _) => "<unset>".to_owned(),
        (name, "") => format!("*/{name}"),
        (name, namespace) => format!("{namespace}/{name}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_735_689_600; // 2025-01-01T00:00:00Z

    fn check(function: fn(&Value, i64) -> Value, object: Value, expected: &str) {
        assert_eq!(function(&object, NOW), json!(expected), "{object}");
    }

    #[test]
    fn a_node_has_a_status_and_roles() {
        let ready = json!([{"type": "DiskPressure", "status": "False"}, {"type": "Ready", "status": "True"}]);
        check(node_status, json!({"status": {"conditions": ready}}), "Ready");
        check(node_status, json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}), "NotReady");
        check(node_status, json!({"spec": {"unschedulable": true}}), "Unknown,SchedulingDisabled");
        let labels = json!({"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/": "",
            "node-role.kubernetes.io/control-plane": "", "kubernetes.io/role": "edge", "x": "y"});
        check(node_roles, json!({"metadata": {"labels": labels}}), "control-plane,edge,worker");
        check(node_roles, json!({}), "<none>");
    }

    #[test]
    fn an_event_reads_alike_in_both_forms() {
        let core = json!({"involvedObject": {"kind": "Pod", "name": "p"}, "message": " m\n", "count": 3,
            "firstTimestamp": "2024-12-31T23:00:00Z", "lastTimestamp": "2024-12-31T23:59:00Z",
            "source": {"component": "kubelet", "host": "n1"}});
        let events = json!({"regarding": {"kind": "Pod", "name": "p"}, "note": " m\n", "deprecatedCount": 3,
            "deprecatedFirstTimestamp": "2024-12-31T23:00:00Z", "deprecatedLastTimestamp": "2024-12-31T23:59:00Z",
            "deprecatedSource": {"component": "kubelet", "host": "n1"}});
        let expected = json!(["60s", "pod/p", "kubelet, n1", "m", "60m", 3]);
        assert_eq!(json!(event_summary(&core, NOW)), expected);
        assert_eq!(json!(event_summary(&events, NOW)), expected);

        let series = json!({"regarding": {"kind": "Node"}, "eventTime": "2024-12-31T23:00:00.000000Z",
            "reportingController": "c", "reportingInstance": "i",
            "series": {"count": 7, "lastObservedTime": "2024-12-31T23:59:50.000000Z"}});
        assert_eq!(json!(event_summary(&series, NOW)), json!(["10s", "node", "c, i", "", "60m", 7]));
        assert_eq!(json!(event_summary(&json!({}), NOW)), json!(["<unknown>", "", "", "", "<unknown>", 1]));
    }

    #[test]
    fn a_quota_shows_requests_and_limits() {
        let quota = json!({"status": {"hard": {"pods": "4", "limits.cpu": "2", "cpu": "1"}, "used": {"pods": "1"}}});
        assert_eq!(json!(quota_usage(&quota, NOW)), json!(["cpu: 0/1, pods: 1/4", "limits.cpu: 0/2"]));
    }

    #[test]
    fn a_binding_lists_its_subjects() {
        let binding = json!({"subjects": [{"kind": "User", "name": "u"}, {"kind": "User", "name": "v"},
            {"kind": "Group", "name": "g"}, {"kind": "ServiceAccount", "namespace": "n", "name": "s"}]});
        assert_eq!(json!(subjects(&binding, NOW)), json!(["u, v", "g", "n/s"]));
    }

    #[test]
    fn a_signing_request_says_how_far_it_is() {
        let function = signing_request_condition;
        check(function, json!({}), "Pending");
        check(
            function,
            json!({"status": {"conditions": [{"type": "Approved"}], "certificate": "eA=="}}),
            "Approved,Issued",
        );
        check(function, json!({"status": {"conditions": [{"type": "Approved"}, {"type": "Denied"}]}}), "Denied");
        check(
            function,
            json!({"status": {"conditions": [{"type": "Approved"}, {"type": "Failed"}]}}),
            "Approved,Failed",
        );
    }

    #[test]
    fn an_api_service_says_why_it_is_not_available() {
        let with = |condition: Value| json!({"status": {"conditions": [condition]}});
        check(api_service_available, json!({}), "Unknown");
        let local = json!({"type": "Available", "status": "True", "reason": "Local"});
        check(api_service_available, with(local), "True");
        let missing = json!({"type": "Available", "status": "False", "reason": "ServiceNotFound"});
        check(api_service_available, with(missing), "False (ServiceNotFound)");
    }

    #[test]
    fn a_policy_binding_names_its_parameter() {
        check(policy_parameter, json!({}), "<unset>");
        check(policy_parameter, json!({"spec": {"paramRef": {"name": "p"}}}), "*/p");
        check(policy_parameter, json!({"spec": {"paramRef": {"name": "p", "namespace": "n"}}}), "n/p");
    }
}
