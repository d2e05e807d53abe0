//! PUT of an object.

use std::time::Instant;

use http::Response;
use pawl_meta::Status;
use pawl_meta::object::{Meta, Object};
use pawl_registry::{Encoding, Served, UpdateRequest};

use crate::api::{Api, Call};
use crate::body::Body;
use crate::negotiation::{Media, body_media};
use crate::options::{WriteOptions, manager};

pub(crate) async fn answer(api: &Api, served: &Served, call: &mut Call) -> Result<Response<Body>, Status> {
    let started = Instant::now();
    api.accepted(call)?;
    let body = api.body(call).await?;
    let options = WriteOptions::read(api, call, "UpdateOptions")?;
    let encoding = encoding(call)?;
    call.cx.dry_run = options.dry_run;
    call.cx.manager = manager(call, &options.field_manager);
    let object = api.registry.decode(&call.cx, served, encoding, &body, options.field_validation)?;
    check_name(&object, &call.info.name)?;
    let request = UpdateRequest {
        namespace: &call.info.namespace,
        name: &call.info.name,
        subresource: &call.info.subresource,
        creates: served.resource.facts.put_creates && call.info.subresource.is_empty(),
        change: Box::new(move |_| Ok(object.clone())),
    };
    let updated = api.registry.update(&call.cx, served, request).await?;
    api.metrics.validated(options.directive(), started);
    api.object(call, served, &updated.entry, if updated.created { 201 } else { 200 })
}

/// The name in the body must be the one in the URL.
fn check_name(object: &Object, name: &str) -> Result<(), Status> {
    match object.name() {
        "" => Err(Status::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        given if given != name => Err(Status::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({name})"
        ))),
        _ => Ok(()),
    }
}

pub(crate) fn encoding(call: &Call) -> Result<Encoding, Status> {
    match body_media(&call.headers)? {
        Media::Json => Ok(Encoding::Json),
        Media::Yaml => Ok(Encoding::Yaml),
        Media::Protobuf => Err(Status::not_implemented("protobuf bodies are not accepted yet")),
    }
}
