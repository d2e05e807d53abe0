//! Certificates in a config map that several servers write to: each adds its own, nobody takes away another's.

use pawl_meta::time;
use serde_json::{Map, Value};

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";

/// What is there and what this server has, put together text by text. Expired certificates are left out.
pub(super) fn merged(existing: Option<&Value>, own: &Value) -> Value {
    let empty = Map::new();
    let existing = existing.and_then(Value::as_object).unwrap_or(&empty);
    let mut merged = existing.clone();
    for (key, value) in own.as_object().into_iter().flatten() {
        let own = value.as_str().unwrap_or_default();
        let known = existing.get(key).and_then(Value::as_str).unwrap_or_default();
        merged.insert(key.clone(), Value::from(merge_pem(known, own)));
    }
    Value::Object(merged)
}

fn merge_pem(known: &str, own: &str) -> String {
    let mut blocks: Vec<String> = Vec::new();
    for block in [known, own].into_iter().flat_map(split) {
        if !blocks.contains(&block) && !is_expired(&block) {
            blocks.push(block);
        }
    }
    blocks.concat()
}

fn split(pem: &str) -> impl Iterator<Item = String> {
    pem.split(BEGIN).skip(1).map(|rest| format!("{BEGIN}{}\n", rest.trim_end()))
}

fn is_expired(pem: &str) -> bool {
    let Ok((_, block)) = x509_parser::pem::parse_x509_pem(pem.as_bytes()) else { return false };
    let until = block.parse_x509().map(|certificate| certificate.validity().not_after.timestamp());
    until.is_ok_and(|until| until < time::unix_now())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn certificate(name: &str) -> String {
        let key = rcgen::KeyPair::generate().unwrap();
        rcgen::CertificateParams::new(vec![name.to_owned()])
            .unwrap()
            .self_signed(&key)
            .unwrap()
            .pem()
            .replace("\r\n", "\n")
    }

    #[test]
    fn each_certificate_stands_once() {
        let (one, two) = (certificate("one"), certificate("two"));
        let existing = json!({"client-ca-file": one, "other": "x"});
        let own = json!({"client-ca-file": format!("{two}{one}")});
        let merged = merged(Some(&existing), &own);
        assert_eq!(merged, json!({"client-ca-file": format!("{one}{two}"), "other": "x"}));
        assert_eq!(super::merged(Some(&merged), &own), merged);
    }
}
