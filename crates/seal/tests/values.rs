//! Keys that lie in the configuration: what seals, what opens, and what is said of values that do not open.

#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod support;

use pawl_seal::{Opened, Opening, Plain, Reason, Sealed, Seals};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{Keyed, PACE, config, document, for_all, metrics, rendered, resource};

const PLACE: &str = "/registry/secrets/default/s1";

/// A secret of 32 equal bytes.
fn secret(byte: u8) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode([byte; 32])
}

fn key(name: &str, byte: u8) -> Value {
    json!({"name": name, "secret": secret(byte)})
}

fn keys(provider: &str, keys: &[(&str, u8)]) -> Value {
    json!({provider: {"keys": keys.iter().map(|(name, byte)| key(name, *byte)).collect::<Vec<_>>()}})
}

const LOCAL: [&str; 3] = ["aesgcm", "aescbc", "secretbox"];

#[tokio::test]
async fn each_provider_opens_what_it_sealed() {
    for name in LOCAL {
        let keyed = Keyed::with(json!([keys(name, &[("k", 1)])])).await;
        let sealed = keyed.seal(PLACE, "{\"a\":1}");
        assert!(sealed.starts_with(format!("k8s:enc:{name}:v1:k:").as_bytes()), "{name}");
        assert!(!sealed.windows(3).any(|window| window == b"\"a\""), "{name}");
        match keyed.open(PLACE, sealed.clone()).await {
            Opened::Plain { bytes, seal, stale } => {
                assert_eq!(bytes, Plain::new(&b"{\"a\":1}"[..]), "{name}");
                assert_eq!((seal.provider(), seal.key(), seal.key_id(), stale), (name, "k", None, false));
                assert_eq!(seal.prefix(), format!("k8s:enc:{name}:v1:k:"));
                assert!(!keyed.transform.is_stale(&seal));
            }
            other => panic!("{name}: {other:?}"),
        }
        assert_ne!(keyed.seal(PLACE, "{\"a\":1}"), sealed, "{name}: never the same twice");
    }
}

#[tokio::test]
async fn nothing_waits_where_keys_are_at_hand() {
    for name in LOCAL {
        let keyed = Keyed::with(json!([keys(name, &[("k", 1)])])).await;
        let sealed = Sealed::stored(keyed.seal(PLACE, "{}"));
        assert!(matches!(keyed.transform.open(PLACE, sealed), Opening::Done(Opened::Plain { .. })), "{name}");
    }
}

