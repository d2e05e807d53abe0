//! Whatever is written, nothing panics, overflows a small stack or runs past its limits.
//!
//! A short run by default; `PAWL_FUZZ_SECONDS` sets how long to go on.

#![allow(clippy::restriction, reason = "a test stops at what it does not expect, and prints")]

use pawl_cel::k8s::rules::RuleEnv;
use pawl_cel::k8s::{self, schema};
use pawl_cel::syntax::{self, MAX_CODE_POINTS};
use pawl_cel::{Bindings, Env, Program, Type, Val, compile, source::Source};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::json;
use std::time::{Duration, Instant};

const STACK: usize = 2 << 20;
const COST_LIMIT: u64 = 20_000;

/// Runs on a stack as small as those of most threads; a panic or an overflow fails the test.
fn on_small_stack(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(STACK).spawn(test).unwrap().join().unwrap();
}

fn rules() -> RuleEnv {
    let schema = json!({"type": "object", "properties": {
        "i": {"type": "integer"}, "s": {"type": "string"}, "n": {"type": "number"}, "b": {"type": "boolean"},
        "ios": {"x-kubernetes-int-or-string": true}, "list": {"type": "array", "items": {"type": "integer"}},
        "strs": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "m": {"type": "object", "additionalProperties": {"type": "string"}},
        "o": {"type": "object", "properties": {"a": {"type": "integer"}, "t": {"type": "string", "format": "date-time"}}},
    }});
    RuleEnv::new(schema::decl_type(&schema, true, "self").unwrap())
}

/// Everything that happens to an expression, wherever it ends.
fn exercise(text: &str, env: &Env, rules: &RuleEnv) {
    let object = json!({
        "i": 7, "s": "text", "n": 1.5, "b": true, "ios": "50%", "list": [3, 1, 2], "strs": ["b", "a"],
        "m": {"k": "v"}, "o": {"a": 1, "t": "2020-01-02T03:04:05Z"}, "metadata": {"name": "n"},
    });
    for env in [env, rules.env()] {
        let Ok(checked) = compile(text, env) else { continue };
        pawl_cel::cost::estimate(&checked, env);
        let Ok(program) = Program::new(&checked, env) else { continue };
        let bindings = Bindings::new()
            .with("self", Val::from_json(&object, rules.decl()).unwrap())
            .with("oldSelf", Val::from_json(&object, rules.decl()).unwrap())
            .with("x", Val::Int(1));
        let outcome = program.run(&bindings, COST_LIMIT);
        // The step that went over is the last; one step costs what its operands are large.
        assert!(outcome.cost <= COST_LIMIT || outcome.value.is_err(), "{text}");
    }
    if let Ok(ast) = syntax::parse(&Source::new(text), env.syntax())
        && let Ok(program) = Program::unchecked(&ast, env)
    {
        program.run(&Bindings::new().with("x", Val::Int(1)), COST_LIMIT);
    }
}

fn dynamic_env() -> Env {
    Env::new(k8s::library())
        .with_variable("self", Type::Dyn)
        .with_variable("oldSelf", Type::Dyn)
        .with_variable("x", Type::Dyn)
}

