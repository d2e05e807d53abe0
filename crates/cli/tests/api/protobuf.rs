//! Requests and answers in protobuf, made and read by the types of the crate `k8s-pb`.

use crate::messages::{PROTOBUF, agree, reading};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request};
use k8s_pb::api::{authentication, authorization, autoscaling, core, policy};
use k8s_pb::apimachinery::pkg::apis::meta;
use pawl_protobuf::{open, seal};
use pawl_testing::{Answer, Client, Running};
use prost::Message;
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "/api/v1/namespaces/n/configmaps";
const JSON: &str = "application/json";
const METADATA: &str = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

async fn start() -> Running {
    let running = Running::start(&["--disable-admission-plugins=ServiceAccount"], &[]).await;
    let object = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
    running.admin.post(CONFIG_MAPS, &object).await.unwrap().expect(201);
    running
}

/// Sends a message of a kind, and wants the answer in protobuf.
async fn send(client: &Client, method: Method, path: &str, kind: (&str, &str), message: &impl Message) -> Answer {
    let head = Request::builder().method(method).uri(path).header(CONTENT_TYPE, PROTOBUF).header(ACCEPT, PROTOBUF);
    client.send(head, seal(kind.0, kind.1, &message.encode_to_vec()).into()).await.unwrap()
}

async fn get(client: &Client, path: &str, accept: &str) -> Answer {
    client.send(Request::get(path).header(ACCEPT, accept), Bytes::new()).await.unwrap()
}

fn media(answer: &Answer) -> &str {
    answer.headers[CONTENT_TYPE].to_str().unwrap()
}

/// The message of an answer that has this code and is in protobuf.
#[track_caller]
fn message<T: Message + Default>(answer: &Answer, code: u16) -> T {
    let text = String::from_utf8_lossy(&answer.body);
    assert_eq!((answer.code, media(answer)), (code, PROTOBUF), "{text}");
    reading(&answer.body);
    T::decode(open(&answer.body).unwrap().raw).unwrap()
}

#[track_caller]
fn check_status(answer: &Answer, code: u16, reason: &str) {
    let status: meta::v1::Status = message(answer, code);
    assert_eq!(open(&answer.body).unwrap().kind, "Status");
    assert_eq!((status.code(), status.reason()), (i32::from(code), reason), "{status:?}");
    assert!(!status.message().is_empty());
}

fn named(name: &str) -> Option<meta::v1::ObjectMeta> {
    Some(meta::v1::ObjectMeta { name: Some(name.to_owned()), ..Default::default() })
}

