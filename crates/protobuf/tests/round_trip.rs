//! Objects made from the schema of every type go to protobuf and back unchanged, and no bytes make the decoder panic.
#![allow(clippy::restriction, reason = "a test fails by them")]

#[path = "builtin/mod.rs"]
mod builtin;

use std::sync::OnceLock;

use builtin::Generator;
use pawl_protobuf::{Codec, MAGIC, open, seal};
use pawl_schema::decode_value;
use proptest::prelude::*;
use serde_json::Value;

fn codec() -> &'static Codec<'static> {
    static CODEC: OnceLock<Codec<'static>> = OnceLock::new();
    CODEC.get_or_init(builtin::codec)
}

fn round_trip(seed: u64) {
    let schema = pawl_kinds::schema();
    for (name, of) in builtin::messages(schema) {
        let object = Generator::new(schema, seed).object(of, 0);
        let canonical = decode_value(of, Value::Object(object)).unwrap();
        assert!(canonical.findings.is_empty(), "{name}: {:?}", canonical.findings);
        let mut raw = Vec::new();
        codec().encode(of, &canonical.object, &mut raw).unwrap_or_else(|error| panic!("{name}: {error}"));
        let decoded = codec().decode(of, &raw).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(decoded.unknown, Vec::<String>::new(), "{name}");
        assert_eq!(Value::Object(decoded.object), Value::Object(canonical.object), "{name}");
    }
}

#[test]
fn there_are_messages_of_every_kind() {
    let schema = pawl_kinds::schema();
    let messages = builtin::messages(schema);
    assert!(messages.len() > 580, "{}", messages.len());
    for resource in pawl_kinds::builtin() {
        assert!(messages.iter().any(|(_, of)| *of == resource.object_type().as_ref()), "{}", resource.facts.kind);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn objects_of_every_type_come_back_as_they_were(seed in any::<u64>()) {
        round_trip(seed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
        let mut sealed = MAGIC.to_vec();
        sealed.extend_from_slice(&bytes);
        let _ = open(&sealed);
        let schema = pawl_kinds::schema();
        for name in ["core.v1.Pod", "core.v1.ConfigMapList", "apiextensions.v1.CustomResourceDefinition", "meta.v1.List"] {
            let of = schema.named(name).unwrap();
            if let Ok(envelope) = open(&sealed) {
                let _ = codec().decode(of, envelope.raw);
            }
            let _ = codec().decode(of, &bytes);
        }
    }

    /// Changed bytes in a message that was good reach further than random ones.
    #[test]
    fn damaged_messages_do_no_harm(seed in any::<u64>(), hits in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..8)) {
        let schema = pawl_kinds::schema();
        let messages = builtin::messages(schema);
        let (_, of) = messages[usize::try_from(seed).unwrap_or(0) % messages.len()];
        let object = Generator::new(schema, seed).object(of, 0);
        let mut raw = Vec::new();
        codec().encode(of, &object, &mut raw).unwrap();
        for (at, byte) in hits {
            let length = raw.len().max(1);
            if let Some(hit) = raw.get_mut(usize::from(at) % length) {
                *hit = byte;
            }
        }
        let Ok(decoded) = codec().decode(of, &raw) else { return Ok(()) };
        // What was read can be written, sealed and read again.
        let mut again = Vec::new();
        codec().encode(of, &decoded.object, &mut again).unwrap();
        let sealed = seal("v1", "X", &again);
        let reread = codec().decode(of, open(&sealed).unwrap().raw).unwrap();
        prop_assert_eq!(reread.object, decoded.object);
    }
}
