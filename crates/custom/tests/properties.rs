//! Whatever a client writes into a definition: nothing panics, and what is settled stays settled.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

use pawl_custom::openapi::{self, Dialect};
use pawl_custom::prepare::{self, Gates};
use pawl_custom::{Columns, Definition, InUse, JsonPath, Selectable, conform, plan, validate};
use pawl_meta::object::Object;
use proptest::prelude::*;
use serde_json::{Value, json};

const NOW: &str = "2024-01-01T00:00:00Z";

fn sound() -> Value {
    json!({
        "metadata": {"name": "widgets.example.k8s.io", "annotations": {"api-approved.kubernetes.io": "https://x/y"}},
        "spec": {
            "group": "example.k8s.io",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["w"], "categories": ["all"]},
            "preserveUnknownFields": false,
            "versions": [
                {"name": "v1", "served": true, "storage": true, "deprecated": true, "deprecationWarning": "w",
                 "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "required": ["a"], "properties": {
                        "a": {"type": "string", "default": "x", "maxLength": 9, "x-kubernetes-validations": [{"rule": "self != 'y'"}]},
                        "l": {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "integer"}}}}}}}},
                 "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.r", "statusReplicasPath": ".status.r"}},
                 "additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".spec.a"}],
                 "selectableFields": [{"jsonPath": ".spec.a"}]},
                {"name": "v2", "served": true, "storage": false, "schema": {"openAPIV3Schema": {"type": "object"}}}],
            "conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {
                "caBundle": "eA==", "service": {"namespace": "n", "name": "s", "path": "/x", "port": 1}}}},
        },
        "status": {"storedVersions": ["v1"], "acceptedNames": {"plural": "a", "kind": "b"}, "conditions": [
            {"type": "Established", "status": "True"}]},
    })
}

/// Every place in a value.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| places(value, &format!("{at}/{}", escape(key)), found))
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, value)| places(value, &format!("{at}/{i}"), found))
        }
        _ => {}
    }
}

fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|f| json!(f)),
        ".*".prop_map(Value::from),
        prop::sample::select(vec![
            "v1",
            "string",
            "object",
            "array",
            ".spec.a",
            "Webhook",
            "x",
            "",
            "..",
            ".a[?(@.b==",
            "é",
            "map"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        let key = prop::sample::select(vec![
            "type",
            "properties",
            "items",
            "name",
            "default",
            "anyOf",
            "rule",
            "additionalProperties",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(key.prop_map(str::to_owned), inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn run(mut object: Object) {
    let _ = conform(&mut object);
    prepare::set_defaults(&mut object);
    let once = object.clone();
    prepare::set_defaults(&mut object);
    assert_eq!(object, once, "defaults twice");
    let old = object.clone();
    validate::update(&object, &old);
    validate::update_status(&object);
    prepare::create(&mut object, Gates { ratcheting: false, observed_generation: false });
    validate::create(&object);
    validate::warnings(&object, Some(&old));
    let definition = Definition::read(&object);
    for version in &definition.versions {
        openapi::definitions(&definition, version, Dialect::V2);
        openapi::definitions(&definition, version, Dialect::V3);
        let instance = json!({"metadata": {"name": "x"}, "spec": {"a": ["b"]}});
        Columns::compile(&version.columns).row(&instance, 0);
        Selectable::compile(&version.selectable).values(&instance);
        definition.deprecation(version);
    }
    let in_use = InUse::of([&definition]);
    if let Some(status) = plan::settle(&object, &in_use, NOW) {
        object.insert("status".to_owned(), Value::Object(status));
        let in_use = InUse::of([&Definition::read(&object)]);
        assert_eq!(plan::settle(&object, &in_use, "later"), None, "settled twice");
    }
    plan::establish(&object, NOW);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_definition_panics(place in any::<prop::sample::Index>(), value in anything()) {
        let mut definition = sound();
        let mut found = Vec::new();
        places(&definition, "", &mut found);
        let place: &String = place.get(&found);
        *definition.pointer_mut(place).unwrap() = value;
        if let Value::Object(object) = definition {
            run(object);
        }
    }

    #[test]
    fn no_path_panics(path in "[.\\[\\]?()@$*'\"a-c0-2:,=<>! {}\\\\-]{0,24}", value in anything()) {
        if let Some(path) = JsonPath::parse(&path) {
            path.first(&value);
            path.only(&value);
        }
    }
}
