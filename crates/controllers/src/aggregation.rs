//! Aggregated cluster roles: the rules of a role that has an aggregation rule are those of the roles it selects.
//!
//! It owns the rules of such roles by apply, under its own name and by force, as upstream. Other roles are only read.

use std::sync::Arc;

use pawl_meta::Status;
use pawl_meta::object::{Meta, Object};
use pawl_meta::selector::{LabelRequirement, LabelSelector, Operator};
use serde_json::{Value, json};

use crate::actor::{Actor, Outcome, object};
use crate::counters::Tally;
use crate::informer::{Batch, Informer};
use crate::tasks::{Reconciler, Tasks};
use crate::workqueue::{Reconciled, WorkQueue};

const GROUP: &str = "rbac.authorization.k8s.io";

pub fn start(tasks: &mut Tasks, actor: Actor, tally: Arc<Tally>) {
    let informer = Informer::of(&actor, &[(GROUP, "clusterroles")]);
    tasks.run(Arc::new(Aggregation { actor, tally, queue: WorkQueue::default() }), informer, 1);
}

struct Aggregation {
    actor: Actor,
    tally: Arc<Tally>,
    /// Roles that aggregate others may aggregate each other, so there is one object to do: put all of them right.
    queue: WorkQueue<()>,
}

impl Reconciler for Aggregation {
    type Key = ();

    fn queue(&self) -> &WorkQueue<()> {
        &self.queue
    }

    fn enqueue(&self, _: Batch) {
        self.queue.add(());
    }

    async fn reconcile(&self, (): ()) -> Reconciled {
        match self.aggregate().await {
            Ok(()) => Reconciled::Done,
            Err(status) => {
                tracing::debug!(%status, "aggregation of cluster roles is tried again");
                self.tally.retries.add(1);
                Reconciled::Retry
            }
        }
    }
}

impl Aggregation {
    async fn aggregate(&self) -> Result<(), Status> {
        let Some(served) = self.actor.served(GROUP, "clusterroles") else { return Ok(()) };
        self.actor.registry.storage().catch_up().await?;
        // The cache is ordered by name.
        let roles: Vec<Object> = served.stored.cache.objects().iter().filter_map(|(_, entry)| object(entry)).collect();
        let mut failed = None;
        for (role, rules) in plan(&roles) {
            let name = role.name();
            let mut intent = Object::new();
            intent.insert("apiVersion".to_owned(), json!(served.resource.group_version().to_string()));
            intent.insert("kind".to_owned(), json!(served.resource.facts.kind));
            intent.insert("metadata".to_owned(), json!({"name": name}));
            if !rules.is_empty() {
                intent.insert("rules".to_owned(), Value::Array(rules));
            }
            match self.actor.apply(&served, ("", name), &Value::Object(intent)).await {
                Ok(Outcome::Done) => self.tally.published.add(1),
                Ok(_) => {}
                // One role that cannot be put right keeps no other from it.
                Err(status) => failed = Some(status),
            }
        }
        failed.map_or(Ok(()), Err)
    }
}

/// The roles that do not have the rules they should have. The roles are in the order of their names.
fn plan(roles: &[Object]) -> Vec<(&Object, Vec<Value>)> {
    let mut wrong = Vec::new();
    for role in roles.iter().filter(|role| !role.is_deleting()) {
        let Some(aggregation) = role.get("aggregationRule").filter(|rule| !rule.is_null()) else { continue };
        let selectors = aggregation.get("clusterRoleSelectors").and_then(Value::as_array);
        let mut rules: Vec<Value> = Vec::new();
        for selector in selectors.into_iter().flatten().filter_map(selector) {
            let selected = roles.iter().filter(|other| other.name() != role.name()).filter(|other| {
                selector.matches(|key| other.labels().and_then(|labels| labels.get(key)).and_then(Value::as_str))
            });
            for rule in selected.flat_map(rules_of) {
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
        }
        if rules != rules_of(role) {
            wrong.push((role, rules));
        }
    }
    wrong
}

/// The rules of a role, without the empty lists that mean the same as none.
fn rules_of(role: &Object) -> Vec<Value> {
    let rules = role.get("rules").and_then(Value::as_array).cloned().unwrap_or_default();
    let whole = |rule: Value| match rule {
        Value::Object(mut fields) => {
            fields.retain(|_, value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()));
            Value::Object(fields)
        }
        other => other,
    };
    rules.into_iter().map(whole).collect()
}

/// Reads a label selector of an object. One that cannot be read selects nothing.
fn selector(value: &Value) -> Option<LabelSelector> {
    let mut requirements = Vec::new();
    for (key, wanted) in value.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
        let values = [wanted.as_str()?.to_owned()].into();
        requirements.push(LabelRequirement { key: key.clone(), operator: Operator::In, values });
    }
    for expression in value.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
        let operator = match expression.get("operator").and_then(Value::as_str)? {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            _ => return None,
        };
        let values = expression.get("values").and_then(Value::as_array);
        requirements.push(LabelRequirement {
            key: expression.get("key").and_then(Value::as_str)?.to_owned(),
            operator,
            values: values.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
        });
    }
    Some(LabelSelector { requirements })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(name: &str, labels: Value, selectors: Value, rules: &[&str]) -> Object {
        let rules: Vec<Value> =
            rules.iter().map(|r| json!({"apiGroups": [""], "resources": [r], "verbs": ["get"]})).collect();
        let mut role = json!({"metadata": {"name": name, "labels": labels}, "rules": rules});
        if !selectors.is_null() {
            role["aggregationRule"] = json!({"clusterRoleSelectors": selectors});
        }
        role.as_object().unwrap().clone()
    }

    fn check(roles: &[Object], expect: &[(&str, &[&str])]) {
        let got: Vec<(&str, Vec<String>)> = plan(roles)
            .into_iter()
            .map(|(role, rules)| {
                (role.name(), rules.iter().map(|r| r["resources"][0].as_str().unwrap().to_owned()).collect())
            })
            .collect();
        let expect: Vec<(&str, Vec<String>)> =
            expect.iter().map(|(n, r)| (*n, r.iter().map(|r| (*r).to_owned()).collect())).collect();
        assert_eq!(got, expect);
    }

    #[test]
    fn rules_are_those_of_the_selected_roles() {
        let parts = [
            role("a", json!({"to": "x"}), Value::Null, &["pods", "secrets"]),
            role("b", json!({"to": "x", "also": "y"}), Value::Null, &["secrets", "nodes"]),
            role("c", json!({}), Value::Null, &["leases"]),
        ];
        let with = |selectors: Value, rules: &[&str]| {
            let mut roles = parts.to_vec();
            roles.push(role("x", json!({"to": "x"}), selectors, rules));
            roles
        };
        let by_label = json!([{"matchLabels": {"to": "x"}}]);
        check(&with(by_label.clone(), &[]), &[("x", &["pods", "secrets", "nodes"])]);
        check(&with(by_label, &["pods", "secrets", "nodes"]), &[]);
        check(
            &with(json!([{"matchLabels": {"also": "y"}}, {"matchLabels": {"to": "x"}}]), &[]),
            &[("x", &["secrets", "nodes", "pods"])],
        );
        let by_expression = json!([{"matchExpressions": [{"key": "also", "operator": "DoesNotExist"},
            {"key": "to", "operator": "In", "values": ["x"]}]}]);
        check(&with(by_expression, &["leases"]), &[("x", &["pods", "secrets"])]);
        check(&with(json!([{"matchLabels": {"to": "nobody"}}]), &["pods"]), &[("x", &[])]);
        check(&with(Value::Null, &["pods"]), &[]);
    }
}
