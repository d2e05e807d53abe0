//! What a decoder takes of memory, counted by the allocator: at most a small multiple of the body, however hostile.
//!
//! One test, for it counts what the whole process allocates.

#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

use std::fmt::Write;

use pawl_registry::protobuf;
use pawl_schema::{TypeRef, decode_json, decode_value, yaml};
use peak_alloc::PeakAlloc;
use serde_json::{Value, json};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// How many times its size a body may take while it is read: two bytes of text, a number and its comma, take 32 in a list,
/// and a list that grows is there twice for a moment.
const TIMES: usize = 42;
/// How many times its size what people write takes.
const ORDINARY: usize = 20;
/// What is always allowed: the smallest documents may become so large, and are there twice when they are patched.
const FREE: usize = 48 << 20;
const BODY: usize = 3 << 20;

/// Reads a body, whether that succeeds or not.
fn check(what: &str, body: &[u8], read: impl FnOnce(&[u8])) {
    let used = used(body, read);
    println!("{what}: {} bytes, {used} bytes of memory, {} times", body.len(), used / body.len().max(1));
    assert!(used < FREE.max(TIMES * body.len()), "{what}: {} bytes became {used}", body.len());
}

/// What there is at most while a body is read.
fn used(body: &[u8], read: impl FnOnce(&[u8])) -> usize {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    read(body);
    MEMORY.peak_usage().saturating_sub(before)
}

fn named(kind: &str) -> TypeRef<'static> {
    pawl_kinds::schema().named(kind).unwrap()
}

/// Something again and again, up to the size of a body.
fn filled(before: &str, again: &str, after: &str) -> Vec<u8> {
    let times = (BODY - before.len() - after.len()) / again.len();
    let list = again.repeat(times);
    format!("{before}{}{after}", list.trim_end_matches(',')).into_bytes()
}

/// The bodies that become the most in memory, as text.
fn hostile() -> Vec<(&'static str, Vec<u8>)> {
    let pod = |inner: &str| format!("{{\"spec\":{{\"containers\":[{{\"name\":\"c\",{inner}");
    let mut keys = pod("\"env\":[{\"name\":\"a\",");
    for i in 0.. {
        if keys.len() > BODY - 100 {
            break;
        }
        write!(keys, "\"u{i}\":0,").unwrap();
    }
    let unknown = format!("{}}}]}}]}}}}", keys.trim_end_matches(','));
    let long_key = format!("{{\"metadata\":{{\"labels\":{{\"{}\":{{", "k".repeat(1 << 20));
    vec![
        ("empty objects", filled(&pod("\"ports\":["), "{},", "]}]}}")),
        ("small objects", filled(&pod("\"env\":["), "{\"name\":\"a\"},", "]}]}}")),
        ("empty lists", filled("{\"metadata\":{\"managedFields\":[{\"fieldsV1\":[", "[],", "]}]}}")),
        ("lists of one", filled("{\"metadata\":{\"managedFields\":[{\"fieldsV1\":[", "[0],", "]}]}}")),
        ("objects of anything", filled("{\"metadata\":{\"managedFields\":[{\"fieldsV1\":[", "{\"\":0},", "]}]}}")),
        ("numbers", filled("{\"metadata\":{\"finalizers\":[", "0,", "]}}")),
        ("short texts", filled("{\"metadata\":{\"finalizers\":[", "\"a\",", "]}}")),
        ("nested lists", filled("{\"metadata\":", "[", "")),
        ("one text", filled("{\"metadata\":{\"name\":\"", "a", "\"}}")),
        ("escapes", filled("{\"metadata\":{\"name\":\"", "\\n", "\"}}")),
        ("unknown fields", unknown.into_bytes()),
        ("unknown fields below a long key", filled(&long_key, "\"f\":0,", "}}}}")),
    ]
}

