//! DELETE of a collection.

use std::sync::Arc;

use http::Response;
use pawl_meta::{Errors, Status};
use pawl_registry::Served;

use crate::api::{Api, Call};
use crate::body::Body;
use crate::handlers::delete::{check_verbs, read_options};
use crate::options::{ListOptions, invalid};
use crate::render::{self, IncludeObject};
use crate::respond;

pub(crate) async fn answer(api: &Api, served: &Arc<Served>, call: &mut Call) -> Result<Response<Body>, Status> {
    let accepted = call.accepted;
    let body = api.body(call).await?;
    let list = ListOptions::read(call, served, false)?.list_request();
    let options = read_options(api, call, &body)?;
    if options.ignore_read_errors {
        let mut errors = Errors::new();
        let detail = "is not allowed with DELETECOLLECTION, try again after removing the option";
        errors.invalid(&"ignoreStoreReadErrorWithClusterBreakingPotential", true, detail);
        return Err(invalid("DeleteOptions", &errors));
    }
    check_verbs(api, served, call, &options)?;
    call.cx.dry_run = options.dry_run;
    let page = api.registry.delete_collection(&call.cx, served, &list, &options).await?;
    let include = IncludeObject::parse(call.query.get("includeObject"));
    let (body, _) = render::list(served, page, accepted, include, false, api.shares.turns())?;
    Ok(respond::with(200, accepted.media.content_type(), body))
}
