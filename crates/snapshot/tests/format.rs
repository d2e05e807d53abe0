//! The file: what is written is read back, and nothing else is ever taken for it.
#![allow(clippy::restriction, reason = "a failed expectation is how a test reports")]

use std::time::Duration;

use bytes::Bytes;
use pawl_snapshot::{Decoder, Encoder, Fault, Head, Record, Totals};
use proptest::prelude::*;

const HEAD: Head = Head { revision: 77, time: 1_700_000_000_000, cluster: [7; 16] };

fn record(number: u64, size: usize) -> Record {
    Record {
        key: Bytes::from(format!("/registry/configmaps/default/c-{number:04}")),
        value: Bytes::from(format!("{number}:").into_bytes().into_iter().cycle().take(size).collect::<Vec<u8>>()),
        create_revision: number + 2,
        mod_revision: number + 5,
        time_left: number.is_multiple_of(3).then(|| Duration::from_millis(number + 1)),
    }
}

fn written(records: &[Record]) -> (Vec<u8>, Totals) {
    let (mut encoder, head) = Encoder::begin(&HEAD);
    let mut file = head.to_vec();
    for record in records {
        file.extend(encoder.push(record).unwrap().into_iter().flatten());
    }
    let (end, totals) = encoder.finish();
    file.extend_from_slice(&end);
    (file, totals)
}

fn read(file: &[u8]) -> Result<Vec<Record>, Fault> {
    let mut decoder = Decoder::open(file)?;
    assert_eq!(*decoder.head(), HEAD);
    let mut records = Vec::new();
    while let Some(block) = decoder.next_block()? {
        records.extend(block);
    }
    Ok(records)
}

/// Three blocks, the records of the second one known.
fn three_blocks() -> (Vec<Record>, Vec<u8>) {
    let records: Vec<Record> = (0..9).map(|number| record(number, 100_000)).collect();
    let (file, totals) = written(&records);
    assert_eq!(totals.blocks, 3);
    (records, file)
}

#[test]
fn an_empty_store_is_a_snapshot_too() {
    let (file, totals) = written(&[]);
    assert_eq!((read(&file).unwrap(), totals), (Vec::new(), Totals::default()));
}

#[test]
fn every_flipped_bit_is_noticed_and_named() {
    let records: Vec<Record> = (0..4).map(|number| record(number, 20)).collect();
    let (file, _) = written(&records);
    let block = 64..file.len() - 32 - 56;
    for at in 0..file.len() {
        for bit in 0..8 {
            let mut flipped = file.clone();
            flipped[at] ^= 1 << bit;
            let fault = read(&flipped).expect_err("a flipped bit was taken");
            let named = match at {
                0..8 => matches!(fault, Fault::Other),
                8..64 => matches!(fault, Fault::Header),
                at if at < block.start + 32 => matches!(fault, Fault::BlockHead { block: 0, offset: 64, .. }),
                at if at < block.end => {
                    matches!(&fault, Fault::Block(damage) if damage.block == 0 && damage.offset == 64)
                }
                at if at < block.end + 32 => matches!(fault, Fault::BlockHead { block: 1, .. }),
                _ => matches!(fault, Fault::Trailer { .. }),
            };
            assert!(named, "byte {at}, bit {bit}: {fault:?}");
        }
    }
}

#[test]
fn a_damaged_value_is_named_by_its_key_and_the_others_are_still_there() {
    let (records, mut file) = three_blocks();
    let at = file.windows(4).position(|bytes| bytes == b"4:4:").unwrap() + 1000;
    file[at] ^= 0x10;
    let mut decoder = Decoder::open(file.as_slice()).unwrap();
    assert_eq!(decoder.next_block().unwrap().unwrap(), records[..3]);
    let Err(Fault::Block(damage)) = decoder.next_block() else { panic!("a damaged block was taken") };
    assert_eq!((damage.block, damage.keys.as_slice()), (1, &[records[4].key.clone()][..]));
    assert_eq!(damage.after, Some(records[2].key.clone()));
    assert_eq!(damage.intact, [records[3].clone(), records[5].clone()]);
    let told = damage.to_string();
    assert!(told.contains("block 1 at byte") && told.contains("c-0004") && told.contains("2 of its 3"), "{told}");
    assert_eq!(decoder.next_block().unwrap().unwrap(), records[6..]);
    assert!(decoder.next_block().is_err(), "it is not whole");
}

#[test]
fn half_a_file_is_never_taken_for_whole() {
    let records: Vec<Record> = (0..4).map(|number| record(number, 20)).collect();
    let (file, _) = written(&records);
    for length in 0..file.len() {
        let fault = read(&file[..length]).expect_err("half a file was taken");
        assert!(matches!(fault, Fault::Short { .. } | Fault::Other), "{length} bytes: {fault:?}");
    }
    let longer = [&file[..], &[0]].concat();
    assert!(matches!(read(&longer), Err(Fault::Surplus { .. })));
}

#[test]
fn blocks_that_are_missing_doubled_or_moved_are_noticed() {
    let (_, file) = three_blocks();
    let starts: Vec<usize> = file.windows(4).enumerate().filter(|(_, b)| *b == b"BLCK").map(|(at, _)| at).collect();
    let end = file.windows(4).position(|bytes| bytes == b"TAIL").unwrap();
    let blocks: Vec<&[u8]> = vec![&file[starts[0]..starts[1]], &file[starts[1]..starts[2]], &file[starts[2]..end]];
    for order in [vec![0, 2], vec![0, 1], vec![0, 0, 1, 2], vec![1, 0, 2], vec![]] {
        let mut other = file[..64].to_vec();
        order.iter().for_each(|block: &usize| other.extend_from_slice(blocks[*block]));
        other.extend_from_slice(&file[end..]);
        assert!(read(&other).is_err(), "{order:?}");
    }
}

#[test]
fn who_gave_up_says_why() {
    let (mut encoder, head) = Encoder::begin(&HEAD);
    encoder.push(&record(1, 20)).unwrap();
    let file = [&head[..], &encoder.give_up("the history is gone")].concat();
    assert_eq!(read(&file).unwrap_err().to_string(), "the snapshot was given up by who wrote it: the history is gone");
}

#[test]
fn keys_come_in_order() {
    let (mut encoder, _) = Encoder::begin(&HEAD);
    encoder.push(&record(2, 1)).unwrap();
    assert!(encoder.push(&record(2, 1)).is_err());
    assert!(encoder.push(&record(1, 1)).is_err());
    assert!(encoder.push(&record(3, 1)).is_ok());
}

#[test]
fn a_newer_format_is_refused_by_its_number() {
    // As the next version would write it: every version keeps the size of the header and its checksum.
    let (mut file, _) = written(&[]);
    file[8] = 2;
    let checksum = xxhash_rust::xxh3::xxh3_64_with_seed(&file[..56], 0);
    file[56..64].copy_from_slice(&checksum.to_le_bytes());
    assert!(matches!(read(&file), Err(Fault::Newer { found: 2 })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn what_is_written_is_read_back(sizes in prop::collection::vec(0usize..70_000, 0..10)) {
        let records: Vec<Record> = (0..).zip(&sizes).map(|(number, size)| record(number, *size)).collect();
        let (file, totals) = written(&records);
        prop_assert_eq!(totals.records, records.len() as u64);
        prop_assert_eq!(read(&file).unwrap(), records);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..300), begins in any::<bool>()) {
        let mut file = if begins { written(&[]).0[..64].to_vec() } else { Vec::new() };
        file.extend(bytes);
        prop_assert!(read(&file).is_err());
    }
}
