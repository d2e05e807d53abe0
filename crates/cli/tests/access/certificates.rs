//! Who shows a client certificate is who it says, or is told 401: the connection itself never breaks over it.

use std::fs;

use pawl_testing::authority::{Authority, Request};
use pawl_testing::{Answer, Client, Place, Protocol, Server, TOKEN};
use rcgen::ExtendedKeyUsagePurpose;
use serde_json::json;

const REVIEW: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const ADMIN: Request<'_> = Request {
    user: "carla",
    groups: &["system:masters"],
    names: &[],
    usage: ExtendedKeyUsagePurpose::ClientAuth,
    years: (2000, 4000),
};

/// A server that knows the clients of an authority.
async fn start(authority: &Authority) -> (Place, Server) {
    let mut place = Place::new();
    let file = place.path("client-ca.crt");
    fs::write(&file, &authority.certificate).unwrap();
    let server = place.start_flagged(&[&format!("--client-ca-file={}", file.display())]).await;
    (place, server)
}

/// Who the server says that somebody is, or its refusal.
async fn whoami(client: &Client) -> Result<String, Answer> {
    let answer = client.post(REVIEW, &json!({})).await.unwrap();
    match answer.code {
        201 => Ok(answer.json()["status"]["userInfo"]["username"].as_str().unwrap().to_owned()),
        _ => Err(answer),
    }
}

async fn check_refused(what: &str, client: &Client) {
    let refused = whoami(client).await.expect_err(what);
    let status = refused.expect(401);
    assert_eq!((&status["kind"], &status["reason"]), (&json!("Status"), &json!("Unauthorized")), "{what}");
    // Not even what is open to everybody.
    assert_eq!(client.get("/healthz").await.unwrap().code, 401, "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_does_not_hold_is_401() {
    let (ours, theirs) = (Authority::new("clients"), Authority::new("clients"));
    let (place, server) = start(&ours).await;
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = place.shown(protocol, Some(ours.sign(&ADMIN)));
        assert_eq!(whoami(&client).await.unwrap(), "carla");
        client.get("/api/v1/secrets").await.unwrap().expect(200);
        for (what, certificate) in [
            ("of an authority with the same name", theirs.sign(&ADMIN)),
            ("of an authority nobody knows", Authority::new("strangers").sign(&ADMIN)),
            ("expired", ours.sign(&Request { years: (2000, 2001), ..ADMIN })),
            ("not valid yet", ours.sign(&Request { years: (3999, 4000), ..ADMIN })),
            ("of a server", ours.sign(&Request { usage: ExtendedKeyUsagePurpose::ServerAuth, ..ADMIN })),
        ] {
            check_refused(what, &place.shown(protocol, Some(certificate.clone()))).await;
            // Another credential still counts.
            let client = place.shown(protocol, Some(certificate)).with_token(TOKEN);
            assert_eq!(whoami(&client).await.unwrap(), "root", "{what}");
        }
    }
    server.assert_no_panic();
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_may_lead_over_an_authority_between() {
    let root = Authority::new("root");
    let (between, other) = (root.subordinate("between"), Authority::new("other").subordinate("between"));
    let (place, server) = start(&root).await;
    let chained = |authority: &Authority| {
        let (certificate, key) = authority.sign(&ADMIN);
        (format!("{certificate}{}", authority.certificate), key)
    };
    assert_eq!(whoami(&place.shown(Protocol::Http2, Some(chained(&between)))).await.unwrap(), "carla");
    check_refused("half a chain", &place.shown(Protocol::Http2, Some(between.sign(&ADMIN)))).await;
    check_refused("a chain to a stranger", &place.shown(Protocol::Http2, Some(chained(&other)))).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_hold_the_key_is_nobody() {
    let authority = Authority::new("clients");
    let (place, server) = start(&authority).await;
    let (certificate, _) = authority.sign(&ADMIN);
    let (_, other_key) = authority.sign(&ADMIN);
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let thief = place.shown(protocol, Some((certificate.clone(), other_key.clone())));
        assert!(thief.get("/healthz").await.is_err(), "the handshake must fail");
    }
    assert_eq!(whoami(&place.client(Protocol::Http2)).await.unwrap(), "root");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_authority_counts_at_once_and_for_who_is_connected() {
    let (first, second) = (Authority::new("first"), Authority::new("second"));
    let (place, mut server) = start(&first).await;
    // One connection each, from now to the end.
    let early = place.shown(Protocol::Http2, Some(first.sign(&ADMIN)));
    let late = place.shown(Protocol::Http2, Some(second.sign(&ADMIN)));
    assert_eq!(whoami(&early).await.unwrap(), "carla");
    check_refused("too early", &late).await;
    fs::write(place.path("client-ca.crt"), &second.certificate).unwrap();
    let known = async || whoami(&late).await.map(drop).map_err(|answer| format!("{answer:?}").into());
    server.until(known).await.unwrap_or_else(|why| panic!("{why}"));
    check_refused("too late", &early).await;
    // A file that cannot be used changes nothing.
    fs::write(place.path("client-ca.crt"), "half a cert").unwrap();
    let told = async || match server_log(&place).contains("cannot be used") {
        true => Ok(()),
        false => Err("nothing was told".into()),
    };
    server.until(told).await.unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(whoami(&late).await.unwrap(), "carla");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_authority_is_taken_away_makes_no_other() {
    let mut place = Place::new();
    let mut server = place.start().await;
    let (pki, elsewhere) = (place.data().join("pki"), place.path("elsewhere"));
    let client = place.client(Protocol::Http1);
    fs::rename(&pki, &elsewhere).unwrap();
    let told = async || match server_log(&place).contains("cannot be used") {
        true => Ok(()),
        false => Err("nothing was told".into()),
    };
    server.until(told).await.unwrap_or_else(|why| panic!("{why}"));
    assert!(!pki.exists());
    // On a new connection, as all of them are.
    assert_eq!(whoami(&client).await.unwrap(), "root");
    fs::rename(&elsewhere, &pki).unwrap();
    assert_eq!(whoami(&client).await.unwrap(), "root");
    server.stop().await;
}

fn server_log(place: &Place) -> String {
    fs::read_to_string(place.path("stderr.log")).unwrap()
}
