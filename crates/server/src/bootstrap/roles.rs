//! The roles and bindings that are there from the start: what they lack is added, what somebody added stays.

use pawl_admission::Objects;
use pawl_auth::rbac::reconcile::{Reconciliation, reconcile};
use pawl_meta::Status;
use pawl_meta::object::{Meta, Object};
use pawl_registry::{DeleteRequest, Registry, Sent};
use serde_json::Value;

use super::{beside_others, context, create, served, update};

const MANAGER: &str = "kube-apiserver";

pub(super) async fn ensure(registry: &Registry, wanted: &Value) {
    if let Err(status) = beside_others(registry, || Box::pin(try_ensure(registry, wanted))).await {
        tracing::error!(name = wanted.name(), message = status.message, "a starting role was not made");
    }
}

async fn try_ensure(registry: &Registry, wanted: &Value) -> Result<(), Status> {
    let table = registry.table();
    let object = wanted.as_object().cloned().unwrap_or_default();
    let served = served(&table, &object).ok_or_else(Status::no_such_resource)?;
    let cx = context(MANAGER);
    let resource = served.resource.group_resource();
    let existing = Objects::get(registry, &resource.group, &resource.resource, wanted.namespace(), wanted.name());
    let decode = |object: &Value| -> Result<Object, Status> {
        let body = object.to_string();
        registry.decode(&cx, served, Sent::own(body.as_bytes()))
    };
    let Some(existing) = existing else {
        return create(registry, &cx, served, decode(wanted)?).await;
    };
    match reconcile(&Value::Object(existing), wanted) {
        Reconciliation::Keep => Ok(()),
        Reconciliation::Update(object) => update(registry, &cx, served, decode(&object)?).await,
        Reconciliation::Recreate(object) => {
            let options = pawl_deletion::DeleteOptions::default();
            let request = DeleteRequest { namespace: wanted.namespace(), name: wanted.name(), options: &options };
            registry.delete(&cx, served, request).await?;
            create(registry, &cx, served, decode(&object)?).await
        }
    }
}
