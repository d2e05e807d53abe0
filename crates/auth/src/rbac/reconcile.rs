//! Putting a bootstrap role or binding back in order: what it lacks is added, what somebody added stays.

use pawl_meta::object::Meta;
use serde_json::{Map, Value, json};

use super::{AUTO_UPDATE, Rule, covers};

/// What has to be done to an object that exists.
#[derive(Clone, Debug, PartialEq)]
pub enum Reconciliation {
    /// It is as it should be, or asks to be left alone.
    Keep,
    /// Write this in its place.
    Update(Value),
    /// It binds another role, which cannot be changed: delete it, then create this.
    Recreate(Value),
}

/// Compares what there is with what should be there. Both are of the same kind.
pub fn reconcile(existing: &Value, wanted: &Value) -> Reconciliation {
    if existing.annotation(AUTO_UPDATE) == Some("false") {
        return Reconciliation::Keep;
    }
    if wanted.get("roleRef").is_some_and(|role| existing.get("roleRef") != Some(role)) {
        return Reconciliation::Recreate(wanted.clone());
    }
    let mut updated = existing.clone();
    let Some(object) = updated.as_object_mut() else { return Reconciliation::Keep };
    add_metadata(object, wanted);
    if wanted.get("roleRef").is_some() {
        add_missing(object, "subjects", wanted.get("subjects"));
    } else {
        add_rules(object, existing, wanted);
        match wanted.get("aggregationRule") {
            None => {
                object.remove("aggregationRule");
            }
            Some(aggregation) => {
                let rule = object.entry("aggregationRule").or_insert(Value::Null);
                if !rule.is_object() {
                    *rule = json!({});
                }
                if let Some(rule) = rule.as_object_mut() {
                    add_missing(rule, "clusterRoleSelectors", aggregation.get("clusterRoleSelectors"));
                }
            }
        }
    }
    if updated == *existing { Reconciliation::Keep } else { Reconciliation::Update(updated) }
}

/// Adds wanted labels and annotations; what the object already has wins.
fn add_metadata(object: &mut Map<String, Value>, wanted: &Value) {
    let metadata = pawl_meta::object::metadata_mut(object);
    for field in ["labels", "annotations"] {
        let Some(wanted) = wanted.metadata().and_then(|m| m.get(field)).and_then(Value::as_object) else { continue };
        let own = metadata.entry(field).or_insert_with(|| json!({}));
        if !own.is_object() {
            *own = json!({});
        }
        if let Some(own) = own.as_object_mut() {
            for (key, value) in wanted {
                own.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
    }
}

/// Appends the permissions that the role lacks.
fn add_rules(object: &mut Map<String, Value>, existing: &Value, wanted: &Value) {
    let missing = covers::missing(&Rule::all_of(existing), &Rule::all_of(wanted)).unwrap_or_default();
    append(object, "rules", missing.iter().map(Rule::to_value).collect());
}

/// Appends the items of a list that are not there.
fn add_missing(object: &mut Map<String, Value>, field: &str, wanted: Option<&Value>) {
    let own = object.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut missing: Vec<Value> = Vec::new();
    for item in wanted.and_then(Value::as_array).into_iter().flatten() {
        if !own.contains(item) && !missing.contains(item) {
            missing.push(item.clone());
        }
    }
    append(object, field, missing);
}

fn append(object: &mut Map<String, Value>, field: &str, items: Vec<Value>) {
    if items.is_empty() {
        return;
    }
    match object.get_mut(field).and_then(Value::as_array_mut) {
        Some(list) => list.extend(items),
        None => {
            object.insert(field.to_owned(), Value::Array(items));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(rules: Value) -> Value {
        json!({"metadata": {"name": "r", "labels": {"l": "1"}, "annotations": {AUTO_UPDATE: "true"}}, "rules": rules})
    }

    fn rule(resource: &str, verbs: &[&str]) -> Value {
        json!({"verbs": verbs, "apiGroups": [""], "resources": [resource]})
    }

    fn check(existing: Value, wanted: Value, expect: Option<Value>) {
        let expect = expect.map_or(Reconciliation::Keep, Reconciliation::Update);
        assert_eq!(reconcile(&existing, &wanted), expect);
    }

    #[test]
    fn roles_get_what_they_lack_and_keep_the_rest() {
        let wanted = role(json!([rule("pods", &["get", "list"])]));
        check(wanted.clone(), wanted.clone(), None);
        check(role(json!([rule("pods", &["*"]), rule("extra", &["get"])])), wanted.clone(), None);
        check(
            role(json!([rule("pods", &["get"])])),
            wanted.clone(),
            Some(role(json!([rule("pods", &["get"]), rule("pods", &["list"])]))),
        );
        check(role(Value::Null), wanted.clone(), Some(role(json!([rule("pods", &["get"]), rule("pods", &["list"])]))));
        let mut unlabelled = wanted.clone();
        unlabelled["metadata"]["labels"] = json!({"own": "2"});
        let mut both = wanted.clone();
        both["metadata"]["labels"] = json!({"own": "2", "l": "1"});
        check(unlabelled, wanted, Some(both));
    }

    #[test]
    fn what_asks_to_be_left_alone_is() {
        let mut existing = role(json!([]));
        existing["metadata"]["annotations"][AUTO_UPDATE] = json!("false");
        check(existing, role(json!([rule("pods", &["get"])])), None);
    }

    #[test]
    fn aggregation_follows() {
        let selectors = |names: &[&str]| {
            let list: Vec<Value> = names.iter().map(|n| json!({"matchLabels": {"to": n}})).collect();
            let mut role = role(json!([rule("gathered", &["get"])]));
            role["aggregationRule"] = json!({"clusterRoleSelectors": list});
            role
        };
        let mut wanted = selectors(&["a"]);
        wanted["rules"] = Value::Null;
        check(selectors(&["a", "own"]), wanted.clone(), None);
        check(selectors(&["own"]), wanted.clone(), Some(selectors(&["own", "a"])));
        check(role(json!([rule("gathered", &["get"])])), wanted, Some(selectors(&["a"])));
        let plain = role(json!([rule("gathered", &["get"])]));
        check(selectors(&["a"]), plain.clone(), Some(plain));
    }

    #[test]
    fn bindings_get_their_subjects_back() {
        let binding = |role: &str, names: &[&str]| {
            let subjects: Vec<Value> = names.iter().map(|n| json!({"kind": "Group", "name": n})).collect();
            json!({"metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": role}, "subjects": subjects})
        };
        check(binding("r", &["own"]), binding("r", &["a"]), Some(binding("r", &["own", "a"])));
        check(binding("r", &["a", "own"]), binding("r", &["a"]), None);
        let wanted = binding("r", &["a"]);
        assert_eq!(reconcile(&binding("other", &["a"]), &wanted), Reconciliation::Recreate(wanted.clone()));
    }
}
