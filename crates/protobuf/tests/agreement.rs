//! Byte-for-byte agreement with other implementations.
//!
//! The types of the crate `k8s-pb` read what the codec wrote and write it again: since Go's way sets every field that has a
//! value, what they write are the same bytes. And they read objects in their own sparse way, which the codec reads as the
//! same object.
#![allow(clippy::restriction, reason = "a test fails by them")]

#[path = "builtin/mod.rs"]
mod builtin;
#[path = "builtin/published.rs"]
mod published;

use builtin::Generator;
use k8s_pb::api::core;
use k8s_pb::apiextensions_apiserver::pkg::apis::apiextensions::v1::JsonSchemaProps;
use k8s_pb::apimachinery::pkg::apis::meta;
use pawl_protobuf::{Codec, frame, open, seal};
use pawl_schema::decode_value;
use prost::Message;
use published::{PUBLISHED, Rewrite, rewrite};
use serde_json::{Value, json};

/// The one type that is named in another way.
const JSON_SCHEMA: (&str, Rewrite) = ("apiextensions.v1.JSONSchemaProps", rewrite::<JsonSchemaProps>);

fn check(codec: &Codec<'_>, name: &str, rewrite: Rewrite) {
    let schema = pawl_kinds::schema();
    let of = schema.named(name).unwrap_or_else(|| panic!("no type {name}"));
    for seed in 0..12 {
        let object = Generator::published(schema, seed).object(of, 0);
        let canonical = decode_value(of, Value::Object(object)).unwrap();
        let mut ours = Vec::new();
        codec.encode(of, &canonical.object, &mut ours).unwrap_or_else(|error| panic!("{name}: {error}"));
        let again = rewrite(&ours).unwrap_or_else(|error| panic!("{name}: {error}"));
        if again != ours {
            let at = ours.iter().zip(&again).position(|(a, b)| a != b).unwrap_or(ours.len().min(again.len()));
            panic!("{name}, seed {seed}: other bytes from {at} on:\n{ours:02x?}\n{again:02x?}");
        }
        let decoded = codec.decode(of, &again).unwrap();
        let mut rewritten = Vec::new();
        codec.encode(of, &decoded.object, &mut rewritten).unwrap();
        assert_eq!(rewritten, again, "{name}, seed {seed}");
    }
}

#[test]
fn the_published_types_write_the_same_bytes() {
    let codec = builtin::codec();
    for (name, rewrite) in PUBLISHED.iter().chain([&JSON_SCHEMA]) {
        check(&codec, name, *rewrite);
    }
}

#[test]
fn sparse_messages_are_the_same_objects() {
    let codec = builtin::codec();
    let pod = core::v1::Pod {
        metadata: Some(meta::v1::ObjectMeta { name: Some("p".to_owned()), ..Default::default() }),
        spec: Some(core::v1::PodSpec {
            containers: vec![core::v1::Container {
                name: Some("c".to_owned()),
                ports: vec![core::v1::ContainerPort { container_port: Some(80), ..Default::default() }],
                ..Default::default()
            }],
            host_network: Some(false),
            automount_service_account_token: Some(false),
            ..Default::default()
        }),
        ..Default::default()
    };
    let of = builtin::kind("v1", "Pod").unwrap();
    let decoded = codec.decode(of, &pod.encode_to_vec()).unwrap();
    let expected = json!({
        "metadata": {"name": "p"},
        "spec": {
            "automountServiceAccountToken": false,
            "containers": [{"name": "c", "ports": [{"containerPort": 80}], "resources": {}}],
        },
        "status": {},
    });
    assert_eq!(Value::Object(decoded.object), expected);
}

#[test]
fn envelopes_and_frames_are_the_published_ones() {
    use k8s_pb::apimachinery::pkg::runtime::{TypeMeta, Unknown};
    let unknown = Unknown {
        type_meta: Some(TypeMeta { api_version: Some("v1".to_owned()), kind: Some("Pod".to_owned()) }),
        raw: Some(vec![1; 300]),
        content_encoding: Some(String::new()),
        content_type: Some(String::new()),
    };
    let sealed = seal("v1", "Pod", &[1; 300]);
    assert_eq!(sealed.strip_prefix(b"k8s\0"), Some(&*unknown.encode_to_vec()));
    assert_eq!(open(&sealed).unwrap().raw, [1; 300]);

    let mut stream = Vec::new();
    frame("MODIFIED", &sealed, &mut stream).unwrap();
    let event = meta::v1::WatchEvent::decode(&stream[4..]).unwrap();
    assert_eq!(event.r#type.as_deref(), Some("MODIFIED"));
    assert_eq!(event.object.unwrap().raw, Some(sealed));
}
