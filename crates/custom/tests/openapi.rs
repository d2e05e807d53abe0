//! Whether schemas are published as kube-apiserver publishes them: `verdicts/openapi.json`.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

use pawl_custom::openapi::{self, Dialect};
use pawl_custom::{Definition, prepare};
use serde_json::Value;

/// Without the descriptions of what every object has: they are not part of the facts.
fn silent(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(silent),
        Value::Object(map) => {
            map.values_mut().for_each(silent);
            for name in ["apiVersion", "kind", "metadata"] {
                if let Some(Value::Object(member)) = map.get_mut(name) {
                    member.remove("description");
                }
            }
        }
        _ => {}
    }
}

#[test]
fn schemas_are_published_as_upstream_publishes_them() {
    let expected: Value = serde_json::from_str(include_str!("verdicts/openapi.json")).unwrap();
    let Value::Object(mut object) = serde_json::from_str(include_str!("verdicts/openapi-definition.json")).unwrap()
    else {
        panic!("an object")
    };
    prepare::set_defaults(&mut object);
    let definition = Definition::read(&object);
    let mut compared = 0;
    for (dialect, key) in [(Dialect::V2, "v2"), (Dialect::V3, "v3")] {
        for version in &definition.versions {
            for (name, mut made) in openapi::definitions(&definition, version, dialect) {
                let texts = made.to_string();
                assert!(texts.contains("More info") || made.get("properties").is_none(), "{name} is not described");
                silent(&mut made);
                assert_eq!(made, expected[key][&name], "{key} {name}");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, expected["v2"].as_object().unwrap().len() + expected["v3"].as_object().unwrap().len());
}
