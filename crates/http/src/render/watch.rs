//! Watch events, one line each, in the form that the client asked for.

use std::sync::Arc;

use pawl_meta::Status;
use pawl_registry::{CacheEntry, Served, WatchItem};
use serde_json::{Value, json};

use super::table::{self, IncludeObject};
use super::{protobuf, write_metadata, write_number, write_object};
use crate::negotiation::{Accepted, Form, Media};

pub struct WatchRenderer {
    served: Arc<Served>,
    accepted: Accepted,
    include: IncludeObject,
    /// The first table carries the column definitions, the others refer to them.
    columns_sent: bool,
}

impl WatchRenderer {
    pub fn new(served: Arc<Served>, accepted: Accepted, include: IncludeObject) -> Self {
        Self { served, accepted, include, columns_sent: false }
    }

    pub fn served(&self) -> &Arc<Served> {
        &self.served
    }

    /// Writes what is served now from here on.
    pub fn follow(&mut self, served: Arc<Served>) {
        self.served = served;
        self.columns_sent = false;
    }

    pub fn write(&mut self, out: &mut Vec<u8>, item: &WatchItem) {
        match item {
            WatchItem::Added(entry) => self.event(out, "ADDED", entry),
            WatchItem::Modified(entry) => self.event(out, "MODIFIED", entry),
            WatchItem::Deleted(entry) => self.event(out, "DELETED", entry),
            WatchItem::Bookmark { revision, initial_events_end } => self.bookmark(out, *revision, *initial_events_end),
            WatchItem::Error(status) => self.error(out, status),
        }
    }

    fn event(&mut self, out: &mut Vec<u8>, kind: &str, entry: &CacheEntry) {
        let Some(readable) = entry.readable() else {
            let message = format!("failed to read {} from the storage", entry.key);
            return self.error(out, &Status::new(500, "StorageReadError", message));
        };
        if self.accepted.media == Media::Protobuf {
            let sealed = protobuf::object(&self.served, entry, readable, self.accepted);
            return match sealed {
                Ok(sealed) => frame(out, kind, &sealed),
                Err(status) => self.error(out, &status),
            };
        }
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\",\"object\":");
        match self.accepted.form {
            Form::Object => write_object(out, &self.served, entry, readable),
            Form::Metadata | Form::MetadataList => write_metadata(out, entry, readable, self.accepted.beta),
            Form::Table => {
                let mut table = table::single(&self.served, entry, readable, self.accepted, self.include);
                if self.columns_sent {
                    table.insert("columnDefinitions".to_owned(), Value::Null);
                }
                self.columns_sent = true;
                out.extend_from_slice(Value::Object(table).to_string().as_bytes());
            }
        }
        out.extend_from_slice(b"}\n");
    }

    fn bookmark(&self, out: &mut Vec<u8>, revision: u64, initial_events_end: bool) {
        if self.accepted.media == Media::Protobuf {
            let mut metadata = serde_json::Map::new();
            metadata.insert("resourceVersion".to_owned(), json!(revision.to_string()));
            if initial_events_end {
                metadata.insert("annotations".to_owned(), json!({"k8s.io/initial-events-end": "true"}));
            }
            if let Some(sealed) = protobuf::bookmark(&self.served, self.accepted, metadata) {
                frame(out, "BOOKMARK", &sealed);
            }
            return;
        }
        out.extend_from_slice(b"{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"");
        let (kind, api_version) = match self.accepted.form {
            Form::Metadata | Form::MetadataList => {
                ("PartialObjectMetadata".to_owned(), self.accepted.meta_version().to_owned())
            }
            _ => (self.served.resource.facts.kind.clone(), self.served.resource.group_version().to_string()),
        };
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\",\"apiVersion\":\"");
        out.extend_from_slice(api_version.as_bytes());
        out.extend_from_slice(b"\",\"metadata\":{\"resourceVersion\":\"");
        write_number(out, revision);
        out.extend_from_slice(b"\"");
        if initial_events_end {
            out.extend_from_slice(b",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}");
        }
        out.extend_from_slice(b"}}}\n");
    }

    fn error(&self, out: &mut Vec<u8>, status: &Status) {
        let value = status.to_value();
        if self.accepted.media == Media::Protobuf
            && let Some(sealed) = pawl_registry::message(&value)
        {
            return frame(out, "ERROR", &sealed);
        }
        out.extend_from_slice(json!({"type": "ERROR", "object": value}).to_string().as_bytes());
        out.push(b'\n');
    }

    /// The content type of the stream.
    pub fn content_type(&self) -> &'static str {
        match self.accepted.media {
            Media::Yaml => "application/yaml;stream=watch",
            Media::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
            _ => "application/json",
        }
    }
}

fn frame(out: &mut Vec<u8>, kind: &str, sealed: &[u8]) {
    // Only an object past four gigabytes does not fit, and none is stored.
    let _ = pawl_protobuf::frame(kind, sealed, out);
}
