//! What the command line accepts, what it refuses, and how it says so.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use pawl_testing::{Place, Protocol, Server, pawl};

/// The arguments end the process with exit code 1 and an error that contains the text.
async fn refused(arguments: &[&str], why: &str) {
    let place = Place::new();
    let mut command = pawl();
    command.args(arguments).current_dir(place.path(""));
    let mut server = place.launch(command);
    let status = server.ended().await;
    let text = server.log();
    assert_eq!(status.code(), Some(1), "{arguments:?}: {text}");
    assert!(text.lines().any(|line| line.starts_with("Error: ") && line.contains(why)), "{arguments:?}: {text}");
    assert_eq!(fs::read_to_string(place.path("stdout.log")).unwrap(), "", "{arguments:?}");
}

#[tokio::test]
async fn what_is_not_known_or_not_safe_is_refused() {
    for (arguments, why) in [
        (&["serve", "--no-such-flag"][..], "unknown flag: --no-such-flag"),
        (&["serve", "--no-such-flag=1"], "unknown flag: --no-such-flag"),
        (&["serve", "--insecure-port=0"], "unknown flag: --insecure-port"),
        (&["serve", "--data-dir"], "flag needs an argument: --data-dir"),
        (&["serve", "again"], "unknown command \"again\""),
        (&["sreve"], "unknown command \"sreve\" for \"pawl\", did you mean \"serve\"?"),
        (&["serve", "--secure-prot=1"], "unknown flag: --secure-prot, did you mean --secure-port?"),
        (&["serve", "--controllers=namespace-controler"], "did you mean \"namespace-controller\"?"),
        (&["serve", "--feature-gates=InUseProtecton=true"], "did you mean InUseProtection?"),
        (
            &["serve", "--encryption-provider-config=no-such-file"],
            "error reading encryption provider configuration file",
        ),
        (&["serve", "--encryption-provider-config-automatic-reload"], "must be set with --encryption-provider-config"),
        (&["serve", "--oidc-issuer-url=https://example.com"], "--oidc-issuer-url"),
        (&["serve", "--authentication-token-webhook-config-file=x"], "--authentication-token-webhook-config-file"),
        (&["serve", "--authorization-mode=Webhook"], "Webhook"),
        (&["serve", "--authorization-mode=Nonsense"], "Nonsense"),
        (&["serve", "--etcd-servers=http://127.0.0.1:2379"], "--etcd-servers"),
        (&["serve", "--secure-port=70000"], "--secure-port"),
        (&["serve", "--secure-port=x"], "--secure-port"),
        (&["serve", "--bind-address=nowhere"], "--bind-address"),
        (&["serve", "--service-cluster-ip-range=10.0.0.0/99"], "--service-cluster-ip-range"),
        (&["serve", "--request-timeout=soon"], "--request-timeout"),
        (&["serve", "--anonymous-auth=perhaps"], "--anonymous-auth"),
        (&["serve", "--feature-gates=AllAlpha=perhaps"], "--feature-gates"),
        (&["serve", "--logging-format=xml"], "--logging-format"),
        (&["serve", "--tls-cert-file=x.crt"], "--tls-private-key-file"),
        (&["serve", "--audit-log-mode=blocking-strict"], "--audit-log-mode=blocking-strict"),
        (&["serve", "--audit-log-mode=sometimes"], "invalid audit log mode sometimes"),
        (&["serve", "--audit-policy-file=nowhere.yaml"], "nowhere.yaml"),
        (&["serve", "--disable-http2-serving=perhaps"], "--disable-http2-serving"),
        (&["serve", "--request-timeout=99999999h"], "--request-timeout"),
    ] {
        refused(arguments, why).await;
    }
}

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_secret_is_closed_to_others() {
    let mut place = Place::new();
    place.start().await.stop().await;
    let key = place.path("given.key");
    fs::copy(place.data().join("pki/sa.key"), &key).unwrap();
    let store = place.data().join("store");
    let own = ["pki/ca.key", "pki/admin.key", "pki/sa.key", "pki/apiserver.key", "admin.kubeconfig"];
    let own = own.map(|name| place.data().join(name));
    assert_eq!(mode(&store), 0o700, "nobody else looks into a new store");
    for (path, open) in
        own.iter().map(|path| (path, 0o644)).chain([(&key, 0o644), (&store, 0o755), (&place.data(), 0o777)])
    {
        fs::set_permissions(path, fs::Permissions::from_mode(open)).unwrap();
    }
    let server = place.start_flagged(&[&format!("--service-account-signing-key-file={}", key.display())]).await;
    assert!(own.iter().all(|path| mode(path) == 0o600));
    assert_eq!((mode(&key), mode(&store), mode(&place.data())), (0o640, 0o700, 0o755));
    for path in own.iter().chain([&key, &store]) {
        let told = format!("{} was open to others", path.display());
        assert!(server.log().contains(&told), "{told}: {}", server.log());
    }
    server.stop().await;
}

