use super::*;
use crate::{Field, Object, Presence, SchemaBuilder};
use proptest::prelude::*;
use serde_json::json;

/// `{name: string, spec: {replicas: *int32, on: bool, tags: [string], at: Time, size: Quantity, kept: struct}}`
fn thing() -> Type {
    let mut b = SchemaBuilder::new();
    let scalar = |b: &mut SchemaBuilder, s, go: &str| b.add(Node::new(NodeKind::Scalar(s), go));
    let string = scalar(&mut b, Scalar::String, "string");
    let int = scalar(&mut b, Scalar::Int32, "int32");
    let boolean = scalar(&mut b, Scalar::Bool, "bool");
    let time = scalar(&mut b, Scalar::Time, "v1.Time");
    let quantity = scalar(&mut b, Scalar::Quantity, "resource.Quantity");
    let tags = b.add(Node::new(NodeKind::List(string), "[]string"));
    let data = b.add(Node::new(NodeKind::Map(string), "map[string]string"));
    let any = b.add(Node::new(NodeKind::Any, "runtime.RawExtension"));
    let field = |name: &str, node, pointer, presence| Field { pointer, presence, ..Field::new(name, node) };
    let empty = b.add(Node::new(NodeKind::Object(Object::new("t.v1.Empty", vec![])), "v1.Empty"));
    let fields = vec![
        field("replicas", int, true, Presence::OmitEmpty),
        field("on", boolean, false, Presence::OmitEmpty),
        field("tags", tags, false, Presence::OmitEmpty),
        field("at", time, true, Presence::OmitEmpty),
        field("size", quantity, true, Presence::OmitEmpty),
        field("kept", empty, false, Presence::OmitEmpty),
        field("rules", tags, false, Presence::Always),
    ];
    let spec = b.define("t.v1.Spec", Node::new(NodeKind::Object(Object::new("t.v1.Spec", fields)), "v1.Spec"));
    let fields = vec![
        field("name", string, false, Presence::OmitEmpty),
        field("data", data, false, Presence::OmitEmpty),
        field("spec", spec, true, Presence::OmitEmpty),
        field("raw", any, true, Presence::OmitEmpty),
    ];
    let root = b.define("t.v1.Thing", Node::new(NodeKind::Object(Object::new("t.v1.Thing", fields)), "v1.Thing"));
    b.build_type(root).unwrap()
}

fn check(text: &str, expect: Value, findings: &[&str]) {
    let thing = thing();
    let decoded = decode_json(thing.as_ref(), text.as_bytes()).unwrap();
    assert_eq!(Value::Object(decoded.object), expect, "{text}");
    assert_eq!(decoded.findings.iter().map(Finding::message).collect::<Vec<_>>(), findings, "{text}");
}

fn refuse(text: &str, expect: &str) {
    let thing = thing();
    assert_eq!(decode_json(thing.as_ref(), text.as_bytes()).unwrap_err().to_string(), expect, "{text}");
}

