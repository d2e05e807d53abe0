//! Every kind over HTTP: the life of the least object of each, and what upstream demands of them.
//!
//! The kinds and what is known of them stand in `facts/every_kind.facts`; nothing here is about one of them.

use std::collections::BTreeSet;

use crate::kinds::{Errors, Kind, Sample, paths, without};
use futures::StreamExt;
use http::Request;
use http::header::CONTENT_TYPE;
use pawl_kinds::builtin;
use pawl_testing::{Answer, Client, Place, Protocol, Server};
use serde_json::{Value, json};

const NAMESPACE: &str = "t";

#[tokio::test(flavor = "multi_thread")]
async fn the_least_object_of_every_kind_lives_and_dies() {
    let (place, server) = start().await;
    let client = place.client(Protocol::Http2);
    for kind in crate::kinds::read() {
        eprintln!("{}", kind.resource.facts.plural);
        crate::kinds::life::live(&client, &kind).await;
    }
    server.assert_no_panic();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_upstream_demands_is_demanded() {
    let (place, server) = start().await;
    let client = place.client(Protocol::Http2);
    let (mut asked, mut refused, mut wrong) = (0, 0, Vec::new());
    for kind in crate::kinds::read() {
        for sample in &kind.samples {
            let answers: Vec<(String, Errors)> = futures::stream::iter(lacking(&kind, sample))
                .map(async |(path, object)| (path, errors(&create_dry(&client, &kind, &object).await)))
                .buffer_unordered(8)
                .collect()
                .await;
            asked += answers.len();
            for (path, is) in answers {
                let should = sample.demands.get(&path).cloned().unwrap_or_default();
                refused += usize::from(should != Errors::default());
                if should != is && should != Errors::Unknown {
                    wrong.push(format!(
                        "{} without {path}\n  is     {is:?}\n  should {should:?}",
                        kind.resource.facts.kind
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ\n{}", wrong.len(), wrong.join("\n"));
    assert!(asked > 2500 && refused > 1200, "{asked} asked, {refused} refused");
    server.assert_no_panic();
}

#[test]
fn every_kind_that_can_be_created_is_in_the_facts() {
    let known: BTreeSet<String> = crate::kinds::read().iter().map(Kind::collection).collect();
    let of = |resource| Kind { resource, least: Value::Null, samples: Vec::new() }.collection();
    let creatable = builtin().iter().filter(|r| r.facts.verbs.iter().any(|verb| verb == "create"));
    // Definitions have verdicts of their own, beside the crate that knows what they mean, and API services elsewhere.
    let asked_here = |r: &&pawl_kinds::Resource| r.facts.refused.is_none() && r.facts.cleanup.is_none();
    let missing: Vec<String> = creatable.filter(asked_here).map(of).filter(|path| !known.contains(path)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// A server set up like the one that was asked for the facts, with the objects that some kinds are about.
async fn start() -> (Place, Server) {
    let mut place = Place::new();
    let server = place
        .start_with(|place| {
            let mut command = place.command();
            command.args(["--disable-admission-plugins=ServiceAccount", "--service-cluster-ip-range=10.0.0.0/24"]);
            // Kinds that wait for a gate are among them; nobody else changes their objects.
            command.args(["--feature-gates=StorageVersionMigrator=true", "--controllers=*,-svm"]);
            command
        })
        .await;
    let client = place.client(Protocol::Http1);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    client.post("/api/v1/namespaces", &namespace).await.unwrap().expect(201);
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    client.post(&format!("/api/v1/namespaces/{NAMESPACE}/pods"), &pod).await.unwrap().expect(201);
    (place, server)
}

/// A sample as it is, and without each of its parts.
fn lacking(kind: &Kind, sample: &Sample) -> Vec<(String, Value)> {
    let mut objects = vec![(String::new(), kind.whole(&sample.object))];
    for path in paths(&sample.object) {
        objects.push((path.to_string(), kind.whole(&without(&sample.object, &path))));
    }
    objects
}

async fn create_dry(client: &Client, kind: &Kind, object: &Value) -> Answer {
    client.post(&format!("{}?dryRun=All&fieldValidation=Strict", kind.collection()), object).await.unwrap()
}

/// What an answer says is wrong.
fn errors(answer: &Answer) -> Errors {
    match answer.code {
        201 => Errors::default(),
        422 => {
            let status = answer.json();
            let text = |cause: &Value, field: &str| cause[field].as_str().unwrap_or_default().to_owned();
            let causes = status["details"]["causes"].as_array().cloned().unwrap_or_default();
            Errors::At(
                causes
                    .iter()
                    .map(|cause| (text(cause, "field"), text(cause, "reason").replace("FieldValue", "")))
                    .collect(),
            )
        }
        code => Errors::Code(code),
    }
}

/// Wherever a body is taken, on whatever path and however it is written, what does not belong into it is refused for who asks
/// for that. A misspelt option of an eviction would otherwise delete the pod.
#[tokio::test(flavor = "multi_thread")]
async fn every_route_that_takes_a_body_looks_at_its_fields() {
    let (place, server) = start().await;
    let client = place.client(Protocol::Http2);
    let (mut routes, mut wrong) = (0, Vec::new());
    for kind in crate::kinds::read() {
        let object = kind.whole(&kind.least);
        let collection = kind.collection();
        let own = format!("{collection}/{}", object["metadata"]["name"].as_str().unwrap_or_default());
        if !kind.resource.facts.is_virtual {
            client.post(&collection, &object).await.unwrap();
        }
        for (path, verb, sends) in writes(&kind, &collection, &own, &object) {
            for (method, content_type, body) in odd_bodies(&verb, &sends) {
                let uri = format!("{path}?fieldValidation=Strict&fieldManager=m");
                let head = Request::builder().method(method).uri(uri).header(CONTENT_TYPE, content_type);
                let answer = client.send(head, body.into()).await.unwrap();
                let told = String::from_utf8_lossy(&answer.body).into_owned();
                routes += 1;
                let twice = told.contains("duplicate field") || told.contains("already set in map");
                if !matches!(answer.code, 400 | 422) || !twice || !told.contains("unknown field") {
                    wrong.push(format!("{verb} {content_type} {path}\n  {} {told}", answer.code));
                }
            }
        }
        if !kind.resource.facts.is_virtual {
            client.delete(&own).await.unwrap();
        }
    }
    assert!(wrong.is_empty(), "{} of {routes}\n{}", wrong.len(), wrong.join("\n"));
    assert!(routes > 500, "{routes}");
    server.assert_no_panic();
}

/// Every way to write to a kind: where, with which verb, and an object of the kind that is sent there.
fn writes(kind: &Kind, collection: &str, own: &str, object: &Value) -> Vec<(String, String, Value)> {
    let mut all = Vec::new();
    let facts = &kind.resource.facts;
    let has = |verbs: &[String], verb: &str| verbs.iter().any(|v| v == verb);
    for verb in ["create", "update", "patch"] {
        if has(&facts.verbs, verb) {
            let path = if verb == "create" { collection } else { own };
            all.push((path.to_owned(), verb.to_owned(), object.clone()));
        }
        for subresource in facts.sub.iter().filter(|s| has(&s.verbs, verb)) {
            let sends = match subresource.name.as_str() {
                "eviction" => json!({"apiVersion": "policy/v1", "kind": "Eviction"}),
                "binding" => json!({"apiVersion": "v1", "kind": "Binding", "target": {"name": "n"}}),
                "token" => json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}),
                "scale" => json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {}}),
                // These are not for us to read.
                "exec" | "attach" | "portforward" | "proxy" => continue,
                _ => object.clone(),
            };
            all.push((format!("{own}/{}", subresource.name), verb.to_owned(), sends));
        }
    }
    all
}

/// An object in every encoding that is text, with a field that nobody knows and one that stands twice.
fn odd_bodies(verb: &str, object: &Value) -> Vec<(&'static str, &'static str, String)> {
    if verb == "patch" {
        let odd = r#"{"zzUnknown":1,"zzUnknown":2}"#;
        let listed = r#"[{"op":"add","path":"/zzUnknown","value":1,"value":2}]"#;
        return vec![
            ("PATCH", "application/merge-patch+json", odd.to_owned()),
            ("PATCH", "application/strategic-merge-patch+json", odd.to_owned()),
            ("PATCH", "application/json-patch+json", listed.to_owned()),
        ];
    }
    let method = if verb == "create" { "POST" } else { "PUT" };
    let text = object.to_string();
    let odd = format!("{{\"zzUnknown\":1,\"kind\":{},{}", object["kind"], text.strip_prefix('{').unwrap());
    vec![(method, "application/json", odd.clone()), (method, "application/yaml", odd)]
}
