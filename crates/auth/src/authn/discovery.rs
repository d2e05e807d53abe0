//! The OpenID documents by which others verify service-account tokens.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::keys::PublicKey;

/// The documents, and where they are served.
#[derive(Clone, Debug, PartialEq)]
pub struct Discovery {
    /// At `/.well-known/openid-configuration`, as `application/json`.
    pub configuration: Value,
    /// At `/openid/v1/jwks`, as `application/jwk-set+json`.
    pub keys: Value,
}

/// Why there are no documents; the server runs without them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    #[error("empty issuer URL")]
    NoIssuer,
    #[error("issuer URL must use https scheme, got: {0}")]
    IssuerScheme(String),
    #[error("issuer URL may not include a query, got: {0}")]
    IssuerQuery(String),
    #[error("issuer URL may not include a fragment, got: {0}")]
    IssuerFragment(String),
    #[error("jwksURI requires https scheme, parsed as: {0}")]
    KeysScheme(String),
    #[error("no keys provided for validating keyset")]
    NoKeys,
}

impl Discovery {
    pub const CONFIGURATION_PATH: &'static str = "/.well-known/openid-configuration";
    pub const KEYS_PATH: &'static str = "/openid/v1/jwks";
    /// For `Cache-Control`, in seconds.
    pub const MAX_AGE: u32 = 3600;

    /// `keys_uri` is where others find the keys; without one, they are at this server's external address.
    pub fn new(issuer: &str, keys_uri: &str, address: &str, keys: &[PublicKey]) -> Result<Self, DiscoveryError> {
        if issuer.is_empty() {
            return Err(DiscoveryError::NoIssuer);
        }
        if !issuer.starts_with("https://") {
            return Err(DiscoveryError::IssuerScheme(issuer.to_owned()));
        }
        if issuer.contains('#') {
            return Err(DiscoveryError::IssuerFragment(issuer.to_owned()));
        }
        if issuer.contains('?') {
            return Err(DiscoveryError::IssuerQuery(issuer.to_owned()));
        }
        let own = format!("https://{address}{}", Self::KEYS_PATH);
        let keys_uri = if keys_uri.is_empty() { &own } else { keys_uri };
        if !keys_uri.starts_with("https://") {
            return Err(DiscoveryError::KeysScheme(keys_uri.to_owned()));
        }
        if keys.is_empty() {
            return Err(DiscoveryError::NoKeys);
        }
        let algorithms: BTreeSet<&str> = keys.iter().map(PublicKey::algorithm).collect();
        let configuration = json!({
            "issuer": issuer,
            "jwks_uri": keys_uri,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": algorithms,
        });
        let keys: Vec<Value> = keys.iter().map(PublicKey::to_jwk).collect();
        Ok(Self { configuration, keys: json!({"keys": keys}) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authn::public_keys;

    #[test]
    fn documents_tell_where_and_how() {
        let keys = public_keys(include_str!("../../tests/keys/ec256.crt.pem")).unwrap();
        let documents = Discovery::new("https://a/", "", "host:6443", &keys).unwrap();
        assert_eq!(
            documents.configuration,
            json!({
                "issuer": "https://a/",
                "jwks_uri": "https://host:6443/openid/v1/jwks",
                "response_types_supported": ["id_token"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["ES256"],
            })
        );
        assert_eq!(documents.keys["keys"][0]["kid"], keys[0].id());
        let refuse = |issuer: &str, expect: &str| {
            assert_eq!(Discovery::new(issuer, "", "h", &keys).unwrap_err().to_string(), expect);
        };
        refuse("http://a", "issuer URL must use https scheme, got: http://a");
        refuse("https://a?b", "issuer URL may not include a query, got: https://a?b");
    }
}
