//! Watches over a websocket, as browsers and Java's clients ask for them: each event is a message. What the client says is not
//! listened to, but for its goodbye.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Buf, Bytes};
use futures::{SinkExt, Stream, StreamExt};
use http::header::{
    AUTHORIZATION, CONNECTION, HOST, HeaderValue, ORIGIN, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, Response, Uri};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use pawl_auth::authn::WEBSOCKET_TOKEN;
use pawl_meta::Status;
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use crate::access::becomes_websocket;
use crate::api::Call;
use crate::body::Body;
use crate::negotiation::Media;
use crate::respond;

/// What a client may say in one message: nothing of it is needed.
const SAID: usize = 64 * 1024;
/// Who does not take a message for so long is gone.
const UNREAD: Duration = Duration::from_secs(60);

/// How long a client has to say goodbye, too.
const FAREWELL: Duration = Duration::from_secs(5);

type Events = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

/// The wish of a client to go on as a websocket, which can be granted.
pub(crate) struct Offer {
    upgrade: OnUpgrade,
    accept: HeaderValue,
    protocol: Option<HeaderValue>,
}

/// Whether a request asks to become a websocket, and can. One that asks for it where nothing can (over HTTP/2, say) is answered
/// as if it had not asked.
pub(crate) fn wanted(call: &Call) -> Result<Option<Offer>, Status> {
    let Some(upgrade) = call.upgrade.as_ref().filter(|_| becomes_websocket(&call.headers)) else { return Ok(None) };
    let (accept, protocol) = handshake(&call.headers)?;
    Ok(Some(Offer { upgrade: upgrade.clone(), accept, protocol }))
}

/// What the server has to show for the client's key, and the protocol that both speak.
fn handshake(headers: &HeaderMap) -> Result<(HeaderValue, Option<HeaderValue>), Status> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().trim();
    let key = text(SEC_WEBSOCKET_KEY);
    if key.is_empty() {
        return Err(Status::bad_request("a websocket needs the header Sec-WebSocket-Key"));
    }
    if text(SEC_WEBSOCKET_VERSION) != "13" {
        return Err(Status::bad_request("only version 13 of websockets is spoken: Sec-WebSocket-Version: 13"));
    }
    let Ok(origin) = text(ORIGIN).parse::<Uri>() else {
        return Err(Status::new(403, "Forbidden", "a websocket needs the header Origin, with an address"));
    };
    let offered = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
    let protocols = offered.flat_map(|value| value.split(',')).map(str::trim);
    let (tokens, protocols): (Vec<&str>, Vec<&str>) =
        protocols.filter(|one| !one.is_empty()).partition(|one| one.starts_with(WEBSOCKET_TOKEN));
    // A browser shows a certificate for whatever page asks, and lets that page read along. What has a token was meant.
    let is_meant = !tokens.is_empty() || headers.contains_key(AUTHORIZATION);
    let is_ours = origin.authority().is_some_and(|page| page.as_str().eq_ignore_ascii_case(text(HOST)));
    if !is_meant && !is_ours {
        return Err(Status::new(
            403,
            "Forbidden",
            "a websocket without a token is only for pages of this server: see Origin",
        ));
    }
    let protocol = match protocols.as_slice() {
        [] => None,
        [one] => HeaderValue::from_str(one).ok(),
        _ => return Err(Status::bad_request("a watch has no choice of protocols: name one in Sec-WebSocket-Protocol")),
    };
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()));
    let accept = accept.map_err(|_| Status::internal("the answer to a websocket's key is no header"))?;
    Ok((accept, protocol))
}

impl Offer {
    /// The answer after which the connection is a websocket that tells events.
    pub fn accept(self, messages: Messages, events: Events) -> Response<Body> {
        let mut response = respond::bare(101);
        let headers = response.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(SEC_WEBSOCKET_ACCEPT, self.accept);
        if let Some(protocol) = self.protocol {
            headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
        }
        let session = Session { upgrade: self.upgrade, messages, events };
        response.extensions_mut().insert(Handover(Arc::new(Mutex::new(Some(session)))));
        response
    }
}

/// A connection that is to become a websocket, on its way to who has the connection.
#[derive(Clone)]
struct Handover(Arc<Mutex<Option<Session>>>);

/// What is told on a websocket.
pub(crate) struct Session {
    upgrade: OnUpgrade,
    messages: Messages,
    events: Events,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("messages", &self.messages).finish_non_exhaustive()
    }
}