/// Anchors on every level, each copied once; and one anchor copied again and again.
fn anchors() -> Vec<(&'static str, Vec<u8>)> {
    let mut nested: String = (0..250).map(|level| format!("{{k: &a{level} ")).collect();
    write!(nested, "[{}]{}", "x,".repeat(BODY / 2 - 10_000), "}".repeat(250)).unwrap();
    let aliases =
        |times: usize| (0..250 * times).map(|level| format!("*a{}", level % 250)).collect::<Vec<_>>().join(",");
    let unused = format!("a: {nested}\n");
    let used = format!("a: {nested}\nb: [{}]\n", aliases(1));
    let many = format!("a: &a0 {{a: b}}\nb: [{}]\n", "*a0,".repeat(BODY / 4 - 10));
    let texts = format!("a: &a0 {}\nb: [{}]\n", "x".repeat(1 << 20), "*a0,".repeat(400_000));
    let merged = format!("a: &a0 {{a: b}}\nb: [{}]\n", "{<<: *a0},".repeat(BODY / 10 - 10));
    [
        ("nested anchors", unused),
        ("nested anchors in use", used),
        ("many aliases", many),
        ("aliases of a text", texts),
        ("merges", merged),
    ]
    .map(|(what, text)| (what, text.into_bytes()))
    .to_vec()
}

#[test]
fn a_body_takes_a_small_multiple_of_its_size() {
    let pod = named("core.v1.Pod");
    let any = pawl_schema::Type::any("interface {}");
    // What is made once is not the body's.
    let _ = decode_json(pod, b"{}");
    let _ = protobuf();
    for (what, body) in hostile() {
        check(&format!("JSON, {what}"), &body, |body| drop(decode_json(pod, body)));
        check(&format!("JSON of anything, {what}"), &body, |body| drop(decode_json(any.as_ref(), body)));
        check(&format!("JSON without a type, {what}"), &body, |body| drop(pawl_schema::read_json(body)));
        let value = [b"[{\"op\":\"add\",\"path\":\"/a\",\"value\":", &body[..], b"}]"].concat();
        check(&format!("JSON patch, {what}"), &value, |body| drop(pawl_apply::json_patch::apply(json!({}), body)));
    }
    for (what, body) in hostile().into_iter().chain(anchors()) {
        check(&format!("YAML, {what}"), &body, |body| {
            if let Ok(parsed) = yaml::parse(std::str::from_utf8(body).unwrap()) {
                drop(decode_value(pod, parsed.value));
            }
        });
        let block = [b"# not JSON\n", &body[..]].concat();
        check(&format!("YAML that is no JSON, {what}"), &block, |body| {
            drop(yaml::parse(std::str::from_utf8(body).unwrap()));
        });
    }
    for (what, again) in [("empty messages", &[0x12, 2, 0x12, 0][..]), ("small", &[0x12, 5, 0x12, 3, 0x0a, 1, b'a'])] {
        // Containers of a pod's spec: field 2 of field 2.
        let body = again.repeat(BODY / again.len());
        check(&format!("protobuf, {what}"), &body, |body| drop(protobuf().decode(pod, body)));
    }
    for (what, again) in [("sums", "1+"), ("lists", "[1]+"), ("fields", "a.b||"), ("calls", "f(1)+")] {
        // No expression is longer than this.
        let text = format!("{}1", again.repeat(100_000 / again.len() - 1));
        let env = pawl_cel::Env::new(pawl_cel::k8s::library());
        check(&format!("CEL, {what}"), text.as_bytes(), |_| drop(pawl_cel::compile(&text, &env)));
    }
    let container = json!({"name": "main", "image": "registry.example/app:1", "args": ["--port", "80"],
        "env": [{"name": "A", "value": "b"}], "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
        "ports": [{"name": "http", "containerPort": 80, "protocol": "TCP"}],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}]});
    let ordinary = json!({"spec": {"containers": vec![container; BODY / 320]}}).to_string().into_bytes();
    let used = used(&ordinary, |body| drop(decode_json(pod, body)));
    println!("JSON, ordinary: {} times", used / ordinary.len());
    assert!(used < ORDINARY * ordinary.len(), "{} bytes became {used}", ordinary.len());
    let copies: Value = std::iter::once(json!({"op": "add", "path": "/a", "value": vec![json!({"a": 1}); 50_000]}))
        .chain((0..9_000).map(|i| json!({"op": "copy", "from": "/a", "path": format!("/b{i}")})))
        .collect();
    check("JSON patch, copies", copies.to_string().as_bytes(), |body| {
        drop(pawl_apply::json_patch::apply(json!({}), body));
    });
}
