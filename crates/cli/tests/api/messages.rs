//! Answers in protobuf, read by the types of the crate `k8s-pb`.
//!
//! A message must be the one that those types write, and what they wrote must be the object of the JSON answer.

#![allow(dead_code, reason = "every test binary has its own copy and uses a part of it")]

#[path = "../../../protobuf/tests/builtin/published.rs"]
mod published;

use bytes::{Bytes, BytesMut};
use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use k8s_pb::apimachinery::pkg::apis::meta::v1::WatchEvent;
use pawl_protobuf::open;
use pawl_schema::{TypeKind, TypeRef};
use prost::Message;
use published::{PUBLISHED, Rewrite};
use serde_json::{Map, Value};

use pawl_testing::{Answer, Client, Failure};

pub const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// Kinds that are newer than the published types.
const NEWER: [&str; 2] =
    ["admissionregistration.v1.MutatingAdmissionPolicy", "admissionregistration.v1.MutatingAdmissionPolicyBinding"];

/// Checks that a message says what the JSON answer says.
#[track_caller]
pub fn agree(what: &str, json: &Value, sealed: &[u8]) {
    let read = reading(sealed);
    let (read, expected) = (settled(&type_name(&read), &read), settled(&type_name(json), json));
    if let Some(difference) = difference(&read, &expected) {
        panic!("{what}: {difference}");
    }
}

/// Where two values begin to differ.
fn difference(read: &Value, expected: &Value) -> Option<String> {
    let within = |place: String, (read, expected)| difference(read, expected).map(|rest| format!("{place}{rest}"));
    match (read, expected) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter().find_map(|(name, value)| within(format!(".{name}"), (value, &b[name])))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(index, pair)| within(format!("[{index}]"), pair))
        }
        _ => (read != expected).then(|| format!(": {read} in protobuf, {expected} in JSON")),
    }
}

/// What the published type makes of a message, in the form of JSON.
#[track_caller]
pub fn reading(sealed: &[u8]) -> Value {
    let envelope = open(sealed).unwrap();
    let name = name_of(envelope.api_version, envelope.kind);
    let id = pawl_kinds::schema().named(&name).unwrap_or_else(|| panic!("no type {name}"));
    let decode = |raw: &[u8]| {
        let decoded = pawl_registry::protobuf().decode(id, raw).unwrap();
        assert_eq!(decoded.unknown, [""; 0], "{name}");
        Value::Object(decoded.object)
    };
    let ours = decode(envelope.raw);
    let mut read = match rewrite_of(&name) {
        None => {
            assert!(NEWER.iter().any(|newer| name.trim_end_matches("List") == *newer), "{name} is not published");
            ours
        }
        Some(rewrite) => {
            let again = rewrite(envelope.raw).unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut published = ours.clone();
            take_liens(&mut published);
            if published != ours {
                assert_ne!(again, envelope.raw, "{name}: the published types know liens: compare them too");
            } else if !has_empty_entry(id, &ours) {
                assert_eq!(again, envelope.raw, "{name}: other bytes for {ours}");
            }
            let mut theirs = decode(&again);
            assert_eq!(theirs, published, "{name}");
            give_liens(&ours, &mut theirs);
            theirs
        }
    };
    // The core group's discovery names no version.
    if !envelope.api_version.is_empty() {
        read["apiVersion"] = envelope.api_version.into();
    }
    read["kind"] = envelope.kind.into();
    read
}

fn rewrite_of(name: &str) -> Option<Rewrite> {
    PUBLISHED.iter().find(|(published, _)| *published == name).map(|(_, rewrite)| *rewrite)
}

fn type_name(object: &Value) -> String {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    name_of(text("apiVersion"), text("kind"))
}

/// Types are named after the first word of their group. What the API says about itself is of every group.
fn name_of(api_version: &str, kind: &str) -> String {
    let (group, version) = api_version.split_once('/').unwrap_or(("core", api_version));
    let package = group.split('.').next().unwrap_or(group);
    let own = format!("{package}.{version}.{kind}");
    if pawl_kinds::schema().named(&own).is_some() { own } else { format!("meta.v1.{kind}") }
}

/// Removes what the published types do not know: the liens of an object and of the items of a list.
fn take_liens(object: &mut Value) {
    for metadata in metadata_of(object) {
        metadata.remove("liens");
    }
}

