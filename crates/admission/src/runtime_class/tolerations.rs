//! Two lists of tolerations become one, without those that another one includes.

use pawl_meta::object::Object;
use serde_json::Value;

use pawl_meta::read;

/// The tolerations that are needed; of equal ones the first.
pub fn merged<'a>(all: impl Iterator<Item = &'a Object>) -> Vec<Value> {
    let all: Vec<&Object> = all.collect();
    let mut kept: Vec<&Object> = Vec::new();
    for (at, toleration) in all.iter().enumerate() {
        let mut later = all.iter().skip(at + 1);
        let redundant = kept.iter().any(|other| includes(other, toleration))
            || later.any(|other| !same(other, toleration) && includes(other, toleration));
        if !redundant {
            kept.push(toleration);
        }
    }
    kept.into_iter().map(|toleration| Value::Object(toleration.clone())).collect()
}

/// Whether everything that `narrow` tolerates is tolerated by `wide`.
fn includes(wide: &Object, narrow: &Object) -> bool {
    if same(wide, narrow) {
        return true;
    }
    let [wide_key, wide_operator, wide_value, wide_effect] = texts(wide);
    let [key, operator, value, effect] = texts(narrow);
    let all_keys = wide_key.is_empty() && wide_operator == "Exists";
    if (key != wide_key && !all_keys) || (effect != wide_effect && !wide_effect.is_empty()) {
        return false;
    }
    if wide_effect == "NoExecute" && seconds(wide).is_some_and(|limit| seconds(narrow).is_none_or(|s| s > limit)) {
        return false;
    }
    match wide_operator {
        "" | "Equal" => operator == "Equal" && value == wide_value,
        other => other == "Exists",
    }
}

fn same(one: &Object, other: &Object) -> bool {
    texts(one) == texts(other) && seconds(one) == seconds(other)
}

fn texts(toleration: &Object) -> [&str; 4] {
    ["key", "operator", "value", "effect"].map(|field| read::text(toleration, field))
}

fn seconds(toleration: &Object) -> Option<i64> {
    toleration.get("tolerationSeconds").and_then(Value::as_i64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_included_goes() {
        let check = |all: Value, expect: Value| {
            let all = all.as_array().unwrap();
            assert_eq!(Value::Array(merged(all.iter().filter_map(Value::as_object))), expect);
        };
        let exists = |key: &str| json!({"key": key, "operator": "Exists"});
        let equal = |key: &str, value: &str| json!({"key": key, "operator": "Equal", "value": value});
        let lasting = |seconds: i64| json!({"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds});
        check(json!([]), json!([]));
        check(json!([exists("a"), exists("b")]), json!([exists("a"), exists("b")]));
        check(json!([exists("a"), exists("a")]), json!([exists("a")]));
        check(json!([equal("a", "x"), exists("a")]), json!([exists("a")]));
        check(json!([equal("a", "x"), equal("a", "y")]), json!([equal("a", "x"), equal("a", "y")]));
        check(json!([exists("a"), lasting(5), {"operator": "Exists"}]), json!([{"operator": "Exists"}]));
        check(json!([lasting(5), lasting(9)]), json!([lasting(9)]));
        let forever = json!({"key": "a", "operator": "Exists", "effect": "NoExecute"});
        check(json!([lasting(5), forever]), json!([forever]));
        check(
            json!([{"key": "a", "operator": "Lt", "value": "5"}, {"key": "a", "operator": "Lt", "value": "6"}]),
            json!([{"key": "a", "operator": "Lt", "value": "5"}, {"key": "a", "operator": "Lt", "value": "6"}]),
        );
    }
}
