//! Answers in protobuf: objects, lists and bookmarks.

use pawl_meta::Status;
use pawl_meta::object::Object;
use pawl_protobuf::{append_message, seal};
use pawl_registry::{Entry, Page, Readable, Served, api_type, protobuf};
use pawl_schema::TypeRef;
use serde_json::{Map, Value, json};

use super::list::metadata as list_metadata;
use crate::negotiation::{Accepted, Form};

/// One object in its envelope.
pub(super) fn object(
    served: &Served,
    entry: &Entry,
    readable: &Readable,
    accepted: Accepted,
) -> Result<Vec<u8>, Status> {
    if accepted.form == Form::Object {
        let raw = served.message_of(entry, readable).map_err(Status::internal)?;
        return Ok(seal(&served.resource.group_version().to_string(), &served.resource.facts.kind, &raw));
    }
    let raw = encode(named("meta.v1.PartialObjectMetadata")?, &only_metadata(served, entry, readable))?;
    Ok(seal(accepted.meta_version(), "PartialObjectMetadata", &raw))
}

/// A page of a list in its envelope.
pub(super) fn list(served: &Served, page: &Page, accepted: Accepted) -> Result<Vec<u8>, Status> {
    let partial = accepted.form == Form::MetadataList;
    // The beta of this one list has its two fields the other way round.
    let beta = partial && accepted.beta;
    let items = if beta { 1 } else { 2 };
    let Value::Object(metadata) = list_metadata(page) else { return Err(Status::internal("no list metadata")) };
    let metadata = encode(named("meta.v1.ListMeta")?, &metadata)?;
    let mut raw = Vec::new();
    if !beta {
        append_message(1, &metadata, &mut raw);
    }
    let metadata_only = named("meta.v1.PartialObjectMetadata")?;
    for entry in &page.entries {
        let Some(readable) = entry.readable() else { continue };
        if partial {
            append_message(items, &encode(metadata_only, &only_metadata(served, entry, readable))?, &mut raw);
        } else {
            append_message(items, &served.message_of(entry, readable).map_err(Status::internal)?, &mut raw);
        }
    }
    if beta {
        append_message(2, &metadata, &mut raw);
    }
    Ok(if partial {
        seal(accepted.meta_version(), "PartialObjectMetadataList", &raw)
    } else {
        seal(&served.resource.group_version().to_string(), &served.resource.list_kind(), &raw)
    })
}

/// A bookmark of a resource.
pub(super) fn bookmark(served: &Served, accepted: Accepted, metadata: Map<String, Value>) -> Option<Vec<u8>> {
    let mut object = Object::new();
    object.insert("metadata".to_owned(), Value::Object(metadata));
    if accepted.form == Form::Object {
        let raw = encode(served.resource.object_type.as_ref(), &object).ok()?;
        return Some(seal(&served.resource.group_version().to_string(), &served.resource.facts.kind, &raw));
    }
    let raw = encode(named("meta.v1.PartialObjectMetadata").ok()?, &object).ok()?;
    Some(seal(accepted.meta_version(), "PartialObjectMetadata", &raw))
}

fn only_metadata(served: &Served, entry: &Entry, readable: &Readable) -> Object {
    let metadata = served.shown(entry, readable).remove("metadata").unwrap_or_else(|| json!({}));
    Object::from_iter([("metadata".to_owned(), metadata)])
}

fn encode(of: TypeRef<'_>, object: &Object) -> Result<Vec<u8>, Status> {
    let mut raw = Vec::new();
    protobuf().encode(of, object, &mut raw).map_err(Status::internal)?;
    Ok(raw)
}

fn named(name: &str) -> Result<TypeRef<'static>, Status> {
    api_type(name).ok_or_else(|| Status::internal(format!("no type {name}")))
}
