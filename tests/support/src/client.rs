//! A plain HTTPS client: HTTP/1.1 with one connection per request, or HTTP/2 with one connection for all.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, WARNING};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Http1,
    Http2,
}

/// Whom a client trusts and what it shows of itself, as PEM.
#[derive(Clone)]
pub struct Trust {
    pub ca: String,
    /// A certificate and its key.
    pub certificate: Option<(String, String)>,
}

pub struct Client {
    port: u16,
    protocol: Protocol,
    tls: TlsConnector,
    token: Option<String>,
    http2: Mutex<Option<http2::SendRequest<Full<Bytes>>>>,
}

/// A whole answer.
#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Whether this is the answer 200.
    pub fn ok(&self) -> Result<(), Failure> {
        if self.code == 200 {
            return Ok(());
        }
        Err(format!("{}: {}", self.code, String::from_utf8_lossy(&self.body)).into())
    }

    /// The texts of the warnings that came with the answer.
    pub fn warnings(&self) -> Vec<&str> {
        self.headers.get_all(WARNING).iter().map(|value| value.to_str().unwrap()).collect()
    }

    /// The body of an answer that must have this code.
    #[track_caller]
    pub fn expect(&self, code: u16) -> Value {
        assert_eq!(self.code, code, "{}", String::from_utf8_lossy(&self.body));
        self.json()
    }
}

impl Client {
    pub fn new(port: u16, protocol: Protocol, trust: &Trust) -> Self {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(trust.ca.as_bytes()) {
            roots.add(certificate.unwrap()).unwrap();
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match &trust.certificate {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect::<Result<_, _>>().unwrap();
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
                let key = ring::default_provider().key_provider.load_private_key(key).unwrap();
                // Whether the two fit is for the server to find out.
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(CertifiedKey::new(chain, key))))
            }
        };
        config.alpn_protocols = match protocol {
            Protocol::Http1 => vec![b"http/1.1".to_vec()],
            Protocol::Http2 => vec![b"h2".to_vec()],
        };
        Self { port, protocol, tls: TlsConnector::from(Arc::new(config)), token: None, http2: Mutex::new(None) }
    }

    pub fn with_token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    pub async fn get(&self, path: &str) -> Result<Answer, Failure> {
        self.send(Request::get(path), Bytes::new()).await
    }

    pub async fn delete(&self, path: &str) -> Result<Answer, Failure> {
        self.send(Request::delete(path), Bytes::new()).await
    }

    pub async fn post(&self, path: &str, object: &Value) -> Result<Answer, Failure> {
        self.write(Method::POST, path, object).await
    }

    pub async fn put(&self, path: &str, object: &Value) -> Result<Answer, Failure> {
        self.write(Method::PUT, path, object).await
    }

    /// A merge patch.
    pub async fn merge(&self, path: &str, patch: &Value) -> Result<Answer, Failure> {
        let head = Request::patch(path).header(CONTENT_TYPE, "application/merge-patch+json");
        self.send(head, Bytes::from(patch.to_string())).await
    }

    /// A deletion with options in its body.
    pub async fn delete_with(&self, path: &str, options: &Value) -> Result<Answer, Failure> {
        self.write(Method::DELETE, path, options).await
    }

    async fn write(&self, method: Method, path: &str, object: &Value) -> Result<Answer, Failure> {
        let head = Request::builder().method(method).uri(path).header(CONTENT_TYPE, "application/json");
        self.send(head, Bytes::from(object.to_string())).await
    }

    /// Sends a request and reads the whole answer.
    pub async fn send(&self, head: http::request::Builder, body: Bytes) -> Result<Answer, Failure> {
        let (head, body) = self.open(head, body).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(Answer { code: head.status.as_u16(), headers: head.headers, body })
    }

    /// Begins to follow events; the answer must be a stream.
    pub async fn watch(&self, path: &str) -> Result<Watch, Failure> {
        let response = self.open(Request::get(path), Bytes::new()).await?;
        if response.status() != 200 {
            let code = response.status();
            let body = response.into_body().collect().await?.to_bytes();
            return Err(format!("{code}: {}", String::from_utf8_lossy(&body)).into());
        }
        Ok(Watch { body: response.into_body(), unread: BytesMut::new() })
    }

    /// Sends a request and gives the answer as soon as its head is there. The path is all of the URI that is needed.
    pub async fn open(&self, head: http::request::Builder, body: Bytes) -> Result<Response<Incoming>, Failure> {
        let mut request = head.body(Full::new(body))?;
        if let Some(token) = &self.token {
            request.headers_mut().entry(AUTHORIZATION).or_insert(format!("Bearer {token}").parse()?);
        }
        match self.protocol {
            Protocol::Http1 => {
                request.headers_mut().insert(HOST, format!("127.0.0.1:{}", self.port).parse()?);
                let (mut sender, connection) = http1::handshake(TokioIo::new(self.connect().await?)).await?;
                tokio::spawn(connection);
                Ok(sender.send_request(request).await?)
            }
            Protocol::Http2 => {
                *request.uri_mut() = format!("https://127.0.0.1:{}{}", self.port, request.uri()).parse()?;
                Ok(self.http2().await?.send_request(request).await?)
            }
        }
    }

    /// The one connection of HTTP/2; a new one when the last has ended.
    async fn http2(&self) -> Result<http2::SendRequest<Full<Bytes>>, Failure> {
        let mut held = self.http2.lock().await;
        if let Some(sender) = held.as_ref().filter(|sender| !sender.is_closed()) {
            return Ok(sender.clone());
        }
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(self.connect().await?)).await?;
        tokio::spawn(connection);
        *held = Some(sender.clone());
        Ok(sender)
    }

    /// A TLS connection on which nothing has been said yet.
    pub async fn connect(&self) -> Result<TlsStream<TcpStream>, Failure> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        stream.set_nodelay(true)?;
        Ok(self.tls.connect(ServerName::try_from("127.0.0.1")?, stream).await?)
    }
}

/// A stream of events.
pub struct Watch {
    body: Incoming,
    unread: BytesMut,
}

impl Watch {
    /// The next event; `None` when the server has ended the stream cleanly.
    pub async fn next(&mut self) -> Result<Option<Value>, Failure> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                return Ok(Some(serde_json::from_slice(&self.unread.split_to(end + 1))?));
            }
            match self.body.frame().await {
                Some(frame) => self.unread.extend_from_slice(&frame?.into_data().unwrap_or_default()),
                None if self.unread.is_empty() => return Ok(None),
                None => return Err("the stream ended within an event".into()),
            }
        }
    }
}
