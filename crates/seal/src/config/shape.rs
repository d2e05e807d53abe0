//! From the text of a file to its fields: YAML or JSON, with no unknown and no duplicate field.

use std::sync::OnceLock;

use pawl_meta::go;
use pawl_schema::{
    DecodeError, Field, Finding, Node, NodeId, NodeKind, Object, Scalar, SchemaBuilder, Type, decode_value, yaml,
};
use serde_json::{Map, Value};
use zeroize::{Zeroize, Zeroizing};

/// The two names under which upstream knows the document.
const KINDS: [(&str, &str); 2] =
    [("apiserver.config.k8s.io/v1", "EncryptionConfiguration"), ("v1", "EncryptionConfig")];

#[derive(Default)]
pub(super) struct ResourceEntry {
    pub resources: Vec<String>,
    pub providers: Vec<Provider>,
}

#[derive(Default)]
pub(super) struct Provider {
    pub aesgcm: Option<Vec<Key>>,
    pub aescbc: Option<Vec<Key>>,
    pub secretbox: Option<Vec<Key>>,
    pub identity: bool,
    pub kms: Option<Kms>,
}

pub(super) struct Key {
    pub name: String,
    pub secret: Zeroizing<String>,
}

pub(super) struct Kms {
    pub api_version: String,
    pub name: String,
    pub cache_size: Option<i64>,
    pub endpoint: String,
    /// In nanoseconds.
    pub timeout: i64,
}

pub(super) fn decode(text: &[u8]) -> Result<Vec<ResourceEntry>, String> {
    let text = std::str::from_utf8(text).map_err(|_| "yaml: control characters are not allowed".to_owned())?;
    let parsed = yaml::parse(text)?;
    if let Err(why) = check_kind(&parsed.value) {
        wipe(parsed.value);
        return Err(why);
    }
    let shape = shape().ok_or("the shape of the configuration is not whole")?;
    let mut decoded = decode_value(shape.as_ref(), parsed.value).map_err(|error| match error {
        DecodeError::Syntax(why) | DecodeError::Type(why) => why,
        DecodeError::TooLarge(..) => error.to_string(),
    })?;
    let mut strict = Vec::new();
    if !parsed.duplicates.is_empty() {
        strict.push(format!("yaml: unmarshal errors:\n  {}", parsed.duplicates.join("\n  ")));
    }
    strict.extend(decoded.findings.iter().map(Finding::message));
    if !strict.is_empty() {
        wipe(Value::Object(decoded.object));
        return Err(format!("strict decoding error: {}", strict.join(", ")));
    }
    list(&mut decoded.object, "resources").into_iter().map(entry).collect()
}

fn check_kind(value: &Value) -> Result<(), String> {
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    // The document is not quoted, as upstream would: it may be full of keys.
    if kind.is_empty() {
        return Err("Object 'Kind' is missing".to_owned());
    }
    if version.is_empty() {
        return Err("Object 'apiVersion' is missing".to_owned());
    }
    if !KINDS.contains(&(version, kind)) {
        return Err(format!("no kind {} is registered for version {}", go::quote(kind), go::quote(version)));
    }
    Ok(())
}

fn entry(value: Value) -> Result<ResourceEntry, String> {
    let mut object = object(value);
    let resources = list(&mut object, "resources").into_iter().map(text).collect();
    let providers = list(&mut object, "providers").into_iter().map(provider).collect::<Result<_, _>>()?;
    Ok(ResourceEntry { resources, providers })
}

fn provider(value: Value) -> Result<Provider, String> {
    let mut fields = object(value);
    let mut keys = |name: &str| match fields.remove(name) {
        Some(Value::Object(mut keys)) => Some(list(&mut keys, "keys").into_iter().map(key).collect()),
        _ => None,
    };
    let (aesgcm, aescbc, secretbox) = (keys("aesgcm"), keys("aescbc"), keys("secretbox"));
    let identity = matches!(fields.remove("identity"), Some(Value::Object(_)));
    let kms = match fields.remove("kms") {
        Some(Value::Object(fields)) => Some(kms(fields)?),
        _ => None,
    };
    Ok(Provider { aesgcm, aescbc, secretbox, identity, kms })
}

