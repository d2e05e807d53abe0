//! PATCH of an object.

use std::time::Instant;

use http::Response;
use http::header::CONTENT_TYPE;
use pawl_meta::{Details, Errors, Status};
use pawl_registry::{PatchKind, PatchRequest, Served};

use crate::api::{Api, Call};
use crate::body::Body;
use crate::options::{WriteOptions, invalid, manager};

pub(crate) async fn answer(api: &Api, served: &Served, call: &mut Call) -> Result<Response<Body>, Status> {
    let started = Instant::now();
    let kind = kind(call)?;
    let body = api.body(call).await?;
    let options = WriteOptions::read(api, call, "PatchOptions")?;
    check(kind, &options)?;
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

pub(crate) fn kind(call: &Call) -> Result<PatchKind, Status> {
    let header = call.headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    match header.split(';').next().unwrap_or_default().trim() {
        "application/json-patch+json" => Ok(PatchKind::Json),
        "application/merge-patch+json" => Ok(PatchKind::Merge),
        "application/strategic-merge-patch+json" => Ok(PatchKind::Strategic),
        "application/apply-patch+yaml" => Ok(PatchKind::Apply),
        _ => Err(Status::unsupported_media_type("415: Unsupported Media Type").with_details(Details::default())),
    }
}

/// Apply names its manager; only apply may force.
pub(crate) fn check(kind: PatchKind, options: &WriteOptions) -> Result<(), Status> {
    let mut errors = Errors::new();
    if kind == PatchKind::Apply && options.field_manager.is_empty() {
        errors.required(&"fieldManager", "is required for apply patch");
    }
    if kind != PatchKind::Apply && options.force.is_some() {
        errors.forbidden(&"force", "may not be specified for non-apply patch");
    }
    if errors.is_empty() { Ok(()) } else { Err(invalid("PatchOptions", &errors)) }
}
