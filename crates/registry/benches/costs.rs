//! What requests cost that are as large as they may be, for whoever counts instructions: `tests/bench/costs` runs it.
//!
//! `costs list` names the cases; `costs CASE SIZE` does one, with so many items in it; `costs lists SIZE` goes through
//! every list of every kind and prints how much longer twice as many items take, for those where it is much longer.
#![allow(clippy::restriction, reason = "a benchmark that cannot run says so")]

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use pawl_auth::rbac::{Index, Kind, Rule, covers};
use pawl_auth::{Attributes, Authorizer, User};
use pawl_registry::{
    AddressRange, Context, CreateRequest, Encoding, FieldValidation, Mutation, PatchKind, PatchRequest, PortRange,
    Registry, Sent, Served, ServiceRanges, Settings, UpdateRequest, protobuf,
};
use pawl_schema::{Scalar, TypeKind, TypeRef, yaml};
use serde_json::{Map, Value, json};

/// The cases, each with the size at which its body is as large as a body may be.
const CASES: [(&str, usize); 19] = [
    ("post json", 40_000),
    ("post yaml", 40_000),
    ("post protobuf", 40_000),
    ("put", 40_000),
    ("json patch", 9_000),
    ("merge patch", 40_000),
    ("strategic patch", 40_000),
    ("strategic order", 20_000),
    ("apply", 20_000),
    ("owners", 30_000),
    ("liens", 150_000),
    ("service ports", 50_000),
    ("containers", 30_000),
    ("unknown fields", 150_000),
    ("anchors", 100_000),
    ("long list", 1_000_000),
    ("rules refused", 80_000),
    ("rules held", 20_000),
    ("role table", 20_000),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["list"] => CASES.iter().for_each(|(name, size)| println!("{name}\t{size}")),
        ["lists", size] => runtime.block_on(every_list(size.parse().unwrap())),
        [case, size] => {
            let size = size.parse().unwrap();
            runtime.block_on(async {
                let bench = Bench::open().await;
                let began = computed();
                bench.run(case, size).await;
                eprintln!("took {} ms", (computed() - began).as_millis());
            });
        }
        // `cargo bench` and `cargo test` run everything without arguments.
        _ => {}
    }
}

/// How long this thread has been computing: what others do on the machine does not count.
fn computed() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

struct Bench {
    registry: Arc<Registry>,
    cx: Context,
    _directory: tempfile::TempDir,
}

