//! The server starts the way controller-runtime's envtest starts a kube-apiserver: by that name, with its flags and the
//! certificates that it writes before, several side by side.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use pawl_testing::authority::{Authority, Request};
use pawl_testing::{Client, Place, Protocol, Server, Trust, signing};
use rcgen::ExtendedKeyUsagePurpose;
use serde_json::json;

/// A server as a test suite in Go has it.
struct Environment {
    place: Place,
    server: Server,
    /// Trusts the server and is an administrator.
    admin: Trust,
}

impl Environment {
    async fn start() -> Self {
        Self::start_flagged(&[]).await
    }

    async fn start_flagged(flags: &[&str]) -> Self {
        let place = Place::new();
        let certificates = place.path("certificates");
        fs::create_dir(&certificates).unwrap();
        let (serving, clients) = (Authority::new("serving-ca"), Authority::new("client-ca"));
        let (certificate, key) = serving.sign(&Request {
            user: "kube-apiserver",
            names: &["localhost", "127.0.0.1", "kubernetes.default.svc"],
            usage: ExtendedKeyUsagePurpose::ServerAuth,
            ..Request::default()
        });
        fs::write(certificates.join("apiserver.crt"), certificate).unwrap();
        fs::write(certificates.join("apiserver.key"), key).unwrap();
        fs::write(certificates.join("client-cert-auth-ca.crt"), &clients.certificate).unwrap();
        let (certificate, key) = serving.sign(&Request { user: "sa-signer", ..Request::default() });
        assert!(certificate.starts_with("-----BEGIN CERTIFICATE-----"));
        fs::write(certificates.join("sa-signer.crt"), certificate).unwrap();
        fs::write(certificates.join("sa-signer.key"), key).unwrap();
        let admin = clients.sign(&Request { user: "admin", groups: &["system:masters"], ..Request::default() });
        let mut command = command(&place, certificates);
        command.args(flags);
        let mut server = place.launch(command);
        let anonymous =
            Client::new(place.port, Protocol::Http1, &Trust { ca: serving.certificate.clone(), certificate: None });
        server.until(async || anonymous.get("/healthz").await?.ok()).await.unwrap_or_else(|why| panic!("{why}"));
        Self { place, server, admin: Trust { ca: serving.certificate, certificate: Some(admin) } }
    }

    fn client(&self) -> Client {
        Client::new(self.place.port, Protocol::Http2, &self.admin)
    }
}

