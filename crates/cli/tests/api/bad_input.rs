//! Whatever a client sends: a clear `Status` or a closed connection, never a panic, and nothing of it is stored.

use std::time::{Duration, Instant};

use bytes::Bytes;
use fastrand::Rng;
use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE};
use pawl_testing::{Client, DEADLINE, Place, Protocol, Server, seed, setting};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

const CONFIG_MAPS: &str = "/api/v1/namespaces/bad/configmaps";
const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// Starts a server with an empty namespace.
async fn start() -> (Place, Server, Client) {
    let mut place = Place::new();
    let server = place.start().await;
    let client = place.client(Protocol::Http2);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bad"}});
    client.post("/api/v1/namespaces", &namespace).await.unwrap().expect(201);
    (place, server, client)
}

/// The server still answers, nothing was stored, and nothing panicked.
async fn finish(place: &Place, server: Server) {
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let list = place.client(protocol).get(CONFIG_MAPS).await.unwrap().expect(200);
        let names: Vec<&Value> = list["items"].as_array().unwrap().iter().map(|o| &o["metadata"]["name"]).collect();
        // The one that controllers put into every namespace is not ours.
        assert!(names.iter().all(|name| **name == "kube-root-ca.crt"), "{names:?}");
    }
    server.assert_no_panic();
    server.stop().await;
}

/// Checks that an answer is a `Status` with this code and reason.
#[track_caller]
fn check_status(what: &str, answer: &pawl_testing::Answer, code: u16, reason: &str) {
    let text = String::from_utf8_lossy(&answer.body[..answer.body.len().min(1000)]);
    assert_eq!(answer.code, code, "{what}: {text}");
    let status = answer.json();
    assert_eq!((&status["kind"], &status["status"]), (&json!("Status"), &json!("Failure")), "{what}: {text}");
    assert_eq!(status["code"], code, "{what}: {text}");
    assert_eq!(status["reason"].as_str().unwrap_or_default(), reason, "{what}: {text}");
    assert!(status["message"].as_str().is_some_and(|m| !m.is_empty() && m.len() < 20_000), "{what}: {text}");
}

async fn check_body(client: &Client, content_type: &str, what: &str, body: impl Into<Bytes>, code: u16, reason: &str) {
    let head = Request::post(CONFIG_MAPS).header(CONTENT_TYPE, content_type);
    let answer = client.send(head, body.into()).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    check_status(what, &answer, code, reason);
}

