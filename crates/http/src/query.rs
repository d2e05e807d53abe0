//! Query parameters and the way Go reads them.

use std::borrow::Cow;

use pawl_meta::Status;

/// The parameters of a request in their order.
#[derive(Clone, Debug, Default)]
pub struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    pub fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|p| !p.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(key), decode(value))
        });
        Self { pairs: pairs.collect() }
    }

    /// The first value of a parameter; an empty one counts.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    pub fn all<'q>(&'q self, key: &'q str) -> impl Iterator<Item = &'q str> {
        self.pairs.iter().filter(move |(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// A number, as `strconv.ParseInt` reads it.
    pub fn int(&self, key: &str) -> Result<Option<i64>, Status> {
        match self.get(key) {
            None | Some("") => Ok(None),
            Some(text) => text.parse().map(Some).map_err(|e: std::num::ParseIntError| {
                let why = match e.kind() {
                    std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => "value out of range",
                    _ => "invalid syntax",
                };
                Status::bad_request(format!("strconv.ParseInt: parsing {}: {why}", pawl_meta::go::quote(text)))
            }),
        }
    }

    /// A flag, as upstream's conversion reads it: present is true unless it says false or 0.
    pub fn flag(&self, key: &str) -> Option<bool> {
        self.get(key).map(|v| !matches!(v.to_lowercase().as_str(), "false" | "0"))
    }
}

/// Percent and plus decoding of a parameter.
fn decode(text: &str) -> String {
    let text = if text.contains('+') { Cow::Owned(text.replace('+', " ")) } else { Cow::Borrowed(text) };
    decode_path(&text)
}

/// Percent decoding of a path segment; what is not valid stays as it is.
pub fn decode_path(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut out = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = |i: usize| bytes.get(i).and_then(|b| char::from(*b).to_digit(16)).and_then(|d| u8::try_from(d).ok());
        match (byte, hex(at + 1), hex(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push(high * 16 + low);
                at += 3;
            }
            _ => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let query = Query::parse("a=1%2C2&b&c=x+y&a=3&d=%zz");
        assert_eq!(query.get("a"), Some("1,2"));
        assert_eq!(query.all("a").count(), 2);
        assert_eq!(query.get("b"), Some(""));
        assert_eq!(query.get("c"), Some("x y"));
        assert_eq!(query.get("d"), Some("%zz"));
        assert_eq!(
            Query::parse("n=abc").int("n").unwrap_err().message,
            "strconv.ParseInt: parsing \"abc\": invalid syntax"
        );
    }
}
