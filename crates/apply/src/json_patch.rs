//! JSON patch, RFC 6902, with the leniencies of the library that upstream uses.
//!
//! A pointer without a leading slash loses its first part; `replace` and `copy` do not mind a missing map key;
//! indexes may be negative; a value that is not given is null. Clients have come to rely on some of these.

use serde_json::{Map, Value};

use pawl_meta::go;

use crate::error::PatchError;

/// A patch with more operations is refused.
pub const MAX_OPERATIONS: usize = 10_000;
/// What all `copy` operations of a patch may add to a document, in bytes of JSON.
const MAX_COPIED: usize = 3 * 1024 * 1024;
/// And in bytes of memory: short text can be a large object.
const MAX_BUILT: usize = 24 << 20;
/// How many values all operations of a patch may look at or move to other places.
const MAX_WORK: usize = 50_000_000;
/// No object is nested deeper, and no patch may nest one deeper.
const MAX_DEPTH: usize = 400;

/// A patch that has been read.
#[derive(Debug, Clone)]
pub struct Patch(Vec<Map<String, Value>>);

/// Reads and applies a patch.
pub fn apply(doc: Value, patch: &[u8]) -> Result<Value, PatchError> {
    Patch::decode(patch)?.apply(doc)
}

impl Patch {
    /// Reads a patch.
    pub fn decode(patch: &[u8]) -> Result<Self, PatchError> {
        let wrong = |kind: &str, of: &str| {
            PatchError::Malformed(format!("error decoding patch: json: cannot unmarshal {kind} into Go {of}"))
        };
        let value = pawl_schema::read_json(patch).map_err(|why| match pawl_schema::beyond_floats(patch) {
            Some(number) => wrong(&format!("number {number}"), "struct field jsonPatchOp.value of type float64"),
            None => PatchError::Malformed(format!("error decoding patch: {why}")),
        })?;
        let operations = match value {
            Value::Array(operations) => operations,
            Value::Null => Vec::new(),
            other => return Err(wrong(go::json_kind(&other), "value of type []handlers.jsonPatchOp")),
        };
        let mut read = Vec::with_capacity(operations.len());
        for operation in operations {
            let operation = match operation {
                Value::Object(operation) => operation,
                Value::Null => Map::new(),
                other => return Err(wrong(go::json_kind(&other), "value of type handlers.jsonPatchOp")),
            };
            for field in ["op", "path", "from"] {
                match operation.get(field) {
                    None | Some(Value::Null | Value::String(_)) => {}
                    Some(other) => {
                        return Err(wrong(
                            go::json_kind(other),
                            &format!("struct field jsonPatchOp.{field} of type string"),
                        ));
                    }
                }
            }
            read.push(operation);
        }
        if read.len() > MAX_OPERATIONS {
            return Err(PatchError::TooLarge(format!(
                "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
                read.len()
            )));
        }
        Ok(Self(read))
    }

    /// The fields of the operations that RFC 6902 does not have, as field validation names them: `[0].valeu`.
    pub fn unknown_fields(&self) -> Vec<String> {
        let known = |name: &str| matches!(name, "op" | "path" | "from" | "value");
        let unknown = |(i, operation): (usize, &Map<String, Value>)| {
            operation.keys().filter(|name| !known(name)).map(|name| format!("[{i}].{name}")).collect::<Vec<_>>()
        };
        self.0.iter().enumerate().flat_map(unknown).collect()
    }

    /// Applies the operations one after the other, all or none.
    pub fn apply(self, doc: Value) -> Result<Value, PatchError> {
        let mut patching = Patching { doc, copied: 0, built: 0, work: 0 };
        for operation in self.0 {
            patching.operate(operation).map_err(PatchError::Inapplicable)?;
        }
        Ok(patching.doc)
    }
}

fn too_much(copied: usize, limit: usize) -> String {
    format!(
        "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit {limit}"
    )
}

struct Patching {
    doc: Value,
    copied: usize,
    built: usize,
    work: usize,
}

impl Patching {
    fn operate(&mut self, mut operation: Map<String, Value>) -> Result<(), String> {
        let value = operation.remove("value").unwrap_or(Value::Null);
        let text = |field: &str| operation.get(field).and_then(Value::as_str);
        let pointer =
            |field: &str| text(field).ok_or_else(|| format!("operation missing {field} field: missing value"));
        match text("op") {
            Some("add") => self.add(pointer("path")?, value),
            Some("remove") => self.remove(pointer("path")?).map(|_| ()),
            Some("replace") => self.replace(pointer("path")?, value),
            Some("move") => {
                let value = self.remove(pointer("from")?)?;
                self.add(pointer("path")?, value)
            }
            Some("copy") => self.copy(pointer("from")?, pointer("path")?),
            Some("test") => self.test(pointer("path")?, &value),
            other => Err(format!("Unexpected kind: {}", other.unwrap_or("unknown"))),
        }
    }

    fn add(&mut self, path: &str, value: Value) -> Result<(), String> {
        self.check_depth(path, &value)?;
        let moved = match self.find_mut(path)? {
            (Value::Object(map), key) => {
                map.insert(key, value);
                0
            }
            (Value::Array(items), key) if key == "-" => {
                items.push(value);
                0
            }
            (Value::Array(items), key) => {
                let at = index(&key, items.len() + 1)?;
                items.insert(at, value);
                items.len() - at
            }
            _ => return Err(missing(path)),
        };
        self.work(moved)
    }

