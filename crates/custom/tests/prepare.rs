//! What a write of a definition fills in and takes away.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

use pawl_custom::prepare::{self, Gates};
use pawl_meta::object::Object;
use serde_json::{Value, json};

fn object(value: Value) -> Object {
    value.as_object().cloned().unwrap()
}

#[test]
fn what_follows_from_the_rest_need_not_be_said() {
    let mut said = object(json!({"spec": {"names": {"plural": "widgets", "kind": "WidGet"}, "versions": [
        {"name": "v1", "storage": false}, {"name": "v2", "storage": true}]}}));
    prepare::set_defaults(&mut said);
    let once = said.clone();
    assert_eq!(
        said["spec"]["names"],
        json!({"plural": "widgets", "kind": "WidGet", "singular": "widget", "listKind": "WidGetList"})
    );
    assert_eq!(said["spec"]["conversion"], json!({"strategy": "None"}));
    assert_eq!(said["status"], json!({"storedVersions": ["v2"]}));
    prepare::set_defaults(&mut said);
    assert_eq!(said, once);

    let mut empty = object(json!({"spec": {"conversion": null}}));
    prepare::set_defaults(&mut empty);
    assert_eq!(empty["spec"], json!({"names": {}, "conversion": {"strategy": "None"}}));
    let mut hook = object(json!({"spec": {"conversion": {"webhook": {"clientConfig": {"service": {"name": "a"}}}}}}));
    prepare::set_defaults(&mut hook);
    assert_eq!(hook["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["port"], 443);
}

#[test]
fn a_new_definition_has_no_status_of_its_own() {
    let mut new =
        object(json!({"spec": {"versions": [{"name": "v1", "storage": true}]}, "status": {"storedVersions": ["v9"]}}));
    prepare::create(&mut new, Gates::default());
    let fresh = json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]});
    assert_eq!(new["status"], fresh);
}

#[test]
fn a_version_that_will_be_stored_is_noted_first() {
    let old = object(json!({"status": {"storedVersions": ["v1"], "conditions": [{"type": "Established"}]}}));
    let mut new =
        object(json!({"spec": {"versions": [{"name": "v1"}, {"name": "v2", "storage": true}]}, "status": {}}));
    prepare::update(&mut new, &old, Gates::default());
    assert_eq!(new["status"], json!({"storedVersions": ["v1", "v2"], "conditions": [{"type": "Established"}]}));
    let stored = new.clone();
    prepare::update(&mut new, &stored, Gates::default());
    assert_eq!(new["status"]["storedVersions"], json!(["v1", "v2"]));
}

#[test]
fn a_status_write_leaves_the_spec_alone() {
    let old = object(json!({"spec": {"group": "a"}, "status": {}}));
    let mut new = object(json!({"spec": {"group": "b"}, "status": {"x": 1}, "metadata": {"finalizers": []}}));
    prepare::update_status(&mut new, &old);
    assert_eq!(Value::Object(new), json!({"spec": {"group": "a"}, "status": {"x": 1}, "metadata": {"finalizers": []}}));
}

#[test]
fn what_a_gate_does_not_take_is_dropped_unless_it_was_there() {
    let rule = json!([{"rule": "true", "optionalOldSelf": true}]);
    let schema =
        json!({"x-kubernetes-validations": rule, "properties": {"a": {"items": {"x-kubernetes-validations": rule}}}});
    let with =
        object(json!({"spec": {"versions": [{"name": "v1", "storage": true, "schema": {"openAPIV3Schema": schema}}]}}));
    let off = Gates { ratcheting: false, observed_generation: false };
    let has = |object: &Object, field: &str| Value::Object(object.clone()).to_string().contains(field);

    let mut new = with.clone();
    prepare::create(&mut new, Gates::default());
    assert!(has(&new, "optionalOldSelf"));
    prepare::create(&mut new, off);
    assert!(!has(&new, "optionalOldSelf"));
    let mut kept = with.clone();
    prepare::update(&mut kept, &with, off);
    assert!(has(&kept, "optionalOldSelf"));

    let observed = object(json!({"status": {"observedGeneration": 3, "conditions": [{"observedGeneration": 3}]}}));
    let mut new = with.clone();
    prepare::update(&mut new, &observed, off);
    assert!(has(&new, "observedGeneration"), "the old one has it");
}
