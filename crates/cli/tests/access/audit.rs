//! The audit log over HTTP: what a policy says is what stands there, no more and no less.

use std::fs;
use std::path::PathBuf;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName};
use http::{Method, Request};
use pawl_testing::{Answer, Client, Place, Protocol, Server};
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// A server that records what these rules want.
struct Audited {
    place: Place,
    server: Server,
    client: Client,
}

impl Audited {
    async fn start(rules: Value, flags: &[&str]) -> Self {
        let mut place = Place::new();
        place.add_user("nobody", "");
        let policy = json!({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
            "rules": rules});
        fs::write(place.path("policy.yaml"), policy.to_string()).unwrap();
        fs::create_dir(place.path("log")).unwrap();
        let policy = format!("--audit-policy-file={}", place.path("policy.yaml").display());
        let log = format!("--audit-log-path={}", place.path("log/audit.log").display());
        let server = place.start_flagged(&[&[policy.as_str(), log.as_str()], flags].concat()).await;
        let client = place.client(Protocol::Http2);
        Self { place, server, client }
    }

    /// Sends a request that the log will know by this id.
    async fn send(&self, id: &str, method: Method, path: &str, body: &Value) -> Answer {
        send_as(&self.client, id, method, path, body).await
    }

    /// Stops the server and reads what it wrote.
    async fn stop(self) -> (Place, String) {
        self.server.assert_no_panic();
        self.server.stop().await;
        let text = fs::read_to_string(self.place.path("log/audit.log")).unwrap();
        (self.place, text)
    }

    /// Stops the server and gives the records of these ids, in the order in which they were written.
    async fn records(self, ids: &[&str]) -> Vec<Vec<Value>> {
        let (_, text) = self.stop().await;
        let all: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let of = |id: &&str| all.iter().filter(|record| record["auditID"] == *id).cloned().collect();
        ids.iter().map(of).collect()
    }
}

async fn send_as(client: &Client, id: &str, method: Method, path: &str, body: &Value) -> Answer {
    let media = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let head = Request::builder().method(method).uri(path).header(CONTENT_TYPE, media).header(AUDIT_ID, id);
    let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    client.send(head, body).await.unwrap()
}

fn rule(level: &str, verbs: &[&str], resource: &str) -> Value {
    json!({"level": level, "verbs": verbs, "resources": [{"group": "", "resources": [resource]}]})
}

