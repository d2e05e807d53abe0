//! What objects say of themselves: their lists of words, their owners, who wrote which field, and how long ago something was.

use pawl_meta::time;
use serde_json::Value;

pub fn text<'v>(value: &'v Value, at: &str) -> &'v str {
    value.pointer(at).and_then(Value::as_str).unwrap_or_default()
}

pub fn words(object: &Value, at: &str) -> Vec<String> {
    let all = object.pointer(at).and_then(Value::as_array).into_iter().flatten();
    all.filter_map(Value::as_str).map(str::to_owned).collect()
}

pub fn list<'v>(value: &'v Value, at: &str) -> impl Iterator<Item = &'v Value> {
    value.pointer(at).and_then(Value::as_array).into_iter().flatten()
}

/// Who put a word into a list of metadata, as managedFields have it: the last one who did.
pub fn put_by(object: &Value, field: &str, word: &str) -> Option<String> {
    let item = format!("v:{}", Value::from(word));
    let wrote = |entry: &&Value| {
        let fields = entry.pointer(&format!("/fieldsV1/f:metadata/f:{field}"));
        fields.and_then(Value::as_object).is_some_and(|fields| fields.contains_key(&item))
    };
    let writers = list(object, "/metadata/managedFields").filter(wrote);
    let last = writers.max_by_key(|entry| text(entry, "/time").to_owned())?;
    let when = ago(text(last, "/time")).map(|ago| format!(", {ago} ago")).unwrap_or_default();
    Some(format!("put by {} ({}{when})", text(last, "/manager"), text(last, "/operation")))
}

/// How long ago a time was, as kubectl writes it.
pub fn ago(when: &str) -> Option<String> {
    Some(short(time::unix_now().saturating_sub(time::parse(when)?).max(0)))
}

fn short(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    match seconds {
        ..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / MINUTE),
        7200..172_800 => format!("{}h", seconds / HOUR),
        _ => format!("{}d", seconds / DAY),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn who_put_a_word_is_found_in_managed_fields() {
        let entry = |manager: &str, word: &str, time: &str| {
            let fields = json!({"f:metadata": {"f:liens": {".": {}, format!("v:\"{word}\""): {}}}});
            json!({"manager": manager, "operation": "Update", "time": time, "fieldsV1": fields})
        };
        let object = json!({"metadata": {"managedFields": [entry("one", "a.b/c", "2020-01-01T00:00:00Z"),
            entry("two", "a.b/c", "2021-01-01T00:00:00Z"), entry("three", "d.e/f", "2022-01-01T00:00:00Z")]}});
        assert!(put_by(&object, "liens", "a.b/c").unwrap().starts_with("put by two (Update, "));
        assert_eq!(put_by(&object, "liens", "x.y/z"), None);
        assert_eq!(put_by(&object, "finalizers", "a.b/c"), None);
    }

    #[test]
    fn times_are_short() {
        for (seconds, told) in [(5, "5s"), (119, "119s"), (600, "10m"), (7200, "2h"), (200_000, "2d")] {
            assert_eq!(short(seconds), told);
        }
    }
}
