//! A key service that is there, slow, gone, back again, and that changes its keys.

#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod support;

use std::path::PathBuf;
use std::time::Duration;

use futures::FutureExt;
use futures::future::join_all;
use pawl_seal::testing::Plugin;
use pawl_seal::{Opened, Opening, Pace, Plain, Reason, SealError, Sealed};
use serde_json::{Value, json};
use support::{Keyed, PACE, document, eventually, for_all, rendered, resource};
use tempfile::TempDir;
use tonic::Code;

const PLACE: &str = "/registry/secrets/default/s1";

fn socket() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kms.sock");
    (directory, path)
}

fn kms(plugin: &Plugin, timeout: &str) -> Value {
    json!({"kms": {"apiVersion": "v2", "name": "vault", "endpoint": plugin.endpoint(), "timeout": timeout}})
}

async fn keyed(plugin: &Plugin) -> Keyed {
    Keyed::with(json!([kms(plugin, "5s")])).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sealed_opens_here_and_after_a_restart() {
    let (_directory, path) = socket();
    let plugin = Plugin::running(&path);
    let first = keyed(&plugin).await;
    let sealed = first.seal(PLACE, "{\"a\":1}");
    assert!(sealed.starts_with(b"k8s:enc:kms:v2:vault:\x0a"));
    match first.open(PLACE, sealed.clone()).await {
        Opened::Plain { bytes, seal, stale } => {
            assert_eq!((bytes.as_slice(), stale), (&b"{\"a\":1}"[..], false));
            assert_eq!((seal.provider(), seal.key(), seal.key_id()), ("kms", "vault", Some("kek-1")));
            assert_eq!(seal.prefix(), "k8s:enc:kms:v2:vault:");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(plugin.calls().decrypt, 0, "its own data key is at hand");
    // Another server needs to ask once, however many values there are.
    let second = keyed(&plugin).await;
    let values: Vec<Vec<u8>> = (0..50).map(|_| first.seal(PLACE, "{}")).collect();
    let opened = join_all(values.into_iter().map(|value| second.plain(PLACE, value))).await;
    assert!(opened.iter().all(|(plain, stale)| plain == b"{}" && !stale));
    assert_eq!(plugin.calls().decrypt, 1);
    assert_eq!(second.plain(PLACE, sealed).await, (b"{\"a\":1}".to_vec(), false));
    assert_eq!(plugin.calls().decrypt, 1);
    assert_eq!(second.metric("apiserver_storage_envelope_transformation_cache_misses_total"), Some(1.0));
    assert_eq!(second.metric("apiserver_envelope_encryption_dek_source_cache_size"), Some(2.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_away_takes_nothing_that_was_read() {
    let (_directory, path) = socket();
    let mut plugin = Plugin::running(&path);
    let other = keyed(&plugin).await.seal(PLACE, "{}");
    let here = keyed(&plugin).await;
    let known = here.seal(PLACE, "{}");
    plugin.kill();
    assert_eq!(here.plain(PLACE, known.clone()).await, (b"{}".to_vec(), false));
    assert!(here.is_away(PLACE, &other).await);
    // The data key in use was confirmed a moment ago: writes go on.
    let written = here.seal(PLACE, "{}");
    eventually("it is known to be away", async || here.seals.health().await.is_err()).await;
    let (mark, mut news) = (here.seals.mark(), here.seals.news());
    plugin.start();
    news.changed().await.unwrap();
    let touched = here.seals.mark().since(&mark, &resource("secrets"));
    assert!(touched.may_open(&Sealed::stored(other.clone())) && touched.lost.is_empty());
    assert_eq!(here.seals.health().await, Ok(()));
    for value in [other, known, written] {
        assert_eq!(here.plain(PLACE, value).await, (b"{}".to_vec(), false));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_without_the_service_waits_for_it() {
    let (_directory, path) = socket();
    let mut plugin = Plugin::running(&path);
    let stored = keyed(&plugin).await.seal(PLACE, "{}");
    plugin.kill();
    let here = keyed(&plugin).await;
    assert!(here.is_away(PLACE, &stored).await);
    match here.transform.seal(PLACE, &Plain::new("{}")) {
        Err(SealError::Away(away)) => assert_eq!(&*away.provider, "vault"),
        other => panic!("{other:?}"),
    }
    let why = here.seals.health().await.unwrap_err();
    let begin = "kms-provider-0: failed to perform status section of the healthz check for KMS Provider vault, error: rpc error: code = Unavailable desc = ";
    assert!(why.starts_with(begin), "{why}");
    let mark = here.seals.mark();
    plugin.start();
    eventually("what is stored opens", async || !here.is_away(PLACE, &stored).await).await;
    eventually("values can be sealed", async || here.transform.seal(PLACE, &Plain::new("{}")).is_ok()).await;
    eventually("it is told", async || !here.seals.mark().since(&mark, &resource("secrets")).is_empty()).await;
    assert_eq!(here.seals.mark().generation(), mark.generation(), "the configuration is the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_makes_older_values_stale() {
    let (_directory, path) = socket();
    let plugin = Plugin::running(&path);
    let here = keyed(&plugin).await;
    let old = here.seal(PLACE, "{}");
    let Opened::Plain { seal: old_seal, .. } = here.open(PLACE, old.clone()).await else { panic!("it opens") };
    plugin.rotate("kek-2", 0x17);
    eventually("the new key is used", async || here.transform.is_stale(&old_seal)).await;
    assert_eq!(here.plain(PLACE, old.clone()).await, (b"{}".to_vec(), true));
    let new = here.seal(PLACE, "{}");
    match here.open(PLACE, new.clone()).await {
        Opened::Plain { seal, stale, .. } => assert_eq!((seal.key_id(), stale), (Some("kek-2"), false)),
        other => panic!("{other:?}"),
    }
    // A server that starts now reads both, with a question for each.
    let before = plugin.calls().decrypt;
    let there = keyed(&plugin).await;
    assert!(there.plain(PLACE, old).await.1);
    assert!(!there.plain(PLACE, new).await.1);
    assert_eq!(plugin.calls().decrypt, before + 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_that_the_service_does_not_finish_changes_nothing() {
    let (_directory, path) = socket();
    let plugin = Plugin::running(&path);
    let here = keyed(&plugin).await;
    let key_id = async || match here.open(PLACE, here.seal(PLACE, "{}")).await {
        Opened::Plain { seal, .. } => seal.key_id().unwrap().to_owned(),
        other => panic!("{other:?}"),
    };
    plugin.rotate("kek-2", 0x17);
    plugin.encrypt_as(Some("kek-1"));
    eventually("it is told", async || here.seals.health().await.is_err()).await;
    let why = here.seals.health().await.unwrap_err();
    assert!(why.contains("kmsv2 Provider vault is not healthy, error: failed to rotate DEK uid="), "{why}");
    assert_eq!(key_id().await, "kek-1");
    plugin.encrypt_as(None);
    eventually("the new key is used", async || key_id().await == "kek-2").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_not_confirmed_stops_to_seal_but_not_to_open() {
    let (_directory, path) = socket();
    let mut plugin = Plugin::running(&path);
    let pace = Pace { confirmed: Duration::from_millis(400), ..PACE };
    let here = Keyed::new(&for_all(json!([kms(&plugin, "5s")])), pace).await;
    let sealed = here.seal(PLACE, "{}");
    plugin.kill();
    eventually("nothing is sealed any more", async || here.transform.seal(PLACE, &Plain::new("{}")).is_err()).await;
    let refused = here.transform.seal(PLACE, &Plain::new("{}"));
    assert!(matches!(refused, Err(SealError::Away(_))), "{refused:?}");
    assert_eq!(here.plain(PLACE, sealed).await, (b"{}".to_vec(), false));
    plugin.start();
    eventually("values are sealed again", async || here.transform.seal(PLACE, &Plain::new("{}")).is_ok()).await;
    assert_eq!(plugin.calls().encrypt, 1, "the key id is the same, and so is the data key");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_service_is_away_and_holds_up_nobody() {
    let (_directory, path) = socket();
    let plugin = Plugin::running(&path);
    let stored = keyed(&plugin).await.seal(PLACE, "{}");
    let secret = json!({"keys": [{"name": "k", "secret": "AAECAwQFBgcICQoLDA0ODw=="}]});
    let text = document(json!([
        {"resources": ["secrets"], "providers": [kms(&plugin, "100ms")]},
        {"resources": ["*.*"], "providers": [{"aesgcm": secret}]},
    ]));
    let here = Keyed::new(&text, PACE).await;
    plugin.delay(Duration::from_secs(3600));
    let Opening::Asking(asking) = here.transform.open(PLACE, Sealed::stored(stored.clone())) else { panic!("it asks") };
    assert_eq!(asking.provider(), "vault");
    let mut answer = Box::pin(asking.answer());
    assert!(answer.as_mut().now_or_never().is_none());
    // While it is asked, everything else goes on.
    let others = here.seals.transform(resource("configmaps"));
    let sealed = others.seal(PLACE, &Plain::new("{}")).unwrap();
    assert!(matches!(others.open(PLACE, sealed), Opening::Done(Opened::Plain { .. })));
    assert!(here.transform.seal(PLACE, &Plain::new("{}")).is_ok());
    match answer.await {
        Opened::Away(away) => {
            let expected =
                "failed to decrypt DEK, error: rpc error: code = DeadlineExceeded desc = context deadline exceeded";
            assert_eq!(away.message, expected);
        }
        other => panic!("{other:?}"),
    }
    plugin.delay(Duration::ZERO);
    eventually("it opens", async || !here.is_away(PLACE, &stored).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_dies_in_the_middle_of_a_call_is_away() {
    let (_directory, path) = socket();
    let mut plugin = Plugin::running(&path);
    let stored = keyed(&plugin).await.seal(PLACE, "{}");
    let here = Keyed::with(json!([kms(&plugin, "3600s")])).await;
    plugin.delay(Duration::from_secs(3600));
    let before = plugin.calls().decrypt;
    let Opening::Asking(asking) = here.transform.open(PLACE, Sealed::stored(stored.clone())) else { panic!("it asks") };
    let answer = tokio::spawn(asking.answer());
    eventually("it was called", async || plugin.calls().decrypt > before).await;
    plugin.kill();
    let answer = answer.await.unwrap();
    assert!(matches!(answer, Opened::Away(_)), "{answer:?}");
    plugin.delay(Duration::ZERO);
    plugin.start();
    eventually("it opens", async || !here.is_away(PLACE, &stored).await).await;
    assert_eq!(here.plain(PLACE, stored).await.0, b"{}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_goes_away_leaves_the_answer_to_others() {
    let (_directory, path) = socket();
    let plugin = Plugin::running(&path);
    let stored = keyed(&plugin).await.seal(PLACE, "{}");
    let here = keyed(&plugin).await;
    plugin.delay(Duration::from_millis(200));
    let before = plugin.calls().decrypt;
    let ask = || here.transform.open(PLACE, Sealed::stored(stored.clone())).finish();
    assert!(Box::pin(ask()).as_mut().now_or_never().is_none());
    eventually("it was called", async || plugin.calls().decrypt > before).await;
    assert!(matches!(ask().await, Opened::Plain { .. }));
    assert_eq!(plugin.calls().decrypt, before + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_key_is_told_from_a_lost_service() {
    let (_directory, path) = socket();
    let plugin = Plugin::running(&path);
    let stored = keyed(&plugin).await.seal(PLACE, "{}");
    plugin.rotate("kek-2", 0x17);
    plugin.forget("kek-1");
    // Whatever the code, a service that is well has refused.
    for code in [Code::Unknown, Code::Internal, Code::NotFound, Code::InvalidArgument, Code::PermissionDenied] {
        plugin.refuse_with(code);
        let here = keyed(&plugin).await;
        let (reason, message) = here.refusal(PLACE, &stored).await;
        assert_eq!(reason, Reason::NoKey, "{code:?}");
        let expected = format!("failed to decrypt DEK, error: rpc error: code = {code:?} desc = there is no such key");
        assert_eq!(message, expected);
    }
    // One that says it has troubles, or whose error says so, has not.
    for code in [Code::Unavailable, Code::DeadlineExceeded, Code::ResourceExhausted, Code::Aborted] {
        plugin.refuse_with(code);
        assert!(keyed(&plugin).await.is_away(PLACE, &stored).await, "{code:?}");
    }
    plugin.refuse_with(Code::Unknown);
    plugin.healthz("the backend is down");
    let here = keyed(&plugin).await;
    assert!(here.is_away(PLACE, &stored).await);
    let why = here.seals.health().await.unwrap_err();
    assert_eq!(
        why,
        "kms-provider-0: kmsv2 Provider vault is not healthy, error: got unexpected healthz status: the backend is down"
    );
    // The key is found again.
    plugin.healthz("ok");
    plugin.rotate("kek-1", 0x5a);
    eventually("it opens", async || matches!(here.open(PLACE, stored.clone()).await, Opened::Plain { .. })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_service_says_has_limits() {
    let (_directory, path) = socket();
    let health = async |change: &dyn Fn(&Plugin)| {
        let plugin = Plugin::running(&path);
        change(&plugin);
        let here = keyed(&plugin).await;
        let sealed = here.transform.seal(PLACE, &Plain::new("{}"));
        assert!(matches!(sealed, Err(SealError::Away(_))), "{sealed:?}");
        (here.seals.health().await.unwrap_err(), rendered(&here.registry))
    };
    let (why, metrics) = health(&|plugin| plugin.name("")).await;
    assert!(why.ends_with("got invalid KMSv2 KeyID hash \"\": keyID is empty"), "{why}");
    assert!(metrics.contains(
        "apiserver_envelope_encryption_invalid_key_id_from_status_total{error=\"empty\",provider_name=\"vault\"}"
    ));
    let (why, _) = health(&|plugin| plugin.rotate(&"x".repeat(1025), 1)).await;
    assert!(why.ends_with(": keyID is 1025 bytes, which exceeds the max size of 1024"), "{why}");
    let (why, _) = health(&|plugin| plugin.annotate("nodots", b"")).await;
    assert!(why.contains("failed to validate annotations: annotations: Invalid value: \"nodots\""), "{why}");
    let (why, _) = health(&|plugin| plugin.annotate("big.example.com", &[0; 40_000])).await;
    assert!(why.contains("which exceeds the max size of 32768"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_version_of_a_service_stays() {
    let (_directory, path) = socket();
    let plugin = Plugin::running(&path);
    plugin.version("v2beta1");
    let here = keyed(&plugin).await;
    assert_eq!(here.seals.health().await, Ok(()));
    plugin.version("v2");
    eventually("it is told", async || here.seals.health().await.is_err()).await;
    assert_eq!(
        here.seals.health().await.unwrap_err(),
        "kms-provider-0: kmsv2 Provider vault is not healthy, error: KMSv2 API version should not change after the initial status response version v2beta1, got v2"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_and_key_ids_are_counted() {
    let (_directory, path) = socket();
    let plugin = Plugin::running(&path);
    let here = keyed(&plugin).await;
    let sealed = here.seal(PLACE, "{}");
    here.plain(PLACE, sealed).await;
    let text = rendered(&here.registry);
    for begin in [
        "apiserver_envelope_encryption_kms_operations_latency_seconds_count{grpc_status_code=\"OK\",method_name=\"/v2.KeyManagementService/Encrypt\",provider_name=\"vault\"} 1",
        "apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds{apiserver_id_hash=\"sha256:",
        "apiserver_storage_data_key_generation_duration_seconds_count 1",
        "apiserver_storage_transformation_operations_total{resource=\"secrets\",status=\"OK\",transformation_type=\"to_storage\",transformer_prefix=\"k8s:enc:kms:v2:vault:\"} 1",
    ] {
        assert!(text.lines().any(|line| line.starts_with(begin)), "{begin}\n{text}");
    }
    let uses = text.lines().filter(|line| line.starts_with("apiserver_envelope_encryption_key_id_hash_total"));
    assert!(uses.clone().all(|line| line.ends_with(" 1")) && uses.count() == 2, "{text}");
    assert!(!text.contains("kek-1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn envelopes_that_are_cut_or_changed_never_open_to_something_else() {
    let (_directory, path) = socket();
    let plugin = Plugin::running(&path);
    let here = keyed(&plugin).await;
    let sealed = here.seal(PLACE, "{\"a\":1}");
    for len in 0..sealed.len() {
        let answer = here.open(PLACE, sealed[..len].to_vec()).await;
        assert!(matches!(answer, Opened::Unreadable(_)), "{len}: {answer:?}");
    }
    for at in "k8s:enc:kms:v2:vault:".len()..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        match here.open(PLACE, changed).await {
            Opened::Unreadable(_) => {}
            // What is said about the data key is the service's to check.
            Opened::Plain { bytes, .. } => assert_eq!(bytes.as_slice(), b"{\"a\":1}", "{at}"),
            Opened::Away(away) => panic!("{at}: {away}"),
        }
    }
}
