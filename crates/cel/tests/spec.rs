//! The specification's suite of cases.
//!
//! The suite is not part of this repository: `PAWL_CEL_SPEC_TESTS` names its
//! file. Cases that need protobuf messages, or libraries that this crate does
//! not have, are left out by rule; cases that fail are listed with reasons in
//! `spec-exceptions.txt`.

#![allow(clippy::restriction, reason = "a test stops at what it does not expect, and prints")]

use pawl_cel::env::{Env, Library};
use pawl_cel::program::{Bindings, Program};
use pawl_cel::source::Source;
use pawl_cel::types::Type;
use pawl_cel::value::{Key, Map, Val};
use pawl_cel::{check, k8s, library, syntax};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

const EXCEPTIONS: &str = include_str!("spec-exceptions.txt");

/// Of the cases that run, this many in a hundred must pass.
const REQUIRED_PERCENT: usize = 99;

#[test]
fn specification_cases_pass() {
    let Some(path) = suite() else {
        assert!(std::env::var_os("PAWL_REQUIRE_CEL_SPEC").is_none(), "the suite is required but was not found");
        println!("skipped: PAWL_CEL_SPEC_TESTS names no file");
        return;
    };
    let text = std::fs::read_to_string(&path).unwrap();
    let cases: Vec<Value> = serde_json::from_str(&text).unwrap();
    let libraries = Libraries::new();
    let listed = |kind: &str| -> BTreeSet<&str> {
        let lines = EXCEPTIONS.lines().filter_map(|line| line.split_once('\t'));
        lines.filter(|(found, _)| *found == kind).filter_map(|(_, rest)| rest.split('\t').next()).collect()
    };
    let (excepted, other_version) = (listed("differs"), listed("version"));
    let (mut passed, mut failed, mut left_out) = (0, BTreeMap::new(), 0);
    for case in &cases {
        if !applies(case) || other_version.contains(name(case).as_str()) {
            left_out += 1;
            continue;
        }
        match run(case, &libraries) {
            Ok(()) => passed += 1,
            Err(why) => {
                failed.insert(name(case), format!("{} -> {why}", case["expr"]));
            }
        }
    }
    println!("{passed} passed, {} failed, {left_out} need what this crate has not", failed.len());
    for (name, why) in &failed {
        println!("FAILED {name}: {why}");
    }
    let unexpected: Vec<_> = failed.keys().filter(|name| !excepted.contains(name.as_str())).collect();
    assert!(unexpected.is_empty(), "not listed as exceptions: {unexpected:#?}");
    let stale: Vec<_> = excepted.iter().filter(|name| !failed.contains_key(**name)).collect();
    assert!(stale.is_empty(), "listed as exceptions, but they pass: {stale:#?}");
    assert!(passed * 100 >= (passed + failed.len()) * REQUIRED_PERCENT);
}

fn suite() -> Option<PathBuf> {
    let beside =
        PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../../shared/cel/spec-tests.json");
    let named = std::env::var_os("PAWL_CEL_SPEC_TESTS").map(PathBuf::from);
    named.into_iter().chain([beside]).find(|path| path.is_file())
}

struct Libraries {
    plain: Arc<Library>,
    network: Arc<Library>,
}

impl Libraries {
    fn new() -> Self {
        let mut network = library::extended();
        k8s::network::add(&mut network);
        Libraries { plain: Arc::new(library::extended()), network: Arc::new(network) }
    }
}

fn name(case: &Value) -> String {
    let part = |key: &str| case[key].as_str().unwrap_or_default();
    format!("{}/{}/{}", part("file"), part("section"), part("name"))
}

/// Whether the case needs no protobuf message and only libraries that are here.
fn applies(case: &Value) -> bool {
    let text = |key: &str| case[key].as_str().unwrap_or_default();
    let files = [
        "proto2",
        "proto3",
        "proto2_ext",
        "enums",
        "wrappers",
        "math_ext",
        "bindings_ext",
        "block_ext",
        "encoders_ext",
    ];
    if files.contains(&text("file")) {
        return false;
    }
    let expr = text("expr");
    if ["google.protobuf", "cel.expr.conformance"].iter().any(|prefix| text("container").starts_with(prefix)) {
        return false;
    }
    let messages =
        ["TestAllTypes", "NestedTestAllTypes", "GlobalEnum", "NestedEnum", "google.protobuf.", "proto2.", "proto3."];
    let is_type_name = ["google.protobuf.Timestamp", "google.protobuf.Duration"]
        .iter()
        .any(|name| expr.contains(name) && !expr.contains(&format!("{name}{{")) && !expr.contains("TestAllTypes"));
    if !is_type_name && messages.iter().any(|message| expr.contains(message)) {
        return false;
    }
    // Declared only in the suite's own environment.
    if expr.contains("tuple(") || expr.starts_with("fn(") || has_proto(case) {
        return false;
    }
    // Later versions of the string library, and the message `msg` of check-only cases.
    let later = expr.contains(".reverse()") && text("file") == "string_ext";
    let typed_message = text("file") == "type_deduction" && expr.contains("msg");
    let backticks = expr.contains('`') && !expr.contains("'`'") && !expr.contains("\"`\"");
    !(later || typed_message || backticks)
}

fn has_proto(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.get("t").is_some_and(|t| t == "proto") || map.values().any(has_proto),
        Value::Array(items) => items.iter().any(has_proto),
        _ => false,
    }
}

