use proptest::prelude::*;

use super::*;

fn sample() -> Envelope<'static> {
    Envelope {
        data: b"sealed",
        key_id: "kek-1",
        source: b"source",
        annotations: BTreeMap::from([("a.example.com", &b"1"[..]), ("b.example.com", &b""[..])]),
        kind: SEED,
    }
}

fn written(envelope: &Envelope<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    begin(envelope.data.len(), &mut out);
    out.extend_from_slice(envelope.data);
    out.extend_from_slice(&envelope.tail());
    out
}

fn refuse(change: impl FnOnce(&mut Envelope<'static>), why: &str) {
    let mut envelope = sample();
    change(&mut envelope);
    assert_eq!(Envelope::parse(&written(&envelope)), Err(why.to_owned()));
}

#[test]
fn a_message_is_read_as_it_was_written() {
    let bytes = written(&sample());
    assert_eq!(Envelope::parse(&bytes), Ok(sample()));
    assert!(bytes.starts_with(b"\x0a\x06sealed\x12\x05kek-1\x1a\x06source\x22\x12\x0a\x0da.example.com\x12\x011"));
    assert!(bytes.ends_with(b"\x28\x01"));
    let plain = Envelope { kind: KEY, ..sample() };
    assert_eq!(Envelope::parse(&written(&plain)), Ok(plain));
}

#[test]
fn the_order_of_fields_and_unknown_ones_do_not_matter() {
    let mut bytes = sample().tail();
    bytes.extend_from_slice(b"\x3a\x03new\x30\x05");
    put(DATA, b"sealed", &mut bytes);
    assert_eq!(Envelope::parse(&bytes), Ok(sample()));
}

#[test]
fn data_keys_are_told_apart() {
    let id = sample().id();
    assert_eq!(Envelope { data: b"other", ..sample() }.id(), id);
    for other in [
        Envelope { key_id: "kek-2", ..sample() },
        Envelope { source: b"sourc", ..sample() },
        Envelope { kind: KEY, ..sample() },
        Envelope { annotations: BTreeMap::new(), ..sample() },
    ] {
        assert_ne!(other.id(), id, "{other:?}");
    }
}

#[test]
fn limits_are_upstreams() {
    static LONG: [u8; 40_000] = [b'x'; 40_000];
    let long = |len: usize| std::str::from_utf8(&LONG[..len]).unwrap();
    refuse(|e| e.data = b"", "encrypted data is empty");
    refuse(|e| e.kind = 2, "unknown encryptedDEKSourceType: 2");
    refuse(|e| e.key_id = "", "failed to validate key id: keyID is empty");
    refuse(
        |e| e.key_id = long(1025),
        "failed to validate key id: keyID is 1025 bytes, which exceeds the max size of 1024",
    );
    refuse(|e| e.source = b"", "failed to validate encrypted DEK source: encrypted DEK source is empty");
    refuse(
        |e| e.source = &LONG[..1025],
        "failed to validate encrypted DEK source: encrypted DEK source is 1025 bytes, which exceeds the max size of 1024",
    );
    refuse(
        |e| e.annotations = BTreeMap::from([("short", &b""[..])]),
        "failed to validate annotations: annotations: Invalid value: \"short\": should be a domain with at least two segments separated by dots",
    );
    refuse(
        |e| e.annotations = BTreeMap::from([("a.example.com", &LONG[..32 * 1024])]),
        "failed to validate annotations: total size of annotations is 32781, which exceeds the max size of 32768",
    );
    let most = Envelope { key_id: long(1024), source: &LONG[..1024], ..sample() };
    assert!(Envelope::parse(&written(&most)).is_ok());
}

#[test]
fn what_is_cut_off_is_no_message() {
    let bytes = written(&sample());
    for len in 0..bytes.len() {
        // Cut between fields it is one that lacks something, but for what is last.
        if let Ok(envelope) = Envelope::parse(&bytes[..len]) {
            assert!(envelope.kind == KEY || envelope.annotations.len() < 2, "{len}");
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Envelope::parse(&bytes);
    }
}