#[tokio::test]
async fn the_first_key_of_the_first_provider_seals_and_all_open() {
    let (a, b) = (keys("aescbc", &[("one", 1), ("two", 2)]), keys("secretbox", &[("three", 3)]));
    let identity = json!({"identity": {}});
    let now = Keyed::with(json!([a, b, identity])).await;
    for (before, stale) in [
        (json!([keys("aescbc", &[("one", 1)])]), false),
        (json!([keys("aescbc", &[("two", 2)])]), true),
        (json!([b]), true),
        (json!([identity]), true),
    ] {
        let sealed = Keyed::with(before.clone()).await.seal(PLACE, "{}");
        assert_eq!(now.plain(PLACE, sealed.clone()).await, (b"{}".to_vec(), stale), "{before}");
        match now.open(PLACE, sealed).await {
            Opened::Plain { seal, .. } => assert_eq!(now.transform.is_stale(&seal), stale, "{before}"),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn identity_before_others_still_lets_them_open() {
    let sealed = Keyed::with(json!([keys("aesgcm", &[("k", 1)])])).await.seal(PLACE, "{}");
    let away_from = Keyed::with(json!([{"identity": {}}, keys("aesgcm", &[("k", 1)])])).await;
    assert_eq!(away_from.plain(PLACE, sealed.clone()).await, (b"{}".to_vec(), true));
    assert_eq!(away_from.seal(PLACE, "{}"), b"{}");
    let only = Keyed::with(json!([{"identity": {}}])).await;
    assert_eq!(only.refusal(PLACE, &sealed).await, (Reason::NoKey, "no matching prefix found".to_owned()));
}

#[tokio::test]
async fn what_does_not_open_says_why_in_upstreams_words() {
    let keyed = Keyed::with(json!([keys("aesgcm", &[("k", 1)]), keys("secretbox", &[("box", 2)])])).await;
    let other = Keyed::with(json!([keys("aesgcm", &[("k", 9)])])).await.seal(PLACE, "{}");
    let cases: [(&[u8], Reason, &str); 9] = [
        (b"{}", Reason::NoKey, "no matching prefix found"),
        (b"k8s:enc:aescbc:v1:k:0123", Reason::NoKey, "no matching prefix found"),
        (b"k8s:enc:kms:v2:vault:0123", Reason::NoKey, "no matching prefix found"),
        (b"k8s:enc:", Reason::Damaged, "no matching prefix found"),
        (b"k8s:enc:aesgcm:v1:gone:0", Reason::NoKey, "no matching key was found for the provided AES transformer"),
        (
            b"k8s:enc:secretbox:v1:gone:0",
            Reason::NoKey,
            "no matching key was found for the provided Secretbox transformer",
        ),
        (b"k8s:enc:aesgcm:v1:k:0", Reason::Damaged, "the stored data was shorter than the required size"),
        (b"k8s:enc:secretbox:v1:box:0", Reason::Damaged, "the stored data was shorter than the required size"),
        (&other, Reason::WrongKey, "cipher: message authentication failed"),
    ];
    for (value, reason, message) in cases {
        let shown = String::from_utf8_lossy(value);
        assert_eq!(keyed.refusal(PLACE, value).await, (reason, message.to_owned()), "{shown}");
    }
    match keyed.open(PLACE, other).await {
        Opened::Unreadable(unreadable) => assert_eq!((&*unreadable.provider, &*unreadable.key), ("aesgcm", "k")),
        other => panic!("{other:?}"),
    }
    let unruled = Seals::none(metrics().1).transform(resource("secrets"));
    match unruled.open(PLACE, Sealed::stored(&b"k8s:enc:aesgcm:v1:k:0"[..])) {
        Opening::Done(Opened::Unreadable(unreadable)) => {
            assert_eq!(unreadable.message, "identity transformer tried to read encrypted data");
        }
        _ => panic!("it has no key"),
    }
}

#[tokio::test]
async fn all_keys_that_a_value_might_mean_are_tried() {
    // The same name twice, as in a rotation that keeps it.
    let old = Keyed::with(json!([keys("secretbox", &[("k", 1)])])).await.seal(PLACE, "{}");
    let both = Keyed::with(json!([keys("secretbox", &[("k", 2)]), keys("secretbox", &[("k", 1)])])).await;
    assert_eq!(both.plain(PLACE, old.clone()).await, (b"{}".to_vec(), true));
    match both.open(PLACE, old).await {
        Opened::Plain { seal, .. } => assert!(both.transform.is_stale(&seal)),
        other => panic!("{other:?}"),
    }
    // A name that begins like another.
    let long = Keyed::with(json!([keys("aesgcm", &[("a:b", 1)])])).await.seal(PLACE, "{}");
    let begins = Keyed::with(json!([keys("aesgcm", &[("a", 2), ("a:b", 1)])])).await;
    assert_eq!(begins.plain(PLACE, long).await, (b"{}".to_vec(), true));
}

#[tokio::test]
async fn values_are_bound_to_their_place_where_upstream_binds_them() {
    for (name, bound) in [("aesgcm", true), ("aescbc", false), ("secretbox", false)] {
        let keyed = Keyed::with(json!([keys(name, &[("k", 1)])])).await;
        let sealed = keyed.seal(PLACE, "{}");
        let moved = keyed.open("/registry/secrets/default/s2", sealed).await;
        assert_eq!(matches!(moved, Opened::Unreadable(_)), bound, "{name}");
    }
}

#[tokio::test]
async fn resources_find_their_rule() {
    let entry = |names: &[&str], name: &str| json!({"resources": names, "providers": [keys("aesgcm", &[(name, 1)])]});
    let text = document(json!([
        entry(&["events"], "events"),
        entry(&["secrets", "pandas.awesome.bears.example"], "named"),
        entry(&["*.apps", "*.bears.example"], "group"),
        entry(&["*."], "core"),
    ]));
    let keyed = Keyed::new(&text, PACE).await;
    for (name, key) in [
        ("events", "events"),
        ("secrets", "named"),
        ("pandas.awesome.bears.example", "named"),
        ("deployments.apps", "group"),
        ("pandas.bears.example", "group"),
        ("configmaps", "core"),
        ("ingresses.networking.k8s.io", ""),
    ] {
        let transform = keyed.seals.transform(resource(name));
        let sealed = transform.seal(PLACE, &Plain::new("{}")).unwrap();
        let prefix = if key.is_empty() { "{}".to_owned() } else { format!("k8s:enc:aesgcm:v1:{key}:") };
        assert!(sealed.as_slice().starts_with(prefix.as_bytes()), "{name}");
    }
    let everything = Keyed::with(json!([keys("aesgcm", &[("all", 1)])])).await;
    let any = everything.seals.transform(resource("widgets.vec.example.com"));
    assert!(any.seal(PLACE, &Plain::new("{}")).unwrap().as_slice().starts_with(b"k8s:enc:aesgcm:v1:all:"));
}

#[tokio::test]
async fn a_resource_that_is_named_again_may_still_be_opened_by_what_stands_there() {
    let old = Keyed::with(json!([keys("aescbc", &[("old", 2)])])).await.seal(PLACE, "{}");
    let text = document(json!([
        {"resources": ["secrets"], "providers": [keys("aesgcm", &[("new", 1)])]},
        {"resources": ["secrets"], "providers": [keys("aescbc", &[("old", 2)])]},
    ]));
    let keyed = Keyed::new(&text, PACE).await;
    assert!(keyed.seal(PLACE, "{}").starts_with(b"k8s:enc:aesgcm:v1:new:"));
    assert_eq!(keyed.plain(PLACE, old).await, (b"{}".to_vec(), true));
}

#[tokio::test]
async fn a_change_of_keys_says_which_values_it_concerns() {
    let (_, metrics) = metrics();
    let start = for_all(json!([keys("aesgcm", &[("a", 1), ("b", 2)])]));
    let seals = Seals::start(&config(&start), PACE, metrics).await.unwrap();
    let secrets = resource("secrets");
    let transform = seals.transform(secrets.clone());
    let seal = |plain: &'static str| transform.seal(PLACE, &Plain::new(plain)).unwrap();
    let open = |value: &Sealed| match transform.open(PLACE, value.clone()) {
        Opening::Done(opened) => opened,
        Opening::Asking(_) => panic!("nobody is to be asked"),
    };
    let by_a = seal("{}");
    let Opened::Plain { seal: with_a, .. } = open(&by_a) else { panic!("it opens") };
    let mut mark = seals.mark();
    let mut change = async |providers: Value, opens: bool| {
        let candidate = seals.prepare(&config(&for_all(providers))).await.unwrap();
        let touched = candidate.mark().since(&mark, &secrets);
        assert_eq!(candidate.mark().opens(&secrets, &with_a), opens);
        let generation = seals.install(candidate);
        assert_eq!(seals.mark().generation(), generation);
        assert_eq!(seals.mark().since(&mark, &secrets), touched);
        mark = seals.mark();
        touched
    };
    // Another order changes nothing but what seals.
    let touched = change(json!([keys("aesgcm", &[("b", 2), ("a", 1)])]), true).await;
    assert!(touched.is_empty());
    assert!(transform.is_stale(&with_a) && matches!(open(&by_a), Opened::Plain { stale: true, .. }));
    // A key goes: what it sealed is closed, and nothing else is.
    let touched = change(json!([keys("aesgcm", &[("b", 2)]), {"identity": {}}]), false).await;
    assert!(touched.closes(&with_a) && !touched.may_open(&by_a));
    assert!(touched.may_open(&Sealed::stored(&b"{}"[..])));
    assert!(matches!(open(&by_a), Opened::Unreadable(_)));
    // It returns.
    let touched = change(json!([keys("aesgcm", &[("b", 2), ("a", 1)])]), true).await;
    assert!(touched.may_open(&by_a) && !touched.closes(&with_a));
    assert!(matches!(open(&by_a), Opened::Plain { .. }));
    // Another key of its name takes its place.
    let touched = change(json!([keys("aesgcm", &[("b", 2), ("a", 7)])]), false).await;
    assert!(touched.closes(&with_a) && touched.may_open(&by_a));
    assert!(matches!(open(&by_a), Opened::Unreadable(_)));
}

#[tokio::test]
async fn work_is_counted_under_upstreams_names() {
    let keyed = Keyed::with(json!([keys("aesgcm", &[("k", 1)]), {"identity": {}}])).await;
    let sealed = keyed.seal(PLACE, "{}");
    keyed.plain(PLACE, sealed).await;
    keyed.plain(PLACE, b"{}".to_vec()).await;
    keyed.refusal(PLACE, b"k8s:enc:aesgcm:v1:k:0").await;
    keyed.refusal(PLACE, b"k8s:enc:aescbc:v1:k:0").await;
    let total = |kind: &str, prefix: &str, status: &str| {
        keyed.metric(&format!(
            "apiserver_storage_transformation_operations_total{{resource=\"secrets\",status=\"{status}\",transformation_type=\"{kind}\",transformer_prefix=\"{prefix}\"}}"
        ))
    };
    assert_eq!(total("to_storage", "k8s:enc:aesgcm:v1:", "OK"), Some(1.0));
    assert_eq!(total("from_storage", "k8s:enc:aesgcm:v1:", "OK"), Some(1.0));
    assert_eq!(total("from_storage", "k:", "OK"), Some(1.0));
    assert_eq!(total("from_storage", "identity", "OK"), Some(1.0));
    assert_eq!(total("from_storage", "k8s:enc:aesgcm:v1:", "unknown-non-grpc"), Some(1.0));
    assert_eq!(total("from_storage", "unknown", "unknown-non-grpc"), Some(1.0));
    let count = "apiserver_storage_transformation_duration_seconds_count{transformation_type=\"from_storage\",transformer_prefix=\"identity\"}";
    assert_eq!(keyed.metric(count), Some(1.0));
    let text = rendered(&keyed.registry);
    assert!(text.contains("apiserver_encryption_config_controller_last_config_info{apiserver_id_hash=\"sha256:"));
    assert!(!text.contains(&secret(1)));
}

#[tokio::test]
async fn nothing_that_is_shown_shows_a_key_or_what_is_inside() {
    let keyed = Keyed::with(json!([keys("aesgcm", &[("k", 1)])])).await;
    let sealed = keyed.seal(PLACE, "{\"password\":\"hidden\"}");
    let opened = keyed.open(PLACE, sealed.clone()).await;
    let refused = keyed.open("/registry/elsewhere", sealed.clone()).await;
    let shown = format!("{opened:?} {refused:?} {:?} {:?}", Sealed::stored(sealed), Plain::new("hidden"));
    assert!(!shown.contains("hidden") && !shown.contains(&secret(1)), "{shown}");
    assert!(!shown.contains("1, 1, 1, 1"), "{shown}");
    assert!(shown.contains("k8s:enc:aesgcm:v1:k:"), "{shown}");
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn all() -> Keyed {
    let providers = json!([keys("aesgcm", &[("k", 1)]), keys("aescbc", &[("k", 2)]), keys("secretbox", &[("k", 3)]),]);
    runtime().block_on(Keyed::with(providers))
}

fn opened(keyed: &Keyed, value: Vec<u8>) -> Opened {
    match keyed.transform.open(PLACE, Sealed::stored(value)) {
        Opening::Done(opened) => opened,
        Opening::Asking(_) => panic!("nobody is to be asked"),
    }
}

proptest! {
    #[test]
    fn whatever_is_sealed_opens(plain in proptest::collection::vec(any::<u8>(), 0..400), which in 0..3usize) {
        let keyed = runtime().block_on(Keyed::with(json!([keys(LOCAL[which], &[("k", 1)])])));
        let sealed = keyed.transform.seal(PLACE, &Plain::new(plain.clone())).unwrap();
        match opened(&keyed, sealed.into_bytes().to_vec()) {
            Opened::Plain { bytes, .. } => prop_assert_eq!(bytes.as_slice(), &plain[..]),
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn random_values_are_unreadable(rest in proptest::collection::vec(any::<u8>(), 0..400), which in 0..5usize) {
        let prefix = ["k8s:enc:aesgcm:v1:k:", "k8s:enc:secretbox:v1:k:", "k8s:enc:", "k8s:enc:aesgcm:v1:", "k8s:enc:kms:v2:"][which];
        let answer = opened(&all(), [prefix.as_bytes(), &rest].concat());
        prop_assert!(matches!(answer, Opened::Unreadable(_)), "{:?}", answer);
    }

    /// Nothing is authenticated there: by chance it opens, and what comes out is no object.
    #[test]
    fn random_values_of_cbc_never_panic(rest in proptest::collection::vec(any::<u8>(), 0..400)) {
        let answer = opened(&all(), [&b"k8s:enc:aescbc:v1:k:"[..], &rest].concat());
        prop_assert!(!matches!(answer, Opened::Away(_)));
    }

    #[test]
    fn values_that_are_cut_short_are_unreadable(len in 0..400usize, cut in 1..400usize, which in 0..3usize) {
        let keyed = runtime().block_on(Keyed::with(json!([keys(LOCAL[which], &[("k", 1)])])));
        let mut sealed = keyed.seal(PLACE, &"x".repeat(len));
        sealed.truncate(sealed.len().saturating_sub(cut));
        let answer = opened(&keyed, sealed);
        prop_assert!(matches!(answer, Opened::Unreadable(_)), "{:?}", answer);
    }

    #[test]
    fn values_with_a_changed_bit_are_unreadable(len in 0..400usize, at in any::<prop::sample::Index>(), bit in 0..8u8, which in 0..2usize) {
        let name = ["aesgcm", "secretbox"][which];
        let keyed = runtime().block_on(Keyed::with(json!([keys(name, &[("k", 1)])])));
        let mut sealed = keyed.seal(PLACE, &"x".repeat(len));
        let at = at.index(sealed.len());
        sealed[at] ^= 1 << bit;
        let answer = opened(&keyed, sealed);
        prop_assert!(matches!(answer, Opened::Unreadable(_)), "{:?}", answer);
    }
}
