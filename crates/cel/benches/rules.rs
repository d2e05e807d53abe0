//! Rules beside the crate `cel`, in one run: `cargo bench -p pawl-cel`.
//!
//! A plain harness, because the figures wanted are ratios of medians. Each
//! figure is the time to bind `self` and to run; for `cel` also with `self`
//! bound beforehand, which its users can only do for data that never changes.

#![allow(clippy::restriction, reason = "a harness stops at what it does not expect, and prints")]

use pawl_cel::k8s::rules::RuleEnv;
use pawl_cel::k8s::{CALL_COST_LIMIT, schema};
use pawl_cel::{Bindings, Env, Program, Val, compile};
use serde_json::{Value, json};
use std::hint::black_box;
use std::time::{Duration, Instant};

const RULES: [(&str, &str); 4] = [
    ("compare two integers", "self.replicas <= self.maxReplicas"),
    ("100 × size and matches", "self.items.all(x, x.name.size() < 64 && x.name.matches('^[a-z0-9-]+$'))"),
    ("100 × compare integers", "self.items.all(x, x.port > 0)"),
    ("100 × 100 nested", "self.items.all(x, self.items.all(y, x.port + y.port > 0))"),
];

fn main() {
    let item = json!({"type": "object", "properties": {
        "name": {"type": "string", "maxLength": 64}, "port": {"type": "integer"}, "image": {"type": "string"},
    }});
    let schema = json!({"type": "object", "properties": {
        "replicas": {"type": "integer"}, "maxReplicas": {"type": "integer"},
        "items": {"type": "array", "maxItems": 100, "items": item},
    }});
    let items: Vec<Value> = (0..100)
        .map(|i| json!({"name": format!("container-{i}"), "port": 8000 + i, "image": "registry.example/app:1"}))
        .collect();
    let small = json!({"replicas": 3, "maxReplicas": 5});
    let large = json!({"replicas": 3, "maxReplicas": 5, "items": items});
    let env = RuleEnv::new(schema::decl_type(&schema, false, "self").unwrap());

    println!("| rule | `cel`, binding | `cel`, bound | here | ratios |");
    println!("|---|---|---|---|---|");
    for (index, (name, text)) in RULES.iter().enumerate() {
        let data = if index == 0 { &small } else { &large };
        let theirs = cel::Program::compile(text).unwrap();
        let root = cel::Context::default();
        let binding = measure(|| {
            let mut context = root.new_inner_scope();
            context.add_variable("self", data).unwrap();
            assert_eq!(theirs.execute(&context), Ok(cel::Value::Bool(true)));
        });
        let mut context = cel::Context::default();
        context.add_variable("self", data).unwrap();
        let bound = measure(|| assert_eq!(theirs.execute(&context), Ok(cel::Value::Bool(true))));
        let rule = env.rule(text, false).unwrap();
        let ours = measure(|| {
            let bindings = Bindings::new().with("self", Val::from_json(data, env.decl()).unwrap());
            let outcome = rule.program.run(&bindings, CALL_COST_LIMIT);
            assert!(matches!(outcome.value, Ok(Val::Bool(true))));
        });
        let ratio = |time: Duration| time.as_nanos() as f64 / ours.as_nanos() as f64;
        println!(
            "| {name} | {} ns | {} ns | {} ns | {:.0}×, {:.0}× |",
            binding.as_nanos(),
            bound.as_nanos(),
            ours.as_nanos(),
            ratio(binding),
            ratio(bound)
        );
    }
    println!();
    for (name, text) in RULES {
        let plain: Env = env.env().clone();
        let compiled = measure(|| {
            let checked = compile(black_box(text), &plain).unwrap();
            black_box(Program::new(&checked, &plain).unwrap());
        });
        let estimated = measure(|| {
            black_box(env.rule(black_box(text), false).unwrap());
        });
        println!(
            "{name}: parse, check and plan {:.1} µs; with the estimate {:.1} µs",
            compiled.as_nanos() as f64 / 1e3,
            estimated.as_nanos() as f64 / 1e3
        );
    }
}

/// The median time of a call, of batches long enough to be timed.
fn measure(mut call: impl FnMut()) -> Duration {
    let start = Instant::now();
    let mut warmup = 0u32;
    while start.elapsed() < Duration::from_millis(200) {
        call();
        warmup += 1;
    }
    let batch = (warmup / 20).max(1);
    let mut times: Vec<Duration> = (0..31)
        .map(|_| {
            let start = Instant::now();
            (0..batch).for_each(|_| call());
            start.elapsed() / batch
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}
