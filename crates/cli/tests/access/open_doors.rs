//! Every door, tried by those who may not go through: all that discovery names with every method, all that stands beside
//! it, and odd spellings of both. Nothing is open but what upstream opens.

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Method, Request};
use pawl_testing::{Answer, Client, Place, Protocol};
use serde_json::{Value, json};

const METHODS: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

/// What everybody may read, by `system:public-info-viewer`.
const PUBLIC: [&str; 5] = ["/healthz", "/livez", "/readyz", "/version", "/version/"];
/// What service accounts may read, to let others verify their tokens.
const ISSUER: [&str; 2] = ["/.well-known/openid-configuration", "/openid/v1/jwks"];
/// What everybody may ask about himself.
const ABOUT_ONESELF: [&str; 3] = [
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
    "/apis/authentication.k8s.io/v1/selfsubjectreviews",
];

/// Paths that are no resource, in discovery's words and in others.
const BESIDES: &[&str] = &[
    "/",
    "/api",
    "/apis",
    "/openapi/v2",
    "/openapi/v3",
    "/openapi/v3/api/v1",
    "/openapi/v3/apis/apps/v1",
    "/metrics",
    "/version",
    "/version/",
    "/healthz",
    "/livez",
    "/readyz",
    "/healthz/ping",
    "/livez/ping",
    "/livez/etcd",
    "/readyz/ping",
    "/readyz/etcd",
    "/readyz/shutdown",
    "/.well-known/openid-configuration",
    "/openid/v1/jwks",
    "/logs",
    "/logs/kube-apiserver.log",
    "/debug",
    "/debug/pprof",
    "/debug/pprof/profile",
    "/debug/flags/v",
    "/flagz",
    "/statusz",
    "/configz",
    "/metrics/slis",
    "/swagger.json",
    "/nothing",
    "/favicon.ico",
];

/// Other spellings: slashes, escapes, case, dots, ends.
const ODD: &[&str] = &[
    "//",
    "//api",
    "/api/",
    "/api//v1",
    "//api/v1/secrets",
    "/api/v1//secrets",
    "/api/v1/secrets//",
    "/api/v1/secrets/",
    "/api/v1/Secrets",
    "/API/V1/SECRETS",
    "/api%2Fv1%2Fsecrets",
    "/api/v1/%73ecrets",
    "/api/v1/namespaces%2Fdefault/secrets",
    "/api/v1/namespaces/default%2Fsecrets",
    "/api/v1/namespaces/default/secrets%2Fx",
    "/api/v1/namespaces/default/secrets/x%00",
    "/api/v1/namespaces/%2e%2e/secrets",
    "/api/v1/namespaces/../secrets",
    "/api/v1/namespaces//secrets",
    "/api/v1/watch/secrets",
    "/api/v1/watch/namespaces/default/secrets/x",
    "/api/v1/proxy/namespaces/default/pods/x",
    "/api/v1/redirect/namespaces/default/pods/x",
    "/apis//v1/deployments",
    "/apis/nobody.example/v1/things",
    "/Healthz",
    "/HEALTHZ",
    "/healthz/",
    "/healthz//",
    "//healthz",
    "/healthz/.",
    "/healthz/..",
    "/healthz/../api/v1/secrets",
    "/healthz%2f..%2fapi",
    "/healthz%00",
    "/healthz;/api",
    "/./healthz",
    "/healthz%20",
    "/version//",
    "/version/x",
    "/versions",
    "/metrics/",
    "/%6detrics",
    "/livez/",
    "/readyz/ping/",
];

/// A request to a path, and what the server answered to somebody.
struct Tried {
    method: Method,
    path: String,
    answer: Answer,
}

async fn document(client: &Client, path: &str) -> Value {
    client.get(path).await.unwrap().expect(200)
}

/// Every path of a resource or a subresource that discovery names.
async fn resources(admin: &Client) -> Vec<String> {
    let mut roots = vec!["/api/v1".to_owned()];
    for group in document(admin, "/apis").await["groups"].as_array().unwrap() {
        let versions = group["versions"].as_array().unwrap();
        roots.extend(versions.iter().map(|v| format!("/apis/{}", v["groupVersion"].as_str().unwrap())));
    }
    let mut paths = Vec::new();
    for root in roots {
        paths.push(root.clone());
        for resource in document(admin, &root).await["resources"].as_array().unwrap() {
            let name = resource["name"].as_str().unwrap();
            let (plural, below) = match name.split_once('/') {
                Some((plural, below)) => (plural, format!("/{below}")),
                None => (name, String::new()),
            };
            let scopes: &[&str] = if resource["namespaced"] == true { &["", "/namespaces/default"] } else { &[""] };
            for scope in scopes {
                paths.push(format!("{root}{scope}/{plural}/x{below}"));
                if below.is_empty() {
                    paths.push(format!("{root}{scope}/{plural}"));
                    paths.push(format!("{root}/watch{scope}/{plural}"));
                }
            }
        }
    }
    assert!(paths.len() > 300, "discovery was read: {}", paths.len());
    paths
}

/// Tries every method on every path.
async fn try_all(client: &Client, paths: &[String]) -> Vec<Tried> {
    let all = paths.iter().flat_map(|path| METHODS.map(|method| (method, path.clone())));
    let tried = stream::iter(all).map(async |(method, path)| {
        let head = Request::builder().method(method.clone()).uri(&path);
        let answer = client.send(head, Bytes::new()).await.unwrap_or_else(|e| panic!("{method} {path}: {e}"));
        Tried { method, path, answer }
    });
    tried.buffer_unordered(32).collect().await
}

