//! Quarantine: what was removed unread is kept for a while, as it was stored, and can be brought back.
//!
//! The bytes are under a key of their own, which no resource has, so nobody reads them; an object beside them says where they
//! came from. Both go by themselves.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pawl_kv::{Change, Expect, Outcome, Write};
use pawl_meta::{Status, time};
use pawl_seal::Plain;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::entry::{CacheEntry, encode};
use crate::showing::{self, GROUP, QUARANTINED, VERSION};
use crate::storage::{Put, Written, store_error};
use crate::table::Stored;
use crate::unreadable::Unreadable;
use crate::{Context, Registry, Served};

/// Where the bytes are.
const BYTES: &str = "/registry/pawl.dev/quarantine/";

impl Registry {
    /// Keeps what is about to be removed. Returns under which name, unless nothing is kept.
    pub(crate) async fn keep(
        &self,
        cx: &Context,
        stored: &Stored,
        entry: &CacheEntry,
        unreadable: &Unreadable,
    ) -> Result<Option<String>, Status> {
        let ttl = self.settings.quarantine;
        let Some(served) = self.quarantine().filter(|_| !ttl.is_zero()) else { return Ok(None) };
        let name = format!("{}:{}", showing::name_of(stored, &entry.key), entry.revision);
        let value = unreadable.value.clone().into_bytes();
        let (now, unix) = (time::now(), time::unix_now());
        let expires = unix.saturating_add(i64::try_from(ttl.as_secs()).unwrap_or(i64::MAX)).min(time::latest());
        let mut spec = showing::place_of(stored, entry);
        for (field, text) in [
            ("reason", json!(unreadable.reason.as_str())),
            ("size", json!(value.len())),
            ("sha256", json!(hex(&Sha256::digest(&value)))),
            ("removedBy", json!(cx.user.name)),
            ("removed", json!(now)),
            ("expires", json!(time::seconds(expires))),
        ] {
            spec.insert(field.to_owned(), text);
        }
        let object = showing::object("QuarantinedObject", &name, &now, spec);
        self.put_bytes(&name, value, ttl).await?;
        let put = Put { value: Plain::new(encode(&object)), ttl: Some(ttl) };
        match self.storage().write(&served.stored, &name, Expect::Absent, Some(put)).await? {
            // An attempt before this one kept the same.
            Written::Applied(_) | Written::Conflict(_) => Ok(Some(name)),
        }
    }

    /// Gives up what was kept: it was not removed after all, or is back.
    pub(crate) async fn let_go(&self, name: &str) -> Result<(), Status> {
        if let Some(served) = self.quarantine()
            && let Some(entry) = served.stored.cache.get(name)
        {
            self.storage().write(&served.stored, name, Expect::Revision(entry.revision), None).await?;
        }
        let key = bytes_key(name);
        let held = self.storage().kv().get(key.clone()).await.map_err(|error| store_error(&error))?;
        if let Some(held) = held {
            let write = Write::new(key, Expect::Revision(held.mod_revision), Change::Delete);
            self.storage().kv().write(write).await.map_err(|error| store_error(&error))?;
        }
        Ok(())
    }

    /// Brings an object back to where it was, as it was stored.
    pub async fn restore(&self, cx: &Context, name: &str) -> Result<Arc<CacheEntry>, Status> {
        let served = self.quarantine().ok_or_else(Status::no_such_resource)?;
        let entry = self.get(&served, "", name, None).await?;
        let object = entry.must_be_readable(&served.stored)?.object(entry.revision);
        let text = |field: &str| object.get("spec").and_then(|s| s.get(field)).and_then(Value::as_str).unwrap_or("");
        let (resource, namespace, original) = (text("resource"), text("namespace"), text("name"));
        let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
        let refused = |why: String| Status::conflict(&served.resource.group_resource(), name, why);
        let home = self.find(group, plural).ok_or_else(|| refused(format!("{resource} is not served")))?;
        self.check_namespace(namespace).map_err(refused)?;
        let held = self.storage().kv().get(bytes_key(name)).await.map_err(|error| store_error(&error))?;
        let held = held.ok_or_else(|| refused("its bytes are not there any more".to_owned()))?;
        let key = Bytes::from(home.stored.full_key(&home.stored.key(namespace, original)));
        let taken = || refused(format!("{resource} \"{original}\" is there already"));
        if cx.dry_run {
            let there = self.storage().kv().get(key).await.map_err(|error| store_error(&error))?;
            return there.map_or(Ok(entry), |_| Err(taken()));
        }
        let change = Change::Put { value: held.value, ttl: None };
        let write = Write::new(key, Expect::Absent, change);
        match self.storage().kv().write(write).await.map_err(|error| store_error(&error))? {
            Outcome::Applied { .. } => self.let_go(name).await?,
            Outcome::Conflict { .. } => return Err(taken()),
        }
        Ok(entry)
    }

    /// Whether an object of this name is in quarantine. It counts as there for whoever depends on it.
    pub fn is_quarantined(&self, of: &Served, namespace: &str, name: &str) -> bool {
        let Some(served) = self.quarantine() else { return false };
        let prefix = format!("{}:", showing::name_of(&of.stored, &of.stored.key(namespace, name)));
        served.stored.cache.count_below(&prefix) > 0
    }

    fn quarantine(&self) -> Option<Arc<Served>> {
        self.table().find(GROUP, VERSION, QUARANTINED).cloned()
    }

    /// Nothing comes back into a namespace that is not there to stay.
    fn check_namespace(&self, namespace: &str) -> Result<(), String> {
        if namespace.is_empty() {
            return Ok(());
        }
        match pawl_admission::Objects::is_deleting(self, "", "namespaces", "", namespace) {
            Some(false) => Ok(()),
            Some(true) => Err(format!("namespace {namespace} is being terminated")),
            None => Err(format!("namespace {namespace} is not there")),
        }
    }

    async fn put_bytes(&self, name: &str, value: Bytes, ttl: Duration) -> Result<(), Status> {
        let change = Change::Put { value, ttl: Some(ttl) };
        let write = Write::new(bytes_key(name), Expect::Absent, change);
        // An attempt before this one kept the same.
        self.storage().kv().write(write).await.map(drop).map_err(|error| store_error(&error))
    }
}

fn bytes_key(name: &str) -> Bytes {
    Bytes::from(format!("{BYTES}{name}"))
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
