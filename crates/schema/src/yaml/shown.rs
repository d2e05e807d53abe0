//! Values as Go's `%#v` writes what its YAML reader made of a document.

use pawl_meta::go;
use serde_json::Value;

/// `map[interface {}]interface {}{"a":"b"}`, `[]interface {}{1}`, `<nil>`.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => go::quote(text),
        Value::Array(items) => {
            format!("[]interface {{}}{{{}}}", items.iter().map(inner).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let entry = |(key, value): (&String, &Value)| format!("{}:{}", go::quote(key), inner(value));
            format!("map[interface {{}}]interface {{}}{{{}}}", map.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        scalar => scalar.to_string(),
    }
}

fn inner(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        value => shown(value),
    }
}
