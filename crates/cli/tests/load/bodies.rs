//! Requests that are small to send and meant to be large to answer.

use std::fmt::Write;

use bytes::Bytes;
use fastrand::Rng;
use serde_json::{Value, json};

/// A request of somebody who is known.
#[derive(Clone)]
pub struct Costly {
    pub method: &'static str,
    pub path: String,
    pub content_type: &'static str,
    /// The token of a user without roles, or of one who may write in the namespace `n`.
    pub token: &'static str,
    pub body: Bytes,
}

/// A user without roles.
pub const NOBODY: &str = "mallory";
/// A user who may write in the namespace `n`.
pub const TENANT: &str = "tenant";

const JSON: &str = "application/json";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// One request of each kind: made once, for making them is work too.
pub fn costly(rng: &mut Rng) -> Vec<Costly> {
    COSTLY.iter().map(|make| make(rng)).collect()
}

/// The kinds of such requests.
const COSTLY: [fn(&mut Rng) -> Costly; 10] = [
    nested_anchors,
    empty_objects,
    unknown_fields,
    unknown_fields_below_a_long_key,
    many_owners,
    many_liens,
    many_ports,
    many_permissions,
    moved_about,
    merged_lists,
];

fn post(path: &str, token: &'static str, object: &Value) -> Costly {
    Costly { method: "POST", path: path.to_owned(), content_type: JSON, token, body: object.to_string().into() }
}

fn named(rng: &mut Rng, more: Value) -> Value {
    let mut object = json!({"metadata": {"name": format!("x{}", rng.u32(..))}});
    for (key, value) in more.as_object().unwrap() {
        object[key] = value.clone();
    }
    object
}

/// Each level is an anchor of its own: who copies what is anchored copies it once per level.
fn nested_anchors(_: &mut Rng) -> Costly {
    let mut text = String::from("apiVersion: authorization.k8s.io/v1\nkind: SelfSubjectAccessReview\nspec: ");
    (0..250).for_each(|level| write!(text, "{{k: &a{level} ").unwrap());
    write!(text, "[{}]", "x,".repeat(1_200_000)).unwrap();
    text.push_str(&"}".repeat(250));
    let aliases: Vec<String> = (0..250).map(|level| format!("*a{level}")).collect();
    write!(text, "\nmore: [{}]\n", aliases.join(",")).unwrap();
    Costly {
        method: "POST",
        path: REVIEWS.to_owned(),
        content_type: "application/yaml",
        token: NOBODY,
        body: text.into(),
    }
}

fn empty_objects(rng: &mut Rng) -> Costly {
    let ports = vec![json!({}); 900_000];
    let containers = json!([{"name": "c", "image": "i", "ports": ports}]);
    post("/api/v1/namespaces/n/pods", TENANT, &named(rng, json!({"spec": {"containers": containers}})))
}

fn unknown_fields(rng: &mut Rng) -> Costly {
    let fields: Value =
        (0..150_000).map(|i| (format!("replcas{i}"), json!(1))).collect::<serde_json::Map<_, _>>().into();
    let object = named(rng, json!({"spec": fields}));
    post("/api/v1/namespaces/n/services?fieldValidation=Strict", TENANT, &object)
}

fn unknown_fields_below_a_long_key(rng: &mut Rng) -> Costly {
    let key = "k".repeat(500_000);
    let fields: Value = (0..100_000).map(|i| (format!("f{i}"), json!(1))).collect::<serde_json::Map<_, _>>().into();
    let containers = json!([{"name": "c", "image": "i", "resources": {"limits": {key: fields}}}]);
    post(
        "/api/v1/namespaces/n/pods?fieldValidation=Strict",
        TENANT,
        &named(rng, json!({"spec": {"containers": containers}})),
    )
}

fn many_owners(rng: &mut Rng) -> Costly {
    let owner = |i: usize| json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": i.to_string()});
    let mut object = named(rng, json!({}));
    object["metadata"]["ownerReferences"] = (0..40_000).map(owner).collect();
    post("/api/v1/namespaces/n/configmaps", TENANT, &object)
}

fn many_liens(rng: &mut Rng) -> Costly {
    let mut object = named(rng, json!({}));
    object["metadata"]["liens"] = (0..200_000).map(|i| format!("a.b/{i}")).collect();
    post("/api/v1/namespaces/n/configmaps", TENANT, &object)
}

fn many_ports(rng: &mut Rng) -> Costly {
    let ports: Value = (0..40_000).map(|i| json!({"name": format!("p{i}"), "port": i % 60_000 + 1})).collect();
    post("/api/v1/namespaces/n/services", TENANT, &named(rng, json!({"spec": {"ports": ports}})))
}

/// More than the tenant has, all of it to be told.
fn many_permissions(rng: &mut Rng) -> Costly {
    let resources: Vec<String> = (0..30_000).map(|i| format!("r{i}")).collect();
    let rules = json!([{"apiGroups": [""], "resources": resources, "verbs": ["get", "list", "watch"]}]);
    let path = "/apis/rbac.authorization.k8s.io/v1/namespaces/n/roles";
    post(path, TENANT, &named(rng, json!({"rules": rules})))
}

/// A JSON patch that moves a long list about.
fn moved_about(_: &mut Rng) -> Costly {
    let add = json!({"op": "add", "path": "/list", "value": vec![0; 100_000]});
    let moves = (0..9_000).map(|_| json!({"op": "move", "from": "/list/0", "path": "/list/0"}));
    let patch: Value = std::iter::once(add).chain(moves).collect();
    patched("application/json-patch+json", &patch)
}

fn merged_lists(_: &mut Rng) -> Costly {
    let finalizers: Vec<String> = (0..100_000).map(|i| format!("a.b/{i}")).collect();
    let patch = json!({"metadata": {"finalizers": finalizers, "$setElementOrder/finalizers": finalizers}});
    patched("application/strategic-merge-patch+json", &patch)
}

fn patched(content_type: &'static str, patch: &Value) -> Costly {
    let path = "/api/v1/namespaces/n/configmaps/patched?dryRun=All".to_owned();
    Costly { method: "PATCH", path, content_type, token: TENANT, body: patch.to_string().into() }
}
