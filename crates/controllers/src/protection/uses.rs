//! Who uses a claim, a volume or a class.

use pawl_meta::object::{Meta, Object, at};
use pawl_usage::{Path, Used, User, references};
use serde_json::Value;

/// A claim that a pod names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    pub name: String,
    /// It is made for the pod, from a template in it.
    pub ephemeral: bool,
}

pub fn claims_of(pod: &Object) -> Vec<Claimed> {
    let mut claims = Vec::new();
    references(User::Pod, pod, &mut |reference| {
        if reference.used == Used::Claim {
            let ephemeral = matches!(reference.at, Path::Field(_, "ephemeral"));
            claims.push(Claimed { name: reference.name.to_owned(), ephemeral });
        }
    });
    claims
}

/// Whether a pod keeps a claim from being deleted. A pod that no node has yet can still be kept from starting.
pub fn pod_uses_claim(pod: &Object, claim: &Object) -> bool {
    let scheduled = at(pod, "spec.nodeName").and_then(Value::as_str).is_some_and(|node| !node.is_empty());
    scheduled
        && claims_of(pod).iter().filter(|claimed| claimed.name == claim.name()).any(|claimed| {
            // A claim of its own goes with the pod, so a pod that is shut down no longer counts.
            !claimed.ephemeral || (!is_shut_down(pod) && is_controlled_by(claim, pod))
        })
}

/// The node is done with the pod, or somebody deleted it by force.
fn is_shut_down(pod: &Object) -> bool {
    pod.is_deleting() && at(pod, "metadata.deletionGracePeriodSeconds").and_then(Value::as_i64) == Some(0)
}

fn is_controlled_by(claim: &Object, pod: &Object) -> bool {
    let owners = at(claim, "metadata.ownerReferences").and_then(Value::as_array);
    owners.into_iter().flatten().any(|owner| {
        owner.get("controller").and_then(Value::as_bool) == Some(true)
            && owner.get("uid").and_then(Value::as_str) == Some(pod.uid())
    })
}

pub fn is_bound(volume: &Object) -> bool {
    at(volume, "status.phase").and_then(Value::as_str) == Some("Bound")
}

pub fn volume_uses_class(volume: &Object, class: &str) -> bool {
    names(volume, "spec.volumeAttributesClassName", class)
}

pub fn claim_uses_class(claim: &Object, class: &str) -> bool {
    names(claim, "spec.volumeAttributesClassName", class)
        || names(claim, "status.currentVolumeAttributesClassName", class)
        || names(claim, "status.modifyVolumeStatus.targetVolumeAttributesClassName", class)
}

fn names(object: &Object, path: &str, name: &str) -> bool {
    at(object, path).and_then(Value::as_str) == Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check_pod(pod: Value, expect: bool) {
        let claim = json!({"metadata": {"name": "p-own", "ownerReferences": [{"uid": "u", "controller": true}]}});
        assert_eq!(pod_uses_claim(pod.as_object().unwrap(), claim.as_object().unwrap()), expect, "{pod}");
    }

    #[test]
    fn a_scheduled_pod_uses_the_claims_it_names() {
        let by_name = json!([{"name": "x", "persistentVolumeClaim": {"claimName": "p-own"}}]);
        check_pod(json!({"metadata": {"name": "q"}, "spec": {"nodeName": "n", "volumes": by_name}}), true);
        check_pod(json!({"metadata": {"name": "q"}, "spec": {"volumes": by_name}}), false);
        check_pod(json!({"metadata": {"name": "q"}, "spec": {"nodeName": "n", "volumes": [{"name": "own"}]}}), false);
        check_pod(json!({"metadata": {"name": "q"}, "spec": {"nodeName": "n"}}), false);
    }

    #[test]
    fn a_claim_made_for_a_pod_is_used_by_that_pod() {
        let own = json!({"nodeName": "n", "volumes": [{"name": "own", "ephemeral": {}}]});
        check_pod(json!({"metadata": {"name": "p", "uid": "u"}, "spec": own}), true);
        check_pod(json!({"metadata": {"name": "p", "uid": "other"}, "spec": own}), false);
        let down = json!({"name": "p", "uid": "u", "deletionTimestamp": "t", "deletionGracePeriodSeconds": 0});
        check_pod(json!({"metadata": down, "spec": own}), false);
        let ending = json!({"name": "p", "uid": "u", "deletionTimestamp": "t", "deletionGracePeriodSeconds": 30});
        check_pod(json!({"metadata": ending, "spec": own}), true);
    }

    #[test]
    fn volumes_and_claims_use_classes() {
        let check = |object: Value, expect: bool| {
            assert_eq!(claim_uses_class(object.as_object().unwrap(), "gold"), expect, "{object}");
        };
        check(json!({"spec": {"volumeAttributesClassName": "gold"}}), true);
        check(json!({"status": {"currentVolumeAttributesClassName": "gold"}}), true);
        check(json!({"status": {"modifyVolumeStatus": {"targetVolumeAttributesClassName": "gold"}}}), true);
        check(json!({"spec": {"volumeAttributesClassName": "silver"}}), false);
    }
}
