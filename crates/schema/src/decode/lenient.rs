//! Types whose values are judged later: the decoder keeps what does not fit.

use super::*;
use crate::{Field, ListType, SchemaBuilder};
use serde_json::json;

/// `{text: string, list: [{a: string}], map: {string: int}, kept: {…}, mixed: {a: string, …}}`, all lenient.
fn schema() -> (Schema, NodeId) {
    let mut b = SchemaBuilder::new();
    let lenient = |kind| Node { lenient: true, ..Node::new(kind, "interface {}") };
    let text = b.add(lenient(NodeKind::Scalar(Scalar::String)));
    let int = b.add(lenient(NodeKind::Scalar(Scalar::Int64)));
    let nothing = b.add(lenient(NodeKind::Object(Object::default())));
    let item = b.add(lenient(NodeKind::Object(Object::new("", vec![Field::new("a", text)]))));
    let list = b.add(Node { list: ListType::Atomic, ..lenient(NodeKind::List(item)) });
    let map = b.add(lenient(NodeKind::Map(int)));
    let kept = b.add(Node { preserve_unknown: true, ..lenient(NodeKind::Object(Object::default())) });
    let mixed = Object { others: Some(nothing), ..Object::new("", vec![Field::new("a", text)]) };
    let mixed = b.add(Node { preserve_unknown: true, ..lenient(NodeKind::Object(mixed)) });
    let fields = [("text", text), ("list", list), ("map", map), ("kept", kept), ("mixed", mixed)];
    let fields = fields.into_iter().map(|(name, node)| Field::new(name, node)).collect();
    let root = b.add(Node::new(NodeKind::Object(Object::new("", fields)), "Root"));
    (b.build().unwrap(), root)
}

fn check(given: Value, expect: Value, unknown: &[&str]) {
    let (schema, root) = schema();
    let decoded = decode_json(&schema, root, given.to_string().as_bytes()).unwrap();
    assert_eq!(Value::Object(decoded.object), expect, "{given}");
    assert_eq!(decoded.findings.iter().map(Finding::path).collect::<Vec<_>>(), unknown, "{given}");
}

#[test]
fn values_of_wrong_types_and_nulls_are_kept() {
    let odd = json!({"text": 1, "list": "x", "map": [true, 1.5], "kept": null});
    check(odd.clone(), odd, &[]);
    let nulls = json!({"text": null, "list": [null], "map": {"a": null}});
    check(nulls.clone(), nulls, &[]);
    check(json!({"text": "", "list": [], "map": {}}), json!({"text": "", "list": [], "map": {}}), &[]);
}

#[test]
fn what_a_misplaced_value_holds_is_unknown() {
    check(json!({"text": {"a": 1}}), json!({"text": {}}), &["text.a"]);
    check(json!({"text": [{"a": 1}, [{"b": 2}], 3]}), json!({"text": [{}, [{}], 3]}), &["text[0].a", "text[1][0].b"]);
    check(json!({"list": {"a": 1}}), json!({"list": {}}), &["list.a"]);
    check(json!({"kept": [{"a": 1}]}), json!({"kept": [{"a": 1}]}), &[]);
    check(
        json!({"mixed": {"a": "x", "b": {"c": 1}, "d": 2}}),
        json!({"mixed": {"a": "x", "b": {}, "d": 2}}),
        &["mixed.b.c"],
    );
}

#[test]
fn a_repeated_field_replaces_the_first() {
    let (schema, root) = schema();
    let decoded = decode_json(&schema, root, br#"{"kept":{"a":1},"kept":{"b":2}}"#).unwrap();
    assert_eq!(Value::Object(decoded.object), json!({"kept": {"b": 2}}));
    assert_eq!(decoded.findings, [Finding::Duplicate { path: "kept".to_owned() }]);
}

#[test]
fn something_that_is_no_object_is_refused() {
    let (schema, root) = schema();
    let error = decode_json(&schema, root, b"[]").unwrap_err().to_string();
    assert_eq!(error, "json: cannot unmarshal array into Go value of type Root");
}
