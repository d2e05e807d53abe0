//! Where a key service listens: `unix:///path/of.sock`, read the way Go reads addresses.

use pawl_meta::go;

/// The path of the socket. The error is the detail of a field error.
pub(super) fn parse(endpoint: &str) -> Result<String, String> {
    let invalid = |why: String| format!("invalid endpoint for kms provider, error: {why}");
    let malformed = |why: &str| invalid(format!("parse {}: {why}", go::quote(endpoint)));
    if endpoint.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return Err(malformed("net/url: invalid control character in URL"));
    }
    if endpoint.starts_with(':') {
        return Err(malformed("missing protocol scheme"));
    }
    let (scheme, rest) = match endpoint.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (scheme.to_ascii_lowercase(), rest),
        _ => (String::new(), endpoint),
    };
    if scheme != "unix" {
        return Err(format!("unsupported scheme {} for KMS provider, only unix is supported", go::quote(&scheme)));
    }
    let rest = rest.split(['#', '?']).next().unwrap_or_default();
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or_default(),
        None if rest.starts_with('/') => rest,
        None => "",
    };
    let path = unescape(path).map_err(|part| malformed(&format!("invalid URL escape {}", go::quote(&part))))?;
    match path.strip_prefix('/') {
        None | Some("") => Err(invalid("there is no path of a socket in it".to_owned())),
        Some(name) if name.starts_with('@') => Ok(name.to_owned()),
        Some(_) => Ok(path),
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

/// Replaces `%41` by what it stands for; the error is the part that stands for nothing.
fn unescape(path: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('%') {
        let (before, escape) = rest.split_at(at);
        bytes.extend_from_slice(before.as_bytes());
        let broken = || escape.chars().take(3).collect::<String>();
        let digits = escape.get(1..3).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit())).ok_or_else(broken)?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| broken())?);
        rest = escape.get(3..).unwrap_or_default();
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).map_err(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn sockets_are_found() {
        for (endpoint, socket) in [
            ("unix:///run/kms.sock", "/run/kms.sock"),
            ("UNIX:///run/kms.sock", "/run/kms.sock"),
            ("unix:/run/kms.sock", "/run/kms.sock"),
            ("unix:///@abstract", "@abstract"),
            ("unix:///a%20b?x#y", "/a b"),
        ] {
            assert_eq!(parse(endpoint).as_deref(), Ok(socket), "{endpoint}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for (endpoint, why) in [
            ("tcp://1.2.3.4:5", "unsupported scheme \"tcp\" for KMS provider, only unix is supported"),
            ("/run/kms.sock", "unsupported scheme \"\" for KMS provider, only unix is supported"),
            (":x", "invalid endpoint for kms provider, error: parse \":x\": missing protocol scheme"),
            (
                "unix:///%zz",
                "invalid endpoint for kms provider, error: parse \"unix:///%zz\": invalid URL escape \"%zz\"",
            ),
            ("unix:///%", "invalid endpoint for kms provider, error: parse \"unix:///%\": invalid URL escape \"%\""),
            ("unix://", "invalid endpoint for kms provider, error: there is no path of a socket in it"),
        ] {
            assert_eq!(parse(endpoint).unwrap_err(), why, "{endpoint}");
        }
    }
}
