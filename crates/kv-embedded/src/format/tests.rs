//! The decoders take anything, and give back what the encoders made.

use bytes::Bytes;
use pawl_kv::conformance::Effort;
use pawl_kv::{Event, KeyValue};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::*;

fn check<S: Strategy>(strategy: S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let effort = Effort::from_environment();
    let mut done = 0;
    while effort.wants(done, 4) {
        TestRunner::default().run(&strategy, &test).unwrap();
        done += 1;
    }
}

fn some_bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    // Few different bytes, so that values share beginnings and ends.
    prop_oneof![prop::collection::vec(any::<u8>(), 0..most), prop::collection::vec(0_u8..2, 0..most)]
}

fn some_event() -> impl Strategy<Value = (Event, Option<u64>)> {
    let value = || some_bytes(200).prop_map(Bytes::from);
    let previous = prop::option::of((value(), 1_u64..9, 9_u64..99));
    (value(), prop::option::of(value()), previous, prop::option::of(1_u64..)).prop_map(
        |(key, value, previous, deadline)| {
            let previous = previous.map(|(value, create_revision, mod_revision)| KeyValue {
                key: key.clone(),
                value,
                create_revision,
                mod_revision,
            });
            (Event { revision: 0, key, value, previous }, deadline)
        },
    )
}

#[test]
fn arbitrary_bytes_never_panic() {
    check((some_bytes(400), any::<u32>(), any::<u64>()), |(bytes, count, salt)| {
        let _ = SegmentHeader::decode(&bytes);
        let _ = SnapshotHeader::decode(&bytes);
        let _ = Mark::decode(&bytes);
        let _ = BlockHeader::decode(&bytes, salt, 0);
        let _ = BatchHeader::decode(&bytes, salt, 0);
        let _ = compaction(&bytes);
        let mut rest = bytes.as_slice();
        while SnapshotEntry::decode(&mut rest).is_some() {}
        // As if the checksum had held.
        let header = BatchHeader::unchecked(bytes.len() as u32, u64::MAX, count);
        header.next_revision();
        for operation in Operations::new(&header, &bytes).flatten() {
            let _ = operation.event(7);
        }
        Ok(())
    });
}

#[test]
fn a_batch_reads_back_as_it_was_written() {
    check((prop::collection::vec(some_event(), 1..20), any::<u64>(), any::<u64>()), |(events, salt, offset)| {
        let mut builder = BatchBuilder::default();
        builder.clear();
        let create = |event: &Event| event.previous.as_ref().map_or(5, |previous| previous.create_revision);
        events.iter().for_each(|(event, deadline)| builder.push(event, create(event), *deadline));
        let bytes = builder.finish(100, 7, salt, offset);
        let header = BatchHeader::decode(bytes, salt, offset).unwrap();
        let payload = &bytes[BatchHeader::SIZE..];
        prop_assert_eq!(header.size(), bytes.len() as u64);
        prop_assert!(header.matches(payload, salt, offset));
        prop_assert!(BatchHeader::decode(bytes, salt, offset.wrapping_add(8)).is_none());
        prop_assert_eq!(header.next_revision(), 100 + events.len() as u64);
        let read: Vec<_> = Operations::new(&header, payload).map(|operation| operation.unwrap()).collect();
        prop_assert_eq!(read.len(), events.len());
        for (operation, (event, deadline)) in read.iter().zip(&events) {
            prop_assert_eq!(&operation.event(0).unwrap(), event);
            prop_assert_eq!(operation.deadline, *deadline);
        }
        Ok(())
    });
}

#[test]
fn headers_read_back_and_notice_any_flipped_bit() {
    let segment = SegmentHeader { number: 3, salt: 4, first_revision: 5, previous_end: 6, created: 7 };
    let snapshot = SnapshotHeader { salt: 1, revision: 2, compacted: 3, entries: 4 };
    let mark = Mark { segment: 1, end: 2, revision: 3 };
    assert_eq!(SegmentHeader::decode(&segment.encode()), Some(segment));
    assert_eq!(SnapshotHeader::decode(&snapshot.encode()), Some(snapshot));
    assert_eq!(Mark::decode(&mark.encode()), Some(mark));
    let flipped = |bytes: Vec<u8>, reads: &dyn Fn(&[u8]) -> bool| {
        for bit in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(!reads(&bytes), "bit {bit}");
        }
    };
    flipped(segment.encode(), &|bytes| SegmentHeader::decode(bytes).is_some());
    flipped(snapshot.encode(), &|bytes| SnapshotHeader::decode(bytes).is_some());
    flipped(mark.encode(), &|bytes| Mark::decode(bytes).is_some());
}
