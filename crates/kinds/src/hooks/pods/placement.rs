//! Where pods may run: selectors of affinity terms and spread constraints.

use std::collections::BTreeSet;
use std::collections::HashMap;

use pawl_meta::object::Object;
use serde_json::{Map, Value};

use pawl_meta::read;
use pawl_rules::formats;
use pawl_rules::{Check, Errors, FieldPath};

/// Label keys of an affinity term or a spread constraint: well formed, with a selector to extend, and not in it already.
pub fn label_keys_of_term(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let selector = read::map(object, "labelSelector");
    for field in ["matchLabelKeys", "mismatchLabelKeys"] {
        let keys = read::texts(object, field);
        if selector.is_none() && !keys.is_empty() {
            errors.forbidden(&path.child(field), "must not be specified when labelSelector is not set");
            continue;
        }
        for (index, key) in keys.iter().enumerate() {
            for detail in formats::qualified_name(key) {
                errors.invalid(&path.child(field).index(index), *key, detail);
            }
        }
    }
    let matched = read::texts(object, "matchLabelKeys");
    if let Some(selector) = selector {
        keys_in_selector(selector, &matched, path, errors);
    }
    let mismatched = read::texts(object, "mismatchLabelKeys");
    for (index, key) in matched.iter().enumerate().filter(|(_, key)| mismatched.contains(*key)) {
        let detail = "exists in both matchLabelKeys and mismatchLabelKeys";
        errors.invalid(&path.child("matchLabelKeys").index(index), *key, detail);
    }
}

/// The server has added one expression per key; a second one with the same key was the client's.
fn keys_in_selector(selector: &Object, matched: &[&str], path: &FieldPath, errors: &mut Errors) {
    let mut held: BTreeSet<&str> =
        read::map(selector, "matchLabels").into_iter().flat_map(Map::keys).map(String::as_str).collect();
    for (_, expression) in read::objects(selector, "matchExpressions") {
        let key = read::text(expression, "key");
        if let Some(index) = matched.iter().rposition(|wanted| *wanted == key)
            && held.contains(key)
        {
            errors.invalid(&path.index(index), key, "exists in both matchLabelKeys and labelSelector");
        }
        held.insert(key);
    }
}

/// A minimum of domains is for constraints that hold pods back.
pub fn spread_min_domains(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let action = read::text(object, "whenUnsatisfiable");
    if let Some(minimum) = object.get("minDomains").and_then(Value::as_i64)
        && action != "DoNotSchedule"
    {
        let detail = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
        errors.invalid(&path.child("minDomains"), minimum, detail);
    }
}

/// Two constraints do not differ in their numbers alone.
pub fn pod_spread_constraints(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let pairs: Vec<(&str, &str)> = read::objects(object, "topologySpreadConstraints")
        .map(|(_, constraint)| (read::text(constraint, "topologyKey"), read::text(constraint, "whenUnsatisfiable")))
        .collect();
    let mut left: HashMap<&(&str, &str), usize> = HashMap::new();
    pairs.iter().for_each(|pair| *left.entry(pair).or_default() += 1);
    for (index, pair) in pairs.iter().enumerate() {
        let later = left.entry(pair).or_default();
        *later = later.saturating_sub(1);
        if *later > 0 {
            let at = path.child("topologySpreadConstraints").index(index).child("{topologyKey, whenUnsatisfiable}");
            errors.duplicate(&at, format!("{{{}, {}}}", pair.0, pair.1));
        }
    }
}
