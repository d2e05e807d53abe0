//! Lists: a header, the pieces of every object, a footer, streamed.

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream;
use pawl_meta::Status;
use pawl_registry::{CacheEntry, Page, Served};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

use super::table::{self, IncludeObject};
use super::{document, go_type, protobuf, write_item, write_metadata};
use crate::api::can_block;
use crate::body::Body;
use crate::negotiation::{Accepted, Form, Media};
use crate::records::{AHEAD, PIECE};

/// Smaller answers are not worth compressing; the bound is upstream's.
const GZIP_FROM: usize = 128 * 1024;

/// A page of a list, and whether its body is compressed.
pub fn list(
    served: &Arc<Served>,
    page: Page,
    accepted: Accepted,
    include: IncludeObject,
    gzip: bool,
    turns: Arc<Semaphore>,
) -> Result<(Body, bool), Status> {
    let size: usize = page.entries.iter().map(|e| e.weight()).sum();
    let partial = accepted.form == Form::MetadataList;
    match accepted.form {
        Form::Metadata => {
            return Err(Status::not_acceptable(format!(
                "you requested PartialObjectMetadata, but the requested object is a list ({})",
                go_type(served, true)
            )));
        }
        Form::Table => {
            let rows = table_of(served, page, accepted, include);
            return Ok(in_turns(rows, size, gzip, turns));
        }
        Form::Object | Form::MetadataList => {}
    }
    if accepted.media == Media::Protobuf {
        return Ok(body(gathered(protobuf::list(served, page, accepted)?), size, gzip));
    }
    let (kind, api_version) = match partial {
        false => (served.resource.list_kind(), served.resource.group_version().to_string()),
        true => ("PartialObjectMetadataList".to_owned(), accepted.meta_version().to_owned()),
    };
    let mut metadata = metadata(&page);
    if let (Value::Object(metadata), false) = (&mut metadata, partial || !served.resource.facts.custom) {
        // Upstream's lists of what users defined always say how they go on.
        metadata.entry("continue").or_insert_with(|| json!(""));
    }
    let empty = page.entries.is_empty();
    if accepted.media == Media::Yaml || accepted.pretty {
        let nothing = if partial { Value::Null } else { json!([]) };
        let frame = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata, "items": nothing});
        if empty {
            return Ok((Body::Full(document(&frame, accepted).0), false));
        }
        let served = Arc::clone(served);
        let items = page.entries.into_iter().filter_map(move |entry| {
            let mut out = Vec::new();
            write_entry(&mut out, &served, &entry, partial, accepted.beta);
            serde_json::from_slice(&out).ok()
        });
        return Ok(in_turns(framed(frame, "items", items, accepted), size, gzip, turns));
    }
    let head = format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\",\"metadata\":{metadata},\"items\":");
    if partial && empty {
        return Ok((Body::from(format!("{head}null}}\n")), false));
    }
    let chunks = Chunks {
        served: Arc::clone(served),
        entries: page.entries.into_iter(),
        head: Some(head),
        partial,
        beta: accepted.beta,
        first: true,
        done: false,
        over: Vec::new(),
    };
    Ok(body(chunks, size, gzip))
}

/// The table of a page, piece by piece.
fn table_of(
    served: &Arc<Served>,
    page: Page,
    accepted: Accepted,
    include: IncludeObject,
) -> Box<dyn Iterator<Item = Vec<u8>> + Send> {
    let frame = Value::Object(table::frame(served.resource.behaviour.columns(), table::Meta::of_page(&page), accepted));
    let entries = table::arranged(served, page.entries);
    if entries.is_empty() {
        return Box::new(std::iter::once(document(&frame, accepted).0.to_vec()));
    }
    let served = Arc::clone(served);
    let rows = entries
        .into_iter()
        .filter_map(move |entry| Some(table::row(&served, &entry, entry.readable()?, accepted, include)));
    Box::new(framed(frame, "rows", rows, accepted))
}

/// A body whose pieces are work: they are made in turns with other large work, by threads that nobody else waits for.
fn in_turns(
    pieces: impl Iterator<Item = Vec<u8>> + Send + 'static,
    size: usize,
    gzip: bool,
    turns: Arc<Semaphore>,
) -> (Body, bool) {
    let pieces = gathered(pieces);
    if size < AHEAD {
        return body(pieces, size, gzip);
    }
    let chunks: Box<dyn Iterator<Item = Bytes> + Send> = match gzip {
        true => Box::new(Gzip::new(pieces)),
        false => Box::new(pieces.map(Bytes::from)),
    };
    let stream = stream::unfold((chunks, turns), |(mut chunks, turns)| async move {
        let turn = Arc::clone(&turns).acquire_owned().await.ok()?;
        let chunk = if can_block() { tokio::task::block_in_place(|| chunks.next()) } else { chunks.next() };
        drop(turn);
        Some((chunk?, (chunks, turns)))
    });
    (Body::Stream(Box::pin(stream)), gzip)
}