#[tokio::test(flavor = "multi_thread")]
async fn json_that_is_no_object() {
    let (place, server, client) = start().await;
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(200_000), close.repeat(200_000));
    let with_data = |data: &str| format!(r#"{{"metadata":{{"name":"x"}},"data":{data}}}"#);
    for (what, body) in [
        ("empty", String::new()),
        ("truncated in a string", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"na"#.to_owned()),
        ("truncated before the end", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}"#.to_owned()),
        ("an array", "[]".to_owned()),
        ("a number", "5".to_owned()),
        ("a string", r#""x""#.to_owned()),
        ("not JSON", "<html></html>".to_owned()),
        ("two documents", r#"{"metadata":{"name":"x"}} {"metadata":{"name":"y"}}"#.to_owned()),
        ("another kind", r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}"#.to_owned()),
        ("another version", r#"{"apiVersion":"v9","kind":"ConfigMap","metadata":{"name":"x"}}"#.to_owned()),
        ("a kind that is no string", r#"{"apiVersion":"v1","kind":7,"metadata":{"name":"x"}}"#.to_owned()),
        ("metadata that is no map", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":"x"}"#.to_owned()),
        ("data that is no map", with_data("5")),
        ("a value that is no string", with_data(r#"{"a":1e999999}"#)),
        ("a number without an end", with_data(&format!(r#"{{"a":{}}}"#, "9".repeat(100_000)))),
        ("a control character", with_data("{\"a\":\"\u{1}\"}")),
        ("an open escape", with_data(r#"{"a":"\u12"}"#)),
        ("deep arrays without an end", "[".repeat(1_000_000)),
        ("deep maps without an end", r#"{"a":"#.repeat(300_000)),
        ("deep arrays", with_data(&deep("[", "]"))),
        ("deep maps in a field", with_data(&format!("{}1{}", r#"{"a":"#.repeat(200_000), "}".repeat(200_000)))),
    ] {
        check_body(&client, JSON, what, body, 400, "BadRequest").await;
    }
    let named = |name: &[u8]| [br#"{"metadata":{"name":""#, name, br#""}}"#].concat();
    for (what, name) in [("bytes that are no text", &b"\xff\xfe"[..]), ("half a surrogate", br"\ud800")] {
        check_body(&client, JSON, what, named(name), 400, "BadRequest").await;
    }
    check_body(&client, JSON, "zero", named(br"\u0000"), 422, "Invalid").await;
    // What nobody knows is skipped or refused, however deep it is.
    let nobody = format!(r#"{{"metadata":{{"name":"x"}},"nobody":{}}}"#, deep("[", "]"));
    let answer = client.send(Request::post(format!("{CONFIG_MAPS}?dryRun=All")), nobody.into()).await.unwrap();
    assert!(matches!(answer.code, 201 | 400), "{answer:?}");
    let large = json!({"metadata": {"name": "x"}, "data": {"a": "x".repeat(2 << 20)}});
    check_body(&client, JSON, "more data than an object may have", large.to_string(), 422, "Invalid").await;
    finish(&place, server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_past_the_limit() {
    let (place, server, client) = start().await;
    let limit = 3 << 20;
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = place.client(protocol);
        for (what, size) in [("one more than the limit", limit + 1), ("three times the limit", 3 * limit)] {
            for media in [JSON, YAML, PROTOBUF] {
                check_body(&client, media, what, vec![b' '; size], 413, "RequestEntityTooLarge").await;
            }
        }
        let head = Request::post(CONFIG_MAPS).header(CONTENT_TYPE, JSON);
        // Who sends far more may find the connection closed before the answer can be read.
        if let Ok(answer) = client.send(head, vec![b' '; 10 * limit].into()).await {
            check_status("ten times the limit", &answer, 413, "RequestEntityTooLarge");
        }
    }
    // White space up to the limit is no object, but read to its end.
    check_body(&client, JSON, "the limit", vec![b' '; limit], 400, "BadRequest").await;
    finish(&place, server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_nobody_reads_do_not_cost_the_answer() {
    let (place, server, _) = start().await;
    let body = Bytes::from(vec![b' '; 200 << 10]);
    let known = place.client(Protocol::Http1);
    let unknown = place.client(Protocol::Http1).with_token("nobody");
    for _ in 0..20 {
        let ask = || Request::post("/apis/nope.example.com/v1/things").header(CONTENT_TYPE, JSON);
        assert_eq!(known.send(ask(), body.clone()).await.unwrap().code, 404);
        assert_eq!(unknown.send(ask(), body.clone()).await.unwrap().code, 401);
    }
    finish(&place, server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_of_what_is_not_there_yet() {
    let (place, server, client) = start().await;
    let map = |data: &Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "7"}, "data": data});
    let dry = format!("{CONFIG_MAPS}?dryRun=All");
    let answer = client.post(&dry, &map(&json!({}))).await.unwrap().expect(201);
    assert_eq!(answer["metadata"]["resourceVersion"], "7");
    client.post(CONFIG_MAPS, &map(&json!({}))).await.unwrap().expect(500);
    client.post(CONFIG_MAPS, &map(&json!({"/": ""}))).await.unwrap().expect(422);
    finish(&place, server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn yaml_that_is_no_object() {
    let (place, server, client) = start().await;
    let laughs: String =
        (1..30).map(|i| format!("k{i}: &a{i} [{}]\n", vec![format!("*a{}", i - 1); 10].join(", "))).collect();
    let object = "metadata: {name: x}\n";
    for (what, body) in [
        ("truncated", "metadata: {name: [".to_owned()),
        ("tabs", "metadata:\n\tname: x\n".to_owned()),
        ("an array", "- a\n- b\n".to_owned()),
        ("a string", "hello".to_owned()),
        ("an unknown anchor", format!("{object}data: *nothing\n")),
        ("an anchor within itself", format!("{object}data: &a {{a: *a}}\n")),
        ("an alias bomb", format!("{object}k0: &a0 laugh\n{laughs}data: *a29\n")),
        ("an alias bomb of merges", {
            let merges: String =
                (1..40).map(|i| format!("m{i}: &m{i} {{<<: [*m{0}, *m{0}], k{i}: v}}\n", i - 1)).collect();
            format!("{object}m0: &m0 {{a: b}}\n{merges}data: [*m39]\n")
        }),
        ("deep arrays", format!("{object}data: {}{}\n", "[".repeat(100_000), "]".repeat(100_000))),
        ("deep arrays without an end", "[".repeat(500_000)),
        ("deep maps", format!("{object}data: {}\n", "{a: ".repeat(100_000))),
        ("deep blocks", (0..1500).map(|i| format!("{}a:\n", " ".repeat(i))).collect()),
        ("deep sequences", format!("{object}data:\n{}x\n", "- ".repeat(100_000))),
        ("another kind", "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n".to_owned()),
        ("data that is no map", format!("{object}data: 5\n")),
        ("a directive nobody knows", "%YAML 9.9\n---\n- a\n".to_owned()),
        ("a string without an end", format!("{object}data: {{a: \"")),
    ] {
        check_body(&client, YAML, what, body, 400, "BadRequest").await;
    }
    // Nothing is null, and null is an object without a name.
    check_body(&client, YAML, "empty", "", 422, "Invalid").await;
    check_body(&client, YAML, "bytes that are no text", &b"metadata: {name: \xff\xfe}\n"[..], 400, "BadRequest").await;
    finish(&place, server).await;
}

/// One field of a message, whose content is short.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(content.len()).unwrap()], content].concat()
}

/// A ConfigMap named `x` as clients send it.
fn protobuf() -> Vec<u8> {
    let kind = [field(1, b"v1"), field(2, b"ConfigMap")].concat();
    let object = field(1, &field(1, b"x"));
    [b"k8s\0".to_vec(), field(1, &kind), field(2, &object)].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn protobuf_that_is_no_object() {
    let (place, server, client) = start().await;
    let good = protobuf();
    let dry = Request::post(format!("{CONFIG_MAPS}?dryRun=All")).header(CONTENT_TYPE, PROTOBUF);
    client.send(dry, good.clone().into()).await.unwrap().expect(201);
    let envelope = |raw: &[u8]| {
        let kind = [field(1, b"v1"), field(2, b"ConfigMap")].concat();
        [b"k8s\0".to_vec(), field(1, &kind), field(2, raw)].concat()
    };
    for (what, body) in [
        ("empty", Vec::new()),
        ("JSON", br#"{"metadata":{"name":"x"}}"#.to_vec()),
        ("the magic number alone", b"k8s\0".to_vec()),
        ("half a magic number", b"k8".to_vec()),
        ("truncated", good[..good.len() - 1].to_vec()),
        ("truncated in the envelope", good[..8].to_vec()),
        ("a length past the end", envelope(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f])),
        ("a number that does not end", envelope(&[0xff; 40])),
        ("a wire type nobody knows", envelope(&[0x0f, 0x01])),
        ("an end without its group", envelope(&[0x0c])),
        ("groups in groups", envelope(&[0x0b; 100])),
        ("field number zero", envelope(&[0x02, 0x00])),
        ("a name that is no text", envelope(&field(1, &field(1, b"\xff\xfe")))),
        ("another kind", [b"k8s\0".to_vec(), field(1, &[field(1, b"v1"), field(2, b"Secret")].concat())].concat()),
        ("noise", (0..=255).rev().cycle().take(5000).collect()),
    ] {
        check_body(&client, PROTOBUF, what, body, 400, "BadRequest").await;
    }
    finish(&place, server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn media_types_that_are_not_known() {
    let (place, server, client) = start().await;
    let body = r#"{"metadata":{"name":"x"}}"#;
    for media in ["text/plain", "application/x-www-form-urlencoded", "application/cbor", "json", "/", ";;;"] {
        check_body(&client, media, media, body, 415, "UnsupportedMediaType").await;
    }
    for media in ["application/json", "text/plain", "application/json-patch+json2"] {
        let head = Request::patch(format!("{CONFIG_MAPS}/x")).header(CONTENT_TYPE, media);
        let answer = client.send(head, body.into()).await.unwrap();
        check_status(media, &answer, 415, "UnsupportedMediaType");
    }
    for accept in ["text/html", "application/json;as=Nothing;v=v1;g=meta.k8s.io", "*/*;q=0"] {
        let answer = client.send(Request::get(CONFIG_MAPS).header(ACCEPT, accept), Bytes::new()).await.unwrap();
        check_status(accept, &answer, 406, "NotAcceptable");
    }
    finish(&place, server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_and_paths_that_make_no_sense() {
    let (place, server, client) = start().await;
    for (query, code, reason) in [
        ("limit=abc", 400, "BadRequest"),
        ("limit=99999999999999999999", 400, "BadRequest"),
        ("timeoutSeconds=x", 400, "BadRequest"),
        ("resourceVersion=abc", 400, "BadRequest"),
        ("resourceVersion=-1", 400, "BadRequest"),
        ("resourceVersionMatch=Exact", 422, "Invalid"),
        ("resourceVersionMatch=Bogus&resourceVersion=1", 422, "Invalid"),
        ("resourceVersionMatch=Exact&resourceVersion=0", 422, "Invalid"),
        ("sendInitialEvents=true", 422, "Invalid"),
        ("watch=1&resourceVersionMatch=Exact", 422, "Invalid"),
        ("watch=1&resourceVersion=abc", 500, ""),
        ("continue=garbage", 400, "BadRequest"),
        ("continue=%00%ff", 400, "BadRequest"),
        ("labelSelector=a%20in%20(", 400, "BadRequest"),
        ("labelSelector=%21%21%21", 400, "BadRequest"),
        ("fieldSelector=nope%3D1", 400, "BadRequest"),
        ("fieldSelector=%3D%3D%3D", 400, "BadRequest"),
    ] {
        let answer = client.get(&format!("{CONFIG_MAPS}?{query}")).await.unwrap();
        check_status(query, &answer, code, reason);
    }
    let long = "x".repeat(200);
    for (query, code, reason) in [
        ("dryRun=banana", 422, "Invalid"),
        ("fieldValidation=Bogus", 422, "Invalid"),
        (&*format!("fieldManager={long}"), 422, "Invalid"),
        ("fieldManager=%00", 422, "Invalid"),
    ] {
        let answer = client.post(&format!("{CONFIG_MAPS}?{query}"), &json!({"metadata": {"name": "x"}})).await.unwrap();
        check_status(query, &answer, code, reason);
    }
    for (query, code, reason) in [
        ("gracePeriodSeconds=x", 400, "BadRequest"),
        ("propagationPolicy=Whatever", 422, "Invalid"),
        ("dryRun=banana", 422, "Invalid"),
    ] {
        let answer = client.delete(&format!("{CONFIG_MAPS}?{query}")).await.unwrap();
        check_status(query, &answer, code, reason);
    }
    for name in ["", "..", "a/b", "a%b", "A", "x".repeat(300).as_str(), "é"] {
        let answer = client.post(CONFIG_MAPS, &json!({"metadata": {"name": name}})).await.unwrap();
        check_status(name, &answer, 422, "Invalid");
    }
    for path in ["%00", "%ff%fe", "..", "%2e%2e%2f%2e%2e", "%zz", &"x".repeat(20_000), "a%2Fb", "%25"] {
        let answer = client.get(&format!("{CONFIG_MAPS}/{path}")).await.unwrap();
        assert!(matches!(answer.code, 400 | 404), "{path}: {answer:?}");
    }
    for path in ["/", "//", "/api//v1", "/api/v1/namespaces//configmaps", "/apis/%00/v1/x", "/%", "/.well-known/x"] {
        let answer = client.get(path).await.unwrap();
        assert!(answer.code < 500, "{path}: {answer:?}");
    }
    finish(&place, server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_with_a_few_wrong_bytes() {
    let (place, server, client) = start().await;
    let mut rng = Rng::with_seed(seed());
    let json =
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","labels":{"a":"b"}},"data":{"k":"é\n\u00e9"}}"#;
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: &m\n  name: x\n  labels: {a: \"b\", <<: {c: 0o7}}\ndata:\n  k: |\n    text\n";
    let started = Instant::now();
    let soak = Duration::from_secs(setting("PAWL_SOAK_SECONDS").unwrap_or(0));
    let mut tried = 0;
    while tried < 300 || started.elapsed() < soak {
        for (media, good) in [(JSON, json.as_bytes()), (YAML, yaml.as_bytes()), (PROTOBUF, &protobuf())] {
            let body = damaged(&mut rng, good);
            let head = Request::post(format!("{CONFIG_MAPS}?dryRun=All")).header(CONTENT_TYPE, media);
            let answer = client.send(head, body.clone().into()).await;
            let answer = answer.unwrap_or_else(|error| panic!("{media} {body:?}: {error}"));
            assert!(matches!(answer.code, 201 | 400 | 422), "{media} {body:?}: {answer:?}");
            answer.json();
            tried += 1;
        }
    }
    finish(&place, server).await;
}

/// Some bytes changed, put in, left out or doubled.
fn damaged(rng: &mut Rng, good: &[u8]) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for _ in 0..rng.usize(1..6) {
        let at = rng.usize(..bytes.len().max(1)).min(bytes.len().saturating_sub(1));
        match rng.u8(..4) {
            0 if !bytes.is_empty() => bytes[at] = rng.u8(..),
            1 => bytes.insert(at, rng.u8(..)),
            2 if !bytes.is_empty() => drop(bytes.remove(at)),
            _ => {
                let piece = bytes[at..].to_vec();
                bytes.extend(piece.iter().take(rng.usize(..40)));
            }
        }
    }
    bytes
}

/// Sends bytes and reads what comes until the server closes.
async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, bytes: &[u8]) -> Vec<u8> {
    // The server may close before everything is sent: that is an answer too.
    let _ = stream.write_all(bytes).await;
    let _ = stream.shutdown().await;
    let mut answer = Vec::new();
    let closed = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut answer)).await;
    assert!(closed.is_ok(), "the server keeps a connection open after {:?}", &bytes[..bytes.len().min(100)]);
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_tls() {
    let (place, server, client) = start().await;
    let mut rng = Rng::with_seed(seed());
    let noise: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(10_000).collect();
    let hello_of = |length: u16| [&[0x16, 0x03, 0x01][..], &length.to_be_bytes(), &[1; 100]].concat();
    for bytes in [
        Vec::new(),
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        noise,
        vec![0; 100_000],
        hello_of(100),
        hello_of(0),
        hello_of(u16::MAX),
        // A hello that says it is 16 MiB long.
        [
            &[0x16, 0x03, 0x01, 0x00, 0x05, 0x01, 0xff, 0xff, 0xff, 0x03][..],
            &[0x16, 0x03, 0x01, 0x40, 0x00],
            &[0; 0x4000],
        ]
        .concat(),
        // An alert and an early application record.
        vec![0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28],
        vec![0x17, 0x03, 0x03, 0x00, 0x01, 0x00],
    ] {
        exchange(TcpStream::connect(("127.0.0.1", place.port)).await.unwrap(), &bytes).await;
        assert_eq!(client.get("/readyz").await.unwrap().code, 200);
    }
    // A handshake that nobody finishes does not keep others out.
    let idle = TcpStream::connect(("127.0.0.1", place.port)).await.unwrap();
    assert_eq!(place.client(Protocol::Http1).get("/readyz").await.unwrap().code, 200);
    drop(idle);
    finish(&place, server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_http1() {
    let (place, server, _) = start().await;
    let client = place.client(Protocol::Http1);
    let post =
        |head: &str, body: &str| format!("POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\n{head}\r\n{body}").into_bytes();
    let mut cases = vec![
        b"\r\n\r\n\r\n".to_vec(),
        b"nonsense\r\n\r\n".to_vec(),
        b"GET\r\n\r\n".to_vec(),
        b"GET / HTTP/9.9\r\n\r\n".to_vec(),
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n".to_vec(),
        b"GET / HTTP/1.1\r\nA: \x00\r\n\r\n".to_vec(),
        b"GET / HTTP/1.1\r\n: empty\r\n\r\n".to_vec(),
        b"GET http://[::1 HTTP/1.1\r\n\r\n".to_vec(),
        b"GET \xff\xfe HTTP/1.1\r\n\r\n".to_vec(),
        b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
        b"B@D / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
        b"PRI * HTTP/2.0\r\n\r\nnot the rest\r\n\r\n".to_vec(),
        b"GET /api HTTP/1.1\r\nHost: x\r\n".to_vec(),
        format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(200_000)).into_bytes(),
        format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(200_000)).into_bytes(),
        format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(20_000)).into_bytes(),
        post("Content-Length: -1\r\n", ""),
        post("Content-Length: 99999999999999999999999\r\n", ""),
        post("Content-Length: 1\r\nContent-Length: 2\r\n", "{}"),
        post("Content-Length: 100\r\n", "{"),
        post("Transfer-Encoding: chunked\r\n", "zz\r\n"),
        post("Transfer-Encoding: chunked\r\n", "FFFFFFFFFFFFFFFFFF\r\n{}"),
        post("Transfer-Encoding: chunked\r\n", "5\r\n{"),
        post("Transfer-Encoding: nonsense\r\n", "{}"),
        post("Transfer-Encoding: chunked\r\nContent-Length: 2\r\n", "0\r\n\r\n"),
        post("Expect: nonsense\r\nContent-Length: 2\r\n", "{}"),
    ];
    let mut rng = Rng::with_seed(seed());
    for _ in 0..50 {
        cases.push(damaged(&mut rng, &post("Content-Length: 2\r\n", "{}")));
    }
    for bytes in cases {
        let answer = exchange(client.connect().await.unwrap(), &bytes).await;
        let text = String::from_utf8_lossy(&answer);
        // Without a token nothing but an error can come back, apart from what everybody may see.
        let fine = answer.is_empty() || text.starts_with("HTTP/1.1 4") || text.starts_with("HTTP/1.0 4");
        let noted = text.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 4");
        assert!(fine || noted, "{:?}: {text}", String::from_utf8_lossy(&bytes[..bytes.len().min(300)]));
    }
    finish(&place, server).await;
}

/// Two servers in a row must not disagree on whom a request is for.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_names_one_host() {
    let (place, server, _) = start().await;
    let client = place.anonymous(Protocol::Http1);
    for (hosts, version, expect) in [
        ("Host: a\r\n", "1.1", "HTTP/1.1 200 OK"),
        ("", "1.0", "HTTP/1.0 200 OK"),
        ("", "1.1", "400 Bad Request: missing required Host header"),
        ("Host: a\r\nHost: b\r\n", "1.1", "400 Bad Request: too many Host headers"),
        ("Host: a\r\nHost: a\r\n", "1.1", "400 Bad Request: too many Host headers"),
    ] {
        let request = format!("GET /livez HTTP/{version}\r\n{hosts}Connection: close\r\n\r\n");
        let mut stream = client.connect().await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // The server ends the connection, one way or another.
        let _ = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut answer)).await.unwrap();
        let text = String::from_utf8_lossy(&answer);
        assert!(text.contains(expect), "{hosts:?}: {text}");
    }
    finish(&place, server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn times_that_no_clock_can_tell() {
    let (place, server, client) = start().await;
    for seconds in
        ["9223372036854775807", "9223372036854775808", "-1", "-9223372036854775808", "0", "1e9", "4294967296"]
    {
        for path in [
            format!("{CONFIG_MAPS}?watch=1&timeoutSeconds={seconds}"),
            format!("/api/v1/watch/namespaces/bad/configmaps?timeoutSeconds={seconds}"),
        ] {
            let response = client.open(Request::get(&path), Bytes::new()).await.unwrap();
            assert!(matches!(response.status().as_u16(), 200 | 400), "{path}: {response:?}");
        }
        client.get(&format!("{CONFIG_MAPS}?timeoutSeconds={seconds}")).await.unwrap();
        client.get(&format!("{CONFIG_MAPS}?timeout={seconds}s")).await.unwrap();
    }
    let path = format!("{CONFIG_MAPS}/x?gracePeriodSeconds=9223372036854775807");
    client.post(CONFIG_MAPS, &json!({"metadata": {"name": "x"}})).await.unwrap().expect(201);
    check_status(&path, &client.delete(&path).await.unwrap(), 422, "Invalid");
    client.delete(&format!("{CONFIG_MAPS}/x")).await.unwrap().expect(200);
    finish(&place, server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_http2() {
    let (place, server, client) = start().await;
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let frame = |kind: u8, flags: u8, stream: u32, content: &[u8]| {
        let length = u32::try_from(content.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, flags], &stream.to_be_bytes(), content].concat()
    };
    let settings = frame(4, 0, 0, &[]);
    // GET, https and the path / from the static table.
    let get = [0x82, 0x87, 0x84];
    let odd = (0..1000_u32).map(|i| i * 2 + 1);
    let resets: Vec<u8> =
        odd.clone().flat_map(|s| [frame(1, 5, s, &get), frame(3, 0, s, &[0, 0, 0, 8])].concat()).collect();
    let mut cases = vec![
        frame(0, 0, 0, b"data on the connection"),
        frame(0, 0, 1, b"data on no stream"),
        frame(1, 5, 1, &[0xff; 50]),
        frame(1, 5, 1, &[0x80]),
        frame(1, 5, 2, &get),
        frame(1, 5, 1, &[0x82, 0x82, 0x82]),
        frame(1, 0x2d, 1, &[200, 0, 0, 0, 1, 16, 0x82]),
        frame(3, 0, 0, &[0; 4]),
        frame(3, 0, 99, &[0; 4]),
        frame(4, 0, 0, &[0; 5]),
        frame(4, 0, 1, &[0; 6]),
        frame(4, 0, 0, &[0, 4, 0xff, 0xff, 0xff, 0xff]),
        frame(4, 0, 0, &[0, 5, 0, 0, 0, 1]),
        frame(5, 4, 1, &[0; 8]),
        frame(6, 0, 0, &[0; 3]),
        frame(7, 0, 0, &[]),
        frame(8, 0, 0, &[0; 4]),
        frame(8, 0, 0, &[0x7f, 0xff, 0xff, 0xff]),
        frame(9, 0, 1, &get),
        frame(200, 0xff, 77, b"nobody knows"),
        [&[0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1][..], &[0; 1000]].concat(),
        // Headers that never end, streams that end at once, pings and settings without a pause.
        [frame(1, 1, 1, &get), frame(9, 0, 1, &[0x82; 16_000]).repeat(100)].concat(),
        resets,
        odd.flat_map(|s| frame(1, 5, s, &get)).collect(),
        frame(6, 0, 0, &[0; 8]).repeat(20_000),
        settings.repeat(20_000),
        frame(0, 8, 1, &[255, 1]),
    ];
    let mut rng = Rng::with_seed(seed());
    for _ in 0..50 {
        cases.push(damaged(&mut rng, &[frame(1, 5, 1, &get), frame(6, 0, 0, &[0; 8])].concat()));
        cases.push(std::iter::repeat_with(|| rng.u8(..)).take(500).collect());
    }
    for bytes in cases {
        exchange(client.connect().await.unwrap(), &[preface, &*settings, &*bytes].concat()).await;
    }
    exchange(client.connect().await.unwrap(), &preface[..10]).await;
    exchange(client.connect().await.unwrap(), preface).await;
    finish(&place, server).await;
}
