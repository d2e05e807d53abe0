//! A door into the store for tests that damage what is in it: etcd's `put` and `deleterange` in JSON, on loopback.
//!
//! It is not in the binary unless that is built with the feature `raw-store`, and opens only where `PAWL_RAW_STORE` names an
//! address. Whoever reaches it may do everything.

use std::net::SocketAddr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use pawl_kv::{Change, Expect, Kv, Outcome, Write};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::Error;

/// Opens the door, if somebody asks for it.
pub async fn open(store: &Arc<dyn Kv>) -> Result<(), Error> {
    let Ok(address) = std::env::var("PAWL_RAW_STORE") else { return Ok(()) };
    let parsed: SocketAddr =
        address.parse().map_err(|_| Error::Flag(format!("PAWL_RAW_STORE={address} is no address")))?;
    if !parsed.ip().is_loopback() {
        return Err(Error::Flag(format!("PAWL_RAW_STORE={address} is not on loopback")));
    }
    let listener = TcpListener::bind(parsed).await.map_err(|source| Error::Listen { address, source })?;
    let store = Arc::clone(store);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Err(why) = answer(stream, &store).await {
                tracing::warn!(%why, "the door into the store");
            }
        }
    });
    Ok(())
}

async fn answer(stream: TcpStream, store: &Arc<dyn Kv>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut stream = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    stream.read_line(&mut first).await?;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        match line.trim().to_ascii_lowercase().split_once(':') {
            Some(("content-length", size)) => length = size.trim().parse()?,
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let body: Value = serde_json::from_slice(&body)?;
    let field = |name: &str| BASE64.decode(body.get(name).and_then(Value::as_str).unwrap_or_default());
    let key = Bytes::from(field("key")?);
    let change = match first.contains("/put") {
        true => Change::Put { value: field("value")?.into(), ttl: None },
        false => Change::Delete,
    };
    let revision = write(store, key, change).await?;
    let text = json!({"header": {"revision": revision.to_string()}}).to_string();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", text.len());
    stream.write_all(format!("{head}{text}").as_bytes()).await?;
    Ok(())
}

async fn write(store: &Arc<dyn Kv>, key: Bytes, change: Change) -> Result<u64, pawl_kv::Error> {
    loop {
        let present = store.get(key.clone()).await?;
        if present.is_none() && change == Change::Delete {
            return store.revision().await;
        }
        let expect = present.map_or(Expect::Absent, |present| Expect::Revision(present.mod_revision));
        let write = Write::new(key.clone(), expect, change.clone());
        if let Outcome::Applied { revision } = store.write(write).await? {
            return Ok(revision);
        }
    }
}
