//! Cluster roles whose rules are gathered from other cluster roles by label.

use std::collections::BTreeSet;

use pawl_meta::object::Meta;
use pawl_meta::selector::{LabelRequirement, LabelSelector, Operator};
use serde_json::Value;

use super::Rule;

/// The rules that an aggregated role should have, gathered from all cluster roles. `None` when the role aggregates
/// nothing, has a selector that cannot be read, or already has exactly these rules.
pub fn aggregate<'a>(all: impl IntoIterator<Item = &'a Value>, role: &Value) -> Option<Vec<Rule>> {
    let selectors = role.get("aggregationRule")?.get("clusterRoleSelectors").and_then(Value::as_array);
    let mut others: Vec<&Value> = all.into_iter().filter(|other| other.name() != role.name()).collect();
    others.sort_by_key(|other| other.name().to_owned());
    let mut rules: Vec<Rule> = Vec::new();
    for selector in selectors.into_iter().flatten() {
        let selector = selector_of(selector)?;
        for other in others.iter().filter(|other| selects(&selector, other)) {
            for rule in Rule::all_of(other) {
                if !rules.contains(&rule) {
                    rules.push(rule);
                }
            }
        }
    }
    (rules != Rule::all_of(role)).then_some(rules)
}

fn selects(selector: &LabelSelector, object: &Value) -> bool {
    let labels = object.labels();
    selector.matches(|key| labels.and_then(|l| l.get(key)).and_then(Value::as_str))
}

/// `matchLabels` and `matchExpressions` as one selector. `None` for an operator that does not exist.
fn selector_of(selector: &Value) -> Option<LabelSelector> {
    let mut requirements = Vec::new();
    for (key, value) in selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
        let values = BTreeSet::from([value.as_str()?.to_owned()]);
        requirements.push(LabelRequirement { key: key.clone(), operator: Operator::In, values });
    }
    for expression in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
        let operator = match expression.get("operator").and_then(Value::as_str)? {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            _ => return None,
        };
        let key = expression.get("key").and_then(Value::as_str)?.to_owned();
        let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
        let values = values.filter_map(Value::as_str).map(str::to_owned).collect();
        requirements.push(LabelRequirement { key, operator, values });
    }
    Some(LabelSelector { requirements })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn role(name: &str, label: &str, resources: &[&str]) -> Value {
        let rules: Vec<Value> =
            resources.iter().map(|r| json!({"verbs": ["get"], "apiGroups": [""], "resources": [r]})).collect();
        json!({"metadata": {"name": name, "labels": {"to": label}}, "rules": rules})
    }

    fn check(selector: Value, expect: Option<&[&str]>) {
        let all = [role("b", "x", &["pods", "secrets"]), role("a", "x", &["nodes", "pods"]), role("c", "y", &["jobs"])];
        let mut whole = role("whole", "x", &["nodes"]);
        whole["aggregationRule"] = json!({"clusterRoleSelectors": [selector]});
        let roles = all.iter().chain([&whole]);
        let got = aggregate(roles, &whole).map(|rules| rules.into_iter().flat_map(|r| r.resources).collect::<Vec<_>>());
        assert_eq!(got, expect.map(|list| list.iter().map(|s| (*s).to_owned()).collect()));
    }

    #[test]
    fn rules_are_gathered_by_name_of_the_role_without_repeating() {
        check(json!({"matchLabels": {"to": "x"}}), Some(&["nodes", "pods", "secrets"]));
        check(json!({"matchExpressions": [{"key": "to", "operator": "In", "values": ["y"]}]}), Some(&["jobs"]));
        check(json!({}), Some(&["nodes", "pods", "secrets", "jobs"]));
        check(json!({"matchLabels": {"to": "z"}}), Some(&[]));
        check(json!({"matchExpressions": [{"key": "to", "operator": "Like"}]}), None);
    }

    #[test]
    fn nothing_to_do_is_said() {
        let part = role("a", "x", &["nodes"]);
        let mut whole = role("whole", "", &["nodes"]);
        assert_eq!(aggregate([&part], &whole), None);
        whole["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {"to": "x"}}]});
        assert_eq!(aggregate([&part], &whole), None);
    }
}
