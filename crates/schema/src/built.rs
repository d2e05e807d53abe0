//! How much memory a document takes once it is built, and how much it may take.
//!
//! Short text can become large objects: `{},` is three bytes, and an object in memory hundreds. What is built is counted
//! as it is made, so that a document is refused before it is too large, whatever its text looks like.

use serde_json::Value;

/// A value in its container.
const SLOT: usize = size_of::<Value>();
/// The first node of a map; it has room for eleven entries.
const MAP: usize = 640;
/// What each further entry of a map adds to its nodes.
pub const ENTRY: usize = 110;
/// What an allocation takes at least.
const LEAST: usize = 24;
/// Every document may become so large.
const SMALL: usize = 16 << 20;
/// Larger ones may take so many times the size of their text. Lists of the smallest objects in use take thirty.
const TIMES: usize = 32;

/// The most bytes that a text of this size may become.
pub fn allowed(text: usize) -> usize {
    text.saturating_mul(TIMES).max(SMALL)
}

pub fn text(length: usize) -> usize {
    if length == 0 { 0 } else { length.max(LEAST) }
}

/// A list with room for so many items, without what the items hold.
pub fn list(capacity: usize) -> usize {
    capacity.saturating_mul(SLOT)
}

/// A map of so many entries, without what keys and values hold.
pub fn map(entries: usize) -> usize {
    if entries == 0 { 0 } else { MAP + entries * ENTRY }
}

/// What a copy of a value takes.
pub fn size(value: &Value) -> usize {
    match value {
        Value::String(string) => text(string.len()),
        Value::Array(items) => list(items.len()) + items.iter().map(size).sum::<usize>(),
        Value::Object(fields) => {
            map(fields.len()) + fields.iter().map(|(key, value)| text(key.len()) + size(value)).sum::<usize>()
        }
        _ => 0,
    }
}