impl Bench {
    async fn open() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = pawl_kv_embedded::Store::open(directory.path(), pawl_kv_embedded::Options::default()).unwrap();
        let services = ServiceRanges {
            addresses: AddressRange { base: "10.0.0.0".parse().unwrap(), bits: 24 },
            node_ports: PortRange { first: 30000, last: 32767 },
        };
        let settings = Settings {
            admission: Default::default(),
            liens: true,
            event_ttl: Duration::ZERO,
            services,
            quarantine: Duration::ZERO,
        };
        let (registry, revision) = Registry::open(store, None, pawl_kinds::builtin(), settings).await.unwrap();
        let registry = Arc::new(registry);
        let follower = Arc::clone(&registry);
        tokio::spawn(async move { follower.follow(revision).await });
        let mut cx = Context::own();
        cx.manager = "bench".to_owned();
        let mut bench = Self { registry, cx, _directory: directory };
        for (plural, object) in [("configmaps", config_map(0)), ("deployments", deployment(1))] {
            bench.patch(plural, PatchKind::Apply, &object).await;
        }
        bench.cx.dry_run = true;
        bench
    }

    /// Does a case. Whether it is refused does not matter, only what that costs.
    async fn run(&self, case: &str, size: usize) {
        match case {
            "post json" => self.post("deployments", Encoding::Json, deployment(size).to_string().as_bytes()).await,
            "post yaml" => self.post("deployments", Encoding::Yaml, yaml::emit(&deployment(size)).as_bytes()).await,
            "post protobuf" => {
                let served = self.served("deployments");
                let mut raw = Vec::new();
                let object = deployment(size).as_object().unwrap().clone();
                protobuf().encode(served.resource.object_type().as_ref(), &object, &mut raw).unwrap();
                let body = pawl_protobuf::seal("apps/v1", "Deployment", &raw);
                self.post("deployments", Encoding::Protobuf, &body).await;
            }
            "put" => self.put("deployments", &deployment(size)).await,
            "json patch" => {
                let add = json!({"op": "add", "path": "/data", "value": config_map(size)["data"]});
                let more = (0..size).map(|i| json!({"op": "replace", "path": format!("/data/key-{i}"), "value": "x"}));
                let patch = std::iter::once(add).chain(more).collect();
                self.patch("configmaps", PatchKind::Json, &patch).await;
            }
            "merge patch" => {
                self.patch("configmaps", PatchKind::Merge, &json!({"data": config_map(size)["data"]})).await
            }
            "strategic patch" => {
                let spec = deployment(size)["spec"].clone();
                self.patch("deployments", PatchKind::Strategic, &json!({"spec": spec})).await;
            }
            "strategic order" => {
                let names: Vec<Value> = (0..size).map(|i| json!({"name": format!("VARIABLE_{i}")})).collect();
                let mut spec = deployment(size)["spec"].clone();
                spec["template"]["spec"]["containers"][0]["$setElementOrder/env"] = json!(names);
                self.patch("deployments", PatchKind::Strategic, &json!({"spec": spec})).await;
            }
            "apply" => self.patch("deployments", PatchKind::Apply, &deployment(size)).await,
            "owners" => {
                let owner = |i| json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": format!("{i}")});
                self.post_with("configmaps", "ownerReferences", (0..size).map(owner).collect()).await;
            }
            "liens" => {
                let liens = (0..size).map(|i| format!("example.com/l{i}")).collect();
                self.post_with("configmaps", "liens", liens).await;
            }
            "service ports" => {
                let port = |i: usize| json!({"name": format!("p{i}"), "port": i % 60_000 + 1, "nodePort": i % 3});
                let ports: Value = (0..size).map(port).collect();
                let object = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
                    "spec": {"type": "NodePort", "ports": ports}});
                self.post("services", Encoding::Json, object.to_string().as_bytes()).await;
            }
            "containers" => {
                let container =
                    |i| json!({"name": format!("c{i}"), "volumeMounts": [{"name": "v", "mountPath": "/v"}]});
                let mut object = deployment(0);
                object["spec"]["template"]["spec"]["containers"] = (0..size).map(container).collect();
                self.post("deployments", Encoding::Json, object.to_string().as_bytes()).await;
            }
            "unknown fields" => {
                let fields: Map<String, Value> = (0..size).map(|i| (format!("replcas{i}"), json!(1))).collect();
                let object =
                    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": fields});
                self.post("deployments", Encoding::Json, object.to_string().as_bytes()).await;
            }
            "anchors" => {
                let aliases = "*a, ".repeat(size);
                let text = format!("a: &a {{k: v}}\nb: [{}]\n", aliases.trim_end_matches(", "));
                self.post("configmaps", Encoding::Yaml, text.as_bytes()).await;
            }
            "long list" => {
                let object = json!({"kind": "ConfigMap", "metadata": {"finalizers": vec![0; size]}});
                self.post("configmaps", Encoding::Json, object.to_string().as_bytes()).await;
            }
            "rules refused" | "rules held" => {
                let rules = rules(size);
                let held = if case == "rules held" { &rules[..] } else { &[] };
                let missing = covers::missing(held, &rules).unwrap();
                covers::compacted(missing).iter().for_each(|rule| drop(rule.compact()));
            }
            "role table" => decide(size),
            other => panic!("no case {other}"),
        }
    }

    fn served(&self, plural: &str) -> Arc<Served> {
        let (group, version) = if plural == "deployments" { ("apps", "v1") } else { ("", "v1") };
        Arc::clone(self.registry.table().find(group, version, plural).unwrap())
    }

    async fn post_with(&self, plural: &str, field: &str, list: Value) {
        let mut object = config_map(0);
        object["metadata"][field] = list;
        self.post(plural, Encoding::Json, object.to_string().as_bytes()).await;
    }

    async fn post(&self, plural: &str, encoding: Encoding, body: &[u8]) {
        self.create(&self.served(plural), encoding, body).await;
    }

    async fn create(&self, served: &Served, encoding: Encoding, body: &[u8]) {
        let decoded =
            self.registry.decode(&self.cx, served, Sent { encoding, bytes: body, validation: FieldValidation::Strict });
        let Ok(mut object) = decoded else { return };
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("name".to_owned(), json!("other"));
        }
        let namespace = if served.resource.facts.namespaced { "n" } else { "" };
        let request = CreateRequest { namespace: namespace.to_owned(), object, tracked: false };
        let _ = self.registry.create(&self.cx, served, request).await;
    }

    async fn put(&self, plural: &str, object: &Value) {
        let served = self.served(plural);
        let body = object.to_string();
        let change = Mutation::replace(Sent::json(body.as_bytes(), FieldValidation::Strict));
        let request = UpdateRequest::new(("n", "x"), "", change);
        let _ = self.registry.update(&self.cx, &served, request).await;
    }

    async fn patch(&self, plural: &str, kind: PatchKind, patch: &Value) {
        let body = patch.to_string();
        let request = PatchRequest {
            namespace: "n",
            name: "x",
            subresource: "",
            kind,
            body: body.as_bytes(),
            validation: FieldValidation::Strict,
            force: true,
            create_refused: None,
        };
        let _ = self.registry.patch(&self.cx, &self.served(plural), request).await;
    }
}

fn config_map(keys: usize) -> Value {
    let data: Map<String, Value> = (0..keys).map(|i| (format!("key-{i}"), json!("v".repeat(40)))).collect();
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "n"}, "data": data})
}

fn deployment(variables: usize) -> Value {
    let env: Vec<Value> =
        (0..variables).map(|i| json!({"name": format!("VARIABLE_{i}"), "value": "some value"})).collect();
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x", "namespace": "n"}, "spec": {
        "selector": {"matchLabels": {"app": "a"}},
        "template": {"metadata": {"labels": {"app": "a"}}, "spec": {
            "containers": [{"name": "main", "image": "i", "env": env}]}}}})
}

