//! Tenants of several roles on a server, and everything that they might try: what the test of verdicts asks every server.

pub mod cases;

use std::time::{Duration, Instant};

use http::Request;
use serde_json::{Value, json};

use pawl_testing::{Client, DEADLINE, Failure};

const RBAC: &str = "rbac.authorization.k8s.io";
const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1";

/// Who asks, in the order in which verdicts are written down.
pub const TENANTS: [&str; 9] =
    ["owner", "editor", "subs", "named", "reader", "lister", "paths", "nobody", "system:anonymous"];

/// The head of a request as it would come from a tenant: whoever may do everything acts as them.
pub fn acting_as(tenant: &str, head: http::request::Builder) -> http::request::Builder {
    let head = head.header("Impersonate-User", tenant);
    if tenant == "system:anonymous" { head.header("Impersonate-Group", "system:unauthenticated") } else { head }
}

/// Makes the namespaces, what is in them, and the roles of the tenants; returns once the tenants may do what they may.
pub async fn furnish(admin: &Client) -> Result<(), Failure> {
    for name in ["foo", "victim", "x"] {
        make(admin, "/api/v1/namespaces", json!({"metadata": {"name": name}})).await?;
    }
    for namespace in ["foo", "victim"] {
        let core = format!("/api/v1/namespaces/{namespace}");
        let x = json!({"metadata": {"name": "x"}});
        for plural in ["configmaps", "secrets", "serviceaccounts"] {
            make(admin, &format!("{core}/{plural}"), x.clone()).await?;
        }
        // Where a controller makes it, it is there already: pods need it.
        make(admin, &format!("{core}/serviceaccounts"), json!({"metadata": {"name": "default"}})).await?;
        let containers = json!([{"name": "c", "image": "i"}]);
        let pod = json!({"serviceAccountName": "x", "automountServiceAccountToken": false, "containers": containers});
        make(admin, &format!("{core}/pods"), json!({"metadata": {"name": "x"}, "spec": pod})).await?;
        let labels = json!({"app": "x"});
        let template = json!({"metadata": {"labels": labels}, "spec": {"containers": containers}});
        let spec = json!({"replicas": 0, "selector": {"matchLabels": labels}, "template": template});
        let deployment = json!({"metadata": {"name": "x"}, "spec": spec});
        make(admin, &format!("/apis/apps/v1/namespaces/{namespace}/deployments"), deployment).await?;
        bind(admin, namespace, "x", "Group", "nobody-at-all", json!([])).await?;
    }
    make(admin, "/api/v1/nodes", json!({"metadata": {"name": "x"}})).await?;
    bind(admin, "", "x", "Group", "nobody-at-all", json!([])).await?;
    for (tenant, namespace, rules) in roles() {
        bind(admin, namespace, tenant, "User", tenant, rules).await?;
    }
    for (tenant, asked) in [
        ("owner", json!({"namespace": "foo", "verb": "get", "resource": "pods"})),
        ("editor", json!({"namespace": "foo", "verb": "get", "resource": "pods"})),
        ("subs", json!({"namespace": "foo", "verb": "get", "resource": "pods", "subresource": "log"})),
        ("named", json!({"namespace": "foo", "verb": "get", "resource": "pods", "name": "x"})),
        ("reader", json!({"verb": "get", "resource": "pods"})),
        ("lister", json!({"verb": "list", "resource": "nodes"})),
    ] {
        until_allowed(admin, tenant, json!({"resourceAttributes": asked})).await?;
    }
    until_allowed(admin, "paths", json!({"nonResourceAttributes": {"verb": "get", "path": "/metrics"}})).await
}

/// What each tenant may do, and where; the empty namespace is the cluster.
fn roles() -> Vec<(&'static str, &'static str, Value)> {
    let all = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
    let rule = |groups: &[&str], resources: &[&str], verbs: &[&str]| json!({"apiGroups": groups, "resources": resources, "verbs": verbs});
    let kinds = ["pods", "configmaps", "namespaces", "nodes", "deployments", "clusterroles"];
    let below = ["*/status", "*/scale", "pods/log", "pods/proxy", "nodes/proxy", "namespaces/finalize"];
    let mut named = rule(&["", RBAC], &["configmaps", "pods", "secrets", "namespaces", "clusterroles"], &all);
    named["resourceNames"] = json!(["x"]);
    vec![
        ("owner", "foo", json!([rule(&["*"], &["*"], &["*"])])),
        ("editor", "foo", json!([rule(&["", "apps", RBAC], &kinds, &all)])),
        ("subs", "foo", json!([rule(&["*"], &below, &["get", "create", "update", "patch"])])),
        ("named", "foo", json!([named])),
        ("reader", "", json!([rule(&["*"], &["*"], &["get", "list", "watch"])])),
        ("lister", "", json!([rule(&[""], &["namespaces", "nodes"], &["list"])])),
        ("paths", "", json!([{"nonResourceURLs": ["*"], "verbs": ["*"]}])),
    ]
}

/// A role and its binding.
async fn bind(
    admin: &Client,
    namespace: &str,
    name: &str,
    kind: &str,
    subject: &str,
    rules: Value,
) -> Result<(), Failure> {
    let (scope, cluster) = match namespace {
        "" => (ROLES.to_owned(), "Cluster"),
        namespace => (format!("{ROLES}/namespaces/{namespace}"), ""),
    };
    let plural = |plural: &str| format!("{scope}/{}{plural}", cluster.to_lowercase());
    make(admin, &plural("roles"), json!({"metadata": {"name": name}, "rules": rules})).await?;
    let role = json!({"apiGroup": RBAC, "kind": format!("{cluster}Role"), "name": name});
    let subjects = json!([{"apiGroup": RBAC, "kind": kind, "name": subject}]);
    let binding = json!({"metadata": {"name": name}, "roleRef": role, "subjects": subjects});
    make(admin, &plural("rolebindings"), binding).await
}

/// Makes an object; one that is there already is left as it is.
async fn make(admin: &Client, path: &str, object: Value) -> Result<(), Failure> {
    let answer = admin.post(path, &object).await?;
    match answer.code {
        201 | 409 => Ok(()),
        code => Err(format!("{path}: {code}: {}", String::from_utf8_lossy(&answer.body)).into()),
    }
}

async fn until_allowed(admin: &Client, tenant: &str, mut spec: Value) -> Result<(), Failure> {
    spec["user"] = json!(tenant);
    let deadline = Instant::now() + DEADLINE;
    while !is_allowed(admin, &spec).await? {
        if Instant::now() > deadline {
            return Err(format!("{tenant} may not do what the roles say: {spec}").into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// What a server says to a review of access.
pub async fn is_allowed(admin: &Client, spec: &Value) -> Result<bool, Failure> {
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    Ok(admin.post(path, &json!({"spec": spec})).await?.expect(201)["status"]["allowed"] == true)
}

/// The answer to a request of a tenant: its code, and its body where that ends by itself.
pub async fn ask(admin: &Client, tenant: &str, case: &cases::Case) -> Result<(u16, Vec<u8>), Failure> {
    let head = acting_as(tenant, Request::builder().method(case.method.clone()).uri(case.uri()));
    let (head, body) = case.fill(head);
    let response = admin.open(head, body).await?;
    let code = response.status().as_u16();
    // Only what would not end is given up: a connection on which much is given up is one that servers end.
    if case.lasts() && response.status().is_success() {
        return Ok((code, Vec::new()));
    }
    let body = http_body_util::BodyExt::collect(response.into_body()).await?.to_bytes();
    Ok((code, body.to_vec()))
}
