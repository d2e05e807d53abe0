//! A server whose store can be damaged while it runs: the door that only test builds have.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::{Place, Protocol, Running, free_port};

/// A door into the store of one server.
#[derive(Clone, Copy)]
pub struct Door(u16);

impl Door {
    #[expect(clippy::new_without_default, reason = "every door is another one")]
    pub fn new() -> Self {
        Self(free_port())
    }

    /// Stores bytes, whatever is there.
    pub async fn put(self, key: &str, value: &[u8]) {
        self.post("put", &json!({"key": BASE64.encode(key), "value": BASE64.encode(value)})).await;
    }

    pub async fn delete(self, key: &str) {
        self.post("deleterange", &json!({"key": BASE64.encode(key)})).await;
    }

    async fn post(self, what: &str, body: &serde_json::Value) {
        let body = body.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.0)).await.unwrap();
        let head = format!("POST /v3/kv/{what} HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    /// Starts a server with this door, and makes the namespace `n` if that is not there.
    pub async fn start(self, mut place: Place, flags: &[&str]) -> Running {
        let server = place
            .start_with(|place| {
                let mut command = place.command();
                command.args(flags).env("PAWL_RAW_STORE", format!("127.0.0.1:{}", self.0));
                command
            })
            .await;
        let admin = place.client(Protocol::Http2);
        let made = admin.post("/api/v1/namespaces", &json!({"metadata": {"name": "n"}})).await.unwrap();
        assert!(matches!(made.code, 201 | 409), "{made:?}");
        Running { place, server, admin }
    }
}
