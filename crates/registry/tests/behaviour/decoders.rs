//! Every decoder of what a client sends, shown bytes that nobody meant: an object or a clear refusal, never a panic.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use pawl_meta::GroupVersion;
use pawl_meta::quantity::Quantity;
use pawl_meta::selector::{FieldSelector, LabelSelector};
use pawl_registry::{Encoding, FieldValidation, ListRequest, Sent, Served, protobuf};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fuzz::{campaign, damaged, objects};
use crate::stage::{Stage, context};

fn open() -> (tokio::runtime::Runtime, Stage) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let stage = runtime.block_on(Stage::open());
    (runtime, stage)
}

/// The resource of an object, by its kind.
pub fn served(stage: &Stage, object: &Value) -> Arc<Served> {
    let version = GroupVersion::parse(object["apiVersion"].as_str().unwrap()).unwrap();
    let table = stage.registry.table();
    Arc::clone(table.by_kind(&version.group, &version.version, object["kind"].as_str().unwrap()).unwrap())
}

/// Decodes damaged bodies of every kind. What is taken must be what its type allows: it decodes again, strictly.
fn decode_damaged(encoding: Encoding, encode: impl Fn(&Served, &Value) -> Vec<u8>) {
    let (_runtime, stage) = open();
    let kinds: Vec<Arc<Served>> = objects().iter().map(|object| served(&stage, object)).collect();
    let seeds = objects().iter().zip(&kinds).map(|(object, kind)| encode(kind, object)).collect();
    let cases = (damaged(seeds), proptest::sample::select((0..kinds.len()).collect::<Vec<_>>()), 0..3_usize);
    campaign(cases, |(body, kind, validation)| {
        let validation = [FieldValidation::Ignore, FieldValidation::Warn, FieldValidation::Strict][validation];
        let cx = context();
        match stage.registry.decode(&cx, &kinds[kind], Sent { encoding, bytes: &body, validation }) {
            Ok(object) => {
                let again = serde_json::to_vec(&object).unwrap();
                let strict = FieldValidation::Strict;
                let decoded = stage.registry.decode(&cx, &kinds[kind], Sent::json(&again, strict));
                assert_eq!(decoded.map_err(|status| status.message), Ok(object));
            }
            Err(status) => assert!((400..500).contains(&status.code), "{}: {}", status.code, status.message),
        }
    });
}

#[test]
fn bodies_in_json() {
    decode_damaged(Encoding::Json, |_, object| object.to_string().into_bytes());
}

/// A document in the style that people write, with an anchor and a text of several lines in it.
fn block_style(value: &Value, depth: usize) -> String {
    let margin = "  ".repeat(depth);
    match value {
        Value::Object(object) if !object.is_empty() => {
            let lines =
                object.iter().map(|(name, value)| format!("\n{margin}{name}: {}", block_style(value, depth + 1)));
            lines.collect()
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().map(|item| format!("\n{margin}- {}", block_style(item, depth + 1))).collect()
        }
        Value::String(text) if text == "a" => "&a a".to_owned(),
        Value::String(text) if text == "1" => format!("|\n{margin}  1\n{margin}  2"),
        leaf => leaf.to_string(),
    }
}

#[test]
fn bodies_in_yaml() {
    decode_damaged(Encoding::Yaml, |_, object| block_style(object, 0).into_bytes());
}

#[test]
fn bodies_in_protobuf() {
    decode_damaged(Encoding::Protobuf, |kind, object| {
        let mut raw = Vec::new();
        protobuf().encode(kind.resource.object_type().as_ref(), object.as_object().unwrap(), &mut raw).unwrap();
        pawl_protobuf::seal(object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap(), &raw)
    });
}

#[test]
fn selectors() {
    let seeds =
        ["a=b,c!=d", "a in (b,c),!d,e", "metadata.name=x,status.phase!=Running", "a notin (),b==c\\,d", "a>1,b<2"];
    campaign(damaged(seeds.map(|text| text.as_bytes().to_vec()).to_vec()), |bytes| {
        let text = String::from_utf8_lossy(&bytes);
        let _ = LabelSelector::parse(&text);
        let _ = FieldSelector::parse(&text);
    });
}

#[test]
fn quantities_and_times() {
    let seeds = ["100m", "1.5Gi", "-12e3", "9223372036854775807", "2024-01-01T00:00:00.123456Z", "1h30m0.5s"];
    campaign(damaged(seeds.map(|text| text.as_bytes().to_vec()).to_vec()), |bytes| {
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(quantity) = Quantity::parse(&text) {
            let shown = quantity.to_string();
            assert_eq!(Quantity::parse(&shown).map(|again| again.to_string()), Ok(shown));
        }
        let _ = pawl_meta::time::parse(&text);
    });
}

#[test]
fn tokens_of_pages() {
    let (runtime, stage) = open();
    let maps = stage.served("", "v1", "configmaps");
    let engine = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let tokens = [
        json!({"v": "meta.k8s.io/v1", "rv": 1, "start": "n/a\u{0}"}),
        json!({"v": "meta.k8s.io/v1", "rv": -1, "start": "n/b"}),
    ];
    let seeds = tokens.iter().map(|token| token.to_string().into_bytes()).collect();
    campaign((damaged(seeds), any::<bool>()), |(bytes, is_encoded)| {
        let token = if is_encoded { engine.encode(&bytes) } else { String::from_utf8_lossy(&bytes).into_owned() };
        let request = ListRequest { limit: 2, token: Some(token), ..ListRequest::default() };
        // A token of the future is waited for, longer than anybody wants to here.
        let listed =
            async { tokio::time::timeout(Duration::from_millis(20), stage.registry.list(&maps, &request)).await };
        if let Ok(Err(status)) = runtime.block_on(listed) {
            assert!((400..500).contains(&status.code), "{}", status.message);
        }
    });
}
