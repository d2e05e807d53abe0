//! Crashes and failing disks: what was acknowledged is there, nothing is half there, nothing goes back.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod ledger;

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use ledger::{Ledger, cases, healthy};
use pawl_kv::{Error, Kv, RangeRequest};
use pawl_kv_embedded::simulated::{Faults, SimulatedDisk};
use pawl_kv_embedded::{Options, Store};

fn open(disk: &SimulatedDisk, options: &Options) -> Arc<Store> {
    Store::open_on(Arc::new(disk.clone()), options.clone()).unwrap()
}

/// Small enough that rotation, compaction and reading the log back happen all the time.
fn some_options(rng: &mut Rng) -> Options {
    Options {
        history: *rng.choice([Duration::ZERO, Duration::from_secs(3600)].iter()).unwrap(),
        history_bytes: *rng.choice([8 << 10, 1 << 30].iter()).unwrap(),
        segment_bytes: *rng.choice([1 << 10, 4 << 10, 64 << 10].iter()).unwrap(),
        window_bytes: *rng.choice([0, 4 << 10, 1 << 20].iter()).unwrap(),
        sync: true,
    }
}

/// Opened like this a store forgets nothing while one looks at it.
fn patient() -> Options {
    Options { history: Duration::from_secs(3600), ..Options::default() }
}

/// Several lives of one store; `live` decides what goes wrong in each and gives the disk that the next one finds.
async fn lives<F>(short: usize, live: impl Fn(SimulatedDisk, Arc<Store>, Ledger, Rng) -> F)
where
    F: Future<Output = SimulatedDisk>,
{
    cases(short, async |mut rng, _| {
        let mut disk = SimulatedDisk::new(rng.u64(..));
        let ledger = Ledger::default();
        for _ in 0..rng.u32(2..7) {
            let store = open(&disk, &some_options(&mut rng));
            disk = live(disk, store, ledger.clone(), rng.fork()).await;
            let store = open(&disk, &patient());
            ledger.verify(&store, &mut rng).await;
            drop(store);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn power_goes_out_at_any_moment() {
    lives(60, async |disk, store, ledger, mut rng| {
        let crash_after = Some(rng.u64(1..150));
        disk.set_faults(Faults { crash_after, ..Faults::default() });
        ledger.work(&store, &mut rng, 6, 15).await;
        let after = disk.crash();
        drop(store);
        after
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn power_goes_out_while_syncs_are_slow() {
    lives(12, async |disk, store, ledger, mut rng| {
        let crash_after = Some(rng.u64(1..60));
        disk.set_faults(Faults { crash_after, delay: Duration::from_millis(3), ..Faults::default() });
        ledger.work(&store, &mut rng, 12, 10).await;
        let after = disk.crash();
        drop(store);
        after
    })
    .await;
}

/// A disk that fails: writes are refused, reads go on. Once it works again the store does too, and what happened is there
/// for good.
async fn after_a_failure(
    disk: SimulatedDisk,
    store: Arc<Store>,
    ledger: Ledger,
    mut rng: Rng,
    faults: Faults,
) -> SimulatedDisk {
    disk.set_faults(faults);
    ledger.work(&store, &mut rng, 6, 15).await;
    if let Err(failure) = store.health() {
        assert!(matches!(failure, Error::ReadOnly(_)), "{failure}");
        let revision = store.revision().await.unwrap();
        let range = store.range(RangeRequest { revision: Some(revision), ..RangeRequest::default() }).await;
        assert!(range.is_ok(), "{range:?}");
    }
    disk.set_faults(Faults::default());
    if rng.bool() {
        healthy(&store).await;
        ledger.settle(&store).await;
        ledger.work(&store, &mut rng, 3, 5).await;
    }
    // The process may be started again on what the kernel still shows, or after the power went out.
    if rng.bool() {
        drop(store);
        disk
    } else {
        let after = disk.crash();
        drop(store);
        after
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_fails() {
    lives(20, async |disk, store, ledger, mut rng| {
        let faults = Faults { fail_sync_after: Some(rng.u64(0..40)), ..Faults::default() };
        after_a_failure(disk, store, ledger, rng, faults).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_disk_is_full() {
    lives(20, async |disk, store, ledger, mut rng| {
        let faults = Faults { space: Some(rng.u64(0..60_000)), ..Faults::default() };
        after_a_failure(disk, store, ledger, rng, faults).await
    })
    .await;
}
