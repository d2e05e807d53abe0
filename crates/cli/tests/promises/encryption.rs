//! Encryption at rest, with the real binary: what is on the disk, keys that change, key services that come and go.

use std::path::Path;

use crate::sealing::{RELOAD, command, flag, keys, kms, on_disk, start, until_metric, until_wiped, write};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use pawl_seal::testing::Plugin;
use pawl_testing::{Place, Running};
use serde_json::{Value, json};

const SECRETS: &str = "/api/v1/namespaces/n/secrets";
fn secret(name: &str) -> Value {
    json!({"metadata": {"name": name}, "stringData": {"password": "plain-as-day"}})
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
        // What is sealed and can be read is deleted as ever.
        running.admin.delete(&format!("{SECRETS}/a")).await.unwrap().expect(200);
        running.admin.get(&format!("{SECRETS}/a")).await.unwrap().expect(404);
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
    until_metric(&mut running, refused, "status=\"failure\"").await;
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
    let admin = place.client(pawl_testing::Protocol::Http1);
    let path = format!("{SECRETS}/a");
    server.until(async || admin.get(&path).await.map(drop)).await.unwrap();
    let away = admin.get(&path).await.unwrap();
    assert_eq!((away.code, away.headers.get("Retry-After").map(|v| v.as_bytes())), (503, Some(&b"1"[..])), "{away:?}");
    assert_eq!(admin.get(SECRETS).await.unwrap().code, 503);
    assert_eq!(admin.post(SECRETS, &secret("b")).await.unwrap().code, 503);
    assert_eq!(admin.delete(&path).await.unwrap().code, 503);
    let unread = format!("{path}?ignoreStoreReadErrorWithClusterBreakingPotential=true");
    assert_eq!(admin.delete(&unread).await.unwrap().code, 503, "it is not damaged");
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

/// With reload key services have one check together, as upstream has it.
#[tokio::test(flavor = "multi_thread")]
async fn key_services_have_one_check_where_keys_may_change() {
    let directory = tempfile::tempdir().unwrap();
    let mut plugin = Plugin::running(&directory.path().join("kms.sock"));
    let running = start(&json!([kms(&plugin)]), &[RELOAD]).await;
    running.admin.get("/healthz/kms-providers").await.unwrap().ok().unwrap();
    assert_eq!(running.admin.get("/healthz/kms-provider-0").await.unwrap().code, 404);
    let Running { place, server, .. } = running;
    server.stop().await;
    plugin.kill();
    let mut command = place.command();
    command.args([flag(&place).as_str(), RELOAD]);
    let (server, admin) = (place.launch(command), place.client(pawl_testing::Protocol::Http1));
    let mut running = Running { place, server, admin };
    let listening = async || running.admin.get("/livez").await?.ok();
    running.server.until(listening).await.unwrap();
    until_code(&mut running, "/readyz/kms-providers", 500).await;
    plugin.start();
    until_code(&mut running, "/readyz/kms-providers", 200).await;
    running.stop().await;
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

#[tokio::test(flavor = "multi_thread")]
async fn what_a_configuration_would_lose_is_said_beforehand() {
    let running = start(&json!([keys("aesgcm", &["one"]), {"identity": {}}]), &["--controllers=-*"]).await;
    running.admin.post(SECRETS, &secret("a")).await.unwrap().expect(201);
    let other = running.place.path("other.yaml");
    let flag = format!("--encryption-provider-config={}", other.display());
    let check = |place: &Place| command(place, &["check", &flag]);
    write(&other, &json!([keys("aesgcm", &["two", "one"]), {"identity": {}}]));
    assert_eq!(check(&running.place), (Some(0), "every object can be read with this configuration\n".to_owned()));
    write(&other, &json!([keys("aesgcm", &["two"]), {"identity": {}}]));
    let (code, told) = check(&running.place);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("secrets: 1 objects could not be read"), "{told}");
    running.admin.get(&format!("{SECRETS}/a")).await.unwrap().expect(200);
    std::fs::write(&other, "resources: [").unwrap();
    let (code, told) = check(&running.place);
    assert!(code == Some(1) && told.contains("is no EncryptionConfiguration"), "{told}");
    // The same without a server.
    let Running { place, server, .. } = running;
    server.stop().await;
    write(&other, &json!([keys("aesgcm", &["two"]), {"identity": {}}]));
    let (code, told) = check(&place);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("secrets: 1 objects could not be read"), "{told}");
    write(&other, &json!([keys("aesgcm", &["two", "one"]), {"identity": {}}]));
    assert_eq!(check(&place).0, Some(0));
}

