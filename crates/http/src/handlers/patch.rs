//! PATCH of an object.

use std::time::Instant;

use http::Response;
use http::header::CONTENT_TYPE;
use pawl_meta::{Details, Status};
use pawl_registry::{PatchKind, PatchRequest, Served};

use crate::api::{Api, Call};
use crate::body::Body;
use crate::options::{WriteOptions, manager};

/// The patches that objects of what users defined take.
const CUSTOM: &str = "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";

pub(crate) async fn answer(api: &Api, served: &Served, call: &mut Call) -> Result<Response<Body>, Status> {
    let started = Instant::now();
    let kind = kind(served, call)?;
    let body = api.body(call).await?;
    let options = WriteOptions::of_patch(api, call, kind)?;
    call.cx.dry_run = options.dry_run;
    call.cx.manager = manager(call, &options.field_manager);
    let request = PatchRequest {
        namespace: &call.info.namespace,
        name: &call.info.name,
        subresource: &call.info.subresource,
        kind,
        body: &body,
        validation: options.field_validation,
        force: options.force.unwrap_or(false),
        create_refused: (kind == PatchKind::Apply)
            .then(|| api.access.may(&call.cx.user, "create", &call.info).err())
            .flatten(),
    };
    let updated = api.registry.patch(&call.cx, served, request).await?;
    api.metrics.validated(options.directive(), started);
    api.object(call, served, &updated.entry, if updated.created { 201 } else { 200 })
}

pub(crate) fn kind(served: &Served, call: &Call) -> Result<PatchKind, Status> {
    let custom = served.resource.facts.custom;
    let header = call.headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    match header.split(';').next().unwrap_or_default().trim() {
        "application/json-patch+json" => Ok(PatchKind::Json),
        "application/merge-patch+json" => Ok(PatchKind::Merge),
        "application/strategic-merge-patch+json" if !custom => Ok(PatchKind::Strategic),
        "application/apply-patch+yaml" => Ok(PatchKind::Apply),
        _ if custom => Err(Status::unsupported_media_type(format!(
            "the body of the request was in an unknown format - accepted media types include: {CUSTOM}"
        ))),
        _ => Err(Status::unsupported_media_type("415: Unsupported Media Type").with_details(Details::default())),
    }
}
