//! Watches over websockets, as Java's clients and browsers ask for them.

use std::time::Duration;

use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use http::Request;
use pawl_testing::{DEADLINE, Place, Protocol};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{self, Message};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const TOKEN: &str = "base64url.bearer.authorization.k8s.io.cm9vdC10b2tlbg, binary.k8s.io";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf;stream=watch";

type Socket = WebSocketStream<TlsStream<TcpStream>>;

/// Asks for a websocket, with these headers beside those that every client sends.
async fn ask(place: &Place, path: &str, headers: &[(&str, &str)]) -> Result<Socket, tungstenite::Error> {
    let mut request = Request::get(format!("wss://127.0.0.1{path}"))
        .header("Host", "127.0.0.1")
        .header("Connection", "Upgrade")
        .header("Upgrade", "websocket")
        .header("Sec-WebSocket-Version", "13")
        .header("Sec-WebSocket-Key", tungstenite::handshake::client::generate_key());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let stream = place.anonymous(Protocol::Http1).connect().await.unwrap();
    let (socket, answer) = tokio_tungstenite::client_async(request.body(()).unwrap(), stream).await?;
    assert_eq!(answer.status(), 101);
    Ok(socket)
}

async fn next(socket: &mut Socket) -> Option<Message> {
    let message = tokio::time::timeout(DEADLINE, socket.next()).await.expect("nothing was told in time");
    message.transpose().unwrap()
}

async fn event(socket: &mut Socket) -> Value {
    match next(socket).await {
        Some(Message::Text(text)) => serde_json::from_str(&text).unwrap(),
        other => panic!("no event: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_event_is_a_message() {
    let mut place = Place::new();
    let server = place.start_flagged(&["--controllers=-*"]).await;
    let client = place.client(Protocol::Http2);
    for name in ["a", "b"] {
        client.post(CONFIG_MAPS, &json!({"metadata": {"name": name}})).await.unwrap().expect(201);
    }
    let watched = format!("{CONFIG_MAPS}?watch=1");
    let headers = [("Origin", "https://127.0.0.1"), ("Sec-WebSocket-Protocol", TOKEN)];
    let mut socket = ask(&place, &watched, &headers).await.unwrap();
    for name in ["a", "b"] {
        let event = event(&mut socket).await;
        assert_eq!((&event["type"], &event["object"]["metadata"]["name"]), (&json!("ADDED"), &json!(name)));
    }
    // What a client says is not listened to; a ping is answered.
    socket.send(Message::text("anything")).await.unwrap();
    socket.send(Message::Ping(Bytes::from_static(b"here?"))).await.unwrap();
    assert_eq!(next(&mut socket).await, Some(Message::Pong(Bytes::from_static(b"here?"))));
    client.delete(&format!("{CONFIG_MAPS}/a")).await.unwrap().expect(200);
    assert_eq!(event(&mut socket).await["type"], "DELETED");

    let binary = [headers[0], headers[1], ("Accept", PROTOBUF)];
    let mut other = ask(&place, &watched, &binary).await.unwrap();
    let Some(Message::Binary(told)) = next(&mut other).await else { panic!("no event in protobuf") };
    assert!(told.starts_with(b"\x0a\x05ADDED"), "{told:?}");
    // Who says goodbye is let go.
    other.close(None).await.unwrap();
    while next(&mut other).await.is_some() {}

    // A watch ends with a goodbye: at its time, and when the server stops.
    let mut short = ask(&place, &format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=1"), &headers).await.unwrap();
    assert_eq!(event(&mut short).await["type"], "ADDED");
    assert!(matches!(next(&mut short).await, Some(Message::Close(_))));
    server.stop().await;
    assert!(matches!(next(&mut socket).await, Some(Message::Close(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_an_answer_of_http() {
    let mut place = Place::new();
    let server = place.start().await;
    let check = async |path: &str, headers: &[(&str, &str)], code: u16| {
        let Err(tungstenite::Error::Http(answer)) = ask(&place, path, headers).await else {
            panic!("{path} {headers:?}")
        };
        let status: Value = serde_json::from_slice(answer.body().as_deref().unwrap_or_default()).unwrap();
        assert_eq!((answer.status().as_u16(), &status["kind"]), (code, &json!("Status")), "{path} {headers:?}");
    };
    let (origin, token) = (("Origin", "https://127.0.0.1"), ("Sec-WebSocket-Protocol", TOKEN));
    let watched = format!("{CONFIG_MAPS}?watch=1");
    check(&watched, &[origin], 403).await;
    check(&watched, &[token], 403).await;
    check(&watched, &[origin, ("Sec-WebSocket-Protocol", "a.k8s.io"), token], 400).await;
    check("/api/v1/namespaces/default/nothings?watch=1", &[origin, token], 404).await;
    // A page of somebody else, in the browser of whoever may: what it may read without a token is nothing.
    let admin = place.client(Protocol::Http2);
    let everybody = json!({"metadata": {"name": "everybody"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
        "name": "view"}, "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:anonymous"}]});
    admin.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &everybody).await.unwrap().expect(201);
    check(&watched, &[("Origin", "https://elsewhere.example.com")], 403).await;
    ask(&place, &watched, &[origin]).await.unwrap();
    server.assert_no_panic();
    server.stop().await;
}

/// Connections have their slots whatever is spoken on them.
#[tokio::test(flavor = "multi_thread")]
async fn many_come_and_go() {
    let mut place = Place::new();
    let server = place.start().await;
    let headers = [("Origin", "https://127.0.0.1"), ("Sec-WebSocket-Protocol", TOKEN)];
    let watched = format!("{CONFIG_MAPS}?watch=1");
    for _ in 0..20 {
        let mut sockets = Vec::new();
        for _ in 0..5 {
            sockets.push(ask(&place, &watched, &headers).await.unwrap());
        }
        drop(sockets);
    }
    // All of them are noticed to be gone.
    let client = place.client(Protocol::Http2);
    let longest = tokio::time::Instant::now() + DEADLINE;
    loop {
        let told = client.get("/metrics").await.unwrap();
        let told = String::from_utf8(told.body.to_vec()).unwrap();
        let open =
            told.lines().filter(|line| line.starts_with("apiserver_longrunning_requests") && line.contains("WATCH"));
        let open: Vec<&str> = open.filter(|line| line.contains("configmaps") && !line.ends_with(" 0")).collect();
        if open.is_empty() {
            break;
        }
        assert!(tokio::time::Instant::now() < longest, "{open:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    server.stop().await;
}
