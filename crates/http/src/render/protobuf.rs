//! Answers in protobuf: objects, lists and bookmarks.

use std::sync::Arc;

use bytes::Bytes;
use pawl_meta::Status;
use pawl_meta::object::Object;
use pawl_protobuf::{SEAL_END, append_message, begin_seal, field_len, seal};
use pawl_registry::{CacheEntry, Messages, Page, Readable, Served, api_type, protobuf};
use pawl_schema::TypeRef;
use serde_json::{Map, Value, json};

use super::list::metadata as list_metadata;
use crate::negotiation::{Accepted, Form};

/// One object in its envelope.
pub(super) fn object(
    served: &Served,
    entry: &CacheEntry,
    readable: &Readable,
    accepted: Accepted,
) -> Result<Vec<u8>, Status> {
    if accepted.form == Form::Object {
        let raw = served.message_of(entry, readable, true).map_err(Status::internal)?;
        return Ok(seal(&served.resource.group_version().to_string(), &served.resource.facts.kind, &raw));
    }
    let raw = encode(named("meta.v1.PartialObjectMetadata")?, &only_metadata(served, entry, readable))?;
    Ok(seal(accepted.meta_version(), "PartialObjectMetadata", &raw))
}

/// A page of a list in its envelope, piece by piece: the head, a piece for every object, the end.
pub(super) fn list(
    served: &Arc<Served>,
    page: Page,
    accepted: Accepted,
) -> Result<impl Iterator<Item = Vec<u8>> + Send + 'static, Status> {
    let partial = accepted.form == Form::MetadataList;
    // The beta of this one list has its two fields the other way round.
    let beta = partial && accepted.beta;
    let number = if beta { 1 } else { 2 };
    let Value::Object(metadata) = list_metadata(&page) else { return Err(Status::internal("no list metadata")) };
    let metadata = encode(named("meta.v1.ListMeta")?, &metadata)?;
    let metadata_only = named("meta.v1.PartialObjectMetadata")?;
    let keep = Messages::are_kept(page.entries.iter().map(|entry| entry.weight()).sum());
    let served = Arc::clone(served);
    let message = move |served: &Served, entry: &CacheEntry| -> Result<Option<Bytes>, Status> {
        let Some(readable) = entry.readable() else { return Ok(None) };
        Ok(Some(match partial {
            true => Bytes::from(encode(metadata_only, &only_metadata(served, entry, readable))?),
            false => served.message_of(entry, readable, keep).map_err(Status::internal)?,
        }))
    };
    // The envelope says first how long it is. Most messages are kept once they are made, so making them twice is cheap.
    let mut length = field_len(metadata.len());
    for entry in &page.entries {
        length += message(&served, entry)?.map_or(0, |message| field_len(message.len()));
    }
    let (mut head, mut end) = (Vec::new(), Vec::new());
    match partial {
        true => begin_seal(accepted.meta_version(), "PartialObjectMetadataList", length, &mut head),
        false => {
            begin_seal(&served.resource.group_version().to_string(), &served.resource.list_kind(), length, &mut head)
        }
    }
    if beta {
        append_message(2, &metadata, &mut end);
    } else {
        append_message(1, &metadata, &mut head);
    }
    end.extend_from_slice(SEAL_END);
    let items = page.entries.into_iter().filter_map(move |entry| {
        let mut piece = Vec::new();
        append_message(number, &message(&served, &entry).ok().flatten()?, &mut piece);
        Some(piece)
    });
    Ok(std::iter::once(head).chain(items).chain(std::iter::once(end)))
}

/// A bookmark of a resource.
pub(super) fn bookmark(served: &Served, accepted: Accepted, metadata: Map<String, Value>) -> Option<Vec<u8>> {
    let mut object = Object::new();
    object.insert("metadata".to_owned(), Value::Object(metadata));
    if accepted.form == Form::Object {
        let raw = encode(served.resource.object_type().as_ref(), &object).ok()?;
        return Some(seal(&served.resource.group_version().to_string(), &served.resource.facts.kind, &raw));
    }
    let raw = encode(named("meta.v1.PartialObjectMetadata").ok()?, &object).ok()?;
    Some(seal(accepted.meta_version(), "PartialObjectMetadata", &raw))
}

fn only_metadata(served: &Served, entry: &CacheEntry, readable: &Readable) -> Object {
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