/// Stands for the items in a document that is to be cut there.
const MARK: &str = "pawl:items";

/// A document with one long list in it, written piece by piece.
fn framed(
    mut frame: Value,
    field: &str,
    items: impl Iterator<Item = Value> + Send + 'static,
    accepted: Accepted,
) -> impl Iterator<Item = Vec<u8>> + Send + 'static {
    if let Some(frame) = frame.as_object_mut() {
        frame.insert(field.to_owned(), json!([MARK]));
    }
    let yaml = accepted.media == Media::Yaml;
    let (mark, between) = match (yaml, accepted.pretty) {
        (true, _) => (format!("- {MARK}\n"), ""),
        (false, true) => (format!("\"{MARK}\""), ",\n    "),
        (false, false) => (format!("\"{MARK}\""), ","),
    };
    let text = document(&frame, Accepted { media: if yaml { Media::Yaml } else { Media::Json }, ..accepted }).0;
    let text = String::from_utf8_lossy(&text).into_owned();
    let (head, end) = text.split_once(&mark).unwrap_or((&text, ""));
    let (head, end) = (head.as_bytes().to_vec(), end.as_bytes().to_vec());
    let items = items.enumerate().map(move |(index, item)| {
        let before = if index == 0 { "" } else { between };
        match (yaml, accepted.pretty) {
            (true, _) => pawl_schema::yaml::emit(&Value::Array(vec![item])).into_bytes(),
            // Text has no line breaks in JSON, so each is one of the layout.
            (false, true) => {
                let text = serde_json::to_string_pretty(&item).unwrap_or_default();
                format!("{before}{}", text.replace('\n', "\n    ")).into_bytes()
            }
            (false, false) => format!("{before}{item}").into_bytes(),
        }
    });
    std::iter::once(head).chain(items).chain(std::iter::once(end))
}

/// Small pieces put together to larger ones.
fn gathered(mut pieces: impl Iterator<Item = Vec<u8>> + Send + 'static) -> impl Iterator<Item = Vec<u8>> + Send {
    std::iter::from_fn(move || {
        let mut out = pieces.next()?;
        while out.len() < AHEAD {
            match pieces.next() {
                Some(piece) => out.extend_from_slice(&piece),
                None => break,
            }
        }
        Some(out)
    })
}

/// What is small is sent as a whole, everything else as it is read.
fn body(chunks: impl Iterator<Item = Vec<u8>> + Send + 'static, size: usize, gzip: bool) -> (Body, bool) {
    if size < AHEAD {
        return compress(Bytes::from(chunks.flatten().collect::<Vec<u8>>()), gzip);
    }
    if gzip {
        return (Body::Stream(Box::pin(stream::iter(Gzip::new(chunks)))), true);
    }
    (Body::Stream(Box::pin(stream::iter(chunks.flat_map(frames)))), false)
}

/// A chunk in pieces that fill a TLS record each.
fn frames(chunk: Vec<u8>) -> impl Iterator<Item = Bytes> {
    let mut rest = Bytes::from(chunk);
    std::iter::from_fn(move || (!rest.is_empty()).then(|| rest.split_to(rest.len().min(PIECE))))
}

fn write_entry(out: &mut Vec<u8>, served: &Served, entry: &CacheEntry, partial: bool, beta: bool) {
    // The registry refuses lists with unreadable objects in them.
    let Some(readable) = entry.readable() else { return };
    if partial {
        write_metadata(out, entry, readable, beta);
    } else {
        write_item(out, served, entry, readable);
    }
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
    entries: std::vec::IntoIter<Arc<CacheEntry>>,
    head: Option<String>,
    partial: bool,
    beta: bool,
    first: bool,
    done: bool,
    /// What was written and fills no piece: it is for the next chunk.
    over: Vec<u8>,
}

impl Iterator for Chunks {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if self.done {
            return None;
        }
        let mut out = Vec::with_capacity(AHEAD + PIECE);
        out.append(&mut self.over);
        if let Some(head) = self.head.take() {
            out.extend_from_slice(head.as_bytes());
            out.push(b'[');
        }
        while out.len() < AHEAD {
            let Some(entry) = self.entries.next() else {
                self.done = true;
                out.extend_from_slice(b"]}\n");
                break;
            };
            if !std::mem::take(&mut self.first) {
                out.push(b',');
            }
            write_entry(&mut out, &self.served, &entry, self.partial, self.beta);
        }
        if !self.done {
            self.over = out.split_off(out.len() - out.len() % PIECE);
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
                    if encoder.get_ref().len() >= AHEAD {
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
