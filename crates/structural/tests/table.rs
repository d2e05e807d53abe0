//! The table of `docs/ratcheting.md`, row by row: what it says is what happens.
#![allow(clippy::restriction, reason = "a test stops at what it does not expect")]

mod common;

use common::{compile, judge, whole};
use serde_json::{Value, json};

/// A schema of `f`, the value that was there, one that is as wrong, one that is right.
struct Example {
    schema: Value,
    old: Value,
    wrong: Value,
    right: Value,
}

fn example(keyword: &str) -> Option<Example> {
    let text = |more: Value| merged(json!({"type": "string"}), more);
    let number = |more: Value| merged(json!({"type": "integer"}), more);
    let list = |more: Value| merged(json!({"type": "array", "items": {"type": "string"}}), more);
    let map = |more: Value| merged(json!({"type": "object", "additionalProperties": {"type": "string"}}), more);
    let pair = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
    let (schema, old, wrong, right) = match keyword {
        "`type`" => (number(json!({})), json!("a"), json!("b"), json!(1)),
        "`format`" => (text(json!({"format": "ipv4"})), json!("a"), json!("b"), json!("1.2.3.4")),
        "`nullable`" => (text(json!({"enum": ["x"], "nullable": true})), json!(null), json!("y"), json!("x")),
        "`enum`" => (text(json!({"enum": ["x"]})), json!("a"), json!("b"), json!("x")),
        "`minimum`" => (number(json!({"minimum": 5})), json!(1), json!(2), json!(5)),
        "`maximum`" => (number(json!({"maximum": 5, "exclusiveMaximum": true})), json!(6), json!(5), json!(4)),
        "`multipleOf`" => (number(json!({"multipleOf": 5})), json!(1), json!(2), json!(5)),
        "`minLength`" => (text(json!({"minLength": 3})), json!("a"), json!("b"), json!("abc")),
        "`maxLength`" => (text(json!({"maxLength": 1})), json!("aa"), json!("bb"), json!("a")),
        "`pattern`" => (text(json!({"pattern": "^x"})), json!("a"), json!("b"), json!("x")),
        "`minItems`" => (list(json!({"minItems": 2})), json!(["a"]), json!(["b"]), json!(["a", "b"])),
        "`maxItems`" => (list(json!({"maxItems": 1})), json!(["a", "b"]), json!(["a", "c"]), json!(["a"])),
        "`minProperties`" => {
            (map(json!({"minProperties": 2})), json!({"a": ""}), json!({"b": ""}), json!({"a": "", "b": ""}))
        }
        "`maxProperties`" => {
            (map(json!({"maxProperties": 1})), json!({"a": "", "b": ""}), json!({"a": "", "c": ""}), json!({}))
        }
        "`required`" => {
            (merged(pair, json!({"required": ["b"]})), json!({"a": "1"}), json!({"a": "2"}), json!({"b": ""}))
        }
        "`additionalProperties`" => {
            let schema = json!({"type": "object", "additionalProperties": {"type": "string", "minLength": 2}});
            (schema, json!({"a": "1"}), json!({"a": "2"}), json!({"a": "11"}))
        }
        "`allOf`" => {
            let all = json!({"allOf": [{"properties": {"a": {"minLength": 1}, "b": {"minLength": 3}}}]});
            (merged(pair, all), json!({"a": "1", "b": "2"}), json!({"a": "9", "b": "2"}), json!({"a": "1", "b": "222"}))
        }
        "`anyOf`" => {
            (text(json!({"anyOf": [{"minLength": 5}, {"pattern": "^x"}]})), json!("a"), json!("b"), json!("x"))
        }
        "`oneOf`" => {
            (text(json!({"oneOf": [{"minLength": 2}, {"pattern": "^x"}]})), json!("xx"), json!("xy"), json!("x"))
        }
        "`not`" => (text(json!({"not": {"pattern": "^x"}})), json!("xx"), json!("xy"), json!("a")),
        "`x-kubernetes-validations`" => {
            let rule = json!({"x-kubernetes-validations": [{"rule": "self.a == self.b"}]});
            (merged(pair, rule), json!({"a": "1", "b": "2"}), json!({"a": "1", "b": "3"}), json!({"a": "1", "b": "1"}))
        }
        "`x-kubernetes-validations` with `oldSelf`" => {
            (number(json!({"x-kubernetes-validations": [{"rule": "self > oldSelf"}]})), json!(1), json!(0), json!(2))
        }
        "`x-kubernetes-list-type: set`" => {
            (list(json!({"x-kubernetes-list-type": "set"})), json!(["a", "a"]), json!(["b", "b"]), json!(["a"]))
        }
        "`x-kubernetes-list-type: map`" => {
            let schema = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": {"type": "string"}}}});
            (schema, json!([{"k": "a"}, {"k": "a"}]), json!([{"k": "b"}, {"k": "b"}]), json!([{"k": "a"}]))
        }
        "`x-kubernetes-embedded-resource` kind, apiVersion" => {
            (embedded(), json!({"kind": "K"}), json!({"kind": "L"}), json!({"kind": "K", "apiVersion": "v1"}))
        }
        "`x-kubernetes-embedded-resource` metadata" => {
            let named = |name: &str| json!({"kind": "K", "apiVersion": "v1", "metadata": {"name": name}});
            (embedded(), named("a/b"), named("b/c"), named("a"))
        }
        _ => return None,
    };
    Some(Example { schema, old, wrong, right })
}

fn embedded() -> Value {
    json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true})
}

fn merged(mut schema: Value, more: Value) -> Value {
    schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    schema
}

#[test]
fn the_table_says_what_happens() {
    let table = include_str!("../../../docs/ratcheting.md");
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    let mut seen = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let (keyword, how) = (cells[0].trim_start_matches("| "), cells[1]);
        // Their tests are in `ratcheting.rs`.
        if matches!(keyword, "replicas and selector of `/scale`" | "cost of rules") {
            continue;
        }
        let Some(Example { schema, old, wrong, right }) = example(keyword) else { panic!("no example of {keyword}") };
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "f": schema, "g": {"type": "string"}}}}});
        let schema = compile(&schema);
        let passes = |new: &Value| {
            let (old, new) = (json!({"spec": {"f": old}}), json!({"spec": {"f": new, "g": "changed"}}));
            judge(&schema, &whole(&new), Some(&whole(&old)), true, None).errors.is_empty()
        };
        assert_eq!(passes(&old), how != "never", "{keyword}: a value that did not change");
        assert!(!passes(&wrong), "{keyword}: another value that is as wrong");
        assert!(passes(&right), "{keyword}: a value that is right");
        seen += 1;
    }
    assert_eq!(seen, 26);
}
