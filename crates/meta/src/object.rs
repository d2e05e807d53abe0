//! A view of an object's metadata, without knowing its kind.

use serde_json::{Map, Value};

/// An object on its way through the server.
pub type Object = Map<String, Value>;

/// Reads of metadata that every part of the server needs.
pub trait Meta {
    fn metadata(&self) -> Option<&Map<String, Value>>;

    fn meta_str(&self, field: &str) -> &str {
        self.metadata().and_then(|m| m.get(field)).and_then(Value::as_str).unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.meta_str("name")
    }

    fn namespace(&self) -> &str {
        self.meta_str("namespace")
    }

    fn uid(&self) -> &str {
        self.meta_str("uid")
    }

    fn resource_version(&self) -> &str {
        self.meta_str("resourceVersion")
    }

    fn is_deleting(&self) -> bool {
        self.metadata().is_some_and(|m| m.get("deletionTimestamp").is_some_and(|t| !t.is_null()))
    }

    fn generation(&self) -> i64 {
        self.metadata().and_then(|m| m.get("generation")).and_then(Value::as_i64).unwrap_or(0)
    }

    /// The strings of a list such as `finalizers` or `liens`.
    fn meta_strings(&self, field: &str) -> Vec<&str> {
        let list = self.metadata().and_then(|m| m.get(field)).and_then(Value::as_array);
        list.map(|items| items.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
    }

    fn labels(&self) -> Option<&Map<String, Value>> {
        self.metadata().and_then(|m| m.get("labels")).and_then(Value::as_object)
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata().and_then(|m| m.get("annotations")).and_then(|a| a.get(key)).and_then(Value::as_str)
    }
}

impl Meta for Object {
    fn metadata(&self) -> Option<&Map<String, Value>> {
        self.get("metadata").and_then(Value::as_object)
    }
}

impl Meta for Value {
    fn metadata(&self) -> Option<&Map<String, Value>> {
        self.get("metadata").and_then(Value::as_object)
    }
}

/// The metadata to write to; made when it is not there.
pub fn metadata_mut(object: &mut Object) -> &mut Map<String, Value> {
    let slot = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    match slot {
        Value::Object(map) => map,
        #[expect(clippy::unreachable, reason = "made an object three lines above")]
        _ => unreachable!("metadata was just made an object"),
    }
}

/// The value at a dotted path of fields.
pub fn at<'v>(object: &'v Object, path: &str) -> Option<&'v Value> {
    let mut parts = path.split('.');
    let mut value = object.get(parts.next()?)?;
    for part in parts {
        value = value.get(part)?;
    }
    Some(value)
}