fn config_map(name: &str) -> core::v1::ConfigMap {
    let data = [("k".to_owned(), "v".to_owned())].into();
    core::v1::ConfigMap { metadata: named(name), data, ..Default::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors() {
    let running = start().await;
    let client = &running.admin;
    let create = async |name| send(client, Method::POST, CONFIG_MAPS, ("v1", "ConfigMap"), &config_map(name)).await;
    check_status(&create("a").await, 409, "AlreadyExists");
    check_status(&create("A_").await, 422, "Invalid");
    check_status(&crate::messages::get(client, "/api/v1/namespaces/n/configmaps/none").await.unwrap(), 404, "NotFound");
    check_status(&crate::messages::get(client, "/version").await.unwrap(), 406, "NotAcceptable");
    let other = send(client, Method::POST, CONFIG_MAPS, ("v1", "Secret"), &config_map("b")).await;
    check_status(&other, 400, "BadRequest");
    let head = Request::post(CONFIG_MAPS).header(CONTENT_TYPE, PROTOBUF).header(ACCEPT, PROTOBUF);
    check_status(&client.send(head, Bytes::from_static(b"no prefix")).await.unwrap(), 400, "BadRequest");
    // Who named protobuf only for a form of objects reads errors in JSON.
    let answer = get(client, &format!("{CONFIG_MAPS}/none"), &format!("{PROTOBUF};{METADATA}")).await;
    assert_eq!(media(&answer), JSON);
    assert_eq!(answer.expect(404)["reason"], "NotFound");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deletions_take_their_options() {
    let running = start().await;
    let client = &running.admin;
    let path = format!("{CONFIG_MAPS}/a");
    let delete = async |path: &str, options: meta::v1::DeleteOptions| {
        send(client, Method::DELETE, path, ("v1", "DeleteOptions"), &options).await
    };
    let dry = || meta::v1::DeleteOptions { dry_run: vec!["All".to_owned()], ..Default::default() };
    let status: meta::v1::Status = message(&delete(&path, dry()).await, 200);
    assert_eq!((status.status(), status.details.as_ref().unwrap().name()), ("Success", "a"));
    let list: core::v1::ConfigMapList = message(&delete(CONFIG_MAPS, dry()).await, 200);
    assert!(list.items.iter().any(|item| item.metadata.as_ref().unwrap().name() == "a"));
    let preconditions = Some(meta::v1::Preconditions { uid: Some("another".to_owned()), ..Default::default() });
    let options = meta::v1::DeleteOptions { preconditions, ..Default::default() };
    check_status(&delete(&path, options).await, 409, "Conflict");
    let policy = meta::v1::DeleteOptions { propagation_policy: Some("Whatever".to_owned()), ..Default::default() };
    check_status(&delete(&path, policy).await, 422, "Invalid");
    // None of these has deleted anything.
    client.get(&path).await.unwrap().expect(200);
    message::<meta::v1::Status>(&delete(&path, meta::v1::DeleteOptions::default()).await, 200);
    client.get(&path).await.unwrap().expect(404);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reviews_and_tokens() {
    let running = start().await;
    let client = &running.admin;
    let resource_attributes = Some(authorization::v1::ResourceAttributes {
        verb: Some("get".to_owned()),
        resource: Some("pods".to_owned()),
        ..Default::default()
    });
    for (user, group, allowed) in [("bob", "nobody", false), ("root", "system:masters", true)] {
        let spec = authorization::v1::SubjectAccessReviewSpec {
            resource_attributes: resource_attributes.clone(),
            user: Some(user.to_owned()),
            groups: vec![group.to_owned()],
            ..Default::default()
        };
        let review = authorization::v1::SubjectAccessReview { spec: Some(spec), ..Default::default() };
        let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        let kind = ("authorization.k8s.io/v1", "SubjectAccessReview");
        let answer = send(client, Method::POST, path, kind, &review).await;
        let answered: authorization::v1::SubjectAccessReview = message(&answer, 201);
        assert_eq!(answered.status.unwrap().allowed(), allowed, "{user}");
        assert_eq!(answered.spec, review.spec.map(filled));
    }

    client.post("/api/v1/namespaces/n/serviceaccounts", &json!({"metadata": {"name": "s"}})).await.unwrap().expect(201);
    let path = "/api/v1/namespaces/n/serviceaccounts/s/token";
    let kind = ("authentication.k8s.io/v1", "TokenRequest");
    let request = |seconds| authentication::v1::TokenRequest {
        spec: Some(authentication::v1::TokenRequestSpec { expiration_seconds: Some(seconds), ..Default::default() }),
        ..Default::default()
    };
    let answer = send(client, Method::POST, path, kind, &request(3600)).await;
    let issued: authentication::v1::TokenRequest = message(&answer, 201);
    let token = issued.status.unwrap().token().to_owned();
    let spec = authentication::v1::TokenReviewSpec { token: Some(token), ..Default::default() };
    let review = authentication::v1::TokenReview { spec: Some(spec), ..Default::default() };
    let path_of_reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    let kind_of_reviews = ("authentication.k8s.io/v1", "TokenReview");
    let answer = send(client, Method::POST, path_of_reviews, kind_of_reviews, &review).await;
    let reviewed: authentication::v1::TokenReview = message(&answer, 201);
    assert_eq!(reviewed.status.unwrap().user.unwrap().username(), "system:serviceaccount:n:s");
    check_status(&send(client, Method::POST, path, kind, &request(3)).await, 422, "Invalid");
    running.stop().await;
}

/// What is always written by Go, and may be left out by others.
fn filled(mut spec: authorization::v1::SubjectAccessReviewSpec) -> authorization::v1::SubjectAccessReviewSpec {
    let attributes = spec.resource_attributes.as_mut().unwrap();
    for field in [
        &mut attributes.namespace,
        &mut attributes.group,
        &mut attributes.version,
        &mut attributes.subresource,
        &mut attributes.name,
        &mut spec.uid,
    ] {
        field.get_or_insert_default();
    }
    spec
}

#[tokio::test(flavor = "multi_thread")]
async fn bindings_evictions_and_scales() {
    let running = start().await;
    let client = &running.admin;
    let pods = "/api/v1/namespaces/n/pods";
    let template = json!({"containers": [{"name": "c", "image": "i"}]});
    client.post(pods, &json!({"metadata": {"name": "p"}, "spec": template})).await.unwrap().expect(201);
    let target =
        core::v1::ObjectReference { kind: Some("Node".to_owned()), name: Some("one".to_owned()), ..Default::default() };
    let binding = core::v1::Binding { metadata: named("p"), target: Some(target) };
    let bind = async || send(client, Method::POST, &format!("{pods}/p/binding"), ("v1", "Binding"), &binding).await;
    let bound: meta::v1::Status = message(&bind().await, 201);
    assert_eq!((bound.status(), bound.code()), ("Success", 201));
    assert_eq!(client.get(&format!("{pods}/p")).await.unwrap().expect(200)["spec"]["nodeName"], "one");
    check_status(&bind().await, 409, "Conflict");

    let eviction = policy::v1::Eviction {
        metadata: named("p"),
        delete_options: Some(meta::v1::DeleteOptions { grace_period_seconds: Some(0), ..Default::default() }),
    };
    let path = format!("{pods}/p/eviction");
    let evicted: meta::v1::Status =
        message(&send(client, Method::POST, &path, ("policy/v1", "Eviction"), &eviction).await, 201);
    assert_eq!(evicted.status(), "Success");
    client.get(&format!("{pods}/p")).await.unwrap().expect(404);

    let deployments = "/apis/apps/v1/namespaces/n/deployments";
    let pod = json!({"metadata": {"labels": {"a": "b"}}, "spec": template});
    let deployment =
        json!({"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": pod}});
    client.post(deployments, &deployment).await.unwrap().expect(201);
    let path = format!("{deployments}/d/scale");
    let mut scale: autoscaling::v1::Scale = message(&crate::messages::get(client, &path).await.unwrap(), 200);
    assert_eq!(scale.status.as_ref().unwrap().selector(), "a=b");
    scale.spec = Some(autoscaling::v1::ScaleSpec { replicas: Some(3) });
    let answer = send(client, Method::PUT, &path, ("autoscaling/v1", "Scale"), &scale).await;
    assert_eq!(message::<autoscaling::v1::Scale>(&answer, 200).spec, scale.spec);
    assert_eq!(client.get(&format!("{deployments}/d")).await.unwrap().expect(200)["spec"]["replicas"], 3);
    let partial = get(client, &path, &format!("{PROTOBUF};{METADATA}")).await;
    let metadata = message::<meta::v1::PartialObjectMetadata>(&partial, 200).metadata.unwrap();
    assert_eq!((metadata.name(), open(&partial.body).unwrap().kind), ("d", "PartialObjectMetadata"));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_alone() {
    let running = start().await;
    let client = &running.admin;
    let whole: core::v1::ConfigMap = message(&get(client, &format!("{CONFIG_MAPS}/a"), PROTOBUF).await, 200);
    for version in ["v1", "v1beta1"] {
        let form = |kind| format!("{PROTOBUF};as={kind};g=meta.k8s.io;v={version}");
        let answer = get(client, &format!("{CONFIG_MAPS}/a"), &form("PartialObjectMetadata")).await;
        let object: meta::v1::PartialObjectMetadata = message(&answer, 200);
        assert_eq!(object.metadata, whole.metadata, "{version}");
        assert_eq!(open(&answer.body).unwrap().api_version, format!("meta.k8s.io/{version}"));
        let answer = get(client, CONFIG_MAPS, &form("PartialObjectMetadataList")).await;
        let envelope = open(&answer.body).unwrap();
        let version_and_kind = (format!("meta.k8s.io/{version}"), "PartialObjectMetadataList");
        assert_eq!((envelope.api_version.to_owned(), envelope.kind), version_and_kind);
        let (metadata, items) = match version {
            "v1" => {
                let list = meta::v1::PartialObjectMetadataList::decode(envelope.raw).unwrap();
                (list.metadata, list.items)
            }
            _ => {
                let list = meta::v1beta1::PartialObjectMetadataList::decode(envelope.raw).unwrap();
                (list.metadata, list.items)
            }
        };
        assert!(!metadata.unwrap().resource_version().is_empty(), "{version}");
        assert!(items.iter().any(|item| item.metadata == whole.metadata), "{version}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_accepted_decides() {
    let running = start().await;
    let client = &running.admin;
    let table = "as=Table;g=meta.k8s.io;v=v1";
    let path = format!("{CONFIG_MAPS}/a");
    for (accept, expected) in [
        (format!("{JSON};q=0.3,{PROTOBUF};q=0.9"), PROTOBUF),
        (format!("{PROTOBUF};q=0.3,{JSON};q=0.9"), JSON),
        (format!("text/html,{PROTOBUF};q=0.1"), PROTOBUF),
        (format!("{PROTOBUF},{JSON}"), PROTOBUF),
        (format!("{JSON},{PROTOBUF}"), JSON),
        (format!("*/*,{PROTOBUF}"), PROTOBUF),
        (format!("{PROTOBUF};{table},{JSON};{table},{JSON}"), JSON),
        (format!("{PROTOBUF};{table},{PROTOBUF}"), PROTOBUF),
    ] {
        let answer = get(client, &path, &accept).await;
        assert_eq!((answer.code, media(&answer)), (200, expected), "{accept}");
    }
    for path in [&path, CONFIG_MAPS, &format!("{CONFIG_MAPS}?watch=true&timeoutSeconds=1")] {
        let answer = get(client, path, &format!("{PROTOBUF};{table}")).await;
        assert_eq!(answer.expect(406)["reason"], "NotAcceptable", "{path}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn patches_are_answered() {
    let running = start().await;
    let client = &running.admin;
    for (content_type, patch) in [
        ("application/merge-patch+json", r#"{"data":{"a":"1"}}"#),
        ("application/strategic-merge-patch+json", r#"{"data":{"b":"1"}}"#),
        ("application/json-patch+json", r#"[{"op":"add","path":"/data/c","value":"1"}]"#),
        ("application/apply-patch+yaml", "{apiVersion: v1, kind: ConfigMap, data: {d: '1'}}"),
    ] {
        let path = format!("{CONFIG_MAPS}/a?fieldManager=m");
        let head = Request::patch(&path).header(CONTENT_TYPE, content_type).header(ACCEPT, PROTOBUF);
        let answer = client.send(head, Bytes::from(patch)).await.unwrap();
        message::<core::v1::ConfigMap>(&answer, 200);
        agree(content_type, &client.get(&format!("{CONFIG_MAPS}/a")).await.unwrap().expect(200), &answer.body);
    }
    let data = message::<core::v1::ConfigMap>(&get(client, &format!("{CONFIG_MAPS}/a"), PROTOBUF).await, 200).data;
    assert_eq!(data.keys().collect::<Vec<_>>(), ["a", "b", "c", "d", "k"]);
    let answer = send(client, Method::PATCH, &format!("{CONFIG_MAPS}/a"), ("v1", "ConfigMap"), &config_map("a")).await;
    check_status(&answer, 415, "UnsupportedMediaType");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_fields_are_warnings_even_when_strict() {
    let running = start().await;
    let client = &running.admin;
    // Field 77 with the text "x", at the top and in the metadata.
    let unknown = [0xea, 0x04, 0x01, b'x'];
    let metadata = [named("b").unwrap().encode_to_vec(), unknown.to_vec()].concat();
    let length = u8::try_from(metadata.len()).unwrap();
    let raw = [&[0x0a, length][..], &metadata, &unknown].concat();
    for validation in ["Strict", "Warn", "Ignore"] {
        let path = format!("{CONFIG_MAPS}?dryRun=All&fieldValidation={validation}");
        let head = Request::post(path).header(CONTENT_TYPE, PROTOBUF).header(ACCEPT, PROTOBUF);
        let answer = client.send(head, seal("v1", "ConfigMap", &raw).into()).await.unwrap();
        message::<core::v1::ConfigMap>(&answer, 201);
        let expected = match validation {
            "Ignore" => vec![],
            _ => vec!["299 - \"metadata: unknown protobuf field 77\"", "299 - \"unknown protobuf field 77\""],
        };
        assert_eq!(answer.warnings(), expected, "{validation}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn aggregated_discovery() {
    const FORM: &str = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let running = start().await;
    let client = &running.admin;
    for path in ["/api", "/apis"] {
        let json = get(client, path, &format!("{JSON};{FORM}")).await;
        let answer = get(client, path, &format!("{PROTOBUF};{FORM},{JSON};{FORM},{JSON}")).await;
        assert_eq!((answer.code, media(&answer)), (200, &*format!("{PROTOBUF};{FORM}")), "{path}");
        let expected: Value = json.expect(200);
        assert_eq!(expected["kind"], "APIGroupDiscoveryList");
        agree(path, &expected, &answer.body);
        // Each form has a tag of its own, and who has it is told so.
        assert_ne!(answer.headers["etag"], json.headers["etag"]);
        let head = Request::get(path).header(ACCEPT, format!("{PROTOBUF};{FORM}"));
        let again = client.send(head.header("if-none-match", &answer.headers["etag"]), Bytes::new()).await.unwrap();
        assert_eq!((again.code, again.body.len()), (304, 0));
    }
    running.stop().await;
}
