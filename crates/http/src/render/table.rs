//! Tables: what `kubectl get` shows.

use std::sync::Arc;

use pawl_meta::Status;
use pawl_registry::{CacheEntry, Columns, Page, Readable, Served};
use serde_json::{Map, Value, json};

use crate::negotiation::Accepted;

/// What rows carry of their objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncludeObject {
    #[default]
    Metadata,
    Object,
    None,
}

impl IncludeObject {
    /// Whether a table can be shown like this.
    pub fn check(text: Option<&str>) -> Result<(), Status> {
        match text {
            None | Some("" | "None" | "Object" | "Metadata") => Ok(()),
            Some(other) => Err(Status::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be 'Metadata', 'Object', 'None', or empty"
            ))),
        }
    }

    pub fn parse(text: Option<&str>) -> Self {
        match text {
            Some("None") => Self::None,
            Some("Object") => Self::Object,
            _ => Self::Metadata,
        }
    }
}

/// The table of a document that is no object of a resource.
pub(crate) fn of_document(
    columns: &dyn Columns,
    document: &Value,
    accepted: Accepted,
    include: IncludeObject,
) -> Map<String, Value> {
    let metadata = document.get("metadata").cloned().unwrap_or_else(|| json!({}));
    let version = metadata.get("resourceVersion").and_then(Value::as_str).map(str::to_owned);
    let shown = match include {
        IncludeObject::None => Value::Null,
        IncludeObject::Object => document.clone(),
        IncludeObject::Metadata => {
            json!({"kind": "PartialObjectMetadata", "apiVersion": accepted.meta_version(), "metadata": metadata})
        }
    };
    let row = json!({"cells": columns.row(document, pawl_meta::time::unix_now()), "object": shown});
    let mut table = frame(columns, Meta { resource_version: version, ..Meta::default() }, accepted);
    table.insert("rows".to_owned(), json!([row]));
    table
}

/// The list metadata of a table.
#[derive(Default)]
pub(crate) struct Meta {
    resource_version: Option<String>,
    continue_token: Option<String>,
    remaining: Option<usize>,
}

impl Meta {
    pub(crate) fn of(entry: &CacheEntry) -> Self {
        Self { resource_version: (entry.revision > 0).then(|| entry.revision.to_string()), ..Self::default() }
    }

    pub(crate) fn of_page(page: &Page) -> Self {
        Self {
            resource_version: Some(page.revision.to_string()),
            continue_token: page.continue_token.clone(),
            remaining: page.continue_token.as_ref().and(page.remaining),
        }
    }

    fn value(self) -> Value {
        let mut map = Map::new();
        map.extend(self.resource_version.map(|v| ("resourceVersion".to_owned(), json!(v))));
        map.extend(self.continue_token.map(|v| ("continue".to_owned(), json!(v))));
        map.extend(self.remaining.map(|v| ("remainingItemCount".to_owned(), json!(v))));
        Value::Object(map)
    }
}

/// A table without its rows.
pub(crate) fn frame(columns: &dyn Columns, meta: Meta, accepted: Accepted) -> Map<String, Value> {
    let definitions: Vec<Value> = columns
        .definitions()
        .iter()
        .map(|c| {
            json!({"name": c.name, "type": c.kind, "format": c.format, "description": c.description,
                "priority": c.priority})
        })
        .collect();
    let api_version = if accepted.beta { "meta.k8s.io/v1beta1" } else { "meta.k8s.io/v1" };
    // An empty table of a kind without columns of its own has no rows at all, as upstream's.
    let rows = if columns.is_fallback() { Value::Null } else { json!([]) };
    Map::from_iter([
        ("kind".to_owned(), json!("Table")),
        ("apiVersion".to_owned(), json!(api_version)),
        ("metadata".to_owned(), meta.value()),
        ("columnDefinitions".to_owned(), Value::Array(definitions)),
        ("rows".to_owned(), rows),
    ])
}

/// The objects of a list in the order of their table's rows.
pub(crate) fn arranged(served: &Served, entries: Vec<Arc<CacheEntry>>) -> Vec<Arc<CacheEntry>> {
    let columns = served.resource.behaviour.columns();
    if !columns.is_sorted() {
        return entries;
    }
    // Only one object at a time is looked at.
    let key = |entry: &Arc<CacheEntry>| {
        let readable = entry.readable();
        columns.sort_key(&readable.map_or(Value::Null, |readable| Value::Object(readable.object(entry.revision))))
    };
    let mut keyed: Vec<_> = entries.into_iter().map(|entry| (key(&entry), entry)).collect();
    keyed.sort_by(|(one, _), (other, _)| columns.order(one, other));
    keyed.into_iter().map(|(_, entry)| entry).collect()
}

/// The row of an object.
pub(crate) fn row(
    served: &Served,
    entry: &CacheEntry,
    readable: &Readable,
    accepted: Accepted,
    include: IncludeObject,
) -> Value {
    let columns = served.resource.behaviour.columns();
    let object = Value::Object(served.judged_object(readable, entry.revision));
    let mut row = Map::new();
    row.insert("cells".to_owned(), Value::Array(columns.row(&object, pawl_meta::time::unix_now())));
    let conditions = columns.row_conditions(&object);
    if !conditions.is_empty() {
        row.insert("conditions".to_owned(), Value::Array(conditions));
    }
    let mut bytes = Vec::new();
    match include {
        IncludeObject::None => {}
        IncludeObject::Metadata => super::write_metadata(&mut bytes, entry, readable, accepted.beta),
        IncludeObject::Object => super::write_object(&mut bytes, served, entry, readable),
    }
    let shown = if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap_or(Value::Null) };
    row.insert("object".to_owned(), shown);
    Value::Object(row)
}

/// The table of one object.
pub(crate) fn single(
    served: &Served,
    entry: &CacheEntry,
    readable: &Readable,
    accepted: Accepted,
    include: IncludeObject,
) -> Map<String, Value> {
    let mut table = frame(served.resource.behaviour.columns(), Meta::of(entry), accepted);
    table.insert("rows".to_owned(), Value::Array(vec![row(served, entry, readable, accepted, include)]));
    table
}
