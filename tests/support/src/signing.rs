//! Signing requests, as users and administrators send them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::{Value, json};

use crate::{Answer, Client};

pub const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
pub const CLIENT: &str = "kubernetes.io/kube-apiserver-client";

/// A request of Ann, who builds, in DER, and its key. She asks for a uid, too.
pub fn request() -> (Vec<u8>, KeyPair) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "builders");
    params.distinguished_name.push(DnType::CommonName, "ann");
    params.distinguished_name.push(DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]), "somebody-else");
    let request = params.serialize_request(&key).unwrap();
    (request.der().to_vec(), key)
}

/// The object that asks for a certificate.
pub fn object(name: &str, (signer, usage): (&str, &str), request: &[u8]) -> Value {
    let text = BASE64.encode(request);
    let pem = format!("-----BEGIN CERTIFICATE REQUEST-----\n{text}\n-----END CERTIFICATE REQUEST-----\n");
    json!({"metadata": {"name": name}, "spec": {
        "request": BASE64.encode(pem), "signerName": signer, "usages": [usage], "expirationSeconds": 3600,
    }})
}

/// Asks for a certificate, and keeps the key.
pub async fn ask(client: &Client, name: &str, signer: &str, usage: &str) -> KeyPair {
    let (request, key) = request();
    client.post(REQUESTS, &object(name, (signer, usage), &request)).await.unwrap().expect(201);
    key
}

pub fn approval() -> Value {
    json!({"conditions": [{"type": "Approved", "status": "True", "reason": "Test", "message": "it is Ann"}]})
}

/// Approves a request, or is told why not.
pub async fn approve(client: &Client, name: &str) -> Answer {
    let mut request = client.get(&format!("{REQUESTS}/{name}")).await.unwrap().expect(200);
    request["status"] = approval();
    client.put(&format!("{REQUESTS}/{name}/approval"), &request).await.unwrap()
}

pub async fn status(client: &Client, name: &str) -> Value {
    client.get(&format!("{REQUESTS}/{name}")).await.unwrap().expect(200)["status"].clone()
}
