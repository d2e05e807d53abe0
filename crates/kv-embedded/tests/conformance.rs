//! The suite of all backends, on a directory and on a slow disk.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pawl_kv::Kv;
use pawl_kv_embedded::simulated::{Faults, SimulatedDisk};
use pawl_kv_embedded::{Options, Store};

async fn check(open: impl Fn(u64) -> Arc<Store>) {
    let next = AtomicU64::new(0);
    let make = || async { open(next.fetch_add(1, Ordering::Relaxed)) as Arc<dyn Kv> };
    if let Err(reason) = pawl_kv::conformance::run(make).await {
        panic!("{reason}");
    }
}

async fn check_on_a_directory(options: Options) {
    let directory = tempfile::tempdir().unwrap();
    check(|number| Store::open(&directory.path().join(number.to_string()), options.clone()).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_default_options() {
    check_on_a_directory(Options::default()).await;
}

/// Everything older than the newest batch is read back from many small segments.
#[tokio::test(flavor = "multi_thread")]
async fn with_little_memory_and_small_segments() {
    check_on_a_directory(Options { segment_bytes: 2048, window_bytes: 0, ..Options::default() }).await;
}

/// Batches grow while a sync takes its time: many writes of one key meet in one batch.
#[tokio::test(flavor = "multi_thread")]
async fn with_slow_syncs() {
    check(|seed| {
        let disk = SimulatedDisk::new(seed);
        disk.set_faults(Faults { delay: Duration::from_millis(2), ..Faults::default() });
        Store::open_on(Arc::new(disk), Options { segment_bytes: 64 << 10, ..Options::default() }).unwrap()
    })
    .await;
}
