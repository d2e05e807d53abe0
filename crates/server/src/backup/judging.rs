//! What stands behind a key: whose object it is, and whether it can be read.

use std::path::Path;

use pawl_meta::GroupResource;
use pawl_registry::{Plain, Readability, Readable, Table};
use pawl_seal::{Config, Metrics, Opened, Pace, Sealed, Seals};
use pawl_snapshot::Record;
use serde_json::Value;

/// How sealed values begin.
const SEALED: &[u8] = b"k8s:enc:";
/// What the server notes for itself.
const NOTES: &str = "/registry/pawl.dev/";

/// Reads values, with keys if there are any.
pub struct Judge {
    table: Table,
    seals: Option<Seals>,
}

/// What a value is.
#[derive(Debug, PartialEq)]
pub enum ValueVerdict {
    Readable {
        liens: bool,
    },
    /// Without keys nothing can be said.
    Sealed,
    Unreadable(String),
    /// No object, but something that the server keeps for itself.
    Note,
}

impl Judge {
    /// With the keys of an encryption configuration, if there is one.
    pub async fn new(encryption: Option<&Path>) -> Result<Self, String> {
        let seals = match encryption {
            None => None,
            Some(path) => {
                let config = Config::load(path, true).map_err(|why| why.to_string())?;
                let metrics = Metrics::register(&prometheus::Registry::new(), "").map_err(|why| why.to_string())?;
                Some(Seals::start(&config, Pace::default(), metrics).await.map_err(|why| why.to_string())?)
            }
        };
        let builtin = pawl_kinds::load().map_err(|why| why.to_string())?;
        Ok(Self { table: Table::sealed(builtin.resources(), 0, seals.clone()), seals })
    }

    /// The resource whose object a key holds, as `kubectl` calls it.
    pub fn resource(&self, key: &[u8]) -> String {
        let key = String::from_utf8_lossy(key);
        if let Some((stored, _)) = self.table.place(&key) {
            return stored.group_resource.to_string();
        }
        defined(&key).map_or_else(|| "(other)".to_owned(), |resource| resource.to_string())
    }

    pub async fn judge(&self, record: &Record) -> ValueVerdict {
        let key = String::from_utf8_lossy(&record.key);
        if key.starts_with(NOTES) {
            return ValueVerdict::Note;
        }
        if self.seals.is_none() && record.value.starts_with(SEALED) {
            return ValueVerdict::Sealed;
        }
        let value = Sealed::stored(record.value.clone());
        if let Some((stored, below)) = self.table.place(&key) {
            return match stored.open_asking(below, record.mod_revision, value).await.state {
                Readability::Readable(readable) => whole(&readable),
                Readability::Unreadable(unreadable) => {
                    ValueVerdict::Unreadable(unreadable.message(record.mod_revision))
                }
                Readability::Away(closed) => ValueVerdict::Unreadable(closed.away.to_string()),
            };
        }
        let Some(resource) = defined(&key) else { return ValueVerdict::Note };
        let plain = match &self.seals {
            None => Plain::new(record.value.clone()),
            Some(seals) => match seals.transform(resource).open(&key, value).finish().await {
                Opened::Plain { bytes, .. } => bytes,
                Opened::Unreadable(why) => return ValueVerdict::Unreadable(why.message),
                Opened::Away(away) => return ValueVerdict::Unreadable(away.to_string()),
            },
        };
        Readable::cut(plain, None, &[]).map_or_else(ValueVerdict::Unreadable, |readable| whole(&readable))
    }
}

/// All of an object, not only the part that the server looks at first.
fn whole(readable: &Readable) -> ValueVerdict {
    match serde_json::from_slice::<Value>(readable.value()) {
        Ok(object) => {
            let liens = object.pointer("/metadata/liens").and_then(Value::as_array);
            ValueVerdict::Readable { liens: liens.is_some_and(|liens| !liens.is_empty()) }
        }
        Err(why) => ValueVerdict::Unreadable(why.to_string()),
    }
}

/// The resource of what users defined: `/registry/GROUP/PLURAL/...`, where the group is a domain.
fn defined(key: &str) -> Option<GroupResource> {
    let mut parts = key.strip_prefix("/registry/")?.splitn(3, '/');
    let (group, plural, _) = (parts.next()?, parts.next()?, parts.next()?);
    group.contains('.').then(|| GroupResource::new(group.to_owned(), plural.to_owned()))
}
