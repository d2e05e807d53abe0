//! One validation of an update, many times, for whoever counts instructions and allocations: `tests/bench/ratcheting` runs it.
//!
//! `ratcheting CASE KILOBYTES MODE TIMES`, as in `ratcheting valid-valid 200 on 100`. A case says what the old object is
//! and what the new one; in all of them one leaf changes. `MODE` is `off` or `on` (the gate), or `marked`: on, and the old
//! object is known to have been valid. The last line says how long one validation took.
#![allow(clippy::restriction, reason = "a benchmark that cannot run says so")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use common::{Object, compile, judge, whole};
use serde_json::{Value, json};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let [case, kilobytes, mode, times] = &arguments[..] else {
        // `cargo bench` and `cargo test` run everything without arguments.
        return;
    };
    let schema = compile(&schema());
    let (old, new) = objects(case, kilobytes.parse::<usize>().unwrap() * 1000);
    let mark =
        (mode == "marked").then(|| judge(&schema, &old, None, true, None).mark.expect("the old object is valid"));
    let (times, on) = (times.parse::<u32>().unwrap(), mode != "off");
    let expected = match (case.as_str(), on) {
        ("valid-valid", _) | ("invalid-invalid", true) => 0,
        _ => 1,
    };
    let started = Instant::now();
    for _ in 0..times {
        let outcome = judge(&schema, &new, Some(&old), on, mark.as_ref());
        assert_eq!(outcome.errors.len().min(1), expected, "{:?}", common::texts(&outcome.errors));
    }
    println!("{} ns", started.elapsed().as_nanos() / u128::from(times.max(1)));
}

/// A schema as authors write them: most keywords, a list with keys, rules on several levels.
fn schema() -> Value {
    let endpoint = json!({"type": "object", "required": ["name", "port"], "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},
        "port": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 65535},
        "protocol": {"type": "string", "enum": ["TCP", "UDP", "SCTP"]},
        "weight": {"type": "number", "minimum": 0, "maximum": 100},
        "since": {"type": "string", "format": "date-time"},
        "path": {"type": "string", "maxLength": 200, "anyOf": [{"pattern": "^/"}, {"enum": [""]}]},
        "labels": {"type": "object", "maxProperties": 8, "additionalProperties": {"type": "string", "maxLength": 63}},
        "zones": {"type": "array", "maxItems": 8, "items": {"type": "string", "maxLength": 20}, "x-kubernetes-list-type": "set"}},
        "x-kubernetes-validations": [{"rule": "!has(self.weight) || self.weight <= 100.0", "message": "too heavy"}]});
    json!({"type": "object", "properties": {
        "spec": {"type": "object", "required": ["replicas"], "properties": {
            "replicas": {"type": "integer", "minimum": 0},
            "note": {"type": "string", "maxLength": 100},
            "endpoints": {"type": "array", "maxItems": 2000, "items": endpoint, "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"]}},
            "x-kubernetes-validations": [{"rule": "self.replicas >= 0"}]},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
}

/// The old object and the new one, of about this size each. One of eight endpoints of an invalid object is invalid, in a way
/// that keeps no rules from being run: else those would be run only where the error is let pass, and their cost be compared.
fn objects(case: &str, size: usize) -> (Object, Object) {
    let (old, new) = case.split_once('-').expect("old-new");
    let object = |state: &str, note: &str| {
        let mut endpoints: Vec<Value> = Vec::new();
        let mut bytes = 0;
        while bytes < size {
            let number = endpoints.len();
            let port = if state == "invalid" && number.is_multiple_of(8) { 70_000 } else { 10_000 + number % 1000 };
            let endpoint = json!({"name": format!("endpoint-{number}"), "port": port, "protocol": "TCP",
                "weight": 1.5, "since": "2026-01-01T00:00:00Z", "path": "/healthz", "zones": ["a", "b", "c"],
                "labels": {"app": "web", "tier": "front"}});
            bytes += endpoint.to_string().len();
            endpoints.push(endpoint);
        }
        whole(&json!({"spec": {"replicas": 3, "note": note, "endpoints": endpoints}}))
    };
    (object(old, "before"), object(new, "after"))
}
