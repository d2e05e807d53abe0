//! What a server says about itself: the documents under `/api`, `/apis`, `/openapi/v2` and `/openapi/v3`.
//!
//! Pure functions from the table of resources to documents. A table is a slice in the order of discovery: groups come in
//! the order of their first resource, versions of a group likewise, the first being preferred. Nothing is kept here:
//! whoever serves a document caches it until the table changes. It knows nothing of requests, negotiation or storage.

pub mod aggregated;
mod definition;
mod fingerprint;
mod info;
pub mod legacy;
mod names;
pub mod openapi_v2;
pub mod openapi_v3;
mod operations;
mod parameters;
mod paths;
mod protobuf;
mod table;

use pawl_kinds::Kinds;
use sha2::{Digest, Sha512};

/// What documents are made of, beside the table of resources.
#[derive(Clone, Copy)]
pub struct Source {
    pub builtin: &'static Kinds,
    /// Parameters of queries that nothing looks at, because their gate is off: what is advertised is relied on.
    pub without: &'static [&'static str],
}

impl From<&'static Kinds> for Source {
    fn from(builtin: &'static Kinds) -> Self {
        Self { builtin, without: &[] }
    }
}

/// The entity tag of a document, without the quotes that the header adds.
pub fn etag(document: &[u8]) -> String {
    hexadecimal(&Sha512::digest(document))
}

fn hexadecimal(digest: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digit = |value: u8| DIGITS.get(usize::from(value)).copied().map_or('0', char::from);
    digest.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_etag_is_sha512_in_capitals() {
        assert!(super::etag(b"").starts_with("CF83E1357EEFB8BDF1542850D66D8007"));
        assert_eq!(super::etag(b"x").len(), 128);
    }
}
