//! Lists: a header, the pieces of every object, a footer, streamed.

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream;
use pawl_meta::Status;
use pawl_registry::{Entry, Page, Served};
use serde_json::{Map, Value, json};

use super::table::{self, IncludeObject};
use super::{document, go_type, protobuf, write_item, write_metadata};
use crate::body::Body;
use crate::negotiation::{Accepted, Form, Media};

/// How much is written at once.
const CHUNK: usize = 128 * 1024;
/// Smaller answers are not worth compressing; the bound is upstream's.
const GZIP_FROM: usize = 128 * 1024;

/// A page of a list, and whether its body is compressed.
pub fn list(
    served: &Arc<Served>,
    page: Page,
    accepted: Accepted,
    include: IncludeObject,
    gzip: bool,
) -> Result<(Body, bool), Status> {
    match accepted.form {
        Form::Metadata => {
            return Err(Status::not_acceptable(format!(
                "you requested PartialObjectMetadata, but the requested object is a list ({})",
                go_type(served, true)
            )));
        }
        Form::Table => {
            let rows: Vec<_> = page.entries.iter().filter_map(|e| Some((&**e, e.readable()?))).collect();
            let table = table::table(served, &rows, table::Meta::of_page(&page), accepted, include);
            return Ok(compress(document(&table, accepted).0, gzip));
        }
        Form::Object | Form::MetadataList => {}
    }
    if accepted.media == Media::Protobuf {
        return Ok(compress(Bytes::from(protobuf::list(served, &page, accepted)?), gzip));
    }
    let partial = accepted.form == Form::MetadataList;
    let (kind, api_version) = match partial {
        false => (served.resource.list_kind(), served.resource.group_version().to_string()),
        true => ("PartialObjectMetadataList".to_owned(), accepted.meta_version().to_owned()),
    };
    let metadata = metadata(&page);
    let head = format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\",\"metadata\":{metadata},\"items\":");
    if partial && page.entries.is_empty() {
        return Ok((Body::from(format!("{head}null}}\n")), false));
    }
    let size: usize = page.entries.iter().map(|e| e.weight()).sum();
    let chunks = Chunks {
        served: Arc::clone(served),
        entries: page.entries.into_iter(),
        head: Some(head),
        partial,
        beta: accepted.beta,
        first: true,
        done: false,
    };
    if accepted.media == Media::Yaml || accepted.pretty {
        let bytes: Vec<u8> = chunks.flatten().collect();
        let value: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        return Ok(compress(document(&value, accepted).0, gzip));
    }
    if gzip && size > GZIP_FROM {
        return Ok((Body::Stream(Box::pin(stream::iter(Gzip::new(chunks)))), true));
    }
    if size < CHUNK {
        return Ok((Body::from(chunks.flatten().collect::<Vec<u8>>()), false));
    }
    Ok((Body::Stream(Box::pin(stream::iter(chunks.map(Bytes::from)))), false))
}

/// The metadata of a list: where it stands, and how it goes on.
pub(super) fn metadata(page: &Page) -> Value {
    let mut metadata = Map::new();
    // What is not stored has no revision.
    if page.revision > 0 {
        metadata.insert("resourceVersion".to_owned(), json!(page.revision.to_string()));
    }
    if let Some(token) = &page.continue_token {
        metadata.insert("continue".to_owned(), json!(token));
        metadata.extend(page.remaining.map(|remaining| ("remainingItemCount".to_owned(), json!(remaining))));
    }
    Value::Object(metadata)
}

struct Chunks {
    served: Arc<Served>,
    entries: std::vec::IntoIter<Arc<Entry>>,
    head: Option<String>,
    partial: bool,
    beta: bool,
    first: bool,
    done: bool,
}

impl Iterator for Chunks {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if self.done {
            return None;
        }
        let mut out = Vec::with_capacity(CHUNK + 16 * 1024);
        if let Some(head) = self.head.take() {
            out.extend_from_slice(head.as_bytes());
            out.push(b'[');
        }
        while out.len() < CHUNK {
            let Some(entry) = self.entries.next() else {
                self.done = true;
                out.extend_from_slice(b"]}\n");
                break;
            };
            // The registry refuses lists with unreadable objects in them.
            let Some(readable) = entry.readable() else { continue };
            if !std::mem::take(&mut self.first) {
                out.push(b',');
            }
            if self.partial {
                write_metadata(&mut out, &entry, readable, self.beta);
            } else {
                write_item(&mut out, &self.served, &entry, readable);
            }
        }
        Some(out)
    }
}

/// Compresses chunk by chunk.
struct Gzip<I> {
    chunks: I,
    encoder: Option<flate2::write::GzEncoder<Vec<u8>>>,
}

impl<I> Gzip<I> {
    fn new(chunks: I) -> Self {
        Self { chunks, encoder: Some(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast())) }
    }
}

impl<I: Iterator<Item = Vec<u8>>> Iterator for Gzip<I> {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        loop {
            let encoder = self.encoder.as_mut()?;
            match self.chunks.next() {
                Some(chunk) => {
                    // Writing to memory cannot fail.
                    let _ = encoder.write_all(&chunk);
                    if encoder.get_ref().len() >= CHUNK {
                        return Some(Bytes::from(std::mem::take(encoder.get_mut())));
                    }
                }
                None => return self.encoder.take()?.finish().ok().map(Bytes::from),
            }
        }
    }
}

fn compress(bytes: Bytes, gzip: bool) -> (Body, bool) {
    if !gzip || bytes.len() <= GZIP_FROM {
        return (Body::Full(bytes), false);
    }
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let _ = encoder.write_all(&bytes);
    match encoder.finish() {
        Ok(compressed) => (Body::from(compressed), true),
        Err(_) => (Body::Full(bytes), false),
    }
}
