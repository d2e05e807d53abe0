//! What a disruption budget says to an eviction. Pure.

use pawl_meta::object::{Meta, Object};
use pawl_meta::selector::LabelSelector;
use pawl_meta::{Cause, GroupResource, Status};
use serde_json::{Value, json};

use crate::scale::selector_text;

/// More evictions than this that the budget's controller has not seen yet are too many.
const DISRUPTED_MAX: usize = 2000;

/// Whether a budget is about a pod. No selector selects nothing, an empty one everything.
pub(super) fn covers(budget: &Object, pod: &Object) -> bool {
    let Some(selector) = pawl_meta::object::at(budget, "spec.selector").filter(|selector| selector.is_object()) else {
        return false;
    };
    let labels = pod.labels();
    let label = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str);
    LabelSelector::parse(&selector_text(Some(selector))).is_ok_and(|selector| selector.matches(label))
}

/// Whether a pod that is not ready may go without counting: it does not add to what the budget keeps.
pub(super) fn spares_unready(budget: &Object, pod: &Object) -> bool {
    if is_ready(pod) {
        return false;
    }
    let policy = pawl_meta::object::at(budget, "spec.unhealthyPodEvictionPolicy").and_then(Value::as_str);
    let (current, desired) = (number(budget, "currentHealthy"), number(budget, "desiredHealthy"));
    policy == Some("AlwaysAllow") || (current >= desired && desired > 0)
}

/// The budget's status after one more pod went, or why it may not go.
pub(super) fn spend(budget: &Object, pod: &str, now: &str) -> Result<Object, Status> {
    let name = budget.name();
    let status = budget.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    if number(budget, "observedGeneration") < budget.generation() {
        return Err(still_processed(name));
    }
    let allowed = number(budget, "disruptionsAllowed");
    let forbidden = |why: &str| Err(Status::forbidden(&GroupResource::new("policy", "poddisruptionbudget"), name, why));
    if allowed < 0 {
        return forbidden("pdb disruptions allowed is negative");
    }
    if status.get("disruptedPods").and_then(Value::as_object).is_some_and(|pods| pods.len() > DISRUPTED_MAX) {
        return forbidden("DisruptedPods map too big - too many evictions not confirmed by PDB controller");
    }
    if allowed == 0 {
        return Err(violated(0, exhausted(budget, &status)));
    }
    let mut status = status;
    status.insert("disruptionsAllowed".to_owned(), json!(allowed - 1));
    if allowed == 1 {
        set_exhausted(&mut status, number(budget, "observedGeneration"), now);
    }
    let disrupted = status.entry("disruptedPods").or_insert_with(|| json!({}));
    if !disrupted.is_object() {
        *disrupted = json!({});
    }
    if let Value::Object(disrupted) = disrupted {
        disrupted.insert(pod.to_owned(), json!(now));
    }
    Ok(status)
}

/// Takes back what was counted for a pod, as far as it is still there.
pub(super) fn give_back(budget: &mut Object, pod: &str) {
    let allowed = number(budget, "disruptionsAllowed");
    let Some(Value::Object(status)) = budget.get_mut("status") else { return };
    let disrupted = status.get_mut("disruptedPods").and_then(Value::as_object_mut);
    // Whoever keeps the budget may have counted anew by now.
    if disrupted.is_none_or(|pods| pods.remove(pod).is_none()) {
        return;
    }
    status.insert("disruptionsAllowed".to_owned(), json!(allowed + 1));
    let conditions = status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten();
    for condition in conditions.filter(|c| c.get("type").is_some_and(|t| t == "DisruptionAllowed")) {
        condition["status"] = json!("True");
        condition["reason"] = json!("SufficientPods");
    }
}

/// The answer while the budget's controller is behind.
pub(super) fn still_processed(name: &str) -> Status {
    violated(10, format!("The disruption budget {name} is still being processed by the server."))
}

fn violated(retry_after: u32, why: String) -> Status {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let mut status = Status::too_many_requests(message, retry_after);
    let cause = Cause { reason: "DisruptionBudget".to_owned(), message: why, field: String::new() };
    status.details.get_or_insert_default().causes.push(cause);
    status
}

