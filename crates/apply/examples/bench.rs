//! What an update and an apply cost: nanoseconds of processor time per operation, best of some rounds.
//!
//! `cargo run --release -p pawl-apply --example bench`
#![allow(clippy::print_stdout, clippy::panic, clippy::indexing_slicing)]

#[path = "../tests/schemas/mod.rs"]
mod schemas;

use std::hint::black_box;
use std::time::Instant;

use pawl_apply::{FieldSet, Typed, Writer, apply, strategic, track_update};
use pawl_meta::object::Object;
use schemas::Kinds;
use serde_json::{Value, json};

const ROUNDS: u32 = 7;

fn main() {
    let kinds = Kinds::new();
    config_map(&kinds.of("ConfigMap"));
    deployment(&kinds.of("Deployment"));
    items(&kinds.of("Widget"));
}

fn config_map(typed: &Typed<'_>) {
    let data: Object = (0..24).map(|i| (format!("key-{i:02}.properties"), Value::from("x".repeat(78)))).collect();
    let intent = object(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "n"}, "data": data}),
    );
    println!("ConfigMap of {} bytes", serde_json::to_string(&intent).map_or(0, |text| text.len()));
    let live = applied(typed, None, &intent, "v1");
    let mut changed = intent.clone();
    changed["data"]["key-03.properties"] = json!("y");
    measure(typed, "v1", &intent, &live, &changed);
}

fn deployment(typed: &Typed<'_>) {
    let container = |name: &str| {
        json!({"name": name, "image": "registry.example/app:1", "args": ["--a", "--b"],
            "env": (0..8).map(|i| json!({"name": format!("VAR_{i}"), "value": "some value"})).collect::<Vec<_>>(),
            "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}, {"containerPort": 9090, "protocol": "TCP"}],
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}, "imagePullPolicy": "Always"})
    };
    let labels = json!({"app": "a", "tier": "b", "team": "c"});
    let intent = object(json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "n", "labels": labels},
        "spec": {"replicas": 3, "selector": {"matchLabels": labels}, "strategy": {"type": "Recreate"},
            "template": {"metadata": {"labels": labels}, "spec": {
                "containers": [container("app"), container("sidecar")], "volumes": [{"name": "v", "emptyDir": {}}]}}}}));
    println!("Deployment of {} bytes", serde_json::to_string(&intent).map_or(0, |text| text.len()));
    let live = applied(typed, None, &intent, "apps/v1");
    let mut changed = intent.clone();
    changed["spec"]["replicas"] = json!(4);
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = json!("registry.example/app:2");
    measure(typed, "apps/v1", &intent, &live, &changed);
    let patch =
        json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "registry.example/app:2"}]}}}});
    let doc = Value::Object(live);
    bench("strategic merge patch", || strategic::apply(typed, doc.clone(), patch.clone()).is_ok());
}

fn items(typed: &Typed<'_>) {
    let lm: Vec<Value> = (0..1000).map(|i| json!({"k": format!("key-{i}"), "v": "value"})).collect();
    let intent = object(
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"lm": lm}}),
    );
    println!("1,000 items in a list by key");
    let live = applied(typed, None, &intent, "example.com/v1");
    let mut changed = intent.clone();
    changed["spec"]["lm"][500]["v"] = json!("other");
    measure(typed, "example.com/v1", &intent, &live, &changed);
}

fn measure(typed: &Typed<'_>, api_version: &str, intent: &Object, live: &Object, changed: &Object) {
    let reset = FieldSet::of_fields(["status"]);
    let writer = writer("m", api_version);
    let create = || {
        let mut new = intent.clone();
        track_update(typed, None, &mut new, &writer, &reset).is_ok()
    };
    bench("clone of the object", || live.clone().len() > 1);
    bench("track_update, create", create);
    let update = |new: &Object| {
        let mut new = new.clone();
        new["metadata"]["managedFields"] = live["metadata"]["managedFields"].clone();
        track_update(typed, Some(live), &mut new, &writer, &reset).is_ok()
    };
    bench("track_update, unchanged", || update(intent));
    bench("track_update, changed", || update(changed));
    let own = |intent: &Object| apply(typed, Some(live), intent.clone(), &writer, true, &reset).is_ok();
    bench("apply, unchanged", || own(intent));
    bench("apply, changed", || own(changed));
    let other = Writer { manager: "other", ..writer };
    bench("apply, second manager agrees", || apply(typed, Some(live), intent.clone(), &other, false, &reset).is_ok());
    let mut less = intent.clone();
    less["metadata"]["labels"] = json!({});
    if let Some(Value::Object(data)) = less.get_mut("data") {
        data.remove("key-05.properties");
    } else if let Some(Value::Array(items)) = less["spec"].get_mut("lm") {
        items.pop();
    } else {
        less["spec"].as_object_mut().map(|spec| spec.remove("replicas"));
    }
    bench("apply, gives up a field", || own(&less));
}

fn applied(typed: &Typed<'_>, live: Option<&Object>, intent: &Object, api_version: &str) -> Object {
    match apply(typed, live, intent.clone(), &writer("m", api_version), true, &FieldSet::new()) {
        Ok(applied) => applied.object,
        Err(error) => panic!("{error}"),
    }
}

fn writer<'a>(manager: &'a str, api_version: &'a str) -> Writer<'a> {
    Writer { manager, api_version, subresource: "", time: "2026-01-01T00:00:00Z" }
}

fn object(value: Value) -> Object {
    match value {
        Value::Object(map) => map,
        _ => Object::new(),
    }
}

fn bench(name: &str, operation: impl Fn() -> bool) {
    let start = Instant::now();
    while start.elapsed().as_millis() < 50 {
        assert!(black_box(operation()));
    }
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let (start, before, mut n) = (Instant::now(), cpu_time(), 0u32);
        while start.elapsed().as_millis() < 100 {
            for _ in 0..10 {
                black_box(operation());
            }
            n += 10;
        }
        let spent = match (before, cpu_time()) {
            (Some(before), Some(after)) => after - before,
            _ => start.elapsed().as_secs_f64() * 1e9,
        };
        best = best.min(spent / f64::from(n));
    }
    println!("  {name:32} {best:>12.0} ns");
}

/// Nanoseconds that this thread has run, where the system tells: on a busy machine the clock counts others too.
fn cpu_time() -> Option<f64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').next()?.parse().ok()
}