fn stages(records: &[Value]) -> Vec<&str> {
    records.iter().map(|record| record["stage"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_says_how_much_is_recorded() {
    let rules = json!([
        rule("None", &["create"], "configmaps"),
        rule("Metadata", &["get"], "configmaps"),
        rule("Request", &["update"], "configmaps"),
        rule("RequestResponse", &["patch"], "configmaps"),
    ]);
    let audited = Audited::start(rules, &[]).await;
    let x = format!("{CONFIG_MAPS}/x");
    let object = json!({"metadata": {"name": "x"}, "data": {"k": "v"}});
    audited.send("none", Method::POST, CONFIG_MAPS, &object).await.expect(201);
    audited.send("metadata", Method::GET, &x, &Value::Null).await.expect(200);
    audited.send("request", Method::PUT, &x, &object).await.expect(200);
    audited.send("both", Method::PATCH, &x, &json!({"data": {"k": "w"}})).await.expect(200);
    audited.send("no rule", Method::DELETE, &x, &Value::Null).await.expect(200);
    let records = audited.records(&["none", "metadata", "request", "both", "no rule"]).await;
    let [none, metadata, request, both, no_rule] = records.as_slice() else { panic!() };
    assert_eq!((none.len(), no_rule.len()), (0, 0));
    for (records, level, verb) in
        [(metadata, "Metadata", "get"), (request, "Request", "update"), (both, "RequestResponse", "patch")]
    {
        let [record] = records.as_slice() else { panic!("{level}: {records:?}") };
        assert_eq!((&record["level"], &record["verb"]), (&json!(level), &json!(verb)));
        assert_eq!((&record["kind"], &record["apiVersion"]), (&json!("Event"), &json!("audit.k8s.io/v1")));
        assert_eq!((&record["stage"], &record["requestURI"]), (&json!("ResponseComplete"), &json!(x)));
        assert_eq!(record["user"]["username"], "root");
        assert_eq!(record["objectRef"]["name"], "x");
        assert_eq!(record["responseStatus"]["code"], 200);
        assert_eq!(record["annotations"]["authorization.k8s.io/decision"], "allow");
        assert_eq!(record["requestObject"].is_object(), level != "Metadata", "{record}");
        assert_eq!(record["responseObject"].is_object(), level == "RequestResponse", "{record}");
    }
    assert_eq!(request[0]["requestObject"]["data"], json!({"k": "v"}));
    assert_eq!(both[0]["requestObject"], json!({"data": {"k": "w"}}));
    assert_eq!(both[0]["responseObject"]["data"], json!({"k": "w"}));
}

#[tokio::test(flavor = "multi_thread")]
async fn stages_can_be_left_out() {
    let mut without_end = rule("Metadata", &["watch"], "configmaps");
    without_end["omitStages"] = json!(["ResponseComplete"]);
    let rules = json!([without_end, rule("Metadata", &["watch", "get"], "*")]);
    let audited = Audited::start(rules, &[]).await;
    let watch = |id: &'static str, what: &'static str| {
        let path = format!("/api/v1/namespaces/default/{what}?watch=true&timeoutSeconds=1");
        (id, path)
    };
    for (id, path) in [watch("rule", "configmaps"), watch("policy", "secrets")] {
        assert_eq!(audited.send(id, Method::GET, &path, &Value::Null).await.code, 200);
    }
    audited.send("get", Method::GET, &format!("{SECRETS}/x"), &Value::Null).await.expect(404);
    let records = audited.records(&["rule", "policy", "get"]).await;
    assert_eq!(stages(&records[0]), ["ResponseStarted"]);
    assert_eq!(stages(&records[1]), ["ResponseStarted", "ResponseComplete"]);
    assert_eq!(stages(&records[2]), ["ResponseComplete"]);
}

/// Every way in which the content of a secret passes through the server.
async fn pass_secrets(audited: &Audited) {
    let object = json!({"metadata": {"name": "s"}, "stringData": {"k": "hush-hush"}});
    let encoded = json!({"metadata": {"name": "s"}, "data": {"k": "aHVzaC1odXNo"}});
    let s = format!("{SECRETS}/s");
    audited.send("1", Method::POST, SECRETS, &object).await.expect(201);
    audited.send("2", Method::PUT, &s, &encoded).await.expect(200);
    audited.send("3", Method::PATCH, &s, &json!({"stringData": {"l": "hush-hush"}})).await.expect(200);
    audited.send("4", Method::GET, &s, &Value::Null).await.expect(200);
    audited.send("5", Method::GET, SECRETS, &Value::Null).await.expect(200);
    audited.send("6", Method::GET, &format!("{SECRETS}?watch=1&timeoutSeconds=1"), &Value::Null).await;
    audited.send("7", Method::POST, SECRETS, &object).await.expect(409);
    audited.send("8", Method::PUT, &s, &json!({"metadata": {"name": "s"}, "type": "hush-hush"})).await.expect(422);
    audited.send("9", Method::DELETE, SECRETS, &Value::Null).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_stay_out_of_the_log_unless_the_policy_wants_them() {
    for (level, wanted) in [("Metadata", false), ("RequestResponse", true)] {
        let rules = json!([rule(level, &[], "secrets"), {"level": "RequestResponse"}]);
        let audited = Audited::start(rules, &[]).await;
        pass_secrets(&audited).await;
        let (_, text) = audited.stop().await;
        assert!(text.lines().filter(|line| line.contains("\"resource\":\"secrets\"")).count() >= 9, "{text}");
        assert_eq!(text.contains("aHVzaC1odXNo"), wanted, "{level}");
        // A refusal repeats what it refuses; nothing that was stored is among it.
        let told = text.lines().filter(|line| !line.contains("\"auditID\":\"8\"")).any(|l| l.contains("hush-hush"));
        assert_eq!(told, wanted, "{level}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_rotated() {
    let flags = ["--audit-log-maxsize=1", "--audit-log-maxbackup=2"];
    let audited = Audited::start(json!([{"level": "RequestResponse"}]), &flags).await;
    let object = json!({"metadata": {"name": "large"}, "data": {"k": "x".repeat(200_000)}});
    for i in 0..20 {
        audited.send(&format!("id-{i}"), Method::POST, &format!("{CONFIG_MAPS}?dryRun=All"), &object).await.expect(201);
    }
    let (place, _) = audited.stop().await;
    let files: Vec<PathBuf> = fs::read_dir(place.path("log")).unwrap().map(|f| f.unwrap().path()).collect();
    assert_eq!(files.len(), 3, "one and two that are kept: {files:?}");
    let mut newest = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.len() <= 1 << 20, "{}: {}", file.display(), text.len());
        let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        newest.extend(records.map(|record| record["auditID"].clone()));
    }
    assert!(newest.contains(&json!("id-19")) && !newest.contains(&json!("id-0")), "{newest:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_known_by_one_id() {
    let audited = Audited::start(json!([{"level": "Metadata"}]), &[]).await;
    let echoed = |answer: &Answer| answer.headers[AUDIT_ID].to_str().unwrap().to_owned();
    let given = audited.send("my-own-id", Method::GET, CONFIG_MAPS, &Value::Null).await;
    assert_eq!(echoed(&given), "my-own-id");
    let long = "x".repeat(65);
    let replaced = echoed(&audited.send(&long, Method::GET, CONFIG_MAPS, &Value::Null).await);
    let made = echoed(&audited.client.get(CONFIG_MAPS).await.unwrap());
    let refused = echoed(&audited.place.anonymous(Protocol::Http2).get(CONFIG_MAPS).await.unwrap());
    assert!(replaced.len() == 36 && made.len() == 36 && made != replaced, "{replaced} {made}");
    let ids = ["my-own-id", &replaced, &made, &refused, &long];
    let counts: Vec<usize> = audited.records(&ids).await.iter().map(Vec::len).collect();
    assert_eq!(counts, [1, 1, 1, 1, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_refused_is_recorded_too() {
    let audited = Audited::start(json!([{"level": "Metadata"}]), &[]).await;
    let wrong = audited.place.anonymous(Protocol::Http2).with_token("wrong");
    send_as(&wrong, "unknown", Method::GET, CONFIG_MAPS, &Value::Null).await.expect(401);
    let nobody = audited.place.anonymous(Protocol::Http2).with_token("nobody");
    send_as(&nobody, "forbidden", Method::GET, CONFIG_MAPS, &Value::Null).await.expect(403);
    for (client, id, code) in [(&nobody, "denied", 403), (&audited.client, "acting", 403)] {
        let head = Request::get(CONFIG_MAPS).header(AUDIT_ID, id).header("Impersonate-User", "alice");
        client.send(head, Bytes::new()).await.unwrap().expect(code);
    }
    let records = audited.records(&["unknown", "forbidden", "denied", "acting"]).await;
    let [[unknown], [forbidden], [denied], [acting]] =
        [0, 1, 2, 3].map(|i| <[Value; 1]>::try_from(records[i].clone()).unwrap());
    assert_eq!(unknown["responseStatus"]["code"], 401);
    assert_eq!(unknown["responseStatus"]["message"], "Authentication failed, attempted: bearer");
    assert_eq!((&unknown["user"], &unknown["stage"]), (&json!({}), &json!("ResponseStarted")));
    assert_eq!((&forbidden["user"]["username"], &forbidden["responseStatus"]["code"]), (&json!("nobody"), &json!(403)));
    assert_eq!(forbidden["annotations"]["authorization.k8s.io/decision"], "forbid");
    assert_eq!((&denied["user"]["username"], &denied["responseStatus"]["code"]), (&json!("nobody"), &json!(403)));
    assert_eq!(denied["impersonatedUser"], Value::Null);
    assert_eq!(acting["user"]["username"], "root");
    assert_eq!(acting["impersonatedUser"]["username"], "alice");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_ignores_liens_leaves_a_trace() {
    const KEY: &str = "apiserver.k8s.io/ignored-liens";
    let audited = Audited::start(json!([{"level": "Metadata"}]), &[]).await;
    for (name, liens) in
        [("a", json!(["x.y/1", "x.y/2"])), ("b", json!(["x.y/3"])), ("c", json!(["x.y/4"])), ("d", json!([]))]
    {
        let object = json!({"metadata": {"name": name, "liens": liens, "labels": {"mine": "yes"}}});
        audited.send("-", Method::POST, CONFIG_MAPS, &object).await.expect(201);
    }
    let ignoring = json!({"ignoreLiens": true});
    let trial = json!({"ignoreLiens": true, "dryRun": ["All"]});
    let (a, d) = (format!("{CONFIG_MAPS}/a"), format!("{CONFIG_MAPS}/d"));
    audited.send("refused", Method::DELETE, &a, &Value::Null).await.expect(409);
    audited.send("trial", Method::DELETE, &a, &trial).await.expect(200);
    audited.send("one", Method::DELETE, &a, &ignoring).await.expect(200);
    audited.send("free", Method::DELETE, &d, &ignoring).await.expect(200);
    audited.send("all", Method::DELETE, &format!("{CONFIG_MAPS}?labelSelector=mine"), &ignoring).await.expect(200);
    let records = audited.records(&["refused", "trial", "one", "free", "all"]).await;
    let notes: Vec<&Value> = records.iter().map(|records| &records[0]["annotations"][KEY]).collect();
    let none = &Value::Null;
    let (one, all) = (json!("default/a: x.y/1, x.y/2"), json!("default/b: x.y/3; default/c: x.y/4"));
    assert_eq!(notes, [none, none, &one, none, &all]);
    assert_eq!(records[2][0]["user"]["username"], "root");
}

/// A namespace that goes takes along what liens hold. Who reads the log learns which liens, and whose deletion it was.
#[tokio::test(flavor = "multi_thread")]
async fn liens_that_a_namespace_takes_along_are_named() {
    let mut audited = Audited::start(json!([{"level": "Metadata"}]), &[]).await;
    let namespace = "/api/v1/namespaces/n";
    audited.send("-", Method::POST, "/api/v1/namespaces", &json!({"metadata": {"name": "n"}})).await.expect(201);
    for (name, liens) in [("held", json!(["x.y/1", "x.y/2"])), ("free", json!([]))] {
        let object = json!({"metadata": {"name": name, "liens": liens}});
        audited.send("-", Method::POST, &format!("{namespace}/configmaps"), &object).await.expect(201);
    }
    audited.send("-", Method::DELETE, namespace, &Value::Null).await.expect(200);
    let client = &audited.client;
    let gone = async || match client.get(namespace).await?.code {
        404 => Ok(()),
        _ => Err("the namespace is still there".into()),
    };
    audited.server.until(gone).await.unwrap();
    let (_, text) = audited.stop().await;
    let all: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let controller = "system:serviceaccount:kube-system:namespace-controller";
    let written: Vec<&Value> = all.iter().filter(|record| record["user"]["username"] == controller).collect();
    assert!(written.len() > 1, "everything that it writes is recorded: {written:?}");
    let is_noted = |record: &&&Value| !record["annotations"]["apiserver.k8s.io/ignored-liens"].is_null();
    let records: Vec<&Value> = written.iter().filter(is_noted).copied().collect();
    let [record] = records.as_slice() else { panic!("one record is expected: {records:?}") };
    let reference = json!({"resource": "configmaps", "namespace": "n", "name": "held", "apiVersion": "v1"});
    assert_eq!((&record["verb"], &record["objectRef"]), (&json!("delete"), &reference));
    assert_eq!(record["annotations"]["apiserver.k8s.io/ignored-liens"], "n/held: x.y/1, x.y/2");
    assert_eq!(record["annotations"]["apiserver.k8s.io/namespace-deleted-by"], "root");
}

/// How many records were lost, as the metrics tell.
async fn lost(client: &Client) -> Result<u64, pawl_testing::Failure> {
    let answer = client.get("/metrics").await?;
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("apiserver_audit_error_total{plugin=\"log\"} "));
    Ok(line.ok_or("there is no such metric")?.parse()?)
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_are_lost_are_counted() {
    let audited = Audited::start(json!([{"level": "Metadata"}]), &[]).await;
    assert_eq!(lost(&audited.client).await.unwrap(), 0);
    audited.stop().await;
    // Every write to this one fails; the last flag of a name counts.
    let mut audited = Audited::start(json!([{"level": "Metadata"}]), &["--audit-log-path=/dev/full"]).await;
    let client = &audited.client;
    let counted = async || match lost(client).await? {
        0 => Err("nothing was lost".into()),
        _ => Ok(()),
    };
    audited.server.until(counted).await.unwrap();
    audited.server.stop().await;
}

/// What a schema that was tightened would refuse, and lets pass since nobody touched it, is named in the log and counted.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_let_pass_is_named() {
    let mut audited = Audited::start(json!([{"level": "Metadata"}]), &[]).await;
    let version = |text: Value| {
        let spec = json!({"type": "object", "properties": {"a": text, "b": {"type": "string"}}});
        let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
        json!([{"name": "v1", "served": true, "storage": true, "schema": schema}])
    };
    let names = json!({"plural": "things", "kind": "Thing"});
    let spec = json!({"group": "example.com", "scope": "Cluster", "names": names, "versions": version(json!({"type": "string"}))});
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let definition = json!({"metadata": {"name": "things.example.com"}, "spec": spec});
    audited.send("0", Method::POST, definitions, &definition).await.expect(201);
    let things = "/apis/example.com/v1/things";
    let Audited { server, client, .. } = &mut audited;
    server.until(async || client.get(things).await?.ok()).await.unwrap();
    let thing = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"a": "x"}});
    client.post(things, &thing).await.unwrap().expect(201);
    let tighter = json!({"spec": {"versions": version(json!({"type": "string", "minLength": 3}))}});
    client.merge(&format!("{definitions}/things.example.com"), &tighter).await.unwrap().expect(200);
    let tried = format!("{things}?dryRun=All");
    let short = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "u"}, "spec": {"a": "x"}});
    let refuses = async || match client.post(&tried, &short).await?.code {
        422 => Ok(()),
        code => Err(format!("{code}").into()),
    };
    server.until(refuses).await.unwrap();
    audited.send("1", Method::PATCH, &format!("{things}/t"), &json!({"spec": {"b": "y"}})).await.expect(200);
    let metrics = audited.client.get("/metrics").await.unwrap().body;
    assert!(String::from_utf8_lossy(&metrics).contains("apiextensions_apiserver_ratcheted_errors_total{"));
    let records = audited.records(&["1"]).await;
    let note = records[0][0]["annotations"]["apiextensions.k8s.io/ratcheted"].as_str().unwrap().to_owned();
    assert!(note.starts_with("spec.a ("), "{note}");
}

/// An owner and what depends on it; the uid of the owner.
async fn family(client: &Client, owner: &str, dependent: &str) {
    let made = client.post(CONFIG_MAPS, &json!({"metadata": {"name": owner}})).await.unwrap().expect(201);
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": made["metadata"]["uid"]});
    let object = json!({"metadata": {"name": dependent, "ownerReferences": [reference]}});
    client.post(CONFIG_MAPS, &object).await.unwrap().expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn controllers_are_clients_like_others() {
    const BINDING: &str =
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/system:controller:generic-garbage-collector";
    const COLLECTOR: &str = "system:serviceaccount:kube-system:generic-garbage-collector";
    let mut audited = Audited::start(json!([rule("Metadata", &["delete"], "configmaps")]), &[]).await;
    let client = audited.place.client(Protocol::Http2);
    let gone = async |name: &str| match client.get(&format!("{CONFIG_MAPS}/{name}")).await?.code {
        404 => Ok(()),
        code => Err(format!("{name}: {code}").into()),
    };
    family(&client, "owner-1", "dependent-1").await;
    client.delete(&format!("{CONFIG_MAPS}/owner-1")).await.unwrap().expect(200);
    audited.server.until(async || gone("dependent-1").await).await.unwrap();
    let binding = client.get(BINDING).await.unwrap().expect(200);
    client.delete(BINDING).await.unwrap().expect(200);
    family(&client, "owner-2", "dependent-2").await;
    client.delete(&format!("{CONFIG_MAPS}/owner-2")).await.unwrap().expect(200);
    let log = audited.place.path("log/audit.log");
    let of = |name: &str, code: u64| -> Option<Value> {
        let text = fs::read_to_string(&log).unwrap();
        let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let wanted = |r: &Value| {
            r["user"]["username"] == COLLECTOR && r["objectRef"]["name"] == name && r["responseStatus"]["code"] == code
        };
        records.into_iter().find(wanted)
    };
    let refused = async || of("dependent-2", 403).map(drop).ok_or("nobody was refused".into());
    audited.server.until(refused).await.unwrap();
    client.get(&format!("{CONFIG_MAPS}/dependent-2")).await.unwrap().expect(200);
    let metadata = json!({"name": binding["metadata"]["name"]});
    let again = json!({"metadata": metadata, "roleRef": binding["roleRef"], "subjects": binding["subjects"]});
    client.post(BINDING.rsplit_once('/').unwrap().0, &again).await.unwrap().expect(201);
    audited.server.until(async || gone("dependent-2").await).await.unwrap();
    let recorded = of("dependent-1", 200).unwrap();
    assert_eq!(recorded["requestURI"], format!("{CONFIG_MAPS}/dependent-1"));
    assert_eq!(recorded["annotations"]["authorization.k8s.io/decision"], "allow");
    assert_eq!(of("dependent-2", 403).unwrap()["annotations"]["authorization.k8s.io/decision"], "forbid");
    audited.stop().await;
}
