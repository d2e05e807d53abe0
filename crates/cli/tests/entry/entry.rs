//! The ways into Pawl for test suites and CI: a free port, a server that leaves nothing behind, a command with a server of
//! its own, and the directory that stands for kube-apiserver and etcd.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use pawl_testing::{Place, Protocol, Server, Signal, pawl};

/// A client by a kubeconfig that a server wrote.
async fn client(kubeconfig: &Path) -> Client {
    let text = fs::read_to_string(kubeconfig).unwrap();
    let kubeconfig = Kubeconfig::from_yaml(&text).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

async fn until_written(server: &mut Server, path: &Path) {
    let written = async || if path.exists() { Ok(()) } else { Err("no kubeconfig yet".into()) };
    server.until(written).await.unwrap_or_else(|why| panic!("{why}"));
}

fn manifests(place: &Place) -> PathBuf {
    let directory = place.path("manifests");
    fs::create_dir_all(&directory).unwrap();
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sown, namespace: field}\ndata: {a: b}\n---\n\
                apiVersion: v1\nkind: Namespace\nmetadata: {name: field}\n";
    fs::write(directory.join("all.yaml"), text).unwrap();
    directory
}

#[tokio::test(flavor = "multi_thread")]
async fn a_free_port_is_told_in_the_kubeconfig_and_an_ephemeral_server_leaves_nothing() {
    let place = Place::new();
    let (kubeconfig, temporary) = (place.path("kubeconfig"), place.path("tmp"));
    fs::create_dir(&temporary).unwrap();
    let mut command = pawl();
    command
        .args(["serve", "--ephemeral", "--secure-port=0"])
        .arg(format!("--write-kubeconfig={}", kubeconfig.display()))
        .arg(format!("--seed={}", manifests(&place).display()))
        .env("TMPDIR", &temporary)
        .current_dir(place.path(""));
    let mut server = place.launch(command);
    until_written(&mut server, &kubeconfig).await;
    assert_eq!(fs::metadata(&kubeconfig).unwrap().permissions().mode() & 0o777, 0o600);
    // What was sown is there from the first request on.
    let maps: Api<ConfigMap> = Api::namespaced(client(&kubeconfig).await, "field");
    assert_eq!(maps.get("sown").await.unwrap().data.unwrap()["a"], "b");
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 1);
    server.stop().await;
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    assert!(!place.path("pawl-data").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_is_refused_writes_nothing() {
    let place = Place::new();
    fs::write(place.path("broken.yaml"), "kind: [").unwrap();
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let taken = format!("--secure-port={}", taken.local_addr().unwrap().port());
    for flags in [
        &["--tls-cert-file=none.crt", "--tls-private-key-file=none.key"][..],
        &["--client-ca-file=none.crt"],
        &["--client-ca-file=broken.yaml"],
        &["--controllers=garbage-colector-controller"],
        &["--token-auth-file=none.csv"],
        &["--service-account-key-file=none.key"],
        &["--service-account-signing-key-file=broken.yaml", "--service-account-issuer=https://example.com"],
        &["--audit-policy-file=none.yaml"],
        &["--audit-policy-file=broken.yaml"],
        &["--authorization-mode=Sometimes"],
        &["--enable-admission-plugins=None"],
        &["--encryption-provider-config=broken.yaml"],
        &["--write-kubeconfig=none/kubeconfig"],
        &["--tls-san=https://example.com"],
        &["--seed=broken.yaml"],
        &["--seed=none"],
        &["--etcd-servers=http://127.0.0.1:1"],
        &["--ephemeral", "--data-dir=data"],
        &["--data-dir="],
        &[&taken],
    ] {
        let output =
            pawl().arg("serve").arg("--secure-port=0").args(flags).current_dir(place.path("")).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{flags:?}: {text}");
        assert!(text.contains("Error: "), "{flags:?}: {text}");
        assert!(!place.path("pawl-data").exists() && !place.path("data").exists(), "{flags:?}");
    }
}

/// Runs a shell command with a server of its own.
fn run(place: &Place, flags: &[&str], script: &str) -> Output {
    let temporary = place.path("tmp");
    fs::create_dir_all(&temporary).unwrap();
    let mut command = pawl();
    command.arg("run").args(flags).args(["--", "sh", "-c", script]).env("TMPDIR", temporary);
    command.current_dir(place.path("")).output().unwrap()
}

#[test]
fn a_command_has_a_server_of_its_own() {
    let place = Place::new();
    let output = run(&place, &[], "cat \"$KUBECONFIG\"");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("server: https://127.0.0.1:"), "{output:?}");
    // All is well: nobody wants to read a log.
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let failed = run(&place, &[], "exit 7");
    assert_eq!(failed.status.code(), Some(7));
    assert!(String::from_utf8_lossy(&failed.stderr).contains("the server's log"), "{failed:?}");
    let killed = run(&place, &[], "kill -KILL $$");
    assert_eq!(killed.status.code(), Some(128 + 9));
    assert_eq!(fs::read_dir(place.path("tmp")).unwrap().count(), 0, "something was left behind");
    let kept = run(&place, &["--keep"], "true");
    assert!(String::from_utf8_lossy(&kept.stderr).starts_with("kept: "), "{kept:?}");
    assert_eq!(fs::read_dir(place.path("tmp")).unwrap().count(), 1);
    let missing = pawl().args(["run", "--", "/no/such/program"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(1));
}

/// The directory as envtest uses it: etcd first, by its flags, then the API server.
#[tokio::test(flavor = "multi_thread")]
async fn the_assets_stand_for_kube_apiserver_and_etcd() {
    let place = Place::new();
    let assets = place.path("assets");
    for _ in 0..2 {
        let made = pawl().arg("assets").arg(&assets).output().unwrap();
        assert!(made.status.success(), "{made:?}");
    }
    let version = |name: &str| {
        let output = Command::new(assets.join(name)).arg("--version").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(version("kube-apiserver").starts_with("Kubernetes v1.36."));
    assert!(version("etcd").starts_with("etcd Version: 3."));

    let port = pawl_testing::free_port();
    let mut command = Command::new(assets.join("etcd"));
    command
        .arg("--listen-peer-urls=http://localhost:0")
        .arg(format!("--advertise-client-urls=http://127.0.0.1:{port}"))
        .arg(format!("--listen-client-urls=http://127.0.0.1:{port}"))
        .arg(format!("--data-dir={}", place.path("etcd-data").display()))
        .arg("--unsafe-no-fsync");
    let mut etcd = place.launch(command);
    let healthy = async || {
        ask(port, "/health")
            .await
            .filter(|text| text.contains(r#""health":"true""#))
            .map(drop)
            .ok_or("unhealthy".into())
    };
    etcd.until(healthy).await.unwrap_or_else(|why| panic!("{why}"));
    assert!(ask(port, "/version").await.unwrap().contains("etcdserver"));

    let mut command = Command::new(assets.join("kube-apiserver"));
    let kubeconfig = place.path("kubeconfig");
    command
        .arg(format!("--etcd-servers=http://127.0.0.1:{port}"))
        .arg("--secure-port=0")
        .arg("--disable-admission-plugins=ServiceAccount")
        .arg(format!("--write-kubeconfig={}", kubeconfig.display()))
        .current_dir(place.path(""));
    let mut apiserver = place.launch(command);
    until_written(&mut apiserver, &kubeconfig).await;
    let maps: Api<ConfigMap> = Api::namespaced(client(&kubeconfig).await, "default");
    // Suites count what is there: nothing is put into namespaces that they did not put there.
    assert_eq!(maps.list(&Default::default()).await.unwrap().items.len(), 0);
    assert!(place.path("etcd-data").join("pawl/store").is_dir());
    apiserver.stop().await;
    etcd.signal(Signal::TERM);
    assert_eq!(etcd.ended().await.code(), Some(0));
}

async fn ask(port: u16, path: &str) -> Option<String> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await.ok()?;
    Some(text)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_ends_with_who_started_it() {
    let place = Place::new();
    let kubeconfig = place.path("kubeconfig");
    let mut command = Command::new("sh");
    command
        .args(["-c", "\"$0\" serve --ephemeral --exit-with-parent --secure-port=0 --write-kubeconfig=\"$1\" & echo $! >pid; sleep 600"])
        .arg(pawl_testing::binary())
        .arg(&kubeconfig)
        .current_dir(place.path(""));
    let mut shell = place.launch(command);
    until_written(&mut shell, &kubeconfig).await;
    let process = PathBuf::from("/proc").join(fs::read_to_string(place.path("pid")).unwrap().trim());
    assert!(process.exists());
    shell.kill();
    let deadline = std::time::Instant::now() + pawl_testing::DEADLINE;
    // A process that nobody waits for stays as a zombie.
    let runs = || fs::read_to_string(process.join("stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while runs() {
        assert!(std::time::Instant::now() < deadline, "the server is still there");
        pawl_testing::pause().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_names_renew_the_certificate_and_keep_the_authority() {
    let mut place = Place::new();
    let pki = place.data().join("pki");
    let read = |name: &str| fs::read_to_string(pki.join(name)).unwrap();
    place.start().await.stop().await;
    let (authority, first) = (read("ca.crt"), read("apiserver.crt"));
    place.start().await.stop().await;
    assert_eq!(read("apiserver.crt"), first);
    place.start_flagged(&["--tls-san=pawl.example.com,192.0.2.7"]).await.stop().await;
    let second = read("apiserver.crt");
    assert_ne!(second, first);
    assert_eq!(read("ca.crt"), authority);
    // Who keeps the authority's key elsewhere goes on with what it signed.
    fs::rename(pki.join("ca.key"), place.path("ca.key")).unwrap();
    let server = place.start_flagged(&["--tls-san=other.example.com"]).await;
    place.client(Protocol::Http2).get("/readyz").await.unwrap().ok().unwrap();
    server.stop().await;
    assert_eq!(read("apiserver.crt"), second);
    assert!(!pki.join("ca.key").exists());
    // What cannot be signed is said.
    fs::remove_file(pki.join("apiserver.crt")).unwrap();
    let mut server = place.launch(place.command());
    assert_eq!(server.ended().await.code(), Some(1));
    assert!(server.log().contains("ca.key"), "{}", server.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_forgets_tls_is_told() {
    let mut place = Place::new();
    let server = place.start().await;
    let answer = ask(place.port, "/api").await.unwrap();
    assert_eq!(answer, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n");
    // What is neither is no question.
    let answer = async {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", place.port)).await.unwrap();
        stream.write_all(b"GETTY").await.unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap_or_default();
        bytes
    };
    assert!(!answer.await.starts_with(b"HTTP"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_stays_empty_is_told_of() {
    let mut place = Place::new();
    let log = place.path("audit.log");
    let server = place.start_flagged(&[&format!("--audit-log-path={}", log.display())]).await;
    assert!(server.log().contains("--audit-log-path without --audit-policy-file"), "{}", server.log());
    assert!(!log.exists());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_side_by_side_write_their_own_kubeconfigs() {
    let place = Place::new();
    let start = |number: usize| {
        let kubeconfig = place.path(&format!("server.{number}"));
        let mut command = pawl();
        command.args(["serve", "--ephemeral", "--secure-port=0", "--write-kubeconfig"]).arg(&kubeconfig);
        command.env("TMPDIR", place.path("")).current_dir(place.path(""));
        (place.launch(command), kubeconfig)
    };
    // Somebody's own file, of a name that one might take for what is being written.
    fs::write(place.path("server.new"), "mine").unwrap();
    let mut servers: Vec<_> = (0..8).map(start).collect();
    let mut urls = std::collections::BTreeSet::new();
    for (server, kubeconfig) in &mut servers {
        until_written(server, kubeconfig).await;
        let text = fs::read_to_string(&*kubeconfig).unwrap();
        urls.insert(text.lines().find(|line| line.contains("server: ")).unwrap().to_owned());
        client(kubeconfig).await.apiserver_version().await.unwrap();
    }
    assert_eq!(urls.len(), servers.len());
    assert_eq!(fs::read_to_string(place.path("server.new")).unwrap(), "mine");
    for (server, _) in servers {
        server.stop().await;
    }
}
