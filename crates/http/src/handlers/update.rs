//! PUT of an object.

use std::time::Instant;

use http::Response;
use pawl_meta::Status;
use pawl_registry::{Encoding, FieldValidation, Mutation, Sent, Served, UpdateRequest};

use crate::api::{Api, Call};
use crate::body::Body;
use crate::negotiation::{Media, body_media};
use crate::options::{WriteOptions, manager};

pub(crate) async fn answer(api: &Api, served: &Served, call: &mut Call) -> Result<Response<Body>, Status> {
    let started = Instant::now();
    let body = api.body(call).await?;
    let options = WriteOptions::read(api, call, "UpdateOptions")?;
    let sent = sent_object(served, call, &body, options.field_validation)?;
    call.cx.dry_run = options.dry_run;
    call.cx.manager = manager(call, &options.field_manager);
    let cx = &call.cx;
    let creates = served.resource.facts.put_creates && call.info.subresource.is_empty();
    let create_refused = creates.then(|| api.access.may(&call.cx.user, "create", &call.info).err()).flatten();
    let request = UpdateRequest {
        guards: Vec::new(),
        namespace: &call.info.namespace,
        name: &call.info.name,
        subresource: &call.info.subresource,
        creates,
        create_refused,
        change: Mutation::replace(sent),
    };
    let updated = api.registry.update(cx, served, request).await?;
    api.metrics.validated(options.directive(), started);
    api.object(call, served, &updated.entry, if updated.created { 201 } else { 200 })
}

/// An object as it was sent; what users defined has no protobuf form.
pub(crate) fn sent_object<'b>(
    served: &Served,
    call: &Call,
    bytes: &'b [u8],
    validation: FieldValidation,
) -> Result<Sent<'b>, Status> {
    let sent = sent(call, bytes, validation)?;
    if served.resource.facts.custom && sent.encoding == Encoding::Protobuf {
        return Err(Status::unsupported_media_type(
            "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml",
        ));
    }
    Ok(sent)
}

/// A body as it was sent.
pub(crate) fn sent<'b>(call: &Call, bytes: &'b [u8], validation: FieldValidation) -> Result<Sent<'b>, Status> {
    let encoding = match body_media(&call.headers)? {
        Media::Json => Encoding::Json,
        Media::Yaml => Encoding::Yaml,
        Media::Protobuf => Encoding::Protobuf,
    };
    Ok(Sent { encoding, bytes, validation })
}
