//! Configurations of encryption at rest.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use crate::Place;

pub const RELOAD: &str = "--encryption-provider-config-automatic-reload";

/// A provider with keys of these names, the first of which seals.
pub fn keys(provider: &str, names: &[&str]) -> Value {
    let secret = |name: &str| BASE64.encode([name.len() as u8 ^ name.as_bytes()[0]; 32]);
    let keys: Vec<Value> = names.iter().map(|name| json!({"name": name, "secret": secret(name)})).collect();
    json!({ provider: { "keys": keys } })
}

pub fn write(path: &Path, providers: &Value) {
    write_for(path, &["secrets", "configmaps"], providers);
}

/// A configuration for some resources.
pub fn write_for(path: &Path, resources: &[&str], providers: &Value) {
    let text = json!({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration",
        "resources": [{"resources": resources, "providers": providers}]});
    // In one step: half a file is refused, and that is another test.
    let half = path.with_extension("half");
    std::fs::write(&half, text.to_string()).unwrap();
    std::fs::rename(half, path).unwrap();
}

pub fn flag(place: &Place) -> String {
    format!("--encryption-provider-config={}", place.path("encryption.yaml").display())
}