    fn remove(&mut self, path: &str) -> Result<Value, String> {
        let (removed, moved) = match self.find_mut(path)? {
            (Value::Object(map), key) => {
                let removed = map.remove(&key);
                (removed.ok_or_else(|| format!("Unable to remove nonexistent key: {key}: missing value"))?, 0)
            }
            (Value::Array(items), key) => {
                let at = index(&key, items.len())?;
                (items.remove(at), items.len() - at)
            }
            _ => return Err(missing(path)),
        };
        self.work(moved)?;
        Ok(removed)
    }

    /// Counts what an operation has to look at or to move.
    fn work(&mut self, values: usize) -> Result<(), String> {
        self.work = self.work.saturating_add(values);
        if self.work > MAX_WORK { Err("the operations move too much".to_owned()) } else { Ok(()) }
    }

    fn check_depth(&mut self, path: &str, value: &Value) -> Result<(), String> {
        let mut looked_at = 0;
        let depth = depth(value, &mut looked_at);
        self.work(looked_at)?;
        if path.matches('/').count() + depth > MAX_DEPTH { Err("exceeded max depth".to_owned()) } else { Ok(()) }
    }

    fn replace(&mut self, path: &str, value: Value) -> Result<(), String> {
        if path.is_empty() {
            if !value.is_object() && !value.is_array() {
                return Err("replace operation value must be object or array".to_owned());
            }
            self.doc = value;
            return Ok(());
        }
        self.check_depth(path, &value)?;
        match self.find_mut(path)? {
            (Value::Object(map), key) => {
                map.insert(key, value);
            }
            (Value::Array(items), key) => {
                let at = index(&key, items.len())?;
                if let Some(slot) = items.get_mut(at) {
                    *slot = value;
                }
            }
            _ => return Err(missing(path)),
        }
        Ok(())
    }

    fn copy(&mut self, from: &str, path: &str) -> Result<(), String> {
        let built = self.built;
        let value = match self.find_mut(from)? {
            (Value::Object(map), key) => map.get(&key).unwrap_or(&Value::Null),
            (Value::Array(items), key) => items.get(index(&key, items.len())?).unwrap_or(&Value::Null),
            _ => return Err(missing(from)),
        };
        let built = built + pawl_schema::built::size(value);
        if built > MAX_BUILT {
            return Err(too_much(built, MAX_BUILT));
        }
        let value = value.clone();
        self.built = built;
        self.copied += serde_json::to_string(&value).map_or(0, |text| text.len());
        if self.copied > MAX_COPIED {
            return Err(too_much(self.copied, MAX_COPIED));
        }
        self.add(path, value)
    }

    fn test(&mut self, path: &str, value: &Value) -> Result<(), String> {
        let found = if path.is_empty() {
            &self.doc
        } else {
            match self.find_mut(path)? {
                (Value::Object(map), key) => map.get(&key).unwrap_or(&Value::Null),
                (Value::Array(items), key) => items.get(index(&key, items.len())?).unwrap_or(&Value::Null),
                _ => return Err(missing(path)),
            }
        };
        if found == value { Ok(()) } else { Err(format!("testing value {path} failed: test failed")) }
    }

    /// The container that a pointer leads into, and the key in it.
    fn find_mut(&mut self, pointer: &str) -> Result<(&mut Value, String), String> {
        let (_, pointer_rest) = pointer.split_once('/').ok_or_else(|| missing(pointer))?;
        let mut parts = pointer_rest.split('/');
        let key = parts.next_back().unwrap_or_default();
        let mut at = &mut self.doc;
        for part in parts {
            let part = unescape(part);
            let next = match at {
                Value::Object(map) => map.get_mut(&part),
                Value::Array(items) => {
                    let at = index(&part, items.len())?;
                    items.get_mut(at)
                }
                _ => None,
            };
            at = next.ok_or_else(|| missing(pointer))?;
        }
        Ok((at, unescape(key)))
    }
}

fn missing(path: &str) -> String {
    format!("operation does not apply: doc is missing path: \"{path}\": missing value")
}

/// `~1` is a slash and `~0` a tilde, read from left to right.
fn unescape(part: &str) -> String {
    if !part.contains('~') {
        return part.to_owned();
    }
    let mut out = String::with_capacity(part.len());
    let mut chars = part.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = match (c, chars.peek()) {
            ('~', Some('1')) => Some('/'),
            ('~', Some('0')) => Some('~'),
            _ => None,
        };
        match escaped {
            Some(plain) => {
                chars.next();
                out.push(plain);
            }
            None => out.push(c),
        }
    }
    out
}

/// A place in a list of `len` places; negative ones count from the end.
fn index(key: &str, len: usize) -> Result<usize, String> {
    let index: i64 = key.parse().map_err(|_| format!("value was not a proper array index: '{key}'"))?;
    let place = if index < 0 { i64::try_from(len).unwrap_or(i64::MAX).checked_add(index) } else { Some(index) };
    match place.and_then(|place| usize::try_from(place).ok()) {
        Some(place) if place < len => Ok(place),
        _ => Err(format!("Unable to access invalid index: {index}: invalid index referenced")),
    }
}

fn depth(value: &Value, looked_at: &mut usize) -> usize {
    *looked_at += 1;
    match value {
        Value::Object(map) => 1 + map.values().map(|value| depth(value, looked_at)).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(|value| depth(value, looked_at)).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
