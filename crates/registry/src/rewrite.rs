//! What the server itself notes in an object: written below the stages of a request, which judge what clients write.

use std::sync::Arc;

use pawl_kv::Expect;
use pawl_meta::object::Object;
use pawl_meta::{Status, time};
use serde_json::{Value, json};

use crate::storage::{Put, Written};
use crate::{CacheEntry, Context, Registry, Served};

/// A note is made again when somebody was faster.
const ATTEMPTS: usize = 20;

impl Registry {
    /// Changes a stored object. The change is called again after a conflict; an error of its own ends it.
    pub(crate) async fn rewrite(
        &self,
        cx: &Context,
        served: &Served,
        namespace: &str,
        name: &str,
        change: &mut (dyn FnMut(&mut Object) -> Result<(), Status> + Send),
    ) -> Result<Arc<CacheEntry>, Status> {
        let resource = served.resource.group_resource();
        let key = served.stored.key(namespace, name);
        self.storage().catch_up().await?;
        let mut current = served.stored.cache.get(&key);
        for _ in 0..ATTEMPTS {
            let entry = current.ok_or_else(|| Status::not_found(&resource, name))?;
            let mut object = entry.must_be_readable(&served.stored)?.object(entry.revision);
            change(&mut object)?;
            let value = served.stored_form(&object);
            if cx.dry_run || entry.readable().is_some_and(|readable| *readable.value() == value.as_slice()) {
                return Ok(entry);
            }
            let put = Put { value: value.clone(), ttl: self.ttl(served) };
            match self.storage().write(&served.stored, &key, Expect::Revision(entry.revision), Some(put)).await? {
                Written::Applied(revision) => {
                    return Ok(Arc::new(served.stored.entry(&key, revision, value)));
                }
                Written::Conflict(now) => current = now,
            }
        }
        Err(Status::conflict(&resource, name, "the object was changed too often"))
    }
}

/// Takes a condition out of a pod, if it has this reason.
pub(crate) fn remove_condition(pod: &mut Object, kind: &str, reason: &str) {
    let is = |condition: &Value, field: &str, text: &str| condition.get(field).is_some_and(|value| value == text);
    let conditions = pod.get_mut("status").and_then(|status| status.get_mut("conditions"));
    if let Some(Value::Array(conditions)) = conditions {
        conditions.retain(|condition| !is(condition, "type", kind) || !is(condition, "reason", reason));
    }
}

/// Sets a condition of a pod: true, with a reason where there is one. A condition that was true keeps its time. Says whether
/// the pod had none of the kind.
pub(crate) fn set_true(pod: &mut Object, kind: &str, reason: &str, message: &str) -> bool {
    let status = pod.entry("status").or_insert_with(|| json!({}));
    let Some(status) = status.as_object_mut() else { return false };
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else { return false };
    let mut condition = Object::new();
    condition.insert("type".to_owned(), json!(kind));
    condition.insert("status".to_owned(), json!("True"));
    condition.insert("lastProbeTime".to_owned(), Value::Null);
    condition.insert("lastTransitionTime".to_owned(), json!(time::now()));
    for (field, text) in [("reason", reason), ("message", message)] {
        if !text.is_empty() {
            condition.insert(field.to_owned(), json!(text));
        }
    }
    match conditions.iter_mut().find(|known| known.get("type").is_some_and(|t| t == kind)) {
        Some(known) => {
            if known.get("status").is_some_and(|s| s == "True")
                && let Some(since) = known.get("lastTransitionTime")
            {
                condition.insert("lastTransitionTime".to_owned(), since.clone());
            }
            *known = Value::Object(condition);
            false
        }
        None => {
            conditions.push(Value::Object(condition));
            true
        }
    }
}
