//! `componentstatuses`: the parts of a control plane and whether they work. Here they are one process, so there is one to
//! show: its store.

use std::sync::Arc;

use pawl_meta::Status;
use pawl_registry::{CacheEntry, Page, Plain, Readability, Readable, encode};
use serde_json::{Value, json};

use crate::api::Api;

/// All of them, as a page of a list.
pub(crate) fn list(api: &Api) -> Result<Page, Status> {
    let entries = vec![Arc::new(store(api)?)];
    Ok(Page { revision: 0, entries, continue_token: None, remaining: None })
}

/// One by its name.
pub(crate) fn get(api: &Api, name: &str) -> Result<Arc<CacheEntry>, Status> {
    let missing = || Status::not_found(&pawl_meta::GroupResource::new("", "componentstatus"), name);
    list(api)?.entries.into_iter().find(|entry| entry.name() == name).ok_or_else(missing)
}

fn store(api: &Api) -> Result<CacheEntry, Status> {
    const NAME: &str = "etcd-0";
    let condition = match api.registry.store_health() {
        Ok(()) => json!({"type": "Healthy", "status": "True", "message": "ok"}),
        Err(error) => json!({"type": "Healthy", "status": "False", "error": error.to_string()}),
    };
    let object = json!({
        "apiVersion": "v1", "kind": "ComponentStatus", "metadata": {"name": NAME}, "conditions": [condition],
    });
    let Value::Object(object) = object else { return Err(Status::internal("no component")) };
    let readable = Readable::cut(Plain::new(encode(&object)), None, &[]).map_err(Status::internal)?;
    Ok(CacheEntry { key: NAME.into(), revision: 0, state: Readability::Readable(readable) })
}
