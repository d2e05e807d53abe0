//! Damage to what was written: it is found, named, and never taken for an unfinished write.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

mod ledger;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fastrand::Rng;
use ledger::{Ledger, cases, history};
use pawl_kv::{Error, KeyValue, Kv};
use pawl_kv_embedded::simulated::{Fault, Faults, Moment, SimulatedDisk};
use pawl_kv_embedded::{Disk, Frozen, Options, Salvaged, Store};

const MARK: &str = "acknowledged";

fn open(disk: &SimulatedDisk) -> pawl_kv::Result<Arc<Store>> {
    Store::open_on(Arc::new(disk.clone()), Options { history: Duration::from_secs(3600), ..Options::default() })
}

/// A store that has worked for a while, restarts and compactions included, and was closed.
async fn used(rng: &mut Rng) -> (SimulatedDisk, Ledger) {
    let disk = SimulatedDisk::new(rng.u64(..));
    let ledger = Ledger::default();
    for _ in 0..rng.u32(1..4) {
        let history = *rng.choice([Duration::ZERO, Duration::from_secs(3600)].iter()).unwrap();
        let segment_bytes = *rng.choice([2 << 10, 16 << 10, 1 << 20].iter()).unwrap();
        let options = Options { history, segment_bytes, ..Options::default() };
        let store = Store::open_on(Arc::new(disk.clone()), options).unwrap();
        ledger.work(&store, rng, 5, 15).await;
        if rng.bool() {
            store.compact(store.revision().await.unwrap() / 2).await.unwrap();
        }
    }
    (disk, ledger)
}

/// One of the bytes that were written.
fn some_byte(disk: &SimulatedDisk, rng: &mut Rng) -> Damage {
    let files: Vec<_> = disk.written().into_iter().filter(|(_, written)| !written.is_empty()).collect();
    let (name, written) = rng.choice(files).unwrap();
    let range = rng.choice(written.iter()).unwrap().clone();
    let offset = rng.u64(range);
    Damage { name, written, offset }
}

/// A byte that was damaged.
struct Damage {
    name: String,
    /// What was written to the file.
    written: Vec<Range<u64>>,
    offset: u64,
}

