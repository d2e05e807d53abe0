//! PATCH of an object.

use http::Response;
use pawl_meta::Status;
use pawl_registry::Served;

use crate::api::{Api, Call};
use crate::body::Body;

pub(crate) async fn answer(_api: &Api, _served: &Served, _call: &mut Call) -> Result<Response<Body>, Status> {
    Err(Status::not_implemented("patches are not accepted yet"))
}
