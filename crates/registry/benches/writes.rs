//! One kind of write, many times, for whoever counts instructions and allocations: `tests/bench/writes` runs it.
//!
//! `writes KIND WRITE VALIDATION TIMES`, as in `writes deployment put strict 100`. Nothing is stored: what is measured is
//! the way from the bytes of a request to the bytes that would be stored.
#![allow(clippy::restriction, reason = "a benchmark that cannot run says so")]

use std::sync::Arc;

use pawl_registry::{
    AddressRange, Context, CreateRequest, FieldValidation, Mutation, PatchKind, PatchRequest, PortRange, Registry,
    Sent, Served, ServiceRanges, Settings, UpdateRequest,
};
use serde_json::{Map, Value, json};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let [kind, write, validation, times] = &arguments[..] else {
        // `cargo bench` and `cargo test` run everything without arguments.
        return;
    };
    let validation = match validation.as_str() {
        "strict" => FieldValidation::Strict,
        "warn" => FieldValidation::Warn,
        _ => FieldValidation::Ignore,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let bench = Bench::open(kind).await;
        for _ in 0..times.parse().unwrap() {
            bench.once(write, validation).await;
        }
    });
}

struct Bench {
    registry: Arc<Registry>,
    served: Arc<Served>,
    cx: Context,
    object: Value,
    _directory: tempfile::TempDir,
}

impl Bench {
    async fn open(kind: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = pawl_kv_embedded::Store::open(directory.path(), pawl_kv_embedded::Options::default()).unwrap();
        let services = ServiceRanges {
            addresses: AddressRange { base: "10.0.0.0".parse().unwrap(), bits: 24 },
            node_ports: PortRange { first: 30000, last: 32767 },
        };
        let settings = Settings {
            admission: Default::default(),
            liens: true,
            event_ttl: std::time::Duration::ZERO,
            services,
            quarantine: std::time::Duration::from_secs(3600),
        };
        let (registry, revision) = Registry::open(store, None, pawl_kinds::builtin(), settings).await.unwrap();
        let registry = Arc::new(registry);
        let follower = Arc::clone(&registry);
        tokio::spawn(async move { follower.follow(revision).await });
        let (group, version, plural, object) = match kind {
            "configmap" => ("", "v1", "configmaps", config_map()),
            "deployment" => ("apps", "v1", "deployments", deployment(8)),
            "thousand" => ("apps", "v1", "deployments", deployment(1000)),
            other => panic!("no object {other}"),
        };
        let served = Arc::clone(registry.table().find(group, version, plural).unwrap());
        let mut cx = Context::own();
        cx.manager = "bench".to_owned();
        let mut bench = Self { registry, served, cx, object, _directory: directory };
        bench.patch(PatchKind::Apply, &bench.object, FieldValidation::Strict).await;
        bench.cx.dry_run = true;
        bench
    }

    async fn once(&self, write: &str, validation: FieldValidation) {
        let changed = json!({"metadata": {"labels": {"changed": "yes"}}});
        match write {
            "post" => self.post(validation).await,
            "put" => self.put(validation).await,
            "json" => {
                let patch = json!([{"op": "add", "path": "/metadata/labels/changed", "value": "yes"}]);
                self.patch(PatchKind::Json, &patch, validation).await;
            }
            "merge" => self.patch(PatchKind::Merge, &changed, validation).await,
            "strategic" => self.patch(PatchKind::Strategic, &changed, validation).await,
            "apply" => {
                let mut intent = self.object.clone();
                intent["metadata"]["labels"]["changed"] = json!("yes");
                self.patch(PatchKind::Apply, &intent, validation).await;
            }
            "apply-unchanged" => self.patch(PatchKind::Apply, &self.object, validation).await,
            other => panic!("no write {other}"),
        }
    }

    async fn post(&self, validation: FieldValidation) {
        let mut object = self.object.clone();
        object["metadata"]["name"] = json!("other");
        let body = object.to_string();
        let decoded = self.registry.decode(&self.cx, &self.served, Sent::json(body.as_bytes(), validation)).unwrap();
        let request = CreateRequest { namespace: "n".to_owned(), object: decoded, tracked: false };
        self.registry.create(&self.cx, &self.served, request).await.unwrap();
    }

    async fn put(&self, validation: FieldValidation) {
        let mut object = self.object.clone();
        object["metadata"]["labels"]["changed"] = json!("yes");
        let body = object.to_string();
        let change = Mutation::replace(Sent::json(body.as_bytes(), validation));
        let request = UpdateRequest::new(("n", "x"), "", change);
        self.registry.update(&self.cx, &self.served, request).await.map_err(|status| status.message).unwrap();
    }

    async fn patch(&self, kind: PatchKind, patch: &Value, validation: FieldValidation) {
        let body = patch.to_string();
        let request = PatchRequest {
            namespace: "n",
            name: "x",
            subresource: "",
            kind,
            body: body.as_bytes(),
            validation,
            force: true,
            create_refused: None,
        };
        self.registry.patch(&self.cx, &self.served, request).await.map_err(|status| status.message).unwrap();
    }
}

fn metadata() -> Value {
    json!({"name": "x", "namespace": "n", "labels": {"app": "a"}, "annotations": {"example.com/about": "what it is for"}})
}

/// Some three kilobytes in thirty keys.
fn config_map() -> Value {
    let data: Map<String, Value> = (0..30).map(|i| (format!("key-{i}"), json!("v".repeat(85)))).collect();
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(), "data": data})
}

/// Some three kilobytes with eight variables in each of two containers.
fn deployment(variables: usize) -> Value {
    let env: Vec<Value> =
        (0..variables).map(|i| json!({"name": format!("VARIABLE_{i}"), "value": "some value"})).collect();
    let container = |name: &str, port: u16| {
        json!({"name": name, "image": "registry.example.com/team/image:v1.2.3", "args": ["--level=2", "--address=:8080"],
            "ports": [{"name": "http", "containerPort": port, "protocol": "TCP"}], "env": env,
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}},
            "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 5},
            "volumeMounts": [{"name": "config", "mountPath": "/etc/config"}]})
    };
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata(), "spec": {"replicas": 3,
        "selector": {"matchLabels": {"app": "a"}},
        "template": {"metadata": {"labels": {"app": "a"}}, "spec": {
            "containers": [container("main", 8080), container("side", 9090)],
            "volumes": [{"name": "config", "configMap": {"name": "config"}}],
            "nodeSelector": {"disk": "fast"}, "tolerations": [{"key": "dedicated", "operator": "Exists"}]}}}})
}
