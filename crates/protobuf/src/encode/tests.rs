use serde_json::json;

use super::*;
use crate::codec::builtin;

fn encode(kind: &str, object: Value) -> Result<Vec<u8>, Error> {
    let codec = builtin();
    let mut out = Vec::new();
    codec.encode(pawl_kinds::schema().named(kind).unwrap(), object.as_object().unwrap(), &mut out)?;
    Ok(out)
}

fn check(kind: &str, object: Value, expected: &[u8]) {
    assert_eq!(encode(kind, object), Ok(expected.to_vec()), "{kind}");
}

#[test]
fn what_is_not_behind_a_pointer_is_always_written() {
    let metadata = b"\x0a\x00\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00";
    check("meta.v1.ObjectMeta", json!({}), metadata);
    let mut config_map = vec![0x0a, 16];
    config_map.extend_from_slice(metadata);
    check("core.v1.ConfigMap", json!({}), &config_map);
    check("core.v1.ConfigMap", json!({"metadata": null, "data": {}, "apiVersion": "v1", "kind": "x"}), &config_map);
    check("meta.v1.DeleteOptions", json!({}), b"");
    check("meta.v1.DeleteOptions", json!({"gracePeriodSeconds": 0, "orphanDependents": false}), b"\x08\x00\x18\x00");
}

#[test]
fn maps_are_sorted_and_their_entries_whole() {
    let object =
        json!({"metadata": {"name": "c"}, "data": {"b": "", "a": "1"}, "binaryData": {"k": "Aw==", "n": null}});
    let mut expected = b"\x0a\x11\x0a\x01c\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00".to_vec();
    expected.extend_from_slice(b"\x12\x06\x0a\x01a\x12\x011\x12\x05\x0a\x01b\x12\x00");
    expected.extend_from_slice(b"\x1a\x06\x0a\x01k\x12\x01\x03\x1a\x03\x0a\x01n");
    check("core.v1.ConfigMap", object, &expected);
}

#[test]
fn special_types_are_messages() {
    check(
        "core.v1.EnvVarSource",
        json!({"resourceFieldRef": {"divisor": "0"}}),
        b"\x12\x09\x0a\x00\x12\x00\x1a\x03\x0a\x010",
    );
    check("core.v1.TCPSocketAction", json!({"port": 80}), b"\x0a\x06\x08\x00\x10\x50\x1a\x00\x12\x00");
    check("core.v1.TCPSocketAction", json!({"port": "http"}), b"\x0a\x0a\x08\x01\x10\x00\x1a\x04http\x12\x00");
    check("core.v1.TCPSocketAction", json!({}), b"\x0a\x06\x08\x00\x10\x00\x1a\x00\x12\x00");
    check("storage.v1.VolumeError", json!({"time": "1970-01-01T00:01:00Z"}), b"\x0a\x04\x08\x3c\x10\x00\x12\x00");
    check("storage.v1.VolumeError", json!({"time": null}), b"\x0a\x00\x12\x00");
    let micro = json!({"renewTime": "1970-01-01T00:00:01.000002Z"});
    check("coordination.v1.LeaseSpec", micro, b"\x22\x05\x08\x01\x10\xd0\x0f");
    let event = encode("meta.v1.WatchEvent", json!({"type": "ADDED", "object": {"a": 1}})).unwrap();
    assert_eq!(event, b"\x0a\x05ADDED\x12\x09\x0a\x07{\"a\":1}");
    check("meta.v1.WatchEvent", json!({}), b"\x0a\x00\x12\x00");
}

#[test]
fn lists_in_a_message_of_their_own_tell_empty_from_none() {
    let review = |extra: Value| encode("authentication.v1.UserInfo", json!({"extra": extra})).unwrap();
    assert_eq!(review(json!({"k": ["a", "b"]})), b"\x0a\x00\x12\x00\x22\x0b\x0a\x01k\x12\x06\x0a\x01a\x0a\x01b");
    assert_eq!(review(json!({"k": []})), b"\x0a\x00\x12\x00\x22\x05\x0a\x01k\x12\x00");
    let verbs = |verbs: Value| encode("meta.v1.APIResource", json!({"verbs": verbs})).unwrap();
    assert_eq!(verbs(json!(null)), b"\x0a\x00\x10\x00\x1a\x00\x32\x00\x42\x00\x4a\x00\x52\x00");
    assert_eq!(verbs(json!([])), b"\x0a\x00\x10\x00\x1a\x00\x22\x00\x32\x00\x42\x00\x4a\x00\x52\x00");
}

#[test]
fn embedded_structs_are_written_even_when_empty() {
    check("core.v1.Volume", json!({"name": "v"}), b"\x0a\x01v\x12\x00");
    check("core.v1.Volume", json!({"name": "v", "emptyDir": {}}), b"\x0a\x01v\x12\x04\x12\x02\x0a\x00");
}

#[test]
fn json_schemas_have_their_unions() {
    let plain = encode("apiextensions.v1.JSONSchemaProps", json!({})).unwrap();
    let with = |field: &str, value: Value| encode("apiextensions.v1.JSONSchemaProps", json!({field: value})).unwrap();
    assert_eq!(with("additionalProperties", json!(true)).len(), plain.len() + 5);
    let schema = with("items", json!({}));
    let list = with("items", json!([{}]));
    assert_eq!(schema.len(), list.len());
    assert_ne!(schema, list);
}

#[test]
fn liens_have_a_number_that_upstream_does_not_use() {
    let encoded = encode("meta.v1.ObjectMeta", json!({"liens": ["held"]})).unwrap();
    assert!(encoded.ends_with(b"\xd2\x05\x04held"));
}

#[test]
fn values_that_do_not_fit_are_named() {
    let refused = |kind: &str, object: Value| encode(kind, object).unwrap_err().to_string();
    let pod = json!({"spec": {"containers": [{"ports": [{"containerPort": "x"}]}]}});
    assert_eq!(refused("core.v1.Pod", pod), "spec.containers[0].ports[0].containerPort: a number is expected");
    assert_eq!(refused("core.v1.ConfigMap", json!({"data": {"k": 1}})), "data.k: a string is expected");
    assert_eq!(refused("core.v1.ConfigMap", json!({"data": []})), "data: a map is expected");
    assert_eq!(
        refused("meta.v1.Table", json!({})),
        "object *v1.Table does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message"
    );
}
