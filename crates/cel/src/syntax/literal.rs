//! The values of literals as written.

/// Undoes quotes and escapes of a string or, without its `b`, of a bytes literal.
///
/// Bytes literals take `\x` and octal escapes as bytes; strings take them as code points.
pub fn unquote(text: &str, is_bytes: bool) -> Result<Vec<u8>, &'static str> {
    const BROKEN: &str = "unable to unescape string";
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let raw = text.starts_with(['r', 'R']);
    let quoted = if raw { text.get(1..).ok_or(BROKEN)? } else { text.as_str() };
    let body = ["\"\"\"", "'''", "\"", "'"]
        .iter()
        .find_map(|quote| {
            let inner = quoted.strip_prefix(quote)?.strip_suffix(quote)?;
            Some(inner)
        })
        .ok_or(BROKEN)?;
    if raw || !body.contains('\\') {
        return Ok(body.as_bytes().to_vec());
    }
    let mut out = Vec::with_capacity(body.len());
    let mut chars = body.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            push(&mut out, c);
            continue;
        }
        let kind = chars.next().ok_or(BROKEN)?;
        let code = |chars: &mut std::str::Chars<'_>, digits: usize, radix: u32, first: u32| {
            let mut value = first;
            for _ in 0..digits {
                let digit = chars.next().and_then(|c| c.to_digit(radix)).ok_or(BROKEN)?;
                value = value.wrapping_mul(radix).wrapping_add(digit);
            }
            Ok::<u32, &'static str>(value)
        };
        let point = match kind {
            'a' => 0x07,
            'b' => 0x08,
            'f' => 0x0c,
            'n' => 0x0a,
            'r' => 0x0d,
            't' => 0x09,
            'v' => 0x0b,
            '\\' | '\'' | '"' | '`' | '?' => kind as u32,
            'x' | 'X' => code(&mut chars, 2, 16, 0)?,
            'u' if !is_bytes => code(&mut chars, 4, 16, 0)?,
            'U' if !is_bytes => code(&mut chars, 8, 16, 0)?,
            '0'..='3' => code(&mut chars, 2, 8, kind as u32 - '0' as u32)?,
            _ => return Err(BROKEN),
        };
        if is_bytes {
            out.push(point as u8);
        } else {
            push(&mut out, char::from_u32(point).ok_or("invalid unicode code point")?);
        }
    }
    Ok(out)
}

fn push(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}
