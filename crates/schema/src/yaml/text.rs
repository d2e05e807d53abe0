//! From bytes to text, as Go's YAML reader does it: byte order marks, UTF-16, and what must not be in a text.

use std::borrow::Cow;

/// The text of a document, or why it is none.
pub(super) fn read(bytes: &[u8]) -> Result<Cow<'_, str>, String> {
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes)?.into(),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes)?.into(),
        [0xef, 0xbb, 0xbf, rest @ ..] => Cow::Borrowed(narrow(rest)?),
        bytes => Cow::Borrowed(narrow(bytes)?),
    };
    check(&text)?;
    Ok(text)
}

/// Refuses characters that may not stand in YAML, not even within quotes.
pub(super) fn check(text: &str) -> Result<(), String> {
    let is_allowed = |c: char| match c {
        '\t' | '\n' | '\r' | '\u{85}' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        c => !c.is_control(),
    };
    // Most texts are plain, and found to be so many bytes at a time.
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
    let plain = text.as_bytes().chunks(256).all(|chunk| chunk.iter().fold(true, |plain, byte| plain & is_plain(byte)));
    if plain || text.chars().all(is_allowed) {
        Ok(())
    } else {
        Err("yaml: control characters are not allowed".to_owned())
    }
}

fn narrow(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|error| {
        let first = bytes.get(error.valid_up_to()).copied().unwrap_or_default();
        let what = match (error.error_len(), first) {
            (None, _) => "incomplete UTF-8 octet sequence",
            (_, 0xc0..=0xf7) => "invalid trailing UTF-8 octet",
            _ => "invalid leading UTF-8 octet",
        };
        format!("yaml: {what}")
    })
}

fn wide(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err("yaml: incomplete UTF-16 character".to_owned());
    }
    let text: Result<String, _> = char::decode_utf16(pairs.iter().copied().map(unit)).collect();
    text.map_err(|_| "yaml: unexpected low surrogate area".to_owned())
}