/// Expressions that mostly parse, and often check.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("self.i"),
        Just("self.s"),
        Just("self.n"),
        Just("self.b"),
        Just("self.ios"),
        Just("self.list"),
        Just("self.strs"),
        Just("self.m"),
        Just("self.o"),
        Just("self.o.t"),
        Just("x"),
        Just("self"),
        Just("oldSelf"),
        Just("1"),
        Just("0"),
        Just("-9223372036854775808"),
        Just("18446744073709551615u"),
        Just("1.5"),
        Just("'a'"),
        Just("''"),
        Just("b'\\xff'"),
        Just("null"),
        Just("true"),
        Just("[1, 2]"),
        Just("[]"),
        Just("{}"),
        Just("{'a': 1}"),
        Just("duration('1h')"),
        Just("timestamp('2020-01-01T00:00:00Z')"),
        Just("optional.none()"),
        Just("quantity('1Gi')"),
        Just("'%s %.3f %x'"),
        Just("type(1)"),
        Just("self.metadata.name"),
        Just("9223372036854775807"),
    ]
    .prop_map(str::to_owned);
    leaf.prop_recursive(6, 64, 4, |inner| {
        let binary = prop_oneof![
            Just("+"),
            Just("-"),
            Just("*"),
            Just("/"),
            Just("%"),
            Just("=="),
            Just("!="),
            Just("<"),
            Just(">="),
            Just("in"),
            Just("&&"),
            Just("||"),
        ];
        let none = prop_oneof![
            Just("size"),
            Just("sum"),
            Just("max"),
            Just("isSorted"),
            Just("sort"),
            Just("distinct"),
            Just("reverse"),
            Just("flatten"),
            Just("trim"),
            Just("upperAscii"),
            Just("join"),
            Just("getFullYear"),
            Just("first"),
            Just("value"),
            Just("hasValue"),
            Just("asInteger"),
            Just("sign"),
            Just("unwrapOpt"),
        ];
        let one = prop_oneof![
            Just("contains"),
            Just("startsWith"),
            Just("matches"),
            Just("find"),
            Just("split"),
            Just("charAt"),
            Just("substring"),
            Just("indexOf"),
            Just("lastIndexOf"),
            Just("format"),
            Just("orValue"),
            Just("or"),
            Just("flatten"),
            Just("getHours"),
            Just("add"),
            Just("join"),
        ];
        let looping = prop_oneof![
            Just("all"),
            Just("exists"),
            Just("exists_one"),
            Just("map"),
            Just("filter"),
            Just("sortBy"),
            Just("optMap"),
            Just("optFlatMap"),
        ];
        let global = prop_oneof![
            Just("string"),
            Just("int"),
            Just("double"),
            Just("uint"),
            Just("bytes"),
            Just("duration"),
            Just("timestamp"),
            Just("dyn"),
            Just("lists.range"),
            Just("optional.of"),
            Just("strings.quote"),
            Just("url"),
            Just("semver"),
            Just("cidr"),
            Just("has"),
            Just("type"),
            Just("size"),
        ];
        prop_oneof![
            (inner.clone(), binary, inner.clone()).prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            (inner.clone(), none).prop_map(|(a, f)| format!("{a}.{f}()")),
            (inner.clone(), one, inner.clone()).prop_map(|(a, f, b)| format!("{a}.{f}({b})")),
            (inner.clone(), looping, inner.clone()).prop_map(|(a, f, b)| format!("{a}.{f}(x, {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}.transformMap(k, v, {b})")),
            (global, inner.clone()).prop_map(|(f, a)| format!("{f}({a})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}[{b}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}[?{b}]")),
            inner.clone().prop_map(|a| format!("{a}.?k")),
            inner.clone().prop_map(|a| format!("{a}.a")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{{a}: {b}}}")),
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            inner.clone().prop_map(|a| format!("!{a}")),
            inner.prop_map(|a| format!("-{a}")),
        ]
    })
}

/// Text that is nearly an expression: tokens in any order.
fn tokens() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec![
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ".",
        ",",
        "?",
        ":",
        "!",
        "-",
        "+",
        "&&",
        "||",
        "==",
        "in",
        "true",
        "null",
        "x",
        "self",
        "has",
        "1",
        "1.5",
        "0x",
        "1u",
        "'a'",
        "\"",
        "'''",
        "r'",
        "b'",
        "\\",
        "`a`",
        "=",
        "&",
        "//",
        "\n",
        "é",
        "all",
        "?.",
        "[?",
        " ",
        "@",
        "#",
        "namespace",
        "..",
    ]);
    prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

