use serde_json::json;

use super::*;
use crate::codec::builtin;
use crate::wire::{put_bytes, put_int, put_message};
use crate::{MAX_DEPTH, seal};

fn decode(kind: &str, raw: &[u8]) -> Result<Decoded, Error> {
    let codec = builtin();
    codec.decode(pawl_kinds::schema().named(kind).unwrap(), raw)
}

fn check(kind: &str, raw: &[u8], expected: Value) {
    let decoded = decode(kind, raw).unwrap();
    assert_eq!(Value::Object(decoded.object), expected, "{kind}");
    assert_eq!(decoded.unknown, Vec::<String>::new());
}

fn refused(kind: &str, raw: &[u8]) -> String {
    decode(kind, raw).unwrap_err().to_string()
}

#[test]
fn empty_values_are_kept_as_in_json() {
    // With everything that Go writes, and with the least that says the same.
    let full =
        b"\x0a\x11\x0a\x01c\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00\x12\x06\x0a\x01a\x12\x011\x20\x00";
    let expected = json!({"metadata": {"name": "c"}, "data": {"a": "1"}, "immutable": false});
    check("core.v1.ConfigMap", full, expected.clone());
    check("core.v1.ConfigMap", b"\x0a\x03\x0a\x01c\x12\x06\x0a\x01a\x12\x011\x20\x00", expected);
    check("core.v1.ConfigMap", b"", json!({"metadata": {}}));
    check("core.v1.ConfigMapList", b"", json!({"metadata": {}, "items": null}));
    check("core.v1.ContainerPort", b"", json!({"containerPort": 0}));
    check("meta.v1.DeleteOptions", b"\x08\x00", json!({"gracePeriodSeconds": 0}));
    check(
        "meta.v1.OwnerReference",
        b"\x30\x00",
        json!({"apiVersion": "", "kind": "", "name": "", "uid": "", "controller": false}),
    );
}

#[test]
fn a_message_may_come_in_parts() {
    let parts = b"\x0a\x03\x0a\x01a\x0a\x03\x1a\x01n\x0a\x03\x0a\x01b";
    check("core.v1.ConfigMap", parts, json!({"metadata": {"name": "b", "namespace": "n"}}));
    check("core.v1.ConfigMap", b"\x0a\x03\x0a\x01a\x0a\x02\x0a\x00", json!({"metadata": {}}));
    check(
        "core.v1.ConfigMap",
        b"\x0a\x00\x12\x06\x0a\x01a\x12\x011\x12\x03\x0a\x01a",
        json!({"metadata": {}, "data": {"a": ""}}),
    );
}

#[test]
fn lists_may_be_packed() {
    let expected = json!({"supplementalGroups": [1, -1, 3]});
    let minus_one = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    let mut packed = vec![0x22, 12, 1];
    packed.extend_from_slice(&minus_one);
    packed.push(3);
    check("core.v1.PodSecurityContext", &packed, expected.clone());
    let mut plain = vec![0x20, 1, 0x20];
    plain.extend_from_slice(&minus_one);
    plain.extend_from_slice(&[0x20, 3]);
    check("core.v1.PodSecurityContext", &plain, expected);
}

#[test]
fn special_types_have_their_json_form() {
    check("core.v1.TCPSocketAction", b"\x0a\x06\x08\x00\x10\x50\x1a\x00", json!({"port": 80}));
    check("core.v1.TCPSocketAction", b"\x0a\x0a\x08\x01\x10\x00\x1a\x04http", json!({"port": "http"}));
    check("core.v1.TCPSocketAction", b"\x0a\x00", json!({"port": 0}));
    check(
        "core.v1.ResourceRequirements",
        b"\x0a\x0d\x0a\x03cpu\x12\x06\x0a\x040.10",
        json!({"limits": {"cpu": "100m"}}),
    );
    check("core.v1.ResourceRequirements", b"\x0a\x05\x0a\x03cpu", json!({"limits": {"cpu": "0"}}));
    check("storage.v1.VolumeError", b"\x0a\x04\x08\x3c\x10\x05", json!({"time": "1970-01-01T00:01:00Z"}));
    check("storage.v1.VolumeError", b"\x0a\x00", json!({"time": null}));
    check(
        "coordination.v1.LeaseSpec",
        b"\x22\x05\x08\x01\x10\xd1\x0f",
        json!({"renewTime": "1970-01-01T00:00:01.000002Z"}),
    );
    check("core.v1.Secret", b"\x12\x06\x0a\x01k\x12\x01\x03", json!({"metadata": {}, "data": {"k": "Aw=="}}));
    check("meta.v1.WatchEvent", b"\x12\x09\x0a\x07{\"a\":1}", json!({"type": "", "object": {"a": 1}}));
    check("meta.v1.WatchEvent", b"", json!({"type": "", "object": null}));
    check(
        "meta.v1.APIResource",
        b"\x22\x00",
        json!({"name": "", "singularName": "", "namespaced": false, "kind": "", "verbs": []}),
    );
    let float = b"\x49\x00\x00\x00\x00\x00\x00\xe0\x3f\x59\x00\x00\x00\x00\x00\x00\x00\x40";
    check("apiextensions.v1.JSONSchemaProps", float, json!({"maximum": 0.5, "minimum": 2}));
}

