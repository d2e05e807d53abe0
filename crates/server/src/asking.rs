//! A client of a server like this one, for commands: one request at a time, with what a kubeconfig says.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The longest answer that is read.
const MOST: usize = 16 << 20;
const PATIENCE: Duration = Duration::from_secs(120);

/// Where a server is, and how it is spoken to.
pub struct Asking {
    host: String,
    port: u16,
    tls: TlsConnector,
    token: Option<String>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// Nobody listens there.
    #[error("nobody answers at {0}")]
    Nobody(String),
    #[error("{0}")]
    Failed(String),
}

impl Asking {
    /// Reads a kubeconfig with its certificates inside.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()))?;
        let config = pawl_schema::yaml::parse(&text).map_err(|why| format!("{}: {why}", path.display()))?.value;
        let text = |at: &str| config.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let decoded = |at: &str| BASE64.decode(text(at)).map_err(|why| format!("{at}: {why}"));
        let server = text("/clusters/0/cluster/server");
        let address = server.strip_prefix("https://").ok_or_else(|| format!("{server:?} is no https address"))?;
        let address = address.trim_end_matches('/');
        let (host, port) = address.rsplit_once(':').unwrap_or((address, "443"));
        let port = port.parse().map_err(|_| format!("{server:?} has no port"))?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&decoded("/clusters/0/cluster/certificate-authority-data")?) {
            let certificate = certificate.map_err(|why| why.to_string())?;
            roots.add(certificate).map_err(|why| why.to_string())?;
        }
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(|why| why.to_string())?.with_root_certificates(roots);
        let certificate = decoded("/users/0/user/client-certificate-data")?;
        let tls = match certificate.is_empty() {
            true => builder.with_no_client_auth(),
            false => {
                let chain = CertificateDer::pem_slice_iter(&certificate).collect::<Result<Vec<_>, _>>();
                let key = PrivateKeyDer::from_pem_slice(&decoded("/users/0/user/client-key-data")?);
                let (chain, key) = (chain.map_err(|e| e.to_string())?, key.map_err(|e| e.to_string())?);
                builder.with_client_auth_cert(chain, key).map_err(|why| why.to_string())?
            }
        };
        let token = Some(text("/users/0/user/token").to_owned()).filter(|token| !token.is_empty());
        let host = host.trim_matches(['[', ']']).to_owned();
        Ok(Self { host, port, tls: TlsConnector::from(Arc::new(tls)), token })
    }

    /// Posts an object. An answer that is no success is an error, in the server's words.
    pub async fn post(&self, path: &str, object: &Value) -> Result<Value, NoAnswer> {
        let asked = async {
            let answer = self.send(path, object).await?;
            let body = Limited::new(answer.into_body(), MOST).collect().await;
            let body = body.map_err(|why| NoAnswer::Failed(why.to_string()))?.to_bytes();
            Ok(serde_json::from_slice(&body).unwrap_or_default())
        };
        let asked = tokio::time::timeout(PATIENCE, asked).await;
        asked.unwrap_or_else(|_| Err(NoAnswer::Failed("the server takes too long".to_owned())))
    }

    /// Posts an object, and hands over what is answered as it comes. Whether that was all is for the taker to tell.
    pub async fn download(
        &self,
        path: &str,
        object: &Value,
        mut take: impl FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), NoAnswer> {
        let mut body = self.send(path, object).await?.into_body();
        loop {
            let frame = tokio::time::timeout(PATIENCE, body.frame()).await;
            let frame = frame.map_err(|_| NoAnswer::Failed("the server takes too long".to_owned()))?;
            let Some(frame) = frame else { return Ok(()) };
            let frame = frame.map_err(|why| NoAnswer::Failed(format!("the answer broke off: {why}")))?;
            if let Some(bytes) = frame.data_ref() {
                take(bytes).map_err(NoAnswer::Failed)?;
            }
        }
    }

    async fn send(&self, path: &str, object: &Value) -> Result<Response<Incoming>, NoAnswer> {
        let failed = |why: &dyn std::fmt::Display| NoAnswer::Failed(why.to_string());
        let place = format!("{}:{}", self.host, self.port);
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
        let stream = stream.map_err(|_| NoAnswer::Nobody(place.clone()))?;
        let name = ServerName::try_from(self.host.clone()).map_err(|why| failed(&why))?;
        let stream = self.tls.connect(name, stream).await.map_err(|why| failed(&why))?;
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|why| failed(&why))?;
        tokio::spawn(connection);
        let mut request = Request::post(path).header(HOST, place).header(CONTENT_TYPE, "application/json");
        request = request.header(ACCEPT, "application/json");
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(Full::new(Bytes::from(object.to_string()))).map_err(|why| failed(&why))?;
        let answer = tokio::time::timeout(PATIENCE, sender.send_request(request)).await;
        let answer = answer.map_err(|_| failed(&"the server takes too long"))?.map_err(|why| failed(&why))?;
        let code = answer.status();
        if code.is_success() {
            return Ok(answer);
        }
        let body = Limited::new(answer.into_body(), MOST).collect().await.map(|body| body.to_bytes());
        let said: Value = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
        let message = said.get("message").and_then(Value::as_str).unwrap_or("it says nothing");
        Err(NoAnswer::Failed(format!("the server answers {}: {message}", code.as_u16())))
    }
}
