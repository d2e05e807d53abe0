//! Keys change under a running server: the file is followed, and what cannot be used is refused.

#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod support;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pawl_seal::testing::Plugin;
use pawl_seal::{Opened, Refused};
use serde_json::{Value, json};
use support::{Keyed, config, eventually, for_all, rendered, resource};

const PLACE: &str = "/registry/secrets/default/s1";

fn keys(name: &str, byte: u8) -> Value {
    use base64::Engine;
    let secret = base64::engine::general_purpose::STANDARD.encode([byte; 32]);
    json!({"secretbox": {"keys": [{"name": name, "secret": secret}]}})
}

fn kms(plugin: &Plugin) -> Value {
    json!({"kms": {"apiVersion": "v2", "name": "vault", "endpoint": plugin.endpoint(), "timeout": "5s"}})
}

/// Replaces a file as configuration tools do: nobody sees half of it.
fn write(path: &Path, text: &str) {
    let next = path.with_extension("next");
    std::fs::write(&next, text).unwrap();
    std::fs::rename(next, path).unwrap();
}

fn reloads(keyed: &Keyed, status: &str) -> f64 {
    let begin = "apiserver_encryption_config_controller_automatic_reloads_total";
    let label = format!("status=\"{status}\"");
    let text = rendered(&keyed.registry);
    let line = text.lines().find(|line| line.starts_with(begin) && line.contains(&label));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or_default()
}

/// The name of the key that seals now.
fn sealing(keyed: &Keyed) -> String {
    let sealed = keyed.seal(PLACE, "{}");
    pawl_seal::Header::of(&sealed).unwrap().key.to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_file_takes_effect_for_everybody_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.yaml");
    let start = for_all(json!([keys("one", 1)]));
    write(&path, &start);
    let keyed = Keyed::new(&start, support::PACE).await;
    let old = keyed.seal(PLACE, "{}");
    let reviewed = Arc::new(AtomicUsize::new(0));
    let (seals, count, file) = (keyed.seals.clone(), reviewed.clone(), path.clone());
    let before = keyed.seals.mark();
    let mark = before.clone();
    let following = tokio::spawn(async move {
        let review = |candidate: pawl_seal::Candidate| {
            // It sees what will be lost while everything still opens.
            let lost = candidate.mark().since(&mark, &resource("secrets")).lost.len();
            count.fetch_add(1 + 100 * lost, Ordering::SeqCst);
            async move { candidate }
        };
        seals.follow(file, review).await;
    });
    write(&path, &for_all(json!([keys("two", 2), keys("one", 1)])));
    eventually("the new key seals", async || sealing(&keyed) == "two").await;
    assert_eq!(keyed.plain(PLACE, old.clone()).await, (b"{}".to_vec(), true));
    assert_eq!(reviewed.load(Ordering::SeqCst), 1);
    eventually("it is counted", async || reloads(&keyed, "success") == 1.0).await;

    // What is wrong is refused, and told once.
    write(&path, "kind: Nonsense");
    eventually("it is refused", async || reloads(&keyed, "failure") >= 1.0).await;
    assert_eq!(sealing(&keyed), "two");
    write(&path, "");
    eventually("it is refused", async || reloads(&keyed, "failure") >= 2.0).await;
    std::fs::remove_file(&path).unwrap();
    eventually("it is refused", async || reloads(&keyed, "failure") >= 3.0).await;
    assert_eq!(sealing(&keyed), "two");
    assert_eq!(reviewed.load(Ordering::SeqCst), 1);

    // The last of the old keys goes.
    write(&path, &for_all(json!([keys("two", 2)])));
    eventually("it is taken", async || reloads(&keyed, "success") == 2.0).await;
    assert!(matches!(keyed.open(PLACE, old).await, Opened::Unreadable(_)));
    assert_eq!(reviewed.load(Ordering::SeqCst), 102);
    assert_eq!(keyed.seals.mark().generation(), before.generation() + 2);
    following.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_a_service_that_does_not_answer_are_refused_until_it_does() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.yaml");
    let start = for_all(json!([keys("one", 1)]));
    write(&path, &start);
    let keyed = Keyed::new(&start, support::PACE).await;
    let mut plugin = Plugin::new(&directory.path().join("kms.sock"));
    let wanted = for_all(json!([kms(&plugin), keys("one", 1)]));
    match keyed.seals.prepare(&config(&wanted)).await {
        Err(Refused::Unwell(why)) => assert!(why.starts_with("kms-provider-0: failed to perform status"), "{why}"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("nobody answers there"),
    }
    let (seals, file) = (keyed.seals.clone(), path.clone());
    let following = tokio::spawn(async move { seals.follow(file, async |candidate| candidate).await });
    write(&path, &wanted);
    eventually("it is refused", async || reloads(&keyed, "failure") >= 1.0).await;
    assert_eq!(sealing(&keyed), "one");
    plugin.start();
    eventually("it is taken", async || sealing(&keyed) == "vault").await;
    assert_eq!(keyed.seals.services(), 1);
    following.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_service_gave_survives_a_change_of_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let plugin = Plugin::running(&directory.path().join("kms.sock"));
    let stored = Keyed::with(json!([kms(&plugin)])).await.seal(PLACE, "{}");
    let keyed = Keyed::with(json!([kms(&plugin)])).await;
    keyed.plain(PLACE, stored.clone()).await;
    let calls = plugin.calls();
    let candidate = keyed.seals.prepare(&config(&for_all(json!([keys("one", 1), kms(&plugin)])))).await.unwrap();
    let touched = candidate.mark().since(&keyed.seals.mark(), &resource("secrets"));
    assert!(touched.lost.is_empty(), "{touched:?}");
    keyed.seals.install(candidate);
    assert_eq!(keyed.plain(PLACE, stored).await, (b"{}".to_vec(), true));
    assert_eq!((plugin.calls().decrypt, plugin.calls().encrypt), (calls.decrypt, calls.encrypt));
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_and_writers_see_one_configuration_or_the_other() {
    let keyed = Arc::new(Keyed::with(json!([keys("one", 1), keys("two", 2)])).await);
    let texts = [for_all(json!([keys("one", 1), keys("two", 2)])), for_all(json!([keys("two", 2), keys("one", 1)]))];
    let work = |keyed: Arc<Keyed>| async move {
        for _ in 0..500 {
            let sealed = keyed.seal(PLACE, "{}");
            assert_eq!(keyed.plain(PLACE, sealed).await.0, b"{}");
            tokio::task::yield_now().await;
        }
    };
    let workers: Vec<_> = (0..4).map(|_| tokio::spawn(work(keyed.clone()))).collect();
    for i in 0..50 {
        let candidate = keyed.seals.prepare(&config(&texts[i % 2])).await.unwrap();
        keyed.seals.install(candidate);
        tokio::task::yield_now().await;
    }
    for worker in workers {
        worker.await.unwrap();
    }
}
