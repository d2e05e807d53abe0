//! What is let pass because it was there before, and what is not.
#![allow(clippy::restriction, reason = "a test stops at what it does not expect")]

mod common;

use common::{compile, judge, texts, whole};
use pawl_structural::{Outcome, Structural};
use serde_json::{Value, json};

/// A schema with `spec` of these properties.
fn spec(properties: Value) -> Structural {
    compile(&json!({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}))
}

fn update(schema: &Structural, old: &Value, new: &Value) -> Outcome {
    judge(schema, &whole(&json!({"spec": new})), Some(&whole(&json!({"spec": old}))), true, None)
}

#[track_caller]
fn passes(schema: &Structural, old: Value, new: Value) -> Outcome {
    let outcome = update(schema, &old, &new);
    assert_eq!(texts(&outcome.errors), Vec::<String>::new(), "{old} -> {new}");
    outcome
}

#[track_caller]
fn fails(schema: &Structural, old: Value, new: Value) {
    let outcome = update(schema, &old, &new);
    assert!(!outcome.errors.is_empty(), "{old} -> {new}");
}

#[test]
fn parts_of_atomic_maps_change_as_a_whole() {
    let schema = spec(json!({"m": {"type": "object", "x-kubernetes-map-type": "atomic",
        "additionalProperties": {"type": "string", "minLength": 3}}}));
    passes(&schema, json!({"m": {"a": "1"}}), json!({"m": {"a": "1"}, "other": 1}));
    fails(&schema, json!({"m": {"a": "1"}}), json!({"m": {"a": "1", "b": "222"}}));
    let schema = spec(json!({"m": {"type": "object", "additionalProperties": {"type": "string", "minLength": 3}}}));
    passes(&schema, json!({"m": {"a": "1"}}), json!({"m": {"a": "1", "b": "222"}}));
}

#[test]
fn equality_is_that_of_json_also_below_what_is_not_declared() {
    let schema =
        spec(json!({"o": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "minProperties": 3}}));
    passes(&schema, json!({"o": {"x": {"y": [1, {"z": 2}]}}}), json!({"o": {"x": {"y": [1.0, {"z": 2.0}]}}}));
    fails(&schema, json!({"o": {"x": {"y": 1}}}), json!({"o": {"x": {"y": 2}}}));
}

#[test]
fn composed_schemas_are_judged_as_a_whole() {
    let both = json!({"a": {"type": "string"}, "b": {"type": "string"}});
    let schema = spec(json!({"o": {"type": "object", "properties": both,
        "allOf": [{"properties": {"a": {"minLength": 1}, "b": {"minLength": 3}}}]}}));
    fails(&schema, json!({"o": {"a": "1", "b": "2"}}), json!({"o": {"a": "9", "b": "2"}}));
    passes(&schema, json!({"o": {"a": "1", "b": "2"}}), json!({"o": {"a": "1", "b": "2"}, "x": 1}));
}

#[test]
fn a_set_may_keep_what_it_holds_twice_while_it_does_not_change() {
    let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
    let schema = spec(json!({"s": set, "t": set, "x": {"type": "string"}}));
    passes(&schema, json!({"s": ["a", "a"]}), json!({"s": ["a", "a"], "x": "y"}));
    fails(&schema, json!({"s": ["a", "a"]}), json!({"s": ["a", "a", "b"]}));
    // Another list is not excused by the first.
    fails(&schema, json!({"s": ["a", "a"], "t": ["b"]}), json!({"s": ["a", "a"], "t": ["b", "b"]}));
}

