//! What a real server said of schemas and of objects (`tests/facts`, written by its `record.py`), said again.
#![allow(clippy::restriction, reason = "a test stops at what it does not expect")]

mod common;

use common::{Object, compile_with_scale, metadata_rules, whole};
use pawl_meta::{Errors, FieldPath};
use pawl_schema::Finding;
use pawl_structural::{Checks, Part, Props, ScalePaths, Structural, Write, schema_errors};
use serde_json::{Value, json};

fn compile(case: &Value, schema: &Value) -> Structural {
    let scale = case.pointer("/subresources/scale").map(|scale| ScalePaths {
        spec_replicas: scale["specReplicasPath"].as_str().unwrap().to_owned(),
        status_replicas: scale["statusReplicasPath"].as_str().unwrap().to_owned(),
        label_selector: scale["labelSelectorPath"].as_str().map(str::to_owned),
    });
    compile_with_scale(schema, scale)
}

/// An object as the decoder leaves it, and the warnings about it.
fn decode(schema: &Structural, object: &Value) -> Result<(Object, Vec<String>), String> {
    let whole = Value::Object(whole(object));
    let shape = schema.shape().as_ref();
    let decoded = pawl_schema::decode_json(shape, whole.to_string().as_bytes()).map_err(|error| error.to_string())?;
    let mut object = decoded.object;
    schema.default(&mut object);
    let mut warnings: Vec<String> = decoded.findings.iter().map(Finding::message).collect();
    warnings.sort();
    Ok((object, warnings))
}

fn causes(errors: &Errors) -> Value {
    let list = errors.causes().into_iter().map(|cause| json!([cause.field, cause.reason, cause.message]));
    Value::from(list.collect::<Vec<_>>())
}

/// Cases of which the server gave causes in an order of its own: it looks through maps in any order.
const ANY_ORDER: [&str; 2] = ["transitions", "pruning"];

/// Causes to compare, as they come or in any order.
fn comparable(case: &Value, causes: &Value) -> Value {
    let is_any = ANY_ORDER.iter().any(|name| case["name"] == *name);
    if is_any { sorted(causes) } else { causes.as_array().cloned().map_or_else(|| json!([]), Value::from) }
}

fn sorted(causes: &Value) -> Value {
    let mut list = causes.as_array().cloned().unwrap_or_default();
    list.sort_by_key(Value::to_string);
    Value::from(list)
}

struct Replay {
    case: Value,
    schema: Structural,
    stored: Option<Object>,
    wrong: Vec<String>,
}

impl Replay {
    fn step(&mut self, step: &Value) {
        if let Some(schema) = step.get("schema") {
            self.schema = compile(&self.case, schema);
            return;
        }
        let has_status = self.case.pointer("/subresources/status").is_some();
        let (given, part, is_create) = match (step.get("create"), step.get("update"), step.get("status")) {
            (Some(given), ..) => (given, Part::Whole, true),
            (_, Some(given), _) => (given, Part::Whole, false),
            (.., Some(given)) => (given, Part::Status, false),
            _ => panic!("{step}"),
        };
        let (mut new, mut warnings) = match decode(&self.schema, given) {
            Ok(decoded) => decoded,
            Err(error) => return self.compare(step, json!({"code": 400}), &error),
        };
        if let Some(wrong) = self.schema.misnamed(&new) {
            return self.compare(step, json!({"code": 400}), &wrong);
        }
        let old = if is_create { None } else { self.stored.clone() };
        let old = old.map(|mut old| {
            self.schema.prune(&mut old);
            self.schema.default(&mut old);
            old
        });
        if has_status && part == Part::Whole {
            new.remove("status");
            if let Some(status) = old.as_ref().and_then(|old| old.get("status")) {
                new.insert("status".to_owned(), status.clone());
            }
        }
        if part == Part::Status {
            let status = new.remove("status");
            new = old.clone().unwrap();
            new.remove("status");
            new.extend(status.map(|status| ("status".to_owned(), status)));
        }
        let write = Write {
            new: &new,
            old: old.as_ref(),
            part,
            ratcheting: true,
            earlier: &Errors::new(),
            embedded_metadata: &metadata_rules,
            valid_before: None,
        };
        let outcome = self.schema.validate(&write);
        warnings.extend(outcome.warnings);
        let code = match (outcome.errors.is_empty(), is_create) {
            (false, _) => 422,
            (true, true) => 201,
            (true, false) => 200,
        };
        let mut answer = json!({"code": code});
        if code == 422 {
            answer["causes"] = causes(&outcome.errors);
        }
        if !warnings.is_empty() {
            answer["warnings"] = json!(warnings);
        }
        self.compare(step, answer, "");
        if let Some(stored) = step.get("stored") {
            let found: Object = new
                .iter()
                .filter(|(name, _)| !matches!(name.as_str(), "apiVersion" | "kind" | "metadata"))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect();
            if Value::Object(found.clone()) != *stored {
                self.wrong.push(format!(
                    "{}: stored\n  {}\ninstead of\n  {stored}",
                    self.case["name"],
                    Value::Object(found)
                ));
            }
        }
        if code < 300 {
            self.stored = Some(new);
        }
    }

    fn compare(&mut self, step: &Value, found: Value, why: &str) {
        let expected = &step["answer"];
        let causes = |answer: &Value| comparable(&self.case, &answer["causes"]);
        let key = |answer: &Value| (answer["code"].clone(), causes(answer), sorted(&answer["warnings"]));
        if key(&found) != key(expected) {
            self.wrong.push(format!("{} {step}:\n  {found} {why}\ninstead of\n  {expected}", self.case["name"]));
        }
    }
}

fn replay(facts: &str) {
    let facts: Vec<Value> = serde_json::from_str(facts).unwrap();
    let mut wrong = Vec::new();
    for case in facts.into_iter().filter(|case| case["accepted"]["code"] == 201) {
        let schema = compile(&case, &case["schema"]);
        let steps = case["steps"].as_array().cloned().unwrap_or_default();
        let mut replay = Replay { case, schema, stored: None, wrong: Vec::new() };
        steps.iter().for_each(|step| replay.step(step));
        wrong.extend(replay.wrong);
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn objects_are_judged_as_a_real_server_does() {
    replay(include_str!("facts/values.json"));
}

/// Objects that were valid, and no longer are. Where the proposal differs from upstream, `ratcheting.rs` says so.
#[test]
fn tightened_schemas_are_judged_as_a_real_server_does() {
    replay(include_str!("facts/ratcheting.json"));
}

#[test]
fn schemas_are_judged_as_a_real_server_does() {
    let facts =
        [include_str!("facts/schemas.json"), include_str!("facts/values.json"), include_str!("facts/ratcheting.json")];
    let facts = facts.iter().flat_map(|text| serde_json::from_str::<Vec<Value>>(text).unwrap());
    let mut wrong = Vec::new();
    for case in facts {
        let checks = Checks::of_new(case.pointer("/subresources/status").is_some());
        let errors = schema_errors(&Props::parse(&case["schema"]), &FieldPath::of("spec.validation"), &checks);
        let found = causes(&errors);
        let expected = case["accepted"].get("causes").cloned().unwrap_or_else(|| json!([]));
        if comparable(&case, &found) != comparable(&case, &expected)
            || (case["accepted"]["code"] == 201) != errors.is_empty()
        {
            wrong.push(format!("{}:\n  {found}\ninstead of\n  {}", case["name"], case["accepted"]));
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
}
