//! Flags do what they say, seen from outside.

use std::sync::Arc;

use pawl_testing::{Protocol, Running, pawl};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};

const PODS: &str = "/api/v1/namespaces/n/pods";
const WITHOUT_ACCOUNTS: &str = "--disable-admission-plugins=ServiceAccount";

fn pod(context: Value) -> Value {
    let container = json!({"name": "c", "image": "i", "securityContext": context});
    json!({"metadata": {"name": "p"}, "spec": {"containers": [container]}})
}

#[tokio::test(flavor = "multi_thread")]
async fn default_tolerations_last_as_long_as_the_flags_say() {
    for (flags, expect) in [
        (&[WITHOUT_ACCOUNTS][..], [300, 300]),
        (
            &[
                WITHOUT_ACCOUNTS,
                "--default-not-ready-toleration-seconds=7",
                "--default-unreachable-toleration-seconds=11",
            ],
            [7, 11],
        ),
    ] {
        let running = Running::start(flags, &[]).await;
        let made = running.admin.post(PODS, &pod(json!({}))).await.unwrap().expect(201);
        let tolerations = made["spec"]["tolerations"].as_array().unwrap();
        let seconds: Vec<(&Value, &Value)> = tolerations.iter().map(|t| (&t["key"], &t["tolerationSeconds"])).collect();
        let expect = [
            (&json!("node.kubernetes.io/not-ready"), &json!(expect[0])),
            (&json!("node.kubernetes.io/unreachable"), &json!(expect[1])),
        ];
        assert_eq!(seconds, expect);
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn privileged_containers_can_be_forbidden() {
    let running = Running::start(&[WITHOUT_ACCOUNTS, "--allow-privileged=false"], &[]).await;
    let status = running.admin.post(PODS, &pod(json!({"privileged": true}))).await.unwrap().expect(422);
    let text =
        "Pod \"p\" is invalid: spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy";
    assert_eq!(status["message"], text);
    running.admin.post(PODS, &pod(json!({"privileged": false}))).await.unwrap().expect(201);
    let running = running.restart(&[WITHOUT_ACCOUNTS]).await;
    let mut other = pod(json!({"privileged": true}));
    other["metadata"]["name"] = json!("other");
    running.admin.post(PODS, &other).await.unwrap().expect(201);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_live_no_longer_than_the_flag_says() {
    let running = Running::start(&["--service-account-max-token-expiration=2h"], &[]).await;
    let account = json!({"metadata": {"name": "robot"}});
    running.admin.post("/api/v1/namespaces/n/serviceaccounts", &account).await.unwrap().expect(201);
    for (asked, given) in [(3600, 3600), (86_400, 7200)] {
        let request = json!({"spec": {"expirationSeconds": asked}});
        let path = "/api/v1/namespaces/n/serviceaccounts/robot/token";
        let answer = running.admin.post(path, &request).await.unwrap().expect(201);
        assert_eq!(answer["spec"]["expirationSeconds"], given);
    }
    running.stop().await;
    let refused = pawl().args(["serve", "--service-account-max-token-expiration=1m"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
}

/// Whether a server speaks a version of TLS.
async fn speaks(running: &Running, version: &'static SupportedProtocolVersion) -> bool {
    let mut roots = RootCertStore::empty();
    let ca = std::fs::read(running.place.data().join("pki/ca.crt")).unwrap();
    let ca = <rustls_pki_types::CertificateDer<'_> as rustls_pki_types::pem::PemObject>::from_pem_slice(&ca).unwrap();
    roots.add(ca).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(("127.0.0.1", running.place.port)).await.unwrap();
    TlsConnector::from(Arc::new(config)).connect("127.0.0.1".try_into().unwrap(), stream).await.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn old_tls_can_be_switched_off() {
    let running = Running::start(&[], &[]).await;
    assert_eq!((speaks(&running, &TLS12).await, speaks(&running, &TLS13).await), (true, true));
    let running = running.restart(&["--tls-min-version=VersionTLS13"]).await;
    assert_eq!((speaks(&running, &TLS12).await, speaks(&running, &TLS13).await), (false, true));
    running.stop().await;
}

/// Which protocol a server chooses of both.
async fn chosen(running: &Running) -> Vec<u8> {
    let mut roots = RootCertStore::empty();
    let ca = std::fs::read(running.place.data().join("pki/ca.crt")).unwrap();
    let ca = <rustls_pki_types::CertificateDer<'_> as rustls_pki_types::pem::PemObject>::from_pem_slice(&ca).unwrap();
    roots.add(ca).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let stream = TcpStream::connect(("127.0.0.1", running.place.port)).await.unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect("127.0.0.1".try_into().unwrap(), stream).await.unwrap();
    stream.get_ref().1.alpn_protocol().unwrap().to_vec()
}

#[tokio::test(flavor = "multi_thread")]
async fn http2_can_be_switched_off() {
    let running = Running::start(&[], &[]).await;
    assert_eq!(chosen(&running).await, b"h2");
    let running = running.restart(&["--disable-http2-serving"]).await;
    assert_eq!(chosen(&running).await, b"http/1.1");
    let client = running.place.client(Protocol::Http1);
    client.get("/api/v1/namespaces").await.unwrap().expect(200);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_everything_is_allowed_nobody_is_anonymous() {
    let flags = ["--authorization-mode=AlwaysAllow", "--anonymous-auth=true"];
    let running = Running::start(&flags, &["alice"]).await;
    let anonymous = running.place.anonymous(Protocol::Http2);
    anonymous.get("/api/v1/secrets").await.unwrap().expect(401);
    running.user("alice").get("/api/v1/secrets").await.unwrap().expect(200);
    assert!(running.server.log().contains("--anonymous-auth counts as false"), "{}", running.server.log());
    running.stop().await;
}

/// A server that listens on loopback is reached by the address of its machine, as far as others are told.
#[tokio::test(flavor = "multi_thread")]
async fn the_kubernetes_service_leads_somewhere() {
    let way = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    let here =
        way.connect("198.51.100.1:9").ok().and_then(|()| way.local_addr().ok()).map(|here| here.ip().to_string());
    for (flags, expected) in [(&[][..], here.as_deref()), (&["--advertise-address=192.0.2.7"], Some("192.0.2.7"))] {
        let running = Running::start(flags, &[]).await;
        let namespaces = "namespaces/default";
        let endpoints = running.admin.get(&format!("/api/v1/{namespaces}/endpoints/kubernetes")).await.unwrap();
        let slice = running
            .admin
            .get(&format!("/apis/discovery.k8s.io/v1/{namespaces}/endpointslices/kubernetes"))
            .await
            .unwrap();
        match expected {
            Some(address) => {
                assert_eq!(endpoints.expect(200)["subsets"][0]["addresses"][0]["ip"], address);
                assert_eq!(slice.expect(200)["endpoints"][0]["addresses"][0], address);
            }
            None => assert_eq!((endpoints.code, slice.code), (404, 404)),
        }
        running.stop().await;
    }
}