#[test]
fn random_expressions_end_well() {
    let seconds: Option<u64> = std::env::var("PAWL_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let until = Instant::now() + Duration::from_secs(seconds.unwrap_or(4));
    on_small_stack(move || {
        let (env, rules) = (dynamic_env(), rules());
        let mut runner = if seconds.is_some() { TestRunner::default() } else { TestRunner::deterministic() };
        let (expressions, tokens, text) = (expression(), tokens(), any::<String>());
        while Instant::now() < until {
            for _ in 0..20 {
                exercise(&expressions.new_tree(&mut runner).unwrap().current(), &env, &rules);
                exercise(&tokens.new_tree(&mut runner).unwrap().current(), &env, &rules);
            }
            exercise(&text.new_tree(&mut runner).unwrap().current(), &env, &rules);
        }
    });
}

/// A shape repeated: text before and after, and what is said when it is repeated too often.
const SHAPES: &[(&str, &str, &str, &str)] = &[
    ("(", "1", ")", "expression recursion limit exceeded: 250"),
    ("[", "1", "]", "expression recursion limit exceeded: 250"),
    ("{1: ", "1", "}", "expression recursion limit exceeded: 250"),
    ("size([", "1", "])", "expression recursion limit exceeded: 250"),
    ("true ? 1 : ", "1", "", "expression recursion limit exceeded: 250"),
    ("1 < (", "1", ")", "expression recursion limit exceeded: 250"),
    ("1 + 2 * (", "1", ")", "expression recursion limit exceeded: 250"),
    ("x[", "1", "]", "expression recursion limit exceeded: 250"),
    ("[1].all(y, ", "true", ")", "expression recursion limit exceeded: 250"),
    ("[1].sortBy(y, ", "1", ")", "expression recursion limit exceeded: 250"),
    ("x.transformMap(k, v, true, ", "1", ")", "expression recursion limit exceeded: 250"),
    ("optional.of(1).optMap(y, ", "1", ")", "expression recursion limit exceeded: 250"),
    ("1 + ", "1", "", "max recursion depth exceeded"),
    ("1 == ", "1", "", "max recursion depth exceeded"),
    ("1 * ", "1", "", "max recursion depth exceeded"),
    ("", "x", ".y", "max recursion depth exceeded"),
    ("", "x", ".y()", "max recursion depth exceeded"),
    ("", "x", "[0]", "max recursion depth exceeded"),
    ("", "x", ".?y", "max recursion depth exceeded"),
    ("", "x", ".optMap(y, y)", "expression node limit exceeded: 400000"),
    ("", "x", ".map(y, y)", "max recursion depth exceeded"),
];

#[test]
fn every_shape_is_limited() {
    on_small_stack(|| {
        let (env, rules) = (dynamic_env(), rules());
        for (before, middle, after, message) in SHAPES {
            let repeated = |times: usize| format!("{}{middle}{}", before.repeat(times), after.repeat(times));
            // As deep as is allowed, everything must fit the stack.
            for times in [60, 80, 124, 240, 249] {
                exercise(&repeated(times), &env, &rules);
            }
            for times in [251, 2_500] {
                let text = repeated(times);
                let error = compile(&text, &env).expect_err(&text).to_string();
                assert!(
                    error.starts_with(&format!("ERROR: <input>:-1:0: {message}")),
                    "{before}{middle}{after}: {error:.200}"
                );
            }
        }
    });
}

#[test]
fn long_chains_without_depth_are_fine() {
    on_small_stack(|| {
        let (env, rules) = (dynamic_env(), rules());
        for text in ["true && ".repeat(5_000) + "true", "false || ".repeat(5_000) + "true", "!".repeat(50_000) + "true"]
        {
            assert!(compile(&text, &env).is_ok());
            exercise(&text, &env, &rules);
        }
        exercise(&("-".repeat(49_999) + "x"), &env, &rules);
        exercise(&format!("[{}]", "1, ".repeat(30_000)), &env, &rules);
    });
}

#[test]
fn long_texts_and_many_errors_are_cut() {
    on_small_stack(|| {
        let env = dynamic_env();
        let said = |text: &str| compile(text, &env).unwrap_err().to_string();
        let long = "x".repeat(MAX_CODE_POINTS + 1);
        assert_eq!(
            said(&long),
            "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000"
        );
        let many = said(&"#".repeat(5_000));
        assert!(many.lines().count() < 400, "{}", many.lines().count());
        assert!(many.ends_with("1 more errors were truncated"));
        let unknown = said(&format!("[{}]", "y, ".repeat(500)));
        assert!(unknown.ends_with("400 more errors were truncated"));
    });
}

#[test]
fn calls_too_large_are_not_made() {
    let env = dynamic_env();
    let checked = compile("lists.range(9000000000000).size()", &env).unwrap();
    let program = Program::new(&checked, &env).unwrap();
    let outcome = program.run(&Bindings::new(), k8s::CALL_COST_LIMIT);
    assert_eq!(outcome.value.unwrap_err(), pawl_cel::EvalError::CostLimit);
}

#[test]
fn deep_data_is_read_but_not_walked() {
    // Built by hand, because readers of JSON have limits of their own.
    let mut data = json!([]);
    for _ in 0..100_000 {
        data = serde_json::Value::Array(vec![data]);
    }
    let data: &'static serde_json::Value = Box::leak(Box::new(data));
    on_small_stack(move || {
        let (env, decl) = (dynamic_env(), pawl_cel::decl::DeclType::dynamic());
        let decl: &'static pawl_cel::decl::DeclType = Box::leak(Box::new(decl));
        let run = |text: &str| {
            let program: &'static Program =
                Box::leak(Box::new(Program::new(&compile(text, &env).unwrap(), &env).unwrap()));
            program.run(&Bindings::new().with("x", Val::from_json(data, decl).unwrap()), COST_LIMIT).value
        };
        assert!(matches!(run("x[0][0].size() == 1"), Ok(Val::Bool(true))));
        assert_eq!(run("x == x").unwrap_err().to_string(), "values nest too deeply to be compared");
        for text in [
            "'%s'.format([x])",
            "x.flatten(99999).size() == 1",
            "{}[x]",
            "x.indexOf(1) == -1",
            "x.max() == 1",
            "[x].join()",
        ] {
            let _ = run(text);
        }
    });
}
