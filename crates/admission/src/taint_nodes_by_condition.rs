//! A new node is not ready until somebody says so.

use pawl_meta::object::Object;
use pawl_meta::{GroupResource, read};
use serde_json::json;

use crate::{AdmissionVerdict, Attributes, Operation, Plugin};

const KEY: &str = "node.kubernetes.io/not-ready";
const EFFECT: &str = "NoSchedule";

pub struct TaintNodesByCondition;

impl Plugin for TaintNodesByCondition {
    fn name(&self) -> &'static str {
        "TaintNodesByCondition"
    }

    fn looks_at_others(&self, _resource: &GroupResource) -> bool {
        false
    }

    fn mutate<'a>(&'a self, attributes: &'a Attributes<'a>, object: &'a mut Object) -> AdmissionVerdict<'a> {
        Box::pin(async move {
            if attributes.operation == Operation::Create && attributes.is("", "nodes") {
                taint(object);
            }
            Ok(())
        })
    }
}

fn taint(node: &mut Object) {
    let Some(spec) = read::map_mut(node, "spec") else { return };
    let mut taints = read::each(spec, "taints");
    if taints.any(|taint| read::text(taint, "key") == KEY && read::text(taint, "effect") == EFFECT) {
        return;
    }
    drop(taints);
    if let Some(taints) = read::list_mut(spec, "taints") {
        taints.push(json!({"key": KEY, "effect": EFFECT}));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::fake::{Request, Stored};

    #[test]
    fn new_nodes_are_tainted_once() {
        let check = |request: Request, node: Value, expect: Value| {
            assert_eq!(request.mutate(&TaintNodesByCondition, node, &Stored::default()), Ok(expect));
        };
        let ours = json!({"key": KEY, "effect": EFFECT});
        let executing = json!({"key": KEY, "effect": "NoExecute"});
        let create = || Request::create("", "nodes");
        check(create(), json!({}), json!({"spec": {"taints": [ours]}}));
        check(create(), json!({"spec": {"taints": [ours]}}), json!({"spec": {"taints": [ours]}}));
        check(create(), json!({"spec": {"taints": [executing]}}), json!({"spec": {"taints": [executing, ours]}}));
        check(Request::update("", "nodes", json!({})), json!({}), json!({}));
        check(Request { subresource: "status", ..create() }, json!({}), json!({}));
    }
}
