//! What a pod's row says about its containers: how many are ready, what the pod is up to, how often they restarted.

use serde_json::{Value, json};

use super::duration::{human, unix_seconds};
use super::fields::{condition_holds, flag, has, items, number, text};

/// Ready containers of all, the status in a word, and restarts with when the last one was.
pub(super) fn summary(pod: &Value, now: i64) -> Vec<Value> {
    let conditions = items(pod, &["status", "conditions"]);
    let sidecars: Vec<&str> = items(pod, &["spec", "initContainers"])
        .iter()
        .filter(|container| text(container, &["restartPolicy"]) == "Always")
        .map(|container| text(container, &["name"]))
        .collect();
    let total = items(pod, &["spec", "containers"]).len() + sidecars.len();

    let init = initialization(pod, &sidecars);
    let mut status = init.stuck.clone().unwrap_or_else(|| phase(pod, conditions));
    let mut ready = init.ready_sidecars;
    let mut restarts = init.all;
    if init.stuck.is_none() || condition_holds(conditions, "Initialized") {
        let main = main_containers(pod, status, condition_holds(conditions, "Ready"));
        status = main.status;
        ready += main.ready;
        restarts = init.sidecars.and(main.restarts);
    }
    if has(pod, &["metadata", "deletionTimestamp"]) {
        if text(pod, &["status", "reason"]) == "NodeLost" {
            status = "Unknown".to_owned();
        } else if !matches!(text(pod, &["status", "phase"]), "Succeeded" | "Failed") {
            status = "Terminating".to_owned();
        }
    }
    vec![json!(format!("{ready}/{total}")), json!(status), json!(restarts.shown(now))]
}

/// How many of the readiness gates are open.
pub(super) fn readiness_gates(pod: &Value, _now: i64) -> Value {
    let gates = items(pod, &["spec", "readinessGates"]);
    if gates.is_empty() {
        return json!("<none>");
    }
    let conditions = items(pod, &["status", "conditions"]);
    let open = gates.iter().filter(|gate| condition_holds(conditions, text(gate, &["conditionType"]))).count();
    json!(format!("{open}/{}", gates.len()))
}

/// Restarts, and when the last one began.
#[derive(Clone, Copy, Default)]
struct Restarts {
    count: i64,
    last: Option<i64>,
}

impl Restarts {
    fn of(container: &Value) -> Self {
        let finished = text(container, &["lastState", "terminated", "finishedAt"]);
        Restarts { count: number(container, &["restartCount"]), last: unix_seconds(finished) }
    }

    fn and(self, other: Self) -> Self {
        Restarts { count: self.count + other.count, last: self.last.max(other.last) }
    }

    fn shown(self, now: i64) -> String {
        match self.last {
            Some(last) if self.count != 0 => format!("{} ({} ago)", self.count, human(now.saturating_sub(last))),
            _ => self.count.to_string(),
        }
    }
}

/// How far the init containers have come.
#[derive(Default)]
struct Initialization {
    /// What the init container that holds the pod up is doing.
    stuck: Option<String>,
    ready_sidecars: usize,
    all: Restarts,
    sidecars: Restarts,
}

fn initialization(pod: &Value, sidecars: &[&str]) -> Initialization {
    let mut init = Initialization::default();
    for (index, container) in items(pod, &["status", "initContainerStatuses"]).iter().enumerate() {
        let sidecar = sidecars.contains(&text(container, &["name"]));
        init.all = init.all.and(Restarts::of(container));
        if sidecar {
            init.sidecars = init.sidecars.and(Restarts::of(container));
        }
        let terminated = has(container, &["state", "terminated"]);
        if terminated && number(container, &["state", "terminated", "exitCode"]) == 0 {
            continue;
        }
        if sidecar && flag(container, &["started"]) {
            init.ready_sidecars += usize::from(flag(container, &["ready"]));
            continue;
        }
        let waiting = text(container, &["state", "waiting", "reason"]);
        init.stuck = Some(if terminated {
            format!("Init:{}", termination(container))
        } else if !matches!(waiting, "" | "PodInitializing") {
            format!("Init:{waiting}")
        } else {
            format!("Init:{index}/{}", items(pod, &["spec", "initContainers"]).len())
        });
        break;
    }
    init
}

/// What the main containers say.
struct MainContainers {
    status: String,
    ready: usize,
    restarts: Restarts,
}

/// The first container that has something to say gives the status; `status` stands when none has.
fn main_containers(pod: &Value, status: String, pod_is_ready: bool) -> MainContainers {
    let mut main = MainContainers { status, ready: 0, restarts: Restarts::default() };
    let mut failure = None;
    for container in items(pod, &["status", "containerStatuses"]).iter().rev() {
        main.restarts = main.restarts.and(Restarts::of(container));
        let waiting = text(container, &["state", "waiting", "reason"]);
        if !waiting.is_empty() {
            main.status = waiting.to_owned();
        } else if has(container, &["state", "terminated"]) {
            main.status = termination(container);
            if number(container, &["state", "terminated", "exitCode"]) != 0 {
                failure = Some(main.status.clone());
            }
        } else if flag(container, &["ready"]) && has(container, &["state", "running"]) {
            main.ready += 1;
        }
    }
    // A pod of which one container has completed is not completed while others run or have failed.
    if main.status == "Completed" {
        if main.ready > 0 && pod_is_ready {
            main.status = "Running".to_owned();
        } else if let Some(failure) = failure {
            main.status = failure;
        } else if main.ready > 0 {
            main.status = "NotReady".to_owned();
        }
    }
    main
}

