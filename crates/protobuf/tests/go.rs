//! Agreement with what Go wrote: the recordings that upstream keeps in `k8s.io/api/testdata`, an object in JSON and the same
//! one in protobuf for each kind. They are not part of this repository: `PAWL_TESTDATA` names directories that hold them
//! (`.../HEAD`), separated by colons; without it there is nothing to compare.
#![allow(clippy::restriction, reason = "a test fails by them")]

#[path = "builtin/mod.rs"]
mod builtin;

use std::path::Path;

use pawl_protobuf::{open, seal};
use pawl_schema::decode_json;
use serde_json::Value;

#[test]
fn recordings_of_go_are_the_same_objects_and_bytes() {
    let Ok(directories) = std::env::var("PAWL_TESTDATA") else { return };
    let (mut compared, mut wrong) = (0, Vec::new());
    for directory in directories.split(':') {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "pb") {
                match compare(&path) {
                    None => {}
                    Some(Ok(())) => compared += 1,
                    Some(Err(difference)) => wrong.push(format!("{}: {difference}", path.display())),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{compared} agree, {} do not:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 0);
    println!("{compared} recordings agree");
}

/// `None` for kinds that are not built in.
fn compare(path: &Path) -> Option<Result<(), String>> {
    let bytes = std::fs::read(path).unwrap();
    let envelope = open(&bytes).unwrap();
    let of = builtin::kind(envelope.api_version, envelope.kind)?;
    let codec = builtin::codec();
    let mut json = decode_json(of, &std::fs::read(path.with_extension("json")).unwrap()).unwrap();
    json.object.remove("apiVersion");
    json.object.remove("kind");
    let decoded = match codec.decode(of, envelope.raw) {
        Ok(decoded) => decoded,
        Err(error) => return Some(Err(error.to_string())),
    };
    let mut raw = Vec::new();
    if let Err(error) = codec.encode(of, &json.object, &mut raw) {
        return Some(Err(error.to_string()));
    }
    Some(if !decoded.unknown.is_empty() {
        Err(decoded.unknown.join(", "))
    } else if decoded.object != json.object {
        Err(format!("another object:\n{}\n{}", Value::Object(decoded.object), Value::Object(json.object)))
    } else if seal(envelope.api_version, envelope.kind, &raw) != bytes {
        Err(format!("other bytes:\n{raw:02x?}\n{:02x?}", envelope.raw))
    } else {
        Ok(())
    })
}