/// Rules that have nothing to do with each other.
fn rules(size: usize) -> Vec<Rule> {
    let rule =
        |i| json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": [format!("p{i}")]});
    (0..size).map(|i| Rule::from_value(&rule(i))).collect()
}

/// A decision for a user whose role has many rules, of many permissions each.
fn decide(size: usize) {
    let index = Index::new();
    let verbs: Vec<String> = (0..12).map(|i| format!("v{i}")).collect();
    let rule = |i| json!({"apiGroups": ["", "a", "b"], "resources": [format!("r{i}"), "pods"], "verbs": verbs});
    let role = json!({"metadata": {"name": "r"}, "rules": (0..size).map(rule).collect::<Vec<_>>()});
    index.apply(Kind::ClusterRole, None, Some(&role));
    let binding = json!({"metadata": {"name": "b"}, "roleRef": {"kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "User", "name": "u"}]});
    index.apply(Kind::ClusterRoleBinding, None, Some(&binding));
    let user = User::named("u");
    assert!(!index.authorize(&Attributes::resource(&user, "get", "", "pods")).is_allowed());
    assert!(index.authorize(&Attributes::resource(&user, "v1", "", &format!("r{}", size - 1))).is_allowed());
}

/// Goes through every list of every kind: what takes much more than twice as long with twice the items is printed.
async fn every_list(size: usize) {
    let bench = Bench::open().await;
    let table = bench.registry.table();
    let mut looked_at = 0;
    for served in table.served() {
        let of = served.resource.object_type().as_ref();
        let mut places = Vec::new();
        find_lists(of, &mut Vec::new(), &mut HashSet::new(), &mut places);
        for place in places {
            let mut took = [Duration::ZERO; 2];
            for (times, took) in [1, 2].into_iter().zip(&mut took) {
                let mut object = filled(of, &place, size * times);
                object["apiVersion"] = json!(served.resource.group_version().to_string());
                object["kind"] = json!(served.resource.facts.kind);
                let body = object.to_string();
                let began = computed();
                bench.create(served, Encoding::Json, body.as_bytes()).await;
                *took = computed() - began;
            }
            looked_at += 1;
            if took[1] > took[0] * 3 && took[1] > Duration::from_millis(20) {
                let way = place.join(".");
                println!("{} {way}: {:?} then {:?}", served.resource.facts.kind, took[0], took[1]);
            }
        }
    }
    println!("{looked_at} lists");
}

/// The ways to all lists, each type of list once.
fn find_lists<'s>(
    of: TypeRef<'s>,
    way: &mut Vec<String>,
    seen: &mut HashSet<TypeRef<'s>>,
    found: &mut Vec<Vec<String>>,
) {
    if way.len() > 12 {
        return;
    }
    match of.kind() {
        TypeKind::Object(object) => {
            for field in object.fields() {
                way.push(field.name.to_string());
                find_lists(field.of(), way, seen, found);
                way.pop();
            }
        }
        TypeKind::List(item) if seen.insert(of) => {
            found.push(way.clone());
            way.push("[]".to_owned());
            find_lists(item, way, seen, found);
            way.pop();
        }
        _ => {}
    }
}

/// An object with one long list in it.
fn filled(of: TypeRef<'_>, way: &[String], size: usize) -> Value {
    match (of.kind(), way) {
        (TypeKind::Object(object), [step, rest @ ..]) => {
            let mut map = leaf_fields(of, 0);
            if let Some(field) = object.fields().find(|field| *field.name == **step) {
                map.insert(step.clone(), filled(field.of(), rest, size));
            }
            Value::Object(map)
        }
        (TypeKind::List(item), [_, rest @ ..]) => json!([filled(item, rest, size)]),
        (TypeKind::List(item), []) => (0..size).map(|i| leaf(item, i)).collect(),
        _ => Value::Null,
    }
}

fn leaf(of: TypeRef<'_>, number: usize) -> Value {
    match of.kind() {
        TypeKind::Object(_) => Value::Object(leaf_fields(of, number)),
        TypeKind::Scalar(scalar) => match scalar {
            Scalar::String => json!(format!("v{number}")),
            Scalar::Int32 | Scalar::Int64 | Scalar::Uint32 | Scalar::Uint64 | Scalar::IntOrString => {
                json!(number % 60_000 + 1)
            }
            Scalar::Quantity => json!(number.to_string()),
            _ => Value::Null,
        },
        _ => Value::Null,
    }
}

/// The fields of an object that are scalars, each with a value of its own.
fn leaf_fields(of: TypeRef<'_>, number: usize) -> Map<String, Value> {
    let TypeKind::Object(object) = of.kind() else { return Map::new() };
    let scalars = object.fields().filter(|field| matches!(field.of().kind(), TypeKind::Scalar(_)));
    let filled = scalars.map(|field| (field.name.to_string(), leaf(field.of(), number)));
    filled.filter(|(_, value)| !value.is_null()).collect()
}
