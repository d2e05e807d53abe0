//! A server that is not Pawl: a door before one through which nothing of what only Pawl has can be seen or reached. What is asked
//! for beyond that is 404, as kube-apiserver answers a path that it does not know, and liens are dropped from what is written.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};

use pawl_testing::{Client, Protocol, Running};

pub struct Elsewhere {
    pub kubeconfig: PathBuf,
    hidden: Arc<Mutex<Vec<String>>>,
}

impl Elsewhere {
    pub async fn before(running: &Running) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let kubeconfig = running.place.path("elsewhere.kubeconfig");
        let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "x",
            "clusters": [{"name": "c", "cluster": {"server": format!("http://{address}")}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]});
        std::fs::write(&kubeconfig, config.to_string()).unwrap();
        let hidden: Arc<Mutex<Vec<String>>> = Arc::default();
        let (client, seen) = (Arc::new(running.place.client(Protocol::Http2)), Arc::clone(&hidden));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&client), Arc::clone(&seen)));
            }
        });
        Self { kubeconfig, hidden }
    }

    /// The paths that were asked for and are not there.
    pub fn hidden(&self) -> Vec<String> {
        self.hidden.lock().unwrap().clone()
    }
}

/// Answers one request and ends the connection.
async fn serve(stream: TcpStream, client: Arc<Client>, hidden: Arc<Mutex<Vec<String>>>) {
    let mut stream = BufStream::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        if line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_owned());
    }
    let mut words = lines[0].split(' ');
    let (method, path) = (words.next().unwrap().to_owned(), words.next().unwrap().to_owned());
    let header =
        |name: &str| lines.iter().filter_map(|line| line.split_once(": ")).find(|(n, _)| n.eq_ignore_ascii_case(name));
    let length = header("content-length").map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    let bare = path.split('?').next().unwrap();
    let (code, kind, answer) = if is_hidden(bare) {
        hidden.lock().unwrap().push(bare.to_owned());
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404,
            "message": "the server could not find the requested resource", "details": {}});
        (404, "application/json".to_owned(), Bytes::from(status.to_string()))
    } else {
        // A change of liens changes nothing: the field is not one that it knows.
        let drops = method == "PATCH" && String::from_utf8_lossy(&body).contains("/metadata/liens");
        let mut head = Request::builder().method(if drops { "GET" } else { &method }).uri(&path);
        for name in ["accept", "content-type"] {
            if let Some((_, value)) = header(name) {
                head = head.header(name, value);
            }
        }
        let sent = if drops { Bytes::new() } else { Bytes::from(body) };
        let answer = client.send(head, sent).await.unwrap();
        let kind = answer.headers.get("content-type").map_or("", |kind| kind.to_str().unwrap()).to_owned();
        (answer.code, kind, without_pawl(bare, answer.body))
    };
    let head = format!(
        "HTTP/1.1 {code} X\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        answer.len()
    );
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(&answer).await;
    let _ = stream.shutdown().await;
}

fn is_hidden(path: &str) -> bool {
    let below = ["/usedby", "/history", "/invalidobjects", "/schemachecks"];
    path.contains(".pawl.dev") || below.iter().any(|end| path.ends_with(end))
}

/// Discovery without groups of Pawl.
fn without_pawl(path: &str, body: Bytes) -> Bytes {
    if !matches!(path, "/apis" | "/api") {
        return body;
    }
    let Ok(mut found) = serde_json::from_slice::<Value>(&body) else { return body };
    for (list, name) in [("items", "/metadata/name"), ("groups", "/name")] {
        if let Some(groups) = found.get_mut(list).and_then(Value::as_array_mut) {
            groups.retain(|group| {
                !group.pointer(name).and_then(Value::as_str).is_some_and(|name| name.ends_with("pawl.dev"))
            });
        }
    }
    Bytes::from(found.to_string())
}