fn key(value: Value) -> Key {
    let mut fields = object(value);
    Key { name: taken(&mut fields, "name"), secret: Zeroizing::new(taken(&mut fields, "secret")) }
}

/// With upstream's defaults: version 1, three seconds.
fn kms(mut fields: Map<String, Value>) -> Result<Kms, String> {
    let timeout = match fields.remove("timeout") {
        Some(Value::String(given)) => {
            pawl_meta::duration::parse(&given).ok_or_else(|| format!("time: invalid duration {}", go::quote(&given)))?
        }
        _ => 3_000_000_000,
    };
    let version = taken(&mut fields, "apiVersion");
    Ok(Kms {
        api_version: if version.is_empty() { "v1".to_owned() } else { version },
        name: taken(&mut fields, "name"),
        cache_size: fields.get("cachesize").and_then(Value::as_i64),
        endpoint: taken(&mut fields, "endpoint"),
        timeout,
    })
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

fn list(object: &mut Map<String, Value>, name: &str) -> Vec<Value> {
    match object.remove(name) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        _ => String::new(),
    }
}

fn taken(object: &mut Map<String, Value>, name: &str) -> String {
    object.remove(name).map(text).unwrap_or_default()
}

/// Overwrites every text of a document that is not used.
fn wipe(value: Value) {
    match value {
        Value::String(mut text) => text.zeroize(),
        Value::Array(items) => items.into_iter().for_each(wipe),
        Value::Object(fields) => fields.into_iter().for_each(|(_, value)| wipe(value)),
        _ => {}
    }
}

fn shape() -> Option<&'static Type> {
    static SHAPE: OnceLock<Option<Type>> = OnceLock::new();
    SHAPE.get_or_init(build).as_ref()
}

fn build() -> Option<Type> {
    let mut b = SchemaBuilder::new();
    let string = b.add(Node::new(NodeKind::Scalar(Scalar::String), "string"));
    let int = b.add(Node::new(NodeKind::Scalar(Scalar::Int32), "int32"));
    let duration = b.add(Node::new(NodeKind::Scalar(Scalar::Duration), "v1.Duration"));
    let strings = b.add(Node::new(NodeKind::List(string), "[]string"));
    let structure = |b: &mut SchemaBuilder, name: &str, fields: &[(&str, NodeId)]| {
        let fields = fields.iter().map(|(name, node)| Field::new(*name, *node)).collect();
        b.add(Node::new(NodeKind::Object(Object::new(name, fields)), format!("v1.{name}")))
    };
    let key = structure(&mut b, "Key", &[("name", string), ("secret", string)]);
    let keys = b.add(Node::new(NodeKind::List(key), "[]v1.Key"));
    let aes = structure(&mut b, "AESConfiguration", &[("keys", keys)]);
    let secretbox = structure(&mut b, "SecretboxConfiguration", &[("keys", keys)]);
    let identity = structure(&mut b, "IdentityConfiguration", &[]);
    let fields =
        [("apiVersion", string), ("name", string), ("cachesize", int), ("endpoint", string), ("timeout", duration)];
    let kms = structure(&mut b, "KMSConfiguration", &fields);
    let fields = [("aesgcm", aes), ("aescbc", aes), ("secretbox", secretbox), ("identity", identity), ("kms", kms)];
    let provider = structure(&mut b, "ProviderConfiguration", &fields);
    let providers = b.add(Node::new(NodeKind::List(provider), "[]v1.ProviderConfiguration"));
    let entry = structure(&mut b, "ResourceConfiguration", &[("resources", strings), ("providers", providers)]);
    let entries = b.add(Node::new(NodeKind::List(entry), "[]v1.ResourceConfiguration"));
    let fields = [("kind", string), ("apiVersion", string), ("resources", entries)];
    let root = structure(&mut b, "EncryptionConfiguration", &fields);
    b.build_type(root).ok()
}
