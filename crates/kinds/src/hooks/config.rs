//! What rules cannot say about ConfigMap and Secret: sizes over several fields, keys that exclude each other, the keys a
//! secret's type demands, and `stringData`, which exists on the wire only.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pawl_meta::object::Object;
use serde_json::Value;

use pawl_meta::read;
use pawl_rules::formats;
use pawl_rules::{Check, Errors, FieldPath};

/// What all values of a ConfigMap or a Secret may weigh together.
const MAX_SIZE: usize = 1024 * 1024;

/// Keys are well formed, and none stands in both bags.
pub fn config_map_keys(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let binary = read::within(object, "binaryData");
    let at = path.child("data");
    for key in read::within(object, "data").keys() {
        for detail in formats::config_key(key) {
            errors.invalid(&at.key(key), key.as_str(), detail);
        }
        if binary.contains_key(key) {
            errors.invalid(&at.key(key), key.as_str(), "duplicate of key present in binaryData");
        }
    }
    let at = path.child("binaryData");
    for key in binary.keys() {
        for detail in formats::config_key(key) {
            errors.invalid(&at.key(key), key.as_str(), detail);
        }
    }
}

/// The texts and the decoded binary values together stay below the limit. The error names the object, not a field.
pub fn config_map_size(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let texts: usize = values(object, "data").map(str::len).sum();
    let bytes: usize = values(object, "binaryData").map(decoded_len).sum();
    if texts.saturating_add(bytes) > MAX_SIZE {
        errors.too_long(&path.key(""), Value::Null, MAX_SIZE);
    }
}

/// The decoded values together stay below the limit.
pub fn secret_size(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    if values(object, "data").map(decoded_len).sum::<usize>() > MAX_SIZE {
        errors.too_long(&path.child("data"), Value::Null, MAX_SIZE);
    }
}

/// Lays `stringData` over `data`.
pub fn secret_fold_string_data(object: &mut Object) {
    let Some(Value::Object(texts)) = object.remove("stringData") else { return };
    if texts.is_empty() {
        return;
    }
    let Some(data) = read::map_mut(object, "data") else { return };
    for (key, value) in texts {
        let encoded = STANDARD.encode(value.as_str().unwrap_or_default());
        data.insert(key, Value::String(encoded));
    }
}

/// An update that names no type keeps the old one.
pub fn secret_keep_type(new: &mut Object, old: &Object) {
    if read::text(new, "type").is_empty()
        && let Some(kind) = old.get("type")
    {
        new.insert("type".to_string(), kind.clone());
    }
}

/// The keys that a secret's type demands, and that registry credentials are JSON.
pub fn secret_required_keys(_cx: &Check<'_>, object: &Object, path: &FieldPath, errors: &mut Errors) {
    let data = read::within(object, "data");
    let at = path.child("data");
    match read::text(object, "type") {
        "kubernetes.io/dockercfg" => json_key(data, ".dockercfg", &at, errors),
        "kubernetes.io/dockerconfigjson" => json_key(data, ".dockerconfigjson", &at, errors),
        "kubernetes.io/basic-auth" if !data.contains_key("username") && !data.contains_key("password") => {
            errors.required(&at.key("username"), "");
            errors.required(&at.key("password"), "");
        }
        "kubernetes.io/ssh-auth" if read::text(data, "ssh-privatekey").is_empty() => {
            errors.required(&at.key("ssh-privatekey"), "");
        }
        "kubernetes.io/tls" => {
            for key in ["tls.crt", "tls.key"] {
                if !data.contains_key(key) {
                    errors.required(&at.key(key), "");
                }
            }
        }
        _ => {}
    }
}

fn json_key(data: &Object, key: &str, at: &FieldPath, errors: &mut Errors) {
    let Some(value) = data.get(key) else {
        errors.required(&at.key(key), "");
        return;
    };
    let content = STANDARD.decode(value.as_str().unwrap_or_default()).unwrap_or_default();
    if let Err(detail) = json_object(&content) {
        errors.invalid(&at.key(key), "<secret contents redacted>", detail);
    }
}

/// Whether the bytes are a JSON object, and if not, in Go's words.
fn json_object(content: &[u8]) -> Result<(), String> {
    match serde_json::from_slice::<Value>(content) {
        Ok(Value::Object(_) | Value::Null) => Ok(()),
        Ok(other) => {
            let kind = pawl_meta::go::json_kind(&other);
            Err(format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"))
        }
        Err(_) => Err(pawl_schema::syntax_error(content)),
    }
}

fn values<'a>(object: &'a Object, field: &str) -> impl Iterator<Item = &'a str> {
    read::map(object, field).into_iter().flat_map(|fields| fields.values()).filter_map(Value::as_str)
}

/// How many bytes a base64 text stands for.
fn decoded_len(text: &str) -> usize {
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}
