//! Encryption at rest, with the real binary: what is on the disk, keys that change, key services that come and go.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod server;

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use pawl_seal::testing::Plugin;
use serde_json::{Value, json};
use server::{Place, Running};

const SECRETS: &str = "/api/v1/namespaces/n/secrets";
const RELOAD: &str = "--encryption-provider-config-automatic-reload";

fn keys(provider: &str, names: &[&str]) -> Value {
    let secret = |name: &str| BASE64.encode([name.len() as u8 ^ name.as_bytes()[0]; 32]);
    let keys: Vec<Value> = names.iter().map(|name| json!({"name": name, "secret": secret(name)})).collect();
    json!({ provider: { "keys": keys } })
}

fn kms(plugin: &Plugin) -> Value {
    json!({"kms": {"apiVersion": "v2", "name": "vault", "endpoint": plugin.endpoint(), "timeout": "2s"}})
}

fn write(path: &Path, providers: &Value) {
    let text = json!({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["secrets", "configmaps"], "providers": providers}]});
    // In one step: half a file is refused, and that is another test.
    let half = path.with_extension("half");
    std::fs::write(&half, text.to_string()).unwrap();
    std::fs::rename(half, path).unwrap();
}

fn flag(place: &Place) -> String {
    format!("--encryption-provider-config={}", place.path("encryption.yaml").display())
}

async fn start(providers: &Value, more: &[&str]) -> Running {
    let place = Place::new();
    write(&place.path("encryption.yaml"), providers);
    let flag = flag(&place);
    Running::start_in(place, &[&[flag.as_str()], more].concat()).await
}

fn secret(name: &str) -> Value {
    json!({"metadata": {"name": name}, "stringData": {"password": "plain-as-day"}})
}

/// Whether a text is anywhere in the files of a server.
fn on_disk(directory: &Path, text: &[u8]) -> bool {
    std::fs::read_dir(directory).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => on_disk(&path, text),
            false => std::fs::read(&path).unwrap().windows(text.len()).any(|at| at == text),
        }
    })
}

async fn metric(running: &Running, line: &str) -> Option<f64> {
    let text = running.admin.get("/metrics").await.unwrap();
    let text = String::from_utf8(text.body.to_vec()).unwrap();
    text.lines().find_map(|found| found.strip_prefix(line)?.trim().parse().ok())
}

