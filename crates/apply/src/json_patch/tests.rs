use serde_json::{Value, json};

use super::*;

fn check(patch: Value, expect: Value) {
    let doc = json!({"data": {"a": "1", "n": null}, "list": ["x", "y"], "a/b~c": {"k": 1}});
    assert_eq!(apply(doc, patch.to_string().as_bytes()).unwrap(), expect, "{patch}");
}

fn refuse(patch: Value) -> String {
    let doc = json!({"data": {"a": "1", "n": null}, "list": ["x", "y"]});
    match apply(doc, patch.to_string().as_bytes()).unwrap_err() {
        PatchError::Inapplicable(text) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn operations_do_what_they_say() {
    let doc = |data: Value, list: Value| json!({"data": data, "list": list, "a/b~c": {"k": 1}});
    let data = json!({"a": "1", "n": null});
    let list = json!(["x", "y"]);
    check(json!([]), doc(data.clone(), list.clone()));
    check(
        json!([{"op": "add", "path": "/data/b", "value": 2}]),
        doc(json!({"a": "1", "n": null, "b": 2}), list.clone()),
    );
    check(json!([{"op": "add", "path": "/list/-", "value": "z"}]), doc(data.clone(), json!(["x", "y", "z"])));
    check(json!([{"op": "add", "path": "/list/0", "value": "z"}]), doc(data.clone(), json!(["z", "x", "y"])));
    check(json!([{"op": "add", "path": "/list/-1", "value": "z"}]), doc(data.clone(), json!(["x", "y", "z"])));
    check(json!([{"op": "remove", "path": "/list/-2"}]), doc(data.clone(), json!(["y"])));
    check(json!([{"op": "replace", "path": "/list/1", "value": 1}]), doc(data.clone(), json!(["x", 1])));
    check(
        json!([{"op": "move", "from": "/data/a", "path": "/list/1"}]),
        doc(json!({"n": null}), json!(["x", "1", "y"])),
    );
    check(
        json!([{"op": "copy", "from": "/list", "path": "/data/l"}]),
        doc(json!({"a": "1", "n": null, "l": ["x", "y"]}), list.clone()),
    );
    check(
        json!([{"op": "test", "path": "/a~1b~0c/k", "value": 1}, {"op": "test", "path": "/data/n"}]),
        doc(data.clone(), list.clone()),
    );
    check(json!([{"op": "replace", "path": "", "value": {"q": 1}}]), json!({"q": 1}));
}

#[test]
fn upstreams_leniencies_are_kept() {
    let rest = |extra: (&str, Value)| {
        let mut doc = json!({"data": {"a": "1", "n": null}, "list": ["x", "y"], "a/b~c": {"k": 1}});
        doc.as_object_mut().unwrap().insert(extra.0.to_owned(), extra.1);
        doc
    };
    check(json!([{"op": "add", "path": "data/a", "value": "2"}]), rest(("a", json!("2"))));
    check(json!([{"op": "replace", "path": "/zz", "value": "2"}]), rest(("zz", json!("2"))));
    check(json!([{"op": "copy", "from": "/nope", "path": "/zz"}]), rest(("zz", json!(null))));
    check(json!([{"op": "add", "path": "/zz"}]), rest(("zz", json!(null))));
    check(json!([{"op": "test", "path": "/nope", "value": null}]), rest(("data", json!({"a": "1", "n": null}))));
}

#[test]
fn operations_that_do_not_fit_are_refused() {
    for patch in [
        json!([{"op": "test", "path": "/data/a", "value": "2"}]),
        json!([{"op": "test", "path": "/data/zz", "value": "2"}]),
        json!([{"op": "remove", "path": "/data/zz"}]),
        json!([{"op": "remove", "path": ""}]),
        json!([{"op": "add", "path": "/nope/x", "value": 1}]),
        json!([{"op": "add", "path": "/data/n/x", "value": 1}]),
        json!([{"op": "add", "path": "/data/a/x", "value": 1}]),
        json!([{"op": "add", "path": "/list/3", "value": 1}]),
        json!([{"op": "add", "path": "/list/x", "value": 1}]),
        json!([{"op": "replace", "path": "/list/2", "value": 1}]),
        json!([{"op": "replace", "path": "/list/-", "value": 1}]),
        json!([{"op": "replace", "path": "", "value": 1}]),
        json!([{"op": "move", "from": "/data", "path": "/data/x"}]),
        json!([{"op": "frobnicate", "path": "/data/a"}]),
        json!([{"path": "/data/a", "value": "1"}]),
        json!([{"op": "add", "value": "1"}]),
        json!([null]),
    ] {
        assert!(!refuse(patch).is_empty());
    }
}

#[test]
fn copies_are_bounded_in_size_and_depth() {
    let repeat = |operation: Value, n: usize| Value::Array(vec![operation; n]);
    let doubled = repeat(json!({"op": "copy", "from": "/list", "path": "/list/-"}), 30);
    assert!(refuse(doubled).contains("exceeding the limit 25165824"), "lists of numbers take more memory than text");
    let text = json!([
        {"op": "add", "path": "/data/a", "value": "x".repeat(1 << 20)},
        {"op": "copy", "from": "/data/a", "path": "/data/b"},
        {"op": "copy", "from": "/data/a", "path": "/data/c"},
        {"op": "copy", "from": "/data/a", "path": "/data/d"},
    ]);
    assert!(refuse(text).contains("exceeding the limit 3145728"));
    let nested = (0..100).fold(json!({}), |inner, _| json!({"a": inner}));
    let deepened =
        (0..5).map(|n| json!({"op": "add", "path": format!("/data{}", "/a".repeat(n * 100 + 1)), "value": nested}));
    let deepened = deepened.collect::<Value>();
    assert_eq!(refuse(deepened), "exceeded max depth");
}

#[test]
fn what_is_no_patch_is_refused_in_gos_words() {
    let refuse = |text: &str| apply(json!({}), text.as_bytes()).unwrap_err().to_string();
    assert_eq!(refuse("not json"), "error decoding patch: invalid character 'o' in literal null (expecting 'u')");
    assert_eq!(
        refuse(r#"{"data":{}}"#),
        "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
    );
    assert_eq!(
        refuse(r#"[{"op":1}]"#),
        "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"
    );
    let many = format!("[{}]", vec!["{}"; MAX_OPERATIONS + 1].join(","));
    assert_eq!(refuse(&many), "The allowed maximum operations in a JSON patch is 10000, got 10001");
}

#[test]
fn fields_that_operations_do_not_have_are_named() {
    let patch = Patch::decode(br#"[{"op":"add","path":"/a","value":1},{"op":"add","path":"/a","valeu":1}]"#).unwrap();
    assert_eq!(patch.unknown_fields(), ["[1].valeu"]);
}

#[test]
fn long_lists_are_not_moved_about_without_end() {
    let doc = json!({"list": vec![0; 20_000]});
    let turn = |times: usize| {
        let operation = json!({"op": "move", "from": "/list/0", "path": "/list/-"});
        apply(doc.clone(), Value::Array(vec![operation; times]).to_string().as_bytes())
    };
    assert_eq!(turn(100).unwrap(), doc);
    assert!(matches!(turn(9_000), Err(PatchError::Inapplicable(why)) if why == "the operations move too much"));
}
