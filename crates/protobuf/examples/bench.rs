//! What transcoding costs: nanoseconds per object, for a small object and a large one, beside the same in JSON.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints measurements")]

use std::hint::black_box;
use std::time::Instant;

use pawl_protobuf::{Codec, append_message};
use pawl_schema::{TypeRef, decode_json};
use serde_json::{Map, Value, json};

fn main() {
    let schema = pawl_kinds::schema();
    let start = Instant::now();
    let codec = Codec::new(schema, |_, _| None);
    println!("table of {} types: {} µs", schema.types().count(), start.elapsed().as_micros());
    measure(&codec, "ConfigMap", schema.named("core.v1.ConfigMap").unwrap(), config_map());
    measure(&codec, "Pod", schema.named("core.v1.Pod").unwrap(), pod());
    list(&codec, schema.named("core.v1.Pod").unwrap());
}

fn measure(codec: &Codec<'_>, name: &str, of: TypeRef<'_>, object: Value) {
    let text = serde_json::to_vec(&object).unwrap();
    let object = decode_json(of, &text).unwrap().object;
    let mut raw = Vec::new();
    codec.encode(of, &object, &mut raw).unwrap();
    println!("{name}: {} bytes of protobuf, {} of JSON", raw.len(), text.len());
    let mut out = Vec::with_capacity(raw.len() * 2);
    time("encode", || {
        out.clear();
        codec.encode(of, black_box(&object), &mut out).unwrap();
    });
    time("decode", || drop(black_box(codec.decode(of, black_box(&raw)).unwrap())));
    time("encode JSON", || {
        out.clear();
        serde_json::to_writer(&mut out, black_box(&object)).unwrap();
    });
    time("decode JSON", || drop(black_box(decode_json(of, black_box(&text)).unwrap())));
}

/// The best of many batches: what else runs on the machine only makes it slower.
fn time(what: &str, mut run: impl FnMut()) {
    const ROUNDS: u32 = 200;
    let mut batch = || {
        let start = Instant::now();
        (0..ROUNDS).for_each(|_| run());
        start.elapsed().as_nanos() / u128::from(ROUNDS)
    };
    let best = (0..200).map(|_| batch()).min().unwrap_or_default();
    println!("  {what}: {best} ns");
}

/// A list of many objects, from objects and from their encodings.
fn list(codec: &Codec<'_>, of: TypeRef<'_>) {
    const ITEMS: usize = 10_000;
    let text = serde_json::to_vec(&pod()).unwrap();
    let object = decode_json(of, &text).unwrap().object;
    let objects: Vec<Map<String, Value>> = vec![object; ITEMS];
    let start = Instant::now();
    let mut out = Vec::new();
    let mut item = Vec::new();
    for object in &objects {
        item.clear();
        codec.encode(of, object, &mut item).unwrap();
        append_message(2, &item, &mut out);
    }
    println!("list of {ITEMS} pods: {} ms, {} MB", start.elapsed().as_millis(), out.len() / 1_000_000);
    let start = Instant::now();
    let mut cached = Vec::with_capacity(out.len());
    for _ in 0..ITEMS {
        append_message(2, &item, &mut cached);
    }
    println!("the same from encoded items: {} ms", start.elapsed().as_millis());
    let start = Instant::now();
    let json = serde_json::to_vec(&objects).unwrap();
    println!("the same in JSON: {} ms, {} MB", start.elapsed().as_millis(), json.len() / 1_000_000);
}

fn metadata(name: &str) -> Value {
    json!({
        "name": name, "namespace": "default", "uid": "4a1d5ee6-94f5-4a2e-9d3c-8f6f2a7d1c11", "resourceVersion": "12345",
        "creationTimestamp": "2024-05-06T07:08:09Z",
        "labels": {"app": "web", "pod-template-hash": "5d78c9869d"},
        "annotations": {"example.org/config": "0123456789abcdef0123456789abcdef"},
        "managedFields": [{
            "manager": "kubectl", "operation": "Update", "apiVersion": "v1", "time": "2024-05-06T07:08:09Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}, "f:data": {}},
        }],
    })
}

fn config_map() -> Value {
    json!({"metadata": metadata("c"), "data": {"a": "some text", "b.yaml": "key: value\nother: value\n"}})
}

fn pod() -> Value {
    let container = |name: &str| {
        json!({
            "name": name, "image": "registry.example.org/web:1.2.3", "imagePullPolicy": "IfNotPresent",
            "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
            "env": [
                {"name": "LEVEL", "value": "debug"},
                {"name": "NODE", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}},
            ],
            "resources": {"limits": {"cpu": "500m", "memory": "128Mi"}, "requests": {"cpu": "250m", "memory": "64Mi"}},
            "volumeMounts": [{"name": "token", "readOnly": true, "mountPath": "/var/run/secrets/token"}],
            "livenessProbe": {
                "httpGet": {"path": "/healthz", "port": "http", "scheme": "HTTP"},
                "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3,
            },
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
        })
    };
    let status = |name: &str| {
        json!({
            "name": name, "state": {"running": {"startedAt": "2024-05-06T07:08:19Z"}}, "lastState": {}, "ready": true,
            "restartCount": 0, "image": "registry.example.org/web:1.2.3", "started": true,
            "imageID": "registry.example.org/web@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            "containerID": "containerd://0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        })
    };
    let condition = |kind: &str| json!({"type": kind, "status": "True", "lastProbeTime": null, "lastTransitionTime": "2024-05-06T07:08:19Z"});
    json!({
        "metadata": metadata("web-5d78c9869d-abcde"),
        "spec": {
            "volumes": [{"name": "token", "secret": {"secretName": "token", "defaultMode": 420}}],
            "containers": [container("web"), container("sidecar")],
            "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default", "serviceAccount": "default", "nodeName": "node-1",
            "securityContext": {}, "schedulerName": "default-scheduler", "priority": 0, "enableServiceLinks": true,
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            ],
        },
        "status": {
            "phase": "Running", "hostIP": "10.0.0.1", "podIP": "10.1.0.7", "podIPs": [{"ip": "10.1.0.7"}],
            "startTime": "2024-05-06T07:08:09Z", "qosClass": "Burstable",
            "conditions": [condition("Initialized"), condition("Ready"), condition("ContainersReady"), condition("PodScheduled")],
            "containerStatuses": [status("web"), status("sidecar")],
        },
    })
}
