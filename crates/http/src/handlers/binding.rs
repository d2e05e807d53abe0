//! POST of a Binding, below a pod or to the collection of bindings.

use http::Response;
use pawl_meta::Status;
use pawl_meta::object::{Meta, Object, metadata_mut};
use pawl_registry::{ApiKind, Sent};
use serde_json::json;

use super::update::sent;
use crate::api::{Api, Call};
use crate::body::Body;
use crate::options::WriteOptions;

pub(crate) async fn answer(api: &Api, call: &mut Call) -> Result<Response<Body>, Status> {
    let body = api.body(call).await?;
    let options = WriteOptions::read(api, call, "CreateOptions")?;
    call.cx.dry_run = options.dry_run;
    let table = api.registry.table();
    let pods = table.preferred("", "pods").ok_or_else(Status::no_such_resource)?;
    let sent = sent(call, &body, options.field_validation)?;
    let binding = decode(api, call, &ApiKind::BINDING, sent)?;
    if call.info.resource == "pods" {
        check_name(call, &binding, "Binding")?;
    }
    if binding.name().is_empty() {
        return Err(Status::bad_request("Name parameter required."));
    }
    api.registry.bind(&call.cx, pods, &call.info.namespace, binding).await?;
    Ok(success(call))
}

/// A body that is no object of a resource, with the namespace of the URL.
pub(super) fn decode(api: &Api, call: &Call, kind: &ApiKind, sent: Sent<'_>) -> Result<Object, Status> {
    let mut object = api.registry.decode_as(&call.cx, kind, sent)?;
    let namespace = object.namespace();
    if !namespace.is_empty() && namespace != call.info.namespace {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    metadata_mut(&mut object).insert("namespace".to_owned(), json!(call.info.namespace));
    Ok(object)
}

/// The name in the body must be the pod's.
pub(super) fn check_name(call: &Call, object: &Object, kind: &str) -> Result<(), Status> {
    if object.name() != call.info.name {
        return Err(Status::bad_request(format!("name in URL does not match name in {kind} object")));
    }
    Ok(())
}

/// The answer to what was done and leaves nothing to show.
pub(super) fn success(call: &Call) -> Response<Body> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    let mut response = call.document(&status);
    *response.status_mut() = http::StatusCode::CREATED;
    response
}
