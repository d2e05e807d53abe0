//! What types and fields are for, in upstream's words.
//!
//! The prose is no part of the repository: the build script takes it from the crate `k8s-openapi` and leaves it here as a
//! compressed block, which is opened on first use. What Pawl adds to upstream's types is described here.

use std::collections::HashMap;
use std::sync::OnceLock;

const BLOCK: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptions.deflate"));

/// Separators of the block: before a type, before a field, and between a name and its text.
const TYPE: char = '\u{1d}';
const FIELD: char = '\u{1e}';
const TEXT: char = '\u{1f}';

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
const LIENS: &str = "Liens names who relies on this object. An object with liens cannot be deleted until the last one is \
     removed. Each is a namespaced key such as example.com/what.";
const IGNORE_LIENS: &str = "If true, the object is deleted in spite of its liens. This needs a permission of its own.";

/// What a type is for; types go by the name under which OpenAPI publishes them.
pub fn of_type(openapi_name: &str) -> Option<&'static str> {
    index().get(openapi_name).map(|t| t.text).filter(|text| !text.is_empty())
}

/// What a field of a type is for.
pub fn of_field(openapi_name: &str, field: &str) -> Option<&'static str> {
    match (openapi_name, field) {
        (OBJECT_META, "liens") => Some(LIENS),
        (DELETE_OPTIONS, "ignoreLiens") => Some(IGNORE_LIENS),
        _ => index().get(openapi_name)?.fields.get(field).copied(),
    }
}

#[derive(Default)]
struct Described {
    text: &'static str,
    fields: HashMap<&'static str, &'static str>,
}

fn index() -> &'static HashMap<&'static str, Described> {
    static TEXT_OF_BLOCK: OnceLock<String> = OnceLock::new();
    static INDEX: OnceLock<HashMap<&'static str, Described>> = OnceLock::new();
    INDEX.get_or_init(|| {
        let text = TEXT_OF_BLOCK.get_or_init(|| {
            let bytes = miniz_oxide::inflate::decompress_to_vec(BLOCK).unwrap_or_default();
            String::from_utf8(bytes).unwrap_or_default()
        });
        text.split(TYPE).filter_map(read_type).collect()
    })
}

fn read_type(record: &'static str) -> Option<(&'static str, Described)> {
    let mut entries = record.split(FIELD).filter_map(|entry| entry.split_once(TEXT));
    let (name, text) = entries.next()?;
    Some((name, Described { text, fields: entries.collect() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_fields_are_described() {
        assert!(index().len() > 500, "{}", index().len());
        assert!(of_type("io.k8s.api.core.v1.Pod").is_some_and(|t| t.starts_with("Pod is")));
        assert!(of_field("io.k8s.api.core.v1.PodSpec", "containers").is_some());
        assert!(of_field("io.k8s.api.core.v1.PodSpec", "nope").is_none());
        assert!(of_type("com.example.Nope").is_none());
    }

    #[test]
    fn what_is_ours_is_described_too() {
        assert!(of_field(OBJECT_META, "liens").is_some_and(|t| t.contains("example.com/what")));
        assert!(of_field(DELETE_OPTIONS, "ignoreLiens").is_some());
    }
}