/// Puts back what the published types lost.
fn give_liens(from: &Value, to: &mut Value) {
    for (from, to) in metadata_of(&mut from.clone()).into_iter().zip(metadata_of(to)) {
        if let Some(liens) = from.remove("liens") {
            to.insert("liens".to_owned(), liens);
        }
    }
}

fn metadata_of(object: &mut Value) -> Vec<&mut Map<String, Value>> {
    let Value::Object(object) = object else { return Vec::new() };
    let mut found = Vec::new();
    for (name, value) in object {
        match (name.as_str(), value) {
            ("metadata", Value::Object(metadata)) => found.push(metadata),
            ("items", Value::Array(items)) => found.extend(items.iter_mut().flat_map(metadata_of)),
            _ => {}
        }
    }
    found
}

/// Whether there is a map with an empty value: the published types leave that value out, where Go writes it.
fn has_empty_entry(of: TypeRef<'_>, value: &Value) -> bool {
    let empty = |value: &Value| value == "" || value.as_object().is_some_and(Map::is_empty);
    match (of.kind(), value) {
        (TypeKind::Object(object), Value::Object(map)) => {
            map.iter().any(|(name, value)| object.field(name).is_some_and(|field| has_empty_entry(field.of(), value)))
        }
        (TypeKind::List(item), Value::Array(list)) => list.iter().any(|value| has_empty_entry(item, value)),
        (TypeKind::Map(item), Value::Object(map)) => {
            map.values().any(|value| empty(value) || has_empty_entry(item, value))
        }
        _ => false,
    }
}

/// An object without what a message cannot say: that a list or a map is empty and not none, and the type of an object
/// that is a part of another one.
fn settled(name: &str, object: &Value) -> Value {
    let of = pawl_kinds::schema().named(name).unwrap_or_else(|| panic!("no type {name}"));
    let mut settled = object.clone();
    settle(of, &mut settled);
    for field in ["apiVersion", "kind"] {
        settled[field] = object[field].clone();
    }
    settled
}

fn settle(of: TypeRef<'_>, value: &mut Value) {
    match (of.kind(), value) {
        (TypeKind::Object(object), Value::Object(map)) => map.retain(|name, value| {
            let Some(field) = object.field(name) else { return true };
            settle(field.of(), value);
            let is_type = field.owner.as_deref() == Some("meta.v1.TypeMeta");
            !is_type && !is_nothing(field.of(), value)
        }),
        (TypeKind::List(item), Value::Array(list)) => list.iter_mut().for_each(|value| settle(item, value)),
        (TypeKind::Map(item), Value::Object(map)) => map.values_mut().for_each(|value| settle(item, value)),
        _ => {}
    }
}

fn is_nothing(of: TypeRef<'_>, value: &Value) -> bool {
    match of.kind() {
        TypeKind::List(_) => value.is_null() || value.as_array().is_some_and(Vec::is_empty),
        TypeKind::Map(_) => value.is_null() || value.as_object().is_some_and(Map::is_empty),
        _ => false,
    }
}

/// Asks for something in protobuf.
pub async fn get(client: &Client, path: &str) -> Result<Answer, Failure> {
    client.send(Request::get(path).header(ACCEPT, PROTOBUF), Bytes::new()).await
}

/// A stream of events in protobuf.
pub struct Frames {
    body: Incoming,
    unread: BytesMut,
}

impl Frames {
    pub async fn open(client: &Client, path: &str) -> Result<Self, Failure> {
        let response = client.open(Request::get(path).header(ACCEPT, PROTOBUF), Bytes::new()).await?;
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(response.headers()[CONTENT_TYPE], format!("{PROTOBUF};stream=watch"), "{path}");
        Ok(Self { body: response.into_body(), unread: BytesMut::new() })
    }

    /// The type of the next event and its object.
    pub async fn next(&mut self) -> Result<(String, Vec<u8>), Failure> {
        loop {
            if let Some((length, rest)) = self.unread.split_first_chunk() {
                let length = u32::from_be_bytes(*length) as usize;
                if let Some(frame) = rest.get(..length) {
                    let event = WatchEvent::decode(frame)?;
                    let _ = self.unread.split_to(4 + length);
                    return Ok((event.r#type.unwrap(), event.object.unwrap().raw.unwrap()));
                }
            }
            let frame = self.body.frame().await.ok_or("the stream ended")??;
            self.unread.extend_from_slice(&frame.into_data().unwrap_or_default());
        }
    }
}