fn command(place: &Place, certificates: PathBuf) -> Command {
    let assets = place.path("assets");
    fs::create_dir(&assets).unwrap();
    symlink(pawl_testing::binary(), assets.join("kube-apiserver")).unwrap();
    let in_certificates = |name: &str| certificates.join(name).display().to_string();
    let mut command = Command::new(assets.join("kube-apiserver"));
    command
        .arg("--allow-privileged=true")
        .arg("--authorization-mode=RBAC")
        .arg("--bind-address=127.0.0.1")
        .arg(format!("--cert-dir={}", certificates.display()))
        .arg(format!("--client-ca-file={}", in_certificates("client-cert-auth-ca.crt")))
        .arg("--disable-admission-plugins=ServiceAccount")
        .arg("--etcd-servers=http://127.0.0.1:1")
        .arg(format!("--secure-port={}", place.port))
        .arg(format!("--service-account-issuer=https://127.0.0.1:{}/", place.port))
        .arg(format!("--service-account-key-file={}", in_certificates("sa-signer.crt")))
        .arg(format!("--service-account-signing-key-file={}", in_certificates("sa-signer.key")))
        .arg("--service-cluster-ip-range=10.0.0.0/24")
        .arg(format!("--data-dir={}", place.data().display()));
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suite_finds_what_it_needs_and_stops_cleanly() {
    let Environment { place, mut server, admin } = Environment::start().await;
    let client = Client::new(place.port, Protocol::Http2, &admin);
    server
        .until(async || client.get("/api/v1/namespaces/default").await?.ok())
        .await
        .unwrap_or_else(|why| panic!("namespace default: {why}"));
    let identity = client
        .post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &json!({"kind": "SelfSubjectReview"}))
        .await
        .unwrap()
        .expect(201);
    assert_eq!(identity["status"]["userInfo"]["username"], "admin");

    let made = json!({"metadata": {"name": "x"}, "data": {"a": "b"}});
    client.post("/api/v1/namespaces/default/configmaps", &made).await.unwrap().expect(201);
    let mut watch = client.watch("/api/v1/namespaces/default/configmaps?watch=true").await.unwrap();

    // A user that the suite adds is somebody else, and a stranger is nobody.
    let anonymous = Client::new(place.port, Protocol::Http2, &Trust { certificate: None, ..admin.clone() });
    assert_eq!(anonymous.get("/api/v1/namespaces/default/configmaps/x").await.unwrap().code, 403);
    let request = Request { user: "admin", groups: &["system:masters"], ..Request::default() };
    let stranger = Authority::new("stranger").sign(&request);
    let stranger = Client::new(place.port, Protocol::Http1, &Trust { certificate: Some(stranger), ..admin.clone() });
    stranger.get("/api/v1/namespaces/default/configmaps/x").await.unwrap().expect(401);

    server.signal(pawl_testing::Signal::TERM);
    // What is left of the stream is events and a clean end.
    while watch.next().await.unwrap().is_some() {}
    assert_eq!(server.ended().await.code(), Some(0), "{}", server.log());
    server.assert_no_panic();
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_signed_with_the_given_key() {
    let environment = Environment::start().await;
    let client = environment.client();
    let namespace = json!({"metadata": {"name": "tokens"}});
    client.post("/api/v1/namespaces", &namespace).await.unwrap().expect(201);
    let accounts = "/api/v1/namespaces/tokens/serviceaccounts";
    client.post(accounts, &json!({"metadata": {"name": "robot"}})).await.unwrap().expect(201);
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let answer = client.post(&format!("{accounts}/robot/token"), &request).await.unwrap().expect(201);
    let token = answer["status"]["token"].as_str().unwrap();
    // {"alg":"ES256"…
    assert!(token.starts_with("eyJhbGciOiJFUzI1NiI"), "{token}");

    let trust = Trust { certificate: None, ..environment.admin.clone() };
    let robot = Client::new(environment.place.port, Protocol::Http2, &trust).with_token(token);
    let identity = robot
        .post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &json!({"kind": "SelfSubjectReview"}))
        .await
        .unwrap()
        .expect(201);
    assert_eq!(identity["status"]["userInfo"]["username"], "system:serviceaccount:tokens:robot");
    assert_eq!(robot.get("/api/v1/namespaces/tokens/configmaps").await.unwrap().code, 403);
    environment.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_servers_live_side_by_side() {
    let environments = futures::future::join_all((0..4).map(|_| Environment::start())).await;
    for (i, environment) in environments.iter().enumerate() {
        let namespace = json!({"metadata": {"name": format!("only-{i}")}});
        environment.client().post("/api/v1/namespaces", &namespace).await.unwrap().expect(201);
    }
    for (i, environment) in environments.iter().enumerate() {
        let list = environment.client().get("/api/v1/namespaces").await.unwrap().expect(200);
        let names = list["items"].as_array().unwrap().iter().filter_map(|object| object["metadata"]["name"].as_str());
        let ours: Vec<&str> = names.filter(|name| name.starts_with("only-")).collect();
        assert_eq!(ours, [format!("only-{i}")]);
    }
    for environment in environments {
        environment.server.stop().await;
    }
}

/// What controllers made in the namespace `n`, and whether a request that was approved is signed.
async fn found(client: &Client) -> (Vec<String>, bool) {
    let mut made = Vec::new();
    for resource in ["configmaps", "serviceaccounts"] {
        let list = client.get(&format!("/api/v1/namespaces/n/{resource}")).await.unwrap().expect(200);
        let names = list["items"].as_array().unwrap().iter().map(|object| object["metadata"]["name"].as_str().unwrap());
        made.extend(names.map(str::to_owned));
    }
    (made, signing::status(client, "ann").await["certificate"].is_string())
}

async fn fill(client: &Client) {
    for name in ["n", "passing"] {
        client.post("/api/v1/namespaces", &json!({"metadata": {"name": name}})).await.unwrap().expect(201);
    }
    signing::ask(client, "ann", signing::CLIENT, "client auth").await;
    signing::approve(client, "ann").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_suites_do_not_expect_is_not_there() {
    let mut environment = Environment::start().await;
    let client = environment.client();
    fill(&client).await;
    // Controllers are at work.
    client.delete("/api/v1/namespaces/passing").await.unwrap().expect(200);
    let gone = async || match client.get("/api/v1/namespaces/passing").await?.code {
        404 => Ok(()),
        code => Err(format!("{code}").into()),
    };
    environment.server.until(gone).await.unwrap();
    assert_eq!(found(&client).await, (Vec::new(), false));
    environment.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_suites_ask_for_is_there() {
    let mut environment = Environment::start_flagged(&["--controllers=*"]).await;
    let client = environment.client();
    fill(&client).await;
    let all = (vec!["kube-root-ca.crt".to_owned(), "default".to_owned()], true);
    let there = async || match found(&client).await {
        found if found == all => Ok(()),
        found => Err(format!("{found:?}").into()),
    };
    environment.server.until(there).await.unwrap();
    environment.server.stop().await;
}