impl Session {
    /// The session that an answer begins.
    pub fn of(response: &mut Response<Body>) -> Option<Self> {
        let Handover(session) = response.extensions_mut().remove()?;
        session.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Tells what there is until it ends or the client leaves.
    pub async fn run(self) {
        let Self { upgrade, messages, mut events } = self;
        let io = match upgrade.await {
            Ok(upgraded) => TokioIo::new(upgraded),
            Err(error) => return tracing::debug!(%error, "connection did not become a websocket"),
        };
        let config = WebSocketConfig::default().max_message_size(Some(SAID)).max_frame_size(Some(SAID));
        let mut socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
        loop {
            let piece = tokio::select! {
                piece = events.next() => piece,
                said = socket.next() => match said {
                    Some(Ok(message)) if !message.is_close() => continue,
                    _ => None,
                },
            };
            let Some(piece) = piece else { break };
            if !messages.send(&mut socket, piece).await {
                return;
            }
        }
        let farewell = async {
            let _ = socket.close(None).await;
            while let Some(Ok(_)) = socket.next().await {}
            let _ = socket.get_mut().shutdown().await;
        };
        let _ = tokio::time::timeout(FAREWELL, farewell).await;
    }
}

/// How a stream of events is cut into messages.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Messages {
    /// JSON: a line each.
    Lines,
    /// Protobuf: with its length before it, which a message does not need.
    Frames,
}

impl Messages {
    pub fn of(media: Media) -> Self {
        if media == Media::Protobuf { Self::Frames } else { Self::Lines }
    }

    /// Whether the client took them.
    async fn send<S>(self, socket: &mut WebSocketStream<S>, mut piece: Bytes) -> bool
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    {
        while let Some(message) = self.cut(&mut piece) {
            if !matches!(tokio::time::timeout(UNREAD, socket.send(message)).await, Ok(Ok(()))) {
                return false;
            }
        }
        true
    }

    /// Takes the first message off a piece of a stream.
    fn cut(self, piece: &mut Bytes) -> Option<Message> {
        match self {
            Self::Lines => {
                let end = piece.iter().position(|byte| *byte == b'\n')? + 1;
                Utf8Bytes::try_from(piece.split_to(end)).ok().map(Message::Text)
            }
            Self::Frames => {
                let length = piece.try_get_u32().ok()? as usize;
                (piece.len() >= length).then(|| Message::Binary(piece.split_to(length)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_is_a_message() {
        let cut = |messages: Messages, mut piece: Bytes| -> Vec<Message> {
            std::iter::from_fn(|| messages.cut(&mut piece)).collect()
        };
        let lines = cut(Messages::Lines, Bytes::from_static("{\"a\":\"ü\"}\n{\"b\":1}\n".as_bytes()));
        assert_eq!(lines, [Message::text("{\"a\":\"ü\"}\n"), Message::text("{\"b\":1}\n")]);
        let mut frames = Vec::new();
        pawl_protobuf::frame("ADDED", b"k8s\0one", &mut frames).unwrap();
        let first = frames.len();
        pawl_protobuf::frame("DELETED", b"k8s\0two", &mut frames).unwrap();
        let told = cut(Messages::Frames, Bytes::from(frames.clone()));
        assert_eq!(told, [Message::binary(frames[4..first].to_vec()), Message::binary(frames[first + 4..].to_vec())]);
    }

    #[test]
    fn a_handshake_is_held_to_its_rules() {
        let good = [
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("sec-websocket-version", "13"),
            ("origin", "https://a"),
            ("host", "A"),
        ];
        let check = |change: &[(&'static str, &'static str)], expected: Result<Option<&str>, u16>| {
            let mut headers = HeaderMap::new();
            for (name, value) in good.iter().chain(change) {
                headers.insert(*name, HeaderValue::from_static(value));
            }
            let said = handshake(&headers).map(|(accept, protocol)| {
                assert_eq!(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
                protocol.map(|p| p.to_str().unwrap().to_owned())
            });
            assert_eq!(said.map_err(|status| status.code), expected.map(|p| p.map(str::to_owned)), "{change:?}");
        };
        check(&[], Ok(None));
        check(&[("sec-websocket-protocol", "binary.k8s.io")], Ok(Some("binary.k8s.io")));
        let token = "base64url.bearer.authorization.k8s.io.Z29vZA, binary.k8s.io";
        check(&[("sec-websocket-protocol", token)], Ok(Some("binary.k8s.io")));
        check(&[("sec-websocket-protocol", "one, two")], Err(400));
        check(&[("sec-websocket-key", "")], Err(400));
        check(&[("sec-websocket-version", "8")], Err(400));
        check(&[("origin", "")], Err(403));
        // Without a token, only who comes from the server itself.
        check(&[("origin", "https://elsewhere")], Err(403));
        check(&[("origin", "https://elsewhere"), ("authorization", "Bearer x")], Ok(None));
        check(&[("origin", "https://elsewhere"), ("sec-websocket-protocol", token)], Ok(Some("binary.k8s.io")));
        check(&[("origin", "null"), ("host", "")], Err(403));
    }
}
