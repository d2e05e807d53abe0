//! Objects as bytes, in the form that the client asked for.

mod list;
mod protobuf;
mod table;
mod watch;

use bytes::Bytes;
use pawl_meta::Status;
use pawl_registry::{CacheEntry, Readable, Served};
use serde_json::{Value, json};

pub use list::list;
pub use table::IncludeObject;
pub use watch::WatchRenderer;

use crate::negotiation::{Accepted, Form, Media};

/// One object.
pub fn object(
    served: &Served,
    entry: &CacheEntry,
    accepted: Accepted,
    include: IncludeObject,
) -> Result<Bytes, Status> {
    let readable = entry.readable().ok_or_else(|| Status::internal("the object cannot be read"))?;
    match accepted.form {
        Form::MetadataList => {
            return Err(no_list(&go_type(served, false)));
        }
        Form::Table => {
            let table = table::single(served, entry, readable, accepted, include);
            return Ok(document(&Value::Object(table), accepted).0);
        }
        Form::Object | Form::Metadata => {}
    }
    if accepted.media == Media::Protobuf {
        return protobuf::object(served, entry, readable, accepted).map(Bytes::from);
    }
    let mut out = Vec::with_capacity(readable.tail().len() + 160);
    match accepted.form {
        Form::Metadata => write_metadata(&mut out, entry, readable, accepted.beta),
        _ => write_object(&mut out, served, entry, readable),
    }
    Ok(finish(out, accepted))
}

/// `*core.ConfigMap`, as messages name what a request was for.
pub fn go_type(served: &Served, list: bool) -> String {
    let facts = &served.resource.facts;
    let group = facts.group.split('.').next().filter(|g| !g.is_empty()).unwrap_or("core");
    format!("*{group}.{}{}", facts.kind, if list { "List" } else { "" })
}

fn no_list(go_type: &str) -> Status {
    let requested = "you requested PartialObjectMetadataList, but the requested object is not a list";
    Status::not_acceptable(format!("{requested} ({go_type})"))
}

/// An object that is not stored, or only its metadata. Of such objects only a `Scale` has a table.
pub fn formed(object: Value, accepted: Accepted, include: IncludeObject) -> Result<Value, Status> {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    match accepted.form {
        Form::Table if text("kind") == "Scale" => {
            let columns = pawl_registry::api_columns("autoscaling.v1.Scale");
            Ok(Value::Object(table::of_document(columns, &object, accepted, include)))
        }
        Form::Object | Form::Table => Ok(object),
        Form::MetadataList => {
            let group = text("apiVersion").split(['.', '/']).next().unwrap_or_default();
            Err(no_list(&format!("*{group}.{}", text("kind"))))
        }
        Form::Metadata => {
            let metadata = object.get("metadata").cloned().unwrap_or_else(|| json!({}));
            Ok(json!({"kind": "PartialObjectMetadata", "apiVersion": accepted.meta_version(), "metadata": metadata}))
        }
    }
}

/// A whole object as JSON.
pub(crate) fn write_object(out: &mut Vec<u8>, served: &Served, entry: &CacheEntry, readable: &Readable) {
    let converted = served.bytes_of(readable);
    write_headed(out, &served.head, entry, converted.as_deref().unwrap_or(readable).tail());
}

/// An object as an item of a typed list: without kind and apiVersion.
pub(crate) fn write_item(out: &mut Vec<u8>, served: &Served, entry: &CacheEntry, readable: &Readable) {
    let converted = served.bytes_of(readable);
    write_headed(out, &served.item_head, entry, converted.as_deref().unwrap_or(readable).tail());
}

/// Only the metadata of an object, as JSON.
pub(crate) fn write_metadata(out: &mut Vec<u8>, entry: &CacheEntry, readable: &Readable, beta: bool) {
    const HEAD: &str =
        "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{\"resourceVersion\":\"";
    const HEAD_BETA: &str = "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1beta1\",\"metadata\":{\"resourceVersion\":\"";
    write_headed(out, if beta { HEAD_BETA } else { HEAD }, entry, readable.metadata());
    out.extend_from_slice(b"}}");
}

fn write_headed(out: &mut Vec<u8>, head: &str, entry: &CacheEntry, tail: &[u8]) {
    if entry.revision == 0 {
        // A dry run has no resourceVersion.
        let head = head.strip_suffix("\"resourceVersion\":\"").unwrap_or(head);
        out.extend_from_slice(head.as_bytes());
    } else {
        out.extend_from_slice(head.as_bytes());
        write_number(out, entry.revision);
        out.extend_from_slice(b"\",");
    }
    out.extend_from_slice(tail);
}

pub(crate) fn write_number(out: &mut Vec<u8>, number: u64) {
    use std::io::Write;
    // Writing to memory cannot fail.
    let _ = write!(out, "{number}");
}

/// A document that is not an object of a resource (a Status, discovery), and its content type.
pub fn document(value: &Value, accepted: Accepted) -> (Bytes, &'static str) {
    if accepted.media == Media::Protobuf
        && let Some(bytes) = pawl_registry::message(value)
    {
        return (Bytes::from(bytes), Media::Protobuf.content_type());
    }
    match accepted.media {
        Media::Yaml => (Bytes::from(pawl_schema::yaml::emit(value)), Media::Yaml.content_type()),
        _ if accepted.pretty => (Bytes::from(pretty(value)), Media::Json.content_type()),
        _ => {
            let mut json = serde_json::to_vec(value).unwrap_or_default();
            json.push(b'\n');
            (Bytes::from(json), Media::Json.content_type())
        }
    }
}

/// JSON as the client wants it: as it is, indented, or as YAML.
fn finish(mut json: Vec<u8>, accepted: Accepted) -> Bytes {
    if accepted.media != Media::Yaml && !accepted.pretty {
        json.push(b'\n');
        return Bytes::from(json);
    }
    match serde_json::from_slice::<Value>(&json) {
        Ok(value) => document(&value, accepted).0,
        Err(_) => Bytes::from(json),
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}
