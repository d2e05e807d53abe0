//! Schemas as parts of definitions: what was found where others' definitions were judged otherwise than by a real server.
#![allow(clippy::restriction, reason = "a test stops at what it does not expect")]

mod common;

use common::{compile, compile_with_scale, judge, whole};
use pawl_meta::FieldPath;
use pawl_structural::{Checks, Props, ScalePaths, schema_errors};
use serde_json::{Value, json};

fn said(schema: &Value) -> Vec<String> {
    let errors = schema_errors(&Props::parse(schema), &FieldPath::root(), &Checks::of_new(false));
    errors.causes().iter().map(|cause| format!("{} {}", cause.field, cause.message)).collect()
}

#[test]
fn a_default_of_the_whole_has_a_kind_and_a_version() {
    assert_eq!(
        said(&json!({"type": "object", "default": {}})),
        ["openAPIV3Schema.default.apiVersion Required value", "openAPIV3Schema.default.kind Required value"],
    );
}

#[test]
fn a_format_that_does_not_fit_its_type_lets_defaults_be_texts() {
    let of = |format: &str, default: Value| {
        let schema = json!({"type": "boolean", "format": format, "default": default});
        said(&json!({"type": "object", "properties": {"a": schema}}))
    };
    assert_eq!(of("nobody-knows-it", json!("x")), Vec::<String>::new());
    assert_eq!(of("date-time", json!("2006-01-02T15:04:05Z")), Vec::<String>::new());
    assert_eq!(of("", json!("x")).len(), 1);
}

#[test]
fn objects_are_judged_without_formats_that_do_not_fit() {
    let schema = compile(&json!({"type": "object", "properties": {"a": {"type": "boolean", "format": "date-time"}}}));
    let outcome = judge(&schema, &whole(&json!({"a": "x"})), None, false, None);
    assert_eq!(outcome.errors.len(), 1);
}

#[test]
fn dependencies_are_refused_where_there_are_none_of_them() {
    assert_eq!(
        said(&json!({"type": "object", "dependencies": {}})),
        ["openAPIV3Schema.dependencies Forbidden: dependencies is not supported"],
    );
}

#[test]
fn items_that_are_no_schema_are_there() {
    let list = json!({"type": "array", "items": null, "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["a"]});
    let said = said(&json!({"type": "object", "properties": {"l": list}}));
    let wanted = "openAPIV3Schema.properties[l].items Invalid value: {\"Schema\":null,\"JSONSchemas\":null}: must only \
                  have a single schema if x-kubernetes-list-type is map";
    assert!(said.iter().any(|line| line == wanted), "{said:?}");
}

#[test]
fn what_is_in_the_way_of_a_count_is_told_with_the_field_that_was_asked_for() {
    let paths = ScalePaths {
        spec_replicas: ".spec.a.replicas".to_owned(),
        status_replicas: ".status.replicas".to_owned(),
        label_selector: None,
    };
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = compile_with_scale(&schema, Some(paths));
    let outcome = judge(&schema, &whole(&json!({"spec": "x", "status": 1})), None, false, None);
    let said: Vec<String> = outcome.errors.causes().iter().map(|cause| cause.message.clone()).collect();
    let wanted = [
        "Invalid value: 0: .spec.a accessor error: x is of the type string, expected map[string]interface{}",
        "Invalid value: 0: .status.replicas accessor error: 1 is of the type int64, expected map[string]interface{}",
    ];
    assert_eq!(said, wanted);
}

#[test]
fn nulls_of_what_was_applied_stay_to_be_refused() {
    let schema = compile(&json!({"type": "object", "properties": {
        "a": {"type": "object"}, "b": {"type": "string", "default": "x"}, "c": {"type": "string", "nullable": true}}}));
    let given = whole(&json!({"a": null, "b": null, "c": null}));
    let (mut sent, mut applied) = (given.clone(), given);
    schema.default(&mut sent);
    schema.default_keeping_nulls(&mut applied);
    assert_eq!(sent, whole(&json!({"b": "x", "c": null})));
    assert_eq!(applied, whole(&json!({"a": null, "b": "x", "c": null})));
}

#[test]
fn a_default_that_was_dropped_is_missed() {
    let schema = compile(&json!({"type": "object", "properties": {
        "status": {"type": "object", "default": {}}, "spec": {"type": "object"}}}));
    assert!(!schema.has_defaults_of_fields(&whole(&json!({"spec": {}}))));
    assert!(schema.has_defaults_of_fields(&whole(&json!({"status": {}}))));
}

#[test]
fn objects_within_objects_have_texts_for_names_and_metadata() {
    let inner = json!({"type": "object", "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true});
    let schema = compile(&json!({"type": "object", "properties": {"l": {"type": "array", "items": inner}}}));
    let mut good = whole(&json!({"l": [{"apiVersion": "v1", "kind": "A", "metadata": null}]}));
    assert_eq!(schema.misnamed(&good), None);
    schema.default(&mut good);
    assert_eq!(good, whole(&json!({"l": [{"apiVersion": "v1", "kind": "A", "metadata": {}}]})));
    let wrong = whole(&json!({"l": [{"apiVersion": "v1", "kind": ["a"]}]}));
    assert_eq!(schema.misnamed(&wrong).unwrap(), "l[0].kind: Invalid value: [\"a\"]: must be a string");
}