/// Why a container ended, in a word.
fn termination(container: &Value) -> String {
    let reason = text(container, &["state", "terminated", "reason"]);
    let signal = number(container, &["state", "terminated", "signal"]);
    if !reason.is_empty() {
        reason.to_owned()
    } else if signal != 0 {
        format!("Signal:{signal}")
    } else {
        format!("ExitCode:{}", number(container, &["state", "terminated", "exitCode"]))
    }
}

/// The pod's phase, unless it has a reason or waits behind scheduling gates.
fn phase(pod: &Value, conditions: &[Value]) -> String {
    let gated = conditions.iter().any(|condition| {
        text(condition, &["type"]) == "PodScheduled" && text(condition, &["reason"]) == "SchedulingGated"
    });
    match text(pod, &["status", "reason"]) {
        _ if gated => "SchedulingGated".to_owned(),
        "" => text(pod, &["status", "phase"]).to_owned(),
        reason => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_735_689_600; // 2025-01-01T00:00:00Z

    #[test]
    fn the_summary_follows_the_containers() {
        let one = json!([{"name": "c"}]);
        let two = json!([{"name": "c"}, {"name": "d"}]);
        let running =
            |restarts: i64| json!({"name": "c", "ready": true, "restartCount": restarts, "state": {"running": {}}});
        let completed = json!({"name": "d", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}});
        let waiting = |reason: &str| json!({"name": "c", "state": {"waiting": {"reason": reason}}});
        let ended = |code: i64, signal: i64| json!({"name": "c", "state": {"terminated": {"exitCode": code, "signal": signal}}});
        for (spec, status, expected) in [
            (json!({"containers": one}), json!({"phase": "Pending"}), ["0/1", "Pending", "0"]),
            (
                json!({"containers": one}),
                json!({"phase": "Running", "containerStatuses": [running(0)]}),
                ["1/1", "Running", "0"],
            ),
            (
                json!({"containers": one}),
                json!({"phase": "Running", "containerStatuses": [{"name": "c", "ready": true, "restartCount": 2,
                    "state": {"running": {}}, "lastState": {"terminated": {"finishedAt": "2024-12-31T23:55:00Z"}}}]}),
                ["1/1", "Running", "2 (5m ago)"],
            ),
            (
                json!({"containers": one}),
                json!({"phase": "Pending", "containerStatuses": [waiting("ImagePullBackOff")]}),
                ["0/1", "ImagePullBackOff", "0"],
            ),
            (
                json!({"containers": one}),
                json!({"phase": "Failed", "containerStatuses": [ended(3, 0)]}),
                ["0/1", "ExitCode:3", "0"],
            ),
            (
                json!({"containers": one}),
                json!({"phase": "Failed", "containerStatuses": [ended(137, 9)]}),
                ["0/1", "Signal:9", "0"],
            ),
            (json!({"containers": one}), json!({"phase": "Failed", "reason": "Evicted"}), ["0/1", "Evicted", "0"]),
            (
                json!({"containers": one}),
                json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]}),
                ["0/1", "SchedulingGated", "0"],
            ),
            (
                json!({"containers": two}),
                json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
                    "containerStatuses": [running(1), completed]}),
                ["1/2", "Running", "1"],
            ),
            (
                json!({"containers": two}),
                json!({"phase": "Running", "containerStatuses": [running(0), completed]}),
                ["1/2", "NotReady", "0"],
            ),
            (
                json!({"containers": one, "initContainers": [{"name": "i"}, {"name": "j"}]}),
                json!({"phase": "Pending", "initContainerStatuses": [
                    {"name": "i", "state": {"terminated": {"exitCode": 0}}},
                    {"name": "j", "state": {"waiting": {"reason": "PodInitializing"}}}]}),
                ["0/1", "Init:1/2", "0"],
            ),
            (
                json!({"containers": one, "initContainers": [{"name": "i"}]}),
                json!({"phase": "Pending", "initContainerStatuses": [
                    {"name": "i", "restartCount": 4, "state": {"terminated": {"exitCode": 1, "reason": "Error"}}}]}),
                ["0/1", "Init:Error", "4"],
            ),
            (
                json!({"containers": one, "initContainers": [{"name": "s", "restartPolicy": "Always"}]}),
                json!({"phase": "Running", "containerStatuses": [running(1)], "initContainerStatuses": [
                    {"name": "s", "restartCount": 2, "started": true, "ready": true, "state": {"running": {}}}]}),
                ["2/2", "Running", "3"],
            ),
        ] {
            let pod = json!({"spec": spec, "status": status});
            assert_eq!(summary(&pod, NOW), expected.map(|cell| json!(cell)), "{pod}");
        }
    }

    #[test]
    fn a_deleted_pod_is_terminating_unless_it_has_ended_or_its_node_is_lost() {
        for (status, expected) in [
            (json!({"phase": "Running"}), "Terminating"),
            (json!({"phase": "Succeeded"}), "Succeeded"),
            (json!({"phase": "Running", "reason": "NodeLost"}), "Unknown"),
        ] {
            let pod = json!({"metadata": {"deletionTimestamp": "2025-01-01T00:00:00Z"}, "status": status});
            assert_eq!(summary(&pod, NOW).get(1), Some(&json!(expected)), "{pod}");
        }
    }

    #[test]
    fn gates_are_counted_by_their_conditions() {
        let pod = json!({
            "spec": {"readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}]},
            "status": {"conditions": [{"type": "a", "status": "True"}, {"type": "b", "status": "False"}]},
        });
        assert_eq!(readiness_gates(&pod, NOW), json!("1/2"));
        assert_eq!(readiness_gates(&json!({}), NOW), json!("<none>"));
    }
}
