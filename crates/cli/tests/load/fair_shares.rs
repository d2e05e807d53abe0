//! What one client takes is not missing for another: places, connections, memory, names in metrics.

use std::net::SocketAddr;

use pawl_testing::{Place, Protocol, Running, pause};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

#[tokio::test(flavor = "multi_thread")]
async fn names_that_are_made_up_are_one_in_the_metrics() {
    let running = Running::start(&[], &[]).await;
    let nobody = running.place.anonymous(Protocol::Http2);
    for i in 0..300 {
        let long = "x".repeat(1000);
        for path in [
            format!("/apis/made-up-{i}/v1/{long}"),
            format!("/api/made-up-{i}/pods"),
            format!("/api/v1/namespaces/n/made-up-{i}/x/{long}"),
            format!("/api/v1/namespaces/n/pods/x/made-up-{i}"),
            format!("/made-up-{i}"),
            format!("/api/v1/watch/made-up-{i}"),
        ] {
            assert_ne!(nobody.get(&path).await.unwrap().code, 200, "{path}");
        }
    }
    let metrics = running.admin.get("/metrics").await.unwrap();
    let text = String::from_utf8_lossy(&metrics.body);
    assert!(text.contains("apiserver_request_total"));
    assert!(!text.contains("made-up"), "{} bytes of metrics", text.len());
    running.stop().await;
}

/// Before a place was taken for the body, these took all of them.
#[tokio::test(flavor = "multi_thread")]
async fn requests_whose_bodies_do_not_come_hold_up_nobody() {
    let mut running = Running::start(&[], &["mallory", "alice"]).await;
    running.grant("alice", &["create"], "configmaps").await;
    let mallory = running.place.anonymous(Protocol::Http1);
    let head = format!(
        "POST {REVIEWS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer mallory\r\nContent-Type: application/json\r\n\
         Content-Length: 100\r\n\r\n"
    );
    let mut open = Vec::new();
    for _ in 0..260 {
        let mut stream = mallory.connect().await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        open.push(stream);
    }
    let alice = running.user("alice");
    for i in 0..20 {
        let object = json!({"metadata": {"name": format!("c{i}")}});
        alice.post("/api/v1/namespaces/n/configmaps", &object).await.unwrap().expect(201);
    }
    drop(open);
    running.stop().await;
}

/// Who says nothing is not waited for: after the handshake, in the middle of HTTP/2's first bytes, after them.
#[tokio::test(flavor = "multi_thread")]
async fn silence_ends_a_connection() {
    let running = Running::start(&[], &[]).await;
    let preface = &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..];
    let mut silent = Vec::new();
    for (protocol, said) in [
        (Protocol::Http1, &b""[..]),
        (Protocol::Http1, b"GET / HT"),
        (Protocol::Http2, b""),
        (Protocol::Http2, &preface[..10]),
        (Protocol::Http2, preface),
    ] {
        let mut stream = running.place.anonymous(protocol).connect().await.unwrap();
        stream.write_all(said).await.unwrap();
        silent.push(tokio::spawn(async move {
            let mut sink = [0; 1024];
            while stream.read(&mut sink).await.is_ok_and(|read| read > 0) {}
        }));
    }
    for (at, closed) in silent.into_iter().enumerate() {
        let waited = tokio::time::timeout(pawl_testing::DEADLINE, closed).await;
        assert!(waited.is_ok(), "connection {at} is still open");
    }
    running.stop().await;
}

/// With few descriptors, whoever opens connections from elsewhere leaves enough for health on the machine itself.
#[tokio::test(flavor = "multi_thread")]
async fn connections_of_one_address_leave_room_for_others() {
    let mut place = Place::new();
    let server = place
        .start_with(|place| {
            let mut limited = std::process::Command::new("sh");
            let command = place.command();
            limited
                .args(["-c", "ulimit -n 200; exec \"$0\" \"$@\""])
                .arg(command.get_program())
                .args(command.get_args());
            limited
        })
        .await;
    let address: SocketAddr = format!("127.0.0.1:{}", place.port).parse().unwrap();
    let mut open = Vec::new();
    for _ in 0..300 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
        if let Ok(stream) = socket.connect(address).await {
            open.push(stream);
        }
    }
    for _ in 0..20 {
        place.client(Protocol::Http1).get("/livez").await.unwrap().ok().unwrap();
    }
    assert!(!server.log().contains("cannot accept"), "{}", server.log());
    drop(open);
    server.assert_no_panic();
    server.stop().await;
}

/// Lists of 20 MB in every format that nobody reads: they take places and a little memory, and not all of either.
#[tokio::test(flavor = "multi_thread")]
async fn lists_that_nobody_reads_take_little() {
    let mut running = Running::start(&[], &["mallory", "alice"]).await;
    running.grant("mallory", &["list"], "configmaps").await;
    running.grant("alice", &["list", "get"], "configmaps").await;
    for i in 0..28 {
        let object = json!({"metadata": {"name": format!("c{i}")}, "data": {"k": "v".repeat(700_000)}});
        running.admin.post("/api/v1/namespaces/n/configmaps", &object).await.unwrap().expect(201);
    }
    let alice = running.user("alice");
    alice.get("/api/v1/namespaces/n/configmaps?limit=1").await.unwrap().expect(200);
    let before = running.server.resident();
    let mallory = running.place.anonymous(Protocol::Http1);
    let formats = [
        "application/yaml",
        "application/json",
        "application/vnd.kubernetes.protobuf",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
    ];
    let mut open = Vec::new();
    for i in 0..300 {
        let accept = formats[i % formats.len()];
        let path = "/api/v1/namespaces/n/configmaps?includeObject=Object";
        let head =
            format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer mallory\r\nAccept: {accept}\r\n\r\n");
        let mut stream = mallory.connect().await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        open.push(stream);
    }
    let mut most = before;
    for _ in 0..30 {
        most = most.max(running.server.resident());
        alice.get("/api/v1/namespaces/n/configmaps?limit=1").await.unwrap().expect(200);
        pause().await;
    }
    println!("resident {before} kB, at most {most} kB");
    // What is kept beside the objects in protobuf is as large as they are.
    assert!(most - before < 300_000, "resident {before} kB, then {most} kB");
    drop(open);
    running.stop().await;
}