#[test]
fn objects_take_the_form_they_have_on_the_wire() {
    check(r#"{"spec":{}}"#, json!({"spec": {"kept": {}, "rules": null}}), &[]);
    check(
        r#"{"name":"","spec":{"replicas":0,"on":false,"tags":[],"rules":[]}}"#,
        json!({"spec": {"replicas": 0, "kept": {}, "rules": []}}),
        &[],
    );
    check(
        r#"{"spec":{"at":"2024-01-02T03:04:05+01:00","size":"0.5","replicas":null,"kept":null}}"#,
        json!({"spec": {"at": "2024-01-02T02:04:05Z", "size": "500m", "kept": {}, "rules": null}}),
        &[],
    );
    check("null", json!({}), &[]);
}

#[test]
fn unknown_and_duplicate_fields_are_found_in_document_order() {
    check(
        r#"{"nmae":1,"data":{"a":"1","a":"2"},"spec":{"x":{"y":1},"replicas":1,"replicas":2},"data":{"b":"3"}}"#,
        json!({"data": {"a": "2", "b": "3"}, "spec": {"replicas": 2, "kept": {}, "rules": null}}),
        &[
            "unknown field \"nmae\"",
            "duplicate field \"data.a\"",
            "unknown field \"spec.x\"",
            "duplicate field \"spec.replicas\"",
            "duplicate field \"data\"",
        ],
    );
    let thing = thing();
    let decoded = decode_json(thing.as_ref(), br#"{"spec":{"replcias":1}}"#).unwrap();
    assert_eq!(
        decoded.findings,
        [Finding::Unknown { path: "spec.replcias".to_owned(), suggestion: Some("replicas".to_owned()) }]
    );
}

#[test]
fn wrong_types_are_told_in_gos_words() {
    refuse(
        r#"{"spec":{"replicas":"x"}}"#,
        "json: cannot unmarshal string into Go struct field Spec.spec.replicas of type int32",
    );
    refuse(
        r#"{"spec":{"replicas":1.5}}"#,
        "json: cannot unmarshal number 1.5 into Go struct field Spec.spec.replicas of type int32",
    );
    refuse(r#"{"spec":[]}"#, "json: cannot unmarshal array into Go struct field Thing.spec of type v1.Spec");
    refuse(r#"{"data":{"a":1}}"#, "json: cannot unmarshal number into Go struct field Thing.data of type string");
    refuse(
        r#"{"spec":{"tags":[1]}}"#,
        "json: cannot unmarshal number into Go struct field Spec.spec.tags of type string",
    );
    refuse(r#"{"spec":{"#, "unexpected end of JSON input");
    refuse(&format!("{}1{}", "{\"raw\":".repeat(5000), "}".repeat(5000)), "exceeded max depth");
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let thing = thing();
        let _ = decode_json(thing.as_ref(), &bytes);
    }

    #[test]
    fn decoding_twice_changes_nothing(replicas in any::<i32>(), on in any::<bool>(), tags in proptest::collection::vec("[a-z]{0,3}", 0..3)) {
        let thing = thing();
        let text = json!({"spec": {"replicas": replicas, "on": on, "tags": tags}}).to_string();
        let once = decode_json(thing.as_ref(), text.as_bytes()).unwrap().object;
        let twice = decode_value(thing.as_ref(), Value::Object(once.clone())).unwrap().object;
        prop_assert_eq!(once, twice);
    }
}

#[test]
fn what_is_told_of_odd_fields_is_bounded() {
    let thing = thing();
    let entry = |letter: u8| format!("\"{}\":\"v\",", char::from(letter).to_string().repeat(50_000)).repeat(2);
    let entries: String = (b'a'..=b'm').map(entry).collect();
    let text = format!(r#"{{"data":{{{}}}}}"#, entries.trim_end_matches(','));
    let findings = decode_json(thing.as_ref(), text.as_bytes()).unwrap().findings;
    assert_eq!(findings.len(), 2);
}

#[test]
fn what_is_odd_is_told_once_and_where_it_begins() {
    check(
        r#"{"x":1,"x":2,"data":{"a":"1","a":"2","a":"3"},"data":{"b":"1","b":"2"}}"#,
        json!({"data": {"a": "3", "b": "2"}}),
        &[
            "unknown field \"x\"",
            "duplicate field \"data.a\"",
            "duplicate field \"data\"",
            "duplicate field \"data.b\"",
        ],
    );
    check(r#"{"a\"\n\u00a0":1}"#, json!({}), &[r#"unknown field "a\"\n\u00a0""#]);
}

#[test]
fn numbers_are_told_as_they_are_written() {
    let of_int = |literal: &str| {
        format!("json: cannot unmarshal number {literal} into Go struct field Spec.spec.replicas of type int32")
    };
    for literal in ["1e3", "1E2", "10e-1", "1.0", "-0.0", "1e400", "3000000000"] {
        refuse(&format!(r#"{{"spec":{{"replicas":{literal}}}}}"#), &of_int(literal));
    }
    check(r#"{"spec":{"replicas":-0}}"#, json!({"spec": {"replicas": 0, "kept": {}, "rules": null}}), &[]);
    check(r#"{"spec":{"size":1E3}}"#, json!({"spec": {"size": "1E3", "kept": {}, "rules": null}}), &[]);
    let of_float = "json: cannot unmarshal number 1e400 into Go struct field Thing.raw of type float64";
    refuse(r#"{"raw":[1e400]}"#, of_float);
    let patched = json!({"spec": {"replicas": 1000.0}});
    let error = decode_value_of(thing().as_ref(), patched, br#"[{"value":1e3}]"#).unwrap_err();
    assert_eq!(error.to_string(), of_int("1e3"));
}

/// The text is not read again for each of a great many numbers.
#[test]
fn numbers_are_looked_up_only_so_often() {
    let mut b = SchemaBuilder::new();
    let quantity = b.add(Node::new(NodeKind::Scalar(Scalar::Quantity), "resource.Quantity"));
    let map = b.add(Node::new(NodeKind::Map(quantity), "v1.ResourceList"));
    let root = b.add(Node::new(NodeKind::Object(Object::new("v1.Limits", vec![Field::new("max", map)])), "v1.Limits"));
    let limits = b.build_type(root).unwrap();
    let entries: Vec<String> = (0..50_000).map(|i| format!("\"{i}\":1.500")).collect();
    let text = format!(r#"{{"max":{{{}}}}}"#, entries.join(","));
    let max = decode_json(limits.as_ref(), text.as_bytes()).unwrap().object["max"].clone();
    let kept = max.as_object().unwrap().values().filter(|value| *value == "1.500").count();
    assert_eq!((kept, &max["49999"]), (16, &json!("1500m")));
}

#[test]
fn bytes_may_be_null_or_listed() {
    let mut b = SchemaBuilder::new();
    let bytes = b.add(Node::new(NodeKind::Scalar(Scalar::Bytes), "[]uint8"));
    let map = b.add(Node::new(NodeKind::Map(bytes), "map[string][]uint8"));
    let root = b.add(Node::new(NodeKind::Object(Object::new("v1.Secret", vec![Field::new("data", map)])), "v1.Secret"));
    let secret = b.build_type(root).unwrap();
    let decode =
        |text: &str| decode_json(secret.as_ref(), text.as_bytes()).map(|decoded| Value::Object(decoded.object));
    assert_eq!(decode(r#"{"data":{"a":null,"b":[1,null,255]}}"#), Ok(json!({"data": {"a": "", "b": "AQD/"}})));
    let error = decode(r#"{"data":{"a":[256]}}"#).unwrap_err().to_string();
    assert_eq!(error, "json: cannot unmarshal number 256 into Go struct field Secret.data of type uint8");
    let deep = format!(r#"{{"data":{{"a":{}{}}}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(decode(&deep).unwrap_err().to_string(), "exceeded max depth");
}

#[test]
fn what_becomes_too_large_is_refused_as_it_is_read() {
    let thing = thing();
    let text = format!(r#"{{"raw":[{}0]}}"#, r#"{"":0},"#.repeat(100_000));
    let error = decode_json(thing.as_ref(), text.as_bytes()).unwrap_err();
    assert!(matches!(error, DecodeError::TooLarge(..)), "{error}");
    let less = format!(r#"{{"raw":[{}0]}}"#, r#"{"":0},"#.repeat(10_000));
    assert!(decode_json(thing.as_ref(), less.as_bytes()).is_ok());
}