/// Flips one bit after the other. Where the store opens all the same, `judge` says whether it may.
async fn flip_bits(
    disk: &SimulatedDisk,
    ledger: &Ledger,
    mut rng: Rng,
    mut judge: impl AsyncFnMut(&Damage, Arc<Store>, &mut Rng),
) {
    for _ in 0..40 {
        let damage = some_byte(disk, &mut rng);
        let Damage { name, offset, .. } = &damage;
        let bit = rng.u32(0..8);
        disk.flip(name, *offset, bit);
        match open(disk) {
            Err(Error::Corrupt(what)) => assert!(what.contains(name), "byte {offset} of {name} flipped: {what}"),
            Err(other) => panic!("byte {offset} of {name} flipped: {other}"),
            Ok(store) => judge(&damage, store, &mut rng).await,
        }
        disk.flip(name, *offset, bit);
    }
    ledger.verify(&open(disk).unwrap(), &mut rng).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_bit_stops_the_store_from_opening() {
    cases(25, async |mut rng, _| {
        let (disk, ledger) = used(&mut rng).await;
        flip_bits(&disk, &ledger, rng, async |Damage { name, offset, .. }, store, rng| {
            // The mark is only ever a second opinion.
            assert_eq!(name, MARK, "byte {offset} flipped, and the store opens");
            ledger.verify(&store, rng).await;
        })
        .await;
    })
    .await;
}

/// When the mark went down with the machine, only the very last batch can no longer be told from an unfinished one.
#[tokio::test(flavor = "multi_thread")]
async fn without_the_mark_later_batches_are_the_proof() {
    cases(25, async |mut rng, _| {
        let (disk, ledger) = used(&mut rng).await;
        let whole = open(&disk).unwrap();
        let newest = whole.revision().await.unwrap();
        let compacted = whole.compacted().max(1);
        let events = history(&whole, compacted, newest).await;
        drop(whole);
        disk.remove(MARK).unwrap();
        flip_bits(&disk, &ledger, rng, async |Damage { name, written, offset }, store, _| {
            let last_segment = disk.written().into_iter().rfind(|(name, _)| name.ends_with(".log")).unwrap().0;
            assert_eq!(*name, last_segment);
            let last_batch = written.iter().max_by_key(|range| range.start).unwrap();
            assert!(last_batch.contains(offset), "byte {offset} of {name} flipped, and it opens");
            let revision = store.revision().await.unwrap();
            // It may have been the batch that moved the compacted revision.
            let mut left = history(&store, store.compacted().max(1), revision).await;
            left.retain(|event| event.revision > compacted);
            assert!(events.starts_with(&left));
        })
        .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_file_stops_the_store_from_opening() {
    let disk = SimulatedDisk::new(1);
    let store = Store::open_on(Arc::new(disk.clone()), Options { segment_bytes: 4096, ..Options::default() }).unwrap();
    Ledger::default().work(&store, &mut Rng::with_seed(1), 4, 20).await;
    drop(store);
    let segments: Vec<String> = disk.list().unwrap().into_iter().filter(|name| name.ends_with(".log")).collect();
    assert!(segments.len() > 3);
    for missing in segments {
        disk.rename(&missing, "aside").unwrap();
        let refused = open(&disk).err().unwrap();
        assert!(matches!(refused, Error::Corrupt(_)), "without {missing}: {refused}");
        disk.rename("aside", &missing).unwrap();
    }
    assert!(open(&disk).is_ok());
}

/// Whatever lies in the directory, opening answers, and so does salvaging.
#[tokio::test(flavor = "multi_thread")]
async fn any_bytes_are_answered() {
    cases(300, async |mut rng, done| {
        let disk = SimulatedDisk::new(0);
        for name in ["0000000000000001.log", "0000000000000002.log", "00000000000000000005.snap", MARK, "x.tmp"] {
            if rng.bool() {
                let bytes: Vec<u8> = std::iter::repeat_with(|| rng.u8(..)).take(done % 300).collect();
                disk.create(name).unwrap().write_at(&bytes, 0).unwrap();
            }
        }
        let _ = Frozen::on(Arc::new(disk.clone())).salvage(true);
        let opened = open(&disk);
        let has_log = disk.list().unwrap().iter().any(|name| name.ends_with(".log") || name.ends_with(".snap"));
        assert!(opened.is_ok() || has_log, "{:?}", opened.err());
    })
    .await;
}

/// Salvages from a disk on which nothing can be changed.
fn salvage(disk: &SimulatedDisk, unproven: bool) -> Salvaged {
    let moment = Moment { fault: Fault::ReadOnly, after: 0, calls: u64::MAX };
    disk.set_faults(Faults { moment: Some(moment), ..Faults::default() });
    let salvaged = Frozen::on(Arc::new(disk.clone())).salvage(unproven).unwrap();
    disk.set_faults(Faults::default());
    salvaged
}

fn found(salvaged: &Salvaged) -> BTreeMap<Bytes, KeyValue> {
    let items = salvaged.picture.items().map(|item| {
        let pawl_kv_embedded::Item { key, value, create_revision, mod_revision, .. } = item;
        (key.clone(), KeyValue { key, value, create_revision, mod_revision })
    });
    items.collect()
}

/// Nothing is made up, what differs from the truth is told, and what is not told is there.
fn judge(salvaged: &Salvaged, ledger: &Ledger, damaged: &str) {
    let (found, truth) = (found(salvaged), ledger.newest());
    for KeyValue { key, value, mod_revision, .. } in found.values() {
        assert!(ledger.knows(*mod_revision, key, value), "{key:?} at {mod_revision} was never there");
    }
    assert!(found == truth || !salvaged.is_whole(), "something is lost and nobody says so: {damaged}");
    assert!(salvaged.lost.iter().all(|lost| !lost.what.is_empty() && !lost.file.is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_store_is_salvaged_whole() {
    cases(15, async |mut rng, _| {
        let (disk, ledger) = used(&mut rng).await;
        let salvaged = salvage(&disk, false);
        assert!(salvaged.is_whole(), "{:?}", salvaged.lost);
        assert_eq!(found(&salvaged), ledger.newest());
        let store = open(&disk).unwrap();
        assert_eq!(salvaged.picture.revision, store.revision().await.unwrap());
        drop(store);
        let picture = Frozen::on(Arc::new(disk.clone())).picture().unwrap();
        assert_eq!((picture.revision, picture.len()), (salvaged.picture.revision, ledger.newest().len()));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_flipped_bit_leaves_is_salvaged_and_the_rest_is_named() {
    cases(15, async |mut rng, _| {
        let (disk, ledger) = used(&mut rng).await;
        for _ in 0..40 {
            let Damage { name, offset, .. } = some_byte(&disk, &mut rng);
            let bit = rng.u32(0..8);
            disk.flip(&name, offset, bit);
            let salvaged = salvage(&disk, false);
            let damaged = format!("byte {offset} of {name}: {:?}", salvaged.lost);
            judge(&salvaged, &ledger, &damaged);
            // One place is damaged, and nothing beyond it is given up: the file is named.
            assert!(salvaged.lost.iter().any(|lost| lost.file == name), "{damaged}");
            let refused = Frozen::on(Arc::new(disk.clone())).picture();
            assert!(refused.is_err() || name == MARK, "{damaged}");
            // Who wants what is not proved gets it, and is told which keys these are.
            let more = salvage(&disk, true);
            assert_eq!(more.lost, salvaged.lost);
            for KeyValue { key, value, mod_revision, .. } in found(&more).values() {
                let known = ledger.knows(*mod_revision, key, value);
                assert!(known || more.unproven.contains(key), "{key:?} is not proved, and nobody says so: {damaged}");
            }
            disk.flip(&name, offset, bit);
        }
        assert_eq!(found(&salvage(&disk, false)), ledger.newest());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_missing_files_leave_is_salvaged_and_the_gap_is_named() {
    let disk = SimulatedDisk::new(1);
    let store = Store::open_on(Arc::new(disk.clone()), Options { segment_bytes: 4096, ..Options::default() }).unwrap();
    let ledger = Ledger::default();
    ledger.work(&store, &mut Rng::with_seed(1), 4, 40).await;
    drop(store);
    let segments: Vec<String> = disk.list().unwrap().into_iter().filter(|name| name.ends_with(".log")).collect();
    assert!(segments.len() > 3);
    for missing in segments {
        disk.rename(&missing, "aside").unwrap();
        let salvaged = salvage(&disk, false);
        let gap = salvaged.lost.iter().any(|lost| lost.what.contains("the writes of the revisions"));
        assert!(gap, "without {missing}: {:?}", salvaged.lost);
        judge(&salvaged, &ledger, &missing);
        disk.rename("aside", &missing).unwrap();
    }
}

/// A restored store is one block or a few: a flipped bit in one of them takes many keys with it that are whole.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_proved_is_most_of_a_damaged_block() {
    let place = tempfile::tempdir().unwrap();
    let mut fresh = pawl_kv_embedded::Fresh::create(place.path()).unwrap();
    for number in 0..200_u64 {
        fresh.push(format!("/k/{number:03}").as_bytes(), &[b'x'; 500], (number + 2, number + 2), None).unwrap();
    }
    fresh.finish(1000).unwrap();
    let file = place.path().join("00000000000000001000.snap");
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let proved = Frozen::open(place.path()).unwrap().salvage(false).unwrap();
    assert_eq!((proved.picture.len(), proved.unproven.len(), proved.lost.len()), (0, 0, 1));
    let all = Frozen::open(place.path()).unwrap().salvage(true).unwrap();
    let as_they_were = all.picture.items().filter(|item| *item.value == [b'x'; 500]).count();
    assert!(as_they_were >= 199 && all.unproven.len() >= 199, "{as_they_were}");
}
