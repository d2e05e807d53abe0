//! Requests below an object.

use std::sync::Arc;

use http::Response;
use pawl_meta::Status;
use pawl_registry::Served;

use crate::api::{Api, Call};
use crate::body::Body;

pub(crate) async fn answer(_api: &Api, served: &Arc<Served>, call: &mut Call) -> Result<Response<Body>, Status> {
    if served.resource.subresource(&call.info.subresource).is_none() {
        return Err(Status::no_such_resource());
    }
    Err(Status::not_implemented("this subresource is not served yet"))
}
