//! The suite of all backends, on a directory.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed expectation is how a test reports")]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pawl_kv::Kv;
use pawl_kv_embedded::{Options, Store};

async fn check(options: Options) {
    let directory = tempfile::tempdir().unwrap();
    let next = AtomicU64::new(0);
    let fresh = || -> PathBuf { directory.path().join(next.fetch_add(1, Ordering::Relaxed).to_string()) };
    let make = || async { Store::open(&fresh(), options.clone()).unwrap() as Arc<dyn Kv> };
    if let Err(reason) = pawl_kv::conformance::run(make).await {
        panic!("{reason}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_default_options() {
    check(Options::default()).await;
}

/// Everything older than the newest batch is read back from many small segments.
#[tokio::test(flavor = "multi_thread")]
async fn with_little_memory_and_small_segments() {
    check(Options { segment_bytes: 2048, window_bytes: 0, ..Options::default() }).await;
}
