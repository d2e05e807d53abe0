//! POST to a collection.

use std::time::Instant;

use http::Response;
use pawl_meta::Status;
use pawl_registry::{CreateRequest, Served};

use crate::api::{Api, Call};
use crate::body::Body;
use crate::handlers::update::sent_object;
use crate::options::{WriteOptions, manager};

pub(crate) async fn answer(api: &Api, served: &Served, call: &mut Call) -> Result<Response<Body>, Status> {
    if served.resource.facts.is_virtual {
        return super::review::answer(api, served, call).await;
    }
    let started = Instant::now();
    let body = api.body(call).await?;
    let options = WriteOptions::read(api, call, "CreateOptions")?;
    let sent = sent_object(served, call, &body, options.field_validation)?;
    call.cx.dry_run = options.dry_run;
    call.cx.manager = manager(call, &options.field_manager);
    let object = api.registry.decode(&call.cx, served, sent)?;
    let request = CreateRequest::posted(call.info.namespace.clone(), object);
    let entry = api.registry.create(&call.cx, served, request).await?;
    api.metrics.validated(options.directive(), started);
    api.object(call, served, &entry, 201)
}
