//! A client of a server like this one, for commands: one request at a time, with what a kubeconfig says.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The longest answer that is read.
const MOST: u64 = 16 << 20;
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
        let asked = tokio::time::timeout(PATIENCE, self.exchange(path, object)).await;
        asked.unwrap_or_else(|_| Err(NoAnswer::Failed("the server takes too long".to_owned())))
    }

    async fn exchange(&self, path: &str, object: &Value) -> Result<Value, NoAnswer> {
        let failed = |why: std::io::Error| NoAnswer::Failed(why.to_string());
        let place = format!("{}:{}", self.host, self.port);
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
        let stream = stream.map_err(|_| NoAnswer::Nobody(place.clone()))?;
        let name = ServerName::try_from(self.host.clone()).map_err(|why| NoAnswer::Failed(why.to_string()))?;
        let mut stream = self.tls.connect(name, stream).await.map_err(failed)?;
        let body = object.to_string();
        let token = self.token.as_ref().map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {place}\r\nContent-Type: application/json\r\nAccept: application/json\r\n\
             {token}Connection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).await.map_err(failed)?;
        let mut answer = Vec::new();
        // A server that closes without a word of TLS has said all it had to say.
        let _ = stream.take(MOST).read_to_end(&mut answer).await;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let code = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let said: Value = serde_json::from_str(body).unwrap_or_default();
        if code.starts_with('2') {
            return Ok(said);
        }
        let message = said.get("message").and_then(Value::as_str).unwrap_or("it says nothing");
        Err(NoAnswer::Failed(format!("the server answers {code}: {message}")))
    }
}
