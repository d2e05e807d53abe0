//! The continue token of a list: where the next page begins, and of which state. Its form is upstream's.

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{NO_PAD, URL_SAFE_NO_PAD};
use pawl_kv::Revision;
use pawl_meta::{Status, go};
use serde::Serialize;
use serde_json::Value;

#[derive(Serialize)]
struct Token {
    v: String,
    rv: i64,
    start: String,
}

const TOKEN_VERSION: &str = "meta.k8s.io/v1";

/// A token whose state is gone: the error carries another one that goes on with the newest state.
pub(crate) fn inconsistent(start: &str, prefix: &str) -> Status {
    let last = start.strip_suffix('\0').unwrap_or(start);
    let mut status = Status::gone(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without \
         the continue parameter, or use the continue token in this response to retrieve the remainder of the results. \
         Continuing with the provided token results in an inconsistent list - objects that were created, modified, or \
         deleted between the time the first chunk was returned and now may show up in the list.",
    );
    status.continue_token = Some(token_text(-1, last, prefix));
    status
}

pub(crate) fn write_token(revision: Revision, last: &str, prefix: &str) -> String {
    token_text(i64::try_from(revision).unwrap_or(i64::MAX), last, prefix)
}

fn token_text(rv: i64, last: &str, prefix: &str) -> String {
    let start = format!("{}\0", last.strip_prefix(prefix).unwrap_or(last));
    let token = Token { v: TOKEN_VERSION.to_owned(), rv, start };
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
}

/// As Go reads it: the bits that are left over may be anything.
const LENIENT: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

/// The revision of a token and the key to start from.
pub(crate) fn read_token(text: &str, prefix: &str) -> Result<(i64, String), Status> {
    let wrong = |why: String| Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
    let bytes =
        LENIENT.decode(text).map_err(|e| wrong(format!("illegal base64 data at input byte {}", position(&e))))?;
    let token = token_of(&bytes).map_err(wrong)?;
    if token.v != TOKEN_VERSION {
        return Err(wrong(format!("server does not recognize this encoded version {}", token.v)));
    }
    if token.rv == 0 {
        return Err(wrong(format!("incorrect encoded start resourceVersion (version {TOKEN_VERSION})")));
    }
    if token.start.is_empty() {
        return Err(wrong(format!("encoded start key empty (version {TOKEN_VERSION})")));
    }
    // A start key that climbs out of its prefix is somebody playing.
    if token.start.split('/').any(|part| part == "." || part == "..") {
        return Err(wrong(token.start));
    }
    Ok((token.rv, format!("{prefix}{}", token.start)))
}

/// What a token says; what it leaves out is nothing.
fn token_of(bytes: &[u8]) -> Result<Token, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|_| pawl_schema::syntax_error(bytes))?;
    let unfit = |kind: &str, into: &str| format!("json: cannot unmarshal {kind} into Go {into}");
    let object = match &value {
        Value::Object(object) => object.clone(),
        Value::Null => Default::default(),
        other => return Err(unfit(go::json_kind(other), "value of type storage.continueToken")),
    };
    let member = |name: &str| object.get(name).filter(|value| !value.is_null());
    let text = |name: &str, field: &str| match member(name) {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(unfit(go::json_kind(other), &format!("struct field continueToken.{field} of type string"))),
    };
    let rv = match member("rv") {
        None => 0,
        Some(Value::Number(number)) => number
            .as_i64()
            .ok_or_else(|| unfit(&format!("number {number}"), "struct field continueToken.rv of type int64"))?,
        Some(other) => return Err(unfit(go::json_kind(other), "struct field continueToken.rv of type int64")),
    };
    Ok(Token { v: text("v", "v")?, rv, start: text("start", "start")? })
}

fn position(error: &base64::DecodeError) -> usize {
    match error {
        base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => *at,
        base64::DecodeError::InvalidLength(at) => *at,
        base64::DecodeError::InvalidPadding => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_lead_back_to_their_place() {
        let token = write_token(7, "ns/a", "ns/");
        assert_eq!(read_token(&token, "ns/").unwrap(), (7, "ns/a\0".to_owned()));
        for bad in ["", "!", "e30", "AAAA"] {
            assert_eq!(read_token(bad, "ns/").unwrap_err().code, 400, "{bad}");
        }
        let why = read_token("garbage", "ns/").unwrap_err().message;
        assert!(why.ends_with(r"invalid character '\u0081' looking for beginning of value"), "{why}");
    }
}
