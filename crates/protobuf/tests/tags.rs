//! The numbers in the facts are those of the published types: every message and every field of the crate `k8s-pb` is
//! compared with the schema, by reading its sources.
#![allow(clippy::restriction, reason = "a test fails by them")]

#[path = "builtin/mod.rs"]
mod builtin;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use pawl_schema::{FieldRef, Scalar, TypeKind, TypeRef};

/// Messages by package (`core.v1`) and name, each field by its number. Names are in lower case, letters and digits only.
type Published = BTreeMap<(String, String), BTreeMap<u32, Attribute>>;

#[derive(Debug)]
struct Attribute {
    name: String,
    /// `string, optional`
    kind: String,
}

/// Types of the table that are newer than the crate. Each is only reached through fields that are newer too.
const NEWER_TYPES: [&str; 15] = [
    "admissionregistration.v1.ApplyConfiguration",
    "admissionregistration.v1.JSONPatch",
    "admissionregistration.v1.MutatingAdmissionPolicy",
    "admissionregistration.v1.MutatingAdmissionPolicyBinding",
    "admissionregistration.v1.MutatingAdmissionPolicyBindingList",
    "admissionregistration.v1.MutatingAdmissionPolicyBindingSpec",
    "admissionregistration.v1.MutatingAdmissionPolicyList",
    "admissionregistration.v1.MutatingAdmissionPolicySpec",
    "admissionregistration.v1.Mutation",
    "core.v1.ImageVolumeStatus",
    "core.v1.NodeAllocatableResourceClaimStatus",
    "core.v1.PodSchedulingGroup",
    "core.v1.VolumeStatus",
    "meta.v1.ShardInfo",
    "resource.v1.NodeAllocatableResourceMapping",
];

/// Fields of the crate that were never part of a stable version and are gone.
const GONE: [(&str, u32); 1] = [("core.v1.PodSpec", 42)];

/// A field whose name in protobuf is not the one in JSON: (type, number).
const RENAMED: [(&str, u32); 1] = [("core.v1.Probe", 1)];

