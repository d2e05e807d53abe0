//! Who was approved gets a certificate from the server's own CA, and is let in with it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use pawl_testing::{Client, Protocol, Running};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::{Value, json};

const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const CLIENT: &str = "kubernetes.io/kube-apiserver-client";

/// A request of Ann, in DER, and its key.
fn request() -> (Vec<u8>, KeyPair) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "builders");
    params.distinguished_name.push(DnType::CommonName, "ann");
    let request = params.serialize_request(&key).unwrap();
    (request.der().to_vec(), key)
}

async fn post(admin: &Client, (name, signer, usage): (&str, &str, &str), request: &[u8]) {
    let text = BASE64.encode(request);
    let pem = format!("-----BEGIN CERTIFICATE REQUEST-----\n{text}\n-----END CERTIFICATE REQUEST-----\n");
    let request = json!({"metadata": {"name": name}, "spec": {
        "request": BASE64.encode(pem), "signerName": signer, "usages": [usage], "expirationSeconds": 3600,
    }});
    admin.post(REQUESTS, &request).await.unwrap().expect(201);
}

/// Asks for a certificate, and keeps the key.
async fn ask(admin: &Client, name: &str, signer: &str, usage: &str) -> KeyPair {
    let (request, key) = request();
    post(admin, (name, signer, usage), &request).await;
    key
}

async fn approve(admin: &Client, name: &str) {
    let mut request = admin.get(&format!("{REQUESTS}/{name}")).await.unwrap().expect(200);
    request["status"] =
        json!({"conditions": [{"type": "Approved", "status": "True", "reason": "Test", "message": "it is Ann"}]});
    admin.put(&format!("{REQUESTS}/{name}/approval"), &request).await.unwrap().expect(200);
}

async fn status(admin: &Client, name: &str) -> Value {
    admin.get(&format!("{REQUESTS}/{name}")).await.unwrap().expect(200)["status"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_request_is_signed() {
    let mut running = Running::start(&[], &[]).await;
    let key = ask(&running.admin, "ann", CLIENT, "client auth").await;
    ask(&running.admin, "server", CLIENT, "server auth").await;
    ask(&running.admin, "elsewhere", "example.com/own", "client auth").await;
    ask(&running.admin, "unseen", CLIENT, "client auth").await;
    for name in ["elsewhere", "server", "ann"] {
        approve(&running.admin, name).await;
    }
    let admin = running.place.client(Protocol::Http2);
    let answered = async || {
        let both = (status(&admin, "ann").await, status(&admin, "server").await);
        match both.0["certificate"].is_string() && both.1["conditions"][1].is_object() {
            true => Ok(()),
            false => Err(format!("{both:?}").into()),
        }
    };
    running.until(answered).await;

    let certificate = status(&admin, "ann").await["certificate"].as_str().unwrap().to_owned();
    let certificate = String::from_utf8(BASE64.decode(certificate).unwrap()).unwrap();
    let ann = running.place.shown(Protocol::Http2, Some((certificate, key.serialize_pem())));
    let review = ann.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &json!({})).await.unwrap().expect(201);
    let user = &review["status"]["userInfo"];
    assert_eq!(user["username"], "ann");
    assert_eq!(user["groups"], json!(["builders", "system:authenticated"]));
    assert_eq!(ann.get("/api/v1/secrets").await.unwrap().code, 403);

    let refused = status(&admin, "server").await;
    assert!(refused["certificate"].is_null(), "{refused}");
    let failure = &refused["conditions"][1];
    assert_eq!((&failure["type"], &failure["status"]), (&json!("Failed"), &json!("True")));
    assert_eq!(failure["reason"], "SignerValidationFailure");
    assert_eq!(failure["message"], "invalid usage for client certificate: server auth");
    assert!(failure["lastUpdateTime"].is_string() && failure["lastTransitionTime"].is_string(), "{failure}");

    // Other signers answer for themselves, and what nobody approved stays.
    assert!(status(&admin, "elsewhere").await["certificate"].is_null());
    assert_eq!(status(&admin, "unseen").await, json!({}));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_the_controller_signs_nothing() {
    let mut running = Running::start(&["--controllers=*,-csrsigning"], &[]).await;
    ask(&running.admin, "ann", CLIENT, "client auth").await;
    approve(&running.admin, "ann").await;
    // Another controller has seen what came later.
    running.admin.post("/api/v1/namespaces", &json!({"metadata": {"name": "later"}})).await.unwrap().expect(201);
    let admin = running.place.client(Protocol::Http2);
    running.until(async || admin.get("/api/v1/namespaces/later/serviceaccounts/default").await?.ok()).await;
    assert!(status(&admin, "ann").await["certificate"].is_null());
    // It is signed as soon as somebody does.
    let mut running = running.restart(&[]).await;
    let admin = running.place.client(Protocol::Http2);
    let signed = async || match status(&admin, "ann").await["certificate"].is_string() {
        true => Ok(()),
        false => Err("it is not signed".into()),
    };
    running.until(signed).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_signed_by_its_own_key_is_refused() {
    let mut running = Running::start(&[], &[]).await;
    let (mut request, _) = request();
    let name = request.windows(3).position(|bytes| bytes == b"ann").unwrap();
    request[name..name + 3].copy_from_slice(b"bob");
    post(&running.admin, ("bob", CLIENT, "client auth"), &request).await;
    approve(&running.admin, "bob").await;
    let admin = running.place.client(Protocol::Http2);
    let failed = async || match status(&admin, "bob").await["conditions"][1]["message"].as_str() {
        Some("the request is not signed by its own key") => Ok(()),
        other => Err(format!("{other:?}").into()),
    };
    running.until(failed).await;
    assert!(status(&admin, "bob").await["certificate"].is_null());
    running.stop().await;
}
