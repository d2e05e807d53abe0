//! URLs, split as Go splits them.

use crate::env::Library;
use crate::error::EvalError;
use crate::library::text;
use crate::types::Type;
use crate::value::{Key, Map, Opaque, Val, quoted};
use std::any::Any;
use std::collections::BTreeMap;

/// The type's name.
pub const TYPE: &str = "kubernetes.URL";

#[derive(Debug)]
struct Url {
    text: String,
    scheme: String,
    host: String,
    escaped_path: String,
    query: String,
}

impl Opaque for Url {
    fn type_name(&self) -> &'static str {
        TYPE
    }

    fn equals(&self, other: &dyn Opaque) -> Option<bool> {
        other.as_any().downcast_ref::<Url>().map(|other| self.text == other.text)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Adds the functions on URLs.
pub fn add(library: &mut Library) {
    let url_type = Type::Object(TYPE.into());
    let one = std::slice::from_ref(&url_type);
    let f = &mut library.functions;
    f.global("url", "string_to_url", &[Type::String], url_type.clone(), |args| {
        let parsed = parse(text(args, 0)?);
        parsed
            .map(Val::opaque)
            .map_err(|why| EvalError::new(format!("URL parse error during conversion from string: {why}")))
    });
    f.global("isURL", "is_url_string", &[Type::String], Type::Bool, |args| {
        Ok(Val::Bool(parse(text(args, 0)?).is_ok()))
    });
    f.member("getScheme", "url_get_scheme", one, Type::String, |args| Ok(Val::string(url(args)?.scheme.clone())));
    f.member("getHost", "url_get_host", one, Type::String, |args| Ok(Val::string(url(args)?.host.clone())));
    f.member("getHostname", "url_get_hostname", one, Type::String, |args| {
        Ok(Val::string(split_port(&url(args)?.host).0.to_owned()))
    });
    f.member("getPort", "url_get_port", one, Type::String, |args| {
        Ok(Val::string(split_port(&url(args)?.host).1.to_owned()))
    });
    f.member("getEscapedPath", "url_get_escaped_path", one, Type::String, |args| {
        Ok(Val::string(url(args)?.escaped_path.clone()))
    });
    let query = Type::map(Type::String, Type::list(Type::String));
    f.member("getQuery", "url_get_query", one, query, |args| Ok(query_map(&url(args)?.query)));
}

fn url<'v>(args: &'v [Val<'_>]) -> Result<&'v Url, EvalError> {
    args.first().and_then(Val::downcast).ok_or(EvalError::NO_OVERLOAD)
}

/// Reads an absolute URL or an absolute path; failures are in the words of Go's parser.
pub fn parse_request(text: &str) -> Result<(), String> {
    parse(text).map(|_| ())
}

fn parse(text: &str) -> Result<Url, String> {
    parts(text).map_err(|why| format!("parse {}: {why}", quoted(text)))
}

fn parts(text: &str) -> Result<Url, String> {
    if text.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    if text.is_empty() {
        return Err("empty url".to_owned());
    }
    let mut url = Url {
        text: text.to_owned(),
        scheme: String::new(),
        host: String::new(),
        escaped_path: String::new(),
        query: String::new(),
    };
    if text == "*" {
        url.escaped_path = "*".to_owned();
        return Ok(url);
    }
    let (scheme, rest) = scheme(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    let with_fragment = rest;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            url.query = query.split('#').next().unwrap_or_default().to_owned();
            return Ok(url);
        }
        return Err("invalid URI for request".to_owned());
    }
    // What is asked for has no fragment; what is kept of it has.
    let kept = with_fragment.split('#').next().unwrap_or_default();
    let (kept_path, kept_query) = kept.split_once('?').unwrap_or((kept, ""));
    url.query = kept_query.to_owned();
    let mut path = rest;
    if let (false, Some(behind)) = (url.scheme.is_empty(), rest.strip_prefix("//")) {
        let end = behind.find('/').unwrap_or(behind.len());
        let (authority, after) = behind.split_at_checked(end).unwrap_or((behind, ""));
        url.host = host_of(authority)?;
        path = after;
    }
    unescape(path, false)?;
    let kept_path = if url.host.is_empty() && path == rest {
        kept_path
    } else {
        kept_path
            .strip_prefix("//")
            .map_or("", |behind| behind.find('/').and_then(|at| behind.get(at..)).unwrap_or_default())
    };
    url.escaped_path = escaped_path(kept_path)?;
    Ok(url)
}

fn scheme(text: &str) -> Result<(&str, &str), String> {
    for (index, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if index > 0 => {}
            ':' if index == 0 => return Err("missing protocol scheme".to_owned()),
            ':' => return Ok(text.split_once(':').unwrap_or(("", text))),
            _ => break,
        }
    }
    Ok(("", text))
}

fn host_of(authority: &str) -> Result<String, String> {
    let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    let user_allowed = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if user.is_some_and(|user| !user.chars().all(user_allowed)) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    let port = if let Some(rest) = host.strip_prefix('[') {
        let Some((_, port)) = rest.rsplit_once(']') else { return Err("missing ']' in host".to_owned()) };
        port
    } else {
        host.rfind(':').and_then(|at| host.get(at..)).unwrap_or_default()
    };
    let digits = port.strip_prefix(':').unwrap_or(port);
    if !port.is_empty() && (!port.starts_with(':') || !digits.bytes().all(|b| b.is_ascii_digit())) {
        return Err(format!("invalid port {} after host", quoted(port)));
    }
    let allowed = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:[]<>\"%".contains(c);
    if let Some(c) = host.chars().find(|c| !allowed(*c)) {
        return Err(format!("invalid character {} in host name", quoted(&c.to_string())));
    }
    unescape(host, false)
}

/// The name and the port of a host.
fn split_port(host: &str) -> (&str, &str) {
    let bracketed = host.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    if let Some((name, port)) = bracketed {
        return (name, port.strip_prefix(':').unwrap_or_default());
    }
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (name, port),
        _ => (host, ""),
    }
}

fn unescape(text: &str, plus_is_space: bool) -> Result<String, String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes().enumerate();
    while let Some((index, byte)) = bytes.next() {
        match byte {
            b'%' => {
                let hex = text.get(index + 1..index + 3).filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
                let Some(value) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) else {
                    let shown: String = text.get(index..).unwrap_or_default().chars().take(3).collect();
                    return Err(format!("invalid URL escape {}", quoted(&shown)));
                };
                out.push(value);
                bytes.next();
                bytes.next();
            }
            b'+' if plus_is_space => out.push(b' '),
            byte => out.push(byte),
        }
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// The path as written if that is a valid way to write it, else escaped anew.
fn escaped_path(path: &str) -> Result<String, String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~$&+,/:;=@".contains(&b);
    if path.bytes().all(|b| plain(b) || b"!'()*[]%".contains(&b)) {
        return Ok(path.to_owned());
    }
    let mut out = String::with_capacity(path.len() + 8);
    for byte in unescape(path, false)?.bytes() {
        if plain(byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    Ok(out)
}

fn query_map<'a>(query: &str) -> Val<'a> {
    let mut values: BTreeMap<String, Vec<Val<'a>>> = BTreeMap::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let (Ok(key), Ok(value)) = (unescape(key, true), unescape(value, true)) {
            values.entry(key).or_default().push(Val::string(value));
        }
    }
    let entries = values.into_iter().map(|(key, values)| (Key::String(key.into()), Val::list(values)));
    Val::Map(Map::from(entries.collect::<BTreeMap<_, _>>()))
}