#[test]
fn the_numbers_are_the_published_ones() {
    let published = read(&sources());
    assert!(published.len() > 1000, "{} messages", published.len());
    let schema = pawl_kinds::schema();
    let mut compared = 0;
    let mut wrong = Vec::new();
    let (mut newer_types, mut newer_fields) = (BTreeSet::new(), BTreeSet::new());
    for (name, of) in builtin::messages(schema) {
        let (package, short) = name.rsplit_once('.').unwrap();
        let Some(message) = published.get(&(package.to_owned(), plain(short))) else {
            newer_types.insert(name);
            continue;
        };
        let mut seen = BTreeSet::new();
        for slot in slots(of) {
            compared += 1;
            seen.insert(slot.number);
            match message.get(&slot.number) {
                None => {
                    newer_fields.insert((name, slot.name));
                }
                Some(attribute) => {
                    if attribute.name != plain(slot.name) && !RENAMED.contains(&(name, slot.number)) {
                        wrong.push(format!("{name} {} is {} there, not {}", slot.number, attribute.name, slot.name));
                    }
                    if attribute.kind != slot.kind {
                        wrong.push(format!("{name}.{} is {} there, not {}", slot.name, attribute.kind, slot.kind));
                    }
                }
            }
        }
        for (number, attribute) in message {
            if !seen.contains(number) && !GONE.contains(&(name, *number)) {
                wrong.push(format!("{name} lacks {} {number}", attribute.name));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(newer_fields, BTreeSet::from(builtin::NEWER));
    assert_eq!(newer_types, BTreeSet::from(NEWER_TYPES));
    assert!(compared > 2100, "{compared} fields");
}

/// A number of a message, by the schema.
struct Slot<'s> {
    number: u32,
    name: &'s str,
    /// As the crate's attributes say it.
    kind: String,
}

/// The fields of a type, with one slot for each embedded struct.
fn slots(of: TypeRef<'_>) -> Vec<Slot<'_>> {
    let mut slots = Vec::new();
    let mut embedded = BTreeSet::new();
    for field in of.object().unwrap().fields() {
        match field.inline.first() {
            _ if !builtin::is_on_the_wire(field) => {}
            None => slots.push(Slot { number: field.number, name: &field.get().name, kind: attribute_of(field) }),
            Some(number) if embedded.insert(*number) => {
                let owner = field.get().owner.as_deref().filter(|_| field.inline.len() == 1).unwrap_or_default();
                let name = owner.rsplit('.').next().unwrap_or_default();
                slots.push(Slot { number: *number, name, kind: "message, optional".to_owned() });
            }
            Some(_) => {}
        }
    }
    slots
}

fn attribute_of(field: FieldRef<'_>) -> String {
    match field.of().kind() {
        TypeKind::List(_) if field.of().node().wrapped => "message, optional".to_owned(),
        TypeKind::List(item) if word(item) == "message" => "message, repeated".to_owned(),
        TypeKind::List(item) if word(item) == "string" => "string, repeated".to_owned(),
        TypeKind::List(item) => format!("{}, repeated, packed = \"false\"", word(item)),
        TypeKind::Map(value) => {
            let value = word(value).trim_end_matches(" = \"vec\"").to_owned();
            format!("btree_map = \"string, {value}\"")
        }
        _ => format!("{}, optional", word(field.of())),
    }
}

fn word(of: TypeRef<'_>) -> &'static str {
    match of.kind() {
        TypeKind::Scalar(scalar) => match scalar {
            Scalar::String => "string",
            Scalar::Bytes => "bytes = \"vec\"",
            Scalar::Bool => "bool",
            Scalar::Int32 => "int32",
            Scalar::Int64 => "int64",
            Scalar::Uint32 => "uint32",
            Scalar::Uint64 => "uint64",
            Scalar::Float64 => "double",
            Scalar::Time | Scalar::MicroTime | Scalar::Duration | Scalar::Quantity | Scalar::IntOrString => "message",
        },
        _ => "message",
    }
}

/// Where cargo keeps the sources of the crate.
fn sources() -> PathBuf {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let attempts: [&[&str]; 2] = [&["--filter-platform", &host], &[]];
    for platform in attempts {
        let output = Command::new(&cargo)
            .args(["metadata", "--offline", "--format-version", "1", "--manifest-path"])
            .arg(Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("Cargo.toml"))
            .args(platform)
            .output()
            .expect("cargo runs");
        let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let packages = metadata["packages"].as_array().cloned().unwrap_or_default();
        let found = packages.iter().find(|package| package["name"] == "k8s-pb");
        if let Some(manifest) = found.and_then(|package| package["manifest_path"].as_str()) {
            return Path::new(manifest).parent().expect("a manifest is in a directory").join("src");
        }
    }
    panic!("cargo knows no crate k8s-pb")
}

fn read(root: &Path) -> Published {
    let mut published = Published::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).expect("the sources are readable") {
            let path = entry.expect("the sources are readable").path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let parts: Vec<_> = directory.iter().rev().take(2).map(|part| part.to_string_lossy()).collect();
                let package = parts.iter().rev().map(AsRef::as_ref).collect::<Vec<&str>>().join(".");
                parse(&std::fs::read_to_string(&path).expect("the sources are text"), &package, &mut published);
            }
        }
    }
    published
}

fn parse(source: &str, package: &str, published: &mut Published) {
    let mut message = String::new();
    let mut attribute = None;
    for line in source.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("pub struct ") {
            message = plain(rest.split([' ', '<', '{']).next().unwrap_or_default());
            published.entry((package.to_owned(), message.clone())).or_default();
        } else if let Some((kind, rest)) = line.strip_prefix("#[prost(").and_then(|rest| rest.split_once(", tag = \""))
        {
            let number = rest.split('"').next().and_then(|number| number.parse::<u32>().ok());
            attribute = number.map(|number| (number, kind.trim_end_matches(", boxed").to_owned()));
        } else if let Some(rest) = line.strip_prefix("pub ")
            && let Some((number, kind)) = attribute.take()
        {
            let name = plain(rest.trim_start_matches("r#").split(':').next().unwrap_or_default());
            let fields = published.entry((package.to_owned(), message.clone())).or_default();
            fields.insert(number, Attribute { name, kind });
        }
    }
}

fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}
