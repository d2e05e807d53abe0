//! What the server adds to objects and what it refuses, told in tables: `cases/*.cases`.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

use std::collections::BTreeMap;

use pawl_kinds::{Errors, Findings, MetadataPass, Prepare, Resource, Write, builtin};
use pawl_meta::FieldError;
use serde_json::{Map, Value, json};

/// A case: the resource, maybe a subresource, and lines of `<word> <text>`.
struct Case {
    resource: &'static Resource,
    subresource: &'static str,
    lines: Vec<(&'static str, &'static str)>,
}

impl Case {
    fn object(&self, word: &str) -> Option<Map<String, Value>> {
        let text = self.lines.iter().find(|(w, _)| *w == word)?.1;
        let mut value: Value = serde_json::from_str(text).unwrap();
        let facts = &self.resource.facts;
        value["kind"] = json!(facts.kind);
        value["apiVersion"] = json!(self.resource.group_version().to_string());
        if !facts.is_virtual {
            value["metadata"]["name"] = json!("x");
            value["metadata"]["uid"] = json!("u");
        }
        if facts.namespaced {
            value["metadata"]["namespace"] = json!("ns");
        }
        let decoded = pawl_schema::decode_value(self.resource.object_type().as_ref(), value).unwrap();
        let mut object = decoded.object;
        self.resource.behaviour.set_defaults(&mut object).unwrap();
        Some(object)
    }

    fn all(&self, word: &str) -> Vec<&'static str> {
        self.lines.iter().filter(|(w, _)| *w == word).map(|(_, text)| *text).collect()
    }

    /// The object as it would be stored, and what is wrong with it.
    fn run(&self) -> (Map<String, Value>, Errors) {
        let mut new = self.object("given").unwrap();
        let cx = Prepare { now: "2024-01-01T00:00:00Z".to_owned(), ..Prepare::default() };
        let mut found = Findings::default();
        let mut metadata = |_: MetadataPass, _: &mut Errors| {};
        match self.object("old") {
            Some(mut old) => {
                self.resource.prepare_create(&mut old, &cx);
                self.resource.prepare_update(self.subresource, &mut new, &old, &cx);
                let write = Write::update(self.subresource, &old);
                self.resource.behaviour.validate(write, &new, &mut metadata, &mut found);
            }
            None => {
                self.resource.prepare_create(&mut new, &cx);
                self.resource.behaviour.validate(Write::CREATE, &new, &mut metadata, &mut found);
            }
        }
        (new, found.errors)
    }
}

fn cases(text: &'static str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        if let Some(line) = line.strip_prefix("  ") {
            cases.last_mut().unwrap().lines.push(line.split_once(' ').unwrap());
            continue;
        }
        let (version, plural) = line.split_once(' ').unwrap();
        let (plural, subresource) = plural.split_once('/').unwrap_or((plural, ""));
        let found = |r: &&Resource| r.facts.plural == plural && r.group_version().to_string() == version;
        let resource = builtin().iter().find(found).unwrap_or_else(|| panic!("{line}"));
        cases.push(Case { resource, subresource, lines: Vec::new() });
    }
    cases
}

/// The leaves of a value by their paths.
fn leaves(value: &Value, path: String, found: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                let step = if name.contains(['.', '/']) { format!("[{name}]") } else { name.clone() };
                leaves(value, format!("{path}{dot}{step}"), found);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, value) in items.iter().enumerate() {
                leaves(value, format!("{path}[{index}]"), found);
            }
        }
        _ => drop(found.insert(path, value.clone())),
    }
}

#[test]
fn an_object_that_says_little_is_completed() {
    let mut wrong = Vec::new();
    for case in cases(include_str!("cases/defaults.cases")) {
        let (object, errors) = case.run();
        let mut stored = Value::Object(object);
        for field in ["kind", "apiVersion"] {
            stored.as_object_mut().unwrap().remove(field);
        }
        let metadata = stored["metadata"].as_object_mut().unwrap();
        for field in ["name", "namespace", "uid"] {
            metadata.remove(field);
        }
        if metadata.is_empty() {
            stored.as_object_mut().unwrap().remove("metadata");
        }
        let (mut is, mut expected) = (BTreeMap::new(), BTreeMap::new());
        leaves(&stored, String::new(), &mut is);
        leaves(&serde_json::from_str(case.all("given")[0]).unwrap(), String::new(), &mut expected);
        for line in case.all("adds") {
            let (path, value) = line.split_once(' ').unwrap();
            expected.insert(path.to_owned(), serde_json::from_str(value).unwrap());
        }
        case.all("drops").iter().for_each(|path| drop(expected.remove(*path)));
        expected.remove("");
        is.remove("");
        if is != expected || !errors.is_empty() {
            wrong.push(format!("{}: {}\n{is:#?}\n{expected:#?}", case.resource.facts.kind, errors.message()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_dubious_is_warned_of() {
    for case in cases(include_str!("cases/warnings.cases")) {
        let (object, errors) = case.run();
        assert!(errors.is_empty(), "{}: {}", case.resource.facts.kind, errors.message());
        let old = case.object("old");
        let write = Write { subresource: case.subresource, old: old.as_ref(), ..Write::CREATE };
        let is = case.resource.behaviour.warnings(write, &object);
        assert_eq!(is, case.all("warning"), "{}", case.resource.facts.kind);
    }
}

#[test]
fn what_is_wrong_is_said_in_upstreams_words() {
    let mut wrong = Vec::new();
    for case in cases(include_str!("cases/refusals.cases")) {
        let (_, errors) = case.run();
        let line = |error: &FieldError| format!("{}: {}", error.field, error.body()).replace('\n', "\\n");
        let is: Vec<String> = errors.iter().map(line).collect();
        let expected = case.all("error");
        if is != expected {
            let kind = &case.resource.facts.kind;
            wrong.push(format!(
                "{kind}\n  is\n    {}\n  should be\n    {}",
                is.join("\n    "),
                expected.join("\n    ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