#[tokio::test]
async fn admission_plugins_that_do_not_exist_here_are_refused() {
    for plugins in ["NodeRestriction", "NoSuchPlugin"] {
        refused(&["serve", &format!("--enable-admission-plugins={plugins}")], plugins).await;
    }
}

#[test]
fn help_ends_well() {
    for arguments in [&["--help"][..], &["help"], &["serve", "--help"], &["serve", "-h"], &[]] {
        let output = pawl().args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{arguments:?}");
        assert!(text.contains("--data-dir") && text.contains("--feature-gates"), "{arguments:?}: {text}");
        // How a test environment tells old servers from new ones.
        assert!(!text.lines().any(|line| line.trim_start().starts_with("--insecure-port")), "{text}");
    }
}

/// Starts a server and gives the lines that it greets with.
async fn greeting(place: &mut Place, command: impl Fn(&Place) -> Command) -> (Server, Vec<String>) {
    let server = place.start_with(command).await;
    let text = fs::read_to_string(place.path("stdout.log")).unwrap();
    (server, text.lines().map(str::to_owned).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn three_lines_say_what_a_new_user_needs() {
    let mut place = Place::new();
    let (server, lines) = greeting(&mut place, Place::command).await;
    let [url, export, stop] = lines.as_slice() else { panic!("{lines:?}") };
    assert!(url.contains(&format!("https://127.0.0.1:{}", place.port)), "{url}");
    assert_eq!(*export, format!("export KUBECONFIG={}", place.data().join("admin.kubeconfig").display()));
    assert!(stop.contains("Ctrl-C"), "{stop}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn underscores_repeated_flags_and_flags_without_meaning_are_accepted() {
    let mut place = Place::new();
    let (server, _) = greeting(&mut place, |place| {
        let mut command = pawl();
        command
            .arg("serve")
            .args(["--data_dir", place.data().to_str().unwrap()])
            .arg(format!("--token_auth_file={}", place.path("tokens.csv").display()))
            .arg(format!("--secure_port={}", place.port))
            .args(["--anonymous-auth", "--api-audiences=a,b", "--api-audiences=c", "-v=2"])
            .args([
                "--goaway-chance=0.5",
                "--profiling",
                "--feature-gates=AllBeta=true",
                "--feature-gates=WatchList=true",
            ]);
        command
    })
    .await;
    let log = server.log();
    for ignored in ["--goaway-chance", "--profiling", "WatchList"] {
        assert_eq!(log.lines().filter(|l| l.contains("WARN") && l.contains(ignored)).count(), 1, "{ignored}: {log}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn under_the_name_kube_apiserver_it_serves() {
    let mut place = Place::new();
    symlink(pawl_testing::binary(), place.path("kube-apiserver")).unwrap();
    let help = Command::new(place.path("kube-apiserver")).arg("--help").output().unwrap();
    assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("--secure-port"));
    let (server, _) = greeting(&mut place, |place| {
        let mut command = Command::new(place.path("kube-apiserver"));
        command
            .arg(format!("--data-dir={}", place.data().display()))
            .arg(format!("--token-auth-file={}", place.path("tokens.csv").display()))
            .arg(format!("--secure-port={}", place.port));
        command
    })
    .await;
    let version = place.client(Protocol::Http2).get("/version").await.unwrap().expect(200);
    assert_eq!((&version["major"], &version["minor"]), (&"1".into(), &"36".into()));
    server.stop().await;
}

/// The usual limit is a thousand open files; idle connections must not use it up.
#[tokio::test(flavor = "multi_thread")]
async fn as_many_files_may_be_open_as_the_system_allows() {
    let mut place = Place::new();
    let server = place
        .start_with(|place| {
            let inner = place.command();
            let mut command = Command::new("sh");
            command.args(["-c", "ulimit -Sn 64; exec \"$0\" \"$@\""]).arg(inner.get_program()).args(inner.get_args());
            command
        })
        .await;
    let limits = server.proc("limits");
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let [soft, hard, ..] = line.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{line}") };
    assert_eq!(soft, hard);
    server.stop().await;
}