/// Checks that exactly what is open was let in, and that everything else was refused with this code and a `Status`.
fn check(who: &str, all: &[Tried], code: u16, open: impl Fn(&Method, &str) -> bool) {
    let mut let_in = 0;
    for Tried { method, path, answer } in all {
        let what = format!("{who}: {method} {path}: {}", String::from_utf8_lossy(&answer.body));
        if open(method, path) {
            assert!(!matches!(answer.code, 401 | 403), "{what}");
            let_in += 1;
            continue;
        }
        assert_eq!(answer.code, code, "{what}");
        if *method == Method::HEAD {
            assert!(answer.body.is_empty(), "{what}");
            continue;
        }
        let reason = if code == 401 { "Unauthorized" } else { "Forbidden" };
        let status = answer.json();
        assert_eq!((&status["kind"], &status["status"]), (&json!("Status"), &json!("Failure")), "{what}");
        assert_eq!((&status["code"], &status["reason"]), (&json!(code), &json!(reason)), "{what}");
        let named = if code == 401 { "Unauthorized" } else { who };
        assert!(status["message"].as_str().unwrap().contains(named), "{what}");
    }
    println!("{who}: {} requests, {let_in} of them let in", all.len());
}

async fn all_paths(admin: &Client) -> Vec<String> {
    let mut paths = resources(admin).await;
    paths.extend(BESIDES.iter().chain(ODD).map(|path| (*path).to_owned()));
    paths
}

fn is_public(method: &Method, path: &str) -> bool {
    *method == Method::GET && PUBLIC.contains(&path)
}

/// What `system:discovery` and `system:basic-user` give to everybody who is known.
fn is_for_known(method: &Method, path: &str) -> bool {
    let trimmed = path.trim_matches('/');
    let parts: Vec<&str> = trimmed.split('/').collect();
    let discovery = match parts.as_slice() {
        ["api" | "apis"] => path.starts_with("/a"),
        ["api", _] | ["apis", _] | ["apis", _, _] | ["openapi", ..] => !trimmed.contains("%2F"),
        _ => false,
    };
    let read = *method == Method::GET && (discovery || PUBLIC.contains(&path));
    // Who may ask may do so under a name, and be told that there is nothing.
    read || (*method == Method::POST && ABOUT_ONESELF.contains(&path.trim_end_matches("/x")))
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_not_known_gets_nothing() {
    let mut place = Place::new();
    place.add_user("nobody", "");
    let server = place.start().await;
    let paths = all_paths(&place.client(Protocol::Http2)).await;
    let anonymous = place.anonymous(Protocol::Http2);
    check("system:anonymous", &try_all(&anonymous, &paths).await, 403, is_public);
    let wrong = place.anonymous(Protocol::Http2).with_token("wrong");
    check("a wrong token", &try_all(&wrong, &paths).await, 401, |_, _| false);
    let nobody = place.anonymous(Protocol::Http2).with_token("nobody");
    check("nobody", &try_all(&nobody, &paths).await, 403, is_for_known);
    server.assert_no_panic();
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_anonymous_access_nothing_is_open() {
    let mut place = Place::new();
    let server = place.start_flagged(&["--anonymous-auth=false"]).await;
    let paths = all_paths(&place.client(Protocol::Http2)).await;
    check("nobody at all", &try_all(&place.anonymous(Protocol::Http2), &paths).await, 401, |_, _| false);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_issuer_is_told_to_service_accounts_only() {
    let mut place = Place::new();
    place.add_user("nobody", "");
    let server = place.start().await;
    let admin = place.client(Protocol::Http2);
    let account = json!({"metadata": {"name": "robot"}});
    admin.post("/api/v1/namespaces/default/serviceaccounts", &account).await.unwrap().expect(201);
    let request = json!({"spec": {}});
    let token = admin.post("/api/v1/namespaces/default/serviceaccounts/robot/token", &request).await.unwrap();
    let token = token.expect(201)["status"]["token"].as_str().unwrap().to_owned();
    let robot = place.anonymous(Protocol::Http2).with_token(&token);
    let nobody = place.anonymous(Protocol::Http2).with_token("nobody");
    for path in ISSUER {
        robot.get(path).await.unwrap().expect(200);
        nobody.get(path).await.unwrap().expect(403);
    }
    robot.get("/api/v1/secrets").await.unwrap().expect(403);
    server.stop().await;
}

/// Browsers hide a token among the protocols of a websocket. Other requests carry none there.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_among_protocols_counts_only_for_a_websocket() {
    let mut place = Place::new();
    let server = place.start().await;
    let anonymous = place.anonymous(Protocol::Http1);
    // The token of who may do everything, in base64.
    let protocols = "base64url.bearer.authorization.k8s.io.cm9vdC10b2tlbg, v4.channel.k8s.io";
    let head = || Request::get("/api/v1/secrets").header("Sec-WebSocket-Protocol", protocols);
    anonymous.send(head(), Bytes::new()).await.unwrap().expect(403);
    anonymous.send(head().header("Upgrade", "websocket"), Bytes::new()).await.unwrap().expect(403);
    let upgrade = head().header("Upgrade", "websocket").header("Connection", "Upgrade");
    anonymous.send(upgrade, Bytes::new()).await.unwrap().expect(200);
    server.stop().await;
}