async fn until_code(running: &mut Running, path: &str, code: u16) {
    let Running { server, admin, .. } = running;
    let answered = async || match admin.get(path).await?.code {
        found if found == code => Ok(()),
        found => Err(format!("{path} is answered with {found}, not {code}").into()),
    };
    server.until(answered).await.unwrap_or_else(|why| panic!("{why}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_provider_keeps_its_values_from_the_disk() {
    let directory = tempfile::tempdir().unwrap();
    let plugin = Plugin::running(&directory.path().join("kms.sock"));
    let encoded = BASE64.encode("plain-as-day");
    for providers in [
        json!([keys("aesgcm", &["one"])]),
        json!([keys("secretbox", &["one"])]),
        json!([keys("aescbc", &["one"])]),
        json!([kms(&plugin)]),
    ] {
        let running = start(&providers, &[]).await;
        running.admin.post(SECRETS, &secret("a")).await.unwrap().expect(201);
        let shown = running.admin.get(&format!("{SECRETS}/a")).await.unwrap().expect(200);
        assert_eq!(shown["data"]["password"], encoded.as_str());
        let flag = flag(&running.place);
        let running = running.restart(&[&flag]).await;
        assert_eq!(running.admin.get(&format!("{SECRETS}/a")).await.unwrap().expect(200), shown, "{providers}");
        let data = running.place.data();
        let place = running.place.path("");
        running.server.stop().await;
        for text in ["plain-as-day", &encoded] {
            assert!(!on_disk(&data, text.as_bytes()), "{providers} in {place:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_change_under_a_running_server() {
    let mut running = start(&json!([keys("aesgcm", &["one"])]), &[RELOAD]).await;
    let file = running.place.path("encryption.yaml");
    running.admin.post(SECRETS, &secret("a")).await.unwrap().expect(201);
    let path = format!("{SECRETS}/a");
    let shown = running.admin.get(&path).await.unwrap().expect(200);
    // A file that makes no sense is refused, and told; what is in use stays.
    std::fs::write(&file, "resources: [").unwrap();
    let refused = "apiserver_encryption_config_controller_automatic_reloads_total{";
    running.until_metric(refused, "status=\"failure\"").await;
    running.admin.get(&path).await.unwrap().expect(200);
    running.admin.post(SECRETS, &secret("b")).await.unwrap().expect(201);
    // A key that is lost: what it sealed cannot be read, and that is told before.
    write(&file, &json!([keys("secretbox", &["two"])]));
    until_code(&mut running, &path, 500).await;
    assert_eq!(metric(&running, "pawl_encryption_config_lost_objects{resource=\"secrets\"}").await, Some(2.0));
    assert!(running.server.log().contains("makes objects unreadable"), "{}", running.server.log());
    running.admin.post(SECRETS, &secret("c")).await.unwrap().expect(201);
    running.admin.get(SECRETS).await.unwrap().expect(500);
    // It returns, and everything is as it was.
    write(&file, &json!([keys("secretbox", &["two"]), keys("aesgcm", &["one"])]));
    until_code(&mut running, &path, 200).await;
    assert_eq!(running.admin.get(&path).await.unwrap().expect(200), shown);
    assert_eq!(running.admin.get(SECRETS).await.unwrap().expect(200)["items"].as_array().unwrap().len(), 3);
    assert_eq!(metric(&running, "pawl_encryption_config_lost_objects{resource=\"secrets\"}").await, None);
    // A PUT that changes nothing seals it anew.
    let written = running.admin.put(&path, &shown).await.unwrap().expect(200);
    assert_ne!(written["metadata"]["resourceVersion"], shown["metadata"]["resourceVersion"]);
    let again = running.admin.put(&path, &written).await.unwrap().expect(200);
    assert_eq!(again["metadata"]["resourceVersion"], written["metadata"]["resourceVersion"]);
    let sealed = "apiserver_storage_transformation_operations_total{resource=\"secrets\",status=\"OK\",\
                  transformation_type=\"to_storage\",transformer_prefix=\"k8s:enc:secretbox:v1:\"}";
    assert!(metric(&running, sealed).await.unwrap() >= 2.0);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_starts_without_its_key_service_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let mut plugin = Plugin::running(&directory.path().join("kms.sock"));
    let running = start(&json!([kms(&plugin)]), &[]).await;
    running.admin.post(SECRETS, &secret("a")).await.unwrap().expect(201);
    running.admin.get("/healthz/kms-provider-0").await.unwrap().ok().unwrap();
    let Running { place, server, .. } = running;
    server.stop().await;
    plugin.kill();
    let flag = flag(&place);
    let mut command = place.command();
    command.arg(&flag);
    let mut server = place.launch(command);
    let admin = place.client(server::Protocol::Http1);
    let path = format!("{SECRETS}/a");
    server.until(async || admin.get(&path).await.map(drop)).await.unwrap();
    let away = admin.get(&path).await.unwrap();
    assert_eq!((away.code, away.headers.get("Retry-After").map(|v| v.as_bytes())), (503, Some(&b"1"[..])), "{away:?}");
    assert_eq!(admin.get(SECRETS).await.unwrap().code, 503);
    assert_eq!(admin.post(SECRETS, &secret("b")).await.unwrap().code, 503);
    assert_eq!(admin.delete(&path).await.unwrap().code, 503);
    let unready = admin.get("/readyz?verbose").await.unwrap();
    let text = String::from_utf8_lossy(&unready.body).into_owned();
    assert!(unready.code == 500 && text.contains("[-]kms-provider-0 failed"), "{text}");
    admin.get("/livez").await.unwrap().ok().unwrap();
    admin.post("/api/v1/namespaces", &json!({"metadata": {"name": "m"}})).await.unwrap().expect(201);
    plugin.start();
    server.until(async || admin.get("/readyz").await?.ok()).await.unwrap();
    server.until(async || admin.get(&path).await?.ok()).await.unwrap();
    server
        .until(async || match admin.post(SECRETS, &secret("b")).await?.code {
            201 | 409 => Ok(()),
            code => Err(code.to_string().into()),
        })
        .await
        .unwrap();
    server.assert_no_panic();
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_ends_the_start() {
    let place = Place::new();
    write(&place.path("encryption.yaml"), &json!([{"aesgcm": {"keys": [{"name": "one", "secret": "c2hvcnQ="}]}}]));
    let mut command = place.command();
    command.arg(flag(&place));
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains("expected AES key length") || told.contains("secret is not of the expected length"),
        "{told}"
    );
    assert!(!told.contains("c2hvcnQ="), "{told}");
    assert!(!place.data().join("store").exists(), "nothing is left behind");
}

impl Running {
    /// Waits until a series of a metric is there and not zero.
    async fn until_metric(&mut self, name: &str, label: &str) {
        let Running { server, admin, .. } = self;
        let counted = async || {
            let text = admin.get("/metrics").await?;
            let text = String::from_utf8_lossy(&text.body).into_owned();
            let found = text.lines().find(|line| line.starts_with(name) && line.contains(label));
            match found.is_some_and(|line| !line.ends_with(" 0")) {
                true => Ok(()),
                false => Err(format!("{name} is not counted").into()),
            }
        };
        server.until(counted).await.unwrap_or_else(|why| panic!("{why}"));
    }
}
