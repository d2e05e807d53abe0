//! GET of one object.

use http::Response;
use pawl_meta::Status;
use pawl_registry::Served;

use crate::api::{Api, Call};
use crate::body::Body;
use crate::handlers::component;
use crate::negotiation::Form;
use crate::options;
use crate::render::IncludeObject;

pub(crate) async fn answer(api: &Api, served: &Served, call: &Call) -> Result<Response<Body>, Status> {
    options::check_export(&call.query)?;
    let version = options::get_version(call)?;
    if call.accepted.form == Form::Table {
        IncludeObject::check(call.query.get("includeObject"))?;
    }
    if served.resource.facts.is_virtual {
        return api.object(call, served, &*component::get(api, &call.info.name)?, 200);
    }
    let entry = api.registry.get(served, &call.info.namespace, &call.info.name, version).await?;
    api.object(call, served, &entry, 200)
}
