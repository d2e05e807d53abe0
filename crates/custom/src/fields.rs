//! Fields of objects whose types the decoder has seen to: what is absent is empty.

use pawl_meta::object::Object;
pub use pawl_meta::read::{each, list, map, text, texts, truth, within};
use serde_json::{Value, json};

pub fn string(object: &Object, field: &str) -> String {
    text(object, field).to_owned()
}

pub fn optional(object: &Object, field: &str) -> Option<String> {
    object.get(field).and_then(Value::as_str).map(str::to_owned)
}

pub fn strings(object: &Object, field: &str) -> Vec<String> {
    texts(object, field).into_iter().map(str::to_owned).collect()
}

/// The object in a field to write to; made when it is not there.
pub fn within_mut<'o>(object: &'o mut Object, field: &str) -> &'o mut Object {
    let slot = object.entry(field).or_insert_with(|| json!({}));
    if !slot.is_object() {
        *slot = json!({});
    }
    match slot {
        Value::Object(map) => map,
        #[expect(clippy::unreachable, reason = "made an object three lines above")]
        _ => unreachable!("the field was just made an object"),
    }
}
