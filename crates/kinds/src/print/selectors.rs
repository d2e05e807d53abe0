//! Labels and label selectors as text.

use serde_json::Value;

use super::fields::{at, items, shown, text};

/// A map as `a=b,c=d`, by key; "" when there is nothing in it.
pub(super) fn labels(map: Option<&Value>) -> String {
    let mut pairs: Vec<_> = pairs(map).map(|(key, value)| format!("{key}={value}")).collect();
    pairs.sort();
    pairs.join(",")
}

/// A label selector in the form that queries use, requirements by key; nothing when it is not a valid one.
pub(super) fn selector(selector: Option<&Value>) -> Option<String> {
    let Some(selector) = selector else { return Some(String::new()) };
    let mut requirements: Vec<(String, String)> =
        pairs(at(selector, &["matchLabels"])).map(|(key, value)| (key.clone(), format!("{key}={value}"))).collect();
    for expression in items(selector, &["matchExpressions"]) {
        requirements.push((text(expression, &["key"]).to_owned(), requirement(expression)?));
    }
    requirements.sort_by(|(left, _), (right, _)| left.cmp(right));
    Some(requirements.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(","))
}

/// A label selector as upstream's debugging form prints it; parameter references show it so.
pub(super) fn debugged(selector: &Value) -> String {
    let mut labels: Vec<_> = pairs(at(selector, &["matchLabels"])).collect();
    labels.sort();
    let labels: Vec<_> = labels.into_iter().map(|(key, value)| format!("{key}: {value},")).collect();
    let expressions: Vec<_> = items(selector, &["matchExpressions"])
        .iter()
        .map(|expression| {
            let (key, operator) = (text(expression, &["key"]), text(expression, &["operator"]));
            let values = values(expression).join(" ");
            format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},")
        })
        .collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{}}},MatchExpressions:[]LabelSelectorRequirement{{{}}},}}",
        labels.concat(),
        expressions.concat()
    )
}

/// One requirement; nothing when its operator and its values do not fit.
fn requirement(expression: &Value) -> Option<String> {
    let key = text(expression, &["key"]);
    let mut values = values(expression);
    values.sort();
    match (text(expression, &["operator"]), values.is_empty()) {
        ("In", false) => Some(format!("{key} in ({})", values.join(","))),
        ("NotIn", false) => Some(format!("{key} notin ({})", values.join(","))),
        ("Exists", true) => Some(key.to_owned()),
        ("DoesNotExist", true) => Some(format!("!{key}")),
        _ => None,
    }
}

fn values(expression: &Value) -> Vec<String> {
    items(expression, &["values"]).iter().map(shown).collect()
}

fn pairs(map: Option<&Value>) -> impl Iterator<Item = (&String, String)> {
    map.and_then(Value::as_object).into_iter().flatten().map(|(key, value)| (key, shown(value)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_read_as_queries() {
        for (given, expected) in [
            (json!({}), Some("")),
            (json!({"matchLabels": {"b": "2", "a": "1"}}), Some("a=1,b=2")),
            (json!({"matchExpressions": [{"key": "k", "operator": "In", "values": ["y", "x"]}]}), Some("k in (x,y)")),
            (json!({"matchExpressions": [{"key": "k", "operator": "NotIn", "values": ["x"]}]}), Some("k notin (x)")),
            (
                json!({"matchLabels": {"z": "1"}, "matchExpressions": [{"key": "k", "operator": "Exists"},
                    {"key": "a", "operator": "DoesNotExist"}]}),
                Some("!a,k,z=1"),
            ),
            (json!({"matchExpressions": [{"key": "k", "operator": "In"}]}), None),
            (json!({"matchExpressions": [{"key": "k", "operator": "Like"}]}), None),
        ] {
            assert_eq!(selector(Some(&given)).as_deref(), expected, "{given}");
        }
        assert_eq!(selector(None).as_deref(), Some(""));
    }

    #[test]
    fn selectors_have_a_debugging_form() {
        let given = json!({"matchLabels": {"a": "b"}, "matchExpressions": [
            {"key": "k", "operator": "In", "values": ["x", "y"]}]});
        assert_eq!(
            debugged(&given),
            "&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{\
             LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}"
        );
    }
}