#[test]
fn keys_that_come_twice_pass_only_where_nothing_but_metadata_changes() {
    let schema = spec(json!({"x": {"type": "string"}, "l": {"type": "array", "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "properties": {"k": {"type": "string"}}}}}));
    let twice = json!({"l": [{"k": "a"}, {"k": "a"}]});
    passes(&schema, twice.clone(), twice.clone());
    fails(&schema, twice, json!({"l": [{"k": "a"}, {"k": "a"}], "x": "y"}));
}

#[test]
fn items_with_the_same_keys_go_with_each_other_in_order() {
    let schema = spec(json!({"x": {"type": "string"}, "l": {"type": "array", "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "properties": {
            "k": {"type": "string"}, "v": {"type": "string", "minLength": 3}}}}}));
    let old = json!({"l": [{"k": "a", "v": "111"}, {"k": "a", "v": "2"}]});
    let outcome = update(&schema, &old, &json!({"l": [{"k": "a", "v": "111"}, {"k": "a", "v": "2"}], "x": "y"}));
    // The keys are refused, the short value is not.
    assert_eq!(texts(&outcome.errors), [r#"spec.l[1]: Duplicate value: {"k":"a"}"#]);
}

#[test]
fn rules_that_fail_on_what_did_not_change_warn() {
    let schema = spec(json!({"f": {"type": "string", "x-kubernetes-validations": [
        {"rule": "self.startsWith('x')", "message": "must start with x"}]}, "g": {"type": "string"}}));
    let outcome = passes(&schema, json!({"f": "abc"}), json!({"f": "abc", "g": "1"}));
    assert_eq!(outcome.warnings, [r#"spec.f: Invalid value: "abc": must start with x"#]);
    assert_eq!(outcome.ratcheted[0].rule, "properties[spec].properties[f].x-kubernetes-validations[0]");
    assert_eq!(outcome.mark, None);
    fails(&schema, json!({"f": "abc"}), json!({"f": "abd"}));
}

#[test]
fn rules_that_cannot_be_decided_warn_likewise() {
    let schema = spec(json!({"n": {"type": "integer", "x-kubernetes-validations": [{"rule": "10 / self > 0"}]},
        "g": {"type": "string"}}));
    let outcome = passes(&schema, json!({"n": 0}), json!({"n": 0, "g": "1"}));
    assert_eq!(
        outcome.warnings,
        [r#"spec.n: Invalid value: "integer": division by zero evaluating rule: 10 / self > 0"#]
    );
    // A value of a type that the rule does not expect, stored before the type changed.
    let outcome = passes(&schema, json!({"n": "x"}), json!({"n": "x", "g": "1"}));
    assert_eq!(outcome.warnings.len(), 1);
}

#[test]
fn rules_that_compare_always_count() {
    let schema = spec(json!({"n": {"type": "integer", "x-kubernetes-validations": [
        {"rule": "self > oldSelf", "message": "must grow"}]}, "g": {"type": "string"}}));
    fails(&schema, json!({"n": 1}), json!({"n": 1, "g": "x"}));
    passes(&schema, json!({"n": 1}), json!({"n": 2}));
    let optional = spec(json!({"n": {"type": "integer", "x-kubernetes-validations": [
        {"rule": "oldSelf.hasValue() || self == 1", "optionalOldSelf": true, "message": "starts at one"}]}}));
    let create = |n: i64, gate| judge(&optional, &whole(&json!({"spec": {"n": n}})), None, gate, None).errors.len();
    assert_eq!([create(1, true), create(2, true), create(2, false)], [0, 1, 0]);
    fails(&optional, json!({}), json!({"n": 2}));
    passes(&optional, json!({"n": 3}), json!({"n": 2}));
}

#[test]
fn embedded_kinds_never_pass_and_embedded_metadata_as_a_whole() {
    let schema = spec(json!({"e": {"type": "object", "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true}, "g": {"type": "string"}}));
    fails(&schema, json!({"e": {"apiVersion": "v1"}}), json!({"e": {"apiVersion": "v1"}, "g": "x"}));
    let with = |meta: Value, more: i64| json!({"e": {"apiVersion": "v1", "kind": "K", "metadata": meta, "more": more}});
    let bad = json!({"name": "a/b"});
    passes(&schema, with(bad.clone(), 1), with(bad.clone(), 2));
    fails(&schema, with(bad, 1), with(json!({"name": "a/b", "labels": {"x": "y"}}), 1));
}

#[test]
fn fields_of_scale_pass_when_they_are_what_they_were() {
    let paths = pawl_structural::ScalePaths {
        spec_replicas: ".spec.replicas".to_owned(),
        status_replicas: ".status.replicas".to_owned(),
        label_selector: Some(".status.selector".to_owned()),
    };
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = common::compile_with_scale(&open, Some(paths));
    let update = |old: Value, new: Value| judge(&schema, &whole(&new), Some(&whole(&old)), true, None).errors.len();
    let bad = json!({"spec": {"replicas": -1}, "status": {"replicas": "x", "selector": 5}});
    assert_eq!(update(bad.clone(), bad.clone()), 0);
    assert_eq!(update(json!({}), bad.clone()), 3);
    assert_eq!(update(bad, json!({"spec": {"replicas": -2}})), 1);
}

#[test]
fn without_the_gate_an_update_is_judged_like_a_creation() {
    let schema = spec(json!({"f": {"type": "string", "minLength": 5}, "s": {"type": "array",
        "x-kubernetes-list-type": "set", "items": {"type": "string"}}}));
    let object = whole(&json!({"spec": {"f": "abc", "s": ["a", "a"]}}));
    let created = judge(&schema, &object, None, false, None);
    let updated = judge(&schema, &object, Some(&object), false, None);
    assert_eq!(texts(&created.errors), texts(&updated.errors));
    assert_eq!(created.errors.len(), 2);
    assert!(judge(&schema, &object, Some(&object), true, None).errors.is_empty());
}

#[test]
fn the_budget_is_never_let_pass() {
    // One run costs more than a call may; unchanged or not, that is refused.
    let all = "self.all(a, self.all(b, self.all(c, a + b + c != '')))";
    let schema = spec(json!({"l": {"type": "array", "items": {"type": "string"},
        "x-kubernetes-validations": [{"rule": all}]}}));
    let list: Vec<String> = (0..150).map(|n| n.to_string()).collect();
    fails(&schema, json!({"l": list}), json!({"l": list}));
}

#[test]
fn a_marked_object_is_looked_at_where_it_changed() {
    let schema = spec(json!({"a": {"type": "string", "minLength": 2}, "b": {"type": "integer",
        "x-kubernetes-validations": [{"rule": "self > 1"}]}}));
    let old = whole(&json!({"spec": {"a": "xx", "b": 5}}));
    let mark = judge(&schema, &old, None, true, None).mark;
    assert!(mark.is_some());
    for new in [json!({"a": "yy", "b": 5}), json!({"a": "x", "b": 5}), json!({"a": "xx", "b": 0}), json!({"b": 5})] {
        let new = whole(&json!({"spec": new}));
        let short = judge(&schema, &new, Some(&old), true, mark.as_ref());
        let long = judge(&schema, &new, Some(&old), true, None);
        assert_eq!(texts(&short.errors), texts(&long.errors));
        assert_eq!(short.mark.is_some(), long.mark.is_some());
    }
}

#[test]
fn of_many_errors_so_many_are_told_and_none_is_forgotten() {
    let schema =
        spec(json!({"l": {"type": "array", "items": {"type": "string"}}, "g": {"type": "string", "minLength": 2}}));
    let many: Vec<i64> = (0..5000).collect();
    let created = judge(&schema, &whole(&json!({"spec": {"l": many}})), None, true, None);
    assert_eq!(created.errors.len(), 1001);
    assert_eq!(texts(&created.errors)[1000], "<nil>: Too many: too many errors, the list is truncated");
    // A list that did not change passes, however much is wrong with it; what did change does not.
    passes(&schema, json!({"l": many}), json!({"l": many, "g": "xx"}));
    let outcome = update(&schema, &json!({"l": many}), &json!({"l": many, "g": "x"}));
    assert_eq!(
        texts(&outcome.errors),
        [r#"spec.g: Invalid value: "x": spec.g in body should be at least 2 chars long"#]
    );
}
