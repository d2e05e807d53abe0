//! Where a request carries its credentials.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::PeerCertificates;

/// What a request carried that may say who sent it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Presented<'r> {
    /// The certificates that the peer has shown.
    pub certificate: Option<&'r PeerCertificates>,
    /// The header `Authorization`.
    pub authorization: Option<&'r str>,
    /// The headers `Sec-WebSocket-Protocol`, only of requests that ask to become a websocket.
    pub websocket_protocols: &'r [&'r str],
}

/// The token of an `Authorization` header. `None` for other schemes and for a malformed one: those count as no credential.
pub fn authorization_token(header: &str) -> Option<&str> {
    let mut parts = header.trim().split(' ');
    let scheme = parts.next()?;
    let token = parts.next()?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Whether a token is not taken for one because of the space before it, of which clients are told.
pub fn is_padded(header: &str) -> bool {
    let mut parts = header.trim().splitn(3, ' ');
    let is_bearer = parts.next().is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"));
    is_bearer && parts.next() == Some("") && parts.next().is_some()
}

/// How a token among the protocols of a websocket begins.
pub const WEBSOCKET_TOKEN: &str = "base64url.bearer.authorization.k8s.io.";

/// The token that a websocket client hides among its subprotocols, since browsers cannot set headers.
pub fn websocket_token<'r>(headers: impl Iterator<Item = &'r str>) -> Result<Option<String>, &'static str> {
    let mut token = None;
    let mut others = false;
    for protocol in headers.flat_map(|header| header.split(',')).map(str::trim) {
        let Some(encoded) = protocol.strip_prefix(WEBSOCKET_TOKEN) else {
            others = true;
            continue;
        };
        if token.is_some() {
            return Err("multiple base64.bearer.authorization tokens specified");
        }
        let decoded =
            URL_SAFE_NO_PAD.decode(encoded).map_err(|_| "invalid base64.bearer.authorization token encoding")?;
        token = Some(String::from_utf8(decoded).map_err(|_| "invalid base64.bearer.authorization token")?);
    }
    match token.filter(|token| !token.is_empty()) {
        // One other protocol must be there to be chosen: the one with the token must not be echoed.
        Some(_) if !others => Err("missing additional subprotocol"),
        found => Ok(found),
    }
}
