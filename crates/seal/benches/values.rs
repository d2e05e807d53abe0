//! How long sealing and opening a value takes. `cargo bench --package pawl-seal` prints it; nothing is asserted.
#![allow(clippy::restriction, reason = "a benchmark prints")]

use std::hint::black_box;
use std::time::Instant;

use pawl_meta::GroupResource;
use pawl_seal::testing::Plugin;
use pawl_seal::{Config, Metrics, Opened, Opening, Pace, Plain, Sealed, Seals};

const SIZE: usize = 2400;
const ROUNDS: u32 = 100_000;
const PLACE: &str = "/registry/secrets/default/a-secret-of-usual-length";

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let plugin = Plugin::running(&directory.path().join("kms.sock"));
    let keys = r#"{"keys":[{"name":"key1","secret":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}]}"#;
    let kms = format!(r#"{{"kms":{{"apiVersion":"v2","name":"k","endpoint":"{}"}}}}"#, plugin.endpoint());
    for (name, provider) in [
        ("identity", r#"{"identity":{}}"#.to_owned()),
        ("aesgcm", format!(r#"{{"aesgcm":{keys}}}"#)),
        ("aescbc", format!(r#"{{"aescbc":{keys}}}"#)),
        ("secretbox", format!(r#"{{"secretbox":{keys}}}"#)),
        ("kms v2", kms),
    ] {
        let text = format!(
            r#"{{"apiVersion":"apiserver.config.k8s.io/v1","kind":"EncryptionConfiguration","resources":[{{"resources":["*.*"],"providers":[{provider}]}}]}}"#
        );
        let config = Config::parse("bench", text.as_bytes(), true).unwrap();
        let metrics = Metrics::register(&prometheus::Registry::new(), "bench").unwrap();
        let seals = runtime.block_on(Seals::start(&config, Pace::default(), metrics)).unwrap();
        measure(name, &seals);
    }
}

fn measure(name: &str, seals: &Seals) {
    let transform = seals.transform(GroupResource::new("", "secrets"));
    let plain = Plain::new(vec![b'x'; SIZE]);
    let began = Instant::now();
    for _ in 0..ROUNDS {
        black_box(transform.seal(black_box(PLACE), black_box(&plain)).unwrap());
    }
    let sealing = began.elapsed();
    let sealed: Sealed = transform.seal(PLACE, &plain).unwrap();
    let began = Instant::now();
    for _ in 0..ROUNDS {
        match transform.open(black_box(PLACE), black_box(sealed.clone())) {
            Opening::Done(Opened::Plain { bytes, .. }) => drop(black_box(bytes)),
            _ => panic!("it opens at once"),
        }
    }
    let opening = began.elapsed();
    let each = |took: std::time::Duration| took.as_secs_f64() * 1e6 / f64::from(ROUNDS);
    let more = sealed.as_slice().len() - SIZE;
    println!(
        "{name}: {SIZE} bytes, sealed in {:.2} µs, opened in {:.2} µs, {more} bytes more",
        each(sealing),
        each(opening)
    );
}