fn exhausted(budget: &Object, status: &Object) -> String {
    let name = budget.name();
    let conditions = status.get("conditions").and_then(Value::as_array);
    let condition = conditions.into_iter().flatten().find(|c| c.get("type").is_some_and(|t| t == "DisruptionAllowed"));
    let text = |field: &str| condition.and_then(|c| c.get(field)).and_then(Value::as_str).unwrap_or_default();
    let told = text("status") == "False" && !text("message").is_empty();
    let (current, desired) = (number(budget, "currentHealthy"), number(budget, "desiredHealthy"));
    let not_now = format!("The disruption budget {name} does not allow evicting pods currently");
    if told && text("reason") == "SyncFailed" {
        format!("{not_now} because it failed sync: {}", text("message"))
    } else if current <= desired {
        format!("The disruption budget {name} needs {desired} healthy pods and has {current} currently")
    } else if told {
        format!("{not_now} ({}): {}", text("reason"), text("message"))
    } else {
        not_now
    }
}

fn set_exhausted(status: &mut Object, generation: i64, now: &str) {
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Value::Array(conditions) = conditions else { return };
    let known = conditions.iter_mut().find(|c| c.get("type").is_some_and(|t| t == "DisruptionAllowed"));
    let since = known.as_ref().filter(|c| c.get("status").is_some_and(|s| s == "False"));
    let since = since.and_then(|c| c.get("lastTransitionTime")).cloned().unwrap_or_else(|| json!(now));
    let condition = json!({
        "type": "DisruptionAllowed", "status": "False", "observedGeneration": generation,
        "lastTransitionTime": since, "reason": "InsufficientPods", "message": "",
    });
    match known {
        Some(known) => *known = condition,
        None => conditions.push(condition),
    }
}

fn is_ready(pod: &Object) -> bool {
    let conditions = pawl_meta::object::at(pod, "status.conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        condition.get("type").is_some_and(|t| t == "Ready") && condition.get("status").is_some_and(|s| s == "True")
    })
}

fn number(budget: &Object, field: &str) -> i64 {
    budget.get("status").and_then(|status| status.get(field)).and_then(Value::as_i64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Object {
        value.as_object().unwrap().clone()
    }

    fn budget(status: Value) -> Object {
        object(json!({"metadata": {"name": "b", "generation": 2}, "spec": {}, "status": status}))
    }

    #[test]
    fn an_eviction_is_counted_or_refused() {
        let refused = |status: Value| spend(&budget(status), "p", "now").unwrap_err();
        let cause = |status: &Status| status.details.as_ref().unwrap().causes[0].message.clone();
        let behind = refused(json!({"observedGeneration": 1}));
        assert_eq!((behind.code, behind.details.as_ref().unwrap().retry_after_seconds), (429, 10));
        let status = json!({"observedGeneration": 2, "currentHealthy": 1, "desiredHealthy": 2});
        assert_eq!(cause(&refused(status)), "The disruption budget b needs 2 healthy pods and has 1 currently");
        let status = json!({"observedGeneration": 2, "disruptionsAllowed": -1});
        assert_eq!(refused(status).code, 403);
        let spent = spend(&budget(json!({"observedGeneration": 2, "disruptionsAllowed": 1})), "p", "now").unwrap();
        assert_eq!(spent["disruptionsAllowed"], 0);
        assert_eq!(spent["disruptedPods"], json!({"p": "now"}));
        assert_eq!(spent["conditions"][0]["reason"], "InsufficientPods");
    }

    #[test]
    fn what_was_counted_for_a_pod_that_stays_is_given_back_once() {
        let before = json!({"observedGeneration": 2, "disruptionsAllowed": 1});
        let mut spent = budget(Value::Object(spend(&budget(before), "p", "now").unwrap()));
        for _ in 0..2 {
            give_back(&mut spent, "p");
            assert_eq!(spent["status"]["disruptionsAllowed"], 1);
            assert_eq!(spent["status"]["disruptedPods"], json!({}));
            assert_eq!(spent["status"]["conditions"][0]["reason"], "SufficientPods");
        }
    }

    #[test]
    fn budgets_select_pods() {
        let pod = object(json!({"metadata": {"labels": {"app": "a"}}}));
        let check = |selector: Value, expect: bool| {
            assert_eq!(covers(&object(json!({"spec": {"selector": selector}})), &pod), expect, "{selector}");
        };
        check(json!({"matchLabels": {"app": "a"}}), true);
        check(json!({"matchLabels": {"app": "b"}}), false);
        check(json!({}), true);
        check(Value::Null, false);
    }
}