fn run(case: &Value, libraries: &Libraries) -> Result<(), String> {
    let flag = |key: &str| case[key].as_bool().unwrap_or(false);
    let base = if case["file"] == "network_ext" { &libraries.network } else { &libraries.plain };
    let library = if flag("disable_macros") {
        let mut library = Library::clone(base);
        library.syntax.macros.standard = false;
        Arc::new(library)
    } else {
        base.clone()
    };
    let mut env = Env::new(library).in_container(case["container"].as_str().unwrap_or_default());
    let bindings = case["bindings"].as_array().unwrap();
    for binding in bindings {
        env = env.with_variable(binding[0].as_str().unwrap(), Type::Dyn);
    }
    let expects_error = case["expect"].get("error").is_some();
    let outcome = evaluate(case, &env, bindings);
    match (outcome, expects_error) {
        (Err(_), true) => Ok(()),
        (Err(error), false) => Err(error),
        (Ok(value), true) => Err(format!("{value:?} instead of an error")),
        (Ok(None), false) => Ok(()),
        (Ok(Some(value)), false) => {
            let expected = case["expect"].get("value").or_else(|| case["expect"].get("typed")).unwrap();
            if expected.is_null() || matches(&value, expected) {
                Ok(())
            } else {
                Err(format!("{value:?} instead of {expected}"))
            }
        }
    }
}

/// The value; nothing if only the check was asked for.
fn evaluate(case: &Value, env: &Env, bindings: &[Value]) -> Result<Option<Val<'static>>, String> {
    let source = Source::new(case["expr"].as_str().unwrap());
    let ast = syntax::parse(&source, env.syntax()).map_err(|issues| issues.to_string())?;
    let program = if case["disable_check"].as_bool().unwrap_or(false) {
        Program::unchecked(&ast, env)
    } else {
        let checked = check::check(ast, &source, env).map_err(|issues| issues.to_string())?;
        if case["check_only"].as_bool().unwrap_or(false) {
            return Ok(None);
        }
        Program::new(&checked, env)
    }
    .map_err(|error| error.to_string())?;
    // A test may leak what it runs: values borrow from programs, and here they outlive them.
    let program: &'static Program = Box::leak(Box::new(program));
    let mut values = Bindings::new();
    for binding in bindings {
        let name: &'static str = Box::leak(binding[0].as_str().unwrap().to_owned().into_boxed_str());
        values = values.with(name, value(&binding[1]));
    }
    program.run(&values, u64::MAX).value.map(Some).map_err(|error| error.to_string())
}

fn value(described: &Value) -> Val<'static> {
    let v = &described["v"];
    let number = || v.as_str().unwrap();
    match described["t"].as_str().unwrap() {
        "null" => Val::Null,
        "bool" => Val::Bool(v.as_bool().unwrap()),
        "int" => Val::Int(number().parse().unwrap()),
        "uint" => Val::Uint(number().parse().unwrap()),
        "double" => Val::Double(double(number())),
        "string" => Val::string(v.as_str().unwrap().to_owned()),
        "bytes" => Val::Bytes(bytes(v).into()),
        "list" => Val::list(v.as_array().unwrap().iter().map(value).collect()),
        "map" => {
            let entries = v.as_array().unwrap().iter();
            let entries: BTreeMap<_, _> =
                entries.map(|entry| (Key::new(&value(&entry[0])).unwrap(), value(&entry[1]))).collect();
            Val::Map(Map::from(entries))
        }
        "duration" => {
            let part = |key: &str| described[key].as_i64().unwrap();
            Val::Duration(part("s") * 1_000_000_000 + part("n"))
        }
        other => panic!("a value of type {other}"),
    }
}

fn double(text: &str) -> f64 {
    match text {
        "Infinity" | "inf" => f64::INFINITY,
        "-Infinity" | "-inf" => f64::NEG_INFINITY,
        "NaN" | "nan" => f64::NAN,
        other => other.parse().unwrap(),
    }
}

fn bytes(described: &Value) -> Vec<u8> {
    described.as_array().unwrap().iter().map(|byte| byte.as_u64().unwrap() as u8).collect()
}

fn matches(found: &Val<'_>, expected: &Value) -> bool {
    match (expected["t"].as_str().unwrap(), found) {
        ("type", Val::Type(name)) => expected["v"] == **name,
        ("double", Val::Double(found)) => {
            let wanted = double(expected["v"].as_str().unwrap());
            *found == wanted || found.is_nan() && wanted.is_nan()
        }
        ("list", Val::List(list)) => {
            let wanted = expected["v"].as_array().unwrap();
            list.len() == wanted.len()
                && list.iter().zip(wanted).all(|(found, wanted)| matches(&found.unwrap(), wanted))
        }
        ("map", Val::Map(map)) => {
            let wanted = expected["v"].as_array().unwrap();
            map.len() == wanted.len()
                && wanted.iter().all(|entry| match map.entries().iter().find(|(key, _)| matches(key, &entry[0])) {
                    Some((_, found)) => matches(found.as_ref().unwrap(), &entry[1]),
                    None => false,
                })
        }
        ("type" | "double" | "list" | "map", _) => false,
        (kind, found) => {
            found.type_name() == value(expected).type_name()
                && !kind.is_empty()
                && found.equals(&value(expected)).unwrap_or(false)
        }
    }
}
