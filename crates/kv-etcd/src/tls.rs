//! The way to a member: TCP, and TLS where its address says so.
//!
//! Owns the reading of certificates, which happens for every connection anew: files that were renewed are used by the next
//! one, without anybody starting anything again.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// What proves a server to etcd and etcd to a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    pub authorities: Option<PathBuf>,
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
}

/// Where a member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub host: String,
    pub port: u16,
    pub tls: bool,
}

/// A connection that is not made by then is none.
const PATIENCE: Duration = Duration::from_secs(5);

impl Place {
    /// Reads the URL of a member: `https://10.0.0.1:2379`.
    pub fn parse(url: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("{url}: {why}");
        let uri: http::Uri = url.parse().map_err(|_| wrong("not a URL"))?;
        let tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(wrong("the URL of an etcd begins with http:// or https://")),
        };
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(wrong("the URL of an etcd has no path"));
        }
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        Ok(Self { host, port: uri.port_u16().unwrap_or(2379), tls })
    }

    pub async fn connect(&self, files: &Files) -> io::Result<Stream> {
        let connected = tokio::time::timeout(PATIENCE, self.reach(files)).await;
        connected.unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "connecting takes too long")))
    }

    async fn reach(&self, files: &Files) -> io::Result<Stream> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        if !self.tls {
            return Ok(Stream::Plain(stream));
        }
        let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
        let connector = TlsConnector::from(Arc::new(files.configure()?));
        Ok(Stream::Tls(Box::new(connector.connect(name, stream).await?)))
    }
}

impl Files {
    /// Whether what is there can be used at all.
    pub fn check(&self) -> io::Result<()> {
        self.configure().map(drop)
    }

    fn configure(&self) -> io::Result<ClientConfig> {
        let authorities = self.authorities.as_deref();
        let authorities = authorities.ok_or_else(|| io::Error::other("https without a file of authorities"))?;
        let mut roots = RootCertStore::empty();
        for certificate in certificates(authorities)? {
            roots.add(certificate).map_err(|why| at(authorities)(why))?;
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots);
        let mut config = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => {
                let private = PrivateKeyDer::from_pem_file(key).map_err(|why| at(key)(why))?;
                let chain = certificates(certificate)?;
                config.with_client_auth_cert(chain, private).map_err(|why| at(certificate)(why))?
            }
            (None, None) => config.with_no_client_auth(),
            _ => return Err(io::Error::other("a certificate and its key are only of use together")),
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(config)
    }
}

fn certificates(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(path).and_then(|each| each.collect::<Result<Vec<_>, _>>());
    read.map_err(|why| at(path)(why))
}

fn at<E: std::fmt::Display>(path: &Path) -> impl Fn(E) -> io::Error + '_ {
    move |why| io::Error::other(format!("{}: {why}", path.display()))
}

/// A connection of either kind.
pub enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

macro_rules! either {
    ($self:ident, $stream:ident => $call:expr) => {
        match $self.get_mut() {
            Stream::Plain($stream) => $call,
            Stream::Tls($stream) => $call,
        }
    };
}

impl tokio::io::AsyncRead for Stream {
    fn poll_read(
        self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        either!(self, stream => std::pin::Pin::new(stream).poll_read(context, buffer))
    }
}

impl tokio::io::AsyncWrite for Stream {
    fn poll_write(
        self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<io::Result<usize>> {
        either!(self, stream => std::pin::Pin::new(stream).poll_write(context, bytes))
    }

    fn poll_flush(
        self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        either!(self, stream => std::pin::Pin::new(stream).poll_flush(context))
    }

    fn poll_shutdown(
        self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        either!(self, stream => std::pin::Pin::new(stream).poll_shutdown(context))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_members() {
        let place = |url| Place::parse(url).ok().map(|place| (place.host, place.port, place.tls));
        assert_eq!(place("http://127.0.0.1:2379"), Some(("127.0.0.1".to_owned(), 2379, false)));
        assert_eq!(place("https://etcd.example/"), Some(("etcd.example".to_owned(), 2379, true)));
        assert_eq!(place("https://[::1]:4001"), Some(("::1".to_owned(), 4001, true)));
        for wrong in ["127.0.0.1:2379", "unix:///tmp/etcd", "http://a/b", ""] {
            assert_eq!(place(wrong), None, "{wrong}");
        }
    }
}