#[test]
fn objects_may_hold_sealed_objects() {
    let mut event = Vec::new();
    put_bytes(1, b"ADDED", &mut event);
    put_message::<Error>(2, &mut event, |out| {
        put_bytes(1, &seal("v1", "Namespace", b"\x0a\x03\x0a\x01n"), out);
        Ok(())
    })
    .unwrap();
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}, "spec": {}, "status": {}});
    check("meta.v1.WatchEvent", &event, json!({"type": "ADDED", "object": namespace}));
    let mut unknown = Vec::new();
    put_message::<Error>(2, &mut unknown, |out| {
        put_bytes(1, &seal("v1", "Nothing", b"\x0a\x03\x0a\x01n"), out);
        Ok(())
    })
    .unwrap();
    assert_eq!(refused("meta.v1.WatchEvent", &unknown), "object: no kind \"Nothing\" is registered for version \"v1\"");
}

#[test]
fn unknown_fields_are_skipped_and_named() {
    let mut raw = Vec::new();
    put_int(77, 5, &mut raw);
    put_message::<Error>(2, &mut raw, |out| {
        put_bytes(42, b"later", out);
        put_message(2, out, |out| {
            put_int(99, 1, out);
            Ok(())
        })
    })
    .unwrap();
    let decoded = decode("core.v1.Pod", &raw).unwrap();
    let expected = [
        "unknown protobuf field 77",
        "spec: unknown protobuf field 42",
        "spec.containers[0]: unknown protobuf field 99",
    ];
    assert_eq!(decoded.unknown, expected);
    let many: Vec<u8> = std::iter::repeat_n([0xa8, 0x06, 1], 500).flatten().collect();
    assert_eq!(decode("core.v1.Pod", &many).unwrap().unknown.len(), MAX_UNKNOWN);
}

#[test]
fn what_is_wrong_is_named() {
    assert_eq!(refused("core.v1.ConfigMap", b"\x08\x01"), "proto: wrong wireType = 0 for field metadata");
    assert_eq!(refused("core.v1.ConfigMap", b"\x22\x01\x01"), "proto: wrong wireType = 2 for field immutable");
    assert_eq!(refused("core.v1.ConfigMap", b"\x12\x02\x08\x01"), "proto: wrong wireType = 0 for field data");
    assert_eq!(refused("core.v1.ConfigMap", b"\x0a\x03\x0a\x01\xff"), "metadata.name: invalid UTF-8");
    assert_eq!(refused("core.v1.ConfigMap", b"\x0b\x0c"), "proto: groups are not accepted (field 1)");
    assert_eq!(refused("core.v1.ConfigMap", b"\x0a\x7f"), "unexpected EOF");
    assert!(
        refused("core.v1.ResourceRequirements", b"\x0a\x08\x0a\x01c\x12\x03\x0a\x01x")
            .starts_with("limits.c: quantities must match")
    );
    assert_eq!(
        refused("storage.v1.VolumeError", b"\x0a\x09\x08\xff\xff\xff\xff\xff\xff\xff\x7f"),
        "time: the time is out of range"
    );
    assert!(refused("meta.v1.WatchEvent", b"\x12\x03\x0a\x01{").starts_with("object: the raw value is not JSON"));
}

#[test]
fn depth_and_size_have_limits() {
    let mut schema = Vec::new();
    for _ in 0..MAX_DEPTH - 1 {
        let mut outer = Vec::new();
        put_bytes(28, &schema, &mut outer);
        schema = outer;
    }
    assert!(decode("apiextensions.v1.JSONSchemaProps", &schema).is_ok());
    let mut deeper = Vec::new();
    put_bytes(28, &schema, &mut deeper);
    assert_eq!(decode("apiextensions.v1.JSONSchemaProps", &deeper), Err(Error::TooDeep));

    // A pair of bytes for each of many containers, which have a few fields each that are always there.
    let spec = [0x12, 0x00].repeat(100_000);
    let mut pod = Vec::new();
    put_bytes(2, &spec, &mut pod);
    assert_eq!(decode("core.v1.Pod", &pod), Err(Error::TooLarge));
}