/// Who may ask about a configuration names a path on the server: nothing that is read there hurts it or is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_about_a_path_reads_only_configurations() {
    let running = start(&json!([{"identity": {}}]), &[]).await;
    let (large, other) = (running.place.path("large"), running.place.path("other"));
    std::fs::File::create(&large).unwrap().set_len(8 << 30).unwrap();
    std::fs::write(&other, "hunter2: [").unwrap();
    let fifo = running.place.path("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for path in [Path::new("/dev/zero"), &fifo, &large, &other, Path::new("/"), Path::new("")] {
        let question = json!({"spec": {"path": path}});
        let answer = running.admin.post("/apis/storage.pawl.dev/v1/encryptionchecks", &question).await.unwrap();
        let told = answer.expect(400).to_string();
        assert!(!told.contains("hunter2"), "{told}");
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_sealed_anew_and_nothing_plain_stays_behind() {
    let mut running = start(&json!([{"identity": {}}]), &[RELOAD, "--controllers=-*", "--history=1s"]).await;
    for i in 0..50 {
        running.admin.post(SECRETS, &secret(&format!("s{i}"))).await.unwrap().expect(201);
    }
    let encoded = BASE64.encode("plain-as-day");
    assert!(on_disk(&running.place.data(), encoded.as_bytes()), "that is how it is told that it works");
    write(&running.place.path("encryption.yaml"), &json!([keys("secretbox", &["one"]), {"identity": {}}]));
    until_metric(&mut running, "apiserver_encryption_config_controller_automatic_reloads_total{", "status=\"success\"")
        .await;
    let (code, told) = command(&running.place, &["rewrite", "--forget-history"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("objects sealed anew, 0 to go"), "{told}");
    let (_, again) = command(&running.place, &["rewrite"]);
    assert!(again.starts_with("0 objects sealed anew, 0 to go"), "{again}");
    // Only what is sealed is read from now on.
    write(&running.place.path("encryption.yaml"), &json!([keys("secretbox", &["one"])]));
    let flag = flag(&running.place);
    let mut running = running.restart(&[&flag, "--controllers=-*", "--history=1s"]).await;
    let list = running.admin.get(SECRETS).await.unwrap().expect(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 50);
    until_wiped(&mut running, &encoded).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn custom_resources_are_sealed_from_their_first_object_on() {
    let place = Place::new();
    let text = json!({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["widgets.example.com"], "providers": [keys("aesgcm", &["one"])]}]});
    std::fs::write(place.path("encryption.yaml"), text.to_string()).unwrap();
    let flag = flag(&place);
    let mut running = Running::start_in(place, &[&flag]).await;
    let schema = json!({"type": "object", "properties": {"word": {"type": "string"}}});
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version]}});
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    running.admin.post(definitions, &definition).await.unwrap().expect(201);
    let widgets = "/apis/example.com/v1/namespaces/n/widgets";
    until_code(&mut running, widgets, 200).await;
    let widget =
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "word": "plain-as-day"});
    running.admin.post(widgets, &widget).await.unwrap().expect(201);
    let mut running = running.restart(&[&flag]).await;
    until_code(&mut running, &format!("{widgets}/w"), 200).await;
    let shown = running.admin.get(&format!("{widgets}/w")).await.unwrap().expect(200);
    assert_eq!(shown["word"], "plain-as-day");
    assert!(!on_disk(&running.place.data(), b"plain-as-day"));
    // With another key it is named, like everything else.
    let text = text.to_string().replace("\"one\"", "\"two\"");
    std::fs::write(running.place.path("encryption.yaml"), text).unwrap();
    let mut running = running.restart(&[&flag]).await;
    until_code(&mut running, &format!("{widgets}/w"), 500).await;
    let told = running.admin.get("/apis/storage.pawl.dev/v1/unreadableobjects").await.unwrap().expect(200);
    assert_eq!(told["items"][0]["metadata"]["name"], "widgets.example.com:n:w");
    running.stop().await;
}
