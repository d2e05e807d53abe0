//! Whether definitions are judged as kube-apiserver judges them: `verdicts/definitions.cases`.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

use std::collections::BTreeSet;

use pawl_custom::prepare::{self, Gates};
use pawl_custom::validate;
use pawl_meta::names;
use pawl_meta::object::{Meta, Object};
use serde_json::{Value, json};

const CASES: &str = include_str!("verdicts/definitions.cases");

#[derive(Default)]
struct Case {
    about: &'static str,
    lines: Vec<(&'static str, &'static str)>,
}

impl Case {
    fn value(&self, word: &str) -> Option<Value> {
        self.lines.iter().find(|(w, _)| *w == word).map(|(_, text)| serde_json::from_str(text).unwrap())
    }

    fn told(&self, word: &str) -> Vec<String> {
        let lines = self.lines.iter().filter(|(w, _)| *w == word);
        lines.map(|(_, text)| text.replace("\\\\", "\0").replace("\\n", "\n").replace('\0', "\\")).collect()
    }

    /// A definition as the server has it after decoding.
    fn definition(&self, patch: &str, schema: &str) -> Object {
        let mut made = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"plural": "widgets", "kind": "Widget"},
                "versions": [
                    {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}},
                ],
            },
        });
        merge(&mut made, &self.value(patch).unwrap_or_else(|| json!({})));
        if let Some(schema) = self.value(schema) {
            made["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema;
        }
        if let Some(spec) = made.get_mut("spec").and_then(Value::as_object_mut) {
            if let Some(Value::Array(paths)) = spec.remove("selectable") {
                let fields: Vec<Value> = paths.iter().map(|path| json!({"jsonPath": path})).collect();
                spec["versions"][0]["selectableFields"] = json!(fields);
            }
            if let Some(subresources) = spec.remove("subresources") {
                spec["versions"][0]["subresources"] = subresources;
            }
        }
        let definition = pawl_kinds::kinds().named("apiextensions.v1.CustomResourceDefinition").unwrap();
        let mut object = pawl_schema::decode_value(definition, made).unwrap().object;
        prepare::set_defaults(&mut object);
        object
    }

    fn old(&self) -> Option<Object> {
        self.value("old").or_else(|| self.value("oldschema"))?;
        let mut old = self.definition("old", "oldschema");
        prepare::create(&mut old, Gates::default());
        let condition = |kind: &str| json!({"type": kind, "status": "True", "reason": "x", "message": "x"});
        let names = old["spec"]["names"].clone();
        let mut status = old["status"].clone();
        status["acceptedNames"] = names;
        status["conditions"] = json!([condition("NamesAccepted"), condition("Established")]);
        merge(&mut status, &self.value("status").unwrap_or_else(|| json!({})));
        old.insert("status".to_owned(), status);
        Some(old)
    }

    /// Errors and warnings.
    fn run(&self) -> (Vec<String>, BTreeSet<String>) {
        let mut new = self.definition("given", "schema");
        let (errors, warnings) = match self.old() {
            Some(old) => {
                prepare::update(&mut new, &old, Gates::default());
                (validate::update(&new, &old), validate::warnings(&new, Some(&old)))
            }
            None => {
                prepare::create(&mut new, Gates::default());
                (validate::create(&new), validate::warnings(&new, None))
            }
        };
        let mut said = if self.old().is_none() { name_errors(&new) } else { Vec::new() };
        said.extend(errors.causes().iter().map(|cause| format!("{} {}", cause.field, cause.message)));
        let warnings = if said.is_empty() { warnings.into_iter().collect() } else { BTreeSet::new() };
        (said, warnings)
    }
}

/// What whoever judges metadata says of the name.
fn name_errors(object: &Object) -> Vec<String> {
    let name = object.name();
    let mut wrong = names::dns1123_subdomain(name);
    wrong.extend(validate::name(name, object).map(str::to_owned));
    wrong.iter().map(|why| format!("metadata.name Invalid value: {name:?}: {why}")).collect()
}

fn merge(value: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    for (key, change) in changes {
        if change.is_null() {
            value.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut value[key], change);
        }
    }
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in CASES.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        match line.strip_prefix("  ") {
            Some(line) => cases.last_mut().unwrap().lines.push(line.split_once(' ').unwrap()),
            None => cases.push(Case { about: line, lines: Vec::new() }),
        }
    }
    cases
}

/// Upstream goes through properties in any order: what is said of schemas is compared without it.
fn ordered(errors: &[String]) -> (Vec<&String>, Vec<&String>) {
    let (mut schemas, others): (Vec<&String>, Vec<&String>) =
        errors.iter().partition(|e| e.contains("openAPIV3Schema"));
    schemas.sort();
    (schemas, others)
}

#[test]
fn definitions_are_judged_as_upstream_judges_them() {
    let mut wrong = String::new();
    let cases = cases();
    assert!(cases.len() > 120, "{} cases", cases.len());
    for case in &cases {
        let (errors, warnings) = case.run();
        let expected = case.told("error");
        if ordered(&errors) != ordered(&expected) {
            wrong += &format!("\n{}\n", case.about);
            wrong.extend(expected.iter().filter(|e| !errors.contains(e)).map(|e| format!("  - {e}\n")));
            wrong.extend(errors.iter().filter(|e| !expected.contains(e)).map(|e| format!("  + {e}\n")));
            if errors.iter().all(|e| expected.contains(e)) {
                wrong += &format!("  another order, or another number: {errors:#?}\n");
            }
        }
        let expected: BTreeSet<String> = case.told("warning").into_iter().collect();
        if warnings != expected {
            wrong += &format!("\n{}: warnings {warnings:?}\n", case.about);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
